//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package ansi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const controlling = "/dev/tty"

func openKeys() *os.File {
	f, err := openTTY(controlling)
	if err != nil {
		return nil
	}
	return f
}

// openTTY opens a terminal without becoming its owner and without waiting for a
// line to come up.
func openTTY(path string) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if !IsTerminal(f) {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotTerminal}
	}
	return f, nil
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// tty is the terminal whose modes are set: that of the keys, else the output's.
func (t *Terminal) tty() int {
	if t.in != nil {
		return int(t.in.Fd())
	}
	return int(t.out.Fd())
}

func (t *Terminal) getModes() ([]byte, error) { return getTermios(t.tty()) }

func (t *Terminal) putModes(modes []byte) error { return putTermios(t.tty(), modes) }

func (t *Terminal) rawModes(saved []byte) ([]byte, error) {
	tio, err := decodeTermios(saved)
	if err != nil {
		return nil, err
	}
	// Signal keys stay alive; Ctrl+S and Ctrl+Q become keys, so that the screen
	// cannot be frozen by accident.
	tio.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	tio.Iflag &^= unix.IXON | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.PARMRK
	tio.Oflag &^= unix.OPOST
	tio.Cc[unix.VMIN], tio.Cc[unix.VTIME] = 1, 0
	// Ctrl+Z becomes a key: as a signal it would stop a shell around the program
	// before the program has given the terminal back.
	tio.Cc[unix.VSUSP] = noCharacter
	if err := putTermios(t.tty(), encodeTermios(tio)); err != nil {
		return nil, err
	}
	return getTermios(t.tty()) // as the system keeps them
}

func encodeTermios(tio *unix.Termios) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(tio)), unsafe.Sizeof(*tio))...)
}

func decodeTermios(b []byte) (*unix.Termios, error) {
	var tio unix.Termios
	if uintptr(len(b)) != unsafe.Sizeof(tio) {
		return nil, fmt.Errorf("terminal modes of %d bytes, want %d", len(b), unsafe.Sizeof(tio))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&tio)), unsafe.Sizeof(tio)), b)
	return &tio, nil
}

func getTermios(fd int) ([]byte, error) {
	var tio *unix.Termios
	err := again(func() (err error) {
		tio, err = unix.IoctlGetTermios(fd, ioctlGetTermios)
		return err
	})
	if err != nil {
		return nil, err
	}
	return encodeTermios(tio), nil
}

func putTermios(fd int, modes []byte) error {
	tio, err := decodeTermios(modes)
	if err != nil {
		return err
	}
	return again(func() error { return unix.IoctlSetTermios(fd, ioctlSetTermios, tio) })
}

func (t *Terminal) dropInput() { flushInput(t.tty()) }

// path names the terminal for another process.
func (t *Terminal) path() string {
	fd := t.tty()
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || !strings.HasPrefix(path, "/dev/") {
		return controlling
	}
	var own, named unix.Stat_t
	if unix.Fstat(fd, &own) != nil || unix.Stat(path, &named) != nil || own.Rdev != named.Rdev {
		return controlling
	}
	return path
}

func restore(m Modes) error {
	signal.Ignore(unix.SIGTTOU) // or the write would stop a process in the background
	f, err := openTTY(m.Path)
	if err != nil && m.Path != controlling {
		if g, err2 := openTTY(controlling); err2 == nil {
			f, err = g, nil
		}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	err = writeSoon(f, []byte(leaveSequence), patience)
	now, err2 := getTermios(fd)
	if err2 == nil && string(now) == string(m.Set) {
		flushInput(fd)
		err2 = putTermios(fd, m.Saved)
	}
	return errors.Join(err, err2)
}

// ready waits until a descriptor can be read or written, and tells which of two
// can: fd, or other (-1: none), which is only read. d < 0 waits for ever.
func ready(fd int, write bool, other int, d time.Duration) (first, second bool, err error) {
	if fd >= unix.FD_SETSIZE || other >= unix.FD_SETSIZE {
		return false, false, errors.New("too many open files to wait for the terminal")
	}
	deadline := time.Now().Add(d)
	for {
		var r, w unix.FdSet
		if write {
			w.Set(fd)
		} else {
			r.Set(fd)
		}
		if other >= 0 {
			r.Set(other)
		}
		var tv *unix.Timeval
		if d >= 0 {
			v := unix.NsecToTimeval(max(0, time.Until(deadline)).Nanoseconds())
			tv = &v
		}
		// select, since poll does not know terminals on every system.
		_, err := unix.Select(max(fd, other)+1, &r, &w, nil, tv)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, false, err
		}
		return r.IsSet(fd) || w.IsSet(fd), other >= 0 && r.IsSet(other), nil
	}
}

// writeSoon writes, but gives up when the terminal takes nothing for d.
func writeSoon(f *os.File, b []byte, d time.Duration) error {
	fd := int(f.Fd())
	for len(b) > 0 {
		ok, _, err := ready(fd, true, -1, d)
		if err != nil {
			return err
		}
		if !ok {
			return os.ErrDeadlineExceeded
		}
		n, err := unix.Write(fd, b)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "write", Path: f.Name(), Err: err}
		}
		b = b[n:]
	}
	return nil
}

// read passes on what is typed until ctx ends.
func (t *Terminal) read(ctx context.Context, chunks chan<- []byte) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer func() {
		if stop() {
			w.Close()
		}
	}()
	fd, wake := int(t.in.Fd()), int(r.Fd())
	for {
		ok, ended, err := ready(fd, false, wake, -1)
		if err != nil {
			return err
		}
		if ended || ctx.Err() != nil {
			return ctx.Err()
		}
		if !ok {
			continue
		}
		b := make([]byte, 512)
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return &os.PathError{Op: "read", Path: t.in.Name(), Err: err}
		case n == 0:
			return io.EOF
		}
		select {
		case chunks <- b[:n]:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Suspend gives the terminal back and stops the whole process group, as Ctrl+Z
// does, and enters again when it continues. Call it when SIGTSTP arrives.
// Afterwards invalidate the Writer, and hand on Modes again.
func (t *Terminal) Suspend() error {
	t.mu.Lock()
	mouse, entered := t.mouse, t.entered
	t.mu.Unlock()
	if err := t.Leave(); err != nil {
		return err
	}
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, unix.SIGCONT)
	defer signal.Stop(cont)
	err := stopGroup(func() {
		// The system does not stop a group that nobody could continue: then no
		// SIGCONT comes either.
		timer := time.NewTimer(500 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-cont:
		case <-timer.C:
		}
	})
	if entered {
		err = errors.Join(err, t.Enter(mouse))
	}
	if err != nil {
		return fmt.Errorf("suspending: %w", err)
	}
	return nil
}

// EnableVT makes a Windows console take escape sequences; elsewhere there is
// none, and on is false.
func EnableVT(f *os.File) (on bool, restore func()) { return false, func() {} }
