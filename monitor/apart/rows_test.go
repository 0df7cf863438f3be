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
