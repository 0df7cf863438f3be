package screen

import (
	"nvtop-lite/monitor"
)

// cardRows are the rows of a card that every GPU has, linkRows those of them that
// an integrated one has not.
const (
	cardRows = 14
	linkRows = 3
)

// moduleCells are the rows that what a module has takes at most.
const moduleCells = 6

// cardCells is how many rows of numbers a GPU has.
func (s *Screen) cardCells(g *monitor.GPU) int {
	n := cardRows + max(len(g.Fans), 1) + len(g.MIG)
	if !g.Integrated {
		return n
	}
	if n -= linkRows; len(s.snap.Platform.Parts) > 0 {
		return n + moduleCells
	}
	return n + 1
}

// cardColumns is how many columns of numbers a card has room for.
func cardColumns(width int) int { return max((width-4+3)/(statsWidth+3), 1) }

// drawCards draws the cards in sight: boxes with numbers alone.
func (s *Screen) drawCards() {
	l := &s.lay
	first := s.v.Scroll * l.columns
	for i := first; i < min(first+l.page*l.columns, len(s.boxed)); i++ {
		x := (i - first) % l.columns * l.boxWidth
		y := l.top + (i-first)/l.columns*(l.inner+2)
		g := &s.snap.GPUs[s.boxed[i]]
		s.drawCard(g, x, y)
		s.target(x, y, l.boxWidth, l.inner+2, Target{Kind: OnGPU, GPU: monitor.Key(g)})
	}
	s.drawFolds()
	s.drawRange()
}

func (s *Screen) drawCard(g *monitor.GPU, x, y int) {
	w, h := s.lay.boxWidth, s.lay.inner
	s.drawTop(g, x, y, w)
	s.drawWalls(x, y, w, h+2, s.edge(g))
	s.drawUsers(g, x, y+h+1, w-6)
	if !measured(g) {
		l := s.line.reset()
		s.state(l, g)
		l.drawCut(s.f, x+2, y+1, w-4)
		return
	}
	columns := cardColumns(w)
	n := 0
	put := func(l *line) {
		if n < columns*h {
			column := n / h
			l.drawCut(s.f, x+2+column*(statsWidth+3), y+1+n%h, min(statsWidth, w-4))
			if column > 0 {
				s.f.Rune(x+2+column*(statsWidth+3)-2, y+1+n%h, '│', s.pal.dim)
			}
		}
		n++
	}
	s.writeCard(g, put)
	for ; n < columns*h; n++ {
		if column := n / h; column > 0 {
			s.f.Rune(x+2+column*(statsWidth+3)-2, y+1+n%h, '│', s.pal.dim)
		}
	}
}

// writeCard hands on the rows of a card, as many as cardCells says.
func (s *Screen) writeCard(g *monitor.GPU, put func(*line)) {
	p := &s.pal
	put(s.loadRow(g))
	put(s.memoryRow(g))
	if !nvgpu(g) {
		put(s.fields(g, "DRAM", monitor.DRAMActivePercent, "occupancy", monitor.SMOccupancyPercent))
		put(s.fields(g, "ENC", monitor.EncoderPercent, "DEC", monitor.DecoderPercent))
		put(s.fields(g, "JPEG", monitor.JPEGPercent, "OFA", monitor.OFAPercent))
	}
	put(s.fields(g, "heat", monitor.TemperatureC, "memory", monitor.TemperatureMemoryC))

	l := s.start(g).text(p.dim, "power ").number(p.plain, g.Readings[monitor.PowerMW], 1e-3, 1, 6)
	l.text(p.dim, " of ").number(p.plain, g.Readings[monitor.PowerLimitMW], 1e-3, 0, 0).text(p.dim, " W")
	put(l)
	l = s.start(g).text(p.dim, "energy ")
	s.measure(l, g, monitor.EnergyJoules)
	put(l)
	put(s.pair(g, "clock", monitor.ClockGraphicsMHz, monitor.ClockGraphicsMaxMHz))
	put(s.pair(g, "memory clock", monitor.ClockMemoryMHz, monitor.ClockMemoryMaxMHz))
	l = s.pstate(s.start(g).text(p.dim, "P-state "), g)
	if g.Integrated {
		put(l)
	} else {
		l.text(p.dim, "   PCIe gen ").number(p.plain, g.Readings[monitor.PCIeGeneration], 1, 0, 0)
		l.text(p.dim, " x").number(p.plain, g.Readings[monitor.PCIeWidth], 1, 0, 0)
		put(l)
		put(s.rateRow(g, "PCIe → GPU", monitor.PCIeRxBytesPerSecond))
		put(s.rateRow(g, "PCIe ← GPU", monitor.PCIeTxBytesPerSecond))
		put(s.nvlinkRow(g))
	}
	if len(g.Fans) == 0 {
		put(s.fields(g, "fan", monitor.FanPercent))
	}
	for i := range g.Fans {
		f := &g.Fans[i]
		l := s.start(g).text(p.dim, "fan ")
		s.fan(l, f)
		put(l)
	}
	for i := range g.MIG {
		put(s.instanceRow(g, &g.MIG[i]))
	}
	switch {
	case nvgpu(g): // which has no loads of its engines
		s.moduleRows(g, moduleCells+3, put)
	case g.Integrated:
		s.moduleRows(g, moduleCells, put)
	}
}

// fields is a row of labelled readings.
func (s *Screen) fields(g *monitor.GPU, label string, id monitor.ReadingID, more ...any) *line {
	l := s.start(g).text(s.pal.dim, label).pad(1)
	s.field(l, g, id)
	for i := 0; i+1 < len(more); i += 2 {
		l.to(14).text(s.pal.dim, more[i].(string)).pad(1)
		s.field(l, g, more[i+1].(monitor.ReadingID))
	}
	return l
}

// field appends a percentage or a temperature in its colour.
func (s *Screen) field(l *line, g *monitor.GPU, id monitor.ReadingID) {
	r := g.Readings[id]
	if id.Info().Unit == "%" {
		l.percentOf(&s.pal, r)
		return
	}
	v, ok := r.Float()
	if !ok {
		l.none(4)
		return
	}
	l.float(at(&s.pal.heat, v), v, 0, 3).text(at(&s.pal.heat, v), s.celsius())
}

// pair is a row with a clock and its limit.
func (s *Screen) pair(g *monitor.GPU, label string, now, most monitor.ReadingID) *line {
	l := s.start(g).text(s.pal.dim, label).pad(1).number(s.pal.plain, g.Readings[now], 1, 0, 4)
	return l.text(s.pal.dim, " of ").number(s.pal.plain, g.Readings[most], 1, 0, 0).text(s.pal.dim, " MHz")
}
