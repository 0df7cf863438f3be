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

// Colours that are at least three times as bright or as dark as black, white and
// the usual backgrounds near them (WCAG contrast 3:1), from blue to yellow, so that
// the ends differ for the colour-blind too. Load is no fault: red and orange are
// kept for heat and warnings, whose words say the same.
var (
	loadStops = []ansi.Stop{{At: 0, R: 0, G: 135, B: 215}, {At: 50, R: 0, G: 135, B: 135}, {At: 100, R: 175, G: 135, B: 0}}
	heatStops = []ansi.Stop{{At: 30, R: 0, G: 135, B: 255}, {At: 45, R: 0, G: 135, B: 175}, {At: 60, R: 95, G: 135, B: 0}, {At: 72, R: 175, G: 135, B: 0}, {At: 80, R: 215, G: 95, B: 0}, {At: 88, R: 255, G: 0, B: 95}}
)

func newPalette(level ansi.Level) palette {
	blue := level.Reduce(ansi.Indexed256(67))
	p := palette{
		bold:     ansi.Style{Attr: ansi.Bold},
		dim:      ansi.Style{Fg: level.Reduce(ansi.Indexed256(243))},
		name:     ansi.Style{Fg: blue},
		warn:     ansi.Style{Fg: level.Reduce(ansi.Indexed256(166)), Attr: ansi.Bold},
		critical: ansi.Style{Fg: level.Reduce(ansi.Indexed256(197)), Attr: ansi.Bold},
		key:      ansi.Style{Attr: ansi.Bold},
		edge:     ansi.Style{Fg: blue, Attr: ansi.Bold},
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
		step := (i + 25) / 50 * 50
		p.load[i].Fg = brief(level, load[step], step, loadStops)
		p.heat[i].Fg = brief(level, heat[i], i, heatStops)
	}
	return p
}

// at picks from a gradient, with what lies outside of it at its ends.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
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
