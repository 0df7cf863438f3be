//go:build !linux && !windows

package nvml

import "runtime"

// bareName never matches.
const bareName = ""

// searchPath lists what to try: there is no NVML for this system.
func searchPath(explicit string) []string {
	if explicit != "" {
		return []string{explicit}
	}
	return nil
}

func load(string) (uintptr, error) {
	return 0, loadError("NVML does not exist for " + runtime.GOOS)
}

func symbol(uintptr, string) uintptr { return 0 }

// fileOf is not needed where only full paths are tried.
func fileOf(_ uintptr, name string) string { return name }

// openHint says what is behind the failure.
func openHint(bool) string { return "NVML does not exist for " + runtime.GOOS }
