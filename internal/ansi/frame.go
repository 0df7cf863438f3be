package ansi

import (
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// cell is 16 bytes without padding, so that == is one comparison of memory.
type cell struct {
	r      rune
	fg, bg Color
	attr   Attr
	w      uint8  // 1 or 2 cells; 0 marks the right half of a wide character
	marks  uint16 // combining marks, see markTable; 0: none
}

var blank = cell{r: ' ', w: 1}

// Frame is a grid of cells, drawn anew for each picture of the screen. Drawing
// outside of it is clipped. A wide character that loses a half becomes blank.
type Frame struct {
	w, h  int
	cells []cell
	ascii bool
}

// NewFrame returns a blank frame. Negative sizes count as 0.
func NewFrame(w, h int) *Frame {
	f := &Frame{}
	f.Resize(w, h)
	return f
}

// Resize changes the size and blanks the frame; memory is kept for reuse.
func (f *Frame) Resize(w, h int) {
	f.w, f.h = max(w, 0), max(h, 0)
	n := f.w * f.h
	if cap(f.cells) < n {
		f.cells = make([]cell, n)
	}
	f.cells = f.cells[:n]
	f.Clear()
}

// Size returns columns and rows.
func (f *Frame) Size() (w, h int) { return f.w, f.h }

// SetASCII chooses plain characters: whatever is drawn from now on and is not
// ASCII becomes a stand-in ("-" for a line, "~" for "…", "?" for the unknown) of
// the same width.
func (f *Frame) SetASCII(on bool) { f.ascii = on }

// Clear blanks the frame.
func (f *Frame) Clear() {
	c := f.cells
	if len(c) == 0 {
		return
	}
	c[0] = blank
	for n := 1; n < len(c); n *= 2 {
		copy(c[n:], c[:n])
	}
}

// Text draws s from column x of row y on and returns the column after its last
// cell, which is at most the frame's width. Any string is safe: what is no
// visible character is left out, an invalid byte is drawn as "?".
func (f *Frame) Text(x, y int, s string, st Style) int {
	return f.text(x, y, f.w, s, st)
}

// Bytes is Text for bytes, which are not kept.
func (f *Frame) Bytes(x, y int, b []byte, st Style) int {
	return f.text(x, y, f.w, unsafe.String(unsafe.SliceData(b), len(b)), st)
}

// TextCut draws s in at most width cells and returns the column after the last
// one; a text that does not fit ends in "…" ("~" in ASCII mode).
func (f *Frame) TextCut(x, y, width int, s string, st Style) int {
	if width <= 0 {
		return x
	}
	if widthUpTo(s, width) <= width {
		return f.text(x, y, f.w, s, st)
	}
	x = f.text(x, y, min(x+width-1, f.w), s, st)
	return f.text(x, y, f.w, "…", st)
}

// TextRight draws s at the right end of the columns [x, x+width), cut as by
// TextCut when it does not fit.
func (f *Frame) TextRight(x, y, width int, s string, st Style) {
	if w := widthUpTo(s, width); w <= width {
		f.text(x+width-w, y, f.w, s, st)
		return
	}
	f.TextCut(x, y, width, s, st)
}

// Rune draws one character; one without width is left out.
func (f *Frame) Rune(x, y int, r rune, st Style) {
	if y < 0 || y >= f.h || x >= f.w {
		return
	}
	c := styled(st)
	c.r, c.w = r, uint8(cells(r))
	if c.w == 0 {
		return
	}
	f.place(f.row(y), x, c)
}

// Fill draws r in every cell of a rectangle. A character without width fills
// with blanks.
func (f *Frame) Fill(x, y, w, h int, r rune, st Style) {
	x1, y1 := min(x+w, f.w), min(y+h, f.h)
	x0, y0 := max(x, 0), max(y, 0)
	n := cells(r)
	if n == 0 {
		r, n = ' ', 1
	}
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x += n {
			if n == 2 && x+1 >= x1 {
				f.Rune(x, y, ' ', st)
				break
			}
			f.Rune(x, y, r, st)
		}
	}
}

// Paint gives the cells of a rectangle a new style and leaves their text.
func (f *Frame) Paint(x, y, w, h int, st Style) {
	x1, y1 := min(x+w, f.w), min(y+h, f.h)
	for y := max(y, 0); y < y1; y++ {
		row := f.row(y)
		for x := max(x, 0); x < x1; x++ {
			c := row[x]
			c.fg, c.bg, c.attr = st.Fg, st.Bg, st.Attr
			row[x] = c.normal()
			// Both halves of a wide character share a style.
			if x == x1-1 && c.w == 2 && x+1 < f.w {
				x1++
			}
			if c.w == 0 && x > 0 && row[x-1].w == 2 {
				row[x-1].fg, row[x-1].bg, row[x-1].attr = st.Fg, st.Bg, st.Attr
			}
		}
	}
}

// String returns the rows joined by newlines, trailing blanks included.
func (f *Frame) String() string {
	var b strings.Builder
	b.Grow(f.h * (f.w + 1))
	for y := range f.h {
		if y > 0 {
			b.WriteByte('\n')
		}
		for _, c := range f.row(y) {
			if c.w == 0 {
				continue
			}
			b.WriteRune(c.r)
			if c.marks != 0 {
				b.WriteString(markTable.text(c.marks))
			}
		}
	}
	return b.String()
}

