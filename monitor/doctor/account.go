package doctor

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
	"nvtop-lite/nvml/gen"
)

// account is what the driver process told of its calls.
type account struct {
	opened *opened
	calls  []call
	at     map[uint64]int // where a call stands in calls
	ended  map[uint64]bool
	lacks  []call
	told   []told // readings that NVML gave
	memory string // what NVML said of memory that is the machine's
	system system
}

// add takes a note. One that is malformed is of a driver process gone mad, and
// tells nothing.
func (a *account) add(b []byte) {
	var n note
	if json.Unmarshal(b, &n) != nil {
		return
	}
	if a.at == nil {
		a.at, a.ended = map[uint64]int{}, map[uint64]bool{}
	}
	switch {
	case n.Opened != nil:
		a.opened = n.Opened
	case n.Begin != nil:
		a.at[n.Begin.ID] = len(a.calls)
		a.calls = append(a.calls, *n.Begin)
	case n.End != nil:
		if i, ok := a.at[n.End.ID]; ok {
			a.calls[i], a.ended[n.End.ID] = *n.End, true
		}
	case n.Lacks != nil:
		a.lacks = append(a.lacks, *n.Lacks)
	case n.Told != nil:
		a.told = append(a.told, *n.Told)
	case n.Memory != nil:
		a.memory = *n.Memory
	case n.System != nil:
		a.system = *n.System
	}
}

// done reports whether a call returned.
//
//go:noinline
func (a *account) done(c *call) bool { return a.ended[c.ID] }

// fill tells of what is about no GPU.
func (a *account) fill(f *Found) {
	f.Library.Known = gen.NumFunctions
	f.Windows, f.Facts = a.system.Found, a.system.Lines
	if o := a.opened; o != nil {
		f.Library.Tried = o.Tried
		if o.Path != "" {
			f.Library.Path, f.Library.Functions = Word(o.Path), &o.Functions
		}
		for _, t := range o.Tried {
			if v := fileVersion(string(t.File)); v != "" {
				f.Driver.Library = Word(v)
			}
		}
	}
	for i := range a.lacks {
		f.Library.Missing = unite(f.Library.Missing, a.lacks[i].Function)
	}
	missing := f.Library.Missing
	sort.Slice(missing, func(i, j int) bool { return missing[i] < missing[j] })
	for i := range a.calls {
		c := &a.calls[i]
		if strings.Contains(c.Function, "EventSetWait") {
			continue // it waits for its own deadline, over and over
		}
		if !a.done(c) {
			f.pending = append(f.pending, *c)
		}
		if c.GPU >= 0 {
			continue
		}
		told := Call{Function: c.Function}
		if a.done(c) {
			told.Answer, told.Micros = Word(c.Answer), micros(c.Took)
		}
		f.Calls = append(f.Calls, told)
	}
}

// micros is a time in microseconds, to the tenth.
func micros(d time.Duration) *float64 {
	v := math.Round(float64(d)/100) / 10
	return &v
}

// notReturned stands for the answer of a call that gave none.
const notReturned = "has not returned"

// handleFunctions is how the functions begin that take the handle of a GPU.
const handleFunctions = "nvmlDeviceGetHandleBy"

