// Package driver reads GPUs through NVML. It decides how often each thing is
// asked, what is never asked again, and what an error means for a reading.
package driver

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

// Options are what a Source needs.
type Options struct {
	Library string  // this NVML library and no other; "" searches
	Root    string  // where the driver's traces are looked for; "" is /
	Watch   Watcher // hears of every call; nil for none
	Wake    bool    // do not spare sleeping GPUs
	// Renew finds a handle again after an error: on Windows one from before a
	// restart of the GPU can crash the process (LibreHardwareMonitor issues 2523,
	// 2249, 1325 and 2378).
	Renew bool
	// Unloadable is why this process can load no library; nil where it can.
	Unloadable *monitor.OpenError
}

// Source is the monitor.Source of NVML.
type Source struct {
	opts  Options
	now   func() time.Time
	start time.Time

	mu      sync.Mutex
	turned  *sync.Cond // opening ended
	opening bool       // NVML is being initialised
	closed  bool       // not to be used, until Open
	session *session   // nil while NVML is not initialised
	before  *session   // the one that ended last
	failure error      // why NVML is not initialised; nil where it is
	drv     monitor.Driver

	devices []*device // all that were ever seen; the list is never altered
	keys    int       // how many keys were given to devices
	reads   int64     // refreshes so far
	listed  bool      // count and names are those of this session
	count   int       // GPUs of the driver
	names   []string  // addresses of the GPUs that the driver has, where that is known

	sleepers  map[string]bool // addresses of the GPUs that could sleep; nil for none
	powerAt   time.Time       // when to look at that again
	resting   bool            // NVML is not initialised, so that GPUs can sleep
	restedAt  time.Time       // since when; zero: from the start
	restFrom  time.Time       // not before
	restPause time.Duration   // the last one after which none had fallen asleep

	xids xidBook
	turn chan struct{} // held by the one that waits for events
	// mayWatch says that events may be waited for, which keeps GPUs awake: not
	// while one of them could sleep.
	mayWatch atomic.Bool
}

// New returns a Source that is not open yet.
func New(o Options) *Source {
	s := &Source{opts: o, now: time.Now, start: time.Now(), turn: make(chan struct{}, 1), closed: true}
	s.turned = sync.NewCond(&s.mu)
	s.mayWatch.Store(true)
	return s
}

// steady is a moment on the clock of Reading.At.
func (s *Source) steady(t time.Time) int64 { return s.start.UnixNano() + int64(t.Sub(s.start)) }

// Name is nvml.
func (s *Source) Name() string { return "nvml" }

// LocalPIDs says that PIDs are those of this machine, unless another root is
// read.
func (s *Source) LocalPIDs() bool { return host.Root(s.opts.Root).Here() }

// Driver describes the driver.
func (s *Source) Driver() monitor.Driver {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drv
}

// notLoaded says that there is no kernel driver.
func notLoaded() *monitor.OpenError {
	return &monitor.OpenError{
		Cause: monitor.CauseNoDriver,
		What:  "the NVIDIA kernel driver is not loaded",
		Hint:  monitor.HintNotLoaded,
	}
}

// noDriver says which of two things is missing: the library too, or the kernel
// driver alone, which may still come.
func (s *Source) noDriver() error {
	tried, err := nvml.Loadable("")
	if err != nil {
		return s.openError(err)
	}
	s.tell(nil, tried)
	return notLoaded()
}

// Loading is the library that is being loaded, "" where none is: loading one may
// never return.
func Loading() string { return oneLine(nvml.Loading()) }

// tell tells the one who watches what libraries were tried.
func (s *Source) tell(lib *nvml.Library, tried []nvml.Attempt) {
	if s.opts.Watch != nil {
		s.opts.Watch.Opened(lib, tried)
	}
}

