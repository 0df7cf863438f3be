package screen

import (
	"cmp"
	"sort"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// column describes a column of the process table. Rank tells which one goes
// first where not all fit.
type column struct {
	title string
	width int // with at least one blank before it; 0: the rest
	wide  int // the same where there is room: two blanks
	rank  int
	right bool
}

var columns = [monitor.NumColumns]column{
	monitor.ByGPU:        {"GPU", 4, 4, never, true},
	monitor.ByPID:        {"PID", 9, 9, never, true},
	monitor.ByUser:       {"USER", 9, 12, 8, false},
	monitor.ByType:       {"TYPE", 5, 6, 4, false},
	monitor.BySM:         {"SM", 5, 6, 7, true},
	monitor.ByMemory:     {"GPU MEM", 10, 12, never, true},
	monitor.ByEncoder:    {"ENC", 5, 6, 1, true},
	monitor.ByDecoder:    {"DEC", 5, 5, 1, true},
	monitor.ByCPU:        {"CPU", 6, 7, 5, true},
	monitor.ByHostMemory: {"HOST MEM", 10, 11, 2, true},
	monitor.ByTime:       {"TIME", 8, 10, 6, true},
	monitor.ByCommand:    {"COMMAND", 0, 0, never, false},
}

// shareColumn is the share of the GPU's memory, which is sorted by with the
// memory itself.
var shareColumn = column{"%", 5, 6, 3, true}

const commandWidth = 15 // what the other columns leave to the command where they can

// procRow is a row of the process table.
type procRow struct {
	monitor.Placed
	gpus int // how many GPUs it stands for, and the index of the last one
	last int
}

// id names a row across frames.
func (s *Screen) id(r *procRow) ProcessID {
	id := ProcessID{PID: r.Process.PID, Start: startOf(r.Process)}
	if !s.v.Joined {
		id.GPU = monitor.Key(r.GPU)
	}
	return id
}

// is reports whether a row is the one with an identity.
func (s *Screen) is(r *procRow, id *ProcessID) bool {
	return r.Process.PID == id.PID && s.id(r) == *id
}

// sortedBy is the column that the table is sorted by.
func (s *Screen) sortedBy() monitor.Column { return s.v.Choice.SortedBy() }

// descends reports whether the largest stands first.
func (s *Screen) descends() bool { return s.v.Choice.Descends() }

// listProcesses gathers and sorts the processes of the GPUs shown, and returns
// how many there are besides.
func (s *Screen) listProcesses() (left int) {
	s.procs = s.procs[:0]
	c := &s.v.Choice
	add := func(g, parent *monitor.GPU, place int) {
		for i := range g.Processes {
			if p := &g.Processes[i]; c.Match(parent, g, p) {
				s.procs = append(s.procs, procRow{monitor.Placed{Process: p, GPU: g, Parent: parent, Place: place}, 1, parent.Index})
			} else {
				left++
			}
		}
	}
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		add(g, g, i)
		for j := range g.MIG {
			add(&g.MIG[j], g, i)
		}
	}
	if s.v.Joined {
		s.join()
	}
	s.sortRows(func(s *Screen, a, b *procRow) int { return s.v.Choice.Compare(&a.Placed, &b.Placed) })
	s.freeze()
	return left
}

func (s *Screen) sortRows(compare func(s *Screen, a, b *procRow) int) {
	s.rowOrder = rowOrder{s, compare}
	sort.Sort(&s.rowOrder)
}

// rowOrder sorts the rows. It is kept in the Screen, and compare captures
// nothing, so that sorting does not allocate.
type rowOrder struct {
	s       *Screen
	compare func(s *Screen, a, b *procRow) int
}

func (o *rowOrder) Len() int           { return len(o.s.procs) }
func (o *rowOrder) Less(i, j int) bool { return o.compare(o.s, &o.s.procs[i], &o.s.procs[j]) < 0 }
func (o *rowOrder) Swap(i, j int)      { o.s.procs[i], o.s.procs[j] = o.s.procs[j], o.s.procs[i] }

