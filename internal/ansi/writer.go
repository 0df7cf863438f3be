package ansi

import (
	"io"
	"strconv"
	"unicode/utf8"
)

// Writer sends frames to a terminal as the bytes that turn the last one into the
// next: one Write per frame, none when nothing changed. The terminal must not
// wrap at the right edge (Terminal.Enter sees to it).
type Writer struct {
	out    io.Writer
	w, h   int
	prev   []cell // what the terminal shows
	buf    []byte
	cx, cy int // where the terminal's cursor is; cx < 0: unknown
	pen    Style
	clear  bool // the screen's content is unknown: clear it first
	paint  bool // the screen's content may be damaged: send every cell
}

// unknownCell is equal to no cell of a frame.
var unknownCell = cell{r: -1, w: 1}

const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
	eraseAll  = "\x1b[m\x1b[H\x1b[2J"
)

// NewWriter returns a Writer whose first frame clears the screen.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, clear: true} }

// Invalidate forgets what the terminal shows: the next Flush clears the screen
// and sends the whole frame.
func (w *Writer) Invalidate() { w.clear = true }

// Refresh makes the next Flush send every cell without clearing the screen
// first, which mends without flicker what others wrote there.
func (w *Writer) Refresh() { w.paint = true }

// Flush sends f and returns the number of bytes written. A frame of another size
// than the last clears the screen first. After an error the next Flush starts
// over.
func (w *Writer) Flush(f *Frame) (n int, err error) {
	if f.w != w.w || f.h != w.h {
		w.w, w.h = f.w, f.h
		if cap(w.prev) < len(f.cells) {
			w.prev = make([]cell, len(f.cells))
		}
		w.prev = w.prev[:len(f.cells)]
		w.clear = true
	}
	w.buf = w.buf[:0]
	w.cx, w.cy = -1, 0 // others may have moved it
	switch {
	case w.clear:
		// Outside of the synchronized block: some multiplexers lose content
		// when an erase is inside.
		w.buf = append(w.buf, eraseAll...)
		w.cx, w.pen = 0, Style{}
		fill(w.prev, blank)
	case w.paint:
		w.pen = Style{}
		fill(w.prev, unknownCell)
	}
	cleared := len(w.buf)
	w.buf = append(w.buf, syncBegin...)
	if w.paint && !w.clear {
		w.buf = append(w.buf, "\x1b[m"...)
	}
	w.clear, w.paint = false, false
	head := len(w.buf)
	for y := range w.h {
		row, old := f.row(y), w.prev[y*w.w:(y+1)*w.w]
		for x := range row {
			if row[x] != old[x] {
				w.line(row, old, x, y)
				copy(old, row)
				break
			}
		}
	}
	switch {
	case len(w.buf) > head:
		w.buf = append(w.buf, syncEnd...)
	case cleared > 0:
		w.buf = w.buf[:cleared]
	default:
		return 0, nil
	}
	n, err = w.out.Write(w.buf)
	if err != nil {
		w.clear = true
	}
	return n, err
}

func fill(cells []cell, c cell) {
	for i := range cells {
		cells[i] = c
	}
}

// line sends one row, whose first changed column is x.
func (w *Writer) line(row, old []cell, x, y int) {
	end := len(row) // of the last change
	for row[end-1] == old[end-1] {
		end--
	}
	tail := len(row) // from here on all is blank
	for tail > 0 && row[tail-1] == blank {
		tail--
	}
	for x < end {
		if row[x] == old[x] {
			x++
			continue
		}
		if row[x].w == 0 { // a wide character is sent from its left half
			x--
		}
		if x >= tail && end-x > len("\x1b[K") {
			w.bridge(row, x, y)
			w.move(x, y)
			w.setPen(&blank)
			w.buf = append(w.buf, "\x1b[K"...)
			return
		}
		w.bridge(row, x, y)
		w.move(x, y)
		c := &row[x]
		w.put(c)
		x += int(c.w)
		// Where the terminal draws it wider than expected, it has covered cells
		// behind it.
		for i := x; i < min(x+excess(c), len(row)); i++ {
			if row[i] == old[i] {
				old[i] = unknownCell
				end = max(end, i+1)
			}
		}
	}
}

// excess is how many cells more than the frame some terminal needs for c: one
// for a character of disputed width, one for each mark that it does not combine.
func excess(c *cell) int {
	n := utf8.RuneCountInString(markTable.text(c.marks))
	if c.w == 1 && !plain(c.r) {
		n++
	}
	return n
}

// fits reports whether c can be printed with the pen as it is.
func fits(c *cell, pen Style) bool {
	if c.r == ' ' && (c.attr|pen.Attr)&onBlank == 0 {
		return c.bg == pen.Bg
	}
	return c.fg == pen.Fg && c.bg == pen.Bg && c.attr == pen.Attr
}

