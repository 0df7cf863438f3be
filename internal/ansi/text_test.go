package ansi

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"python train.py", "python train.py"},
		{"größe 漢字 ▁▂ ✓", "größe 漢字 ▁▂ ✓"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"\x1b]0;title\x07x", "]0;titlex"},
		{"a\tb\nc\rd\x00e\x7ff", "abcdef"},
		{"\u009b31m\u0085\u008d", "31m"},
		{"x\u2028y\u2029z", "xyz"},
		{"\u202eevil\u202c \u2066iso\u2069\u200e\u200f\u061c", "evil iso"},
		{"zero\u200bwidth\u200c\u200d\ufeff\u2060\u00ad\ufe0f", "zerowidth"},
		{"non\ufdd0\uffff\U0010fffechar", "nonchar"},
		{"tag\U000e0041\U000e007f", "tag"},
		{"bad\xff\xfe", "bad??"},
		{"cut\xe6\xbc", "cut??"},
		{"\xed\xa0\x80", "???"},
		{"real \ufffd stays", "real \ufffd stays"},
		{"e\u0301", "e\u0301"},
	} {
		if got := Clean(test.in); got != test.want {
			t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	s := "a clean command line with ünïcode 漢字"
	if n := testing.AllocsPerRun(10, func() { Clean(s) }); n != 0 {
		t.Errorf("a clean string costs %v allocations", n)
	}
}

func TestWidthAndCut(t *testing.T) {
	for _, test := range []struct {
		s     string
		width int
		cut6  string
	}{
		{"", 0, ""},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 7, "abcde…"},
		{"漢字漢", 6, "漢字漢"},
		{"漢字漢字", 8, "漢字…"},
		{"a漢字漢", 7, "a漢字…"},
		{"e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", 6, "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"},
		{"▁▂▃▄▅▆▇█", 8, "▁▂▃▄▅…"},
		{"│ 61°C · 97%", 12, "│ 61°…"},
		{"\x1b[31m", 4, "[31m"},
		{"❤\ufe0f", 1, "❤"},
		{"1\ufe0f\u20e3", 1, "1\u20e3"},
		{"👍🏽", 2, "👍🏽"},
		{"🇩🇪", 2, "🇩🇪"},
		{"한글", 4, "한글"},
	} {
		if got := Width(test.s); got != test.width {
			t.Errorf("Width(%q) = %d, want %d", test.s, got, test.width)
		}
		if got := Cut(test.s, 6); got != test.cut6 {
			t.Errorf("Cut(%q, 6) = %q, want %q", test.s, got, test.cut6)
		}
	}
	for _, width := range []int{-1, 0} {
		if got := Cut("abc", width); got != "" {
			t.Errorf("Cut to %d gives %q", width, got)
		}
	}
	if got := Cut("abc", 1); got != "…" {
		t.Errorf("Cut to 1 gives %q", got)
	}
}

// The UI's own characters are one cell wide, and what counts as surely wide is two.
func TestOwnGlyphsAreNarrow(t *testing.T) {
	for r := range unicode.MaxRune {
		if plain(r) && cells(r) == 1 && r >= 0x300 && narrow.RuneWidth(r) != 1 {
			t.Errorf("%q (%U) counts as plain, but is %d wide", r, r, narrow.RuneWidth(r))
		}
		if surelyWide(r) && cells(r) != 2 && !hidden(r) && unicode.IsPrint(r) {
			t.Errorf("%q (%U) counts as wide, but is %d wide", r, r, cells(r))
		}
	}
	for _, r := range "─│┌┐└┘├┤┬┴┼╭╮╯╰▁▂▃▄▅▆▇█░▒▓…·°↑↓←→×–—•µ▲▼⣿" {
		if cells(r) != 1 {
			t.Errorf("%q is %d cells wide", r, cells(r))
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[31m", "\u202e\u009b", "\xff\xc3", "漢字\u200d👩", "e\u0301", "\u00adx", "🇩🇪"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		c := Clean(s)
		if !utf8.ValidString(c) {
			t.Fatalf("Clean(%q) is not UTF-8: %q", s, c)
		}
		for _, r := range c {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
				t.Fatalf("Clean(%q) keeps %U", s, r)
			}
		}
		if Clean(c) != c {
			t.Fatalf("Clean(%q) is not clean: %q", s, c)
		}
		if Width(c) != Width(s) {
			t.Fatalf("%q is %d wide, cleaned %d", s, Width(s), Width(c))
		}
		width %= 50
		cut := Cut(s, width)
		if w := Width(cut); w > max(width, 0) {
			t.Fatalf("Cut(%q, %d) = %q is %d wide", s, width, cut, w)
		}
		if Width(s) <= width && cut != c {
			t.Fatalf("Cut(%q, %d) = %q although it fits", s, width, cut)
		}
		// A frame draws as many cells as Width says, and nothing but cells.
		for _, ascii := range []bool{false, true} {
			fr := NewFrame(30, 1)
			fr.SetASCII(ascii)
			fr.Fill(0, 0, 30, 1, 'x', Style{})
			if end, want := fr.Text(0, 0, s, Style{}), min(Width(s), 30); end != want {
				t.Fatalf("Text(%q) ends at %d, want %d", s, end, want)
			}
			row := fr.String()
			if Width(row) != 30 || Clean(row) != row || strings.ContainsRune(row, '\n') {
				t.Fatalf("%q is drawn as %q", s, row)
			}
			if ascii && strings.ContainsFunc(row, func(r rune) bool { return r >= 0x7f }) {
				t.Fatalf("%q is drawn in ASCII as %q", s, row)
			}
		}
	})
}
