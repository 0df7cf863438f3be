package screen

import (
	"math"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// The ranks of the groups of a box's top edge; the lowest goes first.
const (
	rankFan         = 1
	rankName        = 2
	rankPower       = 3
	rankClock       = 4
	rankTemperature = 5
	rankInfo        = 6
	rankWarning     = 8
	rankSlowed      = 9
	rankState       = 10
)

// codingFor is how long encoder and decoder stay on the screen after their last
// activity.
const codingFor = 30 * time.Second

// drawBoxes draws the boxes in sight.
func (s *Screen) drawBoxes() {
	l := &s.lay
	first := s.v.Scroll * l.columns
	for i := first; i < min(first+l.page*l.columns, len(s.boxed)); i++ {
		x := (i - first) % l.columns * l.boxWidth
		y := l.top + (i-first)/l.columns*(l.inner+2)
		g := &s.snap.GPUs[s.boxed[i]]
		s.target(x, y, l.boxWidth, l.inner+2, Target{Kind: OnGPU, GPU: monitor.Key(g)})
		s.drawBox(g, x, y)
	}
	s.drawFolds()
	s.drawRange()
}

// selected reports whether a GPU or instance is the one selected.
func (s *Screen) selected(g *monitor.GPU) bool { return s.v.GPU != "" && monitor.Key(g) == s.v.GPU }

// edge is the style of a box's frame: bright around the one selected.
func (s *Screen) edge(g *monitor.GPU) ansi.Style {
	switch {
	case !s.selected(g):
		return s.pal.dim
	case s.Focused(s.v) == FocusGPUs:
		return s.pal.edge
	}
	return s.pal.name
}

func (s *Screen) drawBox(g *monitor.GPU, x, y int) {
	f, p, w, h := s.f, &s.pal, s.lay.boxWidth, s.lay.inner
	graph := w - statsWidth - boxChrome
	split := x + graph + 3
	old := s.old(g)
	edge := s.edge(g)

	s.drawTop(g, x, y, w)
	s.drawWalls(x, y, w, h+2, edge)
	for r := 1; r <= h; r++ {
		f.Rune(split, y+r, '│', p.dim)
	}
	s.drawStrips(g, x+2, y+1, graph, h, old || !measured(g))
	if measured(g) {
		s.graphTarget(x+2, y+1, graph, h, g)
	} else {
		f.Fill(x+2, y+1, graph, 1, ' ', p.plain)
		l := s.line.reset()
		s.state(l, g)
		l.drawCut(f, x+2, y+1, graph)
	}
	s.drawStats(g, split+2, y+1, h)

	s.drawUsers(g, x, y+h+1, split-x-4)
}

// drawTop draws the top edge.
func (s *Screen) drawTop(g *monitor.GPU, x, y, w int) {
	p, f := &s.pal, s.f
	s.groups = s.groups[:0]
	var fade *ansi.Style
	if s.old(g) || !measured(g) {
		fade = &p.dim
	}
	faded := func(g *group) *group { g.fade = fade; return g }

	number(&s.group(never, false).line, p.bold, nil, g, 0)
	if g.Name.Known() {
		name := short(g.Name.Value)
		l := faded(s.group(rankName, false)).pad(2)
		if g.Integrated && strings.IndexByte(name, '(') < 0 { // "Orin (nvgpu)" says so
			l.cut(p.plain, name, 27).text(p.plain, " (integrated)")
		} else {
			l.cut(p.plain, name, 40)
		}
	} else {
		s.group(rankName, false).pad(2).text(p.dim, "-")
	}
	s.power(g, faded(s.group(rankPower, false)))

	// The most severe finding comes first, so that it goes last.
	elsewhere := func(h *monitor.Health) bool { return throttled(h) || silent(h) }
	if h, more := worst(g, monitor.Warn, elsewhere); h != nil && g.State != monitor.Lost {
		r := s.group(rankWarning, true)
		if h.Level == monitor.Critical {
			r.rank = rankState
		}
		r.text(s.levelStyle(h.Level), h.Text)
		if more > 0 {
			r.text(s.levelStyle(h.Level), " +").int(s.levelStyle(h.Level), int64(more), 0)
		}
	}
	for i := range g.Health {
		if h := &g.Health[i]; throttled(h) && measured(g) {
			r := faded(s.group(rankSlowed, true))
			r.text(s.levelStyle(h.Level), h.Text)
			break
		}
	}
	if s.old(g) {
		s.group(rankState, true).text(p.warn, "stale ").duration(p.warn, s.staleFor(g))
	}
	if r := g.Readings[monitor.FanPercent]; r.Known() || failed(g, r) {
		faded(s.group(rankFan, true)).text(p.dim, "FAN ").number(p.plain, r, 1, 0, 3).text(p.dim, "%")
	}
	switch v, ok := g.Readings[monitor.TemperatureC].Float(); {
	case ok:
		faded(s.group(rankTemperature, true)).float(at(&p.heat, v), v, 0, 3).text(at(&p.heat, v), s.celsius())
	case failed(g, g.Readings[monitor.TemperatureC]):
		faded(s.group(rankTemperature, true)).none(3).text(p.dim, s.celsius())
	}
	if r := g.Readings[monitor.ClockGraphicsMHz]; r.Known() || failed(g, r) {
		faded(s.group(rankClock, true)).number(p.plain, r, 1, 0, 4).text(p.dim, " MHz")
	}

	// "╭─ ", a blank and "─" stand around the left side, " " and " ─╮" around
	// the right side, or "─╮" alone.
	left, right := s.fit(w, 2, func(rights int) int {
		if rights > 0 {
			return 5 + 4
		}
		return 5 + 2
	})
	edge := s.edge(g)
	f.Rune(x, y, '╭', edge)
	f.Fill(x+1, y, w-2, 1, '─', edge)
	f.Rune(x+w-1, y, '╮', edge)
	f.Rune(x+2, y, ' ', p.plain)
	at := x + 3
	for i := range s.groups {
		if g := &s.groups[i]; !g.right && !g.gone {
			at = g.drawCut(f, at, y, x+w-2-at)
		}
	}
	if left > 0 && at < x+w-2 {
		f.Rune(at, y, ' ', p.plain)
	}
	if right == 0 {
		return
	}
	at = x + w - 3 - right
	f.Rune(at-1, y, ' ', p.plain)
	for i := range s.groups {
		if g := &s.groups[i]; g.right && !g.gone {
			at = g.draw(f, at, y)
			f.Text(at, y, "  ", p.plain)
			at += 2
		}
	}
	f.Text(x+w-3, y, " ", p.plain)
	f.Rune(x+w-2, y, '─', edge)
}

// power adds "  │ 412 / 700 W"; on a module the rail that is the GPU's own.
func (s *Screen) power(g *monitor.GPU, l *group) {
	p := &s.pal
	if r := s.ownRail(g); r != nil {
		s.writePart(l.text(p.dim, "  │ "), r, false)
		return
	}
	watts := g.Readings[monitor.PowerMW]
	limit := g.Readings[monitor.PowerLimitMW]
	if module := s.snap.Platform.Power(); g.Integrated && !watts.Known() && module.Known() {
		l.text(p.dim, "  │ module ")
		if module.Provenance != monitor.Measured { // the sum of what is measured
			l.text(p.dim, "~")
		}
		l.number(p.plain, module, 1e-3, 1, 0).text(p.dim, " W")
		return
	}
	if !watts.Known() && !limit.Known() && (!measured(g) || g.Integrated && !failed(g, watts)) {
		return
	}
	l.text(p.dim, "  │ ")
	l.number(p.plain, watts, 1e-3, 0, max(wattDigits(limit), 3))
	if limit.Known() {
		l.text(p.dim, " / ").number(p.dim, limit, 1e-3, 0, 0)
	}
	l.text(p.dim, " W")
}

// failed reports whether a GPU that is measured should have a reading, and it is
// unknown all the same.
func failed(g *monitor.GPU, r monitor.Reading) bool {
	return measured(g) && !r.Known() && r.Reason != monitor.NotSupported && r.Reason != monitor.NotSampled
}

func wattDigits(r monitor.Reading) int {
	v, _ := r.Float()
	return wholeDigits(v / 1e3)
}

// wholeDigits is how many cells the rounded value takes.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func wholeDigits(v float64) int { return digits(int(math.RoundToEven(min(max(v, 0), 1e12)))) }

func (s *Screen) celsius() string {
	if s.opt.ASCII {
		return "C"
	}
	return "°C"
}

// short is a model name without the maker's.
func short(name string) string {
	const maker = "NVIDIA "
	if len(name) > len(maker) && name[:len(maker)] == maker {
		return name[len(maker):]
	}
	return name
}

// stats is a column of numbers being drawn.
type stats struct {
	f         *ansi.Frame
	x, y, end int
}

// draw draws the next row, if there is room for it.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (t *stats) draw(l *line) {
	if t.y < t.end {
		l.drawCut(t.f, t.x, t.y, statsWidth)
	}
	t.y++
}

