//go:build !windows

package driver

import "nvtop-lite/nvml"

// driverModel asks after the model of a GPU's driver: there is but one here, nil.
var driverModel func(nvml.Device) (string, bool)
