package summary

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/monitor"
)

// What is kept at most.
const (
	maxGPUs         = 512   // and instances
	maxCounted      = 65536 // GPUs or processes that are only counted
	maxStatePeriods = 100   // of a GPU
	maxAlarms       = 64    // of a GPU
	maxAlarmPeriods = 16    // of an alarm
	maxCodes        = 64    // Xid errors of a GPU that differ
	maxRecent       = 32    // Xid errors of a GPU told in a snapshot
)

// sameXID is how far the times of an Xid error may lie apart that two runs of
// the program found in the kernel's log: each counts from when it thinks the
// machine was started.
const sameXID = int64(2 * time.Second)

// quantity is something of which values are summed up.
type quantity struct {
	id   monitor.ReadingID
	unit float64 // of its distribution
}

const (
	utilization = iota
	smActive
	memoryUsed
	power
	temperature
	numQuantities
)

// quantities have units that are powers of two, by which numbers can be divided
// exactly.
var quantities = [numQuantities]quantity{
	utilization: {monitor.UtilizationPercent, 1.0 / 1024},
	smActive:    {monitor.SMActivePercent, 1.0 / 1024},
	memoryUsed:  {monitor.MemoryUsedBytes, 1 << 20},
	power:       {monitor.PowerMW, 1},
	temperature: {monitor.TemperatureC, 1.0 / 1024},
}

// gpu is what is kept of a GPU or instance.
type gpu struct {
	position  int // in the order of appearance
	parent    *gpu
	index     int
	instance  [2]int // GPU instance, compute instance; None where it is none
	uuid      monitor.Text
	bus       monitor.Text
	name      monitor.Text
	host      monitor.Text
	profile   string
	seq       int64 // the snapshot it was last in
	run       int64
	first     time.Time
	last      time.Time
	snapshots int64
	total     monitor.Reading // memory

	state   monitor.State
	states  [monitor.Unavailable + 1]int64 // ns
	periods []statePeriod
	more    int64 // periods that are not kept

	values   [numQuantities]distribution
	energy   energy
	throttle throttle

	alarms     []*alarm
	alarmsLeft int64

	xids      []xid
	xidsLeft  int64
	recent    []seen // of the last snapshot that knew them
	xidsKnown bool
	xidsWhy   reasons

	listRead int64 // the snapshot in which the processes were last read
	listed   int64 // snapshots in which they were
	listWhy  reasons
	listNow  monitor.Reason
}

type statePeriod struct {
	state       monitor.State
	reason      string
	first, last time.Time
	ns          int64
}

// addGPU adds a GPU, which is its own parent, or an instance, which shares the
// fate of its parent.
func (s *Summary) addGPU(snap *monitor.Snapshot, now, parent *monitor.GPU) {
	g := s.find(now)
	if g == nil || g.seq == s.seq {
		return // left out, or there twice
	}
	linked, before := s.linked && g.seq == s.seq-1, g.seq
	g.seq = s.seq
	s.present = append(s.present, g)
	g.identify(snap, now)
	if now != parent && g.snapshots == 1 {
		if p := s.find(parent); p != nil && p.parent == nil {
			g.parent = p
		}
	}
	state := now
	if parent.State != monitor.OK {
		state = parent
	}
	g.setState(state, snap.Time)

	why := state.Unmeasured()
	if state.State == monitor.Stale {
		why = monitor.Timeout // what it has was counted before
	}
	reading := func(id monitor.ReadingID) (*monitor.Reading, float64, monitor.Reason) {
		r := &now.Readings[id]
		if why != monitor.Known {
			return r, 0, why
		}
		v, missing := value(r)
		return r, v, missing
	}
	for i := range g.values {
		r, v, missing := reading(quantities[i].id)
		if missing != monitor.Known {
			g.values[i].miss(missing)
			continue
		}
		g.values[i].add(v, r.Provenance)
	}
	if r := &now.Readings[monitor.MemoryTotalBytes]; r.Known() || !g.total.Known() {
		g.total = *r
	}
	_, v, missing := reading(monitor.EnergyJoules)
	g.energy.counter.add(v, missing, linked, s.passed)
	_, v, missing = reading(monitor.PowerMW)
	g.energy.power.add(v, missing, linked, s.passed)
	r, _, missing := reading(monitor.ThrottleReasons)
	g.throttle.set(r, missing)
	g.addAlarms(now.Health, snap.Time, before, s.seq)
	g.addXIDs(now, s.runNumber)

	if g.listNow = why; why == monitor.Known {
		g.listNow = now.ProcStatus.Reason
	}
	if g.listNow != monitor.Known {
		g.listWhy.add(g.listNow)
		return
	}
	g.listRead = s.seq
	g.listed++
	for i := range now.Processes {
		s.processes.add(s, snap, g, &now.Processes[i])
	}
}

