package record

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
)

const (
	// maxLine is the longest line that is read, in bytes: 256 GPUs with 4,096
	// processes whose command lines are 4,096 bytes long take a third of it.
	maxLine = 64 << 20
	// minFill is the room there is for each piece of text. It holds all that
	// compress/flate gives at once, so that a piece is known to come from the
	// bytes that were taken for it.
	minFill = 64 << 10
	// excerptSize is how many bytes behind something that looks like the header
	// of a gzip member are tried.
	excerptSize = 4 << 10
)

var gzipMagic = []byte{0x1f, 0x8b, 8}

// position is a place in a recording: bytes of text after an entry, which is an
// offset in the file at which reading can begin. In plain text every line is
// one; in a compressed file every gzip member is.
type position struct{ entry, text int64 }

func (p position) before(q position) bool {
	return p.entry < q.entry || p.entry == q.entry && p.text < q.text
}

// line is one line of text.
type line struct {
	text    []byte // without its end; valid until the next one is read. nil: too long
	at      position
	number  int64 // from 1; 0 after seeking, where it is not known
	partial bool  // the file ends within it
	// damage: it is none, but stands for compressed data that cannot be read.
	damage bool
}

// lines splits a file into lines. Blank ones are passed over.
type lines struct {
	in   *input
	size func() (int64, error) // of the file now; nil where it cannot be asked

	known, gzip bool        // whether the file was looked at, and what it is
	z           gzip.Reader // of the present member
	open        bool        // z is within a member
	failure     error       // which z has met
	try         gzip.Reader // of what may be a member

	buf      []byte
	r, w     int
	scanned  int // no line ends before this
	entry    int64
	produced int64 // bytes of text since the entry, up to w
	skip     int64 // bytes of text still to be passed over
	numbered bool
	number   int64 // of the last line that was read, if numbered
	start    position
	long     bool // what was read of the present line was dropped

	from   int64 // where the bytes of the last piece of text begin
	good   int64 // the same for the last piece in which a whole line ended
	before int64 // good before the last line: that may be garbage which looks like one
	behind int64 // where the bytes of the last piece end, if a line ends with it
	ended  bool
	given  bool     // the unfinished last line was returned
	lost   bool     // there was compressed data that cannot be read
	lostAt position // of that
}

func newLines(in *input, size func() (int64, error)) *lines {
	return &lines{in: in, size: size, buf: make([]byte, 2*minFill), numbered: true}
}

// look finds out what the file is.
func (l *lines) look() error {
	if l.known {
		return nil
	}
	b, err := l.in.peek(2)
	if len(b) > 0 {
		l.known, l.gzip = true, bytes.HasPrefix(b, gzipMagic[:2])
	}
	return err
}

// goTo makes the line at p the next one. Its number is given where it is known,
// else 0.
func (l *lines) goTo(p position, number int64) {
	l.in.seek(p.entry)
	l.failure = nil
	l.open, l.r, l.w, l.scanned, l.long = false, 0, 0, 0, false
	l.entry, l.produced, l.skip = p.entry, 0, p.text
	if !l.gzip {
		// Plain text begins anywhere.
		l.in.seek(p.entry + p.text)
		l.produced, l.skip = p.text, 0
	}
	l.start = p
	l.numbered, l.number = number > 0, number-1
	l.from, l.good, l.before, l.behind = p.entry, p.entry, p.entry, -1
	l.ended, l.given = false, false
}

// place is where the byte at r stands.
func (l *lines) place() position {
	text := l.produced - int64(l.w-l.r)
	if !l.gzip {
		return position{l.entry + text, 0}
	}
	return position{l.entry, text}
}

// next returns the next line that is not blank, io.EOF at the end. Behind the
// end it looks whether the file has grown. An unfinished last line is returned
// once, and again when there is more of it, until accept takes it.
func (l *lines) next() (line, error) {
	if l.ended && !l.resume() {
		return line{}, io.EOF
	}
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.w], '\n'); i >= 0 {
			found := l.take(l.scanned + i)
			if found.text == nil || len(bytes.TrimSpace(found.text)) > 0 {
				return found, nil
			}
			continue
		}
		l.scanned = l.w
		if l.long || l.w-l.r > maxLine {
			l.drop()
		}
		err := l.fill()
		if l.lost {
			l.lost = false
			l.ended = err == io.EOF
			return l.count(line{at: l.lostAt, damage: true}), nil
		}
		if err == io.EOF {
			return l.end()
		}
		if err != nil {
			return line{}, err
		}
	}
}

