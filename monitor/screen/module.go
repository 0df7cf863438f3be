package screen

import (
	"strings"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// nvgpu reports whether a GPU is driven by nvgpu, of which NVML knows little more
// than the name.
func nvgpu(g *monitor.GPU) bool { return len(g.Sources) > 0 && g.Sources[0] == "tegra" }

// memoryName is what the memory of a GPU is called. Under nvgpu what is used of
// the host's is one figure of the kernel, else the sum of the processes.
func memoryName(g *monitor.GPU) string {
	switch {
	case g.MemoryUnified && nvgpu(g):
		return "Shared"
	case g.MemoryUnified:
		return "VRAM (shared)"
	case g.Integrated && g.Readings[monitor.MemoryTotalBytes].Known():
		return "carve-out"
	}
	return "MEM"
}

// hostInUse is what the machine uses of its memory.
func (s *Screen) hostInUse() monitor.Reading {
	h := &s.snap.Host
	total, ok := h.MemoryTotalBytes.Float()
	left, ok2 := h.MemoryAvailableBytes.Float()
	if !ok || !ok2 || left > total {
		return monitor.Reading{}
	}
	return monitor.OfFloat(total - left)
}

// available appends what the host has left: where memory is set aside for huge
// pages both parts, with plus between them.
func (s *Screen) available(l *line, plus string) *line {
	p, h := &s.pal, &s.snap.Host
	l.text(p.dim, "avail ").number(p.plain, h.MemoryAvailableBytes, 1.0/gib, 1, 0)
	if v, _ := h.HugePagesTotalBytes.Float(); v > 0 {
		return l.text(p.dim, plus).number(p.plain, h.HugePagesFreeBytes, 1.0/gib, 1, 0).text(p.dim, " GiB huge pages")
	}
	return l.text(p.dim, " GiB")
}

// ownRail is the power rail that feeds an integrated GPU alone, nil where there
// is none or the driver has measured something else.
func (s *Screen) ownRail(g *monitor.GPU) *monitor.Part {
	watts, known := g.Readings[monitor.PowerMW].Float()
	for i := range s.snap.Platform.Parts {
		r := &s.snap.Platform.Parts[i]
		if !g.Integrated || r.Kind != monitor.Rail || r.Scope != "gpu" {
			continue
		}
		if v, ok := r.Readings[monitor.RailPower].Float(); !known || ok && v == watts {
			return r
		}
	}
	return nil
}

// told reports whether anything is known of a part.
func told(r *monitor.Part) bool {
	for i := range r.Kind.Info().Readings {
		if r.Readings[i].Known() {
			return true
		}
	}
	return false
}

// leads reports whether a part stands before others of its kind: the rail that
// feeds everything, engines at work.
func leads(r *monitor.Part) bool {
	if r.Kind == monitor.Rail {
		return r.Scope == "input"
	}
	on, known := r.Readings[monitor.EngineOn].Flag()
	return on || !known
}

// part appends a rail or an engine in few words, or in full.
func (s *Screen) partText(l *line, r *monitor.Part, full bool) {
	p := &s.pal
	l.cut(p.dim, r.Name, 16).pad(1)
	if r.Kind == monitor.Rail {
		l.number(p.plain, r.Readings[monitor.RailPower], 1e-3, 1, 0).text(p.dim, " W")
		return
	}
	clock, load := r.Readings[monitor.EngineClock], r.Readings[monitor.EngineLoad]
	switch {
	case !told(r):
		l.text(p.plain, "-")
	case !leads(r):
		l.text(p.plain, "off")
	case !clock.Known() && !load.Known():
		l.text(p.plain, "on")
	case load.Known() && !full:
		s.clocked(l, monitor.Reading{}, load)
	default:
		s.clocked(l, clock, load)
	}
}

// clocked appends "2133 MHz 41%", or the part of it that is known.
func (s *Screen) clocked(l *line, clock, load monitor.Reading) *line {
	p := &s.pal
	if clock.Known() {
		l.number(p.plain, clock, 1, 0, 0).text(p.dim, " MHz")
		if load.Known() {
			l.pad(1)
		}
	}
	if load.Known() {
		l.number(p.plain, load, 1, 0, 0).text(p.dim, "%")
	}
	return l
}

// hasEMC reports whether anything is known of the memory controller.
func (s *Screen) hasEMC() bool {
	return s.snap.Platform.EMCMHz.Known() || s.snap.Platform.EMCPercent.Known()
}

// inRows reports whether a part has a place in the rows of a GPU: what is on the
// edge already has none, and of what is unknown only the details say why.
func inRows(r *monitor.Part, kind monitor.PartKind, own *monitor.Part) bool {
	return r.Kind == kind && r != own && (kind == monitor.Rail || told(r))
}

// count is how many parts of a kind there are for rows.
func (s *Screen) partCount(kind monitor.PartKind, own *monitor.Part) (n int) {
	for i := range s.snap.Platform.Parts {
		if inRows(&s.snap.Platform.Parts[i], kind, own) {
			n++
		}
	}
	return n
}

// partRows hands on the parts of a kind, as many as fit into rows; "+2" stands
// for those that do not. It returns how many rows they take.
func (s *Screen) partRows(g *monitor.GPU, kind monitor.PartKind, own *monitor.Part, rows int, put func(*line)) (used int) {
	left := s.partCount(kind, own)
	if left == 0 || rows <= 0 {
		return 0
	}
	gap := 2
	if kind == monitor.Rail {
		gap = 3
	}
	l := s.start(g)
	for _, first := range [...]bool{true, false} {
		for i := range s.snap.Platform.Parts {
			r := &s.snap.Platform.Parts[i]
			if !inRows(r, kind, own) || leads(r) != first {
				continue
			}
			item := s.part.reset()
			item.fade = l.fade
			s.partText(item, r, false)
			need := l.w + gap + item.w
			if used == rows-1 && left > 1 {
				need += 3 + digits(left-1) // "  +2"
			}
			if l.w > 0 && need > statsWidth {
				if used == rows-1 {
					put(l.pad(2).text(s.pal.plain, "+").int(s.pal.plain, int64(left), 0))
					return rows
				}
				put(l)
				used++
				l = s.start(g)
			}
			if l.w > 0 {
				l.pad(gap)
			}
			l.append(item)
			left--
		}
	}
	put(l)
	return used + 1
}

// moduleRows hands on what an integrated GPU has in common with its module, in
// at most so many rows, and returns how many are left.
func (s *Screen) moduleRows(g *monitor.GPU, rows int, put func(*line)) int {
	if rows > 0 && g.MemoryUnified {
		l := s.available(s.start(g), " + ")
		if v, _ := s.snap.Host.HugePagesTotalBytes.Float(); v <= 0 {
			l.text(s.pal.dim, "  (host and GPU)")
		}
		put(l)
		rows--
	}
	own := s.ownRail(g)
	others := 0 // rows kept for what is no rail
	if s.partCount(monitor.Engine, nil) > 0 {
		others++
	}
	emc := s.hasEMC()
	if emc {
		others++
	}
	rows -= s.partRows(g, monitor.Rail, own, max(rows-others, min(rows, 1)), put)
	kept := 0
	if emc && rows > 1 {
		kept = 1
	}
	rows -= s.partRows(g, monitor.Engine, nil, rows-kept, put)
	if emc && rows > 0 {
		put(s.clocked(s.start(g).text(s.pal.dim, "EMC "), s.snap.Platform.EMCMHz, s.snap.Platform.EMCPercent))
		rows--
	}
	return rows
}

// scopes say what a rail feeds.
func scopeWords(scope string) string {
	switch scope {
	case "gpu":
		return "the GPU alone"
	case "input":
		return "feeds everything"
	}
	return "shared with others"
}

// writeModule adds what is known of the module that an integrated GPU is part
// of.
func (s *Screen) writeModule(p *panel) {
	pl := &s.snap.Platform
	l := s.line.reset()
	for _, t := range [...]struct {
		label string
		text  *monitor.Text
	}{{"", &pl.Model}, {"SoC ", &pl.SoC}, {"JetPack ", &pl.JetPack}, {"L4T ", &pl.L4T}, {"power mode ", &pl.PowerMode}, {"governor ", &pl.Governor}} {
		if !t.text.Known() || t.text.Value == "" {
			continue
		}
		if l.w > 0 {
			l.pad(3)
		}
		s.word(l, t.label, *t.text)
	}
	if l.w > 0 {
		s.put(p, "module", l)
	}
	label := "rails"
	for i := range pl.Parts {
		if r := &pl.Parts[i]; r.Kind == monitor.Rail {
			l := s.line.reset()
			s.partText(l, r, true)
			s.put(p, label, l.to(26).text(s.pal.dim, scopeWords(r.Scope)))
			label = ""
		}
	}
	if s.hasEMC() {
		s.put(p, "EMC", s.clocked(s.line.reset(), pl.EMCMHz, pl.EMCPercent))
	}
	s.putParts(p, "alerts", monitor.ThrottleAlert, 1)
	s.putParts(p, "current", monitor.OverCurrent, 0)
}

// putParts adds a row of engines, or of counters that have reached least.
func (s *Screen) putParts(p *panel, label string, kind monitor.PartKind, least int64) {
	l := s.line.reset()
	for i := range s.snap.Platform.Parts {
		r := &s.snap.Platform.Parts[i]
		n, known := r.Readings[0].Int()
		if r.Kind != kind || kind != monitor.Engine && (!known || n < least) {
			continue
		}
		if l.w > 0 {
			l.pad(3)
		}
		if kind == monitor.Engine {
			s.partText(l, r, true)
			continue
		}
		l.cut(s.pal.dim, r.Name, 24).pad(1).int(s.pal.plain, n, 0)
	}
	if l.w == 0 {
		return
	}
	if kind == monitor.OverCurrent {
		l.text(s.pal.dim, "   times too high since boot")
	}
	s.put(p, label, l)
}

// unifiedNote appends what the figure of used memory is where that is the host's,
// if there is room, and reports whether it did. It takes the place of a count of
// processes that are all to be seen.
func (s *Screen) unifiedNote(l *line) bool {
	if s.snap == nil {
		return false
	}
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		if !g.MemoryUnified || !g.Readings[monitor.MemoryUsedBytes].Known() {
			continue
		}
		note := "unified memory: used = sum of GPU processes"
		if nvgpu(g) {
			note = "unified memory: used = nvmap, shared with the host"
		}
		room := s.w - len(note) - len("  q quit  h help")
		switch {
		case l.w == 1:
		case l.w+3 <= room:
			l.pad(3)
		case s.filtered == 0 && s.v.Choice.Text == "" && s.tableShown() == len(s.procs):
			l.reset().pad(1)
		}
		if l.w > room {
			return false
		}
		l.text(s.pal.dim, note)
		return true
	}
	return false
}

// drawModel draws the name of a module so that it ends before column end: as many
// words of it as there is room for.
func (s *Screen) drawModel(room, end int) {
	if s.snap == nil || s.w < hostFrom {
		return
	}
	pl := &s.snap.Platform
	if !pl.L4T.Known() || !pl.Model.Known() {
		return
	}
	name, mark := pl.Model.Value, 0
	if ansi.Width(name) > room {
		name = short(name)
	}
	for ansi.Width(name)+mark > room {
		i := strings.LastIndexByte(name, ' ')
		if i < 8 {
			return // nothing that tells modules apart
		}
		name, mark = name[:i], 1
	}
	l := s.line.reset().text(s.pal.dim, name)
	if mark > 0 {
		l.text(s.pal.dim, "…")
	}
	l.drawRight(s.f, end, 0)
}
