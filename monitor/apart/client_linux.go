package apart

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// thisProgram is this program, whatever became of the file it was started from.
const thisProgram = "/proc/self/exe"

// again is how this program is started again. Where somebody started it through a
// loader by hand, that is thisProgram, and the words before the program's own are
// needed too.
func again() (program string, argv []string) {
	text, _ := os.ReadFile("/proc/self/cmdline")
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if before := len(words) - len(os.Args); before > 0 {
		return thisProgram, append([]string{name}, words[1:before+1]...)
	}
	return programFile(), []string{name}
}

// programFile is thisProgram, or without /proc what it was started as.
func programFile() string {
	if _, err := os.Stat(thisProgram); err != nil && startedAs != "" {
		return startedAs
	}
	return thisProgram
}

// atExecFn is the kernel's AT_EXECFN.
const atExecFn = 31

// startedAs is the file that this program was started from, "" where the kernel
// does not tell.
var startedAs = func() string {
	values, _ := unix.Auxv()
	for _, v := range values {
		if v[0] == atExecFn && v[1] != 0 {
			name := unix.BytePtrToString(*(**byte)(unsafe.Pointer(&v[1])))
			path, err := filepath.Abs(name) // before anybody changes the folder
			if err == nil {
				return path
			}
		}
	}
	return ""
}()

// place lets a driver process that was stopped see the end of its pipe
// when this program is killed.
func place(attr *os.ProcAttr, _ Setup) { attr.Sys = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT} }

// bind does nothing: the driver process ends by its pipe.
func bind(*os.Process, Setup) {}
