package summary

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// node is a value of the JSON.
type node struct {
	t *testing.T
	v any
}

func parse(t *testing.T, s *Summary) node {
	t.Helper()
	b := s.Append(nil)
	if len(b) < 1<<18 {
		kept.Keep(b)
	}
	if bytes.ContainsAny(b, "\n\x1b") {
		t.Fatal("the JSON is not on one line, or controls a terminal")
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	return node{t, v}
}

func (n node) at(path ...string) any {
	n.t.Helper()
	v := n.v
	for _, key := range path {
		m, _ := v.(map[string]any)
		have, ok := m[key]
		if !ok {
			n.t.Fatalf("no %v in %v", path, n.v)
		}
		v = have
	}
	return v
}

func (n node) num(path ...string) float64 {
	n.t.Helper()
	v, ok := n.at(path...).(float64)
	if !ok {
		n.t.Fatalf("%v is %v", path, n.at(path...))
	}
	return v
}

func (n node) str(path ...string) string {
	n.t.Helper()
	v, ok := n.at(path...).(string)
	if !ok {
		n.t.Fatalf("%v is %v", path, n.at(path...))
	}
	return v
}

func (n node) list(path ...string) []node {
	n.t.Helper()
	var nodes []node
	for _, v := range n.at(path...).([]any) {
		nodes = append(nodes, node{n.t, v})
	}
	return nodes
}

func summed(snaps ...*monitor.Snapshot) *Summary {
	s := New("rec.ndjson")
	for _, snap := range snaps {
		s.Add(snap)
	}
	return s
}

var plain = ansi.PageOptions{Location: time.UTC}

func textOf(s *Summary) string { return string(s.AppendText(nil, plain)) }

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%s: got\n%s", name, got)
	}
}

// small is a recording of a minute and two runs, by hand.
func small() *Summary {
	s := New("node17.ndjson.gz")
	for i := range 60 {
		if i >= 20 && i < 30 {
			continue
		}
		snap := snapshot(float64(i), 3)
		a, b, c := &snap.GPUs[0], &snap.GPUs[1], &snap.GPUs[2]
		a.Readings[monitor.UtilizationPercent] = monitor.OfFloat(float64(i))
		a.Readings[monitor.EnergyJoules] = monitor.OfFloat(1000 + 100*float64(i))
		a.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(int64(i) << 30)
		if i >= 40 {
			a.Readings[monitor.ThrottleReasons] = monitor.OfMask(monitor.ThrottleSWPowerCap)
			a.Health = []monitor.Health{{Code: "throttle_power", Text: "SLOWED: power cap", Level: monitor.Info}}
		}
		p := program(16523, 1, 1024*int64(i), 10)
		a.Processes = []monitor.Process{p, program(20117, 2, 64, 1)}
		p.GPUMemoryBytes, p.SMPercent = monitor.OfInt(1<<30), monitor.OfFloat(90)
		b.Processes = []monitor.Process{p}
		if i%10 < 2 {
			b.Health = []monitor.Health{{Code: "pcie_width", Text: "PCIe x8 of x16", Level: monitor.Warn}}
		}
		b.Readings[monitor.SMActivePercent] = monitor.Unknown(monitor.NotSupported)
		c.MIG = []monitor.GPU{instance(c, 1), instance(c, 5)}
		c.Readings[monitor.UtilizationPercent] = monitor.Unknown(monitor.NotSupported)
		c.ProcStatus.Reason = monitor.NoPermission
		if i >= 45 {
			x := monitor.XID{Time: start + 44e9, Code: 79, Source: "kernel_log", GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}
			c.State, c.StateReason, c.XIDs = monitor.Lost, "GPU is lost", []monitor.XID{x}
			c.Health = []monitor.Health{
				{Code: "gpu_lost", Text: "lost: Xid 79, fell off the bus; reset or reboot", Level: monitor.Critical},
				{Code: "xid", Text: "Xid 79, fell off the bus", Level: monitor.Critical},
			}
		}
		s.Add(snap)
	}
	for i := range 5 {
		snap := snapshot(100+float64(i), 2)
		snap.Host.BootID, snap.Driver.Version = monitor.OfText("boot-2"), monitor.OfText("590.11")
		snap.GPUs[0].Readings[monitor.EnergyJoules] = monitor.OfFloat(50 * float64(i))
		s.Add(snap)
	}
	s.SetBroken(2, []int64{17, 18})
	return s
}

func TestGolden(t *testing.T) {
	s := small()
	parse(t, s)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, s.Append(nil), "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, "small.json", append(pretty.Bytes(), '\n'))
	golden(t, "small.txt", s.AppendText(nil, plain))
	ascii := plain
	ascii.ASCII, ascii.Level = true, ansi.Level16
	golden(t, "small-ascii-16.txt", s.AppendText(nil, ascii))
}

// TestARecordingSaysTheSame as the snapshots that were recorded.
func TestARecordingSaysTheSame(t *testing.T) {
	live, recorded := New(""), New("")
	for _, snap := range history(1, 200) {
		live.Add(snap)
		again, err := report.ParseJSON(report.AppendJSON(nil, snap))
		if err != nil {
			t.Fatal(err)
		}
		recorded.Add(again)
	}
	if a, b := live.Append(nil), recorded.Append(nil); !bytes.Equal(a, b) {
		i := 0
		for a[i] == b[i] {
			i++
		}
		t.Errorf("live …%.300s\nrecorded …%.300s", a[max(0, i-150):], b[max(0, i-150):])
	}
}

