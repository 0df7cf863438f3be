package summary

import (
	"math"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// document is the form of the JSON, which the text is made from, too. In an
// object with "unavailable" every null has its reason there, but for what does
// not apply.
type document struct {
	Schema        string       `json:"schema"`
	File          string       `json:"file"`
	First         *time.Time   `json:"first_time"` // null: no snapshot
	Last          *time.Time   `json:"last_time"`
	Snapshots     int64        `json:"snapshots"`
	Covered       nanos        `json:"covered_seconds"` // without gaps and the time between runs
	Least         *float64     `json:"interval_seconds_min"`
	Most          *float64     `json:"interval_seconds_max"`
	Sources       []string     `json:"sources"`
	SourcesLeft   int64        `json:"sources_left_out"`
	Hosts         []string     `json:"hosts"`
	HostsLeft     int64        `json:"hosts_left_out"`
	Drivers       []*docDriver `json:"drivers"`
	DriversLeft   int64        `json:"drivers_left_out"` // snapshots
	Waiting       nanos        `json:"waiting_seconds"`
	WaitingReason word         `json:"waiting_reason"` // the last; null: it never waited
	Broken        docBroken    `json:"broken_lines"`
	Damaged       int          `json:"damaged_parts"` // of compressed data
	Runs          []*docRun    `json:"runs"`
	RunsLeft      int64        `json:"runs_left_out"`
	Overlapping   int          `json:"runs_overlapping"` // with one before them
	Clock         docClock     `json:"clock_changes"`
	Gaps          docGaps      `json:"gaps"`
	GPUs          []*docGPU    `json:"gpus"`
	GPUsLeft      int          `json:"gpus_left_out"`
	Processes     []*docProc   `json:"processes"` // by memory, the most first
	ProcessesLeft docLeft      `json:"processes_left_out"`
}

type docDriver struct {
	Version     *string `json:"version"`
	CUDA        *string `json:"cuda_version"`
	First       stamp   `json:"first_time"`
	Last        stamp   `json:"last_time"`
	Snapshots   int64   `json:"snapshots"`
	Unavailable missing `json:"unavailable"`
}

type docBroken struct {
	Count int     `json:"count"`
	First []int64 `json:"first"` // line numbers
}

type docRun struct {
	First       stamp   `json:"first_time"`
	Last        stamp   `json:"last_time"`
	Snapshots   int64   `json:"snapshots"`
	Covered     nanos   `json:"covered_seconds"`
	Host        *string `json:"hostname"`
	Boot        *string `json:"boot_id"`
	Source      string  `json:"source"`
	Unavailable missing `json:"unavailable"`
}

type docGaps struct {
	Count   int64     `json:"count"`
	Seconds nanos     `json:"seconds"`
	List    []*docGap `json:"list"`
	Left    int64     `json:"left_out"`
}

type docGap struct {
	From    stamp `json:"from"`
	To      stamp `json:"to"`
	Seconds nanos `json:"seconds"`
}

type docClock struct {
	Count int64     `json:"count"`
	List  []*docGap `json:"list"` // negative seconds: it was set back
	Left  int64     `json:"left_out"`
}

type docGPU struct {
	Index           *int         `json:"index"` // the last known
	UUID            *string      `json:"uuid"`
	Bus             *string      `json:"pci_bus_id"`
	Name            *string      `json:"name"`
	Host            *string      `json:"hostname"`        // where it was last
	GPUInstance     *int         `json:"gpu_instance_id"` // null: no MIG instance
	ComputeInstance *int         `json:"compute_instance_id"`
	Profile         word         `json:"profile"`
	Parent          *int         `json:"parent"` // position in gpus
	First           stamp        `json:"first_time"`
	Last            stamp        `json:"last_time"`
	Snapshots       int64        `json:"snapshots"`
	State           string       `json:"state"` // the last
	States          members      `json:"state_seconds"`
	Periods         []*docPeriod `json:"state_periods"`
	PeriodsLeft     int64        `json:"state_periods_left_out"`
	Total           *float64     `json:"memory_total_bytes"` // the last known
	Utilization     docValues    `json:"utilization_percent"`
	SM              docValues    `json:"sm_active_percent"`
	Memory          docValues    `json:"memory_used_bytes"`
	Power           docValues    `json:"power_mw"`
	Temperature     docValues    `json:"temperature_c"`
	Energy          docEnergy    `json:"energy"`
	Throttle        members      `json:"throttle_seconds"`
	ThrottleKnown   nanos        `json:"throttle_known_seconds"`
	Alarms          []*docAlarm  `json:"alarms"`
	AlarmsLeft      int64        `json:"alarms_left_out"` // findings in snapshots
	XIDs            []*docXID    `json:"xids"`
	XIDsLeft        int64        `json:"xids_left_out"`
	ListsRead       int64        `json:"process_lists_read"` // of as many as snapshots
	ListsReason     word         `json:"process_lists_reason"`
	Unavailable     missing      `json:"unavailable"`

	gpu *gpu
}

type docPeriod struct {
	State   string `json:"state"`
	Reason  word   `json:"reason"` // null: none is needed
	First   stamp  `json:"first_time"`
	Last    stamp  `json:"last_time"`
	Seconds nanos  `json:"seconds"`
}

// docValues are the figures of one quantity. Without any known value they are
// null, and the reason is the one most often given.
type docValues struct {
	Count      int64    `json:"count"`
	Unknown    int64    `json:"unknown"` // snapshots without a value
	Reason     word     `json:"reason"`  // the one most often given; null: none was missing
	Min        *float64 `json:"min"`
	Mean       *float64 `json:"mean"`
	P50        *float64 `json:"p50"`
	P95        *float64 `json:"p95"`
	Max        *float64 `json:"max"`
	Estimated  bool     `json:"percentiles_estimated"` // at most 0.1 % off
	Provenance word     `json:"provenance"`            // null: all were measured
}

type docEnergy struct {
	Joules    *float64 `json:"joules"`
	Seconds   nanos    `json:"seconds"`   // over which it was added up
	Source    word     `json:"source"`    // counter or power
	Estimated bool     `json:"estimated"` // from power
	Resets    int64    `json:"counter_resets"`
	Reason    word     `json:"reason"` // why it is null
}

type docAlarm struct {
	Code        string            `json:"code"`
	Level       string            `json:"level"`
	Text        string            `json:"text"` // the last
	First       stamp             `json:"first_time"`
	Last        stamp             `json:"last_time"`
	Seconds     nanos             `json:"seconds"`
	Times       int64             `json:"times"` // that it began
	Periods     []*docAlarmPeriod `json:"periods"`
	PeriodsLeft int64             `json:"periods_left_out"`

	level monitor.Level
}

type docAlarmPeriod struct {
	First   stamp `json:"first_time"`
	Last    stamp `json:"last_time"`
	Seconds nanos `json:"seconds"`
}

type docXID struct {
	Code  int   `json:"code"`
	Count int64 `json:"count"`
	First stamp `json:"first_time"`
	Last  stamp `json:"last_time"`
}

type docProc struct {
	Host        *string       `json:"hostname"`
	Boot        *string       `json:"boot_id"`
	PID         uint32        `json:"pid"`
	Ticks       *int64        `json:"start_ticks"`
	Start       *time.Time    `json:"start_time"`
	Name        *string       `json:"name"`
	User        *string       `json:"user"`
	Container   *docContainer `json:"container"` // null with a reason: unknown; without: none
	Job         *docJob       `json:"job"`
	Unit        word          `json:"unit"`
	First       stamp         `json:"first_time"`
	Last        stamp         `json:"last_time"`
	Snapshots   int64         `json:"snapshots"`
	Seconds     nanos         `json:"seconds"`
	Peak        *float64      `json:"peak_gpu_memory_bytes"` // of its GPUs together, in one snapshot
	SM          *float64      `json:"mean_sm_percent"`       // of its GPUs together: two in full use are 200
	SMCount     int64         `json:"sm_count"`              // snapshots in which that was known
	GPUs        []*docUse     `json:"gpus"`
	GPUsLeft    bool          `json:"gpus_incomplete"`
	Unavailable missing       `json:"unavailable"`
	Provenance  missing       `json:"provenance"`
}

type docContainer struct {
	Runtime string `json:"runtime"`
	ID      string `json:"id"`
	PodUID  word   `json:"pod_uid"`
}

type docJob struct {
	Scheduler string `json:"scheduler"`
	ID        string `json:"id"`
	Step      word   `json:"step"`
}

type docUse struct {
	GPU         int      `json:"gpu"` // position in gpus
	UUID        *string  `json:"uuid"`
	Seconds     nanos    `json:"seconds"`
	Peak        *float64 `json:"peak_gpu_memory_bytes"`
	SM          *float64 `json:"mean_sm_percent"`
	SMCount     int64    `json:"sm_count"`
	Unavailable missing  `json:"unavailable"`
	Provenance  missing  `json:"provenance"`
}

type docLeft struct {
	Count int64    `json:"count"`
	Peak  *float64 `json:"peak_gpu_memory_bytes"` // the largest of them; null: unknown of all
}

// missing are words by key.
type missing []struct{ key, word string }

// AppendJSON writes an object.
func (m missing) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, e := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(json.Append(dst, e.key), ':')
		dst = json.Append(dst, e.word)
	}
	return append(dst, '}')
}

