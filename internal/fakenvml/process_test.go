//go:build linux || windows

package fakenvml_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
)

// entrySizes are the bytes an entry has behind each symbol of a generation, 0
// where the symbol is absent.
var entrySizes = map[string][3]int{
	"390": {16, 0, 0}, "450": {16, 24, 0}, "470": {16, 24, 0}, "510": {16, 24, 24},
	"525": {16, 24, 24}, "535.54": {16, 24, 32}, "535.98": {16, 24, 0}, "550": {16, 24, 24},
	"580": {16, 24, 24}, "615": {16, 24, 24},
}

const sentinel = 0xa5

// ask calls a process query with room for entries of size bytes and 64 bytes of
// guard behind them, and returns what is in the buffer.
func (l *library) ask(symbol string, device uintptr, room, size int) (code int32, count int, buffer []byte) {
	l.t.Helper()
	buffer = bytes.Repeat([]byte{sentinel}, room*size+64)
	n := new(uint32)
	*n = uint32(room)
	code = l.call(symbol, device, ref(n), ref(&buffer[0]))
	return code, int(*n), buffer
}

// written is the length of a buffer without the sentinel bytes at its end.
func written(buffer []byte) int {
	end := len(buffer)
	for end > 0 && buffer[end-1] == sentinel {
		end--
	}
	return end
}

func TestProcessLists(t *testing.T) {
	kinds := []string{"Compute", "Graphics", "MPSCompute"}
	words := []string{"compute", "graphics", "mps"}
	each(t, func(t *testing.T, g string) {
		l := start(t, g, "gpus 1\ngpu all process compute none\n")
		device := l.device(0)
		for _, n := range []int{0, 1, 64, 65, 1000, 10000} {
			scenario := "gpus 1\ngpu 0 process compute none\n"
			for k, word := range words {
				scenario += fmt.Sprintf("gpu 0 processes %s %d %d %d\n", word, n, 1000+20000*k, 1<<30)
			}
			l.SetScenario(scenario)
			for k, kind := range kinds {
				for v, suffix := range []string{"", "_v2", "_v3"} {
					symbol := "nvmlDeviceGet" + kind + "RunningProcesses" + suffix
					size := entrySizes[g][v]
					if kind == "MPSCompute" && suffix == "_v2" && g < "470" {
						size = 0 // came with 470
					}
					if has := findSymbol(l.handle, symbol) != 0; has != (size != 0) {
						t.Fatalf("%s: present %v", symbol, has)
					}
					if size == 0 {
						continue
					}
					code, count, buffer := l.ask(symbol, device, max(n-1, 0), size)
					if n > 0 && (code != insufficientSize || count != n || written(buffer) > 0) {
						t.Fatalf("%s with room for %d of %d: %d, count %d, %d bytes", symbol, n-1, n, code, count, written(buffer))
					}
					code, count, buffer = l.ask(symbol, device, n+3, size)
					if code != success || count != n {
						t.Fatalf("%s of %d: %d, count %d", symbol, n, code, count)
					}
					if got := written(buffer); got != n*size {
						t.Fatalf("%s of %d wrote %d bytes, want %d", symbol, n, got, n*size)
					}
					for i := range n {
						checkEntry(t, symbol, buffer[i*size:][:size], 1000+20000*k+i, 1<<30+4096*i)
					}
				}
			}
		}
	})
}

func checkEntry(t *testing.T, symbol string, entry []byte, pid, memory int) {
	t.Helper()
	if got := binary.NativeEndian.Uint32(entry); got != uint32(pid) {
		t.Fatalf("%s: PID %d, want %d", symbol, got, pid)
	}
	if got := binary.NativeEndian.Uint64(entry[8:]); got != uint64(memory) {
		t.Fatalf("%s: PID %d has %d bytes, want %d", symbol, pid, got, memory)
	}
	if len(entry) >= 24 && binary.NativeEndian.Uint64(entry[16:]) != 1<<64-1 {
		t.Fatalf("%s: PID %d has instances % x", symbol, pid, entry[16:24])
	}
	if len(entry) >= 32 && binary.NativeEndian.Uint64(entry[24:]) != 0 {
		t.Fatalf("%s: PID %d has protected memory", symbol, pid)
	}
}

