package screen

import (
	"slices"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// Mode chooses what is drawn.
type Mode uint8

// The modes. Auto draws boxes where all of them fit, else one row a GPU.
const (
	Auto      Mode = iota
	Boxes          // graphs beside numbers
	Numbers        // more numbers, no graphs
	List           // one row a GPU
	Processes      // the process table alone
	numModes
)

var modeWords = [numModes]string{"auto", "boxes", "numbers", "list", "processes"}

// String returns the word of the command line.
func (m Mode) String() string {
	if m < numModes {
		return modeWords[m]
	}
	return modeWords[Auto]
}

// ModeWords are the words that ParseMode reads.
func ModeWords() []string { return modeWords[Boxes:] }

// ParseMode reads the word of a mode. Of another it makes Auto.
func ParseMode(word string) Mode { return Mode(slices.Index(ModeWords(), word) + 1) }

// Next returns the mode that follows m when the user cycles through them.
func (m Mode) Next() Mode { return (m + 1) % numModes }

// Focus says what the keys move in.
type Focus uint8

// The places. FocusAuto is that of the GPUs where they do not all fit or no
// processes are shown, else that of the processes.
const (
	FocusAuto Focus = iota
	FocusGPUs
	FocusProcesses
)

// Details says whose details lie over the rest.
type Details uint8

// The kinds of details.
const (
	NoDetails Details = iota
	OfGPU
	OfProcess
)

// ProcessID names a process on a GPU across snapshots.
type ProcessID struct {
	PID   uint32
	Start int64  // in clock ticks after boot, -1 unknown
	GPU   string // monitor.Key of the GPU or instance; "" for all of them
}

// View is the state of the view: plain data that belongs to the one who reads
// the keys. Draw puts positions into range, and what was selected and is gone
// gives way to what stands in its place.
type View struct {
	Now       time.Time       // the time of day to show, in the zone to show it in
	SilentFor time.Duration   // how long the driver process has said nothing, 0 while it speaks
	Paused    bool            // the driver is not asked
	Notice    string          // a passing message for the last line
	Hidden    map[string]bool // GPUs switched off, by monitor.Key
	Signals   bool            // processes can be signalled
	Replay    *Replay         // of the recording shown; nil: what happens now

	Mode          Mode
	Graph         Graph
	ShowProcesses bool
	Choice        monitor.Choice // of processes
	Typing        bool           // Choice.Text is being typed
	KeptText      string         // what Choice.Text was before
	Joined        bool           // a process is one row, on however many GPUs
	Frozen        bool           // processes keep their order

	Focus   Focus
	GPU     string    // the GPU or instance selected, by monitor.Key; "" for none
	Process ProcessID // the process selected; PID 0 for none
	ProcAt  int       // its place in the table
	Moved   int       // by how many rows to move the selection in the next frame
	Follow  bool      // keep the selection in sight

	Scroll     int // first row of GPUs shown, where not all fit
	ProcScroll int // first process shown, where not all fit
	ProcShift  int // cells of the command lines that are out of sight on the left
	Cursor     int // place in the graphs whose values are told, from 1 for the newest; 0 for none

	Help         bool
	HelpScroll   int
	Details      Details
	DetailScroll int
	Folder       monitor.Text // the working folder of the process whose details are shown
	Signal       *SignalDialog
}

// SignalDialog asks which signal to send to a process.
type SignalDialog struct {
	Process ProcessID // pinned: what happens to the list does not change it
	Name    string    // of the process
	Signals []SignalItem
	Chosen  int    // index into Signals
	Confirm bool   // the second question: really?
	Yes     bool   // what is chosen there
	Outcome string // what came of it; then nothing can be chosen any more
}

// Choose moves what is chosen by rows.
func (d *SignalDialog) Choose(rows int) {
	if d.Outcome == "" && !d.Confirm {
		d.Chosen = clamp(d.Chosen+rows, 0, len(d.Signals)-1)
	}
}

// SignalItem is a signal that is offered.
type SignalItem struct{ Name, Does string }

// TargetKind says what was hit.
type TargetKind uint8

// The kinds of target.
const (
	Nothing TargetKind = iota
	OnGPU
	OnProcess
	OnColumn
	OnHint
	OnSignal // an item of the dialog, or of its second question
)

// Target is what stands at a place of the screen.
type Target struct {
	Kind    TargetKind
	GPU     string         // of OnGPU: monitor.Key
	Age     int            // of OnGPU, on a graph: as View.Cursor; else 0
	Process ProcessID      // of OnProcess
	Column  monitor.Column // of OnColumn
	Press   ansi.Event     // of OnHint: the key it stands for
	Item    int            // of OnSignal
}

type area struct {
	x, y, w, h int
	graph      bool // the newest sample stands in its last column
	target     Target
}

// Hit returns what stands at a column and row of the frame drawn last.
func (s *Screen) Hit(x, y int) Target {
	// What was drawn last lies on top.
	for i := len(s.targets) - 1; i >= 0; i-- {
		if a := &s.targets[i]; x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h {
			t := a.target
			if a.graph {
				t.Age = a.x + a.w - x
			}
			return t
		}
	}
	return Target{}
}

// Inlined, it would make the program 5 kB larger.
//
//go:noinline
func (s *Screen) target(x, y, w, h int, t Target) {
	s.targets = append(s.targets, area{x, y, w, h, false, t})
}

// graphTarget is the graph of a GPU.
func (s *Screen) graphTarget(x, y, w, h int, g *monitor.GPU) {
	s.targets = append(s.targets, area{x, y, w, h, true, Target{Kind: OnGPU, GPU: monitor.Key(g)}})
}

// Wheel scrolls what stands at a place by rows.
func (s *Screen) Wheel(v *View, x, y, rows int) {
	v.Follow = false
	switch {
	case v.Signal != nil:
		v.Signal.Choose(rows)
	case v.Help:
		v.HelpScroll += rows
	case v.Details != NoDetails:
		v.DetailScroll += rows
	case s.lay.tableRows > 0 && y >= s.lay.tableTop:
		v.ProcScroll += rows
	default:
		v.Scroll += rows
	}
}

// Page is by how many rows a page moves.
func (s *Screen) Page(v *View) int {
	if v.Help || v.Details != NoDetails || v.Signal != nil {
		return max(s.panelRows-1, 1)
	}
	if s.Focused(v) == FocusGPUs {
		return max(s.lay.page*max(s.lay.columns, 1), 1)
	}
	return max(s.lay.tableRows-2, 1)
}

// Focused is what the keys move in, in a view that was drawn last.
func (s *Screen) Focused(v *View) Focus {
	switch {
	case s.lay.tableRows == 0:
		return FocusGPUs
	case v.Mode == Processes:
		return FocusProcesses
	case v.Focus != FocusAuto:
		return v.Focus
	case s.lay.scroll:
		return FocusGPUs
	}
	return FocusProcesses
}

// OtherFocus is where Tab leads to.
func (s *Screen) OtherFocus(v *View) Focus {
	if s.Focused(v) == FocusGPUs && s.lay.tableRows > 0 {
		return FocusProcesses
	}
	return FocusGPUs
}

// HasGraphs reports whether the view that was drawn last has graphs, and whether
// they tell the value at a place.
func (s *Screen) HasGraphs() (graphs, cursor bool) {
	return s.lay.kind == Boxes || s.lay.kind == List && s.lay.list.history > 0, s.lay.kind == Boxes
}

// NextMode is the mode that follows, without one that looks the same.
func (s *Screen) NextMode(v *View) Mode {
	next := v.Mode.Next()
	if v.Mode == Auto && next == s.lay.kind {
		next = next.Next()
	}
	return next
}

// HasTable reports whether the view that was drawn last has a process table.
func (s *Screen) HasTable() bool { return s.lay.tableRows > 0 }