func TestNothing(t *testing.T) {
	s := New("-")
	d := parse(t, s)
	if d.at("first_time") != nil || d.num("snapshots") != 0 || len(d.list("runs")) != 0 {
		t.Errorf("%v", d.v)
	}
	wants(t, textOf(s), "summary of -\n no snapshot in it\n")
	s.SetBroken(9, []int64{1, 2})
	wants(t, textOf(s), "9 lines are broken and not counted: 1, 2, and others")
}

func TestOneSnapshot(t *testing.T) {
	s := summed(snapshot(0, 1))
	d := parse(t, s)
	g := d.list("gpus")[0]
	if g.num("utilization_percent", "p95") != 50 || g.at("energy", "joules") != nil || g.str("energy", "reason") != "not_supported" {
		t.Errorf("%v", g.v)
	}
	wants(t, textOf(s), "12:00:00 to 12:00:00, 1 snapshot, every 1 s, 0s covered", "energy unknown, not supported", "no process")
}

// TestUnknownIsNeverZero: where nothing is known there is no figure, and the
// reason given most often.
func TestUnknownIsNeverZero(t *testing.T) {
	s := New("")
	for i := range 5 {
		snap := snapshot(float64(i), 1)
		g := &snap.GPUs[0]
		for id := range g.Readings {
			g.Readings[id] = monitor.Unknown(monitor.DriverError)
		}
		if i < 2 {
			g.Readings[monitor.PowerMW] = monitor.Unknown(monitor.Timeout)
		}
		g.XIDsStatus.Reason, g.ProcStatus.Reason = monitor.NoPermission, monitor.NoPermission
		s.Add(snap)
	}
	g := parse(t, s).list("gpus")[0]
	for _, key := range []string{"utilization_percent", "sm_active_percent", "memory_used_bytes", "power_mw", "temperature_c"} {
		for _, figure := range []string{"min", "mean", "p50", "p95", "max"} {
			if v := g.at(key, figure); v != nil {
				t.Errorf("%s of %s is %v", figure, key, v)
			}
		}
		if g.num(key, "count") != 0 || g.num(key, "unknown") != 5 || g.str(key, "reason") != "driver_error" {
			t.Errorf("%s: %v", key, g.at(key))
		}
	}
	for _, key := range []string{"throttle_seconds", "xids", "memory_total_bytes"} {
		if g.at(key) != nil || g.at("unavailable", key) == nil {
			t.Errorf("%s is %v because of %v", key, g.at(key), g.at("unavailable"))
		}
	}
	if g.str("process_lists_reason") != "no_permission" || g.str("energy", "reason") != "driver_error" {
		t.Errorf("%v", g.v)
	}
	text := textOf(s)
	wants(t, text, " GPU 0: utilization, SM activity, memory, power, temperature, energy unknown,\n   driver error\n", "processes unknown, no permission", "    -   -   -  -           - -   -  -   -      - H100")
	if strings.Contains(text, "no process") || strings.Contains(text, "0%") {
		t.Errorf("unknown is told as none:\n%s", text)
	}
}

// TestWhatAStaleOrLostGPUShowsIsNotCounted: it was counted when it was measured.
func TestWhatAStaleOrLostGPUShowsIsNotCounted(t *testing.T) {
	s := New("")
	for i, state := range []monitor.State{monitor.OK, monitor.Stale, monitor.Stale, monitor.Lost, monitor.Lost, monitor.Lost, monitor.OK} {
		snap := snapshot(float64(i), 1)
		snap.GPUs[0].State = state
		snap.GPUs[0].Processes = []monitor.Process{program(1, 1, 64, 1)}
		s.Add(snap)
	}
	d := parse(t, s)
	g := d.list("gpus")[0]
	if g.num("power_mw", "count") != 2 || g.str("power_mw", "reason") != "gpu_lost" || g.at("energy", "joules") != nil {
		t.Errorf("%v", g.v)
	}
	if g.num("state_seconds", "ok") != 1 || g.num("state_seconds", "stale") != 2 || g.num("state_seconds", "lost") != 3 || len(g.list("state_periods")) != 4 {
		t.Errorf("%v", g.at("state_seconds"))
	}
	if p := d.list("processes")[0]; p.num("seconds") != 1 || p.num("snapshots") != 2 {
		t.Errorf("%v", p.v)
	}
	wants(t, textOf(s), " GPU 0: utilization, SM activity, memory, power, temperature, processes unknown\n   in 5 of 7 snapshots, gpu lost\n")
	wants(t, textOf(s), "GPU 0: ok 1s, stale 2s, lost 3s; stale 12:00:01 to 12:00:02; lost 12:00:03 to")
}

func TestInstancesShareTheFateOfTheirGPU(t *testing.T) {
	s := New("")
	for i := range 4 {
		snap := snapshot(float64(i), 2)
		g := &snap.GPUs[0]
		g.MIG = []monitor.GPU{instance(g, 1), instance(g, 2)}
		if i > 1 {
			g.State = monitor.Sleeping
		}
		s.Add(snap)
	}
	list := parse(t, s).list("gpus")
	if len(list) != 4 || list[1].str("uuid") != "MIG-0-1" || list[1].num("parent") != 0 || list[3].str("uuid") != "GPU-1" {
		t.Fatalf("%v", list)
	}
	if list[1].num("memory_used_bytes", "count") != 2 || list[1].num("state_seconds", "asleep") != 1 {
		t.Errorf("%v", list[1].v)
	}
	wants(t, textOf(s), " 0:1    -", " 0:2    -", "1g.10gb")
}

// TestGPUsAreKnownByTheirUUID, whatever their names and numbers.
func TestGPUsAreKnownByTheirUUID(t *testing.T) {
	a, b := snapshot(0, 2), snapshot(1, 2)
	b.GPUs[0].Index, b.GPUs[1].Index = 1, 0
	b.GPUs[0].Readings[monitor.UtilizationPercent] = monitor.OfFloat(90)
	lost := snapshot(2, 2)
	lost.GPUs[0].Index = monitor.None
	list := parse(t, summed(a, b, lost)).list("gpus")
	if list[0].num("utilization_percent", "max") != 90 || list[0].num("index") != 1 || list[1].num("utilization_percent", "max") != 50 {
		t.Errorf("%v", list)
	}
	// Without a UUID, the same place on the bus of another machine is another GPU.
	c, d := snapshot(3, 1), snapshot(4, 1)
	for i, s := range []*monitor.Snapshot{c, d} {
		s.GPUs[0].UUID = monitor.UnknownText(monitor.NoPermission)
		s.Host.Hostname, s.Host.BootID = monitor.OfText(fmt.Sprint("node", i)), monitor.OfText(fmt.Sprint(i))
	}
	s := summed(c, d)
	if list := parse(t, s).list("gpus"); len(list) != 2 || list[0].at("uuid") != nil {
		t.Errorf("%v", list)
	}
	wants(t, textOf(s), "hosts node0, node1", "node0 H100", "2 runs:")
}

func TestGapsAreTold(t *testing.T) {
	s := New("")
	for _, at := range []float64{0, 1, 2, 4, 6.5, 7} { // twice the interval is none yet
		snap := snapshot(at, 1)
		snap.GPUs[0].Readings[monitor.EnergyJoules] = monitor.OfFloat(100 * at)
		s.Add(snap)
	}
	d := parse(t, s)
	if d.num("covered_seconds") != 4.5 || d.num("gaps", "count") != 1 || d.num("gaps", "seconds") != 2.5 || d.list("gaps", "list")[0].str("from") != "2026-11-30T12:00:04Z" {
		t.Errorf("%v", d.v)
	}
	if e := d.list("gpus")[0]; e.num("energy", "joules") != 450 || e.num("energy", "seconds") != 4.5 {
		t.Errorf("energy is integrated over the gap: %v", e.at("energy"))
	}
	wants(t, textOf(s), "1 gap in the recording, 3s in all\n 12:00:04 to 12:00:06 (3s)\n")
	for i := range 300 {
		s.Add(snapshot(100+10*float64(i), 1))
	}
	d = parse(t, s)
	if len(d.list("gaps", "list")) != maxGaps || d.num("gaps", "count") != 301 || d.num("gaps", "left_out") != 301-maxGaps {
		t.Errorf("%v", d.at("gaps"))
	}
	wants(t, textOf(s), " 291 more\n")
}

// TestSettingTheClockChangesNothing but the times told, and is told.
func TestSettingTheClockChangesNothing(t *testing.T) {
	s := New("")
	for i := range 10 {
		snap := snapshot(float64(i), 1)
		if i >= 5 {
			snap.Time = snap.Time.Add(-30 * time.Hour)
		}
		s.Add(snap)
	}
	d := parse(t, s)
	if d.num("covered_seconds") != 9 || d.num("gaps", "count") != 0 || len(d.list("runs")) != 1 || d.str("last_time") != "2026-11-29T06:00:09Z" {
		t.Errorf("%v", d.v)
	}
	near(t, "energy", d.list("gpus")[0].num("energy", "joules"), 9*360)
	c := d.list("clock_changes", "list")[0]
	if d.num("clock_changes", "count") != 1 || c.num("seconds") != -30*3600 || c.str("from") != "2026-11-30T12:00:04Z" || c.str("to") != "2026-11-29T06:00:05Z" {
		t.Errorf("%v", d.at("clock_changes"))
	}
	wants(t, textOf(s), "the clock was set back by 1d06h at 2026-11-30 12:00:04, to 2026-11-29 06:00:05")
}

func TestTheClockIsWatched(t *testing.T) {
	s := New("")
	ahead := time.Duration(0)
	for i, by := range []time.Duration{0, time.Second, -time.Second, time.Hour, 0, -time.Hour} {
		snap := snapshot(float64(i), 1)
		ahead += by
		snap.Time = snap.Time.Add(ahead)
		s.Add(snap)
	}
	wants(t, textOf(s), " the clock was set forward by 1h00m, or the machine slept, at 12:00:02, to\n   13:00:03\n the clock was set back by 1h00m at 13:00:04, to 12:00:05\n")
	for i := range 300 {
		snap := snapshot(float64(10+i), 1)
		snap.Time = snap.Time.Add(time.Duration(i%2) * time.Minute)
		s.Add(snap)
	}
	d := parse(t, s)
	if d.num("clock_changes", "count") != 301 || len(d.list("clock_changes", "list")) != maxSets || d.num("clock_changes", "left_out") != 301-maxSets {
		t.Errorf("%v of %v", d.num("clock_changes", "left_out"), d.num("clock_changes", "count"))
	}
	wants(t, textOf(s), " 296 more changes of the clock\n")
	// Another boot has a clock of its own.
	booted := snapshot(-9000, 1)
	booted.Host.BootID = monitor.OfText("boot-2")
	if d := parse(t, summed(snapshot(0, 1), booted)); d.num("clock_changes", "count") != 0 {
		t.Errorf("%v", d.at("clock_changes"))
	}
}

func TestRunsThatOverlap(t *testing.T) {
	later, other := snapshot(100, 1), snapshot(0, 1)
	later.Steady = 5
	other.Host.Hostname = monitor.OfText("node18")
	s := summed(snapshot(0, 1), snapshot(1, 1), later, other)
	if n := parse(t, s).num("runs_overlapping"); n != 0 {
		t.Errorf("%v overlap", n)
	}
	s = summed(snapshot(0, 1), snapshot(1, 1), snapshot(0, 1), snapshot(1, 1))
	if n := parse(t, s).num("runs_overlapping"); n != 1 {
		t.Errorf("%v overlap", n)
	}
	wants(t, textOf(s), " 2 runs:\n", " 1 run overlaps an earlier one in time: what both have counts twice\n")
}

func TestDamagedParts(t *testing.T) {
	s := summed(snapshot(0, 1))
	s.SetDamaged(2)
	if n := parse(t, s).num("damaged_parts"); n != 2 {
		t.Errorf("%v parts", n)
	}
	wants(t, textOf(s), " compressed data is damaged in 2 places: what was there is lost\n")
	s.SetDamaged(1)
	wants(t, textOf(s), "damaged in 1 place:")
}

func TestRunsBegin(t *testing.T) {
	back, booted, host, demo := snapshot(1, 1), snapshot(3, 1), snapshot(4, 1), snapshot(5, 1)
	booted.Host.BootID = monitor.OfText("boot-2")
	host.Host.Hostname, host.Host.BootID = monitor.OfText("node18"), monitor.OfText("boot-2")
	demo.Host, demo.Source = host.Host, "demo"
	s := summed(snapshot(0, 1), snapshot(2, 1), back, booted, host, demo)
	d := parse(t, s)
	runs := d.list("runs")
	if len(runs) != 5 || runs[0].num("snapshots") != 2 || d.num("covered_seconds") != 2 || runs[4].str("source") != "demo" || d.num("gaps", "count") != 0 {
		t.Errorf("%v", d.at("runs"))
	}
	wants(t, textOf(s), "[demo]", " 5 runs:\n", "hosts node17, node18")
	for i := range 300 {
		s.Add(snapshot(-float64(i), 1))
	}
	d = parse(t, s)
	if len(d.list("runs")) != maxRuns || d.num("runs_left_out") != 305-maxRuns {
		t.Errorf("%d runs and %v", len(d.list("runs")), d.at("runs_left_out"))
	}
	wants(t, textOf(s), " 305 runs:\n", " 295 more\n")
}

func TestDriverVersions(t *testing.T) {
	newer := snapshot(1, 1)
	newer.Driver.Version = monitor.OfText("590.11")
	none := snapshot(2, 0)
	none.Driver, none.Waiting = monitor.Driver{Version: monitor.UnknownText(monitor.NotFound)}, "no driver in sight"
	s := summed(snapshot(0, 1), newer, none, snapshot(3, 1))
	d := parse(t, s)
	list := d.list("drivers")
	if len(list) != 3 || list[0].num("snapshots") != 2 || list[2].at("version") != nil || list[2].str("unavailable", "version") != "not_found" {
		t.Errorf("%v", list)
	}
	if d.num("waiting_seconds") != 1 || d.str("waiting_reason") != "no driver in sight" {
		t.Errorf("%v", d.v)
	}
	wants(t, textOf(s), "driver 580.95.05 (CUDA 13.0), from 12:00:01 590.11 (CUDA 13.0), from 12:00:02\n   unknown\n", "waited for the driver for 1s: no driver in sight")
}

func TestEnergyCountersThatAreReset(t *testing.T) {
	s := New("")
	for i, v := range []float64{1000, 1100, 5, 105, math.NaN(), 305, 405} {
		snap := snapshot(float64(i), 1)
		snap.GPUs[0].Readings[monitor.EnergyJoules] = monitor.OfFloat(v)
		s.Add(snap)
	}
	booted := snapshot(7, 1)
	booted.Host.BootID = monitor.OfText("boot-2")
	booted.GPUs[0].Readings[monitor.EnergyJoules] = monitor.OfFloat(9999)
	s.Add(booted)
	e := parse(t, s).list("gpus")[0]
	wants(t, textOf(s), " GPU 0: energy covers 3s of 6s, its counter began anew 1 time\n")
	if e.num("energy", "joules") != 300 || e.num("energy", "seconds") != 3 || e.num("energy", "counter_resets") != 1 || e.at("energy", "estimated") != false {
		t.Errorf("%v", e.at("energy"))
	}
}

