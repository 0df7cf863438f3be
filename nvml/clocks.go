package nvml

import (
	"math/bits"
	"strconv"
	"strings"

	"nvtop-lite/nvml/gen"
)

// ClockType names a clock of the GPU.
type ClockType uint32

// The clocks.
const (
	ClockGraphics = ClockType(gen.NVML_CLOCK_GRAPHICS)
	ClockSM       = ClockType(gen.NVML_CLOCK_SM)
	ClockMemory   = ClockType(gen.NVML_CLOCK_MEM)
	ClockVideo    = ClockType(gen.NVML_CLOCK_VIDEO)
)

// ClockInfo returns the present frequency in MHz.
//
// Calls nvmlDeviceGetClockInfo.
func (d Device) ClockInfo(t ClockType) (uint32, error) {
	return getAt(d, gen.FnDeviceGetClockInfo, (*gen.Library).DeviceGetClockInfo, gen.ClockType_t(t))
}

// MaxClockInfo returns the highest frequency in MHz. It may differ by a few MHz
// from that of performance state 0.
//
// Calls nvmlDeviceGetMaxClockInfo.
func (d Device) MaxClockInfo(t ClockType) (uint32, error) {
	return getAt(d, gen.FnDeviceGetMaxClockInfo, (*gen.Library).DeviceGetMaxClockInfo, gen.ClockType_t(t))
}

// ClockID says which value of a clock is meant.
type ClockID uint32

// The values of a clock.
const (
	ClockCurrent          = ClockID(gen.NVML_CLOCK_ID_CURRENT)
	ClockCustomerBoostMax = ClockID(gen.NVML_CLOCK_ID_CUSTOMER_BOOST_MAX)
)

// Clock returns a value of a clock in MHz.
//
// Calls nvmlDeviceGetClock.
func (d Device) Clock(t ClockType, id ClockID) (uint32, error) {
	return getAt2(d, gen.FnDeviceGetClock, (*gen.Library).DeviceGetClock, gen.ClockType_t(t), gen.ClockId_t(id))
}

// MaxCustomerBoostClock returns the highest boost frequency in MHz that a
// customer may set.
//
// Calls nvmlDeviceGetMaxCustomerBoostClock.
func (d Device) MaxCustomerBoostClock(t ClockType) (uint32, error) {
	return getAt(d, gen.FnDeviceGetMaxCustomerBoostClock, (*gen.Library).DeviceGetMaxCustomerBoostClock, gen.ClockType_t(t))
}

// SupportedMemoryClocks returns the memory frequencies that can be set, in MHz.
//
// Calls nvmlDeviceGetSupportedMemoryClocks.
func (d Device) SupportedMemoryClocks() ([]uint32, error) {
	return getList(d, gen.FnDeviceGetSupportedMemoryClocks, 128, func(f *frame, n *uint32, list *uint32) gen.Return_t {
		return f.raw().DeviceGetSupportedMemoryClocks(f.c, f.h, n, list)
	})
}

// SupportedGraphicsClocks returns the graphics frequencies that can be set at a
// memory frequency, in MHz.
//
// Calls nvmlDeviceGetSupportedGraphicsClocks.
func (d Device) SupportedGraphicsClocks(memoryMHz uint32) ([]uint32, error) {
	return getList(d, gen.FnDeviceGetSupportedGraphicsClocks, 512, func(f *frame, n *uint32, list *uint32) gen.Return_t {
		return f.raw().DeviceGetSupportedGraphicsClocks(f.c, f.h, memoryMHz, n, list)
	})
}

// PState is a performance state: 0, the fastest, to 15, or PStateUnknown.
type PState uint32

// PStateUnknown is what the driver says when it does not know.
const PStateUnknown = PState(gen.NVML_PSTATE_UNKNOWN)

// PerformanceState returns the performance state.
//
// Calls nvmlDeviceGetPerformanceState, then nvmlDeviceGetPowerState (its older
// name).
func (d Device) PerformanceState() (PState, error) {
	return first(d, chainPState, 0,
		step[PState]{gen.FnDeviceGetPerformanceState, func(f *frame, place int) (PState, Return) {
			v, r := call(f, gen.FnDeviceGetPerformanceState, place, (*gen.Library).DeviceGetPerformanceState)
			return PState(v), r
		}},
		step[PState]{gen.FnDeviceGetPowerState, func(f *frame, place int) (PState, Return) {
			v, r := call(f, gen.FnDeviceGetPowerState, place, (*gen.Library).DeviceGetPowerState)
			return PState(v), r
		}})
}

// ClocksEventReasons is a set of bits: what holds the clocks below their
// maximum. Several may be set.
type ClocksEventReasons uint64

// The reasons.
const (
	ReasonGPUIdle           = ClocksEventReasons(gen.ClocksEventReasonGpuIdle)                   // nothing to do; not a limit
	ReasonApplicationClocks = ClocksEventReasons(gen.ClocksEventReasonApplicationsClocksSetting) // application clocks are set
	ReasonSwPowerCap        = ClocksEventReasons(gen.ClocksEventReasonSwPowerCap)                // power limit
	ReasonHwSlowdown        = ClocksEventReasons(gen.ClocksThrottleReasonHwSlowdown)             // heat, power brake or a power trigger: clocks halved or less
	ReasonSyncBoost         = ClocksEventReasons(gen.ClocksEventReasonSyncBoost)                 // another GPU of the group
	ReasonSwThermal         = ClocksEventReasons(gen.ClocksEventReasonSwThermalSlowdown)         // too hot
	ReasonHwThermal         = ClocksEventReasons(gen.ClocksThrottleReasonHwThermalSlowdown)      // too hot, by the hardware
	ReasonHwPowerBrake      = ClocksEventReasons(gen.ClocksThrottleReasonHwPowerBrakeSlowdown)   // power brake of supply or chassis
	ReasonDisplayClock      = ClocksEventReasons(gen.ClocksEventReasonDisplayClockSetting)       // clocks of the display
	ReasonBoardLimit        = ClocksEventReasons(gen.ClocksEventReasonBoardLimit)                // limit of the board
	ReasonReliability       = ClocksEventReasons(gen.ClocksEventReasonReliability)               // reliability policy
)

var reasonWords = map[ClocksEventReasons]string{
	ReasonGPUIdle: "idle", ReasonApplicationClocks: "application clocks", ReasonSwPowerCap: "power cap",
	ReasonHwSlowdown: "hardware slowdown", ReasonSyncBoost: "sync boost", ReasonSwThermal: "thermal slowdown",
	ReasonHwThermal: "hardware thermal slowdown", ReasonHwPowerBrake: "power brake",
	ReasonDisplayClock: "display clocks", ReasonBoardLimit: "board limit", ReasonReliability: "reliability",
}

// String lists the reasons in words, unknown ones in hexadecimal.
func (r ClocksEventReasons) String() string {
	if r == 0 {
		return "none"
	}
	var words []string
	for v := uint64(r); v != 0; v &= v - 1 {
		bit := ClocksEventReasons(1) << bits.TrailingZeros64(v)
		if w, ok := reasonWords[bit]; ok {
			words = append(words, w)
		} else {
			words = append(words, "0x"+strconv.FormatUint(uint64(bit), 16))
		}
	}
	return strings.Join(words, ", ")
}

// CurrentClocksEventReasons returns what holds the clocks down now.
//
// Calls nvmlDeviceGetCurrentClocksEventReasons (driver 535), then
// nvmlDeviceGetCurrentClocksThrottleReasons.
func (d Device) CurrentClocksEventReasons() (ClocksEventReasons, error) {
	v, err := first(d, chainReasons, 0,
		step[uint64]{gen.FnDeviceGetCurrentClocksEventReasons, func(f *frame, place int) (uint64, Return) {
			return call(f, gen.FnDeviceGetCurrentClocksEventReasons, place, (*gen.Library).DeviceGetCurrentClocksEventReasons)
		}},
		step[uint64]{gen.FnDeviceGetCurrentClocksThrottleReasons, func(f *frame, place int) (uint64, Return) {
			return call(f, gen.FnDeviceGetCurrentClocksThrottleReasons, place, (*gen.Library).DeviceGetCurrentClocksThrottleReasons)
		}})
	return ClocksEventReasons(v), err
}

