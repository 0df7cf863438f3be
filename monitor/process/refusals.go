//go:build linux || windows

package process

import "fmt"

// What Send and Pin say of a process that is not to be signalled, where any can
// be.

func errEnded(pid uint32) error { return fmt.Errorf("process %d has ended", pid) }

func errReused(pid uint32) error { return fmt.Errorf("PID %d is another process by now", pid) }

func errChild(pid uint32) error {
	return fmt.Errorf("process %d is a child of this program, as the driver process is", pid)
}

func errForbidden(t Target) error {
	if t.user == "" {
		return fmt.Errorf("no permission to signal process %d", t.PID)
	}
	return fmt.Errorf("no permission to signal process %d of %s", t.PID, t.user)
}
