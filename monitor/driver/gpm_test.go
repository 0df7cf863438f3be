package driver

import (
	"testing"
	"time"

	"nvtop-lite/monitor"
)

func TestActivityNeedsTwoSamples(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	g := r.read(0, view())
	for _, id := range []monitor.ReadingID{monitor.SMActivePercent, monitor.TensorActivePercent, monitor.PCIeTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond} {
		if got := g.Readings[id]; got.Reason != monitor.NotSampled || got.Err != (monitor.CallError{}) {
			t.Errorf("%v after one sample is %v", id, show(got))
		}
	}
	time.Sleep(seed)
	g = r.read(0, view())
	if show(g.Readings[monitor.SMActivePercent]) != "41.5" || show(g.Readings[monitor.PCIeRxBytesPerSecond]) != show(monitor.OfFloat(450<<20)) {
		t.Errorf("after two: %v, %v", show(g.Readings[monitor.SMActivePercent]), show(g.Readings[monitor.PCIeRxBytesPerSecond]))
	}
	// Too soon for a new window the last result stands.
	g = r.read(0, view())
	if show(g.Readings[monitor.SMActivePercent]) != "41.5" {
		t.Errorf("at once again: %v", show(g.Readings[monitor.SMActivePercent]))
	}
}

func TestABatchIsUsedWhereItIsRight(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		batch   bool
	}{"right": {"", true}, "wrong": {"gpm.batch wrong\n", false}, "partial": {"gpm.batch partial\n", false}, "overrun": {"gpm.overrun 64\n", true}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, "580", "gpus 1\n"+c.options+hopper)
			for range 3 {
				r.read(0, monitor.Everything)
				time.Sleep(seed)
			}
			before := r.fake.Calls("nvmlGpmMetricsGet")
			g := r.read(0, monitor.Everything)
			want := numGPM
			if c.batch {
				want = 1
			}
			if n := r.fake.Calls("nvmlGpmMetricsGet") - before; n != want {
				t.Errorf("%d calls for %d metrics, want %d", n, numGPM, want)
			}
			h100().check(t, g)
		})
	}
}

func TestActivityBeginsAnewAfterAPause(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	for range 3 {
		r.read(0, view())
		time.Sleep(seed)
	}
	r.pass(time.Minute)
	if got := r.read(0, view()).Readings[monitor.SMActivePercent]; got.Reason != monitor.NotSampled {
		t.Errorf("after a pause of a minute %v; want not_sampled", show(got))
	}
	time.Sleep(seed)
	if got := r.read(0, view()).Readings[monitor.SMActivePercent]; show(got) != "41.5" {
		t.Errorf("after it %v", show(got))
	}
	// A refresh that is as seldom is no pause.
	time.Sleep(seed)
	r.pass(20 * second)
	r.read(0, view())
	time.Sleep(seed)
	r.pass(20 * second)
	if got := r.read(0, view()).Readings[monitor.SMActivePercent]; show(got) != "41.5" {
		t.Errorf("every 20 s: %v", show(got))
	}
}

// TestFirstSamplesTakeTurns: the driver must not take two first samples at
// once, and a one-shot must have all.
func TestFirstSamplesTakeTurns(t *testing.T) {
	r := open(t, "580", "gpus 8\ngpm.first 20\n"+hopper)
	r.wholeAll()
	for i, s := range r.sinks {
		if got := s.gpu.Readings[monitor.SMActivePercent]; show(got) != "41.5" {
			t.Errorf("GPU %d: %v", i, show(got))
		}
	}
}

// TestAHungFirstSampleCostsOneGPU: others skip what they cannot have.
func TestAHungFirstSampleCostsOneGPU(t *testing.T) {
	scenario := "gpus 2\n" + hopper
	r := open(t, "580", scenario+"fault nvmlGpmSampleGet gpu 0 hang\n")
	done := make(chan struct{})
	go func() { defer close(done); r.read(0, view()) }()
	until(t, "GPU 0 hangs", func() bool { return r.sinks[0].inCall() == "nvmlGpmSampleGet" })
	g := r.read(1, view())
	if got := g.Readings[monitor.SMActivePercent]; got.Reason != monitor.NotSampled || !g.Readings[monitor.PowerMW].Known() || !g.Readings[monitor.RecoveryAction].Known() {
		t.Errorf("GPU 1: %v", show(got))
	}
	// After a while it is not waited for, and there are other ways.
	gaveUp := func(want monitor.Want) {
		t.Helper()
		g := r.read(1, want)
		if got := g.Readings[monitor.SMActivePercent]; got != monitor.Failed(monitor.Timeout, monitor.NewCallError("nvmlGpmSampleGet", "", 0)) {
			t.Errorf("GPU 1 has waited: %v", show(got))
		}
		if got := g.Readings[monitor.PCIeTxBytesPerSecond]; !got.Known() {
			t.Errorf("GPU 1 has waited: PCIe is %v", show(got))
		}
	}
	r.pass(2 * longTurn)
	r.read(1, view())
	r.pass(second)
	gaveUp(view())
	r.src.devices[1].handle.gpm.turn = time.Time{} // as if it had not waited: a one-shot
	gaveUp(monitor.Everything)
	r.pass(second)
	gaveUp(monitor.Everything)
	r.fake.SetScenario(scenario)
	<-done
	r.whole(1)
	if got := r.whole(1).Readings[monitor.SMActivePercent]; show(got) != "41.5" {
		t.Errorf("GPU 1 after all: %v", show(got))
	}
}

