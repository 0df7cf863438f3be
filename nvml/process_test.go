package nvml_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
)

var kinds = map[string]nvml.ListKind{"compute": nvml.Compute, "graphics": nvml.Graphics, "mps": nvml.MPS}

// listScenario has n processes in the list of a kind, and what is to be read.
func listScenario(kind string, n int, mig bool) (string, []nvml.Process) {
	s := "gpus 1\n"
	for k := range kinds {
		s += "gpu 0 process " + k + " none\n"
	}
	var want []nvml.Process
	if n > 100 {
		s += fmt.Sprintf("gpu 0 processes %s %d 1000 1048576\n", kind, n)
		for i := range n {
			want = append(want, nvml.Process{PID: uint32(1000 + i), UsedGPUMemory: uint64(1048576 + 4096*i), GPUInstanceID: nvml.NoInstance, ComputeInstanceID: nvml.NoInstance})
		}
		return s, want
	}
	for i := range n {
		p := nvml.Process{PID: uint32(7*i + 1), UsedGPUMemory: uint64(i) * 0xA5A5A5, GPUInstanceID: nvml.NoInstance, ComputeInstanceID: nvml.NoInstance}
		bytes := fmt.Sprint(p.UsedGPUMemory)
		if i%5 == 4 {
			p.UsedGPUMemory, bytes = nvml.NotAvailable, "none"
		}
		s += fmt.Sprintf("gpu 0 process %s %d %s\n", kind, p.PID, bytes)
		want = append(want, p)
	}
	return s, want
}

func TestProcessListsOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		symbols, err := fakenvml.Symbols(g)
		if err != nil {
			t.Fatal(err)
		}
		for kind, number := range kinds {
			if kind == "mps" && !slices.Contains(symbols, "nvmlDeviceGetMPSComputeRunningProcesses") {
				continue
			}
			for _, n := range []int{0, 1, 2, 64, 65, 67, 1000, 10000} {
				s, want := listScenario(kind, n, false)
				_, d := device(t, g, s, nvml.Options{})
				for range 2 {
					got, err := d.AppendRunningProcesses(nil, number)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %s: %d processes: %d are read, %v; %v … want %v …", g, kind, n, len(got), err, got[:min(3, len(got))], want[:min(3, len(want))])
					}
				}
			}
		}
	}
}

// TestProcessListsThatLie has entries of another length than the name of the
// function says, and libraries that leave bytes alone or clear too many.
func TestProcessListsThatLie(t *testing.T) {
	for _, stride := range []int{16, 24, 32} {
		for _, how := range []string{"", "process.clear 1\n", "process.holes 1\n", "process.slack 300\n"} {
			for _, n := range []int{0, 1, 2, 3, 64, 65, 67, 1000} {
				s, want := listScenario("compute", n, false)
				_, d := device(t, "580", s+how+fmt.Sprintf("process.stride.v3 %d\n", stride), nvml.Options{})
				got, err := d.ComputeRunningProcesses()
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%d bytes, %q, %d processes: %d are read, %v; %v …", stride, how, n, len(got), err, got[:min(3, len(got))])
				}
			}
		}
	}
}

