// Package summary tells what a recording says in all: the least, the mean and
// the most of what was measured, energy, the time for which something was so,
// alarms, processes, and what is missing.
//
// Time is that of Snapshot.Steady; where the clock of Snapshot.Time was set
// meanwhile, that is told. The time from one snapshot to the next counts
// for what the first of the two says. A gap is where the next came later than
// twice the interval; it counts for nothing, and so does the time between two
// runs of the program. What is unknown counts for nothing either and is told with
// its reason.
//
// Memory is bounded however long the recording: what does not fit is counted.
package summary

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"nvtop-lite/monitor"
)

// Schema is the word that tells what the keys of the JSON mean.
const Schema = "nvtop-lite-summary/1"

// What is kept at most.
const (
	maxText  = 256 // bytes of a name
	maxWords = 64  // hosts, sources, drivers
	maxRuns  = 100
	maxGaps  = 100
	maxBoots = 4096
	maxSets  = 100 // of the clock
)

// clockSlack is how far the two clocks may go apart from one snapshot to the next
// without one having been set.
const clockSlack = int64(2 * time.Second)

// Summary is what the snapshots added so far say. It belongs to one goroutine at
// a time.
type Summary struct {
	file        string
	broken      int
	brokenLines []int64
	damaged     int

	snapshots     int64
	first, last   time.Time
	covered       int64 // ns
	least, most   time.Duration
	hosts         words
	sources       words
	drivers       []driver
	driver        int   // the last snapshot's in drivers, -1 one that is not kept
	driversLeft   int64 // snapshots of others
	runs          []run
	runsLeft      int64
	gaps          []gap
	gapsCount     int64
	gapsPassed    int64 // ns
	sets          []clockSet
	setsCount     int64
	waiting       bool
	waitingFor    int64 // ns
	waitingReason string

	// Of the last snapshot.
	now      run // the run it is of
	steady   int64
	interval time.Duration
	boots    map[string]int32
	boot     int32

	// Of the one being added.
	seq       int64 // its number
	runNumber int64
	passed    int64 // since the last one, in ns
	linked    bool  // nothing is missing in between

	gpus      map[string]*gpu
	order     []*gpu
	present   []*gpu // in the last snapshot
	gpusLeft  map[uint64]struct{}
	processes processes
}

// words are distinct words in the order in which they came.
type words struct {
	list []string
	last string
	left int64 // changes to words that are not kept
}

func (w *words) add(word string) {
	word = short(word)
	if word == w.last {
		return
	}
	w.last = strings.Clone(word)
	for _, have := range w.list {
		if have == word {
			return
		}
	}
	if len(w.list) == maxWords {
		w.left++
		return
	}
	w.list = append(w.list, w.last)
}

type driver struct {
	version, cuda monitor.Text
	first, last   time.Time
	snapshots     int64
}

// run is one run of the program that recorded.
type run struct {
	first, last time.Time
	snapshots   int64
	covered     int64 // ns
	host, boot  monitor.Text
	source      string
}

type gap struct {
	from, to time.Time
	passed   int64 // ns
}

// clockSet is where the clock was set.
type clockSet struct {
	from, to time.Time // of the snapshots before and behind
	by       int64     // ns
}

// New returns the summary of a recording to which nothing was added yet; file is
// its name.
func New(file string) *Summary {
	return &Summary{
		file: file, driver: -1,
		boots: map[string]int32{}, gpus: map[string]*gpu{}, gpusLeft: map[uint64]struct{}{},
		processes: newProcesses(),
	}
}

// SetBroken tells how many lines of the file were passed over, and the numbers
// of the first of them.
func (s *Summary) SetBroken(count int, first []int64) { s.broken, s.brokenLines = count, first }

// SetDamaged tells in how many places of the file compressed data is damaged.
func (s *Summary) SetDamaged(places int) { s.damaged = places }

// Add adds a snapshot, which comes after those that were added before. It keeps
// nothing of it.
func (s *Summary) Add(snap *monitor.Snapshot) {
	s.seq++
	s.follow(snap)
	s.snapshots++
	if s.snapshots == 1 {
		s.first = snap.Time
	}
	s.last = snap.Time
	s.sources.add(snap.Source)
	if snap.Host.Hostname.Known() {
		s.hosts.add(snap.Host.Hostname.Value)
	}
	s.addDriver(snap)
	s.waiting = snap.Waiting != ""
	if s.waiting && short(snap.Waiting) != s.waitingReason {
		s.waitingReason = copied(snap.Waiting)
	}

	s.present = s.present[:0]
	s.processes.begin()
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		s.addGPU(snap, g, g)
		for j := range g.MIG {
			s.addGPU(snap, &g.MIG[j], g)
		}
	}
	s.processes.end(s)
	s.steady, s.interval = snap.Steady, interval(snap)
	if s.snapshots == 1 || s.interval < s.least {
		s.least = s.interval
	}
	s.most = max(s.most, s.interval)
}

