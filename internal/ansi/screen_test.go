package ansi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// screen is a terminal that knows the sequences that Writer may send, and
// nothing else: an unknown one is an error. Wrapping is off.
type screen struct {
	w, h    int
	cells   []shown
	x, y    int
	pending bool // printed in the last column: where the cursor is, terminals disagree
	unsure  bool // printed something whose width terminals disagree about
	pen     Style
	sync    bool
	draws   drawing
	err     error
}

// drawing is how a terminal draws what terminals disagree about.
type drawing int

const (
	asExpected drawing = iota
	wider              // one cell more, and a mark has a cell of its own
	narrower           // a wide character takes one cell
)

// shown is a cell as a terminal keeps it.
type shown struct {
	text string // "" for the right half of a wide character
	st   Style
}

func newScreen(w, h int) *screen {
	s := &screen{}
	s.resize(w, h)
	return s
}

// resize leaves garbage, as a terminal may.
func (s *screen) resize(w, h int) {
	s.w, s.h = w, h
	s.cells = make([]shown, w*h)
	for i := range s.cells {
		s.cells[i] = shown{"#", Style{Fg: Palette16(1), Attr: Reverse}}
	}
	s.x, s.y = min(s.x, w-1), min(s.y, h-1)
}

func (s *screen) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *screen) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && s.err == nil {
		b = b[s.step(b):]
	}
	if s.sync {
		s.fail("a write ends inside the synchronized block")
	}
	return n, s.err
}

func (s *screen) step(b []byte) int {
	switch {
	case b[0] == 0x1b:
		return s.csi(b)
	case b[0] == '\r':
		s.relative()
		s.x = 0
		return 1
	case b[0] == '\n':
		s.relative()
		if s.y++; s.y >= s.h {
			s.fail("line feed below the last row")
		}
		return 1
	case b[0] == '\b':
		s.relative()
		if s.x--; s.x < 0 {
			s.fail("backspace left of the first column")
		}
		return 1
	case b[0] < 0x20 || b[0] == 0x7f:
		s.fail("control character %q", b[0])
		return 1
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		s.fail("invalid UTF-8 %q", b[0])
		return 1
	}
	s.print(r)
	return n
}

// relative checks that a relative movement starts from a known place.
func (s *screen) relative() {
	if s.pending || s.unsure {
		s.fail("movement from an unknown place (column %d)", s.x)
	}
}

func (s *screen) print(r rune) {
	w := cells(r)
	if w == 0 && !isMark(r) {
		s.fail("character %U without width", r)
		return
	}
	odd := s.draws != asExpected && !plain(r) && !surelyWide(r)
	if w == 0 && !odd {
		i := s.y*s.w + s.x - 1
		if s.pending {
			i++
		}
		if s.cells[i].text == "" {
			i--
		}
		s.cells[i].text += string(r)
		s.unsure = true
		return
	}
	if w > 0 {
		s.relative()
	}
	if s.err != nil {
		return
	}
	if odd {
		switch {
		case s.draws == wider:
			w = min(w+1, 2, s.w-s.x)
		case w == 2:
			w = 1
		}
		if w == 0 || s.pending {
			return
		}
	}
	if s.x+w > s.w {
		s.fail("%q does not fit into column %d of %d", r, s.x, s.w)
		return
	}
	row := s.cells[s.y*s.w : (s.y+1)*s.w]
	for x := s.x; x < s.x+w; x++ {
		// The rest of a wide character that loses a half is blank.
		if row[x].text == "" && x > 0 && x == s.x {
			row[x-1].text = " "
		}
		if x+1 < s.w && row[x+1].text == "" && x == s.x+w-1 {
			row[x+1].text = " "
		}
	}
	row[s.x] = shown{string(r), s.pen}
	if w == 2 {
		row[s.x+1] = shown{"", s.pen}
	}
	s.x += w
	s.unsure = !plain(r)
	if s.x >= s.w {
		s.x, s.pending = s.w-1, true
	}
}

