package ansi

import (
	"bytes"
	"unicode/utf8"
)

// Key names what was pressed.
type Key uint8

const (
	KeyNone Key = iota
	KeyRune     // Event.Rune was typed
	KeyAlt      // Alt with Event.Rune
	KeyCtrl     // Ctrl with Event.Rune, a small letter or a sign; those with a name below come as that
	KeyEsc      // a lone Esc
	KeyEnter
	KeyTab
	KeyBacktab
	KeyBackspace
	KeyUp
	KeyDown
	KeyLeft
	KeyRight
	KeyHome
	KeyEnd
	KeyPgUp
	KeyPgDn
	KeyInsert
	KeyDelete
	KeyF1
	KeyF2
	KeyF3
	KeyF4
	KeyF5
	KeyF6
	KeyF7
	KeyF8
	KeyF9
	KeyF10
	KeyF11
	KeyF12
	KeyCtrlC
	KeyCtrlL
	KeyCtrlU
	KeyCtrlW
	KeyCtrlZ
	KeyPaste // Event.Text was pasted
	KeyMouse // Event.Button at Event.X, Event.Y
)

// Mod is a set of modifier keys held with a key that has a name, or with the
// mouse.
type Mod uint8

const (
	ModShift Mod = 1 << iota
	ModAlt
	ModCtrl
)

// Button is what the mouse did: a button pressed or the wheel turned. Releases
// and movements are not reported.
type Button uint8

const (
	ButtonNone Button = iota
	ButtonLeft
	ButtonMiddle
	ButtonRight
	WheelUp
	WheelDown
)

// Event is one key press or mouse action.
type Event struct {
	Key    Key
	Rune   rune   // for KeyRune, KeyAlt, KeyCtrl
	Text   string // for KeyPaste: as it came, its end cut off where it is very long
	Mod    Mod    // for named keys and the mouse
	Button Button
	X, Y   int // cell under the mouse, from 0
}

const (
	maxSequence = 64   // bytes of a key's sequence
	maxString   = 4096 // bytes of an answer of the terminal that nobody asked for
)

// Parser turns what a terminal sends into events. The zero Parser is ready.
// Text pasted in brackets (mode 2004) comes as one event, never as keys.
type Parser struct {
	buf    []byte // an unfinished sequence
	paste  bool
	pasted []byte
	events []Event
}

// Feed takes the next bytes, cut anywhere, and returns the events they complete.
// The slice is valid until the next call.
func (p *Parser) Feed(b []byte) []Event {
	p.events = p.events[:0]
	p.buf = append(p.buf, b...)
	p.run(false)
	return p.events
}

// Pending reports whether an unfinished sequence waits for more bytes or Flush.
func (p *Parser) Pending() bool { return len(p.buf) > 0 && !p.paste }

// Pasting reports whether the end of a paste is still to come.
func (p *Parser) Pasting() bool { return p.paste }

// EndPaste gives up an unfinished paste, whose end got lost.
func (p *Parser) EndPaste() { p.paste, p.pasted, p.buf = false, p.pasted[:0], p.buf[:0] }

// Flush is called when nothing followed an unfinished sequence for a while: an
// Esc was the key, the rest is what it is. The slice is valid until the next call.
func (p *Parser) Flush() []Event {
	p.events = p.events[:0]
	p.run(true)
	return p.events
}

func (p *Parser) emit(e Event) { p.events = append(p.events, e) }

// Inlined, it would make the program 9 kB larger.
//
//go:noinline
func (p *Parser) key(k Key, m Mod) { p.emit(Event{Key: k, Mod: m}) }

func (p *Parser) run(final bool) {
	b := p.buf
	for len(b) > 0 {
		var n int
		if p.paste {
			n = p.takePaste(b)
		} else {
			n = p.next(b, final)
		}
		if n == 0 {
			break
		}
		b = b[n:]
	}
	p.buf = p.buf[:copy(p.buf, b)]
}

var pasteEnd = []byte("\x1b[201~")

// maxPaste is how much of a paste is kept, in bytes.
const maxPaste = 1024

