package gen

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Resolver gives the address of the C function name ("nvmlInit_v2"), 0 when
// the library lacks it. It is asked once for each function, on first use, and
// must not call back into the Library that asks.
type Resolver func(name string) uintptr

// Library is a table of the C functions of one loaded NVML library. It is safe
// for concurrent use.
type Library Table

// Table is a Library without the methods. A structure that holds a *Table makes
// a program some 20 kB smaller than one that holds a *Library: Go describes the
// types of what lies on the heap, with the names of all methods.
type Table struct {
	resolve Resolver
	mu      sync.Mutex // held while a symbol is looked up
	addr    [NumFunctions]atomic.Uintptr
}

// absent marks a function that was looked up and is not there.
const absent = ^uintptr(0)

// New returns a table that takes its addresses from resolve.
func New(resolve Resolver) *Library {
	return (*Library)(&Table{resolve: resolve})
}

// Has tells whether the library has f; it looks it up if need be. Where C
// functions cannot be called it is always false.
func (l *Library) Has(f Function) bool {
	return l.address(f) != absent
}

// address returns where f is, or absent.
func (l *Library) address(f Function) uintptr {
	if a := l.addr[f].Load(); a != 0 {
		return a
	}
	return l.lookUp(f)
}

func (l *Library) lookUp(f Function) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.addr[f].Load()
	if a != 0 {
		return a
	}
	if callable {
		a = l.resolve(f.String())
	}
	if a == 0 {
		a = absent
	}
	l.addr[f].Store(a)
	return a
}

// maxArgs is the largest number of parameters of an NVML function.
const maxArgs = 6

// Frame holds the arguments of a call. It belongs to one goroutine at a time
// and is meant to be reused: calls through a reused frame do not allocate.
type Frame struct {
	args [maxArgs]uintptr
	// The pointers among the arguments. Storing them here, behind a pointer,
	// makes what they point to escape to the heap, where Go does not move it,
	// and keeps it alive during the call.
	keep [maxArgs]unsafe.Pointer
}

// NewFrame returns a frame. It is never inlined, so the frame is on the heap.
//
//go:noinline
func NewFrame() *Frame { return new(Frame) }

// SetNumber makes v argument i, counted from 0, of a [Library.Call].
func (f *Frame) SetNumber(i int, v uintptr) { f.args[i] = v }

// SetAddress makes p argument i, counted from 0, of a [Library.Call].
func (f *Frame) SetAddress(i int, p unsafe.Pointer) { f.pass(i, p) }

// Call calls fn, which answers with a code, with the first n arguments that were
// set in f. Nothing checks them: wherever the function is known beforehand, use
// its method.
func (l *Library) Call(f *Frame, fn Function, n int) Return_t { return l.call(f, fn, n) }

// pass makes p argument i.
func (f *Frame) pass(i int, p unsafe.Pointer) {
	f.keep[i] = p
	f.args[i] = uintptr(p)
}

// call calls fn with the first n arguments of f.
func (l *Library) call(f *Frame, fn Function, n int) Return_t {
	addr := l.address(fn)
	if addr == absent {
		f.keep = [maxArgs]unsafe.Pointer{}
		return NVML_ERROR_FUNCTION_NOT_FOUND
	}
	return Return_t(invoke(f, addr, n))
}

// callString is call for a function that returns a C string, of which it
// returns a copy: "" when the library lacks the function or it returns NULL.
func (l *Library) callString(f *Frame, fn Function, n int) string {
	addr := l.address(fn)
	if addr == absent {
		f.keep = [maxArgs]unsafe.Pointer{}
		return ""
	}
	r := invoke(f, addr, n)
	return goString(*(*unsafe.Pointer)(unsafe.Pointer(&r)))
}

// maxString bounds the C strings that are read.
const maxString = 1 << 16

// goString copies the C string at p.
func goString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for n < maxString && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// Function numbers the C functions: FnInit_v2 and so on.
type Function uint16

// String returns the C name, "nvmlInit_v2".
//
// Inlined, it would make the program 4 kB larger.
//
//go:noinline
func (f Function) String() string {
	if f >= NumFunctions {
		return "nvml?"
	}
	from := uint16(0)
	if f > 0 {
		from = nameEnds[f-1]
	}
	return functionNames[from:nameEnds[f]]
}

// FirstDriver returns the first driver release whose header has f, such as
// "450.51". The releases looked at begin with "375.26", which therefore stands
// for that one or any before it. "" says that none of them has f.
func (f Function) FirstDriver() string {
	if int(f) >= len(firstDrivers) {
		return ""
	}
	return firstDrivers[f]
}
