//go:build linux || windows

package apart_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// startParent starts this test as the program that starts a driver process, and returns
// the PID of that one. It is killed at the end.
func startParent(t *testing.T, file string, env ...string) (program *exec.Cmd, pid int) {
	t.Helper()
	program = exec.Command(file)
	program.Env = append(os.Environ(), env...)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	return program, pid
}
