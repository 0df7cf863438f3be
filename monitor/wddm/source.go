package wddm

import (
	"sync"
	"time"

	"nvtop-lite/monitor"
)

const (
	between = 200 * time.Millisecond // what was read in that time is still told
	patient = time.Second            // for Windows' answer
	renew   = 30 * time.Second       // until what was not there is looked for again
)

// Source is NVML's monitor.Source, with what Windows tells of processes besides.
type Source struct {
	monitor.Source
	counters counters
	adapters adapters

	telling sync.Mutex
	mu      sync.Mutex
	cards   map[string]card // by key, those of NVML
	last    *found
	counted *found        // what the look in progress has of the counters, before it lists adapters
	call    string        // of that look, which has not returned yet
	tell    func(*Told)   // hears of what was found; nil for nobody
	reading chan struct{} // closed at the end of the look in progress; nil when there is none
}

// found is what one look at the counters found.
type found struct {
	at         time.Time
	failed     [numCounters]monitor.Reading // why there are no instances; Known where there are
	instances  [numCounters]int
	processes  [2]map[user]monitor.Reading // by localMemory and nonLocalMemory
	uses       map[user]use
	dedicated  map[luid]monitor.Reading
	shared     map[luid]monitor.Reading
	adapters   []adapter
	adaptersAt time.Time
	listed     monitor.Reading // why there are no adapters
}

// Tell has somebody told of counters, adapters and joins, from now on whenever that
// may have changed; nobody else uses the Source by then.
func (s *Source) Tell(tell func(*Told)) { s.tell = tell }

func newSource(nvml monitor.Source, c counters, a adapters) *Source {
	return &Source{Source: nvml, counters: c, adapters: a}
}

// Devices lists the GPUs of NVML.
func (s *Source) Devices() ([]monitor.Device, error) {
	list, err := s.Source.Devices()
	if err == nil {
		cards := make(map[string]card, len(list))
		s.mu.Lock()
		for _, d := range list {
			c := s.cards[d.Key]
			c.index = d.Index
			cards[d.Key] = c
		}
		s.cards = cards
		s.mu.Unlock()
	}
	return list, err
}

// Open opens NVML. Who wants to be told is told of Windows before: NVML may fail.
func (s *Source) Open() error {
	if s.tell != nil {
		s.look()
		s.told()
	}
	return s.Source.Open()
}

// Read reads a GPU of NVML.
func (s *Source) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	f := &filling{Sink: sink, of: s, key: d.Key, loads: want.HasGroup(monitor.GroupProcessLoad)}
	s.Source.Read(d, want, f)
	f.end()
}

// look looks at the counters, which is done apart: it may hang. Where there is no answer
// in time it returns what is known without it.
func (s *Source) look() *found {
	s.mu.Lock()
	if s.reading == nil && (s.last == nil || time.Since(s.last.at) >= between) {
		s.reading, s.counted = make(chan struct{}), nil
		go s.read(s.last, s.reading)
	}
	reading := s.reading
	s.mu.Unlock()
	if reading != nil {
		timer := time.NewTimer(patient)
		defer timer.Stop()
		select {
		case <-reading:
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.reading == reading {
				return s.late()
			}
			return s.last // just now
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// late is what was found where there is no answer in time: what came before the call
// that has not returned, which all else waits for. The mutex is held.
func (s *Source) late() *found {
	why := monitor.Failed(monitor.Timeout, monitor.NewCallError(s.call, "", 0))
	f := &found{}
	if s.counted != nil {
		*f = *s.counted
	} else {
		for i := range f.failed {
			f.failed[i] = why
		}
	}
	f.listed = why
	return f
}

// calls says which call is about to be made.
func (s *Source) calls(function string) {
	s.mu.Lock()
	s.call = function
	s.mu.Unlock()
}

// read reads all counters, and the adapters where they are not those of before any
// more, or a counter names one that is not known, but then not often: some are on no
// list.
func (s *Source) read(before *found, done chan struct{}) {
	all := s.counters.read(s.calls)
	f := &found{at: time.Now(), uses: engineUse(all[engineLoad].values)}
	for i := range all {
		f.failed[i], f.instances[i] = all[i].failed, len(all[i].values)
	}
	for i := range f.processes {
		f.processes[i] = memoryUse(i, all[i].values)
	}
	f.dedicated = adapterUse(dedicatedMemory, all[dedicatedMemory].values)
	f.shared = adapterUse(sharedMemory, all[sharedMemory].values)
	counted := *f
	s.mu.Lock()
	s.counted = &counted
	s.mu.Unlock()
	if before != nil {
		f.adapters, f.adaptersAt, f.listed = before.adapters, before.adaptersAt, before.listed
	}
	if before == nil || !s.adapters.current(s.calls) || f.at.Sub(f.adaptersAt) >= renew && f.strange() {
		f.adaptersAt = f.at
		f.adapters, f.listed = s.adapters.list(s.calls)
	}
	s.mu.Lock()
	s.last, s.reading = f, nil
	s.mu.Unlock()
	close(done)
}

// strange says that a counter names an adapter that is not known.
func (f *found) strange() bool {
	known := map[luid]bool{}
	for i := range f.adapters {
		known[f.adapters[i].id] = true
	}
	for of := range f.processes[localMemory] {
		if !known[of.adapter] {
			return true
		}
	}
	for of := range f.dedicated {
		if !known[of] {
			return true
		}
	}
	return false
}

// find finds the adapter that is a GPU of NVML. A name says something only where all
// GPUs have told theirs: another may have the same.
func (s *Source) find(key string, adapters []adapter) (l link, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return find(key, adapters, s.cards)
}

func find(key string, adapters []adapter, cards map[string]card) (l link, ok bool) {
	l, ok = join(adapters, cards)[key]
	for _, c := range cards {
		if l.from == monitor.Inferred && !c.name.Known() {
			return link{}, false
		}
	}
	return l, ok
}
