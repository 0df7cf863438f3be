package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

// history makes a recording at random: gaps, runs, boots, clocks that are set,
// GPUs that come and go, counters that are reset, PIDs that are used again.
func history(seed uint64, n int) []*monitor.Snapshot {
	r := rand.New(rand.NewPCG(seed, 7))
	chance := func(one int) bool { return r.IntN(one) == 0 }
	boot, steady, wall := 1, start, start
	states := make([]monitor.State, 4)
	energy := make([]float64, 4)
	alarmed := make([]bool, 4)
	for i := range states {
		states[i] = monitor.OK
	}
	ticks := map[uint32]int64{}
	alive := map[uint32]bool{}
	var list []*monitor.Snapshot
	for range n {
		step := int64(7e8 + r.IntN(6e8))
		if chance(40) {
			step = int64(21e8 + r.Int64N(90e9))
		}
		steady += step
		wall += step
		if chance(60) {
			wall -= 3600e9 // set by hand
		}
		if chance(90) {
			steady -= 100e9 // another run
		}
		if chance(90) {
			boot++
			clear(alive)
			for i := range energy {
				energy[i] = 0
			}
		}
		s := snapshot(0, 4)
		s.Steady, s.Time = steady, time.Unix(0, wall).UTC()
		s.Host.BootID = monitor.OfText(fmt.Sprint("boot-", boot))
		if chance(10) {
			s.Host.BootID = monitor.UnknownText(monitor.Timeout)
		}
		var programs []monitor.Process
		for pid := uint32(1); pid < 12; pid++ {
			if chance(15) {
				if alive[pid] = !alive[pid]; alive[pid] && !chance(3) {
					ticks[pid] = steady / 1e7 // another process of the same number
				}
			}
			if alive[pid] {
				programs = append(programs, program(pid, ticks[pid], 0, 0))
			}
		}
		for i := range s.GPUs {
			g := &s.GPUs[i]
			if chance(20) {
				states[i] = monitor.State(r.IntN(6))
			}
			g.State = states[i]
			any := func(id monitor.ReadingID, v float64) {
				g.Readings[id] = monitor.OfFloat(v)
				if chance(8) {
					g.Readings[id] = monitor.Unknown([]monitor.Reason{monitor.Timeout, monitor.DriverError, monitor.DriverError}[r.IntN(3)])
				}
			}
			any(monitor.UtilizationPercent, float64(r.IntN(101)))
			any(monitor.SMActivePercent, r.Float64()*100)
			any(monitor.MemoryUsedBytes, float64(r.Int64N(80<<30)))
			any(monitor.PowerMW, 60_000+r.Float64()*600_000)
			any(monitor.TemperatureC, 30+float64(r.IntN(60)))
			energy[i] += r.Float64() * 700
			if chance(50) {
				energy[i] = r.Float64()
			}
			if i != 3 {
				any(monitor.EnergyJoules, energy[i])
			}
			g.Readings[monitor.ThrottleReasons] = monitor.OfMask(uint64(r.IntN(64)))
			if chance(6) {
				g.Readings[monitor.ThrottleReasons] = monitor.Unknown(monitor.Timeout)
			}
			if chance(10) {
				alarmed[i] = !alarmed[i]
			}
			if alarmed[i] {
				g.Health = []monitor.Health{{Code: "pcie_width", Text: "PCIe x8 of x16", Level: monitor.Warn}}
			}
			if chance(12) {
				g.ProcStatus.Reason = monitor.NoPermission
			}
			for j := range programs {
				if (int(programs[j].PID)+i)%2 == 0 {
					p := programs[j]
					p.GPUMemoryBytes = monitor.OfInt(r.Int64N(1 << 36))
					p.SMPercent = monitor.OfFloat(r.Float64() * 50)
					if chance(7) {
						p.GPUMemoryBytes = monitor.Unknown(monitor.NotSupported)
					}
					if chance(5) {
						p.SMPercent = monitor.Unknown(monitor.NotSampled)
					}
					g.Processes = append(g.Processes, p)
				}
			}
		}
		if chance(5) {
			s.GPUs = s.GPUs[1:] // one that is not there at all
		}
		list = append(list, s)
	}
	return list
}

// expected are the figures of one GPU, as plainly as they can be had.
type expected struct {
	values  [numQuantities][]float64
	missed  [numQuantities]int
	states  map[string]float64
	counter float64
	power   float64
	resets  int
	slowed  [64]float64
	known   float64
	alarm   float64
	begun   int
}

