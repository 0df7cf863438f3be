package driver

import (
	"slices"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

// two are lines for two instances of GPU 0 with a process each.
const two = `gpu 0 mig on
gpu 0 instance 0 1 0 1g.10gb
gpu 0 instance 2 5 0 2g.20gb
gpu 0:0 memory.used 3GiB
gpu 0:2 memory.used 7GiB
gpu 0 process compute none
gpu 0:0 process compute 100 4096
gpu 0:2 process compute 200 8192
gpu 0:2 process compute 201 none
gpu 0:0 gpm.2 30
gpu 0:0 gpm.3 31
gpu 0:0 gpm.5 32
gpu 0:0 gpm.10 33
gpu 0:2 gpm.2 60
gpu 0 process compute 300 65536
`

func pids(list []monitor.Process) (out []uint32) {
	for _, p := range list {
		out = append(out, p.PID)
	}
	return out
}

func TestInstances(t *testing.T) {
	for _, c := range []struct{ generation, model string }{{"580", "h100"}, {"470", "a100"}, {"535.54", "h100"}} {
		t.Run(c.generation+" "+c.model, func(t *testing.T) {
			r := open(t, c.generation, lines("gpus 1", "model "+c.model, "gpu all pcie.wait 0")+two)
			g := r.whole(0)
			if enabled, ok := g.Readings[monitor.MIGEnabled].Flag(); !ok || !enabled || g.State != monitor.OK {
				t.Fatalf("MIG is %v", show(g.Readings[monitor.MIGEnabled]))
			}
			for _, id := range []monitor.ReadingID{monitor.UtilizationPercent, monitor.EncoderPercent, monitor.DecoderPercent} {
				if got := g.Readings[id]; got.Reason != noSupport {
					t.Errorf("%v of the parent is %v", id, show(got))
				}
			}
			if !g.Readings[monitor.PowerMW].Known() || !g.Readings[monitor.MemoryTotalBytes].Known() {
				t.Error("the parent has no power or memory")
			}
			if got := pids(g.Processes); !slices.Equal(got, []uint32{300}) {
				t.Errorf("processes of the parent %v, want the one of no instance", got)
			}
			if len(g.MIG) != 2 || g.MIGStatus.Reason != monitor.Known {
				t.Fatalf("instances %+v, %+v", g.MIG, g.MIGStatus)
			}
			for i, want := range []struct {
				gi      int
				profile string
				used    int64
				pids    []uint32
				sm      string
			}{{1, "1g.10gb", 3 << 30, []uint32{100}, "30"}, {5, "2g.20gb", 7 << 30, []uint32{200, 201}, "60"}} {
				m := &g.MIG[i]
				if m.GPUInstanceID != want.gi || m.ComputeInstanceID != 0 || m.Profile != want.profile || m.ParentUUID != g.UUID.Value ||
					!m.UUID.Known() || m.Index != monitor.None || m.State != monitor.OK || m.Refreshed == 0 {
					t.Errorf("instance %+v", m.Identity)
				}
				if used, ok := m.Readings[monitor.MemoryUsedBytes].Int(); !ok || used != want.used {
					t.Errorf("memory of an instance %v, want %d", show(m.Readings[monitor.MemoryUsedBytes]), want.used)
				}
				if !slices.Equal(pids(m.Processes), want.pids) || m.ProcStatus.Reason != monitor.Known || m.Processes[0].GPUInstanceID != want.gi {
					t.Errorf("processes of an instance %+v, %+v; want %v", m.Processes, m.ProcStatus, want.pids)
				}
				if p := m.Processes[0]; p.SMPercent.Reason != noSupport || !p.GPUMemoryBytes.Known() {
					t.Errorf("process %+v", p)
				}
				sm := m.Readings[monitor.SMActivePercent]
				if hopper := c.model == "h100"; hopper && show(sm) != want.sm || !hopper && sm.Reason != noSupport {
					t.Errorf("activity of an instance %v", show(sm))
				}
				if u := m.Readings[monitor.UtilizationPercent]; u.Reason != noSupport {
					t.Errorf("utilization of an instance %v", show(u))
				}
				if m.Readings[monitor.MemoryUsedBytes].At == 0 || m.ProcStatus.At == 0 {
					t.Error("an instance does not say when it was read")
				}
			}
		})
	}
}

func TestRefusedMemoryOfTheParent(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "gpu all pcie.wait 0")+two+"gpu 0 memory.total error 4\ngpu 0 process compute error 4\ngpu 0:2 open 4\n")
	for range 3 {
		g := r.read(0, view())
		got := g.Readings[monitor.MemoryUsedBytes]
		if got.Reason != monitor.NoPermission || got.Err.Code() != 4 || got.Err.Function() != "nvmlDeviceGetMemoryInfo_v2" {
			t.Errorf("memory of the parent %v", show(got))
		}
		if len(g.MIG) != 2 || g.MIG[0].State != monitor.OK || !g.MIG[0].Readings[monitor.MemoryUsedBytes].Known() {
			t.Fatalf("instances %+v", g.MIG)
		}
		if m := g.MIG[1]; m.State != monitor.Unavailable || m.Blocked != monitor.NoPermission || m.StateErr.Code() != 4 || m.UUID.Reason != monitor.NoPermission {
			t.Errorf("an instance that is refused: %v, %v, %+v", m.State, m.Blocked, m.StateErr)
		}
		r.pass(second)
	}
}

