//go:build linux

package termtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/fakenvml"
)

// streaming starts a stream of JSON with more than a pipe holds at a time.
func streaming(t *testing.T) (cmd *exec.Cmd, out *os.File) {
	t.Helper()
	fake := fakenvml.New(t, "580", "gpus 64\n")
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(own(t), "--nvml", fake.Path(), "-j", "-i", "0.1")
	cmd.Env = append(os.Environ(), fake.Env()...)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out.Close()
	})
	return cmd, out
}

// exit waits for the end of a command, and gives its exit status; -1 is one that
// the signal itself ended.
func exit(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !kill.Stop() {
		t.Fatal("the program never ended")
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

var streamEnds = map[unix.Signal]int{unix.SIGINT: 130, unix.SIGTERM: 143, unix.SIGHUP: 129, unix.SIGQUIT: 131}

// TestASignalEndsAStreamThatNobodyReads: the program is at its writing then.
func TestASignalEndsAStreamThatNobodyReads(t *testing.T) {
	for sig, code := range streamEnds {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			cmd, out := streaming(t)
			size, err := unix.FcntlInt(out.Fd(), unix.F_GETPIPE_SZ, 0)
			if err != nil {
				t.Fatal(err)
			}
			for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
				if n, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ); err != nil || n == size {
					break
				}
				if time.Since(begin) > patience {
					t.Fatal("the pipe never was full")
				}
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := exit(t, cmd); got != code {
				t.Errorf("exit status %d, want %d", got, code)
			}
			gone(t, cmd.Path)
		})
	}
}

// TestASignalLeavesWholeLines to the one who reads.
func TestASignalLeavesWholeLines(t *testing.T) {
	cmd, out := streaming(t)
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 && n > 2 {
			break
		}
		if err != nil || !json.Valid(line) {
			t.Fatalf("line %d: %v, %d bytes", n, err, len(line))
		}
		if n == 2 {
			if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := exit(t, cmd); got != 143 {
		t.Errorf("exit status %d", got)
	}
	gone(t, cmd.Path)
}
