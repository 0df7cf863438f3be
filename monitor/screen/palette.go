package screen

import (
	"math"

	"nvtop-lite/internal/ansi"
)

// palette holds the styles, made once for the colours that there are.
type palette struct {
	plain, bold, dim, name, info, warn, critical, key, edge, selected ansi.Style

	load, heat [101]ansi.Style // of numbers, by percent and by °C
	graph      [101]ansi.Style // of graphs, by percent of their height
}

var (
	loadStops = []ansi.Stop{{At: 0, R: 95, G: 175, B: 95}, {At: 20, R: 175, G: 215, B: 95}, {At: 40, R: 215, G: 215, B: 95}, {At: 60, R: 215, G: 175, B: 95}, {At: 80, R: 215, G: 135, B: 95}, {At: 100, R: 215, G: 95, B: 95}}
	heatStops = []ansi.Stop{{At: 30, R: 95, G: 135, B: 215}, {At: 45, R: 95, G: 175, B: 175}, {At: 60, R: 95, G: 175, B: 95}, {At: 72, R: 215, G: 215, B: 95}, {At: 80, R: 215, G: 135, B: 95}, {At: 88, R: 215, G: 95, B: 95}}
)

func newPalette(level ansi.Level) palette {
	p := palette{
		bold:     ansi.Style{Attr: ansi.Bold},
		dim:      ansi.Style{Fg: level.Reduce(ansi.Indexed256(243))},
		name:     ansi.Style{Fg: level.RGB(135, 175, 215)},
		warn:     ansi.Style{Fg: level.RGB(215, 215, 95), Attr: ansi.Bold},
		critical: ansi.Style{Fg: level.RGB(215, 95, 95), Attr: ansi.Bold},
		key:      ansi.Style{Attr: ansi.Bold},
		edge:     ansi.Style{Fg: level.RGB(135, 175, 215), Attr: ansi.Bold},
		selected: ansi.Style{Attr: ansi.Reverse},
	}
	if level == ansi.LevelNone {
		p.dim.Attr = ansi.Dim
	}
	load := ansi.Gradient(level, 101, loadStops...)
	heat := ansi.Gradient(level, 101, heatStops...)
	for i := range 101 {
		p.graph[i].Fg = brief(level, load[i], i, loadStops)
		// The colour of a number goes in steps, so that a small change of the
		// number does not change it.
		step := (i + 5) / 10 * 10
		p.load[i].Fg = brief(level, load[step], step, loadStops)
		p.heat[i].Fg = brief(level, heat[i], i, heatStops)
	}
	return p
}

// at picks from a gradient, with what lies outside of it at its ends.
func at(gradient *[101]ansi.Style, v float64) ansi.Style {
	return gradient[int(math.RoundToEven(min(max(v, 0), 100)))]
}

// brief returns a shorter name for the colour at a stop of a gradient: all stops
// are also in the fixed part of the 256-colour palette, whose numbers take half
// of the bytes.
func brief(level ansi.Level, c ansi.Color, i int, stops []ansi.Stop) ansi.Color {
	if level != ansi.LevelRGB {
		return c
	}
	for _, s := range stops {
		if s.At == float64(i) {
			return ansi.Level256.RGB(s.R, s.G, s.B)
		}
	}
	return c
}