// Inlined, it would make the program 8 kB larger.
//
//go:noinline
func (m *missing) add(key, word string) {
	*m = append(*m, struct{ key, word string }{key, word})
}

// text returns a text or null, and then notes why.
func (m *missing) text(key string, t *monitor.Text) *string {
	if t.Known() {
		return &t.Value
	}
	m.add(key, t.Reason.String())
	return nil
}

// members are numbers by key.
type members []member

type member struct {
	key   string
	value nanos
}

// AppendJSON writes an object, or null.
func (m members) AppendJSON(dst []byte) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, e := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(json.Append(dst, e.key), ':')
		dst = json.Append(dst, e.value)
	}
	return append(dst, '}')
}

// stamp is a time, written in UTC.
type stamp time.Time

// AppendJSON writes the time.
func (t stamp) AppendJSON(dst []byte) []byte { return json.Append(dst, time.Time(t).UTC()) }

// stampOf returns the time that is ns after the beginning of 1970.
func stampOf(ns int64) stamp { return stamp(time.Unix(0, ns)) }

// nanos is a span of time in ns, written in seconds, to the millisecond.
type nanos int64

func (n nanos) seconds() float64 { return math.Round(float64(n)/1e6) / 1e3 }

// AppendJSON writes the seconds.
func (n nanos) AppendJSON(dst []byte) []byte { return json.Append(dst, n.seconds()) }

