package monitor

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// series renders a series in short: whole numbers, "-" for a gap.
func series(h *History, key string, q Quantity) string {
	s := ""
	for i, v := range h.Series(key, q) {
		if i > 0 {
			s += " "
		}
		if math.IsNaN(float64(v)) {
			s += "-"
		} else {
			s += fmt.Sprint(v)
		}
	}
	return s
}

func withLoad(uuid string, percent float64) GPU {
	g := GPU{Identity: Identity{UUID: OfText(uuid), GPUInstanceID: None, ComputeInstanceID: None}, State: OK}
	g.Readings[UtilizationPercent] = OfFloat(percent)
	return g
}

func at(seconds float64, gpus ...GPU) *Snapshot {
	return &Snapshot{Steady: int64(seconds * 1e9), Interval: time.Second, GPUs: gpus}
}

func TestHistoryGaps(t *testing.T) {
	h := NewHistory(8)
	h.Add(at(100, withLoad("a", 1), withLoad("b", 10)))
	h.Add(at(101.04, withLoad("a", 2), withLoad("b", 20)))
	lost := withLoad("b", 99)
	lost.State = Lost
	h.Add(at(101.97, withLoad("a", 3), lost))
	stale := withLoad("a", 99)
	stale.State = Stale
	h.Add(at(103, stale, withLoad("b", 40)))
	unknown := withLoad("a", 0)
	unknown.Readings[UtilizationPercent] = Unknown(Timeout)
	h.Add(at(104, unknown)) // b is absent
	h.Add(at(107, withLoad("a", 8), withLoad("b", 80)))
	if got := series(h, "a", HistoryUtilization); got != "1 2 3 - - - - 8" {
		t.Errorf("a: %s", got)
	}
	if got := series(h, "b", HistoryUtilization); got != "10 20 - 40 - - - 80" {
		t.Errorf("b: %s", got)
	}
	h.Add(at(108, withLoad("a", 0)))
	if got := series(h, "a", HistoryUtilization); got != "2 3 - - - - 8 0" {
		t.Errorf("a, full: %s", got)
	}
	if h.Series("a", HistorySM) != nil || h.Series("c", HistoryUtilization) != nil || h.Series("a", NumQuantities) != nil {
		t.Error("a series without any sample")
	}
	h.Reset()
	if h.Series("a", HistoryUtilization) != nil {
		t.Error("Reset keeps samples")
	}
}

func TestHistoryCompletesWithinInterval(t *testing.T) {
	h := NewHistory(8)
	h.Add(at(10, withLoad("a", 1)))
	late := withLoad("b", 5)
	h.Add(at(10.2, withLoad("a", 2), late))
	hung := withLoad("a", 0)
	hung.Readings[UtilizationPercent] = Unknown(NotSampled)
	h.Add(at(10.3, hung, late))
	h.Add(at(11, withLoad("a", 3), late))
	if got := series(h, "a", HistoryUtilization); got != "2 3" {
		t.Errorf("a: %s", got)
	}
	if got := series(h, "b", HistoryUtilization); got != "5 5" {
		t.Errorf("b: %s", got)
	}
}

func TestHistoryLongAbsenceAndClockGoingBack(t *testing.T) {
	h := NewHistory(4)
	h.Add(at(10, withLoad("a", 1)))
	h.Add(at(1e6, withLoad("a", 2)))
	if got := series(h, "a", HistoryUtilization); got != "- - - 2" {
		t.Errorf("after a long time: %s", got)
	}
	h.Add(at(20, withLoad("a", 3)))
	if got := series(h, "a", HistoryUtilization); got != "- - 2 3" {
		t.Errorf("clock back: %s", got)
	}
}

// TestHistoryEqualsPlainList compares with a list that is simply appended to.
func TestHistoryEqualsPlainList(t *testing.T) {
	m := newMaker(4)
	h := NewHistory(50)
	var want []float32
	now := 0.0
	for i := range 2000 {
		n := 1
		if i == 0 {
			now = 1000
		} else {
			if m.rare() {
				n = 1 + m.IntN(70)
			}
			now += float64(n)
			for range n - 1 {
				want = append(want, gap)
			}
		}
		v := m.IntN(101)
		want = append(want, float32(v))
		h.Add(at(now, withLoad("a", float64(v))))
		got := h.Series("a", HistoryUtilization)
		tail := want[max(0, len(want)-50):]
		if !slices.EqualFunc(got, tail, func(a, b float32) bool { return a == b || a != a && b != b }) {
			t.Fatalf("after %d: got %v, want %v", i, got, tail)
		}
	}
}