// openError says in two lines what an error of nvml.Open means.
func (s *Source) openError(err error) error {
	var open *nvml.OpenError
	if !errors.As(err, &open) {
		return &monitor.OpenError{What: "NVML cannot be opened: " + oneLine(err.Error()), Hint: monitor.HintDriver}
	}
	s.tell(nil, open.Attempts)
	code := open.Return()
	o := &monitor.OpenError{Code: name(code)}
	var answered *nvml.Error
	if !errors.As(err, &answered) || code == nvml.ErrFunctionNotFound { // the latter: no NVML, since it has no nvmlInit
		return s.noLibrary(open, o)
	}
	switch code {
	case nvml.ErrDriverNotLoaded:
		o = notLoaded()
		o.Code = name(code)
	case nvml.ErrLibRMVersionMismatch:
		return s.mismatch(o)
	case nvml.ErrNoPermission, nvml.ErrOperatingSystem:
		o.Cause, o.What = monitor.CauseNoPermission, "the driver may not be used"
		o.Hint = monitor.HintNoPermission
	case nvml.ErrGPUNotFound:
		o.Cause, o.What = monitor.CauseNoGPU, "the driver has no GPU"
		o.Hint = monitor.HintNoGPU
	default:
		if code == nvml.ErrUnknown && host.Container(s.opts.Root) {
			return s.cutOff(o)
		}
		o.What, o.Hint = "NVML cannot be initialised: "+code.Error(), monitor.HintDriver
		if s.opts.Library != "" {
			o.What = "NVML (" + oneLine(open.Attempts[0].Path) + ") cannot be initialised: " + code.Error()
		} else {
			o.Tried = tried(open)
		}
	}
	return o
}

// mismatch completes o where library and kernel module differ.
func (s *Source) mismatch(o *monitor.OpenError) *monitor.OpenError {
	o.Cause, o.What = monitor.CauseVersionMismatch, "the NVML library and the kernel module are of different versions"
	if v, err := host.KernelModuleVersion(s.opts.Root); err == nil {
		o.What += " (the kernel module is " + v + ")"
	}
	o.Hint = monitor.HintMismatch
	return o
}

// cutOff completes o where in a container nothing but the unknown error comes.
func (s *Source) cutOff(o *monitor.OpenError) *monitor.OpenError {
	o.What = "this container has lost its GPUs, as after systemctl daemon-reload on the host; only restarting the container helps"
	o.Hint = "restart the container; see the notes on this of the NVIDIA Container Toolkit for how to avoid it"
	return o
}

// noLibrary completes o where no NVML could be loaded. That it was not found,
// which is NVML's word for that, is left out where a file is there.
func (s *Source) noLibrary(open *nvml.OpenError, o *monitor.OpenError) *monitor.OpenError {
	there := slices.ContainsFunc(open.Attempts, func(a nvml.Attempt) bool { return !errors.Is(a.Err, fs.ErrNotExist) })
	if there && open.Return() == nvml.ErrLibraryNotFound {
		o.Code = ""
	}
	o.Cause = monitor.CauseNoLibrary
	if s.opts.Library != "" {
		path := oneLine(open.Attempts[0].Path)
		switch {
		case !there:
			o.What = "no NVML library at " + path
		case o.Code != "":
			o.What = "no NVML library: " + path + " has no nvmlInit"
		default:
			o.What = "no NVML library: " + tried(open)[0]
		}
		o.Hint = "give --nvml the path of the driver's " + monitor.LibraryName + ", or leave it out to search"
		return o
	}
	o.What = "no NVIDIA driver library found"
	if there {
		o.What = "no NVIDIA driver library can be loaded"
	}
	o.Hint = monitor.HintNoLibrary
	if open.Hint != "" {
		o.Hint = open.Hint
	}
	o.Tried = tried(open)
	return o
}

// tried lists what was tried with its answers, a line each.
func tried(open *nvml.OpenError) []string {
	lines := open.Answers()
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return lines
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func describe(lib *nvml.Library) monitor.Driver {
	d := monitor.Driver{Library: monitor.OfText(lib.Path())}
	d.Version = text(lib.DriverVersion())
	d.NVMLVersion = text(lib.NVMLVersion())
	major, minor, err := lib.CudaDriverVersion()
	d.CUDAVersion = text(strconv.Itoa(major)+"."+strconv.Itoa(minor), err)
	if err == nil && (major < 1 || major > 999) {
		d.CUDAVersion = monitor.UnknownText(monitor.Implausible)
	}
	return d
}

// Read reads one device.
func (s *Source) Read(m monitor.Device, want monitor.Want, sink monitor.Sink) {
	if d := s.device(m.Key); d != nil {
		d.read(want, sink)
	}
}

// device returns the device with a key, nil where there is none.
func (s *Source) device(key string) *device {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		if d.key == key {
			return d
		}
	}
	return nil
}
