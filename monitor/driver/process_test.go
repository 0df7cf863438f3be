package driver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

func TestProcessListsOfEveryEntrySize(t *testing.T) {
	counts := []int{0, 1, 64, 65, 1000, 10000}
	s := []string{fmt.Sprintf("gpus %d", len(counts)), still, "gpu all process compute none", "gpu all process graphics none"}
	for i, n := range counts {
		if n > 0 {
			s = append(s, fmt.Sprintf("gpu %d processes compute %d 1000 1048576", i, n))
		}
	}
	for name, c := range map[string]struct{ generation, more string }{
		"16 bytes":             {"390", ""},
		"24 bytes":             {"580", ""},
		"24 bytes behind _v2":  {"470", ""},
		"32 bytes":             {"535.54", ""},
		"16 bytes behind _v3":  {"580", "process.stride.v3 16\n"},
		"cleared, with holes":  {"535.54", "process.clear 1\nprocess.holes 1\n"},
		"asked for with slack": {"535.98", "process.slack 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, c.generation, lines(s...)+c.more)
			for range 2 { // with a buffer that grew, too
				r.readAll(monitor.Everything)
				for i, n := range counts {
					g := &r.sinks[i].gpu
					if g.ProcStatus.Reason != monitor.Known || len(g.Processes) != n {
						t.Errorf("of %d processes %d were read, %+v", n, len(g.Processes), g.ProcStatus)
						continue
					}
					for k, p := range g.Processes {
						want := int64(1048576 + 4096*k)
						if got, ok := p.GPUMemoryBytes.Int(); !ok || got != want || p.PID != uint32(1000+k) || p.Types != monitor.Compute {
							t.Errorf("process %d of %d: PID %d, types %d, %v bytes; want PID %d with %d", k, n, p.PID, p.Types, show(p.GPUMemoryBytes), 1000+k, want)
							break
						}
						if p.GPUInstanceID != monitor.None || p.ComputeInstanceID != monitor.None {
							t.Errorf("process %d of %d is in instance %d, %d", k, n, p.GPUInstanceID, p.ComputeInstanceID)
							break
						}
					}
				}
			}
		})
	}
}

func TestGarbageIsNoProcess(t *testing.T) {
	for _, generation := range []string{"390", "535.54", "580"} {
		r := open(t, generation, lines("gpus 1", still, "process.garbage 5", "gpu 0 processes compute 9 1000 4096"))
		g := r.read(0, monitor.Everything)
		if g.ProcStatus.Reason != monitor.Implausible || g.Processes != nil || !strings.HasPrefix(g.ProcStatus.Err.Function(), "nvmlDeviceGetComputeRunningProcesses") {
			t.Errorf("on %s: %d processes, %+v; want an unknown list", generation, len(g.Processes), g.ProcStatus)
		}
	}
}

func TestListsAreMerged(t *testing.T) {
	r := open(t, "580", lines("gpus 3", still, "gpu all process compute none",
		"gpu 0 process compute 100 4096", "gpu 0 process graphics 100 8192", "gpu 0 process graphics 101 1024", "gpu 0 process mps 102 none",
		"gpu 1 processes graphics error 3", "gpu 1 processes mps error 3",
		"gpu 2 processes graphics error 999"))
	r.readAll(monitor.Everything)
	g := &r.sinks[0].gpu
	if len(g.Processes) != 3 {
		t.Fatalf("processes %+v", g.Processes)
	}
	for i, want := range []monitor.Process{
		{PID: 100, Types: monitor.Compute | monitor.Graphics, GPUMemoryBytes: monitor.OfInt(8192)},
		{PID: 101, Types: monitor.Graphics, GPUMemoryBytes: monitor.OfInt(1024)},
		{PID: 102, Types: monitor.MPS, GPUMemoryBytes: monitor.Unknown(noSupport)},
	} {
		p := g.Processes[i]
		if p.PID != want.PID || p.Types != want.Types || p.GPUMemoryBytes != want.GPUMemoryBytes {
			t.Errorf("process %+v, want %+v", p, want)
		}
	}
	if g := &r.sinks[1].gpu; g.ProcStatus.Reason != monitor.Known || len(g.Processes) != 0 {
		t.Errorf("a GPU without graphics: %+v, %+v", g.Processes, g.ProcStatus)
	}
	if g := &r.sinks[2].gpu; g.ProcStatus.Reason != monitor.DriverError || g.Processes != nil {
		t.Errorf("one list of three failed: %+v, %+v; want unknown", g.Processes, g.ProcStatus)
	}
	lists := r.fake.CallsOn("nvmlDeviceGetGraphicsRunningProcesses_v3", 1)
	r.pass(second)
	r.readAll(monitor.Everything)
	if again := r.fake.CallsOn("nvmlDeviceGetGraphicsRunningProcesses_v3", 1); again != lists {
		t.Errorf("a list that does not exist was asked for again")
	}
}

