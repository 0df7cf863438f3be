package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// hostile are texts that may stand wherever a foreign text is shown.
var hostile = []string{
	"", " ", "x", "訓練スクリプト名前", "e\u0301\u0301\u0301\u0301", "\u0301", "\x1b[2J\x1b]0;owned\x07", "a\r\nb\tc\x00d", "\xff\xfe\xc3",
	"\u202egnp.exe", "👩‍👩‍👧‍👦👍🏽🇩🇪🇩", "\u200b\u200d\ufeff", strings.Repeat("長", 300), strings.Repeat("w", 5000), "NVIDIA ", "%s%d%!",
}

// spoil makes a snapshot as bad as it may be.
func spoil(r *rand.Rand, snap *monitor.Snapshot) {
	text := func() monitor.Text {
		if r.IntN(5) == 0 {
			return monitor.UnknownText(monitor.NoPermission)
		}
		return monitor.OfText(hostile[r.IntN(len(hostile))])
	}
	number := func(old monitor.Reading) monitor.Reading {
		switch r.IntN(12) {
		case 0:
			return monitor.Unknown(monitor.Reason(r.IntN(12)))
		case 1:
			return monitor.OfFloat(-1e300)
		case 2:
			return monitor.OfFloat(1e300)
		case 3:
			return monitor.OfInt(1<<63 - 1)
		case 4:
			return monitor.OfInt(-1 << 63)
		case 5:
			return monitor.OfInt(0)
		}
		return old
	}
	snap.Host.Hostname, snap.Driver.Version, snap.Driver.CUDAVersion = text(), text(), text()
	if r.IntN(2) == 0 {
		snap.Platform.L4T, snap.Platform.JetPack, snap.Platform.PowerMode = text(), text(), text()
		snap.Platform.Model, snap.Platform.SoC, snap.Platform.Governor = text(), text(), text()
		snap.Platform.EMCMHz, snap.Platform.EMCPercent = number(monitor.OfInt(2133)), number(monitor.OfFloat(41))
		snap.Host.HugePagesTotalBytes, snap.Host.HugePagesFreeBytes = number(monitor.OfInt(1)), number(monitor.OfInt(1))
		snap.Platform.Parts = nil
		for kind := range monitor.NumPartKinds {
			for range []int{0, 1, 3, 200}[r.IntN(4)] {
				part := monitor.Part{Kind: kind, Name: hostile[r.IntN(len(hostile))], Scope: []string{"gpu", "input", "shared", "\x1b[2J"}[r.IntN(4)]}
				for i := range kind.Info().Readings {
					part.Readings[i] = number(monitor.OfFloat(715.9))
				}
				snap.Platform.Parts = append(snap.Platform.Parts, part)
			}
		}
	}
	snap.Source = []string{"live", "demo", "replay", hostile[r.IntN(len(hostile))]}[r.IntN(4)]
	if r.IntN(3) == 0 {
		snap.Warnings = []monitor.Warning{{Text: hostile[r.IntN(len(hostile))]}, {Text: "another"}}
		snap.Waiting = hostile[r.IntN(len(hostile))]
	}
	var gpu func(g *monitor.GPU)
	gpu = func(g *monitor.GPU) {
		if r.IntN(3) == 0 {
			return
		}
		g.Name = text()
		g.State = monitor.State(r.IntN(7))
		g.StateReason = hostile[r.IntN(len(hostile))]
		g.StateSince, g.CallSince, g.Refreshed = r.Int64N(snap.Steady+5), r.Int64N(snap.Steady+5), r.Int64N(snap.Steady+5)
		g.Call = hostile[r.IntN(len(hostile))]
		g.Blocked = monitor.Reason(r.IntN(12))
		g.Integrated, g.MemoryUnified = r.IntN(3) == 0, r.IntN(3) == 0
		g.Sources = [][]string{nil, {"nvml", "tegra"}, {"tegra"}}[r.IntN(3)]
		if r.IntN(4) == 0 {
			g.Index = []int{monitor.None, 0, 1234, -7}[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			g.UUID = monitor.UnknownText(monitor.DriverError)
		}
		for id := range g.Readings {
			g.Readings[id] = number(g.Readings[id])
		}
		if r.IntN(3) == 0 {
			g.DriverModel, g.Adapter = hostile[r.IntN(len(hostile))], &monitor.Adapter{}
			for i := range g.Adapter {
				g.Adapter[i] = number(monitor.OfInt(3 << 30))
			}
		}
		for range r.IntN(4) {
			g.Health = append(g.Health, monitor.Health{Code: []string{"xid", "throttle_power", "no_answer"}[r.IntN(3)], Level: monitor.Level(r.IntN(3)), Text: hostile[r.IntN(len(hostile))]})
		}
		if r.IntN(4) == 0 {
			g.ProcStatus.Reason = monitor.Reason(r.IntN(12))
		}
		for i := range g.Processes {
			p := &g.Processes[i]
			p.Name, p.Command, p.User = text(), text(), text()
			p.GPUMemoryBytes, p.SMPercent, p.CPUPercent = number(p.GPUMemoryBytes), number(p.SMPercent), number(p.CPUPercent)
			p.HostMemoryBytes, p.StartTime, p.EncoderPercent = number(p.HostMemoryBytes), number(p.StartTime), number(p.EncoderPercent)
			p.NonLocalBytes = number(p.NonLocalBytes)
			p.Types, p.Namespace = monitor.ProcessTypes(r.IntN(9)), monitor.Namespace(r.IntN(3))
		}
		for i := range g.MIG {
			g.MIG[i].Profile = hostile[r.IntN(len(hostile))]
			gpu(&g.MIG[i])
		}
	}
	for i := range snap.GPUs {
		gpu(&snap.GPUs[i])
	}
}

// anyView is a view as the keys can make it, and as they cannot.
func anyView(r *rand.Rand, snap *monitor.Snapshot) *View {
	text := func() string { return hostile[r.IntN(len(hostile))] }
	v := &View{
		Now: epoch.Add(5 * time.Minute), ShowProcesses: r.IntN(4) != 0, Paused: r.IntN(5) == 0, Signals: r.IntN(5) != 0,
		Mode: Mode(r.IntN(int(numModes))), Graph: Graph(r.IntN(int(numGraphs))), Cursor: max(r.IntN(120)-60, 0),
		Scroll: r.IntN(60) - 3, ProcScroll: r.IntN(60) - 3, ProcShift: r.IntN(4) * 8, Moved: r.IntN(9) - 4, Focus: Focus(r.IntN(3)), Follow: r.IntN(2) == 0,
		Choice: monitor.Choice{Sort: monitor.Column(r.IntN(int(monitor.NumColumns) + 2)), Reverse: r.IntN(2) == 0},
		Joined: r.IntN(3) == 0, Frozen: r.IntN(4) == 0, Typing: r.IntN(6) == 0, Help: r.IntN(9) == 0, HelpScroll: r.IntN(50) - 5,
	}
	if r.IntN(4) == 0 {
		v.Choice.Text = text()
	}
	if r.IntN(6) == 0 {
		v.SilentFor = 9 * time.Second
	}
	if r.IntN(6) == 0 {
		v.Notice = text()
	}
	if r.IntN(3) == 0 {
		v.Replay = &Replay{
			Paused: r.IntN(3) == 0, Speed: []float64{0, 0.125, 1, 1000, 1e300}[r.IntN(5)], AtEnd: r.IntN(4) == 0, Seeking: r.IntN(4) == 0,
			First: epoch.Add(-time.Hour), Last: epoch.Add(time.Duration(r.IntN(3)-1) * 2 * time.Hour),
			Missing: time.Duration(r.IntN(2)) * time.Hour, Resumed: epoch, Broken: max(r.IntN(9)-4, 0) * 1e6,
		}
		switch r.IntN(4) {
		case 0:
			v.Replay.Jumping, v.Replay.Jump, v.Replay.JumpError = true, text(), text()
		case 1:
			v.Replay.Failed = text()
		}
	}
	if snap == nil || len(snap.GPUs) == 0 {
		return v
	}
	g := &snap.GPUs[r.IntN(len(snap.GPUs))]
	if r.IntN(2) == 0 {
		v.GPU = monitor.Key(g)
	}
	if len(g.Processes) > 0 && r.IntN(2) == 0 {
		p := &g.Processes[r.IntN(len(g.Processes))]
		v.Process = ProcessID{PID: p.PID, Start: startOf(p)}
		if !v.Joined {
			v.Process.GPU = monitor.Key(g)
		}
	}
	if r.IntN(6) == 0 && len(snap.GPUs) > 1 {
		v.Hidden = map[string]bool{monitor.Key(&snap.GPUs[0]): true}
	}
	if r.IntN(6) == 0 {
		v.Details, v.DetailScroll, v.Folder = Details(r.IntN(3)), r.IntN(80)-5, monitor.OfText(text())
	}
	if r.IntN(9) == 0 {
		v.Signal = &SignalDialog{Process: v.Process, Name: text(), Signals: []SignalItem{{text(), text()}, {"SIGKILL", "ends it"}}, Chosen: r.IntN(2), Confirm: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			v.Signal.Outcome = text()
		}
	}
	return v
}

// check reports what is wrong with a frame: rows that are not as wide as the
// frame, or GPUs left out without a word.
func check(s *Screen, f *ansi.Frame, snap *monitor.Snapshot, v *View) string {
	w, h := f.Size()
	for y := range h {
		sum := 0
		for x := range w {
			r, _, n := f.Cell(x, y)
			sum += n
			if n > 0 && (r < ' ' || r >= 0x7f && r < 0xa0) {
				return fmt.Sprintf("control character %U at %d,%d", r, x, y)
			}
		}
		if sum != w {
			return fmt.Sprintf("row %d is %d cells wide, not %d", y, sum, w)
		}
	}
	if snap == nil || v.Help || v.Details != NoDetails || v.Signal != nil || s.lay.kind == Processes || w < 20 || h == 0 || len(snap.GPUs) == 0 {
		return ""
	}
	seen := map[string]bool{}
	for _, a := range s.targets {
		if a.target.Kind == OnGPU {
			seen[a.target.GPU] = true
		}
	}
	want := s.places()
	keys := map[string]bool{}
	for _, i := range s.shown {
		keys[monitor.Key(&snap.GPUs[i])] = true
		for j := range snap.GPUs[i].MIG {
			delete(seen, monitor.Key(&snap.GPUs[i].MIG[j]))
		}
	}
	if len(seen) < len(keys) && !strings.Contains(f.String(), fmt.Sprintf(" of %d ", want)) {
		return fmt.Sprintf("%d of %d GPUs are in sight, and nothing says so", len(seen), want)
	}
	return ""
}

func TestEverySize(t *testing.T) {
	var sizes [][2]int
	for w := range 46 {
		for h := range 14 {
			sizes = append(sizes, [2]int{w, h})
		}
	}
	for _, w := range []int{60, 79, 80, 100, 109, 110, 137, 138, 150, 184, 189, 200, 255, 300} {
		for h := range 101 {
			if h < 26 || h%7 == 4 {
				sizes = append(sizes, [2]int{w, h})
			}
		}
	}
	counts := []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 32}
	r := rand.New(rand.NewPCG(1, 2))
	type scene struct {
		snap *monitor.Snapshot
		hist *monitor.History
	}
	scenes := []scene{{}, {snap: &monitor.Snapshot{Time: epoch, Steady: 1}}}
	for _, n := range counts {
		snap, hist := newMachine(t, demo.Options{GPUs: n, Processes: []int{0, -1, 5, 40}[n%4]}).after(70)
		scenes = append(scenes, scene{snap, hist})
		bad := *newMachine(t, demo.Options{GPUs: n}).next()
		spoil(r, &bad)
		scenes = append(scenes, scene{&bad, hist})
	}
	screens := map[bool]*Screen{false: New(Options{Version: "0.1", Level: ansi.LevelRGB}), true: New(Options{Version: hostile[3], ASCII: true, User: "kim"})}
	f := ansi.NewFrame(0, 0)
	for i, size := range sizes {
		for j, sc := range scenes {
			// Every scene at every third size.
			if (i+j)%3 != 0 {
				continue
			}
			v := anyView(r, sc.snap)
			f.Resize(size[0], size[1])
			s := screens[(i+j)%2 == 0]
			s.Draw(f, sc.snap, sc.hist, v)
			if wrong := check(s, f, sc.snap, v); wrong != "" {
				t.Fatalf("%v, scene %d, view %+v: %s\n%s", size, j, *v, wrong, f)
			}
		}
	}
}

