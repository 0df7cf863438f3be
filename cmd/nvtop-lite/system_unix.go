//go:build !windows

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/twomode"
)

// endingSignals end a stream.
var endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// ignoreBrokenPipe makes writing to a closed pipe an error of that write.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// moreFiles is how many more files may be opened, neededFiles at most. The Go
// runtime has raised the limit as far as it may, and whoever started the program
// may have left it files that are open.
func moreFiles() int {
	var fds []int
	for len(fds) < neededFiles {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err == unix.EMFILE {
			break
		} else if err != nil {
			return neededFiles // what is not known stops nobody
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return len(fds)
}

// elevated says whether the program has more rights than its caller.
func elevated() bool { return twomode.Secure() }

// noTerminal says why standard output shows no live screen, and what does.
func noTerminal() (why, hint string) {
	return "standard output is no terminal", "for the live screen: ssh -t, docker run -it, kubectl exec -it, srun --pty"
}

// closedPipe reports whether nobody reads any more what was to be written.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }
