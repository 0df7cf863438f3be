package screen

import (
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// modules are machines whose GPU shares the host's memory, in views of them.
var modules = []struct {
	name   string
	w, h   int
	ascii  bool
	module func(*monitor.Snapshot)
	view   func(*View, *monitor.Snapshot)
}{
	{"thor", 80, 20, false, thor, nil},
	{"thor-tall", 80, 24, true, thor, nil},
	{"thor-details", 100, 50, false, thor, details},
	{"thor-no-list", 80, 20, false, denied(thor), nil},
	{"orin", 80, 24, false, orin, nil},
	{"orin-small", 80, 14, false, orin, nil},
	{"orin-wide", 120, 40, false, orin, nil},
	{"orin-list", 140, 12, false, orin, func(v *View, _ *monitor.Snapshot) { v.Mode = List }},
	{"orin-numbers", 120, 24, false, orin, func(v *View, _ *monitor.Snapshot) { v.Mode = Numbers }},
	{"orin-details", 80, 70, false, orin, details},
	{"orin-no-memory", 80, 24, false, denied(orin), nil},
	{"orin-no-memory-list", 80, 10, false, denied(orin), func(v *View, _ *monitor.Snapshot) { v.Mode = List }},
	{"orin-nano", 80, 24, false, orinNano, nil},
	{"spark", 80, 24, false, spark, nil},
	{"spark-numbers", 80, 24, false, spark, func(v *View, _ *monitor.Snapshot) { v.Mode = Numbers }},
	{"spark-pcie", 80, 14, false, spark, func(v *View, _ *monitor.Snapshot) { v.Graph = GraphPCIe }},
	{"carve-out", 80, 24, false, carveOut, nil},
	{"carve-out-details", 100, 40, false, carveOut, details},
}

func details(v *View, snap *monitor.Snapshot) { v.Details, v.GPU = OfGPU, monitor.Key(&snap.GPUs[0]) }

// denied is a module of whose processes and memory nothing can be read.
func denied(module func(*monitor.Snapshot)) func(*monitor.Snapshot) {
	return func(snap *monitor.Snapshot) {
		module(snap)
		g := &snap.GPUs[0]
		g.Readings[monitor.MemoryUsedBytes] = monitor.Unknown(monitor.NoPermission)
		g.Processes, g.ProcStatus = nil, monitor.Status{Reason: monitor.NoPermission}
	}
}

// onScreen runs a machine whose load goes up and down, and draws it.
func onScreen(t *testing.T, w, h int, o Options, module func(*monitor.Snapshot), change func(*View, *monitor.Snapshot)) *ansi.Frame {
	t.Helper()
	m := newMachine(t, demo.Options{GPUs: 1})
	hist := monitor.NewHistory(100)
	var snap *monitor.Snapshot
	for range 60 {
		snap = m.next()
		load := snap.GPUs[0].Readings[monitor.UtilizationPercent]
		if module(snap); snap.Steady != epoch.Add(time.Minute).UnixNano() {
			snap.GPUs[0].Readings[monitor.UtilizationPercent] = load
		}
		hist.Add(snap)
	}
	v := view(snap)
	if change != nil {
		change(v, snap)
	}
	return draw(w, h, o, snap, hist, v)
}

func TestModules(t *testing.T) {
	for _, m := range modules {
		f := onScreen(t, m.w, m.h, Options{Version: "0.1", ASCII: m.ascii, User: "ollama"}, m.module, m.view)
		golden(t, "module-"+m.name, f.String())
		if m.view == nil && strings.Contains(f.String(), "PCIe") {
			t.Errorf("%s: an integrated GPU has no PCIe:\n%s", m.name, f)
		}
	}
}

// onModule makes the first GPU one that has nothing but what is given, on a
// module with the given parts.
func onModule(snap *monitor.Snapshot, name string, sources []string, known map[monitor.ReadingID]float64, parts ...monitor.Part) *monitor.GPU {
	g := &snap.GPUs[0]
	for id := range g.Readings {
		g.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	for id, v := range known {
		g.Readings[id] = monitor.OfFloat(v)
	}
	g.Name, g.Sources, g.Integrated, g.MemoryUnified = monitor.OfText(name), sources, true, true
	g.Fans, g.MIG, g.Health = nil, nil, nil
	none := monitor.UnknownText(monitor.NotSupported)
	g.Serial, g.Architecture = none, none
	snap.Platform = monitor.Platform{
		Kind: "jetson", Model: none, SoC: none, L4T: none, JetPack: none, PowerMode: none, Governor: none,
		EMCMHz: monitor.Unknown(monitor.NotSupported), EMCPercent: monitor.Unknown(monitor.NotSupported), Parts: parts,
	}
	return g
}

// host sets how much memory the machine has, and has left, in kB.
func host(snap *monitor.Snapshot, name string, total, available int64) {
	snap.Host.Hostname = monitor.OfText(name)
	snap.Host.MemoryTotalBytes, snap.Host.MemoryAvailableBytes = monitor.OfInt(total<<10), monitor.OfInt(available<<10)
	snap.GPUs[0].Readings[monitor.MemoryTotalBytes] = monitor.OfInt(total << 10)
}

func rail(name, scope string, mw float64) monitor.Part {
	return monitor.Part{Kind: monitor.Rail, Name: name, Scope: scope, Readings: [3]monitor.Reading{monitor.OfFloat(mw)}}
}

// engine returns one that is off where its clock is 0.
func engine(name string, mhz float64) monitor.Part {
	return monitor.Part{Kind: monitor.Engine, Name: name, Readings: [3]monitor.Reading{monitor.OfFlag(mhz > 0), monitor.OfFloat(mhz), monitor.Unknown(monitor.NotSupported)}}
}

func counted(kind monitor.PartKind, name string, n int64) monitor.Part {
	return monitor.Part{Kind: kind, Name: name, Readings: [3]monitor.Reading{monitor.OfInt(n)}}
}

// user makes a process the only one of the first GPU.
func user(snap *monitor.Snapshot, pid uint32, types monitor.ProcessTypes, name string, bytes float64) {
	snap.GPUs[0].Processes = []monitor.Process{{
		PID: pid, Types: types, GPUInstanceID: monitor.None, GPUMemoryBytes: monitor.OfFloat(bytes),
		Name: monitor.OfText(name), Command: monitor.OfText(name + " run"), User: monitor.OfText("ollama"),
		CPUPercent: monitor.OfFloat(31), HostMemoryBytes: monitor.OfFloat(1.5 * gib), StartTime: monitor.OfInt(snap.Time.Add(-14 * time.Minute).UnixNano()),
	}}
	snap.GPUs[0].ProcStatus = monitor.Status{Reason: monitor.Known}
}

// thor is a Jetson AGX Thor as in the pictures, with a driver that measures the
// GPU's own rail.
func thor(snap *monitor.Snapshot) {
	g := onModule(snap, "NVIDIA Thor", []string{"nvml", "tegra"}, map[monitor.ReadingID]float64{
		monitor.UtilizationPercent: 97, monitor.TemperatureC: 52, monitor.ClockGraphicsMHz: 1575, monitor.ClockGraphicsMaxMHz: 1575,
		monitor.PowerMW: 18400, monitor.MemoryUsedBytes: 25.7 * gib,
	},
		rail("VDD_GPU", "gpu", 18400), rail("VIN", "input", 61000), rail("VDD_CPU_SOC", "shared", 9200),
		monitor.Part{Kind: monitor.Engine, Name: "NVENC", Readings: [3]monitor.Reading{monitor.OfFlag(true), monitor.Unknown(monitor.NoPermission), monitor.OfFloat(34)}},
		counted(monitor.ThrottleAlert, "cpu-throttle-alert", 0), counted(monitor.ThrottleAlert, "gpu-throttle-alert", 1),
	)
	host(snap, "thor", 128765133, 92379546)
	p := &snap.Platform
	p.Model, p.SoC = monitor.OfText("NVIDIA Jetson AGX Thor Developer Kit"), monitor.OfText("tegra264")
	p.L4T, p.JetPack, p.PowerMode, p.Governor = monitor.OfText("39.2"), monitor.OfText("7.2"), monitor.OfText("MAXN"), monitor.OfText("nvhost_podgov")
	p.EMCMHz = monitor.OfFloat(4266)
	g.Fans = []monitor.Fan{{Percent: monitor.OfFloat(31), RPM: monitor.OfInt(1840), TargetPercent: monitor.OfFloat(30)}}
	user(snap, 4211, monitor.Compute|monitor.Graphics, "ollama", 25.7*gib)
	g.Processes[0].SMPercent = monitor.OfFloat(95)
}

// orin is a Jetson AGX Orin, read as root.
func orin(snap *monitor.Snapshot) {
	onModule(snap, "Orin (nvgpu)", []string{"tegra", "nvml"}, map[monitor.ReadingID]float64{
		monitor.UtilizationPercent: 34.5, monitor.TemperatureC: 47.625, monitor.ClockGraphicsMHz: 1300.5, monitor.ClockGraphicsMaxMHz: 1300.5,
		monitor.MemoryUsedBytes: 4041996 << 10, monitor.FanPercent: 31,
	},
		rail("VDD_GPU_SOC", "shared", 2395.2), rail("VDD_CPU_CV", "shared", 798.1), rail("VIN_SYS_5V0", "shared", 3617.3), rail("VDDQ_VDD2_1V8AO", "shared", 998.8),
		engine("NVDEC", 0), engine("NVENC", 716), engine("NVJPG", 0), engine("OFA", 0), engine("VIC", 435.2), engine("DLA0", 0), engine("PVA0", 0), engine("SE", 473.6),
		monitor.Part{Kind: monitor.Engine, Name: "APE", Readings: [3]monitor.Reading{
			monitor.Unknown(monitor.NoPermission), monitor.Unknown(monitor.NoPermission), monitor.Unknown(monitor.NotSupported)}},
		counted(monitor.ThrottleAlert, "soctherm-throttle-alert", 0),
		counted(monitor.OverCurrent, "oc1", 0), counted(monitor.OverCurrent, "oc3", 12),
	)
	host(snap, "orin", 64349140, 58012344)
	p := &snap.Platform
	p.Model, p.SoC = monitor.OfText("NVIDIA Jetson AGX Orin Developer Kit"), monitor.OfText("tegra234")
	p.L4T, p.JetPack, p.PowerMode, p.Governor = monitor.OfText("36.4.4"), monitor.OfText("6.2.1"), monitor.OfText("MAXN"), monitor.OfText("nvhost_podgov")
	p.EMCMHz, p.EMCPercent = monitor.OfFloat(2133), monitor.OfFloat(41)
	snap.GPUs[0].UUID, snap.GPUs[0].PCIBusID = monitor.UnknownText(monitor.NotSupported), monitor.UnknownText(monitor.NotSupported)
	user(snap, 8123, 0, "python3", 3986636<<10)
}

// orinNano is a Jetson Orin Nano, read by an ordinary user.
func orinNano(snap *monitor.Snapshot) {
	onModule(snap, "Orin (nvgpu)", []string{"tegra", "nvml"}, map[monitor.ReadingID]float64{
		monitor.UtilizationPercent: 0, monitor.TemperatureC: 45.2, monitor.ClockGraphicsMHz: 306, monitor.ClockGraphicsMaxMHz: 1020,
		monitor.MemoryUsedBytes: 412032 << 10,
	}, rail("VDD_IN", "input", 6020.7), rail("VDD_CPU_GPU_CV", "shared", 995.2), rail("VDD_SOC", "shared", 1552.5))
	host(snap, "nano", 7802164, 5312004)
	p := &snap.Platform
	p.Model, p.SoC = monitor.OfText("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"), monitor.OfText("tegra234")
	p.L4T, p.JetPack, p.PowerMode = monitor.OfText("36.4.3"), monitor.OfText("6.2"), monitor.OfText("MAXN_SUPER")
	snap.GPUs[0].Processes, snap.GPUs[0].ProcStatus = nil, monitor.Status{Reason: monitor.NoPermission}
}

// spark is a DGX Spark that has set memory aside for huge pages.
func spark(snap *monitor.Snapshot) {
	onModule(snap, "NVIDIA GB10", []string{"nvml"}, map[monitor.ReadingID]float64{
		monitor.UtilizationPercent: 12, monitor.TemperatureC: 35, monitor.ClockGraphicsMHz: 2418, monitor.PowerMW: 11170,
		monitor.MemoryUsedBytes: 61 << 20, monitor.PerformanceState: 0,
		monitor.PCIeGeneration: 1, monitor.PCIeGenerationMax: 1, monitor.PCIeWidth: 1, monitor.PCIeWidthMax: 16,
		monitor.PCIeRxBytesPerSecond: 0, monitor.PCIeTxBytesPerSecond: 0,
	})
	host(snap, "spark", 127600748, 92379546)
	snap.Host.HugePagesTotalBytes, snap.Host.HugePagesFreeBytes = monitor.OfInt(32*gib), monitor.OfInt(16*gib)
	snap.Platform.Kind, snap.Platform.Model = "spark", monitor.OfText("NVIDIA_DGX_Spark")
	user(snap, 2210, monitor.Graphics, "gnome-shell", 61<<20)
}

// carveOut is a GPU of a Windows on ARM that has a part of the host's memory to
// itself.
func carveOut(snap *monitor.Snapshot) {
	g := onModule(snap, "NVIDIA RTX Spark N1X", []string{"nvml"}, map[monitor.ReadingID]float64{
		monitor.UtilizationPercent: 12, monitor.TemperatureC: 35, monitor.ClockGraphicsMHz: 2418, monitor.PowerMW: 11170,
	})
	host(snap, "n1x", 64<<20, 40<<20)
	g.MemoryUnified = false
	g.Readings[monitor.MemoryUsedBytes], g.Readings[monitor.MemoryTotalBytes] = monitor.OfInt(1<<30), monitor.OfInt(8128<<20)
	snap.Platform.Kind = "unknown"
	user(snap, 2210, monitor.Graphics, "game.exe", 900<<20)
}