// drawStats draws the column of numbers.
func (s *Screen) drawStats(g *monitor.GPU, x, y, h int) {
	p, t := &s.pal, &stats{s.f, x, y, y + h}
	t.draw(s.loadRow(g))
	t.draw(s.memoryRow(g))
	switch {
	case len(g.MIG) > 0:
		s.instanceRows(g, x, t.y, t.end-t.y)
		return
	case g.Integrated:
		left := s.moduleRows(g, t.end-t.y, t.draw)
		if left > 0 && h > maxInner && (g.Readings[monitor.PerformanceState].Known() || g.Readings[monitor.EnergyJoules].Known()) {
			t.draw(s.energyRow(g))
		}
		return
	}
	links := s.linked(g)
	if h >= 5 {
		if l := s.extraRow(g); l != nil {
			t.draw(l)
		} else {
			s.f.Fill(x, t.y, statsWidth, 1, '─', p.dim)
			t.y++
		}
	}
	switch {
	case h >= 5 || h == 4 && !links:
		t.draw(s.rateRow(g, "PCIe → GPU", monitor.PCIeRxBytesPerSecond))
		t.draw(s.rateRow(g, "PCIe ← GPU", monitor.PCIeTxBytesPerSecond))
	case h == 4: // NVLink is where the traffic is
		t.draw(s.rateRow(g, "NVLink → GPU", monitor.NVLinkRxBytesPerSecond))
		t.draw(s.rateRow(g, "NVLink ← GPU", monitor.NVLinkTxBytesPerSecond))
	case h == 3 && links:
		t.draw(s.nvlinkRow(g))
	case h == 3:
		t.draw(s.bothWays(g, "PCIe", 2, monitor.PCIeRxBytesPerSecond, monitor.PCIeTxBytesPerSecond))
	}
	if h > maxInner {
		if s.codes(g) {
			t.draw(s.coders(g, s.start(g)))
		} else {
			t.draw(s.fields(g, "DRAM", monitor.DRAMActivePercent, "occupancy", monitor.SMOccupancyPercent))
		}
		l := s.start(g).text(p.dim, "memory ").number(p.plain, g.Readings[monitor.ClockMemoryMHz], 1, 0, 5).text(p.dim, " MHz")
		s.field(l.to(21), g, monitor.TemperatureMemoryC)
		t.draw(l)
		t.draw(s.energyRow(g))
	}
}