func TestProcessListArguments(t *testing.T) {
	const symbol = "nvmlDeviceGetComputeRunningProcesses_v3"
	l := start(t, "580", "gpus 1\n") // two processes
	device := l.device(0)
	count := new(uint32)
	l.want(insufficientSize, symbol, device, ref(count), 0)
	if *count != 2 {
		t.Errorf("count %d", *count)
	}
	l.want(invalidArgument, symbol, device, ref(count), 0)
	l.want(invalidArgument, symbol, device, 0, ref(new([64]byte)))
	*count = 0xa5a5a5a5
	l.want(invalidArgument, symbol, device, ref(count), ref(new([64]byte)))
	*count = 2
	l.want(invalidArgument, symbol, device, ref(count), ref(new([64]byte))+4)
	notes := strings.Join(l.Violations(), "\n")
	for _, want := range []string{"NULL array with a count of 2", "count of 2779096485", "is not aligned"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in\n%s", want, notes)
		}
	}
	l.SetScenario("gpus 1\nprocess.null success\n")
	*count = 0
	l.want(success, symbol, device, ref(count), 0)
	l.SetScenario("gpus 1\ngpu 0 process compute none\n")
	*count = 0
	l.want(success, symbol, device, ref(count), 0)
	l.SetScenario("gpus 1\ngpu 0 processes compute error 999\n")
	l.want(999, symbol, device, ref(count), 0)
}

// Libraries that misbehave: what a caller must find out from the bytes.
func TestProcessListOptions(t *testing.T) {
	const symbol = "nvmlDeviceGetComputeRunningProcesses_v3"
	l := start(t, "535.54", "gpus 1\n")
	device := l.device(0)
	set := func(option string) {
		l.SetScenario("gpus 1\n" + option + "\ngpu 0 process compute none\ngpu 0 process compute 7 none\ngpu 0 process compute 8 20\n")
	}
	for _, c := range []struct {
		option  string
		written int
	}{
		{"", 64},
		{"process.clear 1", 67 * 32},
		{"process.stride.v3 16", 32},
		{"process.stride.v3 24", 48},
		{"process.overrun 8", 67*32 + 8},
		{"process.holes 1", 32 + 24},
	} {
		set(c.option)
		code, count, buffer := l.ask(symbol, device, 67, 32)
		if code != success || count != 2 || written(buffer) != c.written {
			t.Errorf("%q: %d, count %d, %d bytes, want %d", c.option, code, count, written(buffer), c.written)
		}
		if binary.NativeEndian.Uint32(buffer) != 7 || binary.NativeEndian.Uint64(buffer[8:]) != 1<<64-1 {
			t.Errorf("%q: first entry % x", c.option, buffer[:16])
		}
		if hole := buffer[4] == sentinel; hole != (c.option == "process.holes 1") {
			t.Errorf("%q: padding %#x", c.option, buffer[4])
		}
	}
	set("process.garbage 1")
	_, _, buffer := l.ask(symbol, device, 67, 32)
	if pid := binary.NativeEndian.Uint32(buffer); pid <= 4194304 {
		t.Errorf("PID %d is no garbage", pid)
	}
	set("process.slack 5")
	if code, count, _ := l.ask(symbol, device, 1, 32); code != insufficientSize || count != 7 {
		t.Errorf("with slack: %d, count %d", code, count)
	}
}

func TestDetailList(t *testing.T) {
	l := start(t, "580", "gpus 2\ngpu 1 model a100\ngpu 0 process graphics 9 100 1 2 300\n")
	entries := new([8 * 32]byte)
	list := new([24]byte)
	set := func(version, mode, room uint32, array uintptr) uintptr {
		binary.NativeEndian.PutUint32(list[:], version)
		binary.NativeEndian.PutUint32(list[4:], mode)
		binary.NativeEndian.PutUint32(list[8:], room)
		binary.NativeEndian.PutUint64(list[16:], uint64(array))
		return ref(list)
	}
	const name, word = "nvmlDeviceGetRunningProcessDetailList", 0x01000018
	device := l.device(0)
	l.want(versionMismatch, name, device, set(1, 0, 8, ref(entries)))
	l.want(insufficientSize, name, device, set(word, 3, 2, ref(entries)))
	if got := binary.NativeEndian.Uint32(list[8:]); got != 3 {
		t.Errorf("all kinds: %d entries", got)
	}
	l.want(success, name, device, set(word, 1, 8, ref(entries)))
	if got := binary.NativeEndian.Uint32(list[8:]); got != 1 {
		t.Errorf("graphics: %d entries", got)
	}
	if got := binary.NativeEndian.Uint64(entries[24:]); got != 300 {
		t.Errorf("protected memory %d", got)
	}
	l.want(notSupported, name, l.device(1), set(word, 0, 8, ref(entries)))
}

