package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/screen"
)

var epoch = time.Date(2026, 11, 30, 12, 4, 31, 0, time.UTC)

// deck is a player that notes what is asked of it.
type deck struct{ asked []string }

func (d *deck) note(format string, a ...any) { d.asked = append(d.asked, fmt.Sprintf(format, a...)) }
func (d *deck) Pause(on bool)                { d.note("pause %v", on) }
func (d *deck) Step(n int)                   { d.note("step %d", n) }
func (d *deck) SetSpeed(s float64)           { d.note("speed %v", s) }
func (d *deck) SeekTo(t time.Time)           { d.note("to %s", t.UTC().Format("15:04:05")) }
func (d *deck) SeekBy(by time.Duration)      { d.note("by %s", by) }
func (d *deck) Home()                        { d.note("home") }
func (d *deck) End()                         { d.note("end") }

// viewer is a screen that replays, without a terminal.
type viewer struct {
	*ui
	deck
	t *testing.T
}

func newViewer(t *testing.T) *viewer {
	t.Helper()
	v := &viewer{t: t}
	v.ui = &ui{
		screen: screen.New(screen.Options{Version: "0.1"}), frame: ansi.NewFrame(100, 24), writer: ansi.NewWriter(io.Discard),
		hist: monitor.NewHistory(historyLength), player: &v.deck,
		view: screen.View{ShowProcesses: true, Hidden: map[string]bool{}, Replay: &screen.Replay{Speed: 1}},
	}
	return v
}

// at is a snapshot some seconds after the first; its GPU is as busy as percent
// says.
func at(seconds int, percent float64) *monitor.Snapshot {
	when := epoch.Add(time.Duration(seconds) * time.Second)
	g := monitor.GPU{State: monitor.OK, Identity: monitor.Identity{UUID: monitor.OfText("GPU-1"), Name: monitor.OfText("H100"), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}}
	g.Readings[monitor.UtilizationPercent] = monitor.OfFloat(percent)
	g.Processes = []monitor.Process{{PID: 4044, Name: monitor.OfText("train.py"), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}}
	return &monitor.Snapshot{
		Time: when, Steady: when.UnixNano(), Interval: time.Second, Source: "live",
		Host: monitor.Host{Hostname: monitor.OfText("node17")}, GPUs: []monitor.GPU{g},
	}
}

var span = record.State{Speed: 1, First: epoch, Last: epoch.Add(time.Hour)}

func (v *viewer) take(f record.Frame) {
	v.t.Helper()
	if err := v.takeFrame(f); err != nil {
		v.t.Fatal(err)
	}
}

// press presses keys; a letter is itself.
func (v *viewer) press(keys ...any) {
	v.t.Helper()
	for _, k := range keys {
		events := []ansi.Event{}
		switch k := k.(type) {
		case ansi.Key:
			events = append(events, ansi.Event{Key: k})
		case string:
			for _, r := range k {
				events = append(events, ansi.Event{Key: ansi.KeyRune, Rune: r})
			}
		}
		for _, e := range events {
			if quit, err := v.ui.press(e); quit || err != nil {
				v.t.Fatalf("%v: quit %v, %v", k, quit, err)
			}
			v.picture(v.moment())
		}
	}
}

// moment is when the newest of what passes was said: however slow the machine,
// it is there to be seen.
func (v *viewer) moment() time.Time {
	when := v.noticed
	if v.missed.After(when) {
		when = v.missed
	}
	if when.IsZero() {
		when = time.Now()
	}
	return when
}

// see draws and looks for texts.
func (v *viewer) see(texts ...string) {
	v.t.Helper()
	v.picture(v.moment())
	for _, text := range texts {
		if !strings.Contains(v.frame.String(), text) {
			v.t.Errorf("nothing says %q:\n%s", text, v.frame)
		}
	}
}

func (v *viewer) without(text string) {
	v.t.Helper()
	v.picture(v.moment())
	if strings.Contains(v.frame.String(), text) {
		v.t.Errorf("it says %q:\n%s", text, v.frame)
	}
}

// expect compares what was asked of the player since the last time.
func (v *viewer) expect(what ...string) {
	v.t.Helper()
	if !slices.Equal(v.asked, what) {
		v.t.Errorf("the player was asked for %q, want %q", v.asked, what)
	}
	v.asked = nil
}

