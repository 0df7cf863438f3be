// Package bench compares this project's ways with others: calls of C functions
// with cgo's, the frame writer with two terminal libraries. It also measures
// what a refresh of eight GPUs costs. README.md says how to run it.
//
// It is a module of its own, since it needs cgo and other people's libraries.
package bench

// #include "stub.h"
import "C"

import "unsafe"

// cgoPowerUsage calls nvmlDeviceGetPowerUsage with cgo, the result in a local
// variable, the way cgo bindings of NVML do.
func cgoPowerUsage(device uintptr) (uint32, int32) {
	var power C.uint
	r := C.nvmlDeviceGetPowerUsage(*(*C.nvmlDevice_t)(unsafe.Pointer(&device)), &power)
	return uint32(power), int32(r)
}

// memory has the layout of nvmlMemory_t.
type memory struct{ Total, Free, Used uint64 }

// cgoMemoryInfo calls nvmlDeviceGetMemoryInfo with cgo, in the same way.
func cgoMemoryInfo(device uintptr) (memory, int32) {
	var m memory
	r := C.nvmlDeviceGetMemoryInfo(*(*C.nvmlDevice_t)(unsafe.Pointer(&device)), (*C.nvmlMemory_t)(unsafe.Pointer(&m)))
	return m, int32(r)
}

// stub gives the addresses of the same C functions to package gen.
func stub(name string) uintptr {
	switch name {
	case "nvmlInit_v2":
		return uintptr(C.nvmlInit_v2)
	case "nvmlShutdown":
		return uintptr(C.nvmlShutdown)
	case "nvmlDeviceGetCount_v2":
		return uintptr(C.nvmlDeviceGetCount_v2)
	case "nvmlDeviceGetHandleByIndex_v2":
		return uintptr(C.nvmlDeviceGetHandleByIndex_v2)
	case "nvmlDeviceGetPowerUsage":
		return uintptr(C.nvmlDeviceGetPowerUsage)
	case "nvmlDeviceGetMemoryInfo":
		return uintptr(C.nvmlDeviceGetMemoryInfo)
	}
	return 0
}
