//go:build !linux && !windows

package apart

import "os"

// programFile is this program.
func programFile() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func place(*os.ProcAttr, Setup) {}

func bind(*os.Process, Setup) {}
