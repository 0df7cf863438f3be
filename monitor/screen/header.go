package screen

import (
	"strconv"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// The ranks of the parts of the header; the lowest goes first.
const (
	rankHost = iota // CPU and memory of the machine
	rankDriver
	rankLength // of a recording
	rankVersion
	rankWhere // in a recording
	rankBroken
	rankHostname
	rankInterval
	rankDate // of a recording
	rankTime
	rankLabel // DEMO, REPLAY
	rankPaused
	rankSilent
)

const hostFrom = 100 // columns from which on the machine and the date are shown

// drawHeader draws the first line.
func (s *Screen) drawHeader() {
	s.groups = s.groups[:0]
	p, snap := &s.pal, s.snap
	s.group(never, false).text(p.bold, "nvtop-lite")
	if s.opt.Version != "" {
		s.group(rankVersion, false).text(p.dim, " ").text(p.dim, s.opt.Version)
	}
	replay := s.v.Replay
	if replay != nil || snap != nil && snap.Source != "" && snap.Source != "live" {
		g := s.group(rankLabel, false).text(ansi.Style{}, "  ")
		st := ansi.Style{Attr: ansi.Bold | ansi.Reverse}
		g.text(st, " ")
		if snap != nil {
			switch snap.Source {
			case "", "live", "replay":
			case "demo":
				g.text(st, "DEMO ")
			default:
				g.text(st, snap.Source).text(st, " ")
			}
		}
		if replay != nil || snap.Source == "replay" {
			g.text(st, "REPLAY ")
		}
	}
	if replay != nil {
		s.drawPlaying(replay)
	}
	if s.v.Paused {
		g := s.group(rankPaused, false).text(p.warn, "  PAUSED")
		if snap != nil && s.v.Now.After(snap.Time) {
			g.text(p.warn, " ").duration(p.warn, s.v.Now.Sub(snap.Time))
		}
	}
	if snap != nil {
		if h := &snap.Host; h.Hostname.Known() {
			s.group(rankHostname, false).pad(2).cut(p.plain, h.Hostname.Value, 40)
		}
		if s.w >= hostFrom {
			s.hostLoad(s.group(rankHost, false).pad(2))
		}
	}
	if replay != nil {
		s.drawRecorded(replay)
	} else {
		t := s.group(rankTime, false).pad(2)
		start := len(t.b)
		format := "15:04:05"
		if s.w >= hostFrom {
			format = "2006-01-02 15:04:05"
		}
		t.b = s.v.Now.AppendFormat(t.b, format)
		t.done(p.plain, len(t.b)-start)
	}

	s.driver()
	if snap != nil && snap.Interval > 0 {
		g := s.group(rankInterval, true)
		start := len(g.b)
		g.b = appendInterval(g.b, snap.Interval)
		g.done(p.dim, len(g.b)-start)
	}

	left, right := s.fit(s.w, 3, func(rights int) int {
		if rights > 0 {
			return 2
		}
		return 0
	})
	x := 0
	for i := range s.groups {
		if g := &s.groups[i]; !g.gone && !g.right {
			x = g.drawCut(s.f, x, 0, s.w-x)
		}
	}
	x = s.w - right
	s.drawModel(x-left-6, x-3)
	for i := range s.groups {
		if g := &s.groups[i]; !g.gone && g.right {
			x = g.draw(s.f, x, 0) + 3
		}
	}
}

func (s *Screen) hostLoad(l *line) {
	p, h := &s.pal, &s.snap.Host
	l.text(p.dim, "CPU ")
	if v, ok := h.CPUPercent.Float(); ok {
		l.percent(p, v, true)
	} else {
		l.none(4)
	}
	l.text(p.dim, "  RAM ")
	used, decimals := s.hostInUse(), 0
	if v, _ := used.Float(); v < 10*gib {
		decimals = 1
	}
	l.number(p.plain, used, 1.0/gib, decimals, 0)
	l.text(p.dim, "/").number(p.dim, h.MemoryTotalBytes, 1.0/gib, 0, 0).text(p.dim, " GiB")
}

// driver adds what stands before the interval: the driver's versions, or that
// it does not answer.
func (s *Screen) driver() {
	p := &s.pal
	if d := s.silence(); d > 0 {
		s.group(rankSilent, true).text(p.warn, "driver: no answer for ").duration(p.warn, d)
		return
	}
	if s.snap == nil {
		return
	}
	g := s.group(rankDriver, true)
	if pl := &s.snap.Platform; pl.L4T.Known() {
		if pl.JetPack.Known() {
			g.text(p.dim, "JetPack ").text(p.dim, pl.JetPack.Value).pad(2)
		}
		// A long power mode is worth more than the version that JetPack says too.
		if !pl.JetPack.Known() || s.w >= hostFrom || len(pl.PowerMode.Value) < 10 {
			g.text(p.dim, "L4T ").text(p.dim, pl.L4T.Value)
			if pl.PowerMode.Known() {
				g.pad(2)
			}
		}
		g.text(p.dim, pl.PowerMode.Value)
		return
	}
	d := &s.snap.Driver
	if d.Version.Known() {
		g.text(p.dim, "driver ").text(p.dim, d.Version.Value)
	}
	if d.CUDAVersion.Known() {
		if g.w > 0 {
			g.pad(2)
		}
		g.text(p.dim, "CUDA ").text(p.dim, d.CUDAVersion.Value)
	}
	if g.w == 0 {
		s.groups = s.groups[:len(s.groups)-1]
	}
}

// silence is how long the driver has not answered: its process says nothing, or
// every GPU that can be measured is stale. 0 while it answers.
func (s *Screen) silence() time.Duration {
	if s.v.SilentFor > 0 || s.snap == nil {
		return s.v.SilentFor
	}
	least := time.Duration(0)
	for i := range s.snap.GPUs {
		g := &s.snap.GPUs[i]
		switch g.State {
		case monitor.OK:
			return 0
		case monitor.Stale:
			if d := s.staleFor(g); least == 0 || d < least {
				least = d
			}
		}
	}
	return least
}

// appendInterval appends an interval in its shortest form: 0.5s, 1s, 2.25s.
func appendInterval(b []byte, d time.Duration) []byte {
	return append(strconv.AppendFloat(b, d.Seconds(), 'f', -1, 64), 's')
}
