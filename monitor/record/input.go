package record

import (
	"errors"
	"io"
)

const (
	// inputSize is how many bytes are read at once.
	inputSize = 128 << 10
	// inputKeep is how many of the bytes already taken stay at hand, for going
	// back in what cannot be read twice.
	inputKeep = 256 << 10
)

// errStopped says that something more urgent than going on has come up.
var errStopped = errors.New("stopped")

// input gives the bytes of a file one by one or in pieces, and knows where it
// stands: compress/flate takes no byte too many from it.
type input struct {
	at   io.ReaderAt // nil where src can be read only once
	src  io.Reader
	buf  []byte
	r, w int
	base int64       // the offset of buf[0]
	err  error       // why the file could not be read on; never io.EOF
	stop func() bool // asked before each read; true ends it with errStopped
}

func newInput(at io.ReaderAt, src io.Reader) *input {
	if at != nil {
		return &input{at: at, buf: make([]byte, inputSize)}
	}
	return &input{src: src, buf: make([]byte, inputKeep+inputSize)}
}

func (in *input) offset() int64 { return in.base + int64(in.r) }

// seek goes to an offset. Where bytes come only once, it goes back no further
// than to the oldest that is still at hand.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (in *input) seek(offset int64) {
	in.err = nil
	if offset >= in.base && offset <= in.base+int64(in.w) {
		in.r = int(offset - in.base)
		return
	}
	if in.at == nil {
		in.r = 0
		return
	}
	in.base, in.r, in.w = offset, 0, 0
}

// fill reads on, and keeps what has not been taken.
func (in *input) fill() error {
	if in.err != nil {
		return in.err
	}
	if in.stop != nil && in.stop() {
		in.err = errStopped
		return in.err
	}
	keep := in.r
	if in.at == nil {
		keep = max(0, in.r-inputKeep)
	}
	if keep > 0 && (in.at != nil || len(in.buf)-in.w < inputSize/2) {
		copy(in.buf, in.buf[keep:in.w])
		in.base += int64(keep)
		in.r -= keep
		in.w -= keep
	}
	n, err := in.read(in.buf[in.w:], in.base+int64(in.w))
	in.w += n
	return err
}

// read reads once. It returns io.EOF only with nothing else.
func (in *input) read(p []byte, offset int64) (n int, err error) {
	for try := 0; n == 0 && err == nil && try < 100; try++ {
		if in.at != nil {
			n, err = in.at.ReadAt(p, offset)
		} else {
			n, err = in.src.Read(p)
		}
	}
	switch {
	case n > 0:
		// What was in the way shows itself again.
		return n, nil
	case err == nil:
		err = io.ErrNoProgress
	}
	if err != io.EOF {
		in.err = err
	}
	return 0, err
}

// peek returns the bytes at hand, n of them or more unless the file ends.
func (in *input) peek(n int) ([]byte, error) {
	for in.w-in.r < n {
		if err := in.fill(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return in.buf[in.r:in.w], nil
}

func (in *input) ReadByte() (byte, error) {
	if in.r == in.w {
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	b := in.buf[in.r]
	in.r++
	return b, nil
}

func (in *input) Read(p []byte) (int, error) {
	if in.r == in.w {
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.buf[in.r:in.w])
	in.r += n
	return n, nil
}

// excerpt is the beginning of what an input still has.
type excerpt struct {
	in   *input
	left int
}

func (e *excerpt) ReadByte() (byte, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	e.left--
	return e.in.ReadByte()
}

func (e *excerpt) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n, err := e.in.Read(p[:min(len(p), e.left)])
	e.left -= n
	return n, err
}
