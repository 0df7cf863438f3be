//go:build !windows

package live

import (
	"os"
	"syscall"
)

var (
	endingSignals  = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	watchedSignals = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

func isInterrupt(s os.Signal) bool { return s == syscall.SIGINT }
func isSuspend(s os.Signal) bool   { return s == syscall.SIGTSTP }
func isContinue(s os.Signal) bool  { return s == syscall.SIGCONT }
