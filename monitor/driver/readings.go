package driver

import (
	"math"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

func utilization(r *round) {
	u, err := r.dev.UtilizationRates()
	if err != nil {
		r.fail(err, monitor.UtilizationPercent, monitor.MemoryUtilizationPercent)
		return
	}
	r.give(monitor.UtilizationPercent, number(u.GPU))
	r.give(monitor.MemoryUtilizationPercent, number(u.Memory))
}

// memoryIDs are the readings of the device's memory.
var memoryIDs = [...]monitor.ReadingID{monitor.MemoryTotalBytes, monitor.MemoryUsedBytes, monitor.MemoryFreeBytes, monitor.MemoryReservedBytes}

func memory(r *round) {
	if r.unifiedMemory() {
		return
	}
	m, err := r.dev.MemoryInfo()
	if r.isUnified(m, err) {
		r.unifiedMemory()
		return
	}
	if err != nil {
		r.fail(err, memoryIDs[:]...)
		return
	}
	for i, v := range memoryReadings(m) {
		r.give(memoryIDs[i], v)
	}
	r.memUsed, r.memOK = m.Used, plausibleMemory(m)
	if r.memOK {
		r.memTotal = m.Total
	}
}

// plausibleMemory says whether m can be true: a driver that has no answer gives
// zeros, or all ones.
func plausibleMemory(m nvml.Memory) bool {
	return m.Total != 0 && m.Total < uint64(monitor.MemoryRange.High) && m.Used <= m.Total && m.Free <= m.Total && m.Reserved <= m.Total
}

// memoryReadings are the readings of memoryIDs.
func memoryReadings(m nvml.Memory) (list [len(memoryIDs)]monitor.Reading) {
	if !plausibleMemory(m) {
		for i := range list {
			list[i] = monitor.Unknown(monitor.Implausible)
		}
		return list
	}
	list[0], list[1], list[2] = monitor.OfUint(m.Total), monitor.OfUint(m.Used), monitor.OfUint(m.Free)
	list[3] = monitor.Unknown(monitor.NotSupported)
	if m.ReservedKnown {
		list[3] = monitor.OfUint(m.Reserved)
	}
	return list
}

func temperature(r *round) {
	v, err := r.dev.Temperature(nvml.TemperatureGPU)
	r.take(monitor.TemperatureC, celsius(v), err)
}

func temperatureMemory(r *round) {
	v, err := r.dev.MemoryTemperature()
	r.take(monitor.TemperatureMemoryC, celsius(v), err)
}

func temperatureMargin(r *round) {
	v, err := r.dev.MarginTemperature()
	r.take(monitor.TemperatureMarginC, number(v), err)
}

func temperatureSlowdown(r *round) {
	v, err := r.dev.TemperatureThreshold(nvml.ThresholdSlowdown)
	r.take(monitor.TemperatureSlowdownC, celsius(v), err)
}

func power(r *round) {
	v, err := r.dev.PowerUsage()
	r.take(monitor.PowerMW, number(v), err)
}

func powerInstant(r *round) {
	v, err := r.dev.PowerInstant(nvml.PowerOfGPU)
	r.take(monitor.PowerInstantMW, number(v), err)
}

func powerLimit(r *round) {
	v, err := r.dev.EnforcedPowerLimit()
	r.take(monitor.PowerLimitMW, number(v), err)
}

func powerLimitDefault(r *round) {
	v, err := r.dev.PowerManagementDefaultLimit()
	r.take(monitor.PowerLimitDefaultMW, number(v), err)
}

func energy(r *round) {
	v, err := r.dev.TotalEnergyConsumption()
	joules := monitor.OfFloat(float64(v) / 1000)
	if v == math.MaxUint32 {
		joules = monitor.Unknown(monitor.Implausible)
	}
	r.take(monitor.EnergyJoules, joules, err)
}

func clock(t nvml.ClockType, id monitor.ReadingID) func(*round) {
	return func(r *round) {
		v, err := r.dev.ClockInfo(t)
		r.take(id, number(v), err)
	}
}

func clockMax(t nvml.ClockType, id monitor.ReadingID) func(*round) {
	return func(r *round) {
		v, err := r.dev.MaxClockInfo(t)
		r.take(id, number(v), err)
	}
}

func throttle(r *round) {
	v, err := r.dev.CurrentClocksEventReasons()
	r.take(monitor.ThrottleReasons, monitor.OfMask(uint64(v)), err)
}

// pstateUnknown is what the driver says when it does not know the state.
const pstateUnknown = 32

func performanceState(r *round) {
	v, err := r.dev.PerformanceState()
	switch {
	case err != nil:
		r.fail(err, monitor.PerformanceState)
	case v == pstateUnknown:
		r.give(monitor.PerformanceState, monitor.Unknown(monitor.NotFound))
	default:
		r.give(monitor.PerformanceState, monitor.OfInt(int64(v)))
	}
}

// engine reads a load that is asked seldom while it is 0.
func engine(id monitor.ReadingID, get func(nvml.Device) (uint32, time.Duration, error)) func(*round) {
	return func(r *round) {
		v, _, err := get(r.dev)
		if err == nil && v == 0 {
			r.again = slow
		}
		r.take(id, number(v), err)
	}
}

// minor reads the number of the device node.
func minor(r *round) {
	v, err := r.dev.MinorNumber()
	r.take(monitor.Minor, monitor.OfInt(int64(v)), err)
}

func pcieGenerationMax(r *round) {
	v, err := r.dev.MaxPcieLinkGeneration()
	if err == nil {
		r.pcie.generation = v
	}
	r.take(monitor.PCIeGenerationMax, monitor.OfInt(int64(v)), err)
}

func pcieWidthMax(r *round) {
	v, err := r.dev.MaxPcieLinkWidth()
	if err == nil {
		r.pcie.width = v
	}
	r.take(monitor.PCIeWidthMax, monitor.OfInt(int64(v)), err)
}

// integer reads a whole number.
func integer(id monitor.ReadingID, get func(nvml.Device) (uint32, error)) func(*round) {
	return func(r *round) {
		v, err := get(r.dev)
		r.take(id, monitor.OfInt(int64(v)), err)
	}
}

func flag(id monitor.ReadingID, get func(nvml.Device) (bool, error)) func(*round) {
	return func(r *round) {
		v, err := get(r.dev)
		r.take(id, monitor.OfFlag(v), err)
	}
}

func computeMode(r *round) {
	v, err := r.dev.ComputeMode()
	r.take(monitor.ComputeMode, monitor.OfWord(uint64(v)), err)
}

func fabric(r *round) {
	v, err := r.dev.GpuFabricInfo()
	r.take(monitor.FabricState, monitor.OfWord(uint64(v.State)), err)
}

func eccMode(r *round) {
	now, next, err := r.dev.EccMode()
	if err != nil {
		r.fail(err, monitor.ECCEnabled, monitor.ECCPending)
		return
	}
	r.give(monitor.ECCEnabled, monitor.OfFlag(now))
	r.give(monitor.ECCPending, monitor.OfFlag(now != next))
}

func eccErrors(id monitor.ReadingID, t nvml.MemoryErrorType, c nvml.EccCounter) func(*round) {
	return func(r *round) {
		v, err := r.dev.TotalEccErrors(t, c)
		r.take(id, monitor.OfUint(v), err)
	}
}

func retiredPages(r *round) {
	total := 0
	for _, cause := range []nvml.PageRetirementCause{nvml.RetiredSingleBit, nvml.RetiredDoubleBit} {
		pages, err := r.dev.RetiredPages(cause)
		if err != nil {
			r.fail(err, monitor.RetiredPages)
			return
		}
		total += len(pages)
	}
	r.give(monitor.RetiredPages, monitor.OfInt(int64(total)))
}

func remappedRows(r *round) {
	v, err := r.dev.RemappedRows()
	if err != nil {
		r.fail(err, monitor.RowsRemapped, monitor.RowsRemapPending, monitor.RowsRemapFailed)
		return
	}
	r.give(monitor.RowsRemapped, monitor.OfInt(int64(v.Corrected)+int64(v.Uncorrected)))
	r.give(monitor.RowsRemapPending, monitor.OfFlag(v.Pending))
	r.give(monitor.RowsRemapFailed, monitor.OfFlag(v.Failed))
}

func recoveryAction(r *round) {
	v, err := r.dev.RecoveryAction()
	r.take(monitor.RecoveryAction, monitor.OfWord(uint64(v)), err)
}