func TestEnergyOfManyGPUs(t *testing.T) {
	s, estimated := New(""), New("")
	for i := range 11 {
		snap := snapshot(float64(i), 2)
		for j := range snap.GPUs {
			snap.GPUs[j].Readings[monitor.EnergyJoules] = monitor.OfFloat(float64(i) * 1e6)
		}
		s.Add(snap)
		snap.GPUs[1].Readings[monitor.EnergyJoules] = monitor.Unknown(monitor.NotSupported)
		estimated.Add(snap)
	}
	wants(t, textOf(s), "energy of all 2 GPUs: 5.6 kWh")
	text := textOf(estimated)
	wants(t, text, " 2777.8 Wh H100", "   ~1.0 Wh H100", // of one unit
		" energy: ~ estimated from power\n energy of all GPUs not added up: that of GPU 1 is estimated\n")
	if strings.Contains(text, "GPUs: 2") || strings.Contains(textOf(s), "estimated") {
		t.Errorf("an estimate was added up:\n%s", text)
	}
	none := snapshot(11, 3)
	none.GPUs[2].Readings[monitor.PowerMW] = monitor.Unknown(monitor.NotSupported)
	estimated.Add(none)
	wants(t, textOf(estimated), "not added up: that of GPU 2 is unknown")
}

func TestUnitsOfEnergy(t *testing.T) {
	for _, c := range []struct {
		joules []float64
		want   string
	}{
		{[]float64{0, 0}, "0 J,0 J"},
		{[]float64{12, 3000}, "12 J,3000 J"},
		{[]float64{12, 50_000}, "<0.1 Wh,13.9 Wh"},
		{[]float64{0, 3.6e6}, "0.0 kWh,1.0 kWh"},
		{[]float64{3.6e6, 7.2e6}, "1.0 kWh,2.0 kWh"},
		{[]float64{3600, 7.2e8}, "<0.1 kWh,200.0 kWh"},
		{[]float64{1e20, 3600}, ">9999 MWh,<0.1 MWh"},
	} {
		s := New("")
		for i := range 2 {
			snap := snapshot(float64(i), len(c.joules))
			for j, v := range c.joules {
				snap.GPUs[j].Readings[monitor.EnergyJoules] = monitor.OfFloat(v * float64(i))
			}
			s.Add(snap)
		}
		text := textOf(s)
		for _, want := range strings.Split(c.want, ",") {
			wants(t, text, want+" H100")
		}
	}
}

// TestAbsurdValuesKeepTheirColumns: what stands behind them is on the line, too.
func TestAbsurdValuesKeepTheirColumns(t *testing.T) {
	for _, v := range []float64{9e20, -9e20} {
		s := New("")
		for i := range 2 {
			snap := snapshot(float64(i), 1)
			g := &snap.GPUs[0]
			for _, id := range []monitor.ReadingID{monitor.UtilizationPercent, monitor.SMActivePercent, monitor.MemoryUsedBytes, monitor.MemoryTotalBytes, monitor.PowerMW, monitor.TemperatureC} {
				r := monitor.OfFloat(v)
				r.Provenance = monitor.Estimated
				g.Readings[id] = r
			}
			p := program(1, 1, 1, v)
			p.GPUMemoryBytes = monitor.OfFloat(max(v, 0))
			g.Processes = []monitor.Process{p}
			s.Add(snap)
		}
		text := textOf(s)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "   0 ") && !strings.Contains(line, "Wh H100") && !strings.Contains(line, " J H10") && !strings.HasSuffix(line, " train.py\n") {
				t.Errorf("%v pushed the name out of\n%s", v, text)
			}
		}
		if v > 0 {
			wants(t, text, " >999%", " >9999/>9999 ", " >9999 MWh ", " >9999 GiB ")
		} else {
			wants(t, text, " <-99%", " <-99/<-99 ")
		}
	}
}

func TestAlarms(t *testing.T) {
	s := New("")
	for i := range 20 {
		snap := snapshot(float64(i), 2)
		for j := range snap.GPUs {
			snap.GPUs[j].Health = []monitor.Health{{Code: "persistence_off", Text: "persistence off", Level: monitor.Info}}
		}
		if i >= 4 && i < 8 || i >= 12 {
			snap.GPUs[1].Health = append(snap.GPUs[1].Health, monitor.Health{Code: "no_answer", Text: fmt.Sprintf("no answer for %d s", i), Level: monitor.Critical})
		}
		s.Add(snap)
	}
	a := parse(t, s).list("gpus")[1].list("alarms")[1]
	if a.num("times") != 2 || a.num("seconds") != 11 || a.str("text") != "no answer for 19 s" || len(a.list("periods")) != 2 || a.list("periods")[0].num("seconds") != 4 {
		t.Errorf("%v", a.v)
	}
	wants(t, textOf(s), "Alarms, as last worded\n 12:00:04 to 12:00:19 GPU 1: no answer for 19 s (seen for 11s, 2 times)\n 12:00:00 to 12:00:19 GPUs 0, 1: persistence off (seen for 19s each)\n")
}

// TestAlarmsOfSeveralGPUsAreNotAddedUp: how long and how often is said of each.
func TestAlarmsOfSeveralGPUsAreNotAddedUp(t *testing.T) {
	s, same := New(""), New("")
	for i := range 20 {
		snap := snapshot(float64(i), 3)
		for j := range snap.GPUs {
			if i%4 == 0 {
				snap.GPUs[j].Health = []monitor.Health{{Code: "throttle_power", Text: "SLOWED: power cap", Level: monitor.Info}}
			}
		}
		same.Add(snap)
		if i > 4 {
			snap.GPUs[1].Health = nil
		}
		s.Add(snap)
	}
	wants(t, textOf(same), "GPUs 0-2: SLOWED: power cap (seen for 5s, 5 times each)\n")
	wants(t, textOf(s), "GPUs 0-2: SLOWED: power cap (seen for 5s, 5 times each at\n   most)\n")
}

