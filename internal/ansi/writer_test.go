package ansi

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func mustFlush(t *testing.T, w *Writer, f *Frame) int {
	t.Helper()
	n, err := w.Flush(f)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFirstFrameClearsOutsideOfSync(t *testing.T) {
	var out bytes.Buffer
	w, f := NewWriter(&out), NewFrame(10, 3)
	mustFlush(t, w, f)
	if got := out.String(); got != "\x1b[m\x1b[H\x1b[2J" {
		t.Errorf("a blank first frame is %q", got)
	}
	out.Reset()
	w.Invalidate()
	f.Text(2, 1, "hi", Style{Fg: Palette16(2), Attr: Bold})
	mustFlush(t, w, f)
	if got, want := out.String(), "\x1b[m\x1b[H\x1b[2J\x1b[?2026h\x1b[2;3H\x1b[1;32mhi\x1b[?2026l"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	out := &countWriter{}
	w, f := NewWriter(out), NewFrame(80, 24)
	workload(f, 1)
	mustFlush(t, w, f)
	writes := out.writes
	workload(f, 1)
	if n := mustFlush(t, w, f); n != 0 || out.writes != writes {
		t.Errorf("an equal frame took %d bytes in %d writes", n, out.writes-writes)
	}
	// What cannot be seen is no change either.
	f.Clear()
	mustFlush(t, w, f)
	f.Fill(0, 0, 80, 24, ' ', Style{Fg: Palette16(1), Attr: Bold | Dim})
	if n := mustFlush(t, w, f); n != 0 {
		t.Errorf("blanks of another foreground took %d bytes", n)
	}
}

func TestShortSequences(t *testing.T) {
	red := Style{Fg: Palette16(1)}
	for _, test := range []struct {
		name   string
		before func(f *Frame)
		after  func(f *Frame)
		want   string
	}{
		{"one digit", func(f *Frame) { f.Text(5, 2, "12%", Style{}) }, func(f *Frame) { f.Text(5, 2, "13%", Style{}) }, "\x1b[3;7H3"},
		{"a short gap is printed again", func(f *Frame) { f.Text(0, 0, "1.2.3", Style{}) }, func(f *Frame) { f.Text(0, 0, "4.2.6", Style{}) }, "\x1b[H4.2.6"},
		{"a long gap is skipped", func(f *Frame) { f.Text(0, 0, "1 unchanged 1", Style{}) }, func(f *Frame) { f.Text(0, 0, "2 unchanged 2", Style{}) }, "\x1b[H2\x1b[11C2"},
		{"the gap's own colour", func(f *Frame) { f.Text(0, 0, "1", Style{}); f.Text(1, 0, "ab1", red) },
			func(f *Frame) { f.Text(0, 0, "2", Style{}); f.Text(1, 0, "ab2", red) }, "\x1b[H2\x1b[31mab2"},
		{"a tail is erased", func(f *Frame) { f.Text(0, 1, "some text", red) }, func(f *Frame) {}, "\x1b[2H\x1b[K"},
		{"a short tail is printed", func(f *Frame) { f.Text(0, 1, "abc", red) }, func(f *Frame) {}, "\x1b[2H   "},
		{"straight down", func(f *Frame) { f.Text(12, 0, "1", Style{}); f.Text(13, 1, "1", Style{}) },
			func(f *Frame) { f.Text(12, 0, "2", Style{}); f.Text(13, 1, "2", Style{}) }, "\x1b[1;13H2\x1b[B2"},
		{"next line", func(f *Frame) { f.Text(0, 0, "1", Style{}); f.Text(0, 1, "1", Style{}) },
			func(f *Frame) { f.Text(0, 0, "2", Style{}); f.Text(0, 1, "2", Style{}) }, "\x1b[H2\r\n2"},
		{"after a wide character the place is absolute", func(f *Frame) {}, func(f *Frame) { f.Text(0, 0, "漢a", Style{}) }, "\x1b[H漢\x1b[1;3Ha"},
		{"a disputed wide character leaves no old half", func(f *Frame) {}, func(f *Frame) { f.Text(0, 0, "😀", Style{}) }, "\x1b[H  \x1b[G😀"},
	} {
		var out bytes.Buffer
		w, f := NewWriter(&out), NewFrame(20, 4)
		test.before(f)
		mustFlush(t, w, f)
		// Start from the plain pen.
		f.Fill(19, 3, 1, 1, 'x', Style{})
		mustFlush(t, w, f)
		out.Reset()
		f.Clear()
		f.Fill(19, 3, 1, 1, 'x', Style{})
		test.after(f)
		mustFlush(t, w, f)
		if got, want := out.String(), syncBegin+test.want+syncEnd; got != want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, want)
		}
	}
}

