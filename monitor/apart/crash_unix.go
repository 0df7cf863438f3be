//go:build !windows

package apart

import "os"

// crashFD is where the driver process finds the other end of the program's
// standard error.
const crashFD = 3

func passCrash(attr *os.ProcAttr, crash *os.File) { attr.Files = append(attr.Files, crash) }
