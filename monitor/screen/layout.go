package screen

// The measures of a box.
const (
	statsWidth = 34 // the column of numbers
	boxChrome  = 7  // "│ " + " │ " + " │"
	maxInner   = 5  // rows inside
	minInner   = 2
	minBox     = statsWidth + boxChrome + 4  // narrower ones would have no graph
	wideBox    = statsWidth + boxChrome + 30 // the narrowest worth a second column
	minTable   = 30                          // narrowest process table, in cells
)

// layout says what goes where.
type layout struct {
	header, footer bool
	top, area      int // first line between header and footer, and how many

	boxes      bool
	columns    int
	inner      int // rows inside a box
	boxWidth   int
	page       int // rows of boxes, or rows of the list, that fit
	scroll     bool
	scrollLine int // the line that says what is out of sight, -1 when there is none
	list       listLayout

	tableTop, tableRows int // heading included; 0 rows: no table
}

// arrange computes the layout and puts the scroll position of the GPUs into
// range.
func (s *Screen) arrange() {
	l := layout{area: s.h, scrollLine: -1}
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
	if len(s.shown) == 0 {
		return
	}
	var used int
	if s.lay.boxes = s.v.Mode != List && s.arrangeBoxes(s.v.Mode == Boxes); s.lay.boxes {
		rows := ceil(len(s.shown), s.lay.columns)
		used = min(rows, s.lay.page) * (s.lay.inner + 2)
		s.v.Scroll = clamp(s.v.Scroll, 0, rows-s.lay.page)
	} else {
		used = s.arrangeList()
	}
	if s.lay.scroll && s.lay.area >= 2 {
		s.lay.scrollLine = s.lay.top + used
		used++
	}
	if rest := s.lay.area - used; s.v.ShowProcesses && rest >= 3 && s.w >= minTable {
		s.lay.tableTop, s.lay.tableRows = s.lay.top+used+1, rest-1
	}
}

// arrangeBoxes reports whether boxes can be drawn: all of them, or when forced
// at least some.
func (s *Screen) arrangeBoxes(forced bool) bool {
	n, l := len(s.shown), &s.lay
	if s.w < minBox {
		return false
	}
	l.columns = 1
	if s.w/2 >= wideBox && n*(maxInner+2) > l.area {
		l.columns = 2
	}
	l.boxWidth = s.w
	if l.columns == 2 {
		l.boxWidth = s.w / 2
	}
	rows := ceil(n, l.columns)
	l.inner = min(l.area/rows-2, maxInner)
	if l.inner >= minInner {
		l.page = rows
		return true
	}
	l.inner = minInner
	l.page = (l.area - 1) / (minInner + 2)
	l.scroll = true
	if forced && l.page > 0 {
		return true
	}
	l.scroll = false
	return false
}

func ceil(a, b int) int { return (a + b - 1) / b }

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }
