package record

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"math"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// flushed ends what a deflate stream has when it is flushed.
var flushed = []byte{0, 0, 0xff, 0xff}

// examine tells whether the file, which is not empty, can be appended to, whether
// it is compressed, and what must be written before the next line. It changes
// only a broken end of a compressed file, and only where no line is in it but
// one that is to be written again.
func (w *Writer) examine() (compressed bool, err error) {
	r := newReader(w.file.Name(), w.file, w.file, nil, func() (int64, error) { return w.size, nil })
	if w.size < int64(len(gzipHeader)) {
		begun := make([]byte, w.size)
		if _, err := w.file.ReadAt(begun, 0); err != nil {
			return false, err
		}
		if bytes.HasPrefix(gzipHeader, begun) {
			return true, w.truncate(0)
		}
	}
	if err := r.check(); err != nil {
		return false, err
	}
	if r.lines.gzip {
		return true, w.examineEnd(r)
	}
	last := make([]byte, 1)
	if _, err := w.file.ReadAt(last, w.size-1); err != nil {
		return false, err
	}
	if last[0] != '\n' {
		w.ending = []byte{'\n'}
	}
	return false, nil
}

// check tells whether the file is a recording, by its first readable line. A
// file in which a first line was only begun is one.
func (r *Reader) check() error {
	begin := []byte(`{"schema":"` + report.Schema + `","time":"`)
	strange := false
	for r.lines.in.offset() <= maxLine {
		found, err := r.lines.next()
		if err == io.EOF {
			if strange {
				break
			}
			return nil
		}
		if err != nil {
			return r.wrap(err)
		}
		_, ok, err := inspect(found.text)
		if err != nil {
			return r.refuse(&found, err)
		}
		if ok {
			return nil
		}
		if !found.partial || !bytes.HasPrefix(found.text, begin) && !bytes.HasPrefix(begin, found.text) {
			strange = true
		}
	}
	return monitor.Errorf("%s is no recording: there is no snapshot in it", r.name)
}

// examineEnd finds out how the last gzip member ends. Where a run that was
// killed left it broken, what is behind its last flush is cut off, so that an
// ending makes it whole: a part of a line, or one line, which is written again.
// An end that cannot be made whole is an error: behind it, other programs would
// not find what is written.
func (w *Writer) examineEnd(r *Reader) error {
	member, err := r.lastMember(w.size)
	if err != nil {
		return r.wrap(err)
	}
	in := newInput(w.file, nil)
	in.seek(member)
	for {
		rest, err := in.peek(len(gzipHeader))
		if err != nil {
			return r.wrap(err)
		}
		if len(rest) == 0 {
			return nil // the last member is whole
		}
		member = in.offset()
		if bytes.HasPrefix(gzipHeader, rest) || zeros(in) {
			return w.truncate(member)
		}
		in.seek(member)
		last, whole := w.lastLine(in)
		if in.err != nil {
			return r.wrap(in.err)
		}
		if whole {
			continue
		}
		if last == nil || !w.proven(member, last) {
			return monitor.Errorf("%s cannot be appended to: its compressed data is cut off or damaged at the end; record to another file, or take what can be read of it: gzip -dc FILE > NEW", r.name)
		}
		w.ending, w.again = last.ending, last.line
		return w.truncate(last.at)
	}
}

// lastMember returns where the last gzip member begins that has a snapshot, or
// one before it.
func (r *Reader) lastMember(size int64) (int64, error) {
	for step := int64(nearby); ; step *= 4 {
		from := max(0, size-step)
		last := int64(-1)
		for {
			entry, _, err := r.lines.nextEntry(from, math.MaxInt64)
			if err != nil {
				return 0, err
			}
			if entry < 0 {
				break
			}
			last, from = entry, entry+1
		}
		if last >= 0 {
			return last, nil
		}
		if step >= size {
			return 0, nil
		}
	}
}

// memberLines is what of a broken gzip member can be made whole.
type memberLines struct {
	at     int64  // the offset behind its last flush, or where it begins
	text   int64  // the size of the lines before that
	ending []byte // what makes them a whole member; nil where there are none
	line   []byte // the one line behind them, whose flush is not whole
}

// lastLine inflates the member at which in stands. If it is whole, in stands
// behind it. Otherwise it tells what can be made whole of it, nil where that
// would cost lines.
func (w *Writer) lastLine(in *input) (last *memberLines, whole bool) {
	last = &memberLines{at: in.offset()}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, false
	}
	z.Multistream(false)
	piece := make([]byte, minFill)
	var text int64
	var crc uint32
	var behind []byte // last.at, up to one line
	more := false     // than that
	for {
		n, err := z.Read(piece)
		text += int64(n)
		crc = crc32.Update(crc, crc32.IEEETable, piece[:n])
		if err == io.EOF {
			return nil, true
		}
		if n > 0 && !more {
			i := bytes.IndexByte(piece[:n], '\n')
			more = i >= 0 && i < n-1 || bytes.HasSuffix(behind, []byte{'\n'}) || len(behind) > maxLine
			behind = append(behind, piece[:n]...)
		}
		if err != nil {
			// More of the stream behind what is broken, or a member that was
			// ended but has changed since: these are not the work of a kill.
			offset := in.offset()
			killed := err == io.ErrUnexpectedEOF || zeros(in)
			in.seek(offset)
			if more || err == gzip.ErrChecksum || last.text == 0 && !killed || contains(in, flushed) {
				return nil, false
			}
			if !bytes.HasSuffix(behind, []byte{'\n'}) {
				// It may lack nothing but its end.
				if _, err := report.ParseJSON(behind); err != nil {
					return last, false
				}
				behind = append(behind, '\n')
			}
			last.line = behind
			return last, false
		}
		if n > 0 && piece[n-1] == '\n' {
			var mark [4]byte
			if _, err := w.file.ReadAt(mark[:], in.offset()-4); err == nil && bytes.Equal(mark[:], flushed) {
				last.at, last.text, last.ending = in.offset(), text, memberEnd(crc, text)
				behind, more = behind[:0], false
			}
		}
	}
}

// zeros tells whether an input has no byte but zeros, which a machine that loses
// power leaves.
func zeros(in *input) bool {
	for {
		rest, err := in.peek(1)
		if err != nil || len(bytes.Trim(rest, "\x00")) > 0 {
			return false
		}
		if len(rest) == 0 {
			return true
		}
		in.r += len(rest)
	}
}

// contains tells whether b is in what an input still has.
func contains(in *input, b []byte) bool {
	for {
		rest, err := in.peek(len(b))
		if err != nil || bytes.Contains(rest, b) {
			return true
		}
		if len(rest) < len(b) {
			return false
		}
		in.r += len(rest) - len(b) + 1
	}
}

// proven tells whether the member that begins at an offset is whole with the
// ending.
func (w *Writer) proven(begin int64, last *memberLines) bool {
	if last.at == begin {
		return true // nothing of it stays
	}
	z, err := gzip.NewReader(io.MultiReader(io.NewSectionReader(w.file, begin, last.at-begin), bytes.NewReader(last.ending)))
	if err != nil {
		return false
	}
	n, err := io.Copy(io.Discard, z)
	return err == nil && n == last.text
}
