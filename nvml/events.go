package nvml

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// EventType is a set of bits: kinds of events.
type EventType uint64

// The kinds.
const (
	EventSingleBitECC      = EventType(gen.EventTypeSingleBitEccError)
	EventDoubleBitECC      = EventType(gen.EventTypeDoubleBitEccError)
	EventPState            = EventType(gen.EventTypePState)
	EventXid               = EventType(gen.EventTypeXidCriticalError)
	EventClock             = EventType(gen.EventTypeClock)
	EventPowerSource       = EventType(gen.EventTypePowerSourceChange)
	EventMigConfigChange   = EventType(gen.EventMigConfigChange)
	EventSingleBitECCStorm = EventType(gen.EventTypeSingleBitEccErrorStorm)
	EventDRAMRetirement    = EventType(gen.EventTypeDramRetirementEvent)
	EventDRAMRetireFailure = EventType(gen.EventTypeDramRetirementFailure)
	EventNonFatalPoison    = EventType(gen.EventTypeNonFatalPoisonError)
	EventFatalPoison       = EventType(gen.EventTypeFatalPoisonError)
	EventGPUUnavailable    = EventType(gen.EventTypeGpuUnavailableError)
	EventRecoveryAction    = EventType(gen.EventTypeGpuRecoveryAction)
)

// DefaultEvents are the kinds that a monitor wants to know of.
const DefaultEvents = EventXid | EventDoubleBitECC | EventMigConfigChange | EventPowerSource | EventGPUUnavailable | EventRecoveryAction

// Event is something that happened on a GPU.
type Event struct {
	// Device is the GPU; its index is -1 where no device with this handle was
	// taken before.
	Device Device
	Type   EventType
	// Data is the Xid of an EventXid (999: one that the driver does not name),
	// 0 for all others.
	Data uint64
	// GPUInstanceID and ComputeInstanceID are [NoInstance] where the event is
	// about the GPU as a whole.
	GPUInstanceID, ComputeInstanceID uint32
	// Time is when it happened, the zero time from drivers that do not tell.
	Time time.Time
}

// SupportedEventTypes returns the kinds of events that the GPU can report: none
// on Windows.
//
// Calls nvmlDeviceGetSupportedEventTypes.
func (d Device) SupportedEventTypes() (EventType, error) {
	v, err := get(d, gen.FnDeviceGetSupportedEventTypes, (*gen.Library).DeviceGetSupportedEventTypes)
	return EventType(v), err
}

// EventSlice is the longest that one call waits for an event.
const EventSlice = time.Second

// EventSet delivers events of the GPUs that were registered with it, from then
// on: what happened before is not delivered. Linux only.
//
// An EventSet keeps the NVML session, and with it a laptop's GPU, awake.
type EventSet struct {
	lib    *Library
	handle gen.EventSet_t
	wait   sync.Mutex // held by the one that waits
	mu     sync.Mutex
	open   bool
	freed  bool
	member int // of the chain of waiting functions, 1 and more: known to work
	byUUID map[string]Device
}

// NewEventSet creates an EventSet.
//
// Calls nvmlEventSetCreate.
func (l *Library) NewEventSet() (*EventSet, error) {
	h, err := sysGet(l, gen.FnEventSetCreate, (*gen.Library).EventSetCreate)
	if err != nil {
		return nil, err
	}
	return &EventSet{lib: l, handle: h, byUUID: map[string]Device{}, open: true}, nil
}

// orZero makes nil the zero value, a set that is closed.
func (s *EventSet) orZero() *EventSet {
	if s == nil {
		return new(EventSet)
	}
	return s
}

// Register asks for events of d, of those kinds among types that d can report,
// and returns them. With 0 there are none, and nothing was registered. After an
// [ErrUnknown] the set must be closed.
//
// Calls nvmlDeviceGetSupportedEventTypes and nvmlDeviceRegisterEvents.
func (s *EventSet) Register(d Device, types EventType) (EventType, error) {
	s = s.orZero()
	can, err := d.SupportedEventTypes()
	if err != nil {
		return 0, err
	}
	types &= can
	if types == 0 {
		return 0, nil
	}
	const fn = gen.FnDeviceRegisterEvents
	f, err := d.enter(fn)
	if err != nil {
		return 0, err
	}
	defer f.leave()
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	if !open {
		return 0, f.fail(fn, ErrUninitialized)
	}
	if !f.begin(fn, 0) {
		return 0, f.fail(fn, ErrFunctionNotFound)
	}
	if r := f.end(f.raw().DeviceRegisterEvents(f.c, f.h, uint64(types), s.handle)); r != Success {
		return 0, f.fail(fn, r)
	}
	// The newest waiting function names the GPU by its UUID.
	if f.raw().Has(gen.FnEventSetWait_v3) && f.begin(gen.FnDeviceGetUUID, 0) {
		b := f.text(96)
		if f.end(f.raw().DeviceGetUUID(f.c, f.h, &b[0], 96)) == Success {
			s.mu.Lock()
			s.byUUID[gostring(b)] = Device{s: d.s}
			s.mu.Unlock()
		}
	}
	return types, nil
}

