//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// TestAClosedPipeEndsQuietly, whatever was to be written there.
func TestAClosedPipeEndsQuietly(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	for _, args := range [][]string{{"--help"}, {"--version"}, {"-1"}, {"-j"}, {"-j", "-i", "0.1"}} {
		cmd := exec.Command(program(t, "linux", "amd64"), append(args, "--demo")...)
		cmd.Env = environment()
		cmd.Stdout = w
		if said, err := stderrOf(cmd); err != nil || said != "" {
			t.Errorf("%q: %v\n%s", args, err, said)
		}
	}
	// Where messages go nowhere, the exit code still tells.
	cmd := exec.Command(program(t, "linux", "amd64"), "--bad")
	cmd.Stderr = w
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("wrong usage: %v", cmd.ProcessState)
	}
}

// TestClosedStandardFiles: nothing is written into a file that would have got the
// number of one that is closed, and the exit code is that of the work.
func TestClosedStandardFiles(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	fake := fakenvml.New(t, "580", stillScenario(1))
	dir := t.TempDir()
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"} {
		for _, args := range []string{"--json -o $1/f", "record -n 1 $1/f", "--json", "--help"} {
			_ = os.Remove(dir + "/f")
			r := run(t, nil, "/bin/sh", "-c", `exec "$0" --nvml "$2" `+args+" "+closed, nvtop, dir, fake.Path())
			if strings.HasSuffix(args, "--help") {
				r = run(t, nil, "/bin/sh", "-c", `exec "$0" `+args+" "+closed, nvtop)
			}
			says(t, r, 0, "")
			if text, err := os.ReadFile(dir + "/f"); strings.Contains(args, "$1") && (err != nil || len(parse(t, string(text)).objects("gpus")) != 1) {
				t.Errorf("%s %s: %v\n%s", args, closed, err, text)
			}
		}
		r := run(t, nil, "/bin/sh", "-c", `exec "$0" --nvml /nowhere.so --once `+closed, nvtop)
		if r.code != 1 || r.out != "" {
			t.Errorf("no library, %s: exit code %d\n%s", closed, r.code, r.out)
		}
	}
}

// stderrOf runs a command and returns what it wrote on its standard error.
func stderrOf(cmd *exec.Cmd) (string, error) {
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	return said.String(), err
}

// TestFewFiles: the Go runtime itself would end in a trace.
func TestFewFiles(t *testing.T) {
	fake := fakenvml.New(t, "580", stillScenario(8))
	limited := func(limit string) result {
		return run(t, nil, "/bin/sh", "-c", "ulimit "+limit+`; exec "$0" --nvml "$1" --once`, program(t, "linux", "amd64"), fake.Path())
	}
	full := ""
	for fd := 3; fd <= 9; fd++ { // what a shell can name
		full += fmt.Sprintf("; exec %d</dev/null", fd)
	}
	for _, files := range []string{"-n 4", "-n 8", "-n 26", "-n 30" + full} { // the last has them open already
		r := limited(files)
		says(t, r, 1, "nvtop-lite: no more than ")
		if !strings.HasSuffix(r.err, " files can be opened, and 24 are needed: see ulimit -n\n") {
			t.Errorf("%s: %s", files, r.err)
		}
	}
	says(t, limited("-n 32"), 0, "")
	says(t, limited("-S -n 8"), 0, "") // which the program may raise
}

// TestRoots: one that is not there would look like a machine without GPUs.
func TestRoots(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for root, what := range map[string]string{"nonsense": `there is no folder "nonsense"`, file: "is no folder", file + "/x": "not a directory"} {
		says(t, run(t, nil, nvtop, "--once", "--root", root), 2, "nvtop-lite: --root: ", "/proc")
		r := run(t, []string{"NVTOP_LITE_ROOT=" + root}, nvtop, "--json")
		says(t, r, 2, what, "/proc")
		if !strings.HasPrefix(r.err, "nvtop-lite: NVTOP_LITE_ROOT: ") {
			t.Errorf("the variable is not named: %s", r.err)
		}
	}
	says(t, run(t, []string{"NVTOP_LITE_ROOT=nonsense"}, nvtop, "--once", "--nvml", "/nowhere.so", "--root", t.TempDir()), 1, "nvtop-lite: no NVML library", "")
}
