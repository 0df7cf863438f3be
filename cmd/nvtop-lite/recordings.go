package main

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/diff"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/summary"
)

// chooser chooses the GPUs of -g in a recording: those that have the numbers in
// its first snapshot with GPUs.
type chooser struct {
	s     monitor.Selection
	fixed bool
}

func (o *options) chooser() (*chooser, error) {
	s, err := monitor.NewSelection(o.gpus, o.visible)
	return &chooser{s: s}, err
}

// of returns what is chosen of a snapshot.
func (c *chooser) of(s *monitor.Snapshot) (*monitor.Snapshot, error) {
	if !c.fixed && len(s.GPUs) > 0 {
		settled, wrong := c.s.Settle(s.GPUs)
		if wrong != "" {
			return nil, &monitor.OpenError{Cause: monitor.CauseNoSuchGPU, What: wrong, Hint: "it is about the GPUs of the recording"}
		}
		c.s, c.fixed = settled.Fixed(s.GPUs), true
	}
	return c.s.Of(s), nil
}

// replayHistory is how many snapshots before a place are read for the graphs: one
// a column of a wide terminal.
const replayHistory = 300

// replay is the command replay.
func replay(o *options, getenv func(string) string) int {
	path := o.operands[0]
	vt, restore := ansi.EnableVT(os.Stdout)
	restore() // as in run
	windows := runtime.GOOS == "windows"
	switch {
	case path == "-":
		return complain(&usageError{what: "replay needs a file: it goes back and forth in it", hint: "use summary for a pipe"})
	case !ansi.IsTerminal(os.Stdout) || !ansi.Live(getenv, windows) || windows && !vt:
		return complain(&usageError{what: "replay needs a terminal", hint: "use summary: nvtop-lite summary " + path})
	}
	r, err := record.Open(path)
	if err != nil {
		return complain(err)
	}
	defer r.Close()
	choose, err := o.chooser()
	if err != nil {
		return complain(err)
	}
	for !choose.fixed {
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			break // there are no GPUs in it
		} else if err == nil {
			_, err = choose.of(s)
		}
		if err != nil {
			return complain(err)
		}
	}
	play := record.PlayOptions{Speed: o.speed, Choose: choose.s.Of, History: replayHistory}
	if o.at != "" {
		if play.At, err = moment(o.at, r); err != nil {
			return complain(err)
		}
	}
	return replayOn(o, getenv, vt, record.Play(r, play))
}

// moment is a time of --at.
func moment(text string, r *record.Reader) (time.Time, error) {
	first, last, err := r.Span()
	if err != nil {
		return time.Time{}, err
	}
	t, err := record.ParseTime(text, first, last, time.Local)
	if err != nil {
		return time.Time{}, &usageError{what: "--at: " + err.Error()}
	}
	return t, nil
}

// summarize is the command summary.
func summarize(o *options, getenv func(string) string) int {
	r, err := record.Open(o.operands[0])
	if err != nil {
		return complain(err)
	}
	defer r.Close()
	choose, err := o.chooser()
	if err != nil {
		return complain(err)
	}
	sum := summary.New(o.operands[0])
	for {
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err == nil {
			s, err = choose.of(s)
		}
		if err != nil {
			return complain(err)
		}
		sum.Add(s)
	}
	sum.SetBroken(r.Broken())
	sum.SetDamaged(r.Damaged())
	if o.mode == modeJSON {
		return output(string(sum.Append(nil)) + "\n")
	}
	page, restore := o.page(getenv)
	defer restore()
	return output(string(sum.AppendText(nil, page)))
}

// page is how text on standard output looks.
func (o *options) page(getenv func(string) string) (p ansi.PageOptions, restore func()) {
	vt, restore := ansi.EnableVT(os.Stdout)
	return ansi.PageOptions{Level: o.level(getenv, ansi.IsTerminal(os.Stdout), vt), ASCII: o.plain(getenv)}, restore
}

// compare is the command diff.
func compare(o *options, getenv func(string) string) int {
	if o.operands[0] == "-" && o.operands[1] == "-" {
		return complain(&usageError{what: "diff: standard input cannot be both of the two"})
	}
	at := [2]string{o.at, o.at}
	if before, after, ok := strings.Cut(o.at, ","); ok {
		at = [2]string{before, after}
	}
	choose, err := o.chooser()
	if err != nil {
		return complain(err)
	}
	var both [2]*monitor.Snapshot
	for i, path := range o.operands {
		if both[i], err = snapshotOf(path, at[i]); err != nil {
			return complain(err)
		}
		if i == 0 && len(both[0].GPUs) > 0 || choose.fixed {
			if both[i], err = choose.of(both[i]); err != nil {
				return complain(err)
			}
		}
	}
	d, err := diff.Compare(both[0], both[1])
	var refused *diff.Refused
	switch {
	case errors.As(err, &refused):
		warn(refused.Error())
		return codeRefused
	case err != nil:
		return complain(err)
	}
	if o.mode == modeJSON {
		return output(string(d.Append(nil)) + "\n")
	}
	page, restore := o.page(getenv)
	defer restore()
	return output(string(d.AppendText(nil, page)))
}

// snapshotOf returns one snapshot of a recording: the last, or the one of a
// time.
func snapshotOf(path, at string) (*monitor.Snapshot, error) {
	if path == "-" && at != "" {
		return nil, &usageError{what: "--at needs files: standard input is read once", hint: "write it to a file first"}
	}
	r, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if at == "" {
		return r.Last()
	}
	t, err := moment(at, r)
	if err != nil {
		return nil, err
	}
	return r.At(t)
}