func TestHistoryQuantities(t *testing.T) {
	g := withLoad("a", 50)
	g.Readings[SMActivePercent] = OfFloat(40)
	g.Readings[MemoryUsedBytes], g.Readings[MemoryTotalBytes] = OfInt(20), OfInt(80)
	g.Readings[PowerMW], g.Readings[PowerLimitMW] = OfFloat(350_000), OfFloat(700_000)
	g.Readings[PCIeRxBytesPerSecond], g.Readings[PCIeTxBytesPerSecond] = OfFloat(1), OfFloat(2)
	g.Readings[NVLinkRxBytesPerSecond], g.Readings[NVLinkTxBytesPerSecond] = OfFloat(3), OfFloat(4)
	h := NewHistory(2)
	h.Add(at(1, g))
	for q, want := range map[Quantity]string{
		HistoryUtilization: "50", HistorySM: "40", HistoryMemory: "25", HistoryPower: "50",
		HistoryPCIeRx: "1", HistoryPCIeTx: "2", HistoryNVLinkRx: "3", HistoryNVLinkTx: "4",
	} {
		if got := series(h, "a", q); got != want {
			t.Errorf("quantity %d: %s, want %s", q, got, want)
		}
	}
	g.Readings[MemoryTotalBytes], g.Readings[PowerLimitMW] = OfInt(0), Unknown(NotSupported)
	h.Add(at(2, g))
	for _, q := range []Quantity{HistoryMemory, HistoryPower} {
		if got := series(h, "a", q); got[len(got)-1] != '-' {
			t.Errorf("a share of nothing: %s", got)
		}
	}
}

func TestHistoryKeepsInstances(t *testing.T) {
	g := withLoad("a", 50)
	mig := GPU{State: OK, Identity: Identity{ParentUUID: "a", GPUInstanceID: 1, ComputeInstanceID: 0}}
	mig.Readings[SMActivePercent] = OfFloat(7)
	g.MIG = []GPU{mig}
	h := NewHistory(3)
	h.Add(at(1, g))
	g.State = Lost
	h.Add(at(2, g))
	if got := series(h, "a/gi:1/ci:0", HistorySM); got != "7 -" {
		t.Errorf("instance: %s", got)
	}
}

func TestHistoryForgetsTheLongestAbsent(t *testing.T) {
	h := NewHistory(4)
	for i := range 2 * maxKeys {
		h.Add(at(float64(i+1), withLoad("stays", 1), withLoad(fmt.Sprint("gpu", i), float64(i))))
		if len(h.entries) > maxKeys {
			t.Fatalf("%d keys", len(h.entries))
		}
	}
	last := 2*maxKeys - 1
	if got := series(h, "stays", HistoryUtilization); got != "1 1 1 1" {
		t.Errorf("the one that stays: %s", got)
	}
	if got := series(h, fmt.Sprint("gpu", last), HistoryUtilization); got != fmt.Sprint("- - - ", last) {
		t.Errorf("the newest: %s", got)
	}
	if h.Series("gpu3", HistoryUtilization) != nil {
		t.Error("the longest absent is still there")
	}
	crowd := make([]GPU, maxKeys+10)
	for i := range crowd {
		crowd[i] = withLoad(fmt.Sprint("crowd", i), 1)
	}
	h.Add(at(9999, crowd...))
	if len(h.entries) > maxKeys || h.Series("crowd0", HistoryUtilization) == nil {
		t.Errorf("%d keys with more GPUs than there is room for", len(h.entries))
	}
}

func TestHistoryAddAllocatesNothing(t *testing.T) {
	m := newMachine(8, 0)
	m.s.GPUs[0].UUID = UnknownText(NotSupported)
	h := NewHistory(300)
	h.Add(m.s)
	var snaps []*Snapshot
	for range 700 {
		snaps = append(snaps, m.tick(true))
	}
	i := 0
	if n := testing.AllocsPerRun(600, func() { h.Add(snaps[i]); i++ }); n > 0 {
		t.Errorf("Add allocates %v times", n)
	}
}

func BenchmarkHistoryAdd(b *testing.B) {
	m := newMachine(256, 0)
	var snaps []*Snapshot
	for range 16 {
		snaps = append(snaps, m.tick(true))
	}
	h := NewHistory(1024)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s := snaps[n%16]
		s.Steady = int64(n) * 1e9
		h.Add(s)
	}
}

func TestTimesOfTheSamples(t *testing.T) {
	const second = int64(time.Second)
	h := NewHistory(8)
	add := func(at int64, interval time.Duration) {
		h.Add(&Snapshot{Steady: at, Interval: interval, GPUs: []GPU{{State: OK}}})
	}
	check := func(want ...int64) {
		t.Helper()
		got := h.Times()
		if len(got) != len(want) {
			t.Fatalf("%d times, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i]*second {
				t.Errorf("sample %d was due at %v, want %d s", i, float64(got[i])/1e9, want[i])
			}
		}
	}
	check()
	add(100*second, time.Second)
	check(100)
	add(101*second, time.Second)
	add(104*second, time.Second) // two were missed
	check(100, 101, 102, 103, 104)
	add(114*second, 10*time.Second) // another interval
	check(100, 101, 102, 103, 104, 114)
	for i := range int64(200) {
		add((124+10*i)*second, 10*time.Second)
	}
	check(2044, 2054, 2064, 2074, 2084, 2094, 2104, 2114)
	add(5*second, time.Second) // the clock of another machine
	if got := h.Times(); got[len(got)-1] != 5*second {
		t.Errorf("the newest was due at %v", got[len(got)-1])
	}
}
