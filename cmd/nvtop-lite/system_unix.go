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

// elevated says whether the program has more rights than its caller.
func elevated() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }
