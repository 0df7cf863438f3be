package ansi

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestParser(t *testing.T) {
	k := func(keys ...Key) (e []Event) {
		for _, key := range keys {
			e = append(e, Event{Key: key})
		}
		return e
	}
	r := func(s string) (e []Event) {
		for _, c := range s {
			e = append(e, Event{Key: KeyRune, Rune: c})
		}
		return e
	}
	mod := func(key Key, m Mod) []Event { return []Event{{Key: key, Mod: m}} }
	for _, test := range []struct {
		in   string
		want []Event
	}{
		{"q", r("q")},
		{"ä漢😀", r("ä漢😀")},
		{"\x1b", k(KeyEsc)},
		{"\x1b\x1b", k(KeyEsc, KeyEsc)},
		{"\x1bq", []Event{{Key: KeyAlt, Rune: 'q'}}},
		{"\x1bä", []Event{{Key: KeyAlt, Rune: 'ä'}}},
		{"\x1b[", []Event{{Key: KeyAlt, Rune: '['}}},
		{"\x1bO", []Event{{Key: KeyAlt, Rune: 'O'}}},
		{"\x1b]", []Event{{Key: KeyAlt, Rune: ']'}}},
		{"\r\n\t\x7f\b", k(KeyEnter, KeyEnter, KeyTab, KeyBackspace, KeyBackspace)},
		{"\x03\x0c\x15\x17\x1a", k(KeyCtrlC, KeyCtrlL, KeyCtrlU, KeyCtrlW, KeyCtrlZ)},
		{"\x1b[117;5u\x1b[87;6u\x1b[27;5;119~", k(KeyCtrlU, KeyCtrlW, KeyCtrlW)},
		{"\x1b\x15", mod(KeyCtrlU, ModAlt)},
		{"\x01\x1c\x00", []Event{{Key: KeyCtrl, Rune: 'a'}, {Key: KeyCtrl, Rune: '\\'}, {Key: KeyCtrl, Rune: ' '}}},
		{"\x1b[A\x1b[B\x1b[C\x1b[D", k(KeyUp, KeyDown, KeyRight, KeyLeft)},
		{"\x1bOA\x1bOB\x1bOC\x1bOD", k(KeyUp, KeyDown, KeyRight, KeyLeft)},
		{"\x1b[H\x1b[F\x1bOH\x1bOF\x1b[1~\x1b[4~\x1b[7~\x1b[8~", k(KeyHome, KeyEnd, KeyHome, KeyEnd, KeyHome, KeyEnd, KeyHome, KeyEnd)},
		{"\x1b[2~\x1b[3~\x1b[5~\x1b[6~\x1b[Z", k(KeyInsert, KeyDelete, KeyPgUp, KeyPgDn, KeyBacktab)},
		{"\x1bOP\x1bOQ\x1bOR\x1bOS", k(KeyF1, KeyF2, KeyF3, KeyF4)},
		{"\x1b[11~\x1b[12~\x1b[13~\x1b[14~\x1b[15~", k(KeyF1, KeyF2, KeyF3, KeyF4, KeyF5)},
		{"\x1b[17~\x1b[18~\x1b[19~\x1b[20~\x1b[21~\x1b[23~\x1b[24~", k(KeyF6, KeyF7, KeyF8, KeyF9, KeyF10, KeyF11, KeyF12)},
		{"\x1b[[A\x1b[[E", k(KeyF1, KeyF5)},
		{"\x1b[1;5A", mod(KeyUp, ModCtrl)},
		{"\x1b[1;2P", mod(KeyF1, ModShift)},
		{"\x1b[5;3~", mod(KeyPgUp, ModAlt)},
		{"\x1b[1;4D", mod(KeyLeft, ModShift|ModAlt)},
		{"\x1b[a", mod(KeyUp, ModShift)},
		{"\x1b\x1b[A", mod(KeyUp, ModAlt)},
		{"\x1b\x1bOA", mod(KeyUp, ModAlt)},
		{"\x1b\x1b[", []Event{{Key: KeyEsc}, {Key: KeyAlt, Rune: '['}}},
		{"\x1b\x1bq", []Event{{Key: KeyEsc}, {Key: KeyAlt, Rune: 'q'}}},
		{"\x1b\r", mod(KeyEnter, ModAlt)},
		{"\x1bOM\x1bOq\x1bOk", append(k(KeyEnter), r("1+")...)},
		{"\x1b[27u\x1b[113;1u\x1b[113;5u\x1b[99;5u", []Event{{Key: KeyEsc}, {Key: KeyRune, Rune: 'q'}, {Key: KeyCtrl, Rune: 'q'}, {Key: KeyCtrlC}}},
		{"\x1b[27;5;108~\x1b[27;3;113~", []Event{{Key: KeyCtrlL}, {Key: KeyAlt, Rune: 'q'}}},
		{"\x1b[<0;1;1M\x1b[<0;1;1m", []Event{{Key: KeyMouse, Button: ButtonLeft}}},
		{"\x1b[<2;200;50M", []Event{{Key: KeyMouse, Button: ButtonRight, X: 199, Y: 49}}},
		{"\x1b[<64;3;4M\x1b[<65;3;4M", []Event{{Key: KeyMouse, Button: WheelUp, X: 2, Y: 3}, {Key: KeyMouse, Button: WheelDown, X: 2, Y: 3}}},
		{"\x1b[<20;3;4M", []Event{{Key: KeyMouse, Button: ButtonLeft, Mod: ModShift | ModCtrl, X: 2, Y: 3}}},
		{"\x1b[<35;3;4M\x1b[<32;3;4M", nil}, // movement
		{"\x1b[<0;0;0M\x1b[<0;1M", nil},
		{"\x1b[M !\"", []Event{{Key: KeyMouse, Button: ButtonLeft, X: 0, Y: 1}}},
		{"\x1b[M#!\"", nil}, // released
		{"\x1b[200~q\x1b[Aq\x1b[201~x", append([]Event{{Key: KeyPaste, Text: "q\x1b[Aq"}}, r("x")...)},
		{"\x1b[200~never ended q", nil},
		{"\x1b[201~x", r("x")},
		{"\x1b]11;rgb:0000/0000/0000\x1b\\q", r("q")},
		{"\x1b]0;title\x07q\x1bP1$r\x1b\\q\x1b_x\x1b\\q", r("qqq")},
		{"\x1b]11;rgb\x1b[A", k(KeyUp)},
		{"\x1b[?2026;2$yq\x1b[?64;1cq\x1b[3;7Rq", r("qqq")},
		{"\x1b[I\x1b[Oq", r("q")}, // focus
		{"\x1b[99~q\x1b[1;1;1;1;1Xq", r("qq")},
		{"\x1b[1;\x1b[A", k(KeyUp)}, // cut off
		{"\x1b[999999999999999999999;5A", mod(KeyUp, ModCtrl)},
		{"\xffq\xc3q\xe6\xbc", r("qq")},
		{"\xc2\x9bq", r("q")},
	} {
		parse := func(cut int) []Event {
			var p Parser
			var got []Event
			for b := []byte(test.in); len(b) > 0; {
				n := min(cut, len(b))
				got = append(got, p.Feed(b[:n])...)
				b = b[n:]
			}
			return append(got, p.Flush()...)
		}
		for _, cut := range []int{1000, 1, 2, 3, 5} {
			if got := parse(cut); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%q in pieces of %d:\n got %v\nwant %v", test.in, cut, got, test.want)
			}
		}
	}
}

