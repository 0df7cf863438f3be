package live

import (
	"os"
	"syscall"
)

// Closing the window, logging off and shutting down come as SIGTERM. There is
// no signal for a new size: it is asked for at every frame.
var (
	endingSignals  = []os.Signal{os.Interrupt, syscall.SIGTERM}
	watchedSignals = []os.Signal{}
)

func isInterrupt(s os.Signal) bool { return s == os.Interrupt }
func isSuspend(os.Signal) bool     { return false }
func isContinue(os.Signal) bool    { return false }
