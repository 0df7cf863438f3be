//go:build !linux && !windows && !darwin

package nvml

import "nvtop-lite/nvml/gen"

func invoke(uintptr, *uint32, *gen.ExcludedDeviceInfo_t, uint32) Return { return ErrFunctionNotFound }
