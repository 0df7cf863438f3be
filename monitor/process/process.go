// Package process says who is behind a PID: name, owner, start, what it takes
// of the host, its container and its job.
//
// The driver's PIDs are those of the initial PID namespace, so a PID is looked
// up only where it is known to mean the same process here: in the initial
// namespace, or where the process has one of the driver's device files open.
// What is found belongs to the pair of PID and start time, never to the PID
// alone.
package process

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	// fresh is how long what was read of a process holds, so that one that
	// works on eight GPUs is read once a round.
	fresh = 50 * time.Millisecond
	// window is the shortest time over which CPU load is told: clock ticks are
	// of 10 ms.
	window = 90 * time.Millisecond
	// keep is how long a process that nobody lists is remembered, at least; at
	// most until the second round after that.
	keep = 30 * time.Second
	// patience is how long a Fill waits for the files of a new process, half as
	// long after each that did not come. The command line of a process that
	// hangs in the kernel may never come.
	patience = 250 * time.Millisecond
	// memoryHolds is how long a process that seems to have kept its memory is
	// believed to.
	memoryHolds = 5 * time.Second
	// maxPending is how many such answers are waited for at once.
	maxPending = 8
)

// Table remembers what is known of processes. It is safe for concurrent use.
type Table struct {
	mu       sync.Mutex
	looker   looker
	service  *service // nil where no name service is asked
	complete bool
	patience time.Duration
	entries  map[uint32]*entry
	swept    int64
	pending  atomic.Int32
}

// looker looks processes up in one kind of system.
type looker interface {
	// sample reads what changes; it is called for each process in each round,
	// from one goroutine at a time. What before holds, when it is not nil, need not
	// be read again where it is known to hold, or costs much and nearly does.
	sample(pid uint32, before *sample, now int64) (sample, error)
	// describe reads what stays, of the process that sample saw; ok is false
	// when that is no longer there. It is called in a goroutine of its own and
	// may block.
	describe(pid uint32, s sample) (f facts, ok bool)
	// absent says what an error of sample means.
	absent(pid uint32, err error) verdict
	// judge says whether the PID means the process that was found.
	judge(h holding) verdict
	// title names a process that cannot be opened, "" when it cannot either.
	title(pid uint32) string
}

// sample is what is read of a process each time.
type sample struct {
	start     uint64        // as monitor.Process.StartTicks
	startTime int64         // ns since 1970, 0 unknown
	cpu       time.Duration // CPU time spent so far
	memory    monitor.Reading
	pages     uint64 // tells when memory has changed
	comm      string // the kernel's name for it; another one means another program
	ended     bool   // a zombie
}

// facts is what is looked up once.
type facts struct {
	name, command, user monitor.Text
	uid                 uint32 // of a user that is known, on Linux
	container           monitor.Container
	job                 monitor.Job
	unit                monitor.Text
	holds               holding
}

// holding says whether a process has one of the driver's device files open.
type holding uint8

const (
	holdingUnknown    holding = iota // not answered yet
	holdingUnreadable                // may not be looked at
	holdingNone
	holdingDevice
)

// verdict says whether what is known of a PID may be shown, and if not, why.
type verdict struct {
	namespace monitor.Namespace
	why       monitor.Reason // Known: may be shown
}

type entry struct {
	sample
	at      int64 // when sample was read
	seen    int64 // when it was last asked for
	facts   facts
	known   bool    // facts were looked up
	told    int64   // when they were
	blanks  int     // how often there was no command line
	asked   *answer // a look-up that has not answered yet
	cpuFrom time.Duration
	cpuAt   int64 // 0: no CPU time was read yet
	load    monitor.Reading
}

// answer is what describe returns, once done is closed.
type answer struct {
	done  chan struct{}
	facts facts
	ok    bool
}

// NewTable returns a table that looks processes up under the root of h. One that is
// complete reads everything each time; else memory that seems to be the same is
// read every 5 s.
func NewTable(h *host.Reader, names Names, complete bool) *Table {
	t := newTable(newLooker(h))
	t.complete = complete
	// Elsewhere owners are no numbers, or not of this machine.
	if names.Libc && h.Root().Here() && h.Root().Files() {
		t.service = newService(libcAccount, names)
	}
	return t
}

func newTable(l looker) *Table {
	return &Table{looker: l, patience: patience, entries: make(map[uint32]*entry)}
}

