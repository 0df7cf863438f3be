// Package demo is a simulated machine: a source of made-up readings for
// --demo and for tests. What it says depends only on its options and on the
// time, so that two runs at the same moment agree, and everything it names
// says that it is a demo.
package demo

import (
	"fmt"
	"math"
	"time"

	"nvtop-lite/monitor"
)

// Options choose the machine. The zero value is a machine of four GPUs: three
// H100, one of them on half of its PCIe lanes, and a desktop card.
type Options struct {
	Seed      uint64
	GPUs      int          // how many; 0 is 4, and at most 256
	Processes int          // made-up processes per GPU; 0 is those that fit the machine, below 0 none
	Step      float64      // above 0: every load is a random walk with steps of this standard deviation, in percent, on H100s
	Now       func() int64 // the clock, ns since 1970; nil is the machine's
}

// Source is the simulated machine.
type Source struct {
	cards []*card
	seed  uint64
	step  float64
	now   func() int64
}

// maxGPUs is the largest machine.
const maxGPUs = 256

// week is how long the counters go on, in ns: each begins anew on Thursdays.
const week = int64(7 * 24 * time.Hour)

// New returns the simulated machine. Numbers of GPUs out of range are moved
// into it.
func New(o Options) *Source {
	if o.GPUs <= 0 {
		o.GPUs = 4
	}
	o.GPUs = min(o.GPUs, maxGPUs)
	now := o.Now
	if now == nil {
		start := time.Now()
		now = func() int64 { return start.Add(time.Since(start)).UnixNano() }
	}
	return &Source{cards: build(o), seed: o.Seed, step: o.Step, now: now}
}

// Name returns "demo".
func (s *Source) Name() string { return "demo" }

// Open does nothing.
func (s *Source) Open() error { return nil }

// Close does nothing.
func (s *Source) Close() {}

// LocalPIDs returns false: the processes are made up.
func (s *Source) LocalPIDs() bool { return false }

// Driver describes a driver that does not exist.
func (s *Source) Driver() monitor.Driver {
	return monitor.Driver{
		Version:     monitor.OfText("580.95.05-demo"),
		CUDAVersion: monitor.OfText("13.0"),
		NVMLVersion: monitor.OfText("13.580.95.05-demo"),
		Library:     monitor.OfText("demo"),
	}
}

// Devices lists the simulated GPUs.
func (s *Source) Devices() ([]monitor.Device, error) {
	list := make([]monitor.Device, len(s.cards))
	for i := range list {
		list[i] = monitor.Device{Key: fmt.Sprintf("demo-%d", i), Index: i}
	}
	return list, nil
}

// Read makes up the readings of one GPU.
func (s *Source) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	if d.Index < 0 || d.Index >= len(s.cards) {
		sink.State(monitor.Unavailable, monitor.NotFound, "no such GPU in the demo", monitor.CallError{})
		return
	}
	c := s.cards[d.Index]
	at := s.now()
	m := c.moment(at, s.step)
	sink.Begin(want)
	sink.Identity(c.identity())
	sink.State(monitor.OK, monitor.Known, "", monitor.CallError{})
	for id := range monitor.NumReadings {
		if want.Has(id) {
			sink.Reading(id, c.reading(id, &m))
		}
	}
	// Energy grows by the power of each moment.
	if want.Has(monitor.EnergyJoules) {
		sink.Reading(monitor.EnergyJoules, monitor.OfFloat(c.energy(at, m.watts)))
	}
	read := monitor.Status{Reason: monitor.Known}
	if want.HasGroup(monitor.GroupFans) {
		fans, st := c.fans(&m)
		sink.Fans(fans, st)
	}
	if want.HasGroup(monitor.GroupXIDs) {
		sink.XIDs([]monitor.XID{}, read)
	}
	if want.HasGroup(monitor.GroupMIG) {
		sink.MIG(c.instances(&m, want.HasGroup(monitor.GroupProcessLoad)), read)
	}
	if want.HasGroup(monitor.GroupProcesses) || want.HasGroup(monitor.GroupProcessLoad) {
		sink.Processes(c.processes(&m, monitor.None, want.HasGroup(monitor.GroupProcessLoad)), read)
	}
}

func (c *card) identity() monitor.Identity {
	h := hash(c.seed, 1)
	id := monitor.Identity{
		Index:             c.index,
		UUID:              monitor.OfText(fmt.Sprintf("GPU-de300000-%04x-%04x-%04x-%012x", h>>48, h>>32&0xffff, c.index, h&0xffffffffffff)),
		PCIBusID:          monitor.OfText(fmt.Sprintf("0000%04X:%02X:00.0", c.index/128, 1+c.index%128)),
		Name:              monitor.OfText(c.name),
		Architecture:      monitor.OfText(c.arch),
		Serial:            monitor.UnknownText(monitor.NotSupported),
		GPUInstanceID:     monitor.None,
		ComputeInstanceID: monitor.None,
	}
	if c.datacenter {
		id.Serial = monitor.OfText(fmt.Sprintf("DEMO%06d", h%1000000))
	}
	return id
}

