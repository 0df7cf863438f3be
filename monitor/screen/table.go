package screen

import (
	"slices"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// proc is a row of the process table.
type proc struct {
	gpu    *monitor.GPU // the GPU, or its instance
	parent *monitor.GPU
	place  int // of the GPU in the snapshot
	p      *monitor.Process
}

// column describes a column of the process table. Rank tells which one goes
// first where not all fit.
type column struct {
	title string
	width int // with at least one blank before it; 0: the rest
	wide  int // the same where there is room: two blanks
	rank  int
	right bool
}

var columns = [numColumns]column{
	ByGPU:        {"GPU", 4, 4, never, true},
	ByPID:        {"PID", 9, 9, never, true},
	ByUser:       {"USER", 9, 12, 8, false},
	ByType:       {"TYPE", 5, 6, 4, false},
	BySM:         {"SM", 5, 6, 7, true},
	ByMemory:     {"GPU MEM", 10, 12, never, true},
	ByEncoder:    {"ENC", 5, 6, 1, true},
	ByDecoder:    {"DEC", 5, 5, 1, true},
	ByCPU:        {"CPU", 6, 7, 5, true},
	ByHostMemory: {"HOST MEM", 10, 11, 2, true},
	ByTime:       {"TIME", 8, 10, 6, true},
	ByCommand:    {"COMMAND", 0, 0, never, false},
}

// shareColumn is the share of the GPU's memory, which is sorted by with the
// memory itself.
var shareColumn = column{"%", 5, 6, 3, true}

const commandWidth = 15 // what the other columns leave to the command where they can

// sortedBy is the column that the table is sorted by.
func (s *Screen) sortedBy() Column {
	if c := s.v.Sort; c > Default && c < numColumns {
		return c
	}
	return ByMemory
}

// descends reports whether the largest stands first.
func (s *Screen) descends() bool {
	switch s.sortedBy() {
	case ByGPU, ByPID, ByUser, ByType, ByCommand:
		return s.v.Reverse
	}
	return !s.v.Reverse
}

// listProcesses gathers and sorts the processes of the GPUs shown.
func (s *Screen) listProcesses() {
	s.procs = s.procs[:0]
	add := func(g, parent *monitor.GPU, place int) {
		for i := range g.Processes {
			s.procs = append(s.procs, proc{g, parent, place, &g.Processes[i]})
		}
	}
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		add(g, g, i)
		for j := range g.MIG {
			add(&g.MIG[j], g, i)
		}
	}
	by, down := s.sortedBy(), s.descends()
	slices.SortFunc(s.procs, func(a, b proc) int {
		n := comparison(by, &a, &b)
		if down && n != unknownFirst && n != unknownLast {
			n = -n
		}
		if n != 0 {
			return n
		}
		if n := byReading(a.p.GPUMemoryBytes, b.p.GPUMemoryBytes); n != 0 {
			if n == unknownFirst || n == unknownLast {
				return n
			}
			return -n
		}
		if n := sign(int64(a.p.PID) - int64(b.p.PID)); n != 0 {
			return n
		}
		if a.place != b.place {
			return a.place - b.place
		}
		return a.gpu.GPUInstanceID - b.gpu.GPUInstanceID
	})
}

// What is unknown stands last, whichever way the rest is sorted.
const (
	unknownFirst = -2
	unknownLast  = 2
)

func comparison(by Column, a, b *proc) int {
	switch by {
	case ByGPU:
		return sign(int64(a.place - b.place))
	case ByPID:
		return sign(int64(a.p.PID) - int64(b.p.PID))
	case ByUser:
		return byText(a.p.User, b.p.User)
	case ByType:
		return sign(int64(a.p.Types) - int64(b.p.Types))
	case BySM:
		return byReading(a.p.SMPercent, b.p.SMPercent)
	case ByEncoder:
		return byReading(a.p.EncoderPercent, b.p.EncoderPercent)
	case ByDecoder:
		return byReading(a.p.DecoderPercent, b.p.DecoderPercent)
	case ByCPU:
		return byReading(a.p.CPUPercent, b.p.CPUPercent)
	case ByHostMemory:
		return byReading(a.p.HostMemoryBytes, b.p.HostMemoryBytes)
	case ByTime: // the longest running one is the largest
		n := byReading(a.p.StartTime, b.p.StartTime)
		if n == unknownFirst || n == unknownLast {
			return n
		}
		return -n
	case ByCommand:
		return byText(a.p.Command, b.p.Command)
	}
	return byReading(a.p.GPUMemoryBytes, b.p.GPUMemoryBytes)
}