func TestProcessLoad(t *testing.T) {
	const name = "nvmlDeviceGetProcessUtilization"
	l := start(t, "580", "gpus 1\ngpu 0 usage none\ngpu 0 usage 5 10 20 30 40 50 60 stamp 2000\ngpu 0 usage 6 1 2 3 4 stamp 1000\n")
	device := l.device(0)
	count := new(uint32)
	l.want(insufficientSize, name, device, 0, ref(count), 0)
	if *count != 100 {
		t.Errorf("sizing answers %d, want 100 whatever runs", *count)
	}
	buffer := new([100 * 32]byte)
	*count = 2
	l.want(insufficientSize, name, device, ref(buffer), ref(count), 0)
	*count = 100
	l.want(success, name, device, ref(buffer), ref(count), 1500)
	if *count != 1 || binary.NativeEndian.Uint32(buffer[:]) != 5 || binary.NativeEndian.Uint32(buffer[16:]) != 10 {
		t.Errorf("%d samples, first % x", *count, buffer[:32])
	}
	*count = 100
	l.want(notFound, name, device, ref(buffer), ref(count), 2000)

	info := new([24]byte)
	binary.NativeEndian.PutUint32(info[:], 0x01000018)
	binary.NativeEndian.PutUint32(info[4:], 100)
	binary.NativeEndian.PutUint64(info[16:], uint64(ref(new([100 * 40]byte))))
	l.want(success, "nvmlDeviceGetProcessesUtilizationInfo", device, ref(info))
	if got := binary.NativeEndian.Uint32(info[4:]); got != 2 {
		t.Errorf("%d samples of the newer form", got)
	}
	l.SetScenario("gpus 1\ngpu 0 mig on\n")
	l.want(notSupported, name, device, ref(buffer), ref(count), 0)
}

func TestAccounting(t *testing.T) {
	l := start(t, "615", "gpus 1\n")
	device := l.device(0)
	count := new(uint32)
	pids := new([4]uint32)
	l.want(notSupported, "nvmlDeviceGetAccountingPids", device, ref(count), ref(pids))
	l.SetScenario("gpus 1\ngpu 0 accounting 1\ngpu 0 account 11 5 6 700 800 900 0\ngpu 0 account 12 1 1 1 1 1 1\n")
	l.want(insufficientSize, "nvmlDeviceGetAccountingPids", device, ref(count), 0)
	l.want(success, "nvmlDeviceGetAccountingPids", device, ref(count), ref(pids))
	if *count != 2 || pids[0] != 11 || pids[1] != 12 {
		t.Errorf("PIDs %v of %d", *pids, *count)
	}
	stats := new([56]byte)
	l.want(success, "nvmlDeviceGetAccountingStats", device, 11, ref(stats))
	if got := binary.NativeEndian.Uint64(stats[8:]); got != 700 {
		t.Errorf("most memory %d", got)
	}
	l.want(notFound, "nvmlDeviceGetAccountingStats", device, 99, ref(stats))
}

// ---- MIG ----

const migScenario = `gpus 1
gpu 0 mig on
gpu 0 instance 0 1 0 1g.10gb
gpu 0 instance 2 5 0 3g.40gb
gpu 0 process compute none
gpu 0:0 process compute 500 1000
gpu 0:2 process compute 600 2000
gpu 0:2 gpm.2 55.5
`

