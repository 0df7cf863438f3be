package process

import (
	"io/fs"
	"sync"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

const second = int64(time.Second)

// town is a looker of processes that exist only here.
type town struct {
	mu        sync.Mutex
	people    map[uint32]sample
	samples   int
	describes int
	hold      map[uint32]chan struct{} // look-ups that wait
	holds     holding
	blank     bool // nobody has a command line
}

func (w *town) sample(pid uint32, _ *sample, _ int64) (sample, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples++
	s, ok := w.people[pid]
	if !ok {
		return sample{}, fs.ErrNotExist
	}
	return s, nil
}

func (w *town) describe(pid uint32, s sample) (facts, bool) {
	w.mu.Lock()
	w.describes++
	hold := w.hold[pid]
	now, ok := w.people[pid]
	w.mu.Unlock()
	if hold != nil {
		<-hold
	}
	command := monitor.OfText(s.comm + " -x")
	if w.blank {
		command = monitor.UnknownText(monitor.NotFound)
	}
	return facts{
		name: monitor.OfText(s.comm), command: command, user: monitor.OfText("kim"), uid: pid,
		container: monitor.Container{Reason: monitor.Known}, job: monitor.Job{Reason: monitor.Known}, unit: monitor.OfText(""),
		holds: w.holds,
	}, ok && now.start == s.start
}

func (w *town) judge(h holding) verdict {
	if h == holdingNone {
		return verdict{monitor.NamespaceOutside, monitor.NotFound}
	}
	return verdict{monitor.NamespaceSame, monitor.Known}
}

func (w *town) absent(uint32, error) verdict {
	return verdict{monitor.NamespaceUnknown, monitor.NotFound}
}
func (w *town) title(uint32) string { return "" }

func (w *town) set(pid uint32, s sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people[pid] = s
}

func newTown() *town {
	return &town{people: make(map[uint32]sample), hold: make(map[uint32]chan struct{})}
}

func person(comm string, start uint64, cpu time.Duration) sample {
	return sample{comm: comm, start: start, cpu: cpu, startTime: 1e18, memory: monitor.OfInt(4096)}
}

func fillOne(tab *Table, pid uint32, now int64) monitor.Process {
	list := []monitor.Process{{PID: pid}}
	tab.Fill(list, true, now)
	return list[0]
}

func TestCPUPercent(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	now := 1000 * second
	w.set(7, person("x", 1, 10*time.Second))
	if p := fillOne(tab, 7, now); p.CPUPercent.Reason != monitor.NotSampled {
		t.Errorf("first: %v, want not_sampled", p.CPUPercent)
	}
	w.set(7, person("x", 1, 12500*time.Millisecond))
	p := fillOne(tab, 7, now+second)
	if v, ok := p.CPUPercent.Float(); !ok || v != 250 || p.CPUPercent.At != now+second {
		t.Errorf("%v at %d, want 250 %% of one core", v, p.CPUPercent.At)
	}
	// Another GPU in the same round: neither read again nor divided by nothing.
	before := w.samples
	if v, _ := fillOne(tab, 7, now+second+1000).CPUPercent.Float(); v != 250 || w.samples != before {
		t.Errorf("%v after %d reads", v, w.samples-before)
	}
	// Too short a time to tell: the former value stays.
	w.set(7, person("x", 1, 12510*time.Millisecond))
	if v, _ := fillOne(tab, 7, now+second+60e6).CPUPercent.Float(); v != 250 {
		t.Errorf("after 60 ms: %v", v)
	}
	if v, ok := fillOne(tab, 7, now+2*second).CPUPercent.Float(); !ok || v != 1 {
		t.Errorf("10 ms of one second are %v %%", v)
	}
	if v, ok := fillOne(tab, 7, now+3*second).CPUPercent.Float(); !ok || v != 0 {
		t.Errorf("idle: %v, %v", v, ok)
	}
}

func TestPIDReuse(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	w.set(7, person("old", 1, time.Second))
	fillOne(tab, 7, second)
	fillOne(tab, 7, 2*second)
	w.set(7, person("new", 2, 0))
	p := fillOne(tab, 7, 3*second)
	if p.Name.Value != "new" || p.CPUPercent.Reason != monitor.NotSampled {
		t.Errorf("%+v", p)
	}
	if v, _ := p.StartTicks.Int(); v != 2 {
		t.Errorf("start %d", v)
	}
	if w.describes != 2 {
		t.Errorf("%d look-ups for two processes", w.describes)
	}
}

func TestAnotherProgramInTheSameProcess(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	w.set(7, person("bash", 1, 0))
	fillOne(tab, 7, second)
	s := person("train.py", 1, time.Second)
	s.startTime += 5 // the clock was set
	w.set(7, s)
	p := fillOne(tab, 7, 2*second)
	if p.Name.Value != "train.py" {
		t.Errorf("%+v", p.Name)
	}
	if v, _ := p.StartTime.Int(); v != 1e18 {
		t.Errorf("the start moved to %d", v)
	}
	if v, ok := p.CPUPercent.Float(); !ok || v != 100 {
		t.Errorf("CPU load %v %v", v, p.CPUPercent.Reason)
	}
}

// Between two programs a process has the new one's name and no command line yet.
func TestCommandLineThatComesLater(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	w.set(7, person("train.py", 1, 0))
	w.blank = true
	if p := fillOne(tab, 7, second); p.Command.Reason != monitor.NotFound {
		t.Errorf("%+v", p.Command)
	}
	w.blank = false
	if p := fillOne(tab, 7, 2*second); p.Command.Value != "train.py -x" {
		t.Errorf("%+v", p.Command)
	}
	// One that never has one is not asked for ever.
	w.blank = true
	w.set(8, person("kthread", 1, 0))
	w.describes = 0
	for i := range int64(5) {
		fillOne(tab, 8, (3+i)*second)
	}
	if w.describes != 2 {
		t.Errorf("%d look-ups of a process without a command line", w.describes)
	}
}

func TestLookUpsHappenOnce(t *testing.T) {
	const n = 4096
	w := newTown()
	tab := newTable(w)
	list := make([]monitor.Process, n)
	for i := range list {
		list[i].PID = uint32(i + 1)
		w.set(uint32(i+1), person("x", 1, 0))
	}
	for round := range int64(3) {
		tab.Fill(list, true, (round+1)*second)
	}
	if w.samples != 3*n || w.describes != n {
		t.Errorf("%d reads and %d look-ups for %d processes in 3 rounds", w.samples, w.describes, n)
	}
}

func TestNotLocal(t *testing.T) {
	w := newTown()
	w.set(7, person("local", 1, 0))
	list := []monitor.Process{{PID: 7, Name: monitor.OfText("simulated")}, {PID: 8}}
	newTable(w).Fill(list, false, second)
	if w.samples != 0 || list[0].Name.Value != "simulated" || list[1].Name.Reason != monitor.NotSupported || list[0].Namespace != monitor.NamespaceUnknown {
		t.Errorf("%d reads, %+v", w.samples, list)
	}
}

// unknownBecause checks that everything that is looked up is unknown for one
// reason.
func unknownBecause(t *testing.T, what string, p monitor.Process, why monitor.Reason) {
	t.Helper()
	for name, got := range map[string]monitor.Reason{
		"start_ticks": p.StartTicks.Reason, "start_time": p.StartTime.Reason, "cpu_percent": p.CPUPercent.Reason,
		"host_memory_bytes": p.HostMemoryBytes.Reason, "name": p.Name.Reason, "command": p.Command.Reason, "user": p.User.Reason,
		"container": p.Container.Reason, "job": p.Job.Reason,
	} {
		if got != why {
			t.Errorf("%s: %s is %q, want %q", what, name, got, why)
		}
	}
}

func TestGone(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	unknownBecause(t, "never there", fillOne(tab, 7, second), monitor.NotFound)
	w.set(7, person("x", 1, 0))
	if p := fillOne(tab, 7, 2*second); p.Name.Value != "x" {
		t.Errorf("%+v", p)
	}
	w.mu.Lock()
	delete(w.people, 7)
	w.mu.Unlock()
	// The same record is filled again, as a source may keep it.
	list := []monitor.Process{{PID: 7, CPUPercent: monitor.OfFloat(5), User: monitor.OfText("kim")}}
	tab.Fill(list, true, 3*second)
	unknownBecause(t, "gone", list[0], monitor.NotFound)
	// The driver may know a name all the same.
	list = []monitor.Process{{PID: 7, Name: monitor.OfText("driver's")}}
	tab.Fill(list, true, 4*second)
	if list[0].Name.Value != "driver's" || list[0].User.Reason != monitor.NotFound {
		t.Errorf("%+v", list[0])
	}
}

func TestUnverified(t *testing.T) {
	w := newTown()
	w.holds = holdingNone
	w.set(7, person("somebody else", 1, 0))
	p := fillOne(newTable(w), 7, second)
	unknownBecause(t, "another process", p, monitor.NotFound)
	if p.Namespace != monitor.NamespaceOutside {
		t.Errorf("%v", p.Namespace)
	}
}

func TestReplacedWhileLookedAt(t *testing.T) {
	w := newTown()
	tab := newTable(&changing{w})
	w.set(7, person("old", 1, 0))
	unknownBecause(t, "replaced", fillOne(tab, 7, second), monitor.NotFound)
	tab.looker = w
	if p := fillOne(tab, 7, second+1); p.Name.Value != "new" {
		t.Errorf("%+v", p.Name)
	}
}

// changing replaces PID 7 between the first look and the second.
type changing struct{ *town }

func (c *changing) describe(pid uint32, s sample) (facts, bool) {
	c.set(pid, person("new", 2, 0))
	return c.town.describe(pid, s)
}

// A process whose files never come costs its own row, not those of others, and
// not the next round.
func TestHang(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	tab.patience = 20 * time.Millisecond
	hold := make(chan struct{})
	list := make([]monitor.Process, 40)
	for i := range list {
		pid := uint32(i + 1)
		list[i].PID = pid
		w.set(pid, person("x", 1, time.Second))
		if i < 20 && i%2 == 0 {
			w.hold[pid] = hold
		}
	}
	tab.Fill(list, true, second)
	late, known := 0, 0
	for i := range list {
		p := &list[i]
		switch {
		case p.Name.Reason == monitor.Timeout && p.User.Reason == monitor.Timeout && p.Container.Reason == monitor.Timeout:
			late++
			if !p.HostMemoryBytes.Known() || !p.StartTicks.Known() {
				t.Errorf("PID %d lost what was read of it: %+v", p.PID, p)
			}
		case p.Name.Known():
			known++
		}
	}
	if got := tab.pending.Load(); got != maxPending {
		t.Errorf("%d look-ups hang, want no more than %d", got, maxPending)
	}
	if late+known != len(list) || late < maxPending || known == 0 {
		t.Errorf("%d late, %d known", late, known)
	}
	close(hold)
	deadline := time.Now().Add(time.Minute)
	for now := 2 * second; ; now += second {
		tab.Fill(list, true, now)
		known = 0
		for i := range list {
			if list[i].Name.Known() {
				known++
			}
		}
		if known == len(list) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d known after the files came", known, len(list))
		}
		time.Sleep(time.Millisecond)
	}
}