func TestXIDs(t *testing.T) {
	x := func(seconds float64, code int) monitor.XID {
		return monitor.XID{Time: start + int64(seconds*1e9), Code: code, Source: "event", GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}
	}
	s := New("")
	all := []monitor.XID{x(-600, 13), x(1, 13), x(1.5, 13), x(3, 48)}
	for i := range 6 {
		snap := snapshot(float64(i), 1)
		for _, e := range all {
			if e.Time <= snap.Steady {
				snap.GPUs[0].XIDs = append(snap.GPUs[0].XIDs, e)
			}
		}
		snap.GPUs[0].Health = []monitor.Health{{Code: "xid", Text: "Xid 13, fault in a program's kernel (3 times)", Level: monitor.Info}}
		s.Add(snap)
	}
	again := snapshot(0, 1) // another run finds the same in the kernel's log
	again.GPUs[0].XIDs = []monitor.XID{x(1.2, 13), x(3.3, 48), x(60, 48)}
	s.Add(again)
	list := parse(t, s).list("gpus")[0].list("xids")
	if len(list) != 2 || list[0].num("count") != 3 || list[1].num("count") != 2 || list[0].str("first_time") != "2026-11-30T11:50:00Z" {
		t.Errorf("%v", list)
	}
	wants(t, textOf(s), "11:50:00 to 12:00:01 GPU 0: Xid 13, fault in a program's kernel (3 times)", "GPU 0: Xid 48 (2 times)")
}

func TestAPIDUsedAgainIsAnotherProcess(t *testing.T) {
	s := New("")
	for i := range 9 {
		snap := snapshot(float64(i), 1)
		p := program(42, int64(i/3), 100*int64(1+i), 10)
		if i >= 6 {
			p.StartTicks = monitor.Unknown(monitor.NoPermission)
		}
		snap.GPUs[0].Processes = []monitor.Process{p}
		s.Add(snap)
	}
	booted := snapshot(9, 1)
	booted.Host.BootID = monitor.OfText("boot-2")
	booted.GPUs[0].Processes = []monitor.Process{program(42, 0, 1, 1)}
	s.Add(booted)
	list := parse(t, s).list("processes")
	if len(list) != 4 || list[0].at("start_ticks") != nil || list[0].str("unavailable", "start_ticks") != "no_permission" || list[1].num("peak_gpu_memory_bytes") != 600<<20 || list[3].str("boot_id") != "boot-2" {
		t.Errorf("%v", list)
	}
	if list[2].num("seconds") != 3 || list[1].num("seconds") != 3 {
		t.Errorf("%v", list)
	}
}

// TestCommandLinesAreNotTold: names will do, and lines hold secrets.
func TestCommandLinesAreNotTold(t *testing.T) {
	snap := snapshot(0, 1)
	snap.GPUs[0].Processes = []monitor.Process{program(42, 1, 1, 1)}
	s := summed(snap)
	if text := textOf(s) + string(s.Append(nil)); strings.Contains(text, "token") {
		t.Errorf("a command line in\n%s", text)
	}
}

func TestPartsThatWereNotMeasuredAreNotAddedUp(t *testing.T) {
	inferred := monitor.OfInt(5 << 30)
	inferred.Provenance = monitor.Inferred
	snap := snapshot(0, 2)
	one, two := program(1, 1, 64, 1), program(2, 2, 64, 1)
	one.GPUMemoryBytes, two.GPUMemoryBytes = inferred, inferred
	snap.GPUs[0].Processes = []monitor.Process{one, two}
	two.GPUMemoryBytes = monitor.OfInt(1 << 30)
	snap.GPUs[1].Processes = []monitor.Process{two}
	snap.GPUs[0].Readings[monitor.MemoryUsedBytes] = inferred
	s := summed(snap)
	list := parse(t, s).list("processes")
	if list[0].num("pid") != 1 || list[0].str("provenance", "peak_gpu_memory_bytes") != "inferred" || list[1].at("peak_gpu_memory_bytes") != nil {
		t.Errorf("%v", list)
	}
	wants(t, textOf(s), "~5.0 GiB", "~5.0/80.0")
}

func TestPercentilesOfManyValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		q     int
		value func() float64
	}{
		{utilization, func() float64 { return r.Float64() * 100 }},
		{smActive, func() float64 { return math.Pow(r.Float64(), 4) * 100 }},
		{memoryUsed, func() float64 { return float64(r.Int64N(192 << 30)) }},
		{power, func() float64 { return 50_000 + r.ExpFloat64()*200_000 }},
		{temperature, func() float64 { return 30 + r.Float64()*60 }},
	} {
		d := distribution{unit: quantities[c.q].unit}
		var all []float64
		for i := range 50_000 {
			v := c.value()
			if i > 20_000 {
				v = all[i%1000] // often the same
			}
			all = append(all, v)
			d.add(v, monitor.Measured)
			if i == maxValues-1 || i == maxValues || i == 49_999 {
				sorted := append([]float64(nil), all...)
				sort.Float64s(sorted)
				for _, p := range []int64{1, 50, 95, 99, 100} {
					want := sorted[int(math.Ceil(float64(p)/100*float64(len(sorted))))-1]
					got := d.percentile(p)
					if i < maxValues && (got != want || d.estimated) {
						t.Errorf("%d, p%d of %d: %v, not %v", c.q, p, i+1, got, want)
					}
					if math.Abs(got-want) > want/1000 && math.Abs(got-want) > d.unit {
						t.Errorf("%d, p%d of %d: %v, not about %v", c.q, p, i+1, got, want)
					}
				}
			}
		}
		if !d.estimated || d.values != nil || !d.document().Estimated {
			t.Errorf("%d: not said to be estimated", c.q)
		}
	}
}

