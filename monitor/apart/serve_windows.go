package apart

import (
	"os"
	"os/signal"

	"golang.org/x/sys/windows"
)

// ignoreSignals keeps the driver process alive when Ctrl+C is pressed in the
// console of the program: it ends by its pipe.
func ignoreSignals() { signal.Ignore(os.Interrupt) }

// moveStdout takes the pipe away from the standard output, on which a library
// could print, and puts standard error there.
func moveStdout() (*os.File, error) {
	out := os.Stdout
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return out, nil
}

func crashPipe() *os.File { return nil }

// endNow ends the process without a call into its libraries: at an ordinary exit
// the system tells each, and one that is stuck would hold it up.
func endNow(code int) { _ = windows.TerminateProcess(windows.CurrentProcess(), uint32(code)) }
