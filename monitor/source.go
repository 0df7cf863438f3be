package monitor

import (
	"fmt"
	"time"
)

// Source is what knows GPUs: a driver's library, a tree of files, a
// simulation. Open and Devices are called from one goroutine, Read for one
// device from one goroutine at a time; different devices are read at the same
// time. Every method but Name and LocalPIDs may block for ever, but a device
// that blocks must not block Devices or another device.
type Source interface {
	// Name is the word used in GPU.Sources.
	Name() string
	// Open makes the source ready, or opens it anew. Its error is an *OpenError;
	// CauseChanged asks for another Open at once.
	Open() error
	// Driver describes the driver once Open has succeeded.
	Driver() Driver
	// Devices lists the devices without opening any of them: those that are lost
	// too, in the driver's order. It may be called again and again and disturbs
	// nobody; its error says that the source must be opened anew.
	Devices() ([]Device, error)
	// Read opens the device where that was not done, and reads what is wanted
	// of it, one call a reading or group, each handed to sink as it comes.
	Read(d Device, want Want, sink Sink)
	// LocalPIDs says whether its PIDs are those of this machine.
	LocalPIDs() bool
	// Close releases what Open took. It does not wait for calls in progress.
	Close()
}

// Device is a device before it was opened.
type Device struct {
	Key   string // names the device within its source for as long as the program runs
	Index int    // the driver's, None when it has none
}

// Sink takes what Read finds out. Its methods may be called from one goroutine
// at a time.
type Sink interface {
	// Begin says for which readings and groups the calls that follow are, so
	// that a call that hangs costs those and no others.
	Begin(w Want)
	// Call names the call now in progress, "" when it has returned.
	Call(function string)
	// Identity tells what the device is, as far as is known by now.
	Identity(id Identity)
	// Sources tells what the readings come from, where that is not the Source's
	// Name alone.
	Sources(names ...string)
	// State tells the state of the device: OK, Lost, Sleeping, Unavailable.
	// blocked is why nothing can be measured of an Unavailable one, why says it
	// in words.
	State(s State, blocked Reason, why string, err CallError)
	Reading(id ReadingID, r Reading)
	// Adapter tells what Windows counts, nil where it does not count.
	Adapter(a *Adapter)
	Fans(fans []Fan, st Status)
	// XIDs alone may be called from other goroutines, and after Read has
	// returned, so that an error is told while a call hangs because of it.
	XIDs(xids []XID, st Status)
	MIG(instances []GPU, st Status)
	Processes(list []Process, st Status)
}

// Cause is why a source cannot be opened.
type Cause uint8

// The causes.
const (
	CauseOther           Cause = iota
	CauseNoLibrary             // no library could be loaded
	CauseNoLoader              // the process can load no library, whether there is one or not
	CauseNoDriver              // no driver is in sight, or it is not loaded
	CauseVersionMismatch       // library and kernel module differ
	CauseNoGPU                 // the driver has no GPU
	CauseNoSuchGPU             // what was asked for is not there
	CauseNoPermission
	CauseTimeout // no answer within the deadline
	CauseLoading // loading the library did not return within the deadline
	CauseChanged // the devices are not the same any more: open the source again at once
)

// HintLoading is what to do about a library whose loading does not return.
const HintLoading = "see whether that file can be read, and what it lies on: the server of a network file system may be away"

// Final reports whether waiting cannot help.
func (c Cause) Final() bool {
	return c == CauseNoLibrary || c == CauseNoLoader || c == CauseVersionMismatch || c == CauseNoSuchGPU
}

// OpenError is the error of a source that cannot be opened. It is plain
// data: it crosses the pipe.
type OpenError struct {
	Cause Cause
	What  string // what is wrong, one line
	Code  string // the driver's name for it, "" when it gave none
	Hint  string // what to do, one line
	// Tried is where a library was looked for, each line with the answer.
	Tried []string
}

func (u *OpenError) Error() string {
	if u.Code != "" {
		return fmt.Sprintf("%s: %s", u.What, u.Code)
	}
	return u.What
}

// Request is what the one who shows the snapshots wants of the one who makes
// them.
type Request struct {
	Interval time.Duration
	Want     Want
	Closely  string   // Key of a GPU or instance of which everything is wanted; "" for none
	GPUs     []string // selectors as given to -g; empty is all, if Visible is too
	Visible  []string // those of CUDA_VISIBLE_DEVICES, as VisibleDevices gives them
	Paused   bool     // do not ask the driver
}
