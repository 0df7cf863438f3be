package process

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

var signals = []Signal{{"terminate", 1, "ends it at once; it saves nothing", true}}

type system struct {
	self uint32 // its children are spared
}

func newSystem(*host.Reader) system { return system{self: uint32(os.Getpid())} }

func (s *system) identify(t *Target) error {
	h, err := s.hold(*t)
	if err == nil {
		windows.CloseHandle(h)
	}
	return err
}

// hold opens a process that may be ended, or says why it may not. While the
// handle is open no other process gets its PID.
func (s *system) hold(t Target) (windows.Handle, error) {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, t.PID)
	switch {
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER):
		return 0, errEnded(t.PID)
	case errors.Is(err, fs.ErrPermission):
		return 0, errForbidden(t)
	case err != nil:
		return 0, monitor.Errorf("process %d: OpenProcess: %w", t.PID, err)
	}
	if err := s.judge(h, t); err != nil {
		windows.CloseHandle(h)
		return 0, err
	}
	return h, nil
}

func (s *system) judge(h windows.Handle, t Target) error {
	now, err := times(h)
	switch {
	case err != nil:
		return monitor.Errorf("process %d cannot be looked at: %w", t.PID, err)
	case now.start != t.StartTicks:
		return errReused(t.PID)
	case !running(h):
		return errEnded(t.PID)
	}
	var about windows.PROCESS_BASIC_INFORMATION
	if err := query(h, windows.ProcessBasicInformation, unsafe.Pointer(&about), unsafe.Sizeof(about)); err != nil {
		return monitor.Errorf("process %d cannot be looked at: %w", t.PID, err)
	}
	if about.InheritedFromUniqueProcessId == uintptr(s.self) {
		return errChild(t.PID)
	}
	var critical uint32
	if query(h, windows.ProcessBreakOnTermination, unsafe.Pointer(&critical), unsafe.Sizeof(critical)) == nil && critical != 0 {
		return monitor.Errorf("process %d is never ended: Windows would stop with it", t.PID)
	}
	return nil
}

func query(h windows.Handle, what int32, into unsafe.Pointer, size uintptr) error {
	return windows.NtQueryInformationProcess(h, what, into, uint32(size), nil)
}

// running reports whether a process has not ended: an open handle keeps it
// visible after its end.
func running(h windows.Handle) bool {
	const stillActive = 259
	var code uint32
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}

func (s *system) send(t Target, sig Signal) error {
	h, err := s.hold(t)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	switch err := windows.TerminateProcess(h, uint32(sig.Number)); {
	case err == nil:
		return nil
	case !running(h):
		return errEnded(t.PID)
	case errors.Is(err, fs.ErrPermission):
		return errForbidden(t)
	default:
		return monitor.Errorf("process %d: TerminateProcess: %w", t.PID, err)
	}
}

// alive cannot tell whether a process is stuck.
func (s *system) alive(t Target) (alive, stuck bool) {
	h, err := open(t.PID)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist), false
	}
	defer windows.CloseHandle(h)
	now, err := times(h)
	return err != nil || now.start == t.StartTicks && running(h), false
}
