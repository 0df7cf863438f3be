//go:build !windows

package apart_test

import "syscall"

// crashWord is what is said of crash.
const crashWord = "killed"

// crash ends the process at once.
func crash() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}
