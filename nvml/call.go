package nvml

import (
	"sync/atomic"
	"time"

	"nvtop-lite/nvml/gen"
)

// The helpers below are what the methods are made of. Those named get call one
// C function; first tries a chain of them.

// enter begins a method of a device.
func (d Device) enter(fn gen.Function) (*frame, error) {
	if d.s == nil {
		return nil, uninitialized(fn, -1, "the Device is the zero value")
	}
	return d.s.lib.enter(d.s, d.ses, fn)
}

// get calls a function of a device that fills one value.
func get[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t) (T, error) {
	return getInit(d, fn, m, nil)
}

// getInit is get for a value of which something must be set before, a version
// word for instance.
func getInit[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t, init func(*T)) (T, error) {
	var zero T
	f, err := d.enter(fn)
	if err != nil {
		return zero, err
	}
	defer f.leave()
	v, r := callInit(f, fn, 0, m, init)
	if r != Success {
		return zero, f.fail(fn, r)
	}
	return v, nil
}

// callInit makes the call of getInit, as a member of a chain at that place.
func callInit[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t, init func(*T)) (T, Return) {
	var zero T
	if !f.begin(fn, place) {
		return zero, ErrFunctionNotFound
	}
	v := scratch[T](f)
	if init != nil {
		init(v)
	}
	if r := f.end(m(f.raw, f.c, f.h, v)); r != Success {
		return zero, r
	}
	return *v, Success
}

// getAt calls a function that takes one argument and fills one value.
func getAt[A, T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, A, *T) gen.Return_t, a A) (T, error) {
	var zero T
	f, err := d.enter(fn)
	if err != nil {
		return zero, err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return zero, f.fail(fn, ErrFunctionNotFound)
	}
	v := scratch[T](f)
	if r := f.end(m(f.raw, f.c, f.h, a, v)); r != Success {
		return zero, f.fail(fn, r)
	}
	return *v, nil
}

// getAt2 calls a function that takes two arguments and fills one value.
func getAt2[A, B, T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, A, B, *T) gen.Return_t, a A, b B) (T, error) {
	var zero T
	f, err := d.enter(fn)
	if err != nil {
		return zero, err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return zero, f.fail(fn, ErrFunctionNotFound)
	}
	v := scratch[T](f)
	if r := f.end(m(f.raw, f.c, f.h, a, b, v)); r != Success {
		return zero, f.fail(fn, r)
	}
	return *v, nil
}

// pair is two outputs side by side.
type pair[T any] struct{ a, b T }

// getPair calls a function that fills two values.
func getPair[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T, *T) gen.Return_t) (a, b T, err error) {
	f, err := d.enter(fn)
	if err != nil {
		return a, b, err
	}
	defer f.leave()
	a, b, r := callPair(f, fn, 0, m)
	return a, b, f.fail(fn, r)
}

// callPair makes the call of getPair, as a member of a chain at that place.
func callPair[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, gen.Device_t, *T, *T) gen.Return_t) (a, b T, r Return) {
	if !f.begin(fn, place) {
		return a, b, ErrFunctionNotFound
	}
	v := scratch[pair[T]](f)
	if r := f.end(m(f.raw, f.c, f.h, &v.a, &v.b)); r != Success {
		return a, b, r
	}
	return v.a, v.b, Success
}

// getText calls a function that fills a string of at most size bytes.
func getText(d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *byte, uint32) gen.Return_t, size int) (string, error) {
	f, err := d.enter(fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	b := f.text(size)
	if r := f.end(m(f.raw, f.c, f.h, &b[0], uint32(size))); r != Success {
		return "", f.fail(fn, r)
	}
	return gostring(b), nil
}

// getFlag calls a function that fills an enable state.
func getFlag(d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *gen.EnableState_t) gen.Return_t) (bool, error) {
	v, err := get(d, fn, m)
	return d.flag(fn, uint32(v), err)
}

// flag is an answer that is 0 or 1; what else a driver says is no answer.
func (d Device) flag(fn gen.Function, v uint32, err error) (bool, error) {
	if err == nil && v > 1 {
		err = &Error{Function: fn.String(), Device: d.Index(), Return: ErrImplausible}
	}
	return v == 1, err
}

// sysGet calls a function that is about no device and fills one value.
func sysGet[T any](l *Library, fn gen.Function, m func(*gen.Library, *gen.Frame, *T) gen.Return_t, init func(*T)) (T, error) {
	var zero T
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return zero, err
	}
	defer f.leave()
	v, r := sysCall(f, fn, 0, m, init)
	if r != Success {
		return zero, f.fail(fn, r)
	}
	return v, nil
}

