package ansi

import (
	"math"
	"testing"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestDetect(t *testing.T) {
	type e = map[string]string
	for _, test := range []struct {
		flag string
		env  e
		vt   bool
		want Level
	}{
		{"", e{"TERM": "xterm-256color"}, false, Level256},
		{"auto", e{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, false, LevelRGB},
		{"auto", e{"TERM": "xterm", "COLORTERM": "24bit"}, false, LevelRGB},
		{"auto", e{"TERM": "xterm-256color", "WT_SESSION": "x"}, false, LevelRGB},
		{"auto", e{"TERM": "screen-256color", "COLORTERM": "truecolor"}, false, Level256},
		{"auto", e{"TERM": "screen"}, false, Level256},
		{"auto", e{"TERM": "tmux-256color"}, false, Level256},
		{"auto", e{"TERM": "tmux-256color", "COLORTERM": "truecolor"}, false, LevelRGB},
		{"auto", e{"TERM": "xterm-kitty"}, false, LevelRGB},
		{"auto", e{"TERM": "xterm-direct"}, false, LevelRGB},
		{"auto", e{"TERM": "linux"}, false, Level16},
		{"auto", e{"TERM": "xterm"}, false, Level16},
		{"auto", e{"TERM": "vt220"}, false, LevelNone},
		{"auto", e{"TERM": "dumb", "COLORTERM": "truecolor"}, false, LevelNone},
		{"auto", e{}, false, LevelNone},
		{"auto", e{}, true, LevelRGB},
		{"auto", e{"NO_COLOR": "yes", "TERM": "xterm-256color", "COLORTERM": "truecolor"}, false, LevelNone},
		{"auto", e{"NO_COLOR": "", "TERM": "xterm-256color"}, false, Level256},
		{"auto", e{"NO_COLOR": "1"}, true, LevelNone},
		{"always", e{"NO_COLOR": "1", "TERM": "xterm-256color"}, false, Level256},
		{"always", e{}, false, Level16},
		{"never", e{"TERM": "xterm-256color"}, true, LevelNone},
		{"16", e{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, false, Level16},
		{"256", e{"NO_COLOR": "1"}, false, Level256},
		{"truecolor", e{"TERM": "dumb"}, false, LevelRGB},
	} {
		if got := Detect(test.flag, env(test.env), test.vt); got != test.want {
			t.Errorf("--color=%s, %v, Windows %v: %v, want %v", test.flag, test.env, test.vt, got, test.want)
		}
	}
}

func TestUTF8(t *testing.T) {
	type e = map[string]string
	for _, test := range []struct {
		env  e
		want bool
	}{
		{e{}, true},
		{e{"LANG": "C"}, true},
		{e{"LANG": "POSIX"}, true},
		{e{"LANG": "en_US.UTF-8"}, true},
		{e{"LANG": "de_DE.utf8@euro"}, true},
		{e{"LANG": "de_DE"}, true},
		{e{"LANG": "de_DE.ISO-8859-15@euro"}, false},
		{e{"LC_ALL": "ja_JP.eucJP", "LANG": "en_US.UTF-8"}, false},
		{e{"LC_CTYPE": "en_US.UTF-8", "LANG": "ru_RU.KOI8-R"}, true},
		{e{"LC_ALL": "C", "LANG": "ru_RU.KOI8-R"}, true},
		{e{"LC_ALL": "", "LANG": "ru_RU.KOI8-R"}, false},
		{e{"TERM": "linux", "LANG": "en_US.UTF-8"}, false},
	} {
		if got := UTF8(env(test.env)); got != test.want {
			t.Errorf("%v: %v, want %v", test.env, got, test.want)
		}
	}
}

func TestLive(t *testing.T) {
	for _, test := range []struct {
		term    string
		windows bool
		want    bool
	}{{"xterm", false, true}, {"dumb", false, false}, {"", false, false}, {"", true, true}, {"dumb", true, false}} {
		if got := Live(env(map[string]string{"TERM": test.term}), test.windows); got != test.want {
			t.Errorf("TERM=%q, windows %v: %v", test.term, test.windows, got)
		}
	}
}

func TestGradient(t *testing.T) {
	stops := []Stop{{0, 95, 175, 95}, {20, 175, 215, 95}, {40, 215, 215, 95}, {60, 215, 175, 95}, {80, 215, 135, 95}, {100, 215, 95, 95}}
	rgb := Gradient(LevelRGB, 101, stops...)
	for at, want := range map[int]Color{0: RGB(95, 175, 95), 10: RGB(135, 195, 95), 30: RGB(195, 215, 95), 50: RGB(215, 195, 95), 70: RGB(215, 155, 95), 90: RGB(215, 115, 95), 100: RGB(215, 95, 95)} {
		if rgb[at] != want {
			t.Errorf("at %d: %x, want %x", at, rgb[at], want)
		}
	}
	temperature := Gradient(LevelRGB, 121, Stop{30, 95, 135, 215}, Stop{45, 95, 175, 175}, Stop{60, 95, 175, 95}, Stop{72, 215, 215, 95}, Stop{80, 215, 135, 95}, Stop{88, 215, 95, 95})
	for at, want := range map[int]Color{0: RGB(95, 135, 215), 30: RGB(95, 135, 215), 50: RGB(95, 175, 148), 66: RGB(155, 195, 95), 76: RGB(215, 175, 95), 84: RGB(215, 115, 95), 120: RGB(215, 95, 95)} {
		if temperature[at] != want {
			t.Errorf("%d degrees: %x, want %x", at, temperature[at], want)
		}
	}
	// With few colours it still goes from green over yellow to red and never back.
	order := map[Color]int{Palette16(2): 0, Palette16(3): 1, Palette16(1): 2}
	last, seen := 0, map[Color]bool{}
	for i, c := range Gradient(Level16, 101, stops...) {
		n, known := order[c]
		if !known || n < last {
			t.Errorf("16 colours at %d: %d", i, c)
		}
		last, seen[c] = n, true
	}
	if len(seen) != 3 {
		t.Errorf("16 colours: %d used, want green, yellow, red", len(seen))
	}
	// The stops are entries of the 256-colour palette.
	for i, c := range Gradient(Level256, 101, stops...) {
		if i%20 == 0 {
			r, g, b := indexRGB(int(c) - 1)
			if RGB(r, g, b) != rgb[i] {
				t.Errorf("256 colours at %d: (%d,%d,%d), want %x", i, r, g, b, rgb[i])
			}
		}
		if c <= 16 {
			t.Errorf("256 colours at %d: entry %d, which users recolour", i, c-1)
		}
	}
	for _, c := range Gradient(LevelNone, 5, stops...) {
		if c != 0 {
			t.Errorf("without colours: %d", c)
		}
	}
	if got := Gradient(LevelRGB, 3); len(got) != 3 || got[0] != 0 {
		t.Errorf("no stops: %v", got)
	}
}

func TestNamedColours(t *testing.T) {
	for _, test := range []struct {
		name    string
		r, g, b uint8
		want    Color
	}{
		{"green", 95, 175, 95, Palette16(2)}, {"yellow", 215, 215, 95, Palette16(3)}, {"orange", 215, 135, 95, Palette16(3)},
		{"red", 215, 95, 95, Palette16(1)}, {"pure red", 255, 0, 0, Palette16(1)}, {"cyan", 95, 175, 175, Palette16(6)},
		{"blue", 95, 135, 215, Palette16(12)}, {"pure blue", 0, 0, 255, Palette16(12)}, {"magenta", 215, 95, 215, Palette16(5)},
		{"white", 255, 255, 255, 0}, {"light grey", 200, 200, 200, 0}, {"grey", 88, 88, 88, Palette16(8)}, {"black", 0, 0, 0, Palette16(0)},
	} {
		if got := Level16.RGB(test.r, test.g, test.b); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestReduce(t *testing.T) {
	for _, test := range []struct {
		l       Level
		c, want Color
	}{
		{LevelRGB, RGB(1, 2, 3), RGB(1, 2, 3)},
		{Level256, RGB(215, 95, 95), Indexed256(167)},
		{Level256, Indexed256(100), Indexed256(100)},
		{Level16, Indexed256(167), Palette16(1)},
		{Level16, Indexed256(240), Palette16(8)},
		{Level16, Palette16(12), Palette16(12)},
		{LevelNone, Palette16(1), 0},
		{LevelNone, RGB(1, 2, 3), 0},
		{Level16, 0, 0},
	} {
		if got := test.l.Reduce(test.c); got != test.want {
			t.Errorf("%v.Reduce(%x) = %x, want %x", test.l, test.c, got, test.want)
		}
	}
	// Every palette entry is nearest to itself.
	for i := 16; i < 256; i++ {
		r, g, b := indexRGB(i)
		r2, g2, b2 := indexRGB(int(Level256.RGB(r, g, b)) - 1)
		if r != r2 || g != g2 || b != b2 {
			t.Errorf("entry %d (%d,%d,%d) became (%d,%d,%d)", i, r, g, b, r2, g2, b2)
		}
	}
}

func TestOKLab(t *testing.T) {
	white := toLab(255, 255, 255)
	if math.Abs(white.l-1) > 1e-3 || math.Abs(white.a) > 1e-3 || math.Abs(white.b) > 1e-3 {
		t.Errorf("white is %+v", white)
	}
	red := toLab(255, 0, 0)
	if math.Abs(red.l-0.628) > 1e-3 || math.Abs(red.a-0.2249) > 1e-3 || math.Abs(red.b-0.1258) > 1e-3 {
		t.Errorf("red is %+v", red)
	}
}

func TestPalettePanicsOnMisuse(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Palette16(16) did not panic")
		}
	}()
	Palette16(16)
}
