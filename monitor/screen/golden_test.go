package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// golden compares a picture with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	got += "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Checkouts may have turned the line ends.
	if w := strings.ReplaceAll(string(want), "\r\n", "\n"); got != w {
		t.Errorf("%s differs; go test -update writes it anew. Got:\n%s\nwant:\n%s", path, got, w)
	}
}

func TestGrid(t *testing.T) {
	for _, n := range []int{1, 2, 8, 16} {
		snap, hist := newMachine(t, demo.Options{GPUs: n}).after(200)
		for _, size := range [][2]int{{80, 24}, {120, 32}, {120, 24}, {200, 50}, {40, 10}, {20, 5}} {
			f := draw(size[0], size[1], Options{Version: "0.1"}, snap, hist, view(snap))
			golden(t, fmt.Sprintf("gpus-%02d-%dx%d", n, size[0], size[1]), f.String())
		}
	}
}

// state is a situation to be drawn.
type state struct {
	name   string
	gpus   int
	w, h   int
	ascii  bool
	change func(m *machine, snap *monitor.Snapshot, v *View)
}

func lose(m *machine, g *monitor.GPU) {
	g.State, g.StateReason, g.StateSince = monitor.Lost, "Xid 79", m.now-int64(14*time.Second)
	for id := range g.Readings {
		g.Readings[id] = monitor.Unknown(monitor.GPULost)
	}
	g.XIDs = []monitor.XID{{Time: m.now - int64(14*time.Second), Code: 79, Source: "kernel_log", GPUInstanceID: monitor.None}}
	g.Processes, g.ProcStatus = nil, monitor.Status{Reason: monitor.GPULost}
}

func stall(m *machine, g *monitor.GPU) {
	g.State, g.StateSince, g.Refreshed = monitor.Stale, m.now-int64(4*time.Second), m.now-int64(7*time.Second)
	g.Call, g.CallSince = "nvmlDeviceGetPowerUsage", m.now-int64(7*time.Second)
	g.Readings[monitor.PowerMW] = monitor.Unknown(monitor.Timeout)
}

