package ansi

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// narrow measures independently of the locale: the package functions of
// runewidth would count block and line characters as two cells under a CJK
// locale, where terminals draw one.
var narrow = runewidth.Condition{StrictEmojiNeutral: true}

// hidden reports whether r is never printed: control characters, format
// characters (bidi controls, joiners, soft hyphen, tags), line separators,
// variation selectors, fillers and code points that are no characters.
func hidden(r rune) bool {
	switch {
	case r < 0x20:
		return true
	case r < 0x7f:
		return false
	case r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad
	case plainGlyph(r):
		return false
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r >= 0x180b && r <= 0x180f, r == 0x2028, r == 0x2029, r >= 0x2060 && r <= 0x206f, r == 0x3164,
		r >= 0xfe00 && r <= 0xfe0f, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff,
		r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// plainGlyph holds for characters from U+0300 up that every terminal draws one
// cell wide: Greek and Cyrillic letters, dashes and quotes, arrows, operators,
// line drawing, blocks, braille.
func plainGlyph(r rune) bool {
	switch {
	case r >= 0x2500 && r <= 0x25fc, r >= 0x2800 && r <= 0x28ff:
		return true
	case r >= 0x2010 && r <= 0x2027, r >= 0x2030 && r <= 0x205e:
		return true
	case r >= 0x2190 && r <= 0x21ff, r >= 0x2200 && r <= 0x22ff:
		return true
	case r >= 0x391 && r <= 0x482, r >= 0x48a && r <= 0x52f:
		return true
	}
	return false
}

// surelyWide holds for characters that every terminal draws two cells wide.
func surelyWide(r rune) bool {
	return r >= 0x2e80 && r <= 0x3029 || r >= 0x3030 && r <= 0x303e || r >= 0x3041 && r <= 0x3096 ||
		r >= 0x309b && r <= 0x3247 || r >= 0x3250 && r <= 0x33ff || r >= 0x3400 && r <= 0x4dbf || r >= 0x4e00 && r <= 0x9fff ||
		r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xff01 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x20000 && r <= 0x3fffd
}

func plain(r rune) bool { return r < 0x300 || plainGlyph(r) }

// Where terminals disagree about sequences of emoji, cells hold what they agree
// on: no skin tone, no keycap frame, flags as letters.
const (
	toneFirst, toneLast = 0x1f3fb, 0x1f3ff
	keycap              = 0x20e3
	flagA, flagZ        = 0x1f1e6, 0x1f1ff
)

// cells returns how many cells r takes. 0: none, or a mark on the cell before.
func cells(r rune) int {
	switch {
	case r < 0x20:
		return 0
	case r < 0x7f:
		return 1
	case r < 0xa0 || r == 0xad:
		return 0
	case plain(r):
		return 1
	case r >= toneFirst && r <= toneLast || r == keycap || hidden(r):
		return 0
	case r >= flagA && r <= flagZ:
		return 1
	}
	return min(narrow.RuneWidth(r), 2)
}

// isMark reports whether r, which takes no cell, is kept as part of the cell
// before it.
func isMark(r rune) bool {
	return r >= 0x300 && r != keycap && !(r >= toneFirst && r <= toneLast) && !hidden(r)
}

// decode is utf8.DecodeRuneInString with '?' for an invalid byte.
func decode(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		r = '?'
	}
	return r, n
}

// Clean makes s safe to print anywhere: control characters (the ESC of escape
// sequences among them), line and paragraph separators, bidi controls and
// characters without width are removed, each invalid byte becomes "?".
// Combining marks stay. A clean string is returned as it is, without allocation.
func Clean(s string) string {
	i := firstDirty(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 {
		b.WriteString(s[:i])
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteByte('?')
		}
		s = s[i+n:]
		i = firstDirty(s)
	}
	b.WriteString(s)
	return b.String()
}

// firstDirty returns the index of the first character that Clean changes, or -1.
func firstDirty(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			return i
		}
		i += n
	}
	return -1
}

// Width returns how many cells a Frame needs for s.
func Width(s string) int { return widthUpTo(s, int(^uint(0)>>1)) }

// widthUpTo stops counting above limit.
func widthUpTo(s string, limit int) int {
	w := 0
	for i := 0; i < len(s) && w <= limit; {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != 0x7f {
				w++
			}
			i++
			continue
		}
		r, n := decode(s[i:])
		w += cells(r)
		i += n
	}
	return w
}

// Cut cleans s and shortens it to at most width cells; a shortened text ends in "…".
func Cut(s string, width int) string {
	s = Clean(s)
	if widthUpTo(s, width) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	w := 0
	for i, r := range s {
		c := cells(r)
		if w+c > width-1 {
			return s[:i] + "…"
		}
		w += c
	}
	return s
}

// asciiFor returns the plain character that stands for r, or '?'.
func asciiFor(r rune) rune {
	switch {
	case r < 0x7f:
		return r
	case r >= 0x2581 && r <= 0x2588:
		return rune("_.:-=+*#"[r-0x2581])
	case r >= 0x2589 && r <= 0x258f:
		return rune("######|"[r-0x2589])
	case r >= 0x2591 && r <= 0x2593:
		return rune(".:#"[r-0x2591])
	case r == 0x2580 || r == 0x2590 || r >= 0x2594 && r <= 0x259f:
		return '#'
	case r >= 0x2800 && r <= 0x28ff:
		if r == 0x2800 {
			return ' '
		}
		return '*'
	case r >= 0x2190 && r <= 0x2193:
		return rune("<^>v"[r-0x2190])
	case r == 0x2500 || r == 0x2501 || r == 0x2504 || r == 0x2505 || r == 0x2508 || r == 0x2509 ||
		r == 0x254c || r == 0x254d || r == 0x2550 || r == 0x2574 || r == 0x2576 || r == 0x2578 || r == 0x257a || r == 0x257c || r == 0x257e:
		return '-'
	case r == 0x2502 || r == 0x2503 || r == 0x2506 || r == 0x2507 || r == 0x250a || r == 0x250b ||
		r == 0x254e || r == 0x254f || r == 0x2551 || r == 0x2575 || r == 0x2577 || r == 0x2579 || r == 0x257b || r == 0x257d || r == 0x257f:
		return '|'
	case r >= 0x2500 && r <= 0x257f:
		return '+'
	case r >= flagA && r <= flagZ:
		return 'A' + r - flagA
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xff01 + '!'
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212:
		return '-'
	}
	switch r {
	case '…':
		return '~'
	case '\u00a0', '\u202f', '\u3000':
		return ' '
	case '·', '•', '∙', '●', '○', '★', '◆':
		return '*'
	case '‘', '’', '´', '°':
		return '\''
	case '“', '”', '«', '»':
		return '"'
	case '×':
		return 'x'
	case 'µ', 'μ':
		return 'u'
	case '▲', '△', '▴':
		return '^'
	case '▼', '▽', '▾':
		return 'v'
	case '▶', '▸', '►', '›':
		return '>'
	case '◀', '◂', '◄', '‹':
		return '<'
	case '■', '▪', '◼':
		return '#'
	}
	return '?'
}
