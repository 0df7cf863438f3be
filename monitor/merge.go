package monitor

import "math"

// MergeProcesses makes one list of the driver's three: one entry for each PID
// and instance, in the order of first appearance, with the types of all lists
// it is in. Its memory is the largest that any of them knows, and unknown where
// none does; other fields are the first that are known.
func MergeProcesses(compute, graphics, mps []Process) []Process {
	n := len(compute) + len(graphics) + len(mps)
	merged := make([]Process, 0, n)
	var index map[processID]int
	if n > 16 {
		index = make(map[processID]int, n)
	}
	for _, list := range [...]struct {
		processes []Process
		as        ProcessTypes
	}{{compute, Compute}, {graphics, Graphics}, {mps, MPS}} {
		for i := range list.processes {
			p := &list.processes[i]
			at, found := find(merged, index, p.id())
			if !found {
				if index != nil {
					index[p.id()] = len(merged)
				}
				merged = append(merged, *p)
				merged[len(merged)-1].Types |= list.as
				continue
			}
			m := &merged[at]
			m.Types |= p.Types | list.as
			m.join(p)
		}
	}
	return merged
}

// find looks id up in index, or in the short list where there is none.
func find(list []Process, index map[processID]int, id processID) (int, bool) {
	if index != nil {
		at, ok := index[id]
		return at, ok
	}
	for i := range list {
		if list[i].id() == id {
			return i, true
		}
	}
	return 0, false
}

// join fills in what another entry of the same process knows.
func (p *Process) join(other *Process) {
	mine, theirs := p.readings(), other.readings()
	for i, r := range mine {
		if !r.Known() && theirs[i].Known() {
			*r = *theirs[i]
		}
	}
	have, ok := p.GPUMemoryBytes.Float()
	if v, known := other.GPUMemoryBytes.Float(); ok && known && v > have {
		p.GPUMemoryBytes = other.GPUMemoryBytes
	}
	for _, t := range [...]struct{ mine, theirs *Text }{
		{&p.Name, &other.Name}, {&p.Command, &other.Command}, {&p.User, &other.User},
	} {
		if !t.mine.Known() && t.theirs.Known() {
			*t.mine = *t.theirs
		}
	}
	if p.Namespace == NamespaceUnknown {
		p.Namespace = other.Namespace
	}
	if p.Container.Reason != Known && other.Container.Reason == Known {
		p.Container = other.Container
	}
	if p.Job.Reason != Known && other.Job.Reason == Known {
		p.Job = other.Job
	}
}

// A Total adds up readings. Its zero value is the total of nothing, 0.
//
// Only what was measured is added: one part that is unknown, or known but not
// measured, makes the total unknown.
type Total struct {
	sum     float64
	exact   int64 // while all parts are integers
	float   bool
	unknown bool
	why     Reason
	parts   int
}

// Add adds one part.
func (t *Total) Add(r Reading) {
	t.parts++
	v, ok := r.Float()
	if !ok || r.Provenance != Measured {
		if !t.unknown {
			t.unknown, t.why = true, NotSupported
			if !ok {
				t.why = r.Reason
			}
		}
		return
	}
	t.sum += v
	if r.Kind() != Integer {
		t.float = true
		return
	}
	i, _ := r.Int()
	if i > 0 && t.exact > math.MaxInt64-i || i < 0 && t.exact < math.MinInt64-i {
		t.float = true
		return
	}
	t.exact += i
}

// Parts returns how many parts were added, unknown ones included.
func (t *Total) Parts() int { return t.parts }

// Reading returns the total: an integer where all parts are, else a number.
// Where it is unknown its reason is that of the first part that is.
func (t *Total) Reading() Reading {
	switch {
	case t.unknown:
		return Unknown(t.why)
	case t.float:
		return OfFloat(t.sum)
	}
	return OfInt(t.exact)
}
