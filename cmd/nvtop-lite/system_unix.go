//go:build !windows

package main

import (
	"os"
	"os/signal"
	"syscall"
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
func elevated() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }
