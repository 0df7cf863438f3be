//go:build linux

package main_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pipeFor makes a named pipe that nobody writes to, whose opening never returns.
func pipeFor(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestALibraryThatDoesNotCome: the loader stays in opening its file, as it does
// where a network file system does not answer. Each way to use the program ends in
// time, and says what it waited for.
func TestALibraryThatDoesNotCome(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	env := []string{"LD_LIBRARY_PATH=" + filepath.Dir(pipeFor(t, "libnvidia-ml.so.1"))}
	const what, hint = "loading libnvidia-ml.so.1 did not return within ", "network file system"
	for _, args := range [][]string{{"--once"}, {"--json", "-n", "3"}, {"--csv"}, {"--prometheus"}, {"record", "-n", "1", "-"}} {
		says(t, run(t, env, append([]string{nvtop, "--timeout", "1"}, args...)...), 1, "nvtop-lite: "+what+"1s", hint)
	}
	r := run(t, env, nvtop, "--timeout", "1", "doctor", "-q")
	if r.code != 1 || !strings.HasPrefix(r.out, "critical: "+what) {
		t.Errorf("doctor: exit code %d\n%s", r.code, r.out)
	}
	says(t, run(t, env, nvtop, "--once"), 1, "nvtop-lite: "+what+"30s", hint)
}

// TestFilesThatAreNoLibrary are told by their kind, and never opened.
func TestFilesThatAreNoLibrary(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{pipeFor(t, "pipe"), socket, "/dev/null", t.TempDir()} {
		says(t, run(t, nil, nvtop, "--once", "--nvml", path), 1, "nvtop-lite: no NVML library: "+path+": is a folder, a pipe, a socket or a device", "--nvml")
		r := run(t, nil, nvtop, "doctor", "--json", "--nvml", path)
		var page struct{ Problems []struct{ Code, Text string } }
		if err := json.Unmarshal([]byte(r.out), &page); err != nil || len(page.Problems) == 0 || page.Problems[0].Code != "no_library" {
			t.Errorf("doctor of %s: %v, %+v", path, err, page)
		}
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
}