func (s *screen) csi(b []byte) int {
	if len(b) < 3 || b[1] != '[' {
		s.fail("escape sequence %.8q", b)
		return 1
	}
	i := 2
	for i < len(b) && b[i] < 0x40 {
		i++
	}
	if i == len(b) {
		s.fail("unfinished sequence %q", b)
		return i
	}
	params, final := string(b[2:i]), b[i]
	var nums []int
	for _, p := range strings.Split(strings.TrimPrefix(params, "?"), ";") {
		n, err := strconv.Atoi(p)
		if err != nil && p != "" {
			s.fail("parameters %q", params)
		}
		nums = append(nums, n)
	}
	one := max(nums[0], 1)
	switch {
	case params == "?2026" && final == 'h':
		s.sync = true
	case params == "?2026" && final == 'l':
		s.sync = false
	case strings.HasPrefix(params, "?"):
		s.fail("private mode %s%c", params, final)
	case final == 'm':
		s.sgr(nums)
	case final == 'H':
		s.x, s.y, s.pending, s.unsure = 0, one-1, false, false
		if len(nums) > 1 {
			s.x = max(nums[1], 1) - 1
		}
	case final == 'G':
		s.x, s.pending, s.unsure = one-1, false, false
	case final == 'C':
		s.relative()
		s.x += one
	case final == 'B':
		s.relative()
		s.y += one
	case final == 'K' && params == "":
		s.relative()
		s.erase(s.cells[s.y*s.w+s.x : (s.y+1)*s.w])
		if row := s.cells[s.y*s.w : (s.y+1)*s.w]; s.x > 0 && cells([]rune(row[s.x-1].text + " ")[0]) == 2 {
			row[s.x-1].text = " "
		}
	case params == "2" && final == 'J':
		if s.sync {
			s.fail("the screen is cleared inside the synchronized block")
		}
		s.erase(s.cells)
	default:
		s.fail("sequence %s%c", params, final)
	}
	if s.x < 0 || s.x >= s.w || s.y < 0 || s.y >= s.h {
		s.fail("cursor at %d,%d after %q", s.x, s.y, b[:i+1])
		s.x, s.y = 0, 0
	}
	return i + 1
}

func (s *screen) erase(cells []shown) {
	if s.pen.Bg != 0 || s.pen.Attr&onBlank != 0 {
		s.fail("erased with a pen that may show: %+v", s.pen)
	}
	for i := range cells {
		cells[i] = shown{" ", Style{}}
	}
}

func (s *screen) sgr(n []int) {
	for i := 0; i < len(n); i++ {
		color := func() Color {
			switch {
			case i+2 < len(n) && n[i+1] == 5:
				i += 2
				return Indexed256(uint8(n[i]))
			case i+4 < len(n) && n[i+1] == 2:
				i += 4
				return RGB(uint8(n[i-2]), uint8(n[i-1]), uint8(n[i]))
			}
			s.fail("colour in SGR %v", n)
			return 0
		}
		switch p := n[i]; {
		case p == 0:
			s.pen = Style{}
		case p == 1:
			s.pen.Attr |= Bold
		case p == 2:
			s.pen.Attr |= Dim
		case p == 4:
			s.pen.Attr |= Underline
		case p == 7:
			s.pen.Attr |= Reverse
		case p == 22:
			s.pen.Attr &^= Bold | Dim
		case p == 24:
			s.pen.Attr &^= Underline
		case p == 27:
			s.pen.Attr &^= Reverse
		case p >= 30 && p < 38:
			s.pen.Fg = Palette16(p - 30)
		case p == 38:
			s.pen.Fg = color()
		case p == 39:
			s.pen.Fg = 0
		case p >= 40 && p < 48:
			s.pen.Bg = Palette16(p - 40)
		case p == 48:
			s.pen.Bg = color()
		case p == 49:
			s.pen.Bg = 0
		case p >= 90 && p < 98:
			s.pen.Fg = Palette16(p - 90 + 8)
		case p >= 100 && p < 108:
			s.pen.Bg = Palette16(p - 100 + 8)
		default:
			s.fail("SGR %d", p)
		}
	}
}

// shows reports where the screen differs from a frame.
func (s *screen) shows(f *Frame) error {
	if s.err != nil {
		return s.err
	}
	for y := range s.h {
		for x := range s.w {
			got := s.cells[y*s.w+x]
			_, st, _ := f.Cell(x, y)
			if got.text == " " && got.st.Attr&onBlank == 0 {
				got.st.Fg, got.st.Attr = 0, 0
			}
			want := shown{f.Content(x, y), st}
			if s.draws != asExpected {
				// What is disputed may look as it likes; all else stands in its place.
				r, _, w := f.Cell(x, y)
				if w == 0 {
					r, _, _ = f.Cell(x-1, y)
				}
				if !plain(r) && !surelyWide(r) {
					continue
				}
				if want.text != "" {
					want.text = string(r)
				}
			}
			if got != want {
				return fmt.Errorf("cell %d,%d shows %+v, want %+v", x, y, got, want)
			}
		}
	}
	return nil
}
