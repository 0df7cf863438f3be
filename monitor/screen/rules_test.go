package screen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/demo"
)

// rowsOf returns the rows of a frame without the blanks at their ends.
func rowsOf(f *ansi.Frame) []string {
	rows := strings.Split(f.String(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

func TestProcessesOnTheEdge(t *testing.T) {
	p := func(name, user string, g float64) monitor.Process {
		r := monitor.Process{Name: monitor.OfText(name), User: monitor.OfText(user)}
		if g > 0 {
			r.GPUMemoryBytes = monitor.OfFloat(g * gib)
		}
		return r
	}
	g := &monitor.GPU{Processes: []monitor.Process{
		p("x", "kim", 0), p("eval.py", "me", 0.5), p("bench.py", "kim", 3.2), p("yet-another.py", "kim", 0), p("train.py", "me", 15.1),
	}}
	for i := range g.Processes {
		g.Processes[i].PID = uint32(i + 1)
	}
	s := New(Options{User: "me"})
	for _, tt := range []struct {
		room int
		want string
	}{
		{99, "train.py 15.1G  eval.py 0.5G   kim: bench.py 3.2G  x  yet-another.py"},
		{60, "train.py 15.1G  eval.py 0.5G   kim: bench.py 3.2G  x  +1"},
		{50, "train.py 15.1G  eval.py 0.5G  +3"},
		{45, "train.py 15.1G  eval.py 0.5G  +3"},
		{40, "train.py 15.1G  eval.py 0.5G  +3"},
		{30, "train.py 15.1G  +4"},
		{20, "train.py 15.1G  +4"},
		{14, "train.py 15.1G"},
		{10, "train.py …"},
		{5, "trai…"},
	} {
		s.gather(g)
		l := s.line.reset()
		s.writeUsers(l, tt.room)
		f := ansi.NewFrame(120, 1)
		l.drawCut(f, 0, 0, tt.room)
		if got := rowsOf(f)[0]; got != tt.want {
			t.Errorf("room %d: %q, want %q", tt.room, got, tt.want)
		}
	}
}

func TestTopEdgeDropsGroupsByRank(t *testing.T) {
	g := &monitor.GPU{State: monitor.OK, Health: []monitor.Health{
		{Code: "throttle_power", Text: "SLOWED: power cap"},
		{Code: "pcie_width", Level: monitor.Warn, Text: "PCIe x8 of x16"},
	}}
	g.Name = monitor.OfText("NVIDIA H200")
	for id, v := range map[monitor.ReadingID]float64{
		monitor.FanPercent: 45, monitor.TemperatureC: 61, monitor.ClockGraphicsMHz: 1980, monitor.PowerMW: 412e3, monitor.PowerLimitMW: 700e3,
	} {
		g.Readings[id] = monitor.OfFloat(v)
	}
	s := New(Options{})
	s.v, s.snap = &View{}, &monitor.Snapshot{GPUs: []monitor.GPU{*g}}
	full := "╭─ 0  H200  │ 412 / 700 W ─ PCIe x8 of x16  SLOWED: power cap  FAN  45%   61°C  1980 MHz ─╮"
	for _, tt := range []struct {
		width int
		gone  string // at this width, and there one cell wider
	}{{90, "FAN"}, {80, "H200"}, {74, "700 W"}, {59, "MHz"}, {49, "61°C"}, {42, "PCIe"}, {26, "SLOWED"}} {
		for width, there := range map[int]bool{tt.width: false, tt.width + 1: true} {
			s.f = ansi.NewFrame(width, 1)
			s.drawTop(g, 0, 0, width)
			row := s.f.String()
			if strings.Contains(row, tt.gone) != there {
				t.Errorf("width %d: %s: %v, want %v: %s", width, tt.gone, !there, there, row)
			}
			if ansi.Width(row) != width || !strings.HasPrefix(row, "╭─ 0 ") || !strings.HasSuffix(row, "─╮") {
				t.Errorf("width %d: %q", width, row)
			}
		}
	}
	s.f = ansi.NewFrame(91, 1)
	s.drawTop(g, 0, 0, 91)
	if got := s.f.String(); got != full {
		t.Errorf("got  %s\nwant %s", got, full)
	}
}

func TestGraphLevels(t *testing.T) {
	for _, tt := range []struct {
		v          float64
		rows, want int
	}{
		{0, 6, 0}, {1, 6, 1}, {2, 6, 1}, {4, 6, 2}, {5, 6, 2}, {99, 6, 48}, {100, 6, 48}, {250, 6, 48}, {-1, 6, 0},
		{0.001, 6, 1}, {31.25, 1, 2}, {43.75, 1, 4}, // 2.5 and 3.5 eighths go to the even one
	} {
		if got := level(tt.v, tt.rows); got != tt.want {
			t.Errorf("level(%v, %d) = %d, want %d", tt.v, tt.rows, got, tt.want)
		}
	}
}

func TestGraphShowsGaps(t *testing.T) {
	m := newMachine(t, demo.Options{GPUs: 1, Step: 10})
	hist := monitor.NewHistory(100)
	var snap *monitor.Snapshot
	for i := range 30 {
		snap = m.next()
		snap.GPUs[0].Readings[monitor.UtilizationPercent] = monitor.OfFloat(50)
		if i >= 20 && i < 25 {
			snap.GPUs[0].Readings[monitor.UtilizationPercent] = monitor.Unknown(monitor.Timeout)
		}
		hist.Add(snap)
	}
	rows := rowsOf(draw(80, 24, Options{}, snap, hist, view(snap)))
	if want := "██████████╌╌╌╌╌█████ │ "; !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, want) }) {
		t.Errorf("no gap %q in\n%s", want, strings.Join(rows, "\n"))
	}
}

