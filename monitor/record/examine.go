package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"nvtop-lite/monitor/report"
)

// flushed ends what a deflate stream has when it is flushed.
var flushed = []byte{0, 0, 0xff, 0xff}

// examine tells whether the file, which is not empty, can be appended to, whether
// it is compressed, and what must be written before the next line. It changes
// only a broken end of a compressed file, and only where no line is in it.
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
	return fmt.Errorf("%s is no recording: there is no snapshot in it", r.name)
}

// examineEnd finds out how the last gzip member ends. Where a run that was
// killed left it broken, what is behind its last whole line is cut off, so that
// an ending makes it whole. In any doubt it stays as it is: a new member can
// follow it, and is found by readers.
func (w *Writer) examineEnd(r *Reader) error {
	member, err := r.lastMember(w.size)
	if err != nil {
		return r.wrap(err)
	}
	in := newInput(w.file, nil)
	in.seek(member)
	for {
		rest, err := in.peek(1)
		if err != nil {
			return r.wrap(err)
		}
		if len(rest) == 0 {
			return nil // the last member is whole
		}
		member = in.offset()
		end, text, crc, whole := w.lastLine(in)
		if in.err != nil {
			return r.wrap(in.err)
		}
		if whole {
			continue
		}
		if end == 0 {
			return nil
		}
		ending := memberEnd(crc, text)
		if !w.proven(member, end, ending, text) {
			return nil
		}
		if end < w.size {
			if err := w.truncate(end); err != nil {
				return err
			}
		}
		w.ending = ending
		return nil
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

// lastLine inflates the member at which in stands. If it is whole, in stands
// behind it. Otherwise end is the offset of the last flush behind a whole line,
// with the size and the checksum of the text up to there, and 0 where there is
// none, or where there may be lines behind it.
func (w *Writer) lastLine(in *input) (end, text int64, crc uint32, whole bool) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return 0, 0, 0, false
	}
	z.Multistream(false)
	piece := make([]byte, minFill)
	var allText int64
	var allCRC uint32
	lines := false // behind end
	for {
		n, err := z.Read(piece)
		allText += int64(n)
		allCRC = crc32.Update(allCRC, crc32.IEEETable, piece[:n])
		lines = lines || bytes.IndexByte(piece[:n], '\n') >= 0
		if err == io.EOF {
			return 0, 0, 0, true
		}
		if err != nil {
			// More of the stream behind what is broken, or a member that was
			// ended but has changed since: these are not the work of a kill.
			if lines || err == gzip.ErrChecksum || contains(in, flushed) {
				end = 0
			}
			return end, text, crc, false
		}
		if n > 0 && piece[n-1] == '\n' {
			var mark [4]byte
			if _, err := w.file.ReadAt(mark[:], in.offset()-4); err == nil && bytes.Equal(mark[:], flushed) {
				end, text, crc, lines = in.offset(), allText, allCRC, false
			}
		}
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

// proven tells whether the member that begins and ends at the offsets is whole
// with the ending.
func (w *Writer) proven(begin, end int64, ending []byte, text int64) bool {
	z, err := gzip.NewReader(io.MultiReader(io.NewSectionReader(w.file, begin, end-begin), bytes.NewReader(ending)))
	if err != nil {
		return false
	}
	n, err := io.Copy(io.Discard, z)
	return err == nil && n == text
}
