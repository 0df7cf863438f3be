package nvml

import (
	"strconv"

	"nvtop-lite/nvml/gen"
)

// Name returns the product name, of a MIG device with its profile.
//
// Calls nvmlDeviceGetName.
func (d Device) Name() (string, error) {
	return getText(d, gen.FnDeviceGetName, (*gen.Library).DeviceGetName, 96)
}

// UUID returns the identity that stays: "GPU-…", or "MIG-…".
//
// Calls nvmlDeviceGetUUID.
func (d Device) UUID() (string, error) {
	return getText(d, gen.FnDeviceGetUUID, (*gen.Library).DeviceGetUUID, 96)
}

// Serial returns the serial number of the board. Consumer boards have none.
//
// Calls nvmlDeviceGetSerial.
func (d Device) Serial() (string, error) {
	return getText(d, gen.FnDeviceGetSerial, (*gen.Library).DeviceGetSerial, 30)
}

// BoardPartNumber returns the part number of the board.
//
// Calls nvmlDeviceGetBoardPartNumber.
func (d Device) BoardPartNumber() (string, error) {
	return getText(d, gen.FnDeviceGetBoardPartNumber, (*gen.Library).DeviceGetBoardPartNumber, 80)
}

// BoardId returns a number that the GPUs of one board have in common.
//
// Calls nvmlDeviceGetBoardId.
func (d Device) BoardId() (uint32, error) {
	return get(d, gen.FnDeviceGetBoardId, (*gen.Library).DeviceGetBoardId)
}

// MultiGpuBoard reports whether the board has more than one GPU.
//
// Calls nvmlDeviceGetMultiGpuBoard.
func (d Device) MultiGpuBoard() (bool, error) {
	v, err := get(d, gen.FnDeviceGetMultiGpuBoard, (*gen.Library).DeviceGetMultiGpuBoard)
	return v != 0, err
}

// ModuleId returns the place of the GPU on the baseboard of an HGX machine.
//
// Calls nvmlDeviceGetModuleId.
func (d Device) ModuleId() (uint32, error) {
	return get(d, gen.FnDeviceGetModuleId, (*gen.Library).DeviceGetModuleId)
}

// MinorNumber returns N of the GPU's device node /dev/nvidiaN. Linux only.
//
// Calls nvmlDeviceGetMinorNumber.
func (d Device) MinorNumber() (uint32, error) {
	return get(d, gen.FnDeviceGetMinorNumber, (*gen.Library).DeviceGetMinorNumber)
}

// CurrentIndex asks the driver which index the GPU has now.
//
// Calls nvmlDeviceGetIndex.
func (d Device) CurrentIndex() (int, error) {
	v, err := get(d, gen.FnDeviceGetIndex, (*gen.Library).DeviceGetIndex)
	return int(v), err
}

// Architecture is a generation of GPUs.
type Architecture uint32

// The architectures.
const (
	Kepler              = Architecture(gen.NVML_DEVICE_ARCH_KEPLER)
	Maxwell             = Architecture(gen.NVML_DEVICE_ARCH_MAXWELL)
	Pascal              = Architecture(gen.NVML_DEVICE_ARCH_PASCAL)
	Volta               = Architecture(gen.NVML_DEVICE_ARCH_VOLTA)
	Turing              = Architecture(gen.NVML_DEVICE_ARCH_TURING)
	Ampere              = Architecture(gen.NVML_DEVICE_ARCH_AMPERE)
	Ada                 = Architecture(gen.NVML_DEVICE_ARCH_ADA)
	Hopper              = Architecture(gen.NVML_DEVICE_ARCH_HOPPER)
	Blackwell           = Architecture(gen.NVML_DEVICE_ARCH_BLACKWELL)
	DLA                 = Architecture(gen.NVML_DEVICE_ARCH_DLA)
	DLA2                = Architecture(gen.NVML_DEVICE_ARCH_DLA2)
	Rubin               = Architecture(gen.NVML_DEVICE_ARCH_RUBIN)
	NPU3                = Architecture(gen.NVML_DEVICE_ARCH_NPU3)
	ArchitectureUnknown = Architecture(gen.NVML_DEVICE_ARCH_UNKNOWN)
)