func TestEstimatedPercentilesAreMarked(t *testing.T) {
	s := New("")
	for i := range maxValues + 100 {
		snap := snapshot(float64(i), 1)
		snap.GPUs[0].Readings[monitor.UtilizationPercent] = monitor.OfFloat(float64(i) / 100)
		s.Add(snap)
	}
	if g := parse(t, s).list("gpus")[0]; g.at("utilization_percent", "percentiles_estimated") != true || g.at("power_mw", "percentiles_estimated") != false {
		t.Errorf("%v", g.v)
	}
	wants(t, textOf(s), "~40%")
}

func TestMemoryIsBounded(t *testing.T) {
	s := New("")
	for i := range 60 {
		snap := snapshot(float64(i), 0)
		for j := range 20 { // other GPUs each time
			g := device(i*20 + j)
			for k := range 12 { // and processes
				g.Processes = append(g.Processes, program(uint32(i*1000+j*20+k), int64(i), int64(1+i*20+j), 1))
			}
			for k := range 4 {
				g.Health = append(g.Health, monitor.Health{Code: fmt.Sprint("code ", i*4+k), Text: "text", Level: monitor.Warn})
			}
			snap.GPUs = append(snap.GPUs, g)
		}
		g := device(0)
		for k := range 4 {
			g.Health = append(g.Health, monitor.Health{Code: fmt.Sprint("code ", i*4+k), Text: "text", Level: monitor.Warn})
		}
		g.Health = append(g.Health, monitor.Health{Code: "persistence_off", Text: "off"})
		if i%2 == 0 {
			g.Health = g.Health[:4]
			g.State = monitor.Initialising
		}
		for k := range 4 {
			g.XIDs = append(g.XIDs, monitor.XID{Time: snap.Steady, Code: i*4 + k})
		}
		snap.GPUs[0] = g
		s.Add(snap)
	}
	d := parse(t, s)
	if n := len(d.list("gpus")); n != maxGPUs || d.num("gpus_left_out") != 60*19+1-maxGPUs {
		t.Errorf("%d GPUs and %v", n, d.num("gpus_left_out"))
	}
	g := d.list("gpus")[0]
	if len(g.list("alarms")) != maxAlarms || g.num("alarms_left_out") == 0 || len(g.list("xids")) != maxCodes || g.num("xids_left_out") != 240-maxCodes {
		t.Errorf("%d alarms, %d Xids", len(g.list("alarms")), len(g.list("xids")))
	}
	a := g.list("alarms")[8]
	if a.str("code") != "persistence_off" || len(a.list("periods")) != maxAlarmPeriods || a.num("periods_left_out") != 30-maxAlarmPeriods || a.num("seconds") != 29 {
		t.Errorf("%v", a.v)
	}
	wants(t, textOf(s), "GPUs more than are told apart", "others were too many to tell apart", "more periods")

	s = New("")
	for i := range 80 {
		snap := snapshot(float64(i), 1)
		for k := range 250 {
			snap.GPUs[0].Processes = append(snap.GPUs[0].Processes, program(uint32(i*250+k), int64(i), int64(1+i*250+k), 1))
		}
		s.Add(snap)
	}
	out := s.document()
	n, left := len(out.Processes), out.ProcessesLeft
	if n > maxProcesses || int64(n)+left.Count != 20_000 || s.processes.uses != n {
		t.Errorf("%d processes, %d left out", n, left.Count)
	}
	if *out.Processes[0].Peak != 20_000<<20 || *left.Peak > *out.Processes[n-1].Peak {
		t.Errorf("%v left out, %v kept", *left.Peak, *out.Processes[n-1].Peak)
	}
	wants(t, textOf(s), "processes more than are told apart, of 9.8 GiB at most")
}

// TestMoreProcessesAtOnceThanAreKept: those without room are counted, each once.
func TestMoreProcessesAtOnceThanAreKept(t *testing.T) {
	snap := snapshot(0, 1)
	for k := range maxProcesses + 50 {
		snap.GPUs[0].Processes = append(snap.GPUs[0].Processes, program(uint32(k), 1, 1, 1))
	}
	s := summed(snap)
	snap.Steady += 1e9
	s.Add(snap)
	if d := s.document(); len(d.Processes) != maxProcesses || d.ProcessesLeft.Count != 50 {
		t.Errorf("%d processes, %v left out", len(d.Processes), d.ProcessesLeft.Count)
	}
}

// TestAddAllocatesNothing for GPUs and processes that are known.
func TestAddAllocatesNothing(t *testing.T) {
	snap := snapshot(0, 8)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		g.Processes = []monitor.Process{program(uint32(i), 1, 64, 1), program(100, 2, 64, 1)}
		g.Health = []monitor.Health{{Code: "xid", Text: "Xid 13, fault (2 times)"}}
		g.XIDs = []monitor.XID{{Time: 1, Code: 13}}
	}
	s := summed(snap)
	if n := testing.AllocsPerRun(50, func() {
		snap.Steady += 1e9
		s.Add(snap)
	}); n != 0 {
		t.Errorf("%v allocations a snapshot", n)
	}
}

