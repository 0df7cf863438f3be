package record

import (
	"errors"
	"io"
	"os"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// maxNumbers is how many numbers of broken lines are kept.
const maxNumbers = 8

// Reader reads a recording: plain text or gzip, whatever its name says. It
// belongs to one goroutine at a time. It holds no more than one line of text,
// and passes over lines longer than 64 MiB, lines that are no snapshot, and
// what is broken of a compressed file.
type Reader struct {
	name    string
	file    *os.File
	seeks   bool // it is a file in which one can go anywhere
	lines   *lines
	seen    bool // Next has returned a snapshot
	broken  int
	numbers []int64
	sound   int      // broken, when Next met the last snapshot or the present entry
	entry   int64    // of the last line that Next met
	damaged int      // how many of broken are damages
	damage  position // the last of them
	refused error    // the first reason why what begins like a snapshot is none
}

// Open opens the recording at path; "-" is standard input. A Reader of a
// regular file can seek; any other is read once, from its beginning.
func Open(path string) (*Reader, error) {
	file, name := os.Stdin, "standard input"
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, err
		}
		name = path
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = monitor.Errorf("%s is a directory", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return newReader(name, file, nil, file, nil), nil
	}
	return newReader(name, file, file, nil, func() (int64, error) {
		info, err := file.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}), nil
}

