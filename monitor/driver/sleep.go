package driver

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	// restAfter is how long nobody must have used the GPUs that could sleep
	// before NVML is shut down: while it is initialised they cannot.
	restAfter = 10 * time.Second

	// restWindow is how long they then have to fall asleep. It takes 6 s or so.
	restWindow = 20 * time.Second

	// A GPU that stayed awake is left alone again after this long, and after
	// twice as long each time.
	firstPause, lastPause = time.Minute, 30 * time.Minute

	// powerEvery is how often it is looked whether GPUs may sleep at all.
	powerEvery = time.Minute
)

// The reasons of those that sleep, in words.
const (
	notWoken  = "runtime power management; not woken"
	leftAlone = "left alone so that it can fall asleep"
)

// readPower finds out which GPUs could sleep.
func (s *Source) readPower() {
	names := host.DriverGPUs(s.opts.Root)
	var could map[string]bool
	if !s.opts.Wake {
		for _, name := range names {
			if host.CanSleep(s.opts.Root, name) {
				if could == nil {
					could = map[string]bool{}
				}
				could[name] = true
			}
		}
	}
	s.mu.Lock()
	s.names, s.sleepers, s.powerAt = names, could, s.now().Add(powerEvery)
	s.mu.Unlock()
	s.mayWatch.Store(could == nil)
}

// sparing reports whether some GPU could sleep. Then nothing may be asked that
// concerns more than one GPU known to be awake, and no event set be made.
func (s *Source) sparing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sleepers != nil
}

// couldSleep reports whether the GPU with that address could sleep.
func (s *Source) couldSleep(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sleepers[address]
}

// allSleep reports whether every GPU of the driver sleeps.
func (s *Source) allSleep() bool {
	s.mu.Lock()
	names, could := s.names, s.sleepers
	s.mu.Unlock()
	return len(could) == len(names) && s.suspended(could)
}

// suspended reports whether all GPUs of a set sleep; of none they do not.
func (s *Source) suspended(set map[string]bool) bool {
	for name := range set {
		if !host.Suspended(s.opts.Root, name) {
			return false
		}
	}
	return len(set) > 0
}

// sleepingDriver is what is known of the driver without initialising NVML.
func sleepingDriver(root string) monitor.Driver {
	asleep := monitor.UnknownText(monitor.Asleep)
	d := monitor.Driver{Version: asleep, CUDAVersion: asleep, NVMLVersion: asleep, Library: asleep}
	if v, err := host.KernelModuleVersion(root); err == nil {
		d.Version = monitor.OfText(v)
	}
	return d
}

// spare reports whether the device is to be left alone now, and has told so
// where it sleeps.
func (d *device) spare(sink monitor.Sink, now time.Time) bool {
	s := d.src
	if !s.couldSleep(d.address) {
		return !s.mayWake(d, false, now)
	}
	why := ""
	switch {
	case host.Suspended(s.opts.Root, d.address):
		d.sleptAt, why = now, notWoken
	case !s.mayWake(d, true, now):
		why = leftAlone
	default:
		return false
	}
	if !d.id.UUID.Known() {
		name, uuid := host.GPUInformation(s.opts.Root, d.address)
		if uuid.Known() {
			d.id.UUID, d.id.Name, d.borrowed = uuid, name, true
		}
	}
	for _, t := range d.texts() {
		if !t.Known() && t.Reason != monitor.NotSupported {
			*t = monitor.UnknownText(monitor.Asleep)
		}
	}
	d.handle.announced = false
	d.handle.identifyAt = time.Time{}
	d.stand(func(st *standing) { st.asleep, st.gone, st.idleSince = true, nil, time.Time{} })
	sink.Identity(d.id)
	sink.State(monitor.Sleeping, monitor.Known, why, monitor.CallError{})
	return true
}

// mayWake reports whether a GPU that is awake may be read, though NVML was shut
// down so that GPUs could sleep: it had slept and others woke it; it had time
// enough to fall asleep; or it cannot sleep, and the others do by now.
func (s *Source) mayWake(d *device, could bool, now time.Time) bool {
	s.mu.Lock()
	resting, since, sleepers := s.resting, s.restedAt, s.sleepers
	s.mu.Unlock()
	if !resting || since.IsZero() {
		return true
	}
	switch {
	case could && d.sleptAt.After(since), !could && s.suspended(sleepers):
		s.mu.Lock()
		s.restPause, s.restFrom = 0, time.Time{}
		s.mu.Unlock()
	case now.Sub(since) < restWindow:
		return false
	default: // some stay awake
		s.mu.Lock()
		s.restPause = min(max(2*s.restPause, firstPause), lastPause)
		s.restFrom = now.Add(s.restPause)
		s.mu.Unlock()
	}
	return true
}

// unused reports whether nobody seems to use the GPU. A display server keeps a
// little memory on a GPU and lets it sleep nevertheless.
func (r *round) unused() bool {
	if r.procs.at.IsZero() || r.procs.err != nil {
		return false
	}
	for i := range r.procs.list {
		if r.procs.list[i].Types != monitor.Graphics || !r.calm {
			return false
		}
	}
	return true
}

// rest shuts NVML down where no GPU that could sleep was used for a while. A
// refresh in progress ends first.
func (s *Source) rest(now time.Time) {
	s.mu.Lock()
	ready := s.session != nil && !s.opening && s.sleepers != nil && !now.Before(s.restFrom)
	any := false
	for _, d := range s.devices {
		if !s.sleepers[d.seen.address] || d.seen.asleep || d.seen.gone != nil || s.unread(d) {
			continue
		}
		any = true
		ready = ready && !d.seen.idleSince.IsZero() && now.Sub(d.seen.idleSince) >= restAfter
	}
	if !ready || !any {
		s.mu.Unlock()
		return
	}
	x := s.session
	s.session, s.resting, s.restedAt = nil, true, now
	s.mu.Unlock()
	s.finish(x)
}
