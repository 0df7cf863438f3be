package driver

import (
	"slices"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const (
	always  = time.Duration(0)      // at every refresh
	second  = time.Second           // at most once a second
	slow    = 5 * time.Second       // limits, links, error counters: what changes seldom
	once    = time.Hour * 1e5       // what cannot change
	reprobe = time.Minute           // what was refused for good is tried again this seldom
	slack   = 50 * time.Millisecond // a refresh this early counts as due

	// lostStreak is how many functions must say that the GPU is lost, or the
	// library at an end, with no answer in between, before it is believed: one
	// alone may be in error.
	lostStreak = 3

	// unknownRound is how many calls of a refresh must fail without a cause, and
	// none be answered, before it is given up: the driver says so, too, of GPUs
	// that are gone, of handles that are stale, and of all GPUs in a container
	// that was cut off.
	unknownRound = 5

	// phases is over how many refreshes a second apart the slow queries are
	// spread.
	phases = int(slow / second)
)

// query asks for one group of readings.
type query struct {
	gives monitor.Want
	every time.Duration
	ask   func(r *round)
}

// queries are all that is asked, in this order: what matters most comes first,
// since a call that hangs costs all that come after it.
var queries []query

func init() {
	queries = []query{
		{monitor.Of(monitor.UtilizationPercent, monitor.MemoryUtilizationPercent), always, utilization},
		{monitor.Of(memoryIDs[:]...), always, memory},
		{monitor.Of(monitor.TemperatureC), always, temperature},
		{monitor.Of(monitor.PowerMW), always, power},
		{monitor.Of(monitor.ClockGraphicsMHz), always, clock(nvml.ClockGraphics, monitor.ClockGraphicsMHz)},
		{monitor.Of(monitor.ThrottleReasons), always, throttle},
		{monitor.Of(monitor.PerformanceState), always, performanceState},
		{monitor.Of(monitor.ClockSMMHz), always, clock(nvml.ClockSM, monitor.ClockSMMHz)},
		{monitor.Of(monitor.ClockMemoryMHz), always, clock(nvml.ClockMemory, monitor.ClockMemoryMHz)},
		{monitor.Of(monitor.ClockVideoMHz), always, clock(nvml.ClockVideo, monitor.ClockVideoMHz)},
		{monitor.Of(monitor.FanPercent).With(monitor.GroupFans), always, fans},
		{monitor.Of(activityIDs[:]...), always, activity},
		{monitor.Of(monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond), always, pcieRates},
		{monitor.Of(monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond), always, nvlinkRates},
		{monitor.Of(monitor.EncoderPercent), always, engine(monitor.EncoderPercent, nvml.Device.EncoderUtilization)},
		{monitor.Of(monitor.DecoderPercent), always, engine(monitor.DecoderPercent, nvml.Device.DecoderUtilization)},
		{monitor.Of(monitor.JPEGPercent), always, engine(monitor.JPEGPercent, nvml.Device.JpgUtilization)},
		{monitor.Of(monitor.OFAPercent), always, engine(monitor.OFAPercent, nvml.Device.OfaUtilization)},
		{monitor.Of(monitor.MIGEnabled), slow, migMode},
		{monitor.Want{}.With(monitor.GroupMIG), always, migInstances}, // before the processes, which stand in them
		{monitor.Want{}.With(monitor.GroupProcesses, monitor.GroupProcessLoad), always, processes},
		{monitor.Of(monitor.PowerInstantMW), always, powerInstant},
		{monitor.Of(monitor.EnergyJoules), always, energy},
		{monitor.Of(monitor.TemperatureMemoryC), always, temperatureMemory},
		{monitor.Of(monitor.TemperatureMarginC), always, temperatureMargin},
		{monitor.Of(monitor.Minor), once, minor},
		{monitor.Of(monitor.TemperatureSlowdownC), once, temperatureSlowdown},
		{monitor.Of(monitor.PowerLimitMW), slow, powerLimit},
		{monitor.Of(monitor.PowerLimitDefaultMW), once, powerLimitDefault},
		{monitor.Of(monitor.ClockGraphicsMaxMHz), once, clockMax(nvml.ClockGraphics, monitor.ClockGraphicsMaxMHz)},
		{monitor.Of(monitor.ClockMemoryMaxMHz), once, clockMax(nvml.ClockMemory, monitor.ClockMemoryMaxMHz)},
		{monitor.Of(monitor.PCIeGenerationMax), once, pcieGenerationMax},
		{monitor.Of(monitor.PCIeWidthMax), once, pcieWidthMax},
		{monitor.Of(monitor.PCIeGeneration), slow, integer(monitor.PCIeGeneration, nvml.Device.CurrPcieLinkGeneration)},
		{monitor.Of(monitor.PCIeWidth), slow, integer(monitor.PCIeWidth, nvml.Device.CurrPcieLinkWidth)},
		{monitor.Of(monitor.PCIeReplays), slow, integer(monitor.PCIeReplays, nvml.Device.PcieReplayCounter)},
		{monitor.Of(append(nvlinkErrorIDs[:], monitor.NVLinkLinksActive)...), slow, nvlinks},
		{monitor.Of(monitor.FabricState), slow, fabric},
		{monitor.Of(monitor.PersistenceMode), slow, flag(monitor.PersistenceMode, nvml.Device.PersistenceMode)},
		{monitor.Of(monitor.ComputeMode), slow, computeMode},
		{monitor.Of(monitor.ECCEnabled, monitor.ECCPending), slow, eccMode},
		{monitor.Of(monitor.ECCUncorrectedVolatile), slow, eccErrors(monitor.ECCUncorrectedVolatile, nvml.Uncorrected, nvml.Volatile)},
		{monitor.Of(monitor.ECCCorrectedVolatile), slow, eccErrors(monitor.ECCCorrectedVolatile, nvml.Corrected, nvml.Volatile)},
		{monitor.Of(monitor.ECCUncorrectedAggregate), slow, eccErrors(monitor.ECCUncorrectedAggregate, nvml.Uncorrected, nvml.Aggregate)},
		{monitor.Of(monitor.ECCCorrectedAggregate), slow, eccErrors(monitor.ECCCorrectedAggregate, nvml.Corrected, nvml.Aggregate)},
		{monitor.Of(monitor.RetiredPages), slow, retiredPages},
		{monitor.Of(monitor.RetiredPagesPending), slow, flag(monitor.RetiredPagesPending, nvml.Device.RetiredPagesPendingStatus)},
		{monitor.Of(monitor.RowsRemapped, monitor.RowsRemapPending, monitor.RowsRemapFailed), slow, remappedRows},
		{monitor.Of(monitor.RecoveryAction), slow, recoveryAction},
		{monitor.Want{}.With(monitor.GroupXIDs), always, xids},
	}
}

// onPCIe are the readings of a PCIe link. What an integrated GPU says of one
// means nothing.
var onPCIe = monitor.Of(
	monitor.PCIeGeneration, monitor.PCIeGenerationMax, monitor.PCIeWidth, monitor.PCIeWidthMax,
	monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond, monitor.PCIeReplays,
)

// round is one refresh of one device.
type round struct {
	*device
	*handle
	dev  nvml.Device
	sink monitor.Sink
	now  time.Time
	gap  time.Duration // since the refresh before
	all  bool          // everything is wanted: one-shots and streams read all, each time
	full monitor.Want  // what the refresh is to bring

	unknown int  // calls that failed without a cause
	alive   bool // some call was answered
	calm    bool // the load is 0

	// The query in progress, and what it met.
	gives    monitor.Want
	answered bool          // some call gave a value
	cached   bool          // what was given comes from no call of this query
	refused  bool          // some call was refused for good
	denied   bool          // some call was denied for want of permission
	again    time.Duration // when to ask again, where the query knows better
}

// run asks what is wanted and due. It returns what said that the GPU is lost,
// nil when it is not.
func (r *round) run(want monitor.Want) error {
	r.all, r.full = want == monitor.Everything, want
	r.memOK = false
	r.identify()
	if want.HasGroup(monitor.GroupXIDs) {
		r.knowXIDs(r.sink) // although a call may hang
	}
	if lost := r.lost(); lost != nil {
		return lost
	}
	for i := range queries {
		q := &queries[i]
		if q.gives.Readings&want.Readings == 0 && q.gives.Groups&want.Groups == 0 {
			continue
		}
		if r.now.Before(r.due[i]) && (!r.all || q.every == once || r.stopped[i]) {
			continue
		}
		r.gives, r.again = q.gives, q.every
		r.answered, r.cached, r.refused, r.denied = false, false, false, false
		r.sink.Begin(q.gives)
		if r.id.Integrated && q.gives.Groups == 0 && q.gives.Readings&^onPCIe.Readings == 0 {
			r.refuse()
		} else {
			q.ask(r)
		}
		r.schedule(i)
		if r.answered && !r.cached {
			r.heard()
			r.announce()
		}
		if lost := r.lost(); lost != nil {
			return lost
		}
	}
	r.sink.Begin(monitor.Want{})
	if !r.alive && r.unknown >= unknownRound {
		return r.suspicion
	}
	if len(r.suspects) == 0 {
		r.announce()
	}
	return nil
}

// schedule decides when query i, which was just asked, is asked again.
func (r *round) schedule(i int) {
	first := r.due[i].IsZero()
	r.stopped[i] = r.refused && !r.answered
	phase := time.Duration(0)
	if first && (r.stopped[i] || r.again == slow) {
		// Those that are asked seldom must not all fall into one refresh.
		r.phase++
		phase = time.Duration(1+r.phase%phases) * second
	}
	switch {
	case r.stopped[i]:
		r.again = reprobe + phase
	case !r.answered && r.denied:
		r.again = slow
	case !r.answered:
		r.again = min(r.again, slow) // what failed in passing is asked again soon
	case phase != 0:
		r.again = phase
	}
	r.due[i] = r.now.Add(r.again - slack)
}

// heard forgets the suspicion that the GPU is lost.
func (r *round) heard() { r.suspects, r.alive = r.suspects[:0], true }

// lost returns why the GPU is believed to be lost, or why its handle cannot be
// used any more; nil where all is well.
func (r *round) lost() error {
	if len(r.suspects) < lostStreak {
		return r.renew()
	}
	return r.suspicion
}

// fail gives readings of the query in progress the reason why they have no
// value.
func (r *round) fail(err error, ids ...monitor.ReadingID) {
	why, call := failure(err)
	r.note(why, err)
	for _, id := range ids {
		r.sink.Reading(id, monitor.Failed(why, call))
	}
}

// refuse says of all readings of the query in progress that the device does not
// have them.
func (r *round) refuse() {
	r.refused = true
	for id := range monitor.NumReadings {
		if r.gives.Has(id) {
			r.sink.Reading(id, monitor.Unknown(monitor.NotSupported))
		}
	}
}

// note remembers what an answer means for asking again.
func (r *round) note(why monitor.Reason, err error) {
	switch why {
	case monitor.NotSupported:
		r.refused = true
	case monitor.NoPermission:
		r.denied = true
	case monitor.Timeout, monitor.DriverError:
		switch c := code(err); {
		case isWhole(err):
			r.suspect(err)
		case c == nvml.ErrUnknown, c == nvml.ErrTimeout, c == nvml.ErrInvalidArgument:
			r.unknown++
			r.suspicion = err
		}
	case monitor.GPULost:
		r.suspect(err)
	}
}

func (r *round) suspect(err error) {
	_, call := failure(err)
	if !slices.Contains(r.suspects, call.Function()) {
		r.suspects = append(r.suspects, call.Function())
	}
	r.suspicion = err
}

// give gives a reading its value, if it can be true. What cannot may have been
// a slip, and is asked again soon.
func (r *round) give(id monitor.ReadingID, v monitor.Reading) {
	r.answered = true
	v = id.Range().Check(v)
	if id == monitor.UtilizationPercent {
		load, ok := v.Float()
		r.calm = ok && load == 0
	}
	if v.Reason == monitor.Implausible {
		r.again = min(r.again, slow)
	}
	r.sink.Reading(id, v)
}

// take gives a reading the value of a call, or the reason why there is none.
func (r *round) take(id monitor.ReadingID, v monitor.Reading, err error) {
	if err != nil {
		r.fail(err, id)
		return
	}
	r.give(id, v)
}