// word is a text that is null where there is none.
type word string

// AppendJSON writes the text or null.
func (w word) AppendJSON(dst []byte) []byte {
	if w == "" {
		return append(dst, "null"...)
	}
	return json.Append(dst, string(w))
}

func idOrNil(id int) *int {
	if id < 0 {
		return nil
	}
	return &id
}

// Append appends the summary as one JSON object on one line, without a line end.
func (s *Summary) Append(dst []byte) []byte { return json.Append(dst, s.document()) }

func (s *Summary) document() *document {
	d := &document{
		Schema: Schema, File: s.file, Snapshots: s.snapshots, Covered: nanos(s.covered),
		Sources: append([]string{}, s.sources.list...), SourcesLeft: s.sources.left,
		Hosts: append([]string{}, s.hosts.list...), HostsLeft: s.hosts.left,
		Drivers: []*docDriver{}, DriversLeft: s.driversLeft,
		Waiting: nanos(s.waitingFor), WaitingReason: word(s.waitingReason),
		Broken: docBroken{s.broken, append([]int64{}, s.brokenLines...)}, Damaged: s.damaged,
		Runs: []*docRun{}, RunsLeft: s.runsLeft,
		Clock: docClock{s.setsCount, []*docGap{}, s.setsCount - int64(len(s.sets))},
		Gaps:  docGaps{s.gapsCount, nanos(s.gapsPassed), []*docGap{}, s.gapsCount - int64(len(s.gaps))},
		GPUs:  []*docGPU{}, GPUsLeft: len(s.gpusLeft), Processes: []*docProc{},
		ProcessesLeft: docLeft{Count: s.processes.left + int64(len(s.processes.refused))},
	}
	if s.snapshots > 0 {
		least, most := s.least.Seconds(), s.most.Seconds()
		first, last := s.first.UTC(), s.last.UTC()
		d.First, d.Last, d.Least, d.Most = &first, &last, &least, &most
	}
	for i := range s.drivers {
		v := &s.drivers[i]
		out := &docDriver{First: stamp(v.first), Last: stamp(v.last), Snapshots: v.snapshots}
		out.Version = out.Unavailable.text("version", &v.version)
		out.CUDA = out.Unavailable.text("cuda_version", &v.cuda)
		d.Drivers = append(d.Drivers, out)
	}
	runs := s.runs
	if s.snapshots > 0 {
		if len(runs) < maxRuns {
			runs = append(runs[:len(runs):len(runs)], s.now)
		} else {
			d.RunsLeft++
		}
	}
	for i := range runs {
		r := &runs[i]
		out := &docRun{First: stamp(r.first), Last: stamp(r.last), Snapshots: r.snapshots, Covered: nanos(r.covered), Source: r.source}
		out.Host = out.Unavailable.text("hostname", &r.host)
		out.Boot = out.Unavailable.text("boot_id", &r.boot)
		d.Runs = append(d.Runs, out)
		for j := range runs[:i] {
			if r.overlaps(&runs[j]) {
				d.Overlapping++
				break
			}
		}
	}
	for _, c := range s.sets {
		d.Clock.List = append(d.Clock.List, &docGap{stamp(c.from), stamp(c.to), nanos(c.by)})
	}
	for _, g := range s.gaps {
		d.Gaps.List = append(d.Gaps.List, &docGap{stamp(g.from), stamp(g.to), nanos(g.passed)})
	}
	places := s.places()
	for _, g := range places.order {
		d.GPUs = append(d.GPUs, g.document(places))
	}
	for _, p := range s.processes.sorted() {
		d.Processes = append(d.Processes, p.document(places))
	}
	if s.processes.leftKnown {
		d.ProcessesLeft.Peak = &s.processes.leftPeak
	}
	return d
}