var architectureWords = map[Architecture]string{
	Kepler: "Kepler", Maxwell: "Maxwell", Pascal: "Pascal", Volta: "Volta", Turing: "Turing", Ampere: "Ampere", Ada: "Ada",
	Hopper: "Hopper", Blackwell: "Blackwell", DLA: "DLA", DLA2: "DLA2", Rubin: "Rubin", NPU3: "NPU3", ArchitectureUnknown: "unknown",
}

// String returns the name, or "unknown (N)" for a number that will come.
func (a Architecture) String() string {
	if w, ok := architectureWords[a]; ok {
		return w
	}
	return "unknown (" + strconv.FormatUint(uint64(a), 10) + ")"
}

// Architecture returns the generation of the GPU.
//
// Calls nvmlDeviceGetArchitecture (driver 450).
func (d Device) Architecture() (Architecture, error) {
	v, err := get(d, gen.FnDeviceGetArchitecture, (*gen.Library).DeviceGetArchitecture)
	return Architecture(v), err
}

// Brand is a product line, numbered as nvmlBrandType_t.
type Brand uint32

var brandWords = [...]string{"unknown", "Quadro", "Tesla", "NVS", "GRID", "GeForce", "TITAN", "NVIDIA vApps", "NVIDIA vPC", "NVIDIA vCS",
	"NVIDIA RTX vWS", "NVIDIA cloud gaming", "Quadro RTX", "NVIDIA RTX", "NVIDIA", "GeForce RTX", "TITAN RTX", "NVIDIA DLA", "NVIDIA vGameDev", "NVIDIA NPU"}

// String returns the name, or "unknown (N)".
func (b Brand) String() string {
	if int(b) < len(brandWords) {
		return brandWords[b]
	}
	return "unknown (" + strconv.FormatUint(uint64(b), 10) + ")"
}

// Brand returns the product line.
//
// Calls nvmlDeviceGetBrand.
func (d Device) Brand() (Brand, error) {
	v, err := get(d, gen.FnDeviceGetBrand, (*gen.Library).DeviceGetBrand)
	return Brand(v), err
}

// CudaComputeCapability returns the compute capability, such as 9 and 0.
//
// Calls nvmlDeviceGetCudaComputeCapability (driver 378).
func (d Device) CudaComputeCapability() (major, minor int, err error) {
	a, b, err := getPair(d, gen.FnDeviceGetCudaComputeCapability, (*gen.Library).DeviceGetCudaComputeCapability)
	return int(a), int(b), err
}

// NumGpuCores returns the number of CUDA cores.
//
// Calls nvmlDeviceGetNumGpuCores (driver 510).
func (d Device) NumGpuCores() (uint32, error) {
	return get(d, gen.FnDeviceGetNumGpuCores, (*gen.Library).DeviceGetNumGpuCores)
}

// VbiosVersion returns the version of the video BIOS.
//
// Calls nvmlDeviceGetVbiosVersion.
func (d Device) VbiosVersion() (string, error) {
	return getText(d, gen.FnDeviceGetVbiosVersion, (*gen.Library).DeviceGetVbiosVersion, 32)
}

// InforomImageVersion returns the version of the infoROM as a whole.
//
// Calls nvmlDeviceGetInforomImageVersion.
func (d Device) InforomImageVersion() (string, error) {
	return getText(d, gen.FnDeviceGetInforomImageVersion, (*gen.Library).DeviceGetInforomImageVersion, 16)
}

// GspFirmwareVersion returns the version of the GSP firmware.
//
// Calls nvmlDeviceGetGspFirmwareVersion (driver 515).
func (d Device) GspFirmwareVersion() (string, error) {
	return textOf(d, gen.FnDeviceGetGspFirmwareVersion, 1024, func(f *frame, _ gen.Function, b []byte) gen.Return_t {
		return f.raw().DeviceGetGspFirmwareVersion(f.c, f.h, &b[0])
	})
}

