package report

import "nvtop-lite/monitor"

// told is what people are told of a reading.
type told struct {
	what string // what it is
	null string // where it is null
	smi  string // its name in nvidia-smi --query-gpu, "" for none
}

const (
	beforeHopper = "GPUs older than Hopper, drivers older than 520, and others of which the driver says that it does not count there; the first refresh, as `not_sampled`"
	withoutECC   = "GPUs without ECC memory, as most GeForce, and those where it is switched off"
	noPCIe       = "integrated GPUs, as on Jetson and DGX Spark; guests with a vGPU"
	migOn        = "while MIG is on"
	seldom       = "hardly ever: where the driver does not say"
)

// readingsTold has every reading: docs/readings.md and docs/snapshot.schema.json
// are made of it and of the model.
var readingsTold = [monitor.NumReadings]told{
	monitor.Minor: {"number of the device node, N of /dev/nvidiaN; a lost GPU keeps it", "Windows", ""},

	monitor.UtilizationPercent:       {"share of the driver's last sample period, up to 1 s, in which anything ran on the GPU at all; it says nothing of how many cores were busy", migOn + "; integrated GPUs whose driver does not count it", "utilization.gpu"},
	monitor.MemoryUtilizationPercent: {"share of the same time in which the memory was read or written; it says nothing of how full it is", migOn + "; integrated GPUs whose driver does not count it", "utilization.memory"},
	monitor.EncoderPercent:           {"load of the video encoder, NVENC", migOn + "; where the driver says that there is none", "utilization.encoder"},
	monitor.DecoderPercent:           {"load of the video decoder, NVDEC", migOn + "; where the driver says that there is none", "utilization.decoder"},
	monitor.JPEGPercent:              {"load of the JPEG decoder", "GPUs older than Turing, drivers older than 535; " + migOn, "utilization.jpeg"},
	monitor.OFAPercent:               {"load of the optical flow unit", "GPUs older than Turing, drivers older than 535; " + migOn, "utilization.ofa"},
	monitor.SMActivePercent:          {"share of the time since the refresh before in which the multiprocessors (SM) had work, mean of all", beforeHopper, ""},
	monitor.SMOccupancyPercent:       {"warps that were resident on the multiprocessors, of those that fit, mean of the time since the refresh before", beforeHopper, ""},
	monitor.TensorActivePercent:      {"share of the time since the refresh before in which the tensor cores worked", beforeHopper, ""},
	monitor.DRAMActivePercent:        {"share of the time since the refresh before in which the memory moved data, that is of its highest rate", beforeHopper, ""},

	monitor.MemoryTotalBytes:    {"all memory of the GPU, what the driver keeps for itself included; of unified memory that of the host", "the GPU around MIG instances where the user may not ask (`no_permission`)", "memory.total"},
	monitor.MemoryUsedBytes:     {"memory in use, without the driver's own reserve where that is told apart; of unified memory the sum of its processes", "as `memory_total_bytes`; unified memory while that of one process is not known", "memory.used"},
	monitor.MemoryFreeBytes:     {"memory that can be had", "as `memory_total_bytes`; unified memory, where `memory_available_bytes` of the host tells", "memory.free"},
	monitor.MemoryReservedBytes: {"memory that the driver and the firmware keep for themselves", "drivers older than 510, whose `memory_used_bytes` has it in it; unified memory", "memory.reserved"},

	monitor.TemperatureC:         {"temperature of the chip", seldom, "temperature.gpu"},
	monitor.TemperatureMemoryC:   {"temperature of the memory", "all but boards with HBM and a few with GDDR6X", "temperature.memory"},
	monitor.TemperatureSlowdownC: {"temperature of the chip at which it is slowed down", "where the driver tells a margin only", ""},
	monitor.TemperatureMarginC:   {"how far the chip is from being slowed down; negative is beyond", "drivers older than 570; GPUs that have no such limit", "temperature.gpu.tlimit"},
	monitor.FanPercent:           {"speed of the first fan as the driver asks for it, of its nominal one; may be above 100; it is not measured", "GPUs without fans of their own, as in servers and laptops", "fan.speed"},

	monitor.PowerMW:             {"power that the board draws: mean of 1 s on Ampere (but the A100) and later, of the moment before", "boards that do not measure it, as in some laptops; many integrated GPUs", "power.draw"},
	monitor.PowerInstantMW:      {"power of this moment", "drivers older than 525, driver 530; boards that do not measure it", "power.draw.instant"},
	monitor.PowerLimitMW:        {"the limit that counts, of all that apply", "boards without a limit, as in many laptops; integrated GPUs", "enforced.power.limit"},
	monitor.PowerLimitDefaultMW: {"the limit after the driver was loaded", "as `power_limit_mw`", "power.default_limit"},
	monitor.EnergyJoules:        {"energy since the driver was loaded; when it begins at 0 again the driver was loaded anew", "GPUs older than Volta, drivers older than 384; integrated GPUs whose driver does not tell", ""},

	monitor.ClockGraphicsMHz:    {"clock of the cores", "integrated GPUs whose driver does not tell", "clocks.current.graphics"},
	monitor.ClockSMMHz:          {"clock of the multiprocessors (SM)", "integrated GPUs whose driver does not tell", "clocks.current.sm"},
	monitor.ClockMemoryMHz:      {"clock of the memory", "integrated GPUs whose driver does not tell", "clocks.current.memory"},
	monitor.ClockVideoMHz:       {"clock of the video engines", "integrated GPUs whose driver does not tell", "clocks.current.video"},
	monitor.ClockGraphicsMaxMHz: {"highest clock of the cores", "integrated GPUs whose driver does not tell; guests with a vGPU", "clocks.max.graphics"},
	monitor.ClockMemoryMaxMHz:   {"highest clock of the memory", "integrated GPUs whose driver does not tell; guests with a vGPU", "clocks.max.memory"},
	monitor.PerformanceState:    {"P-state: 0 is the fastest, 15 the slowest", "where the driver does not know it (`not_found`)", "pstate"},
	monitor.ThrottleReasons:     {"what keeps the clocks low, idleness included", seldom, "clocks_event_reasons.active, before driver 535 clocks_throttle_reasons.active"},
	monitor.PersistenceMode:     {"whether the driver stays ready while nobody uses the GPU", "Windows", "persistence_mode"},
	monitor.ComputeMode:         {"who may compute on the GPU", seldom, "compute_mode"},

	monitor.PCIeGeneration:       {"generation of the PCIe link now; falls while the GPU is idle", noPCIe, "pcie.link.gen.current"},
	monitor.PCIeGenerationMax:    {"highest generation that GPU and slot have in common", noPCIe, "pcie.link.gen.max"},
	monitor.PCIeWidth:            {"lanes of the PCIe link now", noPCIe, "pcie.link.width.current"},
	monitor.PCIeWidthMax:         {"most lanes that GPU and slot have in common", noPCIe, "pcie.link.width.max"},
	monitor.PCIeTxBytesPerSecond: {"data from the GPU to the host", noPCIe + "; the first refresh, as `not_sampled`", ""},
	monitor.PCIeRxBytesPerSecond: {"data from the host to the GPU", noPCIe + "; the first refresh, as `not_sampled`", ""},
	monitor.PCIeReplays:          {"packets that had to be sent again since the driver was loaded", noPCIe, ""},

	monitor.NVLinkTxBytesPerSecond: {"data sent over all NVLinks together", "GPUs without NVLink; drivers older than 450; the first refresh, as `not_sampled`", ""},
	monitor.NVLinkRxBytesPerSecond: {"data received over all NVLinks together", "GPUs without NVLink; drivers older than 450; the first refresh, as `not_sampled`", ""},
	monitor.NVLinkLinksActive:      {"NVLinks that are up", "GPUs without NVLink", ""},
	monitor.NVLinkErrors:           {"broken packets, or parts of packets, of all NVLinks together", "GPUs without NVLink; while no link is up (`not_found`)", ""},
	monitor.NVLinkReplays:          {"packets sent again on all NVLinks together", "as `nvlink_errors`; NVLink 5, which does not count them", ""},
	monitor.NVLinkRecoveries:       {"times that an NVLink had to be trained again, all together", "as `nvlink_errors`", ""},
	monitor.FabricState:            {"whether the GPU has joined the fabric of NVSwitches", "GPUs older than Hopper, drivers older than 525", "fabric.state"},

	monitor.ECCEnabled:              {"whether the memory corrects errors", "GPUs without ECC memory", "ecc.mode.current"},
	monitor.ECCPending:              {"whether that will change with the next reset", "GPUs without ECC memory", "ecc.mode.pending, where it differs from ecc.mode.current"},
	monitor.ECCUncorrectedVolatile:  {"errors that could not be corrected, since the driver was loaded", withoutECC, "ecc.errors.uncorrected.volatile.total"},
	monitor.ECCCorrectedVolatile:    {"errors that were corrected, since the driver was loaded", withoutECC, "ecc.errors.corrected.volatile.total"},
	monitor.ECCUncorrectedAggregate: {"errors that could not be corrected, in the life of the GPU", withoutECC, "ecc.errors.uncorrected.aggregate.total"},
	monitor.ECCCorrectedAggregate:   {"errors that were corrected, in the life of the GPU", withoutECC, "ecc.errors.corrected.aggregate.total"},
	monitor.RetiredPages:            {"memory pages that were set aside for good", "Ampere and later, which remap rows instead; GPUs without ECC memory", "retired_pages.single_bit_ecc.count and retired_pages.double_bit.count together"},
	monitor.RetiredPagesPending:     {"whether pages wait for a reset to be set aside", "as `retired_pages`", "retired_pages.pending"},
	monitor.RowsRemapped:            {"memory rows that spare ones stand in for", "GPUs older than Ampere, drivers older than 450; while there are MIG instances", "remapped_rows.correctable and remapped_rows.uncorrectable together"},
	monitor.RowsRemapPending:        {"whether rows wait for a reset to be remapped", "as `rows_remapped`", "remapped_rows.pending"},
	monitor.RowsRemapFailed:         {"whether there was no spare row for one: the GPU should be replaced", "as `rows_remapped`", "remapped_rows.failure"},
	monitor.RecoveryAction:          {"what the driver wants to be done, so that the GPU works again", "drivers older than 565", "gpu_recovery_action"},
	monitor.MIGEnabled:              {"whether the GPU is in MIG mode", "GPUs that cannot be split, drivers older than 450", "mig.mode.current"},
}