// energyRow is "P-state P0         energy 12.34 kWh".
func (s *Screen) energyRow(g *monitor.GPU) *line {
	l := s.pstate(s.start(g).text(s.pal.dim, "P-state "), g).to(18).text(s.pal.dim, "energy ")
	s.measure(l, g, monitor.EnergyJoules)
	return l
}

// pstate appends P0 to P15.
func (s *Screen) pstate(l *line, g *monitor.GPU) *line {
	if v, ok := g.Readings[monitor.PerformanceState].Int(); ok {
		return l.text(s.pal.plain, "P").int(s.pal.plain, v, 0)
	}
	return l.text(s.pal.plain, "-")
}

// linked reports whether a GPU has NVLinks at work.
func (s *Screen) linked(g *monitor.GPU) bool {
	links, _ := g.Readings[monitor.NVLinkLinksActive].Int()
	return links > 0 && (g.Readings[monitor.NVLinkRxBytesPerSecond].Known() || g.Readings[monitor.NVLinkTxBytesPerSecond].Known())
}

// start begins a row of numbers, faded when they are old.
func (s *Screen) start(g *monitor.GPU) *line {
	l := s.line.reset()
	if s.old(g) {
		l.fade = &s.pal.dim
	}
	return l
}

func (s *Screen) loadRow(g *monitor.GPU) *line {
	p := &s.pal
	l := s.start(g).text(p.dim, "GPU ").percentOf(p, g.Readings[monitor.UtilizationPercent])
	sm, tensor := g.Readings[monitor.SMActivePercent], g.Readings[monitor.TensorActivePercent]
	switch {
	case s.old(g):
		l.pad(3).text(p.warn, "(").duration(p.warn, s.staleFor(g)).text(p.warn, " old)")
	case len(g.MIG) > 0:
		l.pad(3).text(p.dim, "SM ").percentOf(p, sm).pad(3).text(p.plain, "MIG: ").int(p.plain, int64(len(g.MIG)), 0)
	case sm.Known() || tensor.Known():
		l.pad(3).text(p.dim, "SM ").percentOf(p, sm).pad(2).text(p.dim, "tensor ").percentOf(p, tensor)
	case s.codes(g):
		s.coders(g, l.pad(3))
	}
	return l
}

