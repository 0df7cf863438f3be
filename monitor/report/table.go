package report

import (
	"strings"
	"unicode/utf8"

	"nvtop-lite/internal/ansi"
)

// cell is one text of a table.
type cell struct {
	text  string
	style ansi.Style
}

// column is how a column of a table is laid out. The last one takes what is
// left.
type column struct {
	head  string
	right bool
	gap   int // blanks before it
	least int // cells
	most  int // cells, 0 no limit
}

// row is one line of a table. From cell span on, where that is not 0, one text
// goes on to the end of the line.
type row struct {
	cells []cell
	span  int
}

// page draws lines of text.
type page struct {
	dst   []byte
	line  *ansi.Frame
	width int
	level ansi.Level
}

// end sends the line drawn and begins the next.
func (p *page) end() {
	p.dst = ansi.AppendLine(p.dst, p.line, 0, p.level)
	p.dst = append(p.dst, '\n')
	p.line.Clear()
}

// table draws a heading and rows.
func (p *page) table(columns []column, rows []row, heading ansi.Style) {
	last := len(columns) - 1
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(c.least, ansi.Width(c.head))
		for _, r := range rows {
			if i < len(r.cells) && (r.span == 0 || i < r.span) {
				widths[i] = max(widths[i], ansi.Width(r.cells[i].text))
			}
		}
		if c.most > 0 {
			widths[i] = min(widths[i], max(c.most, ansi.Width(c.head)))
		}
	}
	head := row{cells: make([]cell, len(columns))}
	for i, c := range columns {
		head.cells[i] = cell{c.head, heading}
	}
	for _, r := range append([]row{head}, rows...) {
		x := 0
		for i, c := range r.cells {
			x += columns[i].gap
			switch {
			case i == last || r.span > 0 && i == r.span:
				p.line.TextCut(x, 0, p.width-x, c.text, c.style)
			case columns[i].right:
				p.line.TextRight(x, 0, widths[i], c.text, c.style)
			default:
				p.line.TextCut(x, 0, widths[i], c.text, c.style)
			}
			if r.span > 0 && i == r.span {
				break
			}
			x += widths[i]
		}
		p.end()
	}
}

// paragraph draws text in as many lines as it takes, all but the first
// indented, broken between words where that is possible.
func (p *page) paragraph(text string, style ansi.Style) {
	const indent = 3
	x := 1
	for _, word := range strings.Fields(ansi.Clean(text)) {
		if w := ansi.Width(word); x > indent && x+w > p.width {
			p.end()
			x = indent
		}
		for x+ansi.Width(word) > p.width {
			n := prefix(word, p.width-x)
			p.line.Text(x, 0, word[:n], style)
			p.end()
			word, x = word[n:], indent
		}
		x = p.line.Text(x, 0, word, style) + 1
	}
	p.end()
}

// prefix returns how many bytes of word, one character at least, fit into
// width cells.
func prefix(word string, width int) int {
	n := 0
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		if n > 0 && ansi.Width(word[:end]) > width {
			break
		}
		n = end
	}
	return n
}
