package sample

import (
	"sync"

	"nvtop-lite/monitor"
)

// worker reads one device. It is the device's sink: what the source finds out
// is kept here as it comes, so that a call that hangs costs only what comes
// after it.
type worker struct {
	source monitor.Source
	device monitor.Device
	clock  clock
	wake   chan monitor.Want

	mu       sync.Mutex
	gpu      monitor.GPU
	reading  monitor.Want // what the call in progress is for
	wanted   monitor.Want // what the refresh in progress is to bring
	busy     bool
	told     bool  // the refresh in progress told something
	due      int64 // when the refresh in progress was due
	openedAt int64 // when the device's state was first told; 0 not yet

	// Only the sampler's goroutine touches these.
	identified bool // it is known whether the selection picks the device
	picked     bool
	state      monitor.State // that it was in when its last refresh ended
	instances  []string      // UUIDs of the instances to show alone; nil is all
}

func newWorker(src monitor.Source, d monitor.Device, c clock, done chan<- *worker) *worker {
	w := &worker{source: src, device: d, clock: c, wake: make(chan monitor.Want, 1)}
	w.gpu.Identity = monitor.Identity{Index: d.Index, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}
	w.gpu.Sources = []string{src.Name()}
	w.gpu.StateSince = c.now()
	go w.run(done)
	return w
}

// run serves refreshes until wake is closed. A refresh that never returns
// keeps this goroutine and its thread, and no other.
func (w *worker) run(done chan<- *worker) {
	for want := range w.wake {
		w.source.Read(w.device, want, w)
		w.mu.Lock()
		w.busy, w.reading = false, monitor.Want{}
		w.gpu.Call, w.gpu.CallSince = "", 0
		if w.gpu.State == monitor.OK && w.told {
			w.gpu.Refreshed = w.clock.now()
		}
		w.mu.Unlock()
		done <- w
	}
}

// start begins a refresh that was due at due, unless one is in progress.
func (w *worker) start(want monitor.Want, due int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return false
	}
	w.busy, w.told, w.due, w.wanted = true, false, due, want
	w.wake <- want
	return true
}

// isBusy reports whether a refresh is in progress, and since when it is due.
func (w *worker) isBusy() (busy bool, due int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy, w.due
}

// changed reports whether the device is in another state than at the end of the
// refresh before, other than opened as it was to be.
func (w *worker) changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	w.state = w.gpu.State
	return w.state != before && !(before == monitor.Initialising && w.state == monitor.OK)
}

// well reports whether the device answers, or sleeps.
func (w *worker) well() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gpu.State == monitor.OK || w.gpu.State == monitor.Sleeping
}

// passedOver reports whether the device is known not to be selected.
func (w *worker) passedOver() bool { return w.identified && !w.picked }

// aged reports whether the device answers at once, and was read a while ago.
func (w *worker) aged(now int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	read := w.gpu.Refreshed
	return !w.busy && w.gpu.State == monitor.OK && read != 0 && read-w.due < int64(freshTime) && now-read > int64(freshTime)
}

// has reports whether the device is the GPU with a key, or has the instance.
func (w *worker) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if monitor.Key(&w.gpu) == key {
		return true
	}
	for i := range w.gpu.MIG {
		if monitor.Key(&w.gpu.MIG[i]) == key {
			return true
		}
	}
	return false
}

// opened tells when the device's state was first told, 0 for not yet.
func (w *worker) opened() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openedAt
}

