package sample

import (
	"context"
	"fmt"
	"time"

	"nvtop-lite/monitor"
)

// runComplete makes snapshots for those who want each of them whole. What a
// deadline cuts off is unknown with reason timeout.
func (s *Sampler) runComplete(ctx context.Context, publish func(*monitor.Snapshot)) error {
	s.readHost(s.clock.now()) // the seed of the CPU's load
	begin := time.Now()
	limit := time.Time{}
	if s.cfg.Timeout > 0 {
		limit = begin.Add(s.cfg.Timeout)
	}
	openBy := earliest(begin.Add(openDeadline), limit)

	s.open()
	for range s.cfg.Sources {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-s.opened:
			if err := s.takeOpened(o); err != nil {
				return err
			}
		case <-time.After(time.Until(openBy)):
			return &monitor.OpenError{
				Cause: monitor.CauseTimeout,
				What:  fmt.Sprintf("the driver did not answer within %s", time.Since(begin).Round(100*time.Millisecond)),
				Hint:  "it may hang: see whether nvidia-smi answers, and the kernel log (dmesg)",
			}
		}
	}

	// The seed: identities where they decide, then one sample of everything.
	s.startAll(s.clock.now())
	if err := s.wait(ctx, openBy, limit); err != nil {
		return err
	}
	if err := s.checkChoice(); err != nil {
		return err
	}
	if err := s.sleep(ctx, earliest(time.Now().Add(seedWindow), limit)); err != nil {
		return err
	}

	next := time.Now()
	for n := 0; s.cfg.Count == 0 || n < s.cfg.Count; n++ {
		if n > 0 {
			limit = time.Time{}
			if next = next.Add(s.request.Interval); next.Before(time.Now()) {
				next = time.Now()
			}
			if err := s.sleep(ctx, next); err != nil {
				return err
			}
		}
		s.startAll(s.clock.now())
		if err := s.wait(ctx, earliest(openBy, limit), limit); err != nil {
			return err
		}
		publish(s.snapshot(true))
	}
	return nil
}

// wait ends when no refresh is in progress, or when each of those that are has
// run into its deadline: openBy for a device that is still being opened, three
// seconds after that or after the start of the refresh for the others.
func (s *Sampler) wait(ctx context.Context, openBy, limit time.Time) error {
	for s.anyBusy() {
		until := time.Time{}
		for _, w := range s.workers {
			busy, due := w.isBusy()
			if !busy {
				continue
			}
			by := openBy
			if opened := w.opened(); opened != 0 {
				by = time.Now().Add(time.Duration(max(opened, due) - s.clock.now())).Add(readDeadline)
			}
			until = later(until, by)
		}
		until = earliest(until, limit)
		if !time.Now().Before(until) {
			return nil
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case w := <-s.done:
			if s.identify(w) && w.picked {
				w.start(s.want(w), s.clock.now())
			}
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

func (s *Sampler) sleep(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case w := <-s.done: // a refresh that had been given up came back: the next round has it
			s.identify(w)
		case <-timer.C:
			return nil
		}
	}
}
