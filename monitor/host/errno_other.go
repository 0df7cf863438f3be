//go:build !unix && !windows

package host

import "syscall"

func errnoName(e syscall.Errno) string { return e.Error() }
