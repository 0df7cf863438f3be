package ansi

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"testing"
)

// workload draws step t of a synthetic monitor of two GPUs: headers, bars, a
// scrolling chart of eighth blocks, a process table, a line of keys. Equal t
// gives equal frames, and drawing allocates nothing.
func workload(f *Frame, t int) {
	w, h := f.Size()
	f.Clear()
	var b [16]byte
	num := func(x, y, n, width int, st Style) int {
		d := strconv.AppendInt(b[:0], int64(n), 10)
		f.Fill(x, y, width, 1, ' ', st)
		f.Bytes(x+width-len(d), y, d, st)
		return x + width
	}
	load := func(g, t int) int {
		return int(50 + 45*math.Sin(float64(t+17*g)/9) + 4*math.Sin(float64(t*t%97)))
	}
	y := 0
	for g := range 2 {
		u := load(g, t)
		st := Style{Fg: Palette16(6), Attr: Bold}
		x := f.Text(0, y, " Device ", st)
		x = num(x, y, g, 1, st)
		f.Text(x, y, " [NVIDIA H200] ", st)
		f.Text(24, y, "PCIe GEN 5@16x RX: ", Style{Fg: Palette16(2)})
		x = num(43, y, u*37%9999, 5, Style{})
		x = f.Text(x, y, " MiB/s TX: ", Style{})
		x = num(x, y, u*53%9999, 5, Style{})
		f.Text(x, y, " MiB/s", Style{})
		y++
		x = f.Text(0, y, " GPU ", Style{})
		x = num(x, y, 1200+u*7, 4, Style{})
		x = f.Text(x, y, "MHz MEM 2619MHz TEMP ", Style{})
		x = num(x, y, 40+u/4, 3, Style{})
		x = f.Text(x, y, "C FAN N/A POW ", Style{})
		x = num(x, y, 100+u*6, 4, Style{})
		f.Text(x, y, " / 700 W", Style{})
		y++
		f.Text(0, y, " GPU[", Style{Fg: Palette16(6)})
		bw := w/2 - 12
		for i := range bw {
			c := Palette16(2)
			if i*100/bw > 60 {
				c = Palette16(3)
			}
			if i*100/bw > 85 {
				c = Palette16(1)
			}
			if i*100 < u*bw {
				f.Rune(5+i, y, '|', Style{Fg: c})
			}
		}
		x = num(5+bw, y, u, 3, Style{})
		f.Text(x, y, "%]", Style{})
		f.Text(w/2, y, " MEM[", Style{Fg: Palette16(6)})
		for i := range bw {
			if i*100 < (30+g*20)*bw {
				f.Rune(w/2+5+i, y, '|', Style{Fg: Palette16(5)})
			}
		}
		x = num(w/2+5+bw, y, 43+g, 3, Style{})
		f.Text(x, y, "%]", Style{})
		y += 2
	}
	ch := (h - y) / 2
	for r := range ch {
		f.Rune(0, y+r, '│', Style{Fg: Palette16(8)})
		f.Rune(w-1, y+r, '│', Style{Fg: Palette16(8)})
	}
	for x := 1; x < w-1; x++ {
		for g := range 2 {
			v := load(g, t-(w-x)) * ch * 8 / 100
			for r := range ch {
				if level := v - (ch-1-r)*8; level > 0 {
					f.Rune(x, y+r, rune(0x2580+min(level, 8)), Style{Fg: Palette16(2 + g*2)})
				}
			}
		}
	}
	y += ch
	f.Text(0, y, "    PID USER     DEV    TYPE  GPU        GPU MEM    CPU  HOST MEM Command", Style{Fg: Palette16(0), Bg: Palette16(2)})
	for i := 0; y+1+i < h-1; i++ {
		var st Style
		if i == 2 {
			st = Style{Fg: Palette16(0), Bg: Palette16(6)}
		}
		y := y + 1 + i
		x := num(0, y, 31000+i*77, 7, st)
		x = f.Text(x, y, " user", st)
		x = num(x, y, i%7, 1, st)
		x = f.Text(x, y, "      ", st)
		x = num(x, y, i%2, 1, st)
		x = f.Text(x, y, " Compute ", st)
		x = num(x, y, load(i, t)%100, 3, st)
		x = f.Text(x, y, "% ", st)
		x = num(x, y, 1000+i*311, 8, st)
		x = f.Text(x, y, "MiB ", st)
		x = num(x, y, load(i+3, t), 5, st)
		x = f.Text(x, y, "% ", st)
		x = num(x, y, 2000+i*17, 6, st)
		x = f.Text(x, y, "MiB python train.py --rank ", st)
		num(x, y, i, 2, st)
	}
	f.Text(0, h-1, "F2Setup F6Sort F9Kill F10Quit F12Save Config", Style{Fg: Palette16(0), Bg: Palette16(6)})
}

var workloadSizes = []struct {
	w, h   int
	budget float64 // bytes a frame
}{{80, 24, 858}, {120, 40, 1854}, {200, 60, 4135}}

// A frame of the workload costs no more bytes than the best writer measured, and
// no allocation.
func TestBytesPerFrame(t *testing.T) {
	for _, s := range workloadSizes {
		f, out := NewFrame(s.w, s.h), &countWriter{}
		w := NewWriter(out)
		step := 0
		next := func() {
			workload(f, step)
			step++
			if _, err := w.Flush(f); err != nil {
				t.Fatal(err)
			}
		}
		next()
		next()
		out.n = 0
		const frames = 1000
		for range frames {
			next()
		}
		got := float64(out.n) / frames
		t.Logf("%dx%d: %.0f bytes a frame", s.w, s.h, got)
		if got > s.budget {
			t.Errorf("%dx%d: %.0f bytes a frame, want at most %.0f", s.w, s.h, got, s.budget)
		}
		if out.writes != frames+2 {
			t.Errorf("%dx%d: %d writes for %d frames", s.w, s.h, out.writes, frames+2)
		}
		if n := testing.AllocsPerRun(50, next); n != 0 {
			t.Errorf("%dx%d: %v allocations a frame", s.w, s.h, n)
		}
	}
}

type countWriter struct{ n, writes int }

func (c *countWriter) Write(b []byte) (int, error) {
	c.n += len(b)
	c.writes++
	return len(b), nil
}

// BenchmarkFrame draws and sends the workload; "draw" only draws it, "full"
// sends every cell.
func BenchmarkFrame(b *testing.B) {
	for _, s := range workloadSizes {
		for _, mode := range []string{"diff", "full", "draw"} {
			b.Run(fmt.Sprintf("%dx%d/%s", s.w, s.h, mode), func(b *testing.B) {
				f, out := NewFrame(s.w, s.h), &countWriter{}
				w := NewWriter(io.Writer(out))
				for t := range 2 {
					workload(f, t)
					w.Flush(f)
				}
				out.n = 0
				t := 2
				b.ReportAllocs()
				for b.Loop() {
					workload(f, t)
					t++
					switch mode {
					case "full":
						w.Invalidate()
						fallthrough
					case "diff":
						w.Flush(f)
					}
				}
				b.ReportMetric(float64(out.n)/float64(b.N), "bytes/frame")
			})
		}
	}
}
