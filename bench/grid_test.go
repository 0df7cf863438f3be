package bench

import (
	"fmt"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
	"nvtop-lite/monitor/screen"
)

// share is how many of all processes the i-th GPU has.
func share(processes, gpus, i int) int {
	return processes*(i+1)/gpus - processes*i/gpus
}

// filling is a monitor.Sink that fills in a GPU.
type filling struct {
	*monitor.GPU
	at int64
}

func (s filling) Begin(monitor.Want)           {}
func (s filling) Call(string)                  {}
func (s filling) Sources(names ...string)      { s.GPU.Sources = names }
func (s filling) Identity(id monitor.Identity) { s.GPU.Identity = id }
func (s filling) State(st monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	s.GPU.State, s.Blocked, s.StateReason, s.StateErr = st, blocked, why, err
}
func (s filling) Reading(id monitor.ReadingID, r monitor.Reading) {
	r.At = s.at
	s.Readings[id] = r
}
func (s filling) Fans(f []monitor.Fan, st monitor.Status) { s.GPU.Fans, s.FansStatus = f, st }
func (s filling) XIDs(x []monitor.XID, st monitor.Status) { s.GPU.XIDs, s.XIDsStatus = x, st }
func (s filling) Adapter(a *monitor.Adapter)              { s.GPU.Adapter = a }
func (s filling) MIG(g []monitor.GPU, st monitor.Status)  { s.GPU.MIG, s.MIGStatus = g, st }
func (s filling) Processes(p []monitor.Process, st monitor.Status) {
	s.GPU.Processes, s.ProcStatus = p, st
}

// walk is a simulated machine whose every load is a random walk, a second a step.
type walk struct {
	now       int64
	source    *demo.Source
	devices   []monitor.Device
	processes int
}

func newWalk(tb testing.TB, gpus, processes int) *walk {
	tb.Helper()
	m := &walk{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), processes: processes}
	m.source = demo.New(demo.Options{GPUs: gpus, Processes: (processes + gpus - 1) / gpus, Step: 10, Now: func() int64 { return m.now }})
	var err error
	if m.devices, err = m.source.Devices(); err != nil || len(m.devices) != gpus {
		tb.Fatalf("%d GPUs, %v", len(m.devices), err)
	}
	return m
}

func (m *walk) next() *monitor.Snapshot {
	m.now += int64(time.Second)
	snap := &monitor.Snapshot{
		Time: time.Unix(0, m.now).UTC(), Steady: m.now, Interval: time.Second, Source: "live",
		Driver: m.source.Driver(), GPUs: make([]monitor.GPU, len(m.devices)),
	}
	for i, d := range m.devices {
		g := &snap.GPUs[i]
		g.Identity.Index = i
		m.source.Read(d, monitor.Everything, filling{g, m.now})
		if n := share(m.processes, len(m.devices), i); len(g.Processes) > n {
			g.Processes = g.Processes[:n]
		}
	}
	return snap
}

// BenchmarkGridFrame draws and sends what the walk shows, 200x50, of machines of many
// sizes: GPUs, and processes on all of them together. The refreshes of the same machines
// are in monitor/driver.
func BenchmarkGridFrame(b *testing.B) {
	for _, gpus := range []int{1, 8, 64, 256} {
		for _, processes := range []int{4, 64, 1024, 4096} {
			b.Run(fmt.Sprintf("gpus=%d/processes=%d", gpus, processes), func(b *testing.B) { gridFrame(b, gpus, processes) })
		}
	}
}

func gridFrame(b *testing.B, gpus, processes int) {
	m, out := newWalk(b, gpus, processes), &counter{}
	hist, s := monitor.NewHistory(1024), screen.New(screen.Options{Level: ansi.LevelRGB, Version: "0.1"})
	f, w, v := ansi.NewFrame(200, 50), ansi.NewWriter(out), screen.View{ShowProcesses: true}
	var snaps []*monitor.Snapshot
	for range 40 { // 256 GPUs with 4,096 processes are some MB each
		snaps = append(snaps, m.next())
	}
	frames := 0
	step := func() {
		snap := snaps[frames%len(snaps)]
		frames++
		hist.Add(snap)
		v.Now = snap.Time
		s.Draw(f, snap, hist, &v)
		if _, err := w.Flush(f); err != nil {
			b.Fatal(err)
		}
	}
	for range 150 {
		step()
	}
	before, first := out.n, frames
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(out.n-before)/float64(frames-first), "B/frame")
}
