package nvml

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// Return is a result code of NVML. It is an error, so that the sentinels below
// can be used with [errors.Is], and its texts are this package's own: they need
// no loaded library. Codes that this package has no name for are kept as they
// are and printed as a number.
type Return int32

// The codes of NVML (0 to 30 and 999), and one of this package's own.
const (
	Success                  Return = 0   // not an error
	ErrUninitialized         Return = 1   // before Open, or after the last Close
	ErrInvalidArgument       Return = 2   // a bad argument, a stale handle, or an index past the end
	ErrNotSupported          Return = 3   // this device does not have it
	ErrNoPermission          Return = 4   // the caller may not
	ErrAlreadyInitialized    Return = 5   // no longer used by drivers
	ErrNotFound              Return = 6   // no such object
	ErrInsufficientSize      Return = 7   // the buffer was too small
	ErrInsufficientPower     Return = 8   // power cables are missing
	ErrDriverNotLoaded       Return = 9   // the kernel driver is not loaded
	ErrTimeout               Return = 10  // time ran out; the usual answer of an event wait
	ErrIRQIssue              Return = 11  // interrupts do not arrive
	ErrLibraryNotFound       Return = 12  // no NVML library
	ErrFunctionNotFound      Return = 13  // the loaded library does not have the function
	ErrCorruptedInfoROM      Return = 14  // the device's infoROM is damaged
	ErrGPUIsLost             Return = 15  // the GPU fell off the bus
	ErrResetRequired         Return = 16  // the GPU must be reset first
	ErrOperatingSystem       Return = 17  // refused by the operating system or a control group
	ErrLibRMVersionMismatch  Return = 18  // library and kernel module are of different versions
	ErrInUse                 Return = 19  // busy
	ErrMemory                Return = 20  // out of memory
	ErrNoData                Return = 21  // nothing to report
	ErrVgpuEccNotSupported   Return = 22  // vGPU refused because ECC is on
	ErrInsufficientResources Return = 23  // some other resource ran out
	ErrFreqNotSupported      Return = 24  // no such clock frequency
	ErrArgumentVersion       Return = 25  // the driver does not know the structure's version
	ErrDeprecated            Return = 26  // withdrawn
	ErrNotReady              Return = 27  // not yet
	ErrGPUNotFound           Return = 28  // no GPU
	ErrInvalidState          Return = 29  // not in this state
	ErrResetTypeNotSupported Return = 30  // this kind of reset is not offered
	ErrUnknown               Return = 999 // the driver gave no cause
	ErrImplausible           Return = -1  // this package's own: an answer that cannot be what it claims to be
)

// returnTexts has the names and texts of the known codes.
var returnTexts = map[Return]struct{ name, text string }{
	Success:                  {"NVML_SUCCESS", "success"},
	ErrUninitialized:         {"NVML_ERROR_UNINITIALIZED", "NVML is not initialised"},
	ErrInvalidArgument:       {"NVML_ERROR_INVALID_ARGUMENT", "invalid argument"},
	ErrNotSupported:          {"NVML_ERROR_NOT_SUPPORTED", "not supported by this device"},
	ErrNoPermission:          {"NVML_ERROR_NO_PERMISSION", "no permission"},
	ErrAlreadyInitialized:    {"NVML_ERROR_ALREADY_INITIALIZED", "already initialised"},
	ErrNotFound:              {"NVML_ERROR_NOT_FOUND", "not found"},
	ErrInsufficientSize:      {"NVML_ERROR_INSUFFICIENT_SIZE", "buffer too small"},
	ErrInsufficientPower:     {"NVML_ERROR_INSUFFICIENT_POWER", "external power cables are not attached properly"},
	ErrDriverNotLoaded:       {"NVML_ERROR_DRIVER_NOT_LOADED", "the NVIDIA driver is not loaded"},
	ErrTimeout:               {"NVML_ERROR_TIMEOUT", "timeout"},
	ErrIRQIssue:              {"NVML_ERROR_IRQ_ISSUE", "interrupts of the GPU do not arrive"},
	ErrLibraryNotFound:       {"NVML_ERROR_LIBRARY_NOT_FOUND", "NVML library not found"},
	ErrFunctionNotFound:      {"NVML_ERROR_FUNCTION_NOT_FOUND", "this driver's NVML does not have the function"},
	ErrCorruptedInfoROM:      {"NVML_ERROR_CORRUPTED_INFOROM", "the infoROM of the GPU is damaged"},
	ErrGPUIsLost:             {"NVML_ERROR_GPU_IS_LOST", "GPU is lost"},
	ErrResetRequired:         {"NVML_ERROR_RESET_REQUIRED", "the GPU needs a reset"},
	ErrOperatingSystem:       {"NVML_ERROR_OPERATING_SYSTEM", "blocked by the operating system"},
	ErrLibRMVersionMismatch:  {"NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML library and kernel module have different versions"},
	ErrInUse:                 {"NVML_ERROR_IN_USE", "the GPU is in use"},
	ErrMemory:                {"NVML_ERROR_MEMORY", "out of memory"},
	ErrNoData:                {"NVML_ERROR_NO_DATA", "no data"},
	ErrVgpuEccNotSupported:   {"NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", "vGPU is not possible while ECC is on"},
	ErrInsufficientResources: {"NVML_ERROR_INSUFFICIENT_RESOURCES", "not enough resources"},
	ErrFreqNotSupported:      {"NVML_ERROR_FREQ_NOT_SUPPORTED", "frequency not supported"},
	ErrArgumentVersion:       {"NVML_ERROR_ARGUMENT_VERSION_MISMATCH", "this driver does not know the version of the request"},
	ErrDeprecated:            {"NVML_ERROR_DEPRECATED", "withdrawn by the driver"},
	ErrNotReady:              {"NVML_ERROR_NOT_READY", "not ready"},
	ErrGPUNotFound:           {"NVML_ERROR_GPU_NOT_FOUND", "no GPU found"},
	ErrInvalidState:          {"NVML_ERROR_INVALID_STATE", "wrong state"},
	ErrResetTypeNotSupported: {"NVML_ERROR_RESET_TYPE_NOT_SUPPORTED", "this kind of reset is not supported"},
	ErrUnknown:               {"NVML_ERROR_UNKNOWN", "unknown error"},
	ErrImplausible:           {"implausible answer", "the answer makes no sense"},
}

