package driver

import (
	"slices"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const (
	// loadWindow is how long a sample of a process's load counts.
	loadWindow = 2 * time.Second
	// loadStart is how far back the first question reaches: the driver's whole
	// history would be long averages.
	loadStart = time.Second
)

// procState is what a device keeps of its processes.
type procState struct {
	list    []monitor.Process // merged, without loads
	err     error             // why there is no list
	st      monitor.Status
	raw     []nvml.Process // kept for the next time, like lists
	lists   [3][]monitor.Process
	at      time.Time // when the lists were read
	memUsed uint64    // the memory in use then
	memOK   bool      // memUsed is known
	blind   bool      // the memory of some process is not known
	none    listGates

	load loadState
}

// listGates are shut while a device has no lists of that kind.
type listGates [3]gate

// loadState is what a device keeps of the load of its processes.
type loadState struct {
	at       time.Time // when it was asked
	lastSeen uint64    // newest sample, µs since 1970
	samples  map[uint32]loadSample
	raw      []nvml.ProcessLoad // kept for the next time
	idle     bool               // nothing ran since the last question
	none     gate               // shut while there are no loads
	err      error              // why there are no loads
}

type loadSample struct {
	nvml.ProcessLoad
	seen time.Time
}

// processes reads who uses the GPU.
func processes(r *round) {
	p := &r.procs
	r.readLists()
	if p.err != nil {
		r.note(p.st.Reason, p.err)
		r.sink.Processes(nil, p.st)
		return
	}
	r.answered, r.cached = true, !p.at.Equal(r.now)
	list := p.list
	if r.mig.enabled {
		list = r.mig.without(list)
	}
	if len(list) > 0 {
		list = slices.Clone(list)
		if r.full.HasGroup(monitor.GroupProcessLoad) {
			p.load.read(r)
			p.load.join(list)
		}
	}
	r.sink.Processes(list, p.st)
}

// readLists reads the lists of processes where that is due. They are the
// costliest of the plain queries: they are read again only when the memory in
// use changed or some time passed, and where that memory says nothing at most
// once a second.
func (r *round) readLists() {
	p := &r.procs
	if p.at.Equal(r.now) {
		return // unified memory needed them before
	}
	life := second - slack
	if r.memOK && p.memOK && !r.mig.enabled && !p.blind && p.err == nil {
		life = slow - slack
	}
	changed := r.memOK && (!p.memOK || r.memUsed != p.memUsed)
	if !p.at.IsZero() && !r.all && !changed && r.now.Sub(p.at) < life {
		return
	}
	p.list, p.err = r.readProcesses(r.dev, &p.none, r.memTotal)
	p.at, p.memUsed, p.memOK = r.now, r.memUsed, r.memOK
	p.st = status(p.err)
	p.st.At = r.src.steady(r.now)
	p.blind = slices.ContainsFunc(p.list, func(m monitor.Process) bool { return !m.GPUMemoryBytes.Known() })
}

// readProcesses reads the three lists of a device and merges them. The whole is
// unknown when one of the three is: what is missing there would look like
// nobody. Only graphics and MPS processes may be refused for good: then there
// are none of that kind. What a process uses beyond total, 0 where that is not
// known, cannot be true.
func (r *round) readProcesses(dev nvml.Device, none *listGates, total uint64) ([]monitor.Process, error) {
	var lists [3][]monitor.Process
	for i, kind := range [3]nvml.ListKind{nvml.Compute, nvml.Graphics, nvml.MPS} {
		err := none[i].shut(r.now)
		if err == nil {
			var raw []nvml.Process
			raw, err = dev.AppendRunningProcesses(r.procs.raw[:0], kind)
			none[i].note(err, r.now)
			if err == nil {
				r.procs.raw = raw
				r.procs.lists[i] = appendProcesses(r.procs.lists[i][:0], raw)
				lists[i] = r.procs.lists[i]
				continue
			}
		}
		// Without the list of compute processes the others say little.
		if !isRefused(err) || kind == nvml.Compute {
			return nil, err
		}
	}
	merged := monitor.MergeProcesses(lists[0], lists[1], lists[2])
	possible := usable(total)
	for i := range merged {
		p := &merged[i]
		p.GPUMemoryBytes = possible.Check(p.GPUMemoryBytes)
	}
	return merged, nil
}

// usable is what can be used of a memory of that size, 0 where it is not known.
func usable(total uint64) monitor.Range {
	if total == 0 {
		return monitor.MemoryRange
	}
	return monitor.Range{Low: 0, High: float64(total)}
}

// appendProcesses appends what the driver's entries say.
func appendProcesses(list []monitor.Process, raw []nvml.Process) []monitor.Process {
	for _, p := range raw {
		m := monitor.Process{
			PID: p.PID, GPUInstanceID: instanceID(p.GPUInstanceID), ComputeInstanceID: instanceID(p.ComputeInstanceID),
			GPUMemoryBytes: monitor.Unknown(monitor.NotSupported),
		}
		if bytes, ok := p.Memory(); ok {
			m.GPUMemoryBytes = monitor.OfUint(bytes)
		}
		list = append(list, m)
	}
	return list
}

// read asks for loads, at most once a second.
func (l *loadState) read(r *round) {
	if !l.at.IsZero() && r.now.Sub(l.at) < second-slack && !r.all {
		return
	}
	if l.err = l.none.shut(r.now); l.err != nil {
		return
	}
	l.at = r.now
	if l.samples == nil {
		l.samples = make(map[uint32]loadSample)
	}
	// The first time, and after the clock was set back.
	if l.lastSeen == 0 || l.lastSeen > uint64(r.now.Add(loadWindow).UnixMicro()) {
		l.lastSeen = uint64(r.now.Add(-loadStart).UnixMicro())
	}
	got, err := r.dev.AppendProcessUtilization(l.raw[:0], l.lastSeen)
	l.none.note(err, r.now)
	if l.err = err; err != nil {
		return
	}
	r.heard()
	l.raw = got
	l.idle = len(got) == 0
	for _, s := range got {
		if old, ok := l.samples[s.PID]; !ok || s.Time >= old.Time {
			l.samples[s.PID] = loadSample{s, r.now}
		}
		l.lastSeen = max(l.lastSeen, s.Time)
	}
	for pid, s := range l.samples {
		if r.now.Sub(s.seen) > loadWindow {
			delete(l.samples, pid)
		}
	}
}

// join gives processes their loads. Where nothing ran since the last question
// all are idle; otherwise one that is not listed is unknown, since the driver
// lists only what it noticed.
func (l *loadState) join(list []monitor.Process) {
	zero, none := monitor.OfFloat(0), monitor.Unknown(monitor.NotFound)
	for i := range list {
		p := &list[i]
		s, ok := l.samples[p.PID]
		switch {
		case l.err != nil:
			bad := reading(monitor.Reading{}, l.err)
			p.SMPercent, p.EncoderPercent, p.DecoderPercent = bad, bad, bad
		case ok:
			p.SMPercent, p.EncoderPercent, p.DecoderPercent = monitor.ShareRange.Check(number(s.SM)), monitor.ShareRange.Check(number(s.Encoder)), monitor.ShareRange.Check(number(s.Decoder))
		case l.idle:
			p.SMPercent, p.EncoderPercent, p.DecoderPercent = zero, zero, zero
		default:
			p.SMPercent, p.EncoderPercent, p.DecoderPercent = none, none, none
		}
	}
}
