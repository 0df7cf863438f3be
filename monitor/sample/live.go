package sample

import (
	"context"
	"time"

	"nvtop-lite/monitor"
)

// runLive makes snapshots for a screen: one a round, more while something is
// late, and some while there is nothing but waiting.
func (s *Sampler) runLive(ctx context.Context, requests <-chan monitor.Request, publish func(*monitor.Snapshot)) error {
	var (
		nextTick  = time.Now()
		publishAt time.Time // zero: when something happens
		lastShown time.Time
		answered  bool // a snapshot with GPUs was published: waiting helps from now on
	)
	show := func() {
		publish(s.snapshot(false))
		lastShown, publishAt = time.Now(), time.Time{}
		answered = answered || s.anyOpened()
	}
	for {
		looks := time.Time{}
		if !s.request.Paused || len(s.workers) == 0 {
			s.tend(time.Now())
			looks = s.nextLook()
		}
		timer := time.NewTimer(time.Until(earliest(nextTick, publishAt, looks)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()

		case req, ok := <-requests:
			if !ok {
				return nil
			}
			grown := req.Want != s.request.Want || req.Closely != s.request.Closely || s.request.Paused && !req.Paused || req.Interval < s.request.Interval
			s.apply(req)
			if grown {
				nextTick = time.Now()
			}

		case l := <-s.looked:
			n := len(s.workers)
			err := s.take(l)
			switch {
			case err == nil:
				if len(s.workers) > n {
					nextTick = time.Now()
				}
			case err.Cause.Final() && !answered:
				return err
			default:
				show()
			}

		case w := <-s.done:
			if s.identify(w) && w.picked && !s.request.Paused {
				w.start(s.want(w), s.clock.now())
			}
			s.finished(w)
			if err := s.checkChoice(); err != nil {
				return err
			}
			switch {
			case !s.anyBusy():
				show()
			case publishAt.IsZero():
				publishAt = time.Now().Add(coalesce)
			}

		case <-timer.C:
			now := time.Now()
			if !now.Before(nextTick) {
				if !s.request.Paused {
					s.startAll(s.clock.at(nextTick))
					publishAt = now.Add(min(s.request.Interval/2, patience))
				}
				if nextTick = nextTick.Add(s.request.Interval); nextTick.Before(now) {
					nextTick = now.Add(s.request.Interval) // late: start over, no bursts
				}
			}
			if !publishAt.IsZero() && !now.Before(publishAt) {
				show()
			}
		}
		timer.Stop()
		if publishAt.IsZero() && (s.anyBusy() || s.opening()) {
			publishAt = later(lastShown.Add(heartbeat), time.Now().Add(coalesce))
		}
	}
}

// startAll begins a refresh of every device that is shown, or not known yet, and
// has none in progress.
func (s *Sampler) startAll(due int64) {
	for _, w := range s.workers {
		if !w.passedOver() {
			w.start(s.want(w), due)
		}
	}
}

func (s *Sampler) anyBusy() bool {
	for _, w := range s.workers {
		if busy, _ := w.isBusy(); busy {
			return true
		}
	}
	return false
}

func (s *Sampler) anyOpened() bool {
	for _, w := range s.workers {
		if w.opened() != 0 {
			return true
		}
	}
	return false
}

// earliest returns the earliest of times that is not zero.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
