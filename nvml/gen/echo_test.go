//go:build linux || windows || darwin

package gen

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// The echo library records each call and answers with patterns made from the
// function's name (internal/abi/echo.c, generated together with the cases in
// echo_cases_test.go). These tests call every method once and compare both
// directions.

// echoLibraryVariable names the environment variable with the path of an echo
// library that was built for the system the tests run on. Without it the tests
// build one with gcc.
const echoLibraryVariable = "NVML_ECHO_LIBRARY"

// echoLibrary returns the path of the echo library.
func echoLibrary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(echoLibraryVariable); path != "" {
		return path
	}
	if runtime.GOOS != "linux" {
		t.Skipf("no echo library: set %s", echoLibraryVariable)
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("gcc is missing")
		}
		t.Skip("gcc is missing: install the Debian package gcc")
	}
	path := filepath.Join(t.TempDir(), "libecho.so")
	src := filepath.Join("..", "..", "internal", "abi", "echo.c")
	// Looking at the sources makes a cached test result depend on them.
	for _, file := range []string{src, filepath.Join(filepath.Dir(src), "nvml_abi.h")} {
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// echoRecord is struct echo_record.
type echoRecord struct {
	calls    uint64
	count    uint64
	value    [maxArgs]uint64
	size     [maxArgs]uint64
	function [128]byte
	bytes    [maxArgs][echoBytes]byte
}

// echoRun is one call of one method.
type echoRun struct {
	t      *testing.T
	l      *Library
	f      *Frame
	fn     Function
	last   *echoRecord
	calls  uint64
	checks []func() // run after the call
	params int
}

type echoCase func(*echoRun)

// hash is the echo library's: FNV-1a over the name, then the seed.
func echoHash(name string, seed uint64) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return (h ^ seed) * 1099511628211
}

// echoPattern returns n bytes made from a seed.
func echoPattern(x uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}

// filled is what the library writes behind parameter i.
func (e *echoRun) filled(i, n int) []byte {
	return echoPattern(echoHash(e.fn.String(), uint64(i+1)), n)
}

// sent is what the test puts behind parameter i before the call.
func (e *echoRun) sent(i, n int) []byte {
	return echoPattern(echoHash(e.fn.String(), uint64(i+1))^0x5555_aaaa_5555_aaaa, n)
}

// value makes an argument of which every bit counts.
func value[T ~int32 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](e *echoRun, i int) T {
	e.params++
	x := echoHash(e.fn.String(), uint64(100+i)) | 1 | 1<<7 | 1<<31 | 1<<63
	v := T(x)
	want := x
	if bits := 8 * unsafe.Sizeof(v); bits < 64 {
		want &= 1<<bits - 1
	}
	e.checks = append(e.checks, func() {
		if got := e.last.value[i]; got != want {
			e.t.Errorf("argument %d arrived as %#x, want %#x", i, got, want)
		}
	})
	return v
}

// guarded is a buffer with bytes around it that no call may touch.
type guarded[T any] struct {
	before [32]byte
	v      T
	after  [32]byte
}

const guardByte = 0xa5

// echoPointer makes a pointer argument and checks what arrived behind it and
// what came back. sends is how many bytes count before the call.
func echoPointer[T any](e *echoRun, i int, writable bool) *T {
	e.params++
	g := new(guarded[T])
	for k := range g.before {
		g.before[k], g.after[k] = guardByte, guardByte
	}
	n := int(unsafe.Sizeof(g.v))
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&g.v)), n)
	sent := e.sent(i, n)
	copy(mem, sent)
	address := uint64(uintptr(unsafe.Pointer(&g.v)))
	e.checks = append(e.checks, func() {
		if got := e.last.value[i]; got != address {
			e.t.Errorf("pointer %d arrived as %#x, want %#x", i, got, address)
		}
		if got := e.last.size[i]; got != uint64(n) {
			e.t.Fatalf("C has %d bytes behind parameter %d, Go has %d", got, i, n)
		}
		if !bytes.Equal(e.last.bytes[i][:n], sent) {
			e.t.Errorf("the bytes behind parameter %d did not arrive", i)
		}
		want := sent
		if writable {
			want = e.filled(i, n)
		}
		if !bytes.Equal(mem, want) {
			e.t.Errorf("the bytes behind parameter %d did not come back", i)
		}
		guard := bytes.Repeat([]byte{guardByte}, len(g.before))
		if !bytes.Equal(g.before[:], guard) || !bytes.Equal(g.after[:], guard) {
			e.t.Errorf("memory around parameter %d was written", i)
		}
	})
	return &g.v
}

// out is a pointer to something that the function may write.
func out[T any](e *echoRun, i int) *T { return echoPointer[T](e, i, true) }

// in is a pointer to something const.
func in[T any](e *echoRun, i int) *T { return echoPointer[T](e, i, false) }

// outBytes is a buffer for a string.
func outBytes(e *echoRun, i int) *byte { return &echoPointer[[echoString]byte](e, i, true)[0] }

// inString is a C string.
func inString(e *echoRun, i int) *byte {
	e.params++
	s := []byte(e.fn.String() + "\xff\x00")
	e.checks = append(e.checks, func() {
		n := e.last.size[i]
		if n != uint64(len(s)) || !bytes.Equal(e.last.bytes[i][:n], s) {
			e.t.Errorf("string %d arrived as %q, want %q", i, e.last.bytes[i][:n], s)
		}
	})
	return &s[0]
}

// code checks a call that returned a code.
func (e *echoRun) code(got Return_t) {
	if want := Return_t(int32(uint32(echoHash(e.fn.String(), 0)))); got != want {
		e.t.Errorf("the call returned %d, want %d", got, want)
	}
	e.arrived()
}

// text checks a call that returned a string.
func (e *echoRun) text(got string) {
	if got != e.fn.String() {
		e.t.Errorf("the call returned %q, want %q", got, e.fn.String())
	}
	e.arrived()
}

func (e *echoRun) arrived() {
	name, _, _ := strings.Cut(string(e.last.function[:]), "\x00")
	if name != e.fn.String() || e.last.calls != e.calls+1 {
		e.t.Fatalf("after %d calls, %d were counted, the last to %q", e.calls+1, e.last.calls, name)
	}
	if e.last.count != uint64(e.params) {
		e.t.Fatalf("the C function has %d parameters, the method %d", e.last.count, e.params)
	}
	for _, check := range e.checks {
		check()
	}
	for i := e.params; i < maxArgs; i++ {
		if e.last.size[i] != 0 || e.last.value[i] != 0xeeee_eeee_eeee_eeee {
			e.t.Errorf("argument %d was recorded, the method has none", i)
		}
	}
	if e.f.keep != [maxArgs]unsafe.Pointer{} {
		e.t.Error("the frame still holds pointers after the call")
	}
}

// openEcho loads the echo library and returns its resolver and its record.
func openEcho(t testing.TB) (Resolver, *echoRecord) {
	t.Helper()
	resolve := openLibrary(t, echoLibrary(t))
	last := resolve("echo_last")
	if last == 0 {
		t.Fatal("the echo library has no echo_last")
	}
	f := NewFrame()
	r := invoke(f, last, 0)
	return resolve, *(**echoRecord)(unsafe.Pointer(&r))
}

func TestEveryMethodReachesItsFunction(t *testing.T) {
	resolve, last := openEcho(t)
	l, f := New(resolve), NewFrame()
	for fn, call := range echoCases {
		e := &echoRun{l: l, f: f, fn: Function(fn), last: last, calls: last.calls}
		t.Run(e.fn.String(), func(t *testing.T) {
			e.t = t
			if !l.Has(e.fn) {
				t.Fatal("the echo library lacks the function")
			}
			call(e)
		})
	}
	if last.calls < NumFunctions {
		t.Errorf("%d of %d functions were called", last.calls, NumFunctions)
	}
	t.Logf("%d functions on %s/%s", NumFunctions, runtime.GOOS, runtime.GOARCH)
}

func TestCallsThroughAReusedFrameDoNotAllocate(t *testing.T) {
	resolve, last := openEcho(t)
	l, f := New(resolve), NewFrame()
	power, memory := new(uint32), new(Memory_v2_t)
	before := last.calls
	n := testing.AllocsPerRun(1000, func() {
		l.DeviceGetPowerUsage(f, 1, power)
		l.DeviceGetMemoryInfo_v2(f, 1, memory)
		l.DeviceGetNumGpuCores(f, 1, power)
	})
	if last.calls-before < 3000 {
		t.Fatalf("only %d calls arrived", last.calls-before)
	}
	if n != 0 {
		t.Errorf("%v allocations in three calls, want none", n)
	}
}

// A variable of the caller's whose address is passed must not lie on a stack,
// which Go moves when it grows.
func TestStackVariablesEscape(t *testing.T) {
	resolve, last := openEcho(t)
	l, f := New(resolve), NewFrame()
	var power uint32
	grown := growStack(200) // moves the stack
	l.DeviceGetPowerUsage(f, 1, &power)
	if got := uintptr(last.value[1]); got != uintptr(unsafe.Pointer(&power)) {
		t.Errorf("C saw the variable at %#x, it is at %p", got, &power)
	}
	if want := echoPattern(echoHash("nvmlDeviceGetPowerUsage", 2), 4); !bytes.Equal(unsafe.Slice((*byte)(unsafe.Pointer(&power)), 4), want) {
		t.Errorf("the variable is %#x, want the bytes % x (%d)", power, want, grown)
	}
}

//go:noinline
func growStack(n int) int {
	var pad [256]byte
	pad[n%len(pad)] = byte(n)
	if n == 0 {
		return int(pad[0])
	}
	return growStack(n-1) + int(pad[n%len(pad)])
}
