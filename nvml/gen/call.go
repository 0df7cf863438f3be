//go:build linux || windows || darwin

package gen

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// callable says whether C functions can be called on this system.
const callable = true

// invoke calls the C function at addr with the first n arguments of f. It
// neither allocates nor reflects: the variadic slice is the frame's own array.
func invoke(f *Frame, addr uintptr, n int) uintptr {
	r, _, _ := purego.SyscallN(addr, f.args[:n]...)
	// Clearing is also what keeps the arguments, and f, alive until here.
	f.keep = [maxArgs]unsafe.Pointer{}
	return r
}
