package nvml

import (
	"iter"
	"strings"
	"sync/atomic"

	"nvtop-lite/nvml/gen"
)

// Device is a GPU, or a MIG device within one. It is a small value: copies are
// the same device, and == compares. Its methods are safe for concurrent use.
//
// A Device is a handle of the driver. After a GPU was lost or reset, or a MIG
// device was destroyed, take a new one by UUID: an old handle may mean another
// device, and on Windows may crash the program.
type Device struct {
	s   *device
	ses *Session
}

// device is what all copies of a Device share.
type device struct {
	lib    *Library
	handle gen.Device_t
	index  int // of the GPU; -1 where it is not known
	isMIG  bool
	mig    int     // index of the MIG device within its GPU; -1 for a GPU or where it is not known
	parent *device // of a MIG device, where it is known

	// works remembers, for each chain of fallbacks, the member that works.
	works [numChains]atomic.Uint64
	// entries remembers how long the lists of processes were.
	entries [numListKinds]atomic.Uint32
}

// In returns the same device, bound to s: its calls use the memory of s, and so
// belong to the goroutine that uses s.
func (d Device) In(s *Session) Device {
	if d.s != nil && s != nil && s.lib != d.s.lib {
		panic("nvml: a Session of another Library")
	}
	return Device{d.s, s}
}

// Valid reports whether d is a device at all, not the zero value.
func (d Device) Valid() bool { return d.s != nil }

// Index returns the index of the GPU, for a MIG device that of its GPU, and -1
// where it is not known. It may change with the next start of the machine; the
// UUID does not.
func (d Device) Index() int {
	if d.s == nil {
		return -1
	}
	return d.s.index
}

// IsMIG reports whether d is a MIG device.
func (d Device) IsMIG() bool { return d.s != nil && d.s.isMIG }

// MIGIndex returns the index of a MIG device within its GPU; -1 for a GPU, and
// for a MIG device that was found by its UUID and not yet by its index.
func (d Device) MIGIndex() int {
	if d.s == nil {
		return -1
	}
	return d.s.mig
}

// Handle returns the handle, for use with package gen.
func (d Device) Handle() gen.Device_t {
	if d.s == nil {
		return 0
	}
	return d.s.handle
}

// Library returns the Library that d belongs to.
func (d Device) Library() *Library {
	if d.s == nil {
		return nil
	}
	return d.s.lib
}

// Forget drops what is remembered of the functions that work on d, so that the
// newest is tried again. That happens by itself a minute after a function was
// passed over because it answered "not supported" or "unknown error".
func (d Device) Forget() {
	if d.s == nil {
		return
	}
	for i := range d.s.works {
		d.s.works[i].Store(0)
	}
}

// device returns the shared part of a GPU's handle.
func (l *Library) device(h gen.Device_t, index int) *device {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.devices[h]
	if d == nil || d.isMIG || index >= 0 && d.index != index {
		d = &device{lib: l, handle: h, index: index, mig: -1}
		l.devices[h] = d
	}
	return d
}

// migDevice returns the shared part of a MIG device's handle.
func (l *Library) migDevice(h gen.Device_t, parent *device, index int) *device {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.devices[h]
	if d == nil || !d.isMIG || d.parent != parent || index >= 0 && d.mig != index {
		d = &device{lib: l, handle: h, index: -1, isMIG: true, mig: index, parent: parent}
		if parent != nil {
			d.index = parent.index
		}
		l.devices[h] = d
	}
	return d
}

