package screen

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// line is text under construction, in runs of one style each. It is made to be
// reused: what is appended goes into memory that stays.
type line struct {
	b    []byte
	runs []run
	w    int         // cells so far
	fade *ansi.Style // takes the place of every style while set
}

type run struct {
	end int // in b
	st  ansi.Style
}

// Inlined, it would make the program 20 kB larger.
//
//go:noinline
func (l *line) reset() *line {
	l.b, l.runs, l.w, l.fade = l.b[:0], l.runs[:0], 0, nil
	return l
}

// done closes a run of cells that were appended to b.
func (l *line) done(st ansi.Style, cells int) *line {
	if l.fade != nil {
		st = *l.fade
	}
	l.w += cells
	if n := len(l.runs); n > 0 && l.runs[n-1].st == st {
		l.runs[n-1].end = len(l.b)
		return l
	}
	l.runs = append(l.runs, run{len(l.b), st})
	return l
}

// text appends s, which may be foreign.
func (l *line) text(st ansi.Style, s string) *line {
	l.b = append(l.b, s...)
	return l.done(st, ansi.Width(s))
}

// fitting returns how many bytes of s fit into width cells, and whether that is
// all of s.
func fitting(s string, width int) (n int, all bool) {
	if len(s) <= width && ascii(s) {
		return len(s), true
	}
	w := 0
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		if w += ansi.Width(s[i : i+size]); w > width {
			return i, false
		}
		i += size
	}
	return len(s), true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// cut appends s, which may be foreign, in at most width cells; what does not
// fit ends in "…".
func (l *line) cut(st ansi.Style, s string, width int) *line {
	if width <= 0 {
		return l
	}
	if n, all := fitting(s, width); !all {
		for n > 0 && ansi.Width(s[:n]) > width-1 {
			_, size := utf8.DecodeLastRuneInString(s[:n])
			n -= size
		}
		return l.text(st, s[:n]).text(st, "…")
	}
	return l.text(st, s)
}

