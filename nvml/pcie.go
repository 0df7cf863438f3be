package nvml

import "nvtop-lite/nvml/gen"

// CurrPcieLinkGeneration returns the generation of the PCIe link now. It falls
// while the GPU is idle.
//
// Calls nvmlDeviceGetCurrPcieLinkGeneration.
func (d Device) CurrPcieLinkGeneration() (uint32, error) {
	return get(d, gen.FnDeviceGetCurrPcieLinkGeneration, (*gen.Library).DeviceGetCurrPcieLinkGeneration)
}

// CurrPcieLinkWidth returns the number of lanes of the PCIe link now.
//
// Calls nvmlDeviceGetCurrPcieLinkWidth.
func (d Device) CurrPcieLinkWidth() (uint32, error) {
	return get(d, gen.FnDeviceGetCurrPcieLinkWidth, (*gen.Library).DeviceGetCurrPcieLinkWidth)
}

// MaxPcieLinkGeneration returns the highest generation that GPU and slot manage
// together.
//
// Calls nvmlDeviceGetMaxPcieLinkGeneration.
func (d Device) MaxPcieLinkGeneration() (uint32, error) {
	return get(d, gen.FnDeviceGetMaxPcieLinkGeneration, (*gen.Library).DeviceGetMaxPcieLinkGeneration)
}

// GpuMaxPcieLinkGeneration returns the highest generation that the GPU manages.
//
// Calls nvmlDeviceGetGpuMaxPcieLinkGeneration (driver 525).
func (d Device) GpuMaxPcieLinkGeneration() (uint32, error) {
	return get(d, gen.FnDeviceGetGpuMaxPcieLinkGeneration, (*gen.Library).DeviceGetGpuMaxPcieLinkGeneration)
}

// MaxPcieLinkWidth returns the largest number of lanes that GPU and slot manage
// together.
//
// Calls nvmlDeviceGetMaxPcieLinkWidth.
func (d Device) MaxPcieLinkWidth() (uint32, error) {
	return get(d, gen.FnDeviceGetMaxPcieLinkWidth, (*gen.Library).DeviceGetMaxPcieLinkWidth)
}

// PcieLinkMaxSpeed returns the highest speed of a lane in MB/s.
//
// Calls nvmlDeviceGetPcieLinkMaxSpeed (driver 510).
func (d Device) PcieLinkMaxSpeed() (uint32, error) {
	return get(d, gen.FnDeviceGetPcieLinkMaxSpeed, (*gen.Library).DeviceGetPcieLinkMaxSpeed)
}

// PcieSpeed returns the present speed of a lane in Mbit/s.
//
// Calls nvmlDeviceGetPcieSpeed (driver 515).
func (d Device) PcieSpeed() (uint32, error) {
	return get(d, gen.FnDeviceGetPcieSpeed, (*gen.Library).DeviceGetPcieSpeed)
}

// PcieDirection is a direction of the PCIe link.
type PcieDirection uint32

// The directions.
const (
	PcieTx = PcieDirection(gen.NVML_PCIE_UTIL_TX_BYTES) // GPU to host
	PcieRx = PcieDirection(gen.NVML_PCIE_UTIL_RX_BYTES) // host to GPU
)

// PcieThroughput returns the traffic in KB/s. The driver counts for 20 ms, and
// the call takes as long. In a guest of a vGPU there is no answer.
//
// Calls nvmlDeviceGetPcieThroughput.
func (d Device) PcieThroughput(dir PcieDirection) (uint32, error) {
	return getAt(d, gen.FnDeviceGetPcieThroughput, (*gen.Library).DeviceGetPcieThroughput, gen.PcieUtilCounter_t(dir))
}

// PcieReplayCounter returns how often the PCIe link sent something again.
//
// Calls nvmlDeviceGetPcieReplayCounter.
func (d Device) PcieReplayCounter() (uint32, error) {
	return get(d, gen.FnDeviceGetPcieReplayCounter, (*gen.Library).DeviceGetPcieReplayCounter)
}

