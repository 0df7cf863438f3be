package nvml

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// frame is what one call needs: the argument frame of gen, the device that is
// asked, and memory on the heap that C may write to. It belongs to one
// goroutine while it is in use.
type frame struct {
	c     *gen.Frame
	table *gen.Table
	lib   *Library
	ses   *Session     // nil for a frame of the pool
	dev   *device      // nil for calls about no device
	h     gen.Device_t // the handle of dev

	call Call // the traced call in progress

	// Small outputs. Every helper clears what it uses.
	w [6]uint32
	q [2]uint64
	// Outputs that are structures and strings. It is larger than any of them
	// that is used here, so that a library which writes a longer version of
	// a structure than ours does no harm.
	buf [512]uint64
	// Lists of processes, samples and such; grown on demand, kept for the
	// next call.
	list []uint64
	pin  runtime.Pinner // for Go memory whose address lies in memory given to C
	one  [1]FieldValue  // a field asked alone
	two  [2]FieldValue  // a pair of fields
}

var frames = sync.Pool{New: func() any { return newFrame() }}

func newFrame() *frame { return &frame{c: gen.NewFrame()} }

// scratch returns a cleared T in the frame's memory. There is one such place:
// the next scratch of the same frame uses it again. T must not have Go pointers.
func scratch[T any](f *frame) *T {
	var t T
	return (*T)(unsafe.Pointer(&f.room(unsafe.Sizeof(t))[0]))
}

// room returns n cleared bytes in the frame's memory, for scratch.
func (f *frame) room(n uintptr) []byte {
	if n > uintptr(len(f.buf))*8 {
		panic("nvml: structure too large for a frame")
	}
	// A longer structure may have been there before.
	clear(f.buf[:min((n+7)/8+32, uintptr(len(f.buf)))])
	return unsafe.Slice((*byte)(unsafe.Pointer(&f.buf[0])), n)
}

// text returns n cleared bytes in the frame's memory, for a string.
func (f *frame) text(n int) []byte {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&f.buf[0])), len(f.buf)*8)
	clear(b[:n])
	return b[:n:n]
}

// words clears the small outputs.
func (f *frame) words() {
	f.w = [6]uint32{}
	f.q = [2]uint64{}
}

// listOf returns room for n values of type T in the frame's list memory, which
// is cleared. The memory stays the frame's. T must not have Go pointers.
func listOf[T any](f *frame, n int) []T {
	var t T
	words := (n*int(unsafe.Sizeof(t)) + 7) / 8
	const spare = 64 // for a library whose entries are a little longer
	if len(f.list) < words+spare {
		f.list = make([]uint64, words+words/4+spare)
	}
	clear(f.list[:words+spare])
	return unsafe.Slice((*T)(unsafe.Pointer(&f.list[0])), n)
}

// cstring copies s into C's form. The result is on the heap.
func cstring(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// gostring copies the string in b up to its NUL.
func gostring(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// enter begins a method: it refuses closed libraries, and finds a frame. Each
// enter that returns no error is followed by leave.
func (l *Library) enter(d *device, s *Session, fn gen.Function) (*frame, error) {
	eng := l.engine()
	if eng == noEngine {
		return nil, uninitialized(fn, -1, "the library was not opened")
	}
	eng.inflight.Add(1)
	if l.closed.Load() {
		eng.leave()
		index := -1
		if d != nil {
			index = d.index
		}
		return nil, uninitialized(fn, index, "the library was closed")
	}
	var f *frame
	if s != nil {
		f = s.take()
	} else {
		f = frames.Get().(*frame)
	}
	f.lib, f.table, f.ses, f.dev, f.h = l, eng.table, s, d, 0
	if d != nil {
		f.h = d.handle
	}
	return f, nil
}

// raw gives the C functions of the library that is called.
func (f *frame) raw() *gen.Library { return (*gen.Library)(f.table) }

// leave ends a method.
func (f *frame) leave() {
	l, s := f.lib, f.ses
	f.lib, f.table, f.ses, f.dev, f.h = nil, nil, nil, nil, 0
	if s != nil {
		s.busy.Store(false)
	} else {
		frames.Put(f)
	}
	l.eng.leave()
}

// fail makes the error of a call. A Success is no error.
//
// Inlined, it would make the program 13 kB larger.
//
//go:noinline
func (f *frame) fail(fn gen.Function, r Return) error {
	if r == Success {
		return nil
	}
	e := &Error{Function: fn.String(), Device: -1, Return: r}
	if f.dev != nil {
		e.Device = f.dev.index
	}
	return e
}

// Session is a call frame of its own: calls of devices that were bound to it
// with [Device.In] use its memory and never allocate for it. It is for loops
// that count allocations; all others need none, since a pool does nearly the
// same. A Session may be used by one goroutine at a time only, and calls of two
// goroutines at once panic. Nothing need be closed.
type Session struct {
	lib  *Library
	f    *frame
	busy atomic.Bool
}

// NewSession returns a Session.
func (l *Library) NewSession() *Session {
	return &Session{lib: l, f: newFrame()}
}

func (s *Session) take() *frame {
	if !s.busy.CompareAndSwap(false, true) {
		panic("nvml: a Session was used by two goroutines at once")
	}
	return s.f
}
