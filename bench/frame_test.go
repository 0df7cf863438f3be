package bench

import (
	"fmt"
	"image/color"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	uvansi "github.com/charmbracelet/x/ansi"
	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/tty"

	"nvtop-lite/internal/ansi"
)

// counter counts the bytes that would go to a terminal.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// renderer shows step t of the workload on a terminal.
type renderer interface {
	frame(t int)
}

// ours is the project's own writer.
type ours struct {
	f   *ansi.Frame
	w   *ansi.Writer
	all bool // send every cell each time
}

func (s *ours) frame(t int) {
	width, height := s.f.Size()
	s.f.Clear()
	paint(t, width, height, func(x, y int, r rune, p pen) {
		st := ansi.Style{}
		if p.fg > 0 {
			st.Fg = ansi.Indexed256(p.fg - 1)
		}
		if p.bg > 0 {
			st.Bg = ansi.Indexed256(p.bg - 1)
		}
		if p.bold {
			st.Attr = ansi.Bold
		}
		s.f.Rune(x, y, r, st)
	})
	if s.all {
		s.w.Refresh()
	}
	if _, err := s.w.Flush(s.f); err != nil {
		panic(err)
	}
}

// texts keeps each rune as a string, so that the other libraries are not
// charged for making them.
type texts map[rune]string

func (t texts) of(r rune) string {
	s, ok := t[r]
	if !ok {
		s = string(r)
		t[r] = s
	}
	return s
}

// ultraviolet is charmbracelet/ultraviolet's renderer.
type ultraviolet struct {
	r    *uv.TerminalRenderer
	b    *uv.RenderBuffer
	w, h int
	texts
	colors [256]color.Color
}

func newUltraviolet(out io.Writer, w, h int) *ultraviolet {
	r := uv.NewTerminalRenderer(out, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
	r.SetColorProfile(colorprofile.TrueColor)
	r.EnterAltScreen()
	r.SetFullscreen(true)
	r.SetRelativeCursor(false)
	r.SetScrollOptim(true)
	r.Resize(w, h)
	s := &ultraviolet{r: r, b: uv.NewRenderBuffer(w, h), w: w, h: h, texts: texts{}}
	for i := range s.colors {
		if i < 16 {
			s.colors[i] = uvansi.BasicColor(i)
		} else {
			s.colors[i] = uvansi.IndexedColor(i)
		}
	}
	return s
}

func (s *ultraviolet) frame(t int) {
	put := func(x, y int, r rune, p pen) {
		c := uv.Cell{Content: s.of(r), Width: 1}
		if p.fg > 0 {
			c.Style.Fg = s.colors[p.fg-1]
		}
		if p.bg > 0 {
			c.Style.Bg = s.colors[p.bg-1]
		}
		if p.bold {
			c.Style.Attrs |= uv.AttrBold
		}
		s.b.SetCell(x, y, &c)
	}
	blank(s.w, s.h, put)
	paint(t, s.w, s.h, put)
	s.r.Render(s.b)
	if err := s.r.Flush(); err != nil {
		panic(err)
	}
}

// noTerminal lets tcell run without a terminal.
type noTerminal struct {
	out  io.Writer
	w, h int
	stop chan struct{}
	once sync.Once
}

func (n *noTerminal) Start() error             { return nil }
func (n *noTerminal) Stop() error              { return nil }
func (n *noTerminal) Drain() error             { n.once.Do(func() { close(n.stop) }); return nil }
func (n *noTerminal) NotifyResize(chan<- bool) {}
func (n *noTerminal) Close() error             { return nil }
func (n *noTerminal) WindowSize() (tty.WindowSize, error) {
	return tty.WindowSize{Width: n.w, Height: n.h}, nil
}
func (n *noTerminal) Read([]byte) (int, error)    { <-n.stop; return 0, io.EOF }
func (n *noTerminal) Write(b []byte) (int, error) { return n.out.Write(b) }

// tcellScreen is gdamore/tcell's.
type tcellScreen struct {
	s    tcell.Screen
	w, h int
	texts
}

func newTcell(tb testing.TB, out io.Writer, w, h int) *tcellScreen {
	tb.Helper()
	s, err := tcell.NewTerminfoScreenFromTty(&noTerminal{out: out, w: w, h: h, stop: make(chan struct{})},
		tcell.OptTerm("xterm-256color"), tcell.OptColors(256), tcell.OptNegotiation(false))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Init(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Fini)
	return &tcellScreen{s, w, h, texts{}}
}

func (s *tcellScreen) frame(t int) {
	put := func(x, y int, r rune, p pen) {
		st := tcell.StyleDefault
		if p.fg > 0 {
			st = st.Foreground(tcell.PaletteColor(int(p.fg - 1)))
		}
		if p.bg > 0 {
			st = st.Background(tcell.PaletteColor(int(p.bg - 1)))
		}
		if p.bold {
			st = st.Bold(true)
		}
		s.s.Put(x, y, s.of(r), st)
	}
	blank(s.w, s.h, put)
	paint(t, s.w, s.h, put)
	s.s.Show()
}

// writers begin with ours, which the others are compared with.
var writers = []struct {
	name string
	open func(tb testing.TB, out io.Writer, w, h int) renderer
}{
	{"ours", func(_ testing.TB, out io.Writer, w, h int) renderer {
		return &ours{ansi.NewFrame(w, h), ansi.NewWriter(out), false}
	}},
	{"every-cell", func(_ testing.TB, out io.Writer, w, h int) renderer {
		return &ours{ansi.NewFrame(w, h), ansi.NewWriter(out), true}
	}},
	{"tcell", func(tb testing.TB, out io.Writer, w, h int) renderer { return newTcell(tb, out, w, h) }},
	{"ultraviolet", func(_ testing.TB, out io.Writer, w, h int) renderer { return newUltraviolet(out, w, h) }},
}

var sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// BenchmarkFrame paints and sends one frame after the other.
func BenchmarkFrame(b *testing.B) {
	for _, size := range sizes {
		for _, w := range writers {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], w.name), func(b *testing.B) {
				out := &counter{}
				s := w.open(b, out, size[0], size[1])
				s.frame(0)
				s.frame(1)
				out.n = 0
				t := 1
				b.ReportAllocs()
				for b.Loop() {
					t++
					s.frame(t)
				}
				b.ReportMetric(float64(out.n)/float64(t-1), "bytes/frame")
			})
		}
		b.Run(fmt.Sprintf("%dx%d/paint-only", size[0], size[1]), func(b *testing.B) {
			t, sum := 0, 0
			for b.Loop() {
				t++
				paint(t, size[0], size[1], func(_, _ int, r rune, _ pen) { sum += int(r) })
			}
		})
	}
}