func TestInstancesComeAndGo(t *testing.T) {
	base := lines("gpus 1", "gpu all pcie.wait 0")
	r := open(t, "580", base)
	if g := r.read(0, view()); len(g.MIG) != 0 || !g.Readings[monitor.UtilizationPercent].Known() {
		t.Fatalf("before: %+v", g.MIG)
	}
	// MIG is switched on.
	r.fake.SetScenario(base + two)
	r.pass(slow)
	if g := r.read(0, view()); len(g.MIG) != 2 || g.Readings[monitor.UtilizationPercent].Reason != noSupport && !g.Readings[monitor.UtilizationPercent].Known() {
		t.Fatalf("with MIG: %d instances", len(g.MIG))
	}
	time.Sleep(seed)
	r.pass(second)
	g := r.read(0, view())
	if g.Readings[monitor.UtilizationPercent].Reason != noSupport || show(g.MIG[0].Readings[monitor.SMActivePercent]) != "30" {
		t.Errorf("with MIG: load %v, activity %v", show(g.Readings[monitor.UtilizationPercent]), show(g.MIG[0].Readings[monitor.SMActivePercent]))
	}
	// An instance is made anew under the same number: at once another, whose
	// activity begins with a sample of its own.
	before := g.MIG[0].UUID.Value
	r.fake.SetScenario(base + two + "gpu 0:0 uuid MIG-00000000-1111-2222-3333-444444444444\n")
	time.Sleep(seed)
	r.pass(second)
	g = r.read(0, view())
	if len(g.MIG) != 2 || g.MIG[0].UUID.Value == before || g.MIG[0].Readings[monitor.SMActivePercent].Reason != monitor.NotSampled ||
		!g.MIG[0].Readings[monitor.MemoryUsedBytes].Known() || show(g.MIG[1].Readings[monitor.SMActivePercent]) != "60" {
		t.Errorf("made anew: %+v, activity %v and %v", g.MIG[0].Identity, show(g.MIG[0].Readings[monitor.SMActivePercent]), show(g.MIG[1].Readings[monitor.SMActivePercent]))
	}
	// One goes.
	r.fake.SetScenario(base + two + "gpu 0 instance 0 none\n")
	r.pass(slow)
	if g = r.read(0, view()); len(g.MIG) != 1 || g.MIG[0].Profile != "2g.20gb" {
		t.Errorf("one left: %+v", g.MIG)
	}
	// MIG is switched off: what was refused is asked again at once.
	r.fake.SetScenario(base)
	for range 6 {
		r.pass(second)
		r.read(0, view())
	}
	r.pass(second)
	if g = r.read(0, view()); len(g.MIG) != 0 || g.MIGStatus.Reason != monitor.Known || !g.Readings[monitor.UtilizationPercent].Known() || len(g.Processes) != 2 {
		t.Errorf("without MIG: %d instances, load %v, %d processes", len(g.MIG), show(g.Readings[monitor.UtilizationPercent]), len(g.Processes))
	}
}

func TestFactsOfInstancesAreAskedOnce(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "gpu all pcie.wait 0")+two)
	for range 11 {
		r.read(0, view())
		r.pass(second)
	}
	if n := r.fake.Calls("nvmlDeviceGetComputeInstanceId"); n != 2 {
		t.Errorf("compute instance ids were asked %d times", n)
	}
	if n := r.fake.Calls("nvmlDeviceGetMaxMigDeviceCount"); n != 3 {
		t.Errorf("instances were listed %d times in 10 s", n)
	}
}

func TestListsOfInstancesThatCannotBeRead(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "gpu all pcie.wait 0")+two+"gpu 0:0 processes compute error 3\ngpu 0:0 processes graphics error 3\ngpu 0:0 processes mps error 3\n")
	g := r.read(0, monitor.Everything)
	if m := g.MIG[0]; m.ProcStatus.Reason != noSupport || m.Processes != nil {
		t.Errorf("processes of the instance %+v, %+v", m.Processes, m.ProcStatus)
	}
	if got := pids(g.Processes); !slices.Equal(got, []uint32{300, 100}) {
		t.Errorf("processes of the parent %v: they stand nowhere else", got)
	}
}
