package sample

import (
	"fmt"
	"slices"
	"time"

	"nvtop-lite/monitor"
)

const (
	lookEvery = 5 * time.Second // which devices there are
	lookSoon  = time.Second     // after something happened to one
)

// supply is a source, and how it does.
type supply struct {
	source monitor.Source
	driver monitor.Driver

	keys   map[string]bool // of the devices that it had
	open   bool            // it was opened
	hadAny bool            // it had a device once
	busy   bool            // it is being opened, or looked at
	since  int64           // since when it is being opened; 0: it is not
	due    time.Time       // when to look at it, or to open it, next
	again  bool            // something happened while it was looked at

	trouble  *monitor.OpenError // why it cannot be read; nil while it can
	backOff  time.Duration      // before it is opened anew
	openedAt time.Time          // when it was opened last
}

// look is what a look at a source brought.
type look struct {
	supply  *supply
	driver  monitor.Driver
	devices []monitor.Device
	opened  bool // anew
	err     error
}

// loading is the library that is being loaded, "" where none is.
func (s *Sampler) loading() string {
	if s.cfg.Loading == nil {
		return ""
	}
	return s.cfg.Loading()
}

// waiting says why the source cannot be read, and what to do about it. loading is
// the library that is being loaded.
func (p *supply) waiting(now int64, loading string) (what, hint string) {
	if p.since != 0 && (p.trouble == nil || !p.hadAny) {
		if waited := time.Duration(now - p.since).Round(time.Second); waited >= time.Second {
			if loading != "" {
				return fmt.Sprintf("loading %s has not returned for %d s", loading, int(waited.Seconds())), monitor.HintLoading
			}
			return fmt.Sprintf("the driver is being opened, %d s", int(waited.Seconds())), ""
		}
	}
	if p.trouble != nil {
		return p.trouble.Error(), p.trouble.Hint
	}
	return "", ""
}

// tend begins to look at the sources for which that is due, each in a goroutine
// of its own, since it may never end.
func (s *Sampler) tend(now time.Time) {
	for _, p := range s.supplies {
		if p.busy || now.Before(p.due) {
			continue
		}
		p.busy, p.again = true, false
		open, trouble := p.open, p.trouble != nil
		if !open {
			p.since = s.clock.at(now)
		}
		go func() {
			l := look{supply: p}
			if open {
				l.devices, l.err = p.source.Devices()
			}
			if !open || l.err != nil && trouble { // it had its time to come back by itself
				l.opened = true
				if l.err = p.source.Open(); l.err == nil {
					l.devices, l.err = p.source.Devices()
				}
			}
			l.driver = p.source.Driver()
			s.looked <- l
		}()
	}
}

// nextLook tells when tend is to be called next.
func (s *Sampler) nextLook() time.Time {
	next := time.Time{}
	for _, p := range s.supplies {
		if !p.busy {
			next = earliest(next, p.due)
		}
	}
	return next
}

// take takes what a look brought. Its error says why the source cannot be read.
func (s *Sampler) take(l look) *monitor.OpenError {
	now := time.Now()
	p := l.supply
	p.busy, p.since = false, 0
	if l.err == nil && len(l.devices) == 0 {
		p.source.Close()
		p.open = false
		l.err = &monitor.OpenError{Cause: monitor.CauseNoGPU, What: "the driver has no GPU", Hint: monitor.HintNoGPU}
	}
	if l.err != nil {
		return s.failed(p, l, now)
	}
	p.driver = l.driver
	if l.opened {
		p.open, p.openedAt = true, now
	}
	p.due = now.Add(lookEvery)
	if p.again || l.opened && p.hadAny {
		p.due = now.Add(lookSoon)
	}
	if err := s.adopt(p, l.devices); err != nil {
		return err
	}
	// After trouble it is seen by the devices that it is over.
	if p.trouble != nil && p.hadAny && !s.anyWell(p) {
		p.due = now.Add(lookSoon)
		return nil
	}
	p.trouble = nil
	p.hadAny = true
	return nil
}

// failed plans what to do about a source that cannot be read.
func (s *Sampler) failed(p *supply, l look, now time.Time) *monitor.OpenError {
	err := asOpenError(l.err)
	if err.Cause == monitor.CauseChanged {
		p.open, p.due = false, now
		return nil
	}
	if p.trouble == nil && now.Sub(p.openedAt) > maxBackOff {
		p.backOff = time.Second // the last time is long ago
	}
	p.trouble = err
	p.due = now.Add(p.backOff)
	p.backOff = min(2*p.backOff, maxBackOff)
	return err
}

// adopt puts new devices of a source to work, and those that it does not list
// any more out of it. Of what comes later the choice made at the start has
// nothing, unless it is all.
func (s *Sampler) adopt(p *supply, devices []monitor.Device) *monitor.OpenError {
	if !p.hadAny && s.chosen.ByIndex() && !s.chosen.All() {
		listed := make([]monitor.GPU, len(devices))
		for i, d := range devices {
			listed[i].Index = d.Index
		}
		if err := s.check(listed); err != nil {
			return err
		}
	}
	s.workers = slices.DeleteFunc(s.workers, func(w *worker) bool {
		gone := w.source == p.source && !slices.ContainsFunc(devices, func(d monitor.Device) bool { return d.Key == w.device.Key })
		if gone {
			close(w.wake)
		}
		return gone
	})
	for _, d := range devices {
		if p.keys[d.Key] {
			continue
		}
		p.keys[d.Key] = true
		picked := s.chosen.All() || !p.hadAny && (!s.chosen.ByIndex() || s.chosen.HasIndex(d.Index))
		if !picked {
			continue
		}
		w := newWorker(p.source, d, s.clock, s.done)
		if s.chosen.All() || s.chosen.ByIndex() {
			w.identified, w.picked = true, true
		}
		s.workers = append(s.workers, w)
	}
	return nil
}

// finished takes note of a refresh that ended: where the state of a device
// changed, it is looked soon which there are.
func (s *Sampler) finished(w *worker) {
	if !w.changed() {
		return
	}
	for _, p := range s.supplies {
		if p.source != w.source || !p.open {
			continue
		}
		p.again = true
		if now := time.Now(); !p.busy && (p.trouble == nil || w.well()) && now.Before(p.due) {
			p.due = now
		}
	}
}

// anyWell reports whether a device of a source answers.
func (s *Sampler) anyWell(p *supply) bool {
	return slices.ContainsFunc(s.workers, func(w *worker) bool { return w.source == p.source && !w.passedOver() && w.well() })
}

// opening reports whether a source is being opened.
func (s *Sampler) opening() bool {
	return slices.ContainsFunc(s.supplies, func(p *supply) bool { return p.since != 0 })
}