func TestColoursOfTheScales(t *testing.T) {
	p := newPalette(ansi.LevelRGB)
	for v, want := range map[int]ansi.Color{
		0: ansi.Indexed256(32), 50: ansi.Indexed256(30), 100: ansi.Indexed256(136),
	} {
		if p.graph[v].Fg != want || p.load[v].Fg != want {
			t.Errorf("load %d: %x %x, want %x", v, p.graph[v].Fg, p.load[v].Fg, want)
		}
	}
	for _, level := range []ansi.Level{ansi.LevelNone, ansi.Level16, ansi.Level256} {
		q := newPalette(level)
		for _, st := range []ansi.Style{q.plain, q.bold, q.dim, q.name, q.info, q.warn, q.critical, q.load[50], q.heat[50], q.graph[50]} {
			if level.Reduce(st.Fg) != st.Fg {
				t.Errorf("%v: a colour that the terminal does not have: %x", level, st.Fg)
			}
		}
	}
}

// What a view draws is what it asks for: a snapshot with nothing else gives the
// same frame.
func TestWantsWhatItDraws(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 8}).after(60)
	wantsWhatItDraws(t, snap, hist)
	for _, module := range []func(*monitor.Snapshot){thor, orin, spark, denied(orin)} {
		snap, hist := newMachine(t, demo.Options{GPUs: 1}).after(60)
		module(snap)
		wantsWhatItDraws(t, snap, hist)
	}
}

