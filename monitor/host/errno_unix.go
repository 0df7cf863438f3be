//go:build unix

package host

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func errnoName(e syscall.Errno) string {
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}