// join makes one row of the rows of each process.
func (s *Screen) join() {
	s.sortRows(func(_ *Screen, a, b *procRow) int {
		return cmp.Or(cmp.Compare(a.Process.PID, b.Process.PID), cmp.Compare(a.Place, b.Place), cmp.Compare(a.GPU.GPUInstanceID, b.GPU.GPUInstanceID))
	})
	s.joined = s.joined[:0]
	n := 0
	for i := 0; i < len(s.procs); n++ {
		first := s.procs[i]
		p := *first.Process
		j := i + 1
		for ; j < len(s.procs) && s.procs[j].Process.PID == p.PID; j++ {
			q := s.procs[j].Process
			p.Types |= q.Types
			p.GPUMemoryBytes = plus(p.GPUMemoryBytes, q.GPUMemoryBytes)
			p.SMPercent = plus(p.SMPercent, q.SMPercent)
			p.EncoderPercent = plus(p.EncoderPercent, q.EncoderPercent)
			p.DecoderPercent = plus(p.DecoderPercent, q.DecoderPercent)
			first.last = s.procs[j].Parent.Index
		}
		if first.gpus = j - i; first.gpus > 1 {
			// Loads are means, as those of a GPU are.
			p.SMPercent, p.EncoderPercent, p.DecoderPercent = part(p.SMPercent, first.gpus), part(p.EncoderPercent, first.gpus), part(p.DecoderPercent, first.gpus)
		}
		s.joined = append(s.joined, p)
		s.procs[n] = first
		i = j
	}
	s.procs = s.procs[:n]
	for i := range s.procs {
		s.procs[i].Process = &s.joined[i]
	}
}

// plus adds two readings; one unknown part makes the sum unknown.
func plus(a, b monitor.Reading) monitor.Reading {
	x, ok := a.Float()
	if !ok {
		return a
	}
	y, ok := b.Float()
	if !ok {
		return b
	}
	sum := monitor.OfFloat(x + y)
	sum.Provenance = max(a.Provenance, b.Provenance)
	return sum
}

func part(r monitor.Reading, n int) monitor.Reading {
	if v, ok := r.Float(); ok {
		return monitor.OfFloat(v / float64(n))
	}
	return r
}

// freeze keeps the order that the processes had when it was frozen; new ones
// come last.
func (s *Screen) freeze() {
	if !s.v.Frozen {
		clear(s.ranks)
		return
	}
	if len(s.ranks) > 0 {
		s.sortRows(func(s *Screen, a, b *procRow) int {
			return cmp.Or(cmp.Compare(s.rank(a), s.rank(b)), s.v.Choice.Compare(&a.Placed, &b.Placed))
		})
	}
	for i := range s.procs {
		if id := s.id(&s.procs[i]); s.rank(&s.procs[i]) == unranked {
			s.ranks[id] = len(s.ranks)
		}
	}
}

const unranked = 1 << 30

func (s *Screen) rank(r *procRow) int {
	if n, ok := s.ranks[s.id(r)]; ok {
		return n
	}
	return unranked
}

// moveProcess moves the selection among n rows in sight at a time.
func (s *Screen) moveProcess(n int) {
	v := s.v
	by := 0
	if s.Focused(v) == FocusProcesses {
		by = v.Moved
	}
	s.chosen = -1
	if len(s.procs) == 0 || v.Process.PID == 0 && by == 0 && v.Details != OfProcess {
		return
	}
	at := -1
	for i := range s.procs {
		if s.is(&s.procs[i], &v.Process) {
			at = i
			break
		}
	}
	switch {
	case at < 0 && v.Details == OfProcess && v.Process.PID != 0:
		return // its details say that it is gone
	case at < 0 && v.Process.PID == 0:
		at = firstStep(v.ProcScroll, by, len(s.procs))
	case at < 0:
		at = clamp(v.ProcAt+by, 0, len(s.procs)-1) // what stands in its place
	default:
		at = clamp(at+by, 0, len(s.procs)-1)
	}
	if id := s.id(&s.procs[at]); id != v.Process {
		v.Process, v.DetailScroll = id, 0
	}
	s.chosen, v.ProcAt = at, at
	if v.Follow = v.Follow || by != 0; v.Follow {
		v.ProcScroll = clamp(v.ProcScroll, at-n+1, at)
	}
}