// newReader reads at, whose size is to be asked for, or else src.
func newReader(name string, file *os.File, at io.ReaderAt, src io.Reader, size func() (int64, error)) *Reader {
	return &Reader{name: name, file: file, seeks: at != nil, lines: newLines(newInput(at, src), size)}
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Next returns the next snapshot. It returns io.EOF at the end, and goes on
// behind it when the file has grown. A file without any snapshot is an error.
// An object of another schema is one that wraps a *report.SchemaError.
func (r *Reader) Next() (*monitor.Snapshot, error) {
	for {
		found, err := r.lines.next()
		if err == io.EOF {
			if r.seen {
				return nil, io.EOF
			}
			return nil, r.nothing()
		}
		if err != nil {
			return nil, r.wrap(err)
		}
		s, err := r.decode(&found)
		if err != nil {
			return nil, err
		}
		if found.at.entry != r.entry {
			r.entry, r.sound = found.at.entry, r.broken
		}
		if s != nil {
			r.seen = true
			r.sound = r.broken
			return s, nil
		}
		if found.partial {
			continue // it is counted as long as it is unfinished
		}
		if found.damage {
			if r.damaged > 0 && found.at == r.damage {
				continue // met again, since the file has grown behind it
			}
			r.damage = found.at
			r.damaged++
			if r.broken > r.sound {
				// They came of the damage, which takes the place of the first.
				r.broken = r.sound + 1
				n := min(len(r.numbers), r.broken)
				r.numbers = r.numbers[:n:n] // the caller may have them
				continue
			}
		}
		r.broken++
		if found.number > 0 && len(r.numbers) < maxNumbers {
			r.numbers = append(r.numbers, found.number)
		}
	}
}

// Damaged returns how many stretches of compressed data Next has passed over
// because they cannot be read: each a member of the file from where it is damaged,
// or bytes between two members. How many snapshots were in them is not known.
// Broken counts each of them as one line.
func (r *Reader) Damaged() int { return r.damaged }

// Broken returns how many lines Next has passed over, and the numbers of the
// first few. A last line that is not finished counts while it is so. Lines that
// come of damaged compressed data, behind its last snapshot, count as one.
func (r *Reader) Broken() (count int, first []int64) {
	if r.lines.unfinished() {
		first = r.numbers
		if r.lines.numbered && len(first) < maxNumbers {
			first = append(first[:len(first):len(first)], r.lines.number+1)
		}
		return r.broken + 1, first
	}
	return r.broken, r.numbers
}

// decode returns the snapshot in a line, nil where it holds none.
func (r *Reader) decode(found *line) (*monitor.Snapshot, error) {
	if found.text == nil {
		return nil, nil
	}
	s, err := report.ParseJSON(found.text)
	if err == nil {
		if found.partial {
			r.lines.accept()
		}
		return s, nil
	}
	if other := schemaError(err); other != nil {
		return nil, r.refuse(found, other)
	}
	if r.refused == nil && !r.seen && !found.partial && found.number > 0 {
		if _, ok := headOf(found.text); ok {
			r.refused = monitor.Errorf("line %d: %w", found.number, err)
		}
	}
	return nil, nil
}

// refuse says where another schema stands.
func (r *Reader) refuse(found *line, other error) error {
	if found.number > 0 {
		return monitor.Errorf("%s, line %d: %w", r.name, found.number, other)
	}
	return monitor.Errorf("%s, at byte %d: %w", r.name, found.at.entry, other)
}

// nothing says that there is no snapshot in the file.
func (r *Reader) nothing() error {
	if r.lines.numbered && r.lines.number == 0 && !r.lines.unfinished() {
		return monitor.Errorf("%s is empty", r.name)
	}
	if r.refused != nil && r.lines.numbered {
		n := r.lines.number
		if r.lines.unfinished() {
			n++
		}
		if n == 1 {
			return monitor.Errorf("%s: its only line cannot be read; %w", r.name, r.refused)
		}
		return monitor.Errorf("%s: none of its %d lines can be read; %w", r.name, n, r.refused)
	}
	return monitor.Errorf("%s is no recording: there is no snapshot in it", r.name)
}

// wrap names the file where an error does not.
func (r *Reader) wrap(err error) error {
	var path *os.PathError
	if err == errStopped || errors.As(err, &path) {
		return err
	}
	return monitor.Errorf("%s: %w", r.name, err)
}

// At returns the last snapshot at or before t. It leaves the place of Next
// alone, but for a file that is read once: there it reads on.
func (r *Reader) At(t time.Time) (*monitor.Snapshot, error) {
	if !r.seeks {
		var last *monitor.Snapshot
		for {
			s, err := r.Next()
			if err == io.EOF && last != nil {
				return last, nil
			}
			if err != nil {
				return nil, err
			}
			if s.Time.After(t) {
				if last == nil {
					return nil, r.tooEarly(s.Time)
				}
				return last, nil
			}
			last = s
		}
	}
	defer r.leave()()
	first, h, err := r.first()
	if err != nil {
		return nil, err
	}
	if h.time.After(t) {
		return nil, r.tooEarly(h.time)
	}
	at, err := r.find(t, first, h)
	if err != nil {
		return nil, err
	}
	return r.newest(at, true)
}

func (r *Reader) tooEarly(first time.Time) error {
	return monitor.Errorf("%s begins only at %s", r.name, first.Format(time.RFC3339))
}

// Last returns the last snapshot. It leaves the place of Next alone, as At does.
func (r *Reader) Last() (*monitor.Snapshot, error) {
	if !r.seeks {
		_, last, err := r.ends()
		return last, err
	}
	defer r.leave()()
	if _, _, err := r.first(); err != nil {
		return nil, err
	}
	return r.last()
}

// Span returns the times of the first and the last snapshot. It leaves the place
// of Next alone, as At does.
func (r *Reader) Span() (first, last time.Time, err error) {
	if !r.seeks {
		a, b, err := r.ends()
		if err != nil {
			return first, last, err
		}
		return a.Time, b.Time, nil
	}
	defer r.leave()()
	_, h, err := r.first()
	if err != nil {
		return first, last, err
	}
	s, err := r.last()
	if err != nil {
		return first, last, err
	}
	return h.time, s.Time, nil
}

// ends reads to the end.
func (r *Reader) ends() (first, last *monitor.Snapshot, err error) {
	for {
		s, err := r.Next()
		if err == io.EOF && last != nil {
			return first, last, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = s
		}
		last = s
	}
}
