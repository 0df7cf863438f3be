package apart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/monitor/apart"
)

// stop stops a process and waits until it stands.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it stands", func() bool { return processState(pid) == "T" })
}

// processState is the letter for the state of a process, "" when it is gone.
func processState(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("30 s without this: %s", what)
		}
	}
}

func TestAStoppedDriverProcessEndsWithTheGoodbye(t *testing.T) {
	c := start(t, apart.Setup{})
	until(t, c, "both GPUs are well", wellAndThere)
	pid := apart.ChildPID(c)
	stop(t, pid)
	c.Close()
	eventually(t, "the driver process is gone", func() bool { s := processState(pid); return s == "" || s == "Z" })
}

// TestAStoppedDriverProcessRestoresTheTerminalOfAKilledProgram.
func TestAStoppedDriverProcessRestoresTheTerminalOfAKilledProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "terminal")
	program, pid := startParent(t, "/proc/self/exe", "APART_PARENT="+file)
	stop(t, pid)
	_ = program.Process.Kill()
	_ = program.Wait()
	eventually(t, "the terminal is restored", func() bool { b, _ := os.ReadFile(file); return len(b) > 0 })
	eventually(t, "the driver process is gone", func() bool { s := processState(pid); return s == "" || s == "Z" })
}
