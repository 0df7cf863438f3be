//go:build linux

package termtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// recording is one of the simulated machine.
func recording(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command(binary, "record", "--demo", "-i", "0.1", "-n", "30", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func TestReplay(t *testing.T) {
	for _, name := range []string{"r.ndjson", "r.gz"} {
		s := run(t, 120, 32, nil, "replay", recording(t, name))
		s.see("DEMO REPLAY", "tensor", "END") // played to its end, where it stays
		s.press("\x1b[H")                     // Home
		s.see("0% of 2s", "DEMO REPLAY")
		s.press(" ")
		s.see("PAUSED", "Space go on")
		s.press("\x1b[F")
		s.see("END")
		for range 10 {
			s.press(",")
		}
		s.see("PAUSED")
		s.press("<<")
		s.see("0.25x")
		s.press(" ")
		s.without("PAUSED")
		s.press(">>")
		s.see("END")
		s.press("t")
		s.see("jump to:")
		s.press("noon" + enter)
		s.see("noon", "Esc drop")
		s.press(esc)
		s.without("jump to:")
		s.press("t+1s" + enter)
		s.without("jump to:")
		s.press(" x")
		s.see("nothing can be signalled in a recording")
		s.press("v")
		s.see("view: numbers")
		s.press("h")
		s.see("jump to a time")
		s.press(esc)
		s.without("jump to a time")
		s.quit()
	}
}

func TestReplayOnTheCommandLine(t *testing.T) {
	path := recording(t, "r")
	s := run(t, 100, 20, nil, "replay", "--at", "+1s", "--speed", "0.125", "-g", "3", "--view", "list", "--no-mouse", path)
	s.see("REPLAY", "0.125x", "RTX 4090")
	if text := s.text(); strings.Contains(text, "H100") {
		t.Errorf("GPUs that were not chosen:\n%s", text)
	}
	s.quit()
	s = run(t, 100, 20, nil, "replay", path, "-g", "9")
	s.see("no such GPU: 9")
	if code := s.end(); code != 1 {
		t.Errorf("exit status %d", code)
	}
	s = run(t, 100, 20, nil, "replay", "/nowhere")
	s.see("/nowhere")
	if code := s.end(); code != 1 {
		t.Errorf("exit status %d", code)
	}
}

func TestEveryWayOutOfAReplayRestoresTheTerminal(t *testing.T) {
	path := recording(t, "r.gz")
	for _, c := range []struct {
		name string
		out  func(s *screen)
		code int
	}{
		{"Esc", func(s *screen) { s.press("\x1b") }, 0},
		{"Ctrl+C", func(s *screen) { s.press("\x03") }, 0},
		{"SIGTERM", func(s *screen) { s.signal(unix.SIGTERM) }, 143},
		{"SIGHUP", func(s *screen) { s.signal(unix.SIGHUP) }, 129},
		{"SIGKILL", func(s *screen) { s.signal(unix.SIGKILL) }, 137},
		{"SIGQUIT", func(s *screen) { s.signal(unix.SIGQUIT) }, 131},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := own(t)
			s := runFile(t, file, 90, 25, nil, "replay", "--speed", "0.1", path)
			s.see("REPLAY", "GPU")
			// The one who restores it is there a moment after the first frame.
			s.until("has a driver process", func() bool {
				return slices.ContainsFunc(processes(file), func(pid string) bool {
					cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline")
					return strings.Contains(string(cmdline), "__driver")
				})
			})
			for _, view := range []string{"numbers", "list"} {
				s.press("v")
				s.see("view: " + view)
			}
			c.out(s)
			if code := s.end(); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			s.restored()
			gone(t, file)
		})
	}
	s := run(t, 90, 25, nil, "replay", "--speed", "0.1", path)
	s.see("REPLAY")
	for _, size := range [][2]int{{40, 10}, {1, 1}, {200, 60}, {20, 5}, {90, 25}} {
		resize(s, size[0], size[1])
	}
	s.see("REPLAY")
	s.quit()
}

func TestSuspendingAReplay(t *testing.T) {
	path := recording(t, "r")
	s := start(t, 100, 30, []string{"PS1=prompt> ", "ENV="}, "/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
	s.see("prompt>")
	s.press(binary + " replay " + path + "\n")
	s.see("REPLAY", "GPU")
	s.press("\x1a")
	s.until("is back at the prompt", func() bool { return atPrompt(s) && strings.Contains(s.text(), "Stopped") })
	s.press("fg\n")
	s.see("REPLAY", "GPU")
	s.press("q")
	s.until("is back at the prompt", func() bool { return atPrompt(s) })
}
