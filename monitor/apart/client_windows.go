package apart

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// again is how this program is started again.
func again() (program string, argv []string) {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return program, []string{name}
}

// place says where the driver process lives. That of a live screen shares the
// console, since it puts that right when this program is killed. Others keep off
// it: closing the window must not end them before this program has what they read.
func place(attr *os.ProcAttr, setup Setup) {
	if setup.Complete {
		attr.Sys = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
	}
}

// ourJob is the job whose processes end with this program, whatever they do. Its
// handle is never closed here: the system does that at the end, also of a program
// that is killed.
var ourJob = sync.OnceValues(func() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return job, err
})

// bind ends the driver process with this program, even one that no longer reads
// its pipe. That of a live screen still has the console to put right then, and
// ends by its pipe. A program that runs in a job itself nests this one in it.
func bind(child *os.Process, setup Setup) {
	if !setup.Complete {
		return
	}
	job, err := ourJob()
	if err != nil {
		return // the pipe is left
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(child.Pid))
	if err != nil {
		return // it has ended
	}
	_ = windows.AssignProcessToJobObject(job, h)
	_ = windows.CloseHandle(h)
}

// startLoaded is for Linux: twomode.Static is false here.
func startLoaded(*os.ProcAttr) (*os.Process, error) { panic("no file of two modes") }

// arrive does nothing: no loader stands between the system and this program.
func arrive() {}