func TestReplayKeys(t *testing.T) {
	v := newViewer(t)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.see("REPLAY   1x", "node17", "  0% of 1h00m", "1 process")
	v.press("  ")
	v.expect("pause true", "pause false")
	v.press(".,")
	v.expect("step 1", "step -1")
	v.see("PAUSED")
	v.press(" >>><")
	v.expect("pause false", "speed 2", "speed 5", "speed 10", "speed 5")
	v.see("REPLAY   5x")
	v.press(ansi.KeyLeft, ansi.KeyRight, ansi.KeyPgUp, ansi.KeyPgDn, ansi.KeyHome, ansi.KeyEnd)
	v.expect("by -10s", "by 10s", "by -10m0s", "by 10m0s", "home", "end")
	v.press("x")
	v.see("nothing can be signalled in a recording")
	v.press(ansi.KeyF9, "+")
	v.see("the interval is the recording's")
	v.press("jv")
	v.see("view: ")
	v.expect()
}

func TestReplaySpeedsEnd(t *testing.T) {
	v := newViewer(t)
	st := span
	st.Speed = 3 // as of the command line
	v.take(record.Frame{Snapshot: at(0, 50), State: st})
	v.see("REPLAY   3x")
	v.press("<>")
	v.expect("speed 2", "speed 5")
	v.press(strings.Repeat(">", 20))
	v.see("REPLAY   1000x")
	v.press(strings.Repeat("<", 40))
	v.see("REPLAY   0.125x")
	if n := len(v.asked); n != 7+12 {
		t.Errorf("the speed was set %d times", n)
	}
}

// TestReplayKeysOutrunThePlayer: a frame from before a key does not undo it.
func TestReplayKeysOutrunThePlayer(t *testing.T) {
	v := newViewer(t)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press(">")
	v.take(record.Frame{Snapshot: at(1, 50), State: span})
	v.press("> ")
	v.take(record.Frame{Snapshot: at(2, 50), State: span})
	v.see("PAUSED 5x", "Space go on")
	v.press(" ")
	v.expect("speed 2", "speed 5", "pause true", "pause false")
}

// TestReplayPanels: where a text lies over the screen, the keys that scroll it
// do not move in the recording.
func TestReplayPanels(t *testing.T) {
	v := newViewer(t)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press("h", ansi.KeyPgDn, ansi.KeyEnd, ansi.KeyHome, ansi.KeyLeft, " .<t")
	v.expect()
	v.press("h")
	v.press("j", ansi.KeyEnter)
	v.see("PID 4044", "not in the recording")
	v.press(ansi.KeyPgDn, ansi.KeyHome, "t")
	v.expect()
	v.press(".", ansi.KeyRight, " ")
	v.expect("step 1", "by 10s", "pause false")
	v.press("x")
	v.see("nothing can be signalled in a recording")
}

func TestReplayHelp(t *testing.T) {
	v := newViewer(t)
	v.frame.Resize(100, 70)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press("h")
	v.see("jump to a time", "one snapshot on, back", "10 minutes back, on")
	v.without("stop asking the driver")
	v.without("signal the process")
	v.without("longer, shorter interval")
	v.view.Replay, v.player, v.view.Help = nil, nil, true
	v.screen.Draw(v.frame, v.snap, v.hist, &v.view)
	for _, text := range []string{"jump to a time", "one snapshot on", "recording"} {
		if strings.Contains(v.frame.String(), text) {
			t.Errorf("the help of the live screen says %q:\n%s", text, v.frame)
		}
	}
}

func TestReplayJump(t *testing.T) {
	v := newViewer(t)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press("t")
	v.see("jump to: ", "Enter jump", "Esc drop")
	v.press("nonsense q", ansi.KeyEnter)
	v.see("jump to: nonsense q", "is no time: use 15:04")
	v.press(ansi.KeyCtrlW)
	v.see("jump to: nonsense ")
	v.without("is no time")
	v.press(ansi.KeyLeft, ansi.KeyHome, ansi.KeyPgUp, ansi.KeyCtrlU)
	if _, err := v.ui.press(ansi.Event{Key: ansi.KeyPaste, Text: "2026-11-30T12:\r30:00Z"}); err != nil {
		t.Fatal(err)
	}
	v.see("jump to: 2026-11-30T12:30:00Z")
	v.expect()
	v.press(ansi.KeyEnter)
	v.expect("to 12:30:00")
	v.without("jump to")
	v.press("t12", ansi.KeyEsc)
	v.without("jump to")
	v.press("t-2h", ansi.KeyEnter)
	v.see("the recording begins here")
	v.press("t+2h", ansi.KeyEnter)
	v.see("the recording ends here")
	v.expect("to 11:04:31", "to 14:04:31")
	v.press("t", ansi.KeyEnter) // no time at all
	v.without("jump to")
	v.expect()
}

