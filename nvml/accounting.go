package nvml

import (
	"time"

	"nvtop-lite/nvml/gen"
)

// AccountingMode reports whether the driver keeps account of processes.
//
// Calls nvmlDeviceGetAccountingMode.
func (d Device) AccountingMode() (bool, error) {
	return getFlag(d, gen.FnDeviceGetAccountingMode, (*gen.Library).DeviceGetAccountingMode)
}

// AccountingBufferSize returns how many processes are kept account of.
//
// Calls nvmlDeviceGetAccountingBufferSize.
func (d Device) AccountingBufferSize() (int, error) {
	n, err := get(d, gen.FnDeviceGetAccountingBufferSize, (*gen.Library).DeviceGetAccountingBufferSize)
	return int(n), err
}

// AccountingPids lists the processes that are kept account of, those that have
// ended included.
//
// Calls nvmlDeviceGetAccountingPids.
func (d Device) AccountingPids() ([]uint32, error) {
	return getList(d, gen.FnDeviceGetAccountingPids, 4096, func(f *frame, n *uint32, list *uint32) gen.Return_t {
		return f.raw().DeviceGetAccountingPids(f.c, f.h, n, list)
	})
}

// AccountingStats is the account of a process. Of several processes that had
// one PID it is the last's.
type AccountingStats struct {
	// Load in percent over the life of the process, known with the flag only.
	GPUUtilization, MemoryUtilization           uint32
	GPUUtilizationKnown, MemoryUtilizationKnown bool
	MaxMemory                                   uint64        // bytes, or NotAvailable
	Time                                        time.Duration // from start to end; 0 while it runs
	Start                                       time.Time
	Running                                     bool
}

// AccountingStats returns the account of a process.
//
// Calls nvmlDeviceGetAccountingStats_v2 (driver 610), then
// nvmlDeviceGetAccountingStats.
func (d Device) AccountingStats(pid uint32) (AccountingStats, error) {
	const fn, older = gen.FnDeviceGetAccountingStats_v2, gen.FnDeviceGetAccountingStats
	stats := func(gpu, mem uint32, peak, ms, start uint64, running uint32) AccountingStats {
		const unknown = ^uint32(0)
		s := AccountingStats{MaxMemory: peak, Time: time.Duration(ms) * time.Millisecond, Start: time.UnixMicro(int64(start)), Running: running != 0}
		if gpu != unknown {
			s.GPUUtilization, s.GPUUtilizationKnown = gpu, true
		}
		if mem != unknown {
			s.MemoryUtilization, s.MemoryUtilizationKnown = mem, true
		}
		return s
	}
	return first(d, chainAccounting, 0,
		step[AccountingStats]{fn, func(f *frame, place int) (AccountingStats, Return) {
			v, r := callInit(f, fn, place, (*gen.Library).DeviceGetAccountingStats_v2, gen.AccountingStats_v2_t{Pid: pid})
			return stats(v.GpuUtilization, v.MemoryUtilization, v.MaxMemoryUsage, v.Time, v.StartTime, v.IsRunning), r
		}},
		step[AccountingStats]{older, func(f *frame, place int) (AccountingStats, Return) {
			if !f.begin(older, place) {
				return AccountingStats{}, ErrFunctionNotFound
			}
			v := scratch[gen.AccountingStats_t](f)
			r := f.end(f.raw().DeviceGetAccountingStats(f.c, f.h, pid, v))
			return stats(v.GpuUtilization, v.MemoryUtilization, v.MaxMemoryUsage, v.Time, v.StartTime, v.IsRunning), r
		}})
}
