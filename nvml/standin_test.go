//go:build linux || windows || darwin

package nvml_test

import (
	"sync/atomic"

	"github.com/ebitengine/purego"
)

// standIn supplies C functions made of Go functions, without a library. Each
// map of functions is to be made once: the memory of such functions is never
// given back.
func standIn(functions map[string]any) func(name string) uintptr {
	addresses := map[string]uintptr{}
	for name, f := range functions {
		addresses[name] = purego.NewCallback(f)
	}
	return func(name string) uintptr { return addresses[name] }
}

// answer is what the functions of everywhere answer.
var answer atomic.Int32

var everyFunction = purego.NewCallback(func(_, _, _, _, _, _ uintptr) uintptr { return uintptr(uint32(answer.Load())) })

var success = purego.NewCallback(func(_ uintptr) uintptr { return 0 })

var handle = purego.NewCallback(func(_ uintptr, h *uintptr) uintptr { *h = 0x1234; return 0 })

var one = purego.NewCallback(func(n *uint32) uintptr { *n = 1; return 0 })

// everywhere is a library in which all functions but those that open it and give
// its one device answer the same.
func everywhere(name string) uintptr {
	switch name {
	case "nvmlInit_v2", "nvmlShutdown":
		return success
	case "nvmlDeviceGetCount_v2":
		return one
	case "nvmlDeviceGetHandleByIndex_v2":
		return handle
	case "nvmlErrorString":
		return 0 // it returns a string
	}
	return everyFunction
}
