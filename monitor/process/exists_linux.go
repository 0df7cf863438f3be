package process

import "golang.org/x/sys/unix"

// exists asks the kernel whether there is a process of that number here, which
// it answers even where /proc hides it. Signal 0 is none: nothing is sent.
func exists(pid uint32) bool {
	err := unix.Kill(int(pid), 0)
	return err == nil || err == unix.EPERM
}