// TestManyThrottleWords: of words that are not known here only some are told
// apart, and none of them for longer than there was time.
func TestManyThrottleWords(t *testing.T) {
	s := New("")
	for i := range 8 {
		snap := snapshot(float64(i), 1)
		words := "word_0 "
		for j := range 10 {
			words += fmt.Sprintf("word_%d ", i*10+j)
		}
		snap.GPUs[0].Readings[monitor.ThrottleReasons] = monitor.OfForeign(monitor.Mask, 0, words+"word_0")
		s.Add(snap)
	}
	g := parse(t, s).list("gpus")[0]
	if all := g.at("throttle_seconds").(map[string]any); len(all) != maxWords+1 {
		t.Errorf("%d words", len(all))
	}
	for word, want := range map[string]float64{"word_0": 7, "word_63": 1, "others": 1} {
		if v := g.num("throttle_seconds", word); v != want {
			t.Errorf("%s for %v of %v seconds", word, v, want)
		}
	}
}

// TestAnySnapshots: whatever the snapshots hold, the JSON is right and the text
// fits its lines and controls nothing.
func TestAnySnapshots(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := New(anyWord(r))
		for range 1 + r.IntN(30) {
			snap := new(monitor.Snapshot)
			fill(r, reflect.ValueOf(snap).Elem(), 0)
			s.Add(snap)
		}
		s.SetBroken(r.IntN(3), []int64{1, 2}[:r.IntN(3)])
		s.SetDamaged(r.IntN(3))
		parse(t, s)
		for _, o := range []ansi.PageOptions{{}, {Width: 40}, {ASCII: true}, {Width: 120, Level: ansi.LevelRGB}} {
			o.Location = time.UTC
			text := string(s.AppendText(nil, o))
			if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
				t.Fatalf("seed %d: not text: %q", seed, text)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if o.Level != ansi.LevelNone {
					continue
				}
				for _, attribute := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[m"} {
					line = strings.ReplaceAll(line, attribute, "")
				}
				if w := ansi.Width(line); w > max(o.Width, 40) && w > 80 || o.Width == 40 && w > 40 {
					t.Errorf("seed %d: %d cells in %q", seed, w, line)
				}
				for _, c := range line {
					if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == 0x202e || o.ASCII && c >= 0x80 {
						t.Errorf("seed %d: %q in %q", seed, c, line)
					}
				}
			}
		}
	}
}

func TestManyGPUsFitTheirLines(t *testing.T) {
	for _, n := range []int{1, 8, 64} {
		s := New("rec.ndjson")
		for i := range 3 {
			snap := snapshot(float64(i), n)
			for j := range snap.GPUs {
				snap.GPUs[j].Readings[monitor.ThrottleReasons] = monitor.OfMask(0x7ff)
				snap.GPUs[j].Processes = []monitor.Process{program(7, 7, 1, 1), program(uint32(10+j), 7, 1, 1)}
			}
			s.Add(snap)
		}
		text := textOf(s)
		for line := range strings.Lines(text) {
			if w := ansi.Width(strings.TrimSuffix(line, "\n")); w > 80 {
				t.Errorf("%d GPUs: %d cells in %q", n, w, line)
			}
		}
		if n == 64 {
			wants(t, text, "48 more GPUs, 2s each at most", "45 more processes with less memory", "  63  50%", "0 +63")
		}
	}
}

// TestNamesAreCut and kept apart from the snapshot.
func TestNamesAreCut(t *testing.T) {
	snap := snapshot(0, 1)
	p := program(1, 1, 1, 1)
	p.Name = monitor.OfText(strings.Repeat("界", 1000))
	snap.GPUs[0].Processes = []monitor.Process{p}
	s := summed(snap, snap)
	name := parse(t, s).list("processes")[0].str("name")
	if len(name) > maxText || !utf8.ValidString(name) || !strings.HasPrefix(name, "界") {
		t.Errorf("%d bytes of a name", len(name))
	}
}

func BenchmarkAdd(b *testing.B) {
	var snaps []*monitor.Snapshot
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1024 {
		snap := snapshot(float64(i), 8)
		for j := range snap.GPUs {
			g := &snap.GPUs[j]
			load := r.Float64() * 100
			g.Readings[monitor.UtilizationPercent] = monitor.OfFloat(math.Round(load))
			g.Readings[monitor.SMActivePercent] = monitor.OfFloat(load * 0.9)
			g.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(r.Int64N(40_000) << 21)
			g.Readings[monitor.PowerMW] = monitor.OfFloat(math.Round(100_000 + load*6000))
			g.Readings[monitor.TemperatureC] = monitor.OfFloat(30 + math.Round(load/2))
			for k := range 4 {
				g.Processes = append(g.Processes, program(uint32(j*10+k), 7, r.Int64N(20_000), math.Round(load/4)))
			}
		}
		snaps = append(snaps, snap)
	}
	s := New("")
	b.SetBytes(int64(len(report.AppendJSON(nil, snaps[0]))))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		snap := snaps[i&1023]
		snap.Steady = int64(i) * 1e9
		s.Add(snap)
		i++
	}
}
