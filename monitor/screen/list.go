package screen

import (
	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// listRow is a row of the list: a GPU or one of its MIG instances.
type listRow struct {
	place  int // of the GPU in Screen.shown
	gpu    *monitor.GPU
	parent *monitor.GPU // the same as gpu, but for an instance
}

// listLayout says which columns the list has, as widths with the blanks before
// them; 0: not shown.
type listLayout struct {
	heading, sum                   bool
	name, history, sm              int
	memory, power, clock, noteFrom int
	gib, watt                      int    // cells of one figure in memory and power
	slash                          string // between two figures
}

// The widths of the columns that are never left out.
const (
	utilWidth  = 5
	shareWidth = 5
	heatWidth  = 5
	minNote    = 4
	noteWidth  = 22 // what the other columns leave to the notes where they can
)

// arrangeList lays out the list, moves the selection in it and returns how many lines it takes, without
// the line that says what is out of sight.
func (s *Screen) arrangeList(moved int) int {
	s.listed = s.listed[:0]
	for place, i := range s.shown {
		g := &s.snap.GPUs[i]
		s.listed = append(s.listed, listRow{place, g, g})
		for j := range g.MIG {
			s.listed = append(s.listed, listRow{place, &g.MIG[j], g})
		}
	}
	l, n := &s.lay, len(s.listed)
	l.list.heading = l.area >= 3
	rest := l.area
	if l.list.heading {
		rest--
	}
	l.page = n
	if n > rest {
		l.scroll = true
		if l.area >= 2 {
			rest--
		}
		l.page = max(rest, 0)
	}
	if at := s.move(moved, s.v.Scroll, n, func(i int) *monitor.GPU { return s.listed[i].gpu }); s.v.Follow && at >= 0 && l.page > 0 {
		s.v.Scroll = clamp(s.v.Scroll, at-l.page+1, at)
	}
	s.v.Scroll = clamp(s.v.Scroll, 0, n-l.page)
	used := l.page
	if l.list.heading {
		used++
	}
	if !l.scroll && l.list.heading && len(s.shown) > 1 && n < rest {
		l.list.sum = true
		used++
	}
	s.arrangeColumns()
	return used
}

// arrangeColumns chooses the columns that fit, and how wide they are.
func (s *Screen) arrangeColumns() {
	l := &s.lay.list
	names, sm, power, clock := 4, false, false, false
	for _, r := range s.listed {
		g := r.gpu
		if r.parent == g && g.Name.Known() {
			names = max(names, ansi.Width(short(g.Name.Value)))
		}
		sm = sm || g.Readings[monitor.SMActivePercent].Known()
		power = power || !g.Integrated || g.Readings[monitor.PowerMW].Known()
		clock = clock || g.Readings[monitor.ClockGraphicsMHz].Known()
	}
	gibs, watts := "GiB", "POWER W"
	if l.slash = "/"; s.w >= 110 {
		l.slash, gibs, watts = " / ", "used / GiB", "POWER / W"
	}
	// Figures are as wide as the largest total, and columns as their titles and
	// sums at least.
	l.gib, l.watt = 4, 3
	var allBytes, allWatts float64
	for _, r := range s.listed {
		if r.parent != r.gpu {
			continue
		}
		b, _ := r.gpu.Readings[monitor.MemoryTotalBytes].Float()
		w, _ := r.gpu.Readings[monitor.PowerLimitMW].Float()
		l.gib, l.watt = max(l.gib, wholeDigits(b/gib)+2), max(l.watt, wholeDigits(w/1e3))
		allBytes, allWatts = allBytes+b, allWatts+w
	}
	memory := max(2*l.gib+len(l.slash), len(gibs)) + 2
	l.power = max(2*l.watt+len(l.slash), len(watts)) + 2
	if l.sum {
		memory = max(memory, 2*wholeDigits(allBytes/gib)+len(l.slash)+1)
		l.power = max(l.power, 2*wholeDigits(allWatts/1e3)+len(l.slash)+1)
	}
	l.name, l.history, l.sm, l.memory, l.clock = 2+min(names, 20), 10, 0, memory, 0
	if !power {
		l.power = 0
	}
	if sm {
		l.sm = 5
	}
	if clock {
		l.clock = 6
	}
	fixed := s.numbers + utilWidth + shareWidth + heatWidth
	width := func() int { return fixed + l.name + l.history + l.sm + l.memory + l.power + l.clock + 2 }
	for _, column := range []*int{&l.name, &l.clock, &l.history, &l.sm, &l.memory, &l.power} {
		if width()+noteWidth <= s.w {
			break
		}
		*column = 0
	}
	if spare := s.w - width() - noteWidth - 6; spare > 0 && l.history > 0 {
		l.history += min(spare, 12)
	}
	l.noteFrom = width()
}

// drawList draws the rows in sight.
func (s *Screen) drawList() {
	y := s.lay.top
	if s.lay.list.heading {
		s.listHeading(y)
		y++
	}
	for i := s.v.Scroll; i < min(s.v.Scroll+s.lay.page, len(s.listed)); i++ {
		r := s.listed[i]
		s.target(0, y, s.w, 1, Target{Kind: OnGPU, GPU: monitor.Key(r.gpu)})
		s.listGPU(&r, y)
		y++
	}
	if s.lay.list.sum {
		s.listSum(y)
	}
	s.drawRange()
	if s.lay.scroll && !s.lay.footer {
		// The only line: say at its end how much there is.
		l := s.line.reset().pad(1)
		s.sightLine(l)
		l.drawRight(s.f, s.w, s.lay.top)
	}
}

func (s *Screen) listHeading(y int) {
	p, c := &s.pal, &s.lay.list
	l := s.line.reset()
	l.right(p.dim, "GPU", s.numbers)
	if c.name > 0 {
		l.pad(2).left(p.dim, "NAME", c.name-2)
	}
	l.right(p.dim, "UTIL", utilWidth)
	if c.history > 0 {
		l.pad(2).left(p.dim, s.historyTitle(c.history-2), c.history-2)
	}
	if c.sm > 0 {
		l.right(p.dim, "SM", c.sm)
	}
	l.right(p.dim, "MEM", shareWidth)
	if c.memory > 0 {
		title := "GiB"
		if c.slash != "/" {
			title = "used / GiB"
		}
		l.right(p.dim, title, c.memory)
	}
	if c.power > 0 {
		title := "POWER W"
		if c.slash != "/" {
			title = "POWER / W"
		}
		l.right(p.dim, title, c.power)
	}
	l.right(p.dim, "TEMP", heatWidth)
	if c.clock > 0 {
		l.right(p.dim, "MHz", c.clock)
	}
	if s.w-l.w-2 >= minNote {
		l.pad(2).text(p.dim, "NOTE")
	}
	l.drawCut(s.f, 0, y, s.w)
}

// listGPU draws the row of a GPU or instance.
func (s *Screen) listGPU(r *listRow, y int) {
	p, c, g := &s.pal, &s.lay.list, r.gpu
	instance := r.parent != g
	old := s.old(g)
	l := s.line.reset()
	number(l, p.bold, r.parent, g, s.numbers)
	if old || !measured(g) {
		l.fade = &p.dim
	}
	if c.name > 0 {
		name := "-"
		switch {
		case instance:
			name = g.Profile
		case g.Name.Known():
			name = short(g.Name.Value)
		}
		l.pad(2).left(p.plain, name, c.name-2)
	}
	selected := s.selected(g)
	if !measured(g) {
		l.none(utilWidth).pad(2)
		l.fade = nil
		s.state(l, g)
		l.drawCut(s.f, 0, y, s.w)
		if selected {
			s.mark(0, y, s.w, 1, s.Focused(s.v) == FocusGPUs)
		}
		return
	}
	l.pad(1).percentOf(p, g.Readings[monitor.UtilizationPercent])
	graphAt := l.w + 2
	l.pad(c.history)
	if c.sm > 0 {
		l.pad(c.sm-4).percentOf(p, g.Readings[monitor.SMActivePercent])
	}
	used, total := g.Readings[monitor.MemoryUsedBytes], g.Readings[monitor.MemoryTotalBytes]
	part, ok := shareOf(used, total)
	l.pad(1).percent(p, part, ok)
	if c.memory > 0 {
		l.number(p.plain, used, 1.0/gib, 1, c.memory-len(c.slash)-c.gib)
		l.text(p.dim, c.slash).number(p.dim, total, 1.0/gib, 1, c.gib)
	}
	if c.power > 0 && instance {
		l.pad(c.power)
	} else if c.power > 0 {
		watts, limit := g.Readings[monitor.PowerMW], g.Readings[monitor.PowerLimitMW]
		l.number(p.plain, watts, 1e-3, 0, c.power-len(c.slash)-c.watt)
		l.text(p.dim, c.slash).number(p.dim, limit, 1e-3, 0, c.watt)
	}
	switch v, ok := g.Readings[monitor.TemperatureC].Float(); {
	case instance:
		l.pad(heatWidth)
	case ok:
		l.float(at(&p.heat, v), v, 0, heatWidth-1)
		if s.opt.ASCII {
			l.text(at(&p.heat, v), "C")
		} else {
			l.text(at(&p.heat, v), "°")
		}
	default:
		l.none(heatWidth)
	}
	if c.clock > 0 && instance {
		l.pad(c.clock)
	} else if c.clock > 0 {
		l.number(p.plain, g.Readings[monitor.ClockGraphicsMHz], 1, 0, c.clock)
	}
	if room := s.w - l.w - 2; room >= minNote {
		l.pad(2)
		s.note(l, r, room)
	}
	l.drawCut(s.f, 0, y, s.w)
	if selected {
		s.mark(0, y, s.w, 1, s.Focused(s.v) == FocusGPUs)
	}
	if c.history > 0 {
		t := s.stripsOf(g, c.history-2, 1)
		s.drawCurve(&t.curve[0], graphAt, y, c.history-2, 1, old)
		s.graphTarget(graphAt, y, c.history-2, 1, g)
	}
}

// note appends what is warning or worse, else the processes, else what is only
// information.
func (s *Screen) note(l *line, r *listRow, room int) {
	p, g := &s.pal, r.gpu
	end := l.w + room
	fade := l.fade
	if s.old(g) && r.parent == g {
		l.fade = nil
		l.text(p.warn, "stale ").duration(p.warn, s.staleFor(g)).pad(2)
		l.fade = fade
	}
	if h, more := worst(g, monitor.Warn, silent); h != nil {
		l.text(s.levelStyle(h.Level), h.Text)
		if more > 0 {
			l.text(s.levelStyle(h.Level), " +").int(s.levelStyle(h.Level), int64(more), 0)
		}
		return
	}
	if r.parent != g && s.lay.list.name == 0 && g.Profile != "" {
		l.text(p.dim, g.Profile).pad(2)
	}
	if len(g.MIG) > 0 {
		l.text(p.plain, "MIG: ").int(p.plain, int64(len(g.MIG)), 0)
		if len(g.MIG) == 1 {
			l.text(p.plain, " instance")
		} else {
			l.text(p.plain, " instances")
		}
		return
	}
	if why := unread(g); why != monitor.Known {
		l.text(p.dim, "processes: ").text(p.dim, reason(why))
		return
	}
	s.owners = s.owners[:0]
	s.collect(g.Processes)
	if len(s.owners) > 0 {
		s.order()
		s.writeUsersAt(l, end-l.w)
		return
	}
	if h, _ := worst(g, monitor.Info, nil); h != nil {
		l.text(p.info, h.Text)
	}
}

// writeUsersAt is writeUsers at the present end of a line.
func (s *Screen) writeUsersAt(l *line, room int) { s.writeUsers(l, l.w+room) }

// total is a sum over GPUs; one unknown part makes it unknown.
type total struct {
	sum     float64
	n       int
	unknown bool
}

func (t *total) add(r monitor.Reading) {
	v, ok := r.Float()
	if !ok || r.Provenance != monitor.Measured {
		t.unknown = true
		return
	}
	t.sum += v
	t.n++
}

func (t *total) known() bool { return t.n > 0 && !t.unknown }

// listSum draws the row of sums, and how many GPUs they cover.
func (s *Screen) listSum(y int) {
	p, c := &s.pal, &s.lay.list
	var util, sm, used, all, watts, limit total
	n := 0
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		if !measured(g) {
			continue
		}
		n++
		util.add(g.Readings[monitor.UtilizationPercent])
		sm.add(g.Readings[monitor.SMActivePercent])
		used.add(g.Readings[monitor.MemoryUsedBytes])
		all.add(g.Readings[monitor.MemoryTotalBytes])
		watts.add(g.Readings[monitor.PowerMW])
		limit.add(g.Readings[monitor.PowerLimitMW])
	}
	l := s.line.reset()
	if s.opt.ASCII {
		l.right(p.dim, "sum", s.numbers)
	} else {
		l.right(p.dim, "Σ", s.numbers)
	}
	l.pad(c.name)
	mean := func(t *total) { l.percent(p, t.sum/float64(max(t.n, 1)), t.known()) }
	l.pad(1)
	mean(&util)
	l.pad(c.history)
	if c.sm > 0 {
		l.pad(c.sm - 4)
		mean(&sm)
	}
	l.pad(1).percent(p, 100*used.sum/max(all.sum, 1), used.known() && all.known() && all.sum > 0)
	pair := func(a, b *total, scale float64, width int) {
		r := s.side.reset()
		sum(r, p.plain, a, scale)
		r.text(p.dim, c.slash)
		sum(r, p.dim, b, scale)
		l.pad(width - r.w).append(r)
	}
	if c.memory > 0 {
		pair(&used, &all, 1.0/gib, c.memory)
	}
	if c.power > 0 {
		pair(&watts, &limit, 1e-3, c.power)
	}
	l.to(c.noteFrom)
	if s.w-l.w < minNote {
		l.drawCut(s.f, 0, y, s.w)
		return
	}
	l.int(p.dim, int64(n), 0).text(p.dim, " of ").int(p.dim, int64(len(s.snap.GPUs)), 0).text(p.dim, " GPUs")
	l.drawCut(s.f, 0, y, s.w)
}

func sum(l *line, st ansi.Style, t *total, scale float64) {
	if !t.known() {
		l.none(1)
		return
	}
	l.float(st, t.sum*scale, 0, 0)
}
