package driver

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const maxBackOff = 30 * time.Second // between tries to open a GPU that could not be opened

// device is one GPU of the driver. Its fields belong to the goroutine that
// reads it, but for the sink and for closing.
type device struct {
	src    *Source
	tracer *tracer
	lib    *nvml.Library
	index  int                          // by which the source knows it
	sink   atomic.Pointer[monitor.Sink] // of the refresh in progress

	mu      sync.Mutex             // held during a refresh
	closing atomic.Pointer[func()] // set: give everything back, then call this

	id      monitor.Identity // kept while the GPU is lost
	retryAt time.Time        // when to try to open it again
	backOff time.Duration    // 0 while all is well
	handle  handle
}

// handle is what a device keeps for as long as its handle is good.
type handle struct {
	open      bool
	announced bool // it was said that the GPU answers
	dev       nvml.Device
	session   *nvml.Session

	identifyAt time.Time // when to ask again for what is not known of its identity
	due        []time.Time
	stopped    []bool   // by query: refused for good
	phase      int      // how many queries were put off into later refreshes
	suspects   []string // the functions that said the GPU is lost since the last answer
	suspicion  error    // what the last of them said

	gpm      gpmState
	pcie     pcieState
	nvlink   nvlinkState
	procs    procState
	mig      migState
	fans     fanState
	unified  unifiedState
	memUsed  uint64    // at the last refresh
	memOK    bool      // memUsed is known
	memTotal uint64    // the last one known, 0 for none
	before   time.Time // when the refresh before this one began
}

func newDevice(s *Source, t *tracer, lib *nvml.Library, index int) *device {
	return &device{
		src: s, tracer: t, lib: lib, index: index, handle: newHandle(),
		id: monitor.Identity{Index: index, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None},
	}
}

func newHandle() handle {
	return handle{due: make([]time.Time, len(queries)), stopped: make([]bool, len(queries))}
}

// read opens the device where that was not done, and reads it.
func (d *device) read(want monitor.Want, sink monitor.Sink) {
	d.mu.Lock()
	defer d.leave()
	if d.closing.Load() != nil {
		return
	}
	d.sink.Store(&sink)
	defer d.sink.Store(nil)
	now := d.src.now()
	if !d.handle.open {
		if now.Before(d.retryAt) {
			return
		}
		if err := d.take(sink); err != nil {
			d.failed(err, sink, now)
			return
		}
	}
	h := &d.handle
	r := round{device: d, handle: h, dev: h.dev.In(h.session), sink: sink, now: now, gap: now.Sub(h.before)}
	h.before = now
	if lost := r.run(want); lost != nil {
		d.free()
		d.handle = newHandle()
		d.failed(lost, sink, now)
		return
	}
	d.backOff = 0
}

// take takes a handle: by UUID where the GPU is known, since its index may have
// changed, and another GPU may have it now.
func (d *device) take(sink monitor.Sink) (err error) {
	h := &d.handle
	if d.id.UUID.Known() {
		// Whose call this is the tracer cannot tell.
		sink.Call("nvmlDeviceGetHandleByUUID")
		h.dev, err = d.lib.DeviceByUUID(d.id.UUID.Value)
		sink.Call("")
		if err == nil && h.dev.Index() >= 0 {
			d.id.Index = h.dev.Index()
		}
	} else {
		d.tracer.owners.Store(d.index, d)
		h.dev, err = d.lib.Device(d.index)
	}
	if err != nil {
		return err
	}
	h.dev.Forget()
	d.tracer.owners.Store(h.dev.Index(), d)
	h.session = d.lib.NewSession()
	h.open = true
	return nil
}

// failed tells that the device cannot be read, and when it is tried again.
func (d *device) failed(err error, sink monitor.Sink, now time.Time) {
	why, call := failure(err)
	d.backOff = min(max(2*d.backOff, time.Second), maxBackOff)
	d.retryAt = now.Add(d.backOff - slack)
	lost := isLost(err)
	if d.id.UUID.Known() {
		switch code(err) {
		case nvml.ErrNotFound, nvml.ErrInvalidArgument, nvml.ErrUnknown:
			lost = true // it was there
		}
		if owner, ok := d.tracer.owners.Load(d.id.Index); ok && owner != d {
			d.id.Index = monitor.None // its number was taken
		}
	} else {
		none := monitor.Text{Reason: why, Err: call}
		for _, t := range d.texts() {
			if !t.Known() {
				*t = none
			}
		}
	}
	sink.Identity(d.id)
	if lost {
		sink.State(monitor.Lost, monitor.Known, code(err).Error(), call)
		return
	}
	sink.State(monitor.Unavailable, why, "cannot be opened: "+code(err).Error(), call)
}

