// Package sample makes Snapshots: it opens sources, reads each device in a
// goroutine of its own, in rounds of fixed rate, and publishes what is known
// when a round ends or has taken long enough. It runs in the driver process.
package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nvtop-lite/monitor"
)

// The deadlines. They are properties of drivers, not wishes of users.
const (
	overdue      = int64(2 * time.Second)       // a refresh this late makes its GPU stale
	patience     = 500 * time.Millisecond       // a round waits at most this long for its slowest GPU
	heartbeat    = time.Second                  // between snapshots while something is overdue
	coalesce     = 50 * time.Millisecond        // late answers that come together make one snapshot
	openDeadline = 30 * time.Second             // one-shots: for opening
	readDeadline = 3 * time.Second              // one-shots: for reading
	seedWindow   = 250 * time.Millisecond       // one-shots: between the seed sample and the first snapshot
	maxBackOff   = 30 * time.Second             // between tries to find a driver
	minInterval  = 100 * time.Millisecond       // floor of the interval
	minHostGap   = int64(90 * time.Millisecond) // CPU load over less than this is noise
)

// Host reads the machine. Platform is called for each snapshot, and must not
// block for long.
type Host interface {
	Read() monitor.Host
	Platform() monitor.Platform
}

// Processes finds out who is behind the PIDs of a list.
type Processes interface {
	Fill(list []monitor.Process, local bool, now int64)
}

// Config is what a Sampler works on.
type Config struct {
	Sources   []monitor.Source
	Host      Host
	Processes Processes
	Loading   func() string // the library that is being loaded, "" where none is; nil for none
	Label     string        // Snapshot.Source
	Warnings  []monitor.Warning

	// Complete makes every snapshot wait for every GPU, within the deadlines
	// of a one-shot, and be preceded by a seed sample: for one-shots and
	// streams. Otherwise snapshots come as a live screen needs them.
	Complete bool
	Count    int           // Complete: how many snapshots; 0 is without end
	Timeout  time.Duration // Complete: for the first snapshot, everything included; 0 is none
}

// Sampler makes snapshots.
type Sampler struct {
	cfg     Config
	clock   clock
	request monitor.Request
	chosen  monitor.Selection
	settled bool // the choice was looked at with every device known
	health  monitor.HealthTracker

	workers  []*worker
	supplies []*supply
	done     chan *worker
	looked   chan look

	host   monitor.Host
	hostAt int64
}

// New returns a Sampler that has not begun.
func New(cfg Config, req monitor.Request) (*Sampler, error) {
	s := &Sampler{cfg: cfg, clock: newClock(), done: make(chan *worker, 1024), looked: make(chan look, len(cfg.Sources))}
	for _, src := range cfg.Sources {
		s.supplies = append(s.supplies, &supply{source: src, keys: map[string]bool{}, due: time.Now(), backOff: time.Second})
	}
	var err error
	if s.chosen, err = monitor.NewSelection(req.GPUs, req.Visible); err != nil {
		return nil, fmt.Errorf("selecting GPUs: %w", err)
	}
	s.apply(req)
	return s, nil
}

// apply takes a request; the choice of GPUs stays what it was at the start.
func (s *Sampler) apply(req monitor.Request) {
	req.Interval = max(req.Interval, minInterval)
	s.request = req
}

// Run makes snapshots until ctx ends, the count is reached, or waiting cannot
// help. Its error is nil, ctx's, or a *monitor.OpenError. It does not wait for
// calls in progress.
func (s *Sampler) Run(ctx context.Context, requests <-chan monitor.Request, publish func(*monitor.Snapshot)) error {
	defer func() {
		for _, w := range s.workers {
			close(w.wake)
		}
	}()
	if s.cfg.Host != nil {
		s.cfg.Host.Platform() // what it measures may need two looks
	}
	if s.cfg.Complete {
		return s.runComplete(ctx, publish)
	}
	return s.runLive(ctx, requests, publish)
}

func asOpenError(err error) *monitor.OpenError {
	var o *monitor.OpenError
	if errors.As(err, &o) {
		return o
	}
	return &monitor.OpenError{What: err.Error(), Hint: "run it again; if it stays, run nvidia-smi to see whether the driver answers"}
}