// overlaps reports whether two runs, of one machine as far as is known, are of
// the same time.
func (r *run) overlaps(other *run) bool {
	order := func(r *run) (from, to time.Time) {
		if r.last.Before(r.first) { // the clock was set back
			return r.last, r.first
		}
		return r.first, r.last
	}
	from, to := order(r)
	otherFrom, otherTo := order(other)
	return !differ(&r.host, &other.host) && !from.After(otherTo) && !otherFrom.After(to)
}

// places tells where GPUs stand in the output: in the order of appearance, but
// instances behind their parents.
type places struct {
	order []*gpu
	of    []int // by position
}

func (s *Summary) places() *places {
	p := &places{of: make([]int, len(s.order))}
	children := make([][]*gpu, len(s.order))
	for _, g := range s.order {
		if g.parent != nil {
			children[g.parent.position] = append(children[g.parent.position], g)
		}
	}
	put := func(g *gpu) {
		p.of[g.position] = len(p.order)
		p.order = append(p.order, g)
	}
	for _, g := range s.order {
		if g.parent != nil {
			continue
		}
		put(g)
		for _, c := range children[g.position] {
			put(c)
		}
	}
	return p
}

func (g *gpu) document(at *places) *docGPU {
	d := &docGPU{
		Index: idOrNil(g.index), GPUInstance: idOrNil(g.instance[0]), ComputeInstance: idOrNil(g.instance[1]),
		Profile: word(g.profile), First: stamp(g.first), Last: stamp(g.last), Snapshots: g.snapshots,
		State: g.state.String(), Periods: []*docPeriod{}, PeriodsLeft: g.more,
		ThrottleKnown: nanos(g.throttle.covered), Alarms: []*docAlarm{}, AlarmsLeft: g.alarmsLeft,
		XIDsLeft: g.xidsLeft, ListsRead: g.listed, gpu: g,
	}
	if d.Index == nil {
		d.Unavailable.add("index", monitor.NotFound.String())
	}
	d.UUID = d.Unavailable.text("uuid", &g.uuid)
	d.Bus = d.Unavailable.text("pci_bus_id", &g.bus)
	d.Name = d.Unavailable.text("name", &g.name)
	d.Host = d.Unavailable.text("hostname", &g.host)
	if g.parent != nil {
		d.Parent = &at.of[g.parent.position]
	}
	for state, ns := range g.states {
		d.States = append(d.States, member{monitor.State(state).String(), nanos(ns)})
	}
	for i := range g.periods {
		p := &g.periods[i]
		d.Periods = append(d.Periods, &docPeriod{p.state.String(), word(p.reason), stamp(p.first), stamp(p.last), nanos(p.ns)})
	}
	if v, why := value(&g.total); why == monitor.Known {
		d.Total = &v
	} else {
		d.Unavailable.add("memory_total_bytes", why.String())
	}
	for i, out := range [numQuantities]*docValues{&d.Utilization, &d.SM, &d.Memory, &d.Power, &d.Temperature} {
		*out = g.values[i].document()
	}
	d.Energy = g.energy.document()
	if g.throttle.ever {
		d.Throttle = g.throttle.document()
	} else {
		d.Unavailable.add("throttle_seconds", g.throttle.why.most().String())
	}
	for i := range g.alarms {
		d.Alarms = append(d.Alarms, g.alarms[i].document())
	}
	if g.xidsKnown {
		d.XIDs = []*docXID{}
		for _, x := range g.xids {
			d.XIDs = append(d.XIDs, &docXID{x.code, x.count, stampOf(x.first), stampOf(x.last)})
		}
	} else {
		d.Unavailable.add("xids", g.xidsWhy.most().String())
	}
	if g.listed < g.snapshots {
		d.ListsReason = word(g.listWhy.most().String())
	}
	return d
}