func wantsWhatItDraws(t *testing.T, snap *monitor.Snapshot, hist *monitor.History) {
	t.Helper()
	for _, v := range []View{{}, {ShowProcesses: true}, {Mode: List}, {Mode: List, ShowProcesses: true}, {Mode: Boxes, ShowProcesses: true}, {Mode: Numbers}, {Mode: Processes}, {Mode: List, Graph: GraphNVLink}} {
		v.Now = snap.Time
		s := New(Options{})
		s.Draw(ansi.NewFrame(160, 60), snap, hist, &v)
		want := s.Want(&v)
		part := *snap
		part.GPUs = append([]monitor.GPU(nil), snap.GPUs...)
		for i := range part.GPUs {
			g := &part.GPUs[i]
			for id := range monitor.NumReadings {
				if !want.Has(id) {
					g.Readings[id] = monitor.Reading{}
				}
			}
			if !want.HasGroup(monitor.GroupFans) {
				g.Fans, g.FansStatus = nil, monitor.Status{}
			}
			if !want.HasGroup(monitor.GroupProcessLoad) {
				g.Processes = append([]monitor.Process(nil), g.Processes...)
				for j := range g.Processes {
					p := &g.Processes[j]
					p.SMPercent, p.EncoderPercent, p.DecoderPercent = monitor.Reading{}, monitor.Reading{}, monitor.Reading{}
				}
			}
		}
		for _, size := range [][2]int{{160, 60}, {80, 24}} {
			a, b := draw(size[0], size[1], Options{}, snap, hist, &v), draw(size[0], size[1], Options{}, &part, hist, &v)
			// In automatic mode the list stands in for boxes and has more than it needs.
			if a.String() != b.String() {
				t.Errorf("%+v at %v: the view draws more than it wants:\n%s\n%s", v, size, a, b)
			}
		}
	}
}

func TestSortOrder(t *testing.T) {
	p := func(pid uint32, mem, sm int64, user string) monitor.Process {
		q := monitor.Process{PID: pid, GPUMemoryBytes: monitor.OfInt(mem), User: monitor.OfText(user), GPUInstanceID: monitor.None}
		if mem < 0 {
			q.GPUMemoryBytes = monitor.Unknown(monitor.NotSupported)
		}
		if sm >= 0 {
			q.SMPercent = monitor.OfInt(sm)
		}
		return q
	}
	snap := &monitor.Snapshot{Time: epoch, Steady: 1, GPUs: []monitor.GPU{
		{State: monitor.OK, ProcStatus: monitor.Status{Reason: monitor.Known}, Processes: []monitor.Process{p(5, 100, 7, "b"), p(3, -1, 50, "a"), p(9, 300, -1, "c")}},
		{State: monitor.OK, ProcStatus: monitor.Status{Reason: monitor.Known}, Processes: []monitor.Process{p(4, 100, 7, "b")}},
	}}
	for _, tt := range []struct {
		by      monitor.Column
		reverse bool
		want    string
	}{
		{monitor.ByDefault, false, "9 4 5 3"}, // what is unknown stands last
		{monitor.ByDefault, true, "4 5 9 3"},
		{monitor.BySM, false, "3 4 5 9"},
		{monitor.BySM, true, "4 5 3 9"},
		{monitor.ByPID, false, "3 4 5 9"},
		{monitor.ByPID, true, "9 5 4 3"},
		{monitor.ByUser, false, "3 4 5 9"},
		{monitor.ByGPU, false, "9 5 3 4"},
		{monitor.ByGPU, true, "4 9 5 3"},
	} {
		v := &View{Now: epoch, ShowProcesses: true, Choice: monitor.Choice{Sort: tt.by, Reverse: tt.reverse}}
		s := New(Options{})
		s.Draw(ansi.NewFrame(100, 40), snap, nil, v)
		var got []string
		for _, a := range s.targets {
			if a.target.Kind == OnProcess {
				got = append(got, fmt.Sprint(a.target.Process.PID))
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("sorted by %d, reversed %v: %s, want %s", tt.by, tt.reverse, g, tt.want)
		}
	}
}

func TestModesGoRound(t *testing.T) {
	if Auto.Next().Next().Next().Next().Next() != Auto {
		t.Error("the modes do not go round")
	}
}

func TestHit(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 2}).after(20)
	s := New(Options{})
	f := ansi.NewFrame(120, 32)
	s.Draw(f, snap, hist, view(snap))
	rows := rowsOf(f)
	for y, row := range rows {
		x := strings.Index(row, "train.py --config")
		if x < 0 {
			continue
		}
		if got := s.Hit(x, y); got.Kind != OnProcess || got.Process.PID == 0 {
			t.Errorf("row %d: %+v", y, got)
		}
	}
	key := func(i int) string { return monitor.Key(&snap.GPUs[i]) }
	if got := s.Hit(5, 1); got != (Target{Kind: OnGPU, GPU: key(0)}) {
		t.Errorf("first box: %+v", got)
	}
	if got := s.Hit(80, 3); got != (Target{Kind: OnGPU, GPU: key(0), Age: 1}) {
		t.Errorf("the newest sample in the first box: %+v", got)
	}
	if got := s.Hit(5, 12); got.Kind != OnGPU || got.GPU != key(1) || got.Age != 76 {
		t.Errorf("second box: %+v", got)
	}
	heading := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "USER") })
	if got := s.Hit(strings.Index(rows[heading], "USER"), heading); got != (Target{Kind: OnColumn, Column: monitor.ByUser}) {
		t.Errorf("heading: %+v", got)
	}
	if got := s.Hit(3, 0); got != (Target{}) {
		t.Errorf("header: %+v", got)
	}
}

