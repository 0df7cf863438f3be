package driver

import (
	"context"
	"errors"
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const (
	firstWait   = 20 * time.Millisecond // the first slices are short, since the program may end at once
	longestWait = nvml.EventSlice
	lateWait    = 2 * time.Second // a slice that much longer than it was to be hangs
	settleTime  = 1500 * time.Millisecond
)

// watcher waits for Xid events of all GPUs of a session, in a goroutine of its own,
// and not with a look at each refresh: before driver 615 an event says nothing of
// when it happened, and while a GPU hangs, or nobody wants a refresh for an hour,
// there would be no look at all. A wait that hangs holds that goroutine and its
// thread, and nobody else.
type watcher struct {
	src *Source
	lib *nvml.Library

	mu      sync.Mutex
	running int                     // goroutines that have not ended
	stop    context.CancelFunc      // ends the one in use; nil: none
	closed  func()                  // set: call this when none runs any more
	set     *nvml.EventSet          // nil: there is none now
	why     monitor.Status          // why there is none; its zero value: it is being made
	wake    chan struct{}           // tells that the set has a GPU
	owners  map[nvml.Device]*device // those that registered with the set
	call    string                  // in progress
	until   time.Time               // to when it may take; zero: none is
}

// current returns the set that is in use, and starts making one where that was not
// done; nil and why there is none.
func (w *watcher) current() (*nvml.EventSet, monitor.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.src.mayWatch.Load():
		w.rest()
	case w.stop == nil && w.closed == nil:
		ctx, stop := context.WithCancel(context.Background())
		w.stop, w.why = stop, monitor.Status{}
		w.call, w.until = "nvmlEventSetWait", time.Now() // one of an earlier session may hang
		w.running++
		go w.run(ctx)
	}
	return w.set, w.whyNone()
}

// rest ends waiting, and does not wait for the call in progress. w.mu is held.
func (w *watcher) rest() {
	if w.stop != nil {
		w.stop()
	}
	w.stop, w.set, w.why = nil, nil, monitor.Status{Reason: monitor.NotSupported}
}

// close ends waiting for good and calls done once no call is in progress, without
// waiting for that.
func (w *watcher) close(done func()) {
	w.mu.Lock()
	w.rest()
	w.closed = done
	idle := w.running == 0
	w.mu.Unlock()
	if idle {
		done()
	}
}

// whyNone is why there is no set.
func (w *watcher) whyNone() monitor.Status {
	if w.why.Reason == monitor.NotSampled && w.hangs() {
		return w.timeout()
	}
	return w.why
}

// hangs says that a call takes much longer than it may.
func (w *watcher) hangs() bool { return !w.until.IsZero() && time.Since(w.until) > lateWait }

func (w *watcher) timeout() monitor.Status {
	return monitor.Status{Reason: monitor.Timeout, Err: monitor.NewCallError(w.call, "", 0)}
}

