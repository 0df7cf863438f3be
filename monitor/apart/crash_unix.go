//go:build !windows

package apart

import (
	"os"
	"os/exec"
)

// crashFD is where the driver process finds the other end of the program's
// standard error.
const crashFD = 3

func passCrash(cmd *exec.Cmd, crash *os.File) { cmd.ExtraFiles = []*os.File{crash} }
