package nvml

import (
	"sync/atomic"
	"time"
	"unsafe"

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

// Those with a parameter m take a method of package gen for its type only, which
// says what fn expects and fills: called they are by number. So a program holds
// one copy of what they do, and none of the methods, which makes it 40 kB smaller.
// They must stay small enough to be inlined.

// get calls a function of a device that fills one value.
func get[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t) (v T, err error) {
	err = d.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v))
	return v, err
}

// getInit is get for a value of which something must be set before, a version
// word for instance: the call begins with v.
func getInit[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t, v T) (T, error) {
	err := d.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v))
	return v, err
}

// callInit makes the call of getInit, as a member of a chain at that place.
func callInit[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t, v T) (T, Return) {
	r := f.ask(fn, place, unsafe.Pointer(&v), unsafe.Sizeof(v), 0)
	return v, r
}

// call makes the call of get, as a member of a chain at that place.
func call[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, gen.Device_t, *T) gen.Return_t) (v T, r Return) {
	r = f.ask(fn, place, unsafe.Pointer(&v), unsafe.Sizeof(v), 0)
	return v, r
}

// number is what a C function takes by value.
type number interface{ ~int32 | ~uint32 | ~uintptr }

// getAt calls a function that takes one argument and fills one value.
func getAt[A number, T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, A, *T) gen.Return_t, a A) (v T, err error) {
	err = d.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v), uintptr(a))
	return v, err
}

// getAt2 calls a function that takes two arguments and fills one value.
func getAt2[A, B number, T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, A, B, *T) gen.Return_t, a A, b B) (v T, err error) {
	err = d.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v), uintptr(a), uintptr(b))
	return v, err
}

// pair is two outputs side by side.
type pair[T any] struct{ a, b T }

// getPair calls a function that fills two values.
func getPair[T any](d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *T, *T) gen.Return_t) (a, b T, err error) {
	var v pair[T]
	err = d.askPair(fn, unsafe.Pointer(&v), unsafe.Sizeof(v))
	return v.a, v.b, err
}

// callPair makes the call of getPair, as a member of a chain at that place.
func callPair[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, gen.Device_t, *T, *T) gen.Return_t) (a, b T, r Return) {
	var v pair[T]
	r = f.ask(fn, place, unsafe.Pointer(&v), unsafe.Sizeof(v), unsafe.Sizeof(v.a))
	return v.a, v.b, r
}

// getText calls a function that fills a string of at most size bytes.
func getText(d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *byte, uint32) gen.Return_t, size int) (string, error) {
	return textOf(d, fn, size, (*frame).askText)
}

// textOf is getText for functions that take something else: call calls them.
func textOf(d Device, fn gen.Function, size int, call func(f *frame, fn gen.Function, b []byte) gen.Return_t) (string, error) {
	f, err := d.enter(fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	return f.textOf(fn, size, call)
}

// ask calls a function of a device whose arguments are the device, the given
// numbers, and the address of size bytes, which are out's before the call. After
// it they are out's again, or zero where it failed.
func (d Device) ask(fn gen.Function, out unsafe.Pointer, size uintptr, numbers ...uintptr) error {
	f, err := d.enter(fn)
	if err != nil {
		clear(unsafe.Slice((*byte)(out), size))
		return err
	}
	defer f.leave()
	return f.fail(fn, f.ask(fn, 0, out, size, 0, numbers...))
}

// askPair is ask for a function that takes two addresses, each of one half of
// the bytes.
func (d Device) askPair(fn gen.Function, out unsafe.Pointer, size uintptr) error {
	f, err := d.enter(fn)
	if err != nil {
		clear(unsafe.Slice((*byte)(out), size))
		return err
	}
	defer f.leave()
	return f.fail(fn, f.ask(fn, 0, out, size, size/2))
}

// ask makes the call of Device.ask, as a member of a chain at that place. Where
// second is not 0, the address of the byte at that place follows, for a second
// output. In a call that is about no device the numbers come first.
func (f *frame) ask(fn gen.Function, place int, out unsafe.Pointer, size, second uintptr, numbers ...uintptr) Return {
	v := unsafe.Slice((*byte)(out), size)
	if !f.begin(fn, place) {
		clear(v)
		return ErrFunctionNotFound
	}
	b := f.room(size)
	copy(b, v)
	n := f.begun()
	for _, v := range numbers {
		f.c.SetNumber(n, v)
		n++
	}
	f.c.SetAddress(n, unsafe.Pointer(&b[0]))
	n++
	if second > 0 {
		f.c.SetAddress(n, unsafe.Pointer(&b[second]))
		n++
	}
	r := f.end(f.raw().Call(f.c, fn, n))
	if r != Success {
		clear(v)
		return r
	}
	copy(v, b)
	return r
}

// getFlag calls a function that fills an enable state.
func getFlag(d Device, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *gen.EnableState_t) gen.Return_t) (bool, error) {
	return d.askFlag(fn)
}