func TestFiguresAreThoseComputedIndependently(t *testing.T) {
	for seed := range uint64(6) {
		snaps := history(seed, 400)
		s := New("rec.ndjson")
		for _, snap := range snaps {
			s.Add(snap)
		}
		d := parse(t, s)

		// Which snapshots follow each other, and after what time.
		passed := make([]float64, len(snaps)) // from one to the next; NaN: counts for nothing
		boots := make([]string, len(snaps))
		covered, gaps, missing, runs := 0.0, 0, 0.0, 1
		boots[0] = snaps[0].Host.BootID.Value
		for i := range snaps[1:] {
			boots[i+1] = snaps[i+1].Host.BootID.Value
			rebooted := boots[i+1] != "" && boots[i] != "" && boots[i+1] != boots[i]
			dt := float64(snaps[i+1].Steady-snaps[i].Steady) / 1e9
			passed[i] = math.NaN()
			switch {
			case rebooted || dt < 0:
				runs++
			case dt > 2:
				gaps++
				missing += dt
			default:
				passed[i] = dt
				covered += dt
			}
			if boots[i+1] == "" && !(dt < 0) {
				boots[i+1] = boots[i] // unknown, and the run goes on
			}
		}
		passed[len(snaps)-1] = math.NaN()
		near(t, "covered", d.num("covered_seconds"), covered)
		near(t, "gaps", d.num("gaps", "count"), float64(gaps))
		near(t, "gap seconds", d.num("gaps", "seconds"), missing)
		near(t, "runs", float64(len(d.list("runs"))), float64(runs))

		for _, g := range d.list("gpus") {
			uuid := g.str("uuid")
			e := expect(snaps, passed, uuid)
			what := fmt.Sprintf("seed %d, %s: ", seed, uuid)
			for q, key := range []string{"utilization_percent", "sm_active_percent", "memory_used_bytes", "power_mw", "temperature_c"} {
				v := e.values[q]
				sort.Float64s(v)
				sum := 0.0
				for _, x := range v {
					sum += x
				}
				rank := func(p float64) float64 { return v[int(math.Ceil(p/100*float64(len(v))))-1] }
				near(t, what+key+" count", g.num(key, "count"), float64(len(v)))
				near(t, what+key+" unknown", g.num(key, "unknown"), float64(e.missed[q]))
				near(t, what+key+" min", g.num(key, "min"), v[0])
				near(t, what+key+" mean", g.num(key, "mean"), sum/float64(len(v)))
				near(t, what+key+" p50", g.num(key, "p50"), rank(50))
				near(t, what+key+" p95", g.num(key, "p95"), rank(95))
				near(t, what+key+" max", g.num(key, "max"), v[len(v)-1])
			}
			for state, seconds := range e.states {
				near(t, what+state, g.num("state_seconds", state), seconds)
			}
			if uuid == "GPU-3" {
				near(t, what+"energy", g.num("energy", "joules"), e.power)
				if g.str("energy", "source") != "power" || g.at("energy", "estimated") != true {
					t.Errorf("%senergy is %v", what, g.at("energy"))
				}
			} else {
				near(t, what+"energy", g.num("energy", "joules"), e.counter)
				near(t, what+"resets", g.num("energy", "counter_resets"), float64(e.resets))
				if g.str("energy", "source") != "counter" || g.at("energy", "estimated") != false {
					t.Errorf("%senergy is %v", what, g.at("energy"))
				}
			}
			for bit := range 6 {
				near(t, what+"slowed", g.num("throttle_seconds", monitor.ThrottleReasons.WordOf(uint64(bit))), e.slowed[bit])
			}
			near(t, what+"slowed, known", g.num("throttle_known_seconds"), e.known)
			if alarms := g.list("alarms"); len(alarms) > 0 {
				near(t, what+"alarm", alarms[0].num("seconds"), e.alarm)
				near(t, what+"alarm times", alarms[0].num("times"), float64(e.begun))
			}
		}
		compareProcesses(t, fmt.Sprintf("seed %d: ", seed), d, snaps, passed, boots)
	}
}

func expect(snaps []*monitor.Snapshot, passed []float64, uuid string) *expected {
	e := &expected{states: map[string]float64{}}
	find := func(i int) *monitor.GPU {
		if i < 0 || i >= len(snaps) {
			return nil
		}
		for j := range snaps[i].GPUs {
			if g := &snaps[i].GPUs[j]; g.UUID.Value == uuid {
				return g
			}
		}
		return nil
	}
	ids := []monitor.ReadingID{monitor.UtilizationPercent, monitor.SMActivePercent, monitor.MemoryUsedBytes, monitor.PowerMW, monitor.TemperatureC}
	read := func(g *monitor.GPU, id monitor.ReadingID) (float64, bool) {
		if g == nil || g.State != monitor.OK && g.State != monitor.Initialising {
			return 0, false
		}
		return g.Readings[id].Float()
	}
	before := false
	for i := range snaps {
		g := find(i)
		if g == nil {
			continue
		}
		for q, id := range ids {
			if v, ok := read(g, id); ok {
				e.values[q] = append(e.values[q], v)
			} else {
				e.missed[q]++
			}
		}
		alarmed := len(g.Health) > 0
		if alarmed && !before {
			e.begun++
		}
		before = alarmed
		dt := passed[i]
		if math.IsNaN(dt) {
			continue
		}
		e.states[g.State.String()] += dt
		if alarmed {
			e.alarm += dt
		}
		if _, ok := read(g, monitor.ThrottleReasons); ok {
			bits, _ := g.Readings[monitor.ThrottleReasons].Bits()
			e.known += dt
			for bit := range 64 {
				if bits>>bit&1 != 0 {
					e.slowed[bit] += dt
				}
			}
		}
		next := find(i + 1)
		if a, ok := read(g, monitor.EnergyJoules); ok {
			if b, ok := read(next, monitor.EnergyJoules); ok && b < a {
				e.resets++
			} else if ok {
				e.counter += b - a
			}
		}
		if a, ok := read(g, monitor.PowerMW); ok {
			if b, ok := read(next, monitor.PowerMW); ok {
				e.power += (a + b) / 2000 * dt
			}
		}
	}
	return e
}