func TestMIG(t *testing.T) {
	l := start(t, "580", migScenario)
	parent := l.device(0)
	handle := func(index int) (uintptr, int32) {
		h := new(uintptr)
		code := l.call("nvmlDeviceGetMigDeviceHandleByIndex", parent, uintptr(index), ref(h))
		return *h, code
	}
	if _, code := handle(1); code != notFound {
		t.Errorf("a hole answers %d", code)
	}
	if _, code := handle(7); code != invalidArgument {
		t.Errorf("index past the end answers %d", code)
	}
	mig, code := handle(2)
	if code != success {
		t.Fatalf("MIG device 2: %d", code)
	}
	if got := l.text("nvmlDeviceGetName", mig); got != "NVIDIA H100 80GB HBM3 MIG 3g.40gb" {
		t.Errorf("name %q", got)
	}
	if got := l.text("nvmlDeviceGetUUID", mig); !strings.HasPrefix(got, "MIG-") {
		t.Errorf("UUID %q", got)
	}
	if gi, code := l.number("nvmlDeviceGetGpuInstanceId", mig); gi != 5 || code != success {
		t.Errorf("GPU instance %d, %d", gi, code)
	}
	if _, code := l.number("nvmlDeviceGetGpuInstanceId", parent); code != notSupported {
		t.Errorf("GPU instance of the parent: %d", code)
	}
	for _, device := range []uintptr{parent, mig} {
		l.want(notSupported, "nvmlDeviceGetUtilizationRates", device, ref(new([2]uint32)))
	}
	memory := new([3]uint64)
	l.want(success, "nvmlDeviceGetMemoryInfo", mig, ref(memory))
	if memory[0] != 40<<30 {
		t.Errorf("memory of the instance %d", memory[0])
	}
	attributes := new([40]byte)
	l.want(success, "nvmlDeviceGetAttributes_v2", mig, ref(attributes))
	if got := binary.NativeEndian.Uint64(attributes[32:]); got != 40<<10 {
		t.Errorf("attributes: %d MiB", got)
	}
	// The parent's list is that of all instances, with their ids.
	const list = "nvmlDeviceGetComputeRunningProcesses_v3"
	_, count, buffer := l.ask(list, parent, 8, 24)
	if count != 2 || binary.NativeEndian.Uint32(buffer[24:]) != 600 || binary.NativeEndian.Uint32(buffer[24+16:]) != 5 {
		t.Errorf("parent: %d processes, % x", count, buffer[:48])
	}
	if _, count, _ := l.ask(list, mig, 8, 24); count != 1 {
		t.Errorf("instance: %d processes", count)
	}
	// Made anew under the same index it is another device.
	l.SetScenario(migScenario + "gpu 0:2 uuid MIG-new\n")
	if _, code := l.number("nvmlDeviceGetGpuInstanceId", mig); code != invalidArgument {
		t.Errorf("the handle of a destroyed instance answers %d", code)
	}
	if again, code := handle(2); code != success || again != mig {
		t.Errorf("the new instance: handle %#x, %d", again, code)
	}
	l.SetScenario("gpus 1\n")
	if _, code := handle(2); code != notSupported {
		t.Errorf("with MIG off: %d", code)
	}
}

func TestMIGProfiles(t *testing.T) {
	l := start(t, "580", migScenario)
	parent := l.device(0)
	info := new([152]byte)
	for _, word := range []uint32{0x02000098, 0x03000098} {
		binary.NativeEndian.PutUint32(info[:], word)
		l.want(success, "nvmlDeviceGetGpuInstanceProfileInfoV", parent, 2, ref(info))
		if !bytes.Contains(info[:], []byte("MIG 3g.40gb\x00")) {
			t.Errorf("word %#x: no name in % x", word, info[:])
		}
	}
	binary.NativeEndian.PutUint32(info[:], 1)
	l.want(versionMismatch, "nvmlDeviceGetGpuInstanceProfileInfoV", parent, 2, ref(info))
	l.want(success, "nvmlDeviceGetGpuInstanceProfileInfo", parent, 0, ref(info))
	if got := binary.NativeEndian.Uint32(info[12:]); got != 7 {
		t.Errorf("%d instances of the smallest profile", got)
	}
	l.want(invalidArgument, "nvmlDeviceGetGpuInstanceProfileInfo", parent, 40, ref(info))
	instance := new(uintptr)
	l.want(success, "nvmlDeviceGetGpuInstanceById", parent, 5, ref(instance))
	l.want(success, "nvmlGpuInstanceGetInfo", *instance, ref(info))
	if got := binary.NativeEndian.Uint32(info[8:]); got != 5 {
		t.Errorf("GPU instance %d", got)
	}
}