// Cell returns a cell's character without its combining marks, its style, and
// its width: 1, 2, or 0 for the right half of a wide character and outside of
// the frame. The style of a blank has only what shows: its background, and
// everything when underlined or reversed.
func (f *Frame) Cell(x, y int) (r rune, st Style, width int) {
	if x < 0 || y < 0 || x >= f.w || y >= f.h {
		return 0, Style{}, 0
	}
	c := &f.cells[y*f.w+x]
	return c.r, c.style(), int(c.w)
}

// Content returns a cell's character with its combining marks; "" for the right
// half of a wide character and outside of the frame.
func (f *Frame) Content(x, y int) string {
	if x < 0 || y < 0 || x >= f.w || y >= f.h {
		return ""
	}
	c := &f.cells[y*f.w+x]
	if c.w == 0 {
		return ""
	}
	return string(c.r) + markTable.text(c.marks)
}

func (f *Frame) row(y int) []cell { return f.cells[y*f.w : (y+1)*f.w] }

func (c *cell) style() Style { return Style{c.fg, c.bg, c.attr} }

func styled(st Style) cell { return cell{fg: st.Fg, bg: st.Bg, attr: st.Attr, w: 1} }

// normal drops the part of a blank's style that cannot be seen, so that equal
// looks are equal cells.
func (c cell) normal() cell {
	if c.r == ' ' && c.marks == 0 && c.attr&onBlank == 0 {
		c.fg, c.attr = 0, 0
	}
	return c
}

// split blanks the other half of the wide character that column x is part of.
func split(row []cell, x int) {
	switch row[x].w {
	case 0:
		if x > 0 {
			row[x-1] = cell{r: ' ', bg: row[x-1].bg, w: 1}
		}
	case 2:
		if x+1 < len(row) {
			row[x+1] = cell{r: ' ', bg: row[x+1].bg, w: 1}
		}
	}
}

// place puts a cell, with stand-ins in ASCII mode, and reports its column or -1.
func (f *Frame) place(row []cell, x int, c cell) int {
	if c.r >= flagA && c.r <= flagZ {
		c.r = 'A' + c.r - flagA
	}
	if f.ascii && c.r >= 0x7f {
		c.r = asciiFor(c.r)
		if c.w == 2 {
			c.w = 1
			f.place(row, x+1, c)
		}
	}
	if c.w == 2 && (x < 0 || x+1 >= len(row)) { // half of it is outside
		c.r, c.w = ' ', 1
		if x < 0 {
			x++
		}
	}
	if x < 0 || x >= len(row) {
		return -1
	}
	split(row, x)
	if c.w == 2 {
		split(row, x+1)
		row[x+1] = cell{fg: c.fg, bg: c.bg, attr: c.attr}
	}
	row[x] = c.normal()
	return x
}

// text draws s in the columns from x up to limit.
func (f *Frame) text(x, y, limit int, s string, st Style) int {
	start := x
	var row []cell // nil: only count
	if y >= 0 && y < f.h {
		row = f.row(y)
	}
	last := -1 // the column that a combining mark belongs to
	c := styled(st)
	space := c
	space.r = ' '
	space = space.normal()
	for i := 0; i < len(s) && (x < limit || last >= 0); {
		b := s[i]
		if b < utf8.RuneSelf {
			i++
			if b < 0x20 || b == 0x7f {
				continue
			}
			if x >= limit {
				break
			}
			last = -1
			if x >= 0 && x < len(row) {
				if row[x].w != 1 {
					split(row, x)
				}
				if b == ' ' {
					row[x] = space
				} else {
					c.r = rune(b)
					row[x] = c
					last = x
				}
			}
			x++
			continue
		}
		r, n := decode(s[i:])
		i += n
		w := cells(r)
		if w == 0 {
			// Not at the right edge: without wrapping, some terminals put the
			// mark on the cell before.
			if last >= 0 && last+int(row[last].w) < f.w && !f.ascii && isMark(r) {
				row[last].marks = markTable.add(row[last].marks, r)
			}
			continue
		}
		if x >= limit || x+w > limit && limit < f.w {
			break
		}
		last = -1
		if row != nil {
			c.r, c.w = r, uint8(w)
			last = f.place(row, x, c)
			c.w = 1
			if last >= 0 && row[last].r == ' ' {
				last = -1
			}
		}
		x += w
	}
	if x > f.w && start <= f.w { // half of a wide character is outside
		x = f.w
	}
	return x
}

// marks interns sequences of combining marks, so that a cell stays small and
// comparable. It is bounded: past the limit marks are left out.
type marks struct {
	mu   sync.RWMutex
	list []string
	ids  map[string]uint16
}

var markTable = marks{list: []string{""}, ids: map[string]uint16{}}

const (
	maxMarks    = 3    // marks on one cell
	maxMarkSets = 4096 // different sequences
)

func (m *marks) text(id uint16) string {
	if id == 0 {
		return ""
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list[id]
}

// add returns the id of the sequence id followed by r.
func (m *marks) add(id uint16, r rune) uint16 {
	var buf [utf8.UTFMax * (maxMarks + 1)]byte
	m.mu.Lock()
	defer m.mu.Unlock()
	if utf8.RuneCountInString(m.list[id]) >= maxMarks {
		return id
	}
	key := utf8.AppendRune(append(buf[:0], m.list[id]...), r)
	if got, ok := m.ids[string(key)]; ok {
		return got
	}
	if len(m.list) >= maxMarkSets {
		return id
	}
	got := uint16(len(m.list))
	m.list = append(m.list, string(key))
	m.ids[string(key)] = got
	return got
}
