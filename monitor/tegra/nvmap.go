package tegra

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// tables are where nvmap tells who has how much of the memory that devices can
// reach. The second walks all mappings, which takes long.
var tables = []string{"/sys/kernel/debug/nvmap/iovmm/clients", "/sys/kernel/debug/nvmap/iovmm/maps"}

const maxTable = 8 << 20 // bytes

// nvmap is one of those tables.
type nvmap struct {
	processes []monitor.Process // one a PID
	total     monitor.Reading   // bytes, those of the kernel too
	status    monitor.Status    // why there is no table
}

// readNVMap reads the table. It is there for root alone.
func readNVMap(root host.Root) nvmap {
	none := notSupported
	for _, path := range tables {
		data, err := root.ReadFile(path, maxTable)
		if err == nil {
			processes, total, ok := parseNVMap(string(data), path == tables[1])
			if ok && len(data) < maxTable {
				return nvmap{processes, total, monitor.Status{Reason: monitor.Known}}
			}
			err = host.ErrMalformed
		}
		if none = host.Failed(path, err); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nvmap{total: none, status: monitor.Status{Reason: none.Reason, Err: none.Err}}
}

// parseNVMap parses a table, such as
//
//	CLIENT                        PROCESS      PID        SIZE
//	user                          python3     8123    3984588K
//	kernel                         kernel        0        512K
//	total                                                4030220K
//
// A process may have several clients. The name of one may hold blanks and line
// breaks: rows are read from the right, and the last total counts. Nested is a
// table with the handles of each client, indented, below it.
func parseNVMap(table string, nested bool) (list []monitor.Process, total monitor.Reading, ok bool) {
	total = monitor.Unknown(monitor.Implausible)
	header := false
	index := map[uint32]int{}
	for line := range strings.Lines(table) {
		if nested && (line[0] == ' ' || line[0] == '\t') {
			continue
		}
		rest, size := lastField(line)
		bytes := parseSize(size)
		if rest == "total" {
			total = bytes
			continue
		}
		rest, number := lastField(rest)
		client, name, _ := strings.Cut(rest, " ")
		if client == "CLIENT" {
			header = true
			continue
		}
		pid, err := strconv.ParseUint(number, 10, 32)
		if name = strings.TrimSpace(name); err != nil || pid == 0 { // 0: the kernel's own
			continue
		}
		i, found := index[uint32(pid)]
		if !found {
			i = len(list)
			index[uint32(pid)] = i
			p := monitor.Process{
				PID: uint32(pid), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
				GPUMemoryBytes: monitor.OfInt(0), Name: monitor.UnknownText(monitor.NotFound),
				SMPercent: notSupported, EncoderPercent: notSupported, DecoderPercent: notSupported,
			}
			if name != "" {
				p.Name = monitor.OfText(strings.ToValidUTF8(name, "\uFFFD"))
			}
			list = append(list, p)
		}
		var sum monitor.Total
		sum.Add(list[i].GPUMemoryBytes)
		sum.Add(bytes)
		list[i].GPUMemoryBytes = monitor.MemoryRange.Check(sum.Reading())
	}
	return list, total, header
}

// lastField splits the last field off a line.
func lastField(line string) (rest, field string) {
	line = strings.TrimRight(line, " \t\r\n")
	i := strings.LastIndexAny(line, " \t")
	return strings.TrimRight(line[:i+1], " \t"), line[i+1:]
}

// parseSize returns a size such as 3984588K in bytes.
func parseSize(s string) monitor.Reading {
	if s != "" {
		unit := strings.IndexByte("KMG", s[len(s)-1])
		v, err := strconv.ParseUint(s[:len(s)-1], 10, 32+10)
		if unit >= 0 && err == nil {
			return monitor.MemoryRange.Check(monitor.OfFloat(float64(v) * float64(uint64(1024)<<(10*unit))))
		}
	}
	return monitor.Unknown(monitor.Implausible)
}