func noSuchGPU(wrong string, n int) *monitor.OpenError {
	hint := fmt.Sprintf("this machine has GPUs 0-%d", n-1)
	if n == 1 {
		hint = "this machine has GPU 0 only"
	}
	return &monitor.OpenError{Cause: monitor.CauseNoSuchGPU, What: wrong, Hint: hint}
}

// want is what the next refresh of w is to bring: until it is known whether the
// device was chosen, its identity alone.
func (s *Sampler) want(w *worker) monitor.Want {
	if w.identified {
		if s.request.Closely != "" && w.has(s.request.Closely) {
			return monitor.Everything
		}
		return s.request.Want
	}
	if s.chosen.ByInstance() {
		return monitor.Want{}.With(monitor.GroupMIG)
	}
	return monitor.Want{}
}

// identify decides whether the choice picks w, once its identity was read. It
// reports whether that was decided just now.
func (s *Sampler) identify(w *worker) bool {
	if w.identified || w.opened() == 0 {
		return false
	}
	var g monitor.GPU
	w.copyTo(&g, s.clock.now(), false)
	w.identified = true
	s.pick(w, &g)
	return true
}

// pick applies the choice to w, which is g.
func (s *Sampler) pick(w *worker, g *monitor.GPU) {
	var instances []monitor.GPU
	w.picked, instances = s.chosen.Picks(g)
	w.instances = nil
	if len(instances) < len(g.MIG) {
		for i := range instances {
			w.instances = append(w.instances, instances[i].UUID.Value)
		}
	}
}

// checkChoice says, once, what is wrong with the choice when every device is
// known.
func (s *Sampler) checkChoice() *monitor.OpenError {
	if s.settled || s.chosen.ByIndex() {
		return nil
	}
	all := make([]monitor.GPU, len(s.workers))
	for i, w := range s.workers {
		if !w.identified {
			return nil
		}
		w.copyTo(&all[i], s.clock.now(), false)
	}
	s.settled = true
	if err := s.check(all); err != nil {
		return err
	}
	for i, w := range s.workers {
		s.pick(w, &all[i]) // again: it may have been trimmed
	}
	return nil
}

// check says what is wrong with the choice on a machine that has exactly gpus,
// after what CUDA would not look at was taken from it.
func (s *Sampler) check(gpus []monitor.GPU) *monitor.OpenError {
	chosen, wrong := s.chosen.Settle(gpus)
	if wrong != "" {
		return noSuchGPU(wrong, len(gpus))
	}
	s.chosen = chosen
	return nil
}

// snapshot puts together what is known now.
func (s *Sampler) snapshot(final bool) *monitor.Snapshot {
	t := time.Now()
	now := s.clock.at(t)
	s.readHost(now)
	snap := &monitor.Snapshot{
		Time: t.UTC().Round(0), Steady: now, Interval: s.request.Interval, Source: s.cfg.Label,
		Host: s.host, Warnings: s.cfg.Warnings,
	}
	if s.cfg.Host != nil {
		snap.Platform = s.cfg.Host.Platform()
	}
	for i, p := range s.supplies {
		if i == 0 || snap.Driver == (monitor.Driver{}) {
			snap.Driver = p.driver
		}
		if snap.Waiting == "" {
			snap.Waiting, snap.WaitingHint = p.waiting(now, s.loading())
		}
	}
	for _, w := range s.workers {
		if w.passedOver() {
			continue
		}
		snap.GPUs = append(snap.GPUs, monitor.GPU{})
		g := &snap.GPUs[len(snap.GPUs)-1]
		w.copyTo(g, now, final)
		s.finish(w, g)
		snap.Platform.Meter(g)
	}
	order(snap.GPUs)
	s.fillProcesses(snap)
	s.health.Module(&snap.Platform, now)
	for i := range snap.GPUs {
		snap.GPUs[i].Health = s.health.Assess(&snap.GPUs[i], now)
	}
	return snap
}

