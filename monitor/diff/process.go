package diff

import (
	"sort"

	"nvtop-lite/monitor"
)

// process is a process on one GPU or instance.
type process struct {
	old, new *monitor.Process // nil where it is not, or where that is unknown
	presence presence
	why      string // why the presence is unknown
	reused   bool   // it is another one than that of the same PID on the other side
}

// there returns the process on the side where it is, the new one where on both.
func (p *process) there() *monitor.Process {
	if p.new != nil {
		return p.new
	}
	return p.old
}

// memory returns what the process uses of the GPU on either side.
func (p *process) memory() change {
	side := func(q *monitor.Process) monitor.Reading {
		if q == nil {
			return monitor.Unknown(monitor.NotFound)
		}
		return q.GPUMemoryBytes
	}
	c := numbers("gpu_memory_bytes", "memory", "bytes", side(p.old), side(p.new))
	switch p.presence {
	case oldUnknown:
		c.old.why, c.noDelta = p.why, p.why
	case newUnknown:
		c.new.why, c.noDelta = p.why, p.why
	}
	return c
}

// differs reports whether anything of the process differs, or cannot be told.
func (p *process) differs() bool {
	c := p.memory()
	return p.presence != both || c.differs()
}

// processes pairs the processes of a GPU or an instance by boot, PID and start.
// A PID that is not on the other side has no partner there, whatever its start.
func (d *Diff) processes(g *gpu) {
	var old, new []monitor.Process
	if g.old != nil && g.processList.old == monitor.Known {
		old = g.old.Processes
	}
	if g.new != nil && g.processList.new == monitor.Known {
		new = g.new.Processes
	}
	partner := make([]int, len(new)) // index of the old one, and one; 0 none
	byPID := map[uint32][]int{}      // old ones without a partner
	for i := range old {
		byPID[old[i].PID] = append(byPID[old[i].PID], i)
	}
	taken := make([]bool, len(old))
	newPID := map[uint32][]int{} // new ones without a partner
	for j := range new {
		b := &new[j]
		if start, ok := b.StartTicks.Int(); ok && d.starts {
			for _, i := range byPID[b.PID] {
				if s, ok := old[i].StartTicks.Int(); ok && s == start && !taken[i] {
					partner[j], taken[i] = i+1, true
					break
				}
			}
		}
		if partner[j] == 0 {
			newPID[b.PID] = append(newPID[b.PID], j)
		}
	}
	for j := range new {
		b := &new[j]
		if partner[j] > 0 {
			a := &old[partner[j]-1]
			g.processes = append(g.processes, process{old: a, new: b})
			continue
		}
		p := process{new: b, presence: appeared}
		for _, i := range byPID[b.PID] {
			if !taken[i] {
				p.reused = d.boots != otherBoot
				p.why = d.unsure(&old[i], b, p.why)
			}
		}
		p.settle(oldUnknown, g.processList.old, d.boots)
		g.processes = append(g.processes, p)
	}
	for i := range old {
		if taken[i] {
			continue
		}
		a := &old[i]
		p := process{old: a, presence: gone}
		for _, j := range newPID[a.PID] {
			p.why = d.unsure(a, &new[j], p.why)
		}
		p.settle(newUnknown, g.processList.new, d.boots)
		g.processes = append(g.processes, p)
	}
	sort.SliceStable(g.processes, func(i, j int) bool { return before(&g.processes[i], &g.processes[j]) })
}

// unsure returns why two processes of one PID may be the same, "" where they
// are not: they would have been paired. A reason found before stays.
func (d *Diff) unsure(a, b *monitor.Process, before string) string {
	switch {
	case before != "" || d.boots == otherBoot:
		return before
	case !a.StartTicks.Known() || !b.StartTicks.Known():
		return startUnknown
	case !d.starts:
		return noBootID
	}
	return ""
}

// settle decides on a process without a partner, where list says why the other
// side's list was not read. None outlives its boot.
func (p *process) settle(unknown presence, list monitor.Reason, b boots) {
	if p.why == "" && list != monitor.Known && b != otherBoot {
		p.why = list.String()
	}
	if p.why != "" {
		p.presence, p.reused = unknown, false
	}
}

// order is that in which processes are told.
var order = [...]int{gone: 0, appeared: 1, newUnknown: 2, oldUnknown: 3, both: 4}

// before orders processes: what went and came first, then by memory and PID.
func before(p, q *process) bool {
	if a, b := order[p.presence], order[q.presence]; a != b {
		return a < b
	}
	if a, b := p.bytes(), q.bytes(); a != b {
		return a > b
	}
	return p.there().PID < q.there().PID
}

// bytes returns the memory to sort by, -1 where it is unknown.
func (p *process) bytes() int64 {
	if v, ok := p.there().GPUMemoryBytes.Int(); ok {
		return v
	}
	return -1
}
