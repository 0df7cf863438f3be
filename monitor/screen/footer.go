package screen

import (
	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// hint is a key and what it does.
type hint struct {
	key, does string
	press     ansi.Event
}

func typed(r rune) ansi.Event { return ansi.Event{Key: ansi.KeyRune, Rune: r} }

// hints are the key hints of the last line, the most wanted first: as many as
// fit are shown.
var (
	hints = []hint{
		{"q", "quit", typed('q')}, {"h", "help", typed('h')}, {"v", "view", typed('v')}, {"Enter", "details", ansi.Event{Key: ansi.KeyEnter}},
		{"/", "filter", typed('/')}, {"s", "sort", typed('s')}, {"g", "graph", typed('g')}, {"x", "signal", typed('x')},
		{"p", "processes", typed('p')}, {"Space", "pause", typed(' ')}, {"Tab", "other", ansi.Event{Key: ansi.KeyTab}},
	}
	pausedHints  = []hint{{"Space", "go on", typed(' ')}, {"q", "quit", typed('q')}, {"h", "help", typed('h')}}
	filterHints  = []hint{{"Enter", "keep", ansi.Event{Key: ansi.KeyEnter}}, {"Esc", "drop", ansi.Event{Key: ansi.KeyEsc}}}
	detailHints  = []hint{{"Esc", "close", ansi.Event{Key: ansi.KeyEsc}}, {"q", "quit", typed('q')}}
	processHints = []hint{{"Esc", "close", ansi.Event{Key: ansi.KeyEsc}}, {"x", "signal", typed('x')}, {"q", "quit", typed('q')}}
)

// hintsNow are the keys that matter in the view as it is.
func (s *Screen) hintsNow() []hint {
	switch v := s.v; {
	case v.Signal != nil || v.Help:
		return detailHints
	case v.Details != NoDetails && v.Replay != nil:
		return s.playing(replayDetailHints)
	case v.Details == OfProcess && v.Signals:
		return processHints
	case v.Details != NoDetails:
		return detailHints
	case v.Typing:
		return filterHints
	case s.jumping():
		return jumpHints
	case v.Paused:
		return pausedHints
	case v.Replay != nil:
		s.playing(replayHints)
	default:
		s.hints = s.hints[:0]
	}
	for _, h := range hints {
		none := s.snap == nil || len(s.snap.GPUs) == 0
		switch {
		case s.v.Replay != nil && (h.key == "q" || h.key == "h" || h.key == "Space"):
		case h.key == "x" && !s.v.Signals, h.key == "g" && s.lay.kind != Boxes && s.lay.kind != List:
		case none && h.key != "q" && h.key != "h":
		default:
			s.hints = append(s.hints, h)
		}
	}
	return s.hints
}

// drawFooter draws the last line: what is to be said on the left, keys on the
// right.
func (s *Screen) drawFooter() {
	p, y := &s.pal, s.h-1
	l := s.line.reset().pad(1)
	said := true
	switch {
	case s.v.Typing:
		l.text(p.bold, "filter: ").tail(p.plain, s.v.Choice.Text, max(s.w-12, 8)).text(p.selected, " ")
		if s.filtered > 0 || len(s.procs) > 0 {
			l.pad(2)
			s.count(l)
		}
	case s.jumping():
		s.footJump(l, s.v.Replay)
	case s.v.Notice != "":
		l.text(p.bold, s.v.Notice)
	case s.v.Replay != nil && s.footPlaying(l, s.v.Replay):
	case s.alarm(l):
	case s.lay.tableRows > 0:
		s.count(l)
		s.unifiedNote(l)
	case s.unifiedNote(l):
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
	room := s.w
	if said {
		room -= l.w + 2
	}
	if w := s.drawHints(room, y); said {
		l.drawCut(s.f, 0, y, s.w-w)
	}
}

// drawHints draws as many hints as fit into room cells at the right end of a
// line; the first two at least, as long as there is any line for them. It returns
// how many cells it took, with the blanks before them.
func (s *Screen) drawHints(room, y int) int {
	list := s.hintsNow()
	width := func(h *hint) int { return len(h.key) + 1 + len(h.does) + 2 }
	n, w := 0, -2
	for n < len(list) && w+width(&list[n]) <= room {
		w += width(&list[n])
		n++
	}
	if n < 2 {
		if (s.w < 40 || s.jumping() || s.failed()) && room < s.w {
			return 0 // what is said needs the line
		}
		n = min(2, len(list))
		if w = width(&list[0]) + width(&list[1]) - 2; w > s.w {
			s.f.TextCut(0, y, s.w, list[0].key+" "+list[1].key, s.pal.key)
			return s.w
		}
	}
	x := s.w - w
	for i := range list[:n] {
		h := &list[i]
		from := x
		x = s.f.Text(x, y, h.key, s.pal.key)
		x = s.f.Text(x, y, " ", s.pal.plain)
		x = s.f.Text(x, y, h.does, s.pal.dim)
		s.target(from, y, x-from, 1, Target{Kind: OnHint, Press: h.press})
		x += 2
	}
	return w + 2
}

// count says how many processes there are, and how they are sorted.
func (s *Screen) count(l *line) {
	p := &s.pal
	n := len(s.procs)
	if n == 0 && s.filtered == 0 && !s.anyList() {
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
	if c := &s.v.Choice; c.Text != "" || c.User != "" {
		l.text(p.dim, " of ").int(p.plain, int64(n+s.filtered), 0)
	}
	switch {
	case s.v.Typing, s.v.Frozen:
	default:
		l.text(p.dim, "  sorted by ").text(p.plain, columns[s.sortedBy()].title).pad(1).text(p.plain, s.direction())
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
	l.text(s.pal.warn, "GPU ")
	begun := false
	for i := range s.snap.GPUs {
		g := &s.snap.GPUs[i]
		if !s.v.Hidden[monitor.Key(g)] {
			continue
		}
		if begun {
			l.text(s.pal.warn, ",")
		}
		begun = true
		l.int(s.pal.warn, int64(g.Index), 0)
	}
	l.text(s.pal.warn, " switched off")
}

// sightLine says which GPUs are in sight: "GPUs 0-3 of 16 ↓".
func (s *Screen) sightLine(l *line) {
	p := &s.pal
	first, last := s.inSight()
	if s.w >= 28 {
		l.text(p.plain, "GPUs ")
	}
	index := func(i int) {
		if g := s.placed(i); g.Index >= 0 {
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
	l.text(p.plain, " of ").int(p.bold, int64(s.places()), 0).text(p.plain, " ")
	if first > 0 || s.v.Scroll > 0 {
		l.text(p.bold, "↑")
	}
	if s.below() {
		l.text(p.bold, "↓")
	}
}

// places is how many GPUs there are places for: all that are shown, but for the
// folded ones among boxes.
func (s *Screen) places() int {
	if s.lay.boxy() {
		return len(s.boxed)
	}
	return len(s.shown)
}

// placed is the GPU in a place.
func (s *Screen) placed(i int) *monitor.GPU {
	if s.lay.boxy() {
		return &s.snap.GPUs[s.boxed[i]]
	}
	return &s.snap.GPUs[s.shown[i]]
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

// inSight returns the first and the last GPU that is at least partly in sight.
func (s *Screen) inSight() (first, last int) {
	if s.lay.boxy() {
		first = s.v.Scroll * s.lay.columns
		return first, min(first+s.lay.page*s.lay.columns, len(s.boxed)) - 1
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
	if s.lay.boxy() {
		return (s.v.Scroll+s.lay.page)*s.lay.columns < len(s.boxed)
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
