package driver

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

const maxBackOff = 30 * time.Second // between tries to open a GPU that could not be opened

// device is one GPU of the driver. Its fields belong to the goroutine that
// reads it, but for the sink, the session and what others may see.
type device struct {
	src  *Source
	key  string
	sink atomic.Pointer[monitor.Sink] // of the refresh in progress
	held atomic.Pointer[session]      // of which it has a handle, or is taking one
	seen standing                     // belongs to Source.mu

	stale   atomic.Bool // another GPU has its index: its handle may be stale
	renewal atomic.Bool // it must be found again, see doubt
	met     atomic.Uint64
	xid     xidState

	mu       sync.Mutex       // held during a refresh
	id       monitor.Identity // kept while the GPU is lost
	address  string           // on the bus, "" where it is not known
	borrowed bool             // UUID and name come from files
	newcomer bool             // it may be a GPU that is known already
	metUntil time.Time        // when what was met counts again
	sleptAt  time.Time        // when it was seen asleep last
	retryAt  time.Time        // when to try to open it again
	backOff  time.Duration    // 0 while all is well
	handle   handle
}

// handle is what a device keeps for as long as its handle is good.
type handle struct {
	announced bool // it was said that the GPU answers
	dev       nvml.Device
	session   *nvml.Session

	identifyAt time.Time // when to ask again for what is not known of its identity
	due        []time.Time
	stopped    []bool   // by query: refused for good
	phase      int      // how many queries were put off into later refreshes
	suspects   []string // the functions that said the GPU is lost since the last answer
	suspicion  error    // what the last of them said

	watched *nvml.EventSet // that tells of its Xid errors

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

func newDevice(s *Source, key string, index int) *device {
	return &device{
		src: s, key: key, handle: newHandle(),
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
	d.sink.Store(&sink)
	if want.HasGroup(monitor.GroupXIDs) {
		d.knowXIDs(sink) // also those of a GPU that is asleep or lost
		defer d.knowXIDs(sink)
	}
	now := d.src.now()
	d.stand(func(st *standing) {
		d.src.reads++
		st.reads = [3]int64{d.src.reads, st.reads[0], st.reads[1]}
		st.since, d.address = now, st.address
	})
	if !now.Before(d.metUntil) {
		d.met.Store(0)
		d.metUntil = now.Add(slow - slack)
	}
	sparing := d.src.sparing()
	if sparing {
		if d.spare(sink, now) {
			return
		}
		want = want.With(monitor.GroupProcesses) // to know whether it could sleep
	}
	x, err := d.src.use(sink)
	switch {
	case err != nil:
		d.unopened(err, sink)
		return
	case x == nil:
		return
	}
	d.stand(func(st *standing) {
		if st.asleep = false; st.tried != x { // a new session is a new chance
			st.tried, st.gone = nil, nil
			d.retryAt = time.Time{}
		}
	})
	for taken := false; ; taken = true {
		if d.stale.Swap(false) || d.held.Load() != x {
			d.drop()
			if now.Before(d.retryAt) || !x.hold() {
				return
			}
			d.held.Store(x)
			if err := d.take(x, sparing, sink); err != nil {
				d.drop()
				d.failed(x, err, sink, now)
				return
			}
			taken = true
		}
		h := &d.handle
		r := round{device: d, handle: h, dev: h.dev.In(h.session), sink: sink, now: now, gap: now.Sub(h.before)}
		h.before = now
		err := r.run(want)
		if err == nil {
			d.well(x, sparing && r.unused(), now)
			return
		}
		d.drop()
		if taken || code(err) != nvml.ErrInvalidArgument { // that is what a stale handle gives
			d.failed(x, err, sink, now)
			return
		}
	}
}

// well tells others that the device answers.
func (d *device) well(x *session, unused bool, now time.Time) {
	d.backOff, d.newcomer = 0, false
	if d.address == "" && d.id.PCIBusID.Known() {
		d.address = host.PCIAddress(d.id.PCIBusID.Value)
	}
	d.stand(func(st *standing) {
		st.uuid, st.index, st.address = d.id.UUID.Value, d.id.Index, d.address
		st.tried, st.holds, st.gone = x, x, nil
		if !unused {
			st.idleSince = time.Time{}
		} else if st.idleSince.IsZero() {
			st.idleSince = now
		}
	})
	if unused {
		d.src.rest(now)
	}
}

// take takes a handle: by UUID where the GPU is known, since its index may have
// changed, and another GPU may have it now. Where GPUs sleep it is taken by the
// address: a search would wake others.
func (d *device) take(x *session, sparing bool, sink monitor.Sink) error {
	h := &d.handle
	var dev nvml.Device
	var err error
	// Whose call a search is the tracer cannot tell.
	switch {
	case sparing && d.address != "":
		sink.Call("nvmlDeviceGetHandleByPciBusId_v2")
		dev, err = x.lib.DeviceByPCIBusID(d.address)
		sink.Call("")
		if err == nil && d.id.UUID.Known() {
			var uuid string
			if uuid, err = dev.UUID(); err == nil && uuid != d.id.UUID.Value && !d.borrowed {
				// Another card is in its place.
				d.stand(func(st *standing) { st.address, d.address = "", "" })
				err = &nvml.Error{Function: "nvmlDeviceGetHandleByPciBusId_v2", Device: -1, Return: nvml.ErrNotFound}
			}
		}
	case d.id.UUID.Known() && !d.borrowed:
		sink.Call("nvmlDeviceGetHandleByUUID")
		dev, err = x.lib.DeviceByUUID(d.id.UUID.Value)
		sink.Call("")
		if code(err) == nvml.ErrNotFound {
			d.ask(x)
		}
	default:
		x.tracer.owners.Store(d.id.Index, d)
		dev, err = x.lib.Device(d.id.Index)
	}
	if err == nil && d.newcomer {
		uuid, _ := dev.UUID()
		if other := d.src.owner(uuid, d); uuid != "" && other != nil {
			d.src.dismiss(d, other)
			return errDismissed
		}
	}
	if err != nil {
		return err
	}
	if d.borrowed {
		d.id.UUID, d.id.Name, d.borrowed = monitor.Text{}, monitor.Text{}, false
	}
	for _, t := range d.texts() {
		if t.Reason == monitor.Asleep {
			*t = monitor.Text{}
		}
	}
	if dev.Index() >= 0 {
		d.id.Index = dev.Index()
		if before, ok := x.tracer.owners.Swap(d.id.Index, d); ok && before != d {
			before.(*device).stale.Store(true)
		}
	}
	dev.Forget()
	h.dev, h.session = dev, x.lib.NewSession()
	return nil
}

// errDismissed says that the device is another one.
var errDismissed = errors.New("known already")

// ask asks who has the number of a GPU that is not found any more, unless that
// is known.
func (d *device) ask(x *session) {
	index := d.id.Index
	if owner, ok := x.tracer.owners.Load(index); ok && owner != d || index == monitor.None {
		return
	}
	dev, err := x.lib.Device(index)
	if err != nil {
		return
	}
	if uuid, err := dev.UUID(); err == nil && uuid != "" && uuid != d.id.UUID.Value {
		d.id.Index = monitor.None
		d.stand(func(st *standing) { st.index = monitor.None })
		d.src.welcome(index, uuid)
	}
}

// failed tells that the device cannot be read, and when it is tried again.
func (d *device) failed(x *session, err error, sink monitor.Sink, now time.Time) {
	if err == errDismissed {
		return
	}
	why, call := failure(err)
	d.backOff = min(max(2*d.backOff, time.Second), maxBackOff)
	d.retryAt = now.Add(d.backOff - slack)
	lost := isLost(err)
	if d.id.UUID.Known() {
		switch code(err) {
		case nvml.ErrNotFound, nvml.ErrInvalidArgument, nvml.ErrUnknown, nvml.ErrTimeout:
			lost = true // it was there
		}
		if owner, ok := x.tracer.owners.Load(d.id.Index); ok && owner != d {
			d.id.Index = monitor.None // its number was taken
		}
	}
	d.stand(func(st *standing) {
		st.index, st.tried, st.holds, st.gone, st.idleSince = d.id.Index, x, nil, nil, time.Time{}
		if isGone(err) {
			st.gone = err
		}
	})
	d.unknown(monitor.Text{Reason: why, Err: call})
	sink.Identity(d.id)
	if lost {
		sink.State(monitor.Lost, monitor.Known, code(err).Error(), call)
		return
	}
	text := "cannot be opened: "
	if isWhole(err) {
		text = "the driver does not answer: "
	}
	sink.State(monitor.Unavailable, why, text+code(err).Error(), call)
}

// unopened tells that NVML cannot be initialised.
func (d *device) unopened(err error, sink monitor.Sink) {
	d.unknown(monitor.UnknownText(monitor.DriverError))
	sink.Identity(d.id)
	sink.State(monitor.Unavailable, monitor.DriverError, err.Error(), monitor.CallError{})
}

// unknown gives what is not known of the identity its reason.
func (d *device) unknown(none monitor.Text) {
	if d.id.UUID.Known() {
		return
	}
	for _, t := range d.texts() {
		if !t.Known() {
			*t = none
		}
	}
}

// texts are the parts of the identity that are asked of the driver.
func (d *device) texts() [5]*monitor.Text {
	return [5]*monitor.Text{&d.id.UUID, &d.id.PCIBusID, &d.id.Name, &d.id.Architecture, &d.id.Serial}
}

// drop gives the handle back, and what the driver keeps for it.
func (d *device) drop() {
	x := d.held.Load()
	if x == nil {
		return
	}
	d.handle.gpm.free()
	d.handle.mig.free()
	d.handle = newHandle()
	d.held.Store(nil)
	d.stand(func(st *standing) { st.holds = nil })
	x.release()
}

// tryRelease gives back what is held of a session that is over: now, or when the
// refresh in progress ends. It does not wait.
func (d *device) tryRelease() {
	if x := d.held.Load(); x == nil || !x.isOver() || !d.mu.TryLock() {
		return // the refresh in progress will
	}
	defer d.mu.Unlock()
	if x := d.held.Load(); x != nil && x.isOver() {
		d.drop()
	}
}

// leave ends a refresh.
func (d *device) leave() {
	d.sink.Store(nil)
	d.stand(func(st *standing) { st.since = time.Time{} })
	d.mu.Unlock()
	d.tryRelease()
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
	if driverModel != nil {
		model, again := driverModel(r.dev)
		if whole = whole && !again; !again || r.id.DriverModel == "" {
			r.id.DriverModel = model
		}
	}
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
		case "thor", "gb10", "orin", "xavier", "tegra", "n1x":
			return true
		}
	}
	return false
}
