package screen

import (
	"nvtop-lite/monitor"
)

// The measures of a box.
const (
	statsWidth = 34 // the column of numbers
	boxChrome  = 7  // "│ " + " │ " + " │"
	maxInner   = 5  // rows inside
	minInner   = 2
	tallInner  = 14                          // rows inside where many are to spare
	minBox     = statsWidth + boxChrome + 4  // narrower ones would have no graph
	wideBox    = statsWidth + boxChrome + 30 // the narrowest worth another column
	minCard    = statsWidth + 4
	minTable   = 30 // narrowest process table, in cells
	spareRows  = 12 // from which on there is a second graph
	keptRows   = 9  // of them, at least, stay for the processes
	tableKeeps = 5  // rows that boxes leave to the process table as long as they can
)

// layout says what goes where.
type layout struct {
	header, footer bool
	top, area      int // first line between header and footer, and how many

	kind       Mode // Boxes, Numbers, List or Processes
	columns    int  // of boxes or cards
	inner      int  // rows inside each of them
	boxWidth   int
	page       int // rows of boxes, or rows of the list, that fit
	scroll     bool
	scrollLine int // the line that says what is out of sight, -1 when there is none
	foldTop    int // first line for GPUs that are folded
	list       listLayout

	tableTop, tableRows int // heading included; 0 rows: no table
}

// boxy reports whether GPUs are drawn as boxes or cards.
func (l *layout) boxy() bool { return l.kind == Boxes || l.kind == Numbers }

// arrange computes the layout, moves the selection and puts the scroll position
// of the GPUs into range.
func (s *Screen) arrange() {
	moved := 0
	if s.Focused(s.v) == FocusGPUs {
		moved = s.v.Moved
	}
	l := layout{area: s.h, scrollLine: -1, kind: List}
	if s.h >= 2 {
		l.footer = true
		l.area--
	}
	if s.h >= 3 {
		l.header = true
		l.top = 1
		l.area--
	}
	s.lay = l
	s.boxed, s.folds = s.boxed[:0], s.folds[:0]
	if len(s.shown) == 0 {
		return
	}
	used := 0
	switch mode := s.v.Mode; {
	case mode == Processes && s.w >= minTable && s.lay.area >= 2:
		s.lay.kind = Processes
	case (mode == Auto || mode == Boxes) && s.arrangeBoxes(mode == Boxes), mode == Numbers && s.arrangeCards():
		rows := ceil(len(s.boxed), s.lay.columns)
		s.moveGPU(moved)
		s.v.Scroll = clamp(s.v.Scroll, 0, rows-s.lay.page)
		used = min(rows, s.lay.page) * (s.lay.inner + 2)
		s.lay.foldTop = s.lay.top + used
		used += len(s.folds)
	default:
		used = s.arrangeList(moved)
	}
	if s.lay.scroll && s.lay.area >= 2 {
		s.lay.scrollLine = s.lay.top + used
		used++
	}
	switch rest := s.lay.area - used; {
	case s.lay.kind == Processes:
		s.lay.tableTop, s.lay.tableRows = s.lay.top, rest
	case s.v.ShowProcesses && rest >= 3 && s.w >= minTable:
		s.lay.tableTop, s.lay.tableRows = s.lay.top+used+1, rest-1
	}
}

// arrangeBoxes reports whether boxes can be drawn: all of them, or when forced
// at least some.
func (s *Screen) arrangeBoxes(forced bool) bool {
	if s.w < minBox {
		return false
	}
	s.fold()
	n, l := len(s.boxed), &s.lay
	area := l.area - len(s.folds)
	kept := 0
	if s.v.ShowProcesses && s.w >= minTable {
		kept = tableKeeps
	}
	l.columns = 1
	for l.columns < s.w/wideBox && ceil(n, l.columns)*(maxInner+2)+kept > area {
		l.columns++
	}
	l.boxWidth = s.w / l.columns
	if n == 0 {
		l.kind = Boxes
		return area >= 0
	}
	rows := ceil(n, l.columns)
	// Boxes leave the process table its rows, or give way to the list: more
	// lines never show less.
	l.inner = min((area-kept)/rows-2, maxInner)
	if forced && l.inner < minInner {
		l.inner = min(area/rows-2, maxInner)
	}
	if area-rows*(maxInner+2) >= spareRows {
		l.inner = max(maxInner, min((2*area/3)/rows-2, (area-keptRows)/rows-2, tallInner))
	}
	if l.inner >= minInner {
		l.page, l.kind = rows, Boxes
		return true
	}
	l.inner = minInner
	l.page = (area - 1) / (minInner + 2)
	if forced && l.page > 0 {
		l.scroll, l.kind = true, Boxes
		return true
	}
	return false
}