// press is how the program moves the selection.
func press(s *Screen, f *ansi.Frame, snap *monitor.Snapshot, hist *monitor.History, v *View, rows int) {
	v.Moved = rows
	s.Draw(f, snap, hist, v)
}

func TestMoveSelectsAndScrolls(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 2, Processes: 40}).after(3)
	s, v, f := New(Options{}), view(snap), ansi.NewFrame(100, 24)
	s.Draw(f, snap, hist, v)
	if v.Process.PID != 0 || v.GPU != "" {
		t.Errorf("selected before any key: %+v, %q", v.Process, v.GPU)
	}
	press(s, f, snap, hist, v, 1)
	first := v.Process
	if first.PID == 0 || v.ProcScroll != 0 {
		t.Errorf("the first key selects %+v, scrolled to %d", first, v.ProcScroll)
	}
	press(s, f, snap, hist, v, 1<<20)
	if want := 80 - s.tableShownNow(); v.ProcScroll != want || v.Process == first {
		t.Errorf("at the end scrolled to %d, want %d", v.ProcScroll, want)
	}
	press(s, f, snap, hist, v, -1<<20)
	if v.ProcScroll != 0 || v.Process != first {
		t.Errorf("back at the start: %d, %+v, want %+v", v.ProcScroll, v.Process, first)
	}
	// The selection stays with its process when the order changes.
	v.Choice.Reverse = true
	s.Draw(f, snap, hist, v)
	if v.Process != first || v.ProcScroll == 0 {
		t.Errorf("sorted the other way round: %+v, scrolled to %d", v.Process, v.ProcScroll)
	}

	snap, hist = newMachine(t, demo.Options{GPUs: 40, Step: 10}).after(3)
	s, v = New(Options{}), view(snap)
	s.Draw(f, snap, hist, v)
	press(s, f, snap, hist, v, 1)
	page := s.Page(v)
	press(s, f, snap, hist, v, page)
	if want := monitor.Key(&snap.GPUs[page]); v.GPU != want {
		t.Errorf("a page of %d down: %s, want %s", page, v.GPU, want)
	}
	press(s, f, snap, hist, v, 1<<20)
	if v.GPU != monitor.Key(&snap.GPUs[39]) || !strings.Contains(f.String(), fmt.Sprintf("GPUs %d-39 of 40 ↑", 40-page)) {
		t.Errorf("at the end %s:\n%s", v.GPU, f)
	}
}

// tableShownNow counts the processes of the frame drawn last.
func (s *Screen) tableShownNow() int {
	n := 0
	for _, a := range s.targets {
		if a.target.Kind == OnProcess {
			n++
		}
	}
	return n
}

