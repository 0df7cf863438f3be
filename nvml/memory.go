package nvml

import "nvtop-lite/nvml/gen"

// Memory is the memory of a device, in bytes.
type Memory struct {
	Total uint64
	Free  uint64
	// Used is what programs have allocated. Without ReservedKnown it includes
	// what the driver keeps for itself.
	Used uint64
	// Reserved is what the driver and firmware keep for themselves; 0 and
	// unknown without ReservedKnown.
	Reserved      uint64
	ReservedKnown bool
}

// MemoryInfo returns the memory of the device. Devices that share the memory of
// the machine answer [ErrNotSupported], or a Total of 0.
//
// Calls nvmlDeviceGetMemoryInfo_v2, then nvmlDeviceGetMemoryInfo (also where
// the first answers "unknown error", as it does on some drivers under WSL).
func (d Device) MemoryInfo() (Memory, error) {
	return first(d, chainMemory, ErrUnknown,
		step[Memory]{gen.FnDeviceGetMemoryInfo_v2, func(f *frame, place int) (Memory, Return) {
			m, r := callInit(f, gen.FnDeviceGetMemoryInfo_v2, place, (*gen.Library).DeviceGetMemoryInfo_v2,
				gen.Memory_v2_t{Version: gen.VersionMemory_v2})
			return Memory{m.Total, m.Free, m.Used, m.Reserved, true}, r
		}},
		step[Memory]{gen.FnDeviceGetMemoryInfo, func(f *frame, place int) (Memory, Return) {
			m, r := call(f, gen.FnDeviceGetMemoryInfo, place, (*gen.Library).DeviceGetMemoryInfo)
			return Memory{Total: m.Total, Free: m.Free, Used: m.Used}, r
		}})
}

// BAR1Memory is the window through which the CPU sees device memory, in bytes.
// It is part of the address space, not memory beside that of [Memory].
type BAR1Memory struct {
	Total, Free, Used uint64
}

// BAR1MemoryInfo returns the use of the BAR1 window.
//
// Calls nvmlDeviceGetBAR1MemoryInfo.
func (d Device) BAR1MemoryInfo() (BAR1Memory, error) {
	m, err := get(d, gen.FnDeviceGetBAR1MemoryInfo, (*gen.Library).DeviceGetBAR1MemoryInfo)
	return BAR1Memory{m.Bar1Total, m.Bar1Free, m.Bar1Used}, err
}

// MemoryBusWidth returns the width of the memory bus in bits.
//
// Calls nvmlDeviceGetMemoryBusWidth (driver 510).
func (d Device) MemoryBusWidth() (uint32, error) {
	return get(d, gen.FnDeviceGetMemoryBusWidth, (*gen.Library).DeviceGetMemoryBusWidth)
}

// ConfComputeMemory is how memory is divided under confidential computing, in
// bytes.
type ConfComputeMemory struct {
	Protected, Unprotected uint64
}

// ConfComputeMemSizeInfo returns the sizes of protected and unprotected memory.
//
// Calls nvmlDeviceGetConfComputeMemSizeInfo (driver 535).
func (d Device) ConfComputeMemSizeInfo() (ConfComputeMemory, error) {
	m, err := get(d, gen.FnDeviceGetConfComputeMemSizeInfo, (*gen.Library).DeviceGetConfComputeMemSizeInfo)
	return ConfComputeMemory{m.ProtectedMemSizeKib << 10, m.UnprotectedMemSizeKib << 10}, err
}

// ConfComputeProtectedMemoryUsage returns the use of protected memory.
//
// Calls nvmlDeviceGetConfComputeProtectedMemoryUsage (driver 535).
func (d Device) ConfComputeProtectedMemoryUsage() (Memory, error) {
	m, err := get(d, gen.FnDeviceGetConfComputeProtectedMemoryUsage, (*gen.Library).DeviceGetConfComputeProtectedMemoryUsage)
	return Memory{Total: m.Total, Free: m.Free, Used: m.Used}, err
}
