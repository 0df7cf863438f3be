package ansi

import (
	"strings"
	"testing"
	"unsafe"
)

func TestCellSize(t *testing.T) {
	if n := unsafe.Sizeof(cell{}); n != 16 {
		t.Errorf("a cell takes %d bytes, want 16", n)
	}
}

// lines shows a frame with dots for blanks.
func lines(f *Frame) string { return strings.ReplaceAll(f.String(), " ", ".") }

func TestText(t *testing.T) {
	for _, test := range []struct {
		name string
		draw func(f *Frame) int
		want string
		end  int
	}{
		{"plain", func(f *Frame) int { return f.Text(1, 0, "ab c", Style{}) }, ".ab.c...", 5},
		{"clipped right", func(f *Frame) int { return f.Text(6, 0, "abc", Style{}) }, "......ab", 8},
		{"clipped left", func(f *Frame) int { return f.Text(-2, 0, "abcd", Style{}) }, "cd......", 2},
		{"right of the frame", func(f *Frame) int { return f.Text(9, 0, "a", Style{}) }, "........", 9},
		{"above the frame", func(f *Frame) int { return f.Text(0, -1, "abc", Style{}) }, "........", 3},
		{"wide", func(f *Frame) int { return f.Text(1, 0, "漢字", Style{}) }, ".漢字...", 5},
		{"half outside right", func(f *Frame) int { f.Fill(0, 0, 8, 1, 'x', Style{}); return f.Text(7, 0, "漢", Style{}) }, "xxxxxxx.", 8},
		{"half outside left", func(f *Frame) int { f.Fill(0, 0, 8, 1, 'x', Style{}); return f.Text(-1, 0, "漢", Style{}) }, ".xxxxxxx", 1},
		{"over the right half", func(f *Frame) int { f.Text(1, 0, "漢字", Style{}); return f.Text(2, 0, "x", Style{}) }, "..x字...", 3},
		{"over the left half", func(f *Frame) int { f.Text(1, 0, "漢字", Style{}); return f.Text(1, 0, "x", Style{}) }, ".x.字...", 2},
		{"wide over two halves", func(f *Frame) int { f.Text(1, 0, "漢字", Style{}); return f.Text(2, 0, "字", Style{}) }, "..字....", 4},
		{"marks", func(f *Frame) int { return f.Text(5, 0, "e\u0301\u0323x", Style{}) }, ".....e\u0301\u0323x.", 7},
		{"no marks at the edge", func(f *Frame) int { return f.Text(7, 0, "e\u0301", Style{}) }, ".......e", 8},
		{"marks behind a cut", func(f *Frame) int { return f.TextCut(0, 0, 3, "ae\u0301xyz", Style{}) }, "ae\u0301….....", 3},
		{"a mark with no letter", func(f *Frame) int { return f.Text(0, 0, "\u0301a", Style{}) }, "a.......", 1},
		{"many marks", func(f *Frame) int { return f.Text(0, 0, "a"+strings.Repeat("\u0301", 40), Style{}) }, "a\u0301\u0301\u0301.......", 1},
		{"control characters", func(f *Frame) int { return f.Text(0, 0, "\x1b[2Ja\tb\u009b\u202e", Style{}) }, "[2Jab...", 5},
		{"invalid bytes", func(f *Frame) int { return f.Text(0, 0, "a\xffb", Style{}) }, "a?b.....", 3},
		{"emoji sequences", func(f *Frame) int { return f.Text(0, 0, "👍🏽1\ufe0f\u20e3🇩🇪", Style{}) }, "👍1DE...", 5},
		{"cut", func(f *Frame) int { return f.TextCut(1, 0, 4, "abcdef", Style{}) }, ".abc…...", 5},
		{"not cut", func(f *Frame) int { return f.TextCut(1, 0, 4, "abcd", Style{}) }, ".abcd...", 5},
		{"cut before a wide one", func(f *Frame) int { return f.TextCut(0, 0, 4, "漢字漢", Style{}) }, "漢….....", 3},
		{"cut to nothing", func(f *Frame) int { return f.TextCut(3, 0, 0, "abc", Style{}) }, "........", 3},
		{"cut to one", func(f *Frame) int { return f.TextCut(3, 0, 1, "abc", Style{}) }, "...…....", 4},
		{"cut at the edge", func(f *Frame) int { return f.TextCut(5, 0, 10, "abcdef", Style{}) }, ".....abc", 8},
		{"right", func(f *Frame) int { f.TextRight(0, 0, 6, "97%", Style{}); return 0 }, "...97%..", 0},
		{"right, cut", func(f *Frame) int { f.TextRight(1, 0, 4, "abcdef", Style{}); return 0 }, ".abc…...", 0},
		{"bytes", func(f *Frame) int { return f.Bytes(1, 0, []byte("12\x1b"), Style{}) }, ".12.....", 3},
		{"no bytes", func(f *Frame) int { return f.Bytes(1, 0, nil, Style{}) }, "........", 1},
		{"rune", func(f *Frame) int {
			f.Rune(0, 0, '█', Style{})
			f.Rune(1, 0, '\x1b', Style{})
			f.Rune(99, 9, 'x', Style{})
			return 0
		}, "█.......", 0},
		{"fill", func(f *Frame) int { f.Fill(-2, -2, 5, 9, '│', Style{}); return 0 }, "│││.....", 0},
		{"fill wide", func(f *Frame) int { f.Fill(0, 0, 5, 1, '漢', Style{}); return 0 }, "漢漢....", 0},
		{"fill outside", func(f *Frame) int { f.Fill(9, 0, 5, 1, 'x', Style{}); f.Fill(0, 0, -1, 1, 'x', Style{}); return 0 }, "........", 0},
	} {
		f := NewFrame(8, 1)
		end := test.draw(f)
		if got := lines(f); got != test.want || end != test.end {
			t.Errorf("%s: %q, ends at %d; want %q at %d", test.name, got, end, test.want, test.end)
		}
	}
}

