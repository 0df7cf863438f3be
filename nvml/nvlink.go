package nvml

import "nvtop-lite/nvml/gen"

// Links are counted from 0. How many there are differs: ask for 0, 1, 2 … until
// the answer is ErrInvalidArgument or ErrNotSupported, or take the number from
// the field [FieldNvLinkCount].

// NvLinkState reports whether a link is active.
//
// Calls nvmlDeviceGetNvLinkState.
func (d Device) NvLinkState(link uint32) (bool, error) {
	v, err := getAt(d, gen.FnDeviceGetNvLinkState, (*gen.Library).DeviceGetNvLinkState, link)
	return d.flag(gen.FnDeviceGetNvLinkState, uint32(v), err)
}

// NvLinkVersion is a version of NVLink, numbered as nvmlNvlinkVersion_t.
type NvLinkVersion uint32

var nvLinkVersions = [...]string{"unknown", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"}

// String returns the version as it is written, such as 4.0.
func (v NvLinkVersion) String() string {
	if int(v) < len(nvLinkVersions) {
		return nvLinkVersions[v]
	}
	return nvLinkVersions[0]
}

// NvLinkVersion returns the version of a link.
//
// Calls nvmlDeviceGetNvLinkVersion.
func (d Device) NvLinkVersion(link uint32) (NvLinkVersion, error) {
	v, err := getAt(d, gen.FnDeviceGetNvLinkVersion, (*gen.Library).DeviceGetNvLinkVersion, link)
	return NvLinkVersion(v), err
}

// NvLinkCapability is something that a link can do.
type NvLinkCapability uint32

// The capabilities.
const (
	NvLinkP2P           = NvLinkCapability(gen.NVML_NVLINK_CAP_P2P_SUPPORTED)
	NvLinkSysmemAccess  = NvLinkCapability(gen.NVML_NVLINK_CAP_SYSMEM_ACCESS)
	NvLinkP2PAtomics    = NvLinkCapability(gen.NVML_NVLINK_CAP_P2P_ATOMICS)
	NvLinkSysmemAtomics = NvLinkCapability(gen.NVML_NVLINK_CAP_SYSMEM_ATOMICS)
	NvLinkSLIBridge     = NvLinkCapability(gen.NVML_NVLINK_CAP_SLI_BRIDGE)
	NvLinkValid         = NvLinkCapability(gen.NVML_NVLINK_CAP_VALID)
)

// NvLinkCapability reports whether a link can do that.
//
// Calls nvmlDeviceGetNvLinkCapability.
func (d Device) NvLinkCapability(link uint32, c NvLinkCapability) (bool, error) {
	v, err := getAt2(d, gen.FnDeviceGetNvLinkCapability, (*gen.Library).DeviceGetNvLinkCapability, link, gen.NvLinkCapability_t(c))
	return v != 0, err
}

// NvLinkRemotePciInfo returns where the other end of a link sits. SubsystemID is
// not filled.
//
// Calls nvmlDeviceGetNvLinkRemotePciInfo_v2 (driver 410), then
// nvmlDeviceGetNvLinkRemotePciInfo.
func (d Device) NvLinkRemotePciInfo(link uint32) (PciInfo, error) {
	of := func(fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, uint32, *gen.PciInfo_t) gen.Return_t) step[PciInfo] {
		return step[PciInfo]{fn, func(f *frame, place int) (PciInfo, Return) {
			if !f.begin(fn, place) {
				return PciInfo{}, ErrFunctionNotFound
			}
			p := scratch[gen.PciInfo_t](f)
			if r := f.end(m(f.raw(), f.c, f.h, link, p)); r != Success {
				return PciInfo{}, r
			}
			if fn == gen.FnDeviceGetNvLinkRemotePciInfo {
				p.BusId = [32]byte{} // reserved words, in its shorter structure
			}
			p.PciSubSystemId = 0
			return pciInfo(p), Success
		}}
	}
	return first(d, chainNvLinkPci, 0,
		of(gen.FnDeviceGetNvLinkRemotePciInfo_v2, (*gen.Library).DeviceGetNvLinkRemotePciInfo_v2),
		of(gen.FnDeviceGetNvLinkRemotePciInfo, (*gen.Library).DeviceGetNvLinkRemotePciInfo))
}

// NvLinkPeer is the kind of device at the other end of a link.
type NvLinkPeer uint32

// The kinds.
const (
	PeerGPU     = NvLinkPeer(gen.NVML_NVLINK_DEVICE_TYPE_GPU)
	PeerNPU     = NvLinkPeer(gen.NVML_NVLINK_DEVICE_TYPE_IBMNPU) // a CPU of IBM
	PeerSwitch  = NvLinkPeer(gen.NVML_NVLINK_DEVICE_TYPE_SWITCH)
	PeerUnknown = NvLinkPeer(gen.NVML_NVLINK_DEVICE_TYPE_UNKNOWN)
)

// NvLinkRemoteDeviceType returns the kind of device at the other end of a link.
//
// Calls nvmlDeviceGetNvLinkRemoteDeviceType (driver 470).
func (d Device) NvLinkRemoteDeviceType(link uint32) (NvLinkPeer, error) {
	v, err := getAt(d, gen.FnDeviceGetNvLinkRemoteDeviceType, (*gen.Library).DeviceGetNvLinkRemoteDeviceType, link)
	return NvLinkPeer(v), err
}

// NvLinkErrorCounter is a counter of errors of a link.
type NvLinkErrorCounter uint32