// gpuOf is one GPU of a snapshot with an account of its readings.
func (f *Found) gpuOf(g *monitor.GPU, a *account) GPU {
	t := GPU{
		UUID: word(g.UUID), BusID: word(g.PCIBusID), Name: word(g.Name), Architecture: word(g.Architecture),
		State: g.State.String(), StateReason: Word(g.StateReason), StateAnswer: Word(g.StateErr.Name()),
		Integrated: g.Integrated, Unified: g.MemoryUnified, Model: Word(g.DriverModel), adapter: g.Adapter,
	}
	if g.State == monitor.Unavailable {
		t.blocked = g.Blocked.String()
	}
	if g.Index != monitor.None {
		t.Index = &g.Index
	}
	for _, h := range g.Health {
		t.Health = append(t.Health, Health{h.Code, h.Level.String(), h.Text})
	}
	var mine []*call
	var took time.Duration
	for i := range a.calls {
		if c := &a.calls[i]; c.GPU >= 0 && c.GPU == g.Index {
			mine = append(mine, c)
			took += c.Took
		}
	}
	t.Calls, t.Micros = len(mine), *micros(took)
	if len(mine) > 0 {
		handle := Reading{Key: "handle"}
		a.explain(&handle, mine, nil, func(c *call) bool { return strings.HasPrefix(c.Function, handleFunctions) })
		if handle.Answer == "" {
			handle.Value = true
		} else {
			handle.Reason = Word(cmp.Or(g.Unmeasured().String(), monitor.Timeout.String()))
		}
		if handle.Micros != nil {
			t.Readings = append(t.Readings, handle)
		}
	}
	var lacks []*call
	for i := range a.lacks {
		if c := &a.lacks[i]; c.GPU == g.Index {
			lacks = append(lacks, c)
		}
	}
	add := func(key string, value any, why monitor.Reason, err monitor.CallError, is func(*call) bool) {
		r := Reading{Key: key, Value: value}
		a.explain(&r, mine, lacks, is)
		r.Answer = ""
		if why != monitor.Known {
			r.Value, r.Reason, r.Answer = nil, Word(why.String()), Word(err.Name())
			if err.Function() != "" {
				r.Functions = []string{err.Function()}
			}
		}
		f.byFile(g, &r, err, a)
		passed := r.Passed
		r.Passed = nil
		for _, p := range passed {
			if !contains(r.Functions, p.Function) {
				r.Passed = append(r.Passed, p)
			}
		}
		t.Readings = append(t.Readings, r)
	}
	for id := range monitor.NumReadings {
		r := g.Readings[id]
		add(id.String(), value(id, r), r.Reason, r.Err, func(c *call) bool { return c.For.Has(id) })
	}
	list := func(key string, n int, st monitor.Status, group monitor.Group) {
		add(key, n, st.Reason, st.Err, func(c *call) bool { return c.For.HasGroup(group) })
	}
	list("fans", len(g.Fans), g.FansStatus, monitor.GroupFans)
	list("mig_devices", len(g.MIG), g.MIGStatus, monitor.GroupMIG)
	list("xids", len(g.XIDs), g.XIDsStatus, monitor.GroupXIDs)
	list("processes", len(g.Processes), g.ProcStatus, monitor.GroupProcesses)
	return t
}

// value is a known reading as JSON has it, nil for one that is not.
func value(id monitor.ReadingID, r monitor.Reading) any {
	if !r.Known() {
		return nil
	}
	switch id.Info().Kind {
	case monitor.Flag:
		v, _ := r.Flag()
		return v
	case monitor.Word:
		return id.Word(r)
	case monitor.Mask:
		return some(id.Words(nil, r))
	case monitor.Integer:
		v, _ := r.Int()
		return v
	}
	v, _ := r.Float()
	return math.Round(v*1000) / 1000
}

// explain says which calls gave a reading: those of the last query for it that
// answered, or else that failed. Functions that failed in any query for it and
// those that the library lacks were passed over.
func (a *account) explain(r *Reading, mine, lacks []*call, is func(*call) bool) {
	last := -1
	for _, c := range mine {
		if is(c) {
			last = c.Query
		}
	}
	var took time.Duration
	var answered, failed []string
	counts := false
	for _, c := range mine {
		if !is(c) {
			continue
		}
		if !a.done(c) || c.Code != 0 {
			pass(r, c.Function, cmp.Or(c.Answer, notReturned))
		}
		if c.Query != last {
			continue
		}
		counts = true
		took += c.Took
		switch {
		case a.done(c) && c.Code == 0:
			answered = unite(answered, c.Function)
		default:
			failed = unite(failed, c.Function)
			r.Answer = Word(cmp.Or(c.Answer, notReturned))
		}
	}
	for _, c := range lacks {
		if is(c) {
			pass(r, c.Function, "missing")
		}
	}
	r.Functions = answered
	if len(answered) == 0 {
		r.Functions = failed
	} else {
		r.Answer = ""
	}
	if counts {
		r.Micros = micros(took)
	}
}

//go:noinline
func pass(r *Reading, function, answer string) {
	for i := range r.Passed {
		if r.Passed[i].Function == function {
			return
		}
	}
	r.Passed = append(r.Passed, Passed{function, answer})
}

// unite appends a word that is not there yet.
//
//go:noinline
func unite(list []string, word string) []string {
	if contains(list, word) {
		return list
	}
	return append(list, word)
}

//go:noinline
func contains(list []string, word string) bool { return slices.Contains(list, word) }
