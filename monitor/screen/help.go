package screen

// keys are the keys and what they do, as the help shows them.
var keys = [...][2]string{
	{"q  Ctrl+C", "quit"},
	{"Esc", "close this, else quit"},
	{"h  ?  F1", "this help"},
	{"v", "view: automatic, boxes, list"},
	{"p", "process table on, off"},
	{"s  F6", "sort by the next column"},
	{"r", "sort the other way round"},
	{"↑ ↓  j k", "scroll a row"},
	{"PgUp PgDn", "scroll a page"},
	{"Home End", "to the first, to the last"},
	{"0-9", "GPU with that number on, off"},
	{"Space", "stop asking the driver, go on"},
	{"+ -", "longer, shorter interval"},
	{"Ctrl+L", "draw anew"},
	{"Ctrl+Z", "suspend"},
}

// notes explain what the numbers are.
var notes = [...]string{
	"-  is unknown. SM, tensor: how much of the time",
	"these units worked, sampled by the GPU itself.",
	"→ GPU is what the GPU receives, ← what it sends.",
	"TYPE: C compute, G graphics, M through MPS.",
}

// drawHelp draws the help over the rest.
func (s *Screen) drawHelp() {
	const keyWidth, textWidth = 11, 36
	p, f := &s.pal, s.f
	w := min(keyWidth+textWidth+6, s.w)
	h := min(len(keys)+len(notes)+3, s.h)
	x, y := (s.w-w)/2, (s.h-h)/2
	f.Fill(x, y, w, h, ' ', p.plain)
	if w < 4 || h < 3 {
		f.TextCut(x, y, w, "q quit  h back", p.plain)
		return
	}
	f.Rune(x, y, '╭', p.dim)
	f.Fill(x+1, y, w-2, 1, '─', p.dim)
	f.Rune(x+w-1, y, '╮', p.dim)
	f.TextCut(x+2, y, w-4, " Keys ", p.bold)
	f.Rune(x, y+h-1, '╰', p.dim)
	f.Fill(x+1, y+h-1, w-2, 1, '─', p.dim)
	f.Rune(x+w-1, y+h-1, '╯', p.dim)
	f.TextCut(x+2, y+h-1, w-4, " Esc close ", p.dim)
	row, last := y+1, y+h-1
	for ; row < last; row++ {
		f.Rune(x, row, '│', p.dim)
		f.Rune(x+w-1, row, '│', p.dim)
	}
	row = y + 1
	for i := 0; i < len(keys) && row < last; i, row = i+1, row+1 {
		l := s.line.reset().left(p.key, keys[i][0], keyWidth).pad(1).text(p.plain, keys[i][1])
		l.drawCut(f, x+2, row, w-4)
	}
	row++
	for i := 0; i < len(notes) && row < last; i, row = i+1, row+1 {
		s.line.reset().text(p.dim, notes[i]).drawCut(f, x+2, row, w-4)
	}
}
