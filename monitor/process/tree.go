package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	maxPID     = 1 << 22 // the kernel's own limit; what is above is no PID
	maxCmdline = 32 << 10
	maxCommand = 4096
	maxName    = 256
	maxFDs     = 1 << 16
)

// tree looks processes up in /proc under a root.
type tree struct {
	host  *host.Reader
	root  host.Root
	hz    uint64
	page  uint64
	buf   [1024]byte // sample's
	users users

	hiding   bool // absent's
	mountsAt time.Time

	initial func() (bool, error) // whether the PIDs are the driver's
	whole   func() bool          // whether the cgroup paths are whole

	bootMu sync.Mutex
	boot   int64
	bootAt time.Time
}

func newTree(h *host.Reader) *tree {
	root := h.Root()
	return &tree{
		host:    h,
		root:    root,
		hz:      uint64(h.ClockTicks()),
		page:    uint64(os.Getpagesize()),
		users:   users{root: root},
		initial: sync.OnceValues(func() (bool, error) { return host.PIDNamespace(string(root)) }),
		whole:   sync.OnceValue(func() bool { return host.CgroupNamespace(string(root)) }),
	}
}

// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func procPath(pid uint32, file string) string {
	return "/proc/" + strconv.FormatUint(uint64(pid), 10) + "/" + file
}

func (t *tree) sample(pid uint32, before *sample, now int64) (sample, error) {
	st, err := t.stat(pid, t.buf[:])
	if err != nil {
		return sample{}, err
	}
	s := sample{
		start: st.start,
		cpu:   ticks(st.cpu, t.hz),
		comm:  st.comm,
		ended: st.state == 'Z' || st.state == 'X',
	}
	if boot := t.bootTime(); boot != 0 {
		s.startTime = boot + int64(ticks(st.start, t.hz))
	}
	s.pages = st.rss
	switch {
	case s.ended:
		s.memory = monitor.Unknown(monitor.NotFound) // its memory went before it
	case before != nil && before.start == s.start && before.pages == s.pages && before.memory.Known() && now-before.memory.At < int64(memoryHolds):
		s.memory = before.memory
	default:
		s.memory = t.memory(pid)
	}
	return s, nil
}

// memory reads the resident pages from statm. Field 24 of stat costs nothing, but
// newer kernels do not add up in it what each CPU has counted for itself: small
// processes have 0 pages there. Where it stays the same, statm has not changed much.
func (t *tree) memory(pid uint32) monitor.Reading {
	data, err := t.root.ReadOnce(procPath(pid, "statm"), t.buf[:])
	if err != nil {
		return monitor.Unknown(host.Reason(err))
	}
	pages, err := parseStatm(data)
	if err != nil {
		return monitor.Unknown(host.Reason(err))
	}
	return monitor.OfUint(pages * t.page)
}

// ticks converts clock ticks without overflow.
func ticks(n, hz uint64) time.Duration {
	return time.Duration(n/hz)*time.Second + time.Duration(n%hz)*time.Second/time.Duration(hz)
}

