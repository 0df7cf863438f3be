package gen

import (
	"syscall"
	"testing"
)

// openLibrary loads a library by its full path and returns a resolver for its
// functions.
func openLibrary(t testing.TB, path string) Resolver {
	t.Helper()
	lib, err := syscall.LoadLibrary(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return func(name string) uintptr {
		p, err := syscall.GetProcAddress(lib, name)
		if err != nil {
			return 0
		}
		return p
	}
}
