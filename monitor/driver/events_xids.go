package driver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

const (
	keptXIDs = 32              // of a GPU
	keptGPUs = 1024            // of which there are Xid errors
	sameXID  = 5 * time.Second // an event and a record of the kernel's log closer than that are one error
	maxXID   = 65535

	sourceEvent = "event"
	sourceLog   = "kernel_log"
)

// xidBook is what is known of the Xid errors of all GPUs, by their bus ids. It
// outlives the library and the handles.
type xidBook struct {
	mu    sync.Mutex
	pages map[string]xidPage
	log   monitor.Status // whether the kernel's log is read; its zero value: what it holds is not in yet
	last  uint64         // number of the last of its records, and one
	stop  context.CancelFunc
}

// xidPage has the errors of a GPU by time. Its list is never altered.
type xidPage struct {
	list []monitor.XID
	both []bool // by error: event and log have told it
}

// noXIDs is the list in which nothing was seen.
var noXIDs = []monitor.XID{}

// add takes an error. One that the other source has told is not taken again.
func (b *xidBook) add(key string, x monitor.XID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if key == "" || len(b.pages) >= keptGPUs && b.pages[key].list == nil {
		return
	}
	p := b.pages[key]
	p.list, p.both = slices.Clone(p.list), slices.Clone(p.both)
	same := func(i int) bool {
		y := &p.list[i]
		apart := time.Duration(x.Time - y.Time).Abs()
		return y.Code == x.Code && y.Source != x.Source && !p.both[i] && apart <= sameXID
	}
	for i := range p.list {
		if same(i) {
			p.both[i] = true
			if x.Source == sourceEvent {
				x.Time = p.list[i].Time // the log's is exact
				p.list[i] = x
			}
			b.put(key, p)
			return
		}
	}
	p.list, p.both = append(p.list, x), append(p.both, false)
	for i := len(p.list) - 1; i > 0 && p.list[i-1].Time > x.Time; i-- {
		p.list[i], p.list[i-1] = p.list[i-1], p.list[i]
		p.both[i], p.both[i-1] = p.both[i-1], p.both[i]
	}
	if more := len(p.list) - keptXIDs; more > 0 {
		p.list, p.both = p.list[more:], p.both[more:]
	}
	b.put(key, p)
}

func (b *xidBook) put(key string, p xidPage) {
	if b.pages == nil {
		b.pages = map[string]xidPage{}
	}
	b.pages[key] = p
}

// of returns the errors of a GPU whose events have that state, and whether there
// would be others if there were any.
func (b *xidBook) of(key string, events monitor.Status) ([]monitor.XID, monitor.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.pages[key].list
	switch {
	case len(list) > 0:
		return list, monitor.Status{Reason: monitor.Known}
	case events.Reason == monitor.Known, b.log.Reason == monitor.Known:
		return noXIDs, monitor.Status{Reason: monitor.Known}
	case events.Reason == monitor.NotSampled, b.log.Reason == monitor.NotSampled:
		return nil, monitor.Status{}
	case events.Reason == monitor.NotSupported:
		return nil, b.log
	}
	return nil, events
}

// follow reads the kernel's log, unless that is done already.
func (b *xidBook) follow(s *Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go host.FollowXIDs(ctx, s.opts.Root, func(list []host.KernelXID, st monitor.Status) {
		for _, x := range list {
			if b.isNew(x.Sequence) {
				b.add(x.BusID, monitor.XID{
					Time: x.Time, Code: x.Code, Source: sourceLog,
					GPUInstanceID: x.GPUInstanceID, ComputeInstanceID: x.ComputeInstanceID,
				})
			}
		}
		b.mu.Lock()
		b.log = st
		b.mu.Unlock()
		s.mu.Lock()
		devices := slices.Clone(s.devices)
		s.mu.Unlock()
		for _, d := range devices {
			if d != nil {
				d.pushXIDs()
			}
		}
	})
}

// isNew says that a record of the log was not seen, and notes that it was.
func (b *xidBook) isNew(sequence uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sequence < b.last {
		return false
	}
	b.last = sequence + 1
	return true
}