// TestProcessListsThatMakeNoSense falls back, and says unknown where it cannot.
func TestProcessListsThatMakeNoSense(t *testing.T) {
	for _, how := range []string{"process.garbage 1\n", "process.overrun 64\n"} {
		s, _ := listScenario("compute", 5, false)
		_, d := device(t, "580", s+how, nvml.Options{})
		got, err := d.AppendRunningProcesses([]nvml.Process{{PID: 1}}, nvml.Compute)
		if !errors.Is(err, nvml.ErrImplausible) || len(got) != 1 {
			t.Errorf("%q: %v, %v", how, got, err)
		}
	}
	// Only the newest function is broken.
	s, want := listScenario("compute", 5, false)
	r := &recorder{}
	_, d := device(t, "580", s+"fault nvmlDeviceGetComputeRunningProcesses_v3 return 3\n", nvml.Options{Trace: r})
	r.take()
	if got, err := d.ComputeRunningProcesses(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if names := r.names(); len(names) != 2 || names[1] != "nvmlDeviceGetComputeRunningProcesses_v2" {
		t.Errorf("calls: %v", names)
	}
}

func TestProcessesOfInstances(t *testing.T) {
	_, d := device(t, "550", "gpus 1\ngpu 0 process compute none\ngpu 0 process compute 11 4096 3 0\ngpu 0 process compute 12 8192 4 1\n", nvml.Options{})
	got, err := d.ComputeRunningProcesses()
	want := []nvml.Process{{PID: 11, UsedGPUMemory: 4096, GPUInstanceID: 3, ComputeInstanceID: 0}, {PID: 12, UsedGPUMemory: 8192, GPUInstanceID: 4, ComputeInstanceID: 1}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestListThatGrowsForEver asks for more room at each call.
func TestListThatGrowsForEver(t *testing.T) {
	_, d := device(t, "580", "gpus 1\nfault nvmlDeviceGetComputeRunningProcesses* return 7\nfault nvmlDeviceGetProcess* return 7\nfault nvmlDeviceGetAccountingPids return 7\n", nvml.Options{})
	if l, err := d.ComputeRunningProcesses(); !errors.Is(err, nvml.ErrInsufficientSize) {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := d.ProcessUtilization(0); !errors.Is(err, nvml.ErrInsufficientSize) {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := d.AccountingPids(); !errors.Is(err, nvml.ErrInsufficientSize) {
		t.Errorf("%v, %v", l, err)
	}
}

func TestProcessUtilization(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		s := "gpus 1\ngpu 0 usage none\n"
		for i := range 300 {
			s += fmt.Sprintf("gpu 0 usage %d %d 2 3 4 5 6 stamp %d\n", 100+i, i%100, 1_000_000+i)
		}
		_, d := device(t, g, s, nvml.Options{})
		list, err := d.ProcessUtilization(0)
		if err != nil || len(list) != 300 {
			t.Errorf("%s: %d entries, %v", g, len(list), err)
			continue
		}
		want := nvml.ProcessLoad{PID: 117, Time: 1_000_017, SM: 17, Memory: 2, Encoder: 3, Decoder: 4}
		if branch(g) >= 550 {
			want.JPEG, want.OFA, want.JPEGKnown = 5, 6, true
		}
		if i := slices.IndexFunc(list, func(p nvml.ProcessLoad) bool { return p.PID == 117 }); i < 0 || list[i] != want {
			t.Errorf("%s: %+v, want %+v", g, list[max(i, 0)], want)
		}
		if list, err = d.AppendProcessUtilization(list[:1], 1_000_289); err != nil || len(list) != 11 {
			t.Errorf("%s: since: %d entries, %v", g, len(list), err)
		}
	}
}

func TestProcessDetails(t *testing.T) {
	_, d := device(t, "580", "gpus 1\ngpu 0 process compute none\ngpu 0 process compute 11 4096 3 0 512\n", nvml.Options{})
	got, err := d.RunningProcessDetailList(nvml.Compute)
	want := nvml.ProcessDetail{Process: nvml.Process{PID: 11, UsedGPUMemory: 4096, GPUInstanceID: 3}, ProtectedMemory: 512}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProcessName(t *testing.T) {
	_, lib := open(t, "580", "processname.77 /usr/bin/python3 train.py\n", nvml.Options{})
	if name, err := lib.ProcessName(77); err != nil || name != "/usr/bin/python3 train.py" {
		t.Errorf("%q, %v", name, err)
	}
	if name, err := lib.ProcessName(78); !errors.Is(err, nvml.ErrNotFound) || name != "" {
		t.Errorf("%q, %v", name, err)
	}
}

// write puts a list of processes in entries of that length into a buffer with
// that room.
func write(list []nvml.Process, stride, room int) []byte {
	b := bytes.Repeat([]byte{nvml.InTestSentinel}, room*32)
	for i, p := range list {
		e := b[i*stride:]
		binary.NativeEndian.PutUint32(e, p.PID)
		binary.NativeEndian.PutUint64(e[8:], p.UsedGPUMemory)
		if stride >= 24 {
			binary.NativeEndian.PutUint32(e[16:], p.GPUInstanceID)
			binary.NativeEndian.PutUint32(e[20:], p.ComputeInstanceID)
		}
		if stride >= 32 {
			binary.NativeEndian.PutUint64(e[24:], 0)
		}
	}
	return b
}

// FuzzStride writes lists in all three lengths and reads them back.
func FuzzStride(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(0), uint8(24))
	f.Add([]byte{0xA5, 0xA5, 0xA5, 0, 0, 0, 0, 0xA5}, uint8(1), uint8(16))
	f.Fuzz(func(t *testing.T, data []byte, which, guess uint8) {
		stride := []int{16, 24, 32}[which%3]
		var list []nvml.Process
		for len(data) >= 4 && len(list) < 500 {
			p := nvml.Process{PID: uint32(data[0]) + uint32(data[1])<<8 + 1, UsedGPUMemory: uint64(data[2])<<32 + uint64(data[3])<<12, GPUInstanceID: nvml.NoInstance, ComputeInstanceID: nvml.NoInstance}
			if stride > 16 && data[2]%4 == 0 {
				p.GPUInstanceID, p.ComputeInstanceID = uint32(data[2]%8), uint32(data[3]%8)
			}
			list, data = append(list, p), data[4:]
		}
		if len(list) == 0 {
			return
		}
		room := nvml.InTestRoomFor(len(list))
		b := write(list, stride, room)
		got := nvml.InTestStride(b, room, len(list), []int{16, 24, 32}[guess%3])
		if got != stride {
			t.Fatalf("%d entries of %d bytes were taken for entries of %d", len(list), stride, got)
		}
		for i, p := range list {
			if e := nvml.InTestEntry(b, i, got); e != p {
				t.Fatalf("entry %d: %v, want %v", i, e, p)
			}
		}
	})
}

// FuzzStrideOfAnything must not read behind the buffer, whatever is in it.
func FuzzStrideOfAnything(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0}, uint16(1))
	f.Add(bytes.Repeat([]byte{0}, 96), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		room := 67
		b := bytes.Repeat([]byte{nvml.InTestSentinel}, room*32)
		copy(b, data)
		count := int(n)%room + 1
		if s := nvml.InTestStride(b, room, count, 24); s != 0 && !nvml.InTestPlausible(b, count, s) {
			t.Fatalf("a length of %d bytes is not plausible", s)
		}
	})
}
