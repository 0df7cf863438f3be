package nvml

import (
	"time"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// VirtualizationMode is the part that a GPU plays in virtual machines.
type VirtualizationMode uint32

// The parts.
const (
	VirtualizationNone        = VirtualizationMode(gen.NVML_GPU_VIRTUALIZATION_MODE_NONE)
	VirtualizationPassthrough = VirtualizationMode(gen.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH)
	VirtualizationGuest       = VirtualizationMode(gen.NVML_GPU_VIRTUALIZATION_MODE_VGPU) // this is a vGPU
	VirtualizationHost        = VirtualizationMode(gen.NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU)
	VirtualizationHostVSGA    = VirtualizationMode(gen.NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA)
)

// VirtualizationMode returns the part that the GPU plays in virtual machines.
//
// Calls nvmlDeviceGetVirtualizationMode.
func (d Device) VirtualizationMode() (VirtualizationMode, error) {
	v, err := get(d, gen.FnDeviceGetVirtualizationMode, (*gen.Library).DeviceGetVirtualizationMode)
	return VirtualizationMode(v), err
}

// HostVgpuMode returns whether a host's vGPUs are virtual functions (SR-IOV).
// Ask only where [Device.VirtualizationMode] is [VirtualizationHost].
//
// Calls nvmlDeviceGetHostVgpuMode (driver 430).
func (d Device) HostVgpuMode() (sriov bool, err error) {
	v, err := get(d, gen.FnDeviceGetHostVgpuMode, (*gen.Library).DeviceGetHostVgpuMode)
	return v == gen.NVML_HOST_VGPU_MODE_SRIOV, err
}

// Vgpu is a virtual GPU that a virtual machine uses.
type Vgpu struct {
	gpu Device
	id  gen.VgpuInstance_t
}

// ActiveVgpus lists the virtual GPUs in use.
//
// Calls nvmlDeviceGetActiveVgpus.
func (d Device) ActiveVgpus() ([]Vgpu, error) {
	list, err := getList(d, gen.FnDeviceGetActiveVgpus, 64, func(f *frame, n *uint32, list *gen.VgpuInstance_t) gen.Return_t {
		return f.raw().DeviceGetActiveVgpus(f.c, f.h, n, list)
	})
	var out []Vgpu
	for _, id := range list {
		out = append(out, Vgpu{d, id})
	}
	return out, err
}

// ID returns NVML's number of the virtual GPU, for use with package gen.
func (v Vgpu) ID() gen.VgpuInstance_t { return v.id }

// vgpuGet calls a function of a virtual GPU that fills one value, and begins with
// p.
func vgpuGet[T any](v Vgpu, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.VgpuInstance_t, *T) gen.Return_t, p T) (T, error) {
	f, err := v.gpu.enter(fn)
	if err != nil {
		var zero T
		return zero, err
	}
	defer f.leave()
	f.h = gen.Device_t(v.id)
	r := f.ask(fn, 0, unsafe.Pointer(&p), unsafe.Sizeof(p), 0)
	return p, f.fail(fn, r)
}

// vgpuText calls a function of a virtual GPU that fills a string.
func vgpuText(v Vgpu, fn gen.Function, m func(*gen.Library, *gen.Frame, gen.VgpuInstance_t, *byte, uint32) gen.Return_t, size int) (string, error) {
	return textOf(v.gpu, fn, size, func(f *frame, _ gen.Function, b []byte) gen.Return_t {
		return m(f.raw(), f.c, v.id, &b[0], uint32(len(b)))
	})
}

// UUID returns the identity of the virtual GPU.
//
// Calls nvmlVgpuInstanceGetUUID.
func (v Vgpu) UUID() (string, error) {
	return vgpuText(v, gen.FnVgpuInstanceGetUUID, (*gen.Library).VgpuInstanceGetUUID, 80)
}

// VmID returns the id of the virtual machine, and whether it is a UUID.
//
// Calls nvmlVgpuInstanceGetVmID.
func (v Vgpu) VmID() (id string, uuid bool, err error) {
	id, err = vgpuText(v, gen.FnVgpuInstanceGetVmID, func(l *gen.Library, f *gen.Frame, h gen.VgpuInstance_t, p *byte, n uint32) gen.Return_t {
		kind := new(gen.VgpuVmIdType_t)
		r := l.VgpuInstanceGetVmID(f, h, p, n, kind)
		uuid = *kind == gen.NVML_VGPU_VM_ID_UUID
		return r
	}, 80)
	return id, uuid && err == nil, err
}

// VmDriverVersion returns the version of the driver in the virtual machine.
//
// Calls nvmlVgpuInstanceGetVmDriverVersion.
func (v Vgpu) VmDriverVersion() (string, error) {
	return vgpuText(v, gen.FnVgpuInstanceGetVmDriverVersion, (*gen.Library).VgpuInstanceGetVmDriverVersion, 80)
}

// FbUsage returns how much memory the virtual GPU uses, in bytes.
//
// Calls nvmlVgpuInstanceGetFbUsage.
func (v Vgpu) FbUsage() (uint64, error) {
	return vgpuGet(v, gen.FnVgpuInstanceGetFbUsage, (*gen.Library).VgpuInstanceGetFbUsage, 0)
}