// GspFirmwareMode reports whether the GSP firmware is at work, and whether it is
// by default.
//
// Calls nvmlDeviceGetGspFirmwareMode (driver 515).
func (d Device) GspFirmwareMode() (enabled, byDefault bool, err error) {
	a, b, err := getPair(d, gen.FnDeviceGetGspFirmwareMode, (*gen.Library).DeviceGetGspFirmwareMode)
	return a != 0, b != 0, err
}

// IrqNum returns the number of the GPU's interrupt.
//
// Calls nvmlDeviceGetIrqNum (driver 510).
func (d Device) IrqNum() (uint32, error) {
	return get(d, gen.FnDeviceGetIrqNum, (*gen.Library).DeviceGetIrqNum)
}

// Hostname returns the name that was set for the GPU.
//
// Calls nvmlDeviceGetHostname_v1 (driver 580).
func (d Device) Hostname() (string, error) {
	h, err := get(d, gen.FnDeviceGetHostname_v1, (*gen.Library).DeviceGetHostname_v1)
	return gostring(h.Value[:]), err
}

// Pdi returns the number that identifies the die.
//
// Calls nvmlDeviceGetPdi (driver 580).
func (d Device) Pdi() (uint64, error) {
	p, err := getInit(d, gen.FnDeviceGetPdi, (*gen.Library).DeviceGetPdi, gen.Pdi_v1_t{Version: gen.VersionPdi_v1})
	return p.Value, err
}

// PlatformInfo is where a GPU sits in a rack.
type PlatformInfo struct {
	// Version is the form of the driver's answer: 2, or 1 from older drivers.
	Version  int
	IBGuid   [16]byte
	Chassis  [16]byte // serial number of the chassis; in version 1 the id of the rack
	Slot     uint8    // slot in the rack
	Tray     uint8    // compute tray, counted from 0
	Host     uint8    // host within the tray, or node
	PeerType uint8    // 1: connected through a switch
	Module   uint8    // module within the node
}

// PlatformInfo returns where the GPU sits.
//
// Calls nvmlDeviceGetPlatformInfo (driver 565), with version 2, then 1.
func (d Device) PlatformInfo() (PlatformInfo, error) {
	const fn = gen.FnDeviceGetPlatformInfo
	return first(d, chainPlatform, 0,
		step[PlatformInfo]{fn, func(f *frame, place int) (PlatformInfo, Return) {
			p, r := callInit(f, fn, place, (*gen.Library).DeviceGetPlatformInfo, gen.PlatformInfo_v2_t{Version: gen.VersionPlatformInfo_v2})
			return PlatformInfo{2, p.IbGuid, p.ChassisSerialNumber, p.SlotNumber, p.TrayIndex, p.HostId, p.PeerType, p.ModuleId}, r
		}},
		step[PlatformInfo]{fn, func(f *frame, place int) (PlatformInfo, Return) {
			// The two versions have the same size and other meanings.
			p, r := callInit(f, fn, place, (*gen.Library).DeviceGetPlatformInfo, gen.PlatformInfo_v2_t{Version: gen.VersionPlatformInfo_v1})
			return PlatformInfo{1, p.IbGuid, p.ChassisSerialNumber, p.SlotNumber, p.TrayIndex, p.HostId, p.PeerType, p.ModuleId}, r
		}})
}

// Capabilities returns a set of bits: what the device can do.
//
// Calls nvmlDeviceGetCapabilities (driver 570).
func (d Device) Capabilities() (uint32, error) {
	c, err := getInit(d, gen.FnDeviceGetCapabilities, (*gen.Library).DeviceGetCapabilities,
		gen.DeviceCapabilities_v1_t{Version: gen.VersionDeviceCapabilities_v1})
	return c.CapMask, err
}
