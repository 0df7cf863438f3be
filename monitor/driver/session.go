package driver

import (
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

// shutdownWait is how long a new initialisation waits for the end of the one
// before: NVML counts them, and would only count one more.
const shutdownWait = 2 * time.Second

// A wait for events that has just begun does not outlast it, nor is it taken for one
// that hangs: this does not compile where it does.
const _ = uint64(min(shutdownWait, lateWait) - longestWait - time.Second/2)

// session is one initialisation of NVML. No handle is kept over to another.
type session struct {
	lib    *nvml.Library
	tracer *tracer

	mu      sync.Mutex
	holders int // devices that have a handle, or are taking one, and the watcher
	over    bool
	watch   *watcher // for Xid events; nil: none was needed
}

// hold keeps NVML initialised, if it still is.
func (x *session) hold() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.holders++
	}
	return !x.over
}

// release undoes hold. The last one shuts NVML down where that is due: what was
// held, such as GPM samples, must be given back first.
func (x *session) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holders--; x.over && x.holders == 0 {
		_ = x.lib.Close()
	}
}

// end shuts NVML down as soon as nobody holds it any more, which is never
// where a call hangs.
func (x *session) end() {
	x.mu.Lock()
	x.over = true
	w := x.watch
	x.holders++
	x.mu.Unlock()
	if w != nil {
		w.close(x.release)
	}
	x.release()
}

// watcherOf returns who waits for the Xid events of a session, nil where it is
// over.
func (s *Source) watcherOf(x *session) *watcher {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return nil
	}
	if x.watch == nil {
		x.watch = &watcher{src: s, lib: x.lib}
		x.holders++
	}
	return x.watch
}

func (x *session) isOver() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.over
}

// Open loads and initialises the library, anew where that was done before. Where
// every GPU sleeps it leaves NVML alone until one wakes.
func (s *Source) Open() error {
	if s.opts.Unloadable != nil {
		return s.opts.Unloadable
	}
	s.mu.Lock()
	s.closed = false
	for s.opening {
		s.turned.Wait()
	}
	s.opening = true
	before := s.session
	s.session = nil
	s.mu.Unlock()
	s.finish(before)

	s.readPower()
	if s.allSleep() {
		_, err := nvml.Loadable(s.opts.Library)
		if err != nil {
			err = s.openError(err)
		}
		s.opened(nil, sleepingDriver(s.opts.Root), err)
		return err
	}
	x, drv, err := s.initialise()
	return s.opened(x, drv, err)
}

// initialise begins a session. Without a library of the caller's own choice it
// first looks for a driver, since initialising NVML as root creates device
// nodes.
func (s *Source) initialise() (*session, monitor.Driver, error) {
	if s.opts.Library == "" {
		if found, _ := host.DriverInSight(s.opts.Root); !found {
			return nil, monitor.Driver{}, s.noDriver()
		}
	}
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		select {
		case <-before.tracer.down:
		case <-time.After(shutdownWait):
		}
	}
	t := &tracer{watcher: s.opts.Watch, down: make(chan struct{})}
	lib, err := nvml.Open(nvml.Options{Path: s.opts.Library, Trace: t})
	if err != nil {
		return nil, monitor.Driver{}, s.openError(err)
	}
	s.tell(lib, lib.Attempts())
	return &session{lib: lib, tracer: t}, describe(lib), nil
}

// opened takes what came of opening, a session or, with every GPU asleep, none,
// and returns the error.
func (s *Source) opened(x *session, drv monitor.Driver, err error) error {
	s.mu.Lock()
	s.opening, s.failure = false, err
	s.listed = false
	s.resting = err == nil && x == nil
	s.restedAt = time.Time{} // so that whoever is awake is read at once
	if err == nil {
		s.drv = drv
	}
	unwanted := s.closed
	if !unwanted {
		s.session = x
	}
	s.turned.Broadcast()
	s.mu.Unlock()
	if unwanted {
		s.finish(x)
	}
	return err
}

// use returns the session for a device that is awake, and takes NVML up again
// where it was left so that GPUs could sleep. It is nil with no error when the
// source was closed.
func (s *Source) use(sink monitor.Sink) (*session, error) {
	s.mu.Lock()
	for s.opening && s.failure == nil && !s.closed {
		sink.Call("nvmlInit_v2")
		s.turned.Wait()
	}
	if !s.closed && s.failure == nil && s.session == nil {
		s.opening = true
		s.mu.Unlock()
		sink.Call("nvmlInit_v2")
		x, drv, err := s.initialise()
		_ = s.opened(x, drv, err)
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	sink.Call("")
	if s.closed {
		return nil, nil
	}
	return s.session, s.failure
}

// finish ends a session: at once, or when the refreshes in progress end.
func (s *Source) finish(x *session) {
	if x == nil {
		return
	}
	s.mu.Lock()
	s.before = x
	devices := s.devices
	s.mu.Unlock()
	x.end()
	for _, d := range devices {
		d.tryRelease()
	}
}

// Close gives NVML back, and does not wait.
func (s *Source) Close() {
	s.mu.Lock()
	x := s.session
	s.session, s.closed, s.resting = nil, true, false
	s.turned.Broadcast()
	s.mu.Unlock()
	s.xids.leave()
	s.finish(x)
}
