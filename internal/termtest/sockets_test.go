//go:build linux

package termtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// tracer builds the program that writes down what others do with sockets.
var tracer = sync.OnceValues(func() (string, error) {
	file := filepath.Join(filepath.Dir(binary), "tracesockets")
	out, err := exec.Command("go", "build", "-o", file, "./tracesockets").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return file, nil
})

// tracing is a run under the tracer.
type tracing struct{ command, log string }

func traced(t *testing.T) tracing {
	t.Helper()
	file, err := tracer()
	if err != nil {
		t.Fatal(err)
	}
	return tracing{file, filepath.Join(t.TempDir(), "calls")}
}

// run runs a command to its end and returns what it wrote.
func (tr tracing) run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(tr.command, append([]string{tr.log}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 125 {
		if os.Getenv("CI") == "true" {
			t.Fatal(said.String())
		}
		t.Skip("no tracing here: ", said.String())
	}
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said.String())
	}
	return string(out)
}

// calls are the calls that were written down, without who made them.
func (tr tracing) calls(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(tr.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, call)
	}
	return list
}

// nameServices are where the modules of libc's name service ask: its cache,
// systemd, SSSD, winbind.
var nameServices = []string{"/nscd/socket", "/run/systemd/userdb/", "/var/lib/sss/pipes/", "/winbindd/pipe"}

// none checks that there were no calls but those of the name service: a Unix
// socket, which goes there at once.
func (tr tracing) none(t *testing.T) {
	t.Helper()
	opened := 0
	for _, call := range tr.calls(t) {
		path, connects := strings.CutPrefix(call, "connect unix ")
		switch {
		case call == "socket unix":
			opened++
		case connects && opened > 0 && slices.ContainsFunc(nameServices, func(s string) bool { return strings.Contains(path, s) }):
			opened--
		default:
			t.Errorf("a call about sockets: %s", call)
		}
	}
	if opened > 0 {
		t.Errorf("%d Unix sockets that go nowhere", opened)
	}
}

// TestTheTracerSeesSockets of the command, and of what it starts.
func TestTheTracerSeesSockets(t *testing.T) {
	for _, script := range []string{
		"exec 3<>/dev/udp/127.0.0.1/9",
		"sh -c 'exec bash -c \"exec 3<>/dev/udp/127.0.0.1/9\"' & wait",
	} {
		tr := traced(t)
		tr.run(t, nil, "bash", "-c", script)
		if got := strings.Join(tr.calls(t), ", "); !strings.Contains(got, "socket 2, connect 2") {
			t.Errorf("%s: %q", script, got)
		}
	}
}

// TestNothingIsSentAndNothingListens: in no way of use does the program, or its
// driver process, open a socket.
func TestNothingIsSentAndNothingListens(t *testing.T) {
	// A process of this machine, so that its user's name is asked for.
	fake := fakenvml.New(t, "580", fmt.Sprintf("gpus 2\ngpu 0 util 42\ngpu 0 process compute %d 1048576\n", os.Getpid()))
	nvml := []string{"--nvml", fake.Path()}
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"demo", []string{"--demo", "--json"}, `"schema":"nvtop-lite/1"`},
		{"stream", append(nvml, "--json", "-n", "2", "-i", "0.2"), `"utilization_percent":42`},
		{"text", append(nvml, "--once"), "42%"},
		{"doctor", append(nvml, "doctor"), "nvmlDeviceGetPowerUsage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := traced(t)
			if out := tr.run(t, fake.Env(), append([]string{binary}, tt.args...)...); !strings.Contains(out, tt.says) {
				t.Errorf("the output:\n%s", out)
			}
			tr.none(t)
		})
	}
	for name, args := range map[string][]string{"screen of the demo": {"--demo"}, "screen": nvml} {
		t.Run(name, func(t *testing.T) {
			tr := traced(t)
			tr.run(t, nil, "true") // or it cannot be traced
			s := runFile(t, tr.command, 110, 40, fake.Env(), append([]string{tr.log, binary, "-i", "0.5"}, args...)...)
			s.see("H100")
			s.see("COMMAND")
			s.press("v")
			s.press("h")
			s.see("Keys")
			s.press("hq")
			if code := s.end(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			s.restored()
			tr.none(t)
		})
	}
}
