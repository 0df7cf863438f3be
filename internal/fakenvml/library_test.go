//go:build linux || windows

package fakenvml_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"nvtop-lite/internal/fakenvml"
)

// NVML's return codes that the tests name.
const (
	success          = 0
	uninitialized    = 1
	invalidArgument  = 2
	notSupported     = 3
	noPermission     = 4
	notFound         = 6
	insufficientSize = 7
	driverNotLoaded  = 9
	timeout          = 10
	functionNotFound = 13
	gpuIsLost        = 15
	versionMismatch  = 25
)

// A library is a fake driver in the test's own process.
type library struct {
	*fakenvml.Fake
	t      testing.TB
	handle uintptr
}

func load(t testing.TB, generation, scenario string) *library {
	t.Helper()
	fake := fakenvml.New(t, generation, scenario)
	handle, err := loadLibrary(fake.Path())
	if err != nil {
		t.Fatal(err)
	}
	return &library{fake, t, handle}
}

// start loads a library and initialises it.
func start(t testing.TB, generation, scenario string) *library {
	t.Helper()
	l := load(t, generation, scenario)
	l.want(success, "nvmlInit_v2")
	return l
}

// call calls a function; its arguments are numbers and what ref made of pointers.
func (l *library) call(name string, args ...uintptr) int32 {
	l.t.Helper()
	address := findSymbol(l.handle, name)
	if address == 0 {
		l.t.Fatalf("no symbol %s", name)
	}
	result, _, _ := purego.SyscallN(address, args...)
	return int32(result)
}

func (l *library) want(code int32, name string, args ...uintptr) {
	l.t.Helper()
	if got := l.call(name, args...); got != code {
		l.t.Fatalf("%s = %d, want %d", name, got, code)
	}
}

var (
	pinMutex sync.Mutex
	pinned   []any
)

// ref makes an argument of a pointer, which stays alive and in place.
func ref[T any](p *T) uintptr {
	pinMutex.Lock()
	defer pinMutex.Unlock()
	pinned = append(pinned, p)
	return uintptr(unsafe.Pointer(p))
}

// device takes the handle of a GPU.
func (l *library) device(index int) uintptr {
	l.t.Helper()
	handle := new(uintptr)
	l.want(success, "nvmlDeviceGetHandleByIndex_v2", uintptr(index), ref(handle))
	return *handle
}

// number calls a function of a device that fills one unsigned int.
func (l *library) number(name string, device uintptr) (uint32, int32) {
	l.t.Helper()
	out := new(uint32)
	code := l.call(name, device, ref(out))
	return *out, code
}

// text calls a function that fills a string.
func (l *library) text(name string, args ...uintptr) string {
	l.t.Helper()
	buffer := new([256]byte)
	l.want(success, name, append(args, ref(buffer), uintptr(len(buffer)))...)
	text, _, _ := bytes.Cut(buffer[:], []byte{0})
	return string(text)
}

// each runs a test on every driver generation.
func each(t *testing.T, test func(t *testing.T, generation string)) {
	for _, g := range fakenvml.Generations() {
		t.Run(g, func(t *testing.T) { test(t, g) })
	}
}

func newest() string {
	names := fakenvml.Generations()
	return names[len(names)-1]
}

func isWindows() bool { return runtime.GOOS == "windows" }