func (t *tree) stat(pid uint32, buf []byte) (stat, error) {
	if pid == 0 || pid > maxPID {
		return stat{}, fs.ErrNotExist
	}
	data, err := t.root.ReadOnce(procPath(pid, "stat"), buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(data)
}

// bootTime is read again from time to time, since it moves with the clock.
func (t *tree) bootTime() int64 {
	t.bootMu.Lock()
	defer t.bootMu.Unlock()
	if t.bootAt.IsZero() || time.Since(t.bootAt) > 10*time.Second {
		t.boot, _ = t.host.BootTime() // 0 where it cannot be read: no start time
		t.bootAt = time.Now()
	}
	return t.boot
}

func (t *tree) describe(pid uint32, s sample) (facts, bool) {
	var f facts
	f.user, f.uid = t.user(pid)
	f.name, f.command = t.names(pid, s.comm)
	f.container, f.job, f.unit = t.groups(pid)
	f.holds = t.holding(pid)
	if s.ended {
		f.holds = holdingUnreadable // a zombie's files are closed
	}
	var buf [1024]byte
	again, err := t.stat(pid, buf[:])
	return f, err == nil && again.start == s.start
}

func (t *tree) names(pid uint32, comm string) (name, command monitor.Text) {
	data, err := t.root.ReadFile(procPath(pid, "cmdline"), maxCmdline)
	args := splitCmdline(data)
	switch {
	case err != nil:
		command = monitor.UnknownText(host.Reason(err))
	case len(args) == 0: // a zombie, or a thread of the kernel
		command = monitor.UnknownText(monitor.NotFound)
	default:
		command = monitor.OfText(limit(quoted(args), maxCommand))
	}
	if n := nameOf(args, comm); n != "" {
		return monitor.OfText(limit(n, maxName)), command
	}
	if comm == "" {
		return monitor.UnknownText(monitor.NotFound), command
	}
	return monitor.OfText(limit("["+comm+"]", maxName)), command
}

func (t *tree) user(pid uint32) (monitor.Text, uint32) {
	uid, err := t.uid(pid)
	if err != nil {
		return monitor.UnknownText(host.Reason(err)), 0
	}
	return monitor.OfText(t.users.name(uid)), uid
}

// uid reads the real user id of a process.
func (t *tree) uid(pid uint32) (uint32, error) {
	data, err := t.root.ReadFile(procPath(pid, "status"), 4096)
	if err != nil {
		return 0, err
	}
	uid, ok := parseUID(data)
	if !ok {
		return 0, monitor.Errorf("status: %w", host.ErrMalformed)
	}
	return uid, nil
}

func (t *tree) groups(pid uint32) (monitor.Container, monitor.Job, monitor.Text) {
	data, err := t.root.ReadFile(procPath(pid, "cgroup"), 64<<10)
	if err != nil {
		why := host.Reason(err)
		return monitor.Container{Reason: why}, monitor.Job{Reason: why}, monitor.UnknownText(why)
	}
	container, job, unit := parseCgroup(data)
	if !t.whole() {
		// What lies above our own group is cut off: nothing found is no proof
		// that there is nothing.
		if container.ID == "" {
			container.Reason = monitor.NotSupported
		}
		if job.ID == "" {
			job.Reason = monitor.NotSupported
		}
		if unit.Value == "" {
			unit.Reason = monitor.NotSupported
		}
	}
	return container, job, unit
}

// holding looks for one of the driver's device files among the open ones.
func (t *tree) holding(pid uint32) holding {
	path := t.root.Path(procPath(pid, "fd"))
	dir, err := os.Open(path)
	if err != nil {
		return holdingUnreadable
	}
	defer dir.Close()
	answer := holdingNone
	for seen := 0; seen < maxFDs; {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			link, err := os.Readlink(path + string(os.PathSeparator) + name)
			if err == nil && isDeviceFile(link) {
				return holdingDevice
			}
			if errors.Is(err, fs.ErrPermission) {
				answer = holdingUnreadable
			}
		}
		if seen += len(names); err == io.EOF {
			return answer
		} else if err != nil {
			return holdingUnreadable
		}
	}
	return holdingUnreadable
}

// isDeviceFile knows the device files through which a GPU is used: NVIDIA's, WSL's
// and those of Jetson.
func isDeviceFile(path string) bool {
	rest, ok := strings.CutPrefix(path, "/dev/")
	if !ok {
		return false
	}
	for _, prefix := range []string{"nvidia", "nvhost-", "nvgpu/"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	return rest == "dxg" || rest == "nvmap"
}

func (t *tree) judge(h holding) verdict {
	initial, err := t.initial()
	switch {
	case h == holdingDevice:
		return verdict{monitor.NamespaceSame, monitor.Known}
	case initial && h == holdingNone:
		// It is the process of that number, but perhaps no longer the one the
		// driver speaks of.
		return verdict{monitor.NamespaceUnknown, monitor.Known}
	case initial:
		return verdict{monitor.NamespaceSame, monitor.Known}
	}
	v := verdict{namespace: monitor.NamespaceOutside}
	if err != nil {
		v.namespace = monitor.NamespaceUnknown
	}
	switch h {
	case holdingNone:
		v.why = monitor.NotFound
	case holdingUnreadable:
		v.why = monitor.NoPermission
	default:
		v.why = monitor.Timeout
	}
	return v
}

func (t *tree) absent(pid uint32, err error) verdict {
	v := verdict{why: host.Reason(err)}
	initial, nsErr := t.initial()
	if nsErr != nil {
		return v
	}
	if !initial {
		v.namespace = monitor.NamespaceOutside
		return v
	}
	if v.why == monitor.NotFound && pid != 0 && pid <= maxPID && t.hides() {
		// Gone or hidden: the kernel tells which, a tree does not.
		if !t.root.Here() {
			v.why = monitor.NoPermission
		} else if exists(pid) {
			v = verdict{monitor.NamespaceSame, monitor.NoPermission}
		}
		return v
	}
	if v.why != monitor.NotFound {
		v.namespace = monitor.NamespaceSame
	}
	return v
}

// hides reports whether /proc hides the processes of other users. The list of
// mounts is long on a machine with containers, so it is read again but from time to
// time.
func (t *tree) hides() bool {
	if t.mountsAt.IsZero() || time.Since(t.mountsAt) > 10*time.Second {
		data, err := t.root.ReadFile("/proc/self/mounts", 1<<20)
		t.hiding, t.mountsAt = err == nil && parseHides(data), time.Now()
	}
	return t.hiding
}

func (t *tree) title(uint32) string { return "" }
