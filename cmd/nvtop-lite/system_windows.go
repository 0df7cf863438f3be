package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"nvtop-lite/internal/ansi"
)

// endingSignals end a stream.
var endingSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ignoreBrokenPipe does nothing: there is no such signal.
func ignoreBrokenPipe() {}

// moreFiles are not limited.
func moreFiles() int { return neededFiles }

// elevated says whether the program has more rights than its caller.
func elevated() bool { return windows.GetCurrentProcessToken().IsElevated() }

// noTerminal says why standard output shows no live screen, and what does.
func noTerminal() (why, hint string) {
	if ansi.IsMintty(os.Stdout) {
		return "this window (mintty) is a pipe and no console", "for the live screen use Windows Terminal, or here: winpty nvtop-lite"
	}
	return "standard output is no terminal", "for the live screen: start it in Windows Terminal, by ssh with -t"
}

// closedPipe reports whether nobody reads any more what was to be written.
func closedPipe(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, os.ErrClosed)
}