func TestOtherWaysWhereGPMFails(t *testing.T) {
	r := open(t, "580", "gpus 2\n"+hopper+"gpu 1 gpm.20 unset\ngpu 1 gpm.21 unset\ngpu 1 gpm.60 error 3\ngpu 1 gpm.61 error 3\nfault nvmlGpmSampleGet gpu 0 return 999\n")
	r.wholeAll()
	for i, s := range r.sinks {
		for _, id := range []monitor.ReadingID{monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond, monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond} {
			if got := s.gpu.Readings[id]; !got.Known() {
				t.Errorf("GPU %d: %v is %v", i, id, show(got))
			}
		}
	}
	if got := r.sinks[0].gpu.Readings[monitor.SMActivePercent]; got.Reason != monitor.DriverError {
		t.Errorf("activity is %v", show(got))
	}
}

func TestRatesOfCounters(t *testing.T) {
	// A slow link, whose counters of 32 bits cannot come round unseen, and a
	// fast one.
	r := open(t, "580", lines("gpus 2", "model a100", "gpu all pcie.wait 0", "gpu 0 pcie.maxgen 3", "gpu 0 pcie.maxwidth 1",
		"gpu all pcie.txbytes counter 4294000000 100000000", "gpu all pcie.rxbytes counter 5000 300000000"))
	r.readAll(monitor.Everything)
	if got := r.sinks[0].gpu.Readings[monitor.NVLinkTxBytesPerSecond]; got.Reason != monitor.NotSampled {
		t.Errorf("a rate after one look: %v", show(got))
	}
	time.Sleep(300 * time.Millisecond)
	r.readAll(monitor.Everything)
	before := r.fake.CallsOn("nvmlDeviceGetPcieThroughput", 0)
	time.Sleep(300 * time.Millisecond)
	r.readAll(monitor.Everything)
	near := func(i int, id monitor.ReadingID, want float64) {
		t.Helper()
		if v, ok := r.sinks[i].gpu.Readings[id].Float(); !ok || v < want/2 || v > want*2 {
			t.Errorf("GPU %d: %v is %v, want about %g", i, id, show(r.sinks[i].gpu.Readings[id]), want)
		}
	}
	near(0, monitor.PCIeTxBytesPerSecond, 100e6) // over the counter's end
	near(0, monitor.PCIeRxBytesPerSecond, 300e6)
	near(0, monitor.NVLinkTxBytesPerSecond, 12*200000*1024)
	near(0, monitor.NVLinkRxBytesPerSecond, 12*250000*1024)
	near(1, monitor.PCIeTxBytesPerSecond, 150000*1024)
	near(1, monitor.PCIeRxBytesPerSecond, 450000*1024)
	if n := r.fake.CallsOn("nvmlDeviceGetPcieThroughput", 0); n != before {
		t.Errorf("the costly call was made %d times though there are counters", n-before)
	}
}

func TestCounterPair(t *testing.T) {
	src := New(Options{})
	sink := newRecorder()
	d := newDevice(src, "0", 0)
	at := time.Now()
	var c counterPair
	step := func(after time.Duration, tx, rx uint64, short bool) (string, string) {
		at = at.Add(after)
		c.step(&round{device: d, handle: &d.handle, sink: sink, now: at}, monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond, tx, rx, short)
		g := &sink.gpu
		return show(g.Readings[monitor.PCIeTxBytesPerSecond]), show(g.Readings[monitor.PCIeRxBytesPerSecond])
	}
	none := show(monitor.Unknown(monitor.NotSampled))
	for i, c := range []struct {
		after  time.Duration
		tx, rx uint64
		short  bool
		a, b   string
	}{
		{0, 100, 100, false, none, none},
		{second, 1100, 100, false, "1000", "0"},
		{2 * second, 2100, 200, false, "500", "50"},
		{second, 5, 300, false, none, none}, // began anew
		{second, 15, 310, false, "10", "10"},
		{0, 16, 311, false, none, none},     // no time passed
		{second, 17, 312, true, none, none}, // short, and nobody knows how fast the link is
	} {
		if a, b := step(c.after, c.tx, c.rx, c.short); a != c.a || b != c.b {
			t.Errorf("step %d: %s and %s, want %s and %s", i, a, b, c.a, c.b)
		}
	}
	d.handle.pcie.generation, d.handle.pcie.width = 1, 1
	step(second, 1<<32-10, 5, true)
	if a, b := step(second, 90, 6, true); a != "100" || b != "1" {
		t.Errorf("over the end of 32 bits: %s and %s", a, b)
	}
	if a, _ := step(time.Minute, 100, 7, true); a != none {
		t.Errorf("after longer than 32 bits last: %s", a)
	}
}
