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
	{"spark-details", 100, 90, false, spark, details},
	{"spark-pcie", 80, 14, false, spark, func(v *View, _ *monitor.Snapshot) { v.Graph = GraphPCIe }},
	{"carve-out", 80, 24, false, carveOut, nil},
	{"carve-out-details", 100, 40, false, carveOut, details},
	{"carve-out-process", 100, 12, false, carveOut, func(v *View, _ *monitor.Snapshot) {
		v.Details, v.Process = OfProcess, ProcessID{PID: 2210, Start: -1}
	}},
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
		if m.name != "spark-pcie" && strings.Contains(f.String(), "PCIe") {
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
	g.DriverModel, g.Sources = "wddm", []string{"nvml", "wddm"}
	g.Readings[monitor.MemoryUsedBytes], g.Readings[monitor.MemoryTotalBytes] = monitor.OfInt(1<<30), monitor.OfInt(8128<<20)
	g.Adapter = &monitor.Adapter{monitor.OfInt(8128 << 20), monitor.OfInt(1200 << 20), monitor.OfInt(45 << 30), monitor.OfInt(3 << 30)}
	snap.Platform.Kind = "unknown"
	user(snap, 2210, monitor.Graphics, "game.exe", 900<<20)
	g.Processes[0].NonLocalBytes = monitor.OfInt(2500 << 20)
}

// row returns the first row of a picture that has the text in it, from there to
// the next wall.
func row(f *ansi.Frame, text string) string {
	for _, r := range rowsOf(f) {
		if i := strings.Index(r, text); i >= 0 {
			part, _, _ := strings.Cut(r[i:], "│")
			return strings.TrimRight(part, " ")
		}
	}
	return ""
}

// The row of the memory keeps what fits beside its name.
func TestMemoryRowFits(t *testing.T) {
	for _, tt := range []struct {
		module      func(*monitor.Snapshot)
		used, total float64 // GiB
		start, want string
	}{
		{thor, 25.7, 122.8, "VRAM", "VRAM (shared) 21% 25.7 / 122.8 GiB"},
		{thor, 0, 122.8, "VRAM", "VRAM (shared)   0% 0.0 / 122.8 GiB"},
		{thor, 101.2, 122.8, "VRAM", "VRAM (shared) 82%  101.2/122.8 GiB"},
		{thor, 122.8, 122.8, "VRAM", "VRAM (shared) 100% 122.8/122.8 GiB"},
		{thor, 25.7, 1228.8, "VRAM", "VRAM (shared)  2%  25.7/1228.8 GiB"},
		{thor, 1025.7, 1228.8, "VRAM", "VRAM (shared)    1025.7/1228.8 GiB"},
		{orin, 3.9, 61.4, "Shared", "Shared   6%         3.9 / 61.4 GiB"},
		{orin, 1025.7, 1228.8, "Shared", "Shared  83%    1025.7 / 1228.8 GiB"},
		{carveOut, 1, 7.9, "carve", "carve-out  13%       1.0 / 7.9 GiB"},
	} {
		f := onScreen(t, 80, 24, Options{}, tt.module, func(v *View, snap *monitor.Snapshot) {
			g := &snap.GPUs[0]
			v.Graph = GraphPower // whose label is not that of the memory
			v.ShowProcesses = false
			g.Readings[monitor.MemoryUsedBytes], g.Readings[monitor.MemoryTotalBytes] = monitor.OfFloat(tt.used*gib), monitor.OfFloat(tt.total*gib)
		})
		got := ""
		for _, r := range rowsOf(f) {
			if i := strings.Index(r, "│ "+tt.start); i > 0 {
				got = strings.TrimSuffix(r[i+len("│ "):], " │")
			}
		}
		if got != tt.want {
			t.Errorf("%v of %v GiB: %q, want %q\n%s", tt.used, tt.total, got, tt.want, f)
		}
	}
}

// What the host uses is never taken for what the GPU uses.
func TestHostInUseIsNotTheGPUs(t *testing.T) {
	f := onScreen(t, 80, 24, Options{}, denied(orin), nil)
	if got := row(f, "host in use"); got != "host in use 6.0 / 61.4 GiB" {
		t.Errorf("%q in\n%s", got, f)
	}
	if s := f.String(); strings.Contains(s, "Shared") || strings.Contains(s, "unified memory") {
		t.Errorf("a figure that there is not:\n%s", f)
	}
	f = onScreen(t, 80, 24, Options{}, denied(orin), func(_ *View, snap *monitor.Snapshot) {
		snap.Host.MemoryAvailableBytes = monitor.Unknown(monitor.NotFound)
	})
	if got := row(f, "Shared"); got != "Shared    -           - / 61.4 GiB" {
		t.Errorf("nothing known of the host: %q in\n%s", got, f)
	}
	// In the list there is no room for it.
	f = onScreen(t, 80, 24, Options{}, denied(orin), func(v *View, _ *monitor.Snapshot) { v.Mode = List })
	if s := f.String(); !strings.Contains(s, " -     -/61.4 ") || strings.Contains(s, "6.0/") {
		t.Errorf("the list has\n%s", f)
	}
}

