package driver

import (
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// unknownModel is a model that the driver does not tell, or a new one.
const unknownModel = "unknown"

// modelOf asks after the model of Windows' driver of a GPU: whether it is Windows
// that manages its memory. What fails in passing is worth another try.
func modelOf(dev nvml.Device) (model string, again bool) {
	m, _, err := dev.DriverModel()
	if err != nil {
		why, _ := failure(err)
		return unknownModel, why != monitor.NotSupported
	}
	switch m {
	case nvml.WDDM:
		return "wddm", false
	case nvml.WDM:
		return "tcc", false // as everybody but NVML calls it
	case nvml.MCDM:
		return "mcdm", false
	}
	return unknownModel, false
}