// Type returns the number of the virtual GPU's type.
//
// Calls nvmlVgpuInstanceGetType.
func (v Vgpu) Type() (uint32, error) {
	t, err := vgpuGet(v, gen.FnVgpuInstanceGetType, (*gen.Library).VgpuInstanceGetType, 0)
	return uint32(t), err
}

// TypeName returns the name of the virtual GPU's type, such as GRID V100-8Q.
//
// Calls nvmlVgpuInstanceGetType and nvmlVgpuTypeGetName.
func (v Vgpu) TypeName() (string, error) {
	t, err := v.Type()
	if err != nil {
		return "", err
	}
	return textOf(v.gpu, gen.FnVgpuTypeGetName, 64, func(f *frame, _ gen.Function, b []byte) gen.Return_t {
		size := new(uint32)
		*size = uint32(len(b))
		return f.raw().VgpuTypeGetName(f.c, gen.VgpuTypeId_t(t), &b[0], size)
	})
}

// PlacementId returns the place of the virtual GPU in the memory of the GPU.
//
// Calls nvmlVgpuInstanceGetPlacementId (driver 550).
func (v Vgpu) PlacementId() (uint32, error) {
	p, err := vgpuGet(v, gen.FnVgpuInstanceGetPlacementId, (*gen.Library).VgpuInstanceGetPlacementId,
		gen.VgpuPlacementId_v1_t{Version: gen.VersionVgpuPlacementId_v1})
	return p.PlacementId, err
}

// VgpuLicense is the licence of a virtual GPU.
type VgpuLicense struct {
	Licensed bool
	// State is a number of NVML_GRID_LICENSE_STATE_…; known with StateKnown.
	State      uint32
	StateKnown bool
	// Expiry is when the licence ends; the zero time where that is not known
	// or it does not end.
	Expiry time.Time
}

// LicenseInfo returns the licence of the virtual GPU.
//
// Calls nvmlVgpuInstanceGetLicenseInfo_v2 (driver 510), then
// nvmlVgpuInstanceGetLicenseInfo, then nvmlVgpuInstanceGetLicenseStatus.
func (v Vgpu) LicenseInfo() (VgpuLicense, error) {
	of := func(fn gen.Function, m func(*gen.Library, *gen.Frame, gen.VgpuInstance_t, *gen.VgpuLicenseInfo_t) gen.Return_t) step[VgpuLicense] {
		return step[VgpuLicense]{fn, func(f *frame, place int) (VgpuLicense, Return) {
			if !f.begin(fn, place) {
				return VgpuLicense{}, ErrFunctionNotFound
			}
			p := scratch[gen.VgpuLicenseInfo_t](f)
			r := f.end(m(f.raw(), f.c, v.id, p))
			l := VgpuLicense{Licensed: p.IsLicensed != 0}
			if e := p.LicenseExpiry; e.Status == gen.NVML_GRID_LICENSE_EXPIRY_VALID {
				l.Expiry = time.Date(int(e.Year), time.Month(e.Month), int(e.Day), int(e.Hour), int(e.Min), int(e.Sec), 0, time.UTC)
			}
			if fn == gen.FnVgpuInstanceGetLicenseInfo_v2 { // the older structure ends before it
				l.State, l.StateKnown = p.CurrentState, true
			}
			return l, r
		}}
	}
	return first(v.gpu, chainVgpuLicense, 0,
		of(gen.FnVgpuInstanceGetLicenseInfo_v2, (*gen.Library).VgpuInstanceGetLicenseInfo_v2),
		of(gen.FnVgpuInstanceGetLicenseInfo, (*gen.Library).VgpuInstanceGetLicenseInfo),
		step[VgpuLicense]{gen.FnVgpuInstanceGetLicenseStatus, func(f *frame, place int) (VgpuLicense, Return) {
			if !f.begin(gen.FnVgpuInstanceGetLicenseStatus, place) {
				return VgpuLicense{}, ErrFunctionNotFound
			}
			p := scratch[uint32](f)
			r := f.end(f.raw().VgpuInstanceGetLicenseStatus(f.c, v.id, p))
			return VgpuLicense{Licensed: *p != 0}, r
		}})
}

// VgpuLoad is the load of a virtual GPU, in percent.
type VgpuLoad struct {
	Vgpu                         Vgpu
	Time                         uint64 // microseconds since 1970
	SM, Memory, Encoder, Decoder Value
}

