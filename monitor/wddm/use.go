package wddm

import (
	"math"

	"nvtop-lite/monitor"
)

// value is one instance of a counter with its value.
type value struct {
	name   string
	number float64
	status status
}

// user is a process on an adapter.
type user struct {
	adapter luid
	pid     uint32
}

// use is how much a process uses the engines there.
type use struct {
	load             monitor.Reading // percent of time of the engine that it uses most
	encoder, decoder monitor.Reading // percent of time, likewise of engines of that type
}

const encoding, decoding = "videoencode", "videodecode"

// engineRange is what one process can be said to use of an engine, in percent. Times
// that are not taken at once make more than all of it, but not many times that.
var engineRange = monitor.Range{High: 1000}

// memoryUse adds up the memory of each process, in bytes. Local Usage is what lies in the
// adapter's memory for it, Non Local Usage what lies in the host's; Dedicated Usage and
// Shared Usage count what processes share with every one of them.
func memoryUse(counter int, list []value) map[user]monitor.Reading {
	return sums(counter, list, func(name string) (user, instance, bool) {
		in, ok := parse(name)
		return user{in.adapter, in.pid}, in, ok && in.engine == ""
	})
}

// adapterUse adds up the memory of each adapter, in bytes: of the cards that are one.
func adapterUse(counter int, list []value) map[luid]monitor.Reading {
	return sums(counter, list, func(name string) (luid, instance, bool) {
		in, ok := parseAdapter(name)
		return in.adapter, in, ok
	})
}

// sums adds up what belongs together.
func sums[K comparable](counter int, list []value, whose func(name string) (K, instance, bool)) map[K]monitor.Reading {
	type part struct {
		monitor.Total
		from monitor.Provenance
	}
	sums := map[K]*part{}
	for _, v := range list {
		of, in, ok := whose(v.name)
		if !ok {
			continue
		}
		sum := sums[of]
		if sum == nil {
			sum = &part{}
			sums[of] = sum
		}
		r := v.reading(counter, monitor.MemoryRange)
		if bytes, known := r.Int(); known {
			r = monitor.OfInt(bytes)
		}
		sum.Add(r)
		if in.again { // nothing says that it is not the same memory once more
			sum.from = monitor.Inferred
		}
	}
	uses := make(map[K]monitor.Reading, len(sums))
	for of, sum := range sums {
		r := monitor.MemoryRange.Check(sum.Reading())
		if r.Known() {
			r.Provenance = sum.from
		}
		uses[of] = r
	}
	return uses
}

// engineUse finds for each process the engine that it uses most, of all and of those
// that encode and decode. What an engine did not tell is left out, unless nothing is
// left: a process that began just now has no value yet.
func engineUse(list []value) map[user]use {
	type engine struct {
		user
		phys, number uint32
		kind         string
	}
	sums := map[engine]float64{}
	uses := map[user]use{}
	none := monitor.Unknown(monitor.NotSupported)
	for _, v := range list {
		in, ok := parse(v.name)
		if !ok || in.engine == "" {
			continue
		}
		of := user{in.adapter, in.pid}
		u, seen := uses[of]
		if !seen {
			u.encoder, u.decoder = none, none
		}
		r := v.reading(engineLoad, engineRange)
		if percent, known := r.Float(); known {
			e := engine{of, in.phys, in.number, in.engine}
			sums[e] += percent
			r = monitor.OfFloat(math.Round(10*min(sums[e], 100)) / 10)
		}
		most(&u.load, r)
		if u.load.Known() { // not the share of the multiprocessors, but what comes closest to it
			u.load.Provenance = monitor.Estimated
		}
		switch in.engine {
		case encoding:
			most(&u.encoder, r)
		case decoding:
			most(&u.decoder, r)
		}
		uses[of] = u
	}
	return uses
}

// most keeps the larger one of two, and the reason of the later one where neither is
// known.
func most(r *monitor.Reading, other monitor.Reading) {
	v, known := r.Float()
	if w, ok := other.Float(); !known || ok && w > v {
		*r = other
	}
}

// reading is the value, as far as it can be in.
func (v *value) reading(counter int, in monitor.Range) monitor.Reading {
	if v.status != valid && v.status != newData {
		return v.status.failed(path(counter))
	}
	return in.Check(monitor.OfFloat(v.number))
}