// find returns what is kept of a GPU, nil where there are too many.
func (s *Summary) find(now *monitor.GPU) *gpu {
	key := monitor.Key(now)
	if (!now.UUID.Known() || now.UUID.Value == "") && now.ParentUUID == "" {
		key = strconv.Itoa(int(s.boot)) + " " + key // which another host may have, too
	}
	if g := s.gpus[key]; g != nil {
		return g
	}
	if len(s.order) == maxGPUs || len(key) > maxText {
		if len(s.gpusLeft) < maxCounted {
			h := fnv.New64a()
			h.Write([]byte(key))
			s.gpusLeft[h.Sum64()] = struct{}{}
		}
		return nil
	}
	g := &gpu{position: len(s.order), index: monitor.None, instance: [2]int{monitor.None, monitor.None}}
	for i := range g.values {
		g.values[i].unit = quantities[i].unit
	}
	s.gpus[strings.Clone(key)] = g
	s.order = append(s.order, g)
	return g
}

func (g *gpu) identify(snap *monitor.Snapshot, now *monitor.GPU) {
	if g.snapshots == 0 {
		g.first = snap.Time
	}
	g.last = snap.Time
	g.snapshots++
	if now.Index >= 0 {
		g.index = now.Index
	}
	g.instance = [2]int{now.GPUInstanceID, now.ComputeInstanceID}
	keep(&g.uuid, &now.UUID)
	keep(&g.bus, &now.PCIBusID)
	keep(&g.name, &now.Name)
	keep(&g.host, &snap.Host.Hostname)
	if now.Profile != "" && short(now.Profile) != g.profile {
		g.profile = copied(now.Profile)
	}
}

func (g *gpu) setState(now *monitor.GPU, at time.Time) {
	state := min(now.State, monitor.Unavailable)
	if g.snapshots == 1 || state != g.state {
		if len(g.periods) < maxStatePeriods {
			g.periods = append(g.periods, statePeriod{state: state, first: at})
		} else {
			g.more++
		}
	}
	g.state = state
	if p := g.period(); p != nil {
		p.last = at
		if now.StateReason != "" && short(now.StateReason) != p.reason {
			p.reason = copied(now.StateReason)
		}
	}
}

// period returns the one that g is in, nil where it is not kept.
func (g *gpu) period() *statePeriod {
	if g.more > 0 {
		return nil
	}
	return &g.periods[len(g.periods)-1]
}

// pass counts time for what the last snapshot said of g.
func (g *gpu) pass(ns int64) {
	g.states[g.state] += ns
	if p := g.period(); p != nil {
		p.ns += ns
	}
	g.throttle.pass(ns)
	for _, a := range g.alarms {
		if a.seq == g.seq {
			a.pass(ns)
		}
	}
}

// energy is what a GPU consumed: what its counter says, and what follows from
// its power.
type energy struct {
	counter counter
	power   integral
}

// counter adds up by how much a counter rose from one snapshot to the next.
type counter struct {
	known  bool // the last reading was
	last   float64
	sum    float64
	ns     int64 // over which it was added up
	resets int64
	why    reasons
}

func (c *counter) add(v float64, missing monitor.Reason, linked bool, passed int64) {
	known := missing == monitor.Known
	if !known {
		c.why.add(missing)
	} else if c.known && linked && v < c.last {
		c.resets++
	} else if c.known && linked {
		c.sum += v - c.last
		c.ns += passed
	}
	c.known, c.last = known, v
}

// integral adds up mW over time, from one reading to the next along a straight
// line.
type integral struct {
	known bool
	last  float64
	sum   float64 // J
	ns    int64
	why   reasons
}

func (c *integral) add(v float64, missing monitor.Reason, linked bool, passed int64) {
	known := missing == monitor.Known
	if !known {
		c.why.add(missing)
	} else if c.known && linked {
		c.sum += (v + c.last) / 2 / 1000 * float64(passed) / 1e9
		c.ns += passed
	}
	c.known, c.last = known, v
}

// throttle is for how long each reason held a GPU back.
type throttle struct {
	known   bool // the last reading was
	ever    bool // one was
	bits    uint64
	words   []int     // those without a bit in the last reading, by their place in others
	more    bool      // it had some that are not kept
	ns      [64]int64 // by bit
	others  []foreign
	left    int64 // ns in which there were words that are not kept
	covered int64 // ns in which the reasons were known
	why     reasons
}

type foreign struct {
	word string
	ns   int64
}

func (t *throttle) set(r *monitor.Reading, missing monitor.Reason) {
	t.known = missing == monitor.Known
	if !t.known {
		t.why.add(missing)
		return
	}
	t.ever = true
	t.bits, _ = r.Bits()
	t.words, t.more = t.words[:0], false
	for _, word := range strings.Fields(r.Err.Name()) {
		i := t.place(word)
		if i < 0 {
			t.more = true
		} else if !slices.Contains(t.words, i) {
			t.words = append(t.words, i)
		}
	}
}

