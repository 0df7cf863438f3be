package screen

import (
	"sort"
	"strconv"
	"strings"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// owner is a process with what it is grouped by.
type owner struct {
	p     *monitor.Process
	bytes int64
	sum   int64 // of all processes of its owner
}

// collect adds processes to those to be written.
func (s *Screen) collect(list []monitor.Process) {
	for i := range list {
		b, _ := list[i].GPUMemoryBytes.Int()
		s.owners = append(s.owners, owner{p: &list[i], bytes: b})
	}
}

// gather lists the processes of a GPU and its instances by owner: owners with
// the most memory first, and the largest processes of each first.
func (s *Screen) gather(g *monitor.GPU) {
	s.owners = s.owners[:0]
	s.collect(g.Processes)
	for i := range g.MIG {
		s.collect(g.MIG[i].Processes)
	}
	s.order()
}

func (s *Screen) order() {
	s.sortOwners(func(s *Screen, a, b *owner) int { return strings.Compare(s.ownerOf(a.p), s.ownerOf(b.p)) })
	for from := 0; from < len(s.owners); {
		to, sum := from, int64(0)
		for ; to < len(s.owners) && s.ownerOf(s.owners[to].p) == s.ownerOf(s.owners[from].p); to++ {
			sum += s.owners[to].bytes
		}
		for ; from < to; from++ {
			s.owners[from].sum = sum
		}
	}
	s.sortOwners(func(s *Screen, a, b *owner) int {
		switch {
		case a.sum != b.sum:
			return sign(b.sum - a.sum)
		case s.ownerOf(a.p) != s.ownerOf(b.p):
			return strings.Compare(s.ownerOf(a.p), s.ownerOf(b.p))
		case a.bytes != b.bytes:
			return sign(b.bytes - a.bytes)
		}
		return sign(int64(a.p.PID) - int64(b.p.PID))
	})
}

func (s *Screen) sortOwners(compare func(s *Screen, a, b *owner) int) {
	s.ownOrder = ownerOrder{s, compare}
	sort.Sort(&s.ownOrder)
}

// ownerOrder sorts the owners, as rowOrder the rows.
type ownerOrder struct {
	s       *Screen
	compare func(s *Screen, a, b *owner) int
}

func (o *ownerOrder) Len() int           { return len(o.s.owners) }
func (o *ownerOrder) Less(i, j int) bool { return o.compare(o.s, &o.s.owners[i], &o.s.owners[j]) < 0 }
func (o *ownerOrder) Swap(i, j int) {
	o.s.owners[i], o.s.owners[j] = o.s.owners[j], o.s.owners[i]
}

// ownerOf is the account of a process, "" for the user's own and the unknown.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (s *Screen) ownerOf(p *monitor.Process) string {
	if !p.User.Known() || p.User.Value == s.opt.User {
		return ""
	}
	return p.User.Value
}

func sign(v int64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// writeUsers appends the gathered processes, as many as fit into room: an owner
// once before its group, two blanks between processes, three between groups,
// "+N" for the rest. The first is always there.
func (s *Screen) writeUsers(l *line, room int) {
	p := &s.pal
	for i := range s.owners {
		o := &s.owners[i]
		bytes, runs, cells := len(l.b), len(l.runs), l.w
		who := s.ownerOf(o.p)
		first := i == 0 || who != s.ownerOf(s.owners[i-1].p)
		switch {
		case i == 0:
		case first:
			l.pad(3)
		default:
			l.pad(2)
		}
		if first && who != "" {
			l.text(p.dim, who).text(p.dim, ": ")
		}
		// One long name leaves room for its size, and for others.
		width := maxName
		if left := room - l.w - 6; left >= 12 {
			width = min(width, left)
		}
		s.processName(l, o.p, width)
		if o.p.GPUMemoryBytes.Known() {
			if size := float64(o.bytes); size >= gib/10 || size == 0 {
				l.pad(1).float(p.dim, size/gib, 1, 0).text(p.dim, "G")
			} else {
				l.pad(1).float(p.dim, size/mib, 0, 0).text(p.dim, "M")
			}
		}
		rest := len(s.owners) - 1 - i
		more := 0
		if rest > 0 {
			more = 3 + digits(rest)
		}
		if i == 0 || l.w+more <= room {
			continue
		}
		// This one does not fit any more. The last run may have grown: its end
		// goes back with the length of the text.
		l.b, l.runs, l.w = l.b[:bytes], l.runs[:runs], cells
		l.runs[runs-1].end = bytes
		if rest = len(s.owners) - i; i > 1 || l.w+3+digits(rest) <= room {
			l.pad(2).text(p.plain, "+").int(p.plain, int64(rest), 0)
		}
		return
	}
}

const maxName = 24 // cells of a name on an edge

// processName appends the name of a process, its PID where there is none.
func (s *Screen) processName(l *line, p *monitor.Process, width int) {
	if p.Name.Known() && p.Name.Value != "" {
		l.cut(s.pal.name, p.Name.Value, width)
		return
	}
	start := len(l.b)
	l.b = strconv.AppendUint(l.b, uint64(p.PID), 10)
	l.done(s.pal.name, len(l.b)-start)
}

// drawUsers draws the processes of a box on its bottom edge, flush right
// against the column of numbers.
func (s *Screen) drawUsers(g *monitor.GPU, x, y, room int) {
	if room < 4 {
		return
	}
	l := s.line.reset()
	if s.old(g) {
		l.fade = &s.pal.dim
	}
	if why := unread(g); why != monitor.Known {
		l.text(s.pal.dim, "processes: ").text(s.pal.dim, reason(why))
	} else {
		s.gather(g)
		if len(s.owners) == 0 {
			return
		}
		s.writeUsers(l, room)
	}
	w := min(l.w, room)
	start := x + 3 + room - w
	s.f.Rune(start-1, y, ' ', ansi.Style{})
	end := l.drawCut(s.f, start, y, room)
	s.f.Rune(end, y, ' ', ansi.Style{})
}
