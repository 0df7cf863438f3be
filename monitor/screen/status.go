package screen

import (
	"slices"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// age returns how old something measured at is by now.
func (s *Screen) age(at int64) time.Duration { return s.snap.Age(at) + s.v.SilentFor }

// old reports whether what is known of a GPU is no longer fresh.
func (s *Screen) old(g *monitor.GPU) bool {
	return g.State == monitor.Stale || s.v.SilentFor > 0 && measured(g)
}

// measured reports whether a GPU is in a state in which it is measured.
func measured(g *monitor.GPU) bool { return g.State == monitor.OK || g.State == monitor.Stale }

// staleFor is how long nothing new came from a GPU.
func (s *Screen) staleFor(g *monitor.GPU) time.Duration {
	switch {
	case g.Refreshed != 0:
		return s.age(g.Refreshed)
	case g.CallSince != 0:
		return s.age(g.CallSince)
	}
	return s.age(g.StateSince)
}

// reason returns the words for why there is no value.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func reason(r monitor.Reason) string {
	switch r {
	case monitor.NotSupported:
		return "not supported"
	case monitor.NoPermission:
		return "no permission"
	case monitor.GPULost:
		return "GPU lost"
	case monitor.NotFound:
		return "not found"
	case monitor.Timeout:
		return "no answer"
	case monitor.Implausible:
		return "implausible answer"
	case monitor.Asleep:
		return "asleep"
	case monitor.NotSampled:
		return "not read yet"
	}
	return "driver error"
}

// state appends the state of a GPU that is not fresh in words, with its age and
// its reason.
func (s *Screen) state(l *line, g *monitor.GPU) {
	word, st := g.State.String(), s.pal.warn
	since := g.StateSince
	why := g.StateReason
	switch g.State {
	case monitor.Lost:
		st = s.pal.critical
	case monitor.Sleeping:
		st = s.pal.dim
	case monitor.Initialising:
		st = s.pal.plain
		if since == 0 {
			since = g.CallSince
		}
	case monitor.Unavailable:
		since = 0 // it never was there
		if why == "" {
			why = reason(g.Unmeasured())
		}
	case monitor.Stale, monitor.OK:
		l.text(st, "stale ").duration(st, s.staleFor(g))
		return
	}
	l.text(st, word)
	if since != 0 {
		l.pad(1).duration(st, s.age(since))
	}
	if why != "" {
		l.text(st, ": ").text(st, why)
	}
}

// number appends the number of a GPU, of a MIG instance with its parent's
// before it.
func number(l *line, st ansi.Style, parent, g *monitor.GPU, width int) {
	start := l.w
	if parent == nil {
		parent = g
	}
	n := digits(parent.Index)
	if parent != g {
		n += 1 + digits(g.GPUInstanceID)
	}
	l.pad(width - n)
	if parent.Index < 0 {
		l.text(st, "-")
	} else {
		l.int(st, int64(parent.Index), 0)
	}
	if parent != g {
		l.text(st, ":").int(st, int64(max(g.GPUInstanceID, 0)), 0)
	}
	l.to(start + width)
}

// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func digits(v int) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// called appends "GPU 3", or the bus id of a GPU that has no number any more.
func called(l *line, st ansi.Style, g *monitor.GPU) {
	l.text(st, "GPU ")
	switch {
	case g.Index >= 0:
		l.int(st, int64(g.Index), 0)
	case g.PCIBusID.Known():
		l.text(st, g.PCIBusID.Value)
	default:
		l.text(st, "-")
	}
}

// levelStyle is the colour of a health finding.
func (s *Screen) levelStyle(l monitor.Level) ansi.Style {
	switch l {
	case monitor.Critical:
		return s.pal.critical
	case monitor.Warn:
		return s.pal.warn
	}
	return s.pal.info
}

// throttled reports whether a finding is about clocks held down, which has a
// place of its own.
func throttled(h *monitor.Health) bool {
	return len(h.Code) > len("throttle_") && h.Code[:len("throttle_")] == "throttle_"
}

