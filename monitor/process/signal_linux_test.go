package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// childSignaller signals children of the tests as if others had started them
// and they had a GPU open.
func childSignaller() *Signaller {
	s := NewSignaller(host.Open(""))
	s.self = 0
	s.holding = func(uint32) holding { return holdingDevice }
	return s
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	child := exec.Command("sleep", "1000")
	start(t, child)
	t.Cleanup(func() {
		child.Process.Kill()
		child.Wait()
	})
	return child
}

// listed is a child as it stands in the list of processes.
func listed(child *exec.Cmd) *monitor.Process {
	p := fillOne(here(), uint32(child.Process.Pid), second)
	return &p
}

func pinned(t *testing.T, s *Signaller, child *exec.Cmd) Target {
	t.Helper()
	target, err := s.Pin(listed(child))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// refused checks that err says so, and that the process, if one is given, was
// not hit.
func refused(t *testing.T, what string, err error, says string, child *exec.Cmd) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", what, err, says)
	}
	if child != nil {
		unharmed(t, what, child)
	}
}

func unharmed(t *testing.T, what string, child *exec.Cmd) {
	t.Helper()
	var buf [1024]byte
	st, err := newTree(host.Open("")).stat(uint32(child.Process.Pid), buf[:])
	if err != nil || st.state == 'Z' || st.state == 'X' || st.state == 'T' {
		t.Errorf("%s: the process was hit: state %c, %v", what, st.state, err)
	}
}

// untilEnded waits until Alive says so.
func untilEnded(t *testing.T, s *Signaller, target Target) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if alive, stuck := s.Alive(target); stuck {
			t.Error("stuck in the kernel")
		} else if !alive {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("still alive after a minute")
		}
	}
}

func sigterm() Signal { return Signals()[0] }

func TestSignalEndsAProcess(t *testing.T) {
	for name, refusal := range map[string]error{"with pidfd": nil, "an old kernel": unix.ENOSYS, "a strict container": unix.EPERM} {
		t.Run(name, func(t *testing.T) {
			s := childSignaller()
			opened := 0
			s.pidfd = func(pid, flags int) (int, error) {
				opened++
				if refusal != nil {
					return -1, refusal
				}
				return unix.PidfdOpen(pid, flags)
			}
			child := sleeper(t)
			target := pinned(t, s, child)
			if alive, stuck := s.Alive(target); !alive || stuck {
				t.Errorf("a sleeping process: alive %v, stuck %v", alive, stuck)
			}
			if err := s.Send(target, sigterm()); err != nil {
				t.Fatal(err)
			}
			if opened != 1 {
				t.Errorf("the process was held on to %d times", opened)
			}
			// It is a zombie until we wait for it, and counts as ended already.
			untilEnded(t, s, target)
			if status := waitStatus(child); !status.Signaled() || status.Signal() != syscall.SIGTERM {
				t.Errorf("it ended with %v", status)
			}
			if alive, _ := s.Alive(target); alive {
				t.Error("alive after its end")
			}
			refused(t, "ended", s.Send(target, sigterm()), "has ended", nil)
		})
	}
}

func waitStatus(child *exec.Cmd) syscall.WaitStatus {
	child.Wait()
	return child.ProcessState.Sys().(syscall.WaitStatus)
}

func TestEverySignalArrives(t *testing.T) {
	all := Signals()
	if all[0].Name != "SIGTERM" {
		t.Errorf("the first on offer is %s", all[0].Name)
	}
	s := childSignaller()
	for _, sig := range all {
		if unix.SignalName(unix.Signal(sig.Number)) != sig.Name || sig.Does == "" {
			t.Errorf("%+v", sig)
		}
		child := sleeper(t)
		target := pinned(t, s, child)
		if err := s.Send(target, sig); err != nil {
			t.Errorf("%s: %v", sig.Name, err)
			continue
		}
		switch sig.Name {
		case "SIGSTOP":
			var status unix.WaitStatus
			if _, err := unix.Wait4(int(target.PID), &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Errorf("not stopped: %v, %v", status, err)
			}
			if alive, stuck := s.Alive(target); !alive || stuck {
				t.Errorf("halted: alive %v, stuck %v", alive, stuck)
			}
		case "SIGCONT":
			if alive, _ := s.Alive(target); !alive {
				t.Error("SIGCONT ended it")
			}
		default:
			if status := waitStatus(child); !status.Signaled() || int(status.Signal()) != sig.Number {
				t.Errorf("%s: it ended with %v", sig.Name, status)
			}
		}
	}
}