// moment is what a card does at one time.
type moment struct {
	at      int64
	t       float64 // seconds
	step    float64
	load    float64
	watts   float64
	capped  bool
	celsius float64
	used    int64 // bytes
}

// seconds is the time in seconds: part of it alone, since fractions of large
// numbers lose digits.
func seconds(at int64) float64 { return math.Mod(float64(at/int64(time.Millisecond))/1000, 1<<24) }

func (c *card) moment(at int64, step float64) moment {
	t := seconds(at)
	m := moment{at: at, t: t, step: step, load: c.load(t, step)}
	m.watts, m.capped = c.powered(m.load)
	m.celsius = c.heat(t, step)
	for i := range c.tasks {
		if ok, _, _ := c.tasks[i].running(t); ok {
			m.used += c.tasks[i].bytes(t)
		}
	}
	return m
}

func (c *card) reading(id monitor.ReadingID, m *moment) monitor.Reading {
	busy := m.load / 100
	whole := func(v float64) monitor.Reading { return monitor.OfFloat(math.RoundToEven(v)) }
	tenth := func(v float64) monitor.Reading { return monitor.OfFloat(math.RoundToEven(v*10) / 10) }
	none := monitor.Unknown(monitor.NotSupported)
	gpm := func(v float64) monitor.Reading {
		if !c.datacenter {
			return none
		}
		return tenth(clamp(v, 0, 100))
	}
	ecc := func(r monitor.Reading) monitor.Reading {
		if !c.datacenter {
			return none
		}
		return r
	}
	engine := func(share float64) monitor.Reading {
		if c.job != game {
			return whole(0)
		}
		return whole(100 * share * (0.6 + 0.4*noise(c.seed+8, m.t/5)))
	}
	reserved := int64(float64(c.memory) * 0.007)
	lanes := c.laneGB * 1e9 * float64(c.width)
	switch id {
	case monitor.Minor:
		return monitor.OfInt(int64(c.index))
	case monitor.UtilizationPercent:
		if c.job == sliced {
			return none
		}
		return whole(m.load)
	case monitor.MemoryUtilizationPercent:
		if c.job == sliced {
			return none
		}
		return whole(m.load * 0.55)
	case monitor.EncoderPercent:
		return engine(0.24)
	case monitor.DecoderPercent:
		return engine(0.06)
	case monitor.JPEGPercent, monitor.OFAPercent:
		return whole(0)
	case monitor.SMActivePercent:
		return gpm(m.load * (0.86 + 0.06*noise(c.seed+2, m.t/4)))
	case monitor.SMOccupancyPercent:
		return gpm(m.load * (0.3 + 0.05*noise(c.seed+3, m.t/4)))
	case monitor.TensorActivePercent:
		share := 0.15
		if c.job == training || c.job == walking {
			share = 0.55
		}
		return gpm(m.load * (share + 0.08*noise(c.seed+4, m.t/4)))
	case monitor.DRAMActivePercent:
		return gpm(m.load * (0.42 + 0.08*noise(c.seed+6, m.t/4)))
	case monitor.MemoryTotalBytes:
		return monitor.OfInt(c.memory)
	case monitor.MemoryUsedBytes:
		return monitor.OfInt(m.used)
	case monitor.MemoryFreeBytes:
		return monitor.OfInt(max(c.memory-m.used-reserved, 0))
	case monitor.MemoryReservedBytes:
		return monitor.OfInt(reserved)
	case monitor.TemperatureC:
		return whole(m.celsius)
	case monitor.TemperatureMemoryC:
		if !c.datacenter {
			return none
		}
		return whole(m.celsius + 6)
	case monitor.TemperatureSlowdownC:
		return monitor.OfFloat(c.slowdownC)
	case monitor.TemperatureMarginC:
		return whole(c.slowdownC - 2 - m.celsius)
	case monitor.FanPercent:
		if c.datacenter {
			return none
		}
		return whole(c.fan(m))
	case monitor.PowerMW, monitor.PowerInstantMW:
		return monitor.OfFloat(math.Round(m.watts * 1000))
	case monitor.PowerLimitMW, monitor.PowerLimitDefaultMW:
		return monitor.OfFloat(c.limitW * 1000)
	case monitor.ClockGraphicsMHz, monitor.ClockSMMHz:
		return whole(c.clock(m))
	case monitor.ClockMemoryMHz:
		return monitor.OfFloat(c.memoryClock)
	case monitor.ClockVideoMHz:
		return whole(c.clock(m) * 0.84)
	case monitor.ClockGraphicsMaxMHz:
		return monitor.OfFloat(c.graphics)
	case monitor.ClockMemoryMaxMHz:
		return monitor.OfFloat(c.memoryClock)
	case monitor.PerformanceState:
		if m.load == 0 && !c.datacenter {
			return monitor.OfInt(8)
		}
		return monitor.OfInt(0)
	case monitor.ThrottleReasons:
		switch {
		case m.load == 0:
			return monitor.OfMask(monitor.ThrottleIdle)
		case m.capped:
			return monitor.OfMask(monitor.ThrottleSWPowerCap)
		}
		return monitor.OfMask(0)
	case monitor.PersistenceMode:
		return monitor.OfFlag(true)
	case monitor.ComputeMode:
		return monitor.OfWord(0)
	case monitor.PCIeGeneration, monitor.PCIeGenerationMax:
		return monitor.OfInt(c.generation)
	case monitor.PCIeWidth:
		return monitor.OfInt(c.width)
	case monitor.PCIeWidthMax:
		return monitor.OfInt(16)
	case monitor.PCIeRxBytesPerSecond:
		return monitor.OfFloat(math.Round(lanes * busy * (0.1 + 0.3*noise(c.seed+9, m.t/3))))
	case monitor.PCIeTxBytesPerSecond:
		return monitor.OfFloat(math.Round(lanes * busy * (0.04 + 0.15*noise(c.seed+10, m.t/3))))
	case monitor.PCIeReplays:
		return monitor.OfInt(0)
	case monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond:
		if c.links == 0 {
			return none
		}
		return monitor.OfFloat(math.Round(c.linkGB * 1e9 * busy * (0.3 + 0.2*noise(c.seed+uint64(id), m.t/3))))
	case monitor.NVLinkLinksActive:
		if c.links == 0 {
			return none
		}
		return monitor.OfInt(c.links)
	case monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries:
		if c.links == 0 {
			return none
		}
		return monitor.OfInt(0)
	case monitor.FabricState:
		if c.links == 0 {
			return none
		}
		return monitor.OfWord(3)
	case monitor.ECCEnabled:
		return ecc(monitor.OfFlag(true))
	case monitor.ECCPending:
		return ecc(monitor.OfFlag(false))
	case monitor.ECCUncorrectedVolatile, monitor.ECCCorrectedVolatile, monitor.ECCUncorrectedAggregate:
		return ecc(monitor.OfInt(0))
	case monitor.ECCCorrectedAggregate:
		return ecc(monitor.OfInt(int64(c.seed % 3)))
	case monitor.RetiredPages, monitor.RetiredPagesPending:
		return none // rows are remapped instead
	case monitor.RowsRemapped:
		return ecc(monitor.OfInt(0))
	case monitor.RowsRemapPending, monitor.RowsRemapFailed:
		return ecc(monitor.OfFlag(false))
	case monitor.RecoveryAction:
		return monitor.OfWord(0)
	case monitor.MIGEnabled:
		if !c.datacenter {
			return none
		}
		return monitor.OfFlag(c.job == sliced)
	}
	return none
}