func FuzzDraw(f *testing.F) {
	f.Add(uint64(1), uint16(80), uint16(24), uint8(4))
	f.Add(uint64(2), uint16(300), uint16(100), uint8(32))
	f.Add(uint64(3), uint16(1), uint16(1), uint8(0))
	f.Add(uint64(4), uint16(184), uint16(39), uint8(8))
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16, gpus uint8) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := newMachine(t, demo.Options{Seed: seed, GPUs: int(gpus%33) + 1, Processes: r.IntN(7) - 1})
		snap, hist := m.after(3)
		spoil(r, snap)
		v := anyView(r, snap)
		s := New(Options{Level: ansi.Level(r.IntN(4)), ASCII: r.IntN(2) == 0})
		frame := ansi.NewFrame(int(w%301), int(h%101))
		for range 4 {
			s.Draw(frame, snap, hist, v)
			if wrong := check(s, frame, snap, v); wrong != "" {
				t.Fatalf("%s\n%s", wrong, frame)
			}
			// What stands anywhere can be asked for, and the view goes on from
			// where drawing left it.
			s.Hit(r.IntN(301), r.IntN(101))
			s.Wheel(v, r.IntN(301), r.IntN(101), r.IntN(9)-4)
			v.Moved = r.IntN(2*s.Page(v)+1) - s.Page(v)
			v.Focus = s.OtherFocus(v)
		}
	})
}

// TestManyGPUsAndProcesses: as many as there may be, in every view.
func TestManyGPUsAndProcesses(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 256, Processes: 16}).after(2)
	n := 0
	for i := range snap.GPUs {
		n += len(snap.GPUs[i].Processes)
		for j := range snap.GPUs[i].MIG {
			n += len(snap.GPUs[i].MIG[j].Processes)
		}
	}
	if n < 4000 {
		t.Fatalf("only %d processes", n)
	}
	s, f := New(Options{Level: ansi.LevelRGB}), ansi.NewFrame(0, 0)
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][2]int{{0, 0}, {1, 1}, {20, 5}, {80, 24}, {120, 40}, {300, 100}} {
		for mode := range numModes {
			for range 4 {
				v := anyView(r, snap)
				v.Mode = mode
				f.Resize(size[0], size[1])
				s.Draw(f, snap, hist, v)
				if wrong := check(s, f, snap, v); wrong != "" {
					t.Fatalf("%v, view %+v: %s\n%s", size, *v, wrong, f)
				}
			}
		}
	}
}
