package ansi

import (
	"math"
	"sync"
)

// Level says how many colours a terminal shows.
type Level uint8

const (
	LevelNone Level = iota // attributes only
	Level16                // the named colours
	Level256               // the 256-colour palette
	LevelRGB               // 24 bits
)

// String returns the word that the --color flag takes for l.
func (l Level) String() string {
	switch l {
	case Level16:
		return "16"
	case Level256:
		return "256"
	case LevelRGB:
		return "truecolor"
	}
	return "never"
}

// RGB returns what stands for a 24-bit colour at this level: itself, the
// perceptually nearest of the fixed part of the 256-colour palette, a named
// colour that is readable on dark and light backgrounds, or the default. It is
// meant for palettes that are built once.
func (l Level) RGB(r, g, b uint8) Color {
	switch l {
	case LevelRGB:
		return RGB(r, g, b)
	case Level256:
		return nearest256(r, g, b)
	case Level16:
		return named16(r, g, b)
	}
	return 0
}

// Reduce returns c, or what stands for it where the level has fewer colours.
func (l Level) Reduce(c Color) Color {
	if c == 0 || l == LevelRGB {
		return c
	}
	if r, g, b, ok := c.rgb(); ok {
		return l.RGB(r, g, b)
	}
	switch {
	case l == LevelNone:
		return 0
	case l == Level16 && c > 16:
		return named16(indexRGB(int(c) - 1))
	}
	return c
}

// Stop is a point of a gradient.
type Stop struct {
	At      float64
	R, G, B uint8
}

// Gradient returns n colours, entry i for position i, linear between stops
// (which stand in ascending order) and constant outside of them.
func Gradient(l Level, n int, stops ...Stop) []Color {
	colors := make([]Color, n)
	if len(stops) == 0 {
		return colors
	}
	k := 0
	for i := range colors {
		at := float64(i)
		for k+1 < len(stops) && at > stops[k+1].At {
			k++
		}
		a, b := stops[k], stops[min(k+1, len(stops)-1)]
		t := 0.0
		if b.At > a.At {
			t = min(max((at-a.At)/(b.At-a.At), 0), 1)
		}
		mix := func(a, b uint8) uint8 {
			return uint8(math.RoundToEven(float64(a) + t*(float64(b)-float64(a))))
		}
		colors[i] = l.RGB(mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B))
	}
	return colors
}

// lab is a colour in OKLab (Björn Ottosson, 2020), where distance is about what
// the eye sees.
type lab struct{ l, a, b float64 }

func toLab(r, g, b uint8) lab {
	linear := func(c uint8) float64 {
		v := float64(c) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	lr, lg, lb := linear(r), linear(g), linear(b)
	l := math.Cbrt(0.4122214708*lr + 0.5363325363*lg + 0.0514459929*lb)
	m := math.Cbrt(0.2119034982*lr + 0.6806995451*lg + 0.1073969566*lb)
	s := math.Cbrt(0.0883024619*lr + 0.2817188376*lg + 0.6299787005*lb)
	return lab{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// indexRGB returns the components of entry 16..255 of the 256-colour palette.
func indexRGB(i int) (r, g, b uint8) {
	if i >= 232 {
		v := uint8(8 + 10*(i-232))
		return v, v, v
	}
	step := func(n int) uint8 {
		if n == 0 {
			return 0
		}
		return uint8(55 + 40*n)
	}
	i -= 16
	return step(i / 36), step(i / 6 % 6), step(i % 6)
}

var palette256 = sync.OnceValue(func() *[240]lab {
	var p [240]lab
	for i := range p {
		p[i] = toLab(indexRGB(i + 16))
	}
	return &p
})

// nearest256 never answers with the first 16 entries, which users recolour.
func nearest256(r, g, b uint8) Color {
	c := toLab(r, g, b)
	best, bestDist := 0, math.Inf(1)
	for i, p := range palette256() {
		dl, da, db := c.l-p.l, c.a-p.a, c.b-p.b
		if d := dl*dl + da*da + db*db; d < bestDist {
			best, bestDist = i, d
		}
	}
	return Indexed256(uint8(best + 16))
}

// named16 goes by hue: greys become the default colour or bright black, and the
// plain colours are preferred, since most bright ones vanish on a light
// background. Blue is bright, since plain blue vanishes on a dark one.
func named16(r, g, b uint8) Color {
	c := toLab(r, g, b)
	if math.Hypot(c.a, c.b) < 0.04 {
		switch {
		case c.l < 0.2:
			return Palette16(0)
		case c.l < 0.6:
			return Palette16(8)
		}
		return 0
	}
	hue := math.Mod(math.Atan2(c.b, c.a)*180/math.Pi+360, 360)
	switch {
	case hue < 45:
		return Palette16(1)
	case hue < 122:
		return Palette16(3)
	case hue < 168:
		return Palette16(2)
	case hue < 225:
		return Palette16(6)
	case hue < 295:
		return Palette16(12)
	case hue < 350:
		return Palette16(5)
	}
	return Palette16(1)
}
