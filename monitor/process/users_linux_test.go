package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

func TestAccountsOfTheLibrary(t *testing.T) {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Skip(err)
	}
	for uid, want := range parsePasswd(data) {
		if name, err := libcAccount(uid); name != want || err != nil {
			t.Errorf("%d: %q, %v; want %q", uid, name, err, want)
		}
	}
	if name, err := libcAccount(4294000000); !errors.Is(err, errNoAccount) {
		t.Errorf("an account that nobody has: %q, %v", name, err)
	}
}

// TestLayoutOfPasswd asks C compilers.
func TestLayoutOfPasswd(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("for 64 bits")
	}
	var p passwd
	text := "#include <pwd.h>\n#include <stddef.h>\n"
	for field, offset := range map[string]uintptr{
		"pw_name": unsafe.Offsetof(p.name), "pw_passwd": unsafe.Offsetof(p.password), "pw_uid": unsafe.Offsetof(p.uid), "pw_gid": unsafe.Offsetof(p.gid),
		"pw_gecos": unsafe.Offsetof(p.gecos), "pw_dir": unsafe.Offsetof(p.dir), "pw_shell": unsafe.Offsetof(p.shell),
	} {
		text += fmt.Sprintf("_Static_assert(offsetof(struct passwd, %s) == %d, \"%s\");\n", field, offset, field)
	}
	text += fmt.Sprintf("_Static_assert(sizeof(struct passwd) == %d, \"size\");\n", unsafe.Sizeof(p))
	for _, cc := range []string{"x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"} {
		if _, err := exec.LookPath(cc); err != nil {
			leaveOut(t, cc+" is missing")
			continue
		}
		cmd := exec.Command(cc, "-fsyntax-only", "-x", "c", "-")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cc, err, out)
		}
	}
}

// leaveOut says that something cannot be tested here, which CI does not accept.
func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Log("left out: " + why)
}

// ward is a folder for a module of the name service, which is asked before
// /etc/passwd.
type ward struct {
	t    *testing.T
	dir  string
	pids map[uint32]int // of processes, by their owners
}

// newWard builds the module. It skips the test where nothing can be mounted: a
// container's root may not.
func newWard(t *testing.T) *ward {
	t.Helper()
	caps := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&caps, &sets[0]); err != nil || sets[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		t.Skip("a mount namespace needs the capability SYS_ADMIN")
	}
	probe := mounted(exec.Command("mount", "--bind", "/etc/nsswitch.conf", "/etc/nsswitch.conf"))
	probe.Env = append(os.Environ(), "LC_ALL=C")
	if out, err := probe.CombinedOutput(); err != nil {
		why := fmt.Sprintf("nothing can be mounted here: %v: %s", err, out)
		if errors.Is(err, fs.ErrPermission) || bytes.Contains(out, []byte("ermission denied")) {
			t.Skip(why) // a sandbox has rules of its own, above all capabilities
		}
		leaveOut(t, why)
		t.SkipNow()
	}
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator's programs cannot start themselves")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		leaveOut(t, "gcc is missing: apt-get install gcc libc6-dev")
		t.SkipNow()
	}
	w := &ward{t: t, dir: t.TempDir(), pids: make(map[uint32]int)}
	build := exec.Command(cc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", w.path("libnss_nvtoptest.so.2"), "testdata/nss/module.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.write("nsswitch.conf", "passwd: nvtoptest files\n")
	w.write("asked", "")
	return w
}

// mounted gives a command mounts of its own.
func mounted(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

func (w *ward) path(name string) string { return filepath.Join(w.dir, name) }

func (w *ward) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// asked is what the module was asked for, in order.
func (w *ward) asked() []string {
	w.t.Helper()
	data, err := os.ReadFile(w.path("asked"))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// people starts a process of each of these users.
func (w *ward) people(uids ...uint32) {
	w.t.Helper()
	for _, uid := range uids {
		p := exec.Command("sleep", "1000")
		p.Dir = "/"
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := p.Start(); errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) {
			w.t.Skipf("no process of user %d can be started here: %v", uid, err) // a user namespace without it
		} else if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() {
			p.Process.Kill()
			p.Wait()
		})
		w.pids[uid] = p.Process.Pid
	}
}

// watcher is a driver process, as far as names go.
type watcher struct {
	w      *ward
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
	shown  map[uint32]string // the newest names
}

