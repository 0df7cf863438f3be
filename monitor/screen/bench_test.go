package screen

import (
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// counter counts the bytes written.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// film is a run of snapshots to be drawn one after the other.
type film struct {
	snaps []*monitor.Snapshot
	hist  *monitor.History
	s     *Screen
	f     *ansi.Frame
	w     *ansi.Writer
	out   counter
	v     View
	next  int
}

func newFilm(tb testing.TB, gpus, w, h int) *film {
	m := newMachine(tb, demo.Options{GPUs: gpus, Processes: 4, Step: 10})
	fm := &film{hist: monitor.NewHistory(1024), s: New(Options{Level: ansi.LevelRGB, Version: "0.1"}), f: ansi.NewFrame(w, h), v: View{ShowProcesses: true}}
	fm.w = ansi.NewWriter(&fm.out)
	for range 300 {
		fm.snaps = append(fm.snaps, m.next())
	}
	for range 150 {
		fm.step(tb)
	}
	return fm
}

// step draws the next snapshot, after the last one the first again.
func (fm *film) step(tb testing.TB) {
	if fm.next == len(fm.snaps) {
		fm.next = 150
	}
	snap := fm.snaps[fm.next]
	fm.next++
	fm.hist.Add(snap)
	fm.draw(tb, snap)
}

func (fm *film) draw(tb testing.TB, snap *monitor.Snapshot) {
	fm.v.Now = snap.Time
	fm.s.Draw(fm.f, snap, fm.hist, &fm.v)
	if _, err := fm.w.Flush(fm.f); err != nil {
		tb.Fatal(err)
	}
}

func TestNoAllocationPerFrame(t *testing.T) {
	for _, size := range [][2]int{{200, 50}, {80, 24}} {
		fm := newFilm(t, 8, size[0], size[1])
		if n := testing.AllocsPerRun(100, func() { fm.step(t) }); n != 0 {
			t.Errorf("%v: %v allocations a frame", size, n)
		}
		first := fm.snaps[0].Time
		fm.v.Replay = &Replay{Speed: 8, First: first, Last: first.Add(time.Hour), Broken: 3}
		fm.step(t)
		if n := testing.AllocsPerRun(100, func() { fm.step(t) }); n != 0 {
			t.Errorf("%v: %v allocations a frame of a replay", size, n)
		}
		fm.v.Replay.Jumping, fm.v.Replay.Jump = true, "12:0"
		fm.step(t)
		if n := testing.AllocsPerRun(100, func() { fm.step(t) }); n != 0 {
			t.Errorf("%v: %v allocations a frame while a time is typed", size, n)
		}
	}
}

func TestBytesPerFrame(t *testing.T) {
	fm := newFilm(t, 8, 200, 50)
	before := fm.out.n
	const frames = 150
	for range frames {
		fm.step(t)
	}
	n := (fm.out.n - before) / frames
	t.Logf("%d bytes a frame", n)
	if n > 4096 {
		t.Errorf("%d bytes a frame, want at most 4096", n)
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, bb := range []struct {
		name       string
		gpus, w, h int
	}{{"8gpus-200x50", 8, 200, 50}, {"8gpus-80x24", 8, 80, 24}, {"64gpus-200x50", 64, 200, 50}, {"256gpus-200x50", 256, 200, 50}} {
		b.Run(bb.name, func(b *testing.B) {
			fm := newFilm(b, bb.gpus, bb.w, bb.h)
			before := fm.out.n
			b.ReportAllocs()
			for b.Loop() {
				fm.step(b)
			}
			b.ReportMetric(float64(fm.out.n-before)/float64(b.N), "B/frame")
		})
	}
}
