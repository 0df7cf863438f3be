package nvml

import "nvtop-lite/nvml/gen"

// ComputeMode says who may compute on a GPU.
type ComputeMode uint32

// The modes.
const (
	ComputeDefault          = ComputeMode(gen.NVML_COMPUTEMODE_DEFAULT)
	ComputeExclusiveThread  = ComputeMode(gen.NVML_COMPUTEMODE_EXCLUSIVE_THREAD)
	ComputeProhibited       = ComputeMode(gen.NVML_COMPUTEMODE_PROHIBITED)
	ComputeExclusiveProcess = ComputeMode(gen.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
)

// ComputeMode returns who may compute on the GPU.
//
// Calls nvmlDeviceGetComputeMode.
func (d Device) ComputeMode() (ComputeMode, error) {
	v, err := get(d, gen.FnDeviceGetComputeMode, (*gen.Library).DeviceGetComputeMode)
	return ComputeMode(v), err
}

// PersistenceMode reports whether the driver keeps the GPU ready while nobody
// uses it. Linux only.
//
// Calls nvmlDeviceGetPersistenceMode.
func (d Device) PersistenceMode() (bool, error) {
	return getFlag(d, gen.FnDeviceGetPersistenceMode, (*gen.Library).DeviceGetPersistenceMode)
}

// DisplayActive reports whether a display shows what the GPU draws.
//
// Calls nvmlDeviceGetDisplayActive.
func (d Device) DisplayActive() (bool, error) {
	return getFlag(d, gen.FnDeviceGetDisplayActive, (*gen.Library).DeviceGetDisplayActive)
}

// DisplayMode reports whether a display is connected.
//
// Calls nvmlDeviceGetDisplayMode.
func (d Device) DisplayMode() (bool, error) {
	return getFlag(d, gen.FnDeviceGetDisplayMode, (*gen.Library).DeviceGetDisplayMode)
}

// DriverModel is a kind of Windows driver.
type DriverModel uint32

// The models.
const (
	WDDM = DriverModel(gen.NVML_DRIVER_WDDM) // Windows manages the memory: that of processes is not known to NVML
	WDM  = DriverModel(gen.NVML_DRIVER_WDM)  // also called TCC
	MCDM = DriverModel(gen.NVML_DRIVER_MCDM)
)

// DriverModel returns the driver model in use, and the one after the next start.
// Windows only.
//
// Calls nvmlDeviceGetDriverModel_v2 (driver 555), then nvmlDeviceGetDriverModel.
func (d Device) DriverModel() (current, pending DriverModel, err error) {
	v, err := first(d, chainDriverModel, 0,
		step[pair[DriverModel]]{gen.FnDeviceGetDriverModel_v2, func(f *frame, place int) (pair[DriverModel], Return) {
			a, b, r := callPair(f, gen.FnDeviceGetDriverModel_v2, place, (*gen.Library).DeviceGetDriverModel_v2)
			return pair[DriverModel]{DriverModel(a), DriverModel(b)}, r
		}},
		step[pair[DriverModel]]{gen.FnDeviceGetDriverModel, func(f *frame, place int) (pair[DriverModel], Return) {
			a, b, r := callPair(f, gen.FnDeviceGetDriverModel, place, (*gen.Library).DeviceGetDriverModel)
			return pair[DriverModel]{DriverModel(a), DriverModel(b)}, r
		}})
	return v.a, v.b, err
}

// AddressingMode is how CPU and GPU see each other's memory.
type AddressingMode uint32

// The modes.
const (
	AddressingNone = AddressingMode(gen.NVML_DEVICE_ADDRESSING_MODE_NONE)
	AddressingHMM  = AddressingMode(gen.NVML_DEVICE_ADDRESSING_MODE_HMM) // by software
	AddressingATS  = AddressingMode(gen.NVML_DEVICE_ADDRESSING_MODE_ATS) // by hardware
)

// AddressingMode returns how CPU and GPU see each other's memory.
//
// Calls nvmlDeviceGetAddressingMode (driver 580).
func (d Device) AddressingMode() (AddressingMode, error) {
	v, err := getInit(d, gen.FnDeviceGetAddressingMode, (*gen.Library).DeviceGetAddressingMode,
		gen.DeviceAddressingMode_v1_t{Version: gen.VersionDeviceAddressingMode_v1})
	return AddressingMode(v.Value), err
}

// C2cMode reports whether the chip-to-chip link of a superchip is on.
//
// Calls nvmlDeviceGetC2cModeInfoV (driver 545).
func (d Device) C2cMode() (bool, error) {
	v, err := get(d, gen.FnDeviceGetC2cModeInfoV, (*gen.Library).DeviceGetC2cModeInfoV)
	return v.IsC2cEnabled != 0, err
}
