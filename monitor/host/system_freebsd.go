package host

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"

	"nvtop-lite/monitor"
)

// nativeCPU reads kern.cp_time: user, nice, system, interrupt, idle, each a C
// long.
func nativeCPU() (cpuTimes, error) {
	raw, err := unix.SysctlRaw("kern.cp_time")
	if err != nil {
		return cpuTimes{}, err
	}
	const states, idle, long = 5, 4, 8
	if len(raw) != states*long {
		return cpuTimes{}, ErrMalformed
	}
	var t cpuTimes
	for i := range states {
		v := binary.NativeEndian.Uint64(raw[i*long:])
		t.total += v
		if i != idle {
			t.busy += v
		}
	}
	return t, nil
}

func nativeMemory() (total, available monitor.Reading) {
	bytes, err := unix.SysctlUint64("hw.physmem")
	if err != nil {
		total = Failed("hw.physmem", err)
	} else {
		total = monitor.OfUint(bytes)
	}
	var pages uint64
	for _, name := range []string{"vm.stats.vm.v_free_count", "vm.stats.vm.v_inactive_count"} {
		n, err := unix.SysctlUint32(name)
		if err != nil {
			return total, Failed(name, err)
		}
		pages += uint64(n)
	}
	available = monitor.OfUint(pages * uint64(os.Getpagesize()))
	available.Provenance = monitor.Estimated
	return total, available
}

func nativeBootTime() (int64, error) {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return 0, err
	}
	return tv.Nano(), nil
}

func nativeBootID() monitor.Text { return monitor.UnknownText(monitor.NotSupported) }

func nativeModel() monitor.Text { return monitor.UnknownText(monitor.NotSupported) }
