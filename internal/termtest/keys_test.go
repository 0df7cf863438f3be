//go:build linux

package termtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/fakenvml"
)

const (
	down, up, left, right, enter, esc, tab = "\x1b[B", "\x1b[A", "\x1b[D", "\x1b[C", "\r", "\x1b", "\t"
)

// line returns the row of the screen that contains text, -1 when none does.
func (s *screen) line(text string) int {
	for y, row := range strings.Split(s.text(), "\n") {
		if strings.Contains(row, text) {
			return y
		}
	}
	return -1
}

// click clicks where a text stands.
func (s *screen) click(text string) {
	s.t.Helper()
	s.see(text)
	y := s.line(text)
	row := strings.Split(s.text(), "\n")[y]
	x := len([]rune(row[:strings.Index(row, text)]))
	s.press(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1))
}

func (s *screen) without(text string) {
	s.t.Helper()
	s.until("is without "+text, func() bool { return !strings.Contains(s.text(), text) })
}

func (s *screen) quit() {
	s.t.Helper()
	s.press("q")
	if code := s.end(); code != 0 {
		s.t.Errorf("exit status %d", code)
	}
	s.restored()
}

func TestViewsByKey(t *testing.T) {
	s := run(t, 120, 40, nil, "--demo", "-i", "0.5")
	s.see("tensor")
	s.press("v") // boxes are what the automatic view shows
	s.see("view: numbers")
	s.see("memory clock 2619 of 2619 MHz")
	s.press("v")
	s.see("view: list")
	s.see("HISTORY")
	s.press("g")
	s.see("graphs: SM")
	s.press("v")
	s.see("view: processes")
	s.without("HISTORY")
	s.see("train.py")
	s.press("v")
	s.see("view: auto")
	s.see("tensor")
	s.press("gggg")
	s.see("NVLink → GPU of")
	s.press("p")
	s.without("COMMAND")
	s.press("p")
	s.see("COMMAND")
	s.press("h")
	s.see("select the one before, the next")
	s.press(esc)
	s.without("select the one before, the next")
	s.quit()
}

func TestSelectionAndDetails(t *testing.T) {
	s := run(t, 120, 45, nil, "--demo", "-i", "0.5")
	s.see("python train.py")
	s.press(tab + down + enter)
	s.see("identity   GPU-")
	s.see("memory controller")
	s.see("What is unknown, and why:")
	s.press(esc)
	s.without("identity")
	s.press(left + left)
	s.until("tells a value in the graph", func() bool { return strings.Contains(s.text(), " ago ") })
	s.press(tab + down + down + enter)
	s.see("container")
	s.see("started")
	s.press("x")
	s.see("these processes are not of this machine")
	s.press(esc)
	s.without("started")
	s.press(esc) // the cursor in the graphs
	s.without(" ago ")
	s.press(esc)
	if code := s.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.restored()
}

func TestFilterByKey(t *testing.T) {
	s := run(t, 120, 40, nil, "--demo", "-i", "0.5", "--view", "list")
	s.see("blender")
	s.press("/tra\x7f\x7frainq") // q is a letter here
	s.see("filter: trainq")
	s.see("no process matches the filter")
	s.press("\x7f" + enter)
	s.until("shows those that match alone", func() bool {
		return strings.Contains(s.text(), "python train.py") && !strings.Contains(s.text(), "blender --python")
	})
	s.press("/x" + esc) // what was kept before stays
	s.see("filter train")
	s.press(esc)
	s.see("blender --python")
	s.without("filter train")
	s.press("/\x1b[200~blen\x07der\x1b[201~" + enter)
	s.see("filter blender")
	s.without("python train.py")
	s.press("f")
	s.see("frozen")
	s.press("s")
	s.see("the order moves again")
	s.quit()
}