func TestOnlyThatProcess(t *testing.T) {
	s := childSignaller()
	child := sleeper(t)
	target := pinned(t, s, child)

	reused := target
	reused.StartTicks--
	refused(t, "PID in other hands", s.Send(reused, sigterm()), "is another process by now", child)
	if alive, _ := s.Alive(reused); alive {
		t.Error("another process of that number counts as the one that was pinned")
	}
	p := listed(child)
	start, _ := p.StartTicks.Int()
	p.StartTicks = monitor.OfInt(start + 1)
	_, err := s.Pin(p)
	refused(t, "PID in other hands when pinned", err, "is another process by now", child)

	other := target
	other.uid++
	refused(t, "owner changed", s.Send(other, sigterm()), "belongs to another user by now", child)

	for _, sig := range []Signal{{}, {Name: "SIGTERM", Number: 9}, {Name: "SIGSEGV", Number: 11}} {
		refused(t, "not on offer", s.Send(target, sig), "cannot be sent here", child)
	}
	refused(t, "no target", s.Send(Target{}, sigterm()), "no process", nil)
}

// What is held on to gets the signal, not what has the number by then.
func TestEndsBeforeTheSignal(t *testing.T) {
	s := childSignaller()
	first, second := sleeper(t), sleeper(t)
	fd, err := unix.PidfdOpen(first.Process.Pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM {
		t.Skip("no pidfd here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	first.Process.Kill()
	first.Wait()
	s.pidfd = func(int, int) (int, error) { return fd, nil }
	refused(t, "ended after the look", s.Send(pinned(t, s, second), sigterm()), "has ended", second)

	s = childSignaller()
	target := pinned(t, s, second)
	s.holding = func(uint32) holding {
		second.Process.Kill()
		second.Wait()
		return holdingDevice
	}
	refused(t, "ended during the look", s.Send(target, sigterm()), "has ended", nil)
	if _, err := s.Pin(&monitor.Process{PID: target.PID, StartTicks: monitor.OfUint(target.StartTicks)}); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("pinned after its end: %v", err)
	}
}

func TestZombieIsNotSignalled(t *testing.T) {
	s := childSignaller()
	child := sleeper(t)
	p := listed(child)
	target := pinned(t, s, child)
	child.Process.Kill()
	untilEnded(t, s, target)
	refused(t, "zombie", s.Send(target, sigterm()), "has ended", nil)
	_, err := s.Pin(p)
	refused(t, "zombie when pinned", err, "has ended", nil)
}

func TestNeverSignalled(t *testing.T) {
	s := NewSignaller(host.Open(""))
	s.tree.initial = func() (bool, error) { return true, nil }
	child := sleeper(t)
	parent := "started this program"
	if os.Getppid() == 0 {
		parent = "no process" // it is outside our container
	}
	for _, tt := range []struct {
		name string
		p    monitor.Process
		says string
	}{
		{"PID 0", monitor.Process{PID: 0, StartTicks: monitor.OfInt(0)}, "no process"},
		{"init", fillOne(here(), 1, second), "process 1 "},
		{"ourselves", fillOne(here(), uint32(os.Getpid()), second), "is this program"},
		{"our parent", fillOne(here(), uint32(os.Getppid()), second), parent},
		{"a child of ours", *listed(child), "a child of this program"},
		{"of another namespace", monitor.Process{PID: 4242, Namespace: monitor.NamespaceOutside, StartTicks: monitor.Unknown(monitor.NotFound)}, "another PID namespace"},
		{"no start time", monitor.Process{PID: 4242, Namespace: monitor.NamespaceSame}, "started is unknown"},
		{"no PID at all", monitor.Process{PID: 1<<32 - 1, StartTicks: monitor.OfInt(1)}, "has ended"},
	} {
		target, err := s.Pin(&tt.p)
		refused(t, tt.name, err, tt.says, child)
		if target != (Target{}) {
			t.Errorf("%s: refused, yet there is a target %+v", tt.name, target)
		}
		forged := Target{PID: tt.p.PID}
		if start, ok := tt.p.StartTicks.Int(); ok {
			forged.StartTicks = uint64(start)
		}
		if err := s.Send(forged, sigterm()); err == nil {
			t.Fatalf("%s: a signal was sent", tt.name)
		}
	}
	s.self = 0
	_, err := s.Pin(listed(child))
	refused(t, "without a GPU", err, "has no GPU open", child)
}

func TestSignalNamespaces(t *testing.T) {
	child := sleeper(t)
	for _, tt := range []struct {
		name    string
		initial bool
		err     error
		holds   holding
		says    string // "": allowed
	}{
		{"a machine, device open", true, nil, holdingDevice, ""},
		{"a machine, files closed to us", true, nil, holdingUnreadable, ""},
		{"a machine, no device", true, nil, holdingNone, "has no GPU open"},
		{"a container, device open", false, nil, holdingDevice, ""},
		{"a container, files closed to us", false, nil, holdingUnreadable, "another PID namespace"},
		{"a container, no device", false, nil, holdingNone, "another PID namespace"},
		{"a sandbox, device open", false, os.ErrNotExist, holdingDevice, ""},
		{"a sandbox, no device", false, os.ErrNotExist, holdingNone, "another PID namespace"},
	} {
		s := childSignaller()
		target := pinned(t, s, child)
		s.tree.initial = func() (bool, error) { return tt.initial, tt.err }
		s.holding = func(uint32) holding { return tt.holds }
		_, err := s.Pin(listed(child))
		if tt.says == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		refused(t, tt.name, err, tt.says, child)
		refused(t, tt.name+", sent", s.Send(target, sigterm()), tt.says, child)
	}
}

func TestSignalsStayOnThisMachine(t *testing.T) {
	root := fakeRoot(t, nil)
	s := NewSignaller(host.Open(root))
	p := fillOne(NewTable(host.Open(root), Names{}, false), 4242, second)
	_, err := s.Pin(&p)
	refused(t, "another root", err, "not of this machine", nil)
	child := sleeper(t)
	target := pinned(t, childSignaller(), child)
	refused(t, "another root, sent", s.Send(target, sigterm()), "not of this machine", child)

	// The host's processes in place of the container's own: one of them has the
	// number of ours, and even its start.
	of := "proc/" + strconv.Itoa(child.Process.Pid)
	s = childSignaller()
	s.tree = newTree(host.Open(fakeRoot(t, map[string]string{
		"proc/self/ns/pid@": "-", "proc/self/ns/cgroup@": "-", "proc/self/mounts": "-",
		"proc/self@":   "4242",
		of + "/stat":   statLine(target.PID, "x", "S", 0, 0, target.StartTicks, 1),
		of + "/status": "Uid:\t" + strconv.Itoa(os.Getuid()) + "\n",
	})))
	refused(t, "the host's /proc", s.Send(target, sigterm()), "another PID namespace", child)
}

func TestSignalOfAnotherUser(t *testing.T) {
	s := childSignaller()
	child := sleeper(t)
	p := listed(child)
	target := pinned(t, s, child)
	s.uid = uint32(os.Getuid()) + 1
	says := "no permission to signal process " + strconv.Itoa(child.Process.Pid) + " of " + p.User.Value
	_, err := s.Pin(p)
	refused(t, "someone else's", err, says, child)
	refused(t, "someone else's, sent", s.Send(target, sigterm()), says, child)
	s.uid = 0
	if _, err := s.Pin(p); err != nil {
		t.Errorf("root is refused: %v", err)
	}
}

// What the system says to a user without rights.
func TestSignalWithoutRights(t *testing.T) {
	const variable = "TEST_SIGNAL_PID"
	if os.Getuid() == 0 {
		child := sleeper(t)
		again := exec.Command("/proc/self/exe", "-test.run=^TestSignalWithoutRights$", "-test.v")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		again.Env = []string{"TMPDIR=/tmp", variable + "=" + strconv.Itoa(child.Process.Pid)}
		again.Dir = "/"
		out, err := again.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator's programs cannot start themselves as another user")
		}
		if err != nil {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		unharmed(t, "by nobody", child)
		return
	}
	pid, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		t.Skip("only as root is there a process of another user")
	}
	p := fillOne(here(), uint32(pid), second)
	says := "no permission to signal process " + strconv.Itoa(pid) + " of root"
	s := childSignaller()
	_, err = s.Pin(&p)
	refused(t, "root's", err, says, nil)
	s.uid = 0 // leaves the answer to the kernel
	target, err := s.Pin(&p)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "root's, sent", s.Send(target, sigterm()), says, nil)
	s.pidfd = func(int, int) (int, error) { return -1, unix.ENOSYS }
	refused(t, "root's, sent without pidfd", s.Send(target, sigterm()), says, nil)
	if folder := Folder(host.Open(""), &p); folder.Reason != monitor.NoPermission {
		t.Errorf("folder %+v", folder)
	}
}