// tableLayout has the width of each column, 0 where it is left out.
type tableLayout struct {
	width   [monitor.NumColumns]int
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
		e, _ := s.procs[i].Process.EncoderPercent.Float()
		d, _ := s.procs[i].Process.DecoderPercent.Float()
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
	for c := monitor.ByGPU; c < monitor.NumColumns; c++ {
		if (c == monitor.ByEncoder || c == monitor.ByDecoder) && !coders {
			continue
		}
		set(&t.width[c], &columns[c])
	}
	numbers := s.numbers
	if s.v.Joined {
		numbers = max(numbers, 7)
	}
	sum += numbers - t.width[monitor.ByGPU]
	t.width[monitor.ByGPU] = numbers
	set(&t.share, &shareColumn)
	for sum+commandWidth > s.w {
		lowest, at := never, (*int)(nil)
		for c := monitor.ByGPU; c < monitor.NumColumns; c++ {
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
	s.filtered = s.listProcesses()
	t := s.arrangeTable()
	y := s.lay.tableTop
	s.tableHeading(&t, y)
	y++
	n := s.tableShown()
	more := n < len(s.procs) && n < s.tableRoom()
	s.moveProcess(n)
	s.v.ProcScroll = clamp(s.v.ProcScroll, 0, len(s.procs)-n)
	s.shiftCommands(&t, n)
	for i := s.v.ProcScroll; i < s.v.ProcScroll+n; i++ {
		s.tableRow(&t, &s.procs[i], y)
		if i == s.chosen {
			s.mark(0, y, s.w, 1, s.Focused(s.v) == FocusProcesses)
		}
		s.target(0, y, s.w, 1, Target{Kind: OnProcess, Process: s.id(&s.procs[i])})
		y++
	}
	if more {
		above, below := s.v.ProcScroll, len(s.procs)-n-s.v.ProcScroll
		l := s.line.reset().pad(1)
		if above > 0 {
			l.int(s.pal.plain, int64(above), 0).text(s.pal.plain, " more above")
		}
		if below > 0 {
			if above > 0 {
				l.pad(2)
			}
			l.int(s.pal.plain, int64(below), 0).text(s.pal.plain, " more below")
		}
		l.drawCut(s.f, 0, y, s.w)
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
	if len(s.procs) == 0 && y < s.lay.tableTop+s.lay.tableRows {
		if text := s.noProcesses(); text != "" {
			s.line.reset().pad(1).text(s.pal.dim, text).drawCut(s.f, 0, y, s.w)
		}
	}
}

// noProcesses says why the table is empty, "" where it was said already.
func (s *Screen) noProcesses() string {
	switch {
	case s.filtered > 0:
		return "no process matches the filter"
	case s.anyList():
		return "no process uses a GPU"
	case s.unreadRows() > 0:
		return ""
	}
	return "no process list could be read"
}

// shiftCommands puts into range how far the command lines are shifted.
func (s *Screen) shiftCommands(t *tableLayout, n int) {
	if s.v.ProcShift == 0 {
		return
	}
	longest := 0
	for i := s.v.ProcScroll; i < s.v.ProcScroll+n; i++ {
		text, _ := s.command(&s.procs[i])
		longest = max(longest, ansi.Width(text))
	}
	s.v.ProcShift = clamp(s.v.ProcShift, 0, max(longest-t.command, 0))
}

func (s *Screen) tableHeading(t *tableLayout, y int) {
	p := &s.pal
	l := s.line.reset()
	put := func(c *column, id monitor.Column, width int) {
		if width == 0 && id != monitor.ByCommand {
			return
		}
		from := l.w
		if id == s.sortedBy() && c != &shareColumn && !s.v.Frozen {
			s.sortedTitle(l, c, id, width, t)
		} else {
			s.plainTitle(l, p.dim, c, id, width, t)
		}
		s.target(from, y, l.w-from, 1, Target{Kind: OnColumn, Column: id})
	}
	for c := monitor.ByGPU; c < monitor.NumColumns; c++ {
		put(&columns[c], c, t.width[c])
		if c == monitor.ByMemory {
			put(&shareColumn, monitor.ByMemory, t.share)
		}
	}
	l.drawCut(s.f, 0, y, s.w)
	s.drawTableState(y)
}

// drawTableState says at the end of the heading what is not to be seen in the
// rows: that some are left out, that the order stands still, that a row is a
// process on all of its GPUs.
func (s *Screen) drawTableState(y int) {
	p, c := &s.pal, &s.v.Choice
	l := s.line.reset()
	tag := func(name, value string) {
		l.text(p.dim, " ").text(p.warn, name)
		if value != "" {
			l.text(p.plain, " ").cut(p.bold, value, 24)
		}
	}
	if c.Text != "" {
		tag("filter", c.Text)
	}
	if c.User != "" {
		tag("user", c.User)
	}
	if s.v.Frozen {
		tag("frozen", "")
	}
	if s.v.Joined {
		tag("one row each", "")
	}
	if l.w == 0 {
		return
	}
	l.drawCut(s.f, max(s.w-l.w, 0), y, s.w)
}

func (s *Screen) plainTitle(l *line, st ansi.Style, c *column, id monitor.Column, width int, t *tableLayout) {
	switch {
	case id == monitor.ByCommand:
		l.pad(t.gap).cut(st, c.title, t.command)
	case c.right:
		l.right(st, c.title, width)
	default:
		l.pad(t.gap).left(st, c.title, width-t.gap)
	}
}

// sortedTitle is the title of the column that is sorted by, with an arrow where
// that fits.
func (s *Screen) sortedTitle(l *line, c *column, id monitor.Column, width int, t *tableLayout) {
	st, arrow := s.pal.bold, s.direction()
	switch n := len(c.title) + 1; {
	case id == monitor.ByCommand && t.command >= n:
		l.pad(t.gap).text(st, c.title).text(st, arrow)
	case id != monitor.ByCommand && c.right && width >= n:
		l.pad(width-n).text(st, c.title).text(st, arrow)
	case id != monitor.ByCommand && !c.right && width-t.gap >= n:
		end := l.w + width
		l.pad(t.gap).text(st, c.title).text(st, arrow).to(end)
	default:
		s.plainTitle(l, st, c, id, width, t)
	}
}

// direction is the sign of the order. Plain characters have no arrows.
func (s *Screen) direction() string {
	switch down := s.descends(); {
	case s.opt.ASCII && down:
		return ">"
	case s.opt.ASCII:
		return "<"
	case down:
		return "↓"
	}
	return "↑"
}

// command is what the last column says, and whether that is what the process
// was started with or is called.
func (s *Screen) command(r *procRow) (text string, named bool) {
	switch q := r.Process; {
	case q.Namespace == monitor.NamespaceOutside && !q.Command.Known():
		return s.snap.Platform.Outside(), false
	case q.Command.Known():
		return q.Command.Value, true
	case q.Name.Known():
		return q.Name.Value, true
	}
	return "?", false
}

func (s *Screen) tableRow(t *tableLayout, r *procRow, y int) {
	p, l, q := &s.pal, s.line.reset(), r.Process
	if s.old(r.Parent) {
		l.fade = &p.dim
	}
	if r.gpus > 1 {
		s.severalGPUs(l, r, t.width[monitor.ByGPU])
	} else {
		number(l, p.plain, r.Parent, r.GPU, t.width[monitor.ByGPU])
	}
	l.int(p.plain, int64(q.PID), t.width[monitor.ByPID])
	if w := t.width[monitor.ByUser]; w > 0 {
		user := "?"
		if q.User.Known() {
			user = q.User.Value
		}
		l.pad(t.gap).left(p.plain, user, w-t.gap)
	}
	if w := t.width[monitor.ByType]; w > 0 {
		start := l.w
		l.pad(t.gap)
		kinds(l, p.plain, q.Types)
		l.to(start + w)
	}
	percent := func(c monitor.Column, reading monitor.Reading) {
		if w := t.width[c]; w > 0 {
			l.pad(w-4).percentOf(p, reading)
		}
	}
	percent(monitor.BySM, q.SMPercent)
	size(l, p.plain, q.GPUMemoryBytes, t.width[monitor.ByMemory])
	if t.share > 0 {
		part, ok := shareOf(q.GPUMemoryBytes, r.GPU.Readings[monitor.MemoryTotalBytes])
		ok = ok && r.gpus == 1
		l.pad(t.share-4).percent(p, part, ok)
	}
	percent(monitor.ByEncoder, q.EncoderPercent)
	percent(monitor.ByDecoder, q.DecoderPercent)
	if w := t.width[monitor.ByCPU]; w > 0 {
		if v, ok := q.CPUPercent.Float(); ok {
			l.float(p.plain, v, 0, w-1).text(p.dim, "%")
		} else {
			l.none(w)
		}
	}
	if w := t.width[monitor.ByHostMemory]; w > 0 {
		size(l, p.plain, q.HostMemoryBytes, w)
	}
	if w := t.width[monitor.ByTime]; w > 0 {
		if start, ok := q.StartTime.Int(); ok {
			l.span(p.plain, time.Duration(s.snap.Time.UnixNano()-start), w)
		} else {
			l.none(w)
		}
	}
	l.pad(t.gap)
	text, named := s.command(r)
	st := p.dim
	if named {
		st = p.name
	}
	l.cut(st, text[skip(text, s.v.ProcShift):], t.command)
	l.drawCut(s.f, 0, y, s.w)
}

// severalGPUs appends the numbers of the GPUs of a joined row: 0-7 where they
// follow each other, else 0,3 or, where that does not fit, how many they are.
func (s *Screen) severalGPUs(l *line, r *procRow, width int) {
	st, end := s.pal.plain, l.w+width
	side := s.side.reset()
	if r.last-r.Parent.Index == r.gpus-1 {
		side.int(st, int64(r.Parent.Index), 0).text(st, "-").int(st, int64(r.last), 0)
	} else {
		s.each(r.Process, func(g, parent *monitor.GPU, _ *monitor.Process) {
			if side.w > 0 {
				side.text(st, ",")
			}
			number(side, st, parent, g, 0)
		})
		if side.w >= width {
			side.reset().int(st, int64(r.gpus), 0).text(st, " GPUs")
		}
	}
	l.pad(width - side.w).append(side).to(end)
}

// skip is how many bytes of s stand in its first cells.
func skip(s string, cells int) int {
	n, _ := fitting(s, cells)
	return n
}

// kinds appends C, G and M, joined by "+" where they are two.
func kinds(l *line, st ansi.Style, t monitor.ProcessTypes) {
	words := [...]string{"-", "C", "G", "C+G", "M", "C+M", "G+M", "CGM"}
	l.text(st, words[t&7])
}

// size appends a size in GiB, or MiB below one GiB.
func size(l *line, st ansi.Style, r monitor.Reading, width int) {
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
