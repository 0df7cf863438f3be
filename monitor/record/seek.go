package record

import (
	"errors"
	"io"
	"math"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

const (
	// nearby is a distance in the file at which reading on costs no more than
	// looking for a nearer place.
	nearby = 256 << 10
	// maxHistory is how much text is decoded for what was before a snapshot, so
	// that a long history of a large machine does not fill the memory.
	maxHistory = 64 << 20
)

// leave notes the place of Next, and returns what goes back to it.
func (r *Reader) leave() func() {
	at, number := r.lines.start, int64(0)
	if r.lines.numbered {
		number = r.lines.number + 1
	}
	return func() { r.lines.goTo(at, number) }
}

// walk calls visit with each snapshot's line from p on and its head, until visit
// is false or the file ends.
func (r *Reader) walk(p position, visit func(found *line, h head) bool) error {
	number := int64(0)
	if p == (position{}) {
		number = 1
	}
	r.lines.goTo(p, number)
	for {
		found, err := r.lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return r.wrap(err)
		}
		if found.text == nil {
			continue
		}
		h, ok, err := inspect(found.text)
		if err != nil {
			return r.refuse(&found, err)
		}
		if ok && !visit(&found, h) {
			return nil
		}
	}
}

// first finds the first snapshot.
func (r *Reader) first() (position, head, error) {
	if err := r.lines.look(); err != nil {
		return position{}, head{}, r.wrap(err)
	}
	var at position
	var first *monitor.Snapshot
	var failure error
	err := r.walk(position{}, func(found *line, h head) bool {
		at = found.at
		first, failure = r.decode(found)
		return first == nil && failure == nil
	})
	if err == nil {
		err = failure
	}
	if err == nil && first == nil {
		err = r.nothing()
	}
	if err != nil {
		return at, head{}, err
	}
	return at, headOfSnapshot(first), nil
}

// find returns the place of the last snapshot at or before t, given the first
// one, which is not after t. Where the clock was set back in between it is some
// snapshot at or before t that is followed by one after t, or by the end.
func (r *Reader) find(t time.Time, first position, h head) (position, error) {
	size, err := r.lines.size()
	if err != nil {
		return first, r.wrap(err)
	}
	low, high := first.entry, size
	for high-low > nearby {
		middle := low + (high-low)/2
		entry, h, err := r.lines.nextEntry(middle, high)
		if err != nil {
			return first, r.wrapAt(err, entry)
		}
		if entry < 0 || h.time.After(t) {
			high = middle
		} else {
			low = entry
		}
	}
	found := first
	if low > first.entry {
		found = position{low, 0}
	}
	err = r.walk(found, func(l *line, h head) bool {
		if h.time.After(t) {
			return false
		}
		found = l.at
		return true
	})
	return found, err
}

// wrapAt names the file and the place.
func (r *Reader) wrapAt(err error, offset int64) error {
	var other *report.SchemaError
	if errors.As(err, &other) {
		return r.refuse(&line{at: position{offset, 0}}, other)
	}
	return r.wrap(err)
}

// before returns the places of the last n snapshots before p, oldest first. It
// goes back in the file in growing steps, and not much further than maxHistory.
func (r *Reader) before(p position, n int) ([]position, error) {
	for step := int64(nearby); ; step *= 2 {
		entry := int64(0)
		if step < p.entry {
			var err error
			if entry, _, err = r.lines.nextEntry(p.entry-step, p.entry); err != nil {
				return nil, r.wrapAt(err, entry)
			}
		}
		if entry < 0 {
			if p.text == 0 {
				continue
			}
			entry = p.entry
		}
		var places []position
		var lengths []int64
		text, enough := int64(0), false
		err := r.walk(position{entry, 0}, func(found *line, h head) bool {
			if !found.at.before(p) {
				return false
			}
			places, lengths = append(places, found.at), append(lengths, int64(len(found.text)))
			text += int64(len(found.text))
			for len(places) > n || len(places) > 1 && text > maxHistory {
				enough = true
				text -= lengths[0]
				places, lengths = places[1:], lengths[1:]
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if len(places) == n || entry == 0 || enough {
			return places, nil
		}
	}
}

// newest returns the newest snapshot before p, or at it, that can be decoded.
func (r *Reader) newest(p position, at bool) (*monitor.Snapshot, error) {
	places := []position{p}
	if !at {
		places = nil
	}
	for n := 1; ; n = min(8*n, 4096) {
		for i := len(places) - 1; i >= 0; i-- {
			s, err := r.load(places[i])
			if s != nil || err != nil {
				return s, err
			}
		}
		if len(places) > 0 {
			p = places[0]
		}
		var err error
		if places, err = r.before(p, n); err != nil {
			return nil, err
		}
		if len(places) == 0 {
			return nil, r.nothing()
		}
	}
}

// load decodes the line at p, nil where that is no snapshot.
func (r *Reader) load(p position) (*monitor.Snapshot, error) {
	r.lines.goTo(p, 0)
	found, err := r.lines.next()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, r.wrap(err)
	}
	return r.decode(&found)
}

// last returns the last snapshot.
func (r *Reader) last() (*monitor.Snapshot, error) {
	size, err := r.lines.size()
	if err != nil {
		return nil, r.wrap(err)
	}
	return r.newest(position{size, math.MaxInt64}, false)
}