// copyTo gives what is known of the device at now. What a call that is overdue
// was to bring is unknown with reason timeout; final says that nobody will
// wait for the rest either.
func (w *worker) copyTo(g *monitor.GPU, now int64, final bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*g = w.gpu
	// What nobody wants any more only grows old.
	for id := range monitor.NumReadings {
		if !w.wanted.Has(id) {
			g.Readings[id] = monitor.Reading{}
		}
	}
	if !w.wanted.HasGroup(monitor.GroupFans) {
		g.Fans, g.FansStatus = nil, monitor.Status{}
	}
	if !w.busy || !final && now-w.due < overdue {
		return
	}
	err := monitor.NewCallError(g.Call, "", 0)
	if g.State == monitor.OK {
		g.State, g.StateSince = monitor.Stale, min(now, w.due+overdue)
	}
	for id := range monitor.NumReadings {
		r := &g.Readings[id]
		if w.reading.Has(id) || w.wanted.Has(id) && r.Reason == monitor.NotSampled {
			*r = monitor.Failed(monitor.Timeout, err)
		}
	}
	for group, st := range map[monitor.Group]*monitor.Status{
		monitor.GroupProcesses: &g.ProcStatus, monitor.GroupFans: &g.FansStatus,
		monitor.GroupMIG: &g.MIGStatus, monitor.GroupXIDs: &g.XIDsStatus,
	} {
		if w.reading.HasGroup(group) || w.wanted.HasGroup(group) && st.Reason == monitor.NotSampled {
			*st = monitor.Status{Reason: monitor.Timeout, Err: err}
		}
	}
	for _, t := range []*monitor.Text{&g.UUID, &g.PCIBusID, &g.Name, &g.Architecture, &g.Serial} {
		if t.Reason == monitor.NotSampled {
			*t = monitor.Text{Reason: monitor.Timeout, Err: err}
		}
	}
}

// The methods of monitor.Sink.

func (w *worker) Begin(want monitor.Want) {
	w.mu.Lock()
	w.reading, w.told = want, true
	w.mu.Unlock()
}

func (w *worker) Call(function string) {
	w.mu.Lock()
	w.gpu.Call, w.gpu.CallSince = function, 0
	if function != "" {
		w.gpu.CallSince = w.clock.now()
	}
	w.mu.Unlock()
}

func (w *worker) Identity(id monitor.Identity) {
	w.mu.Lock()
	w.gpu.Identity = id
	w.mu.Unlock()
}

func (w *worker) Sources(names ...string) {
	w.mu.Lock()
	w.gpu.Sources = names
	w.mu.Unlock()
}

func (w *worker) State(s monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s != w.gpu.State || w.gpu.StateSince == 0 {
		w.gpu.StateSince = w.clock.now()
	}
	if w.openedAt == 0 {
		w.openedAt = w.clock.now()
	}
	w.gpu.State, w.gpu.Blocked, w.gpu.StateReason, w.gpu.StateErr = s, blocked, why, err
	w.told = true
}

func (w *worker) Reading(id monitor.ReadingID, r monitor.Reading) {
	now := w.clock.now()
	w.mu.Lock()
	if r.At == 0 {
		r.At = now
	}
	w.gpu.Readings[id] = r
	w.told = true
	w.mu.Unlock()
}

func (w *worker) Adapter(a *monitor.Adapter) {
	if a != nil {
		for i := range a {
			a[i].At = w.clock.now()
		}
	}
	w.mu.Lock()
	w.gpu.Adapter = a
	w.mu.Unlock()
}

func (w *worker) Fans(fans []monitor.Fan, st monitor.Status) {
	w.mu.Lock()
	w.gpu.Fans, w.gpu.FansStatus = fans, w.stamped(st)
	w.mu.Unlock()
}

func (w *worker) XIDs(xids []monitor.XID, st monitor.Status) {
	w.mu.Lock()
	w.gpu.XIDs, w.gpu.XIDsStatus = xids, w.stamped(st)
	w.mu.Unlock()
}

func (w *worker) MIG(instances []monitor.GPU, st monitor.Status) {
	w.mu.Lock()
	w.gpu.MIG, w.gpu.MIGStatus = instances, w.stamped(st)
	w.mu.Unlock()
}

func (w *worker) Processes(list []monitor.Process, st monitor.Status) {
	w.mu.Lock()
	w.gpu.Processes, w.gpu.ProcStatus = list, w.stamped(st)
	w.mu.Unlock()
}

func (w *worker) stamped(st monitor.Status) monitor.Status {
	if st.At == 0 {
		st.At = w.clock.now()
	}
	return st
}
