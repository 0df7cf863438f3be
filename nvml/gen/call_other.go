//go:build !linux && !windows && !darwin

package gen

import "unsafe"

// callable says whether C functions can be called on this system.
const callable = false

func invoke(f *Frame, addr uintptr, n int) uintptr {
	f.keep = [maxArgs]unsafe.Pointer{}
	return uintptr(NVML_ERROR_FUNCTION_NOT_FOUND)
}
