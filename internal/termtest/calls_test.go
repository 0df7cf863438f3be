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
	"nvtop-lite/internal/fixture"
)

// tracer builds the program that writes down which calls others make.
var tracer = sync.OnceValues(func() (string, error) {
	file := filepath.Join(filepath.Dir(binary), "tracecalls")
	out, err := exec.Command("go", "build", "-o", file, "./tracecalls").CombinedOutput()
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

// onlyThese checks that there were no calls about sockets but those of the name
// service, a Unix socket that goes there at once; that no program was started but the
// one under test; and that nothing else was changed than what lies in one of the
// folders, or is a terminal.
func (tr tracing) onlyThese(t *testing.T, folders ...string) {
	t.Helper()
	opened := 0
	for _, call := range tr.calls(t) {
		path, connects := strings.CutPrefix(call, "connect unix ")
		name, file, _ := strings.Cut(call, " ")
		inside := slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
		switch {
		case call == "socket unix":
			opened++
		case connects && opened > 0 && slices.ContainsFunc(nameServices, func(s string) bool { return strings.Contains(path, s) }):
			opened--
		case name == "execve" && (file == binary || file == "/proc/self/exe"):
		case name == "ioctl" && !inRoot(file): // whether it is a terminal
		case name == "open" && (file == "/dev/null" || file == "/dev/tty" || file == "/proc/self/fd/1"): // that of the screen
		case inside && !inRoot(file):
		default:
			t.Errorf("a call that should not be: %s", call)
		}
	}
	if opened > 0 {
		t.Errorf("%d Unix sockets that go nowhere", opened)
	}
}

// inRoot reports whether a file is one of those that tell of a machine, be it of this
// one or of a tree.
func inRoot(file string) bool {
	return strings.HasPrefix(file, "/sys/") || strings.HasPrefix(file, "/proc/") || strings.Contains(file, "/sys/") || strings.Contains(file, "/proc/")
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

// TestTheTracerSeesFiles that are changed, and programs that are started.
func TestTheTracerSeesFiles(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   []string // D is the folder
	}{
		{"echo x >$D/a", []string{"open D/a"}},
		{"cd $D; : >>a", []string{"open D/a"}},
		{"exec 3<>$D/a", []string{"open D/a"}},
		{"sh -c '(echo x >$D/a) & wait' & wait", []string{"open D/a"}},
		{"mkdir $D/m; mv $D/m $D/n; rmdir $D/n", []string{"mkdir D/m", "rename D/m D/n", "unlink D/n"}},
		{": >$D/x; cd $D; ln -s x y; ln x z; rm y", []string{"open D/x", "symlink D/y", "link D/x D/z", "unlink D/y"}},
		{": >$D/x; chmod 600 $D/x; truncate -s 0 $D/x", []string{"chmod D/x", "open D/x", "truncate D/x"}},
		{"/bin/sh -c '/bin/sh -c :; :'", []string{"execve /bin/sh", "execve /bin/sh"}},
	} {
		dir := t.TempDir()
		tr := traced(t)
		tr.run(t, []string{"D=" + dir}, "bash", "-c", tt.script)
		calls := tr.calls(t)
		rest := calls
		for _, want := range tt.want {
			at := slices.Index(rest, strings.ReplaceAll(want, " D/", " "+dir+"/"))
			if at < 0 {
				t.Fatalf("%s: no %s in time among %q", tt.script, want, calls)
			}
			rest = rest[at+1:]
		}
	}
	// What is only read is none of them.
	tr := traced(t)
	tr.run(t, nil, "bash", "-c", "read -r a </proc/self/stat; read -r a </sys/kernel/uevent_seqnum")
	if calls := tr.calls(t); slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "open /sys") || strings.HasPrefix(c, "open /proc") }) {
		t.Errorf("%q", calls)
	}
}

// TestNothingIsSentAndNothingListens: in no way of use does the program, or its
// driver process, open a socket, change a file, or start another program.
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
			tr.onlyThese(t, filepath.Dir(fake.Path()))
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
			tr.onlyThese(t, filepath.Dir(fake.Path()))
		})
	}
}

// TestNothingIsChangedOnAJetson, whose files tell of the GPU and would let it be
// clocked down: but for what it was asked to write the program only reads.
func TestNothingIsChangedOnAJetson(t *testing.T) {
	for machine, load := range map[string]string{"orin-agx-jetpack6": "34", "thor-jetpack7.2": "97"} {
		t.Run(machine, func(t *testing.T) {
			root, fake := fixture.Machine(t, machine), fakenvml.New(t, "580", fixture.Scenario(t, machine))
			library, dir := filepath.Dir(fake.Path()), t.TempDir()
			args := []string{"--root", root, "--nvml", fake.Path()}
			for _, command := range [][]string{{"--json", "-n", "3", "-i", "0.2"}, {"--once"}, {"doctor"}, {"record", dir + "/r.ndjson", "-n", "3", "-i", "0.2"}} {
				tr := traced(t)
				out := tr.run(t, fake.Env(), append(append([]string{binary}, command...), args...)...)
				if command[0] == "record" {
					text, err := os.ReadFile(dir + "/r.ndjson")
					if err != nil {
						t.Fatal(err)
					}
					out = string(text)
				}
				if command[0] != "doctor" && !strings.Contains(out, load) {
					t.Errorf("%q: no load of %s %%:\n%s", command, load, out)
				}
				tr.onlyThese(t, library, dir)
			}
			tr := traced(t)
			s := runFile(t, tr.command, 110, 40, fake.Env(), append([]string{tr.log, binary, "-i", "0.5"}, args...)...)
			s.see(load)
			s.press("v")
			s.press("h")
			s.see("Keys")
			s.press("hq")
			if code := s.end(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			s.restored()
			tr.onlyThese(t, library)
		})
	}
}
