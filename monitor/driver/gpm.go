package driver

import (
	"errors"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const (
	// longPause is from how long a pause on GPM begins anew, if it is also far
	// longer than the one before: else it would average over what nobody
	// looked at.
	longPause = 10 * time.Second

	// firstSample is how long a refresh that must be whole waits for its turn
	// with the first sample.
	firstSample = time.Second

	// longTurn is how long another GPU may take its first sample before GPM is
	// given up for the time being.
	longTurn = 3 * time.Second
)

// The metrics that are asked of GPM, always all of them, so that they can be
// read in one call once that was seen to be right.
const (
	gpmSM = iota
	gpmOccupancy
	gpmTensor
	gpmDRAM
	gpmPCIeTx
	gpmPCIeRx
	gpmNVLinkTx
	gpmNVLinkRx
	numGPM
)

var gpmIDs = [numGPM]nvml.GPMMetricID{
	nvml.GPMSM, nvml.GPMSMOccupancy, nvml.GPMTensor, nvml.GPMDRAM,
	nvml.GPMPcieTx, nvml.GPMPcieRx, nvml.GPMNvLinkTx, nvml.GPMNvLinkRx,
}

// activityIDs are the readings of the first metrics, in their order.
var activityIDs = [...]monitor.ReadingID{
	monitor.SMActivePercent, monitor.SMOccupancyPercent, monitor.TensorActivePercent, monitor.DRAMActivePercent,
}

// gpmWant are the readings that depend on GPM.
var gpmWant = monitor.Of(append(activityIDs[:],
	monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond,
	monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond)...)

// gpmState is what a device, or a MIG instance, keeps for GPM.
type gpmState struct {
	gpm     *nvml.GPM
	none    gate      // shut while there is none
	at      time.Time // of the refresh that list is of
	sampled time.Time // when the newer sample was there
	turn    time.Time // since when it waits for its turn with the first sample
	gaveUp  bool      // it waited long enough
	pause   time.Duration
	list    [numGPM]nvml.GPMMetric
	fresh   bool  // a sample was taken in this refresh
	seeding bool  // one sample is there, and two are needed
	err     error // why list has no values otherwise
}

// read computes the metrics of a refresh, once. patient says that it may wait
// for its turn.
func (g *gpmState) read(dev nvml.Device, now time.Time, patient bool) {
	if g.at.Equal(now) {
		return
	}
	pause := now.Sub(g.at)
	if g.at.IsZero() {
		pause = 0
	}
	g.at, g.fresh = now, false
	if g.err == nil && time.Since(g.sampled) < nvml.GPMMinWindow {
		return // too soon for a window: what is there stands
	}
	g.seeding, g.err = false, nil
	if g.gpm == nil {
		if g.err = g.none.shut(now); g.err != nil {
			return
		}
		gpm, err := dev.NewGPM()
		g.none.note(err, now)
		if g.err = err; err != nil {
			return
		}
		g.gpm = gpm
		for i, id := range gpmIDs {
			g.list[i].ID = id
		}
	}
	if pause > longPause && pause > 3*g.pause && g.pause > 0 && !patient {
		g.gpm.Reset()
	}
	g.pause = pause
	patient = patient && g.turn.IsZero() // once is enough
	window, err := g.gpm.Update()
	for deadline := time.Now().Add(firstSample); patient && isTurn(err) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond) // another GPU takes its first sample
		window, err = g.gpm.Update()
	}
	if isTurn(err) {
		if g.turn.IsZero() {
			g.turn = now
		}
		g.seeding = true
		if patient || g.gaveUp || now.Sub(g.turn) > longTurn {
			g.gaveUp = true
			g.seeding, g.err = false, errTurn
		}
		return
	}
	g.turn, g.gaveUp = time.Time{}, false
	if err == nil {
		g.sampled, g.fresh = time.Now(), true
	}
	switch {
	case err == nil && window == 0:
		g.seeding = true
	case err != nil:
		g.err = err
	default:
		g.err = g.gpm.Metrics(g.list[:])
	}
}

// errTurn says that the first sample of another GPU takes too long, and those
// of two must not be taken at once.
var errTurn = errors.New("the first GPM sample of another GPU takes too long")

// isTurn says that another GPU takes its first sample just now. The driver's
// own "not ready" has no further words.
func isTurn(err error) bool {
	if err == nil {
		return false
	}
	var e *nvml.Error
	return errors.As(err, &e) && e.Return == nvml.ErrNotReady && e.Detail != ""
}

// free gives the samples back.
func (g *gpmState) free() {
	if g.gpm != nil {
		_ = g.gpm.Close() // a call in progress keeps them: then nothing helps
		g.gpm = nil
	}
}

// value is metric i as a reading, made by of.
func (g *gpmState) value(i int, of func(float64) monitor.Reading) monitor.Reading {
	switch {
	case g.seeding:
		return monitor.Unknown(monitor.NotSampled)
	case g.err != nil:
		return reading(monitor.Reading{}, g.err)
	}
	if err := g.failure(i); err != nil {
		return reading(monitor.Reading{}, err)
	}
	return of(g.list[i].Value)
}

// failure is why metric i has no value, nil where it has one.
func (g *gpmState) failure(i int) error {
	if m := g.list[i]; m.Return != nvml.Success {
		return &nvml.Error{Function: "nvmlGpmMetricsGet", Device: -1, Return: m.Return}
	}
	return nil
}

// metrics returns the device's GPM state after this refresh's metrics were read.
func (r *round) metrics() *gpmState {
	if !r.gpm.at.Equal(r.now) {
		r.sink.Begin(gpmWant)
		r.gpm.read(r.dev, r.now, r.all)
		r.sink.Begin(r.gives)
		if r.gpm.fresh {
			r.heard()
		}
	}
	return &r.gpm
}

func activity(r *round) {
	g := r.metrics()
	r.cached = true
	if g.err != nil {
		r.fail(g.err, activityIDs[:]...)
		return
	}
	for i, id := range activityIDs {
		if err := g.failure(i); err != nil && !g.seeding {
			r.fail(err, id)
			continue
		}
		r.give(id, g.value(i, share))
	}
}

// fromGPM gives two readings their metrics. Where GPM has neither it returns
// why, and gives nothing: there may be another way.
func (r *round) fromGPM(tx, rx monitor.ReadingID, txMetric, rxMetric int) error {
	g := r.metrics()
	switch {
	case g.err != nil:
		return g.err
	case !g.seeding && g.failure(txMetric) != nil && g.failure(rxMetric) != nil:
		return g.failure(txMetric)
	}
	r.cached = true
	r.give(tx, g.value(txMetric, mibRate))
	r.give(rx, g.value(rxMetric, mibRate))
	return nil
}

// share is a percentage that GPM computes; rounding may take it a little past
// 100.
func share(v float64) monitor.Reading {
	if v > 100 && v < 101 {
		v = 100
	}
	return number(v)
}