func compareProcesses(t *testing.T, what string, d node, snaps []*monitor.Snapshot, passed []float64, boots []string) {
	t.Helper()
	type found struct {
		seconds, peak, load float64
		snapshots, loads    int
		peaks, on           map[string]float64 // by GPU: memory, seconds
	}
	all := map[string]*found{}
	last := map[string]map[string]bool{} // by process: the GPUs in whose lists it was when they were last read
	for i, snap := range snaps {
		sums := map[string][2]float64{}
		add := func(id string, memory, load float64) {
			have := sums[id]
			sums[id] = [2]float64{have[0] + memory, have[1] + load}
		}
		for j := range snap.GPUs {
			g := &snap.GPUs[j]
			if g.State != monitor.OK && g.State != monitor.Initialising || g.ProcStatus.Reason != monitor.Known {
				continue
			}
			for id := range last {
				delete(last[id], g.UUID.Value)
			}
			for k := range g.Processes {
				p := &g.Processes[k]
				ticks, _ := p.StartTicks.Int()
				id := fmt.Sprint(boots[i], p.PID, ticks)
				f := all[id]
				if f == nil {
					f = &found{peaks: map[string]float64{}, on: map[string]float64{}}
					all[id], last[id] = f, map[string]bool{}
				}
				last[id][g.UUID.Value] = true
				if !math.IsNaN(passed[i]) {
					f.on[g.UUID.Value] += passed[i]
				}
				memory, load := math.NaN(), math.NaN()
				if v, ok := p.GPUMemoryBytes.Float(); ok {
					memory = v
					f.peaks[g.UUID.Value] = max(f.peaks[g.UUID.Value], v)
				}
				if v, ok := p.SMPercent.Float(); ok {
					load = v
				}
				add(id, memory, load)
			}
		}
		// What cannot be read now is unknown, and so is a sum with it.
		for j := range snap.GPUs {
			g := &snap.GPUs[j]
			if g.State == monitor.OK && g.ProcStatus.Reason == monitor.Known || g.State == monitor.Initialising && g.ProcStatus.Reason == monitor.Known {
				continue
			}
			for id := range sums {
				if last[id][g.UUID.Value] {
					add(id, math.NaN(), math.NaN())
				}
			}
		}
		for id, sum := range sums {
			f := all[id]
			f.snapshots++
			if !math.IsNaN(passed[i]) {
				f.seconds += passed[i]
			}
			if !math.IsNaN(sum[0]) {
				f.peak = max(f.peak, sum[0])
			}
			if !math.IsNaN(sum[1]) {
				f.load += sum[1]
				f.loads++
			}
		}
	}
	list := d.list("processes")
	if len(list) != len(all) {
		t.Errorf("%s%d processes, not %d", what, len(list), len(all))
	}
	for _, p := range list {
		boot, _ := p.at("boot_id").(string)
		id := fmt.Sprint(boot, uint32(p.num("pid")), int64(p.num("start_ticks")))
		f := all[id]
		if f == nil {
			t.Errorf("%sno process %s", what, id)
			continue
		}
		near(t, what+id+" seconds", p.num("seconds"), f.seconds)
		near(t, what+id+" snapshots", p.num("snapshots"), float64(f.snapshots))
		near(t, what+id+" sm_count", p.num("sm_count"), float64(f.loads))
		if f.loads > 0 {
			near(t, what+id+" SM", p.num("mean_sm_percent"), f.load/float64(f.loads))
		} else if p.at("mean_sm_percent") != nil {
			t.Errorf("%s%s has load", what, id)
		}
		if f.peak > 0 {
			near(t, what+id+" peak", p.num("peak_gpu_memory_bytes"), f.peak)
		} else if p.at("peak_gpu_memory_bytes") != nil {
			t.Errorf("%s%s has memory", what, id)
		}
		for _, u := range p.list("gpus") {
			near(t, what+id+" seconds on a GPU", u.num("seconds"), f.on[u.str("uuid")])
			if v, ok := f.peaks[u.str("uuid")]; ok {
				near(t, what+id+" on a GPU", u.num("peak_gpu_memory_bytes"), v)
			} else if u.at("peak_gpu_memory_bytes") != nil {
				t.Errorf("%s%s has memory on %s", what, id, u.str("uuid"))
			}
		}
	}
}

// near compares figures, seconds as far as they are told.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.0011+1e-9*math.Abs(want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}
