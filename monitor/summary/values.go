package summary

import (
	"math"

	"nvtop-lite/monitor"
)

// maxValues is how many distinct values of a quantity are kept. While there are
// no more, percentiles are exact.
const maxValues = 4096

// The histogram that follows: octaves from the unit of a quantity on, each of
// steps of equal width. Its values are half a step off at most, which is
// 1/1024 of them.
const (
	octaves = 24
	steps   = 512
)

// largest is beyond what any reading can be; larger ones are implausible.
const largest = 1e21

// value returns the number that r holds, else why there is none.
func value(r *monitor.Reading) (float64, monitor.Reason) {
	v, ok := r.Float()
	switch {
	case !ok:
		return 0, r.Reason
	case math.IsNaN(v) || math.Abs(v) > largest:
		return 0, monitor.Implausible
	}
	return v, monitor.Known
}

// reasons counts why there was no value.
type reasons [monitor.Asleep + 1]int64

func (r *reasons) add(why monitor.Reason) {
	if int(why) >= len(r) {
		why = monitor.DriverError
	}
	r[why]++
}

// most returns the reason given most often, of several the first in the order
// of package monitor.
func (r *reasons) most() monitor.Reason {
	best := monitor.NotSampled
	for why, n := range r {
		if n > r[best] {
			best = monitor.Reason(why)
		}
	}
	return best
}

// distribution is what is kept of the values of one quantity.
type distribution struct {
	unit    float64 // the least value told from 0 by the histogram
	count   int64
	sum     float64
	min     float64
	max     float64
	from    monitor.Provenance // the least certain
	unknown int64              // snapshots without a value
	why     reasons

	values []float64 // distinct ones, rising, while they are exact
	counts []uint32
	at     int // where the last one stands

	estimated bool
	below     int64             // the unit
	above     int64             // the last octave
	octaves   [octaves][]uint32 // of steps, nil where there is none
}

func (d *distribution) miss(why monitor.Reason) {
	d.unknown++
	d.why.add(why)
}

func (d *distribution) add(v float64, from monitor.Provenance) {
	if d.count == 0 || v < d.min {
		d.min = v
	}
	if d.count == 0 || v > d.max {
		d.max = v
	}
	d.count++
	d.sum += v
	d.from = max(d.from, from)
	if d.estimated {
		d.estimate(v, 1)
		return
	}
	if d.at < len(d.values) && d.values[d.at] == v {
		d.counts[d.at]++
		return
	}
	low, high := 0, len(d.values)
	for low < high {
		if middle := (low + high) / 2; d.values[middle] < v {
			low = middle + 1
		} else {
			high = middle
		}
	}
	d.at = low
	switch {
	case low < len(d.values) && d.values[low] == v:
		d.counts[low]++
	case len(d.values) < maxValues:
		d.values, d.counts = append(d.values, 0), append(d.counts, 0)
		copy(d.values[low+1:], d.values[low:])
		copy(d.counts[low+1:], d.counts[low:])
		d.values[low], d.counts[low] = v, 1
	default:
		d.estimated = true
		for i, w := range d.values {
			d.estimate(w, int64(d.counts[i]))
		}
		d.values, d.counts = nil, nil
		d.estimate(v, 1)
	}
}

// estimate adds v n times to the histogram.
func (d *distribution) estimate(v float64, n int64) {
	v /= d.unit
	if v < 1 {
		d.below += n
		return
	}
	bits := math.Float64bits(v)
	octave := int(bits>>52) - 1023
	if octave >= octaves {
		d.above += n
		return
	}
	if d.octaves[octave] == nil {
		d.octaves[octave] = make([]uint32, steps)
	}
	d.octaves[octave][bits>>43&(steps-1)] += uint32(n)
}

// percentile returns the least value that p percent of all are not above
// (nearest rank). There must be a value.
func (d *distribution) percentile(p int64) float64 {
	rank := (d.count*p + 99) / 100
	if !d.estimated {
		for i, n := range d.counts {
			if rank -= int64(n); rank <= 0 {
				return d.values[i]
			}
		}
	}
	within := func(v float64) float64 { return min(max(v, d.min), d.max) }
	if rank -= d.below; rank <= 0 {
		return within(0)
	}
	for i, octave := range d.octaves {
		for j, n := range octave {
			if rank -= int64(n); rank <= 0 {
				return within(math.Ldexp(d.unit*(1+(float64(j)+0.5)/steps), i))
			}
		}
	}
	return d.max
}