// A GPU whose compute processes the driver does not tell may have some: that the
// other lists are empty, or have entries, says nothing about them.
func TestARefusedComputeListIsUnknown(t *testing.T) {
	codes := []int{3, 4, 13, 22, 24, 999}
	s := []string{fmt.Sprintf("gpus %d", 2*len(codes)), still, "gpu all process compute none"}
	for i, code := range codes {
		s = append(s,
			fmt.Sprintf("gpu %d processes compute error %d", 2*i, code),
			fmt.Sprintf("gpu %d processes compute error %d", 2*i+1, code), fmt.Sprintf("gpu %d process graphics 100 8192", 2*i+1))
	}
	r := open(t, "580", lines(s...))
	for range 2 { // a list that does not exist is not asked for twice
		r.readAll(monitor.Everything)
		for i := range r.sinks {
			g, code := &r.sinks[i].gpu, codes[i/2]
			if why := reasonOf(code); g.ProcStatus.Reason != why || g.ProcStatus.Err.Code() != int32(code) || g.Processes != nil {
				t.Errorf("compute processes refused with %d: %+v, %+v; want none, %v", code, g.Processes, g.ProcStatus, why)
			}
		}
		r.pass(second)
	}
}

func TestLoadOfProcesses(t *testing.T) {
	scenario := func(usage ...string) string {
		return lines("gpus 1", still, "gpu 0 usage none", strings.Join(usage, "\n"))
	}
	r := open(t, "580", scenario("gpu 0 usage 21001 35 12 3 4 0 0 age 100"))
	load := func() (first, second monitor.Reading) {
		g := r.read(0, view())
		if len(g.Processes) != 2 {
			t.Fatalf("processes %+v", g.Processes)
		}
		if e := g.Processes[0].EncoderPercent; g.Processes[0].SMPercent.Known() != e.Known() {
			t.Errorf("encoder %v", show(e))
		}
		return g.Processes[0].SMPercent, g.Processes[1].SMPercent
	}
	if a, b := load(); show(a) != "35" || b.Reason != monitor.NotFound {
		t.Errorf("loads %v, %v; want 35, and unknown for the one that was not noticed", show(a), show(b))
	}
	// The same sample is not told again: it counts for its window, then both idle.
	r.fake.SetScenario(scenario())
	r.pass(second)
	if a, _ := load(); show(a) != "35" {
		t.Errorf("load a second later %v, want that of the last sample", show(a))
	}
	r.pass(2 * second)
	if a, b := load(); show(a) != "0" || show(b) != "0" {
		t.Errorf("loads when nothing runs %v, %v; want 0", show(a), show(b))
	}
	r.fake.SetScenario(scenario("gpu 0 processload error 4"))
	r.pass(second)
	if a, b := load(); a.Reason != monitor.NoPermission || b.Reason != monitor.NoPermission || a.Err.Code() != 4 {
		t.Errorf("loads refused %v, %v", show(a), show(b))
	}
	// Without the group nobody asks.
	r.sinks[0] = newRecorder()
	before := r.fake.Calls("nvmlDeviceGetProcessesUtilizationInfo")
	r.pass(second)
	r.read(0, monitor.Want{}.With(monitor.GroupProcesses))
	if r.fake.Calls("nvmlDeviceGetProcessesUtilizationInfo") != before || r.sinks[0].gpu.Processes[0].SMPercent.Reason != monitor.NotSampled {
		t.Error("loads were asked for though nobody wants them")
	}
}

func TestUnknownProcessMemory(t *testing.T) {
	r := open(t, "580", lines("gpus 1", still, "gpu 0 process compute none", "gpu 0 process compute 50 none"))
	for range 4 {
		g := r.read(0, view())
		if len(g.Processes) != 1 || g.Processes[0].GPUMemoryBytes.Reason != noSupport {
			t.Fatalf("processes %+v", g.Processes)
		}
		r.pass(second)
	}
	if n := r.fake.Calls("nvmlDeviceGetComputeRunningProcesses_v3"); n != 4 {
		t.Errorf("the list was read %d times in 4 s, want each second: memory tells nothing", n)
	}
}

func TestListsAreReadWhenMemoryChanges(t *testing.T) {
	const list = "nvmlDeviceGetComputeRunningProcesses_v3"
	r := open(t, "580", "gpus 1\n"+still)
	for range 11 {
		r.read(0, view())
		r.pass(second)
	}
	if n := r.fake.Calls(list); n != 3 {
		t.Errorf("the list was read %d times in 10 s, want 3 times", n)
	}
	r.fake.SetScenario("gpus 1\ngpu 0 memory.used 5GiB\ngpu 0 process compute none\n" + still)
	if g := r.read(0, view()); r.fake.Calls(list) != 4 || len(g.Processes) != 0 {
		t.Errorf("the list was not read again when the memory in use changed: %d processes", len(g.Processes))
	}
	at := r.sinks[0].gpu.ProcStatus.At
	r.pass(second)
	if r.read(0, view()); r.sinks[0].gpu.ProcStatus.At != at {
		t.Errorf("a list that was not read again became younger by %v", time.Duration(r.sinks[0].gpu.ProcStatus.At-at))
	}
}
