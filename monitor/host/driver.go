package host

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// signs are what a loaded driver leaves in the file system, the most telling
// first. Initialising NVML as root without one of them would create device
// nodes.
var signs = []string{
	"/proc/driver/nvidia",
	"/sys/module/nvidia",
	"/dev/nvidiactl",
	"/dev/dxg", // Windows' driver, seen from WSL
	// Jetson before Thor:
	"/sys/module/nvgpu",
	"/dev/nvgpu/igpu0",
	"/dev/nvhost-gpu",
	"/dev/nvhost-ctrl-gpu",
	"/dev/nvmap",
}

// DriverInSight reports whether there is a sign of an NVIDIA driver under root,
// and which: the path that was found. On Windows it does not look: a library
// without its driver says so there by itself.
func DriverInSight(root string) (found bool, evidence string) {
	r := rootOf(root)
	if runtime.GOOS == "windows" && r.Here() {
		return true, "Windows"
	}
	for _, path := range signs {
		if r.Exists(path) {
			return true, path
		}
	}
	return false, ""
}

// KernelModuleVersion returns the version of the kernel module that is loaded,
// such as 580.95.05: from /proc/driver/nvidia/version, else from
// /sys/module/nvidia/version. Its error wraps fs.ErrNotExist where no module
// of that kind is loaded.
func KernelModuleVersion(root string) (string, error) {
	r := rootOf(root)
	const proc, sys = "/proc/driver/nvidia/version", "/sys/module/nvidia/version"
	data, err := r.ReadFile(proc, maxLine)
	if err == nil {
		if v := parseModuleVersion(data); v != "" {
			return v, nil
		}
		err = fmt.Errorf("%s: %w", proc, ErrMalformed)
	}
	data, sysErr := r.ReadFile(sys, maxLine)
	if sysErr == nil {
		if v := cleanLine(data); isVersion(v) {
			return v, nil
		}
		sysErr = fmt.Errorf("%s: %w", sys, ErrMalformed)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = sysErr
	}
	return "", fmt.Errorf("version of the kernel module: %w", err)
}