// DeviceCount returns the number of GPUs, those that the caller may not open
// included.
//
// Calls nvmlDeviceGetCount_v2, then nvmlDeviceGetCount (which leaves such GPUs
// out; the handles are then those of nvmlDeviceGetHandleByIndex, which counts
// alike).
func (l *Library) DeviceCount() (int, error) {
	f, err := l.enter(nil, nil, gen.FnDeviceGetCount_v2)
	if err != nil {
		return 0, err
	}
	defer f.leave()
	r := ErrFunctionNotFound
	fn := gen.FnDeviceGetCount_v2
	if !l.oldHandles.Load() && l.Has(gen.FnDeviceGetHandleByIndex_v2) {
		var n uint32
		if n, r = sysCall(f, fn, 0, (*gen.Library).DeviceGetCount_v2, 0); r == Success {
			return int(n), nil
		}
	}
	if curable(r) && l.Has(gen.FnDeviceGetCount) && l.Has(gen.FnDeviceGetHandleByIndex) {
		fn = gen.FnDeviceGetCount
		var n uint32
		if n, r = sysCall(f, fn, 1, (*gen.Library).DeviceGetCount, 0); r == Success {
			l.oldHandles.Store(true)
			return int(n), nil
		}
	}
	return 0, f.fail(fn, r)
}

// Device returns the GPU with that index. Taking a handle initialises the GPU,
// which takes seconds where persistence mode is off.
//
// Calls nvmlDeviceGetHandleByIndex_v2, or nvmlDeviceGetHandleByIndex where the
// count was nvmlDeviceGetCount's.
func (l *Library) Device(index int) (Device, error) {
	fn, m, place := gen.FnDeviceGetHandleByIndex_v2, (*gen.Library).DeviceGetHandleByIndex_v2, 0
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return Device{}, &DeviceError{index, err}
	}
	defer f.leave()
	if l.oldHandles.Load() || !l.Has(fn) || !l.Has(gen.FnDeviceGetCount_v2) {
		fn, m, place = gen.FnDeviceGetHandleByIndex, (*gen.Library).DeviceGetHandleByIndex, 1
	}
	e := &Error{Function: fn.String(), Device: index, Return: ErrInvalidArgument}
	if index < 0 || index > 1<<30 {
		return Device{}, &DeviceError{index, e}
	}
	if !l.Has(fn) {
		e.Return = ErrFunctionNotFound
		return Device{}, &DeviceError{index, e}
	}
	d := &device{index: index, mig: -1} // whom a tracer is told about
	f.dev = d
	f.begin(fn, place)
	h := scratch[gen.Device_t](f)
	if e.Return = f.end(m(f.raw(), f.c, uint32(index), h)); e.Return != Success {
		return Device{}, &DeviceError{index, e}
	}
	if *h == 0 {
		e.Return, e.Detail = ErrImplausible, "success without a handle"
		return Device{}, &DeviceError{index, e}
	}
	return Device{s: l.device(*h, index)}, nil
}

// Devices lists the GPUs in the driver's order. One that cannot be opened is a
// gap: its error is a [*DeviceError], which knows the index, and the list goes
// on. Where even the count fails, there is that one error.
func (l *Library) Devices() iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		n, err := l.DeviceCount()
		if err != nil {
			yield(Device{}, err)
			return
		}
		for i := range n {
			if !yield(l.Device(i)) {
				return
			}
		}
	}
}

// DeviceByUUID returns the GPU ("GPU-…") or the MIG device ("MIG-…") with that
// UUID. The index of a GPU is asked of the driver; the MIG index of a MIG
// device is not known.
//
// Calls nvmlDeviceGetHandleByUUID, then nvmlDeviceGetHandleByUUIDV.
func (l *Library) DeviceByUUID(uuid string) (Device, error) {
	f, err := l.enter(nil, nil, gen.FnDeviceGetHandleByUUID)
	if err != nil {
		return Device{}, err
	}
	fn, r := gen.FnDeviceGetHandleByUUID, ErrFunctionNotFound
	var handle gen.Device_t
	if f.begin(fn, 0) {
		h := scratch[gen.Device_t](f)
		r = f.end(f.raw().DeviceGetHandleByUUID(f.c, cstring(uuid), h))
		handle = *h
	}
	if (r == ErrFunctionNotFound || r == ErrDeprecated) && len(uuid) < len(gen.UUIDValue_t{}) && f.begin(gen.FnDeviceGetHandleByUUIDV, 1) {
		fn = gen.FnDeviceGetHandleByUUIDV
		id := &gen.UUID_v1_t{Version: gen.VersionUUID_v1, Type: uint32(gen.NVML_UUID_TYPE_ASCII)}
		copy(id.Value.Str()[:], uuid)
		h := scratch[gen.Device_t](f)
		r = f.end(f.raw().DeviceGetHandleByUUIDV(f.c, id, h))
		handle = *h
	}
	return l.found(f, fn, r, handle, uuid, strings.HasPrefix(uuid, "MIG-"))
}