// takePaste returns how many bytes of a paste it took; what may be the beginning
// of its end stays.
func (p *Parser) takePaste(b []byte) int {
	keep := func(b []byte) { p.pasted = append(p.pasted, b[:min(len(b), maxPaste-len(p.pasted))]...) }
	if i := bytes.Index(b, pasteEnd); i >= 0 {
		keep(b[:i])
		p.emit(Event{Key: KeyPaste, Text: string(p.pasted)})
		p.paste, p.pasted = false, p.pasted[:0]
		return i + len(pasteEnd)
	}
	for n := min(len(pasteEnd)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, pasteEnd[:n]) {
			keep(b[:len(b)-n])
			return len(b) - n
		}
	}
	keep(b)
	return len(b)
}

// next takes one event from the start of b and returns its length; 0 asks for
// more bytes, which it never does when final.
func (p *Parser) next(b []byte, final bool) int {
	c := b[0]
	switch {
	case c == 0x1b:
		return p.escape(b, final)
	case c < 0x20 || c == 0x7f:
		p.control(c, false)
		return 1
	case c < utf8.RuneSelf:
		p.emit(Event{Key: KeyRune, Rune: rune(c)})
		return 1
	}
	if !utf8.FullRune(b) {
		if !final {
			return 0
		}
		return 1
	}
	r, n := utf8.DecodeRune(b)
	if !(r == utf8.RuneError && n == 1) && !(r >= 0x80 && r < 0xa0) {
		p.emit(Event{Key: KeyRune, Rune: r})
	}
	return n
}

func (p *Parser) control(c byte, alt bool) {
	var m Mod
	if alt {
		m = ModAlt
	}
	switch {
	case c == '\r' || c == '\n':
		p.key(KeyEnter, m)
	case c == '\t':
		p.key(KeyTab, m)
	case c == 0x7f || c == '\b':
		p.key(KeyBackspace, m)
	case c == 0:
		p.ctrl(' ', m)
	case c > 26:
		p.ctrl(rune(c)+0x40, m)
	default:
		p.ctrl(rune(c)+0x60, m)
	}
}

// ctrl takes Ctrl with a small letter or a sign.
func (p *Parser) ctrl(r rune, m Mod) {
	switch r {
	case 'c':
		p.key(KeyCtrlC, m)
	case 'l':
		p.key(KeyCtrlL, m)
	case 'u':
		p.key(KeyCtrlU, m)
	case 'w':
		p.key(KeyCtrlW, m)
	case 'z':
		p.key(KeyCtrlZ, m)
	default:
		p.emit(Event{Key: KeyCtrl, Rune: r, Mod: m})
	}
}

// escape takes what starts with ESC.
func (p *Parser) escape(b []byte, final bool) int {
	if len(b) == 1 {
		if !final {
			return 0
		}
		p.key(KeyEsc, 0)
		return 1
	}
	switch c := b[1]; {
	case c == '[':
		return p.csi(b, 2, 0, final)
	case c == 'O':
		return p.ss3(b, 2, 0, final)
	case c == 0x1b:
		// Esc twice, or the Alt of terminals that put an ESC before a sequence.
		if len(b) == 2 && !final {
			return 0
		}
		if len(b) > 2 && b[2] == '[' {
			return p.csi(b, 3, ModAlt, final)
		}
		if len(b) > 2 && b[2] == 'O' {
			return p.ss3(b, 3, ModAlt, final)
		}
		p.key(KeyEsc, 0)
		return 1
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return p.str(b, final)
	case c < 0x20 || c == 0x7f:
		p.control(c, true)
		return 2
	}
	if !utf8.FullRune(b[1:]) {
		if !final {
			return 0
		}
		p.key(KeyEsc, 0)
		return 1
	}
	r, n := utf8.DecodeRune(b[1:])
	if r == utf8.RuneError && n == 1 {
		p.key(KeyEsc, 0)
		return 1
	}
	p.emit(Event{Key: KeyAlt, Rune: r})
	return 1 + n
}

