package tegra

import (
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	readEvery = 900 * time.Millisecond // a module's sensors, some of which are slow
	lookEvery = 5 * time.Second        // which of them there are
	waitFor   = 500 * time.Millisecond // for what is being read
	overdue   = 2 * time.Second        // a reading that takes longer is unknown
)

// Module reads the machine as a host.Reader does, and what is measured of the
// module besides.
type Module struct {
	*host.Reader
	sensors sensors
	start   time.Time

	mu     sync.Mutex
	last   monitor.Platform
	busy   chan struct{} // closed when the reading in progress has ended; nil: there is none
	began  time.Time     // when that was, or the one before
	vainly bool          // the reading in progress was waited for in vain
}

// NewModule returns a reader of the module whose machine is read by r.
func NewModule(r *host.Reader) *Module {
	m := &Module{Reader: r, sensors: sensors{root: r.Root()}, start: time.Now(), last: r.Platform()}
	late(&m.last) // as long as nothing was read
	m.last.Governor = monitor.UnknownText(monitor.Timeout)
	for kind := range m.last.Closed {
		m.last.Closed[kind] = monitor.Timeout
	}
	return m
}

// Platform returns what is known of the module. Sensors are read at most once a
// second, by a goroutine of their own: what takes longer than half a second
// comes with a later call, and what takes longer than two is unknown.
func (m *Module) Platform() monitor.Platform {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.busy == nil && now.Sub(m.began) >= readEvery {
		m.busy, m.began, m.vainly = make(chan struct{}), now, false
		go m.read(m.busy)
	}
	if busy := m.busy; busy != nil && !m.vainly {
		m.mu.Unlock()
		wait(busy, waitFor)
		m.mu.Lock()
		m.vainly = m.busy == busy
	}
	if m.busy != nil && time.Since(m.began) >= overdue {
		late(&m.last)
	}
	return m.last
}

// wait waits for done, but not for long.
func wait(done <-chan struct{}, long time.Duration) {
	timer := time.NewTimer(long)
	select {
	case <-done:
	case <-timer.C:
	}
	timer.Stop()
}

// late makes unknown what is measured.
func late(p *monitor.Platform) {
	why := monitor.Unknown(monitor.Timeout)
	p.EMCMHz, p.EMCPercent = why, why
	parts := make([]monitor.Part, len(p.Parts)) // others have those
	copy(parts, p.Parts)
	p.Parts = parts
	each(p, func(r *monitor.Reading) { *r = why })
}

// each visits the readings of the parts.
func each(p *monitor.Platform, visit func(*monitor.Reading)) {
	for i := range p.Parts {
		for j := range p.Parts[i].Kind.Info().Readings {
			visit(&p.Parts[i].Readings[j])
		}
	}
}

// read reads the module once.
func (m *Module) read(done chan struct{}) {
	now := time.Now()
	var p monitor.Platform
	m.sensors.read(&p, now)
	at := m.start.UnixNano() + int64(now.Sub(m.start))
	each(&p, func(r *monitor.Reading) { r.At = at })
	p.EMCMHz.At, p.EMCPercent.At = at, at
	m.mu.Lock()
	m.last, m.busy = p, nil
	m.mu.Unlock()
	close(done)
}

// sensors are those of a module as a whole. They belong to one goroutine at a
// time.
type sensors struct {
	root     host.Root
	looked   time.Time // when it was looked for them; zero: anew
	platform monitor.Platform
	governor string // file
	all      []sensor
}

// look finds out which there are. Drivers may be loaded late, and numbers may
// change.
func (s *sensors) look(now time.Time) {
	if !s.looked.IsZero() && now.Sub(s.looked) < lookEvery {
		return
	}
	s.looked = now
	s.platform = host.Open(string(s.root)).Platform()
	s.governor = thorGPU
	entries := nodesOf(s.root)
	if gpu := entries.gpu(); gpu != "" {
		s.governor = gpu
	}
	s.governor += "/governor"
	s.all = nil
	chips := devices(s.root)
	for i := range chips {
		s.all = appendRails(s.root, s.all, &chips[i])
	}
	s.all, s.platform.Closed[monitor.Engine] = appendEngines(s.root, entries, s.all)
	s.all = appendAlerts(s.root, s.all)
}

func (s *sensors) read(p *monitor.Platform, now time.Time) {
	for again := false; ; again = true {
		s.look(now)
		*p = s.platform
		p.Governor = s.root.Line(s.governor)
		p.EMCMHz, p.EMCPercent = memoryClock(s.root)
		p.Parts = make([]monitor.Part, 0, len(s.all))
		all := true
		for kind := range monitor.NumPartKinds {
			for i := range s.all {
				if s.all[i].kind != kind {
					continue
				}
				p.Parts = append(p.Parts, monitor.Part{})
				if n := len(p.Parts) - 1; !s.all[i].read(s.root, &p.Parts[n]) {
					p.Parts, all = p.Parts[:n], false
				}
			}
		}
		if all || again {
			return
		}
		s.looked = time.Time{} // something has moved
	}
}

// memoryClocks and memoryLoads are where the clock of the memory controller is
// told, and how much it moves.
var (
	memoryClocks = []string{"/sys/kernel/debug/bpmp/debug/clk/emc/rate", clocks + "emc/clk_rate", devfreq + "bwmgr/cur_freq"}
	memoryLoads  = []string{"/sys/kernel/debug/cactmon/mc_all", "/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity"}
)

// memoryClock returns the clock and the load of the memory controller.
func memoryClock(root host.Root) (clock, load monitor.Reading) {
	clock, _ = first(root, memoryClocks...)
	active, _ := first(root, memoryLoads...)
	hz, ok := clock.Float()
	if ok {
		clock = hertz.reading(hz)
	}
	busy, ok2 := active.Float()
	switch load = active; {
	case ok2 && !clock.Known():
		load = monitor.Failed(clock.Reason, clock.Err)
	case ok2: // infinite at 0 Hz
		load = monitor.ShareRange.Check(monitor.OfFloat(100 * busy / (hz / 1000)))
	}
	return clock, load
}

// first reads the first of files that can be read, or else the first of those
// that are there. path is the one that it read, or that closed itself to it.
func first(root host.Root, paths ...string) (r monitor.Reading, path string) {
	r, path = notSupported, paths[0]
	for _, p := range paths {
		if v := root.Number(p); v.Known() || r.Reason == monitor.NotSupported && v.Reason != monitor.NotSupported {
			if r, path = v, p; v.Known() {
				break
			}
		}
	}
	return r, path
}
