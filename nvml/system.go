package nvml

import "nvtop-lite/nvml/gen"

// DriverVersion returns the version of the driver, such as 580.95.05.
//
// Calls nvmlSystemGetDriverVersion.
func (l *Library) DriverVersion() (string, error) {
	return sysText(l, gen.FnSystemGetDriverVersion, (*gen.Library).SystemGetDriverVersion, 80)
}

// NVMLVersion returns the version of NVML, such as 13.580.95.05.
//
// Calls nvmlSystemGetNVMLVersion.
func (l *Library) NVMLVersion() (string, error) {
	return sysText(l, gen.FnSystemGetNVMLVersion, (*gen.Library).SystemGetNVMLVersion, 80)
}

// CudaDriverVersion returns the newest version of CUDA that the driver can do,
// such as 13 and 0.
//
// Calls nvmlSystemGetCudaDriverVersion_v2 (driver 410), then
// nvmlSystemGetCudaDriverVersion.
func (l *Library) CudaDriverVersion() (major, minor int, err error) {
	f, err := l.enter(nil, nil, gen.FnSystemGetCudaDriverVersion_v2)
	if err != nil {
		return 0, 0, err
	}
	defer f.leave()
	fn := gen.FnSystemGetCudaDriverVersion_v2
	v, r := sysCall(f, fn, 0, (*gen.Library).SystemGetCudaDriverVersion_v2, 0)
	if curable(r) && f.raw().Has(gen.FnSystemGetCudaDriverVersion) {
		fn = gen.FnSystemGetCudaDriverVersion
		v, r = sysCall(f, fn, 1, (*gen.Library).SystemGetCudaDriverVersion, 0)
	}
	if r != Success {
		return 0, 0, f.fail(fn, r)
	}
	return int(v) / 1000, int(v) % 1000 / 10, nil
}

// DriverBranch returns the branch of the driver, such as r580_00.
//
// Calls nvmlSystemGetDriverBranch (driver 560).
func (l *Library) DriverBranch() (string, error) {
	const fn = gen.FnSystemGetDriverBranch
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	b := scratch[gen.SystemDriverBranchInfo_v1_t](f)
	b.Version = gen.VersionSystemDriverBranchInfo_v1
	if r := f.end(f.raw().SystemGetDriverBranch(f.c, b, uint32(len(b.Branch)))); r != Success {
		return "", f.fail(fn, r)
	}
	return gostring(b.Branch[:]), nil
}

// ErrorString returns NVML's own text of a code. [Return.Error] has a text that
// needs no library.
//
// Calls nvmlErrorString.
func (l *Library) ErrorString(r Return) (string, error) {
	const fn = gen.FnErrorString
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	s := f.raw().ErrorString(f.c, gen.Return_t(r))
	f.end(gen.NVML_SUCCESS)
	return s, nil
}

// ExcludedDevice is a GPU that the driver was told to leave alone.
type ExcludedDevice struct {
	PciInfo PciInfo
	UUID    string
}

