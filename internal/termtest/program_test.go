//go:build linux

package termtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	if library := os.Getenv(initLibrary); library != "" {
		printInitTime(library)
		return
	}
	dir, err := os.MkdirTemp("", "nvtop-lite-termtest")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "nvtop-lite")
	build := exec.Command("go", "build", "-o", binary, "./cmd/nvtop-lite")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// patience is for what should take a second or so; a loaded machine needs more.
const patience = 40 * time.Second

// screen is a program on a terminal.
type screen struct {
	t      testing.TB
	file   string // the program's file
	leader *exec.Cmd
	master *os.File
	before unix.Termios
	status string // the file into which the leader writes the exit status

	mu  sync.Mutex
	emu *vt.Emulator
	raw bytes.Buffer
}

// run starts the program on a terminal of w by h cells.
func run(t testing.TB, w, h int, env []string, args ...string) *screen {
	t.Helper()
	return runFile(t, binary, w, h, env, args...)
}

// runFile is run with another name of the program. A shell leads the session,
// as it does for a user: the terminal outlives the program. It writes down how
// the program ended.
func runFile(t testing.TB, file string, w, h int, env []string, args ...string) *screen {
	t.Helper()
	status := filepath.Join(t.TempDir(), "status")
	script := `trap : INT QUIT TERM HUP; "$@"; echo $? >"$STATUS.new"; mv "$STATUS.new" "$STATUS"; read -r _`
	s := start(t, w, h, append([]string{"STATUS=" + status}, env...), append([]string{"/bin/sh", "-c", script, "sh", file}, args...)...)
	s.file, s.status = file, status
	return s
}

// start starts any command on a terminal, as the leader of its session.
func start(t testing.TB, w, h int, env []string, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, leader: exec.Command(args[0], args[1:]...), emu: vt.NewEmulator(w, h)}
	s.leader.Env = append(append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=", "LANG=C.UTF-8", "NO_COLOR="), env...)
	go io.Copy(io.Discard, s.emu) // its answers must be read, or it blocks
	var slave *os.File
	var err error
	if s.master, slave, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	s.before = *s.termios()
	s.leader.Stdin, s.leader.Stdout, s.leader.Stderr = slave, slave, slave
	s.leader.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.leader.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go s.pump()
	t.Cleanup(func() {
		for _, pid := range s.pids() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = s.leader.Process.Kill()
		_ = s.leader.Wait()
		s.master.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.emu.Close()
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", s.emu.String())
		}
	})
	return s
}

// pids are the processes of the program that draw, not its driver process.
func (s *screen) pids() []int {
	var list []int
	if s.file == "" {
		return nil
	}
	for _, pid := range processes(s.file) {
		cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if n, err := strconv.Atoi(pid); err == nil && !strings.Contains(string(cmdline), "__driver") && inSession(n, s.leader.Process.Pid) {
			list = append(list, n)
		}
	}
	return list
}

func inSession(pid, leader int) bool {
	sid, err := unix.Getsid(pid)
	return err == nil && sid == leader
}

// pump hands what the program writes to the emulator.
func (s *screen) pump() {
	b := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(b)
		s.mu.Lock()
		s.raw.Write(b[:n])
		_, _ = s.emu.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) termios() *unix.Termios {
	s.t.Helper()
	tio, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return tio
}

// text is what the screen shows.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emu.String()
}

// written is all that was written so far.
func (s *screen) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// see waits until the screen shows one of the texts.
func (s *screen) see(texts ...string) {
	s.t.Helper()
	s.until("shows "+strings.Join(texts, " or "), func() bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(s.text(), text) })
	})
}

// until waits for something to become true.
func (s *screen) until(what string, ok func() bool) {
	s.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	s.t.Fatalf("the screen never %s:\n%s", what, s.text())
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) signal(sig unix.Signal) {
	s.t.Helper()
	pids := s.pids()
	if len(pids) != 1 {
		s.t.Fatalf("the program's processes: %v", pids)
	}
	if err := unix.Kill(pids[0], sig); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the program to end, and gives its exit status as a shell sees
// it.
func (s *screen) end() int {
	s.t.Helper()
	var code int
	s.until("ended its program", func() bool {
		b, err := os.ReadFile(s.status)
		if err != nil {
			return false
		}
		code, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return code
}

// restored checks that the terminal is as it was: its modes, the user's own
// screen, a visible cursor, wrapping lines, no mouse reports.
func (s *screen) restored() {
	s.t.Helper()
	s.until("is restored", func() bool {
		out := s.written()
		return *s.termios() == s.before &&
			last(out, "\x1b[?1049l") > last(out, "\x1b[?1049h") &&
			last(out, "\x1b[?25h") > last(out, "\x1b[?25l") &&
			last(out, "\x1b[?7h") > last(out, "\x1b[?7l") &&
			last(out, "\x1b[?1000h") <= last(out, "\x1b[?1000l") &&
			last(out, "\x1b[?2026l") > last(out, "\x1b[?2026h")
	})
}

func last(s, what string) int { return strings.LastIndex(s, what) }

// gone waits until no process has the program's file open any more: neither it
// nor its driver process.
func gone(t *testing.T, file string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(50 * time.Millisecond) {
		if len(processes(file)) == 0 {
			return
		}
	}
	t.Fatalf("processes that stay: %v", processes(file))
}

// processes lists the processes that run a file.
func processes(file string) []string {
	var list []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		if err == nil && exe == file {
			list = append(list, filepath.Base(dir))
		}
	}
	return list
}

// own gives the program a file name of its own, so that its processes can be
// told from those of other tests.
func own(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nvtop-lite-own")
	if err := os.Link(binary, file); err != nil {
		if errors.Is(err, unix.EXDEV) {
			t.Fatal("the temporary folders are on different file systems")
		}
		t.Fatal(err)
	}
	return file
}
