package summary

import (
	"sort"
	"time"

	"nvtop-lite/monitor"
)

// What is kept at most.
const (
	maxProcesses = 10_000
	maxUses      = 100_000 // GPUs of all processes together
)

// processKey is what a process is: nothing else ever has the same.
type processKey struct {
	boot  int32
	pid   uint32
	ticks int64 // -1 where its start is unknown
}

// process is what is kept of a process.
type process struct {
	key         processKey
	host, boot  monitor.Text
	ticksWhy    monitor.Reason
	start       monitor.Reading
	name, user  monitor.Text
	container   monitor.Container
	job         monitor.Job
	unit        monitor.Text
	first, last time.Time
	snapshots   int64
	all         tally // of its GPUs together
	uses        []use
	more        bool // GPUs that are not kept
}

// use is what a process does on one GPU.
type use struct {
	gpu *gpu
	tally
}

// tally is what a process takes, of one GPU or of all.
type tally struct {
	seq        int64 // the snapshot it was last in
	ns         int64 // for which it was there
	memory, sm part  // in that snapshot
	peak       float64
	peakFrom   monitor.Provenance
	peakWhy    monitor.Reason // Known where there is a peak
	smSum      float64
	smCount    int64
	smFrom     monitor.Provenance
	smWhy      monitor.Reason
}

// part adds up what a snapshot says. Only what was measured is added up, and one
// part that is unknown makes all of it unknown.
type part struct {
	parts int
	sum   float64
	from  monitor.Provenance
	why   monitor.Reason // of the first that is unknown
}

func (p *part) add(r *monitor.Reading) {
	v, why := value(r)
	if p.parts == 0 {
		p.why = monitor.Known
	}
	p.parts++
	if why != monitor.Known {
		p.miss(why)
		return
	}
	p.sum += v
	p.from = max(p.from, r.Provenance)
}

func (p *part) miss(why monitor.Reason) {
	if p.why == monitor.Known {
		p.why = why
	}
}

func (p *part) total() (float64, monitor.Reason) {
	if p.why == monitor.Known && p.parts > 1 && p.from != monitor.Measured {
		return 0, monitor.NotSupported
	}
	return p.sum, p.why
}

func (t *tally) add(seq int64, p *monitor.Process) {
	if t.seq != seq {
		t.seq, t.memory, t.sm = seq, part{}, part{}
	}
	t.memory.add(&p.GPUMemoryBytes)
	t.sm.add(&p.SMPercent)
}

// settle takes in what a whole snapshot said.
func (t *tally) settle() {
	if v, why := t.memory.total(); why != monitor.Known {
		if t.peakWhy != monitor.Known {
			t.peakWhy = why
		}
	} else if t.peakWhy != monitor.Known || v > t.peak {
		t.peak, t.peakFrom, t.peakWhy = v, t.memory.from, monitor.Known
	}
	if v, why := t.sm.total(); why == monitor.Known {
		t.smSum += v
		t.smCount++
		t.smFrom = max(t.smFrom, t.sm.from)
	} else {
		t.smWhy = why
	}
}

// processes are those of all snapshots.
type processes struct {
	all     map[processKey]*process
	live    []*process // in the last snapshot
	uses    int
	evicted int64 // the snapshot in which room was last made

	left      int64 // that were kept once
	refused   map[processKey]struct{}
	leftPeak  float64 // the largest of those that were left out
	leftKnown bool
}

func newProcesses() processes {
	return processes{all: map[processKey]*process{}, refused: map[processKey]struct{}{}}
}

func (ps *processes) begin() { ps.live = ps.live[:0] }

// pass counts time for those of the last snapshot.
func (ps *processes) pass(ns int64) {
	for _, p := range ps.live {
		p.all.ns += ns
		for i := range p.uses {
			if u := &p.uses[i]; u.seq == p.all.seq {
				u.ns += ns
			}
		}
	}
}

