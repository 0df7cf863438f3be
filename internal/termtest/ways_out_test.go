//go:build linux

package termtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheDemoMoves(t *testing.T) {
	s := run(t, 100, 30, nil, "--demo", "-i", "0.2")
	s.see("DEMO")
	s.see("GPU")
	before := s.text()
	s.until("moves", func() bool { return s.text() != before })
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.restored()
}

func TestEveryWayOutRestoresTheTerminal(t *testing.T) {
	for _, c := range []struct {
		name string
		out  func(s *screen)
		code int
	}{
		{"q", func(s *screen) { s.press("q") }, 0},
		{"Q", func(s *screen) { s.press("Q") }, 0},
		{"Esc", func(s *screen) { s.press("\x1b") }, 0},
		{"Ctrl+C", func(s *screen) { s.press("\x03") }, 0},
		{"Ctrl+backslash", func(s *screen) { s.press("\x1c") }, 131},
		{"SIGINT", func(s *screen) { s.signal(unix.SIGINT) }, 0},
		{"SIGTERM", func(s *screen) { s.signal(unix.SIGTERM) }, 143},
		{"SIGHUP", func(s *screen) { s.signal(unix.SIGHUP) }, 129},
		{"SIGQUIT", func(s *screen) { s.signal(unix.SIGQUIT) }, 131},
		{"SIGKILL", func(s *screen) { s.signal(unix.SIGKILL) }, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := own(t)
			s := runFile(t, file, 90, 25, nil, "--demo")
			s.see("DEMO")
			s.see("GPU")
			c.out(s)
			if code := s.end(); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			s.restored()
			gone(t, file)
			if out := s.written(); strings.Contains(out, "goroutine ") {
				t.Errorf("a trace on the terminal:\n%s", out[last(out, "\x1b[?1049l"):])
			}
		})
	}
}

// TestACrashNamesItsFile crashes the program that draws, as a fault of its own
// would.
func TestACrashNamesItsFile(t *testing.T) {
	tmp := t.TempDir()
	s := run(t, 90, 25, []string{"TMPDIR=" + tmp}, "--demo")
	s.see("DEMO")
	s.see("GPU")
	s.signal(unix.SIGABRT)
	if code := s.end(); code == 0 {
		t.Error("exit status 0")
	}
	s.restored()
	named := regexp.MustCompile(`nvtop-lite: crashed; the trace is in (\S+)`)
	s.until("names the file", func() bool { return named.MatchString(s.written()) })
	out := s.written()
	file := named.FindStringSubmatch(out)[1]
	trace, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(trace), "SIGABRT") || filepath.Dir(file) != tmp {
		t.Errorf("the file %s: %v\n%s", file, err, trace)
	}
	if strings.Contains(out, "goroutine ") {
		t.Error("a trace on the terminal")
	}
}

// TestSuspending runs the program under a shell with job control.
func TestSuspending(t *testing.T) {
	s := start(t, 100, 30, []string{"PS1=prompt> ", "ENV="}, "/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
	s.see("prompt>")
	cooked := *s.termios()
	for _, line := range []string{binary + " --demo\n", "sh -c '" + binary + " --demo; true'\n"} {
		s.press(line)
		s.see("DEMO")
		s.see("GPU")
		s.press("\x1a")
		s.until("is back at the prompt", func() bool { return atPrompt(s) && strings.Contains(s.text(), "Stopped") })
		if tio := s.termios(); tio.Lflag&(unix.ICANON|unix.ECHO) != cooked.Lflag&(unix.ICANON|unix.ECHO) {
			t.Error("the terminal is not cooked while the program is stopped")
		}
		s.press("fg\n")
		s.see("DEMO")
		s.see("GPU")
		s.press("q")
		s.until("is back at the prompt", func() bool { return atPrompt(s) })
		s.press("clear\n")
		s.until("is clear", func() bool { return atPrompt(s) && !strings.Contains(s.text(), "Stopped") })
	}
}

func atPrompt(s *screen) bool {
	return strings.HasSuffix(strings.TrimRight(s.text(), " \n"), "prompt>") && !strings.Contains(s.text(), "DEMO")
}

func TestATerminalThatGoesAwayEndsTheProgram(t *testing.T) {
	file := own(t)
	s := runFile(t, file, 90, 25, nil, "--demo")
	s.see("DEMO")
	s.master.Close()
	gone(t, file)
}

// TestStoppedFromOutside: SIGSTOP cannot be caught, and the shell puts its own
// modes in place; on SIGCONT the program takes the terminal again.
func TestStoppedFromOutside(t *testing.T) {
	s := start(t, 100, 30, []string{"PS1=prompt> ", "ENV="}, "/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
	s.file = own(t)
	s.see("prompt>")
	s.press(s.file + " --demo\n")
	s.see("tensor")
	s.signal(unix.SIGSTOP)
	s.until("was stopped", func() bool { return strings.Contains(s.written(), "]+  Stopped") })
	s.press("fg\n")
	s.until("is drawn anew", func() bool {
		out := s.written()
		return strings.Contains(out[last(out, "]+  Stopped"):], "tensor") && s.termios().Lflag&unix.ICANON == 0
	})
	s.press("q")
	s.until("is back at the prompt", func() bool { return atPrompt(s) })
	gone(t, s.file)
}

// TestATerminalThatTakesNothing: output held up does not hold up the keys.
func TestATerminalThatTakesNothing(t *testing.T) {
	file := own(t)
	s := runFile(t, file, 200, 60, nil, "--demo", "-i", "0.1")
	s.see("tensor")
	n, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	s.press("q")
	gone(t, file)
}

// TestAPasteWhoseEndIsLost: keys work again after it.
func TestAPasteWhoseEndIsLost(t *testing.T) {
	s := run(t, 90, 25, nil, "--demo")
	s.see("tensor")
	s.press("\x1b[200~qqq")
	time.Sleep(2 * time.Second)
	if _, err := os.Stat(s.status); err == nil {
		t.Fatal("pasted keys ended the program")
	}
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.restored()
}

func TestSmallAndChangingWindows(t *testing.T) {
	s := run(t, 80, 24, nil, "--demo", "-i", "0.1")
	s.see("DEMO")
	for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 5}, {20, 5}, {40, 10}, {200, 60}, {300, 3}, {5, 100}, {2000, 1500}, {80, 24}} {
		s.mu.Lock()
		s.emu.Resize(size[0], size[1])
		s.mu.Unlock()
		resize(s, size[0], size[1])
		time.Sleep(150 * time.Millisecond)
	}
	s.until("is whole again", func() bool { return strings.Contains(s.text(), "DEMO") && strings.Contains(s.text(), "q quit") })
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.restored()
}
