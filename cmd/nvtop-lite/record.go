package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/report"
)

// recordTo is the command record.
func recordTo(o *options) int {
	path := o.operands[0]
	_, err := os.Lstat(path)
	absent := errors.Is(err, fs.ErrNotExist)
	w, err := record.Create(path)
	if err != nil {
		return complain(err)
	}
	p := newProgress(path, w)
	var line []byte
	code, sig, free := o.follow(func(s *monitor.Snapshot) (int, bool) {
		line = append(report.AppendJSON(line[:0], s), '\n')
		if err := w.Write(line); err != nil {
			p.leave()
			return o.recorded(err)
		}
		p.next()
		return codeDone, true
	}, p.leave)
	p.end()
	empty := absent && p.snapshots == 0 && path != "-"
	switch {
	case free:
		if empty {
			_ = os.Remove(path) // nothing was recorded
		}
		if c, ok := o.recorded(w.Close()); !ok && code == codeDone {
			code = c
		}
		if empty && runtime.GOOS == "windows" {
			_ = os.Remove(path) // where an open file stays
		}
	case sig == nil:
		warn("recording to " + path + ": the last snapshot was not taken in time")
		return codeFailed
	}
	if sig != nil && sig != os.Interrupt && code == codeDone {
		return codeOf(sig)
	}
	return code
}

// recorded says what becomes of the program after it wrote to the recording.
func (o *options) recorded(err error) (code int, ok bool) {
	if err == nil || o.operands[0] == "-" || closedPipe(err) {
		return written(err)
	}
	warn("recording to " + o.operands[0] + ": " + cause(err).Error())
	return codeFailed, false
}

// cause is an error without the name of the file, which was told.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// progress tells on a terminal how far a recording is.
type progress struct {
	w         *record.Writer
	began     time.Time
	snapshots int
	width     int // of the line that stands there
	shown     bool
}

func newProgress(path string, w *record.Writer) *progress {
	p := &progress{w: w, began: time.Now(), shown: path != "-" && ansi.IsTerminal(os.Stderr)}
	p.show("waiting for the first snapshot")
	return p
}

// next counts a snapshot.
func (p *progress) next() {
	p.snapshots++
	p.show(p.sofar())
}

func (p *progress) sofar() string {
	return fmt.Sprintf("%d snapshots, %s, %s", p.snapshots, fileSize(p.w.Size()), report.Span(time.Since(p.began)))
}

func (p *progress) show(text string) {
	if p.shown {
		text += "; Ctrl+C stops"
		fmt.Fprint(os.Stderr, "\r"+text+strings.Repeat(" ", max(0, p.width-len(text))))
		p.width = len(text)
	}
}

// end says what there is now, and leaves the line.
func (p *progress) end() {
	if p.shown {
		text := p.sofar()
		fmt.Fprintln(os.Stderr, "\r"+text+strings.Repeat(" ", max(0, p.width+len("^C")-len(text))))
	}
}

// leave goes to a new line, for a message.
func (p *progress) leave() {
	if p.shown {
		fmt.Fprintln(os.Stderr)
		p.shown = false
	}
}

// fileSize is the size of a file for people.
func fileSize(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)/1024)
	}
	return report.Size(monitor.OfInt(n))
}