// bridge prints the unchanged cells between the cursor and column x where that
// takes no more bytes than moving over them.
func (w *Writer) bridge(row []cell, x, y int) {
	if w.cx < 0 || w.cy != y || x <= w.cx || x-w.cx > 8 {
		return
	}
	limit := forwardCost(x - w.cx)
	cost := 0
	// The first part in the present pen, the rest in that of the cell at x,
	// which is needed anyway.
	to, turn := row[x].style(), x
	for i := w.cx; i < x; i++ {
		c := &row[i]
		if c.w != 1 || c.marks != 0 || !plain(c.r) {
			return
		}
		cost += utf8.RuneLen(c.r)
		if turn == x && !fits(c, w.pen) {
			turn = i
		}
		if turn < x && !fits(c, to) || cost > limit {
			return
		}
	}
	for i := w.cx; i < x; i++ {
		if i == turn {
			w.setPen(&row[x])
			if !fits(&row[i], w.pen) { // a blank at x needs less of the pen
				w.setPen(&row[i])
			}
		}
		w.buf = utf8.AppendRune(w.buf, row[i].r)
		w.cx++
	}
}

func digits(n int) int {
	switch {
	case n < 10:
		return 1
	case n < 100:
		return 2
	case n < 1000:
		return 3
	}
	return 4
}

// forwardCost is the length of a move by n cells.
func forwardCost(n int) int {
	if n == 1 {
		return 3
	}
	return 3 + digits(n)
}

func (w *Writer) csi(n int, final byte) {
	w.buf = append(w.buf, "\x1b["...)
	if n > 1 {
		w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	}
	w.buf = append(w.buf, final)
}

// move puts the cursor at x, y with the fewest bytes.
func (w *Writer) move(x, y int) {
	if w.cx == x && w.cy == y {
		return
	}
	absolute := 4 + digits(y+1) + digits(x+1)
	switch {
	case w.cx < 0:
		w.position(x, y)
	case w.cy == y && x == 0:
		w.buf = append(w.buf, '\r')
	case w.cy == y && x > w.cx && forwardCost(x-w.cx) <= 3+digits(x+1):
		w.csi(x-w.cx, 'C')
	case w.cy == y:
		w.csi(x+1, 'G')
	case y > w.cy && w.nextRow(x, y) < absolute:
	default:
		w.position(x, y)
	}
	w.cx, w.cy = x, y
}

func (w *Writer) position(x, y int) {
	w.buf = append(w.buf, "\x1b["...)
	if y > 0 || x > 0 {
		w.buf = strconv.AppendInt(w.buf, int64(y+1), 10)
	}
	if x > 0 {
		w.buf = append(w.buf, ';')
		w.buf = strconv.AppendInt(w.buf, int64(x+1), 10)
	}
	w.buf = append(w.buf, 'H')
}

// nextRow moves down relatively if that is shorter than 4 + digits, and returns
// what it took, or a large number.
func (w *Writer) nextRow(x, y int) int {
	const no = 1 << 20
	dy := y - w.cy
	absolute := 4 + digits(y+1) + digits(x+1)
	if x == 0 {
		absolute = 3 + digits(y+1)
	}
	feed := 1 + dy // CR LF ...
	if x > 0 {
		feed += forwardCost(x)
	}
	down := no // CUD, then sideways
	switch dx := x - w.cx; {
	case dx == 0:
		down = forwardCost(dy)
	case dx > 0:
		down = forwardCost(dy) + forwardCost(dx)
	case dx >= -4:
		down = forwardCost(dy) - dx
	}
	switch {
	case feed <= down && feed < absolute:
		w.buf = append(w.buf, '\r')
		for range dy {
			w.buf = append(w.buf, '\n')
		}
		if x > 0 {
			w.csi(x, 'C')
		}
		return feed
	case down < absolute:
		w.csi(dy, 'B')
		for dx := x - w.cx; dx < 0; dx++ {
			w.buf = append(w.buf, '\b')
		}
		if x > w.cx {
			w.csi(x-w.cx, 'C')
		}
		return down
	}
	return no
}

// setPen sends one SGR sequence with what differs. A blank needs only its
// background.
func (w *Writer) setPen(c *cell) {
	if fits(c, w.pen) {
		return
	}
	to := c.style()
	if c.r == ' ' && c.attr&onBlank == 0 {
		to = Style{w.pen.Fg, c.bg, w.pen.Attr &^ onBlank}
		if c.bg == 0 { // a reset is the shortest way there
			to = Style{}
		}
	}
	w.buf = appendSGR(w.buf, w.pen, to)
	w.pen = to
}

// put prints a cell at the cursor. Behind a wide character and one whose width
// terminals disagree about, and at the right edge, the cursor is unknown.
func (w *Writer) put(c *cell) {
	w.setPen(c)
	if c.w == 2 && !surelyWide(c.r) {
		// Where the terminal draws it narrow, no old half may show behind it.
		w.buf = append(w.buf, "  "...)
		w.csi(w.cx+1, 'G')
	}
	w.buf = utf8.AppendRune(w.buf, c.r)
	if c.marks != 0 {
		w.buf = append(w.buf, markTable.text(c.marks)...)
	}
	w.cx += int(c.w)
	if !plain(c.r) || c.marks != 0 || w.cx >= w.w {
		w.cx = -1
	}
}