// ExcludedDevices lists the GPUs that the driver was told to leave alone.
//
// Calls nvmlGetExcludedDeviceCount and nvmlGetExcludedDeviceInfoByIndex (driver
// 465), then nvmlGetBlacklistDeviceCount and nvmlGetBlacklistDeviceInfoByIndex,
// their names in drivers 410 to 460.
func (l *Library) ExcludedDevices() ([]ExcludedDevice, error) {
	f, err := l.enter(nil, nil, gen.FnGetExcludedDeviceCount)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	n, r := sysCall(f, gen.FnGetExcludedDeviceCount, 0, (*gen.Library).GetExcludedDeviceCount, 0)
	info := func(i uint32, p *gen.ExcludedDeviceInfo_t) Return {
		if !f.begin(gen.FnGetExcludedDeviceInfoByIndex, 0) {
			return ErrFunctionNotFound
		}
		return f.end(f.raw().GetExcludedDeviceInfoByIndex(f.c, i, p))
	}
	if curable(r) {
		count, byIndex := l.eng.lookup("nvmlGetBlacklistDeviceCount"), l.eng.lookup("nvmlGetBlacklistDeviceInfoByIndex")
		if count != 0 && byIndex != 0 {
			f.words()
			if r = invoke(count, &f.w[0], nil, 0); r == Success {
				n = f.w[0]
			}
			info = func(i uint32, p *gen.ExcludedDeviceInfo_t) Return { return invoke(byIndex, nil, p, i) }
		}
	}
	if r != Success {
		return nil, f.fail(gen.FnGetExcludedDeviceCount, r)
	}
	if n > maxList {
		return nil, f.fail(gen.FnGetExcludedDeviceCount, ErrImplausible)
	}
	list := make([]ExcludedDevice, 0, n)
	for i := range n {
		p := scratch[gen.ExcludedDeviceInfo_t](f)
		if r := info(i, p); r != Success {
			return nil, f.fail(gen.FnGetExcludedDeviceInfoByIndex, r)
		}
		list = append(list, ExcludedDevice{pciInfo(&p.PciInfo), gostring(p.Uuid[:])})
	}
	return list, nil
}

// ConfComputeState is the state of confidential computing.
type ConfComputeState struct {
	Environment   uint32 // 0 none, 1 simulated, 2 production
	Feature       uint32 // 0 off, 1 on
	DevTools      uint32 // 0 off, 1 on
	MultiGPU      uint32 // 0 none, 1 protected PCIe, 2 NVLink encryption
	MultiGPUKnown bool
}

// ConfComputeState returns the state of confidential computing of the machine.
//
// Calls nvmlSystemGetConfComputeSettings (driver 550), then
// nvmlSystemGetConfComputeState (driver 535).
func (l *Library) ConfComputeState() (ConfComputeState, error) {
	f, err := l.enter(nil, nil, gen.FnSystemGetConfComputeSettings)
	if err != nil {
		return ConfComputeState{}, err
	}
	defer f.leave()
	s, r := sysCall(f, gen.FnSystemGetConfComputeSettings, 0, (*gen.Library).SystemGetConfComputeSettings,
		gen.SystemConfComputeSettings_v1_t{Version: gen.VersionSystemConfComputeSettings_v1})
	if r == Success {
		return ConfComputeState{s.Environment, s.CcFeature, s.DevToolsMode, s.MultiGpuMode, true}, nil
	}
	if !curable(r) {
		return ConfComputeState{}, f.fail(gen.FnSystemGetConfComputeSettings, r)
	}
	o, r2 := sysCall(f, gen.FnSystemGetConfComputeState, 1, (*gen.Library).SystemGetConfComputeState, gen.ConfComputeSystemState_t{})
	if r2 != Success {
		if r2 == ErrFunctionNotFound {
			return ConfComputeState{}, f.fail(gen.FnSystemGetConfComputeSettings, r)
		}
		return ConfComputeState{}, f.fail(gen.FnSystemGetConfComputeState, r2)
	}
	return ConfComputeState{Environment: o.Environment, Feature: o.CcFeature, DevTools: o.DevToolsMode}, nil
}

// HicVersion is a host interface card of an S-class system.
type HicVersion struct {
	ID       uint32
	Firmware string
}

// HicVersion lists the host interface cards.
//
// Calls nvmlSystemGetHicVersion.
func (l *Library) HicVersion() ([]HicVersion, error) {
	const fn = gen.FnSystemGetHicVersion
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, 16, func(f *frame, n *uint32, list *gen.HwbcEntry_t) gen.Return_t {
		return f.raw().SystemGetHicVersion(f.c, n, list)
	})
	if r != Success {
		return nil, f.fail(fn, r)
	}
	out := make([]HicVersion, len(list))
	for i := range list {
		out[i] = HicVersion{list[i].HwbcId, gostring(list[i].FirmwareVersion[:])}
	}
	return out, nil
}