// SupportedClocksEventReasons returns the reasons that the device can report.
//
// Calls nvmlDeviceGetSupportedClocksEventReasons (driver 535), then
// nvmlDeviceGetSupportedClocksThrottleReasons.
func (d Device) SupportedClocksEventReasons() (ClocksEventReasons, error) {
	v, err := first(d, chainSupportedReasons, 0,
		step[uint64]{gen.FnDeviceGetSupportedClocksEventReasons, func(f *frame, place int) (uint64, Return) {
			return call(f, gen.FnDeviceGetSupportedClocksEventReasons, place, (*gen.Library).DeviceGetSupportedClocksEventReasons)
		}},
		step[uint64]{gen.FnDeviceGetSupportedClocksThrottleReasons, func(f *frame, place int) (uint64, Return) {
			return call(f, gen.FnDeviceGetSupportedClocksThrottleReasons, place, (*gen.Library).DeviceGetSupportedClocksThrottleReasons)
		}})
	return ClocksEventReasons(v), err
}

// PerfPolicy names a cause of reduced clocks, for [Device.ViolationStatus].
type PerfPolicy uint32

// The causes.
const (
	PolicyPower          = PerfPolicy(gen.NVML_PERF_POLICY_POWER)
	PolicyThermal        = PerfPolicy(gen.NVML_PERF_POLICY_THERMAL)
	PolicySyncBoost      = PerfPolicy(gen.NVML_PERF_POLICY_SYNC_BOOST)
	PolicyBoardLimit     = PerfPolicy(gen.NVML_PERF_POLICY_BOARD_LIMIT)
	PolicyLowUtilization = PerfPolicy(gen.NVML_PERF_POLICY_LOW_UTILIZATION)
	PolicyReliability    = PerfPolicy(gen.NVML_PERF_POLICY_RELIABILITY)
	PolicyTotalAppClocks = PerfPolicy(gen.NVML_PERF_POLICY_TOTAL_APP_CLOCKS)
	PolicyTotalBase      = PerfPolicy(gen.NVML_PERF_POLICY_TOTAL_BASE_CLOCKS)
)

// ViolationTime returns for how long, in nanoseconds, the clocks were reduced
// for that cause. It only grows.
//
// Calls nvmlDeviceGetFieldValues with a field of 74 to 81, then
// nvmlDeviceGetViolationStatus (which leaves NVML with CUDA 14).
func (d Device) ViolationTime(p PerfPolicy) (uint64, error) {
	id := FieldPerfPolicyPower + FieldID(p)
	switch p {
	case PolicyTotalAppClocks:
		id = gen.NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS
	case PolicyTotalBase:
		id = gen.NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS
	default:
		if p > PolicyReliability {
			return 0, d.fieldError(ErrInvalidArgument)
		}
	}
	return first(d, chainViolation, 0,
		step[uint64]{gen.FnDeviceGetFieldValues, func(f *frame, place int) (uint64, Return) {
			v, r := f.field(id, 0, place)
			if r != Success {
				return 0, r
			}
			n, ok := v.Uint64()
			if !ok {
				return 0, ErrImplausible
			}
			return n, Success
		}},
		step[uint64]{gen.FnDeviceGetViolationStatus, func(f *frame, place int) (uint64, Return) {
			if !f.begin(gen.FnDeviceGetViolationStatus, place) {
				return 0, ErrFunctionNotFound
			}
			v := scratch[gen.ViolationTime_t](f)
			r := f.end(f.raw().DeviceGetViolationStatus(f.c, f.h, gen.PerfPolicyType_t(p), v))
			return v.ViolationTime, r
		}})
}
