package driver

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

// unifiedState is what a device keeps whose memory is that of the machine.
type unifiedState struct {
	until time.Time // it need not be asked again before
}

// isUnified says whether an answer about memory is that of an integrated GPU
// that uses the machine's: none, nothing, or about as much as the machine has.
// It remembers a yes.
func (r *round) isUnified(m nvml.Memory, err error) bool {
	if !r.id.Integrated || err != nil && code(err) != nvml.ErrNotSupported {
		return false
	}
	if err == nil && m.Total != 0 {
		total, _ := host.Memory(r.src.opts.Root)
		have, ok := total.Float()
		if ratio := float64(m.Total) / have; !ok || ratio < 0.9 || ratio > 1.1 {
			return false
		}
	}
	r.unified.until = r.now.Add(reprobe - slack)
	if !r.id.MemoryUnified {
		r.id.MemoryUnified = true
		r.sink.Identity(r.id)
		if w := r.src.opts.Watch; w != nil {
			answer := ""
			if err != nil {
				answer = code(err).String()
			}
			w.Unified(m.Total, answer)
		}
	}
	return true
}

// unifiedMemory gives the memory of a device that uses the machine's: what its
// processes use, of all that the machine has. What is free and reserved is not
// known. It reports false where the device was not found to be one.
func (r *round) unifiedMemory() bool {
	if !r.now.Before(r.unified.until) {
		return false
	}
	total, _ := host.Memory(r.src.opts.Root)
	total.At = 0 // the sink knows
	if have, ok := total.Int(); ok {
		r.memTotal = uint64(have)
	}
	r.sink.Begin(monitor.Of(memoryIDs[:]...).With(monitor.GroupProcesses))
	r.readLists()
	r.sink.Begin(r.gives)
	r.cached = !r.procs.at.Equal(r.now) || r.procs.err != nil
	r.give(monitor.MemoryTotalBytes, total)
	used := reading(monitor.Reading{}, r.procs.err)
	if r.procs.err == nil {
		var sum monitor.Total
		for i := range r.procs.list {
			sum.Add(r.procs.list[i].GPUMemoryBytes)
		}
		used = usable(r.memTotal).Check(sum.Reading())
	} else {
		r.note(r.procs.st.Reason, r.procs.err)
	}
	r.give(monitor.MemoryUsedBytes, used)
	r.give(monitor.MemoryFreeBytes, monitor.Unknown(monitor.NotSupported))
	r.give(monitor.MemoryReservedBytes, monitor.Unknown(monitor.NotSupported))
	return true
}