func (d *distribution) document() docValues {
	out := docValues{Count: d.count, Unknown: d.unknown, Estimated: d.estimated, Provenance: word(d.from.String())}
	if d.unknown > 0 {
		out.Reason = word(d.why.most().String())
	}
	if d.count > 0 {
		mean, p50, p95 := d.sum/float64(d.count), d.percentile(50), d.percentile(95)
		out.Min, out.Mean, out.P50, out.P95, out.Max = &d.min, &mean, &p50, &p95, &d.max
	}
	return out
}

func (e *energy) document() docEnergy {
	out := docEnergy{Resets: e.counter.resets}
	switch {
	case e.counter.ns > 0:
		out.Joules, out.Seconds, out.Source = &e.counter.sum, nanos(e.counter.ns), "counter"
	case e.power.ns > 0:
		out.Joules, out.Seconds, out.Source = &e.power.sum, nanos(e.power.ns), "power"
		out.Estimated = true
	default:
		// Known at times, but never twice in a row, is not_sampled.
		out.Reason = word(e.counter.why.most().String())
	}
	return out
}

func (t *throttle) document() members {
	list := members{}
	var words [1]string
	for bit, ns := range t.ns {
		if ns > 0 {
			word := monitor.ThrottleReasons.AppendWords(words[:0], 1<<bit)[0]
			list = append(list, member{word, nanos(ns)})
		}
	}
	for _, f := range t.others {
		if f.ns > 0 {
			list = append(list, member{f.word, nanos(f.ns)})
		}
	}
	if t.left > 0 {
		list = append(list, member{"others", nanos(t.left)})
	}
	return list
}