func byReading(a, b monitor.Reading) int {
	x, ok := a.Float()
	y, ok2 := b.Float()
	switch {
	case !ok && !ok2:
		return 0
	case !ok:
		return unknownLast
	case !ok2:
		return unknownFirst
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func byText(a, b monitor.Text) int {
	switch {
	case !a.Known() && !b.Known():
		return 0
	case !a.Known():
		return unknownLast
	case !b.Known():
		return unknownFirst
	}
	return strings.Compare(a.Value, b.Value)
}

// tableLayout has the width of each column, 0 where it is left out.
type tableLayout struct {
	width   [numColumns]int
	share   int
	command int
	gap     int // before what is flush left
}

// arrangeTable chooses the columns that fit.
func (s *Screen) arrangeTable() tableLayout {
	var t tableLayout
	coders := false
	t.gap = 1
	for i := range s.procs {
		e, _ := s.procs[i].p.EncoderPercent.Float()
		d, _ := s.procs[i].p.DecoderPercent.Float()
		coders = coders || e > 0 || d > 0
	}
	wide := s.w >= 110
	if wide {
		t.gap = 2
	}
	sum := t.gap
	set := func(w *int, c *column) {
		if *w = c.width; wide {
			*w = c.wide
		}
		sum += *w
	}
	for c := ByGPU; c < numColumns; c++ {
		if (c == ByEncoder || c == ByDecoder) && !coders {
			continue
		}
		set(&t.width[c], &columns[c])
	}
	sum += s.numbers - t.width[ByGPU]
	t.width[ByGPU] = s.numbers
	set(&t.share, &shareColumn)
	for sum+commandWidth > s.w {
		lowest, at := never, (*int)(nil)
		for c := ByGPU; c < numColumns; c++ {
			if t.width[c] > 0 && columns[c].rank < lowest {
				lowest, at = columns[c].rank, &t.width[c]
			}
		}
		if t.share > 0 && shareColumn.rank < lowest {
			at = &t.share
		}
		if at == nil {
			break
		}
		sum -= *at
		*at = 0
	}
	t.command = max(s.w-sum, 0)
	return t
}

// tableShown is how many processes the table has room for.
func (s *Screen) tableShown() int {
	n := s.tableRoom()
	if len(s.procs) > n && n > 1 {
		n-- // the line that says how many more; a single line shows a process, the last line of the screen says the rest
	}
	return clamp(n, 0, len(s.procs))
}

// tableRoom is how many lines the table has for processes.
func (s *Screen) tableRoom() int { return s.lay.tableRows - 1 - s.unreadRows() }

// unreadRows is how many GPUs have a line that says why their processes are not
// known.
func (s *Screen) unreadRows() int {
	n := 0
	for _, i := range s.shown {
		if unread(&s.snap.GPUs[i]) != monitor.Known {
			n++
		}
	}
	return min(n, (s.lay.tableRows-1)/2)
}

// drawTable draws the process table.
func (s *Screen) drawTable() {
	s.listProcesses()
	t := s.arrangeTable()
	y := s.lay.tableTop
	s.tableHeading(&t, y)
	y++
	n := s.tableShown()
	more := n < len(s.procs) && n < s.tableRoom()
	s.v.ProcScroll = clamp(s.v.ProcScroll, 0, len(s.procs)-n)
	for i := s.v.ProcScroll; i < s.v.ProcScroll+n; i++ {
		s.tableRow(&t, &s.procs[i], y)
		s.target(0, y, s.w, 1, Target{Kind: OnProcess, GPU: s.procs[i].place, PID: s.procs[i].p.PID})
		y++
	}
	if more {
		s.line.reset().pad(1).int(s.pal.plain, int64(len(s.procs)-n), 0).text(s.pal.plain, " more processes").drawCut(s.f, 0, y, s.w)
		y++
	}
	left := s.unreadRows()
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		if why := unread(g); why != monitor.Known && left > 0 {
			left--
			l := s.line.reset()
			number(l, s.pal.plain, nil, g, s.numbers)
			l.pad(2).text(s.pal.dim, "processes unknown: ").text(s.pal.dim, reason(why)).drawCut(s.f, 0, y, s.w)
			y++
		}
	}
}

func (s *Screen) tableHeading(t *tableLayout, y int) {
	p := &s.pal
	l := s.line.reset()
	put := func(c *column, id Column, width int) {
		if width == 0 && id != ByCommand {
			return
		}
		st := p.dim
		if id == s.sortedBy() && c != &shareColumn {
			st = p.bold
		}
		from := l.w
		switch {
		case id == ByCommand:
			l.pad(t.gap).cut(st, c.title, t.command)
		case c.right:
			l.right(st, c.title, width)
		default:
			l.pad(t.gap).left(st, c.title, width-t.gap)
		}
		s.target(from, y, l.w-from, 1, Target{Kind: OnColumn, Column: id})
	}
	for c := ByGPU; c < numColumns; c++ {
		put(&columns[c], c, t.width[c])
		if c == ByMemory {
			put(&shareColumn, ByMemory, t.share)
		}
	}
	l.drawCut(s.f, 0, y, s.w)
}

func (s *Screen) tableRow(t *tableLayout, r *proc, y int) {
	p, l, q := &s.pal, s.line.reset(), r.p
	if s.old(r.parent) {
		l.fade = &p.dim
	}
	number(l, p.plain, r.parent, r.gpu, t.width[ByGPU])
	l.int(p.plain, int64(q.PID), t.width[ByPID])
	outside := q.Namespace == monitor.NamespaceOutside && !q.Command.Known()
	if w := t.width[ByUser]; w > 0 {
		user := "?"
		if q.User.Known() {
			user = q.User.Value
		}
		l.pad(t.gap).left(p.plain, user, w-t.gap)
	}
	if w := t.width[ByType]; w > 0 {
		start := l.w
		l.pad(t.gap)
		kinds(l, p.plain, q.Types)
		l.to(start + w)
	}
	percent := func(c Column, reading monitor.Reading) {
		if w := t.width[c]; w > 0 {
			l.pad(w-4).percentOf(p, reading)
		}
	}
	percent(BySM, q.SMPercent)
	size(l, p.plain, q.GPUMemoryBytes, t.width[ByMemory])
	if t.share > 0 {
		part, ok := shareOf(q.GPUMemoryBytes, r.gpu.Readings[monitor.MemoryTotalBytes])
		l.pad(t.share-4).percent(p, part, ok)
	}
	percent(ByEncoder, q.EncoderPercent)
	percent(ByDecoder, q.DecoderPercent)
	if w := t.width[ByCPU]; w > 0 {
		if v, ok := q.CPUPercent.Float(); ok {
			l.float(p.plain, v, 0, w-1).text(p.dim, "%")
		} else {
			l.none(w)
		}
	}
	if w := t.width[ByHostMemory]; w > 0 {
		size(l, p.plain, q.HostMemoryBytes, w)
	}
	if w := t.width[ByTime]; w > 0 {
		if start, ok := q.StartTime.Int(); ok {
			l.span(p.plain, time.Duration(s.snap.Time.UnixNano()-start), w)
		} else {
			l.none(w)
		}
	}
	l.pad(t.gap)
	switch {
	case outside:
		l.cut(p.dim, "(outside this container)", t.command)
	case q.Command.Known():
		l.cut(p.name, q.Command.Value, t.command)
	case q.Name.Known():
		l.cut(p.name, q.Name.Value, t.command)
	default:
		l.text(p.plain, "-")
	}
	l.drawCut(s.f, 0, y, s.w)
}

// kinds appends C, G and M, joined by "+" where they are two.
func kinds(l *line, st ansi.Style, t monitor.ProcessTypes) {
	words := [...]string{"-", "C", "G", "C+G", "M", "C+M", "G+M", "CGM"}
	l.text(st, words[t&7])
}

// size appends a size in GiB, or MiB below one GiB.
func size(l *line, st ansi.Style, r monitor.Reading, width int) {
	const mib = 1 << 20
	v, ok := r.Float()
	switch {
	case !ok:
		l.none(width)
	case v < gib:
		l.float(st, v/mib, 0, width-4).text(st, " MiB")
	default:
		l.float(st, v/gib, 1, width-4).text(st, " GiB")
	}
}