// texts are the parts of the identity that are asked of the driver.
func (d *device) texts() [5]*monitor.Text {
	return [5]*monitor.Text{&d.id.UUID, &d.id.PCIBusID, &d.id.Name, &d.id.Architecture, &d.id.Serial}
}

// free gives back what the driver keeps for the device.
func (d *device) free() {
	d.handle.gpm.free()
	d.handle.mig.free()
}

// close gives everything back and calls done: at once, or when the refresh in
// progress ends. It does not wait.
func (d *device) close(done func()) {
	d.closing.Store(&done)
	d.tryClose()
}

func (d *device) tryClose() {
	if !d.mu.TryLock() {
		return // the refresh in progress will
	}
	defer d.mu.Unlock()
	if done := d.closing.Load(); done != nil && d.handle.due != nil {
		d.free()
		d.handle = handle{}
		(*done)()
	}
}

// leave ends a refresh.
func (d *device) leave() {
	d.mu.Unlock()
	if d.closing.Load() != nil {
		d.tryClose()
	}
}

// identify asks what the device is, as far as that is not known. What fails in
// passing is asked again later.
func (r *round) identify() {
	if r.now.Before(r.identifyAt) {
		return
	}
	r.sink.Begin(monitor.Want{})
	before := r.id
	whole := true
	ask := func(t *monitor.Text, get func() (string, error)) {
		if t.Known() || t.Reason == monitor.NotSupported {
			return
		}
		v, err := get()
		if err != nil {
			why, _ := failure(err)
			r.note(why, err)
			whole = whole && why == monitor.NotSupported
		} else {
			r.heard()
		}
		*t = text(v, err)
		whole = whole && t.Reason != monitor.Implausible
	}
	ask(&r.id.UUID, r.dev.UUID)
	ask(&r.id.PCIBusID, func() (string, error) {
		pci, err := r.dev.PciInfo()
		if err == nil && (pci.Bus > 0xFF || pci.Device > 0x1F) {
			return "", nil
		}
		return fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device), err
	})
	ask(&r.id.Name, r.dev.Name)
	ask(&r.id.Architecture, func() (string, error) {
		a, err := r.dev.Architecture()
		return architecture(a), err
	})
	if r.id.Architecture.Known() && r.id.Architecture.Value == unnamed {
		r.id.Architecture = monitor.UnknownText(monitor.NotSupported)
	}
	ask(&r.id.Serial, r.dev.Serial)
	r.id.Integrated = integrated(r.id.Name.Value)
	if whole {
		r.identifyAt = r.now.Add(once)
	} else {
		r.identifyAt = r.now.Add(slow - slack)
	}
	if !r.announced || r.id != before {
		r.sink.Identity(r.id)
	}
	// After a failure identity alone proves nothing: the library may remember it.
	if len(r.suspects) == 0 && r.backOff == 0 {
		r.announce()
	}
}

// announce says that the GPU answers.
func (r *round) announce() {
	if !r.announced {
		r.announced = true
		r.sink.State(monitor.OK, monitor.Known, "", monitor.CallError{})
	}
}

// unnamed is the name of an architecture that the driver does not know.
const unnamed = "unknown"

// architecture is the name of an architecture in lower case.
func architecture(a nvml.Architecture) string {
	switch name := strings.ToLower(a.String()); {
	case a == nvml.ArchitectureUnknown:
		return unnamed
	case strings.HasPrefix(name, "unknown"):
		return fmt.Sprintf("unknown_%d", uint32(a))
	default:
		return name
	}
}

// integrated says that a GPU of that name is part of the processor.
func integrated(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	for _, w := range words {
		switch w {
		case "thor", "gb10", "orin", "xavier", "tegra":
			return true
		}
	}
	return false
}