// The rail of the GPU stands on the edge, unless the driver has measured
// something else.
func TestRailOnTheEdge(t *testing.T) {
	edge := func(change func(*monitor.Snapshot)) (top, rails string) {
		f := onScreen(t, 80, 24, Options{}, thor, func(_ *View, snap *monitor.Snapshot) { change(snap) })
		return rowsOf(f)[1], row(f, "VIN")
	}
	for _, tt := range []struct {
		what       string
		change     func(*monitor.Snapshot)
		top, rails string
	}{
		{"the same figure", func(*monitor.Snapshot) {}, "│ VDD_GPU 18.4 W ─", "VIN 61.0 W   VDD_CPU_SOC 9.2 W"},
		{"no figure of the driver", func(snap *monitor.Snapshot) {
			snap.GPUs[0].Readings[monitor.PowerMW] = monitor.Unknown(monitor.NotSupported)
		}, "│ VDD_GPU 18.4 W ─", "VIN 61.0 W   VDD_CPU_SOC 9.2 W"},
		{"another figure", func(snap *monitor.Snapshot) {
			snap.GPUs[0].Readings[monitor.PowerMW] = monitor.OfFloat(21300)
		}, "│  21 W ─", "VIN 61.0 W   VDD_GPU 18.4 W"},
		{"an unknown rail", func(snap *monitor.Snapshot) {
			snap.GPUs[0].Readings[monitor.PowerMW] = monitor.Unknown(monitor.NotSupported)
			snap.Platform.Parts[0].Readings[monitor.RailPower] = monitor.Unknown(monitor.Asleep)
		}, "│ VDD_GPU - W ─", "VIN 61.0 W   VDD_CPU_SOC 9.2 W"},
		{"no rail of its own", func(snap *monitor.Snapshot) {
			snap.GPUs[0].Readings[monitor.PowerMW] = monitor.Unknown(monitor.NotSupported)
			snap.Platform.Parts[0].Scope = "shared"
		}, "│ module 61.0 W ─", "VIN 61.0 W   VDD_GPU 18.4 W"},
	} {
		if top, rails := edge(tt.change); !strings.Contains(top, tt.top) || rails != tt.rails {
			t.Errorf("%s: %s\n%s", tt.what, top, rails)
		}
	}
}

// A label as long as one may be does not touch what its rail feeds.
func TestALongLabelInTheDetails(t *testing.T) {
	f := onScreen(t, 100, 50, Options{}, thor, func(v *View, snap *monitor.Snapshot) {
		details(v, snap)
		snap.Platform.Parts[0].Name = strings.Repeat("LONG_", 5)
		snap.Platform.Parts[0].Readings[monitor.RailPower] = monitor.OfFloat(118400)
	})
	if got := row(f, "LONG_"); !strings.Contains(got, "… 118.4 W the GPU alone") {
		t.Error(got)
	}
}

// More rows show more of the module, and what does not fit is counted.
func TestModuleRowsByHeight(t *testing.T) {
	snap := newMachine(t, demo.Options{GPUs: 1}).next()
	orin(snap)
	s := New(Options{})
	s.snap, s.v = snap, &View{}
	for rows, want := range []string{
		"",
		"avail 55.3 GiB  (host and GPU)",
		"avail 55.3 GiB  (host and GPU)|VDD_GPU_SOC 2.4 W  +3",
		"avail 55.3 GiB  (host and GPU)|VDD_GPU_SOC 2.4 W  +3|NVENC 716 MHz  VIC 435 MHz  +6",
		"avail 55.3 GiB  (host and GPU)|VDD_GPU_SOC 2.4 W  +3|NVENC 716 MHz  VIC 435 MHz  +6|EMC 2133 MHz 41%",
		"avail 55.3 GiB  (host and GPU)|VDD_GPU_SOC 2.4 W|VDD_CPU_CV 0.8 W  +2|NVENC 716 MHz  VIC 435 MHz  +6|EMC 2133 MHz 41%",
	} {
		var got []string
		s.moduleRows(&snap.GPUs[0], rows, func(l *line) {
			f := ansi.NewFrame(statsWidth, 1)
			l.drawCut(f, 0, 0, statsWidth)
			got = append(got, rowsOf(f)[0])
		})
		if g := strings.Join(got, "|"); g != want {
			t.Errorf("%d rows: %s\nwant %s", rows, g, want)
		}
	}
}

