package screen

import "nvtop-lite/monitor"

// hints are the key hints of the last line, the longest that fits is taken.
var hints = [...][]string{
	{"q", " quit  ", "h", " help  ", "v", " view  ", "p", " processes  ", "s", " sort  ", "Space", " pause"},
	{"q", " quit  ", "h", " help  ", "v", " view  ", "p", " processes"},
	{"q", " quit  ", "h", " help"},
	{"q", " ", "h"},
}

// drawFooter draws the last line: what is to be said on the left, keys on the
// right.
func (s *Screen) drawFooter() {
	p, y := &s.pal, s.h-1
	l := s.line.reset().pad(1)
	said := true
	switch {
	case s.v.Notice != "":
		l.text(p.bold, s.v.Notice)
	case s.alarm(l):
	case s.lay.tableRows > 0:
		s.count(l)
	default:
		said = false
	}
	if s.lay.scroll && s.lay.scrollLine < 0 && s.snap != nil {
		// There was no line left to say it.
		s.side.reset().pad(1)
		s.sightLine(&s.side)
		if said {
			s.side.pad(1)
		}
		s.side.append(l)
		s.line, s.side = s.side, s.line
		l, said = &s.line, true
	}
	if s.snap != nil && s.hidden() > 0 && s.lay.scrollLine < 0 {
		if said {
			l.pad(2)
		}
		s.off(l)
		said = true
	}

	hint := &s.side
	for i := range hints {
		hint.reset()
		for j, w := range hints[i] {
			if j%2 == 0 {
				hint.text(p.key, w)
			} else {
				hint.text(p.dim, w)
			}
		}
		if said && l.w+2+hint.w <= s.w || !said && hint.w < s.w {
			break
		}
	}
	room := s.w
	switch {
	case hint.w+1 > s.w && !said:
		hint.drawCut(s.f, 0, y, s.w)
		return
	case !said, l.w+2+hint.w <= s.w, s.w >= 40:
		hint.drawRight(s.f, s.w, y)
		room -= hint.w + 2
	}
	if said {
		l.drawCut(s.f, 0, y, room)
	}
}

// count says how many processes there are, and how they are sorted.
func (s *Screen) count(l *line) {
	p := &s.pal
	n := len(s.procs)
	if n == 0 && !s.anyList() {
		l.text(p.dim, "no process list")
		return
	}
	if first, last := s.v.ProcScroll, s.v.ProcScroll+s.tableShown(); last-first < n {
		l.int(p.plain, int64(first+1), 0).text(p.plain, "-").int(p.plain, int64(last), 0).text(p.dim, " of ")
	}
	l.int(p.plain, int64(n), 0)
	if n == 1 {
		l.text(p.dim, " process")
	} else {
		l.text(p.dim, " processes")
	}
	l.text(p.dim, "  sorted by ").text(p.plain, columns[s.sortedBy()].title)
	if s.descends() {
		l.text(p.plain, " ↓")
	} else {
		l.text(p.plain, " ↑")
	}
}

// anyList reports whether the process list of any GPU was read.
func (s *Screen) anyList() bool {
	for _, i := range s.shown {
		if s.snap.GPUs[i].ProcStatus.Reason == monitor.Known {
			return true
		}
	}
	return false
}

// off says how many GPUs are switched off.
func (s *Screen) off(l *line) {
	n := int64(s.hidden())
	if n == 1 {
		l.text(s.pal.warn, "1 GPU switched off")
		return
	}
	l.int(s.pal.warn, n, 0).text(s.pal.warn, " GPUs switched off")
}

// sightLine says which GPUs are in sight: "GPUs 0-3 of 16 ↓".
func (s *Screen) sightLine(l *line) {
	p := &s.pal
	first, last := s.inSight()
	if s.w >= 28 {
		l.text(p.plain, "GPUs ")
	}
	index := func(i int) {
		if g := &s.snap.GPUs[s.shown[i]]; g.Index >= 0 {
			l.int(p.bold, int64(g.Index), 0)
		} else {
			l.text(p.bold, "-")
		}
	}
	index(first)
	if last > first {
		l.text(p.bold, "-")
		index(last)
	}
	l.text(p.plain, " of ").int(p.bold, int64(len(s.shown)), 0).text(p.plain, " ")
	if first > 0 || s.v.Scroll > 0 {
		l.text(p.bold, "↑")
	}
	if s.below() {
		l.text(p.bold, "↓")
	}
}

// drawRange draws the line that says which GPUs are in sight.
func (s *Screen) drawRange() {
	if s.lay.scrollLine < 0 {
		return
	}
	l := s.line.reset().pad(1)
	s.sightLine(l)
	if s.hidden() > 0 {
		l.pad(2)
		s.off(l)
	}
	l.drawCut(s.f, 0, s.lay.scrollLine, s.w)
}

// inSight returns the first and the last GPU that is at least partly in sight,
// as places in shown.
func (s *Screen) inSight() (first, last int) {
	if s.lay.boxes {
		first = s.v.Scroll * s.lay.columns
		return first, min(first+s.lay.page*s.lay.columns, len(s.shown)) - 1
	}
	first, last = len(s.shown)-1, 0
	rows := s.listed[min(s.v.Scroll, len(s.listed)):min(s.v.Scroll+s.lay.page, len(s.listed))]
	for _, r := range rows {
		first, last = min(first, r.place), max(last, r.place)
	}
	return min(first, last), last
}

// below reports whether something is out of sight at the lower end.
func (s *Screen) below() bool {
	if s.lay.boxes {
		return (s.v.Scroll+s.lay.page)*s.lay.columns < len(s.shown)
	}
	return s.v.Scroll+s.lay.page < len(s.listed)
}

// unread returns the reason why the process list of a GPU is not known, Known
// when it is or was not asked for yet.
func unread(g *monitor.GPU) monitor.Reason {
	if !measured(g) || g.ProcStatus.Reason == monitor.NotSampled {
		return monitor.Known
	}
	return g.ProcStatus.Reason
}