func TestCodersStayForHalfAMinute(t *testing.T) {
	m := newMachine(t, demo.Options{GPUs: 4})
	s, f := New(Options{}), ansi.NewFrame(100, 40)
	last := -1
	for i := range 50 {
		snap := m.next()
		g := &snap.GPUs[3]
		if i > 0 {
			g.Readings[monitor.EncoderPercent], g.Readings[monitor.DecoderPercent] = monitor.OfInt(0), monitor.OfInt(0)
		}
		snap.GPUs = snap.GPUs[3:]
		s.Draw(f, snap, nil, &View{Now: snap.Time})
		if strings.Contains(f.String(), "ENC ") {
			last = i
		}
	}
	if last != 30 {
		t.Errorf("shown for %d s after the last activity, want 30", last)
	}
}

func TestOneUnknownPartMakesTheSumUnknown(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 8, Step: 10}).after(5)
	sums := func() string {
		for _, row := range rowsOf(draw(80, 24, Options{}, snap, hist, view(snap))) {
			if strings.HasPrefix(row, "   Σ") {
				return row
			}
		}
		return ""
	}
	if got := sums(); !strings.Contains(got, "/5600") || strings.Contains(got, " -/") || !strings.Contains(got, "8 of 8 GPUs") {
		t.Errorf("all known: %q", got)
	}
	snap.GPUs[3].Readings[monitor.PowerMW] = monitor.Unknown(monitor.Timeout)
	if got := sums(); !strings.Contains(got, " -/5600") {
		t.Errorf("one power unknown: %q", got)
	}
	snap.GPUs[3].State = monitor.Lost
	if got := sums(); !strings.Contains(got, "/4900") || strings.Contains(got, " -/") || !strings.Contains(got, "7 of 8 GPUs") {
		t.Errorf("a lost GPU is left out: %q", got)
	}
}

func TestWorstAlarmFirst(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 3, Step: 10}).after(2)
	last := func() string {
		rows := rowsOf(draw(120, 32, Options{}, snap, hist, view(snap)))
		return rows[len(rows)-1]
	}
	snap.GPUs[0].Health = []monitor.Health{{Code: "pcie_width", Level: monitor.Warn, Text: "PCIe x8 of x16"}, {Code: "persistence_off", Level: monitor.Info, Text: "persistence mode is off"}}
	if got := last(); !strings.HasPrefix(got, " GPU 0: PCIe x8 of x16  ") {
		t.Errorf("a warning: %q", got)
	}
	snap.GPUs[2].Health = []monitor.Health{{Code: "ecc_uncorrected", Level: monitor.Critical, Text: "uncorrected ECC errors: 3"}}
	if got := last(); !strings.HasPrefix(got, " GPU 2: uncorrected ECC errors: 3  +1 more  ") {
		t.Errorf("a critical finding besides: %q", got)
	}
	snap.GPUs[0].Health, snap.GPUs[2].Health = nil, nil
	snap.GPUs[1].State, snap.GPUs[1].StateReason = monitor.Lost, "GPU is lost"
	if got := last(); !strings.HasPrefix(got, " GPU 1: lost") || !strings.Contains(got, ": GPU is lost") {
		t.Errorf("lost without a finding: %q", got)
	}
}

