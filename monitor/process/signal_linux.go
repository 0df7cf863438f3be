package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

var signals = []Signal{
	{"SIGTERM", int(unix.SIGTERM), "asks it to end", true},
	{"SIGINT", int(unix.SIGINT), "asks it to stop, as Ctrl+C does", true},
	{"SIGHUP", int(unix.SIGHUP), "ends it, or has it read its settings again", true},
	{"SIGQUIT", int(unix.SIGQUIT), "ends it with a core dump", true},
	{"SIGKILL", int(unix.SIGKILL), "ends it at once; it saves nothing", true},
	{"SIGSTOP", int(unix.SIGSTOP), "halts it; it keeps its GPU memory", false},
	{"SIGCONT", int(unix.SIGCONT), "lets it go on after SIGSTOP", false},
	{"SIGUSR1", int(unix.SIGUSR1), "ends it, unless it has a use for it", true},
	{"SIGUSR2", int(unix.SIGUSR2), "ends it, unless it has a use for it", true},
}

// ended reports whether nothing of the process runs any more. Its first thread
// may end before the others, and is a zombie until they have ended too.
func (s stat) ended() bool {
	return (s.state == 'Z' || s.state == 'X') && s.threads <= 1
}

type system struct {
	tree *tree
	self uint32 // its children are spared
	uid  uint32 // the real one: the rights of a set-uid program are not the user's

	holding func(pid uint32) holding
	pidfd   func(pid, flags int) (int, error)
}

func newSystem(h *host.Reader) system {
	t := newTree(h)
	return system{
		tree: t, self: uint32(os.Getpid()), uid: uint32(os.Getuid()),
		holding: t.holding, pidfd: unix.PidfdOpen,
	}
}

// identify completes t with its owner, and says why it is not to be signalled.
func (s *system) identify(t *Target) error {
	// In place of its own /proc a container may have the host's.
	if me, err := s.tree.root.ReadLink("/proc/self"); err != nil || me != strconv.Itoa(os.Getpid()) {
		return errOutside(t.PID)
	}
	if err := s.verify(*t); err != nil {
		return err
	}
	uid, err := s.tree.uid(t.PID)
	if err != nil {
		return failure(t.PID, err)
	}
	t.uid = uid
	if t.user == "" {
		t.user = s.tree.users.name(uid)
	}
	if s.uid != 0 && uid != s.uid {
		return errForbidden(*t)
	}
	switch v := s.tree.judge(s.holding(t.PID)); {
	case v.why != monitor.Known:
		return errOutside(t.PID)
	case v.namespace != monitor.NamespaceSame:
		return monitor.Errorf("process %d has no GPU open", t.PID)
	}
	// It had its number then and has it now, so all that was read is its own.
	return s.verify(*t)
}

// verify says whether the PID is still that process.
func (s *system) verify(t Target) error {
	var buf [1024]byte
	st, err := s.tree.stat(t.PID, buf[:])
	switch {
	case err != nil:
		return failure(t.PID, err)
	case st.start != t.StartTicks:
		return errReused(t.PID)
	case st.ended():
		return errEnded(t.PID)
	case st.parent == s.self:
		return errChild(t.PID)
	}
	return nil
}

// failure puts into words why a process could not be looked at.
func failure(pid uint32, err error) error {
	if host.Reason(err) == monitor.NotFound {
		return errEnded(pid)
	}
	return monitor.Errorf("process %d cannot be looked at: %w", pid, err)
}

func (s *system) send(t Target, sig Signal) error {
	number := unix.Signal(sig.Number)
	kill := func() error { return unix.Kill(int(t.PID), number) }
	switch fd, err := s.pidfd(int(t.PID), 0); err {
	case nil:
		// It stays with the process that has the PID now. If that turns out to
		// be the right one, the signal cannot reach another.
		defer unix.Close(fd)
		kill = func() error { return unix.PidfdSendSignal(fd, number, nil, 0) }
	case unix.ESRCH:
		return errEnded(t.PID)
	case unix.ENOSYS, unix.EPERM:
		// Linux before 5.3, or a container that does not let us: between the
		// look and the signal the PID might pass to another process.
	default:
		return monitor.Errorf("process %d: pidfd_open: %w", t.PID, err)
	}
	now := t
	if err := s.identify(&now); err != nil {
		return err
	}
	if now.uid != t.uid {
		return monitor.Errorf("process %d belongs to another user by now", t.PID)
	}
	switch err := kill(); err {
	case nil:
		return nil
	case unix.ESRCH:
		return errEnded(t.PID)
	case unix.EPERM:
		return errForbidden(t)
	default:
		return monitor.Errorf("process %d: %s: %w", t.PID, sig.Name, err)
	}
}

func (s *system) alive(t Target) (alive, stuck bool) {
	var buf [1024]byte
	st, err := s.tree.stat(t.PID, buf[:])
	if err != nil {
		return host.Reason(err) != monitor.NotFound, false // only what is known to be gone has ended
	}
	if st.start != t.StartTicks || st.ended() {
		return false, false
	}
	return true, s.stuck(t.PID)
}

// stuck reports whether each thread that has not ended waits uninterruptibly. A
// signal that ends a process ends its other threads.
func (s *system) stuck(pid uint32) bool {
	threads, err := os.ReadDir(s.tree.root.Path(procPath(pid, "task")))
	if err != nil {
		return false
	}
	stuck := false
	for _, thread := range threads {
		var buf [1024]byte
		data, err := s.tree.root.Read(procPath(pid, "task/"+thread.Name()+"/stat"), buf[:])
		if err != nil {
			continue // it has ended
		}
		switch st, err := parseStat(data); {
		case err != nil:
			return false
		case st.state == 'D':
			stuck = true
		case st.state != 'Z' && st.state != 'X':
			return false
		}
	}
	return stuck
}
