package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// here is a table of this machine, which counts as the driver's namespace.
func here() *Table {
	tree := newTree(host.Open(""))
	tree.initial = func() (bool, error) { return true, nil }
	return newTable(tree)
}

// start starts a child and waits until it is the program that it is to be: for a
// moment after its start it has no command line yet.
func start(t *testing.T, child *exec.Cmd) {
	t.Helper()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("/proc/%d/cmdline", child.Process.Pid)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		line, err := os.ReadFile(file)
		if len(line) > 0 {
			return
		}
		if err != nil || time.Now().After(deadline) {
			child.Process.Kill()
			t.Fatalf("a child without a command line: %v", err)
		}
	}
}

func TestBusyChild(t *testing.T) {
	// Not this process: an emulator makes up what /proc says of it.
	began := time.Now()
	child := exec.Command("sh", "-c", "while :; do :; done")
	start(t, child)
	defer child.Wait()
	defer child.Process.Kill()
	pid := uint32(child.Process.Pid)
	tab := here()
	p := fillOne(tab, pid, second)
	if p.Name.Value != "sh -c" || p.Command.Value != "sh -c 'while :; do :; done'" {
		t.Errorf("%+v %+v", p.Name, p.Command)
	}
	if me, err := user.Current(); err == nil && p.User.Value != me.Username && p.User.Value != me.Uid {
		t.Errorf("user %+v, want %s", p.User, me.Username)
	}
	start, ok := p.StartTime.Int()
	if age := began.Sub(time.Unix(0, start)); !ok || age < -3*time.Second || age > 3*time.Second {
		t.Errorf("started %v before it was started", age)
	}
	if !p.StartTicks.Known() || p.Container.Reason == monitor.NotSampled || p.Job.Reason == monitor.NotSampled {
		t.Errorf("%+v", p)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		p = fillOne(tab, pid, second+time.Since(began).Nanoseconds()+int64(window))
		load, ok := p.CPUPercent.Float()
		memory, _ := p.HostMemoryBytes.Int()
		if ok && load > 0 && memory > 100<<10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a busy process: %v, %v %% of a core, %d bytes", p.CPUPercent.Reason, load, memory)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestChildToZombie(t *testing.T) {
	child := exec.Command("sleep", "1000")
	start(t, child)
	pid := uint32(child.Process.Pid)
	defer child.Wait()
	tab := here()
	p := fillOne(tab, pid, second)
	if p.Name.Value != "sleep" || p.Command.Value != "sleep 1000" {
		t.Errorf("%+v %+v", p.Name, p.Command)
	}
	child.Process.Kill()
	deadline := time.Now().Add(time.Minute)
	for now := 2 * second; ; now += second {
		p = fillOne(tab, pid, now)
		if p.HostMemoryBytes.Reason == monitor.NotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no zombie: %+v", p)
		}
		time.Sleep(time.Millisecond)
	}
	if p.Name.Value != "sleep" {
		t.Errorf("the zombie lost its name: %+v", p.Name)
	}
	// Seen only as a zombie it has the kernel's name alone.
	if p = fillOne(here(), pid, second); p.Name.Value != "[sleep]" || p.Command.Reason != monitor.NotFound {
		t.Errorf("%+v %+v", p.Name, p.Command)
	}
	child.Wait()
	unknownBecause(t, "reaped", fillOne(tab, pid, 1<<62), monitor.NotFound)
}

func TestExists(t *testing.T) {
	if !exists(uint32(os.Getpid())) {
		t.Error("we do not exist")
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	if exists(uint32(child.Process.Pid)) {
		t.Error("a process that was reaped exists")
	}
}

func TestClosedFiles(t *testing.T) {
	if os.Getuid() == 0 {
		// No file is closed to root: the test runs again as nobody. The path
		// leads to the program wherever it lies, folders closed to others or not.
		again := exec.Command("/proc/self/exe", "-test.run=^TestClosedFiles$", "-test.v")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		again.Env = []string{"TMPDIR=/tmp"}
		again.Dir = "/"
		out, err := again.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator's programs cannot start themselves as another user")
		}
		if err != nil {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	root := fakeRoot(t, nil)
	for _, f := range []string{"cmdline", "status", "cgroup"} {
		if err := os.Chmod(filepath.Join(root, "proc/4242", f), 0); err != nil {
			t.Fatal(err)
		}
	}
	p := fillOne(NewTable(host.Open(root), Names{}, false), 4242, second)
	if p.Name.Value != "[python3]" || p.Command.Reason != monitor.NoPermission || p.User.Reason != monitor.NoPermission ||
		p.Container.Reason != monitor.NoPermission || p.Job.Reason != monitor.NoPermission || !p.HostMemoryBytes.Known() {
		t.Errorf("%+v", p)
	}
	// As hidepid=1 has it: the process is there, all its files are closed.
	if err := os.Chmod(filepath.Join(root, "proc/4242/stat"), 0); err != nil {
		t.Fatal(err)
	}
	p = fillOne(NewTable(host.Open(root), Names{}, false), 4242, second)
	unknownBecause(t, "closed", p, monitor.NoPermission)
	if p.Namespace != monitor.NamespaceSame {
		t.Errorf("namespace %v", p.Namespace)
	}
}
