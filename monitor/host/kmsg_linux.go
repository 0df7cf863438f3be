package host

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// readLog reads the next record of the kernel's log, or a piece of a file. Where
// there is none it calls lull and waits, without a thread, until there is one; 0
// says that it cannot be waited for.
func readLog(f *os.File, buf []byte, lull func()) (n int, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	waited := c.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), buf)
			switch err {
			case unix.EINTR:
				continue
			case unix.EAGAIN:
				lull()
				return false
			}
			return true
		}
	})
	switch {
	case err == unix.EAGAIN && !errors.Is(waited, os.ErrClosed):
		return 0, nil
	case waited != nil:
		return 0, waited
	}
	return max(n, 0), err
}

// uptime is the clock of the kernel's log in ns: it stands still while the machine
// sleeps.
func uptime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}
