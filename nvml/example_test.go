//go:build linux || windows || darwin

package nvml_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// twoGPUs is a library with two GPUs, made of Go functions, so that the examples
// print the same everywhere. Programs leave Options.Resolver empty.
var twoGPUs = sync.OnceValue(func() func(string) uintptr {
	text := func(s string, buffer *byte, n uint32) uintptr {
		b := unsafe.Slice(buffer, n)
		copy(b, s)
		return 0
	}
	return standIn(map[string]any{
		"nvmlInit_v2":           func() uintptr { return 0 },
		"nvmlShutdown":          func() uintptr { return 0 },
		"nvmlDeviceGetCount_v2": func(n *uint32) uintptr { *n = 3; return 0 },
		"nvmlDeviceGetHandleByIndex_v2": func(i uintptr, h *uintptr) uintptr {
			if i == 1 {
				return 4 // no permission
			}
			*h = 0x1000 + i
			return 0
		},
		"nvmlSystemGetDriverVersion": func(b *byte, n uint32) uintptr { return text("580.95.05", b, n) },
		"nvmlDeviceGetName": func(h uintptr, b *byte, n uint32) uintptr {
			return text([]string{"NVIDIA H100", "", "NVIDIA L40S"}[h-0x1000], b, n)
		},
		"nvmlDeviceGetPowerUsage": func(h uintptr, mw *uint32) uintptr { *mw = uint32(300000 + h); return 0 },
		"nvmlDeviceGetFanSpeed_v2": func(h, fan uintptr, percent *uint32) uintptr {
			if h == 0x1000 {
				return 3 // not supported
			}
			*percent = 40
			return 0
		},
		"nvmlDeviceGetMemoryInfo_v2": func(h uintptr, m *gen.Memory_v2_t) uintptr {
			if m.Version != gen.VersionMemory_v2 {
				return 25
			}
			m.Total, m.Used, m.Free = 80<<30, 20<<30, 60<<30
			return 0
		},
		"nvmlDeviceSetPowerManagementLimit": func(h, mw uintptr) uintptr { return 4 },
	})
})

// This lists the GPUs, and says of one that it may not be opened.
func Example() {
	lib, err := nvml.Open(nvml.Options{Resolver: twoGPUs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lib.Close()
	version, _ := lib.DriverVersion()
	fmt.Println("driver", version)
	for dev, err := range lib.Devices() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		name, _ := dev.Name()
		mW, _ := dev.PowerUsage()
		mem, _ := dev.MemoryInfo()
		fmt.Printf("%d %s: %d W, %d of %d GiB\n", dev.Index(), name, mW/1000, mem.Used>>30, mem.Total>>30)
		if fan, err := dev.FanSpeed(0); errors.Is(err, nvml.ErrNotSupported) {
			fmt.Println("  no fan")
		} else {
			fmt.Printf("  fan %d %%\n", fan)
		}
	}
	// Output:
	// driver 580.95.05
	// 0 NVIDIA H100: 304 W, 20 of 80 GiB
	//   no fan
	// nvmlDeviceGetHandleByIndex_v2 (GPU 1): no permission (NVML_ERROR_NO_PERMISSION)
	// 2 NVIDIA L40S: 304 W, 20 of 80 GiB
	//   fan 40 %
}

// A call cannot be cancelled, so each GPU has a worker of its own, and nobody
// waits for a worker longer than he wants to.
func Example_workers() {
	lib, err := nvml.Open(nvml.Options{Resolver: twoGPUs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lib.Close()

	type reading struct {
		mW  uint32
		err error
	}
	type worker struct {
		dev     nvml.Device
		ask     chan struct{} // has room for one question
		answers chan reading
	}
	var workers []worker
	for dev, err := range lib.Devices() {
		if err != nil {
			continue
		}
		w := worker{dev.In(lib.NewSession()), make(chan struct{}, 1), make(chan reading, 1)}
		workers = append(workers, w)
		go func() {
			for range w.ask {
				mW, err := w.dev.PowerUsage() // may hang: then this GPU alone is silent
				w.answers <- reading{mW, err}
			}
		}()
	}
	for _, w := range workers {
		w.ask <- struct{}{}
	}
	deadline := time.After(30 * time.Second)
	for _, w := range workers {
		select {
		case r := <-w.answers:
			fmt.Printf("GPU %d: %d W, %v\n", w.dev.Index(), r.mW/1000, r.err)
		case <-deadline:
			fmt.Printf("GPU %d: no answer\n", w.dev.Index())
			continue // do not ask it again before it has answered
		}
		close(w.ask)
	}
	// Output:
	// GPU 0: 304 W, <nil>
	// GPU 2: 304 W, <nil>
}

// What changes the state of a GPU has no method. It is called through the table of
// C functions.
func ExampleLibrary_Raw() {
	lib, err := nvml.Open(nvml.Options{Resolver: twoGPUs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lib.Close()
	dev, err := lib.Device(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := lib.Raw().DeviceSetPowerManagementLimit(gen.NewFrame(), dev.Handle(), 250000)
	fmt.Println(nvml.Return(r))
	// Output: no permission
}

// Nothing is lost when the library is not there: the error says what was tried.
func ExampleOpen() {
	_, err := nvml.Open(nvml.Options{Path: "/does/not/exist/libnvidia-ml.so.1"})
	var open *nvml.OpenError
	if errors.As(err, &open) {
		fmt.Println(len(open.Attempts), "path:", errors.Is(err, nvml.ErrLibraryNotFound))
	}
	// Output: 1 path: true
}

// Waiting for an Xid takes a context.
func ExampleEventSet_Wait() {
	lib, err := nvml.Open(nvml.Options{Resolver: twoGPUs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lib.Close()
	set, err := lib.NewEventSet()
	if err != nil {
		fmt.Println(err) // this stand-in has no events
		return
	}
	defer set.Close()
	for dev, err := range lib.Devices() {
		if err == nil {
			_, _ = set.Register(dev, nvml.DefaultEvents)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	event, err := set.Wait(ctx)
	if err == nil && event.Type == nvml.EventXid {
		fmt.Println("GPU", event.Device.Index(), "Xid", event.Data)
	}
	// Output: nvmlEventSetCreate: this driver's NVML does not have the function (NVML_ERROR_FUNCTION_NOT_FOUND)
}

type printer struct{}

func (printer) Begin(nvml.Call) {}

func (printer) End(c nvml.Call) {
	fmt.Printf("%v place %d: %v\n", c.Function, c.Place, c.Return.String())
}

// A Tracer sees every call into the library.
func ExampleTracer() {
	lib, err := nvml.Open(nvml.Options{Resolver: twoGPUs(), Trace: printer{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	dev, err := lib.Device(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = dev.MemoryInfo()
	// Output:
	// nvmlInit_v2 place 0: NVML_SUCCESS
	// nvmlDeviceGetHandleByIndex_v2 place 0: NVML_SUCCESS
	// nvmlDeviceGetMemoryInfo_v2 place 0: NVML_SUCCESS
}
