package nvml

import (
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// TopologyLevel is what two GPUs have in common: the smaller, the nearer.
type TopologyLevel uint32

// The levels.
const (
	TopologyInternal   = TopologyLevel(gen.NVML_TOPOLOGY_INTERNAL)   // a board
	TopologySingle     = TopologyLevel(gen.NVML_TOPOLOGY_SINGLE)     // one PCIe switch
	TopologyMultiple   = TopologyLevel(gen.NVML_TOPOLOGY_MULTIPLE)   // several PCIe switches
	TopologyHostBridge = TopologyLevel(gen.NVML_TOPOLOGY_HOSTBRIDGE) // a host bridge
	TopologyNode       = TopologyLevel(gen.NVML_TOPOLOGY_NODE)       // a NUMA node
	TopologySystem     = TopologyLevel(gen.NVML_TOPOLOGY_SYSTEM)     // the machine
)

// TopologyCommonAncestor returns the nearest thing that d and other hang on.
//
// Calls nvmlDeviceGetTopologyCommonAncestor.
func (d Device) TopologyCommonAncestor(other Device) (TopologyLevel, error) {
	v, err := getAt(d, gen.FnDeviceGetTopologyCommonAncestor, (*gen.Library).DeviceGetTopologyCommonAncestor, other.Handle())
	return TopologyLevel(v), err
}

// TopologyNearestGpus lists the GPUs that have that level in common with d.
//
// Calls nvmlDeviceGetTopologyNearestGpus.
func (d Device) TopologyNearestGpus(level TopologyLevel) ([]Device, error) {
	const fn = gen.FnDeviceGetTopologyNearestGpus
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	// A count that is too small is not answered with the right one, but with
	// as many handles.
	list, r := callList(f, fn, 0, 1024, func(f *frame, n *uint32, list *gen.Device_t) gen.Return_t {
		return f.raw().DeviceGetTopologyNearestGpus(f.c, f.h, gen.GpuTopologyLevel_t(level), n, list)
	})
	if r != Success {
		return nil, f.fail(fn, r)
	}
	var out []Device
	for _, h := range append([]gen.Device_t(nil), list...) {
		if h != 0 {
			out = append(out, Device{s: d.s.lib.device(h, f.indexOf(h))})
		}
	}
	return out, nil
}

// P2PCapability is something that two GPUs may do with each other.
type P2PCapability uint32

// The capabilities.
const (
	P2PRead    = P2PCapability(gen.NVML_P2P_CAPS_INDEX_READ)
	P2PWrite   = P2PCapability(gen.NVML_P2P_CAPS_INDEX_WRITE)
	P2PNvLink  = P2PCapability(gen.NVML_P2P_CAPS_INDEX_NVLINK)
	P2PAtomics = P2PCapability(gen.NVML_P2P_CAPS_INDEX_ATOMICS)
	P2PPCI     = P2PCapability(gen.NVML_P2P_CAPS_INDEX_PCI)
)

// P2PStatus says whether they can, or why not.
type P2PStatus uint32

// The answers.
const (
	P2POK                   = P2PStatus(gen.NVML_P2P_STATUS_OK)
	P2PChipsetNotSupported  = P2PStatus(gen.NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED)
	P2PGPUNotSupported      = P2PStatus(gen.NVML_P2P_STATUS_GPU_NOT_SUPPORTED)
	P2PTopologyNotSupported = P2PStatus(gen.NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED)
	P2PDisabled             = P2PStatus(gen.NVML_P2P_STATUS_DISABLED_BY_REGKEY)
	P2PNotSupported         = P2PStatus(gen.NVML_P2P_STATUS_NOT_SUPPORTED)
	P2PUnknown              = P2PStatus(gen.NVML_P2P_STATUS_UNKNOWN)
)

// P2PStatus returns whether d can do that with other.
//
// Calls nvmlDeviceGetP2PStatus.
func (d Device) P2PStatus(other Device, c P2PCapability) (P2PStatus, error) {
	v, err := getAt2(d, gen.FnDeviceGetP2PStatus, (*gen.Library).DeviceGetP2PStatus, other.Handle(), gen.GpuP2PCapsIndex_t(c))
	return P2PStatus(v), err
}

// OnSameBoard reports whether d and other are on one board.
//
// Calls nvmlDeviceOnSameBoard.
func (d Device) OnSameBoard(other Device) (bool, error) {
	v, err := getAt(d, gen.FnDeviceOnSameBoard, (*gen.Library).DeviceOnSameBoard, other.Handle())
	return v != 0, err
}

// wordBits is the number of bits in a C unsigned long.
const wordBits = int(unsafe.Sizeof(gen.Ulong(0))) * 8

// maxCPUs bounds the CPUs and NUMA nodes that are asked for.
const maxCPUs = 1 << 16

// bitset calls a function that fills a set of CPUs or NUMA nodes.
func bitset(d Device, fn gen.Function, m func(f *frame, size uint32, set *gen.Ulong) gen.Return_t) ([]int, error) {
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	for n := 1024; ; n *= 4 {
		if !f.begin(fn, 0) {
			return nil, f.fail(fn, ErrFunctionNotFound)
		}
		words := listOf[gen.Ulong](f, n/wordBits)
		r := f.end(m(f, uint32(len(words)), &words[0]))
		if r == ErrInsufficientSize && n < maxCPUs {
			continue
		}
		if r != Success {
			return nil, f.fail(fn, r)
		}
		set := []int{}
		for i, w := range words {
			for b := range wordBits {
				if w>>b&1 != 0 {
					set = append(set, i*wordBits+b)
				}
			}
		}
		return set, nil
	}
}

// CpuAffinity lists the CPUs that are near the GPU. Linux only.
//
// Calls nvmlDeviceGetCpuAffinity.
func (d Device) CpuAffinity() ([]int, error) {
	return bitset(d, gen.FnDeviceGetCpuAffinity, func(f *frame, size uint32, set *gen.Ulong) gen.Return_t {
		return f.raw().DeviceGetCpuAffinity(f.c, f.h, size, set)
	})
}

// AffinityScope is how near is meant.
type AffinityScope uint32

// The scopes.
const (
	AffinityNode   = AffinityScope(gen.NVML_AFFINITY_SCOPE_NODE)   // the NUMA node
	AffinitySocket = AffinityScope(gen.NVML_AFFINITY_SCOPE_SOCKET) // the socket
)

// CpuAffinityWithinScope lists the CPUs that are near the GPU in that sense.
// Linux only.
//
// Calls nvmlDeviceGetCpuAffinityWithinScope (driver 450).
func (d Device) CpuAffinityWithinScope(s AffinityScope) ([]int, error) {
	return bitset(d, gen.FnDeviceGetCpuAffinityWithinScope, func(f *frame, size uint32, set *gen.Ulong) gen.Return_t {
		return f.raw().DeviceGetCpuAffinityWithinScope(f.c, f.h, size, set, gen.AffinityScope_t(s))
	})
}

// MemoryAffinity lists the NUMA nodes whose memory is near the GPU. Linux only.
//
// Calls nvmlDeviceGetMemoryAffinity (driver 450).
func (d Device) MemoryAffinity(s AffinityScope) ([]int, error) {
	return bitset(d, gen.FnDeviceGetMemoryAffinity, func(f *frame, size uint32, set *gen.Ulong) gen.Return_t {
		return f.raw().DeviceGetMemoryAffinity(f.c, f.h, size, set, gen.AffinityScope_t(s))
	})
}

// NumaNodeId returns the NUMA node that the memory of the GPU is, on machines
// where it is one.
//
// Calls nvmlDeviceGetNumaNodeId (driver 550).
func (d Device) NumaNodeId() (uint32, error) {
	return get(d, gen.FnDeviceGetNumaNodeId, (*gen.Library).DeviceGetNumaNodeId)
}

// TopologyGpuSet lists the GPUs near a CPU.
//
// Calls nvmlSystemGetTopologyGpuSet.
func (l *Library) TopologyGpuSet(cpu uint32) ([]Device, error) {
	const fn = gen.FnSystemGetTopologyGpuSet
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, 1024, func(f *frame, n *uint32, list *gen.Device_t) gen.Return_t {
		return f.raw().SystemGetTopologyGpuSet(f.c, cpu, n, list)
	})
	if r != Success {
		return nil, f.fail(fn, r)
	}
	var out []Device
	for _, h := range append([]gen.Device_t(nil), list...) {
		if h != 0 {
			out = append(out, Device{s: l.device(h, f.indexOf(h))})
		}
	}
	return out, nil
}
