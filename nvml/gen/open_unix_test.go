//go:build linux || darwin

package gen

import (
	"testing"

	"github.com/ebitengine/purego"
)

// openLibrary loads a library and returns a resolver for its functions.
func openLibrary(t testing.TB, path string) Resolver {
	t.Helper()
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) uintptr {
		p, err := purego.Dlsym(lib, name)
		if err != nil {
			return 0
		}
		return p
	}
}
