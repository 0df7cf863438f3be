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

	mu      sync.Mutex
	cards   map[string]card // by key, those of NVML
	last    *found
	reading chan struct{} // closed at the end of the look in progress; nil when there is none
}

// found is what one look at the counters found.
type found struct {
	at              time.Time
	memory, engines monitor.Reading // why there are none, Known where there are
	bytes           map[user]monitor.Reading
	uses            map[user]use
	adapters        []adapter
	adaptersAt      time.Time
	listed          monitor.Reading // why there are no adapters
}

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
			cards[d.Key] = s.cards[d.Key]
		}
		s.cards = cards
		s.mu.Unlock()
	}
	return list, err
}

// Read reads a GPU of NVML.
func (s *Source) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	s.Source.Read(d, want, &filling{sink, s, d.Key, want.HasGroup(monitor.GroupProcessLoad)})
}

// look looks at the counters, which is done apart: it may hang. It returns nil where
// there is no answer in time.
func (s *Source) look() *found {
	s.mu.Lock()
	if s.reading == nil && (s.last == nil || time.Since(s.last.at) >= between) {
		s.reading = make(chan struct{})
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
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// read reads all counters, and the adapters where a counter names one that is not
// known, but not often: some are on no list.
func (s *Source) read(before *found, done chan struct{}) {
	memory, engines := s.counters.read()
	f := &found{at: time.Now(), memory: memory.failed, engines: engines.failed, bytes: memoryUse(memory.values), uses: engineUse(engines.values)}
	if before != nil {
		f.adapters, f.adaptersAt, f.listed = before.adapters, before.adaptersAt, before.listed
	}
	if before == nil || f.at.Sub(f.adaptersAt) >= renew && f.strange() {
		f.adaptersAt = f.at
		f.adapters, f.listed = s.adapters.list()
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
	for of := range f.bytes {
		if !known[of.adapter] {
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
	l, ok = join(adapters, s.cards)[key]
	for _, c := range s.cards {
		if l.from == monitor.Inferred && !c.name.Known() {
			return link{}, false
		}
	}
	return l, ok
}
