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
