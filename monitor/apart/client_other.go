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

// startLoaded is for Linux: twomode.Static is false here.
func startLoaded(*os.ProcAttr) (*os.Process, error) { panic("no file of two modes") }

// arrive does nothing: no loader stands between the system and this program.
func arrive() {}