// arrangeCards reports whether at least one card of numbers can be drawn.
func (s *Screen) arrangeCards() bool {
	if s.w < minCard {
		return false
	}
	s.fold()
	n, l := len(s.boxed), &s.lay
	area := l.area - len(s.folds)
	if n == 0 {
		l.kind, l.columns, l.boxWidth = Numbers, 1, s.w
		return area >= 0
	}
	cells := 0
	for _, i := range s.boxed {
		cells = max(cells, s.cardCells(&s.snap.GPUs[i]))
	}
	least := 0
	// Wide cards have room for names: the fewest columns in which all of them
	// fit, else those that take the fewest lines.
	for columns := 1; columns <= min(s.w/minCard, n) && (least == 0 || least > area); columns++ {
		inner := ceil(cells, cardColumns(s.w/columns))
		if lines := ceil(n, columns) * (inner + 2); least == 0 || lines < least {
			least = lines
			l.columns, l.inner, l.boxWidth = columns, inner, s.w/columns
		}
	}
	rows := ceil(n, l.columns)
	l.page = rows
	if least > area {
		l.scroll = true
		l.page = (area - 1) / (l.inner + 2)
	}
	if l.page <= 0 {
		l.scroll = false
		return false
	}
	l.kind = Numbers
	return true
}

// fold is a group of GPUs that cannot be opened for one and the same reason.
type fold struct {
	gpu *monitor.GPU // the first of them
	n   int
}

func (f *fold) holds(g *monitor.GPU) bool {
	return g.State == monitor.Unavailable && g.Blocked == f.gpu.Blocked && g.StateReason == f.gpu.StateReason
}

// fold decides which GPUs get a box: all but those that cannot be opened for a
// reason that another one has too.
func (s *Screen) fold() {
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		if g.State != monitor.Unavailable {
			continue
		}
		found := false
		for k := range s.folds {
			if s.folds[k].holds(g) {
				s.folds[k].n++
				found = true
			}
		}
		if !found {
			s.folds = append(s.folds, fold{g, 1})
		}
	}
	kept := s.folds[:0]
	for _, f := range s.folds {
		if f.n > 1 {
			kept = append(kept, f)
		}
	}
	s.folds = kept
	for _, i := range s.shown {
		if s.foldOf(&s.snap.GPUs[i]) < 0 {
			s.boxed = append(s.boxed, i)
		}
	}
}

// foldOf is the group that a GPU is folded into, -1 when it has a box.
func (s *Screen) foldOf(g *monitor.GPU) int {
	for k := range s.folds {
		if s.folds[k].holds(g) {
			return k
		}
	}
	return -1
}

// drawFolds draws a line for each group of folded GPUs.
func (s *Screen) drawFolds() {
	for k := range s.folds {
		y := s.lay.foldTop + k
		l := s.line.reset().text(s.pal.bold, " GPUs ")
		first, last := monitor.None, monitor.None
		begun := false
		flush := func() {
			if first == monitor.None {
				return
			}
			if begun {
				l.text(s.pal.bold, ",")
			}
			begun = true
			l.int(s.pal.bold, int64(first), 0)
			if last > first {
				l.text(s.pal.bold, "-").int(s.pal.bold, int64(last), 0)
			}
		}
		for _, i := range s.shown {
			g := &s.snap.GPUs[i]
			if !s.folds[k].holds(g) {
				continue
			}
			s.target(0, y, s.w, 1, Target{Kind: OnGPU, GPU: monitor.Key(g)})
			if g.Index < 0 || g.Index != last+1 || first == monitor.None {
				flush()
				first = g.Index
			}
			last = g.Index
		}
		flush()
		l.text(s.pal.plain, ": ")
		l.text(s.pal.warn, whyUnavailable(s.folds[k].gpu))
		if s.folds[k].gpu.Blocked == monitor.NoPermission {
			l.text(s.pal.dim, " ("+monitor.HintRights+")")
		}
		l.drawCut(s.f, 0, y, s.w)
	}
}

// whyUnavailable says why a GPU cannot be opened.
func whyUnavailable(g *monitor.GPU) string {
	if g.StateReason != "" {
		return g.StateReason
	}
	return reason(g.Unmeasured())
}

// moveGPU moves the selection among boxes by a number of them, and the scroll
// position with it.
func (s *Screen) moveGPU(by int) {
	at := s.move(by, s.v.Scroll*s.lay.columns, len(s.boxed), func(i int) *monitor.GPU { return &s.snap.GPUs[s.boxed[i]] })
	if s.v.Follow && at >= 0 && s.lay.page > 0 {
		row := at / s.lay.columns
		s.v.Scroll = clamp(s.v.Scroll, row-s.lay.page+1, row)
	}
}

// move moves the selection by a number of places among n GPUs. Where none was
// selected it begins with the first one in sight. It returns the place of the
// one selected, -1 when it is not among them.
func (s *Screen) move(by, first, n int, gpu func(int) *monitor.GPU) int {
	v := s.v
	if n == 0 || v.GPU == "" && by == 0 && v.Details != OfGPU {
		return -1
	}
	at := -1
	for i := range n {
		if v.GPU != "" && monitor.Key(gpu(i)) == v.GPU {
			at = i
			break
		}
	}
	switch {
	case at < 0 && (by != 0 || v.GPU == ""):
		at = firstStep(first, by, n)
	case at < 0:
		return -1
	default:
		at = clamp(at+by, 0, n-1)
	}
	if key := monitor.Key(gpu(at)); key != v.GPU {
		v.GPU, v.DetailScroll = key, 0
	}
	v.Follow = v.Follow || by != 0
	return at
}

// firstStep is the place that a move leads to while nothing is selected: the
// first step selects what stands first in sight.
func firstStep(first, by, n int) int {
	switch {
	case by > 0:
		by--
	case by < 0:
		by++
	}
	return clamp(first+by, 0, n-1)
}

func ceil(a, b int) int { return (a + b - 1) / b }

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }
