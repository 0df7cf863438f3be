package ansi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/windows"
)

// typed passes on what is typed. A blocked console read cannot be ended, so there
// is one reader for the life of the program.
var typed struct {
	once   sync.Once
	chunks chan []byte
	err    error // valid once chunks is closed
}

func openKeys() *os.File {
	f, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if !IsTerminal(f) {
		f.Close()
		return nil
	}
	return f
}

// openOwn finds none: a console always takes what is written, or blocks.
func openOwn(*os.File) nonblocking { return nil }

const noMode = 0xffffffff // there is no input

func encodeModes(in, out uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, in)
	return binary.LittleEndian.AppendUint32(b, out)
}

func decodeModes(b []byte) (in, out uint32, err error) {
	if len(b) != 8 {
		return 0, 0, fmt.Errorf("console modes of %d bytes, want 8", len(b))
	}
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), nil
}

func getModes(in, out *os.File) ([]byte, error) {
	inMode, outMode := uint32(noMode), uint32(0)
	if in != nil {
		if err := windows.GetConsoleMode(windows.Handle(in.Fd()), &inMode); err != nil {
			return nil, err
		}
	}
	if err := windows.GetConsoleMode(windows.Handle(out.Fd()), &outMode); err != nil {
		return nil, err
	}
	return encodeModes(inMode, outMode), nil
}

func putModes(in, out *os.File, modes []byte) error {
	inMode, outMode, err := decodeModes(modes)
	if err != nil {
		return err
	}
	if in != nil && inMode != noMode {
		err = windows.SetConsoleMode(windows.Handle(in.Fd()), inMode)
	}
	return errors.Join(err, windows.SetConsoleMode(windows.Handle(out.Fd()), outMode))
}

func (t *Terminal) getModes() ([]byte, error) { return getModes(t.in, t.out) }

func (t *Terminal) putModes(modes []byte) error { return putModes(t.in, t.out, modes) }

func (t *Terminal) rawModes(saved []byte) ([]byte, error) {
	in, out, err := decodeModes(saved)
	if err != nil {
		return nil, err
	}
	if err := setVT(t.out, out); err != nil {
		return nil, fmt.Errorf("this console takes no escape sequences: %w", err)
	}
	if t.in != nil && in != noMode {
		// Ctrl+C stays a signal. In quick-edit mode a click would freeze the output.
		in &^= windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_QUICK_EDIT_MODE
		in |= windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_EXTENDED_FLAGS | windows.ENABLE_VIRTUAL_TERMINAL_INPUT
		if err := windows.SetConsoleMode(windows.Handle(t.in.Fd()), in); err != nil {
			return nil, err
		}
	}
	return t.getModes()
}

func setVT(f *os.File, mode uint32) error {
	mode |= windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	h := windows.Handle(f.Fd())
	if err := windows.SetConsoleMode(h, mode|windows.DISABLE_NEWLINE_AUTO_RETURN); err == nil {
		return nil
	}
	return windows.SetConsoleMode(h, mode)
}

func (t *Terminal) dropInput() {
	if t.in != nil {
		windows.FlushConsoleInputBuffer(windows.Handle(t.in.Fd()))
	}
}

func (t *Terminal) path() string { return "CONOUT$" }

func restore(m Modes) error {
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	in := openKeys()
	if in != nil {
		defer in.Close()
	}
	now, err := getModes(in, out)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, leaveSequence)
	inNow, outNow, _ := decodeModes(now)
	inSet, outSet, err2 := decodeModes(m.Set)
	if err2 == nil && outNow == outSet && (inNow == inSet || inSet == noMode || in == nil) {
		if in != nil {
			windows.FlushConsoleInputBuffer(windows.Handle(in.Fd()))
		}
		err2 = putModes(in, out, m.Saved)
	}
	return errors.Join(err, err2)
}

func writeSoon(f *os.File, b []byte, _ time.Duration) error {
	_, err := f.Write(b)
	return err
}

func (t *Terminal) read(ctx context.Context, chunks chan<- []byte) error {
	r := &typed
	r.once.Do(func() {
		r.chunks = make(chan []byte)
		go func() {
			r.err = readConsole(windows.Handle(t.in.Fd()), r.chunks)
			close(r.chunks)
		}()
	})
	for {
		select {
		case b, ok := <-r.chunks:
			if !ok {
				return r.err
			}
			select {
			case chunks <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readConsole reads the console itself and not through os.File, for which a
// Ctrl+Z would be the end of the file.
func readConsole(h windows.Handle, chunks chan<- []byte) error {
	var units [256]uint16
	var half uint16 // first half of a surrogate pair
	for {
		var n uint32
		if err := windows.ReadConsole(h, &units[0], uint32(len(units)), &n, nil); err != nil {
			return fmt.Errorf("reading the console: %w", err)
		}
		if n == 0 { // Ctrl+C or Ctrl+Break ended the read
			continue
		}
		var b []byte
		b, half = appendUTF16(nil, half, units[:n])
		if len(b) > 0 {
			chunks <- b
		}
	}
}

// appendUTF16 appends units as UTF-8; half is the first half of a pair left over
// from the call before. A half alone is dropped.
func appendUTF16(b []byte, half uint16, units []uint16) ([]byte, uint16) {
	for _, u := range units {
		switch {
		case u >= 0xd800 && u < 0xdc00:
			half = u
			continue
		case u >= 0xdc00 && u < 0xe000:
			if half != 0 {
				b = utf8.AppendRune(b, utf16.DecodeRune(rune(half), rune(u)))
			}
		default:
			b = utf8.AppendRune(b, rune(u))
		}
		half = 0
	}
	return b, half
}

// Suspend does nothing on Windows, which cannot stop a process from the
// keyboard.
func (t *Terminal) Suspend() error { return nil }

// EnableVT makes a Windows console take escape sequences, for output without a
// live screen. restore puts the mode back.
func EnableVT(f *os.File) (on bool, restore func()) {
	if !IsTerminal(f) {
		return false, func() {}
	}
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false, func() {}
	}
	want := mode | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if windows.SetConsoleMode(h, want) != nil {
		return false, func() {}
	}
	return true, func() { windows.SetConsoleMode(h, mode) }
}

// IsMintty reports whether f is the pipe of a terminal of MSYS2 or Cygwin, such
// as the window of Git Bash, which is no console for other programs.
func IsMintty(f *os.File) bool {
	h := windows.Handle(f.Fd())
	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_PIPE {
		return false
	}
	var info struct { // FILE_NAME_INFO
		bytes uint32
		name  [windows.MAX_PATH]uint16
	}
	if windows.GetFileInformationByHandleEx(h, windows.FileNameInfo, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))) != nil {
		return false
	}
	return isMinttyPipe(windows.UTF16ToString(info.name[:min(int(info.bytes/2), len(info.name))]))
}
