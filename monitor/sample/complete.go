package sample

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nvtop-lite/monitor"
)

// runComplete makes snapshots for those who want each of them whole. What a
// deadline cuts off is unknown with reason timeout. Where waiting for the driver
// may help, several snapshots begin without GPUs.
func (s *Sampler) runComplete(ctx context.Context, publish func(*monitor.Snapshot)) error {
	s.readHost(s.clock.now()) // the seed of the CPU's load
	begin := time.Now()
	limit := time.Time{}
	if s.cfg.Timeout > 0 {
		limit = begin.Add(s.cfg.Timeout)
	}
	openBy := earliest(begin.Add(openDeadline), limit)

	s.tend(begin)
	for range s.supplies {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l := <-s.looked:
			// Who wants several may wait for the driver.
			if err := s.take(l); err != nil && (s.cfg.Count == 1 || err.Cause.Final()) {
				return err
			}
		case <-time.After(time.Until(openBy)):
			waited := time.Since(begin).Round(100 * time.Millisecond)
			if path := s.loading(); path != "" {
				return &monitor.OpenError{Cause: monitor.CauseLoading, What: fmt.Sprintf("loading %s did not return within %s", path, waited), Hint: monitor.HintLoading}
			}
			return &monitor.OpenError{Cause: monitor.CauseTimeout, What: fmt.Sprintf("the driver did not answer within %s", waited), Hint: monitor.HintHangs}
		}
	}

	next := time.Now()
	for n := 0; s.cfg.Count == 0 || n < s.cfg.Count; n++ {
		if n > 0 {
			limit = time.Time{}
			// A round that took longer leaves out those that it was in the place of.
			for next = next.Add(s.request.Interval); next.Before(time.Now()); {
				next = next.Add(s.request.Interval)
			}
			if err := s.sleep(ctx, next); err != nil {
				return err
			}
		}
		s.startAll(s.clock.now())
		enough := limit
		if s.cfg.Timeout >= 4*freshTime && !limit.IsZero() {
			enough = limit.Add(-freshTime)
		}
		if err := s.gather(ctx, n == 0, openBy, enough); err != nil {
			return err
		}
		if err := s.freshen(ctx, limit); err != nil {
			return err
		}
		if len(s.workers) > 0 {
			if err := s.checkChoice(); err != nil {
				return err
			}
		}
		if n == 0 {
			next = time.Now()
			if err := s.explain(ctx, limit); err != nil {
				return err
			}
		}
		publish(s.snapshot(true))
	}
	return nil
}

// progress is how far a device is in a round.
type progress struct {
	seeded time.Time // when its seed was read; zero: not yet
	again  bool      // what follows is not the seed any more
	over   bool      // read, or given up
}

// gather ends when every device was read, in the first round twice with a
// window between, since GPM, loads and rates need two looks; or when what is
// left has run into its deadline: openBy for a device that is still being
// opened, three seconds after that or after the start of the reading for the
// others. No device waits for another.
func (s *Sampler) gather(ctx context.Context, first bool, openBy, limit time.Time) error {
	all := make(map[*worker]*progress, len(s.workers))
	for _, w := range s.workers {
		all[w] = &progress{again: !first}
	}
	for {
		now := time.Now()
		if !first {
			s.tend(now)
		}
		until := time.Time{}
		for w, p := range all {
			until = earliest(until, s.advance(w, p, now, openBy))
		}
		if until.IsZero() || !limit.IsZero() && !now.Before(limit) {
			return nil
		}
		timer := time.NewTimer(time.Until(earliest(until, limit)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case w := <-s.done:
			if s.identify(w) {
				if w.picked {
					w.start(s.want(w), s.clock.now())
				}
			} else if p := all[w]; p != nil && p.seeded.IsZero() {
				p.seeded = time.Now()
			}
			s.finished(w)
		case l := <-s.looked:
			_ = s.take(l) // what is wrong stands in the snapshots
		case <-timer.C:
		}
		timer.Stop()
	}
}

// freshTime is how old a reading may be that is published as one of now, and how long
// before its deadline a round is given up, so that it can be read again.
const freshTime = time.Second

// freshen reads those again that were read long before the round ended, which waited
// for others. Without time for it they stay as they are.
func (s *Sampler) freshen(ctx context.Context, limit time.Time) error {
	now := time.Now()
	if !limit.IsZero() && limit.Sub(now) < freshTime/2 {
		return nil
	}
	again := make(map[*worker]bool)
	for _, w := range s.workers {
		if !w.passedOver() && w.aged(s.clock.at(now)) && w.start(s.want(w), s.clock.at(now)) {
			again[w] = true
		}
	}
	timer := time.NewTimer(time.Until(earliest(now.Add(readDeadline), limit)))
	defer timer.Stop()
	for len(again) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case w := <-s.done:
			delete(again, w)
			s.identify(w)
			s.finished(w)
		case l := <-s.looked:
			_ = s.take(l)
		case <-timer.C:
			return nil
		}
	}
	return nil
}

// explain finds out, in a moment, why no device answers, where none does.
func (s *Sampler) explain(ctx context.Context, limit time.Time) error {
	if slices.ContainsFunc(s.workers, func(w *worker) bool { return !w.passedOver() && w.well() }) {
		return nil
	}
	for _, p := range s.supplies {
		p.due = time.Now()
	}
	s.tend(time.Now())
	timer := time.NewTimer(time.Until(earliest(time.Now().Add(time.Second), limit)))
	defer timer.Stop()
	for range s.supplies {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l := <-s.looked:
			_ = s.take(l)
		case <-timer.C:
			return nil
		}
	}
	return nil
}

// advance takes a device a step further where it is time for that. It returns
// when to look again, zero when the device is done with.
func (s *Sampler) advance(w *worker, p *progress, now, openBy time.Time) time.Time {
	busy, due := w.isBusy()
	switch {
	case p.over:
	case busy:
		by := openBy
		if opened := w.opened(); opened != 0 {
			by = now.Add(time.Duration(max(opened, due) - s.clock.at(now))).Add(readDeadline)
		}
		if now.Before(by) {
			return by
		}
		p.over = true
	case w.passedOver(), p.again:
		p.over = true
	case p.seeded.IsZero():
		return now.Add(time.Second) // the news of it is on its way
	case now.Before(p.seeded.Add(seedWindow)):
		return p.seeded.Add(seedWindow)
	default:
		p.again = true
		w.start(s.want(w), s.clock.at(now))
		return now.Add(readDeadline)
	}
	return time.Time{}
}

func (s *Sampler) sleep(ctx context.Context, until time.Time) error {
	for {
		now := time.Now()
		if !now.Before(until) {
			return nil
		}
		s.tend(now)
		timer := time.NewTimer(time.Until(earliest(until, s.nextLook())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case w := <-s.done: // a refresh that had been given up came back: the next round has it
			s.identify(w)
			s.finished(w)
		case l := <-s.looked:
			_ = s.take(l)
		case <-timer.C:
		}
		timer.Stop()
	}
}
