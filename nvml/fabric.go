package nvml

import (
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// FabricState says how far a GPU is with registering at the NVLink fabric.
type FabricState uint8

// The states.
const (
	FabricNotSupported = FabricState(gen.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED)
	FabricNotStarted   = FabricState(gen.NVML_GPU_FABRIC_STATE_NOT_STARTED)
	FabricInProgress   = FabricState(gen.NVML_GPU_FABRIC_STATE_IN_PROGRESS)
	FabricCompleted    = FabricState(gen.NVML_GPU_FABRIC_STATE_COMPLETED)
)

// FabricInfo is the place of a GPU in the NVLink fabric.
type FabricInfo struct {
	// Version is the form of the driver's answer, 1 to 4.
	Version     int
	ClusterUUID [16]byte
	State       FabricState
	// Status is the error of registering, with FabricCompleted only.
	Status Return
	Clique uint32 // the first, where there are several
	// Cliques lists the ids of all cliques, from version 4 on.
	Cliques []uint32
	// HealthMask is a set of bits whose meaning depends on the driver; known
	// from version 2 on.
	HealthMask uint32
	// HealthSummary: 0 not supported, 1 healthy, 2 unhealthy, 3 limited
	// capacity; known from version 3 on.
	HealthSummary uint8
}

// GpuFabricInfo returns the place of the GPU in the NVLink fabric (Hopper and
// later).
//
// Calls nvmlDeviceGetGpuFabricInfo_v4, then nvmlDeviceGetGpuFabricInfoV (driver
// 550) with version 3, then 2, then nvmlDeviceGetGpuFabricInfo (driver 525).
func (d Device) GpuFabricInfo() (FabricInfo, error) {
	const v4, versioned, older = gen.FnDeviceGetGpuFabricInfo_v4, gen.FnDeviceGetGpuFabricInfoV, gen.FnDeviceGetGpuFabricInfo
	return first(d, chainFabric, 0,
		step[FabricInfo]{v4, func(f *frame, place int) (FabricInfo, Return) {
			if !f.begin(v4, place) {
				return FabricInfo{}, ErrFunctionNotFound
			}
			v := scratch[gen.GpuFabricInfo_v4_t](f)
			if r := f.end(f.raw().DeviceGetGpuFabricInfo_v4(f.c, f.h, v)); r != Success {
				return FabricInfo{}, r
			}
			info := FabricInfo{Version: 4, ClusterUUID: v.ClusterUuid, State: FabricState(v.State), Status: Return(v.Status),
				HealthMask: v.HealthMask, HealthSummary: v.HealthSummary}
			for _, c := range v.Cliques[:min(int(v.NumCliques), len(v.Cliques))] {
				info.Cliques = append(info.Cliques, c.Id)
			}
			if len(info.Cliques) > 0 {
				info.Clique = info.Cliques[0]
			}
			return info, Success
		}},
		step[FabricInfo]{versioned, func(f *frame, place int) (FabricInfo, Return) {
			v, r := callInit(f, versioned, place, (*gen.Library).DeviceGetGpuFabricInfoV,
				gen.GpuFabricInfo_v3_t{Version: gen.VersionGpuFabricInfo_v3})
			return FabricInfo{Version: 3, ClusterUUID: v.ClusterUuid, State: FabricState(v.State), Status: Return(v.Status), Clique: v.CliqueId,
				HealthMask: v.HealthMask, HealthSummary: v.HealthSummary}, r
		}},
		step[FabricInfo]{versioned, func(f *frame, place int) (FabricInfo, Return) {
			if !f.begin(versioned, place) {
				return FabricInfo{}, ErrFunctionNotFound
			}
			v := scratch[gen.GpuFabricInfo_v2_t](f)
			v.Version = gen.VersionGpuFabricInfo_v2
			r := f.end(f.raw().DeviceGetGpuFabricInfoV(f.c, f.h, (*gen.GpuFabricInfo_v3_t)(unsafe.Pointer(v))))
			return FabricInfo{Version: 2, ClusterUUID: v.ClusterUuid, State: FabricState(v.State), Status: Return(v.Status), Clique: v.CliqueId,
				HealthMask: v.HealthMask}, r
		}},
		step[FabricInfo]{older, func(f *frame, place int) (FabricInfo, Return) {
			v, r := call(f, older, place, (*gen.Library).DeviceGetGpuFabricInfo)
			return FabricInfo{Version: 1, ClusterUUID: v.ClusterUuid, State: FabricState(v.State), Status: Return(v.Status), Clique: v.CliqueId}, r
		}})
}
