package apart

import (
	"os"
	"syscall"
)

// programFile is this program, whatever became of the file it was started from.
func programFile() string { return "/proc/self/exe" }

// wakeAtOurEnd lets a driver process that was stopped see the end of its pipe
// when this program is killed.
func wakeAtOurEnd(attr *os.ProcAttr) { attr.Sys = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT} }
