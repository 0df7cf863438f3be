package driver

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// mibRate makes bytes per second of MiB per second.
func mibRate(v float64) monitor.Reading { return number(v * mib) }

// counterPair is a pair of byte counters, to the host and from it.
type counterPair struct {
	tx, rx uint64
	at     time.Time // zero: not read yet
}

// step takes new counts and gives two readings the rates since the last ones.
// They are not sampled for the first counts, and after a counter began anew.
// Counters of 32 bits go on after their end.
func (c *counterPair) step(r *round, tx, rx monitor.ReadingID, txCount, rxCount uint64, short bool) {
	last := *c
	*c = counterPair{txCount, rxCount, r.now}
	span := r.now.Sub(last.at)
	if last.at.IsZero() || span <= 0 || !short && (txCount < last.tx || rxCount < last.rx) || short && !r.pcie.lasts(span) {
		r.give(tx, monitor.Unknown(monitor.NotSampled))
		r.give(rx, monitor.Unknown(monitor.NotSampled))
		return
	}
	a, b := txCount-last.tx, rxCount-last.rx
	if short {
		a, b = uint64(uint32(a)), uint64(uint32(b))
	}
	r.give(tx, number(float64(a)/span.Seconds()))
	r.give(rx, number(float64(b)/span.Seconds()))
}

// pcieState is what a device keeps for the traffic of its PCIe link.
type pcieState struct {
	generation, width uint32 // the link's highest; 0 unknown
	counters          counterPair
	short             bool // the counters have 32 bits
	none              gate // shut while there are no counters
}

// lasts says that a counter of 32 bits does not come round within span, however
// busy the link is.
func (p *pcieState) lasts(span time.Duration) bool {
	if p.generation == 0 || p.generation > 16 || p.width == 0 {
		return false
	}
	lane := 0.25e9 * float64(uint32(1)<<(p.generation-1)) // bytes/s, rounded up
	return lane*float64(p.width)*span.Seconds() < 1<<32
}

// pcieRates reads the traffic of the PCIe link: from GPM, else from byte
// counters, else by the call that counts for 20 ms in each direction.
func pcieRates(r *round) {
	tx, rx := monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond
	p := &r.pcie
	if r.prime(&p.counters) {
		if a, b, short, err := pcieCounters(r.dev); err == nil {
			p.counters, p.short = counterPair{a, b, r.now}, short
		}
	}
	first := r.fromGPM(tx, rx, gpmPCIeTx, gpmPCIeRx)
	if first == nil {
		return
	}
	if p.none.shut(r.now) == nil && (!p.short || p.lasts(r.gap)) {
		a, b, short, err := pcieCounters(r.dev)
		p.none.note(err, r.now)
		p.short = short
		switch {
		case err == nil && (!short || p.lasts(r.now.Sub(p.counters.at))):
			p.counters.step(r, tx, rx, a, b, short)
			return
		case err == nil:
			p.counters = counterPair{a, b, r.now} // for the next refresh, if that is soon enough
		case err != nil && !isRefused(err):
			r.note(reason(code(err)), err)
			first = worse(first, err)
		}
	}
	r.again = second
	for _, d := range [...]struct {
		id  monitor.ReadingID
		dir nvml.PcieDirection
	}{{tx, nvml.PcieTx}, {rx, nvml.PcieRx}} {
		if r.full.Has(d.id) {
			v, err := r.dev.PcieThroughput(d.dir)
			if err != nil {
				err = worse(first, err)
			}
			r.take(d.id, number(float64(v)*kib), err)
		}
	}
}

// prime says that counters should be looked at although GPM may do: its first
// result is not there yet, and a one-shot has no third look.
func (r *round) prime(c *counterPair) bool { return r.all && r.metrics().seeding && c.at.IsZero() }

// worse is the error to report of one way and its fallback, nil where there was
// one way only: what failed says more than what does not exist.
func worse(first, then error) error {
	if first != nil && !isRefused(first) && isRefused(then) {
		return first
	}
	return then
}

// pcieCounters reads the byte counters of the PCIe link in one call; short says
// that they have 32 bits.
func pcieCounters(dev nvml.Device) (tx, rx uint64, short bool, err error) {
	const uint32Type = nvml.ValueType(1) // NVML_VALUE_TYPE_UNSIGNED_INT
	list := [...]nvml.FieldValue{{ID: nvml.FieldPcieBytesTx}, {ID: nvml.FieldPcieBytesRx}}
	if err := dev.FieldValues(list[:]); err != nil {
		return 0, 0, false, err
	}
	fail := func(r nvml.Return) error {
		return &nvml.Error{Function: "nvmlDeviceGetFieldValues", Device: dev.Index(), Return: r}
	}
	for _, f := range list {
		if f.Return != nvml.Success {
			return 0, 0, false, fail(f.Return)
		}
		short = short || f.Value.Type == uint32Type
	}
	tx, okTx := list[0].Value.Uint64()
	rx, okRx := list[1].Value.Uint64()
	if !okTx || !okRx || allOnes(tx) || allOnes(rx) {
		return 0, 0, false, fail(nvml.ErrImplausible)
	}
	return tx, rx, short, nil
}

// nvlinkState is what a device keeps of its NVLinks.
type nvlinkState struct {
	counters counterPair
	links    int               // how many there are; 0: not counted yet
	states   []nvml.FieldValue // one a link
	none     gate              // shut while the states cannot be read as fields
	errors   []nvml.FieldValue // one a link and kind
	noFields [len(nvlinkErrorFields)]gate
}

// nvlinkRates reads the traffic of all NVLinks: from GPM, else from counters.
func nvlinkRates(r *round) {
	tx, rx := monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond
	if c := &r.nvlink.counters; r.prime(c) {
		if a, b, err := r.dev.NvLinkTraffic(nvml.AllLinks); err == nil && !allOnes(a) && !allOnes(b) {
			*c = counterPair{a, b, r.now}
		}
	}
	first := r.fromGPM(tx, rx, gpmNVLinkTx, gpmNVLinkRx)
	if first == nil {
		return
	}
	a, b, err := r.dev.NvLinkTraffic(nvml.AllLinks)
	if err != nil {
		r.fail(worse(first, err), tx, rx)
		return
	}
	r.again = second
	if allOnes(a) || allOnes(b) {
		r.give(tx, monitor.Unknown(monitor.Implausible))
		r.give(rx, monitor.Unknown(monitor.Implausible))
		return
	}
	r.nvlink.counters.step(r, tx, rx, a, b, false)
}

const maxLinks = 64

// nvlinks counts the active NVLinks, and what goes wrong on them.
func nvlinks(r *round) {
	active, err := r.nvlink.count(r)
	if err != nil {
		why, call := failure(err)
		if code(err) == nvml.ErrInvalidArgument {
			why = monitor.NotSupported // it has no first link
		}
		r.note(why, err)
		for _, id := range append(nvlinkErrorIDs[:], monitor.NVLinkLinksActive) {
			r.sink.Reading(id, monitor.Failed(why, call))
		}
		return
	}
	r.give(monitor.NVLinkLinksActive, monitor.OfInt(int64(active)))
	nvlinkErrors(r, active)
}

// count counts the active links: link by link the first time, with one call for all
// afterwards, where the driver has that.
func (n *nvlinkState) count(r *round) (active int, err error) {
	if n.links > 0 && n.none.shut(r.now) == nil {
		active, err := n.activeFields(r.dev)
		if err == nil {
			return active, nil
		}
		n.none.note(err, r.now)
	}
	links := 0
	for links < maxLinks {
		up, err := r.dev.NvLinkState(uint32(links))
		if past := code(err) == nvml.ErrInvalidArgument || isRefused(err); past && links > 0 {
			r.renewal.Store(false) // that is where links end
			break
		}
		if err != nil {
			return 0, err
		}
		links++
		if up {
			active++
		}
	}
	n.links = links
	return active, nil
}

// activeFields counts the links whose state field is 1.
func (n *nvlinkState) activeFields(dev nvml.Device) (active int, err error) {
	if len(n.states) != n.links {
		n.states = make([]nvml.FieldValue, n.links)
	}
	for i := range n.states {
		n.states[i] = nvml.FieldValue{ID: nvml.FieldNvLinkState, Scope: uint32(i)}
	}
	if err := dev.FieldValues(n.states); err != nil {
		return 0, err
	}
	for i := range n.states {
		f := &n.states[i]
		v, ok := f.Value.Uint64()
		if f.Return == nvml.ErrInvalidArgument {
			f.Return = nvml.ErrNotSupported // the driver is older than the field
		}
		if f.Return == nvml.Success && (!ok || v > 1) {
			f.Return = nvml.ErrImplausible
		}
		if f.Return != nvml.Success {
			return 0, &nvml.Error{Function: "nvmlDeviceGetFieldValues", Device: dev.Index(), Return: f.Return}
		}
		if v == 1 {
			active++
		}
	}
	return active, nil
}
