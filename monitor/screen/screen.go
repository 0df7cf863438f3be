// Package screen draws what GPUs do: a Snapshot, the History behind it and
// the state of the view become an ansi.Frame. It is pure: it reads nothing,
// asks nobody and keeps no clock. What it is given decides what it draws.
//
// Its rules: what is unknown is "-", never 0 and never blank; no GPU is left
// out without a word; every line is as wide as the frame; words carry every
// warning and colour only helps.
package screen

import (
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

	numbers   int   // cells for the number of a GPU or instance, with a blank before it
	shown     []int // indices of the GPUs that are not hidden
	lay       layout
	line      line
	side      line
	part      line
	groups    []group
	words     []string
	hints     []hint
	parts     []int // of a module: those being drawn
	boxed     []int // of shown: those that have a box
	folds     []fold
	procs     []procRow
	rowOrder  rowOrder
	joined    []monitor.Process
	panelRows int               // of the panel drawn last, inside
	chosen    int               // the row of the table that is selected, -1 for none
	filtered  int               // how many processes the filter leaves out
	ranks     map[ProcessID]int // the order of the processes while it is frozen
	owners    []owner
	ownOrder  ownerOrder
	listed    []listRow
	targets   []area
	coding    map[string]int64 // when a GPU last encoded or decoded, by key
}

// New returns a screen.
func New(o Options) *Screen {
	return &Screen{opt: o, pal: newPalette(o.Level), coding: map[string]int64{}, ranks: map[ProcessID]int{}}
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
	clear(s.joined[:cap(s.joined)])
	clear(s.listed[:cap(s.listed)])
}

func (s *Screen) draw() {
	s.choose()
	if s.hist == nil {
		s.v.Cursor = 0
	} else {
		s.v.Cursor = min(s.v.Cursor, len(s.hist.Times())) // no sample is older
	}
	s.numbers = s.widest()
	s.arrange()
	if s.lay.header {
		s.drawHeader()
	}
	switch {
	case s.snap == nil || len(s.shown) == 0:
		s.drawWaiting()
	case s.lay.kind == Boxes:
		s.drawBoxes()
	case s.lay.kind == Numbers:
		s.drawCards()
	case s.lay.kind == List:
		s.drawList()
	}
	if s.lay.tableRows > 0 {
		s.drawTable()
	}
	s.v.Moved = 0
	if s.lay.footer {
		s.drawFooter()
	}
	s.drawOver()
}

// drawOver draws what lies over the rest.
func (s *Screen) drawOver() {
	switch {
	case s.snap == nil:
	case s.v.Details == OfGPU:
		if g, parent := findGPU(s.snap, s.v.GPU); g != nil {
			s.drawGPUDetails(g, parent)
		}
	case s.v.Details == OfProcess:
		s.drawProcessDetails()
	}
	if s.v.Help {
		s.drawHelp()
	}
	if s.v.Signal != nil {
		s.drawSignal()
	}
}

// findGPU returns the GPU or instance with a key, and its parent, which is the
// GPU itself when it is no instance; nil when there is none.
func findGPU(snap *monitor.Snapshot, key string) (g, parent *monitor.GPU) {
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if monitor.Key(g) == key {
			return g, g
		}
		for j := range g.MIG {
			if monitor.Key(&g.MIG[j]) == key {
				return &g.MIG[j], g
			}
		}
	}
	return nil, nil
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
	if s.v.Replay != nil {
		text = "reading the recording"
	}
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
		y := s.lay.top + s.lay.area/2
		l.drawCentred(s.f, 0, y, s.w)
		if s.snap.WaitingHint != "" && y+1 < s.lay.top+s.lay.area {
			s.line.reset().text(s.pal.dim, s.snap.WaitingHint).drawCentred(s.f, 0, y+1, s.w)
		}
		return
	case s.snap != nil && s.v.Replay != nil:
		text = "no GPUs at this time"
	case s.snap != nil:
		text = "looking for GPUs"
	}
	s.line.reset().text(s.pal.plain, text).drawCentred(s.f, 0, s.lay.top+s.lay.area/2, s.w)
}
