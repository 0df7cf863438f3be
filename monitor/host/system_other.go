//go:build !windows && !darwin && !freebsd

package host

import (
	"errors"

	"nvtop-lite/monitor"
)

// Systems that are neither Linux, which has files, nor one we know.

func nativeCPU() (cpuTimes, error) { return cpuTimes{}, errors.ErrUnsupported }

func nativeMemory() (total, available monitor.Reading) {
	return monitor.Unknown(monitor.NotSupported), monitor.Unknown(monitor.NotSupported)
}

func nativeBootTime() (int64, error) { return 0, errors.ErrUnsupported }

func nativeBootID() monitor.Text { return monitor.UnknownText(monitor.NotSupported) }

func nativeModel() monitor.Text { return monitor.UnknownText(monitor.NotSupported) }
