package nvml

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/ebitengine/purego"
)

// bareName is what the loader looks up by its own rules. It is never the name
// without the number: that one may be the stub of the CUDA toolkit.
const bareName = "libnvidia-ml.so.1"

// wslDevice is there on the Linux of Windows (WSL 2).
var wslDevice = "/dev/dxg"

// searchPath lists what to try, in order.
func searchPath(explicit string) []string {
	if explicit != "" {
		// A name without a slash would send the loader on a search.
		if abs, err := filepath.Abs(explicit); err == nil {
			explicit = abs
		}
		return []string{explicit}
	}
	var list []string
	if _, err := os.Stat(wslDevice); err == nil {
		// A library for native Linux in the usual places does not work here.
		list = append(list, "/usr/lib/wsl/lib/"+bareName)
		const drivers = "/usr/lib/wsl/drivers/"
		entries, _ := os.ReadDir(drivers)
		for _, e := range entries {
			path := drivers + e.Name() + "/" + bareName
			if _, err := os.Stat(path); err == nil {
				list = append(list, path)
			}
		}
	}
	list = append(list, bareName, "/run/opengl-driver/lib/"+bareName)
	switch runtime.GOARCH {
	case "arm64":
		for _, dir := range []string{"/usr/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra", "/usr/lib64"} {
			list = append(list, dir+"/"+bareName)
		}
	default:
		list = append(list, "/usr/lib/x86_64-linux-gnu/"+bareName, "/usr/lib64/"+bareName)
	}
	return list
}

// load loads a library for good. It is never unloaded: closing NVML has crashed
// programs.
func load(path string) (uintptr, error) {
	// The text of a failure belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol returns the address of a function, 0 where there is none.
func symbol(handle uintptr, name string) uintptr {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	addr, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return addr
}

// fileOf returns the file that the code at addr comes from, or the name that
// the loader found it by where the kernel does not tell.
func fileOf(addr uintptr, name string) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return name
	}
	for line, text := "", string(maps); text != ""; {
		line, text, _ = strings.Cut(text, "\n")
		// 7f0c1a000000-7f0c1a021000 r-xp 00001000 08:01 1234    /usr/lib/…
		first, rest, _ := strings.Cut(line, "-")
		last, _, _ := strings.Cut(rest, " ")
		from, err := strconv.ParseUint(first, 16, 64)
		to, err2 := strconv.ParseUint(last, 16, 64)
		if err != nil || err2 != nil || uint64(addr) < from || uint64(addr) >= to {
			continue
		}
		if i := strings.IndexByte(line, '/'); i >= 0 {
			return line[i:]
		}
	}
	return name
}

// openHint says what may be behind a failure on this machine.
func openHint(loaded bool) string {
	if loaded {
		return ""
	}
	// Whose loader is at work counts, not which C libraries are installed.
	maps, _ := os.ReadFile("/proc/self/maps")
	if strings.Contains(string(maps), "/ld-musl-") {
		return "this program runs with the musl C library, and NVML needs glibc; on Alpine: apk add gcompat"
	}
	return ""
}
