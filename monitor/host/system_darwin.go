package host

import (
	"errors"

	"golang.org/x/sys/unix"

	"nvtop-lite/monitor"
)

// Load and available memory need calls into Mach, which cannot be made without
// linking its library.

func nativeCPU() (cpuTimes, error) { return cpuTimes{}, errors.ErrUnsupported }

func nativeMemory() (total, available monitor.Reading) {
	available = monitor.Unknown(monitor.NotSupported)
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Failed("hw.memsize", err), available
	}
	return monitor.OfUint(bytes), available
}

func nativeBootTime() (int64, error) {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return 0, err
	}
	return tv.Nano(), nil
}

func nativeBootID() monitor.Text { return sysctlText("kern.bootsessionuuid") }

func nativeModel() monitor.Text { return sysctlText("hw.model") }

func sysctlText(name string) monitor.Text {
	s, err := unix.Sysctl(name)
	if err != nil {
		return monitor.Text{Reason: reasonHere(err), Err: callError(name, err)}
	}
	return monitor.OfText(cleanLine([]byte(s)))
}
