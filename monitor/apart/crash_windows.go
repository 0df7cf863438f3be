package apart

import (
	"os"
	"os/exec"
)

func passCrash(*exec.Cmd, *os.File) {}
