// Package screen draws what GPUs do: a Snapshot, the History behind it and
// the state of the view become an ansi.Frame. It is pure: it reads nothing,
// asks nobody and keeps no clock. What it is given decides what it draws.
//
// Its rules: what is unknown is "-", never 0 and never blank; no GPU is left
// out without a word; every line is as wide as the frame; words carry every
// warning and colour only helps.
package screen

import (
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// Options are fixed for a run.
type Options struct {
	Level   ansi.Level
	ASCII   bool   // plain characters only
	Version string // of the program, for the header
	User    string // the account of the one who looks: its processes go without an owner
}

// Mode chooses how GPUs are drawn.
type Mode uint8

// The modes. Auto draws boxes where all of them fit, else one row a GPU.
const (
	Auto Mode = iota
	Boxes
	List
	numModes
)

// Next returns the mode that follows m when the user cycles through them.
func (m Mode) Next() Mode { return (m + 1) % numModes }

// Column is a column of the process table.
type Column uint8

// The columns, in the order on the screen. Default sorts by GPU memory.
const (
	Default Column = iota
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
	numColumns
)

// Next returns the column to the right of c, after the last one the first.
func (c Column) Next() Column {
	if c == Default {
		c = ByMemory
	}
	if c++; c == numColumns {
		return ByGPU
	}
	return c
}

// View is the state of the view: plain data that belongs to the one who reads
// the keys. Draw puts the scroll positions into range.
type View struct {
	Now           time.Time // the time of day to show, in the zone to show it in
	Paused        bool
	ShowProcesses bool
	Help          bool
	Mode          Mode
	Scroll        int             // first row of GPUs shown, where not all fit
	ProcScroll    int             // first process shown, where not all fit
	Hidden        map[string]bool // GPUs switched off, by monitor.Key
	SilentFor     time.Duration   // how long the driver process has said nothing, 0 while it speaks
	Notice        string          // a passing message for the last line
	Sort          Column
	Reverse       bool
}

// TargetKind says what was hit.
type TargetKind uint8

// The kinds of target.
const (
	Nothing TargetKind = iota
	OnGPU
	OnProcess
	OnColumn
)

// Target is what stands at a place of the screen.
type Target struct {
	Kind   TargetKind
	GPU    int    // index into Snapshot.GPUs
	PID    uint32 // of OnProcess
	Column Column // of OnColumn
}

// Screen draws frames. It keeps memory between them, so that drawing does not
// allocate, and belongs to one goroutine at a time.
type Screen struct {
	opt Options
	pal palette

	// What is drawn now.
	f    *ansi.Frame
	w, h int
	snap *monitor.Snapshot
	hist *monitor.History
	v    *View

	numbers int   // cells for the number of a GPU or instance, with a blank before it
	shown   []int // indices of the GPUs that are not hidden
	lay     layout
	line    line
	side    line
	groups  []group
	procs   []proc
	owners  []owner
	listed  []listRow
	targets []area
	coding  map[string]int64 // when a GPU last encoded or decoded, by key
}

type area struct {
	x, y, w, h int
	target     Target
}

// New returns a screen.
func New(o Options) *Screen {
	return &Screen{opt: o, pal: newPalette(o.Level), coding: map[string]int64{}}
}

// Draw fills the frame. A nil snapshot means that there is none yet.
func (s *Screen) Draw(f *ansi.Frame, snap *monitor.Snapshot, hist *monitor.History, v *View) {
	s.f, s.snap, s.hist, s.v = f, snap, hist, v
	s.w, s.h = f.Size()
	s.targets = s.targets[:0]
	f.SetASCII(s.opt.ASCII)
	f.Clear()
	if s.w > 0 && s.h > 0 {
		s.draw()
	}
	// Nothing of the caller's is kept.
	s.f, s.snap, s.hist, s.v = nil, nil, nil, nil
	clear(s.procs[:cap(s.procs)])
	clear(s.listed[:cap(s.listed)])
}

func (s *Screen) draw() {
	s.choose()
	s.numbers = s.widest()
	s.arrange()
	if s.lay.header {
		s.drawHeader()
	}
	switch {
	case s.snap == nil || len(s.shown) == 0:
		s.drawWaiting()
	case s.lay.boxes:
		s.drawBoxes()
	default:
		s.drawList()
	}
	if s.lay.tableRows > 0 {
		s.drawTable()
	}
	if s.lay.footer {
		s.drawFooter()
	}
	if s.v.Help {
		s.drawHelp()
	}
}

// choose lists the GPUs that are not hidden. When that would hide all of them,
// all are shown.
func (s *Screen) choose() {
	s.shown = s.shown[:0]
	if s.snap == nil {
		return
	}
	for i := range s.snap.GPUs {
		if len(s.v.Hidden) == 0 || !s.v.Hidden[monitor.Key(&s.snap.GPUs[i])] {
			s.shown = append(s.shown, i)
		}
	}
	if len(s.shown) == 0 {
		for i := range s.snap.GPUs {
			s.shown = append(s.shown, i)
		}
	}
}

// widest is how many cells the number of a GPU or instance takes at most, with
// a blank before it.
func (s *Screen) widest() int {
	w := 4
	for _, i := range s.shown {
		g := &s.snap.GPUs[i]
		w = max(w, digits(g.Index)+1)
		for j := range g.MIG {
			w = max(w, digits(g.Index)+digits(g.MIG[j].GPUInstanceID)+2)
		}
	}
	return w
}

// hidden is how many GPUs are switched off.
func (s *Screen) hidden() int { return len(s.snap.GPUs) - len(s.shown) }

// drawWaiting says why there is no GPU to draw.
func (s *Screen) drawWaiting() {
	text := "starting"
	switch {
	case s.v.SilentFor > 0 && s.snap == nil:
		l := s.line.reset()
		l.text(s.pal.warn, "the driver process has said nothing for ")
		l.duration(s.pal.warn, s.v.SilentFor)
		l.drawCentred(s.f, 0, s.lay.top+s.lay.area/2, s.w)
		return
	case s.snap != nil && s.snap.Waiting != "":
		l := s.line.reset()
		l.text(s.pal.plain, "waiting for the driver: ")
		l.text(s.pal.warn, s.snap.Waiting)
		l.drawCentred(s.f, 0, s.lay.top+s.lay.area/2, s.w)
		return
	case s.snap != nil:
		text = "looking for GPUs"
	}
	s.line.reset().text(s.pal.plain, text).drawCentred(s.f, 0, s.lay.top+s.lay.area/2, s.w)
}

// Page returns by how many rows a page moves what Move scrolls.
func (s *Screen) Page() int {
	if s.lay.scroll {
		return max(s.lay.page, 1)
	}
	return max(s.lay.tableRows-2, 1)
}

// Move scrolls a view that was drawn last by rows, down where they are above 0:
// the GPUs where they do not all fit, else the processes.
func (s *Screen) Move(v *View, rows int) {
	if s.lay.scroll {
		v.Scroll = max(v.Scroll+rows, 0)
		return
	}
	v.ProcScroll = max(v.ProcScroll+rows, 0)
}

// Hit returns what stands at a column and row of the frame drawn last.
func (s *Screen) Hit(x, y int) Target {
	for _, a := range s.targets {
		if x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h {
			return a.target
		}
	}
	return Target{}
}

func (s *Screen) target(x, y, w, h int, t Target) {
	s.targets = append(s.targets, area{x, y, w, h, t})
}
