//go:build linux || windows

package process

import "nvtop-lite/monitor"

// What Send and Pin say of a process that is not to be signalled, where any can
// be.

func errEnded(pid uint32) error { return monitor.Errorf("process %d has ended", pid) }

func errReused(pid uint32) error { return monitor.Errorf("PID %d is another process by now", pid) }

func errChild(pid uint32) error {
	return monitor.Errorf("process %d is a child of this program, as the driver process is", pid)
}

func errForbidden(t Target) error {
	if t.user == "" {
		return monitor.Errorf("no permission to signal process %d", t.PID)
	}
	return monitor.Errorf("no permission to signal process %d of %s", t.PID, t.user)
}
