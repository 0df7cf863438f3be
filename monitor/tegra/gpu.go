package tegra

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// gpu reads the integrated GPU from files. It belongs to one goroutine at a
// time.
type gpu struct {
	root   host.Root
	looked time.Time // when it was looked for the files
	found  bool      // its devfreq folder is there
	values [len(filled)]value
	fans   [][3]value
	gated  time.Time // until then its temperature is not read: it has no power
}

// filled are the readings that files may give. The last may take long.
var filled = [...]monitor.ReadingID{
	monitor.UtilizationPercent, monitor.ClockGraphicsMHz, monitor.ClockGraphicsMaxMHz,
	monitor.EncoderPercent, monitor.DecoderPercent, monitor.TemperatureC,
}

// devfreqFilled is how many of them come from devfreq.
const devfreqFilled = 3

// indexOf is where a reading stands in filled, -1 for one that is not there.
func indexOf(id monitor.ReadingID) int {
	for i, f := range filled {
		if f == id {
			return i
		}
	}
	return -1
}

// loads are where nvgpu tells its load outside of devfreq.
var loads = []string{
	"/sys/devices/gpu.0/load", "/sys/devices/platform/gpu.0/load",
	"/sys/devices/platform/17000000.gpu/load", "/sys/devices/platform/bus@0/17000000.gpu/load",
}

// look finds out which files there are. A node may appear late.
func (g *gpu) look(now time.Time) {
	if age := now.Sub(g.looked); age < readEvery || age < lookEvery && g.found {
		return
	}
	g.looked = now
	entries := nodesOf(g.root)
	entry := entries.gpu()
	load := entry + "/device/load"
	if entry == "" && g.root.Exists(thorGPU) {
		entry = thorGPU
	}
	g.found = entry != ""
	for _, path := range loads {
		if !g.root.Exists(load) {
			load = path
		}
	}
	g.values = [...]value{
		{path: load, form: tenths}, {path: in(entry, "/cur_freq"), form: hertz}, {path: in(entry, "/max_freq"), form: hertz},
		{path: entries.find("nvenc", "/device/load"), form: tenths}, {path: entries.find("nvdec", "/device/load"), form: tenths},
		{path: in(findZone(g.root), "/temp"), form: milliGrade},
	}
	g.fans = fansOf(g.root)
}

// in is a file in a folder, "" where there is no such folder.
func in(folder, file string) string {
	if folder == "" {
		return ""
	}
	return folder + file
}

// read reads number i of filled. While the GPU has no power every look at its
// temperature takes long and fails, so that it is not looked again at once.
func (g *gpu) read(i int, now time.Time) monitor.Reading {
	hot := filled[i] == monitor.TemperatureC
	if hot && now.Before(g.gated) {
		return monitor.Unknown(monitor.Asleep)
	}
	r := filled[i].Range().Check(g.values[i].read(g.root))
	if hot && r.Reason == monitor.Asleep {
		g.gated = now.Add(lookEvery)
	}
	return r
}

// give gives a sink number i of filled, where it is wanted.
func (g *gpu) give(i int, want monitor.Want, sink monitor.Sink, now time.Time) {
	id := filled[i]
	if !want.Has(id) {
		return
	}
	sink.Begin(monitor.Of(id))
	r := g.read(i, now)
	if !g.found && r.Reason == monitor.NotSupported && i < devfreqFilled {
		r.Reason = monitor.NotFound // yet
	}
	sink.Reading(id, r)
}

// cool tells a sink of the fans.
func (g *gpu) cool(want monitor.Want, sink monitor.Sink) {
	if !want.Has(monitor.FanPercent) && !want.HasGroup(monitor.GroupFans) {
		return
	}
	sink.Begin(monitor.Of(monitor.FanPercent).With(monitor.GroupFans))
	list := make([]monitor.Fan, len(g.fans))
	percent := notSupported
	for i := range list {
		f := &g.fans[i]
		list[i] = monitor.Fan{Index: i, Percent: f[0].read(g.root), RPM: monitor.RPMRange.Check(f[1].read(g.root)), TargetPercent: f[2].read(g.root)}
		percent = list[0].Percent
	}
	sink.Reading(monitor.FanPercent, percent)
	sink.Fans(list, known)
}

var known = monitor.Status{Reason: monitor.Known}

// readAll reads all that is known of a GPU without NVML.
func (g *gpu) readAll(want monitor.Want, sink monitor.Sink, now time.Time) {
	g.look(now)
	sink.State(monitor.OK, monitor.Known, "", monitor.CallError{})
	for id := range monitor.NumReadings { // of the others nothing is known
		if want.Has(id) && indexOf(id) < 0 {
			sink.Reading(id, notSupported)
		}
	}
	none := monitor.Status{Reason: monitor.NotSupported}
	sink.XIDs(nil, none)
	sink.MIG(nil, none)
	last := len(filled) - 1
	for i := range last {
		g.give(i, want, sink, now)
	}
	g.memory(want, sink)
	g.cool(want, sink)
	g.give(last, want, sink, now)
	sink.Begin(monitor.Want{})
}

// UsedKey is the line of /proc/meminfo that tells what nvmap gave out. Kernels of
// L4T 38 and later lack it.
const UsedKey = "NvMapMemUsed"

// memory reads what the GPU and other devices have of the machine's memory.
func (g *gpu) memory(want monitor.Want, sink monitor.Sink) {
	processes := want.HasGroup(monitor.GroupProcesses) || want.HasGroup(monitor.GroupProcessLoad)
	ids := monitor.Of(monitor.MemoryUsedBytes, monitor.MemoryTotalBytes)
	if !processes && want.Readings&ids.Readings == 0 {
		return
	}
	sink.Begin(ids.With(monitor.GroupProcesses, monitor.GroupProcessLoad))
	total, used := host.TwoOfMeminfo(string(g.root), "MemTotal", UsedKey)
	whole := monitor.MemoryRange
	total = monitor.MemoryTotalBytes.Range().Check(total)
	if v, ok := total.Float(); ok {
		whole.High = v
	}
	sink.Reading(monitor.MemoryTotalBytes, total)
	if used.Known() && !processes {
		sink.Reading(monitor.MemoryUsedBytes, whole.Check(used))
		return
	}
	table := readNVMap(g.root)
	if !used.Known() {
		used = table.total
	}
	sink.Reading(monitor.MemoryUsedBytes, whole.Check(used))
	for i := range table.processes {
		p := &table.processes[i]
		p.GPUMemoryBytes = whole.Check(p.GPUMemoryBytes)
	}
	sink.Processes(table.processes, table.status)
}