// A pause inside of a paste does not turn the rest of it into keys.
func TestPasteWithAPause(t *testing.T) {
	var p Parser
	got := append([]Event(nil), p.Feed([]byte("\x1b[200~rm -rf\x1b[20"))...)
	if p.Pending() {
		t.Error("a paste waits for the delay of Esc")
	}
	got = append(got, p.Flush()...)
	got = append(got, p.Feed([]byte("q\x1b[201~"))...)
	if len(got) != 1 || got[0].Key != KeyPaste || got[0].Text != "rm -rf\x1b[20q" {
		t.Errorf("pasted text came out as %v", got)
	}
	if got := p.Feed([]byte("x")); len(got) != 1 || got[0].Rune != 'x' {
		t.Errorf("after the paste: %v", got)
	}
}

func TestPending(t *testing.T) {
	var p Parser
	for _, test := range []struct {
		in   string
		want bool
	}{{"q", false}, {"\x1b", true}, {"[", true}, {"A", false}, {"\xc3", true}, {"\xa4", false}} {
		p.Feed([]byte(test.in))
		if p.Pending() != test.want {
			t.Errorf("after %q: pending is %v", test.in, p.Pending())
		}
	}
}

// What arrives is bounded, whatever the terminal sends.
func TestParserForgetsEndlessSequences(t *testing.T) {
	for _, start := range []string{"\x1b[", "\x1b]", "\x1b[<", "\x1bP"} {
		var p Parser
		p.Feed([]byte(start))
		for range 1000 {
			p.Feed(bytes.Repeat([]byte("1"), 100))
			if len(p.buf) > maxString+200 {
				t.Fatalf("%q: %d bytes are kept", start, len(p.buf))
			}
		}
	}
}

