package emutest

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math/rand/v2"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"nvtop-lite/internal/ansi"
)

// emulator is a terminal as Terminal.Enter leaves it.
func emulator(t *testing.T, w, h int) *vt.Emulator {
	e := vt.NewEmulator(w, h)
	// What it answers must be read, or it blocks.
	go io.Copy(io.Discard, e)
	t.Cleanup(func() { e.Close() })
	write(t, e, []byte("\x1b[?1049h\x1b[?25l\x1b[?7l"))
	return e
}

func write(t *testing.T, e *vt.Emulator, b []byte) {
	t.Helper()
	if _, err := e.Write(b); err != nil {
		t.Fatal(err)
	}
}

func colorOf(c color.Color) ansi.Color {
	switch c := c.(type) {
	case nil:
		return 0
	case xansi.BasicColor:
		return ansi.Palette16(int(c))
	case xansi.IndexedColor:
		return ansi.Indexed256(uint8(c))
	}
	r, g, b, _ := c.RGBA()
	return ansi.RGB(uint8(r>>8), uint8(g>>8), uint8(b>>8))
}

// at returns what a cell shows.
func at(e *vt.Emulator, x, y int) (string, ansi.Style) {
	c := e.CellAt(x, y)
	if c == nil {
		return " ", ansi.Style{}
	}
	st := ansi.Style{Fg: colorOf(c.Style.Fg), Bg: colorOf(c.Style.Bg)}
	for _, a := range []struct {
		on   bool
		attr ansi.Attr
	}{
		{c.Style.Attrs&uv.AttrBold != 0, ansi.Bold},
		{c.Style.Attrs&uv.AttrFaint != 0, ansi.Dim},
		{c.Style.Attrs&uv.AttrReverse != 0, ansi.Reverse},
		{c.Style.Underline != 0, ansi.Underline},
	} {
		if a.on {
			st.Attr |= a.attr
		}
	}
	if c.Content == " " && st.Attr&(ansi.Underline|ansi.Reverse) == 0 {
		st.Fg, st.Attr = 0, 0 // nothing of it shows
	}
	return c.Content, st
}

// same compares the screen with a frame.
func same(e *vt.Emulator, f *ansi.Frame) error {
	w, h := f.Size()
	for y := range h {
		for x := range w {
			_, want, width := f.Cell(x, y)
			text, st := at(e, x, y)
			if text != f.Content(x, y) || width > 0 && st != want {
				return fmt.Errorf("cell %d,%d shows %q %+v, want %q %+v", x, y, text, st, f.Content(x, y), want)
			}
		}
	}
	return nil
}

var texts = []string{
	"a", "word", "two words", "12345", "    ", "                         ", "▁▂▃▄▅▆▇█", "│", "──────", "⣿⡇", "61°C · 97%",
	"漢字", "漢", "ｆｕｌｌ", "한글", "e\u0301", "na\u0308\u0323me", "😀", "größe", "\x1b[31mred\x9b", "a\tb\r\n",
}

var colors = []ansi.Color{0, 0, 0, ansi.Palette16(1), ansi.Palette16(7), ansi.Palette16(12), ansi.Indexed256(100), ansi.Indexed256(255), ansi.RGB(1, 2, 3), ansi.RGB(250, 100, 0)}

// draw draws something by chance; next returns a number below n.
func draw(f *ansi.Frame, next func(n int) int) {
	w, h := f.Size()
	st := ansi.Style{Fg: colors[next(len(colors))], Bg: colors[next(len(colors))]}
	if next(2) == 0 {
		st.Attr = ansi.Attr(next(16))
	}
	x, y := next(w+4)-3, next(h)
	switch text := texts[next(len(texts))]; next(12) {
	case 0:
		f.Clear()
	case 1:
		f.Fill(x, y, next(w+1), 1+next(3), []rune(" x█漢")[next(4)], st)
	case 2:
		f.Paint(x, y, next(w+1), 1+next(3), st)
	case 3:
		f.TextRight(x, y, next(12), text, st)
	case 4:
		f.TextCut(x, y, next(8), text, st)
	default:
		f.Text(x, y, text, st)
	}
}

// arrives draws frames and checks that they arrive on the screen cell by cell,
// that sending them again writes nothing, and that the changes alone and a full
// repaint give the same screen.
func arrives(t *testing.T, frames int, next func(n int) int) {
	size := func() (int, int) { return 1 + next(70), 1 + next(20) }
	w, h := size()
	f, e := ansi.NewFrame(w, h), emulator(t, w, h)
	var out bytes.Buffer
	writer := ansi.NewWriter(&out)
	for i := range frames {
		switch next(10) {
		case 0:
			w, h = size()
			f.Resize(w, h)
			e.Resize(w, h)
		case 1:
			write(t, e, []byte("\x1b[5;5H\x1b[7mA message to all users\x1b[m\r\n"))
			writer.Invalidate()
		case 2:
			write(t, e, []byte("\x1b[H\x1b[1;41mA message to all users"))
			writer.Refresh()
		}
		for range next(20) {
			draw(f, next)
		}
		out.Reset()
		if _, err := writer.Flush(f); err != nil {
			t.Fatal(err)
		}
		write(t, e, out.Bytes())
		if err := same(e, f); err != nil {
			t.Fatalf("frame %d: %v\nsent: %q\n%s", i, err, out.Bytes(), f)
		}
		if n, err := writer.Flush(f); n != 0 || err != nil {
			t.Fatalf("frame %d: a second flush wrote %d bytes, %v", i, n, err)
		}
		var whole bytes.Buffer
		if _, err := ansi.NewWriter(&whole).Flush(f); err != nil {
			t.Fatal(err)
		}
		fresh := emulator(t, w, h)
		write(t, fresh, whole.Bytes())
		if err := same(fresh, f); err != nil {
			t.Fatalf("frame %d, full repaint: %v\nsent: %q\n%s", i, err, whole.Bytes(), f)
		}
	}
}

func TestScreenShowsTheFrame(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			arrives(t, 25, rand.New(rand.NewPCG(seed, 7)).IntN)
		})
	}
}

func FuzzScreenShowsTheFrame(f *testing.F) {
	f.Add([]byte("frames"))
	f.Fuzz(func(t *testing.T, b []byte) {
		arrives(t, 1+min(len(b)/40, 12), func(n int) int {
			if len(b) == 0 {
				return 0
			}
			v := int(b[0]) % n
			b = b[1:]
			return v
		})
	})
}
