package bench

import (
	"math"
	"strings"
)

// pen is how a cell looks: palette entries plus 1, 0 for the terminal's own.
type pen struct {
	fg, bg uint8
	bold   bool
}

// put receives one cell, which is one column wide.
type put func(x, y int, r rune, p pen)

// blank puts a blank in every cell.
func blank(w, h int, put put) {
	for y := range h {
		for x := range w {
			put(x, y, ' ', pen{})
		}
	}
}

// paint draws step t of a made-up monitor of two GPUs over a blank screen: two
// headers with bars, a scrolling chart of eighth blocks, a table of processes,
// a line of keys. Equal t give equal frames.
func paint(t, w, h int, put put) {
	text := func(x, y int, s string, p pen) int {
		for _, r := range s {
			if x < w {
				put(x, y, r, p)
			}
			x++
		}
		return x
	}
	load := func(gpu, t int) int {
		return int(50 + 45*math.Sin(float64(t+17*gpu)/9) + 4*math.Sin(float64(t*t%97)))
	}
	title, plain := pen{fg: 7, bold: true}, pen{}
	y := 0
	for gpu := range 2 {
		u := load(gpu, t)
		text(0, y, " Device "+number(gpu, 1)+" [NVIDIA H200] ", title)
		x := text(24, y, "PCIe GEN 5@16x RX: ", pen{fg: 3})
		text(x, y, number(u*37%9999, 5)+" MiB/s TX: "+number(u*53%9999, 5)+" MiB/s", plain)
		text(0, y+1, " GPU "+number(1200+u*7, 4)+"MHz MEM 2619MHz TEMP "+number(40+u/4, 3)+"C FAN N/A POW "+
			number(100+u*6, 4)+" / 700 W", plain)
		width := w/2 - 12
		text(0, y+2, " GPU[", pen{fg: 7})
		for i := range width * u / 100 {
			p := pen{fg: 3}
			switch at := i * 100 / width; {
			case at > 85:
				p.fg = 2
			case at > 60:
				p.fg = 4
			}
			put(5+i, y+2, '|', p)
		}
		text(5+width, y+2, number(u, 3)+"%]", plain)
		text(w/2, y+2, " MEM[", pen{fg: 7})
		for i := range width * (30 + gpu*20) / 100 {
			put(w/2+5+i, y+2, '|', pen{fg: 6})
		}
		text(w/2+5+width, y+2, number(43+gpu, 3)+"%]", plain)
		y += 4
	}
	rows := (h - y) / 2
	for row := range rows {
		put(0, y+row, '│', pen{fg: 9})
		put(w-1, y+row, '│', pen{fg: 9})
		for x := 1; x < w-1; x++ {
			for gpu := range 2 {
				eighths := load(gpu, t-(w-x))*rows*8/100 - (rows-1-row)*8
				if eighths > 0 {
					put(x, y+row, rune(0x2580+min(eighths, 8)), pen{fg: uint8(3 + gpu*2)})
				}
			}
		}
	}
	y += rows
	text(0, y, "    PID USER     DEV    TYPE  GPU        GPU MEM    CPU  HOST MEM Command", pen{fg: 1, bg: 3})
	for i := 0; y+1+i < h-1; i++ {
		p := plain
		if i == 2 {
			p = pen{fg: 1, bg: 7}
		}
		text(0, y+1+i, number(31000+i*77, 7)+" user"+number(i%7, 1)+"      "+number(i%2, 1)+" Compute "+
			number(load(i, t)%100, 3)+"% "+number(1000+i*311, 8)+"MiB "+number(load(i+3, t), 5)+"% "+
			number(2000+i*17, 6)+"MiB python train.py --rank "+number(i, 2), p)
	}
	text(0, h-1, "F2Setup F6Sort F9Kill F10Quit F12Save Config", pen{fg: 1, bg: 7})
}

// number writes n at the right of a field.
func number(n, width int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	return strings.Repeat(" ", max(0, width-(len(b)-i))) + string(b[i:])
}
