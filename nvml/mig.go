package nvml

import (
	"errors"
	"iter"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// MigMode reports whether MIG is on, and whether it will be after a reset. A GPU
// without MIG answers [ErrNotSupported].
//
// Calls nvmlDeviceGetMigMode (driver 450).
func (d Device) MigMode() (current, pending bool, err error) {
	a, b, err := getPair(d, gen.FnDeviceGetMigMode, (*gen.Library).DeviceGetMigMode)
	current, err = d.flag(gen.FnDeviceGetMigMode, a, err)
	return current, b == 1, err
}

// MaxMigDeviceCount returns how many MIG devices the GPU may have: the indices
// of [Device.MIGDevice] are below it.
//
// Calls nvmlDeviceGetMaxMigDeviceCount (driver 450).
func (d Device) MaxMigDeviceCount() (int, error) {
	n, err := get(d, gen.FnDeviceGetMaxMigDeviceCount, (*gen.Library).DeviceGetMaxMigDeviceCount)
	return int(n), err
}

// MIGDevice returns the MIG device of the GPU with that index. Where there is
// none the error is [ErrNotFound]; the next index may have one.
//
// Calls nvmlDeviceGetMigDeviceHandleByIndex (driver 450).
func (d Device) MIGDevice(index int) (Device, error) {
	h, err := getAt(d, gen.FnDeviceGetMigDeviceHandleByIndex, (*gen.Library).DeviceGetMigDeviceHandleByIndex, uint32(index))
	if err != nil {
		return Device{}, err
	}
	if h == 0 {
		return Device{}, &Error{Function: gen.FnDeviceGetMigDeviceHandleByIndex.String(), Device: d.Index(), Return: ErrImplausible}
	}
	return Device{s: d.s.lib.migDevice(h, d.s, index)}, nil
}

// MIGDevices lists the MIG devices of a GPU. Holes in the numbering are left
// out; a MIG device that cannot be had for another reason is a [*DeviceError]
// with its index. A GPU without MIG, or with MIG off, has none.
//
// MIG devices come and go: list them again after an event of the type
// [EventMigConfigChange], after an error, and every few seconds.
//
// Calls the functions of [Device.MaxMigDeviceCount] and [Device.MIGDevice].
func (d Device) MIGDevices() iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		n, err := d.MaxMigDeviceCount()
		if errors.Is(err, ErrNotSupported) || errors.Is(err, ErrFunctionNotFound) {
			return
		}
		if err != nil {
			yield(Device{}, err)
			return
		}
		for i := range n {
			m, err := d.MIGDevice(i)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				err = &DeviceError{i, err}
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// MIGParent returns the GPU that a MIG device is part of.
//
// Calls nvmlDeviceGetDeviceHandleFromMigDeviceHandle where the GPU is not known.
func (d Device) MIGParent() (Device, error) {
	if d.s != nil && d.s.parent != nil {
		return Device{s: d.s.parent}, nil
	}
	h, err := get(d, gen.FnDeviceGetDeviceHandleFromMigDeviceHandle, (*gen.Library).DeviceGetDeviceHandleFromMigDeviceHandle)
	if err != nil {
		return Device{}, err
	}
	if h == 0 {
		return Device{}, &Error{Function: gen.FnDeviceGetDeviceHandleFromMigDeviceHandle.String(), Device: -1, Return: ErrImplausible}
	}
	f, err := d.enter(gen.FnDeviceGetIndex)
	if err != nil {
		return Device{}, err
	}
	defer f.leave()
	return Device{s: d.s.lib.device(h, f.indexOf(h))}, nil
}

// IsMigDeviceHandle asks the driver whether d is a MIG device.
//
// Calls nvmlDeviceIsMigDeviceHandle (driver 450).
func (d Device) IsMigDeviceHandle() (bool, error) {
	v, err := get(d, gen.FnDeviceIsMigDeviceHandle, (*gen.Library).DeviceIsMigDeviceHandle)
	return v != 0, err
}

// GpuInstanceId returns the id of a MIG device's GPU instance.
//
// Calls nvmlDeviceGetGpuInstanceId (driver 450).
func (d Device) GpuInstanceId() (uint32, error) {
	return get(d, gen.FnDeviceGetGpuInstanceId, (*gen.Library).DeviceGetGpuInstanceId)
}

// ComputeInstanceId returns the id of a MIG device's compute instance.
//
// Calls nvmlDeviceGetComputeInstanceId (driver 450).
func (d Device) ComputeInstanceId() (uint32, error) {
	return get(d, gen.FnDeviceGetComputeInstanceId, (*gen.Library).DeviceGetComputeInstanceId)
}

// Attributes is what a MIG device consists of.
type Attributes struct {
	Multiprocessors       uint32
	SharedCopyEngines     uint32
	SharedDecoders        uint32
	SharedEncoders        uint32
	SharedJPEG            uint32
	SharedOFA             uint32
	GPUInstanceSlices     uint32 // 0 from drivers before 450.80
	ComputeInstanceSlices uint32 // 0 from drivers before 450.80
	MemorySize            uint64 // bytes; 0 from drivers before 450.80
}

// Attributes returns what a MIG device consists of.
//
// Calls nvmlDeviceGetAttributes_v2, then nvmlDeviceGetAttributes.
func (d Device) Attributes() (Attributes, error) {
	of := func(fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, *gen.DeviceAttributes_t) gen.Return_t) step[Attributes] {
		return step[Attributes]{fn, func(f *frame, place int) (Attributes, Return) {
			a, r := call(f, fn, place, m)
			return Attributes{a.MultiprocessorCount, a.SharedCopyEngineCount, a.SharedDecoderCount, a.SharedEncoderCount,
				a.SharedJpegCount, a.SharedOfaCount, a.GpuInstanceSliceCount, a.ComputeInstanceSliceCount, a.MemorySizeMB << 20}, r
		}}
	}
	return first(d, chainAttributes, 0,
		of(gen.FnDeviceGetAttributes_v2, (*gen.Library).DeviceGetAttributes_v2),
		of(gen.FnDeviceGetAttributes, (*gen.Library).DeviceGetAttributes))
}

// GpuInstanceProfile is a size in which GPU instances can be made.
type GpuInstanceProfile struct {
	ID              uint32
	Name            string // empty from drivers that do not tell
	Slices          uint32
	Instances       uint32 // how many fit on the GPU
	Multiprocessors uint32
	CopyEngines     uint32
	Decoders        uint32
	Encoders        uint32
	JPEG            uint32
	OFA             uint32
	MemorySize      uint64 // bytes
	// P2P says that instances can reach other GPUs directly.
	P2P bool
}

// GpuInstanceProfileInfo returns a profile of GPU instances, by its number: 0 to
// gen.NVML_GPU_INSTANCE_PROFILE_COUNT-1. Numbers without a profile are answered
// with [ErrNotSupported].
//
// Calls nvmlDeviceGetGpuInstanceProfileInfoV with version 3, then 2, then
// nvmlDeviceGetGpuInstanceProfileInfo.
func (d Device) GpuInstanceProfileInfo(profile uint32) (GpuInstanceProfile, error) {
	const fn, older = gen.FnDeviceGetGpuInstanceProfileInfoV, gen.FnDeviceGetGpuInstanceProfileInfo
	return first(d, chainGpuProfile, 0,
		step[GpuInstanceProfile]{fn, func(f *frame, place int) (GpuInstanceProfile, Return) {
			if !f.begin(fn, place) {
				return GpuInstanceProfile{}, ErrFunctionNotFound
			}
			p := scratch[gen.GpuInstanceProfileInfo_v3_t](f)
			p.Version = gen.VersionGpuInstanceProfileInfo_v3
			r := f.end(f.raw().DeviceGetGpuInstanceProfileInfoV(f.c, f.h, profile, (*gen.GpuInstanceProfileInfo_v2_t)(unsafe.Pointer(p))))
			if r != Success {
				return GpuInstanceProfile{}, r
			}
			return GpuInstanceProfile{p.Id, gostring(p.Name[:]), p.SliceCount, p.InstanceCount, p.MultiprocessorCount, p.CopyEngineCount,
				p.DecoderCount, p.EncoderCount, p.JpegCount, p.OfaCount, p.MemorySizeMB << 20, p.Capabilities&gen.NVML_GPU_INSTANCE_PROFILE_CAPS_P2P != 0}, r
		}},
		step[GpuInstanceProfile]{fn, func(f *frame, place int) (GpuInstanceProfile, Return) {
			if !f.begin(fn, place) {
				return GpuInstanceProfile{}, ErrFunctionNotFound
			}
			p := scratch[gen.GpuInstanceProfileInfo_v2_t](f)
			p.Version = gen.VersionGpuInstanceProfileInfo_v2
			r := f.end(f.raw().DeviceGetGpuInstanceProfileInfoV(f.c, f.h, profile, p))
			if r != Success {
				return GpuInstanceProfile{}, r
			}
			return GpuInstanceProfile{p.Id, gostring(p.Name[:]), p.SliceCount, p.InstanceCount, p.MultiprocessorCount, p.CopyEngineCount,
				p.DecoderCount, p.EncoderCount, p.JpegCount, p.OfaCount, p.MemorySizeMB << 20, p.IsP2pSupported != 0}, r
		}},
		step[GpuInstanceProfile]{older, func(f *frame, place int) (GpuInstanceProfile, Return) {
			if !f.begin(older, place) {
				return GpuInstanceProfile{}, ErrFunctionNotFound
			}
			p := scratch[gen.GpuInstanceProfileInfo_t](f)
			r := f.end(f.raw().DeviceGetGpuInstanceProfileInfo(f.c, f.h, profile, p))
			return GpuInstanceProfile{p.Id, "", p.SliceCount, p.InstanceCount, p.MultiprocessorCount, p.CopyEngineCount,
				p.DecoderCount, p.EncoderCount, p.JpegCount, p.OfaCount, p.MemorySizeMB << 20, p.IsP2pSupported != 0}, r
		}})
}

// Placement is a range of slices.
type Placement struct {
	Start, Size uint32
}

// GpuInstancePossiblePlacements lists where GPU instances of a profile can be
// made, by the profile's ID.
//
// Calls nvmlDeviceGetGpuInstancePossiblePlacements_v2, then
// nvmlDeviceGetGpuInstancePossiblePlacements.
func (d Device) GpuInstancePossiblePlacements(profileID uint32) ([]Placement, error) {
	of := func(fn gen.Function, m func(*gen.Library, *gen.Frame, gen.Device_t, uint32, *gen.GpuInstancePlacement_t, *uint32) gen.Return_t) step[[]Placement] {
		return step[[]Placement]{fn, func(f *frame, place int) ([]Placement, Return) {
			list, r := callList(f, fn, place, 64, func(f *frame, n *uint32, list *gen.GpuInstancePlacement_t) gen.Return_t {
				return m(f.raw(), f.c, f.h, profileID, list, n)
			})
			var out []Placement
			for _, p := range list {
				out = append(out, Placement(p))
			}
			return out, r
		}}
	}
	return first(d, chainGpuPlacements, 0,
		of(gen.FnDeviceGetGpuInstancePossiblePlacements_v2, (*gen.Library).DeviceGetGpuInstancePossiblePlacements_v2),
		of(gen.FnDeviceGetGpuInstancePossiblePlacements, (*gen.Library).DeviceGetGpuInstancePossiblePlacements))
}

// GpuInstanceRemainingCapacity returns how many more GPU instances of a profile
// can be made, by the profile's ID.
//
// Calls nvmlDeviceGetGpuInstanceRemainingCapacity (driver 450).
func (d Device) GpuInstanceRemainingCapacity(profileID uint32) (uint32, error) {
	return getAt(d, gen.FnDeviceGetGpuInstanceRemainingCapacity, (*gen.Library).DeviceGetGpuInstanceRemainingCapacity, profileID)
}

// GpuInstance is a part of a GPU in MIG mode.
type GpuInstance struct {
	gpu    Device
	handle gen.GpuInstance_t
}

// GpuInstances lists the GPU instances of a profile, by the profile's ID. Root
// only.
//
// Calls nvmlDeviceGetGpuInstances (driver 450).
func (d Device) GpuInstances(profileID uint32) ([]GpuInstance, error) {
	list, err := getList(d, gen.FnDeviceGetGpuInstances, 64, func(f *frame, n *uint32, list *gen.GpuInstance_t) gen.Return_t {
		return f.raw().DeviceGetGpuInstances(f.c, f.h, profileID, list, n)
	})
	return d.instances(list), err
}

func (d Device) instances(list []gen.GpuInstance_t) []GpuInstance {
	var out []GpuInstance
	for _, h := range list {
		if h != 0 {
			out = append(out, GpuInstance{d, h})
		}
	}
	return out
}

// GpuInstanceById returns the GPU instance with that id. Root only.
//
// Calls nvmlDeviceGetGpuInstanceById (driver 450).
func (d Device) GpuInstanceById(id uint32) (GpuInstance, error) {
	h, err := getAt(d, gen.FnDeviceGetGpuInstanceById, (*gen.Library).DeviceGetGpuInstanceById, id)
	if err == nil && h == 0 {
		err = &Error{Function: gen.FnDeviceGetGpuInstanceById.String(), Device: d.Index(), Return: ErrImplausible}
	}
	if err != nil {
		return GpuInstance{}, err
	}
	return GpuInstance{d, h}, nil
}

// Handle returns the handle, for use with package gen.
func (g GpuInstance) Handle() gen.GpuInstance_t { return g.handle }

// InstanceInfo is a GPU instance or a compute instance.
type InstanceInfo struct {
	ID, ProfileID uint32
	Placement     Placement
}

// Info returns id, profile and place of the GPU instance.
//
// Calls nvmlGpuInstanceGetInfo (driver 450).
func (g GpuInstance) Info() (InstanceInfo, error) {
	const fn = gen.FnGpuInstanceGetInfo
	f, err := g.gpu.enter(fn)
	if err != nil {
		return InstanceInfo{}, err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return InstanceInfo{}, f.fail(fn, ErrFunctionNotFound)
	}
	v := scratch[gen.GpuInstanceInfo_t](f)
	if r := f.end(f.raw().GpuInstanceGetInfo(f.c, g.handle, v)); r != Success {
		return InstanceInfo{}, f.fail(fn, r)
	}
	return InstanceInfo{v.Id, v.ProfileId, Placement(v.Placement)}, nil
}

// ComputeInstanceProfile is a size in which compute instances can be made.
type ComputeInstanceProfile struct {
	ID                uint32
	Name              string // empty from drivers that do not tell
	Slices            uint32
	Instances         uint32 // how many fit in the GPU instance
	Multiprocessors   uint32
	SharedCopyEngines uint32
	SharedDecoders    uint32
	SharedEncoders    uint32
	SharedJPEG        uint32
	SharedOFA         uint32
}

// ComputeInstanceProfileInfo returns a profile of compute instances, by its
// number (0 to gen.NVML_COMPUTE_INSTANCE_PROFILE_COUNT-1) and its engine profile
// (0: shared engines).
//
// Calls nvmlGpuInstanceGetComputeInstanceProfileInfoV with version 3, then 2,
// then nvmlGpuInstanceGetComputeInstanceProfileInfo.
func (g GpuInstance) ComputeInstanceProfileInfo(profile, engine uint32) (ComputeInstanceProfile, error) {
	const fn, older = gen.FnGpuInstanceGetComputeInstanceProfileInfoV, gen.FnGpuInstanceGetComputeInstanceProfileInfo
	version := func(version uint32) step[ComputeInstanceProfile] {
		return step[ComputeInstanceProfile]{fn, func(f *frame, place int) (ComputeInstanceProfile, Return) {
			if !f.begin(fn, place) {
				return ComputeInstanceProfile{}, ErrFunctionNotFound
			}
			// Version 3 is version 2 with one word more behind it.
			p := scratch[gen.ComputeInstanceProfileInfo_v2_t](f)
			p.Version = version
			r := f.end(f.raw().GpuInstanceGetComputeInstanceProfileInfoV(f.c, g.handle, profile, engine, p))
			if r != Success {
				return ComputeInstanceProfile{}, r
			}
			return ComputeInstanceProfile{p.Id, gostring(p.Name[:]), p.SliceCount, p.InstanceCount, p.MultiprocessorCount, p.SharedCopyEngineCount,
				p.SharedDecoderCount, p.SharedEncoderCount, p.SharedJpegCount, p.SharedOfaCount}, r
		}}
	}
	return first(g.gpu, chainComputeProfile, 0,
		version(gen.VersionComputeInstanceProfileInfo_v3),
		version(gen.VersionComputeInstanceProfileInfo_v2),
		step[ComputeInstanceProfile]{older, func(f *frame, place int) (ComputeInstanceProfile, Return) {
			if !f.begin(older, place) {
				return ComputeInstanceProfile{}, ErrFunctionNotFound
			}
			p := scratch[gen.ComputeInstanceProfileInfo_t](f)
			r := f.end(f.raw().GpuInstanceGetComputeInstanceProfileInfo(f.c, g.handle, profile, engine, p))
			return ComputeInstanceProfile{p.Id, "", p.SliceCount, p.InstanceCount, p.MultiprocessorCount, p.SharedCopyEngineCount,
				p.SharedDecoderCount, p.SharedEncoderCount, p.SharedJpegCount, p.SharedOfaCount}, r
		}})
}

// ComputeInstance is a part of a GPU instance.
type ComputeInstance struct {
	gpu    Device
	handle gen.ComputeInstance_t
}

// ComputeInstances lists the compute instances of a profile, by the profile's
// ID. Root only.
//
// Calls nvmlGpuInstanceGetComputeInstances (driver 450).
func (g GpuInstance) ComputeInstances(profileID uint32) ([]ComputeInstance, error) {
	list, err := getList(g.gpu, gen.FnGpuInstanceGetComputeInstances, 64, func(f *frame, n *uint32, list *gen.ComputeInstance_t) gen.Return_t {
		return f.raw().GpuInstanceGetComputeInstances(f.c, g.handle, profileID, list, n)
	})
	var out []ComputeInstance
	for _, h := range list {
		if h != 0 {
			out = append(out, ComputeInstance{g.gpu, h})
		}
	}
	return out, err
}

// Handle returns the handle, for use with package gen.
func (c ComputeInstance) Handle() gen.ComputeInstance_t { return c.handle }

// Info returns id, profile and place of the compute instance. Drivers before
// 450.80 do not tell the place.
//
// Calls nvmlComputeInstanceGetInfo_v2, then nvmlComputeInstanceGetInfo.
func (c ComputeInstance) Info() (InstanceInfo, error) {
	of := func(fn gen.Function, m func(*gen.Library, *gen.Frame, gen.ComputeInstance_t, *gen.ComputeInstanceInfo_t) gen.Return_t) step[InstanceInfo] {
		return step[InstanceInfo]{fn, func(f *frame, place int) (InstanceInfo, Return) {
			if !f.begin(fn, place) {
				return InstanceInfo{}, ErrFunctionNotFound
			}
			v := scratch[gen.ComputeInstanceInfo_t](f)
			r := f.end(m(f.raw(), f.c, c.handle, v))
			return InstanceInfo{v.Id, v.ProfileId, Placement(v.Placement)}, r
		}}
	}
	return first(c.gpu, chainComputeInfo, 0,
		of(gen.FnComputeInstanceGetInfo_v2, (*gen.Library).ComputeInstanceGetInfo_v2),
		of(gen.FnComputeInstanceGetInfo, (*gen.Library).ComputeInstanceGetInfo))
}
