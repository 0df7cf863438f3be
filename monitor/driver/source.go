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
	Library string // this NVML library and no other; "" searches
	Root    string // where the driver's traces are looked for; "" is /
}

// Source is the monitor.Source of NVML.
type Source struct {
	opts  Options
	now   func() time.Time
	start time.Time

	mu      sync.Mutex
	lib     *nvml.Library
	tracer  *tracer
	drv     monitor.Driver
	devices []*device // by index
}

// New returns a Source that is not open yet.
func New(o Options) *Source { return &Source{opts: o, now: time.Now, start: time.Now()} }

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

// Open loads and initialises the library. Without a library of the caller's own
// choice it first looks for a driver, since initialising NVML as root creates
// device nodes.
func (s *Source) Open() error {
	if s.opts.Library == "" {
		if found, _ := host.DriverInSight(s.opts.Root); !found {
			return s.noDriver()
		}
	}
	t := &tracer{}
	lib, err := nvml.Open(nvml.Options{Path: s.opts.Library, Trace: t})
	if err != nil {
		return s.openError(err)
	}
	drv := describe(lib)
	s.mu.Lock()
	s.lib, s.tracer, s.drv, s.devices = lib, t, drv, nil
	s.mu.Unlock()
	return nil
}

// notLoaded says that there is no kernel driver.
func notLoaded() *monitor.OpenError {
	return &monitor.OpenError{
		Cause: monitor.CauseNoDriver,
		What:  "the NVIDIA kernel driver is not loaded",
		Hint:  "load it (modprobe nvidia), or reboot after installing it; dmesg says why it does not load",
	}
}

// noDriver says which of two things is missing: the library too, or the kernel
// driver alone, which may still come.
func (s *Source) noDriver() error {
	if err := nvml.Loadable(""); err != nil {
		return s.openError(err)
	}
	return notLoaded()
}

// openError says in two lines what an error of nvml.Open means.
func (s *Source) openError(err error) error {
	var open *nvml.OpenError
	if !errors.As(err, &open) {
		return &monitor.OpenError{What: "NVML cannot be opened: " + oneLine(err.Error()), Hint: askDriver}
	}
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
		o.Cause, o.What = monitor.CauseVersionMismatch, "the NVML library and the kernel module are of different versions"
		if v, err := host.KernelModuleVersion(s.opts.Root); err == nil {
			o.What += " (the kernel module is " + v + ")"
		}
		o.Hint = "reboot, or unload and load the nvidia kernel modules, so that the new driver is used"
	case nvml.ErrNoPermission, nvml.ErrOperatingSystem:
		o.Cause, o.What = monitor.CauseNoPermission, "the driver may not be used"
		o.Hint = "see who may open /dev/nvidiactl and /dev/nvidia0, and whether a container or a cgroup forbids it"
	case nvml.ErrGPUNotFound:
		o.Cause, o.What = monitor.CauseNoGPU, "the driver has no GPU"
		o.Hint = "check that the GPU is plugged in and bound to the nvidia driver (lspci -k)"
	default:
		o.What, o.Hint = "NVML cannot be initialised: "+code.Error(), askDriver
		if s.opts.Library != "" {
			o.What = "NVML (" + oneLine(open.Attempts[0].Path) + ") cannot be initialised: " + code.Error()
		} else {
			o.Tried = tried(open)
		}
	}
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
		o.Hint = "give --nvml the path of the driver's libnvidia-ml.so.1 (nvml.dll on Windows), or leave it out to search"
		return o
	}
	o.What = "no NVIDIA driver library found"
	if there {
		o.What = "no NVIDIA driver library can be loaded"
	}
	o.Hint = "is the NVIDIA driver installed? in a container: is it passed through (--gpus all)? --nvml PATH names a library elsewhere"
	if open.Hint != "" {
		o.Hint = open.Hint
	}
	o.Tried = tried(open)
	return o
}

// askDriver is the hint where nothing better is known.
const askDriver = "see whether nvidia-smi works, and what dmesg says of the driver"

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

// Devices lists the GPUs without taking a handle of any.
func (s *Source) Devices() ([]monitor.Device, error) {
	s.mu.Lock()
	lib, t := s.lib, s.tracer
	s.mu.Unlock()
	if lib == nil {
		return nil, &monitor.OpenError{What: "NVML is not open"}
	}
	n, err := lib.DeviceCount()
	if err != nil {
		return nil, &monitor.OpenError{What: "the GPUs cannot be counted: " + code(err).Error(), Code: name(code(err)), Hint: askDriver}
	}
	list := make([]monitor.Device, n)
	devices := make([]*device, n)
	for i := range list {
		list[i] = monitor.Device{Key: strconv.Itoa(i), Index: i}
		devices[i] = newDevice(s, t, lib, i)
	}
	s.mu.Lock()
	before := s.devices
	s.devices = devices
	s.mu.Unlock()
	for _, d := range before {
		d.close(func() {})
	}
	return list, nil
}

// device returns the device with an index, nil where there is none.
func (s *Source) device(index int) *device {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index < 0 || index >= len(s.devices) {
		return nil
	}
	return s.devices[index]
}

// Read reads one device.
func (s *Source) Read(m monitor.Device, want monitor.Want, sink monitor.Sink) {
	if d := s.device(m.Index); d != nil {
		d.read(want, sink)
	}
}

// Close gives NVML back, at once or when the refreshes in progress end: GPM
// samples must be freed first.
func (s *Source) Close() {
	s.mu.Lock()
	lib, devices := s.lib, s.devices
	s.lib, s.devices = nil, nil
	s.mu.Unlock()
	if lib == nil {
		return
	}
	var left atomic.Int64
	left.Store(int64(len(devices)) + 1)
	done := func() {
		if left.Add(-1) == 0 {
			_ = lib.Close()
		}
	}
	for _, d := range devices {
		d.close(done)
	}
	done()
}
