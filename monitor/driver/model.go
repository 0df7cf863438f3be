package driver

import "nvtop-lite/nvml"

// modelOf asks after the model of Windows' driver of a GPU: whether it is Windows
// that manages its memory. It says whether that is known.
func modelOf(dev nvml.Device) (model string, ok bool) {
	switch m, _, err := dev.DriverModel(); {
	case err != nil:
	case m == nvml.WDDM:
		return "wddm", true
	case m == nvml.WDM:
		return "tcc", true // as everybody but NVML calls it
	case m == nvml.MCDM:
		return "mcdm", true
	}
	return "unknown", false
}