// unfinished decides about a sequence that ends too early, whose first bytes
// alone are Alt and a sign.
func (p *Parser) unfinished(b []byte, start int, final bool) int {
	if !final {
		if len(b) > maxSequence {
			return len(b)
		}
		return 0
	}
	if start == 3 { // ESC ESC [: Esc, then the rest
		p.key(KeyEsc, 0)
		return 1
	}
	if len(b) == start {
		p.emit(Event{Key: KeyAlt, Rune: rune(b[start-1])})
	}
	return len(b)
}

// ss3 takes ESC O and a letter.
func (p *Parser) ss3(b []byte, start int, m Mod, final bool) int {
	// Some terminals put a modifier before the letter.
	i := start
	for i < len(b) && b[i] >= '0' && b[i] <= '9' && i < start+2 {
		i++
	}
	if i == len(b) {
		return p.unfinished(b, start, final)
	}
	if i > start {
		m |= modifiers(int(b[i-1] - '0'))
	}
	c := b[i]
	if c < 0x20 || c >= 0x7f { // not a sequence
		return i
	}
	if k := letterKey(c); k != KeyNone {
		p.key(k, m)
	} else if c == 'M' {
		p.key(KeyEnter, m)
	} else if c == 'I' {
		p.key(KeyTab, m)
	} else if i == start && c >= 'j' && c <= 'y' { // the number pad
		p.emit(Event{Key: KeyRune, Rune: rune(c - 'j' + '*')})
	}
	return i + 1
}

// letterKey is what the final letter of CSI and SS3 sequences means.
func letterKey(c byte) Key {
	switch c {
	case 'A':
		return KeyUp
	case 'B':
		return KeyDown
	case 'C':
		return KeyRight
	case 'D':
		return KeyLeft
	case 'H':
		return KeyHome
	case 'F':
		return KeyEnd
	case 'P':
		return KeyF1
	case 'Q':
		return KeyF2
	case 'R':
		return KeyF3
	case 'S':
		return KeyF4
	case 'Z':
		return KeyBacktab
	}
	return KeyNone
}

// tildeKey is what the number before a final ~ means.
func tildeKey(n int) Key {
	switch n {
	case 1, 7:
		return KeyHome
	case 2:
		return KeyInsert
	case 3:
		return KeyDelete
	case 4, 8:
		return KeyEnd
	case 5:
		return KeyPgUp
	case 6:
		return KeyPgDn
	case 11, 12, 13, 14, 15:
		return KeyF1 + Key(n-11)
	case 17, 18, 19, 20, 21:
		return KeyF6 + Key(n-17)
	case 23, 24:
		return KeyF11 + Key(n-23)
	}
	return KeyNone
}

// modifiers decodes the parameter that is one more than the keys held.
func modifiers(n int) Mod {
	if n < 2 || n > 256 {
		return 0
	}
	n--
	m := Mod(n & 7)
	if n&8 != 0 { // Meta
		m |= ModAlt
	}
	return m
}