// The counters.
const (
	NvLinkReplay   = NvLinkErrorCounter(gen.NVML_NVLINK_ERROR_DL_REPLAY)
	NvLinkRecovery = NvLinkErrorCounter(gen.NVML_NVLINK_ERROR_DL_RECOVERY)
	NvLinkCRCFlit  = NvLinkErrorCounter(gen.NVML_NVLINK_ERROR_DL_CRC_FLIT)
	NvLinkCRCData  = NvLinkErrorCounter(gen.NVML_NVLINK_ERROR_DL_CRC_DATA)
	NvLinkECCData  = NvLinkErrorCounter(gen.NVML_NVLINK_ERROR_DL_ECC_DATA)
)

// NvLinkErrorCounter returns a number of errors of a link. NVLink 5 has fields of
// its own for that, 206 to 222.
//
// Calls nvmlDeviceGetNvLinkErrorCounter.
func (d Device) NvLinkErrorCounter(link uint32, c NvLinkErrorCounter) (uint64, error) {
	return getAt2(d, gen.FnDeviceGetNvLinkErrorCounter, (*gen.Library).DeviceGetNvLinkErrorCounter, link, gen.NvLinkErrorCounter_t(c))
}

// NvLinkTraffic returns how many bytes of data a link, or [AllLinks], has sent
// and received so far.
//
// Calls nvmlDeviceGetFieldValues with the fields 138 and 139 (driver 450), then
// with 202 and 204 (driver 560, NVLink 5, single links only).
func (d Device) NvLinkTraffic(link uint32) (tx, rx uint64, err error) {
	v, err := first(d, chainNvLinkTraffic, 0,
		step[pair[uint64]]{gen.FnDeviceGetFieldValues, func(f *frame, place int) (pair[uint64], Return) {
			return f.linkTraffic(link, FieldNvLinkDataTx, FieldNvLinkDataRx, 1024, place)
		}},
		step[pair[uint64]]{gen.FnDeviceGetFieldValues, func(f *frame, place int) (pair[uint64], Return) {
			return f.linkTraffic(link, gen.NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES, gen.NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES, 1, place)
		}})
	return v.a, v.b, err
}

// linkTraffic reads two fields that count in that unit of bytes.
func (f *frame) linkTraffic(link uint32, tx, rx FieldID, unit uint64, place int) (pair[uint64], Return) {
	two := &f.two
	two[0], two[1] = FieldValue{ID: tx, Scope: link}, FieldValue{ID: rx, Scope: link}
	if r := f.fields(two[:], place); r != Success {
		return pair[uint64]{}, r
	}
	for i := range two {
		if r := two[i].Return; r == ErrInvalidArgument && link == AllLinks {
			return pair[uint64]{}, ErrNotSupported // no such field, or no sum of it
		} else if r != Success {
			return pair[uint64]{}, r
		}
	}
	a, aok := two[0].Value.Uint64()
	b, bok := two[1].Value.Uint64()
	if !aok || !bok {
		return pair[uint64]{}, ErrImplausible
	}
	return pair[uint64]{a * unit, b * unit}, Success
}

// NvLinkFirmware is the version of a piece of NVLink firmware.
type NvLinkFirmware struct {
	Kind                   uint8 // a number of NVML_NVLINK_FIRMWARE_UCODE_TYPE_…
	Major, Minor, SubMinor uint32
}

// NvLinkInfo is about the links of a GPU together.
type NvLinkInfo struct {
	Encrypted bool
	// Firmware is known with version 2 of the driver's answer only.
	Firmware      []NvLinkFirmware
	FirmwareKnown bool
}

// NvLinkInfo returns encryption and firmware of the links.
//
// Calls nvmlDeviceGetNvLinkInfo (driver 580), with version 2, then 1.
func (d Device) NvLinkInfo() (NvLinkInfo, error) {
	const fn = gen.FnDeviceGetNvLinkInfo
	of := func(version uint32) step[NvLinkInfo] {
		return step[NvLinkInfo]{fn, func(f *frame, place int) (NvLinkInfo, Return) {
			if !f.begin(fn, place) {
				return NvLinkInfo{}, ErrFunctionNotFound
			}
			v := scratch[gen.NvLinkInfo_v2_t](f) // version 1 is its beginning
			v.Version = version
			if r := f.end(f.raw().DeviceGetNvLinkInfo(f.c, f.h, v)); r != Success {
				return NvLinkInfo{}, r
			}
			info := NvLinkInfo{Encrypted: v.IsNvleEnabled != 0, FirmwareKnown: version == gen.VersionNvLinkInfo_v2}
			if info.FirmwareKnown {
				list := v.FirmwareInfo.FirmwareVersion[:min(int(v.FirmwareInfo.NumValidEntries), len(v.FirmwareInfo.FirmwareVersion))]
				for i := range list {
					info.Firmware = append(info.Firmware, NvLinkFirmware{list[i].UcodeType, list[i].Major, list[i].Minor, list[i].SubMinor})
				}
			}
			return info, Success
		}}
	}
	return first(d, chainNvLinkInfo, 0, of(gen.VersionNvLinkInfo_v2), of(gen.VersionNvLinkInfo_v1))
}

// NvlinkBwMode returns the bandwidth mode of the links, and whether it is the
// best one.
//
// Calls nvmlDeviceGetNvlinkBwMode (driver 570).
func (d Device) NvlinkBwMode() (mode uint8, best bool, err error) {
	v, err := getInit(d, gen.FnDeviceGetNvlinkBwMode, (*gen.Library).DeviceGetNvlinkBwMode,
		gen.NvlinkGetBwMode_v1_t{Version: gen.VersionNvlinkGetBwMode_v1})
	return v.BwMode, v.BIsBest != 0, err
}
