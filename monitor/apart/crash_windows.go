package apart

import "os"

func passCrash(*os.ProcAttr, *os.File) {}
