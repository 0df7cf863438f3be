package demo

import (
	"fmt"
	"math"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// What the machine has for each of its GPUs, and what its system uses.
const (
	coresPerGPU  = 32
	memoryPerGPU = 128 * gib
	systemCores  = 1.5
	systemMemory = 9 * gib
)

// Host is the machine around the simulated GPUs.
type Host struct{ source *Source }

// Host returns the machine around the GPUs.
func (s *Source) Host() *Host { return &Host{s} }

// Read returns what the machine does now: what its processes and its system use.
func (h *Host) Read() monitor.Host {
	s := h.source
	at := s.now()
	t := seconds(at)
	cores := systemCores * (0.5 + noise(s.seed+11, t/3))
	used := int64(systemMemory * (0.97 + 0.06*noise(s.seed+12, t/40)))
	for _, c := range s.cards {
		load := c.load(t, s.step)
		for i := range c.tasks {
			if ok, _, _ := c.tasks[i].running(t); ok {
				cores += c.tasks[i].cpuPercent(t, load) / 100
				used += c.tasks[i].host
			}
		}
	}
	n := len(s.cards)
	total := int64(n) * memoryPerGPU
	return monitor.Host{
		Hostname:             monitor.OfText("demo"),
		OS:                   "linux",
		Arch:                 "amd64",
		BootID:               monitor.OfText(fmt.Sprintf("de300000-0000-4000-8000-%012x", hash(s.seed, 2)&0xffffffffffff)),
		CPUPercent:           monitor.OfFloat(math.Round(clamp(100*cores/float64(n*coresPerGPU), 0, 100)*10) / 10),
		MemoryTotalBytes:     monitor.OfInt(total),
		MemoryAvailableBytes: monitor.OfInt(max(total-used, 0)),
		HugePagesTotalBytes:  monitor.OfInt(0),
		HugePagesFreeBytes:   monitor.OfInt(0),
	}
}

// Platform returns a server that says that it is a demo.
func (h *Host) Platform() monitor.Platform {
	none := monitor.UnknownText(monitor.NotSupported)
	return monitor.Platform{
		Kind: host.Server, Model: monitor.OfText("demo"), SoC: none, L4T: none, JetPack: none, PowerMode: none,
		Governor: none, EMCMHz: monitor.Unknown(monitor.NotSupported), EMCPercent: monitor.Unknown(monitor.NotSupported),
	}
}
