package host

import "fmt"

// The kernel gives its first namespaces fixed numbers.
const (
	initialPIDNamespace    = "pid:[4026531836]"
	initialCgroupNamespace = "cgroup:[4026531835]"
)

// PIDNamespace reports whether the PIDs in /proc under root are those of the
// initial namespace, which the driver's PIDs belong to. An error means that it
// cannot be told, as in some sandboxes; then no PID is to be trusted.
func PIDNamespace(root string) (initial bool, err error) {
	r := rootOf(root)
	if !r.Files() {
		return true, nil // these systems have none
	}
	own, err := r.ReadLink("/proc/self/ns/pid")
	if own == initialPIDNamespace {
		return true, nil
	}
	// A container may see the host's /proc under another root, or in place of
	// its own: PID 1 tells whose PIDs are shown there.
	first, firstErr := r.ReadLink("/proc/1/ns/pid")
	switch {
	case first == initialPIDNamespace:
		return true, nil
	case err == nil && isNamespace(own, "pid"), firstErr == nil && isNamespace(first, "pid"):
		return false, nil
	case err == nil:
		err = ErrMalformed
	}
	return false, fmt.Errorf("PID namespace: %w", err)
}

// CgroupNamespace reports whether the paths in /proc/PID/cgroup are whole: in a
// private namespace they lack what lies above our own. Kernels without such
// namespaces count as initial.
func CgroupNamespace(root string) (initial bool) {
	r := rootOf(root)
	link, err := r.ReadLink("/proc/self/ns/cgroup")
	if err != nil {
		return !r.Exists("/proc/self/ns")
	}
	return link == initialCgroupNamespace
}

func isNamespace(link, kind string) bool {
	n := len(kind)
	return len(link) > n+3 && link[:n] == kind && link[n:n+2] == ":[" && link[len(link)-1] == ']'
}