func TestSGR(t *testing.T) {
	for _, test := range []struct {
		from, to Style
		want     string
	}{
		{Style{}, Style{}, ""},
		{Style{Fg: Palette16(1)}, Style{}, "\x1b[m"},
		{Style{}, Style{Palette16(9), Indexed256(100), Bold | Reverse}, "\x1b[1;7;91;48;5;100m"},
		{Style{Attr: Bold, Fg: RGB(1, 2, 3)}, Style{Attr: Dim, Fg: RGB(1, 2, 3)}, "\x1b[22;2m"},
		{Style{Attr: Bold | Dim}, Style{Attr: Bold}, "\x1b[;1m"},
		{Style{Attr: Underline | Reverse, Fg: Palette16(1)}, Style{Fg: Palette16(1)}, "\x1b[;31m"},
		{Style{Attr: Underline, Fg: RGB(200, 200, 200)}, Style{Fg: RGB(200, 200, 200)}, "\x1b[24m"},
		{Style{Fg: Palette16(1), Bg: Palette16(2)}, Style{Fg: Palette16(1)}, "\x1b[49m"},
	} {
		if got := string(appendSGR(nil, test.from, test.to)); got != test.want {
			t.Errorf("%+v to %+v: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestRefreshSendsEverythingWithoutClearing(t *testing.T) {
	s := newScreen(40, 10)
	var out bytes.Buffer
	w, f := NewWriter(io.MultiWriter(s, &out)), NewFrame(40, 10)
	f.Text(0, 0, "one", Style{Fg: Palette16(3)})
	f.Text(0, 5, "two", Style{Attr: Underline})
	mustFlush(t, w, f)
	s.resize(40, 10) // somebody wrote over it
	s.pen = Style{Fg: Palette16(1), Bg: Palette16(1), Attr: Reverse}
	out.Reset()
	w.Refresh()
	mustFlush(t, w, f)
	if strings.Contains(out.String(), "\x1b[2J") {
		t.Errorf("the screen was cleared: %q", out.String())
	}
	if err := s.shows(f); err != nil {
		t.Error(err)
	}
}

type failingWriter struct {
	fail bool
	out  io.Writer
}

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.fail {
		return 0, errors.New("gone")
	}
	return w.out.Write(b)
}

func TestAfterAnErrorTheFrameStartsOver(t *testing.T) {
	s := newScreen(20, 3)
	out := &failingWriter{out: s}
	w, f := NewWriter(out), NewFrame(20, 3)
	mustFlush(t, w, f)
	out.fail = true
	f.Text(0, 0, "lost", Style{})
	if _, err := w.Flush(f); err == nil {
		t.Fatal("the error of the terminal was swallowed")
	}
	out.fail = false
	mustFlush(t, w, f)
	if err := s.shows(f); err != nil {
		t.Error(err)
	}
}

// drawRandom draws the kind of thing a random byte string asks for.
func drawRandom(f *Frame, next func(n int) int) {
	styles := []Style{
		{}, {Fg: Palette16(1)}, {Fg: Palette16(12), Attr: Bold}, {Bg: Palette16(4)}, {Fg: Indexed256(100), Bg: Indexed256(200)},
		{Fg: RGB(1, 2, 3)}, {Fg: RGB(1, 2, 3), Bg: RGB(250, 0, 9), Attr: Dim}, {Attr: Underline}, {Attr: Reverse, Fg: Palette16(2)},
		{Attr: Bold | Dim | Underline | Reverse}, {Attr: Bold | Dim}, {Attr: Dim},
	}
	texts := []string{
		"a", "word", "two words", "    ", "                    ", "▁▂▃▄▅▆▇█", "│", "────", "漢字", "漢", "ｆｕｌｌ", "한글",
		"e\u0301a\u0308\u0323", "\u0301", "क्षि", "😀", "👍🏽", "👨\u200d👩", "❤\ufe0f", "1\ufe0f\u20e3", "🇩🇪", "☰",
		"\x1b[31mred", "a\tb\r\n", "\x9b1m", "\xff\xfe", "12345", "⣿⡇",
	}
	w, h := f.Size()
	switch next(10) {
	case 0:
		f.Clear()
	case 1:
		f.Fill(next(w+1), next(h+1), next(w+1), next(3), []rune{' ', 'x', '█', '漢', '\u0301'}[next(5)], styles[next(len(styles))])
	case 2:
		f.Paint(next(w+1), next(h+1), next(w+1), next(3), styles[next(len(styles))])
	case 3:
		f.TextRight(next(w+3)-1, next(h+1), next(12), texts[next(len(texts))], styles[next(len(styles))])
	case 4:
		f.TextCut(next(w+3)-1, next(h+1), next(8), texts[next(len(texts))], styles[next(len(styles))])
	default:
		f.Text(next(w+3)-2, next(h+1), texts[next(len(texts))], styles[next(len(styles))])
	}
}

// sameEverywhere draws frames by chance and checks that the screen shows each of
// them, that a second flush writes nothing, and that a full repaint shows the same.
func sameEverywhere(t *testing.T, draws drawing, frames int, next func(n int) int) {
	t.Helper()
	s := newScreen(1, 1)
	s.draws = draws
	f := NewFrame(1+next(40), 1+next(8))
	w := NewWriter(s)
	for i := range frames {
		switch next(12) {
		case 0:
			f.Resize(1+next(40), 1+next(8))
		case 1:
			w.Invalidate()
		case 2:
			w.Refresh()
		}
		for range next(12) {
			drawRandom(f, next)
		}
		if fw, fh := f.Size(); fw != s.w || fh != s.h {
			s.resize(fw, fh)
		}
		mustFlush(t, w, f)
		if err := s.shows(f); err != nil {
			t.Fatalf("frame %d: %v\n%s", i, err, f)
		}
		if n := mustFlush(t, w, f); n != 0 {
			t.Fatalf("frame %d: a second flush wrote %d bytes", i, n)
		}
		full := newScreen(s.w, s.h)
		full.draws = draws
		mustFlush(t, NewWriter(full), f)
		if err := full.shows(f); err != nil {
			t.Fatalf("frame %d, full repaint: %v\n%s", i, err, f)
		}
	}
}

func TestScreenShowsTheFrame(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		sameEverywhere(t, asExpected, 25, r.IntN)
	}
}

// Where a terminal draws a disputed character wider or narrower than expected,
// everything else stays in its place.
func TestDisputedWidthsDisplaceNothing(t *testing.T) {
	for seed := range uint64(100) {
		sameEverywhere(t, wider, 25, rand.New(rand.NewPCG(seed, 2)).IntN)
		sameEverywhere(t, narrower, 25, rand.New(rand.NewPCG(seed, 3)).IntN)
	}
}

func FuzzFrameWriter(f *testing.F) {
	f.Add([]byte("frames"))
	f.Add([]byte("\x10\x03\x05\x09\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		b := make([]byte, 300)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func(n int) int {
			if len(b) == 0 {
				return 0
			}
			v := int(b[0]) % n
			b = b[1:]
			return v
		}
		frames := 1 + min(len(b)/20, 40)
		sameEverywhere(t, drawing(next(3)), frames, next)
	})
}