// ---- GPM ----

func gpmSample(l *library) uintptr {
	l.t.Helper()
	sample := new(uintptr)
	l.want(success, "nvmlGpmSampleAlloc", ref(sample))
	return *sample
}

// gpmRequest is nvmlGpmMetricsGet_t with n entries.
func gpmRequest(first, second uintptr, ids ...uint32) []byte {
	get := make([]byte, 24+40*max(len(ids), 1)+64)
	binary.NativeEndian.PutUint32(get, 1)
	binary.NativeEndian.PutUint32(get[4:], uint32(len(ids)))
	binary.NativeEndian.PutUint64(get[8:], uint64(first))
	binary.NativeEndian.PutUint64(get[16:], uint64(second))
	for i, id := range ids {
		binary.NativeEndian.PutUint32(get[24+40*i:], id)
	}
	return get
}

func TestGPM(t *testing.T) {
	for _, c := range []struct {
		generation string
		limit      int
	}{{"525", 98}, {"550", 98}, {"580", 210}, {"615", 477}} {
		t.Run(c.generation, func(t *testing.T) {
			l := start(t, c.generation, "gpus 1\ngpu 0 gpm.2 12.5\ngpu 0 gpm.5 75\n")
			device := l.device(0)
			support := &[2]uint32{2, 0}
			l.want(versionMismatch, "nvmlGpmQueryDeviceSupport", device, ref(support))
			support[0] = 1
			l.want(success, "nvmlGpmQueryDeviceSupport", device, ref(support))
			first, second := gpmSample(l), gpmSample(l)
			l.want(success, "nvmlGpmSampleGet", device, first)
			time.Sleep(120 * time.Millisecond)
			l.want(success, "nvmlGpmSampleGet", device, second)
			get := gpmRequest(first, second, 2, 5, uint32(c.limit)+1, 16)
			l.want(success, "nvmlGpmMetricsGet", ref(&get[0]))
			for i, want := range []string{"0 12.5", "0 75", "2 0", "3 0"} {
				code := binary.NativeEndian.Uint32(get[24+40*i+4:])
				var value float64
				if _, err := binary.Decode(get[24+40*i+8:], binary.NativeEndian, &value); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(code, value); got != want {
					t.Errorf("entry %d: %s, want %s", i, got, want)
				}
			}
			many := gpmRequest(first, second, make([]uint32, c.limit+1)...)
			l.want(invalidArgument, "nvmlGpmMetricsGet", ref(&many[0]))
			bad := gpmRequest(second, second, 2)
			l.want(invalidArgument, "nvmlGpmMetricsGet", ref(&bad[0]))
			l.want(success, "nvmlGpmSampleFree", first)
			l.want(invalidArgument, "nvmlGpmSampleFree", first)
			l.want(success, "nvmlShutdown")
			notes := strings.Join(l.Violations(), "\n")
			for _, want := range []string{"numMetrics", "the same twice", "freed sample", "was not freed"} {
				if !strings.Contains(notes, want) {
					t.Errorf("no note %q in\n%s", want, notes)
				}
			}
		})
	}
}

func TestGPMOfInstances(t *testing.T) {
	l := start(t, "580", migScenario)
	device := l.device(0)
	first, second := gpmSample(l), gpmSample(l)
	l.want(notFound, "nvmlGpmMigSampleGet", device, 3, first)
	l.want(success, "nvmlGpmMigSampleGet", device, 5, first)
	time.Sleep(120 * time.Millisecond)
	l.want(success, "nvmlGpmMigSampleGet", device, 5, second)
	get := gpmRequest(first, second, 2)
	l.want(success, "nvmlGpmMetricsGet", ref(&get[0]))
	var value float64
	if _, err := binary.Decode(get[32:], binary.NativeEndian, &value); err != nil || value != 55.5 {
		t.Errorf("SM of the instance %v, %v", value, err)
	}
}