func (a *alarm) document() *docAlarm {
	out := &docAlarm{
		Code: a.code, Level: a.level.String(), Text: a.text, First: stamp(a.first), Last: stamp(a.last),
		Seconds: nanos(a.ns), Times: a.times, Periods: []*docAlarmPeriod{}, PeriodsLeft: a.times - int64(len(a.periods)),
		level: a.level,
	}
	for _, p := range a.periods {
		out.Periods = append(out.Periods, &docAlarmPeriod{stamp(p.first), stamp(p.last), nanos(p.ns)})
	}
	return out
}

func (p *process) document(at *places) *docProc {
	d := &docProc{
		PID: p.key.pid, First: stamp(p.first), Last: stamp(p.last), Snapshots: p.snapshots, Seconds: nanos(p.all.ns),
		SMCount: p.all.smCount, GPUs: []*docUse{}, GPUsLeft: p.more,
	}
	d.Host = d.Unavailable.text("hostname", &p.host)
	d.Boot = d.Unavailable.text("boot_id", &p.boot)
	if p.key.ticks >= 0 {
		d.Ticks = &p.key.ticks
	} else {
		d.Unavailable.add("start_ticks", monitor.Unknown(p.ticksWhy).Reason.String())
	}
	if at, ok := p.start.Int(); ok {
		start := time.Unix(0, at).UTC()
		d.Start = &start
		if p.start.Provenance != monitor.Measured {
			d.Provenance.add("start_time", p.start.Provenance.String())
		}
	} else {
		d.Unavailable.add("start_time", p.start.Reason.String())
	}
	d.Name = d.Unavailable.text("name", &p.name)
	d.User = d.Unavailable.text("user", &p.user)
	if c := &p.container; c.Reason != monitor.Known {
		d.Unavailable.add("container", c.Reason.String())
	} else if c.ID != "" {
		d.Container = &docContainer{c.Runtime, c.ID, word(c.PodUID)}
	}
	if j := &p.job; j.Reason != monitor.Known {
		d.Unavailable.add("job", j.Reason.String())
	} else if j.ID != "" {
		d.Job = &docJob{j.Scheduler, j.ID, word(j.Step)}
	}
	if !p.unit.Known() {
		d.Unavailable.add("unit", p.unit.Reason.String())
	} else {
		d.Unit = word(p.unit.Value)
	}
	d.Peak, d.SM = p.all.document(&d.Unavailable, &d.Provenance)
	for i := range p.uses {
		u := &p.uses[i]
		out := &docUse{GPU: at.of[u.gpu.position], Seconds: nanos(u.ns), SMCount: u.smCount}
		out.UUID = out.Unavailable.text("uuid", &u.gpu.uuid)
		out.Peak, out.SM = u.document(&out.Unavailable, &out.Provenance)
		d.GPUs = append(d.GPUs, out)
	}
	return d
}

// document returns the peak of memory and the mean load, nil where they are
// unknown.
func (t *tally) document(unavailable, provenance *missing) (peak, sm *float64) {
	if t.peakWhy == monitor.Known {
		peak = &t.peak
		if t.peakFrom != monitor.Measured {
			provenance.add("peak_gpu_memory_bytes", t.peakFrom.String())
		}
	} else {
		unavailable.add("peak_gpu_memory_bytes", t.peakWhy.String())
	}
	if t.smCount > 0 {
		mean := t.smSum / float64(t.smCount)
		sm = &mean
		if t.smFrom != monitor.Measured {
			provenance.add("mean_sm_percent", t.smFrom.String())
		}
	} else {
		unavailable.add("mean_sm_percent", t.smWhy.String())
	}
	return peak, sm
}
