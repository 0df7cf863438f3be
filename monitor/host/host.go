// Package host knows the machine: its CPU and memory, what kind of machine it
// is, whether a driver is in sight, and in which PID namespace we are.
//
// On Linux everything comes from files under a root directory, "/" unless the
// user says otherwise; under another root the same files are read on every
// system. Windows, macOS and FreeBSD answer through their own calls. Nothing
// here asks the driver, and nothing is written.
package host

import (
	"math"
	"os"
	"runtime"
	"strings"

	"nvtop-lite/monitor"
)

// Reader reads the machine under one root. It may be used from one goroutine
// at a time.
type Reader struct {
	root     Root
	cpu      cpuTimes
	cpuSeen  bool
	load     monitor.Reading
	boot     monitor.Text // once it is known
	platform *monitor.Platform
}

// Open returns a reader of the machine whose files lie under root; "" is "/".
// It reads nothing yet.
func Open(root string) *Reader {
	return &Reader{root: rootOf(root), load: monitor.Unknown(monitor.NotSampled)}
}

// Root returns the directory under which the files are read.
func (r *Reader) Root() Root { return r.root }

// Read returns what the machine is and does now. CPUPercent is that of the
// time since the last Read: not_sampled at first, and the former value while
// no clock tick has passed. The readings carry no time: the caller knows which
// clock it keeps.
func (r *Reader) Read() monitor.Host {
	h := monitor.Host{
		Hostname:   r.hostname(),
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		BootID:     r.bootID(),
		CPUPercent: r.cpuPercent(),
	}
	m := r.root.memory()
	h.MemoryTotalBytes, h.MemoryAvailableBytes = m.total, m.available
	h.HugePagesTotalBytes, h.HugePagesFreeBytes = m.hugeTotal, m.hugeFree
	return h
}

func (r *Reader) hostname() monitor.Text {
	if r.root.Here() {
		name, err := os.Hostname()
		if err != nil {
			return monitor.UnknownText(reasonHere(err))
		}
		return monitor.OfText(strings.ToValidUTF8(name, "\uFFFD"))
	}
	// Behind another root the kernel's file would name the namespace of the
	// reader, so the file of that system comes first.
	name := r.root.Line("/etc/hostname")
	if !name.Known() {
		name = r.root.Line("/proc/sys/kernel/hostname")
	}
	return name
}

func (r *Reader) bootID() monitor.Text {
	if !r.boot.Known() {
		if r.root.Files() {
			r.boot = r.root.Line("/proc/sys/kernel/random/boot_id")
		} else {
			r.boot = nativeBootID()
		}
	}
	return r.boot
}

func (r *Reader) cpuPercent() monitor.Reading {
	now, err := r.cpuTimes()
	if err != nil {
		return Failed("/proc/stat", err)
	}
	before, seen := r.cpu, r.cpuSeen
	if seen && now.total == before.total {
		return r.load
	}
	r.cpu, r.cpuSeen = now, true
	if !seen || now.total < before.total {
		r.load = monitor.Unknown(monitor.NotSampled)
		return r.load
	}
	total := float64(now.total - before.total)
	// Idle and iowait may run backwards by a little on some kernels.
	busy := float64(int64(now.busy - before.busy))
	r.load = monitor.OfFloat(100 * min(max(busy/total, 0), 1))
	return r.load
}

func (r *Reader) cpuTimes() (cpuTimes, error) {
	if !r.root.Files() {
		return nativeCPU()
	}
	data, err := r.root.ReadFile("/proc/stat", 4096) // the first line is all we need
	if err != nil {
		return cpuTimes{}, err
	}
	return parseCPU(data)
}

// BootTime returns when the machine was booted, in ns since 1970, to the
// second. It moves when the clock is set.
func (r *Reader) BootTime() (int64, error) {
	if !r.root.Files() {
		return nativeBootTime()
	}
	data, err := r.root.ReadFile("/proc/stat", maxStat)
	if err != nil {
		return 0, err
	}
	return parseBootTime(data)
}

// ClockTicks returns how many clock ticks of /proc there are in a second.
func (r *Reader) ClockTicks() int64 { return clockTicks() }

// Memory returns how much memory the machine under root has, and how much of
// it could be had without swapping, both in bytes: MemTotal and MemAvailable of
// /proc/meminfo or what the system has in their place.
func Memory(root string) (total, available monitor.Reading) {
	m := rootOf(root).memory()
	return m.total, m.available
}

// memory is that of a machine, in bytes.
type memory struct{ total, available, hugeTotal, hugeFree monitor.Reading }

func (r Root) memory() memory {
	if !r.Files() {
		none := monitor.Unknown(monitor.NotSupported)
		total, available := nativeMemory()
		return memory{total, available, none, none}
	}
	data, err := r.ReadFile("/proc/meminfo", maxMeminfo)
	if err != nil {
		u := Failed("/proc/meminfo", err)
		return memory{u, u, u, u}
	}
	m := memory{total: meminfoReading(data, "MemTotal"), available: meminfoReading(data, "MemAvailable")}
	if !m.available.Known() {
		m.available = availableOf(data)
	}
	m.hugeTotal, m.hugeFree = hugePages(data, "HugePages_Total"), hugePages(data, "HugePages_Free")
	return m
}

// availableOf estimates what is available: Linux before 3.14 does not say it.
func availableOf(data []byte) monitor.Reading {
	var sum int64
	for _, key := range []string{"MemFree", "Buffers", "Cached"} {
		v, ok := meminfoReading(data, key).Int()
		if !ok {
			return monitor.Unknown(monitor.NotSupported)
		}
		sum += v
	}
	available := monitor.OfInt(sum)
	available.Provenance = monitor.Estimated
	return available
}

// hugePages returns a number of huge pages of the default size in bytes.
func hugePages(data []byte, key string) monitor.Reading {
	n, ok := meminfoReading(data, key).Int()
	size, ok2 := meminfoReading(data, "Hugepagesize").Int()
	switch {
	case !ok || !ok2:
		return monitor.Unknown(monitor.NotSupported)
	case size > 0 && n > math.MaxInt64/size:
		return monitor.Unknown(monitor.Implausible)
	}
	return monitor.OfInt(n * size)
}

// Meminfo returns one line of /proc/meminfo in bytes, such as NvMapMemUsed;
// not_supported where there is no such line.
func Meminfo(root, key string) monitor.Reading {
	r, _ := TwoOfMeminfo(root, key, "")
	return r
}

// TwoOfMeminfo is Meminfo for two lines of the same moment.
func TwoOfMeminfo(root, first, second string) (monitor.Reading, monitor.Reading) {
	data, err := rootOf(root).ReadFile("/proc/meminfo", maxMeminfo)
	if err != nil {
		none := Failed("/proc/meminfo", err)
		return none, none
	}
	return meminfoReading(data, first), meminfoReading(data, second)
}

func meminfoReading(data []byte, key string) monitor.Reading {
	v, ok := parseMeminfo(data, key)
	if !ok {
		return monitor.Unknown(monitor.NotSupported)
	}
	return monitor.OfUint(v)
}
