package screen

import (
	"time"

	"nvtop-lite/monitor"
)

// drawProcessDetails draws everything that is known of a process on all of its
// GPUs.
func (s *Screen) drawProcessDetails() {
	id := &s.v.Process
	_, p := FindProcess(s.snap, id)
	title := s.side.reset().text(s.pal.bold, " PID ").int(s.pal.bold, int64(id.PID), 0)
	if p != nil && p.Name.Known() {
		title.pad(2).text(s.pal.bold, p.Name.Value)
	}
	title.pad(1)
	hint := "Esc close"
	if p != nil && s.v.Signals {
		hint = "Esc close  x signal"
	}
	s.v.DetailScroll = s.showPanel(detailWidth, detailLabel, s.v.DetailScroll, string(title.b), hint, func(b *panel) {
		if p == nil {
			s.put(b, "", s.line.reset().text(s.pal.warn, "This process has ended, or uses no GPU any more."))
			return
		}
		s.writeProcess(b, p)
	})
}

func (s *Screen) writeProcess(b *panel, p *monitor.Process) {
	plain, dim := s.pal.plain, s.pal.dim
	l := s.line.reset()
	switch {
	case p.Command.Known():
		l.text(plain, p.Command.Value)
	default:
		s.because(l, p.Command.Reason, p.Command.Err)
	}
	s.put(b, "command", l)

	l = s.line.reset()
	if p.User.Known() {
		l.text(plain, p.User.Value)
	} else {
		s.because(l, p.User.Reason, p.User.Err)
	}
	if l.text(dim, "   started "); !p.StartTime.Known() {
		s.because(l, p.StartTime.Reason, p.StartTime.Err)
	} else {
		start, _ := p.StartTime.Int()
		s.clock(l, plain, start)
		l.text(dim, " (").span(plain, time.Duration(s.snap.Time.UnixNano()-start), 0).text(dim, ")")
	}
	s.put(b, "user", l)

	l = s.line.reset()
	switch f := &s.v.Folder; {
	case s.v.Replay != nil:
		l.text(dim, "not in the recording")
	case f.Known():
		l.text(plain, f.Value)
	default:
		s.because(l, f.Reason, f.Err)
	}
	s.put(b, "folder", l)

	s.writeShares(b, p)

	l = s.line.reset().text(dim, "CPU ")
	if v, ok := p.CPUPercent.Float(); ok {
		l.float(plain, v, 0, 0).text(dim, "% of one core")
	} else {
		s.because(l, p.CPUPercent.Reason, p.CPUPercent.Err)
	}
	l.text(dim, "   memory ")
	if p.HostMemoryBytes.Known() {
		size(l, plain, p.HostMemoryBytes, 0)
	} else {
		s.because(l, p.HostMemoryBytes.Reason, p.HostMemoryBytes.Err)
	}
	s.put(b, "host", l)

	l = s.line.reset()
	switch c := &p.Container; {
	case c.Reason != monitor.Known:
		s.because(l, c.Reason, monitor.CallError{})
	case c.ID == "":
		l.text(plain, "none")
	default:
		l.text(plain, c.Runtime).pad(1).text(plain, shortID(c.ID))
		if c.PodUID != "" {
			l.text(dim, "  pod ").text(plain, c.PodUID)
		}
	}
	switch j := &p.Job; {
	case j.Reason != monitor.Known:
		s.because(l.text(dim, "   job "), j.Reason, monitor.CallError{})
	case j.ID == "":
		l.text(dim, "   job ").text(plain, "none")
	default:
		l.text(dim, "   job ").text(plain, j.Scheduler).pad(1).text(plain, j.ID)
		if j.Step != "" {
			l.text(dim, " step ").text(plain, j.Step)
		}
	}
	if p.Unit.Known() && p.Unit.Value != "" {
		l.text(dim, "   service ").text(plain, p.Unit.Value)
	}
	l.text(dim, "   PID namespace ")
	switch p.Namespace {
	case monitor.NamespaceSame:
		l.text(plain, "this one")
	case monitor.NamespaceOutside:
		text := "another one: what it is cannot be said from here"
		if s.snap.Platform.Kind == "wsl" {
			text = "another one: of Windows, or of another distribution"
		}
		l.text(plain, text)
	default:
		l.text(plain, "unknown")
	}
	s.put(b, "container", l)
}