// watch starts one that looks at processes of these users, in this order.
func (w *ward) watch(fell bool, uids ...uint32) *watcher {
	w.t.Helper()
	list := make([]string, len(uids))
	for i, uid := range uids {
		list[i] = strconv.Itoa(w.pids[uid])
	}
	// An nscd of the machine would answer in the place of the module.
	script := `mount --bind "$NSS_TEST/nsswitch.conf" /etc/nsswitch.conf
if [ -d /run/nscd ]; then mount -t tmpfs none /run/nscd; fi
exec "$@"`
	p := &watcher{w: w, cmd: mounted(exec.Command("sh", "-ec", script, "sh", os.Args[0], "-test.run=^TestWatcher$", "-test.timeout=10m"))}
	p.cmd.Env = append(os.Environ(), "NSS_TEST="+w.dir, "LD_LIBRARY_PATH="+w.dir,
		"WATCH="+strings.Join(list, " "), "WATCH_FELL="+strconv.FormatBool(fell))
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	p.lines = bufio.NewScanner(out)
	p.shown = make(map[uint32]string)
	return p
}

// round waits for a round of names.
func (p *watcher) round() bool {
	for p.lines.Scan() {
		f := strings.Fields(p.lines.Text())
		if len(f) == 0 || f[0] != "names" {
			continue
		}
		for _, pair := range f[1:] {
			pid, name, _ := strings.Cut(pair, "=")
			for uid, of := range p.w.pids {
				if strconv.Itoa(of) == pid {
					p.shown[uid] = name
				}
			}
		}
		return true
	}
	return false
}

// until waits for names.
func (p *watcher) until(want map[uint32]string) {
	p.w.t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute && p.round(); {
		same := true
		for uid, name := range want {
			same = same && p.shown[uid] == name
		}
		if same {
			return
		}
	}
	p.w.t.Fatalf("names %v, want %v\n%s", p.shown, want, p.stderr.String())
}

// rounds lets some time pass, in rounds.
func (p *watcher) rounds(n int) {
	p.w.t.Helper()
	for range n {
		if !p.round() {
			p.w.t.Fatalf("it ended\n%s", p.stderr.String())
		}
	}
}

// TestWatcher is the driver process of the tests below, and no test.
func TestWatcher(t *testing.T) {
	if os.Getenv("WATCH") == "" {
		t.Skip("for other tests")
	}
	var list []monitor.Process
	for _, f := range strings.Fields(os.Getenv("WATCH")) {
		pid, _ := strconv.Atoi(f)
		list = append(list, monitor.Process{PID: uint32(pid)})
	}
	tab := NewTable(host.Open(""), Names{Libc: true, Fell: os.Getenv("WATCH_FELL") == "true"}, false)
	tab.looker.(*tree).initial = func() (bool, error) { return true, nil } // in a container, too
	for now := second; ; now += second {
		tab.Fill(list, true, now)
		line := "names"
		for _, p := range list {
			line += fmt.Sprintf(" %d=%s", p.PID, p.User.Value)
		}
		if _, err := fmt.Println(line); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// localName is what /etc/passwd says, or the number.
func localName(uid uint32) string {
	u := users{root: "/"}
	return u.name(uid)
}

func TestNamesOfAModule(t *testing.T) {
	w := newWard(t)
	w.people(0, 60001, 60002, 60004, 60005)
	w.watch(false, 0, 60001, 60002, 60004, 60005).until(map[uint32]string{
		0: localName(0), 60001: "kim@example.com", 60002: "static", 60004: "60004", 60005: "60005",
	})
	// Room for one account has an end.
	n := 0
	for _, uid := range w.asked() {
		if uid == "60004" {
			n++
		}
	}
	if n == 0 || n > 10 {
		t.Errorf("%d questions for an account that no room is enough for", n)
	}
}

func TestAModuleThatHangs(t *testing.T) {
	w := newWard(t)
	w.write("hang", "")
	w.people(1, 0, 60001)
	p := w.watch(false, 1, 0, 60001)
	p.until(map[uint32]string{1: localName(1), 0: localName(0), 60001: "60001"})
	p.rounds(20)
	if got := w.asked(); len(got) != 1 || got[0] != "1" {
		t.Errorf("asked for %v while the first question hangs", got)
	}
	if err := os.Remove(w.path("hang")); err != nil {
		t.Fatal(err)
	}
	p.until(map[uint32]string{1: "slow-sam", 0: localName(0), 60001: "kim@example.com"})
}

func TestAModuleThatCrashes(t *testing.T) {
	w := newWard(t)
	w.people(60001, 60003)
	p := w.watch(false, 60001, 60003)
	for p.round() {
	}
	err := p.cmd.Wait()
	if err == nil || !strings.Contains(p.stderr.String(), "SIGSEGV") {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	before := len(w.asked())
	// The next one shows what it has without asking.
	p = w.watch(true, 60001, 60003)
	p.until(map[uint32]string{60001: "60001", 60003: "60003"})
	p.rounds(20)
	if got := w.asked(); len(got) != before {
		t.Errorf("asked again: %v", got[before:])
	}
}
