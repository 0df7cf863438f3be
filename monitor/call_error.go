package monitor

import (
	"strings"
	"sync"
)

// CallError names the call that gave no value; its zero value names none. Equal
// ones are ==, but for those of a recording with too many of them. It is as small as
// a pointer, since every reading has one.
type CallError struct{ call *call }

type call struct {
	function, name string
	code           int32
}

// How many different ones are kept, and how many bytes of each text. Drivers have
// some hundred; a recording may hold anything.
const (
	maxCalls    = 4096
	maxCallText = 256
)

var calls = struct {
	sync.RWMutex
	kept map[call]*call
}{kept: make(map[call]*call)}

// NewCallError names a call: the C function or the file, "" when no call was made;
// the driver's name for its answer, such as NVML_ERROR_UNKNOWN, "" for our own
// deadline; and the driver's number, which means something where there is a name.
func NewCallError(function, name string, code int32) CallError {
	c := call{short(function), short(name), code}
	if c == (call{}) {
		return CallError{}
	}
	calls.RLock()
	kept := calls.kept[c]
	calls.RUnlock()
	if kept != nil {
		return CallError{kept}
	}
	calls.Lock()
	defer calls.Unlock()
	if kept = calls.kept[c]; kept == nil {
		kept = &c
		if len(calls.kept) < maxCalls {
			calls.kept[c] = kept
		}
	}
	return CallError{kept}
}

// short cuts a text, so that what is kept of it keeps nothing else.
func short(s string) string {
	if len(s) > maxCallText {
		s = strings.Clone(strings.ToValidUTF8(s[:maxCallText], ""))
	}
	return s
}

// Function returns the C function or the file, "" when no call was made.
func (e CallError) Function() string {
	if e.call == nil {
		return ""
	}
	return e.call.function
}

// Name returns the driver's name for the answer, "" for our own deadline.
func (e CallError) Name() string {
	if e.call == nil {
		return ""
	}
	return e.call.name
}

// Code returns the driver's number; it means something where there is a Name.
func (e CallError) Code() int32 {
	if e.call == nil {
		return 0
	}
	return e.call.code
}
