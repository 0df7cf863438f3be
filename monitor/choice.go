package monitor

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Column is a column of the process table. The zero Column stands for the one
// that is sorted by where nobody chose: GPU memory.
type Column uint8

// The columns, in the order on the screen.
const (
	ByDefault Column = iota
	ByGPU
	ByPID
	ByUser
	ByType
	BySM
	ByMemory
	ByEncoder
	ByDecoder
	ByCPU
	ByHostMemory
	ByTime
	ByCommand
	NumColumns
)

var columnWords = [NumColumns]string{"mem", "gpu", "pid", "user", "type", "sm", "mem", "enc", "dec", "cpu", "host", "time", "command"}

// String returns the word of the command line.
func (c Column) String() string {
	if c < NumColumns {
		return columnWords[c]
	}
	return columnWords[ByDefault]
}

// Next returns the column to the right of c, after the last one the first.
func (c Column) Next() Column {
	if c == ByDefault {
		c = ByMemory
	}
	if c++; c >= NumColumns {
		return ByGPU
	}
	return c
}

// ColumnWords are the words that ParseColumn reads.
func ColumnWords() []string { return columnWords[ByGPU:] }

// ParseColumn reads the word of a column. Of another it makes ByDefault.
func ParseColumn(word string) Column { return Column(slices.Index(ColumnWords(), word) + 1) }

// Choice says which processes are shown, and in which order. The zero Choice
// shows all of them, those with the most GPU memory first.
type Choice struct {
	Text    string // a part of the name, user, PID or command, or the GPU; "" for all
	User    string // an account; "" for all
	Sort    Column
	Reverse bool
	None    bool // no processes at all
}

// Placed is a process and where it runs.
type Placed struct {
	Process *Process
	GPU     *GPU // the GPU, or its instance
	Parent  *GPU // the GPU in either case
	Place   int  // of Parent in the snapshot
}

// Match reports whether c shows p, which runs on g: a GPU, or an instance of
// parent; parent may be g itself.
func (c *Choice) Match(parent, g *GPU, p *Process) bool {
	if c.None || c.User != "" && (!p.User.Known() || p.User.Value != c.User) {
		return false
	}
	if c.Text == "" {
		return true
	}
	var digits [20]byte
	return p.Name.contains(c.Text) || p.Command.contains(c.Text) || p.User.contains(c.Text) ||
		strings.Contains(string(strconv.AppendUint(digits[:0], uint64(p.PID), 10)), c.Text) ||
		c.names(parent, g)
}

// names reports whether the text is the number of the GPU: 0, gpu0 or gpu 0
// for the whole of it, 0:3 for an instance. A part of it is not enough, or 1
// would show everything on GPU 10.
func (c *Choice) names(parent, g *GPU) bool {
	text := c.Text
	if len(text) > 3 && strings.EqualFold(text[:3], "gpu") {
		text = strings.TrimLeft(text[3:], " ")
	}
	if parent.Index < 0 || text == "" {
		return false
	}
	var room [48]byte
	label := strconv.AppendInt(room[:0], int64(parent.Index), 10)
	if string(label) == text {
		return true
	}
	if g == parent || g.GPUInstanceID < 0 {
		return false
	}
	label = append(label, ':')
	return string(strconv.AppendInt(label, int64(g.GPUInstanceID), 10)) == text
}

// contains reports whether the text is known and part stands in it, in letters
// of either case. It does not allocate.
func (t *Text) contains(part string) bool {
	if !t.Known() {
		return false
	}
	first, _ := folded(part)
	for s := t.Value; s != ""; {
		r, n := folded(s)
		if r == first && beginsFolded(s, part) {
			return true
		}
		s = s[n:]
	}
	return false
}

func beginsFolded(s, part string) bool {
	for part != "" {
		if s == "" {
			return false
		}
		a, n := folded(s)
		b, m := folded(part)
		if a != b {
			return false
		}
		s, part = s[n:], part[m:]
	}
	return true
}

