package screen

import (
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// epoch is when the tests take place.
var epoch = time.Date(2026, 11, 30, 12, 4, 31, 0, time.UTC)

// machine makes snapshots of a simulated machine, one a second.
type machine struct {
	now     int64
	source  *demo.Source
	devices []monitor.Device
	health  monitor.HealthTracker
}

func newMachine(tb testing.TB, o demo.Options) *machine {
	tb.Helper()
	m := &machine{now: epoch.UnixNano()}
	o.Now = func() int64 { return m.now }
	m.source = demo.New(o)
	var err error
	if m.devices, err = m.source.Devices(); err != nil {
		tb.Fatal(err)
	}
	return m
}

// sink fills a GPU.
type sink struct {
	g  *monitor.GPU
	at int64
}

func (s sink) Begin(monitor.Want)           {}
func (s sink) Call(string)                  {}
func (s sink) Adapter(a *monitor.Adapter)   { s.g.Adapter = a }
func (s sink) Sources(names ...string)      { s.g.Sources = names }
func (s sink) Identity(id monitor.Identity) { s.g.Identity = id }
func (s sink) State(st monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	s.g.State, s.g.Blocked, s.g.StateReason, s.g.StateErr = st, blocked, why, err
}
func (s sink) Reading(id monitor.ReadingID, r monitor.Reading) {
	r.At = s.at
	s.g.Readings[id] = r
}
func (s sink) Fans(f []monitor.Fan, st monitor.Status) { s.g.Fans, s.g.FansStatus = f, st }
func (s sink) XIDs(x []monitor.XID, st monitor.Status) { s.g.XIDs, s.g.XIDsStatus = x, st }
func (s sink) MIG(g []monitor.GPU, st monitor.Status)  { s.g.MIG, s.g.MIGStatus = g, st }
func (s sink) Processes(p []monitor.Process, st monitor.Status) {
	s.g.Processes, s.g.ProcStatus = p, st
}

// next moves on by a second.
func (m *machine) next() *monitor.Snapshot {
	m.now += int64(time.Second)
	snap := &monitor.Snapshot{
		Time: time.Unix(0, m.now).UTC(), Steady: m.now, Interval: time.Second, Source: "live",
		Driver: monitor.Driver{Version: monitor.OfText("580.95.05"), CUDAVersion: monitor.OfText("13.0")},
		Host: monitor.Host{
			Hostname: monitor.OfText("node17"), OS: "linux", CPUPercent: monitor.OfFloat(12),
			MemoryTotalBytes: monitor.OfInt(1008 * gib), MemoryAvailableBytes: monitor.OfInt(963 * gib),
		},
		GPUs: make([]monitor.GPU, len(m.devices)),
	}
	for i, d := range m.devices {
		g := &snap.GPUs[i]
		g.Sources, g.Refreshed, g.StateSince = []string{"demo"}, m.now, epoch.UnixNano()
		m.source.Read(d, monitor.Everything, sink{g, m.now})
	}
	m.assess(snap)
	return snap
}

// assess finds out what is wrong with the GPUs.
func (m *machine) assess(snap *monitor.Snapshot) {
	for i := range snap.GPUs {
		snap.GPUs[i].Health = m.health.Assess(&snap.GPUs[i], snap.Steady)
	}
}

// after runs a machine for some seconds and returns the last snapshot and the
// history.
func (m *machine) after(seconds int) (*monitor.Snapshot, *monitor.History) {
	hist := monitor.NewHistory(400)
	var snap *monitor.Snapshot
	for range seconds {
		snap = m.next()
		hist.Add(snap)
	}
	return snap, hist
}

func view(snap *monitor.Snapshot) *View {
	return &View{Now: snap.Time, ShowProcesses: true, Signals: true}
}

func draw(w, h int, o Options, snap *monitor.Snapshot, hist *monitor.History, v *View) *ansi.Frame {
	f := ansi.NewFrame(w, h)
	New(o).Draw(f, snap, hist, v)
	return f
}
