package screen

import (
	"nvtop-lite/monitor"
)

const signalWidth = 72

// drawSignal asks which signal to send to a process, then whether to send it
// really.
func (s *Screen) drawSignal() {
	d := s.v.Signal
	title := s.side.reset().text(s.pal.bold, " signal PID ").int(s.pal.bold, int64(d.Process.PID), 0)
	if d.Name != "" {
		title.pad(2).text(s.pal.bold, d.Name)
	}
	title.pad(1)
	hint := "Esc cancel  " + s.updown() + " choose  Enter next"
	switch {
	case d.Outcome != "":
		hint = "Esc close"
	case d.Confirm:
		hint = "Esc back  Tab choose  Enter do it"
	}
	scroll := 0
	if !d.Confirm && d.Outcome == "" {
		// What is chosen stays in sight.
		scroll = max(d.Chosen+2-(s.h-2)/2, 0)
	}
	s.showPanel(signalWidth, 0, scroll, string(title.b), hint, func(b *panel) { s.writeSignal(b, d) })
}

func (s *Screen) writeSignal(b *panel, d *SignalDialog) {
	p := &s.pal
	if _, q := FindProcess(s.snap, &d.Process); q != nil {
		l := s.line.reset()
		if q.User.Known() {
			l.text(p.dim, "of ").text(p.plain, q.User.Value).pad(2)
		}
		l.text(p.dim, "GPU ")
		s.gpusOf(l, q)
		if v, ok := s.memoryOf(q); ok {
			l.pad(2)
			size(l, p.plain, monitor.OfFloat(v), 0)
		}
		if q.Container.ID != "" {
			l.text(p.dim, "  in ").text(p.plain, q.Container.Runtime).pad(1).text(p.plain, shortID(q.Container.ID))
		}
		if q.Job.ID != "" {
			l.text(p.dim, "  job ").text(p.plain, q.Job.ID)
		}
		s.put(b, "", l)
		if q.Command.Known() {
			s.put(b, "", s.line.reset().cut(p.name, q.Command.Value, 3*(signalWidth-4)))
		}
	} else {
		s.put(b, "", s.line.reset().text(p.dim, "It has ended, or uses no GPU any more."))
	}
	b.blank()
	chosen := func(l *line, yes bool) *line {
		if yes {
			return l.text(p.bold, "> ")
		}
		return l.pad(2)
	}
	switch {
	case d.Outcome != "":
		s.put(b, "", s.line.reset().text(p.warn, d.Outcome))
	case d.Confirm:
		sig := &d.Signals[d.Chosen]
		s.put(b, "", s.line.reset().text(p.bold, sig.Name).text(p.plain, " ").text(p.plain, sig.Does).text(p.plain, ". Send it?"))
		b.blank()
		st, st2 := p.selected, p.plain
		if d.Yes {
			st, st2 = st2, st
		}
		l := chosen(s.line.reset(), !d.Yes).text(st, "no, go back").pad(4)
		if y, ok := b.place(); ok {
			s.target(b.x, y, l.w+2, 1, Target{Kind: OnSignal, Item: 0})
			s.target(b.x+l.w+2, y, b.w-l.w-2, 1, Target{Kind: OnSignal, Item: 1})
		}
		s.put(b, "", chosen(l, d.Yes).text(st2, "yes, send ").text(st2, sig.Name))
	default:
		for i := range d.Signals {
			st := p.plain
			if i == d.Chosen {
				st = p.selected
			}
			l := chosen(s.line.reset(), i == d.Chosen).left(st, d.Signals[i].Name, 8).pad(2)
			if y, ok := b.place(); ok {
				s.target(b.x, y, b.w, 1, Target{Kind: OnSignal, Item: i})
			}
			s.put(b, "", l.text(p.dim, d.Signals[i].Does))
		}
	}
}

// gpusOf appends the numbers of the GPUs that a process is on.
func (s *Screen) gpusOf(l *line, p *monitor.Process) {
	n := 0
	s.each(p, func(g, parent *monitor.GPU, _ *monitor.Process) {
		if n > 0 {
			l.text(s.pal.plain, ", ")
		}
		n++
		number(l, s.pal.plain, parent, g, 0)
	})
}

// memoryOf is the memory of a process on all of its GPUs; one unknown part
// makes it unknown.
func (s *Screen) memoryOf(p *monitor.Process) (sum float64, ok bool) {
	ok = true
	s.each(p, func(_, _ *monitor.GPU, q *monitor.Process) {
		v, known := q.GPUMemoryBytes.Float()
		sum += v
		ok = ok && known
	})
	return sum, ok
}

// each calls f for every GPU and instance that a process is on.
func (s *Screen) each(p *monitor.Process, f func(g, parent *monitor.GPU, q *monitor.Process)) {
	on := func(g, parent *monitor.GPU) {
		for i := range g.Processes {
			if q := &g.Processes[i]; q.PID == p.PID && sameStart(q, p) {
				f(g, parent, q)
			}
		}
	}
	for i := range s.snap.GPUs {
		g := &s.snap.GPUs[i]
		on(g, g)
		for j := range g.MIG {
			on(&g.MIG[j], g)
		}
	}
}