// sysCall makes the call of sysGet, as a member of a chain at that place.
func sysCall[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, *T) gen.Return_t, init func(*T)) (T, Return) {
	var zero T
	if !f.begin(fn, place) {
		return zero, ErrFunctionNotFound
	}
	v := scratch[T](f)
	if init != nil {
		init(v)
	}
	if r := f.end(m(f.raw, f.c, v)); r != Success {
		return zero, r
	}
	return *v, Success
}

// sysText calls a function that is about no device and fills a string.
func sysText(l *Library, fn gen.Function, m func(*gen.Library, *gen.Frame, *byte, uint32) gen.Return_t, size int) (string, error) {
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	b := f.text(size)
	if r := f.end(m(f.raw, f.c, &b[0], uint32(size))); r != Success {
		return "", f.fail(fn, r)
	}
	return gostring(b), nil
}

// chainID numbers the chains of functions that devices remember.
type chainID int

const (
	chainMemory chainID = iota
	chainTemperature
	chainPci
	chainFan
	chainReasons
	chainSupportedReasons
	chainDriverModel
	chainCompute
	chainGraphics
	chainMPS
	chainProcessLoad
	chainRemappedRows
	chainRetiredPages
	chainNvLinkPci
	chainNvLinkInfo
	chainNvLinkTraffic
	chainPlatform
	chainFabric
	chainAttributes
	chainGpuProfile
	chainComputeProfile
	chainGpuPlacements
	chainComputeInfo
	chainAccounting
	chainLicensable
	chainVgpuLicense
	chainEnergy
	chainViolation
	chainPState
	chainEvents
	numChains
)

// step is one member of a chain.
type step[T any] struct {
	fn gen.Function
	// call makes the call, at the given place in the chain. It says
	// ErrFunctionNotFound where there is nothing to call.
	call func(f *frame, place int) (T, Return)
}

// curable says whether a fallback may succeed after r.
func curable(r Return) bool {
	switch r {
	case ErrNotSupported, ErrFunctionNotFound, ErrArgumentVersion, ErrDeprecated, ErrImplausible:
		return true
	}
	return false
}

// reprobe is how long a member is passed over after it answered something that
// may change: not supported (which a driver may say while it starts), unknown.
const reprobe = time.Minute

var startTime = time.Now()

// latch remembers which member of a chain works on a device. The lowest byte is
// the place of the member; the rest, if any, is the second (since the program
// began, plus one) at which the newer ones are tried again.
func latch(place int, lasting bool) uint64 {
	if lasting {
		return uint64(place)
	}
	return uint64(place) | uint64((time.Since(startTime)+reprobe)/time.Second+1)<<8
}

// latched reads what latch made. 0 says: begin with the newest.
func latched(v uint64) int {
	if until := v >> 8; until != 0 && uint64(time.Since(startTime)/time.Second) >= until {
		return 0
	}
	return int(v & 0xff)
}

// first returns the answer of the first member that gives one, and begins with
// the one that gave one before. also is a further code, 0 for none, that lets
// the next member be tried. Other errors end the search and change nothing. If
// no member has an answer, the error is the last one that NVML gave, rather
// than that of a missing function.
func first[T any](d Device, id chainID, also Return, steps ...step[T]) (T, error) {
	var zero T
	f, err := d.enter(steps[0].fn)
	if err != nil {
		return zero, err
	}
	defer f.leave()
	v, at, r := try(f, &d.s.works[id], also, steps)
	if r != Success {
		return zero, f.fail(steps[at].fn, r)
	}
	return v, nil
}

// try is first within a call. v is of use only where r is Success.
func try[T any](f *frame, memory *atomic.Uint64, also Return, steps []step[T]) (v T, at int, r Return) {
	at, r = climb(memory, also, len(steps), func(place int) (r Return) {
		v, r = steps[place].call(f, place)
		return r
	})
	return v, at, r
}

// climb calls the members of a chain of n until one has an answer.
func climb(memory *atomic.Uint64, also Return, n int, call func(place int) Return) (at int, r Return) {
	known := memory.Load()
	start := latched(known)
	if start >= n {
		start = 0
	}
	lasting := true
	at, r = start, ErrFunctionNotFound
	for i := start; i < n; i++ {
		ret := call(i)
		if ret == Success {
			if i != start {
				memory.Store(latch(i, lasting && start == 0))
			} else if i == 0 && known != 0 {
				memory.Store(0)
			}
			return i, Success
		}
		if !curable(ret) && (also == Success || ret != also) {
			return i, ret
		}
		switch ret {
		case ErrFunctionNotFound, ErrArgumentVersion, ErrDeprecated:
		default:
			lasting = false
		}
		if ret != ErrFunctionNotFound || r == ErrFunctionNotFound && i == start {
			at, r = i, ret
		}
	}
	if known != 0 {
		memory.Store(0) // what worked does not any more: look again from the top
	}
	return at, r
}
