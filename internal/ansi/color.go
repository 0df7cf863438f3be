package ansi

import "strconv"

// Color is a terminal colour; 0 is the terminal's default.
type Color uint32

// 1..256 are palette entries 0..255, rgbFlag marks 24-bit values.
const rgbFlag = 1 << 24

// Palette16 returns one of the sixteen named colours: 0 black, 1 red, 2 green,
// 3 yellow, 4 blue, 5 magenta, 6 cyan, 7 white, 8-15 their bright forms. Other
// numbers panic.
func Palette16(i int) Color {
	if i < 0 || i > 15 {
		panic("ansi: named colour out of range: " + strconv.Itoa(i))
	}
	return Color(i + 1)
}

// Indexed256 returns a colour of the 256-colour palette; the first 16 are the
// named ones.
func Indexed256(i uint8) Color { return Color(i) + 1 }

// RGB returns a 24-bit colour.
func RGB(r, g, b uint8) Color {
	return rgbFlag | Color(r)<<16 | Color(g)<<8 | Color(b)
}

// rgb returns the components of a 24-bit colour.
func (c Color) rgb() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&rgbFlag != 0
}

// Attr is a set of text attributes.
type Attr uint8

const (
	Bold Attr = 1 << iota
	Dim
	Underline
	Reverse
)

// onBlank are the attributes that change the look of a blank.
const onBlank = Underline | Reverse

// Style is how a cell looks. Styles compare with ==; the zero Style is plain
// text in the terminal's colours.
type Style struct {
	Fg, Bg Color
	Attr   Attr
}

// appendColor appends the SGR parameters of c; base is 30 for the foreground,
// 40 for the background.
func appendColor(b []byte, c Color, base int64) []byte {
	switch {
	case c == 0:
		return strconv.AppendInt(b, base+9, 10)
	case c <= 8:
		return strconv.AppendInt(b, base+int64(c-1), 10)
	case c <= 16:
		return strconv.AppendInt(b, base+60+int64(c-9), 10)
	case c <= 256:
		b = strconv.AppendInt(b, base+8, 10)
		b = append(b, ";5;"...)
		return strconv.AppendInt(b, int64(c-1), 10)
	}
	b = strconv.AppendInt(b, base+8, 10)
	b = append(b, ";2;"...)
	b = strconv.AppendInt(b, int64(c>>16&255), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(c>>8&255), 10)
	b = append(b, ';')
	return strconv.AppendInt(b, int64(c&255), 10)
}

// appendSGR appends the shortest sequence that turns the pen from one style
// into another: the parameters that differ, or a reset and everything.
func appendSGR(b []byte, from, to Style) []byte {
	if from == to {
		return b
	}
	start := len(b)
	b = append(b, "\x1b["...)
	if to == (Style{}) {
		return append(b, 'm')
	}
	off, on := from.Attr&^to.Attr, to.Attr&^from.Attr
	if off&(Bold|Dim) != 0 {
		b = append(b, "22;"...) // ends both
		on |= to.Attr & (Bold | Dim)
	}
	if off&Underline != 0 {
		b = append(b, "24;"...)
	}
	if off&Reverse != 0 {
		b = append(b, "27;"...)
	}
	b = appendAttr(b, on)
	if from.Fg != to.Fg {
		b = append(appendColor(b, to.Fg, 30), ';')
	}
	if from.Bg != to.Bg {
		b = append(appendColor(b, to.Bg, 40), ';')
	}
	b[len(b)-1] = 'm'
	if off == 0 && (to.Fg != 0 || from.Fg == 0) && (to.Bg != 0 || from.Bg == 0) {
		return b // nothing is switched off: a reset cannot be shorter
	}
	mid := len(b)
	b = append(b, "\x1b[;"...)
	b = appendAttr(b, to.Attr)
	if to.Fg != 0 {
		b = append(appendColor(b, to.Fg, 30), ';')
	}
	if to.Bg != 0 {
		b = append(appendColor(b, to.Bg, 40), ';')
	}
	b[len(b)-1] = 'm'
	if len(b)-mid < mid-start {
		return append(b[:start], b[mid:]...)
	}
	return b[:mid]
}

func appendAttr(b []byte, a Attr) []byte {
	if a&Bold != 0 {
		b = append(b, "1;"...)
	}
	if a&Dim != 0 {
		b = append(b, "2;"...)
	}
	if a&Underline != 0 {
		b = append(b, "4;"...)
	}
	if a&Reverse != 0 {
		b = append(b, "7;"...)
	}
	return b
}
