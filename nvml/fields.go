package nvml

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/nvml/gen"
)

// FieldID numbers a field of [Device.FieldValues]. Every NVML_FI_DEV_ constant
// of nvml/gen can be converted to one; most of them have the same number in all
// drivers that know them. Those that have not are the constants from
// [FieldClocksEventReasonSwThermal] on, whose number is chosen to fit the
// driver.
type FieldID uint32

// Fields that a monitor reads.
const (
	FieldMemoryTemp                FieldID = gen.NVML_FI_DEV_MEMORY_TEMP                       // °C
	FieldTotalEnergy               FieldID = gen.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION          // mJ since the driver was loaded
	FieldNvLinkSpeedCommon         FieldID = gen.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON          // MB/s
	FieldNvLinkCount               FieldID = gen.NVML_FI_DEV_NVLINK_LINK_COUNT                 // links
	FieldRetiredPendingSBE         FieldID = gen.NVML_FI_DEV_RETIRED_PENDING_SBE               // 1: pending
	FieldRetiredPendingDBE         FieldID = gen.NVML_FI_DEV_RETIRED_PENDING_DBE               // 1: pending
	FieldPcieReplayCounter         FieldID = gen.NVML_FI_DEV_PCIE_REPLAY_COUNTER               // count
	FieldPcieReplayRollover        FieldID = gen.NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER      // count
	FieldNvLinkDataTx              FieldID = gen.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX         // KiB; scope: link, or AllLinks
	FieldNvLinkDataRx              FieldID = gen.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX         // KiB
	FieldNvLinkRawTx               FieldID = gen.NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX          // KiB
	FieldNvLinkRawRx               FieldID = gen.NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX          // KiB
	FieldRemappedCorrected         FieldID = gen.NVML_FI_DEV_REMAPPED_COR                      // rows
	FieldRemappedUncorrected       FieldID = gen.NVML_FI_DEV_REMAPPED_UNC                      // rows
	FieldRemappedPending           FieldID = gen.NVML_FI_DEV_REMAPPED_PENDING                  // 1: pending
	FieldRemappedFailure           FieldID = gen.NVML_FI_DEV_REMAPPED_FAILURE                  // 1: failed
	FieldNvLinkSpeed               FieldID = gen.NVML_FI_DEV_NVLINK_GET_SPEED                  // MB/s; scope: link
	FieldNvLinkState               FieldID = gen.NVML_FI_DEV_NVLINK_GET_STATE                  // scope: link
	FieldNvLinkErrorReplay         FieldID = gen.NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY            // count; scope: link; not NVLink 5
	FieldNvLinkErrorRecovery       FieldID = gen.NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY          // count; scope: link; not NVLink 5
	FieldNvLinkErrorCRC            FieldID = gen.NVML_FI_DEV_NVLINK_ERROR_DL_CRC               // count; scope: link; not NVLink 5
	FieldNvLink5ReceiveErrors      FieldID = gen.NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS           // packets with errors; scope: link
	FieldNvLink5Recoveries         FieldID = gen.NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS // times; scope: link
	FieldC2CLinkCount              FieldID = gen.NVML_FI_DEV_C2C_LINK_COUNT                    // links
	FieldPowerAverage              FieldID = gen.NVML_FI_DEV_POWER_AVERAGE                     // mW; scope: a PowerScope
	FieldPowerInstant              FieldID = gen.NVML_FI_DEV_POWER_INSTANT                     // mW; scope: a PowerScope
	FieldPowerMinLimit             FieldID = gen.NVML_FI_DEV_POWER_MIN_LIMIT                   // mW
	FieldPowerMaxLimit             FieldID = gen.NVML_FI_DEV_POWER_MAX_LIMIT                   // mW
	FieldPowerDefaultLimit         FieldID = gen.NVML_FI_DEV_POWER_DEFAULT_LIMIT               // mW
	FieldPowerCurrentLimit         FieldID = gen.NVML_FI_DEV_POWER_CURRENT_LIMIT               // mW
	FieldEnergy                    FieldID = gen.NVML_FI_DEV_ENERGY                            // mJ
	FieldPowerRequestedLimit       FieldID = gen.NVML_FI_DEV_POWER_REQUESTED_LIMIT             // mW
	FieldTemperatureShutdownLimit  FieldID = gen.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT       // °C, a margin
	FieldTemperatureSlowdownLimit  FieldID = gen.NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT       // °C, a margin
	FieldTemperatureMemoryMaxLimit FieldID = gen.NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT        // °C, a margin
	FieldTemperatureGPUMaxLimit    FieldID = gen.NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT        // °C, a margin
	FieldPcieBytesTx               FieldID = gen.NVML_FI_DEV_PCIE_COUNT_TX_BYTES               // bytes; the counter wraps
	FieldPcieBytesRx               FieldID = gen.NVML_FI_DEV_PCIE_COUNT_RX_BYTES               // bytes; the counter wraps
	FieldPerfPolicyPower           FieldID = gen.NVML_FI_DEV_PERF_POLICY_POWER                 // ns spent at reduced clocks, power cap
	FieldPerfPolicyThermal         FieldID = gen.NVML_FI_DEV_PERF_POLICY_THERMAL               // ns, heat
	FieldPerfPolicySyncBoost       FieldID = gen.NVML_FI_DEV_PERF_POLICY_SYNC_BOOST            // ns, sync boost
	FieldPerfPolicyBoardLimit      FieldID = gen.NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT           // ns, board limit
	FieldRecoveryAction            FieldID = gen.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION           // a RecoveryAction
)

// AllLinks is the scope of the NVLink traffic fields that asks for the sum.
const AllLinks = ^uint32(0)

const onWindows = runtime.GOOS == "windows"

// moved marks the fields whose number is not the same in all drivers. It is
// never passed to the driver.
const moved FieldID = 1 << 31

// Fields whose number differs between drivers. FieldValues finds the number by
// the version of the driver, and answers [ErrNotSupported] where it has none.
const (
	FieldClocksEventReasonSwThermal    = moved + iota // ns spent at reduced clocks, heat
	FieldClocksEventReasonHwThermal                   // ns, heat, by the hardware
	FieldClocksEventReasonHwPowerBrake                // ns, power brake
	FieldPowerSyncBalancingFreq
	FieldPowerSyncBalancingAF
	FieldMigQueryIndependent     // 1: MIG devices can be asked whatever the mode
	FieldNvLinkPowerThresholdMax // the largest low-power threshold
	FieldPowerSmoothing          // the first of the 18 power smoothing fields; add 1 to 17 for the others
	fieldMovedEnd                = FieldPowerSmoothing + 18
)

// number returns the number of a field in the driver of that version, major and
// minor, and 0 where it has none.
func (id FieldID) number(major, minor int) uint32 {
	if id < moved {
		return uint32(id)
	}
	// Linux releases count 580.65, 580.76, 580.82; those of Windows count in
	// another way, and say 576 to 579 for the branch 575.
	middle := major >= 575 && major < 580 || major == 580 && minor < 82
	switch {
	case id == FieldMigQueryIndependent:
		switch {
		case major >= 555 && major < 570:
			return 200
		case major >= 550:
			return 199
		}
	case id == FieldNvLinkPowerThresholdMax:
		switch {
		case major >= 570:
			return 200
		case major >= 555:
			return 199
		}
	case onWindows && major == 580: // it cannot be told on which side of the change this is
	case id >= FieldPowerSmoothing && id < fieldMovedEnd:
		switch {
		case middle:
			return 256 + uint32(id-FieldPowerSmoothing)
		case major >= 570:
			return 251 + uint32(id-FieldPowerSmoothing)
		}
	case id < FieldMigQueryIndependent:
		switch {
		case middle:
			return 251 + uint32(id-moved)
		case major >= 580:
			return 269 + uint32(id-moved)
		}
	}
	return 0
}

// ValueType says how the eight bytes of a [Value] are read.
type ValueType uint32

// Value is a number of any of NVML's types.
type Value struct {
	Type ValueType
	Bits uint64
}

// Float64 returns the value, and whether its type is known.
func (v Value) Float64() (float64, bool) {
	g := gen.Value_t{Bits: v.Bits}
	switch gen.ValueType_t(v.Type) {
	case gen.NVML_VALUE_TYPE_DOUBLE:
		return g.Double(), true
	case gen.NVML_VALUE_TYPE_SIGNED_INT, gen.NVML_VALUE_TYPE_SIGNED_LONG_LONG:
		n, ok := v.Int64()
		return float64(n), ok
	}
	n, ok := v.Uint64()
	return float64(n), ok
}

// Uint64 returns the value, and whether it is a whole number of a known type,
// and not negative.
func (v Value) Uint64() (uint64, bool) {
	g := gen.Value_t{Bits: v.Bits}
	switch gen.ValueType_t(v.Type) {
	case gen.NVML_VALUE_TYPE_DOUBLE:
		if x := g.Double(); x >= 0 && x < 1<<63 && x == math.Trunc(x) {
			return uint64(x), true
		}
	case gen.NVML_VALUE_TYPE_UNSIGNED_INT:
		return uint64(g.Uint32()), true
	case gen.NVML_VALUE_TYPE_UNSIGNED_LONG:
		return uint64(g.Ulong()), true
	case gen.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
		return g.Uint64(), true
	case gen.NVML_VALUE_TYPE_SIGNED_LONG_LONG:
		return uint64(g.Int64()), g.Int64() >= 0
	case gen.NVML_VALUE_TYPE_SIGNED_INT:
		return uint64(g.Int32()), g.Int32() >= 0
	case gen.NVML_VALUE_TYPE_UNSIGNED_SHORT:
		return uint64(g.Uint16()), true
	}
	return 0, false
}

// Int64 returns the value, and whether it is a whole number of a known type
// that fits. A value that the driver calls unsigned int and that is above 2^31
// is read as negative: some drivers say so of temperatures.
func (v Value) Int64() (int64, bool) {
	g := gen.Value_t{Bits: v.Bits}
	switch gen.ValueType_t(v.Type) {
	case gen.NVML_VALUE_TYPE_DOUBLE:
		if x := g.Double(); math.Abs(x) < 1<<63 && x == math.Trunc(x) {
			return int64(x), true
		}
		return 0, false
	case gen.NVML_VALUE_TYPE_UNSIGNED_INT, gen.NVML_VALUE_TYPE_SIGNED_INT:
		return int64(g.Int32()), true
	case gen.NVML_VALUE_TYPE_SIGNED_LONG_LONG:
		return g.Int64(), true
	}
	n, ok := v.Uint64()
	return int64(n), ok && n < 1<<63
}

// FieldValue is one field: what is asked, and the answer.
type FieldValue struct {
	ID    FieldID
	Scope uint32 // what the field is asked about; 0 for most

	// Return is the answer for this field; Value is good with Success only.
	Return Return
	Value  Value
	// Time is when the value was taken, in microseconds since 1970.
	Time int64
	// Latency is what the field cost inside NVML.
	Latency time.Duration
}

// FieldValues reads all fields of the list, in one call: ID and Scope are what
// is asked, the rest is filled in. An error is about the whole call, and is then
// the Return of every field as well; otherwise each field has its own answer. A
// field without scope that the driver does not know is [ErrNotSupported].
//
// Calls nvmlDeviceGetFieldValues (driver 384).
func (d Device) FieldValues(list []FieldValue) error {
	f, err := d.enter(gen.FnDeviceGetFieldValues)
	if err != nil {
		for i := range list {
			list[i].Return, list[i].Value = ErrUninitialized, Value{}
		}
		return err
	}
	defer f.leave()
	return f.fail(gen.FnDeviceGetFieldValues, f.fields(list, 0))
}

// fields makes the call of FieldValues.
func (f *frame) fields(list []FieldValue, place int) Return {
	answer := func(r Return) Return {
		for i := range list {
			list[i].Return, list[i].Value, list[i].Time, list[i].Latency = r, Value{}, 0, 0
		}
		return r
	}
	answer(ErrNotSupported)
	if len(list) == 0 {
		return Success
	}
	if !f.raw().Has(gen.FnDeviceGetFieldValues) {
		return answer(ErrFunctionNotFound)
	}
	major, minor := 0, 0
	for i := range list {
		if list[i].ID >= moved {
			major, minor = f.driverNumbers()
			break
		}
	}
	raw := listOf[gen.FieldValue_t](f, len(list))
	n := 0
	for i := range list {
		if id := list[i].ID.number(major, minor); id != 0 {
			raw[n].FieldId, raw[n].ScopeId = id, list[i].Scope
			// An entry that the driver leaves alone must not look like a value.
			raw[n].NvmlReturn = gen.NVML_ERROR_NO_DATA
			n++
		}
	}
	if n == 0 {
		return Success // each has its ErrNotSupported
	}
	f.begin(gen.FnDeviceGetFieldValues, place)
	if r := f.end(f.raw().DeviceGetFieldValues(f.c, f.h, int32(n), &raw[0])); r != Success {
		return answer(r)
	}
	n = 0
	for i := range list {
		v := &list[i]
		if v.ID.number(major, minor) == 0 {
			continue
		}
		g := &raw[n]
		n++
		v.Return = Return(g.NvmlReturn)
		if v.Return == ErrInvalidArgument && v.Scope == 0 {
			v.Return = ErrNotSupported // the driver is older than the field
		}
		if v.Return != Success {
			continue
		}
		v.Value = Value{ValueType(g.ValueType), g.Value.Bits}
		if _, ok := v.Value.Float64(); !ok {
			v.Return, v.Value = ErrImplausible, Value{} // a type that nobody knows
			continue
		}
		v.Time, v.Latency = g.Timestamp, time.Duration(g.LatencyUsec)*time.Microsecond
	}
	return Success
}

// field reads one field in an open frame.
func (f *frame) field(id FieldID, scope uint32, place int) (Value, Return) {
	one := &f.one
	one[0] = FieldValue{ID: id, Scope: scope}
	if r := f.fields(one[:], place); r != Success {
		return Value{}, r
	}
	return one[0].Value, one[0].Return
}

// field reads one field.
func (d Device) field(id FieldID, scope uint32) (Value, error) {
	f, err := d.enter(gen.FnDeviceGetFieldValues)
	if err != nil {
		return Value{}, err
	}
	defer f.leave()
	v, r := f.field(id, scope, 0)
	return v, f.fail(gen.FnDeviceGetFieldValues, r)
}

// fieldUint32 reads one field that is a number of 32 bits.
func (d Device) fieldUint32(id FieldID, scope uint32) (uint32, error) {
	v, err := d.field(id, scope)
	if err != nil {
		return 0, err
	}
	n, ok := v.Uint64()
	if !ok || n > math.MaxUint32 {
		return 0, d.fieldError(ErrImplausible)
	}
	return uint32(n), nil
}

func (d Device) fieldError(r Return) error {
	return &Error{Function: gen.FnDeviceGetFieldValues.String(), Device: d.Index(), Return: r}
}

// driverNumbers returns the first two numbers of the driver's version, 0 where
// they are not known.
func (f *frame) driverNumbers() (major, minor int) {
	l := f.lib
	l.mu.Lock()
	version := l.version
	l.mu.Unlock()
	if version == "" {
		if !f.begin(gen.FnSystemGetDriverVersion, 0) {
			return 0, 0
		}
		b := f.text(80)
		if f.end(f.raw().SystemGetDriverVersion(f.c, &b[0], uint32(len(b)))) != Success {
			return 0, 0
		}
		version = gostring(b)
		l.mu.Lock()
		l.version = version
		l.mu.Unlock()
	}
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(first)
	minor, _ = strconv.Atoi(second)
	return major, minor
}
