package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"nvtop-lite/monitor"
)

// memberText is the text after which a gzip member is ended, in bytes: what a
// reader must inflate to find a line, and what is lost at most when a part of
// the file is damaged.
const memberText = 1 << 20

// gzipHeader begins each member: deflate, no name, no time, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// errLocked says that another Writer has the file.
var errLocked = errors.New("locked")

// Writer appends to a recording. It belongs to one goroutine at a time.
type Writer struct {
	file    *os.File
	regular bool
	size    int64
	ending  []byte // of what is in the file, to be written before the next line
	again   []byte // a line that was in the file, to be written first
	torn    error  // the end of the file could not be mended

	z     *flate.Writer // nil: plain text
	out   bytes.Buffer
	begun bool // z goes on with the member that ends the file
	crc   uint32
	text  int64 // bytes of text in that member
}

// Create opens the recording at path for appending; "-" is standard output. A
// new file is compressed if its name ends in .gz, and can be read by its owner
// alone. A file that is there stays what it is, and what a killed run left of a
// line at its end goes. It is an error when that file is of another schema or no
// recording, when another Writer has it, and when compressed data at its end is
// broken in another way.
func Create(path string) (*Writer, error) {
	if path == "-" {
		return &Writer{file: os.Stdout}, nil
	}
	flag := os.O_RDWR | os.O_CREATE | appendFlag
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		flag = os.O_WRONLY
	}
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file}
	if err := w.begin(strings.HasSuffix(path, ".gz")); err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

// begin finds out how to go on with the file.
func (w *Writer) begin(compress bool) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if w.regular = info.Mode().IsRegular(); w.regular {
		if err := lock(w.file); err == errLocked {
			return monitor.Errorf("%s is being recorded to by another program", w.file.Name())
		}
		// The one who had the lock may have written until now.
		if info, err = w.file.Stat(); err != nil {
			return err
		}
		w.size = info.Size()
	}
	if w.size > 0 {
		if compress, err = w.examine(); err != nil {
			return err
		}
	}
	if compress {
		if w.z, err = flate.NewWriter(&w.out, flate.DefaultCompression); err != nil {
			return err
		}
	}
	if w.regular {
		_, err = w.file.Seek(0, io.SeekEnd)
	}
	if err == nil && len(w.again) > 0 {
		err = w.Write(w.again)
		w.again = nil
	}
	return err
}

// Size returns the size of the file in bytes, or how much was written to what is
// no regular file.
func (w *Writer) Size() int64 { return w.size }

// Write appends one line, which ends in a newline, with one call of the system.
// After an error the file ends with the line before.
func (w *Writer) Write(line []byte) error {
	if w.torn != nil {
		return w.torn
	}
	if w.z == nil {
		if len(w.ending) > 0 {
			line = append(w.ending, line...)
		}
		if err := w.append(line); err != nil {
			return err
		}
		w.ending = nil
		return nil
	}
	w.out.Reset()
	crc, text := w.crc, w.text
	if !w.begun || text >= memberText {
		w.out.Write(w.ending)
		w.out.Write(gzipHeader)
		w.z.Reset(&w.out)
		crc, text = 0, 0
	}
	// Writing into memory cannot fail.
	w.z.Write(line)
	w.z.Flush()
	if err := w.append(w.out.Bytes()); err != nil {
		w.begun = false
		return err
	}
	w.begun = true
	w.crc, w.text = crc32.Update(crc, crc32.IEEETable, line), text+int64(len(line))
	w.ending = memberEnd(w.crc, w.text)
	return nil
}

// Close leaves a valid file.
func (w *Writer) Close() error {
	var err error
	if w.z != nil && w.torn == nil && len(w.ending) > 0 {
		err = w.append(w.ending)
	}
	return errors.Join(err, w.file.Close())
}

// append writes b, all of it or nothing.
func (w *Writer) append(b []byte) error {
	n, err := w.file.Write(b)
	if err == nil {
		w.size += int64(n)
		return nil
	}
	if !w.regular {
		w.size += int64(n)
		return err
	}
	if n > 0 {
		if trouble := w.truncate(w.size); trouble != nil {
			w.torn = monitor.Errorf("%w; the file ends within a line: %w", err, trouble)
			return w.torn
		}
	}
	return err
}

// truncate cuts off what is behind size.
func (w *Writer) truncate(size int64) error {
	if err := w.file.Truncate(size); err != nil {
		return err
	}
	w.size = size
	_, err := w.file.Seek(size, io.SeekStart)
	return err
}

// memberEnd ends a gzip member behind a flush: an empty last block, the checksum
// and the size of the text.
func memberEnd(crc uint32, text int64) []byte {
	end := binary.LittleEndian.AppendUint32([]byte{3, 0}, crc)
	return binary.LittleEndian.AppendUint32(end, uint32(text))
}
