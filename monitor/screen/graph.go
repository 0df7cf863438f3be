package screen

import (
	"math"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// Graph chooses what the graphs show.
type Graph uint8

// What graphs can show.
const (
	GraphGPU    Graph = iota // utilization, or activity of the SMs where NVML gives none
	GraphSM                  // activity of the SMs
	GraphMemory              // share of the memory that is used
	GraphPower               // share of the power limit
	GraphPCIe                // rates, to the GPU above and from it below
	GraphNVLink              // the same
	numGraphs
)

var graphNames = [numGraphs]string{"GPU", "SM", "MEM", "POWER", "PCIe", "NVLink"}

// String is what the graph is called on the screen.
func (g Graph) String() string { return graphNames[g%numGraphs] }

// Next returns the graph that follows g when the user cycles through them.
func (g Graph) Next() Graph { return (g + 1) % numGraphs }

// levels are the heights of a cell of a graph in eighths; 0 is blank.
var levels = [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// gap marks a sample without a value at the foot of a graph.
const gap = '╌'

// level is the height of a percentage in eighths of a cell, rounded half to
// even, for rows cells: any load shows.
func level(v float64, rows int) int {
	n := int(math.RoundToEven(min(max(v, 0), 100) * float64(8*rows) / 100))
	if n == 0 && v > 0 {
		return 1
	}
	return n
}

// curve is a series to be drawn.
type curve struct {
	label   string
	samples []float32 // oldest first, from the first known one on; NaN is a sample without a value
	other   []float32 // to be added to them, of the same length and time
	full    float64   // the value that reaches the top
	rate    bool      // bytes per second, else percent
}

// at returns a sample, counted from the newest, which is 0.
func (c *curve) at(back int) float64 {
	i := len(c.samples) - 1 - back
	if i < 0 {
		return math.NaN()
	}
	v := float64(c.samples[i])
	if c.other != nil {
		if j := len(c.other) - 1 - back; j >= 0 {
			v += float64(c.other[j])
		} else {
			v = math.NaN()
		}
	}
	return v
}

// curveOf returns a series of a GPU.
//
//go:noinline
func (s *Screen) curveOf(g *monitor.GPU, q monitor.Quantity, label string) curve {
	return curve{label: label, samples: s.series(g, q), full: 100}
}

// rateOf returns a rate of a GPU. Its top is the speed of the link, or where that
// is not known the largest rate within the last width samples.
func (s *Screen) rateOf(g *monitor.GPU, q monitor.Quantity, label string, width int) curve {
	c := curve{label: label, samples: s.series(g, q), rate: true}
	if q == monitor.HistoryPCIeRx || q == monitor.HistoryPCIeTx {
		speed, _ := linkGB(g)
		c.full = speed * 1e9
	}
	c.reach(width)
	return c
}

func (c *curve) reach(width int) {
	if c.full > 0 {
		return
	}
	for i := range min(width, len(c.samples)) {
		if v := c.at(i); v > c.full {
			c.full = v
		}
	}
}

// strips are the curves in one box, one above the other.
type strips struct {
	curve [3]curve
	rows  [3]int
	n     int
}

// Inlined, it would make the program 1 kB larger, as would curveOf.
//
//go:noinline
func (t *strips) add(c curve, rows int) {
	if rows > 0 {
		t.curve[t.n], t.rows[t.n] = c, rows
		t.n++
	}
}

// stripsOf returns what the graphs of a GPU show in so many rows.
func (s *Screen) stripsOf(g *monitor.GPU, width, rows int) strips {
	var t strips
	memory := 0
	switch graph := s.v.Graph; {
	case graph == GraphMemory, g.MemoryUnified && s.series(g, monitor.HistoryMemory) == nil:
	case rows > maxInner+1:
		memory = rows / 3
	case g.MemoryUnified && graph == GraphGPU && rows >= 4:
		memory = 2
	}
	rest := rows - memory
	half := rest / 2
	switch s.v.Graph {
	case GraphSM:
		t.add(s.curveOf(g, monitor.HistorySM, "SM"), rest)
	case GraphMemory:
		t.add(s.curveOf(g, monitor.HistoryMemory, memoryName(g)), rest)
	case GraphPower:
		t.add(s.curveOf(g, monitor.HistoryPower, "POWER of limit"), rest)
	case GraphPCIe:
		if g.Integrated {
			t.add(curve{label: "no PCIe"}, rest)
			break
		}
		s.addRates(&t, g, monitor.HistoryPCIeRx, monitor.HistoryPCIeTx, "PCIe", width, rest, half)
	case GraphNVLink:
		s.addRates(&t, g, monitor.HistoryNVLinkRx, monitor.HistoryNVLinkTx, "NVLink", width, rest, half)
	default:
		t.add(s.load(g), rest)
	}
	if memory > 0 {
		t.add(s.curveOf(g, monitor.HistoryMemory, memoryName(g)), memory)
	}
	return t
}

// addRates adds both directions of a link, or their sum where there is one row.
func (s *Screen) addRates(t *strips, g *monitor.GPU, rx, tx monitor.Quantity, label string, width, rows, half int) {
	if rows < 2 {
		c := s.rateOf(g, rx, label, 0)
		c.other = s.series(g, tx)
		c.full *= 2
		c.reach(width)
		t.add(c, rows)
		return
	}
	names := [2]string{"PCIe → GPU", "PCIe ← GPU"}
	if rx == monitor.HistoryNVLinkRx {
		names = [2]string{"NVLink → GPU", "NVLink ← GPU"}
	}
	t.add(s.rateOf(g, rx, names[0], width), rows-half)
	t.add(s.rateOf(g, tx, names[1], width), half)
}

// load is the utilization of a GPU, or where there never was any, as under MIG,
// the activity of its SMs.
func (s *Screen) load(g *monitor.GPU) curve {
	if c := s.curveOf(g, monitor.HistoryUtilization, "GPU"); c.samples != nil {
		return c
	}
	if c := s.curveOf(g, monitor.HistorySM, "SM"); c.samples != nil || g.Readings[monitor.UtilizationPercent].Reason == monitor.NotSupported {
		return c
	}
	return curve{label: "GPU", full: 100}
}

// series returns the samples of a GPU, from the first known one on.
func (s *Screen) series(g *monitor.GPU, q monitor.Quantity) []float32 {
	if s.hist == nil {
		return nil
	}
	samples := s.hist.Series(monitor.Key(g), q)
	for i, v := range samples {
		if v == v {
			return samples[i:]
		}
	}
	return nil
}

// drawStrips draws the graphs of a GPU.
func (s *Screen) drawStrips(g *monitor.GPU, x, y, width, rows int, faded bool) {
	t := s.stripsOf(g, width, rows)
	for i := range t.n {
		c := &t.curve[i]
		s.drawCurve(c, x, y, width, t.rows[i], faded)
		s.drawLabel(c, x, y, width)
		y += t.rows[i]
	}
}

// drawLabel names a graph in its corner, with the value under the cursor.
func (s *Screen) drawLabel(c *curve, x, y, width int) {
	p := &s.pal
	l := s.line.reset().text(p.dim, c.label)
	if at := s.v.Cursor; at > 0 && at <= width {
		l.pad(1)
		s.value(l, c, c.at(at-1))
		l.pad(1).duration(p.plain, s.sampleAge(at-1)).text(p.dim, " ago")
	} else if c.rate && c.full > 0 {
		l.text(p.dim, " of ").float(p.dim, c.full*1e-9, 0, 0).text(p.dim, " GB/s")
	}
	l.pad(1)
	if l.w <= width {
		l.draw(s.f, x, y)
	}
}

// value appends a sample in its unit.
func (s *Screen) value(l *line, c *curve, v float64) {
	p := &s.pal
	switch {
	case v != v:
		l.text(p.plain, "-")
	case c.rate:
		l.float(p.plain, v*1e-9, 2, 0).text(p.plain, " GB/s")
	default:
		l.float(p.plain, v, 0, 0).text(p.plain, "%")
	}
}

// sampleAge is how old a sample is, counted from the newest.
func (s *Screen) sampleAge(back int) time.Duration {
	if s.hist == nil {
		return 0
	}
	times := s.hist.Times()
	if back >= len(times) {
		return 0
	}
	return s.age(times[len(times)-1-back])
}

// drawCurve draws the newest samples, newest right, one a column. A cell has the
// colour of its row's height, which a single row has not: there the number
// beside it has the colour.
func (s *Screen) drawCurve(c *curve, x, y, width, rows int, faded bool) {
	if width <= 0 || rows <= 0 {
		return
	}
	n := min(len(c.samples), width)
	scale := 1.0
	if c.full > 0 {
		scale = 100 / c.full
	}
	for r := range rows {
		foot := 8 * (rows - 1 - r) // eighths below this row
		st := at(&s.pal.graph, 100*float64(rows-r)/float64(rows))
		switch {
		case faded:
			st = s.pal.dim
		case rows == 1:
			st = s.pal.name
		}
		for back := range n {
			px := x + width - 1 - back
			v := c.at(back)
			if v != v {
				if foot == 0 {
					s.f.Rune(px, y+r, gap, s.pal.dim)
				}
				continue
			}
			if k := level(v*scale, rows) - foot; k > 0 {
				s.f.Rune(px, y+r, levels[min(k, 8)], st)
			}
		}
	}
	if cursor := s.v.Cursor; cursor > 0 && cursor <= width {
		s.reverse(x+width-cursor, y, 1, rows)
	}
}

// mark shows what is selected: reversed where the keys move it, else underlined.
func (s *Screen) mark(x, y, w, h int, live bool) {
	if live {
		s.reverse(x, y, w, h)
		return
	}
	s.attribute(x, y, w, h, ansi.Underline)
}

// reverse shows cells reversed.
func (s *Screen) reverse(x, y, w, h int) { s.attribute(x, y, w, h, ansi.Reverse) }

func (s *Screen) attribute(x, y, w, h int, a ansi.Attr) {
	for j := y; j < y+h; j++ {
		for i := x; i < x+w; {
			_, st, width := s.f.Cell(i, j)
			st.Attr |= a
			s.f.Paint(i, j, max(width, 1), 1, st)
			i += max(width, 1)
		}
	}
}

// historyTitle heads the column of graphs in the list.
func (s *Screen) historyTitle(width int) string {
	switch {
	case s.v.Graph == GraphGPU || width < len("HISTORY"):
		return "HISTORY"
	case s.v.Graph == GraphMemory:
		return "MEMORY" // the share has a column of its own
	}
	return s.v.Graph.String()
}