// place returns where a word without a bit is kept, -1 where it is not.
func (t *throttle) place(word string) int {
	word = short(word)
	for i := range t.others {
		if t.others[i].word == word {
			return i
		}
	}
	if len(t.others) == maxWords {
		return -1
	}
	t.others = append(t.others, foreign{word: strings.Clone(word)})
	return len(t.others) - 1
}

func (t *throttle) pass(ns int64) {
	if !t.known {
		return
	}
	t.covered += ns
	for bit, rest := 0, t.bits; rest != 0; bit, rest = bit+1, rest>>1 {
		if rest&1 != 0 {
			t.ns[bit] += ns
		}
	}
	for _, i := range t.words {
		t.others[i].ns += ns
	}
	if t.more {
		t.left += ns
	}
}

// alarm is a finding about a GPU; those of one code are one alarm, but for Xid
// errors, which are one for each number.
type alarm struct {
	code        string
	mark        string // what tells those of one code apart
	text        string // the last
	level       monitor.Level
	first, last time.Time
	ns          int64
	times       int64 // that it began
	seq         int64 // the snapshot it was last in
	periods     []alarmPeriod
}

type alarmPeriod struct {
	first, last time.Time
	ns          int64
}

func (a *alarm) pass(ns int64) {
	a.ns += ns
	if a.times == int64(len(a.periods)) {
		a.periods[len(a.periods)-1].ns += ns
	}
}

// markOf returns what tells findings of the same code apart.
func markOf(h *monitor.Health) string {
	if h.Code != "xid" {
		return ""
	}
	text := h.Text
	if i := strings.IndexAny(text, ",("); i >= 0 {
		text = strings.TrimRight(text[:i], " ")
	}
	return short(text)
}

// addAlarms adds the findings of snapshot seq. One that was there in the snapshot
// before goes on, whatever lies between.
func (g *gpu) addAlarms(health []monitor.Health, at time.Time, before, seq int64) {
	for i := range health {
		h := &health[i]
		code, mark := short(h.Code), markOf(h)
		var a *alarm
		for _, have := range g.alarms {
			if have.code == code && have.mark == mark {
				a = have
				break
			}
		}
		if a == nil {
			if len(g.alarms) == maxAlarms {
				g.alarmsLeft++
				continue
			}
			a = &alarm{code: copied(h.Code), mark: strings.Clone(mark), first: at}
			g.alarms = append(g.alarms, a)
		}
		if a.seq != seq && (a.times == 0 || a.seq != before) {
			if a.times < maxAlarmPeriods {
				a.periods = append(a.periods, alarmPeriod{first: at})
			}
			a.times++
		}
		a.seq, a.last = seq, at
		a.level = max(a.level, min(h.Level, monitor.Critical))
		if a.text != short(h.Text) {
			a.text = copied(h.Text)
		}
		if a.times == int64(len(a.periods)) {
			a.periods[len(a.periods)-1].last = at
		}
	}
}

// xid is one kind of Xid error.
type xid struct {
	code        int
	count       int64
	first, last int64 // ns since 1970
}

// seen is an Xid error as far as it takes to know it again.
type seen struct {
	time     int64
	code     int
	instance [2]int
}

func (a seen) same(b seen, slack int64) bool {
	return a.code == b.code && a.instance == b.instance && a.time-b.time <= slack && b.time-a.time <= slack
}

// addXIDs adds the Xid errors of now that the snapshot before did not have.
func (g *gpu) addXIDs(now *monitor.GPU, run int64) {
	slack := int64(0)
	if g.run != run {
		slack = sameXID
	}
	g.run = run
	if now.XIDsStatus.Reason != monitor.Known {
		g.xidsWhy.add(now.XIDsStatus.Reason)
		return
	}
	g.xidsKnown = true
	list := now.XIDs[max(0, len(now.XIDs)-maxRecent):]
	of := func(x *monitor.XID) seen {
		return seen{x.Time, x.Code, [2]int{x.GPUInstanceID, x.ComputeInstanceID}}
	}
	same := len(list) == len(g.recent)
	for i := 0; same && i < len(list); i++ {
		same = of(&list[i]) == g.recent[i]
	}
	if same {
		return
	}
next:
	for i := range list {
		x := of(&list[i])
		for _, have := range g.recent {
			if x.same(have, slack) {
				continue next
			}
		}
		for j := range i {
			if x == of(&list[j]) {
				continue next
			}
		}
		g.addXID(x)
	}
	g.recent = g.recent[:0]
	for i := range list {
		g.recent = append(g.recent, of(&list[i]))
	}
}

func (g *gpu) addXID(x seen) {
	for i := range g.xids {
		if have := &g.xids[i]; have.code == x.code {
			have.count++
			have.first, have.last = min(have.first, x.time), max(have.last, x.time)
			return
		}
	}
	if len(g.xids) == maxCodes {
		g.xidsLeft++
		return
	}
	g.xids = append(g.xids, xid{x.code, 1, x.time, x.time})
}
