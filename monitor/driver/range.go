package driver

import (
	"math"

	"nvtop-lite/monitor"
)

// span is from what to what something can be, both ends included.
type span struct{ low, high float64 }

// check returns r, or that it is implausible when its value lies outside. All
// ones of 32 bits, a driver's way to say nothing, are no value of anything.
func (s span) check(r monitor.Reading) monitor.Reading {
	if v, ok := r.Float(); ok && (v < s.low || v > s.high || v == math.MaxUint32) {
		return monitor.Unknown(monitor.Implausible)
	}
	return r
}

// What the GPUs of today and of the next years can show, with room to spare:
// what lies outside was never measured.
var (
	shareSpan    = span{0, 100}
	fanSpan      = span{0, 300} // of the nominal speed, which a fan can exceed
	rpmSpan      = span{0, 60_000}
	dieSpan      = span{-55, 200} // a cold start is below 0
	limitSpan    = span{1, 200}
	marginSpan   = span{-150, 250} // negative when it is too hot
	powerSpan    = span{0, 10e6}
	powerMaxSpan = span{1000, 10e6}
	energySpan   = span{0, 1e13} // 30 years of 10 kW
	clockSpan    = span{0, 50_000}
	clockMaxSpan = span{1, 50_000}
	memorySpan   = span{0, 1 << 50}
	linkRateSpan = span{0, 2e12}
	nvlinkSpan   = span{0, 2e13}
	countSpan    = span{0, 1e15}
	wordSpan     = span{0, 99} // drivers add words
	flagSpan     = span{0, 1}
)

// spans are what the readings can be.
var spans = [monitor.NumReadings]span{
	monitor.Minor:                    {0, 1<<20 - 1},
	monitor.UtilizationPercent:       shareSpan,
	monitor.MemoryUtilizationPercent: shareSpan,
	monitor.EncoderPercent:           shareSpan,
	monitor.DecoderPercent:           shareSpan,
	monitor.JPEGPercent:              shareSpan,
	monitor.OFAPercent:               shareSpan,
	monitor.SMActivePercent:          shareSpan,
	monitor.SMOccupancyPercent:       shareSpan,
	monitor.TensorActivePercent:      shareSpan,
	monitor.DRAMActivePercent:        shareSpan,
	monitor.MemoryTotalBytes:         {1, memorySpan.high},
	monitor.MemoryUsedBytes:          memorySpan,
	monitor.MemoryFreeBytes:          memorySpan,
	monitor.MemoryReservedBytes:      memorySpan,
	monitor.TemperatureC:             dieSpan,
	monitor.TemperatureMemoryC:       dieSpan,
	monitor.TemperatureSlowdownC:     limitSpan,
	monitor.TemperatureMarginC:       marginSpan,
	monitor.FanPercent:               fanSpan,
	monitor.PowerMW:                  powerSpan,
	monitor.PowerInstantMW:           powerSpan,
	monitor.PowerLimitMW:             powerMaxSpan,
	monitor.PowerLimitDefaultMW:      powerMaxSpan,
	monitor.EnergyJoules:             energySpan,
	monitor.ClockGraphicsMHz:         clockSpan,
	monitor.ClockSMMHz:               clockSpan,
	monitor.ClockMemoryMHz:           clockSpan,
	monitor.ClockVideoMHz:            clockSpan,
	monitor.ClockGraphicsMaxMHz:      clockMaxSpan,
	monitor.ClockMemoryMaxMHz:        clockMaxSpan,
	monitor.PerformanceState:         {0, 15},
	monitor.ThrottleReasons:          {0, math.MaxUint32},
	monitor.PersistenceMode:          flagSpan,
	monitor.ComputeMode:              wordSpan,
	monitor.PCIeGeneration:           {1, 12},
	monitor.PCIeGenerationMax:        {1, 12},
	monitor.PCIeWidth:                {1, 32},
	monitor.PCIeWidthMax:             {1, 32},
	monitor.PCIeTxBytesPerSecond:     linkRateSpan,
	monitor.PCIeRxBytesPerSecond:     linkRateSpan,
	monitor.PCIeReplays:              {0, math.MaxInt32},
	monitor.NVLinkTxBytesPerSecond:   nvlinkSpan,
	monitor.NVLinkRxBytesPerSecond:   nvlinkSpan,
	monitor.NVLinkLinksActive:        {0, maxLinks},
	monitor.NVLinkErrors:             countSpan,
	monitor.NVLinkReplays:            countSpan,
	monitor.NVLinkRecoveries:         countSpan,
	monitor.FabricState:              wordSpan,
	monitor.ECCEnabled:               flagSpan,
	monitor.ECCPending:               flagSpan,
	monitor.ECCUncorrectedVolatile:   countSpan,
	monitor.ECCCorrectedVolatile:     countSpan,
	monitor.ECCUncorrectedAggregate:  countSpan,
	monitor.ECCCorrectedAggregate:    countSpan,
	monitor.RetiredPages:             {0, 1e6},
	monitor.RetiredPagesPending:      flagSpan,
	monitor.RowsRemapped:             {0, 1e6},
	monitor.RowsRemapPending:         flagSpan,
	monitor.RowsRemapFailed:          flagSpan,
	monitor.RecoveryAction:           wordSpan,
	monitor.MIGEnabled:               flagSpan,
}

// celsius is a temperature. A driver that has none says -1, all ones, which a
// GPU is for a moment at most.
func celsius(v int) monitor.Reading {
	if v == -1 {
		return monitor.Unknown(monitor.Implausible)
	}
	return monitor.OfFloat(float64(v))
}

// number is a reading of a number.
func number[T uint32 | int | float64](v T) monitor.Reading { return monitor.OfFloat(float64(v)) }

// allOnes says of a byte counter, which may count in KiB, that it counts
// nothing.
func allOnes(v uint64) bool {
	return v == math.MaxUint32 || v == math.MaxUint32<<10 || v == math.MaxUint64 || v == math.MaxUint64<<10&math.MaxUint64
}

// instanceID is the number of a MIG instance, None where it can be none.
func instanceID(v uint32) int {
	if v > 255 {
		return monitor.None
	}
	return int(v)
}