// PciInfo is where a device sits on the PCI bus, and what it is there.
type PciInfo struct {
	Domain, Bus, Device uint32
	// BusID is the address as the driver writes it, with a domain of eight
	// digits (of four, from the oldest drivers). Build the path of a file
	// from the numbers, not from this.
	BusID        string
	DeviceID     uint32 // device in the upper half, vendor in the lower
	SubsystemID  uint32 // 0 from the oldest drivers
	SubsystemSet bool   // whether SubsystemID is an answer
}

func pciInfo(p *gen.PciInfo_t) PciInfo {
	info := PciInfo{
		Domain: p.Domain, Bus: p.Bus, Device: p.Device,
		BusID: gostring(p.BusId[:]), DeviceID: p.PciDeviceId,
		SubsystemID: p.PciSubSystemId, SubsystemSet: p.PciSubSystemId != 0,
	}
	if info.BusID == "" {
		info.BusID = gostring(p.BusIdLegacy[:])
	}
	return info
}

// PciInfo returns where the device sits.
//
// Calls nvmlDeviceGetPciInfo_v3 (driver 410), then nvmlDeviceGetPciInfo_v2, then
// nvmlDeviceGetPciInfo.
func (d Device) PciInfo() (PciInfo, error) {
	return first(d, chainPci, 0, pciSteps[:]...)
}

var pciSteps = [...]step[PciInfo]{
	{gen.FnDeviceGetPciInfo_v3, func(f *frame, place int) (PciInfo, Return) { return f.pci(gen.FnDeviceGetPciInfo_v3, place) }},
	{gen.FnDeviceGetPciInfo_v2, func(f *frame, place int) (PciInfo, Return) { return f.pci(gen.FnDeviceGetPciInfo_v2, place) }},
	{gen.FnDeviceGetPciInfo, func(f *frame, place int) (PciInfo, Return) { return f.pci(gen.FnDeviceGetPciInfo, place) }},
}

// pci calls one of the functions of PciInfo, which take the same.
func (f *frame) pci(fn gen.Function, place int) (PciInfo, Return) {
	p, r := call(f, fn, place, (*gen.Library).DeviceGetPciInfo_v3)
	if r != Success {
		return PciInfo{}, r
	}
	if fn != gen.FnDeviceGetPciInfo_v3 {
		// Their structure is shorter: behind the numbers stand four
		// reserved words, not an address.
		p.BusId = [32]byte{}
	}
	return pciInfo(&p), Success
}

// PciClass is the class of a PCI device.
type PciClass struct {
	Base, Sub uint32
}

// PciClass returns the PCI class of the device.
//
// Calls nvmlDeviceGetPciInfoExt (driver 550).
func (d Device) PciClass() (PciClass, error) {
	p, err := getInit(d, gen.FnDeviceGetPciInfoExt, (*gen.Library).DeviceGetPciInfoExt,
		gen.PciInfoExt_v1_t{Version: gen.VersionPciInfoExt_v1})
	return PciClass{p.BaseClass, p.SubClass}, err
}

// BusType is how a device is attached.
type BusType uint32

// The ways.
const (
	BusUnknown = BusType(gen.NVML_BUS_TYPE_UNKNOWN)
	BusPCI     = BusType(gen.NVML_BUS_TYPE_PCI)
	BusPCIe    = BusType(gen.NVML_BUS_TYPE_PCIE)
	BusFPCI    = BusType(gen.NVML_BUS_TYPE_FPCI)
	BusAGP     = BusType(gen.NVML_BUS_TYPE_AGP)
)

// BusType returns how the device is attached.
//
// Calls nvmlDeviceGetBusType (driver 510).
func (d Device) BusType() (BusType, error) {
	v, err := get(d, gen.FnDeviceGetBusType, (*gen.Library).DeviceGetBusType)
	return BusType(v), err
}