func TestMouse(t *testing.T) {
	s := run(t, 120, 40, nil, "--demo", "-i", "0.5")
	s.see("COMMAND")
	if !strings.Contains(s.written(), "\x1b[?1000h") || strings.Contains(s.written(), "\x1b[?1003h") {
		t.Error("clicks are not asked for, or movements are")
	}
	s.see("GPU MEM↓")
	s.click("USER")
	s.see("USER↑")
	s.click("USER↑")
	s.see("USER↓")
	s.click("Xorg :0")
	s.click("Xorg :0")
	s.see("/usr/lib/xorg/Xorg :0 -nolisten tcp")
	s.see("container")
	s.press(esc)
	s.without("container")
	s.click("help")
	s.see("select the one before, the next")
	s.press(esc)
	s.without("select the one before, the next")
	s.press("m")
	s.until("ends the reports", func() bool { return last(s.written(), "\x1b[?1000l") > last(s.written(), "\x1b[?1000h") })
	s.press("m")
	s.until("asks for them again", func() bool { return last(s.written(), "\x1b[?1000h") > last(s.written(), "\x1b[?1000l") })
	s.quit()

	s = run(t, 100, 30, nil, "--demo", "--no-mouse")
	s.see("tensor")
	s.press("q")
	s.end()
	if strings.Contains(s.written(), "\x1b[?1000h") {
		t.Error("--no-mouse: clicks are asked for")
	}
}

func TestDefaultFlags(t *testing.T) {
	s := run(t, 100, 30, []string{"NVTOP_LITE_OPTS=--view processes --sort -pid"}, "--demo")
	s.see("PID↓")
	s.without("tensor")
	s.quit()
	s = run(t, 100, 30, []string{"NVTOP_LITE_OPTS=--json"}, "--demo")
	if code := s.end(); code != 2 || !strings.Contains(s.text(), "NVTOP_LITE_OPTS") {
		t.Errorf("an output mode in it: exit status %d\n%s", code, s.text())
	}
}

// victim starts a process that the program may signal: in a PID namespace of its
// own that takes an open device of the driver.
func victim(t *testing.T) *exec.Cmd {
	t.Helper()
	device, err := os.CreateTemp("/dev", "nvidia-termtest-")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("a file in /dev cannot be made: ", err)
	}
	t.Cleanup(func() { os.Remove(device.Name()) })
	defer device.Close()
	cmd := exec.Command("sleep", "1000")
	cmd.ExtraFiles = []*os.File{device}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestSignallingAProcess(t *testing.T) {
	cmd := victim(t)
	fake := fakenvml.New(t, "580", fmt.Sprintf("gpus 1\ngpu 0 process compute none\ngpu 0 usage none\ngpu 0 process compute %d 1073741824\n", cmd.Process.Pid))
	alive := func() bool { return unix.Kill(cmd.Process.Pid, 0) == nil }

	s := run(t, 100, 30, nil, "--nvml", fake.Path(), "--read-only")
	s.see("sleep 1000")
	s.press(down + "x")
	s.see("read-only")
	s.quit()

	s = run(t, 100, 30, nil, "--nvml", fake.Path(), "-i", "0.5")
	s.see("sleep 1000")
	s.press("x")
	s.see("select a process first")
	s.press(down + "x")
	s.see("> SIGTERM")
	s.press("yt\x1b[200~\r\x1b[C\r\x1b[201~") // neither letters nor what is pasted
	s.press(enter)
	s.see("> no, go back")
	s.press(enter) // no
	s.see("> SIGTERM")
	s.press(esc)
	s.without("> SIGTERM")
	if !alive() {
		t.Fatal("the process ended without a yes")
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.press("\x1b[20~") // F9
	s.see("> SIGTERM")
	s.press(enter + right)
	s.see("> yes, send SIGTERM")
	s.press(enter)
	s.see("the process has ended")
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the process is still there")
	}
	s.press(esc)
	s.without("the process has ended")
	s.quit()
}

// TestASecondSignalChangesNothing: who presses Ctrl+C twice gets the same, and
// the terminal is put right once.
func TestASecondSignalChangesNothing(t *testing.T) {
	for i := range 6 {
		file := own(t)
		s := runFile(t, file, 90, 25, nil, "--demo")
		s.see("tensor")
		pid := s.pids()[0]
		_ = unix.Kill(pid, unix.SIGINT)
		for range 20 {
			time.Sleep(time.Duration(i) * 200 * time.Microsecond)
			_ = unix.Kill(pid, unix.SIGINT)
		}
		if code := s.end(); code != 0 {
			t.Errorf("exit status %d", code)
		}
		s.restored()
		gone(t, file)
		if n := strings.Count(s.written(), "\x1b[?1049l"); n != 1 {
			t.Errorf("the terminal was put right %d times", n)
		}
	}
}