// writeShares adds what the process has of each GPU.
func (s *Screen) writeShares(b *panel, p *monitor.Process) {
	plain, dim := s.pal.plain, s.pal.dim
	label := "GPUs"
	s.each(p, func(g, parent *monitor.GPU, q *monitor.Process) {
		l := s.line.reset()
		number(l, s.pal.bold, parent, g, s.numbers)
		l.pad(2)
		kinds(l, plain, q.Types)
		if q.GPUMemoryBytes.Known() {
			l.pad(2)
			size(l, plain, q.GPUMemoryBytes, 0)
			if part, ok := shareOf(q.GPUMemoryBytes, g.Readings[monitor.MemoryTotalBytes]); ok {
				l.text(dim, " (").float(plain, part, 0, 0).text(dim, "%)")
			}
			if by := q.GPUMemoryBytes.Provenance; by != monitor.Measured {
				l.pad(1).text(dim, by.String())
			}
		} else {
			s.because(l.text(dim, "  memory "), q.GPUMemoryBytes.Reason, q.GPUMemoryBytes.Err)
		}
		if q.NonLocalBytes.Known() {
			size(l.text(dim, "  of the host's "), plain, q.NonLocalBytes, 0)
		}
		for _, part := range [...]struct {
			name string
			r    *monitor.Reading
		}{{"  SM ", &q.SMPercent}, {"  encoder ", &q.EncoderPercent}, {"  decoder ", &q.DecoderPercent}} {
			l.text(dim, part.name)
			if v, ok := part.r.Float(); ok {
				l.float(plain, v, 0, 0).text(dim, "%")
			} else if part.r.Reason == monitor.NotFound {
				l.text(plain, "- ").text(dim, "no sample")
			} else {
				s.because(l, part.r.Reason, part.r.Err)
			}
		}
		s.put(b, label, l)
		label = ""
	})
}

// because appends "- not supported (function: …)".
func (s *Screen) because(l *line, why monitor.Reason, err monitor.CallError) {
	words := reason(why)
	if why == monitor.NotFound {
		words = "no such process here"
	}
	l.text(s.pal.plain, "- ").text(s.pal.dim, words)
	if err.Function() != "" {
		l.pad(1)
		s.blame(l, err)
	}
}

// shortID is how people write the id of a container.
func shortID(id string) string {
	const n = 12
	if len(id) == 64 && ascii(id) {
		return id[:n]
	}
	return id
}

// sameStart reports whether two processes of one PID began at the same time, as
// far as that is known.
func sameStart(a, b *monitor.Process) bool {
	x, ok := a.StartTicks.Int()
	y, ok2 := b.StartTicks.Int()
	return !ok || !ok2 || x == y
}

// startOf is the start of a process in ticks, -1 when it is not known.
func startOf(p *monitor.Process) int64 {
	if v, ok := p.StartTicks.Int(); ok {
		return v
	}
	return -1
}

// FindProcess returns the process with an identity and the GPU or instance that
// it is on, nil when the snapshot has none.
func FindProcess(snap *monitor.Snapshot, id *ProcessID) (g *monitor.GPU, p *monitor.Process) {
	if snap == nil {
		return nil, nil
	}
	var found *monitor.GPU
	var process *monitor.Process
	look := func(g *monitor.GPU) bool {
		for i := range g.Processes {
			p := &g.Processes[i]
			if p.PID != id.PID || id.Start >= 0 && startOf(p) != id.Start {
				continue
			}
			if found == nil {
				found, process = g, p
			}
			if id.GPU == "" || monitor.Key(g) == id.GPU {
				found, process = g, p
				return true
			}
		}
		return false
	}
	for i := range snap.GPUs {
		if look(&snap.GPUs[i]) {
			break
		}
		for j := range snap.GPUs[i].MIG {
			if look(&snap.GPUs[i].MIG[j]) {
				return found, process
			}
		}
	}
	return found, process
}