// tail appends the end of s in at most width cells; what does not fit before it
// is "…".
func (l *line) tail(st ansi.Style, s string, width int) *line {
	if ansi.Width(s) <= width {
		return l.text(st, s)
	}
	for s != "" && ansi.Width(s) > width-1 {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return l.text(st, "…").text(st, s)
}

// left appends s cut or filled to a width.
func (l *line) left(st ansi.Style, s string, width int) *line {
	end := l.w + width
	return l.cut(st, s, width).to(end)
}

// right appends s cut or filled to a width, at its right end.
func (l *line) right(st ansi.Style, s string, width int) *line {
	if n, all := fitting(s, width); all {
		return l.pad(width-ansi.Width(s[:n])).text(st, s)
	}
	return l.left(st, s, width)
}

// pad appends n blanks.
func (l *line) pad(n int) *line {
	if n <= 0 {
		return l
	}
	for range n {
		l.b = append(l.b, ' ')
	}
	return l.done(ansi.Style{}, n)
}

// to fills up to a column.
func (l *line) to(column int) *line { return l.pad(column - l.w) }

// shift moves the ASCII bytes that were appended since start to the right end
// of width cells.
func (l *line) shift(st ansi.Style, start, width int) *line {
	n := len(l.b) - start
	for range width - n {
		l.b = append(l.b, ' ')
	}
	if width > n {
		copy(l.b[start+width-n:], l.b[start:start+n])
		for i := range width - n {
			l.b[start+i] = ' '
		}
	}
	return l.done(st, max(n, width))
}

func (l *line) int(st ansi.Style, v int64, width int) *line {
	start := len(l.b)
	l.b = strconv.AppendInt(l.b, v, 10)
	return l.shift(st, start, width)
}

func (l *line) float(st ansi.Style, v float64, decimals, width int) *line {
	start := len(l.b)
	l.b = strconv.AppendFloat(l.b, v, 'f', decimals, 64)
	return l.shift(st, start, width)
}

// none appends the sign for the unknown.
func (l *line) none(width int) *line { return l.pad(width-1).text(ansi.Style{}, "-") }

// number appends a reading times scale, or "-".
func (l *line) number(st ansi.Style, r monitor.Reading, scale float64, decimals, width int) *line {
	v, ok := r.Float()
	if !ok {
		return l.none(width)
	}
	return l.float(st, v*scale, decimals, width)
}

// percent appends a whole percentage in four cells, coloured by its value.
func (l *line) percent(p *palette, v float64, ok bool) *line { return l.percentIn(p, v, ok, 4) }

func (l *line) percentIn(p *palette, v float64, ok bool, width int) *line {
	if !ok {
		return l.none(width)
	}
	start := len(l.b)
	st := at(&p.load, v)
	l.b = strconv.AppendInt(l.b, int64(math.RoundToEven(v)), 10)
	l.b = append(l.b, '%')
	return l.shift(st, start, width)
}

func (l *line) percentOf(p *palette, r monitor.Reading) *line {
	v, ok := r.Float()
	return l.percent(p, v, ok)
}

// duration appends an age: 7 s, 3 min, 2 h, 5 d.
func (l *line) duration(st ansi.Style, d time.Duration) *line {
	v, unit := int64(d/time.Second), " s"
	switch {
	case v >= 2*86400:
		v, unit = v/86400, " d"
	case v >= 2*3600:
		v, unit = v/3600, " h"
	case v >= 120:
		v, unit = v/60, " min"
	}
	return l.int(st, v, 0).text(st, unit)
}

// span appends a run time in at most six cells: 31s, 14m, 2h14m, 6d03h.
func (l *line) span(st ansi.Style, d time.Duration, width int) *line {
	start := len(l.b)
	v := max(int64(d/time.Second), 0)
	two := func(n int64) {
		if n < 10 {
			l.b = append(l.b, '0')
		}
		l.b = strconv.AppendInt(l.b, n, 10)
	}
	switch {
	case v < 60:
		l.b = append(strconv.AppendInt(l.b, v, 10), 's')
	case v < 3600:
		l.b = append(strconv.AppendInt(l.b, v/60, 10), 'm')
	case v < 86400:
		l.b = append(strconv.AppendInt(l.b, v/3600, 10), 'h')
		two(v / 60 % 60)
		l.b = append(l.b, 'm')
	case v < 100*86400:
		l.b = append(strconv.AppendInt(l.b, v/86400, 10), 'd')
		two(v / 3600 % 24)
		l.b = append(l.b, 'h')
	default:
		l.b = append(strconv.AppendInt(l.b, v/86400, 10), 'd')
	}
	return l.shift(st, start, width)
}

// append adds another line.
func (l *line) append(o *line) *line {
	from := 0
	for _, r := range o.runs {
		l.b = append(l.b, o.b[from:r.end]...)
		l.done(r.st, 0)
		from = r.end
	}
	l.w += o.w
	return l
}

// draw draws the line and returns the column after it.
func (l *line) draw(f *ansi.Frame, x, y int) int {
	from := 0
	for _, r := range l.runs {
		x = f.Bytes(x, y, l.b[from:r.end], r.st)
		from = r.end
	}
	return x
}

// drawCut draws the line in at most width cells and returns the column after
// it; where it does not fit, it ends in "…".
func (l *line) drawCut(f *ansi.Frame, x, y, width int) int {
	if width <= 0 {
		return x
	}
	if l.w <= width {
		return l.draw(f, x, y)
	}
	from, end := 0, x+width
	for _, r := range l.runs {
		s := unsafe.String(unsafe.SliceData(l.b[from:r.end]), r.end-from)
		from = r.end
		// One cell stays for the mark.
		n, all := fitting(s, end-1-x)
		x = f.Text(x, y, s[:n], r.st)
		if !all {
			return f.Text(x, y, "…", r.st)
		}
	}
	return x
}

func (l *line) drawCentred(f *ansi.Frame, x, y, width int) {
	l.drawCut(f, x+max((width-l.w)/2, 0), y, width)
}

// drawRight draws the line so that it ends before column end.
func (l *line) drawRight(f *ansi.Frame, end, y int) { l.draw(f, end-l.w, y) }

// group is a part of a line that is shown whole or not at all.
type group struct {
	line
	rank  int // the lowest goes first
	right bool
	gone  bool
}

const never = 1 << 20 // the rank of what never goes

// group starts the next group.
func (s *Screen) group(rank int, right bool) *group {
	if len(s.groups) < cap(s.groups) {
		s.groups = s.groups[:len(s.groups)+1]
	} else {
		s.groups = append(s.groups, group{})
	}
	g := &s.groups[len(s.groups)-1]
	g.reset()
	g.rank, g.right, g.gone = rank, right, false
	return g
}

// fit drops groups, lowest rank first, until those of both sides and what
// stands around them fit into width. around tells the cells needed besides the
// groups; gap is what stands between two groups of the right side.
func (s *Screen) fit(width, gap int, around func(rights int) int) (left, right int) {
	for {
		lowest := -1
		rights := 0
		left, right = 0, 0
		for i := range s.groups {
			g := &s.groups[i]
			if g.gone {
				continue
			}
			if g.right {
				rights++
				right += g.w
			} else {
				left += g.w
			}
			if g.rank != never && (lowest < 0 || g.rank < s.groups[lowest].rank) {
				lowest = i
			}
		}
		if rights > 1 {
			right += gap * (rights - 1)
		}
		if left+right+around(rights) <= width || lowest < 0 {
			return left, right
		}
		s.groups[lowest].gone = true
	}
}
