package wddm

import (
	"slices"

	"nvtop-lite/monitor"
)

// filling is a sink that fills in from Windows' counters what NVML does not tell of
// processes.
type filling struct {
	monitor.Sink
	of    *Source
	key   string
	loads bool // are wanted too
}

var (
	alone    = []string{"nvml"}
	together = []string{"nvml", "wddm"}
)

func (f *filling) Identity(id monitor.Identity) {
	f.of.mu.Lock()
	if _, listed := f.of.cards[f.key]; listed {
		f.of.cards[f.key] = card{id.PCIBusID, id.Name}
	}
	f.of.mu.Unlock()
	f.Sink.Identity(id)
}

func (f *filling) Processes(list []monitor.Process, st monitor.Status) {
	if st.Reason == monitor.Known && slices.ContainsFunc(list, lacks) {
		list = slices.Clone(list)
		f.fill(list)
	}
	f.Sink.Processes(list, st)
}

// lacks says that a process is as WDDM leaves it to NVML: of unknown memory. One in
// an instance of MIG is not: Windows knows no instances.
func lacks(p monitor.Process) bool {
	return p.GPUInstanceID == monitor.None && !p.GPUMemoryBytes.Known()
}

func (f *filling) fill(list []monitor.Process) {
	f.Call("PdhCollectQueryData")
	all := f.of.look()
	f.Call("")
	if all == nil {
		late := monitor.Failed(monitor.Timeout, monitor.NewCallError("PdhCollectQueryData", "", 0))
		all = &found{memory: late, engines: late, listed: late}
	}
	l, found := f.of.find(f.key, all.adapters)
	if !found && all.listed.Known() {
		f.Sources(alone...) // it is none that Windows manages
		return
	}
	if found {
		f.Sources(together...)
	}
	for i := range list {
		p := &list[i]
		if !lacks(*p) {
			continue
		}
		of := user{l.id, p.PID}
		bytes, u := all.of(of)
		complete(&p.GPUMemoryBytes, bytes, l.from)
		if f.loads {
			complete(&p.SMPercent, u.load, l.from)
			complete(&p.EncoderPercent, u.encoder, l.from)
			complete(&p.DecoderPercent, u.decoder, l.from)
		}
	}
}

// of returns what is known of a process, and of what is not why.
func (f *found) of(who user) (bytes monitor.Reading, u use) {
	none := monitor.Unknown(monitor.NotFound)
	bytes, known := f.bytes[who]
	if why := worse(f.listed, f.memory); !why.Known() {
		bytes = why
	} else if !known {
		bytes = none
	}
	u, known = f.uses[who]
	if why := worse(f.listed, f.engines); !why.Known() {
		u = use{why, why, why}
	} else if !known {
		u = use{none, none, none}
	}
	return bytes, u
}

// worse returns the first of two that is not known.
func worse(first, second monitor.Reading) monitor.Reading {
	if !first.Known() {
		return first
	}
	return second
}

// complete sets a reading that NVML does not know. Why it is unknown to Windows counts
// only where NVML has no such reading.
func complete(r *monitor.Reading, with monitor.Reading, from monitor.Provenance) {
	switch {
	case r.Known() || !with.Known() && (with.Reason == monitor.NotSupported || r.Reason != monitor.NotSupported):
		return
	case with.Known():
		with.Provenance = max(with.Provenance, from)
	}
	*r = with
}