// BenchmarkFrameRatio lets the writers take turns at the same frame, so that a
// busy machine slows all of them, and prints how much more time and how many more
// bytes than ours the others take. Painting is part of each time, which brings
// the ratios nearer to 1.
func BenchmarkFrameRatio(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			outs, screens := make([]counter, len(writers)), make([]renderer, len(writers))
			took := make([]time.Duration, len(writers))
			for i, w := range writers {
				screens[i] = w.open(b, &outs[i], size[0], size[1])
				screens[i].frame(0)
				screens[i].frame(1)
				outs[i].n = 0
			}
			t := 1
			for b.Loop() {
				t++
				for i, s := range screens {
					begin := time.Now()
					s.frame(t)
					took[i] += time.Since(begin)
				}
			}
			b.ReportMetric(0, "ns/op") // of all of them together: says nothing
			for i, w := range writers {
				if i == 0 {
					b.ReportMetric(float64(outs[i].n)/float64(t-1), "ours-bytes/frame")
					continue
				}
				b.ReportMetric(float64(took[i])/float64(took[0]), w.name+"/ours-time")
				b.ReportMetric(float64(outs[i].n)/float64(outs[0].n), w.name+"/ours-bytes")
			}
		})
	}
}

// TestBytesPerFrame: the project's writer sends less than the others for the
// same frames. Bytes, unlike times, are the same on every machine.
func TestBytesPerFrame(t *testing.T) {
	const frames = 300
	for _, size := range sizes {
		bytes := map[string]int{}
		for _, w := range writers {
			out := &counter{}
			s := w.open(t, out, size[0], size[1])
			s.frame(0)
			out.n = 0
			for step := range frames {
				s.frame(step + 1)
			}
			bytes[w.name] = out.n / frames
		}
		t.Logf("%dx%d: bytes a frame: %v", size[0], size[1], bytes)
		for name, n := range bytes {
			if name != "ours" && n <= bytes["ours"] {
				t.Errorf("%dx%d: %s sends %d bytes a frame, ours %d", size[0], size[1], name, n, bytes["ours"])
			}
		}
	}
}