func (d Device) askFlag(fn gen.Function) (bool, error) {
	v := gen.NVML_FEATURE_DISABLED
	err := d.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v))
	return d.flag(fn, uint32(v), err)
}

// flag is an answer that is 0 or 1; what else a driver says is no answer.
//
//go:noinline
func (d Device) flag(fn gen.Function, v uint32, err error) (bool, error) {
	if err == nil && v > 1 {
		err = &Error{Function: fn.String(), Device: d.Index(), Return: ErrImplausible}
	}
	return v == 1, err
}

// begun makes the handle the first argument of a call about a device, and
// returns how many arguments there are now.
func (f *frame) begun() int {
	if f.dev == nil {
		return 0
	}
	f.c.SetNumber(0, uintptr(f.h))
	return 1
}

// sysGet calls a function that is about no device and fills one value.
func sysGet[T any](l *Library, fn gen.Function, m func(*gen.Library, *gen.Frame, *T) gen.Return_t) (v T, err error) {
	err = l.ask(fn, unsafe.Pointer(&v), unsafe.Sizeof(v))
	return v, err
}

// ask is Device.ask for a function that is about no device.
func (l *Library) ask(fn gen.Function, out unsafe.Pointer, size uintptr) error {
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return err
	}
	defer f.leave()
	return f.fail(fn, f.ask(fn, 0, out, size, 0))
}

// sysCall makes the call of sysGet, as a member of a chain at that place. It
// begins with v.
func sysCall[T any](f *frame, fn gen.Function, place int, m func(*gen.Library, *gen.Frame, *T) gen.Return_t, v T) (T, Return) {
	r := f.ask(fn, place, unsafe.Pointer(&v), unsafe.Sizeof(v), 0)
	return v, r
}

// sysText calls a function that is about no device and fills a string.
func sysText(l *Library, fn gen.Function, m func(*gen.Library, *gen.Frame, *byte, uint32) gen.Return_t, size int) (string, error) {
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	return f.textOf(fn, size, (*frame).askText)
}

// textOf makes the call of the function of the same name, and that of sysText.
func (f *frame) textOf(fn gen.Function, size int, call func(f *frame, fn gen.Function, b []byte) gen.Return_t) (string, error) {
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	b := f.text(size)
	if r := f.end(call(f, fn, b)); r != Success {
		return "", f.fail(fn, r)
	}
	return gostring(b), nil
}

// askText calls a function of a device, or of none, that takes the address and
// the length of a string.
func (f *frame) askText(fn gen.Function, b []byte) gen.Return_t {
	n := f.begun()
	f.c.SetAddress(n, unsafe.Pointer(&b[0]))
	f.c.SetNumber(n+1, uintptr(len(b)))
	return f.raw().Call(f.c, fn, n+2)
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
func first[T any](d Device, id chainID, also Return, steps ...step[T]) (v T, err error) {
	f, err := d.enter(steps[0].fn)
	if err != nil {
		return v, err
	}
	defer f.leave()
	at, r := climb(&d.s.works[id], also, len(steps), func(place int) (r Return) {
		v, r = steps[place].call(f, place)
		return r
	})
	if r != Success {
		var zero T
		return zero, f.fail(steps[at].fn, r)
	}
	return v, nil
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
