package nvml

import (
	"path/filepath"
	"runtime"

	"golang.org/x/sys/windows"
)

// bareName never matches: every path that is tried on Windows is a full one.
const bareName = ""

// searchPath lists what to try, in order. The folders come from the system, not
// from environment variables, which anyone who starts the program can set.
func searchPath(explicit string) []string {
	if explicit != "" {
		if abs, err := filepath.Abs(explicit); err == nil {
			explicit = abs
		}
		return []string{explicit}
	}
	var list []string
	if dir, err := windows.GetSystemDirectory(); err == nil {
		list = append(list, filepath.Join(dir, "nvml.dll"))
	}
	if dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramFiles, 0); err == nil {
		list = append(list, filepath.Join(dir, "NVIDIA Corporation", "NVSMI", "nvml.dll"))
	}
	return list
}

// load loads a library for good. What it needs in turn is looked for beside it
// and in System32, never in the working folder, the program's own or PATH.
func load(path string) (uintptr, error) {
	h, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR|windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if err == windows.ERROR_BAD_EXE_FORMAT { // Windows says "%1 is not a valid Win32 application."
		err = loadError("is no library for this processor (" + runtime.GOARCH + "), or is damaged")
	}
	return uintptr(h), err
}

// symbol returns the address of a function, 0 where there is none.
func symbol(handle uintptr, name string) uintptr {
	addr, err := windows.GetProcAddress(windows.Handle(handle), name)
	if err != nil {
		return 0
	}
	return addr
}

// fileOf is not needed where only full paths are tried.
func fileOf(_ uintptr, name string) string { return name }

// openHint says what may be behind a failure on this machine.
func openHint(bool) string { return "" }
