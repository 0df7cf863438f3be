//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/screen"
)

// trouble is a machine on which one GPU works, one falls off the bus, one stops
// to answer, and one is cut into instances.
const trouble = `gpus 4
gpu 0 process compute 4242 1073741824
gpu 3 mig on
gpu 3 instance 0 1 0 1g.10gb
gpu 3 instance 1 2 0 2g.20gb
fault * gpu 1 calls 400- return 15
fault nvmlDeviceGetPowerUsage gpu 2 calls 2- hang
`

// TestReplayShowsTheLiveFrames: what is recorded looks as it did.
func TestReplayShowsTheLiveFrames(t *testing.T) {
	fake := fakenvml.New(t, "580", trouble)
	setup := apart.Setup{NVML: fake.Path(), Request: monitor.Request{Interval: 200 * time.Millisecond, Want: monitor.Everything}}
	sampler, err := build(setup, []monitor.Warning{{Code: "in_process", Text: "a warning"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var live []*monitor.Snapshot
	enough := 0
	err = sampler.Run(ctx, nil, func(s *monitor.Snapshot) {
		live = append(live, s)
		is := func(state monitor.State) bool {
			return slices.ContainsFunc(s.GPUs, func(g monitor.GPU) bool { return g.State == state })
		}
		if is(monitor.Lost) && is(monitor.Stale) {
			enough++
		}
		if enough == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v after %d snapshots", err, len(live))
	}

	path := filepath.Join(t.TempDir(), "r.gz")
	w, err := record.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range live {
		if err := w.Write(append(report.AppendJSON(nil, s), '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var replayed []*monitor.Snapshot
	r, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		replayed = append(replayed, s)
	}
	if len(replayed) != len(live) {
		t.Fatalf("%d snapshots of %d", len(replayed), len(live))
	}

	for _, mode := range []screen.Mode{screen.Auto, screen.Boxes, screen.Numbers, screen.List, screen.Processes} {
		for _, size := range [][2]int{{200, 60}, {80, 24}} {
			a, b := newPainter(size, mode), newPainter(size, mode)
			for i := range live {
				for _, details := range []bool{false, true} {
					was, is := a.paint(live[i], details), b.paint(replayed[i], details)
					if x, y, same := sameFrames(was, is); !same {
						t.Fatalf("view %v, snapshot %d of %d: at column %d of line %d it looks other than it did:\n%s\nand then\n%s", mode, i, len(live), x, y, is, was)
					}
				}
			}
		}
	}
}

// painter draws snapshots one after the other.
type painter struct {
	s    *screen.Screen
	f    *ansi.Frame
	hist *monitor.History
	v    screen.View
	last *monitor.Snapshot
}

func newPainter(size [2]int, mode screen.Mode) *painter {
	return &painter{
		s: screen.New(screen.Options{Level: ansi.LevelRGB, Version: version}), f: ansi.NewFrame(size[0], size[1]),
		hist: monitor.NewHistory(200), v: screen.View{Mode: mode, ShowProcesses: true},
	}
}

func (p *painter) paint(s *monitor.Snapshot, details bool) *ansi.Frame {
	if p.last != s {
		p.hist.Add(s)
		p.last = s
	}
	p.v.Now, p.v.Details = s.Time, screen.NoDetails
	if details && len(s.GPUs) > 0 {
		p.v.Details, p.v.GPU = screen.OfGPU, monitor.Key(&s.GPUs[s.Time.Nanosecond()/1000%len(s.GPUs)])
	}
	p.s.Draw(p.f, s, p.hist, &p.v)
	return p.f
}

func sameFrames(a, b *ansi.Frame) (x, y int, same bool) {
	w, h := a.Size()
	for y := range h {
		for x := range w {
			r, st, wide := a.Cell(x, y)
			r2, st2, wide2 := b.Cell(x, y)
			if r != r2 || st != st2 || wide != wide2 || a.Content(x, y) != b.Content(x, y) {
				return x, y, false
			}
		}
	}
	return 0, 0, true
}
