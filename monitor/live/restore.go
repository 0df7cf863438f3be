package live

import (
	"os"
	"syscall"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/json"
)

// exitCode is the status of a program that sig ends; Ctrl+C is a way to quit.
func exitCode(sig os.Signal) int {
	if isInterrupt(sig) {
		return 0
	}
	if s, ok := sig.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// ExitCode is the exit status that belongs to the signal.
func (e ErrSignal) ExitCode() int { return exitCode(e.Signal) }

// Restore puts the terminal right for a live screen that was killed. It runs in
// the driver process. trace is what the screen's process wrote on its standard
// error: after a crash it goes to a file, and one line names it.
func Restore(modes, trace []byte) {
	var m ansi.Modes
	if json.Unmarshal(modes, &m) != nil {
		return
	}
	if ansi.RestoreFrom(m) != nil || len(trace) == 0 {
		return
	}
	line := "nvtop-lite: " + save(trace) + "\r\n"
	if tty, err := os.OpenFile(m.Path, os.O_WRONLY|syscall.O_NOCTTY, 0); err == nil {
		_, _ = tty.WriteString(line)
		tty.Close()
	}
}

// save writes a trace to a file and says which.
func save(trace []byte) string {
	if f, err := os.CreateTemp("", "nvtop-lite-crash-*.txt"); err == nil {
		_, err = f.Write(trace)
		if err2 := f.Close(); err == nil && err2 == nil {
			return "crashed; the trace is in " + f.Name()
		}
	}
	return "crashed; the trace could not be written"
}
