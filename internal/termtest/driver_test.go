//go:build linux

package termtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"nvtop-lite/internal/fakenvml"
)

func resize(s *screen, w, h int) {
	s.t.Helper()
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		s.t.Fatal(err)
	}
}

// onFake runs the program on the fake driver.
func onFake(t *testing.T, w, h int, scenario string, args ...string) (*screen, *fakenvml.Fake) {
	t.Helper()
	fake := fakenvml.New(t, "580", scenario)
	return run(t, w, h, fake.Env(), append([]string{"--nvml", fake.Path()}, args...)...), fake
}

func TestTheGPUsOfADriver(t *testing.T) {
	s, _ := onFake(t, 120, 32, "gpus 2\ngpu 0 util 97\ngpu 0 power 688000\ngpu 0 reasons 4\n")
	s.see("H100")
	s.see("97%")
	s.see("688 / 700 W")
	s.see("SLOWED: power cap")
	s.see("driver 580.95.05")
	s.press("q")
	s.end()
	s.restored()
}

// TestADriverThatHangsStopsNeitherClockNorKeys has one call that never returns.
func TestADriverThatHangsStopsNeitherClockNorKeys(t *testing.T) {
	s, _ := onFake(t, 100, 30, "gpus 2\ngpu 1 util 42\nfault nvmlDeviceGetPowerUsage gpu 0 calls 3- hang\n", "-i", "0.5")
	s.see("nvmlDeviceGetPowerUsage has not returned")
	first := s.text()
	s.until("counts on", func() bool { return s.text() != first })
	s.see("42%") // the other GPU
	s.press("h")
	s.see("Keys")
	s.press("h")
	begin := time.Now()
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("q took %v", took)
	}
	s.restored()
}

// TestNoGPUAnswers has a header that says so.
func TestNoGPUAnswers(t *testing.T) {
	s, _ := onFake(t, 80, 24, "gpus 1\nfault nvmlDeviceGetPowerUsage gpu 0 calls 3- hang\n", "-i", "0.5")
	s.see("driver: no answer for")
	s.see("stale")
	s.press("q")
	s.end()
	s.restored()
}

// TestADriverThatCrashesComesBack has a driver that faults once.
func TestADriverThatCrashesComesBack(t *testing.T) {
	for _, how := range []string{"segv", "abort"} {
		t.Run(how, func(t *testing.T) {
			s, fake := onFake(t, 110, 30, "gpus 1\ngpu 0 util 42\n", "-i", "0.3")
			s.see("42%")
			fake.SetScenario("gpus 1\ngpu 0 util 42\nfault nvmlDeviceGetTemperatureV gpu 0 " + how + "\n")
			s.see("the driver process ended")
			s.see("stale")
			fake.SetScenario("gpus 1\ngpu 0 util 77\n")
			s.see("77%")
			s.until("is well again", func() bool { return !strings.Contains(s.text(), "stale") })
			s.press("q")
			if code := s.end(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			s.restored()
		})
	}
}

// TestACallStuckInTheKernel freezes a file system under the driver: such a
// thread cannot be killed, and keeps its process from ending.
func TestACallStuckInTheKernel(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("freezing a file system needs root")
		}
		t.Skip("freezing a file system needs root")
	}
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	must(t, "truncate", "-s", "16M", image)
	must(t, "mkfs.ext4", "-q", image)
	must(t, "mkdir", mount)
	must(t, "mount", "-o", "loop", image, mount)
	frozen := false
	thaw := func() {
		if frozen {
			frozen = false
			must(t, "fsfreeze", "-u", mount)
		}
	}
	t.Cleanup(func() {
		thaw()
		for range 100 {
			if exec.Command("umount", mount).Run() == nil {
				return
			}
			time.Sleep(100 * time.Millisecond) // the stuck process is ending
		}
		t.Error("the file system stays mounted")
	})
	stuck := filepath.Join(mount, "stuck")
	if err := os.WriteFile(stuck, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, fake := onFake(t, 100, 30, "gpus 1\ngpu 0 util 42\n", "-i", "0.3")
	s.see("42%")
	must(t, "fsfreeze", "-f", mount)
	frozen = true
	fake.SetScenario("gpus 1\ngpu 0 util 42\nfault nvmlDeviceGetPowerUsage gpu 0 hangwrite " + stuck + "\n")
	s.see("driver: no answer for")
	begin := time.Now()
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("q took %v", took)
	}
	s.restored()
	thaw()
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// TestNoTerminal runs the program into a pipe.
func TestNoTerminal(t *testing.T) {
	fake := fakenvml.New(t, "580", "gpus 1\ngpu 0 util 42\n")
	cmd := exec.Command(binary, "--nvml", fake.Path(), "-i", "5")
	cmd.Env = append(os.Environ(), fake.Env()...)
	var hint strings.Builder
	cmd.Stderr = &hint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, hint.String())
	}
	if !strings.Contains(string(out), "42%") || strings.Contains(string(out), "\x1b") {
		t.Errorf("the output:\n%s", out)
	}
	if !strings.Contains(hint.String(), "ssh -t") {
		t.Errorf("the hint: %s", hint.String())
	}
}

func TestADumbTerminal(t *testing.T) {
	for _, term := range []string{"dumb", ""} {
		s := run(t, 80, 24, []string{"TERM=" + term}, "--demo")
		if code := s.end(); code != 0 {
			t.Errorf("exit status %d", code)
		}
		s.until("names TERM", func() bool { return strings.Contains(s.written(), "TERM") })
		if out := s.written(); strings.Contains(out, "\x1b") || !strings.Contains(out, "H100") {
			t.Errorf("TERM=%q:\n%s", term, out)
		}
	}
}

// TestALibraryThatDoesNotCome: the loader stays in opening its file, as on a network
// file system that is away.
func TestALibraryThatDoesNotCome(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "libnvidia-ml.so.1"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := run(t, 120, 24, []string{"LD_LIBRARY_PATH=" + dir})
	s.see("loading libnvidia-ml.so.1 has not returned for")
	s.see("network file system")
	s.press("q")
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.restored()
}

// TestWithoutALibraryTheUserSeesWhy shows no screen at all.
func TestWithoutALibraryTheUserSeesWhy(t *testing.T) {
	s := run(t, 80, 24, nil, "--nvml", "/nowhere/libnvidia-ml.so.1")
	if code := s.end(); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	s.until("says why", func() bool { return strings.Contains(s.written(), "/nowhere/libnvidia-ml.so.1") })
	if *s.termios() != s.before {
		t.Error("the terminal's modes changed")
	}
	var st unix.Stat_t
	if unix.Stat("/nowhere", &st) == nil {
		t.Error("something was made")
	}
}