// interval returns that of snap, within what the program takes.
func interval(snap *monitor.Snapshot) time.Duration {
	if snap.Interval <= 0 {
		return time.Second
	}
	return min(snap.Interval, time.Hour)
}

// follow finds out how snap follows the last snapshot, and counts the time in
// between for what that one said.
func (s *Summary) follow(snap *monitor.Snapshot) {
	s.passed, s.linked = snap.Steady-s.steady, false
	switch {
	case s.snapshots == 0:
		s.begin(snap)
	case s.passed < 0 || differ(&s.now.boot, &snap.Host.BootID) ||
		differ(&s.now.host, &snap.Host.Hostname) || short(snap.Source) != s.now.source:
		s.keepRun()
		s.begin(snap)
	case s.passed > 2*int64(s.interval):
		s.gapsCount++
		if s.gapsPassed += s.passed; s.gapsPassed < 0 {
			s.gapsPassed = math.MaxInt64
		}
		if len(s.gaps) < maxGaps {
			s.gaps = append(s.gaps, gap{s.last, snap.Time, s.passed})
		}
	default:
		s.linked = true
		s.count(s.passed)
	}
	if s.now.snapshots > 0 {
		s.watchClock(snap)
	}
	s.now.snapshots++
	s.now.last = snap.Time
	keep(&s.now.host, &snap.Host.Hostname)
	if keep(&s.now.boot, &snap.Host.BootID) || s.now.snapshots == 1 {
		s.boot = s.bootNumber()
	}
}

// watchClock notes where the clock did not go on by the time that passed within
// a run.
func (s *Summary) watchClock(snap *monitor.Snapshot) {
	by := max(int64(snap.Time.Sub(s.last)), math.MinInt64+s.passed) - s.passed
	if by <= clockSlack && by >= -clockSlack {
		return
	}
	s.setsCount++
	if len(s.sets) < maxSets {
		s.sets = append(s.sets, clockSet{s.last, snap.Time, by})
	}
}

// differ reports whether both are known and not the same.
func differ(have, now *monitor.Text) bool {
	return have.Known() && now.Known() && have.Value != short(now.Value)
}

func (s *Summary) begin(snap *monitor.Snapshot) {
	s.now = run{first: snap.Time, source: copied(snap.Source)}
	s.runNumber++
}

func (s *Summary) keepRun() {
	if len(s.runs) < maxRuns {
		s.runs = append(s.runs, s.now)
	} else {
		s.runsLeft++
	}
}

// bootNumber returns a number for the boot of the host, within which a process
// has its PID and start to itself.
func (s *Summary) bootNumber() int32 {
	name := s.now.boot.Value
	if name == "" {
		name = "host " + s.now.host.Value
	}
	if n, ok := s.boots[name]; ok {
		return n
	}
	n := int32(len(s.boots))
	if n >= maxBoots {
		return int32(maxBoots + s.runNumber)
	}
	s.boots[name] = n
	return n
}

// count counts ns of time for what the last snapshot said.
func (s *Summary) count(ns int64) {
	s.covered += ns
	s.now.covered += ns
	if s.waiting {
		s.waitingFor += ns
	}
	for _, g := range s.present {
		g.pass(ns)
	}
	s.processes.pass(ns)
}

func (s *Summary) addDriver(snap *monitor.Snapshot) {
	version := &snap.Driver.Version
	is := func(d *driver) bool {
		if version.Known() {
			return d.version.Known() && d.version.Value == short(version.Value)
		}
		return d.version.Reason == version.Reason
	}
	if s.driver < 0 || !is(&s.drivers[s.driver]) {
		s.driver = -1
		for i := range s.drivers {
			if is(&s.drivers[i]) {
				s.driver = i
			}
		}
		if s.driver < 0 {
			if len(s.drivers) == maxWords {
				s.driversLeft++
				return
			}
			s.driver = len(s.drivers)
			s.drivers = append(s.drivers, driver{first: snap.Time})
		}
	}
	d := &s.drivers[s.driver]
	keep(&d.version, version)
	keep(&d.cuda, &snap.Driver.CUDAVersion)
	d.last = snap.Time
	d.snapshots++
}

// short returns the part of text that is kept.
//
// Inlined, it would make the program 7 kB larger.
//
//go:noinline
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	n := maxText
	for n > maxText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// copied returns a copy of what is kept of text.
func copied(text string) string { return strings.Clone(short(text)) }

// keep keeps what is known of a text, else why it is not, and reports whether it
// is another text than before.
func keep(have, now *monitor.Text) bool {
	if !now.Known() {
		if !have.Known() {
			have.Reason = now.Reason
		}
		return false
	}
	if have.Known() && have.Value == short(now.Value) {
		return false
	}
	*have = monitor.OfText(copied(now.Value))
	return true
}
