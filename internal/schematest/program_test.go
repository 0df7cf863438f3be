package schematest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvtop-lite-schematest")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "nvtop-lite")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-o", binary, "./cmd/nvtop-lite")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (out []byte, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "NVTOP_LITE_") || strings.HasPrefix(e, "CUDA_") })
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%q does not end", args)
	case errors.As(err, &exit):
		return out, exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return out, 0
}

// output is what the program writes, where that can be no more than a remark.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	out, code := run(t, args...)
	if code > 1 || len(out) == 0 {
		t.Fatalf("%q: exit code %d, %d bytes", args, code, len(out))
	}
	return out
}

func TestDemo(t *testing.T) {
	for _, line := range []string{
		"--json", "--json -n 3 -i 0.1", "--json -g 0,1", "--json --no-processes", "--json --no-commands", "--json --user kim --sort -cpu",
		"doctor --json",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if n := checkLines(t, line, output(t, append(strings.Fields(line), "--demo")...)); n == 0 {
				t.Error("nothing was written")
			}
		})
	}
}

var models = []string{"h100", "a100", "v100", "t4", "l40s", "rtx4090", "gtx1080", "k80", "gb10", "thor", "orin"}

// TestGenerations of the driver, each with every kind of GPU.
func TestGenerations(t *testing.T) {
	for _, generation := range fakenvml.Generations() {
		t.Run(generation, func(t *testing.T) {
			t.Parallel()
			s := &fakenvml.Scenario{}
			s.Add("gpus %d", len(models))
			s.Add("gpu all pcie.wait 0")
			for i, model := range models {
				s.Add("gpu %d model %s", i, model)
			}
			fake := fakenvml.New(t, generation, s.String())
			for _, command := range [][]string{{"--json", "-n", "2", "-i", "0.3"}, {"doctor", "--json"}} {
				checkLines(t, generation, output(t, append(command, "--nvml", fake.Path())...))
			}
		})
	}
}

// TestTrouble: what is missing, what breaks and what hangs.
func TestTrouble(t *testing.T) {
	for _, tt := range []struct{ name, scenario, flags string }{
		{"lost", "gpus 2\ngpu 1 lost 1\n", ""},
		{"lost on the way", "gpus 2\nfault * gpu 1 calls 60- return 15\n", "-n 4 -i 0.2"},
		{"in need of a reset", "gpus 2\ngpu 1 lost 16\n", ""},
		{"not to be opened", "gpus 2\ngpu 1 open 4\n", ""},
		{"none to be opened", "gpus 2\ngpu all open 4\n", ""},
		{"without a cause", "gpus 2\nfault * gpu 0 return 999\n", ""},
		{"a call that hangs", "gpus 2\nfault nvmlDeviceGetPowerUsage gpu 1 hang\n", ""},
		{"a call that hangs, in a stream", "gpus 2\nfault nvmlDeviceGetPowerUsage gpu 1 calls 2- hang\n", "-n 5 -i 1"},
		{"opening hangs", "gpus 2\nfault nvmlDeviceGetHandleByIndex_v2 gpu 1 hang\n", "--timeout 3"},
		{"all hangs", "fault * hang\n", "--timeout 2"},
		{"every call is refused", "fault nvmlDevice* return 3\n", ""},
		{"nobody may ask", "fault nvmlDevice* return 4\n", ""},
		{"MIG", "gpus 2\ngpu 0 mig on\ngpu 0 instance 0 1 0 1g.10gb\ngpu 0 instance 1 2 0 1g.10gb\ngpu 0:0 process compute 4242 1GiB 1 0\n", ""},
		{"MIG that is lost", "gpus 1\ngpu 0 mig on\ngpu 0 instance 0 1 0 1g.10gb\ngpu 0 lost 1\n", ""},
		{"MIG in a container", "gpus 1\ngpu 0 mig on\ngpu 0 instance 0 1 0 1g.10gb\ngpu 0 memory.total error 4\n", ""},
		{"no list of processes", "fault nvmlDeviceGetComputeRunningProcesses* return 4\n", ""},
		{"memory of processes unknown", "gpus 1\ngpu 0 process compute none\ngpu 0 process compute 77 none\n", ""},
		{"words that nobody knows", "gpus 1\ngpu 0 reasons 0x200001\ngpu 0 computemode 17\ngpu 0 fabric 9\ngpu 0 arch 40\n", ""},
		{"values that cannot be true", "gpus 1\ngpu 0 temperature 4000\ngpu 0 power none\ngpu 0 util 300\n", ""},
		{"no GPU", "gpus 0\n", ""},
		{"no GPU yet", "gpus 0\n", "-n 2 -i 0.2"},
		{"no driver yet", "init 9\n", "-n 2 -i 0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", "gpu all pcie.wait 0\n"+tt.scenario)
			flags := append(strings.Fields(tt.flags), "--nvml", fake.Path())
			out, code := run(t, append(flags, "--json")...)
			if n := checkLines(t, tt.name, out); code > 1 || n == 0 && code == 0 {
				t.Errorf("exit code %d, %d lines", code, n)
			}
			if !strings.Contains(tt.flags, "-n") {
				checkLines(t, "doctor, "+tt.name, output(t, append(flags, "doctor", "--json")...))
			}
		})
	}
}

// TestRecordings: each line of one, and what summary and diff say of it.
func TestRecordings(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"demo":            {"--demo"},
		"driver":          {"--nvml", fakenvml.New(t, "580", "gpus 2\ngpu all pcie.wait 0\ngpu 0 mig on\ngpu 0 instance 0 1 0 1g.10gb\n").Path()},
		"lost_on_the_way": {"--nvml", fakenvml.New(t, "580", "gpus 2\ngpu all pcie.wait 0\nfault * gpu 1 calls 150- return 15\n").Path()},
	} {
		path := filepath.Join(t.TempDir(), name)
		if _, code := run(t, append([]string{"record", path, "-n", "6", "-i", "0.2"}, flags...)...); code != 0 {
			t.Errorf("%s: record ends with %d", name, code)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := checkLines(t, name, text); n != 6 {
			t.Errorf("%s: %d lines", name, n)
		}
		checkLines(t, name, output(t, "summary", "--json", path))
		checkLines(t, name, output(t, "diff", "--json", path, path))
	}
}

// TestNoLibrary: the doctor says so, and a machine without a driver has no
// snapshot.
func TestNoLibrary(t *testing.T) {
	for _, args := range [][]string{{"--nvml", "/nowhere.so"}, {"--root", t.TempDir()}} {
		checkLines(t, "doctor", output(t, append(args, "doctor", "--json", "--timeout", "20")...))
		out, code := run(t, append(args, "--json")...)
		if n := checkLines(t, "snapshot", out); code > 1 || code == 1 && n > 0 {
			t.Errorf("exit code %d, %d lines", code, n)
		}
	}
}
