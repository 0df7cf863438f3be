package doctor

import (
	"strings"

	"nvtop-lite/monitor/host"
)

// ownLibrary is an NVML that a package of the distribution has put where the
// loader looks, "" where there is none.
func ownLibrary(r host.Root) string {
	for _, folder := range []string{"x86_64-linux-gnu/", "aarch64-linux-gnu/", ""} {
		if name := "/usr/lib/" + folder + "libnvidia-ml.so.1"; r.Exists(name) {
			return name
		}
	}
	return ""
}

// windowsDriver is why there is no driver, or no GPU, under WSL.
func windowsDriver() (cause, cure string) {
	return "the driver of Windows is not passed into this system", "install the NVIDIA driver in Windows, not here, then: wsl --shutdown; its library is in /usr/lib/wsl/lib"
}

// judgeWSL says what the Linux of Windows knows of Windows, and whose library is in
// use.
func (f *Found) judgeWSL() {
	if f.System.Platform != host.WSL || f.Library.Path == "" {
		return
	}
	if _, cure := windowsDriver(); f.explicit == "" && !strings.HasPrefix(string(f.Library.Path), "/usr/lib/wsl/") {
		f.add(warning, "wsl_library", "the library in use is not that of Windows' driver, which is in /usr/lib/wsl",
			"none there could be used: see its answer under library", cure)
	} else if f.own != "" {
		f.add(info, "wsl_passed_over", f.own+" is passed over",
			"a package of this distribution put it there; it is for a driver of Linux, and finds no GPU here", "for other programs remove that package")
	}
	if len(f.GPUs) > 0 {
		f.add(info, "wsl", "driver and GPUs are those of Windows, of whose processes nothing is known here",
			"this is a virtual machine; which memory a process has is for Windows to know, and NVML does not tell it here",
			"Task Manager in Windows shows its processes, and all of this machine's as one")
	}
}