func (c *card) clock(m *moment) float64 {
	switch {
	case m.load == 0 && c.datacenter:
		return 345
	case m.load == 0:
		return 210
	case m.capped:
		return math.Round((c.graphics-150-80*noise(c.seed+7, m.t/4))/15) * 15
	}
	return c.graphics
}

func (c *card) fan(m *moment) float64 { return clamp((m.celsius-40)*2.1, 0, 100) }

func (c *card) fans(m *moment) ([]monitor.Fan, monitor.Status) {
	if c.datacenter {
		return nil, monitor.Status{Reason: monitor.NotSupported}
	}
	fans := make([]monitor.Fan, 2)
	for i := range fans {
		speed := monitor.OfFloat(math.RoundToEven(c.fan(m)))
		fans[i] = monitor.Fan{Index: i, Percent: speed, TargetPercent: speed, RPM: monitor.OfFloat(math.RoundToEven(c.fan(m) * 31))}
	}
	return fans, monitor.Status{Reason: monitor.Known}
}

// energy is the energy used by now in joules; it never falls, nor is it lower in a
// later run: what was not seen counts with all the power that there may be.
func (c *card) energy(at int64, watts float64) float64 {
	const nsPerSecond = 1e9
	switch {
	case c.energyAt == 0:
		c.energyJ = c.limitW * float64(at%week) / nsPerSecond
	case at > c.energyAt:
		c.energyJ += watts * float64(at-c.energyAt) / nsPerSecond
	}
	c.energyAt = max(at, c.energyAt)
	return math.Round(c.energyJ*1000) / 1000
}

