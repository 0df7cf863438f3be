package tegra

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// File is where something is read.
type File struct {
	Key  string // of the reading, or of a list, as in JSON
	Path string // the first, where it takes several
}

// files are a list of them.
type files []File

//go:noinline
func (list *files) add(key, path string) {
	if path != "" {
		*list = append(*list, File{key, path})
	}
}

// Files lists the files of a Jetson that tell of its GPU and of the module, but
// reads none of its sensors. nvgpu says that of the GPU they tell alone, else
// what NVML does not. What no file gives is not in the list, such as clocks of
// the GPU before nvgpu is ready.
func Files(root host.Root, soc string) (nvgpu bool, _ []File) {
	var list files
	g := gpu{root: root}
	g.look(time.Now())
	for i := range g.values {
		list.add(filled[i].String(), g.values[i].path)
	}
	if len(g.fans) > 0 {
		list.add(monitor.FanPercent.String(), g.fans[0][0].path)
		list.add("fans", g.fans[0][0].path)
	}
	if nvgpu = onNVGPU(root, soc) != nil; nvgpu {
		used := tables[0]
		list.add("processes", used)
		if host.Meminfo(string(root), UsedKey).Known() {
			used = meminfo
		}
		list.add(monitor.MemoryUsedBytes.String(), used)
		list.add(monitor.MemoryTotalBytes.String(), meminfo)
	}
	s := sensors{root: root}
	s.look(time.Time{})
	list.add("gpu_governor", s.governor)
	var seen [monitor.NumPartKinds]bool
	for i := range s.all {
		of := &s.all[i]
		path := of.values[0].path
		if of.kind == monitor.Engine { // others than the clock may be missing
			path = of.values[monitor.EngineClock].path
		}
		if !seen[of.kind] {
			seen[of.kind] = true
			list.add(of.kind.Info().Key, path)
		}
		if of.scope == "gpu" {
			list.add(monitor.PowerMW.String(), path)
		}
	}
	_, path := first(root, memoryClocks...)
	list.add("emc_mhz", path)
	_, path = first(root, memoryLoads...)
	list.add("emc_percent", path)
	return nvgpu, list
}

const meminfo = "/proc/meminfo"
