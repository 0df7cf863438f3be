package screen

import (
	"math"

	"nvtop-lite/monitor"
)

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

// drawGraph draws the newest samples of a series, newest right, one a column. A
// cell has the colour of its row's height, which a single row has not: there
// the number beside it has the colour.
func (s *Screen) drawGraph(series []float32, x, y, width, rows int, faded bool) {
	if width <= 0 || rows <= 0 {
		return
	}
	if len(series) > width {
		series = series[len(series)-width:]
	}
	x += width - len(series)
	for r := range rows {
		foot := 8 * (rows - 1 - r) // eighths below this row
		st := at(&s.pal.graph, 100*float64(rows-r)/float64(rows))
		switch {
		case faded:
			st = s.pal.dim
		case rows == 1:
			st = s.pal.name
		}
		for i, v := range series {
			if v != v {
				if foot == 0 {
					s.f.Rune(x+i, y+r, gap, s.pal.dim)
				}
				continue
			}
			if n := level(float64(v), rows) - foot; n > 0 {
				s.f.Rune(x+i, y+r, levels[min(n, 8)], st)
			}
		}
	}
}

// graphed returns what a GPU's graph shows: its utilization, or where there is
// none, as under MIG, the activity of its SMs.
func (s *Screen) graphed(g *monitor.GPU) monitor.Quantity {
	switch {
	case g.Readings[monitor.UtilizationPercent].Known():
		return monitor.HistoryUtilization
	case g.Readings[monitor.SMActivePercent].Known():
		return monitor.HistorySM
	case s.hist != nil && s.hist.Series(monitor.Key(g), monitor.HistoryUtilization) == nil:
		return monitor.HistorySM
	}
	return monitor.HistoryUtilization
}

// series returns the samples of a GPU's graph, oldest first, from the first
// known one on; NaN is a sample without a value.
func (s *Screen) series(g *monitor.GPU) []float32 {
	if s.hist == nil {
		return nil
	}
	samples := s.hist.Series(monitor.Key(g), s.graphed(g))
	for i, v := range samples {
		if v == v {
			return samples[i:]
		}
	}
	return nil
}
