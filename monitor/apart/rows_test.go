package apart

import (
	"testing"
	"time"

	"nvtop-lite/monitor"
)

// TestAFallGivesNoAdviceOfBefore: what was to be done for another reason.
func TestAFallGivesNoAdviceOfBefore(t *testing.T) {
	last := &monitor.Snapshot{Waiting: "no driver in sight", WaitingHint: "load it"}
	if s := fallen(last, Setup{}, fall{why: "SIGSEGV"}, time.Second); s.WaitingHint != "" || last.WaitingHint == "" {
		t.Errorf("it says %q, and to do %q", s.Waiting, s.WaitingHint)
	}
}

// TestASleeperKeepsItsIdentity over a new driver process, which does not wake it to
// ask.
func TestASleeperKeepsItsIdentity(t *testing.T) {
	bus := monitor.OfText("00000000:01:00.0")
	last := &monitor.Snapshot{GPUs: []monitor.GPU{{State: monitor.Sleeping, Identity: monitor.Identity{UUID: monitor.OfText("GPU-1"), Name: monitor.OfText("Test"), PCIBusID: bus}}}}
	next := &monitor.Snapshot{GPUs: []monitor.GPU{{State: monitor.Sleeping, Identity: monitor.Identity{UUID: monitor.UnknownText(monitor.Asleep), PCIBusID: bus}}}}
	if s := keepRows(last, next); len(s.GPUs) != 1 || s.GPUs[0].UUID.Value != "GPU-1" || s.GPUs[0].State != monitor.Sleeping {
		t.Errorf("%+v", s.GPUs)
	}
}

// TestKeptRowsDoNotSpoilWhatFollows: what comes through the pipe is the difference
// to what came before, and not to what was made of that.
func TestKeptRowsDoNotSpoilWhatFollows(t *testing.T) {
	gpu := func(uuid string, memory uint64) monitor.GPU {
		g := monitor.GPU{State: monitor.OK, Identity: monitor.Identity{UUID: monitor.OfText(uuid)}}
		if uuid == "" {
			g.State, g.UUID = monitor.Initialising, monitor.Text{}
		}
		g.Readings[monitor.MemoryUsedBytes] = monitor.OfUint(memory)
		return g
	}
	last := &monitor.Snapshot{GPUs: []monitor.GPU{gpu("GPU-1", 30), gpu("GPU-2", 50)}}
	for name, first := range map[string][]monitor.GPU{
		"none yet":      nil,
		"one of them":   {gpu("GPU-2", 7)},
		"not known yet": {gpu("", 3), gpu("", 4)},
	} {
		t.Run(name, func(t *testing.T) {
			var enc monitor.Encoder
			var dec monitor.Decoder
			before := last
			for _, want := range []*monitor.Snapshot{{GPUs: first}, {GPUs: []monitor.GPU{gpu("GPU-1", 8), gpu("GPU-2", 9)}}} {
				s, err := dec.Decode(enc.Append(nil, want))
				if err != nil {
					t.Fatal(err)
				}
				before = keepRows(before, s)
				for i := range want.GPUs {
					if got := before.GPUs[i].Readings[monitor.MemoryUsedBytes]; got != want.GPUs[i].Readings[monitor.MemoryUsedBytes] {
						t.Errorf("GPU %d has %+v, want %+v", i, got, want.GPUs[i].Readings[monitor.MemoryUsedBytes])
					}
				}
			}
			if len(before.GPUs) != 2 {
				t.Errorf("%d rows", len(before.GPUs))
			}
		})
	}
}
