package ansi

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ioctlGetTermios = unix.TCGETS
	ioctlSetTermios = unix.TCSETS
)

func flushInput(fd int) { unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// noCharacter switches a control character off (_POSIX_VDISABLE).
const noCharacter = 0

// stopGroup stops all processes of the group by the signal that Ctrl+Z sends,
// and returns when wait does, which is when they continue. The runtime keeps its
// own handler for SIGTSTP once it was asked for, even after signal.Reset, so that
// the signal would be swallowed: the system's action is put in its place
// meanwhile.
func stopGroup(wait func()) error {
	var stop, own [128]byte // of struct sigaction; zero is the default action
	if err := sigaction(unix.SIGTSTP, &stop, &own); err != nil {
		return err
	}
	err := unix.Kill(0, unix.SIGTSTP)
	if err == nil {
		wait() // any thread may take the signal, and not at once
	}
	return errors.Join(err, sigaction(unix.SIGTSTP, &own, nil))
}

func sigaction(sig unix.Signal, set, old *[128]byte) error {
	const setSize = 8 // of the kernel's signal mask
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), setSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ownTTY is a descriptor that does not block.
type ownTTY int

func openOwn(f *os.File) nonblocking {
	path := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(path, unix.O_WRONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil
	}
	return ownTTY(fd)
}

func (fd ownTTY) write(b []byte) (n int, err error) {
	err = again(func() (err error) {
		n, err = unix.Write(int(fd), b)
		return err
	})
	if err == unix.EAGAIN {
		return 0, nil
	}
	if err != nil {
		return 0, &os.PathError{Op: "write", Path: "terminal", Err: err}
	}
	return n, nil
}

func (fd ownTTY) wait(d time.Duration) error {
	_, _, err := ready(int(fd), true, -1, d)
	return err
}

func (fd ownTTY) discard() { unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCOFLUSH) }

func (fd ownTTY) close() { unix.Close(int(fd)) }