// An engine says what is known of it, and where nothing is, the details say why.
func TestEngines(t *testing.T) {
	e := func(on, clock, load monitor.Reading) monitor.Part {
		return monitor.Part{Kind: monitor.Engine, Name: "NVENC", Readings: [3]monitor.Reading{on, clock, load}}
	}
	on, off, mhz, load, none := monitor.OfFlag(true), monitor.OfFlag(false), monitor.OfFloat(716), monitor.OfFloat(34), monitor.Unknown(monitor.NoPermission)
	for want, part := range map[string]monitor.Part{
		"NVENC 716 MHz": e(on, mhz, none), "NVENC 34%": e(on, mhz, load), "NVENC off": e(off, mhz, none), "NVENC on": e(on, none, none), "": e(none, none, none),
	} {
		alone := func(snap *monitor.Snapshot) {
			orin(snap)
			snap.Platform.Parts = []monitor.Part{part}
		}
		if got := row(onScreen(t, 80, 24, Options{}, alone, nil), "NVENC"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		f := onScreen(t, 100, 90, Options{}, alone, details)
		if got := strings.Contains(f.String(), "NVENC: no permission"); got != (want == "") {
			t.Errorf("%q: reason given: %v\n%s", want, got, f)
		}
		if want == "NVENC 34%" && !strings.Contains(f.String(), "│ engines    NVENC 716 MHz 34% ") {
			t.Errorf("details:\n%s", f)
		}
	}
}

// The name of the module is the first to go as the window gets narrow.
func TestModelInTheHeader(t *testing.T) {
	for _, tt := range []struct {
		width int
		want  string
	}{{160, "  NVIDIA Jetson AGX Orin Developer Kit   JetPack"}, {138, "  Jetson AGX Orin Developer Kit   JetPack"}, {124, "   Jetson AGX…   JetPack"}, {112, "12:05:31         JetPack"}, {99, "JetPack"}} {
		first := rowsOf(onScreen(t, tt.width, 24, Options{Version: "0.1"}, orin, nil))[0]
		if !strings.Contains(first, tt.want) || strings.Contains(first, "Jetson") != strings.Contains(tt.want, "Jetson") ||
			!strings.HasSuffix(first, "   JetPack 6.2.1  L4T 36.4.4  MAXN   1s") || tt.width >= hostFrom && !strings.Contains(first, "RAM 6.0/61 GiB") {
			t.Errorf("%d columns: %s", tt.width, first)
		}
	}
}

// The note about the memory leaves what else is to be said its room.
func TestUnifiedNoteGivesWay(t *testing.T) {
	last := func(width int, change func(*View, *monitor.Snapshot)) string {
		rows := rowsOf(onScreen(t, width, 14, Options{}, thor, change))
		return rows[len(rows)-1]
	}
	const note = "unified memory: used = sum of GPU processes"
	for _, tt := range []struct {
		what   string
		width  int
		change func(*View, *monitor.Snapshot)
		begins string
	}{
		{"nothing else to say", 80, nil, " " + note + "  "},
		{"wide", 120, nil, " 1 process  sorted by GPU MEM ↓   " + note + "  "},
		{"narrow", 58, nil, " 1 process  sorted by GPU MEM ↓  "},
		{"a filter", 80, func(v *View, _ *monitor.Snapshot) { v.Choice.Text = "ollama" }, " 1 process of 1  sorted"},
		{"processes out of sight", 80, func(_ *View, snap *monitor.Snapshot) {
			for range 9 {
				snap.GPUs[0].Processes = append(snap.GPUs[0].Processes, snap.GPUs[0].Processes[0])
			}
		}, " 1-"},
		{"no table", 80, func(v *View, _ *monitor.Snapshot) { v.ShowProcesses = false }, " " + note + "  "},
		{"an alarm", 80, func(_ *View, snap *monitor.Snapshot) {
			snap.GPUs[0].Health = []monitor.Health{{Code: "some", Level: monitor.Warn, Text: "too hot"}}
		}, " GPU 0: too hot  "},
		{"the call that hangs longest", 80, func(_ *View, snap *monitor.Snapshot) {
			hung := func(i int, st monitor.State, call string, d time.Duration) monitor.GPU {
				g := snap.GPUs[0]
				g.Index, g.State, g.Call, g.CallSince = i, st, call, snap.Steady-int64(d)
				return g
			}
			snap.GPUs = []monitor.GPU{
				hung(0, monitor.OK, "nvmlDeviceGetName", 20*time.Second), // it answers nevertheless
				hung(1, monitor.Stale, "nvmlDeviceGetFieldValues", 300*time.Millisecond),
				hung(2, monitor.Stale, "nvmlDeviceGetMemoryInfo_v2", 7*time.Second),
				hung(3, monitor.Initialising, "nvmlDeviceGetUUID", 15*time.Second),
			}
		}, " GPU 3: nvmlDeviceGetUUID has not returned for 15 s"},
	} {
		if got := last(tt.width, tt.change); !strings.HasPrefix(got, tt.begins) || !strings.Contains(got, "q quit  h help") {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.begins)
		}
	}
}

// A module is drawn without allocating too.
func TestNoAllocationPerFrameOfAModule(t *testing.T) {
	fm := newFilm(t, 1, 120, 40)
	for _, snap := range fm.snaps {
		uuid := snap.GPUs[0].UUID
		orin(snap)
		snap.GPUs[0].UUID = uuid // without one its key is made anew each time
	}
	for _, mode := range []Mode{Auto, Numbers, List} {
		fm.v.Mode = mode
		fm.step(t)
		if n := testing.AllocsPerRun(100, func() { fm.step(t) }); n != 0 {
			t.Errorf("%v: %v allocations a frame", mode, n)
		}
	}
}