// add adds a process on g.
func (ps *processes) add(s *Summary, snap *monitor.Snapshot, g *gpu, now *monitor.Process) {
	key := processKey{s.boot, now.PID, -1}
	if ticks, ok := now.StartTicks.Int(); ok && ticks >= 0 {
		key.ticks = ticks
	}
	p := ps.all[key]
	if p == nil {
		if len(ps.all) >= maxProcesses && !ps.makeRoom(s.seq) {
			ps.refuse(key, now)
			return
		}
		p = &process{key: key, host: s.now.host, boot: s.now.boot, ticksWhy: now.StartTicks.Reason, first: snap.Time}
		ps.all[key] = p
		delete(ps.refused, key)
	}
	if p.all.seq != s.seq {
		ps.live = append(ps.live, p)
		p.last = snap.Time
		p.snapshots++
		p.identify(now)
	}
	p.all.add(s.seq, now)
	for i := range p.uses {
		if p.uses[i].gpu == g {
			p.uses[i].add(s.seq, now)
			return
		}
	}
	if ps.uses == maxUses {
		p.more = true
		return
	}
	ps.uses++
	p.uses = append(p.uses, use{gpu: g})
	p.uses[len(p.uses)-1].add(s.seq, now)
}

func (p *process) identify(now *monitor.Process) {
	keep(&p.name, &now.Name)
	keep(&p.user, &now.User)
	keep(&p.unit, &now.Unit)
	if now.StartTime.Known() || !p.start.Known() {
		p.start = now.StartTime
	}
	if c := &now.Container; c.Reason == monitor.Known || p.container.Reason != monitor.Known {
		if p.container.ID != short(c.ID) {
			p.container = monitor.Container{Runtime: copied(c.Runtime), ID: copied(c.ID), PodUID: copied(c.PodUID)}
		}
		p.container.Reason = c.Reason
	}
	if j := &now.Job; j.Reason == monitor.Known || p.job.Reason != monitor.Known {
		if p.job.ID != short(j.ID) || p.job.Step != short(j.Step) {
			p.job = monitor.Job{Scheduler: copied(j.Scheduler), ID: copied(j.ID), Step: copied(j.Step)}
		}
		p.job.Reason = j.Reason
	}
}

// end takes in what the snapshot said of each process. On a GPU whose list could
// not be read a process is as it was before: unknown.
func (ps *processes) end(s *Summary) {
	for _, p := range ps.live {
		for i := range p.uses {
			u := &p.uses[i]
			switch {
			case u.seq == s.seq:
				u.settle()
			case u.gpu.seq == s.seq && u.gpu.listNow != monitor.Known && u.seq == u.gpu.listRead:
				p.all.memory.miss(u.gpu.listNow)
				p.all.sm.miss(u.gpu.listNow)
			}
		}
		p.all.settle()
	}
}

// makeRoom leaves out a quarter of the processes, of those that are gone the ones
// with the least memory. It reports whether there were any.
func (ps *processes) makeRoom(seq int64) bool {
	if ps.evicted == seq {
		return false
	}
	ps.evicted = seq
	var gone []*process
	for _, p := range ps.all {
		if p.all.seq < seq-1 {
			gone = append(gone, p)
		}
	}
	sort.Slice(gone, func(i, j int) bool { return before(gone[j], gone[i]) })
	gone = gone[:min(len(gone), maxProcesses/4)]
	for _, p := range gone {
		if p.all.peakWhy == monitor.Known {
			ps.leftPeak, ps.leftKnown = max(ps.leftPeak, p.all.peak), true
		}
		ps.left++
		ps.uses -= len(p.uses)
		delete(ps.all, p.key)
	}
	return len(gone) > 0
}

func (ps *processes) refuse(key processKey, now *monitor.Process) {
	if len(ps.refused) < maxCounted {
		ps.refused[key] = struct{}{}
	}
	if v, why := value(&now.GPUMemoryBytes); why == monitor.Known {
		ps.leftPeak, ps.leftKnown = max(ps.leftPeak, v), true
	}
}

// before orders processes by the memory they took, the most first and unknown
// last, then by when they were first seen, then by what they are.
func before(a, b *process) bool {
	switch {
	case (a.all.peakWhy == monitor.Known) != (b.all.peakWhy == monitor.Known):
		return a.all.peakWhy == monitor.Known
	case a.all.peak != b.all.peak:
		return a.all.peak > b.all.peak
	case !a.first.Equal(b.first):
		return a.first.Before(b.first)
	case a.key.pid != b.key.pid:
		return a.key.pid < b.key.pid
	case a.key.boot != b.key.boot:
		return a.key.boot < b.key.boot
	}
	return a.key.ticks < b.key.ticks
}

// sorted returns all that are kept in that order.
func (ps *processes) sorted() []*process {
	list := make([]*process, 0, len(ps.all))
	for _, p := range ps.all {
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool { return before(list[i], list[j]) })
	return list
}