// lost reports whether a finding is that the GPU is lost.
func lost(h *monitor.Health) bool { return h.Code == "gpu_lost" || h.Code == "reset_required" }

// silent reports whether a finding is that the GPU does not answer, which its
// state says as well.
func silent(h *monitor.Health) bool { return h.Code == "no_answer" }

// worst returns the worst finding of at least the level given, the first of
// equals, nil when there is none, and how many more there are.
func worst(g *monitor.GPU, least monitor.Level, skip func(*monitor.Health) bool) (h *monitor.Health, more int) {
	for i := range g.Health {
		c := &g.Health[i]
		if c.Level < least || skip != nil && skip(c) {
			continue
		}
		if h != nil {
			more++
		}
		if h == nil || c.Level > h.Level {
			h = c
		}
	}
	return h, more
}

// A call that takes this long is told by its name: of a GPU that does not answer, and
// of one that is being opened, which may take seconds.
const (
	hangingFor = time.Second
	openingFor = 5 * time.Second
)

// alarm appends the worst thing there is to say about any GPU, hidden ones too,
// and how many more there are. It reports whether there is any.
func (s *Screen) alarm(l *line) bool {
	if s.snap == nil {
		return false
	}
	if s.snap.Waiting != "" && len(s.snap.GPUs) > 0 {
		// The rows are those of a driver that is not there any more.
		l.text(s.pal.critical, s.snap.Waiting)
		return true
	}
	const (
		byHealth = iota
		byState
		byCall
	)
	var (
		found, more int
		who         *monitor.GPU
		what        *monitor.Health
		kind        int
		level       monitor.Level
	)
	take := func(g *monitor.GPU, k int, h *monitor.Health, lv monitor.Level) {
		found++
		longer := k == byCall && kind == byCall && g.CallSince < who.CallSince
		if who == nil || lv > level || lv == level && longer {
			who, kind, what, level = g, k, h, lv
		}
	}
	for i := range s.snap.GPUs {
		g := &s.snap.GPUs[i]
		hangs := false
		if g.Call != "" && g.CallSince != 0 {
			d := s.age(g.CallSince)
			hangs = g.State == monitor.Stale && d >= hangingFor || g.State == monitor.Initialising && d >= openingFor
		}
		if hangs {
			take(g, byCall, nil, monitor.Critical)
		}
		told, gone := hangs, slices.ContainsFunc(g.Health, func(h monitor.Health) bool { return lost(&h) })
		for j := range g.Health {
			h := &g.Health[j]
			if h.Level < monitor.Warn || hangs && silent(h) || gone && h.Code == "xid" {
				continue
			}
			told = told || h.Level == monitor.Critical
			take(g, byHealth, h, h.Level)
		}
		if !told && (g.State == monitor.Lost || g.State == monitor.Unavailable || g.State == monitor.Stale) {
			take(g, byState, nil, monitor.Warn)
		}
	}
	if who == nil {
		for i := range s.snap.Warnings {
			if i == 0 {
				l.text(s.pal.warn, s.snap.Warnings[i].Text)
			}
		}
		more = len(s.snap.Warnings) - 1
		if more < 0 {
			return false
		}
	} else {
		more = found - 1
		st := s.levelStyle(level)
		called(l, st, who)
		if what != nil && lost(what) {
			l.text(st, " ") // "GPU 4 lost: …"
		} else {
			l.text(st, ": ")
		}
		switch kind {
		case byCall:
			l.text(st, who.Call).text(st, " has not returned for ").duration(st, s.age(who.CallSince))
		case byHealth:
			l.text(st, what.Text)
		case byState:
			fade := l.fade
			l.fade = &st
			s.state(l, who)
			l.fade = fade
		}
	}
	if more > 0 {
		l.text(s.pal.plain, "  +").int(s.pal.plain, int64(more), 0).text(s.pal.plain, " more")
	}
	return true
}
