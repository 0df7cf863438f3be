package apart

import (
	"os"
	"syscall"
)

// programFile is this program, whatever became of the file it was started from.
func programFile() string { return "/proc/self/exe" }

// place lets a driver process that was stopped see the end of its pipe
// when this program is killed.
func place(attr *os.ProcAttr, _ Setup) { attr.Sys = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT} }

// bind does nothing: the driver process ends by its pipe.
func bind(*os.Process, Setup) {}