// run keeps a set until ctx ends. Where an earlier one hangs it waits for that
// before it calls the driver, so that there is never more than one thread.
func (w *watcher) run(ctx context.Context) {
	defer func() {
		w.mu.Lock()
		w.running--
		idle, done := w.running == 0, w.closed
		w.mu.Unlock()
		if idle && done != nil {
			done()
		}
	}()
	select {
	case w.src.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.src.turn }()
	pause := time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		err := w.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxBackOff {
			pause = 0
		}
		if pause = min(max(2*pause, time.Second), maxBackOff); isRefused(err) {
			pause = reprobe
		}
		if errors.Is(err, errRenew) {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// errRenew ends a set that some GPU cannot register with.
var errRenew = errors.New("a new set is needed")

// watch makes a set and waits for events until ctx ends or the set fails.
func (w *watcher) watch(ctx context.Context) error {
	w.begin(nil, "nvmlEventSetCreate", 0)
	set, err := w.lib.NewEventSet()
	w.returned()
	if err != nil {
		w.end(nil, status(err))
		return err
	}
	defer set.Close()
	wake := make(chan struct{}, 1)
	w.mu.Lock()
	if ctx.Err() == nil {
		w.set, w.why, w.wake, w.owners = set, monitor.Status{Reason: monitor.Known}, wake, map[nvml.Device]*device{}
	}
	w.mu.Unlock()
	// A set without a GPU is not worth a thread.
	select {
	case <-wake:
	case <-ctx.Done():
		return nil
	}
	for slice := firstWait; ; {
		if !w.begin(set, "nvmlEventSetWait", slice) {
			w.returned()
			return errRenew
		}
		c, cancel := context.WithTimeout(ctx, slice)
		e, err := set.Wait(c)
		cancel()
		w.returned()
		switch {
		case err == nil:
			w.happened(e)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			slice = min(2*slice, longestWait)
		default:
			w.end(set, status(err))
			return err
		}
	}
}

// begin notes that a call begins that may take so long; false where the set is in
// use no more.
func (w *watcher) begin(set *nvml.EventSet, call string, slice time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.until = call, time.Now().Add(slice)
	return w.set == set
}

func (w *watcher) returned() {
	w.mu.Lock()
	w.until = time.Time{}
	w.mu.Unlock()
}

// end gives up a set, if it is the one in use.
func (w *watcher) end(set *nvml.EventSet, why monitor.Status) {
	w.mu.Lock()
	if w.set == set {
		w.set, w.why = nil, why
	}
	w.mu.Unlock()
}

// state is whether the events of a GPU that registered with a set are waited for.
func (w *watcher) state(set *nvml.EventSet) monitor.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.set == nil:
		return w.whyNone()
	case w.set != set:
		return monitor.Status{} // it registers with the next refresh
	case w.hangs():
		return w.timeout()
	}
	return monitor.Status{Reason: monitor.Known}
}

// happened takes an event.
func (w *watcher) happened(e nvml.Event) {
	w.mu.Lock()
	d := w.owners[e.Device]
	w.mu.Unlock()
	if d == nil || e.Type&nvml.EventXid == 0 || e.Data == 0 || e.Data > maxXID {
		return
	}
	now := w.src.now()
	if age := now.Sub(e.Time); age < 0 || age > time.Hour {
		e.Time = now // it does not tell, or says what cannot be
	}
	d.xid.mu.Lock()
	key := d.xid.key
	d.xid.mu.Unlock()
	w.src.xids.add(key, monitor.XID{
		Time: e.Time.UnixNano(), Code: int(e.Data), Source: sourceEvent,
		GPUInstanceID: instanceID(e.GPUInstanceID), ComputeInstanceID: instanceID(e.ComputeInstanceID),
	})
	d.pushXIDs()
}

// register registers a GPU with a set. A GPU that did so before, with a handle that
// is no good any more, needs a new set: with two registrations each event might
// come twice.
func (w *watcher) register(set *nvml.EventSet, r *round) error {
	w.mu.Lock()
	again := false
	for _, d := range w.owners {
		again = again || d == r.device
	}
	if w.set != set || again {
		w.mu.Unlock()
		if again {
			w.renew(set)
		}
		return errRenew
	}
	w.owners[r.handle.dev] = r.device // before an event can come
	wake := w.wake
	w.mu.Unlock()
	types, err := set.Register(r.dev, nvml.EventXid)
	if err == nil && types&nvml.EventXid == 0 {
		err = &nvml.Error{Function: "nvmlDeviceGetSupportedEventTypes", Device: r.dev.Index(), Return: nvml.ErrNotSupported}
	}
	if err != nil {
		w.mu.Lock()
		delete(w.owners, r.handle.dev)
		over := w.set != set
		w.mu.Unlock()
		if over {
			return errRenew // it was closed meanwhile
		}
		if code(err) == nvml.ErrUnknown {
			w.renew(set) // nobody knows what it holds now
		}
		return err
	}
	select {
	case wake <- struct{}{}:
	default:
	}
	return nil
}

// renew gives up a set; the next one is made when the call that waits returns.
func (w *watcher) renew(set *nvml.EventSet) {
	w.end(set, monitor.Status{})
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