// Wait returns the next event. It waits in slices of [EventSlice], since a call
// cannot be cancelled: that long after ctx is done at most, it returns the
// error of ctx. One goroutine at a time may wait; it takes an OS thread. While it
// waits, Close leaves nvmlShutdown out.
//
// Calls nvmlEventSetWait_v3, then nvmlEventSetWait_v2 (driver 450), then
// nvmlEventSetWait.
func (s *EventSet) Wait(ctx context.Context) (Event, error) {
	s = s.orZero()
	defer s.free()
	s.wait.Lock()
	defer s.wait.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		slice := EventSlice
		if t, ok := ctx.Deadline(); ok {
			slice = max(min(slice, time.Until(t)), time.Millisecond)
		}
		start := time.Now()
		e, err := s.once(uint32(slice / time.Millisecond))
		if err == nil {
			return e, nil
		}
		if r, _ := err.(*Error); r == nil || r.Return != ErrTimeout {
			return Event{}, err
		}
		// A signal ends a wait early; a set without any GPU may not wait at all.
		if rest := slice - time.Since(start); rest > slice/2 {
			select {
			case <-ctx.Done():
			case <-time.After(min(rest, 100*time.Millisecond)):
			}
		}
	}
}

// once waits for one slice.
func (s *EventSet) once(ms uint32) (Event, error) {
	fns := [...]gen.Function{gen.FnEventSetWait_v3, gen.FnEventSetWait_v2, gen.FnEventSetWait}
	f, err := s.lib.enter(nil, nil, fns[0])
	if err != nil {
		return Event{}, err
	}
	defer f.leave()
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	if !open {
		return Event{}, f.fail(fns[0], ErrUninitialized)
	}
	at, r := 0, ErrFunctionNotFound
	for i := s.member; i < len(fns); i++ {
		if !f.begin(fns[i], i) {
			continue
		}
		var e Event
		var ret Return
		if i == 0 {
			v := scratch[gen.EventSetWait_v3_t](f)
			v.TimeoutMs = ms
			if ret = f.end(f.raw().EventSetWait_v3(f.c, s.handle, v)); ret == Success {
				e = Event{Type: EventType(v.EventType), Data: v.EventData, GPUInstanceID: v.GpuInstanceId, ComputeInstanceID: v.ComputeInstanceId}
				if v.TimestampUsec != 0 {
					e.Time = time.UnixMicro(int64(v.TimestampUsec))
				}
				uuid := gostring(v.Uuid[:])
				s.mu.Lock()
				e.Device = s.byUUID[uuid]
				s.mu.Unlock()
			}
		} else {
			v := scratch[gen.EventData_t](f)
			v.GpuInstanceId, v.ComputeInstanceId = NoInstance, NoInstance // the oldest structure ends before them
			if i == 1 {
				ret = f.end(f.raw().EventSetWait_v2(f.c, s.handle, v, ms))
			} else {
				ret = f.end(f.raw().EventSetWait(f.c, s.handle, v, ms))
			}
			if ret == Success {
				e = Event{Type: EventType(v.EventType), Data: v.EventData, GPUInstanceID: v.GpuInstanceId, ComputeInstanceID: v.ComputeInstanceId}
				if v.Device != 0 {
					e.Device = Device{s: s.lib.device(v.Device, -1)}
				}
			}
		}
		if !curable(ret) {
			s.member = i // guarded by s.wait
			return e, f.fail(fns[i], ret)
		}
		at, r = i, ret
	}
	return Event{}, f.fail(fns[at], r)
}

// Close frees the set. It does not wait: a Wait in progress frees it at the end
// of its slice.
//
// Calls nvmlEventSetFree.
func (s *EventSet) Close() error {
	s = s.orZero()
	s.mu.Lock()
	s.open = false
	s.mu.Unlock()
	return s.free()
}

// free gives a closed set back, unless somebody waits for it.
func (s *EventSet) free() error {
	if !s.wait.TryLock() {
		return nil
	}
	defer s.wait.Unlock()
	s.mu.Lock()
	due := !s.open && !s.freed
	s.freed = s.freed || due
	s.mu.Unlock()
	if !due {
		return nil
	}
	const fn = gen.FnEventSetFree
	f, err := s.lib.enter(nil, nil, fn)
	if err != nil {
		return err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return f.fail(fn, ErrFunctionNotFound)
	}
	return f.fail(fn, f.end(f.raw().EventSetFree(f.c, s.handle)))
}

var eventWords = []string{"single-bit ECC error", "double-bit ECC error", "performance state", "Xid", "clock change", "", "", "power source",
	"MIG configuration", "single-bit ECC storm", "DRAM retirement", "DRAM retirement failure", "non-fatal poison", "fatal poison", "GPU unavailable", "recovery action"}

// String lists the kinds in words, unknown ones in hexadecimal.
func (t EventType) String() string {
	if t == 0 {
		return "none"
	}
	var words []string
	for i := range 64 {
		switch {
		case t>>i&1 == 0:
		case i < len(eventWords) && eventWords[i] != "":
			words = append(words, eventWords[i])
		default:
			words = append(words, "0x"+strconv.FormatUint(1<<i, 16))
		}
	}
	return strings.Join(words, ", ")
}

// copyEntry copies n bytes at an offset of a structure into another. Neither has
// Go pointers.
func copyEntry[T, S any](to *T, from *S, offset, n int) {
	dst := unsafe.Slice((*byte)(unsafe.Pointer(to)), int(unsafe.Sizeof(*to)))
	src := unsafe.Slice((*byte)(unsafe.Pointer(from)), int(unsafe.Sizeof(*from)))
	copy(dst, src[offset:offset+n])
}