// instances are the MIG instances with their processes.
func (c *card) instances(m *moment, load bool) []monitor.GPU {
	list := make([]monitor.GPU, 0, len(c.parts))
	for _, p := range c.parts {
		g := monitor.GPU{Identity: c.identity(), State: monitor.OK, Sources: []string{"demo"}}
		h := hash(c.seed, uint64(p.gi))
		g.ParentUUID = g.UUID.Value
		g.UUID = monitor.OfText(fmt.Sprintf("MIG-de300000-%04x-%04x-%04x-%012x", h>>48, h>>32&0xffff, p.gi, h&0xffffffffffff))
		g.Name = monitor.OfText(c.name + " MIG " + p.profile)
		g.Profile, g.GPUInstanceID, g.ComputeInstanceID = p.profile, p.gi, p.ci
		for id := range monitor.NumReadings {
			g.Readings[id] = monitor.Unknown(monitor.NotSupported)
		}
		var used int64
		busy := 0.0
		for i := range c.tasks {
			if ok, _, _ := c.tasks[i].running(m.t); ok && c.tasks[i].slice == p.gi {
				used += c.tasks[i].bytes(m.t)
				busy = clamp(m.load*(0.5+noise(h, m.t/6)), 0, 100)
			}
		}
		reserved := p.memory / 100
		g.Readings[monitor.MemoryTotalBytes] = monitor.OfInt(p.memory)
		g.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(used)
		g.Readings[monitor.MemoryReservedBytes] = monitor.OfInt(reserved)
		g.Readings[monitor.MemoryFreeBytes] = monitor.OfInt(max(p.memory-used-reserved, 0))
		g.Readings[monitor.SMActivePercent] = monitor.OfFloat(math.RoundToEven(busy*10) / 10)
		g.Readings[monitor.TensorActivePercent] = monitor.OfFloat(math.RoundToEven(busy*2) / 10)
		g.Processes, g.ProcStatus = c.processes(m, p.gi, load), monitor.Status{Reason: monitor.Known}
		list = append(list, g)
	}
	return list
}

// processes are those of one MIG instance, or with None those without one.
func (c *card) processes(m *moment, instance int, load bool) []monitor.Process {
	list := make([]monitor.Process, 0, len(c.tasks))
	for i := range c.tasks {
		k := &c.tasks[i]
		ok, run, age := k.running(m.t)
		if !ok || k.slice != instance {
			continue
		}
		// In whole milliseconds, so that it is the same at each reading.
		start := (m.at/int64(time.Millisecond) - int64(math.Round(age*1000))) * int64(time.Millisecond)
		p := monitor.Process{
			PID:               k.pid + uint32(run%61),
			Types:             k.types,
			GPUInstanceID:     k.slice,
			ComputeInstanceID: monitor.None,
			GPUMemoryBytes:    monitor.OfInt(k.bytes(m.t)),
			StartTicks:        monitor.OfInt(start / int64(10*time.Millisecond)),
			StartTime:         monitor.OfInt(start),
			Name:              monitor.OfText(k.name),
			Command:           monitor.OfText(k.command),
			User:              monitor.OfText(k.user),
			CPUPercent:        monitor.OfFloat(k.cpuPercent(m.t, m.load)),
			HostMemoryBytes:   monitor.OfInt(k.host),
			Container:         monitor.Container{Reason: monitor.Known},
			Job:               monitor.Job{Reason: monitor.Known},
			Unit:              monitor.OfText(""),
		}
		if k.slice != monitor.None {
			p.ComputeInstanceID = 0
		}
		if k.job != "" {
			p.Job.Scheduler, p.Job.ID = "slurm", k.job
		}
		if load {
			p.SMPercent = monitor.OfFloat(math.RoundToEven(m.load * k.share * 0.9))
			p.EncoderPercent, p.DecoderPercent = monitor.OfFloat(0), monitor.OfFloat(0)
			if k.encodes {
				p.EncoderPercent = c.reading(monitor.EncoderPercent, m)
				p.DecoderPercent = c.reading(monitor.DecoderPercent, m)
			}
			if c.job == sliced {
				none := monitor.Unknown(monitor.NotSupported)
				p.SMPercent, p.EncoderPercent, p.DecoderPercent = none, none, none
			}
		}
		list = append(list, p)
	}
	return list
}
