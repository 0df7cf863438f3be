// Package nvml reads NVIDIA GPUs through NVML, the library that comes with the
// driver. It needs no cgo and no C compiler: the library is loaded while the
// program runs, each function is looked up when it is first used, and one that
// the driver lacks costs that reading alone.
//
//	lib, err := nvml.Open(nvml.Options{})
//	if err != nil {
//		log.Fatal(err) // lists every path tried, and what each answered
//	}
//	defer lib.Close()
//	for dev, err := range lib.Devices() {
//		if err != nil {
//			log.Print(err) // this GPU cannot be opened; the others can
//			continue
//		}
//		name, _ := dev.Name()
//		mW, err := dev.PowerUsage()
//		if errors.Is(err, nvml.ErrNotSupported) {
//			…
//		}
//	}
//
// # Names
//
// A method has the name of the C function without nvml, the type and Get:
// nvmlDeviceGetPowerUsage is [Device.PowerUsage], nvmlSystemGetDriverVersion is
// [Library.DriverVersion]. Version suffixes are left out: where NVML has several
// versions of a function, the method tries the newest first and falls back on
// the older ones, when the library does not have it or it answers "not
// supported", "version mismatch" or "deprecated". What works is remembered for
// each device. The comment of every method names the C functions that it
// calls. What has no method here is called through package gen, which has all
// 428 functions under their C names; see [Library.Raw].
//
// # Errors
//
// A failed call returns an [*Error] with the function, the GPU and the code, and
// [errors.Is] compares with the codes: [ErrNotSupported], [ErrNoPermission],
// [ErrGPUIsLost]. A value that comes with an error is 0 and means nothing. An
// answer that cannot be true is [ErrImplausible], not a value.
//
// # Lifetime
//
// [Open] may be called more than once; each Library is closed by itself, and NVML
// is shut down with the last. After Close all calls return [ErrUninitialized].
// Close never waits: nvmlShutdown is left out while a call is in flight, and made
// up for when that call comes back. The C library itself stays loaded until the
// program ends, since unloading NVML has crashed programs.
//
// A [Device] is a small value around a handle of the driver, good until the GPU
// is lost, reset or, on Windows, restarted. After such errors take a new one with
// [Library.DeviceByUUID]: a stale handle may mean another device, and on Windows
// it can crash the program.
//
// NVML does not survive fork: open it in the process that uses it.
//
// # Threads
//
// Everything is safe for concurrent use but [Session], which is for one goroutine
// at a time. Calls take no [context.Context], because C code cannot be cancelled:
// a call returns when the driver returns, and with a broken driver that may be
// never. It then occupies one OS thread, and no other goroutine. So a program that
// must not hang has one worker goroutine for each GPU, never starts a second one
// while the first has not come back, and waits for the worker with a timeout, not
// for the call; the example "workers" shows it. A [Tracer] tells which call is in
// progress, and since when. Only waiting for events takes a context, because it
// waits in slices: see [EventSet.Wait].
//
// A thread that hangs inside the kernel keeps its whole process from ending, and
// a fault inside the library ends the process without a Go panic. Where that
// matters, run NVML in a child process.
//
// # Memory
//
// Go memory is handed to C for the time of a call only, and it is heap memory.
// What is returned is a copy. Calls take their memory from a pool, so that
// reading a number does not allocate; with a [Session] it is certain. Methods
// that return strings or slices allocate those; those named Append fill a slice
// of the caller's.
//
// # Systems
//
// Linux and Windows, amd64 and arm64, have NVML. The package compiles elsewhere
// too, and Open then answers [ErrLibraryNotFound]. On Linux the program is linked
// dynamically, though it is built without cgo, and it needs the loader of glibc
// when it runs: images such as debian-slim, ubi-minimal and distroless/base have
// it, scratch, distroless/static and alpine do not. There the program does not
// start at all ("not found", which means the loader, not the program). NVML
// itself needs glibc, too.
//
// On Linux the library is looked for where the loader looks for libnvidia-ml.so.1
// (LD_LIBRARY_PATH included), then in the folders of distributions; under WSL
// first in the folders that Windows provides. On Windows it is nvml.dll in
// System32, then in the NVSMI folder under Program Files; never in the working
// folder, the program's own or PATH.
//
// # Coming from go-nvml
//
//	go-nvml                                    here
//	nvml.Init() … nvml.Shutdown()              lib, err := nvml.Open(nvml.Options{}) … lib.Close()
//	nvml.New(nvml.WithLibraryPath(p))          nvml.Open(nvml.Options{Path: p})
//	ret != nvml.SUCCESS                        err != nil
//	ret == nvml.ERROR_NOT_SUPPORTED            errors.Is(err, nvml.ErrNotSupported)
//	nvml.ErrorString(ret)                      err.Error()
//	nvml.DeviceGetCount() + …HandleByIndex(i)  for dev, err := range lib.Devices()
//	nvml.DeviceGetHandleByUUID(s)              lib.DeviceByUUID(s)
//	nvml.SystemGetDriverVersion()              lib.DriverVersion()
//	dev.GetPowerUsage()                        dev.PowerUsage()
//	dev.GetMemoryInfo_v2(), GetMemoryInfo()    dev.MemoryInfo()
//	dev.GetTemperature(sensor)                 dev.Temperature(nvml.TemperatureGPU)
//	dev.GetComputeRunningProcesses()           dev.ComputeRunningProcesses(), whatever the length of the entries
//	dev.GetMigDeviceHandleByIndex(i)           for mig, err := range dev.MIGDevices()
//	nvml.EventSetCreate() … set.Wait(ms)       set, err := lib.NewEventSet() … set.Wait(ctx)
//	nvml.GpmSampleAlloc() …                    g, err := dev.NewGPM(); g.Update(); g.Metrics(list)
//	dev.SetPowerManagementLimit(mW)            lib.Raw().DeviceSetPowerManagementLimit(frame, dev.Handle(), mW)
//
// This package is not made by NVIDIA. NVML is a product of NVIDIA and comes under
// its own terms.
package nvml
