//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package ansi

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	ioctlGetTermios = unix.TIOCGETA
	ioctlSetTermios = unix.TIOCSETA

	readQueue = 1 // FREAD of sys/fcntl.h
)

func flushInput(fd int) { unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, readQueue) }

// noCharacter switches a control character off (_POSIX_VDISABLE).
const noCharacter = 0xff

// stopGroup stops all processes of the group and returns when wait does, which
// is when they continue. Not by SIGTSTP, for which the runtime keeps a handler
// once it was asked for, even after signal.Reset.
func stopGroup(wait func()) error {
	if err := unix.Kill(0, unix.SIGSTOP); err != nil {
		return err
	}
	wait()
	return nil
}

// openOwn finds none: here /dev/fd does not open a terminal anew.
func openOwn(*os.File) nonblocking { return nil }
