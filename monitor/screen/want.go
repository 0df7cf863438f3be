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
		monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond, monitor.NVLinkLinksActive,
	)
	// alarms are what health findings are made of.
	alarms = monitor.Of(
		monitor.TemperatureSlowdownC, monitor.TemperatureMarginC, monitor.ThrottleReasons, monitor.PersistenceMode,
		monitor.PCIeGeneration, monitor.PCIeGenerationMax, monitor.PCIeWidth, monitor.PCIeWidthMax,
		monitor.FabricState, monitor.ECCEnabled, monitor.ECCUncorrectedVolatile,
		monitor.RetiredPagesPending, monitor.RowsRemapPending, monitor.RowsRemapFailed, monitor.RecoveryAction,
	)
)

// Want returns what a view needs.
func (s *Screen) Want(v *View) monitor.Want {
	w := rows
	w.Readings |= alarms.Readings
	if v.Mode != List {
		w.Readings |= boxes.Readings
	}
	if v.ShowProcesses {
		w = w.With(monitor.GroupProcessLoad)
	}
	return w
}