func TestForgetting(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, time.Minute, time.Hour} {
		w := newTown()
		tab := newTable(w)
		w.set(7, person("stays", 1, 0))
		w.set(8, person("leaves", 1, 0))
		now := int64(1000 * time.Hour)
		fillOne(tab, 8, now)
		steps := int(2*keep/interval) + 3
		for range steps {
			now += int64(interval)
			p := fillOne(tab, 7, now)
			if p.CPUPercent.Known() != (now > int64(1000*time.Hour)+int64(interval)) {
				t.Fatalf("every %v: CPU load %v", interval, p.CPUPercent.Reason)
			}
		}
		if _, ok := tab.entries[7]; !ok || len(tab.entries) != 1 {
			t.Errorf("every %v: %d remembered", interval, len(tab.entries))
		}
	}
}

func TestConcurrentFills(t *testing.T) {
	w := newTown()
	tab := newTable(w)
	for pid := range uint32(50) {
		w.set(pid, person("x", 1, 0))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			list := make([]monitor.Process, 50)
			for round := range int64(20) {
				for i := range list {
					list[i].PID = uint32(i)
				}
				tab.Fill(list, true, (round+1)*second+int64(g))
				for i := range list {
					if list[i].Name.Value != "x" {
						t.Errorf("%+v", list[i])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