// coders appends the load of encoder and decoder.
func (s *Screen) coders(g *monitor.GPU, l *line) *line {
	p := &s.pal
	l.text(p.dim, "ENC ").percentOf(p, g.Readings[monitor.EncoderPercent])
	return l.pad(3).text(p.dim, "DEC ").percentOf(p, g.Readings[monitor.DecoderPercent])
}

// codes reports whether a GPU encoded or decoded a moment ago.
func (s *Screen) codes(g *monitor.GPU) bool {
	enc, _ := g.Readings[monitor.EncoderPercent].Float()
	dec, _ := g.Readings[monitor.DecoderPercent].Float()
	if enc == 0 && dec == 0 && len(s.coding) == 0 {
		return false
	}
	key := monitor.Key(g)
	if enc > 0 || dec > 0 {
		s.coding[key] = s.snap.Steady
		return true
	}
	last, ok := s.coding[key]
	if ok && (s.snap.Steady-last > int64(codingFor) || last > s.snap.Steady) { // a recording goes back too
		delete(s.coding, key)
		ok = false
	}
	return ok
}

func (s *Screen) memoryRow(g *monitor.GPU) *line {
	p := &s.pal
	used, total := &g.Readings[monitor.MemoryUsedBytes], &g.Readings[monitor.MemoryTotalBytes]
	l, r := s.start(g), &s.side
	if g.MemoryUnified && !used.Known() {
		if host := s.hostInUse(); host.Known() {
			return s.gibs(l.text(p.dim, "host in use "), &host, &s.snap.Host.MemoryTotalBytes, " / ").text(p.dim, " GiB")
		}
	}
	name := memoryName(g)
	part, ok := shareOf(*used, *total)
	// Where both do not fit, the share moves up to the name, then the blanks
	// around the slash go, then the share.
	slash := " / "
	for form := range 4 {
		s.start(g).text(p.dim, name).pad(1)
		if form < 3 {
			l.percentIn(p, part, ok, 4-min(form, 1))
		}
		if form >= 2 {
			slash = "/"
		}
		r.reset().fade = l.fade
		if s.gibs(r, used, total, slash).text(p.dim, " GiB"); l.w+r.w < statsWidth {
			break
		}
	}
	return l.to(statsWidth - r.w).append(r)
}

// shareOf is the percentage that part is of whole.
func shareOf(part, whole monitor.Reading) (v float64, ok bool) {
	p, ok := part.Float()
	w, ok2 := whole.Float()
	if !ok || !ok2 || w <= 0 {
		return 0, false
	}
	return 100 * p / w, true
}

// laneGB is the speed of a PCIe lane in GB/s, by generation.
var laneGB = [...]float64{1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}

// linkGB is the speed of a GPU's PCIe link in GB/s, 0 when it is not known, and
// whether it has fewer lanes than it could have.
func linkGB(g *monitor.GPU) (speed float64, narrow bool) {
	gen, ok := g.Readings[monitor.PCIeGenerationMax].Int()
	if !ok || gen < 1 || gen >= int64(len(laneGB)) {
		return 0, false
	}
	full, ok := g.Readings[monitor.PCIeWidthMax].Int()
	lanes, ok2 := g.Readings[monitor.PCIeWidth].Int()
	if !ok2 {
		lanes = full
	}
	return laneGB[gen] * float64(max(lanes, 0)), ok && ok2 && lanes < full
}

