package wddm

import (
	"slices"

	"nvtop-lite/monitor"
)

// filling is a sink that fills in from Windows' counters what NVML does not tell,
// during one refresh of one GPU.
type filling struct {
	monitor.Sink
	of      *Source
	key     string
	loads   bool // are wanted too
	unified bool // its memory is the machine's

	looked *found
	link   link
	joined bool
}

var (
	alone    = []string{"nvml"}
	together = []string{"nvml", "wddm"}
)

func (f *filling) Identity(id monitor.Identity) {
	f.unified = id.MemoryUnified
	f.of.mu.Lock()
	if c, listed := f.of.cards[f.key]; listed {
		c.bus, c.name, c.model = id.PCIBusID, id.Name, id.DriverModel
		f.of.cards[f.key] = c
	}
	f.of.mu.Unlock()
	f.Sink.Identity(id)
}

// look looks at the counters, once in a refresh, and reports whether Windows manages
// the GPU: it is an adapter, or Windows does not tell which there are.
func (f *filling) look() bool {
	f.of.mu.Lock()
	c := f.of.cards[f.key]
	f.of.mu.Unlock()
	if !c.managed() && f.of.tell == nil {
		return false
	}
	if f.looked == nil {
		f.Call("PdhCollectQueryData") // as a rule; what is late is told with the call that it waits for
		f.looked = f.of.look()
		f.Call("")
	}
	f.link, f.joined = f.of.find(f.key, f.looked.adapters)
	return c.managed() && (f.joined || !f.looked.listed.Known())
}

// Reading gives the memory of the adapter where NVML has no such reading. What a GPU
// uses of the machine's is no memory of its own.
func (f *filling) Reading(id monitor.ReadingID, r monitor.Reading) {
	i := monitor.DedicatedTotal
	switch id {
	case monitor.MemoryUsedBytes:
		i = monitor.DedicatedUsed
		fallthrough
	case monitor.MemoryTotalBytes:
		if r.Reason == monitor.NotSupported && !f.unified && f.look() && f.joined {
			if own := f.adapter()[i]; own.Known() && f.link.dedicated > 0 {
				r = own
			}
		}
	}
	f.Sink.Reading(id, r)
}

func (f *filling) Processes(list []monitor.Process, st monitor.Status) {
	if st.Reason == monitor.Known && f.look() {
		list = slices.Clone(list)
		f.fill(list)
	}
	f.Sink.Processes(list, st)
}

// end tells what Windows counts of the GPU.
func (f *filling) end() {
	switch managed := f.look(); {
	case managed && f.joined:
		f.Sources(together...)
		f.Adapter(f.adapter())
	case managed && f.model() == "wddm":
		f.Sources(alone...)
		f.Adapter(f.adapter())
	default:
		f.Sources(alone...)
		f.Adapter(nil)
	}
	if f.of.tell != nil {
		f.of.told()
	}
}

func (f *filling) model() string {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	return f.of.cards[f.key].model
}

// adapter is what Windows counts, and of what it does not why.
func (f *filling) adapter() *monitor.Adapter {
	a := &monitor.Adapter{}
	if !f.joined {
		for i := range a {
			a[i] = f.looked.listed
		}
		return a
	}
	a[monitor.DedicatedTotal] = monitor.MemoryRange.Check(monitor.OfUint(f.link.dedicated))
	a[monitor.SharedTotal] = monitor.MemoryRange.Check(monitor.OfUint(f.link.shared))
	a[monitor.DedicatedUsed] = get(f.looked.dedicated, f.link.id, f.looked.failed[dedicatedMemory])
	a[monitor.SharedUsed] = get(f.looked.shared, f.link.id, f.looked.failed[sharedMemory])
	for i := range a {
		if a[i].Known() {
			a[i].Provenance = max(a[i].Provenance, f.link.from)
		}
	}
	return a
}

// get is what a counter says of somebody, or why it says nothing.
func get[K comparable](of map[K]monitor.Reading, who K, failed monitor.Reading) monitor.Reading {
	if !failed.Known() {
		return failed
	}
	if r, ok := of[who]; ok {
		return r
	}
	return monitor.Unknown(monitor.NotFound)
}

func (f *filling) fill(list []monitor.Process) {
	l, all := f.link, f.looked
	who := user{}
	if f.joined {
		who.adapter = l.id
	}
	for i := range list {
		p := &list[i]
		if p.GPUInstanceID != monitor.None { // Windows knows no instances
			continue
		}
		who.pid = p.PID
		var of [2]monitor.Reading
		for i := range of {
			of[i] = get(all.processes[i], who, worse(all.listed, all.failed[i]))
		}
		if p.NonLocalBytes = of[nonLocalMemory]; p.NonLocalBytes.Known() {
			p.NonLocalBytes.Provenance = max(p.NonLocalBytes.Provenance, l.from)
		}
		if p.GPUMemoryBytes.Known() { // as WDDM does not leave it to NVML
			continue
		}
		complete(&p.GPUMemoryBytes, of[localMemory], l.from)
		if f.loads {
			u := all.use(who)
			complete(&p.SMPercent, u.load, l.from)
			complete(&p.EncoderPercent, u.encoder, l.from)
			complete(&p.DecoderPercent, u.decoder, l.from)
		}
	}
}

// use is how much a process uses the engines, and of what is not known why.
func (f *found) use(who user) use {
	u, known := f.uses[who]
	if why := worse(f.listed, f.failed[engineLoad]); !why.Known() {
		u = use{why, why, why}
	} else if !known {
		none := monitor.Unknown(monitor.NotFound)
		u = use{none, none, none}
	}
	return u
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