var states = []state{
	{"lost-box", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { lose(m, &snap.GPUs[1]) }},
	{"lost-list", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		lose(m, &snap.GPUs[4])
		snap.GPUs[0].Readings[monitor.ThrottleReasons] = monitor.OfMask(monitor.ThrottleHWThermal | monitor.ThrottleHWSlowdown)
	}},
	{"lost-list-wide", 16, 120, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { lose(m, &snap.GPUs[11]) }},
	{"stale", 1, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { stall(m, &snap.GPUs[0]) }},
	{"stale-one-of-two", 2, 120, 32, false, func(m *machine, snap *monitor.Snapshot, v *View) { stall(m, &snap.GPUs[0]) }},
	{"stale-list", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { stall(m, &snap.GPUs[2]) }},
	{"silent", 4, 120, 32, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.SilentFor = 9 * time.Second }},
	{"opening-and-asleep", 8, 100, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		for i, st := range []monitor.State{monitor.Initialising, monitor.Sleeping, monitor.Unavailable, monitor.Unavailable} {
			lose(m, &snap.GPUs[i])
			g := &snap.GPUs[i]
			g.State, g.StateReason, g.XIDs, g.StateSince = st, "", nil, m.now-int64(4*time.Second)
		}
		snap.GPUs[2].Blocked = monitor.NoPermission
		snap.GPUs[3].StateReason = "in use by a virtual machine"
		snap.GPUs[3].Name = monitor.UnknownText(monitor.DriverError)
		snap.GPUs[0].Index = monitor.None
	}},
	{"opening-boxes", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		for i, st := range []monitor.State{monitor.Initialising, monitor.Sleeping} {
			g := &snap.GPUs[i]
			lose(m, g)
			g.State, g.StateReason, g.XIDs, g.StateSince = st, "", nil, m.now-int64(4*time.Second)
		}
	}},
	{"unknown", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		for i := range snap.GPUs {
			g := &snap.GPUs[i]
			for id := range g.Readings {
				g.Readings[id] = monitor.Unknown(monitor.NotSupported)
			}
			for j := range g.Processes {
				g.Processes[j] = monitor.Process{PID: g.Processes[j].PID, GPUInstanceID: monitor.None}
			}
		}
		snap.GPUs[1].Processes, snap.GPUs[1].ProcStatus = nil, monitor.Status{Reason: monitor.NoPermission}
		snap.Host = monitor.Host{}
		snap.Driver = monitor.Driver{}
	}},
	{"processes", 2, 120, 32, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		none := monitor.None
		snap.GPUs[0].Processes = []monitor.Process{
			{PID: 16523, Types: monitor.Compute, GPUInstanceID: none, GPUMemoryBytes: monitor.OfFloat(43.4 * gib), SMPercent: monitor.OfFloat(72),
				Name: monitor.OfText("train.py"), Command: monitor.OfText("python train.py --config big.yaml --resume last"), User: monitor.OfText("root"),
				CPUPercent: monitor.OfFloat(101), HostMemoryBytes: monitor.OfFloat(5.2 * gib), StartTime: monitor.OfInt(m.now - int64(134*time.Minute))},
			{PID: 20117, Types: monitor.Compute, GPUInstanceID: none, GPUMemoryBytes: monitor.OfFloat(3.2 * gib), SMPercent: monitor.OfFloat(14),
				Name: monitor.OfText("bench.py"), Command: monitor.OfText("./bench.py"), User: monitor.OfText("kim"),
				CPUPercent: monitor.OfFloat(98), HostMemoryBytes: monitor.OfFloat(1.1 * gib), StartTime: monitor.OfInt(m.now - int64(31*time.Second))},
		}
		snap.GPUs[1].Processes = []monitor.Process{
			{PID: 3310, Types: monitor.Compute | monitor.Graphics, GPUInstanceID: none, GPUMemoryBytes: monitor.OfFloat(8.8 * gib), SMPercent: monitor.OfFloat(2),
				EncoderPercent: monitor.OfFloat(7), DecoderPercent: monitor.OfFloat(0), Name: monitor.OfText("vllm"),
				Command: monitor.OfText("vllm serve some/model --and --very --many --options"), User: monitor.OfText("svc-llm"),
				CPUPercent: monitor.OfFloat(3), HostMemoryBytes: monitor.OfFloat(12.4 * gib), StartTime: monitor.OfInt(m.now - int64(147*time.Hour))},
			{PID: 31877, Types: monitor.Compute, GPUInstanceID: none, Namespace: monitor.NamespaceOutside},
		}
	}},
	{"many-processes", 2, 100, 26, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		for i := range snap.GPUs {
			g := &snap.GPUs[i]
			base := g.Processes[0]
			g.Processes = nil
			for j := range 40 {
				p := base
				p.PID = uint32(5000 + 100*i + j)
				p.GPUMemoryBytes = monitor.OfInt(int64(1+j) * gib / 2)
				p.User = monitor.OfText([]string{"kim", "ana", "svc-llm"}[j%3])
				g.Processes = append(g.Processes, p)
			}
		}
		v.ProcScroll = 3
	}},
	{"sorted-by-user", 4, 160, 50, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Choice.Sort, v.Choice.Reverse = monitor.ByUser, true
	}},
	{"no-processes", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.ShowProcesses = false }},
	{"mig-list", 8, 80, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode = List }},
	{"mig-boxes", 8, 160, 50, false, nil},
	{"scrolled-boxes", 16, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode, v.Scroll = Boxes, 3 }},
	{"scrolled-boxes-end", 15, 160, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode, v.Scroll = Boxes, 1000 }},
	{"scrolled-list", 64, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Scroll = 20 }},
	{"hidden", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Hidden = map[string]bool{monitor.Key(&snap.GPUs[0]): true, monitor.Key(&snap.GPUs[5]): true}
	}},
	{"paused-demo", 1, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Source, v.Paused, v.Now = "demo", true, v.Now.Add(75*time.Second)
	}},
	{"replay", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) { snap.Source = "replay" }},
	{"notice", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Notice = "interval 2s" }},
	{"help", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Help = true }},
	{"waiting", 0, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.GPUs, snap.Waiting, snap.WaitingHint = nil, "the NVIDIA kernel module is not loaded", "load it (modprobe nvidia) or install the driver"
		snap.Driver = monitor.Driver{}
	}},
	{"warning", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Warnings = []monitor.Warning{{Code: "in_process", Text: "the driver process cannot be started: a hanging driver may hold up the screen"}}
	}},
	{"ascii", 4, 100, 30, true, func(m *machine, snap *monitor.Snapshot, v *View) { lose(m, &snap.GPUs[1]) }},
	{"ascii-list", 16, 80, 24, true, nil},
	{"one-line", 8, 80, 1, false, nil},
	{"two-lines", 8, 80, 2, false, nil},
	{"three-lines", 8, 80, 3, false, nil},
	{"wide-names", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Host.Hostname = monitor.OfText("計算機\x1b[31m")
		for i := range snap.GPUs {
			for j := range snap.GPUs[i].Processes {
				p := &snap.GPUs[i].Processes[j]
				p.Name, p.User = monitor.OfText("訓練スクリプト.py"), monitor.OfText("café\u0301用戶")
				p.Command = monitor.OfText("python 訓練スクリプト.py \x1b]0;owned\x07 --名前 ピカチュウピカチュウピカチュウ")
			}
		}
	}},
	{"numbers", 2, 80, 30, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode = Numbers }},
	{"numbers-wide", 8, 200, 60, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode = Numbers }},
	{"numbers-scrolled", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode, v.Scroll = Numbers, 3 }},
	{"numbers-states", 4, 120, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Mode = Numbers
		stall(m, &snap.GPUs[0])
		lose(m, &snap.GPUs[2])
		snap.GPUs[3].Fans = []monitor.Fan{{Index: 0, Percent: monitor.OfInt(61), RPM: monitor.OfInt(1830)}, {Index: 1, Percent: monitor.OfInt(58)}}
	}},
	{"processes-alone", 8, 100, 20, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Mode, v.ShowProcesses = Processes, false }},
	{"processes-joined", 8, 100, 20, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Mode, v.Joined = Processes, true
		for _, i := range []int{1, 4, 7} { // one job on three GPUs that do not follow each other, and on two that do
			p := snap.GPUs[0].Processes[0]
			snap.GPUs[i].Processes = append(snap.GPUs[i].Processes[:len(snap.GPUs[i].Processes):len(snap.GPUs[i].Processes)], p)
		}
		p := snap.GPUs[2].Processes[0]
		p.GPUMemoryBytes = monitor.Unknown(monitor.NotSupported)
		snap.GPUs[3].Processes = append(snap.GPUs[3].Processes[:len(snap.GPUs[3].Processes):len(snap.GPUs[3].Processes)], p)
	}},
	{"selected-process", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Moved, v.Focus = 1, FocusProcesses }},
	{"selected-gpu", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Moved, v.Focus = 2, FocusGPUs }},
	{"filter-typed", 8, 100, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Mode, v.Typing, v.Choice.Text = List, true, "train"
	}},
	{"filter-kept", 8, 120, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Choice.Text, v.Choice.User = "train", "kim"
		for i := range snap.GPUs {
			snap.GPUs[i].Readings[monitor.PCIeWidth] = snap.GPUs[i].Readings[monitor.PCIeWidthMax]
			snap.GPUs[i].Health = nil
		}
		m.health = monitor.HealthTracker{}
	}},
	{"filter-nothing", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Choice.Text = "nobody has this" }},
	{"commands-shifted", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.ProcShift = 16 }},
	{"graph-sm", 2, 80, 18, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphSM }},
	{"graph-memory", 2, 120, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphMemory }},
	{"graph-power", 2, 80, 18, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphPower }},
	{"graph-pcie", 2, 80, 18, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphPCIe }},
	{"graph-nvlink", 2, 120, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphNVLink }},
	{"graph-nvlink-list", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph = GraphNVLink }},
	{"cursor", 2, 120, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Cursor = 17 }},
	{"cursor-pcie", 1, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Graph, v.Cursor = GraphPCIe, 5 }},
	{"folded", 8, 80, 30, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		for i := 1; i < 8; i++ {
			g := &snap.GPUs[i]
			lose(m, g)
			g.State, g.StateReason, g.XIDs, g.Blocked, g.MIG = monitor.Unavailable, "", nil, monitor.NoPermission, nil
		}
		snap.GPUs[5].StateReason = "in use by a virtual machine"
	}},
	{"gpu-details", 2, 100, 50, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Details, v.GPU = OfGPU, monitor.Key(&snap.GPUs[1])
		g := &snap.GPUs[1]
		g.Readings[monitor.FanPercent] = monitor.Failed(monitor.NotSupported, monitor.NewCallError("nvmlDeviceGetFanSpeed_v2", "NVML_ERROR_NOT_SUPPORTED", 3))
		g.XIDs = []monitor.XID{{Time: m.now - int64(26*time.Hour), Code: 13, Source: "kernel_log", GPUInstanceID: monitor.None}, {Time: m.now - int64(3*time.Minute), Code: 31, Source: "event", GPUInstanceID: monitor.None}}
	}},
	{"gpu-details-small", 2, 80, 16, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Details, v.GPU, v.DetailScroll = OfGPU, monitor.Key(&snap.GPUs[0]), 4
	}},
	{"gpu-details-stale", 1, 80, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		stall(m, &snap.GPUs[0])
		v.Details, v.GPU = OfGPU, monitor.Key(&snap.GPUs[0])
	}},
	{"gpu-details-mig", 8, 100, 50, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Details, v.GPU = OfGPU, monitor.Key(&snap.GPUs[6])
	}},
	{"gpu-details-lost", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		lose(m, &snap.GPUs[1])
		v.Details, v.GPU = OfGPU, monitor.Key(&snap.GPUs[1])
	}},
	{"process-details", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		p := &snap.GPUs[0].Processes[0]
		p.Command = monitor.OfText("python train.py --config big.yaml --resume last --a-very-long-option=with/a/long/value --and another --and-one-more " + strings.Repeat("x", 90))
		p.Container = monitor.Container{Reason: monitor.Known, Runtime: "docker", ID: strings.Repeat("3f9a1c0d2b7e", 6)[:64]}
		v.Details, v.Process, v.Folder = OfProcess, ProcessID{PID: p.PID, Start: startOf(p), GPU: monitor.Key(&snap.GPUs[0])}, monitor.OfText("/home/kim/exp7")
	}},
	{"process-details-unknown", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.GPUs[0].Processes = []monitor.Process{{PID: 31877, Types: monitor.Compute, GPUInstanceID: monitor.None, Namespace: monitor.NamespaceOutside, GPUMemoryBytes: monitor.Failed(monitor.NotSupported, monitor.NewCallError("nvmlDeviceGetComputeRunningProcesses_v3", "", 0))}}
		v.Details, v.Process = OfProcess, ProcessID{PID: 31877, Start: -1, GPU: monitor.Key(&snap.GPUs[0])}
	}},
	{"process-details-wsl", 1, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Platform.Kind = "wsl"
		snap.GPUs[0].Processes = []monitor.Process{{PID: 31877, Types: monitor.Compute, GPUInstanceID: monitor.None, Namespace: monitor.NamespaceOutside}}
		v.Details, v.Process = OfProcess, ProcessID{PID: 31877, Start: -1, GPU: monitor.Key(&snap.GPUs[0])}
	}},
	{"process-wsl", 1, 80, 14, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Platform.Kind = "wsl"
		snap.GPUs[0].Processes = []monitor.Process{{PID: 31877, Types: monitor.Compute, GPUInstanceID: monitor.None, Namespace: monitor.NamespaceOutside}}
	}},
	{"process-details-gone", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Details, v.Process = OfProcess, ProcessID{PID: 99, Start: 5}
	}},
	{"signal", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Signal = dialog(snap) }},
	{"signal-confirm", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Signal = dialog(snap)
		v.Signal.Chosen, v.Signal.Confirm = 4, true
	}},
	{"signal-sent", 2, 40, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Signal = dialog(snap)
		v.Signal.Outcome = "SIGTERM was sent; the process has ended"
	}},
	{"signal-small", 2, 40, 8, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		v.Signal = dialog(snap)
		v.Signal.Chosen = 6
	}},
	{"help-narrow", 2, 50, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) { v.Help, v.HelpScroll = true, 1000 }},
	{"replay-playing", 2, 120, 32, false, func(m *machine, snap *monitor.Snapshot, v *View) { play(v).Speed = 8 }},
	{"replay-paused", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Paused, r.Speed = true, 0.125
	}},
	{"replay-end", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.AtEnd, r.Last = true, snap.Time
	}},
	{"replay-demo-seeking", 8, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Source = "demo"
		play(v).Seeking = true
	}},
	{"replay-gap", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Missing, r.Resumed = 3*time.Hour+7*time.Minute, snap.Time
	}},
	{"replay-gap-before", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Missing, r.Resumed = 95*time.Second, snap.Time.Add(-2*time.Second)
	}},
	{"replay-broken", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) { play(v).Broken = 3 }},
	{"replay-broken-wide", 4, 160, 40, false, func(m *machine, snap *monitor.Snapshot, v *View) { play(v).Broken = 1 }},
	{"replay-failed", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		play(v).Failed = "node17.ndjson: line 4711: schema nvtop-lite/2 is newer than this program"
	}},
	{"replay-jump", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Paused, r.Jumping, r.Jump = true, true, "12:0"
	}},
	{"replay-jump-error", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Jumping, r.Jump, r.JumpError = true, "25:00", "no such time of day"
	}},
	{"replay-jump-error-small", 1, 40, 10, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		r := play(v)
		r.Jumping, r.Jump, r.JumpError = true, "2026-11-31 25:00:00", "no such time of day"
	}},
	{"replay-small", 1, 40, 10, false, func(m *machine, snap *monitor.Snapshot, v *View) { play(v).Paused = true }},
	{"replay-small-demo", 8, 40, 10, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.Source = "demo"
		play(v)
	}},
	{"replay-tiny", 1, 1, 1, false, func(m *machine, snap *monitor.Snapshot, v *View) { play(v) }},
	{"replay-ascii", 1, 80, 12, true, func(m *machine, snap *monitor.Snapshot, v *View) { play(v).Seeking = true }},
	{"replay-no-gpus", 1, 80, 12, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		snap.GPUs = nil
		play(v)
	}},
	{"replay-stale", 1, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		stall(m, &snap.GPUs[0])
		play(v).Paused = true
	}},
	{"replay-process-details", 2, 80, 24, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		p := &snap.GPUs[0].Processes[0]
		v.Details, v.Process = OfProcess, ProcessID{PID: p.PID, Start: startOf(p), GPU: monitor.Key(&snap.GPUs[0])}
		play(v).Paused = true
	}},
	{"replay-help", 2, 80, 60, false, func(m *machine, snap *monitor.Snapshot, v *View) {
		play(v)
		v.Help = true
	}},
}