// folded returns the first character of s, the same for all that differ in case
// only, and its bytes.
func folded(s string) (r rune, n int) {
	r, n = rune(s[0]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(s)
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		r = least
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r, n
}

// SortedBy returns the column that is sorted by.
func (c *Choice) SortedBy() Column {
	if c.Sort > ByDefault && c.Sort < NumColumns {
		return c.Sort
	}
	return ByMemory
}

// Descends reports whether the largest stands first: the most of what is
// measured, unless reversed; the last of numbers and names only when reversed.
func (c *Choice) Descends() bool {
	switch c.SortedBy() {
	case ByGPU, ByPID, ByUser, ByType, ByCommand:
		return c.Reverse
	}
	return !c.Reverse
}

// Compare orders processes. What is unknown stands last, whichever way the rest
// is sorted; what is equal stands by GPU memory, then PID, then GPU.
func (c *Choice) Compare(a, b *Placed) int {
	by := c.SortedBy()
	if n := compareRanks(by.rank(a), by.rank(b), c.Descends()); n != 0 {
		return n
	}
	if n := compareRanks(ByMemory.rank(a), ByMemory.rank(b), true); n != 0 {
		return n
	}
	return cmp.Or(
		cmp.Compare(a.Process.PID, b.Process.PID),
		cmp.Compare(a.Place, b.Place),
		cmp.Compare(a.GPU.GPUInstanceID, b.GPU.GPUInstanceID),
		cmp.Compare(a.GPU.ComputeInstanceID, b.GPU.ComputeInstanceID),
	)
}

// rank is what a process is sorted by in one column: a number or a text.
type rank struct {
	number float64
	text   string
	known  bool
}

func (c Column) rank(p *Placed) (r rank) {
	switch q := p.Process; c {
	case ByGPU:
		return rank{number: float64(p.Place), known: true}
	case ByPID:
		return rank{number: float64(q.PID), known: true}
	case ByType:
		return rank{number: float64(q.Types), known: true}
	case ByUser:
		return rank{text: q.User.Value, known: q.User.Known()}
	case ByCommand:
		return rank{text: q.Command.Value, known: q.Command.Known()}
	case BySM:
		r.number, r.known = q.SMPercent.Float()
	case ByEncoder:
		r.number, r.known = q.EncoderPercent.Float()
	case ByDecoder:
		r.number, r.known = q.DecoderPercent.Float()
	case ByCPU:
		r.number, r.known = q.CPUPercent.Float()
	case ByHostMemory:
		r.number, r.known = q.HostMemoryBytes.Float()
	case ByTime:
		r.number, r.known = q.StartTime.Float()
		r.number = -r.number // the longest running one is the largest
	default:
		r.number, r.known = q.GPUMemoryBytes.Float()
	}
	return r
}

func compareRanks(a, b rank, descend bool) int {
	switch {
	case !a.known && !b.known:
		return 0
	case !a.known:
		return 1
	case !b.known:
		return -1
	case descend:
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text))
}

// Apply returns a copy of s whose lists hold the processes that c shows, in
// its order. What is said of a GPU itself stays as it is.
func (c *Choice) Apply(s *Snapshot) *Snapshot {
	out := *s
	out.GPUs = slices.Clone(s.GPUs)
	for i := range out.GPUs {
		g := &out.GPUs[i]
		c.choose(g, g)
		g.MIG = slices.Clone(g.MIG)
		for j := range g.MIG {
			c.choose(g, &g.MIG[j])
		}
	}
	return &out
}

// choose gives g, which belongs to a copy, a list of its own.
func (c *Choice) choose(parent, g *GPU) {
	if c.None {
		g.Processes, g.ProcStatus = nil, Status{}
		return
	}
	var chosen []Placed
	for i := range g.Processes {
		if p := &g.Processes[i]; c.Match(parent, g, p) {
			chosen = append(chosen, Placed{Process: p, GPU: g, Parent: parent})
		}
	}
	sort.Slice(chosen, func(i, j int) bool { return c.Compare(&chosen[i], &chosen[j]) < 0 })
	g.Processes = nil
	for i := range chosen {
		g.Processes = append(g.Processes, *chosen[i].Process)
	}
}
