package driver

import (
	"slices"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

// TestACardThatAnswersLittle: an old desktop card that refuses loads and lists
// of processes keeps its row, and what it does answer.
func TestACardThatAnswersLittle(t *testing.T) {
	r := open(t, "390", lines("gpus 1", "model gtx1080", "gpu 0 temperature 61", "gpu 0 fan.0 40", "gpu 0 util unset", "gpu 0 util.memory unset",
		"gpu 0 encoder unset", "gpu 0 decoder unset", "gpu 0 power unset", "gpu 0 process compute none",
		"gpu 0 processes compute error 3", "gpu 0 processes graphics error 3"))
	for range 3 {
		g := r.read(0, view())
		for _, id := range []monitor.ReadingID{monitor.UtilizationPercent, monitor.EncoderPercent, monitor.DecoderPercent, monitor.PowerMW} {
			if got := g.Readings[id]; got.Reason != noSupport || got.Err.Code() != 3 {
				t.Errorf("%v is %v", id, show(got))
			}
		}
		if g.ProcStatus.Reason != noSupport || g.Processes != nil {
			t.Errorf("processes %+v, %+v", g.Processes, g.ProcStatus)
		}
		for id, want := range map[monitor.ReadingID]string{monitor.TemperatureC: "61", monitor.FanPercent: "40", monitor.MemoryTotalBytes: "8.589934592e+09"} {
			if got := g.Readings[id]; show(got) != want {
				t.Errorf("%v is %v, want %s", id, show(got), want)
			}
		}
		if g.State != monitor.OK || !g.Name.Known() {
			t.Errorf("state %v, %+v", g.State, g.Identity)
		}
		r.pass(second)
	}
}

// TestAGPUWhoseHandleIsRefused: there is no handle to call anything with.
func TestAGPUWhoseHandleIsRefused(t *testing.T) {
	r := open(t, "580", "gpus 2\n"+hopper+"fault nvmlDeviceGetHandleBy* gpu 1 return 999\n")
	for range 5 {
		r.readAll(monitor.Everything)
		r.look()
		r.pass(second)
	}
	if g := &r.sinks[1].gpu; g.State != monitor.Unavailable || g.StateErr.Code() != 999 {
		t.Errorf("state %v, %+v", g.State, g.StateErr)
	}
	if g := &r.sinks[0].gpu; g.State != monitor.OK || !g.Readings[monitor.PowerMW].Known() {
		t.Errorf("the other is %v", g.State)
	}
	for function := range r.fake.AllCalls() {
		if n := r.fake.CallsOn(function, 1); n > 0 && !strings.HasPrefix(function, "nvmlDeviceGetHandleBy") {
			t.Errorf("%s was called %d times", function, n)
		}
	}
}

// TestTheWindowIsNotDeviceMemory: what the CPU sees through BAR1 is neither
// added nor asked for.
func TestTheWindowIsNotDeviceMemory(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "model rtx4090", "gpu 0 memory.total 24GiB", "gpu 0 memory.used 2GiB", "gpu 0 memory.reserved 0",
		"gpu 0 bar1.total 32GiB", "gpu 0 bar1.used 31GiB"))
	g := r.read(0, monitor.Everything)
	for id, want := range map[monitor.ReadingID]int64{monitor.MemoryTotalBytes: 24 << 30, monitor.MemoryUsedBytes: 2 << 30, monitor.MemoryFreeBytes: 22 << 30} {
		if v, ok := g.Readings[id].Int(); !ok || v != want {
			t.Errorf("%v is %v, want %d", id, show(g.Readings[id]), want)
		}
	}
	for function := range r.fake.AllCalls() {
		if strings.Contains(function, "BAR1") {
			t.Errorf("%s was called", function)
		}
	}
}

// TestAGuest: a virtual GPU refuses much; it is told as refused, and nothing is
// asked about virtual GPUs, on hosts neither.
func TestAGuest(t *testing.T) {
	var refused []string
	for _, key := range []string{"pcie.gen", "pcie.width", "pcie.maxgen", "pcie.maxwidth", "clockmax.graphics", "clockmax.memory", "fan.0", "power.enforced", "temperature"} {
		refused = append(refused, "gpu 0 "+key+" unset")
	}
	r := open(t, "580", lines("gpus 2", hopper, "gpu 0 model t4", "gpu 0 nvlink 0", "gpu 0 util 37", "gpu 0 vgpu.mode 2", strings.Join(refused, "\n")))
	r.wholeAll()
	g := &r.sinks[0].gpu
	if g.State != monitor.OK || g.ProcStatus.Reason != monitor.Known {
		t.Errorf("state %v, %+v, processes %+v", g.State, g.StateErr, g.ProcStatus)
	}
	for _, id := range []monitor.ReadingID{
		monitor.PCIeGeneration, monitor.PCIeWidth, monitor.PCIeGenerationMax, monitor.PCIeWidthMax, monitor.ClockGraphicsMaxMHz, monitor.ClockMemoryMaxMHz,
		monitor.NVLinkLinksActive, monitor.PowerLimitMW, monitor.TemperatureC,
	} {
		if got := g.Readings[id]; got.Reason != noSupport {
			t.Errorf("%v is %v", id, show(got))
		}
	}
	for _, id := range []monitor.ReadingID{monitor.UtilizationPercent, monitor.MemoryUsedBytes, monitor.ClockGraphicsMHz} {
		if got := g.Readings[id]; !got.Known() {
			t.Errorf("%v is %v", id, show(got))
		}
	}
	for function := range r.fake.AllCalls() {
		if strings.Contains(strings.ToLower(function), "vgpu") || strings.Contains(function, "Virtualization") {
			t.Errorf("%s was called", function)
		}
	}
}

// TestLoadsOfUnlikeAge: of two entries of a process the newer counts, whatever
// their order, and what a busy GPU no longer tells of is unknown.
func TestLoadsOfUnlikeAge(t *testing.T) {
	base := lines("gpus 1", still, "gpu 0 process compute none", "gpu 0 process compute 100 4096", "gpu 0 process compute 200 4096", "gpu 0 usage none")
	r := open(t, "580", base+lines("gpu 0 usage 100 10 0 0 0 age 900", "gpu 0 usage 200 80 0 0 0 age 100", "gpu 0 usage 200 20 0 0 0 age 800", "gpu 0 usage 100 60 0 0 0 age 50"))
	loads := func() (list []string) {
		for _, p := range r.read(0, view()).Processes {
			v := p.SMPercent
			if v.Known() {
				list = append(list, show(v))
			} else {
				list = append(list, v.Reason.String())
			}
		}
		return list
	}
	if got := loads(); !slices.Equal(got, []string{"60", "80"}) {
		t.Errorf("loads %v, want those of the newer entries", got)
	}
	// One goes on; the other is not told of any more.
	r.fake.SetScenario(base + "gpu 0 usage 200 81 0 0 0 age 0\n")
	for range 3 {
		r.pass(second)
		r.readAll(view())
	}
	if got := loads(); got[0] != monitor.NotFound.String() {
		t.Errorf("loads %v, want the first unknown", got)
	}
}
