package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nvtop-lite/monitor"
)

// KernelXID is an Xid error that the driver wrote to the kernel's log.
type KernelXID struct {
	Sequence          uint64 // of the record, counted since boot
	Time              int64  // ns since 1970
	BusID             string // as 00000000:01:00.0
	Code              int
	GPUInstanceID     int // monitor.None where it is about the whole GPU
	ComputeInstanceID int // likewise
}

const (
	kernelLog = "/dev/kmsg"
	maxRecord = 16 << 10            // the kernel's records are of 8 KiB at most
	lookAgain = time.Second         // at a log that cannot be waited for: a file under another root
	maxUptime = 1e6 * 86400 * 36500 // µs
)

// FollowXIDs tells the Xid errors in the kernel's log under root: first, in one
// call, those that it holds already, be it none; then new ones as they are written,
// until ctx ends. A log that cannot be read is told with the reason, and that ends
// it. It only reads, and takes nothing away from other readers.
func FollowXIDs(ctx context.Context, root string, tell func(list []KernelXID, st monitor.Status)) {
	fail := func(path string, err error) {
		if ctx.Err() == nil {
			tell(nil, monitor.Status{Reason: reasonHere(err), Err: callError(path, err)})
		}
	}
	r := rootOf(root)
	if !r.Files() {
		tell(nil, monitor.Status{Reason: monitor.NotSupported})
		return
	}
	f, err := openLog(r.Path(kernelLog))
	if err != nil {
		fail(kernelLog, err)
		return
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })()
	clock, err := r.logClock(f)
	if err != nil {
		fail("/proc/stat", err)
		return
	}
	var found []KernelXID
	told := false
	lull := func() {
		if !told || len(found) > 0 {
			told = true
			tell(found, monitor.Status{Reason: monitor.Known})
			found = nil
		}
	}
	lines := lineReader{each: func(line []byte) {
		if x, at, ok := parseRecord(line); ok {
			x.Time = clock(at)
			found = append(found, x)
		}
	}}
	buf := make([]byte, maxRecord)
	for {
		n, err := readLog(f, buf, lull)
		switch {
		case err == nil && n > 0:
			lines.add(buf[:n])
			runtime.Gosched() // the log may be long, and nobody is to wait for it
		case err == nil || err == io.EOF:
			lull()
			select {
			case <-ctx.Done():
				return
			case <-time.After(lookAgain):
			}
		case errors.Is(err, syscall.EPIPE): // records were overwritten before they were read
		default:
			fail(kernelLog, err)
			return
		}
	}
}

// logClock returns what turns the log's µs into ns since 1970. The log's clock
// stands still while the machine sleeps, and so is compared with now; but a file
// says nothing of now, only of its machine's boot.
func (r Root) logClock(f *os.File) (func(us int64) int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if r.Here() || info.Mode()&os.ModeCharDevice != 0 {
		return func(us int64) int64 { return time.Now().UnixNano() - (uptime() - us*1000) }, nil
	}
	boot, err := Open(string(r)).BootTime()
	if err != nil {
		return nil, err
	}
	return func(us int64) int64 { return boot + us*1000 }, nil
}

// lineReader cuts what is added into lines. One that is longer than any record is
// left out.
type lineReader struct {
	each func(line []byte)
	part []byte
	long bool
}

func (l *lineReader) add(data []byte) {
	for len(data) > 0 {
		line, rest, ends := bytes.Cut(data, []byte("\n"))
		if l.long = l.long || len(l.part)+len(line) > maxRecord; !l.long {
			l.part = append(l.part, line...)
		}
		if ends {
			if !l.long {
				l.each(l.part)
			}
			l.part, l.long = l.part[:0], false
		}
		data = rest
	}
}

// parseRecord reads a record of the log, "6,1234,56789,-;NVRM: Xid (PCI:0000:01:00):
// 79, …", and returns the Xid error with its time in µs since boot. What did not
// come from the kernel itself, which anybody who may write there could forge, is
// not looked at, nor are the lines that tell more of a record, which begin with a
// blank.
func parseRecord(line []byte) (x KernelXID, us int64, ok bool) {
	head, message, ok := strings.Cut(string(line), ";")
	if !ok {
		return x, 0, false
	}
	f := strings.Split(head, ",")
	if len(f) < 4 {
		return x, 0, false
	}
	priority, err := strconv.ParseUint(f[0], 10, 32)
	sequence, err2 := strconv.ParseUint(f[1], 10, 64)
	at, err3 := strconv.ParseUint(f[2], 10, 64)
	if err != nil || err2 != nil || err3 != nil || priority>>3 != 0 || at > maxUptime {
		return x, 0, false
	}
	x, ok = parseXID(message)
	x.Sequence = sequence
	return x, int64(at), ok
}

// parseXID reads what the driver writes of an Xid error. Where it concerns a MIG
// instance, the parentheses have "PCI:0000:01:00 GPU-I:05 GPU-CI:00".
func parseXID(message string) (x KernelXID, ok bool) {
	rest, ok := strings.CutPrefix(message, "NVRM: Xid (")
	if !ok {
		return x, false
	}
	where, rest, ok := strings.Cut(rest, "): ")
	if !ok {
		return x, false
	}
	x.GPUInstanceID, x.ComputeInstanceID = monitor.None, monitor.None
	for i, word := range strings.Fields(where) {
		if i == 0 {
			if x.BusID = busID(strings.TrimPrefix(word, "PCI:")); x.BusID == "" {
				return x, false
			}
		} else if id, ok := strings.CutPrefix(word, "GPU-I:"); ok {
			x.GPUInstanceID = instance(id)
		} else if id, ok := strings.CutPrefix(word, "GPU-CI:"); ok {
			x.ComputeInstanceID = instance(id)
		}
	}
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(rest)
	}
	code, err := strconv.ParseUint(rest[:end], 10, 16)
	x.Code = int(code)
	return x, err == nil && code > 0 && x.BusID != ""
}

// busID writes a bus id in NVML's form, "" where it is none.
func busID(s string) string {
	f := strings.Split(s, ":")
	if len(f) != 3 {
		return ""
	}
	device, function, _ := strings.Cut(f[2], ".")
	var n [3]uint64
	for i, part := range []string{f[0], f[1], device} {
		v, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	if n[1] > 0xFF || n[2] > 0x1F || strings.Trim(function, "01234567") != "" {
		return ""
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", n[0], n[1], n[2])
}

// instance is the number of a MIG instance, monitor.None where it is none.
func instance(s string) int {
	v, err := strconv.ParseUint(s, 10, 31)
	if err != nil || v > math.MaxUint8 {
		return monitor.None
	}
	return int(v)
}
