package monitor

import "math"

// Range is from what to what something can be, both ends included.
type Range struct{ Low, High float64 }

// Check returns r, or that it is implausible when its value lies outside. All
// ones of 32 bits, a driver's way to say nothing, are no value of anything.
func (in Range) Check(r Reading) Reading {
	if v, ok := r.Float(); ok && (v < in.Low || v > in.High || v == math.MaxUint32) {
		return Unknown(Implausible)
	}
	return r
}

// What the GPUs of today and of the next years can show, with room to spare:
// what lies outside was never measured.
var (
	ShareRange    = Range{0, 100}
	FanRange      = Range{0, 300} // of the nominal speed, which a fan can exceed
	RPMRange      = Range{0, 60_000}
	dieRange      = Range{-55, 200} // a cold start is below 0
	limitRange    = Range{1, 200}
	marginRange   = Range{-150, 250} // negative when it is too hot
	powerRange    = Range{0, 10e6}
	powerMaxRange = Range{1000, 10e6}
	energyRange   = Range{0, 1e13} // 30 years of 10 kW
	clockRange    = Range{0, 50_000}
	clockMaxRange = Range{1, 50_000}
	MemoryRange   = Range{0, 1 << 50}
	linkRateRange = Range{0, 2e12}
	nvlinkRange   = Range{0, 2e13}
	countRange    = Range{0, 1e15}
	wordRange     = Range{0, 99} // drivers add words
	flagRange     = Range{0, 1}
	coresRange    = Range{0, 1e6} // percent of one core
)

// ranges are what the readings can be.
var ranges = [NumReadings]Range{
	Minor:                    {0, 1<<20 - 1},
	UtilizationPercent:       ShareRange,
	MemoryUtilizationPercent: ShareRange,
	EncoderPercent:           ShareRange,
	DecoderPercent:           ShareRange,
	JPEGPercent:              ShareRange,
	OFAPercent:               ShareRange,
	SMActivePercent:          ShareRange,
	SMOccupancyPercent:       ShareRange,
	TensorActivePercent:      ShareRange,
	DRAMActivePercent:        ShareRange,
	MemoryTotalBytes:         {1, MemoryRange.High},
	MemoryUsedBytes:          MemoryRange,
	MemoryFreeBytes:          MemoryRange,
	MemoryReservedBytes:      MemoryRange,
	TemperatureC:             dieRange,
	TemperatureMemoryC:       dieRange,
	TemperatureSlowdownC:     limitRange,
	TemperatureMarginC:       marginRange,
	FanPercent:               FanRange,
	PowerMW:                  powerRange,
	PowerInstantMW:           powerRange,
	PowerLimitMW:             powerMaxRange,
	PowerLimitDefaultMW:      powerMaxRange,
	EnergyJoules:             energyRange,
	ClockGraphicsMHz:         clockRange,
	ClockSMMHz:               clockRange,
	ClockMemoryMHz:           clockRange,
	ClockVideoMHz:            clockRange,
	ClockGraphicsMaxMHz:      clockMaxRange,
	ClockMemoryMaxMHz:        clockMaxRange,
	PerformanceState:         {0, 15},
	ThrottleReasons:          {0, math.MaxUint32},
	PersistenceMode:          flagRange,
	ComputeMode:              wordRange,
	PCIeGeneration:           {1, 12},
	PCIeGenerationMax:        {1, 12},
	PCIeWidth:                {1, 32},
	PCIeWidthMax:             {1, 32},
	PCIeTxBytesPerSecond:     linkRateRange,
	PCIeRxBytesPerSecond:     linkRateRange,
	PCIeReplays:              {0, math.MaxInt32},
	NVLinkTxBytesPerSecond:   nvlinkRange,
	NVLinkRxBytesPerSecond:   nvlinkRange,
	NVLinkLinksActive:        {0, 64},
	NVLinkErrors:             countRange,
	NVLinkReplays:            countRange,
	NVLinkRecoveries:         countRange,
	FabricState:              wordRange,
	ECCEnabled:               flagRange,
	ECCPending:               flagRange,
	ECCUncorrectedVolatile:   countRange,
	ECCCorrectedVolatile:     countRange,
	ECCUncorrectedAggregate:  countRange,
	ECCCorrectedAggregate:    countRange,
	RetiredPages:             {0, 1e6},
	RetiredPagesPending:      flagRange,
	RowsRemapped:             {0, 1e6},
	RowsRemapPending:         flagRange,
	RowsRemapFailed:          flagRange,
	RecoveryAction:           wordRange,
	MIGEnabled:               flagRange,
}

// Range returns what a reading can be.
func (id ReadingID) Range() Range { return ranges[id] }

// Doubt makes implausible what cannot be true of a snapshot that comes from a file.
func (s *Snapshot) Doubt() {
	check := func(r *Reading, in Range) {
		if r.Known() && r.Err.Name() == "" { // else it may be a word without a number
			*r = in.Check(*r)
		}
	}
	check(&s.Host.CPUPercent, ShareRange)
	check(&s.Host.MemoryTotalBytes, MemoryRange)
	check(&s.Host.MemoryAvailableBytes, MemoryRange)
	for i := range s.GPUs {
		s.GPUs[i].doubt(check)
		for j := range s.GPUs[i].MIG {
			s.GPUs[i].MIG[j].doubt(check)
		}
	}
}

func (g *GPU) doubt(check func(r *Reading, in Range)) {
	for id := range NumReadings {
		check(&g.Readings[id], id.Range())
	}
	if g.Adapter != nil {
		for i := range g.Adapter {
			check(&g.Adapter[i], MemoryRange)
		}
	}
	for i := range g.Fans {
		f := &g.Fans[i]
		check(&f.Percent, FanRange)
		check(&f.RPM, RPMRange)
		check(&f.TargetPercent, FanRange)
	}
	for i := range g.Processes {
		p := &g.Processes[i]
		check(&p.GPUMemoryBytes, MemoryRange)
		check(&p.NonLocalBytes, MemoryRange)
		check(&p.SMPercent, ShareRange)
		check(&p.EncoderPercent, ShareRange)
		check(&p.DecoderPercent, ShareRange)
		check(&p.CPUPercent, coresRange)
		check(&p.HostMemoryBytes, MemoryRange)
	}
}
