package ansi

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// console opens the console that the test was started on.
func console(t *testing.T) (in, out *os.File) {
	t.Helper()
	var err1, err2 error
	in, err1 = os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, err2 = os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err := errors.Join(err1, err2); err != nil {
		const hint = "no console; with wine, run the test on a terminal (script -qec 'wine TEST.exe' /dev/null):"
		if os.Getenv("CI") == "true" {
			t.Fatal(hint, err)
		}
		t.Skip(hint, err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	return in, out
}

func TestConsoleModes(t *testing.T) {
	in, out := console(t)
	if !IsTerminal(in) || !IsTerminal(out) {
		t.Fatal("a console does not count as a terminal")
	}
	before, err := getModes(in, out)
	if err != nil {
		t.Fatal(err)
	}
	modes := func() (i, o uint32) {
		t.Helper()
		b, err := getModes(in, out)
		if err != nil {
			t.Fatal(err)
		}
		i, o, _ = decodeModes(b)
		return i, o
	}
	term, err := Open(in, out)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := term.Size(); err != nil {
		t.Error(err)
	}
	if err := term.Enter(true); err != nil {
		t.Fatal(err)
	}
	i, o := modes()
	if i&(windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_QUICK_EDIT_MODE) != 0 ||
		i&windows.ENABLE_PROCESSED_INPUT == 0 || i&windows.ENABLE_VIRTUAL_TERMINAL_INPUT == 0 {
		t.Errorf("input mode %#x", i)
	}
	if o&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING == 0 || o&windows.ENABLE_PROCESSED_OUTPUT == 0 {
		t.Errorf("output mode %#x", o)
	}
	if err := term.Leave(); err != nil {
		t.Error(err)
	}
	if now, _ := getModes(in, out); !bytes.Equal(now, before) {
		t.Errorf("modes %x after Leave, want %x", now, before)
	}
	// Another process restores them from plain data, unless somebody else has
	// set his own.
	for _, taken := range []bool{false, true} {
		if err := term.Enter(false); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(term.Modes())
		if err != nil {
			t.Fatal(err)
		}
		want := before
		if taken {
			i, o, _ := decodeModes(before)
			want = encodeModes(i&^windows.ENABLE_ECHO_INPUT, o)
			if err := putModes(in, out, want); err != nil {
				t.Fatal(err)
			}
		}
		var m Modes
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		if err := RestoreFrom(m); err != nil {
			t.Error(err)
		}
		if now, _ := getModes(in, out); !bytes.Equal(now, want) {
			t.Errorf("modes %x after RestoreFrom (taken: %v), want %x", now, taken, want)
		}
		if err := term.Leave(); err != nil {
			t.Error(err)
		}
		if err := putModes(in, out, before); err != nil {
			t.Fatal(err)
		}
	}
	if on, restore := EnableVT(out); !on {
		t.Error("the console takes no escape sequences")
	} else {
		restore()
	}
	if now, _ := getModes(in, out); !bytes.Equal(now, before) {
		t.Errorf("modes %x after EnableVT, want %x", now, before)
	}
}

func TestUTF16(t *testing.T) {
	// Cut between the halves of a pair.
	b, half := appendUTF16(nil, 0, []uint16{'q', 0xe4, 0x6f22, 0xd83d})
	b, half = appendUTF16(b, half, []uint16{0xde00, 'x'})
	if string(b) != "qä漢😀x" || half != 0 {
		t.Errorf("got %q, %x", b, half)
	}
	if b, _ := appendUTF16(nil, 0xd83d, []uint16{'x'}); string(b) != "x" {
		t.Errorf("half a pair gives %q", b)
	}
}

// TestMintty plays the terminal of Git Bash, and a plain pipe of it.
func TestMintty(t *testing.T) {
	for name, want := range map[string]bool{"msys-1888ae32e00d56aa-pty0-to-master": true, "msys-1888ae32e00d56aa-pipe-0x16": false} {
		path := `\\.\pipe\` + name
		p, err := windows.UTF16PtrFromString(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := windows.CreateNamedPipe(p, windows.PIPE_ACCESS_DUPLEX, windows.PIPE_TYPE_BYTE, 1, 4096, 4096, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer windows.CloseHandle(h)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := IsMintty(f); got != want || IsTerminal(f) {
			t.Errorf("%s: %v, a terminal: %v", path, got, IsTerminal(f))
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if IsMintty(w) {
		t.Error("any pipe is mintty's")
	}
}