func TestReplayClicks(t *testing.T) {
	v := newViewer(t)
	v.frame.Resize(160, 24)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	for text, want := range map[string]string{"Space pause": "pause true", ". step": "step 1", ", back": "step -1", "> faster": "speed 2", "Right +10 s": "by 10s"} {
		v.see(text)
		rows := strings.Split(v.frame.String(), "\n")
		row := rows[len(rows)-1]
		x := len([]rune(row[:strings.Index(row, text)]))
		if _, err := v.ui.press(ansi.Event{Key: ansi.KeyMouse, Button: ansi.ButtonLeft, X: x, Y: len(rows) - 1}); err != nil {
			t.Fatal(err)
		}
		v.expect(want)
		v.view.Replay.Speed, v.view.Replay.Paused = 1, false
	}
}

// TestReplayHistory: the graphs have what was before a place as soon as it is
// reached, and nothing of where one came from.
func TestReplayHistory(t *testing.T) {
	v := newViewer(t)
	series := func() []float32 { return v.hist.Series("GPU-1", monitor.HistoryUtilization) }
	v.take(record.Frame{Snapshot: at(500, 1), State: span})
	v.take(record.Frame{Snapshot: at(503, 4), Skipped: []*monitor.Snapshot{at(501, 2), at(502, 3)}, State: span})
	if got := fmt.Sprint(series()); got != "[1 2 3 4]" {
		t.Errorf("%s after two frames", got)
	}
	v.take(record.Frame{Snapshot: at(503, 4), Again: true, State: span})
	v.take(record.Frame{Snapshot: at(62, 9), Sought: true, Before: []*monitor.Snapshot{at(60, 7), at(61, 8)}, State: span})
	if got := fmt.Sprint(series()); got != "[7 8 9]" {
		t.Errorf("%s after a jump", got)
	}
	if !v.hasTime("12:05:33") {
		t.Errorf("the time is not that of the snapshot:\n%s", v.frame)
	}
}

// hasTime reports whether the header has a time, here in UTC.
func (v *viewer) hasTime(clock string) bool {
	v.picture(time.Now().UTC())
	return strings.Contains(v.frame.String(), "2026-11-30 "+clock)
}

func TestReplaySaysWhatIsMissing(t *testing.T) {
	v := newViewer(t)
	st := span
	st.Broken = 2
	v.take(record.Frame{Snapshot: at(1, 1), State: st})
	v.see("broken lines are passed over", "2 broken lines")
	st.Missing = 3 * time.Hour
	v.take(record.Frame{Snapshot: at(600, 1), State: st})
	v.see("no data for 3 h before this")
	v.picture(time.Now().Add(time.Hour)) // it stays while its snapshot does
	v.see("no data for 3 h before this")
	st.Missing = 0
	v.take(record.Frame{Snapshot: at(601, 1), State: st})
	v.see("no data for 3 h before ")
	v.without("before this")
	v.picture(v.moment().Add(noticeFor + time.Second))
	v.without("no data")

	st.Missing = time.Minute
	v.take(record.Frame{Snapshot: at(700, 1), State: st})
	v.see("no data for 60 s before this")
	st.Missing = 0
	v.take(record.Frame{Snapshot: at(100, 1), Sought: true, State: st})
	v.without("no data")

	st.Seeking = true
	v.take(record.Frame{Snapshot: at(100, 1), Again: true, State: st})
	v.see("seeking…")
	st.Seeking, st.AtEnd = false, true
	v.take(record.Frame{Snapshot: at(3600, 1), State: st})
	v.see("REPLAY   END", "100% of")
}

func TestReplayThatFails(t *testing.T) {
	v := newViewer(t)
	broken := errors.New("a.ndjson: line 3: schema nvtop-lite/9")
	if err := v.takeFrame(record.Frame{Err: broken}); !errors.Is(err, broken) {
		t.Errorf("%v of a recording of which nothing was shown", err)
	}
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press("t")
	v.take(record.Frame{Err: broken})
	v.see("FAILED", "node17", broken.Error())
	v.press("t")
	v.without("jump to")
}

func TestReplayLooksAtNothingHere(t *testing.T) {
	v := newViewer(t)
	v.take(record.Frame{Snapshot: at(0, 50), State: span})
	v.press("j", ansi.KeyEnter)
	v.want()
	v.lookUp()
	v.tellModes()
	if v.view.SilentFor != 0 || v.view.Signals {
		t.Errorf("silent for %v, signals %v", v.view.SilentFor, v.view.Signals)
	}
}

func TestSavingATrace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // of Windows
	said := save([]byte("panic: oh"))
	name, ok := strings.CutPrefix(said, "crashed; the trace is in ")
	if !ok {
		t.Fatal(said)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "panic: oh" {
		t.Errorf("%q, %v", b, err)
	}
}
