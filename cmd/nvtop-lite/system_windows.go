package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// endingSignals end a stream.
var endingSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ignoreBrokenPipe does nothing: there is no such signal.
func ignoreBrokenPipe() {}

// openFiles is not limited.
func openFiles() uint64 { return neededFiles }

// elevated says whether the program has more rights than its caller.
func elevated() bool { return windows.GetCurrentProcessToken().IsElevated() }
