package monitor

import (
	"strconv"
	"strings"
)

// ReadingID names a reading of a GPU. The names are those of the JSON keys.
type ReadingID uint8

// The readings of a GPU, in the order of the JSON keys.
const (
	Minor ReadingID = iota
	UtilizationPercent
	MemoryUtilizationPercent
	EncoderPercent
	DecoderPercent
	JPEGPercent
	OFAPercent
	SMActivePercent
	SMOccupancyPercent
	TensorActivePercent
	DRAMActivePercent
	MemoryTotalBytes
	MemoryUsedBytes
	MemoryFreeBytes
	MemoryReservedBytes
	TemperatureC
	TemperatureMemoryC
	TemperatureSlowdownC
	TemperatureMarginC
	FanPercent
	PowerMW
	PowerInstantMW
	PowerLimitMW
	PowerLimitDefaultMW
	EnergyJoules
	ClockGraphicsMHz
	ClockSMMHz
	ClockMemoryMHz
	ClockVideoMHz
	ClockGraphicsMaxMHz
	ClockMemoryMaxMHz
	PerformanceState
	ThrottleReasons
	PersistenceMode
	ComputeMode
	PCIeGeneration
	PCIeGenerationMax
	PCIeWidth
	PCIeWidthMax
	PCIeTxBytesPerSecond
	PCIeRxBytesPerSecond
	PCIeReplays
	NVLinkTxBytesPerSecond
	NVLinkRxBytesPerSecond
	NVLinkLinksActive
	NVLinkErrors
	NVLinkReplays
	NVLinkRecoveries
	FabricState
	ECCEnabled
	ECCPending
	ECCUncorrectedVolatile
	ECCCorrectedVolatile
	ECCUncorrectedAggregate
	ECCCorrectedAggregate
	RetiredPages
	RetiredPagesPending
	RowsRemapped
	RowsRemapPending
	RowsRemapFailed
	RecoveryAction
	MIGEnabled
	NumReadings // how many there are
)

// ReadingInfo describes a reading.
type ReadingInfo struct {
	Key      string   // JSON key
	Label    string   // on screen
	Unit     string   // "%", "bytes", "bytes/s", "mW", "J", "°C", "MHz", "" for counts and words
	Function string   // NVML function or functions that give it, newest first
	Words    []string // for Word and Mask: by number or by bit
	Kind     Kind
}

// Info returns the description of id.
func (id ReadingID) Info() *ReadingInfo { return &readingInfos[id] }

// String returns the JSON key.
func (id ReadingID) String() string { return readingInfos[id].Key }

