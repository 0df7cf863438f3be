package ansi

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Cell is one text of a table.
type Cell struct {
	_     [0]func() // not comparable: the comparisons of rows make the program 2 kB larger
	Text  string
	Style Style
}

// CellOf returns a cell.
func CellOf(text string, style Style) Cell { return Cell{Text: text, Style: style} }

// Column is how a column of a table is laid out. The last one takes what is
// left.
type Column struct {
	Head  string
	Right bool
	Gap   int // blanks before it
	Least int // cells
	Most  int // cells, 0 no limit
}

// Row is one line of a table. From cell Span on, where that is not 0, one text
// goes on to the end of the line.
type Row struct {
	Cells []Cell
	Span  int
}

// PageOptions are how a page looks.
type PageOptions struct {
	Level    Level          // which colours; the zero value gives plain text
	ASCII    bool           // no characters beyond ASCII
	Width    int            // cells of a line, 40 or more; 0 means 80
	Location *time.Location // of the times shown; nil means the local one
}

// Page draws lines of text with a width: text, tables and paragraphs.
type Page struct {
	PageOptions        // as they count
	Line        *Frame // the line being drawn

	Plain, Bold, Dim, Warn, Critical Style

	dst []byte
}

// NewPage returns a page whose lines are appended to dst.
func NewPage(dst []byte, o PageOptions) *Page {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	if o.Location == nil {
		o.Location = time.Local
	}
	p := &Page{
		PageOptions: o, Line: NewFrame(o.Width, 1), dst: dst,
		Bold:     Style{Attr: Bold},
		Dim:      Style{Attr: Dim},
		Warn:     Style{Fg: o.Level.RGB(215, 215, 95), Attr: Bold},
		Critical: Style{Fg: o.Level.RGB(215, 95, 95), Attr: Bold},
	}
	p.Line.SetASCII(o.ASCII)
	return p
}

// Bytes returns what was drawn: lines that each end in a newline.
func (p *Page) Bytes() []byte { return p.dst }

// End sends the line drawn and begins the next.
func (p *Page) End() {
	p.dst = AppendLine(p.dst, p.Line, 0, p.Level)
	p.dst = append(p.dst, '\n')
	p.Line.Clear()
}

// Table draws a heading and rows.
func (p *Page) Table(columns []Column, rows []Row, heading Style) {
	last := len(columns) - 1
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(c.Least, Width(c.Head))
		for _, r := range rows {
			if i < len(r.Cells) && (r.Span == 0 || i < r.Span) {
				widths[i] = max(widths[i], Width(r.Cells[i].Text))
			}
		}
		if c.Most > 0 {
			widths[i] = min(widths[i], max(c.Most, Width(c.Head)))
		}
	}
	head := Row{Cells: make([]Cell, len(columns))}
	for i, c := range columns {
		head.Cells[i] = CellOf(c.Head, heading)
	}
	for _, r := range append([]Row{head}, rows...) {
		x := 0
		for i, c := range r.Cells {
			x += columns[i].Gap
			switch {
			case i == last || r.Span > 0 && i == r.Span:
				p.Line.TextCut(x, 0, p.Width-x, c.Text, c.Style)
			case columns[i].Right:
				p.Line.TextRight(x, 0, widths[i], c.Text, c.Style)
			default:
				p.Line.TextCut(x, 0, widths[i], c.Text, c.Style)
			}
			if r.Span > 0 && i == r.Span {
				break
			}
			x += widths[i]
		}
		p.End()
	}
}

// Paragraph draws text in as many lines as it takes, all but the first
// indented, broken between words where that is possible.
func (p *Page) Paragraph(text string, style Style) {
	const indent = 3
	x := 1
	for _, word := range strings.Fields(Clean(text)) {
		if w := Width(word); x > indent && x+w > p.Width {
			p.End()
			x = indent
		}
		for x+Width(word) > p.Width {
			n := prefix(word, p.Width-x)
			p.Line.Text(x, 0, word[:n], style)
			p.End()
			word, x = word[n:], indent
		}
		x = p.Line.Text(x, 0, word, style) + 1
	}
	p.End()
}

// prefix returns how many bytes of word, one character at least, fit into
// width cells.
func prefix(word string, width int) int {
	n := 0
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		if n > 0 && Width(word[:end]) > width {
			break
		}
		n = end
	}
	return n
}