// play makes the view that of a recording of two hours and a quarter, at its
// usual speed.
func play(v *View) *Replay {
	v.Signals = false
	v.Replay = &Replay{Speed: 1, First: v.Now.Add(-55 * time.Minute), Last: v.Now.Add(80 * time.Minute)}
	return v.Replay
}

// dialog asks about the first process.
func dialog(snap *monitor.Snapshot) *SignalDialog {
	p := &snap.GPUs[0].Processes[0]
	d := &SignalDialog{Process: ProcessID{PID: p.PID, Start: startOf(p)}, Name: p.Name.Value}
	for _, name := range []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGSTOP", "SIGCONT", "SIGUSR1", "SIGUSR2"} {
		d.Signals = append(d.Signals, SignalItem{name, "does something to it"})
	}
	return d
}

// asOnLinux puts the words of Linux in the place of those of another system.
func asOnLinux(picture string) string {
	const linux = "cgroup or rights of /dev/nvidia*?)"
	here := monitor.HintRights + ")"
	return strings.ReplaceAll(picture, here+strings.Repeat(" ", max(len(linux)-len(here), 0)), linux)
}

func TestStates(t *testing.T) {
	for _, st := range states {
		t.Run(st.name, func(t *testing.T) {
			m := newMachine(t, demo.Options{GPUs: max(st.gpus, 1)})
			snap, hist := m.after(120)
			v := view(snap)
			if st.change != nil {
				st.change(m, snap, v)
				m.assess(snap)
			}
			golden(t, "state-"+st.name, asOnLinux(draw(st.w, st.h, Options{Version: "0.1", ASCII: st.ascii}, snap, hist, v).String()))
		})
	}
	golden(t, "state-starting", draw(80, 12, Options{Version: "0.1"}, nil, nil, &View{Now: epoch}).String())
	golden(t, "state-replay-starting", draw(80, 12, Options{Version: "0.1"}, nil, nil, &View{Now: epoch, Replay: &Replay{Speed: 1}}).String())
	golden(t, "state-starting-silent", draw(80, 12, Options{Version: "0.1"}, nil, nil, &View{Now: epoch, SilentFor: 5 * time.Second}).String())
}
