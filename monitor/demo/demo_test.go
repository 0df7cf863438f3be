package demo

import (
	"math"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// sheet is a sink that keeps what it is told.
type sheet struct {
	monitor.GPU
	seen map[monitor.ReadingID]bool
}

func (s *sheet) Begin(monitor.Want)           {}
func (s *sheet) Call(string)                  {}
func (s *sheet) Identity(id monitor.Identity) { s.GPU.Identity = id }
func (s *sheet) Adapter(a *monitor.Adapter)   { s.GPU.Adapter = a }
func (s *sheet) Sources(names ...string)      { s.GPU.Sources = names }
func (s *sheet) State(st monitor.State, _ monitor.Reason, why string, _ monitor.CallError) {
	s.GPU.State, s.StateReason = st, why
}
func (s *sheet) Reading(id monitor.ReadingID, r monitor.Reading) {
	s.Readings[id] = r
	s.seen[id] = true
}
func (s *sheet) Fans(f []monitor.Fan, st monitor.Status) { s.GPU.Fans, s.FansStatus = f, st }
func (s *sheet) XIDs(x []monitor.XID, st monitor.Status) { s.GPU.XIDs, s.XIDsStatus = x, st }
func (s *sheet) MIG(g []monitor.GPU, st monitor.Status)  { s.GPU.MIG, s.MIGStatus = g, st }
func (s *sheet) Processes(p []monitor.Process, st monitor.Status) {
	s.GPU.Processes, s.ProcStatus = p, st
}

func read(t *testing.T, s *Source) []*sheet {
	t.Helper()
	devices, err := s.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var all []*sheet
	for _, d := range devices {
		g := &sheet{seen: map[monitor.ReadingID]bool{}}
		s.Read(d, monitor.Everything, g)
		kept.Keep(report.AppendJSON(nil, &monitor.Snapshot{Source: "demo", GPUs: []monitor.GPU{g.GPU}}))
		all = append(all, g)
	}
	return all
}

const start = int64(1_796_000_000_000_000_000)

func at(o Options, now *int64) *Source {
	o.Now = func() int64 { return *now }
	return New(o)
}

func TestEveryReadingIsAnswered(t *testing.T) {
	now := start
	for _, g := range read(t, at(Options{GPUs: 9}, &now)) {
		for id := range monitor.NumReadings {
			r := g.Readings[id]
			if !g.seen[id] || r.Reason == monitor.NotSampled {
				t.Errorf("GPU %d: %s was not answered", g.Index, id)
			}
			if r.Known() && r.Kind() != id.Info().Kind {
				t.Errorf("GPU %d: %s is of kind %d, want %d", g.Index, id, r.Kind(), id.Info().Kind)
			}
		}
		for _, st := range []monitor.Status{g.XIDsStatus, g.MIGStatus, g.ProcStatus} {
			if st.Reason != monitor.Known {
				t.Errorf("GPU %d: a list has the reason %q", g.Index, st.Reason)
			}
		}
		if g.FansStatus.Reason == monitor.NotSampled {
			t.Errorf("GPU %d: fans were not read", g.Index)
		}
	}
}

func TestValuesBelongTogether(t *testing.T) {
	now := start
	s := at(Options{GPUs: 16}, &now)
	slowed, energy := 0, make([]float64, 16)
	for range 600 {
		now += int64(time.Second)
		for i, g := range read(t, s) {
			get := func(id monitor.ReadingID) float64 {
				v, ok := g.Readings[id].Float()
				if !ok {
					t.Fatalf("GPU %d: %s is unknown", i, id)
				}
				return v
			}
			used, total := get(monitor.MemoryUsedBytes), get(monitor.MemoryTotalBytes)
			sum := 0.0
			for _, list := range append([]monitor.GPU{g.GPU}, g.GPU.MIG...) {
				for _, p := range list.Processes {
					v, _ := p.GPUMemoryBytes.Float()
					sum += v
				}
			}
			if used != sum || used > total {
				t.Fatalf("GPU %d: used %v, processes %v, total %v", i, used, sum, total)
			}
			if p, limit := get(monitor.PowerMW), get(monitor.PowerLimitMW); p <= 0 || p > limit*1.02 {
				t.Fatalf("GPU %d: %v of %v mW", i, p, limit)
			}
			if c := get(monitor.TemperatureC); c < 25 || c > get(monitor.TemperatureSlowdownC)-4 {
				t.Fatalf("GPU %d: %v °C", i, c)
			}
			if bits, _ := g.Readings[monitor.ThrottleReasons].Bits(); bits&monitor.ThrottleSWPowerCap != 0 {
				slowed++
			}
			if e := get(monitor.EnergyJoules); e <= energy[i] {
				t.Fatalf("GPU %d: energy fell from %v to %v", i, energy[i], e)
			} else {
				energy[i] = e
			}
		}
	}
	if slowed == 0 {
		t.Error("no GPU ever reached its power limit")
	}
}

func TestPowerFollowsLoad(t *testing.T) {
	now := start
	s := at(Options{Step: 10}, &now)
	var low, high, nLow, nHigh float64
	for range 500 {
		now += int64(time.Second)
		g := read(t, s)[0]
		load, _ := g.Readings[monitor.UtilizationPercent].Float()
		watts, _ := g.Readings[monitor.PowerMW].Float()
		if load < 30 {
			low, nLow = low+watts, nLow+1
		}
		if load > 70 {
			high, nHigh = high+watts, nHigh+1
		}
	}
	if nLow == 0 || nHigh == 0 || high/nHigh < 1.5*low/nLow {
		t.Errorf("mean power %v mW at low load (%v times), %v mW at high load (%v times)", low/nLow, nLow, high/nHigh, nHigh)
	}
}

// Two programs that look at the same moment see the same machine, but for the
// energy counter, which adds up what was seen.
func TestSameMomentSameMachine(t *testing.T) {
	now := start
	a := at(Options{Seed: 3}, &now)
	now += int64(77 * time.Second)
	read(t, a)
	now += int64(time.Hour)
	b := at(Options{Seed: 3}, &now)
	x, y := read(t, a), read(t, b)
	for i := range x {
		for id := range monitor.NumReadings {
			if id != monitor.EnergyJoules && x[i].Readings[id] != y[i].Readings[id] {
				t.Errorf("GPU %d: %s differs", i, id)
			}
		}
		if len(x[i].GPU.Processes) != len(y[i].GPU.Processes) {
			t.Errorf("GPU %d: %d and %d processes", i, len(x[i].GPU.Processes), len(y[i].GPU.Processes))
		}
	}
	other := read(t, at(Options{Seed: 4}, &now))
	if other[0].UUID == x[0].UUID {
		t.Error("another seed gives the same UUID")
	}
}

func TestProcessesKeepTheirStart(t *testing.T) {
	now := start
	s := at(Options{}, &now)
	first := map[uint32]monitor.Reading{}
	came := 0
	for range 900 {
		now += 1_000_300_007
		for _, g := range read(t, s) {
			for _, p := range g.GPU.Processes {
				if was, ok := first[p.PID]; !ok {
					first[p.PID] = p.StartTime
					came++
				} else if was != p.StartTime {
					t.Fatalf("PID %d started at %v, later at %v", p.PID, was, p.StartTime)
				}
			}
		}
	}
	if came <= 8 {
		t.Errorf("no process came or went: %d in all", came)
	}
}

func TestSizes(t *testing.T) {
	now := start
	for _, tt := range []struct{ ask, gpus int }{{0, 4}, {1, 1}, {256, 256}, {1000, 256}, {-3, 4}} {
		if d, _ := at(Options{GPUs: tt.ask}, &now).Devices(); len(d) != tt.gpus {
			t.Errorf("asked for %d GPUs: %d, want %d", tt.ask, len(d), tt.gpus)
		}
	}
	for _, n := range []int{-1, 1, 4, 100} {
		for _, g := range read(t, at(Options{GPUs: 2, Processes: n}, &now)) {
			if len(g.GPU.Processes) != max(n, 0) {
				t.Errorf("asked for %d processes: %d", n, len(g.GPU.Processes))
			}
		}
	}
}

func TestWalkHasItsStep(t *testing.T) {
	var sum float64
	var steps int
	seen := [2]float64{100, 0}
	last := walk(1, 0, 10)
	for n := int64(1); n < 20000; n++ {
		v := walk(1, n, 10)
		if v < 0 || v > 100 {
			t.Fatalf("step %d: %v", n, v)
		}
		seen = [2]float64{math.Min(seen[0], v), math.Max(seen[1], v)}
		sum += (v - last) * (v - last)
		steps++
		last = v
	}
	if dev := math.Sqrt(sum / float64(steps)); dev < 8 || dev > 12 {
		t.Errorf("standard deviation %v, want about 10", dev)
	}
	if seen[0] > 2 || seen[1] < 98 {
		t.Errorf("the walk stays between %v and %v", seen[0], seen[1])
	}
}

func TestLabelledDemo(t *testing.T) {
	now := start
	s := at(Options{}, &now)
	if s.Name() != "demo" || s.LocalPIDs() {
		t.Error("the source does not say that it is a demo")
	}
	d := s.Driver()
	if !strings.Contains(d.Version.Value, "demo") || d.Library.Value != "demo" {
		t.Errorf("driver %+v does not say that it is a demo", d)
	}
}

// TestHostIsPartOfTheDemo: nothing of the real machine stands beside simulated
// GPUs, and the machine has room for the processes that it shows.
func TestHostIsPartOfTheDemo(t *testing.T) {
	now := start
	s := at(Options{}, &now)
	seen := map[float64]bool{}
	for range 100 {
		now += int64(time.Second)
		h := s.Host().Read()
		if h.Hostname.Value != "demo" || !strings.HasPrefix(h.BootID.Value, "de300000-") {
			t.Fatalf("host %+v does not say that it is a demo", h)
		}
		var used int64
		var cores float64
		for _, g := range read(t, s) {
			for _, p := range g.GPU.Processes {
				v, _ := p.HostMemoryBytes.Int()
				used += v
				c, _ := p.CPUPercent.Float()
				cores += c / 100
			}
		}
		total, _ := h.MemoryTotalBytes.Int()
		available, _ := h.MemoryAvailableBytes.Int()
		cpu, ok := h.CPUPercent.Float()
		if used <= 0 || total-available <= used || available <= total/4 || !ok || cpu <= 100*cores/(4*coresPerGPU) || cpu > 50 {
			t.Fatalf("%d of %d bytes available, processes %d, CPU %v %%, processes %v cores", available, total, used, cpu, cores)
		}
		seen[cpu] = true
	}
	if len(seen) < 10 {
		t.Errorf("the CPU's load stands still: %v", seen)
	}
	if p := s.Host().Platform(); p.Kind != "server" || p.Model.Value != "demo" {
		t.Errorf("platform %+v", p)
	}
	// The largest machine, with more processes than fit it.
	h := at(Options{GPUs: 256, Processes: 100}, &now).Host().Read()
	if v, ok := h.MemoryAvailableBytes.Int(); !ok || v < 0 {
		t.Errorf("%d bytes available", v)
	}
}

func TestUnknownDevice(t *testing.T) {
	now := start
	g := &sheet{seen: map[monitor.ReadingID]bool{}}
	at(Options{}, &now).Read(monitor.Device{Index: 99}, monitor.Everything, g)
	if g.GPU.State != monitor.Unavailable || g.StateReason == "" {
		t.Errorf("state %v %q", g.GPU.State, g.StateReason)
	}
}
