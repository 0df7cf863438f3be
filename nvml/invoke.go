//go:build linux || windows || darwin

package nvml

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"nvtop-lite/nvml/gen"
)

// invoke calls one of the two functions that list excluded devices in drivers
// that still have them under their old name: count(n), or info(i, p). n and p
// must be on the heap.
func invoke(addr uintptr, n *uint32, p *gen.ExcludedDeviceInfo_t, i uint32) Return {
	var r uintptr
	if p != nil {
		r, _, _ = purego.SyscallN(addr, uintptr(i), uintptr(unsafe.Pointer(p)))
	} else {
		r, _, _ = purego.SyscallN(addr, uintptr(unsafe.Pointer(n)))
	}
	runtime.KeepAlive(n)
	runtime.KeepAlive(p)
	return Return(int32(r))
}
