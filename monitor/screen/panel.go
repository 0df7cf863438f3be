package screen

import (
	"unicode/utf8"
	"unsafe"

	"nvtop-lite/internal/ansi"
)

// panel is a framed text over the rest of the screen. Its text is written twice:
// once to find out how many rows it takes, once to draw those in sight.
type panel struct {
	x, y, w, h int // the frame
	label      int // cells of the labels
	first      int // row in sight at the top
	row        int // next row
	drawing    bool
}

// showPanel draws what write puts into it, at most as wide as width, with title
// and hint on the edges. It returns the scroll position put into range.
func (s *Screen) showPanel(width, label, scroll int, title, hint string, write func(*panel)) int {
	p := &panel{w: min(width, s.w), label: label}
	write(p)
	rows := p.row
	p.h = min(rows+2, s.h)
	inner := max(p.h-2, 0)
	if p.w < 8 || inner == 0 {
		s.f.Fill(0, 0, s.w, s.h, ' ', s.pal.plain)
		s.f.TextCut(0, 0, s.w, title, s.pal.bold)
		return 0
	}
	s.panelRows = inner
	scroll = clamp(scroll, 0, rows-inner)
	p.x, p.y = (s.w-p.w)/2, (s.h-p.h)/2
	p.first, p.row, p.drawing = scroll, 0, true
	s.frame(p.x, p.y, p.w, p.h)
	write(p)
	s.f.TextCut(p.x+2, p.y, p.w-4, title, s.pal.bold)
	foot := s.line.reset().text(s.pal.dim, hint)
	if rows > inner {
		foot.pad(2).text(s.pal.dim, s.updown()).text(s.pal.dim, " scroll  ").int(s.pal.plain, int64(scroll+1), 0).text(s.pal.dim, "-")
		foot.int(s.pal.plain, int64(scroll+inner), 0).text(s.pal.dim, " of ").int(s.pal.plain, int64(rows), 0)
	}
	s.f.Rune(p.x+2, p.y+p.h-1, ' ', s.pal.plain)
	end := foot.drawCut(s.f, p.x+3, p.y+p.h-1, p.w-6)
	s.f.Rune(end, p.y+p.h-1, ' ', s.pal.plain)
	return scroll
}

// frame draws an empty frame.
func (s *Screen) frame(x, y, w, h int) {
	f, p := s.f, &s.pal
	f.Fill(x, y, w, h, ' ', p.plain)
	f.Rune(x, y, '╭', p.dim)
	f.Fill(x+1, y, w-2, 1, '─', p.dim)
	f.Rune(x+w-1, y, '╮', p.dim)
	s.drawWalls(x, y, w, h, p.dim)
}

// drawWalls draws a frame without its upper edge.
func (s *Screen) drawWalls(x, y, w, h int, st ansi.Style) {
	for r := y + 1; r < y+h-1; r++ {
		s.f.Rune(x, r, '│', st)
		s.f.Rune(x+w-1, r, '│', st)
	}
	s.f.Rune(x, y+h-1, '╰', st)
	s.f.Fill(x+1, y+h-1, w-2, 1, '─', st)
	s.f.Rune(x+w-1, y+h-1, '╯', st)
}

// put adds a row with a label, as many lines as the text takes.
func (s *Screen) put(p *panel, label string, l *line) {
	width := p.w - 4 - p.label
	first := p.row
	s.wrap(l, width, func(part *line) {
		if y, ok := p.place(); ok {
			part.draw(s.f, p.x+2+p.label, y)
		}
		p.row++
	})
	if p.drawing && first >= p.first && first < p.first+p.h-2 {
		s.f.TextCut(p.x+2, p.y+1+first-p.first, p.label-1, label, s.pal.dim)
	}
}

// blank adds an empty row.
func (p *panel) blank() { p.row++ }

// place returns where on the screen the next row is, if it is in sight.
func (p *panel) place() (y int, ok bool) {
	return p.y + 1 + p.row - p.first, p.drawing && p.row >= p.first && p.row < p.first+p.h-2
}

// wrap cuts a line into parts of at most width cells, at blanks where there are
// any, and hands them on one after the other. There is one at least.
func (s *Screen) wrap(l *line, width int, each func(part *line)) {
	if l.w <= width {
		each(l)
		return
	}
	width = max(width, 1)
	part := &s.part
	for at := 0; at < len(l.b); {
		end, next := l.breakAt(at, width)
		part.reset()
		from := at
		for _, r := range l.runs {
			if r.end <= from || from >= end {
				continue
			}
			to := min(r.end, end)
			part.b = append(part.b, l.b[from:to]...)
			part.done(r.st, ansi.Width(unsafe.String(unsafe.SliceData(l.b[from:to]), to-from)))
			from = to
		}
		each(part)
		at = next
	}
}

// breakAt returns where a part of at most width cells that begins at a byte
// ends, and where the next one begins.
func (l *line) breakAt(at, width int) (end, next int) {
	text := unsafe.String(unsafe.SliceData(l.b), len(l.b))
	blank, cells := -1, 0
	for i := at; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		cells += ansi.Width(text[i : i+size])
		if text[i] == ' ' {
			blank = i
		}
		if cells > width {
			switch {
			case text[i] == ' ':
				return i, i + size
			case blank > at:
				return blank, blank + 1
			case i == at: // not even one character fits
				return i + size, i + size
			}
			return i, i
		}
		i += size
	}
	return len(text), len(text)
}