// Error returns the text of the code: a few words in lower case.
func (r Return) Error() string {
	if t, ok := returnTexts[r]; ok {
		return t.text
	}
	return "unknown NVML return code " + strconv.Itoa(int(r))
}

// String returns NVML's name of the code, such as NVML_ERROR_NOT_SUPPORTED, or
// the number where there is none.
func (r Return) String() string {
	if t, ok := returnTexts[r]; ok {
		return t.name
	}
	return strconv.Itoa(int(r))
}

// Known reports whether the code has a name in this package.
func (r Return) Known() bool {
	_, ok := returnTexts[r]
	return ok
}

// Error is what failed calls return. errors.Is compares its Return:
//
//	if errors.Is(err, nvml.ErrNotSupported) { … }
type Error struct {
	// Function is the C function that answered, such as nvmlDeviceGetPowerUsage.
	Function string
	// Device is the index of the GPU that was asked, -1 where none was or
	// where its index is not known.
	Device int
	// Return is the code.
	Return Return
	// Detail says more in words, where there is more to say.
	Detail string
}

// Error names function, GPU, text and NVML's name for the code.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Function)
	if e.Device >= 0 {
		b.WriteString(" (GPU ")
		b.WriteString(strconv.Itoa(e.Device))
		b.WriteString(")")
	}
	b.WriteString(": ")
	b.WriteString(e.Return.Error())
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Return.Known() && e.Return > 0 {
		b.WriteString(" (")
		b.WriteString(e.Return.String())
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Return }

// DeviceError is a gap in the list of devices: the GPU exists, but no handle of
// it was to be had, for want of permission perhaps. Err is the [*Error].
type DeviceError struct {
	Index int // as nvmlDeviceGetHandleByIndex counts
	Err   error
}

// Error names the GPU.
func (e *DeviceError) Error() string {
	if err, ok := e.Err.(*Error); ok && err.Device == e.Index {
		return err.Error() // names it already
	}
	return "GPU " + strconv.Itoa(e.Index) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *DeviceError) Unwrap() error { return e.Err }

// Attempt is one library that Open tried.
type Attempt struct {
	Path string // as it was given to the loader
	File string // the file that was loaded, as far as it is known; "" for none
	// Err is why it was not used: the loader's words, which are fs.ErrNotExist
	// to errors.Is where there is no such file, or an *Error of the
	// initialisation. It is nil for the one that is used.
	Err error
}

// OpenError is what Open returns when no library could be used. errors.Is finds
// the codes that libraries answered, [ErrDriverNotLoaded] for instance, and
// [ErrLibraryNotFound] when none could be loaded at all.
type OpenError struct {
	Attempts []Attempt // in the order of the search
	Hint     string    // what may be the cause on this machine; often empty
}

// Error lists every path with its answer.
func (e *OpenError) Error() string {
	text := "no usable NVML library"
	if len(e.Attempts) > 0 {
		text += ": " + strings.Join(e.Answers(), "; ")
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Answers tells what was tried: paths and the answer that they got, such as
// "/a, /b: not found". Each answer stands once, in the order of the search.
func (e *OpenError) Answers() []string {
	var answers []string
	paths := map[string][]string{}
	for _, a := range e.Attempts {
		answer := strings.TrimPrefix(a.Err.Error(), a.Path+": ")
		if errors.Is(a.Err, fs.ErrNotExist) {
			answer = "not found"
		}
		if paths[answer] == nil {
			answers = append(answers, answer)
		}
		paths[answer] = append(paths[answer], a.Path)
	}
	for i, answer := range answers {
		answers[i] = strings.Join(paths[answer], ", ") + ": " + answer
	}
	return answers
}

// Return is the code of the last library that could be loaded and did not
// initialise, or ErrLibraryNotFound where none could be loaded.
func (e *OpenError) Return() Return {
	for i := len(e.Attempts) - 1; i >= 0; i-- {
		if err, ok := e.Attempts[i].Err.(*Error); ok {
			return err.Return
		}
	}
	return ErrLibraryNotFound
}

// Unwrap returns the errors of the libraries that were loaded, the last one
// first, or ErrLibraryNotFound where none was.
func (e *OpenError) Unwrap() []error {
	var list []error
	for i := len(e.Attempts) - 1; i >= 0; i-- {
		if err, ok := e.Attempts[i].Err.(*Error); ok {
			list = append(list, err)
		}
	}
	if list == nil {
		list = append(list, ErrLibraryNotFound)
	}
	return list
}