func TestNumbersDoNotMove(t *testing.T) {
	m := newMachine(t, demo.Options{GPUs: 2, Step: 10})
	var at [3]int
	for i := range 200 {
		snap := m.next()
		row := []rune(rowsOf(draw(100, 30, Options{}, snap, nil, view(snap)))[2])
		text := string(row)
		now := [3]int{strings.Index(text, "GPU "), strings.Index(text, "SM "), strings.Index(text, "tensor ")}
		if i > 0 && now != at {
			t.Fatalf("second %d: %v, before %v", i, now, at)
		}
		at = now
	}
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 7 * time.Second: "7 s", 119 * time.Second: "119 s", 120 * time.Second: "2 min", 2 * time.Hour: "2 h", 47 * time.Hour: "47 h", 50 * time.Hour: "2 d",
	} {
		var l line
		if l.duration(ansi.Style{}, d); string(l.b) != want {
			t.Errorf("%v: %q, want %q", d, l.b, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 31 * time.Second: "31s", 14 * time.Minute: "14m", 134 * time.Minute: "2h14m", 147 * time.Hour: "6d03h", 5000 * time.Hour: "208d",
	} {
		var l line
		if l.span(ansi.Style{}, d, 0); string(l.b) != want {
			t.Errorf("%v: %q, want %q", d, l.b, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "1s", 500 * time.Millisecond: "0.5s", 2250 * time.Millisecond: "2.25s"} {
		if got := string(appendInterval(nil, d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(r, g, b uint8) float64 {
	part := func(v uint8) float64 {
		c := float64(v) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}

// Every colour can be read on black and on white, and on the backgrounds of
// common themes near them.
func TestColoursOnDarkAndLight(t *testing.T) {
	backgrounds := [][3]uint8{{0, 0, 0}, {0x1e, 0x1e, 0x1e}, {0xff, 0xff, 0xff}, {0xfd, 0xf6, 0xe3}}
	for _, scale := range [][]ansi.Stop{loadStops, heatStops} {
		for v := range 101 {
			c := ansi.Gradient(ansi.LevelRGB, 101, scale...)[v]
			r, g, b := uint8(c>>16), uint8(c>>8), uint8(c)
			for _, bg := range backgrounds {
				x, y := luminance(r, g, b), luminance(bg[0], bg[1], bg[2])
				if ratio := (max(x, y) + 0.05) / (min(x, y) + 0.05); ratio < 2.9 {
					t.Errorf("%d: %d,%d,%d on %v: contrast %.2f", v, r, g, b, bg, ratio)
				}
			}
		}
	}
}

// More lines never show less: where a window has a process table, a higher one
// has it too, and at least as many processes.
func TestTheTableStaysAsTheWindowGrows(t *testing.T) {
	for _, gpus := range []int{1, 2, 3, 4, 8} {
		snap, hist := newMachine(t, demo.Options{GPUs: gpus, Processes: 5}).after(5)
		for _, width := range []int{60, 80, 120, 160} {
			had := false
			for h := 5; h < 70; h++ {
				s := New(Options{})
				s.Draw(ansi.NewFrame(width, h), snap, hist, view(snap))
				has := s.tableShownNow() > 0
				if had && !has {
					t.Errorf("%d GPUs, %dx%d: the table is gone", gpus, width, h)
				}
				had = has
			}
		}
	}
}

// A box of any height keeps its numbers inside.
func TestNumbersStayInTheirBox(t *testing.T) {
	snap, hist := newMachine(t, demo.Options{GPUs: 8}).after(5)
	for _, width := range []int{80, 120, 160, 200} {
		for h := 8; h < 75; h++ {
			s := New(Options{})
			f := ansi.NewFrame(width, h)
			s.Draw(f, snap, hist, view(snap))
			if s.lay.kind != Boxes {
				continue
			}
			bottom := s.lay.top + s.lay.page*(s.lay.inner+2)
			rows := rowsOf(f)
			for y := s.lay.top; y < bottom; y++ {
				first, _, _ := f.Cell(0, y)
				if edge := (y - s.lay.top) % (s.lay.inner + 2); (edge == 0) != (first == '╭') || (edge == s.lay.inner+1) != (first == '╰') ||
					first == '╰' && strings.ContainsAny(rows[y], "%°") {
					t.Fatalf("%dx%d: row %d: %s", width, h, y, rows[y])
				}
			}
			if bottom < len(rows) && bottom < s.lay.tableTop && rows[bottom] != "" {
				t.Fatalf("%dx%d: below the boxes: %q", width, h, rows[bottom])
			}
		}
	}
}
