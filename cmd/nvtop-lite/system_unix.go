//go:build !windows

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"nvtop-lite/internal/twomode"
)

// endingSignals end a stream.
var endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// ignoreBrokenPipe makes writing to a closed pipe an error of that write.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// openFiles is how many files may be open at once. The Go runtime has raised the
// limit as far as it may.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return neededFiles // what is not known stops nobody
	}
	return uint64(l.Cur)
}

// elevated says whether the program has more rights than its caller.
func elevated() bool { return twomode.Secure() }

// noTerminal says why standard output shows no live screen, and what does.
func noTerminal() (why, hint string) {
	return "standard output is no terminal", "for the live screen: ssh -t, docker run -it, kubectl exec -it, srun --pty"
}

// closedPipe reports whether nobody reads any more what was to be written.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }
