package screen

import (
	"strings"

	"nvtop-lite/monitor"
)

// nvgpu reports whether a GPU is driven by nvgpu, of which NVML knows little more
// than the name.
func nvgpu(g *monitor.GPU) bool { return len(g.Sources) > 0 && g.Sources[0] == "tegra" }

// memoryName is what the memory of a GPU is called. Under nvgpu what is used of
// the host's is one figure of the kernel, else the sum of the processes.
//
//go:noinline
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

// available appends what the host has left, and end: where memory is set aside for
// huge pages both parts, with plus between them.
func (s *Screen) available(l *line, plus, end string) *line {
	p, h := &s.pal, &s.snap.Host
	first, second := &h.MemoryAvailableBytes, (*monitor.Reading)(nil)
	if v, _ := h.HugePagesTotalBytes.Float(); v > 0 {
		second, end = &h.HugePagesFreeBytes, " GiB huge pages"
	}
	return s.gibs(l.text(p.dim, "avail "), first, second, plus).text(p.dim, end)
}

// gibs appends one or two sizes, with what is to stand between them.
func (s *Screen) gibs(l *line, first, second *monitor.Reading, between string) *line {
	l.number(s.pal.plain, *first, 1.0/gib, 1, 0)
	if second != nil {
		l.text(s.pal.dim, between).number(s.pal.dim, *second, 1.0/gib, 1, 0)
	}
	return l
}

// ownRail is the power rail that feeds an integrated GPU alone, nil where there
// is none or the driver has measured something else.
func (s *Screen) ownRail(g *monitor.GPU) *monitor.Part {
	if !g.Integrated {
		return nil
	}
	watts, known := g.Readings[monitor.PowerMW].Float()
	for i := range s.snap.Platform.Parts {
		r := &s.snap.Platform.Parts[i]
		v, ok := r.Readings[monitor.RailPower].Float()
		if r.Kind == monitor.Rail && r.Scope == "gpu" && (!known || ok && v == watts) {
			return r
		}
	}
	return nil
}

// told reports whether anything is known of a part, and whether that is that an
// engine is off or a counter at 0.
func told(r *monitor.Part) (known, off bool) {
	for i := range r.Readings {
		known = known || r.Readings[i].Known()
	}
	v, ok := r.Readings[0].Float()
	return known, ok && v == 0
}

// pick lists the parts of a kind: the rail that feeds everything first, engines
// that are off last, alerts only if they were raised. For the rows of a GPU it
// leaves out the rail on its edge, and engines of which only the details can say
// why nothing is known.
func (s *Screen) pick(kind monitor.PartKind, rows *monitor.GPU) []int {
	s.parts = s.parts[:0]
	var own *monitor.Part
	if rows != nil {
		own = s.ownRail(rows)
	}
	for _, last := range [...]bool{false, true} {
		for i := range s.snap.Platform.Parts {
			r := &s.snap.Platform.Parts[i]
			known, after := told(r)
			if r.Kind != kind || r == own || kind == monitor.ThrottleAlert && after || kind == monitor.Engine && rows != nil && !known {
				continue
			}
			switch kind {
			case monitor.Rail:
				after = r.Scope != "input"
			case monitor.OverCurrent:
				after = false
			}
			if after == last {
				s.parts = append(s.parts, i)
			}
		}
	}
	return s.parts
}

// writePart appends a part in few words, or in full.
func (s *Screen) writePart(l *line, r *monitor.Part, full bool) {
	p := &s.pal
	l.cut(p.dim, r.Name, 20).pad(1)
	known, off := told(r)
	clock, load := &r.Readings[monitor.EngineClock], &r.Readings[monitor.EngineLoad]
	switch {
	case r.Kind == monitor.Rail:
		l.number(p.plain, r.Readings[monitor.RailPower], 1e-3, 1, 0).text(p.dim, " W")
	case r.Kind != monitor.Engine || !known:
		l.number(p.plain, r.Readings[0], 1, 0, 0)
	case off:
		l.text(p.plain, "off")
	case !clock.Known() && !load.Known():
		l.text(p.plain, "on")
	case !r.Readings[monitor.EngineOn].Known() && !load.Known(): // the clock may stand still
		if l.text(p.plain, "?"); full {
			s.clocked(l.pad(1), clock, load)
		}
	default:
		if load.Known() && !full {
			clock = load // which says more
		}
		s.clocked(l, clock, load)
	}
}

// clocked appends "2133 MHz 41%", or the part of it that is known.
func (s *Screen) clocked(l *line, clock, load *monitor.Reading) {
	p := &s.pal
	if clock != load && clock.Known() {
		l.number(p.plain, *clock, 1, 0, 0).text(p.dim, " MHz")
		if load.Known() {
			l.pad(1)
		}
	}
	if load.Known() {
		l.number(p.plain, *load, 1, 0, 0).text(p.dim, "%")
	}
}

// partRows hands on the parts of a kind, as many as fit into rows; "+2" stands
// for those that do not. It returns how many rows are left.
func (s *Screen) partRows(g *monitor.GPU, kind monitor.PartKind, rows int, put func(*line)) int {
	parts := s.pick(kind, g)
	if len(parts) == 0 || rows <= 0 {
		return rows
	}
	gap := 2
	if kind == monitor.Rail {
		gap = 3
	}
	l := s.start(g)
	for k, i := range parts {
		item := s.part.reset()
		item.fade = l.fade
		s.writePart(item, &s.snap.Platform.Parts[i], false)
		left, need := len(parts)-k, l.w+gap+item.w
		if rows == 1 && left > 1 {
			need += 3 + digits(left)
		}
		switch {
		case l.w == 0:
		case need <= statsWidth:
			l.pad(gap)
		case rows == 1:
			put(l.text(s.pal.plain, "  +").int(s.pal.plain, int64(left), 0))
			return 0
		default:
			put(l)
			rows--
			l = s.start(g)
		}
		l.append(item)
	}
	put(l)
	return rows - 1
}

// moduleRows hands on what an integrated GPU has in common with its module, in
// at most so many rows, and returns how many are left.
func (s *Screen) moduleRows(g *monitor.GPU, rows int, put func(*line)) int {
	if rows > 0 && g.MemoryUnified {
		put(s.available(s.start(g), " + ", " GiB  (host and GPU)"))
		rows--
	} else if rows > 0 && g.Adapter != nil { // besides the carve-out
		put(s.adapter(s.start(g), g, "shared ", monitor.SharedTotal))
		rows--
	}
	if rows <= 0 {
		return 0
	}
	kept := min(len(s.pick(monitor.Engine, g)), 1)
	pl, emc := &s.snap.Platform, 0
	if pl.EMCMHz.Known() || pl.EMCPercent.Known() {
		emc = 1
	}
	kept = min(kept+emc, rows-1)
	rows = kept + s.partRows(g, monitor.Rail, rows-kept, put)
	kept = min(emc, max(rows-1, 0))
	if rows = kept + s.partRows(g, monitor.Engine, rows-kept, put); emc > 0 && rows > 0 {
		l := s.start(g).text(s.pal.dim, "EMC ")
		s.clocked(l, &pl.EMCMHz, &pl.EMCPercent)
		put(l)
		rows--
	}
	return rows
}

var (
	moduleLabels = [...]string{"", "SoC ", "JetPack ", "L4T ", "power mode ", "governor "}
	partLabels   = [monitor.NumPartKinds]string{"rails", "engines", "alerts", "OC events"}
)

// writeModule adds what is known of the module that an integrated GPU is part
// of.
func (s *Screen) writeModule(p *panel) {
	pl := &s.snap.Platform
	l := s.line.reset()
	for i, t := range [...]*monitor.Text{&pl.Model, &pl.SoC, &pl.JetPack, &pl.L4T, &pl.PowerMode, &pl.Governor} {
		if !t.Known() {
			continue
		}
		if l.w > 0 {
			l.pad(3)
		}
		s.word(l, moduleLabels[i], *t)
	}
	if l.w > 0 {
		s.put(p, "module", l)
	}
	for kind, label := range partLabels {
		l := s.line.reset()
		for _, i := range s.pick(monitor.PartKind(kind), nil) {
			r := &pl.Parts[i]
			if l.w > 0 {
				l.pad(3)
			}
			if s.writePart(l, r, true); r.Kind != monitor.Rail {
				continue
			}
			words := "shared with others"
			switch r.Scope {
			case "gpu":
				words = "the GPU alone"
			case "input":
				words = "feeds everything"
			}
			s.put(p, label, l.pad(1).to(26).text(s.pal.dim, words))
			l.reset()
			label = ""
		}
		if l.w > 0 {
			s.put(p, label, l)
		}
	}
	l = s.line.reset()
	if s.clocked(l, &pl.EMCMHz, &pl.EMCPercent); l.w > 0 {
		s.put(p, "EMC", l)
	}
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
		case room < 1:
			return false
		case l.w == 1:
		case l.w+3 <= room:
			l.pad(3)
		case s.filtered == 0 && s.v.Choice.Text == "" && s.tableShown() == len(s.procs):
			l.reset().pad(1)
		default:
			return false
		}
		l.text(s.pal.dim, note)
		return true
	}
	return false
}

// drawModel draws the name of a module so that it ends before column end: as many
// words as there is room for, if they tell modules apart.
func (s *Screen) drawModel(room, end int) {
	if s.snap == nil || s.w < hostFrom || room < 12 {
		return
	}
	if pl := &s.snap.Platform; pl.L4T.Known() && pl.Model.Known() {
		name, l := pl.Model.Value, s.line.reset()
		if len(name) > room {
			name = short(name)
		}
		if len(name) > room {
			i := strings.LastIndexByte(name[:room], ' ')
			if i < len("Jetson XX") {
				return
			}
			l.cut(s.pal.dim, name[:i], room-1).text(s.pal.dim, "…")
		} else {
			l.text(s.pal.dim, name)
		}
		l.drawRight(s.f, end, 0)
	}
}
