package host

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"nvtop-lite/monitor"
)

var (
	kernel32                 = windows.NewLazySystemDLL("kernel32.dll")
	procGetSystemTimes       = kernel32.NewProc("GetSystemTimes")
	procGlobalMemoryStatusEx = kernel32.NewProc("GlobalMemoryStatusEx")
)

// nativeCPU calls GetSystemTimes; its kernel time contains the idle time.
func nativeCPU() (cpuTimes, error) {
	if err := procGetSystemTimes.Find(); err != nil {
		return cpuTimes{}, err
	}
	var idle, kernel, user windows.Filetime
	ok, _, err := procGetSystemTimes.Call(uintptr(unsafe.Pointer(&idle)), uintptr(unsafe.Pointer(&kernel)), uintptr(unsafe.Pointer(&user)))
	if ok == 0 {
		return cpuTimes{}, err
	}
	total := ticks100ns(kernel) + ticks100ns(user)
	return cpuTimes{busy: total - min(ticks100ns(idle), total), total: total}, nil
}

func ticks100ns(t windows.Filetime) uint64 {
	return uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime)
}

// memoryStatusEx is MEMORYSTATUSEX.
type memoryStatusEx struct {
	length, load                                       uint32
	totalPhys, availPhys, totalPageFile, availPageFile uint64
	totalVirtual, availVirtual, availExtendedVirtual/* reserved */ uint64
}

func nativeMemory() (total, available monitor.Reading) {
	if procGlobalMemoryStatusEx.Find() != nil {
		return monitor.Unknown(monitor.NotSupported), monitor.Unknown(monitor.NotSupported)
	}
	var m memoryStatusEx
	m.length = uint32(unsafe.Sizeof(m))
	ok, _, err := procGlobalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&m)))
	if ok == 0 {
		u := Failed("GlobalMemoryStatusEx", err)
		return u, u
	}
	return monitor.OfUint(m.totalPhys), monitor.OfUint(m.availPhys)
}

func nativeBootTime() (int64, error) {
	return time.Now().Add(-windows.DurationSinceBoot()).UnixNano(), nil
}

// nativeBootID has nothing to say: Windows gives a boot no identity. Start
// times are absolute there, so that processes need none.
func nativeBootID() monitor.Text { return monitor.UnknownText(monitor.NotSupported) }

// nativeModel reads what the firmware calls the machine.
func nativeModel() monitor.Text {
	const path = `HARDWARE\DESCRIPTION\System\BIOS`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return monitor.UnknownText(reasonHere(err))
	}
	defer key.Close()
	name, _, err := key.GetStringValue("SystemProductName")
	if err != nil {
		return monitor.UnknownText(reasonHere(err))
	}
	if name = cleanLine([]byte(name)); name == "" {
		return monitor.UnknownText(monitor.NotFound)
	}
	return monitor.OfText(name)
}
