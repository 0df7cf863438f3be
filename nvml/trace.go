package nvml

import (
	"sync/atomic"
	"time"

	"nvtop-lite/nvml/gen"
)

// Call is one call into the C library, as a [Tracer] sees it.
type Call struct {
	// ID pairs Begin with End. It is never 0 and never used twice.
	ID uint64
	// Function is the C function.
	Function gen.Function
	// Device is the index of the GPU that is asked (for a MIG device the
	// index of its GPU), -1 where none is or its index is not known.
	Device int
	// MIG is the index of the MIG device within its GPU, -1 for all others.
	MIG int
	// Place is the function's place in the chain of fallbacks that the
	// method tries, 0 for the newest. A method without fallbacks has 0.
	Place int
	// Start is when the call began.
	Start time.Time
	// Duration is how long it took; 0 in Begin.
	Duration time.Duration
	// Return is the answer; 0 in Begin.
	Return Return
}

// Tracer watches calls into the C library. Begin comes right before a call and
// End right after it, both on the goroutine that makes the call, so what has
// begun and not ended is in progress now: that is how a program can name the
// call that hangs, and since when. A function that the library lacks is not
// called and not reported, but to a [LackTracer]. Tracers must be safe for
// concurrent use and must not call into the Library.
type Tracer interface {
	Begin(Call)
	End(Call)
}

// LackTracer is a Tracer that hears, too, of the functions that a method would
// have called if the library had them. ID and Duration are 0 there.
type LackTracer interface {
	Tracer
	Lacks(Call)
}

var callID atomic.Uint64

// begin starts a C call. It reports false, and there is nothing to call, where
// the library lacks the function.
func (f *frame) begin(fn gen.Function, place int) bool {
	t := f.lib.tracer
	if !f.raw().Has(fn) {
		if t, ok := t.(LackTracer); ok {
			c := f.calling(fn, place)
			c.Return = ErrFunctionNotFound
			t.Lacks(c)
		}
		return false
	}
	if t != nil {
		f.call = f.calling(fn, place)
		f.call.ID = callID.Add(1)
		t.Begin(f.call)
	}
	return true
}

// calling describes a call that is about to be made.
func (f *frame) calling(fn gen.Function, place int) Call {
	c := Call{Function: fn, Device: -1, MIG: -1, Place: place, Start: time.Now()}
	if f.dev != nil {
		c.Device, c.MIG = f.dev.index, f.dev.mig
	}
	return c
}

// end ends the C call that begin started.
func (f *frame) end(r gen.Return_t) Return {
	if t := f.lib.tracer; t != nil {
		f.call.Duration = time.Since(f.call.Start)
		f.call.Return = Return(r)
		t.End(f.call)
	}
	return Return(r)
}
