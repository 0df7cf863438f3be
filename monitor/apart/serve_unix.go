//go:build !windows

package apart

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ignoreSignals keeps the driver process alive when its group is signalled from
// the keyboard: it ends by its pipe.
func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGPIPE)
}

// endNow leaves it to the exit of Go, which calls no library.
func endNow(int) {}

// moveStdout takes the pipe away from file descriptor 1, on which a library
// could print, and puts standard error there.
func moveStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 10)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "snapshots"), nil
}

// crashPipe is the other end of the program's standard error, when it was
// passed on.
func crashPipe() *os.File {
	var st unix.Stat_t
	if unix.Fstat(crashFD, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	return os.NewFile(crashFD, "crash")
}