// leave ends reading the log. It does not wait.
func (b *xidBook) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
}

// settle gives up waiting for what the log holds. It may come nevertheless.
func (b *xidBook) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.log.Reason == monitor.NotSampled {
		b.log = monitor.Status{Reason: monitor.Timeout, Err: monitor.NewCallError("/dev/kmsg", "", 0)}
	}
}

func (b *xidBook) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Reason != monitor.NotSampled
}

// xidState is what a device keeps for its Xid errors. What mu guards is used by
// those too who hear of them.
type xidState struct {
	asked time.Time // when they were first wanted
	due   time.Time // when to try again to register

	mu     sync.Mutex
	key    string         // in the book; "" while it is not known
	watch  *watcher       // that has the set
	set    *nvml.EventSet // with which the device registered; nil: with none
	events monitor.Status // why it did not

	toldTo monitor.Sink
	told   []monitor.XID
	toldSt monitor.Status
}

// knowXIDs tells what is known of the Xid errors, by the identity as it is known
// now.
func (d *device) knowXIDs(sink monitor.Sink) {
	x := &d.xid
	x.mu.Lock()
	x.key = d.id.UUID.Value
	if d.id.PCIBusID.Known() {
		x.key = d.id.PCIBusID.Value
	}
	x.mu.Unlock()
	d.src.xids.follow(d.src)
	d.tellXIDs(sink)
}

// xids registers the GPU for its Xid errors, once. That is done by the one who
// reads the GPU, at the end of a refresh: where it hangs it costs what any call
// costs.
func xids(r *round) {
	x := &r.device.xid
	w := r.src.watcherOf(r.held.Load())
	if w == nil {
		return
	}
	if x.asked.IsZero() {
		x.asked = time.Now()
	}
	set, why := w.current()
	if r.all { // a one-shot has no later refresh
		for time.Since(x.asked) < settleTime && (set == nil && why.Reason == monitor.NotSampled || !r.src.xids.settled()) {
			time.Sleep(2 * time.Millisecond)
			set, why = w.current()
		}
		if set == nil && why.Reason == monitor.NotSampled {
			why = monitor.Status{Reason: monitor.Timeout, Err: monitor.NewCallError("nvmlEventSetCreate", "", 0)}
		}
		r.src.xids.settle()
	}
	switch {
	case r.now.Before(x.due): // the GPU was refused
		return
	case set == nil:
		x.note(w, nil, why)
		return
	case r.watched == set:
		return
	}
	err := w.register(set, r)
	switch {
	case errors.Is(err, errRenew):
		return
	case err == nil:
		r.watched, x.due = set, time.Time{}
		x.note(w, set, monitor.Status{})
		return
	}
	why = status(err)
	r.note(why.Reason, err)
	x.note(w, nil, why)
	x.due = r.now.Add(slow - slack)
	if isRefused(err) || code(err) == nvml.ErrUnknown || why.Reason == monitor.NoPermission {
		x.due = r.now.Add(reprobe - slack)
	}
}

// note keeps how it stands with the events.
func (x *xidState) note(w *watcher, set *nvml.EventSet, events monitor.Status) {
	x.mu.Lock()
	x.watch, x.set, x.events = w, set, events
	x.mu.Unlock()
}

// pushXIDs tells what is new of the Xid errors to the refresh in progress, if there
// is one: it may hang because of them.
func (d *device) pushXIDs() {
	if sink := d.sink.Load(); sink != nil {
		d.tellXIDs(*sink)
	}
}

// tellXIDs tells what is known of the Xid errors, if that is new.
func (d *device) tellXIDs(sink monitor.Sink) {
	x := &d.xid
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.key == "" {
		return
	}
	events := x.events
	if x.set != nil {
		events = x.watch.state(x.set)
	}
	list, st := d.src.xids.of(x.key, events)
	if sink == x.toldTo && st == x.toldSt && slices.Equal(list, x.told) || x.toldTo == nil && st.Reason == monitor.NotSampled {
		return
	}
	x.toldTo, x.told, x.toldSt = sink, list, st
	sink.XIDs(list, st)
}
