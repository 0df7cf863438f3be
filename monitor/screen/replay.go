package screen

import (
	"math"
	"strconv"
	"time"

	"nvtop-lite/internal/ansi"
)

// Replay is where the replay of a recording stands: plain data, as View.
type Replay struct {
	Paused  bool
	Speed   float64 // recorded seconds a second
	AtEnd   bool    // nothing follows
	Seeking bool    // another place is being looked for, which takes a while

	First, Last time.Time     // of the recording's snapshots; Last may grow
	Missing     time.Duration // for how long nothing was recorded before Resumed; 0: no such gap is near
	Resumed     time.Time     // of the first snapshot after that gap
	Broken      int           // lines that were passed over
	BrokenMore  bool          // there may be more of them
	Failed      string        // why the recording cannot be read on, "" while it can

	Jumping   bool   // a time to jump to is being typed
	Jump      string // what was typed
	JumpError string // what is wrong with it, "" for nothing yet
}

var (
	replayHints = []hint{
		{"q", "quit", typed('q')}, {"h", "help", typed('h')}, {"Space", "pause", typed(' ')},
		{".", "step", typed('.')}, {",", "back", typed(',')}, {"<", "slower", typed('<')}, {">", "faster", typed('>')}, {"t", "jump", typed('t')},
		{"Left", "-10 s", ansi.Event{Key: ansi.KeyLeft}}, {"Right", "+10 s", ansi.Event{Key: ansi.KeyRight}},
		{"Home", "start", ansi.Event{Key: ansi.KeyHome}}, {"End", "end", ansi.Event{Key: ansi.KeyEnd}},
	}
	replayDetailHints = []hint{
		{"Esc", "close", ansi.Event{Key: ansi.KeyEsc}}, {"q", "quit", typed('q')}, {"Space", "pause", typed(' ')},
		{".", "step", typed('.')}, {",", "back", typed(',')}, {"<", "slower", typed('<')}, {">", "faster", typed('>')},
		{"Left", "-10 s", ansi.Event{Key: ansi.KeyLeft}}, {"Right", "+10 s", ansi.Event{Key: ansi.KeyRight}},
	}
	jumpHints = []hint{{"Enter", "jump", ansi.Event{Key: ansi.KeyEnter}}, {"Esc", "drop", ansi.Event{Key: ansi.KeyEsc}}}
)

// playing adds the hints about a recording that can be read on; of one that
// cannot, the first two are left.
func (s *Screen) playing(list []hint) []hint {
	r := s.v.Replay
	if s.failed() {
		list = list[:2]
	}
	s.hints = append(s.hints[:0], list...)
	for i := range s.hints {
		if r.Paused && s.hints[i].key == "Space" {
			s.hints[i].does = "go on"
		}
	}
	return s.hints
}

// drawPlaying adds what the header says of the replay behind its label.
func (s *Screen) drawPlaying(r *Replay) {
	p := &s.pal
	g := s.group(rankPaused, false).pad(2)
	switch {
	case r.Failed != "":
		g.text(p.critical, "FAILED")
	case r.Seeking:
		g.text(p.warn, "seeking…")
	case r.AtEnd:
		g.text(p.warn, "END")
	case r.Paused:
		g.text(p.warn, "PAUSED")
		if r.Speed != 1 {
			speed(g.pad(1), p.dim, r.Speed)
		}
	default:
		speed(g, p.plain, r.Speed)
	}
}

func speed(l *line, st ansi.Style, v float64) {
	start := len(l.b)
	l.b = append(strconv.AppendFloat(l.b, math.Round(v*1000)/1000, 'f', -1, 64), 'x')
	l.done(st, len(l.b)-start)
}

// drawRecorded adds the time of the snapshot, and where in the recording it is.
func (s *Screen) drawRecorded(r *Replay) {
	if s.snap == nil {
		return
	}
	p := &s.pal
	moment := func(rank int, format string) {
		g := s.group(rank, false).pad(1)
		start := len(g.b)
		g.b = s.v.Now.AppendFormat(g.b, format)
		g.done(p.plain, len(g.b)-start)
	}
	// The day is seldom today's.
	s.group(rankTime, false).pad(1)
	moment(rankDate, "2006-01-02")
	moment(rankTime, "15:04:05")
	if all := r.Last.Sub(r.First); all > 0 {
		share := clamp(int(100*s.snap.Time.Sub(r.First).Seconds()/all.Seconds()), 0, 100)
		s.group(rankWhere, false).pad(1).int(p.plain, int64(share), 3).text(p.plain, "%")
		s.group(rankLength, false).text(p.dim, " of ").span(p.dim, all, 0)
	}
	if r.Broken > 0 {
		g := s.group(rankBroken, true).int(p.warn, int64(r.Broken), 0)
		if r.BrokenMore {
			g.text(p.warn, "+")
		}
		if r.Broken == 1 {
			g.text(p.warn, " broken line")
		} else {
			g.text(p.warn, " broken lines")
		}
	}
}

// footPlaying appends what the last line says of the replay; it reports whether
// there is anything.
func (s *Screen) footPlaying(l *line, r *Replay) bool {
	p := &s.pal
	switch {
	case r.Failed != "":
		l.text(p.critical, r.Failed)
	case r.Missing > 0 && s.snap != nil:
		l.text(p.warn, "no data for ").duration(p.warn, r.Missing).text(p.warn, " before ")
		if r.Resumed.Equal(s.snap.Time) {
			l.text(p.warn, "this")
		} else {
			s.clock(l, p.warn, r.Resumed.UnixNano())
		}
	default:
		return false
	}
	return true
}

// jumping reports whether a time to jump to is being typed.
func (s *Screen) jumping() bool { return s.v.Replay != nil && s.v.Replay.Jumping }

// failed reports whether a recording cannot be read on.
func (s *Screen) failed() bool { return s.v.Replay != nil && s.v.Replay.Failed != "" }

// footJump appends the line in which a time is typed.
func (s *Screen) footJump(l *line, r *Replay) {
	p := &s.pal
	// What is wrong with a time has more room than the time.
	width := max(s.w-14-ansi.Width(r.JumpError), min(s.w/4, 20))
	l.text(p.bold, "jump to: ").tail(p.plain, r.Jump, width).text(p.selected, " ").pad(2)
	switch {
	case r.JumpError != "":
		l.text(p.warn, r.JumpError)
	case !r.Last.IsZero():
		s.clock(l, p.dim, r.First.UnixNano())
		l.text(p.dim, " to ")
		s.clock(l, p.dim, r.Last.UnixNano())
	}
}