// Fill completes the processes of one GPU: everything of monitor.Process but
// what the driver knows. Local says whether the PIDs are those of this machine;
// where they are not, what the source does not know is not_supported. Now is the sampler's steady
// clock, as monitor.Reading.At.
//
// CPU load is that of the time since the Fill before, not_sampled at first. A
// name that the source gave stays where there is none to be found here. One
// Fill never takes much longer than half a second: what has not answered by
// then is unknown with reason timeout, and completed by a later one; an owner
// whose name has not come goes by the name that /etc/passwd has, or the number.
func (t *Table) Fill(list []monitor.Process, local bool, now int64) {
	if !local {
		for i := range list {
			if p := &list[i]; p.Command.Reason == monitor.NotSampled && p.StartTicks.Reason == monitor.NotSampled {
				withhold(p, monitor.NotSupported) // and nobody will
			}
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := waiter{t.patience}
	for i := range list {
		t.fill(&list[i], now, &w)
	}
	if t.service != nil {
		t.nameOwners(list, &w)
	}
	t.sweep(now)
}

func (t *Table) fill(p *monitor.Process, now int64, w *waiter) {
	e := t.entries[p.PID]
	if e == nil || now-e.at >= int64(fresh) || now < e.at {
		var before *sample
		if e != nil && !t.complete {
			before = &e.sample
		}
		s, err := t.looker.sample(p.PID, before, now)
		if err != nil {
			t.miss(p, err)
			return
		}
		e = t.update(p.PID, s, now)
	}
	e.seen = now
	if (!e.known || e.doubtful(now)) && !t.describe(p.PID, e, w) {
		t.miss(p, fs.ErrNotExist)
		return
	}
	f := &e.facts
	if !e.known {
		f = &late
	}
	v := t.looker.judge(f.holds)
	p.Namespace = v.namespace
	if v.why != monitor.Known {
		withhold(p, v.why)
		return
	}
	if f.name.Known() || !p.Name.Known() {
		p.Name = f.name
	}
	p.Command, p.User = f.command, f.user
	p.Container, p.Job, p.Unit = f.container, f.job, f.unit
	p.StartTicks = at(monitor.OfUint(e.start), e.at)
	p.StartTime = monitor.Unknown(monitor.NotSupported)
	if e.startTime != 0 {
		p.StartTime = at(monitor.OfInt(e.startTime), e.at)
	}
	p.HostMemoryBytes = e.memory
	p.CPUPercent = e.load
}

// miss tells why nothing is known of a PID.
func (t *Table) miss(p *monitor.Process, err error) {
	delete(t.entries, p.PID)
	v := t.looker.absent(p.PID, err)
	p.Namespace = v.namespace
	withhold(p, v.why)
	if title := t.looker.title(p.PID); title != "" {
		p.Name = monitor.OfText(title)
	}
}

// late stands for facts that have not been answered.
var late = facts{
	name:      monitor.UnknownText(monitor.Timeout),
	command:   monitor.UnknownText(monitor.Timeout),
	user:      monitor.UnknownText(monitor.Timeout),
	container: monitor.Container{Reason: monitor.Timeout},
	job:       monitor.Job{Reason: monitor.Timeout},
	unit:      monitor.UnknownText(monitor.Timeout),
}

// withhold makes everything unknown that is looked up here, but for a name that
// the source gave: that one is the driver's.
func withhold(p *monitor.Process, why monitor.Reason) {
	none, text := monitor.Unknown(why), monitor.UnknownText(why)
	p.StartTicks, p.StartTime, p.CPUPercent, p.HostMemoryBytes = none, none, none, none
	if !p.Name.Known() {
		p.Name = text
	}
	p.Command, p.User = text, text
	p.Container = monitor.Container{Reason: why}
	p.Job = monitor.Job{Reason: why}
	p.Unit = text
}

func at(r monitor.Reading, when int64) monitor.Reading {
	if r.Known() {
		r.At = when
	}
	return r
}

// update takes in what was read of a PID, which may by now be another process,
// or the same one running another program.
func (t *Table) update(pid uint32, s sample, now int64) *entry {
	e := t.entries[pid]
	if e == nil || e.start != s.start || now < e.at {
		e = &entry{load: monitor.Unknown(monitor.NotSampled)}
		t.entries[pid] = e
	} else {
		// The start is told once: the clock it comes from may be set meanwhile.
		s.startTime = e.startTime
		if e.comm != s.comm {
			e.known, e.asked, e.blanks = false, nil, 0
		}
	}
	if s.memory.Known() && s.memory.At == 0 {
		s.memory.At = now
	}
	e.sample, e.at = s, now
	if e.cpuAt == 0 {
		e.cpuFrom, e.cpuAt = s.cpu, now
		return e
	}
	if passed := now - e.cpuAt; passed >= int64(window) {
		spent := max(s.cpu-e.cpuFrom, 0)
		e.load = at(monitor.OfFloat(100*float64(spent)/float64(passed)), now)
		e.cpuFrom, e.cpuAt = s.cpu, now
	}
	return e
}

// describe looks up what stays, or takes the answer to an earlier question. It
// returns false when the PID has changed hands meanwhile: the next Fill sees
// whose it is.
func (t *Table) describe(pid uint32, e *entry, w *waiter) bool {
	before := e.asked != nil
	if !before {
		if t.pending.Load() >= maxPending {
			return true
		}
		a, s := &answer{done: make(chan struct{})}, e.sample
		t.pending.Add(1)
		go func() {
			a.facts, a.ok = t.looker.describe(pid, s)
			t.pending.Add(-1)
			close(a.done)
		}()
		e.asked = a
	}
	// What was waited for once is only looked at.
	if !w.wait(e.asked.done, !before) {
		return true
	}
	a := e.asked
	e.asked, e.facts, e.known, e.told = nil, a.facts, a.ok, e.at
	if a.facts.command.Reason == monitor.NotFound {
		e.blanks++
	}
	return a.ok
}

// doubtful reports whether to look again at a process without a command line:
// between two programs it has the new one's name already and no command line
// yet.
func (e *entry) doubtful(now int64) bool {
	return e.blanks == 1 && !e.ended && now-e.told >= int64(fresh)
}

// waiter waits for answers, all together no longer than twice its patience.
type waiter struct{ patience time.Duration }

func (w *waiter) wait(done <-chan struct{}, patient bool) bool {
	if !patient {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(w.patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		w.patience /= 2
		return false
	}
}

// sweep forgets what was not asked for since the sweep before, however long the
// time between two rounds is.
func (t *Table) sweep(now int64) {
	if passed := now - t.swept; passed >= 0 && passed < int64(keep) {
		return
	}
	for pid, e := range t.entries {
		if e.seen < t.swept || e.seen > now {
			delete(t.entries, pid)
		}
	}
	t.swept = now
}