// order puts GPUs into the driver's order, those without a number last. Where
// two claim one number, as while they change places, it is the one's that
// answers.
func order(gpus []monitor.GPU) {
	inOrder := true
	for i := 1; i < len(gpus); i++ {
		inOrder = inOrder && uint(gpus[i-1].Index) < uint(gpus[i].Index) // None is the last
	}
	if inOrder {
		return
	}
	claims := make(map[int]*monitor.GPU, len(gpus))
	for i := range gpus {
		g := &gpus[i]
		if g.Index == monitor.None {
			continue
		}
		other := claims[g.Index]
		if other != nil && (g.State == monitor.Lost || other.State == monitor.OK) {
			g.Index = monitor.None
			continue
		}
		if other != nil {
			other.Index = monitor.None
		}
		claims[g.Index] = g
	}
	for i := range gpus { // nearly always in order already
		for j := i; j > 0 && uint(gpus[j].Index) < uint(gpus[j-1].Index); j-- {
			gpus[j], gpus[j-1] = gpus[j-1], gpus[j]
		}
	}
}

// readHost reads the machine, unless that was done a moment ago.
func (s *Sampler) readHost(now int64) {
	if s.cfg.Host == nil || s.hostAt != 0 && now-s.hostAt < minHostGap {
		return
	}
	s.host, s.hostAt = s.cfg.Host.Read(), now
	h := &s.host
	for _, r := range [...]*monitor.Reading{&h.CPUPercent, &h.MemoryTotalBytes, &h.MemoryAvailableBytes, &h.HugePagesTotalBytes, &h.HugePagesFreeBytes} {
		r.At = now
	}
}

// finish applies what follows from a GPU's state and from the choice. The
// instances are copied: those that the source handed over stand in snapshots
// that were published before.
func (s *Sampler) finish(w *worker, g *monitor.GPU) {
	g.MIG = slices.Clone(g.MIG)
	if w.instances != nil {
		g.MIG = slices.DeleteFunc(g.MIG, func(m monitor.GPU) bool { return !slices.Contains(w.instances, m.UUID.Value) })
	}
	inherit(g)
	for i := range g.MIG {
		m := &g.MIG[i]
		m.Refreshed = g.Refreshed
		if g.State != monitor.OK {
			m.State, m.Blocked, m.StateReason, m.StateErr, m.StateSince = g.State, g.Blocked, g.StateReason, g.StateErr, g.StateSince
			inherit(m)
		}
	}
}

// inherit gives every measurement of a GPU that cannot be measured the reason
// of its state.
func inherit(g *monitor.GPU) {
	why := g.Unmeasured()
	if why == monitor.Known {
		return
	}
	for id := range monitor.NumReadings {
		g.Readings[id] = monitor.Failed(why, g.StateErr)
	}
	st := monitor.Status{Reason: why, Err: g.StateErr}
	g.Fans, g.FansStatus = nil, st
	g.Processes, g.ProcStatus = nil, st
	if g.XIDsStatus.Reason != monitor.Known {
		g.XIDsStatus = st
	}
}

// fillProcesses finds out who is behind all PIDs of a snapshot, each list
// copied first, since those who hand them over go on owning them.
func (s *Sampler) fillProcesses(snap *monitor.Snapshot) {
	n := 0
	each(snap, func(g *monitor.GPU) { n += len(g.Processes) })
	if n == 0 {
		return
	}
	all := make([]monitor.Process, 0, n)
	each(snap, func(g *monitor.GPU) {
		if len(g.Processes) > 0 {
			from := len(all)
			all = append(all, g.Processes...)
			g.Processes = all[from:len(all):len(all)]
		}
	})
	if s.cfg.Processes != nil {
		s.cfg.Processes.Fill(all, s.localPIDs(), snap.Steady)
	}
}

func (s *Sampler) localPIDs() bool {
	for _, src := range s.cfg.Sources {
		if !src.LocalPIDs() {
			return false
		}
	}
	return true
}

// each visits the GPUs of a snapshot and their instances.
func each(snap *monitor.Snapshot, visit func(*monitor.GPU)) {
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		visit(g)
		for j := range g.MIG {
			visit(&g.MIG[j])
		}
	}
}
