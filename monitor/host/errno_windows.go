package host

import (
	"strconv"
	"syscall"
)

func errnoName(e syscall.Errno) string { return "Windows error " + strconv.Itoa(int(e)) }
