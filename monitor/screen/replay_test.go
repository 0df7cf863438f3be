package screen

import (
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// TestCodersAfterGoingBack: what a GPU encodes later in a recording is not said
// of the time before.
func TestCodersAfterGoingBack(t *testing.T) {
	m := newMachine(t, demo.Options{GPUs: 1})
	before, hist := m.after(3)
	after, _ := m.after(10)
	before.GPUs[0].Readings[monitor.EncoderPercent] = monitor.OfFloat(0)
	before.GPUs[0].Readings[monitor.DecoderPercent] = monitor.OfFloat(0)
	after.GPUs[0].Readings[monitor.EncoderPercent] = monitor.OfFloat(50)
	s, f := New(Options{}), ansi.NewFrame(80, 12)
	v := view(after)
	v.ShowProcesses = false
	for _, c := range []struct {
		snap *monitor.Snapshot
		want bool
	}{{before, false}, {after, true}, {before, false}} {
		s.Draw(f, c.snap, hist, v)
		if got := strings.Contains(f.String(), "ENC"); got != c.want {
			t.Errorf("at %s: ENC is shown: %v, want %v\n%s", c.snap.Time.Format(time.TimeOnly), got, c.want, f)
		}
	}
}

// TestReplayHints: the keys of a replay stand in the last line of a wide window,
// those that do nothing there do not.
func TestReplayHints(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 2}).after(3)
	v := view(snap)
	play(v)
	last := func() string {
		rows := strings.Split(strings.TrimRight(draw(250, 24, Options{}, snap, hist, v).String(), "\n"), "\n")
		return rows[len(rows)-1]
	}
	for _, want := range []string{"q quit", "h help", "Space pause", ". step", ", back", "< slower", "> faster", "t jump", "Left -10 s", "Right +10 s", "Home start", "End end", "v view", "/ filter"} {
		if line := last(); strings.Count(line, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, line)
		}
	}
	if line := last(); strings.Contains(line, "signal") {
		t.Errorf("signals are offered:\n%s", line)
	}
	v.Replay.Paused = true
	if line := last(); !strings.Contains(line, "Space go on") {
		t.Errorf("nothing tells how to go on:\n%s", line)
	}
	v.Replay.Failed = "gone"
	if line := last(); strings.Contains(line, "Space") || strings.Contains(line, "jump") || !strings.Contains(line, "q quit") {
		t.Errorf("after a failure:\n%s", line)
	}
}
