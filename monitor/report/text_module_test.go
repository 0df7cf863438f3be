package report

import (
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

// onModule is a snapshot of one GPU that shares the memory of the host, on a
// module with the given parts.
func onModule(name string, sources []string, totalKB, availableKB int64, used monitor.Reading, parts ...monitor.Part) *monitor.Snapshot {
	s := rich()
	s.Warnings, s.GPUs = nil, s.GPUs[:1]
	g := &s.GPUs[0]
	for id := range g.Readings {
		g.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	g.Name, g.Integrated, g.MemoryUnified, g.Sources, g.Health = monitor.OfText(name), true, true, sources, nil
	g.Readings[monitor.UtilizationPercent], g.Readings[monitor.TemperatureC] = monitor.OfFloat(34.5), monitor.OfFloat(47.625)
	g.Readings[monitor.MemoryTotalBytes], g.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(totalKB<<10), used
	s.Host.MemoryTotalBytes, s.Host.MemoryAvailableBytes = monitor.OfInt(totalKB<<10), monitor.OfInt(availableKB<<10)
	s.Host.HugePagesTotalBytes, s.Host.HugePagesFreeBytes = monitor.OfInt(0), monitor.OfInt(0)
	s.Platform = monitor.Platform{Kind: "jetson", Parts: parts}
	g.Processes = g.Processes[:1]
	return s
}

func part(kind monitor.PartKind, name, scope string, readings ...monitor.Reading) monitor.Part {
	p := monitor.Part{Kind: kind, Name: name, Scope: scope}
	copy(p.Readings[:], readings)
	return p
}

// orin is a Jetson AGX Orin, some of whose engines cannot be read.
func orin() *monitor.Snapshot {
	s := onModule("Orin (nvgpu)", []string{"tegra", "nvml"}, 64349140, 58012344, monitor.OfInt(4041996<<10),
		part(monitor.Rail, "VDD_GPU_SOC", "shared", monitor.OfFloat(2395.2)), part(monitor.Rail, "VIN_SYS_5V0", "shared", monitor.OfFloat(3617.3)),
		part(monitor.Rail, "VDDQ_VDD2_1V8AO", "shared", monitor.Unknown(monitor.Timeout)),
		part(monitor.Engine, "NVENC", "", monitor.OfFlag(true), monitor.OfFloat(716.8)), part(monitor.Engine, "NVDEC", "", monitor.OfFlag(false), monitor.OfFloat(0)),
		part(monitor.Engine, "VIC", "", monitor.OfFlag(true)), part(monitor.Engine, "SE", "", monitor.OfFlag(true), monitor.OfFloat(473.6), monitor.OfFloat(12)),
		part(monitor.Engine, "APE", "", monitor.Unknown(monitor.NoPermission)), part(monitor.OverCurrent, "oc1", "", monitor.OfInt(3)))
	p := &s.Platform
	p.Model, p.SoC, p.Governor = monitor.OfText("NVIDIA Jetson AGX Orin Developer Kit"), monitor.OfText("tegra234"), monitor.OfText("nvhost_podgov")
	p.JetPack, p.L4T, p.PowerMode = monitor.OfText("6.2.1"), monitor.OfText("36.4.4"), monitor.OfText("MAXN")
	p.EMCMHz, p.EMCPercent = monitor.OfFloat(2133), monitor.OfFloat(41)
	s.GPUs[0].Processes[0].Types = 0
	return s
}

func thor() *monitor.Snapshot {
	s := onModule("NVIDIA Thor", []string{"nvml", "tegra"}, 128765133, 92379546, monitor.Unknown(monitor.NoPermission),
		part(monitor.Rail, "VDD_GPU", "gpu", monitor.OfFloat(18400)), part(monitor.Rail, "VIN", "input", monitor.OfFloat(61000)))
	s.Platform.L4T, s.Platform.JetPack = monitor.OfText("39.2"), monitor.OfText("7.2")
	s.GPUs[0].Processes, s.GPUs[0].ProcStatus = nil, monitor.Status{Reason: monitor.NoPermission}
	return s
}

func TestTextOfModules(t *testing.T) {
	golden(t, "orin.txt", AppendText(nil, orin(), plain))
	golden(t, "thor.txt", AppendText(nil, thor(), with(func(o *TextOptions) { o.Width = 120 })))
	spark := onModule("NVIDIA GB10", []string{"nvml"}, 127600748, 92379546, monitor.OfInt(61<<20))
	spark.Host.HugePagesTotalBytes, spark.Host.HugePagesFreeBytes = monitor.OfInt(32<<30), monitor.OfInt(16<<30)
	spark.Platform.Model = monitor.OfText("NVIDIA_DGX_Spark")
	golden(t, "spark.txt", AppendText(nil, spark, with(func(o *TextOptions) { o.ASCII, o.Choice.None = true, true })))
}

// A part of the host's memory that the GPU has to itself is not unified; a GPU of
// which nothing is known is neither.
func TestTextOfACarveOut(t *testing.T) {
	s := onModule("NVIDIA RTX Spark N1X", []string{"nvml"}, 8128<<10, 0, monitor.OfInt(1<<30))
	g := &s.GPUs[0]
	g.MemoryUnified = false
	if got := string(AppendText(nil, s, plain)); !strings.Contains(got, "\n GPU 0: carve-out 1.0/7.9 GiB\n") || strings.Contains(got, "host in use") {
		t.Errorf("got\n%s", got)
	}
	g.Adapter = &monitor.Adapter{monitor.SharedTotal: monitor.OfInt(45 << 30), monitor.SharedUsed: monitor.OfInt(3 << 30)}
	if got := string(AppendText(nil, s, plain)); !strings.Contains(got, "\n GPU 0: carve-out 1.0/7.9 GiB, shared 3.0/45.0 GiB\n") {
		t.Errorf("got\n%s", got)
	}
	g.Adapter = nil
	g.Readings[monitor.MemoryTotalBytes], g.Readings[monitor.MemoryUsedBytes] = monitor.Unknown(monitor.NotSupported), monitor.Unknown(monitor.NotSupported)
	if got := string(AppendText(nil, s, plain)); !strings.Contains(got, "\n GPU 0: memory - GiB\n") {
		t.Errorf("got\n%s", got)
	}
}

// A card in a server says nothing of modules, whatever is known of the machine.
func TestTextOfACardHasNoModule(t *testing.T) {
	s := rich()
	s.Platform = orin().Platform
	if got := string(AppendText(nil, s, plain)); strings.Contains(got, "Orin") || strings.Contains(got, "NVENC") {
		t.Errorf("got\n%s", got)
	}
}
