package nvml

import "nvtop-lite/nvml/gen"

// EccMode reports whether ECC is on, and whether it will be after a reset.
//
// Calls nvmlDeviceGetEccMode.
func (d Device) EccMode() (current, pending bool, err error) {
	a, b, err := getPair(d, gen.FnDeviceGetEccMode, (*gen.Library).DeviceGetEccMode)
	current, err = d.flag(gen.FnDeviceGetEccMode, uint32(a), err)
	pending, err = d.flag(gen.FnDeviceGetEccMode, uint32(b), err)
	return current && err == nil, pending && err == nil, err
}

// MemoryErrorType is a kind of memory error.
type MemoryErrorType uint32

// The kinds.
const (
	Corrected   = MemoryErrorType(gen.NVML_MEMORY_ERROR_TYPE_CORRECTED)
	Uncorrected = MemoryErrorType(gen.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
)

// EccCounter is a kind of error counter.
type EccCounter uint32

// The kinds.
const (
	Volatile  = EccCounter(gen.NVML_VOLATILE_ECC)  // since the driver was loaded
	Aggregate = EccCounter(gen.NVML_AGGREGATE_ECC) // since the board was made
)

// TotalEccErrors returns a number of memory errors.
//
// Calls nvmlDeviceGetTotalEccErrors.
func (d Device) TotalEccErrors(t MemoryErrorType, c EccCounter) (uint64, error) {
	return getAt2(d, gen.FnDeviceGetTotalEccErrors, (*gen.Library).DeviceGetTotalEccErrors, gen.MemoryErrorType_t(t), gen.EccCounterType_t(c))
}

// MemoryLocation is a place of memory errors.
type MemoryLocation uint32

// The places.
const (
	L1Cache       = MemoryLocation(gen.NVML_MEMORY_LOCATION_L1_CACHE)
	L2Cache       = MemoryLocation(gen.NVML_MEMORY_LOCATION_L2_CACHE)
	DRAM          = MemoryLocation(gen.NVML_MEMORY_LOCATION_DRAM)
	RegisterFile  = MemoryLocation(gen.NVML_MEMORY_LOCATION_REGISTER_FILE)
	TextureMemory = MemoryLocation(gen.NVML_MEMORY_LOCATION_TEXTURE_MEMORY)
	TextureShared = MemoryLocation(gen.NVML_MEMORY_LOCATION_TEXTURE_SHM)
	CBU           = MemoryLocation(gen.NVML_MEMORY_LOCATION_CBU)
	SRAM          = MemoryLocation(gen.NVML_MEMORY_LOCATION_SRAM)
)

// MemoryErrorCounter returns a number of memory errors in one place.
//
// Calls nvmlDeviceGetMemoryErrorCounter.
func (d Device) MemoryErrorCounter(t MemoryErrorType, c EccCounter, at MemoryLocation) (uint64, error) {
	const fn = gen.FnDeviceGetMemoryErrorCounter
	f, err := d.enter(fn)
	if err != nil {
		return 0, err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return 0, f.fail(fn, ErrFunctionNotFound)
	}
	n := scratch[uint64](f)
	if r := f.end(f.raw().DeviceGetMemoryErrorCounter(f.c, f.h, gen.MemoryErrorType_t(t), gen.EccCounterType_t(c), gen.MemoryLocation_t(at), n)); r != Success {
		return 0, f.fail(fn, r)
	}
	return *n, nil
}

// SramEccErrors are the errors of the on-chip memories.
type SramEccErrors struct {
	AggregateUncorrectedParity, AggregateUncorrectedSECDED, AggregateCorrected uint64
	VolatileUncorrectedParity, VolatileUncorrectedSECDED, VolatileCorrected    uint64
	// Uncorrected errors by place, since the board was made.
	L2, SM, Pcie, Microcontroller, Other uint64
	ThresholdExceeded                    bool
}

// SramEccErrorStatus returns the errors of the on-chip memories. Root only.
//
// Calls nvmlDeviceGetSramEccErrorStatus (drivers 535.161 and 550, not 545; Ampere
// and later).
func (d Device) SramEccErrorStatus() (SramEccErrors, error) {
	s, err := getInit(d, gen.FnDeviceGetSramEccErrorStatus, (*gen.Library).DeviceGetSramEccErrorStatus,
		gen.EccSramErrorStatus_v1_t{Version: gen.VersionEccSramErrorStatus_v1})
	return SramEccErrors{s.AggregateUncParity, s.AggregateUncSecDed, s.AggregateCor, s.VolatileUncParity, s.VolatileUncSecDed, s.VolatileCor,
		s.AggregateUncBucketL2, s.AggregateUncBucketSm, s.AggregateUncBucketPcie, s.AggregateUncBucketMcu, s.AggregateUncBucketOther,
		s.BThresholdExceeded != 0}, err
}

// PageRetirementCause is why pages of memory were taken out of use.
type PageRetirementCause uint32

// The causes.
const (
	RetiredSingleBit = PageRetirementCause(gen.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)
	RetiredDoubleBit = PageRetirementCause(gen.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
)

// RetiredPage is a page of memory that is not used any more.
type RetiredPage struct {
	Address uint64
	// Timestamp is when it was retired, as the driver counts; 0 from drivers
	// that do not tell.
	Timestamp uint64
}

// RetiredPages lists the pages taken out of use. GPUs before Ampere have them;
// later ones remap rows.
//
// Calls nvmlDeviceGetRetiredPages_v2 (driver 410), then
// nvmlDeviceGetRetiredPages.
func (d Device) RetiredPages(cause PageRetirementCause) ([]RetiredPage, error) {
	const fn, older = gen.FnDeviceGetRetiredPages_v2, gen.FnDeviceGetRetiredPages
	return first(d, chainRetiredPages, 0,
		step[[]RetiredPage]{fn, func(f *frame, place int) ([]RetiredPage, Return) {
			room := 0
			// Addresses and times are two arrays of that length each.
			list, r := callList(f, fn, place, retiredHint, func(f *frame, n *uint32, list *pair[uint64]) gen.Return_t {
				room = int(*n)
				return f.raw().DeviceGetRetiredPages_v2(f.c, f.h, gen.PageRetirementCause_t(cause), n, &f.list[0], &f.list[room])
			})
			out := make([]RetiredPage, len(list))
			for i := range out {
				out[i] = RetiredPage{f.list[i], f.list[room+i]}
			}
			return out, r
		}},
		step[[]RetiredPage]{older, func(f *frame, place int) ([]RetiredPage, Return) {
			list, r := callList(f, older, place, retiredHint, func(f *frame, n *uint32, list *uint64) gen.Return_t {
				return f.raw().DeviceGetRetiredPages(f.c, f.h, gen.PageRetirementCause_t(cause), n, list)
			})
			out := make([]RetiredPage, len(list))
			for i := range out {
				out[i].Address = list[i]
			}
			return out, r
		}})
}

// retiredHint is the room for retired pages: boards have at most 64.
const retiredHint = 128

// RetiredPagesPendingStatus reports whether pages will be retired at the next
// reset.
//
// Calls nvmlDeviceGetRetiredPagesPendingStatus.
func (d Device) RetiredPagesPendingStatus() (bool, error) {
	return getFlag(d, gen.FnDeviceGetRetiredPagesPendingStatus, (*gen.Library).DeviceGetRetiredPagesPendingStatus)
}

// RemappedRows is what row remapping has done.
type RemappedRows struct {
	Corrected, Uncorrected uint32 // rows, by the kind of error that caused it
	Pending                bool   // more rows wait for a reset
	Failed                 bool   // a row could not be remapped
	// InactiveKnown says that the rows are the active ones, and these the rest.
	CorrectedInactive, UncorrectedInactive uint32
	InactiveKnown                          bool
}

// RemappedRows returns what row remapping has done (Ampere and later). While MIG
// devices exist there is no answer.
//
// Calls nvmlDeviceGetRemappedRows_v2 (drivers 580.159 and 595.71), then
// nvmlDeviceGetRemappedRows (driver 450), then nvmlDeviceGetFieldValues with the
// fields 142 to 145.
func (d Device) RemappedRows() (RemappedRows, error) {
	return first(d, chainRemappedRows, 0,
		step[RemappedRows]{gen.FnDeviceGetRemappedRows_v2, func(f *frame, place int) (RemappedRows, Return) {
			v, r := call(f, gen.FnDeviceGetRemappedRows_v2, place, (*gen.Library).DeviceGetRemappedRows_v2)
			return RemappedRows{v.CorrActiveRemaps, v.UncActiveRemaps, v.BPending != 0, v.BFailureOccurred != 0,
				v.CorrInactiveRemaps, v.UncInactiveRemaps, true}, r
		}},
		step[RemappedRows]{gen.FnDeviceGetRemappedRows, func(f *frame, place int) (RemappedRows, Return) {
			if !f.begin(gen.FnDeviceGetRemappedRows, place) {
				return RemappedRows{}, ErrFunctionNotFound
			}
			f.words()
			r := f.end(f.raw().DeviceGetRemappedRows(f.c, f.h, &f.w[0], &f.w[1], &f.w[2], &f.w[3]))
			return RemappedRows{Corrected: f.w[0], Uncorrected: f.w[1], Pending: f.w[2] != 0, Failed: f.w[3] != 0}, r
		}},
		step[RemappedRows]{gen.FnDeviceGetFieldValues, func(f *frame, place int) (RemappedRows, Return) {
			list := []FieldValue{{ID: FieldRemappedCorrected}, {ID: FieldRemappedUncorrected}, {ID: FieldRemappedPending}, {ID: FieldRemappedFailure}}
			if r := f.fields(list, place); r != Success {
				return RemappedRows{}, r
			}
			var n [4]uint64
			for i := range list {
				var ok bool
				if list[i].Return != Success {
					return RemappedRows{}, list[i].Return
				}
				if n[i], ok = list[i].Value.Uint64(); !ok {
					return RemappedRows{}, ErrImplausible
				}
			}
			return RemappedRows{Corrected: uint32(n[0]), Uncorrected: uint32(n[1]), Pending: n[2] != 0, Failed: n[3] != 0}, Success
		}})
}

// RowRemapperHistogram counts the banks of memory by how many spare rows they
// have left.
type RowRemapperHistogram struct {
	Max, High, Partial, Low, None uint32
}

// RowRemapperHistogram returns how many spare rows are left (Ampere and later).
//
// Calls nvmlDeviceGetRowRemapperHistogram.
func (d Device) RowRemapperHistogram() (RowRemapperHistogram, error) {
	v, err := get(d, gen.FnDeviceGetRowRemapperHistogram, (*gen.Library).DeviceGetRowRemapperHistogram)
	return RowRemapperHistogram(v), err
}

// RepairStatus reports repairs that wait for a reset.
//
// Calls nvmlDeviceGetRepairStatus (driver 580).
func (d Device) RepairStatus() (channelPending, tpcPending bool, err error) {
	v, err := getInit(d, gen.FnDeviceGetRepairStatus, (*gen.Library).DeviceGetRepairStatus,
		gen.RepairStatus_v1_t{Version: gen.VersionRepairStatus_v1})
	return v.BChannelRepairPending != 0, v.BTpcRepairPending != 0, err
}

// RecoveryAction is what a GPU needs to work again.
type RecoveryAction uint32

// The actions.
const (
	RecoveryNone          = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_NONE)
	RecoveryGPUReset      = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_GPU_RESET)
	RecoveryNodeReboot    = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT)
	RecoveryDrainP2P      = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_DRAIN_P2P)
	RecoveryDrainAndReset = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET)
	RecoveryIMEX          = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN)
	RecoveryBusReset      = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_BUS_RESET)
	RecoverySystemReboot  = RecoveryAction(gen.NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT)
)

// RecoveryAction returns what the GPU needs to work again.
//
// Calls nvmlDeviceGetFieldValues with the field 230 (driver 565).
func (d Device) RecoveryAction() (RecoveryAction, error) {
	v, err := d.fieldUint32(FieldRecoveryAction, 0)
	return RecoveryAction(v), err
}