func TestASCII(t *testing.T) {
	f := NewFrame(40, 1)
	f.SetASCII(true)
	f.Text(0, 0, "╭─┤│ ▁▂▃▄▅▆▇█ 61°C 漢é → × …", Style{})
	if got, want := strings.TrimRight(f.String(), " "), "+-+| _.:-=+*# 61'C ??? > x ~"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Clear()
	if end := f.TextCut(0, 0, 4, "abcdef", Style{}); end != 4 || !strings.HasPrefix(f.String(), "abc~ ") {
		t.Errorf("cut to %q", f)
	}
	f.Clear()
	f.Fill(0, 0, 5, 1, '漢', Style{})
	if got := f.String(); !strings.HasPrefix(got, "????  ") {
		t.Errorf("wide fill in ASCII: %q", got)
	}
}

func TestResizeAndCell(t *testing.T) {
	f := NewFrame(4, 2)
	red := Style{Fg: Palette16(1), Bg: RGB(1, 2, 3), Attr: Bold}
	f.Text(0, 1, "漢x ", red)
	if r, st, w := f.Cell(0, 1); r != '漢' || st != red || w != 2 {
		t.Errorf("wide: %q %v %d", r, st, w)
	}
	if r, st, w := f.Cell(1, 1); r != 0 || st != red || w != 0 {
		t.Errorf("right half: %q %v %d", r, st, w)
	}
	if r, st, w := f.Cell(3, 1); r != ' ' || st != (Style{Bg: red.Bg}) || w != 1 {
		t.Errorf("blank: %q %v %d", r, st, w)
	}
	if r, _, w := f.Cell(4, 0); r != 0 || w != 0 {
		t.Errorf("outside: %q %d", r, w)
	}
	f.Paint(1, 1, 1, 1, Style{Attr: Reverse})
	if _, st, _ := f.Cell(0, 1); st != (Style{Attr: Reverse}) {
		t.Errorf("the halves of a wide character differ: %v", st)
	}
	f.Resize(2, 2)
	if w, h := f.Size(); w != 2 || h != 2 || f.String() != "  \n  " {
		t.Errorf("after Resize: %dx%d %q", w, h, f)
	}
	f.Resize(-1, 5)
	if w, h := f.Size(); w != 0 || h != 5 {
		t.Errorf("a negative width became %d", w)
	}
	f.Text(0, 0, "x", Style{})
	if n := testing.AllocsPerRun(10, func() { f.Resize(4, 2); f.Resize(2, 4) }); n != 0 {
		t.Errorf("Resize within the old size costs %v allocations", n)
	}
}

func TestAppendLine(t *testing.T) {
	f := NewFrame(12, 1)
	x := f.Text(0, 0, "97%", Style{Fg: RGB(215, 95, 95), Attr: Bold})
	f.Text(x, 0, "  e\u0301漢", Style{})
	for _, test := range []struct {
		level Level
		want  string
	}{
		{LevelNone, "97%  e\u0301漢"},
		{Level16, "\x1b[1;31m97%  \x1b[me\u0301漢"},
		{Level256, "\x1b[1;38;5;167m97%  \x1b[me\u0301漢"},
		{LevelRGB, "\x1b[1;38;2;215;95;95m97%  \x1b[me\u0301漢"},
	} {
		if got := string(AppendLine([]byte("> "), f, 0, test.level)); got != "> "+test.want {
			t.Errorf("%v: %q, want %q", test.level, got, test.want)
		}
	}
	f.Clear()
	f.Fill(0, 0, 3, 1, ' ', Style{Bg: Palette16(4)})
	if got, want := string(AppendLine(nil, f, 0, Level16)), "\x1b[44m   \x1b[m"; got != want {
		t.Errorf("coloured blanks: %q, want %q", got, want)
	}
	if got := string(AppendLine(nil, f, 0, LevelNone)); got != "" {
		t.Errorf("coloured blanks as plain text: %q", got)
	}
	if got := AppendLine(nil, f, 1, Level16); len(got) != 0 {
		t.Errorf("a row outside: %q", got)
	}
}
