//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package record

import (
	"os"
	"syscall"
)

const appendFlag = os.O_APPEND

// lock keeps other writers off the file until it is closed. File systems that
// know no locks are written to without.
func lock(file *os.File) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errLocked
		default:
			return nil
		}
	}
}