// DeviceByPCIBusID returns the GPU at that PCI address, such as 0000:01:00.0 or
// 00000000:01:00.0. Only this GPU is initialised.
//
// Calls nvmlDeviceGetHandleByPciBusId_v2, then nvmlDeviceGetHandleByPciBusId.
func (l *Library) DeviceByPCIBusID(id string) (Device, error) {
	f, err := l.enter(nil, nil, gen.FnDeviceGetHandleByPciBusId_v2)
	if err != nil {
		return Device{}, err
	}
	fn, r := gen.FnDeviceGetHandleByPciBusId_v2, ErrFunctionNotFound
	var handle gen.Device_t
	if f.begin(fn, 0) {
		h := scratch[gen.Device_t](f)
		r = f.end(f.raw().DeviceGetHandleByPciBusId_v2(f.c, cstring(id), h))
		handle = *h
	}
	if (r == ErrFunctionNotFound || r == ErrDeprecated) && f.begin(gen.FnDeviceGetHandleByPciBusId, 1) {
		fn = gen.FnDeviceGetHandleByPciBusId
		h := scratch[gen.Device_t](f)
		r = f.end(f.raw().DeviceGetHandleByPciBusId(f.c, cstring(id), h))
		handle = *h
	}
	return l.found(f, fn, r, handle, id, false)
}

// DeviceBySerial returns the GPU on the board with that serial number. Boards
// with several GPUs have one number, and are answered with an error.
//
// Calls nvmlDeviceGetHandleBySerial.
func (l *Library) DeviceBySerial(serial string) (Device, error) {
	f, err := l.enter(nil, nil, gen.FnDeviceGetHandleBySerial)
	if err != nil {
		return Device{}, err
	}
	fn, r := gen.FnDeviceGetHandleBySerial, ErrFunctionNotFound
	var handle gen.Device_t
	if f.begin(fn, 0) {
		h := scratch[gen.Device_t](f)
		r = f.end(f.raw().DeviceGetHandleBySerial(f.c, cstring(serial), h))
		handle = *h
	}
	return l.found(f, fn, r, handle, serial, false)
}

// found makes a Device of what a search found, and gives up the frame.
func (l *Library) found(f *frame, fn gen.Function, r Return, h gen.Device_t, what string, mig bool) (Device, error) {
	defer f.leave()
	if r == Success && h == 0 {
		r = ErrImplausible
	}
	if r != Success {
		return Device{}, &Error{Function: fn.String(), Device: -1, Return: r, Detail: what}
	}
	if mig {
		var parent *device
		if f.begin(gen.FnDeviceGetDeviceHandleFromMigDeviceHandle, 0) {
			p := scratch[gen.Device_t](f)
			if f.end(f.raw().DeviceGetDeviceHandleFromMigDeviceHandle(f.c, h, p)) == Success && *p != 0 {
				ph := *p
				parent = l.device(ph, f.indexOf(ph))
			}
		}
		return Device{s: l.migDevice(h, parent, -1)}, nil
	}
	return Device{s: l.device(h, f.indexOf(h))}, nil
}

// indexOf asks the index of a handle, and returns -1 where there is no answer.
func (f *frame) indexOf(h gen.Device_t) int {
	if !f.begin(gen.FnDeviceGetIndex, 0) {
		return -1
	}
	n := scratch[uint32](f)
	if f.end(f.raw().DeviceGetIndex(f.c, h, n)) != Success {
		return -1
	}
	return int(*n)
}
