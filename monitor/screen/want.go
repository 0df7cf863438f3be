package screen

import "nvtop-lite/monitor"

// What the parts of the screen need.
var (
	// rows are the readings of a GPU in every view.
	rows = monitor.Of(
		monitor.UtilizationPercent, monitor.SMActivePercent,
		monitor.MemoryTotalBytes, monitor.MemoryUsedBytes,
		monitor.TemperatureC, monitor.PowerMW, monitor.PowerLimitMW, monitor.ClockGraphicsMHz, monitor.MIGEnabled,
	).With(monitor.GroupMIG, monitor.GroupProcesses, monitor.GroupXIDs)
	// boxes are those that a box has besides.
	boxes = monitor.Of(
		monitor.EncoderPercent, monitor.DecoderPercent, monitor.TensorActivePercent, monitor.FanPercent,
		monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond,
		monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond,
	)
	// alarms are what health findings are made of.
	alarms = monitor.Of(
		monitor.TemperatureSlowdownC, monitor.TemperatureMarginC, monitor.ThrottleReasons, monitor.PersistenceMode,
		monitor.PCIeGeneration, monitor.PCIeGenerationMax, monitor.PCIeWidth, monitor.PCIeWidthMax,
		monitor.NVLinkLinksActive, monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries,
		monitor.FabricState, monitor.ECCEnabled, monitor.ECCPending, monitor.ECCUncorrectedVolatile,
		monitor.RetiredPagesPending, monitor.RowsRemapPending, monitor.RowsRemapFailed, monitor.RecoveryAction,
	)
)

// numbers are those that only cards, and boxes with many rows, have.
var numbers = monitor.Of(
	monitor.DRAMActivePercent, monitor.SMOccupancyPercent, monitor.JPEGPercent, monitor.OFAPercent, monitor.TemperatureMemoryC,
	monitor.EnergyJoules, monitor.ClockMemoryMHz, monitor.ClockGraphicsMaxMHz, monitor.ClockMemoryMaxMHz, monitor.PerformanceState,
).With(monitor.GroupFans)

// tall are those that only boxes with many rows have.
var tall = monitor.Of(monitor.DRAMActivePercent, monitor.SMOccupancyPercent, monitor.ClockMemoryMHz, monitor.TemperatureMemoryC, monitor.PerformanceState, monitor.EnergyJoules)

// graphs are those that graphs are made of.
var graphs = [numGraphs]monitor.Want{
	GraphPCIe:   monitor.Of(monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond),
	GraphNVLink: monitor.Of(monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond),
}

// Want returns what a view needs, as it was drawn last.
func (s *Screen) Want(v *View) monitor.Want {
	w := rows.And(alarms)
	switch v.Mode {
	case Auto, Boxes:
		w = w.And(boxes)
		if s.lay.kind == Boxes && s.lay.inner > maxInner {
			w = w.And(tall)
		}
	case Numbers:
		w = w.And(boxes).And(numbers)
	}
	if v.Mode != Processes && v.Mode != Numbers {
		w = w.And(graphs[v.Graph%numGraphs])
	}
	if v.ShowProcesses || v.Mode == Processes {
		w = w.With(monitor.GroupProcessLoad)
	}
	return w
}