// VgpuUtilization returns the load of the virtual GPUs since lastSeen, the newest
// Time of the answer before, or 0 for all. Where none did anything the list is
// empty.
//
// Calls nvmlDeviceGetVgpuUtilization.
func (d Device) VgpuUtilization(lastSeen uint64) ([]VgpuLoad, error) {
	const fn = gen.FnDeviceGetVgpuUtilization
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, 128, func(f *frame, n *uint32, list *gen.VgpuInstanceUtilizationSample_t) gen.Return_t {
		return f.raw().DeviceGetVgpuUtilization(f.c, f.h, lastSeen, (*gen.ValueType_t)(&f.w[1]), n, list)
	})
	if r = idle(r); r != Success {
		return nil, f.fail(fn, r)
	}
	t := ValueType(f.w[1])
	var out []VgpuLoad
	for _, s := range list {
		out = append(out, VgpuLoad{Vgpu{d, s.VgpuInstance}, s.TimeStamp, Value{t, s.SmUtil.Bits}, Value{t, s.MemUtil.Bits}, Value{t, s.EncUtil.Bits}, Value{t, s.DecUtil.Bits}})
	}
	return out, nil
}

// VgpuProcessLoad is the load of a process in a virtual machine, in percent.
type VgpuProcessLoad struct {
	Vgpu                         Vgpu
	PID                          uint32 // in the virtual machine
	Name                         string
	Time                         uint64 // microseconds since 1970
	SM, Memory, Encoder, Decoder uint32
}

// VgpuProcessUtilization returns the load of the processes in virtual machines,
// like [Device.VgpuUtilization].
//
// Calls nvmlDeviceGetVgpuProcessUtilization.
func (d Device) VgpuProcessUtilization(lastSeen uint64) ([]VgpuProcessLoad, error) {
	const fn = gen.FnDeviceGetVgpuProcessUtilization
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, 128, func(f *frame, n *uint32, list *gen.VgpuProcessUtilizationSample_t) gen.Return_t {
		return f.raw().DeviceGetVgpuProcessUtilization(f.c, f.h, lastSeen, n, list)
	})
	if r = idle(r); r != Success {
		return nil, f.fail(fn, r)
	}
	var out []VgpuProcessLoad
	for i := range list {
		s := &list[i]
		out = append(out, VgpuProcessLoad{Vgpu{d, s.VgpuInstance}, s.Pid, gostring(s.ProcessName[:]), s.TimeStamp, s.SmUtil, s.MemUtil, s.EncUtil, s.DecUtil})
	}
	return out, nil
}

// LicensableFeature is a feature of a GPU that needs a licence.
type LicensableFeature struct {
	Code    uint32 // a number of nvmlGridLicenseFeatureCode_t
	State   uint32 // 0: not licensed
	License string
	Product string // empty from drivers that do not tell
	// Enabled is known with EnabledKnown only.
	Enabled, EnabledKnown bool
	// Expiry is when the licence ends; the zero time where that is not known
	// or it does not end.
	Expiry time.Time
}

// GridLicensableFeatures lists the features that need a licence.
//
// Calls nvmlDeviceGetGridLicensableFeatures_v4, then _v3, then _v2, then
// nvmlDeviceGetGridLicensableFeatures.
func (d Device) GridLicensableFeatures() ([]LicensableFeature, error) {
	// The structure grew at the end of its entries, of which there are three.
	const head, newest = 8, 284
	of := func(fn gen.Function, entry int, m func(*gen.Library, *gen.Frame, gen.Device_t, *gen.GridLicensableFeatures_t) gen.Return_t) step[[]LicensableFeature] {
		return step[[]LicensableFeature]{fn, func(f *frame, place int) ([]LicensableFeature, Return) {
			if !f.begin(fn, place) {
				return nil, ErrFunctionNotFound
			}
			p := scratch[gen.GridLicensableFeatures_t](f)
			if r := f.end(m(f.raw(), f.c, f.h, p)); r != Success {
				return nil, r
			}
			list := []LicensableFeature{}
			if p.IsGridLicenseSupported == 0 {
				return list, Success
			}
			raw := *p
			for i := range min(int(raw.LicensableFeaturesCount), len(raw.GridLicensableFeatures)) {
				var e gen.GridLicensableFeature_t
				copyEntry(&e, &raw, head+i*entry, entry)
				v := LicensableFeature{Code: uint32(e.FeatureCode), State: e.FeatureState, License: gostring(e.LicenseInfo[:]), Product: gostring(e.ProductName[:]),
					Enabled: e.FeatureEnabled != 0, EnabledKnown: entry >= 268}
				if x := e.LicenseExpiry; entry == newest && x.Status == gen.NVML_GRID_LICENSE_EXPIRY_VALID {
					v.Expiry = time.Date(int(x.Year), time.Month(x.Month), int(x.Day), int(x.Hour), int(x.Min), int(x.Sec), 0, time.UTC)
				}
				list = append(list, v)
			}
			return list, Success
		}}
	}
	return first(d, chainLicensable, 0,
		of(gen.FnDeviceGetGridLicensableFeatures_v4, newest, (*gen.Library).DeviceGetGridLicensableFeatures_v4),
		of(gen.FnDeviceGetGridLicensableFeatures_v3, 268, (*gen.Library).DeviceGetGridLicensableFeatures_v3),
		of(gen.FnDeviceGetGridLicensableFeatures_v2, 264, (*gen.Library).DeviceGetGridLicensableFeatures_v2),
		of(gen.FnDeviceGetGridLicensableFeatures, 136, (*gen.Library).DeviceGetGridLicensableFeatures))
}