func TestFirstGPMSamplesAtOnce(t *testing.T) {
	l := start(t, "580", "gpus 2\ngpm.first 300\n")
	devices := []uintptr{l.device(0), l.device(1)}
	done := make(chan bool)
	go func() {
		l.want(success, "nvmlGpmSampleGet", devices[0], gpmSample(l))
		done <- true
	}()
	l.WaitCalls("nvmlGpmSampleGet", 1)
	l.want(success, "nvmlGpmSampleGet", devices[1], gpmSample(l))
	<-done
	if notes := strings.Join(l.Violations(), "\n"); !strings.Contains(notes, "first sample of GPU 1 while that of GPU 0") {
		t.Errorf("no note on first samples at once in %q", notes)
	}
}

// ---- events ----

func TestEvents(t *testing.T) {
	l := start(t, "615", "gpus 2\nevent gpu 1 xid 79\nevent gpu 0 at 50 xid 31 gi 1 ci 2\nevent gpu 0 type 0x4\n")
	set := new(uintptr)
	l.want(success, "nvmlEventSetCreate", ref(set))
	types := new(uint64)
	l.want(success, "nvmlDeviceGetSupportedEventTypes", l.device(0), ref(types))
	if isWindows() {
		if *types != 0 {
			t.Errorf("events %#x on Windows", *types)
		}
		l.want(notSupported, "nvmlDeviceRegisterEvents", l.device(0), 8, *set)
		return
	}
	if *types&8 == 0 {
		t.Errorf("events %#x", *types)
	}
	l.want(notSupported, "nvmlDeviceRegisterEvents", l.device(0), 1<<40, *set)
	for gpu := range 2 {
		l.want(success, "nvmlDeviceRegisterEvents", l.device(gpu), 8, *set)
	}
	data := new([32]byte)
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(data[at:]) }
	l.want(success, "nvmlEventSetWait_v2", *set, ref(data), 60000)
	if number(0) != uint64(l.device(1)) || number(8) != 8 || number(16) != 79 || number(24) != 1<<64-1 {
		t.Errorf("event % x", data[:])
	}
	l.want(success, "nvmlEventSetWait_v2", *set, ref(data), 60000)
	if number(16) != 31 || number(24) != 2<<32|1 {
		t.Errorf("event % x", data[:])
	}
	l.want(timeout, "nvmlEventSetWait_v2", *set, ref(data), 20)
	// A new line is a new event, the old ones do not come again.
	l.SetScenario("gpus 2\nevent gpu 1 xid 79\nevent gpu 1 xid 13\n")
	*data = [32]byte{24: sentinel}
	l.want(success, "nvmlEventSetWait", *set, ref(data), 60000)
	if number(16) != 13 || data[24] != sentinel {
		t.Errorf("event of the first form % x", data[:])
	}
	l.SetScenario("gpus 2\nevent gpu 0 xid 48\n")
	wide := new([224]byte)
	binary.NativeEndian.PutUint32(wide[:], 60000)
	l.want(success, "nvmlEventSetWait_v3", *set, ref(wide))
	if got := binary.NativeEndian.Uint64(wide[128:]); got != 48 {
		t.Errorf("Xid %d", got)
	}
	l.want(success, "nvmlEventSetFree", *set)
	l.want(invalidArgument, "nvmlEventSetFree", *set)
	l.want(invalidArgument, "nvmlEventSetWait_v2", *set, ref(data), 0)
}

func TestSupportedClocks(t *testing.T) {
	l := start(t, "580", "gpus 1\ngpu 0 clocks.memory 2619,1593\n")
	device := l.device(0)
	count := new(uint32)
	clocks := new([4]uint32)
	l.want(insufficientSize, "nvmlDeviceGetSupportedMemoryClocks", device, ref(count), 0)
	if *count != 2 {
		t.Errorf("%d clocks", *count)
	}
	l.want(success, "nvmlDeviceGetSupportedMemoryClocks", device, ref(count), ref(clocks))
	if clocks[0] != 2619 || clocks[1] != 1593 {
		t.Errorf("clocks %v", *clocks)
	}
	l.want(success, "nvmlDeviceGetSupportedGraphicsClocks", device, 2619, ref(&[1]uint32{1}), ref(clocks))
	if clocks[0] != 1980 {
		t.Errorf("graphics clock %d", clocks[0])
	}
}