var (
	computeModes    = []string{"default", "exclusive_thread", "prohibited", "exclusive_process"}
	fabricStates    = []string{"not_supported", "not_started", "in_progress", "completed"}
	recoveryActions = []string{"none", "gpu_reset", "node_reboot", "drain_p2p", "drain_and_reset", "recover_imex", "bus_reset", "system_reboot"}
	throttleWords   = []string{"idle", "app_clocks", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal", "hw_power_brake", "display_clocks", "board_limit", "reliability"}
)

// The bits of ThrottleReasons.
const (
	ThrottleIdle          = 1 << 0
	ThrottleAppClocks     = 1 << 1
	ThrottleSWPowerCap    = 1 << 2
	ThrottleHWSlowdown    = 1 << 3
	ThrottleSyncBoost     = 1 << 4
	ThrottleSWThermal     = 1 << 5
	ThrottleHWThermal     = 1 << 6
	ThrottleHWPowerBrake  = 1 << 7
	ThrottleDisplayClocks = 1 << 8
	ThrottleBoardLimit    = 1 << 9
	ThrottleReliability   = 1 << 10
)

var readingInfos = [NumReadings]ReadingInfo{
	Minor:                    {"minor", "device node", "", "nvmlDeviceGetMinorNumber", nil, Integer},
	UtilizationPercent:       {"utilization_percent", "GPU", "%", "nvmlDeviceGetUtilizationRates", nil, Number},
	MemoryUtilizationPercent: {"memory_utilization_percent", "memory activity", "%", "nvmlDeviceGetUtilizationRates", nil, Number},
	EncoderPercent:           {"encoder_percent", "ENC", "%", "nvmlDeviceGetEncoderUtilization", nil, Number},
	DecoderPercent:           {"decoder_percent", "DEC", "%", "nvmlDeviceGetDecoderUtilization", nil, Number},
	JPEGPercent:              {"jpeg_percent", "JPEG", "%", "nvmlDeviceGetJpgUtilization", nil, Number},
	OFAPercent:               {"ofa_percent", "OFA", "%", "nvmlDeviceGetOfaUtilization", nil, Number},
	SMActivePercent:          {"sm_active_percent", "SM", "%", "nvmlGpmMetricsGet", nil, Number},
	SMOccupancyPercent:       {"sm_occupancy_percent", "occupancy", "%", "nvmlGpmMetricsGet", nil, Number},
	TensorActivePercent:      {"tensor_active_percent", "tensor", "%", "nvmlGpmMetricsGet", nil, Number},
	DRAMActivePercent:        {"dram_active_percent", "DRAM", "%", "nvmlGpmMetricsGet", nil, Number},
	MemoryTotalBytes:         {"memory_total_bytes", "memory total", "bytes", "nvmlDeviceGetMemoryInfo_v2", nil, Integer},
	MemoryUsedBytes:          {"memory_used_bytes", "MEM", "bytes", "nvmlDeviceGetMemoryInfo_v2", nil, Integer},
	MemoryFreeBytes:          {"memory_free_bytes", "memory free", "bytes", "nvmlDeviceGetMemoryInfo_v2", nil, Integer},
	MemoryReservedBytes:      {"memory_reserved_bytes", "memory reserved", "bytes", "nvmlDeviceGetMemoryInfo_v2", nil, Integer},
	TemperatureC:             {"temperature_c", "temperature", "°C", "nvmlDeviceGetTemperatureV", nil, Number},
	TemperatureMemoryC:       {"temperature_memory_c", "memory temperature", "°C", "nvmlDeviceGetFieldValues", nil, Number},
	TemperatureSlowdownC:     {"temperature_slowdown_c", "slowdown at", "°C", "nvmlDeviceGetTemperatureThreshold", nil, Number},
	TemperatureMarginC:       {"temperature_margin_c", "margin", "°C", "nvmlDeviceGetMarginTemperature", nil, Number},
	FanPercent:               {"fan_percent", "FAN", "%", "nvmlDeviceGetFanSpeed_v2", nil, Number},
	PowerMW:                  {"power_mw", "power", "mW", "nvmlDeviceGetPowerUsage", nil, Number},
	PowerInstantMW:           {"power_instant_mw", "power now", "mW", "nvmlDeviceGetFieldValues", nil, Number},
	PowerLimitMW:             {"power_limit_mw", "power limit", "mW", "nvmlDeviceGetEnforcedPowerLimit", nil, Number},
	PowerLimitDefaultMW:      {"power_limit_default_mw", "default limit", "mW", "nvmlDeviceGetPowerManagementDefaultLimit", nil, Number},
	EnergyJoules:             {"energy_joules", "energy", "J", "nvmlDeviceGetTotalEnergyConsumption", nil, Number},
	ClockGraphicsMHz:         {"clock_graphics_mhz", "graphics clock", "MHz", "nvmlDeviceGetClockInfo", nil, Number},
	ClockSMMHz:               {"clock_sm_mhz", "SM clock", "MHz", "nvmlDeviceGetClockInfo", nil, Number},
	ClockMemoryMHz:           {"clock_memory_mhz", "memory clock", "MHz", "nvmlDeviceGetClockInfo", nil, Number},
	ClockVideoMHz:            {"clock_video_mhz", "video clock", "MHz", "nvmlDeviceGetClockInfo", nil, Number},
	ClockGraphicsMaxMHz:      {"clock_graphics_max_mhz", "graphics clock limit", "MHz", "nvmlDeviceGetMaxClockInfo", nil, Number},
	ClockMemoryMaxMHz:        {"clock_memory_max_mhz", "memory clock limit", "MHz", "nvmlDeviceGetMaxClockInfo", nil, Number},
	PerformanceState:         {"performance_state", "P-state", "", "nvmlDeviceGetPerformanceState", nil, Integer},
	ThrottleReasons:          {"throttle_reasons", "slowed", "", "nvmlDeviceGetCurrentClocksEventReasons", throttleWords, Mask},
	PersistenceMode:          {"persistence_mode", "persistence", "", "nvmlDeviceGetPersistenceMode", nil, Flag},
	ComputeMode:              {"compute_mode", "compute mode", "", "nvmlDeviceGetComputeMode", computeModes, Word},
	PCIeGeneration:           {"pcie_generation", "PCIe generation", "", "nvmlDeviceGetCurrPcieLinkGeneration", nil, Integer},
	PCIeGenerationMax:        {"pcie_generation_max", "PCIe generation limit", "", "nvmlDeviceGetMaxPcieLinkGeneration", nil, Integer},
	PCIeWidth:                {"pcie_width", "PCIe width", "", "nvmlDeviceGetCurrPcieLinkWidth", nil, Integer},
	PCIeWidthMax:             {"pcie_width_max", "PCIe width limit", "", "nvmlDeviceGetMaxPcieLinkWidth", nil, Integer},
	PCIeTxBytesPerSecond:     {"pcie_tx_bytes_per_second", "PCIe ←", "bytes/s", "nvmlGpmMetricsGet, nvmlDeviceGetPcieThroughput", nil, Number},
	PCIeRxBytesPerSecond:     {"pcie_rx_bytes_per_second", "PCIe →", "bytes/s", "nvmlGpmMetricsGet, nvmlDeviceGetPcieThroughput", nil, Number},
	PCIeReplays:              {"pcie_replays", "PCIe replays", "", "nvmlDeviceGetPcieReplayCounter", nil, Integer},
	NVLinkTxBytesPerSecond:   {"nvlink_tx_bytes_per_second", "NVLink ←", "bytes/s", "nvmlGpmMetricsGet, nvmlDeviceGetFieldValues", nil, Number},
	NVLinkRxBytesPerSecond:   {"nvlink_rx_bytes_per_second", "NVLink →", "bytes/s", "nvmlGpmMetricsGet, nvmlDeviceGetFieldValues", nil, Number},
	NVLinkLinksActive:        {"nvlink_links_active", "NVLink links", "", "nvmlDeviceGetNvLinkState", nil, Integer},
	NVLinkErrors:             {"nvlink_errors", "NVLink errors", "", "nvmlDeviceGetFieldValues, nvmlDeviceGetNvLinkErrorCounter", nil, Integer},
	NVLinkReplays:            {"nvlink_replays", "NVLink replays", "", "nvmlDeviceGetFieldValues, nvmlDeviceGetNvLinkErrorCounter", nil, Integer},
	NVLinkRecoveries:         {"nvlink_recoveries", "NVLink recoveries", "", "nvmlDeviceGetFieldValues, nvmlDeviceGetNvLinkErrorCounter", nil, Integer},
	FabricState:              {"fabric_state", "fabric", "", "nvmlDeviceGetGpuFabricInfoV", fabricStates, Word},
	ECCEnabled:               {"ecc_enabled", "ECC", "", "nvmlDeviceGetEccMode", nil, Flag},
	ECCPending:               {"ecc_pending", "ECC change pending", "", "nvmlDeviceGetEccMode", nil, Flag},
	ECCUncorrectedVolatile:   {"ecc_uncorrected_volatile", "ECC uncorrected now", "", "nvmlDeviceGetTotalEccErrors", nil, Integer},
	ECCCorrectedVolatile:     {"ecc_corrected_volatile", "ECC corrected now", "", "nvmlDeviceGetTotalEccErrors", nil, Integer},
	ECCUncorrectedAggregate:  {"ecc_uncorrected_aggregate", "ECC uncorrected ever", "", "nvmlDeviceGetTotalEccErrors", nil, Integer},
	ECCCorrectedAggregate:    {"ecc_corrected_aggregate", "ECC corrected ever", "", "nvmlDeviceGetTotalEccErrors", nil, Integer},
	RetiredPages:             {"retired_pages", "retired pages", "", "nvmlDeviceGetRetiredPages_v2", nil, Integer},
	RetiredPagesPending:      {"retired_pages_pending", "retirement pending", "", "nvmlDeviceGetRetiredPagesPendingStatus", nil, Flag},
	RowsRemapped:             {"rows_remapped", "remapped rows", "", "nvmlDeviceGetRemappedRows_v2", nil, Integer},
	RowsRemapPending:         {"rows_remap_pending", "remap pending", "", "nvmlDeviceGetRemappedRows_v2", nil, Flag},
	RowsRemapFailed:          {"rows_remap_failed", "remap failed", "", "nvmlDeviceGetRemappedRows_v2", nil, Flag},
	RecoveryAction:           {"recovery_action", "recovery", "", "nvmlDeviceGetFieldValues", recoveryActions, Word},
	MIGEnabled:               {"mig_enabled", "MIG", "", "nvmlDeviceGetMigMode", nil, Flag},
}

// WordOf returns the word for number v of id, or unknown_N.
func (id ReadingID) WordOf(v uint64) string {
	if words := id.Info().Words; v < uint64(len(words)) {
		return words[v]
	}
	return "unknown_" + strconv.FormatUint(v, 10)
}

// AppendWords appends the words for the bits that are set in v, lowest first,
// those without a name as unknown_0x….
func (id ReadingID) AppendWords(dst []string, v uint64) []string {
	words := id.Info().Words
	for bit := 0; v != 0; bit++ {
		if v&(1<<bit) == 0 {
			continue
		}
		v &^= 1 << bit
		if bit < len(words) {
			dst = append(dst, words[bit])
		} else {
			dst = append(dst, "unknown_0x"+strconv.FormatUint(1<<bit, 16))
		}
	}
	return dst
}

// Word returns the word of a known reading of id, which is of kind Word.
func (id ReadingID) Word(r Reading) string {
	if r.Err.Name() != "" {
		return r.Err.Name()
	}
	return id.WordOf(r.bits)
}

// Words appends the words of a known reading of id, which is of kind Mask.
func (id ReadingID) Words(dst []string, r Reading) []string {
	dst = id.AppendWords(dst, r.bits)
	if r.Err.Name() == "" {
		return dst
	}
	return append(dst, strings.Fields(r.Err.Name())...)
}

// Group names what is asked for together and is no single reading.
type Group uint8

// The groups a source can be asked for besides single readings.
const (
	GroupProcesses   Group = iota // the process lists
	GroupProcessLoad              // utilization per process
	GroupFans                     // each fan
	GroupMIG                      // the MIG instances
	GroupXIDs                     // Xid events
	numGroups
)

// Want is a set of readings and groups.
type Want struct {
	Readings uint64 // bit per ReadingID
	Groups   uint8  // bit per Group
}

// Everything wants all there is.
var Everything = Want{Readings: 1<<NumReadings - 1, Groups: 1<<numGroups - 1}

// Of returns the set of ids.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func Of(ids ...ReadingID) Want {
	var w Want
	for _, id := range ids {
		w.Readings |= 1 << id
	}
	return w
}

// With returns w and the given groups.
func (w Want) With(groups ...Group) Want {
	for _, g := range groups {
		w.Groups |= 1 << g
	}
	return w
}

// And returns what w or o want.
func (w Want) And(o Want) Want { return Want{w.Readings | o.Readings, w.Groups | o.Groups} }

// Has reports whether id is wanted.
func (w Want) Has(id ReadingID) bool { return w.Readings&(1<<id) != 0 }

// HasAny reports whether one of ids is wanted.
func (w Want) HasAny(ids ...ReadingID) bool { return w.Readings&Of(ids...).Readings != 0 }

// HasGroup reports whether g is wanted.
func (w Want) HasGroup(g Group) bool { return w.Groups&(1<<g) != 0 }