// An Esc is a key of its own when nothing follows; in one piece with what
// follows it is not.
func TestLoneEsc(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	chunks, failed, events := make(chan []byte), make(chan error, 1), make(chan Event, 64)
	done := make(chan error, 1)
	go func() { done <- deliver(ctx, chunks, failed, events) }()
	chunks <- []byte("\x1b")
	select {
	case e := <-events:
		if e.Key != KeyEsc {
			t.Errorf("got %v, want Esc", e)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a lone Esc never came")
	}
	chunks <- []byte("\x1b[")
	chunks <- []byte("A")
	if e := <-events; e.Key != KeyUp {
		// The test machine may have slept for longer than the delay.
		if e.Key != KeyAlt {
			t.Errorf("got %v, want Up", e)
		}
	}
	gone := errors.New("gone")
	failed <- gone
	if err := <-done; err != gone {
		t.Errorf("reading ended with %v", err)
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{"q", "\x1b", "\x1b[A", "\x1b\x1b[1;5A", "\x1b[<64;3;4M", "\x1b[M !!", "\x1b[200~a\x1b[201~b", "\x1b]0;x\x07", "\x1bOP", "ä\xff", "\x1b[[A", "\x1b[27;5;99~"} {
		f.Add([]byte(s), uint8(1))
		f.Add([]byte(s+"q"+s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		parse := func(cut int) []Event {
			var p Parser
			var got []Event
			for b := b; len(b) > 0; {
				n := min(cut, len(b))
				got = append(got, p.Feed(b[:n])...)
				b = b[n:]
			}
			got = append(got, p.Flush()...)
			if p.Pending() {
				t.Fatalf("%q: something waits after Flush", b)
			}
			return got
		}
		whole := parse(len(b) + 1)
		for _, e := range whole {
			if e.Key == KeyNone || e.Key > KeyMouse || e.X < 0 || e.Y < 0 {
				t.Fatalf("%q gives %+v", b, e)
			}
			if e.Key == KeyRune && cells(e.Rune) == 0 && e.Rune < 0x300 && e.Rune != 0xad {
				t.Fatalf("%q types the control character %U", b, e.Rune)
			}
		}
		// Cut differently, the same keys come out, unless the input is so long
		// that an endless sequence was given up.
		if len(b) <= maxSequence {
			if pieces := parse(max(int(cut), 1)); !reflect.DeepEqual(whole, pieces) {
				t.Fatalf("%q: %v in one piece, %v in pieces of %d", b, whole, pieces, cut)
			}
		}
	})
}

func TestAPasteWithoutAnEnd(t *testing.T) {
	var p Parser
	if got := p.Feed([]byte("\x1b[200~qq\x1b[20")); len(got) != 0 || !p.Pasting() {
		t.Errorf("pasted text came out as %v", got)
	}
	p.EndPaste()
	if got := p.Feed([]byte("q")); len(got) != 1 || got[0].Rune != 'q' {
		t.Errorf("a key after it: %v", got)
	}
}
