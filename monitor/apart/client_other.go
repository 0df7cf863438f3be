//go:build !linux && !windows

package apart

import "os"

// again is how this program is started again.
func again() (program string, argv []string) {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return program, []string{name}
}

func place(*os.ProcAttr, Setup) {}

func bind(*os.Process, Setup) {}

// startLoaded is for Linux: twomode.Static is false here.
func startLoaded(*os.ProcAttr) (*os.Process, error) { panic("no file of two modes") }

// arrive does nothing: no loader stands between the system and this program.
func arrive() {}