// rateRow is "PCIe → GPU       40.99 / 63 GB/s".
func (s *Screen) rateRow(g *monitor.GPU, label string, id monitor.ReadingID) *line {
	p := &s.pal
	l := s.start(g).text(p.dim, label)
	r := s.side.reset()
	r.fade = l.fade
	r.number(p.plain, g.Readings[id], 1e-9, 2, 0)
	if speed, narrow := linkGB(g); speed > 0 && (id == monitor.PCIeRxBytesPerSecond || id == monitor.PCIeTxBytesPerSecond) {
		st := p.dim
		if narrow {
			st = p.warn
		}
		r.text(p.dim, " / ").float(st, speed, 0, 0)
	}
	r.text(p.dim, " GB/s")
	return l.to(statsWidth - r.w).append(r)
}

// extraRow is the row between memory and PCIe: encoder and decoder where they
// work and have no other place, else NVLink. Nil stands for a rule.
func (s *Screen) extraRow(g *monitor.GPU) *line {
	gpm := g.Readings[monitor.SMActivePercent].Known() || g.Readings[monitor.TensorActivePercent].Known()
	if (gpm || s.old(g)) && s.lay.inner <= maxInner && s.codes(g) {
		return s.coders(g, s.start(g))
	}
	rx, tx := g.Readings[monitor.NVLinkRxBytesPerSecond], g.Readings[monitor.NVLinkTxBytesPerSecond]
	if links, _ := g.Readings[monitor.NVLinkLinksActive].Int(); links == 0 && !rx.Known() && !tx.Known() {
		return nil
	}
	return s.nvlinkRow(g)
}

func (s *Screen) nvlinkRow(g *monitor.GPU) *line {
	return s.bothWays(g, "NVLink", 1, monitor.NVLinkRxBytesPerSecond, monitor.NVLinkTxBytesPerSecond)
}

// bothWays is "NVLink  → 170.9  ← 161.5      GB/s".
func (s *Screen) bothWays(g *monitor.GPU, label string, decimals int, rx, tx monitor.ReadingID) *line {
	p := &s.pal
	l := s.start(g).text(p.dim, label).to(8)
	l.text(p.dim, "→ ").number(p.plain, g.Readings[rx], 1e-9, decimals, 5)
	l.text(p.dim, "  ← ").number(p.plain, g.Readings[tx], 1e-9, decimals, 5)
	return l.to(statsWidth-5).text(p.dim, " GB/s")
}

// instanceRows draws a row for each MIG instance, the last one saying how many
// found no room.
func (s *Screen) instanceRows(g *monitor.GPU, x, y, rows int) {
	p := &s.pal
	for i := range g.MIG {
		if i >= rows {
			return
		}
		if i == rows-1 && len(g.MIG) > rows {
			l := s.start(g).text(p.plain, "+").int(p.plain, int64(len(g.MIG)-i), 0).text(p.plain, " instances: see the list (v)")
			l.drawCut(s.f, x, y+i, statsWidth)
			return
		}
		s.instanceRow(g, &g.MIG[i]).drawCut(s.f, x, y+i, statsWidth)
	}
}

// instanceRow is " 6:1 1g.10gb SM 46%       3.0/ 9.8".
func (s *Screen) instanceRow(g, m *monitor.GPU) *line {
	p := &s.pal
	l := s.start(g)
	number(l, p.plain, g, m, 4)
	l.pad(1).left(p.plain, m.Profile, 7).pad(1)
	l.text(p.dim, "SM").percentOf(p, m.Readings[monitor.SMActivePercent])
	r := s.side.reset()
	r.fade = l.fade
	s.gibPair(r, m, 0)
	return l.to(statsWidth - r.w).append(r)
}

// gibPair appends used and total memory, "46.8/80.0", without a unit.
func (s *Screen) gibPair(l *line, g *monitor.GPU, width int) {
	p := &s.pal
	l.number(p.plain, g.Readings[monitor.MemoryUsedBytes], 1.0/gib, 1, width)
	l.text(p.dim, "/").number(p.dim, g.Readings[monitor.MemoryTotalBytes], 1.0/gib, 1, 4)
}