// csi takes ESC [, parameters and a final byte.
func (p *Parser) csi(b []byte, start int, m Mod, final bool) int {
	i := start
	if i < len(b) && b[i] == '[' { // Linux console: ESC [ [ A is F1
		if i+1 == len(b) {
			return p.unfinished(b, start, final)
		}
		if c := b[i+1]; c >= 'A' && c <= 'E' {
			p.key(KeyF1+Key(c-'A'), m)
			return i + 2
		}
		return i + 1
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	if i == len(b) {
		return p.unfinished(b, start, final)
	}
	c := b[i]
	if c < 0x40 || c >= 0x7f { // cut off by something else
		return i
	}
	params := b[start:i]
	if c == 'M' && len(params) == 0 { // mouse report in three bytes
		if len(b) < i+4 {
			if !final {
				return 0
			}
			return len(b)
		}
		p.mouse(int(b[i+1])-32, int(b[i+2])-33, int(b[i+3])-33, false)
		return i + 4
	}
	private := byte(0)
	if len(params) > 0 && params[0] >= '<' {
		private, params = params[0], params[1:]
	}
	var n [3]int
	count := numbers(params, &n)
	switch {
	case private == '<' && (c == 'M' || c == 'm') && count == 3:
		p.mouse(n[0], n[1]-1, n[2]-1, c == 'm')
	case private != 0: // an answer
	case c == '~' && n[0] == 200:
		p.paste = true
	case c == '~' && n[0] == 27 && count == 3: // modifyOtherKeys
		p.code(n[2], m|modifiers(n[1]))
	case c == 'u':
		p.code(n[0], m|modifiers(n[1]))
	case c == '~':
		if k := tildeKey(n[0]); k != KeyNone {
			p.key(k, m|modifiers(n[1]))
		}
	case c == 'Z':
		p.key(KeyBacktab, m)
	case c == 'R' && count == 2 && n[0] != 1: // an answer: the cursor's position
	case c == 'a' || c == 'b' || c == 'c' || c == 'd': // rxvt: Shift and an arrow
		if count == 0 {
			p.key(letterKey(c-'a'+'A'), m|ModShift)
		}
	default:
		if k := letterKey(c); k != KeyNone {
			p.key(k, m|modifiers(n[1]))
		}
	}
	return i + 1
}

// numbers reads decimal parameters, separated by ; (and : for parts of one,
// which are left out), and returns how many there were.
func numbers(b []byte, n *[3]int) int {
	if len(b) == 0 {
		return 0
	}
	k, part := 0, false
	for _, c := range b {
		switch {
		case c == ';':
			k++
			part = false
		case c == ':':
			part = true
		case c >= '0' && c <= '9' && !part && k < len(n) && n[k] < 1<<20:
			n[k] = n[k]*10 + int(c-'0')
		}
	}
	return k + 1
}

// code takes a key that was sent as a code point with modifiers.
func (p *Parser) code(r int, m Mod) {
	switch {
	case r == 27:
		p.key(KeyEsc, m)
	case r == 13 || r == 57414:
		p.key(KeyEnter, m)
	case r == 9 && m&ModShift != 0:
		p.key(KeyBacktab, m&^ModShift)
	case r == 9:
		p.key(KeyTab, m)
	case r == 127 || r == 8:
		p.key(KeyBackspace, m)
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0xe000 && r <= 0xf8ff || !utf8.ValidRune(rune(r)):
	case m&ModCtrl != 0:
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		p.ctrl(rune(r), m&^(ModCtrl|ModShift))
	case m&ModAlt != 0:
		p.emit(Event{Key: KeyAlt, Rune: rune(r)})
	default:
		p.emit(Event{Key: KeyRune, Rune: rune(r)})
	}
}

// mouse takes a report: the button with its flags, and the cell.
func (p *Parser) mouse(b, x, y int, release bool) {
	if release || b < 0 || b&32 != 0 || x < 0 || y < 0 { // released, or moved
		return
	}
	e := Event{Key: KeyMouse, X: x, Y: y}
	if b&4 != 0 {
		e.Mod |= ModShift
	}
	if b&8 != 0 {
		e.Mod |= ModAlt
	}
	if b&16 != 0 {
		e.Mod |= ModCtrl
	}
	switch b &^ (4 | 8 | 16) {
	case 0:
		e.Button = ButtonLeft
	case 1:
		e.Button = ButtonMiddle
	case 2:
		e.Button = ButtonRight
	case 64:
		e.Button = WheelUp
	case 65:
		e.Button = WheelDown
	default:
		return
	}
	p.emit(e)
}

// str drops ESC ] (or P, X, ^, _) up to BEL or ST; alone it is Alt and a sign.
func (p *Parser) str(b []byte, final bool) int {
	for i := 2; i < len(b); i++ {
		if b[i] == 7 {
			return i + 1
		}
		if b[i] == 0x1b {
			if i+1 < len(b) {
				if b[i+1] == '\\' {
					return i + 2
				}
				return i // another sequence cuts it off
			}
			break
		}
	}
	switch {
	case final && len(b) == 2:
		p.emit(Event{Key: KeyAlt, Rune: rune(b[1])})
		return 2
	case final || len(b) > maxString:
		return len(b)
	}
	return 0
}