func TestSignalsLeaveNothingOpen(t *testing.T) {
	s := childSignaller()
	child := sleeper(t)
	target := pinned(t, s, child)
	reused := target
	reused.StartTicks++
	cont := Signals()[slices.IndexFunc(Signals(), func(s Signal) bool { return s.Name == "SIGCONT" })]
	before := openFiles(t)
	for range 20 {
		if err := s.Send(target, cont); err != nil {
			t.Fatal(err)
		}
		refused(t, "reused", s.Send(reused, cont), "another process", child)
		s.Alive(target)
		Folder(host.Open(""), listed(child))
	}
	child.Process.Kill()
	child.Wait()
	for range 20 {
		refused(t, "ended", s.Send(target, cont), "has ended", nil)
		s.Alive(target)
	}
	// The child's own handle is closed by now.
	if after := openFiles(t); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestAlive(t *testing.T) {
	thread := func(tid uint32, state string) string { return statLine(tid, "x", state, 1, 1, 360050, 1) }
	many := func(state string) string {
		return strings.Replace(thread(4242, state), " 20 0 1 0 ", " 20 0 3 0 ", 1)
	}
	for _, tt := range []struct {
		name         string
		change       map[string]string
		alive, stuck bool
	}{
		{"sleeping", map[string]string{"proc/4242/task/4242/stat": thread(4242, "S")}, true, false},
		{"in the driver", map[string]string{"proc/4242/stat": thread(4242, "D"), "proc/4242/task/4242/stat": thread(4242, "D")}, true, true},
		{"one thread in the driver", map[string]string{
			"proc/4242/stat": many("S"), "proc/4242/task/4242/stat": many("S"), "proc/4242/task/4243/stat": thread(4243, "D"),
		}, true, false},
		{"killed, one thread in the driver", map[string]string{
			"proc/4242/stat": many("Z"), "proc/4242/task/4242/stat": many("Z"), "proc/4242/task/4243/stat": thread(4243, "D"),
		}, true, true},
		{"its first thread has ended", map[string]string{
			"proc/4242/stat": many("Z"), "proc/4242/task/4242/stat": many("Z"), "proc/4242/task/4243/stat": thread(4243, "S"),
		}, true, false},
		{"zombie", map[string]string{"proc/4242/stat": thread(4242, "Z")}, false, false},
		{"dead", map[string]string{"proc/4242/stat": thread(4242, "X")}, false, false},
		{"gone", map[string]string{"proc/4242/stat": "-"}, false, false},
		{"another one", map[string]string{"proc/4242/stat": statLine(4242, "x", "D", 1, 1, 360051, 1)}, false, false},
		{"nothing to be told", map[string]string{"proc/4242/stat": "4242 (x) "}, true, false},
	} {
		s := NewSignaller(host.Open(fakeRoot(t, tt.change)))
		if alive, stuck := s.Alive(Target{PID: 4242, StartTicks: 360050}); alive != tt.alive || stuck != tt.stuck {
			t.Errorf("%s: alive %v, stuck %v", tt.name, alive, stuck)
		}
	}
}