// take returns the line that ends at buf[end].
func (l *lines) take(end int) line {
	found := l.count(line{text: l.trim(l.buf[l.r:end]), at: l.start})
	if l.long {
		found.text, l.long = nil, false
	} else if n := len(found.text); n > 0 && found.text[0] == '{' && found.text[n-1] == '}' {
		l.good, l.before = l.from, l.good
	}
	l.r = end + 1
	l.scanned = l.r
	l.start = l.place()
	return found
}

func (l *lines) count(found line) line {
	if l.numbered {
		l.number++
		found.number = l.number
	}
	return found
}

// trim takes the byte order mark off the first line, and the return off any.
func (l *lines) trim(text []byte) []byte {
	if l.start == (position{}) {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimSuffix(text, []byte("\r"))
}

// drop forgets the beginning of a line that is too long.
func (l *lines) drop() {
	if !l.long {
		l.long = true
		l.buf = make([]byte, 2*minFill)
	}
	l.r, l.w, l.scanned = 0, 0, 0
}

// end says what there is at the end of the file.
func (l *lines) end() (line, error) {
	l.ended = true
	if l.given || !l.unfinished() {
		return line{}, io.EOF
	}
	l.given = true
	found := line{text: l.trim(l.buf[l.r:l.w]), at: l.start, partial: true}
	if l.numbered {
		found.number = l.number + 1
	}
	if l.long {
		found.text = nil
	}
	return found, nil
}

// unfinished tells whether the file ends within a line.
func (l *lines) unfinished() bool {
	return l.ended && (l.long || len(bytes.TrimSpace(l.buf[l.r:l.w])) > 0)
}

// accept takes the unfinished last line, which was whole but for its end.
func (l *lines) accept() {
	l.r, l.scanned = l.w, l.w
	l.start = l.place()
}

// resume reads on where the file has grown since its end was met. The inflater
// cannot go on after an end, so it begins anew at the entry.
func (l *lines) resume() bool {
	if l.size == nil {
		return false
	}
	size, err := l.size()
	if err != nil || size <= l.in.base+int64(l.in.w) {
		return false
	}
	number := int64(0)
	if l.numbered {
		number = l.number + 1
	}
	// What was read before is not at hand as it was: another program may have
	// mended the end of the file.
	l.in.base, l.in.r, l.in.w = -1, 0, 0
	l.goTo(l.start, number)
	return true
}

// fill reads a piece of text. It returns io.EOF at the end of the file.
func (l *lines) fill() error {
	if !l.known {
		// Nothing was taken yet: everything starts at the beginning.
		if err := l.look(); err != nil {
			return err
		}
		if !l.known {
			return io.EOF
		}
	}
	if len(l.buf)-l.w < minFill {
		l.makeRoom()
	}
	if !l.gzip {
		n, err := l.in.Read(l.buf[l.w:])
		l.w += n
		l.produced += int64(n)
		return err
	}
	if failure := l.failure; failure != nil {
		l.failure = nil
		return l.recover(position{l.entry, l.produced}, failure)
	}
	if !l.open {
		entry := l.in.offset()
		err := l.z.Reset(l.in)
		if l.in.err != nil {
			return l.in.err
		}
		if err == io.EOF {
			return err
		}
		if err != nil {
			l.behind = -1
			return l.recover(position{entry, 0}, err)
		}
		l.z.Multistream(false)
		l.begin(entry)
	}
	l.from = l.in.offset()
	n, err := l.z.Read(l.buf[l.w:])
	l.produced += int64(n)
	if n > 0 && l.buf[l.w+n-1] == '\n' {
		l.behind = l.in.offset()
	}
	if skipped := min(int64(n), l.skip); skipped > 0 {
		copy(l.buf[l.w:], l.buf[l.w+int(skipped):l.w+n])
		l.skip -= skipped
		n -= int(skipped)
	}
	l.w += n
	if l.in.err != nil {
		return l.in.err
	}
	if err == io.EOF {
		l.open = false
	} else {
		l.failure = err // once the lines before it are taken
	}
	return nil
}

// begin enters the gzip member at an offset.
func (l *lines) begin(entry int64) {
	l.open = true
	l.produced = 0
	if entry != l.entry {
		l.skip = 0
	}
	l.entry = entry
	l.good, l.before, l.behind = entry, entry, -1
	if l.r == l.w && !l.long && l.skip == 0 {
		l.start = position{entry, 0}
	}
}

// makeRoom makes room for a piece of text.
func (l *lines) makeRoom() {
	held := l.buf[l.r:l.w]
	if len(held) > len(l.buf)-2*minFill {
		l.buf = make([]byte, min(2*len(l.buf), maxLine+4*minFill))
	}
	copy(l.buf, held)
	l.scanned -= l.r
	l.r, l.w = 0, len(held)
}

// recover goes to the next member after the place at which reading fails. Without
// one the file ends here if its bytes do: a run that was killed leaves such a
// member, and so does one that goes on. What follows may have been inflated as a
// part of the broken one, up to the end of the file; so it is looked for behind
// the last line but one that was whole: the end of the last may have come of what
// follows. Nothing is lost where it follows right there.
func (l *lines) recover(at position, failure error) error {
	l.open = false
	next, _, err := l.nextEntry(max(l.before, at.entry+1), math.MaxInt64)
	if err != nil {
		return err
	}
	if next < 0 && failure == io.ErrUnexpectedEOF {
		return io.EOF
	}
	l.lost, l.lostAt = next < 0 || next != l.behind, at
	l.r, l.w, l.scanned, l.long = 0, 0, 0, false
	if next < 0 {
		return io.EOF
	}
	l.entry, l.produced, l.skip = next, 0, 0
	l.in.seek(next)
	l.start = position{next, 0}
	return nil
}

// nextEntry returns the first place at or after from, but before limit, at which
// reading can begin and a snapshot is found, and the snapshot's head. It is -1
// where there is none. With a *report.SchemaError it is where that stands.
func (l *lines) nextEntry(from, limit int64) (int64, head, error) {
	if !l.gzip {
		return l.nextLine(from, limit)
	}
	l.in.seek(from)
	for {
		b, err := l.in.peek(len(gzipMagic))
		if err != nil {
			return -1, head{}, err
		}
		i := bytes.Index(b, gzipMagic)
		if i < 0 {
			if len(b) < len(gzipMagic) || l.in.offset() >= limit {
				return -1, head{}, nil
			}
			l.in.r += len(b) - len(gzipMagic) + 1
			continue
		}
		at := l.in.offset() + int64(i)
		if at >= limit {
			return -1, head{}, nil
		}
		l.in.seek(at)
		if h, ok := l.tryMember(); ok {
			return at, h, nil
		}
		if l.in.err != nil {
			return -1, head{}, l.in.err
		}
		l.in.seek(at + 1)
	}
}

// tryMember tells whether a gzip member begins here whose text begins with a
// snapshot. The inflater gives what there was when its bytes ended.
func (l *lines) tryMember() (head, bool) {
	if err := l.try.Reset(&excerpt{l.in, excerptSize}); err != nil {
		return head{}, false
	}
	l.try.Multistream(false)
	var text [512]byte
	n, _ := io.ReadFull(&l.try, text[:])
	return headOf(text[:n])
}

// nextLine is nextEntry of plain text.
func (l *lines) nextLine(from, limit int64) (int64, head, error) {
	if from > 0 {
		// The byte before tells whether a line begins here.
		l.goTo(position{from - 1, 0}, 0)
		l.long = true
	} else {
		l.goTo(position{}, 0)
	}
	for first := from > 0; ; first = false {
		found, err := l.next()
		if err == io.EOF || err == nil && !first && found.at.entry >= limit {
			return -1, head{}, nil
		}
		if err != nil {
			return -1, head{}, err
		}
		if first || found.text == nil {
			continue
		}
		h, ok, err := inspect(found.text)
		if err != nil {
			return found.at.entry, head{}, err
		}
		if ok {
			return found.at.entry, h, nil
		}
	}
}
