//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// says compares an error message of a run with its lines.
func says(t testing.TB, r result, code int, lines ...string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
	ok := r.code == code && len(got) == len(lines)
	for i := range lines {
		ok = ok && strings.Contains(got[i], lines[i])
	}
	if !ok {
		t.Errorf("exit code %d, want %d, and it says\n%swant %q", r.code, code, r.err, lines)
	}
}

// TestNoGPUCanBeRead: the output comes all the same, unknown is not none, and
// the exit code tells a script.
func TestNoGPUCanBeRead(t *testing.T) {
	for _, tt := range []struct{ scenario, state, says, hint string }{
		{"gpu all open 4\n", "unavailable", "nvtop-lite: no GPU could be read: cannot be opened: no permission: NVML_ERROR_NO_PERMISSION", "/dev/nvidia0"},
		{"gpu all lost 1\n", "lost", "nvtop-lite: no GPU could be read: GPU is lost: NVML_ERROR_GPU_IS_LOST", "reset"},
	} {
		t.Run(tt.state, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", "gpus 2\n"+tt.scenario)
			r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--once")
			says(t, r, 1, tt.says, tt.hint)
			if strings.Contains(r.out, "process") || strings.Count(r.out, tt.state) < 2 || strings.Contains(r.out, "lost 0 s: GPU is lost") {
				t.Errorf("output:\n%s", r.out)
			}
			for _, args := range [][]string{{"--json"}, {"--json", "-n", "2", "-i", "0.2"}} {
				r = run(t, nil, append([]string{program(t, "linux", "amd64"), "--nvml", fake.Path()}, args...)...)
				says(t, r, 1, tt.says, tt.hint)
				line, _, _ := strings.Cut(r.out, "\n")
				s := parse(t, line)
				checkSnapshot(t, s)
				for _, g := range s.objects("gpus") {
					if g.text("state") != tt.state {
						t.Errorf("state %q", g.text("state"))
					}
				}
			}
			obeys(t, fake)
		})
	}
	t.Run("one of two", func(t *testing.T) {
		t.Parallel()
		fake := fakenvml.New(t, "580", "gpus 2\ngpu 0 open 4\n")
		says(t, run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json"), 0, "")
	})
}

// TestNoLibrary: the cause in plain words, what to do, and each answer once.
func TestNoLibrary(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	dir := t.TempDir()
	missing, text := filepath.Join(dir, "missing.so"), filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library at all, but long enough to be looked at: the head of one has 64 bytes"), 0o666); err != nil {
		t.Fatal(err)
	}
	says(t, run(t, nil, nvtop, "--once", "--nvml", missing), 1, "nvtop-lite: no NVML library at "+missing+": NVML_ERROR_LIBRARY_NOT_FOUND", "--nvml")
	r := run(t, nil, nvtop, "--once", "--nvml", text)
	says(t, r, 1, "nvtop-lite: no NVML library: "+text+": invalid ELF header", "--nvml")
	if strings.Contains(r.err, "NOT_FOUND") {
		t.Errorf("the file is there: %s", r.err)
	}
	// A root without traces of a driver; a library may still be there.
	r = run(t, nil, nvtop, "--once", "--root", dir)
	if strings.Contains(r.err, "kernel driver is not loaded") {
		t.Skip("this machine has an NVML library")
	}
	says(t, r, 1, "nvtop-lite: no NVIDIA driver library found: NVML_ERROR_LIBRARY_NOT_FOUND", "is the NVIDIA driver installed?", "  tried libnvidia-ml.so.1, ")
	if strings.Count(r.err, "not found") != 1 {
		t.Errorf("an answer stands more than once:\n%s", r.err)
	}
}

// TestVisible: -g visible shows what CUDA would.
func TestVisible(t *testing.T) {
	fake := fakenvml.New(t, "580", stillScenario(4))
	visible := func(env ...string) result {
		return run(t, env, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json", "-g", "visible")
	}
	const value, byBus = "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=PCI_BUS_ID"
	says(t, visible(), 2, "CUDA_VISIBLE_DEVICES is not set", "set it")
	for _, list := range []string{"", "-1", "none,0"} {
		says(t, visible(value+list, byBus), 1, "nvtop-lite: CUDA_VISIBLE_DEVICES shows no GPU", fmt.Sprintf("it is %q", list))
	}
	says(t, visible(value+"7,1", byBus), 1, "nvtop-lite: CUDA_VISIBLE_DEVICES shows no GPU", "this machine has GPUs 0-3")
	says(t, visible(value+"GPU-4", byBus), 2, "CUDA_VISIBLE_DEVICES", "")
	all := parse(t, run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json").out).objects("gpus")
	for list, want := range map[string]string{"2,0": "0 2", "1,9,2": "1", "3,-1,0": "3", all[1].text("uuid") + ",GPU-ffffffff,2": "1"} {
		r := visible(value+list, byBus)
		says(t, r, 0, "")
		var got []string
		for _, g := range parse(t, r.out).objects("gpus") {
			got = append(got, fmt.Sprint(g["index"]))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: GPUs %s, want %s", list, g, want)
		}
	}
	says(t, visible(value+"1"), 0, "CUDA counts the fastest GPU first unless CUDA_DEVICE_ORDER is PCI_BUS_ID")
	says(t, visible(value+all[1].text("uuid")), 0, "")
}

// TestDemoIsWhollySimulated: neither flags nor the environment put the real
// machine beside it.
func TestDemoIsWhollySimulated(t *testing.T) {
	says(t, demo(t, "--once", "--nvml", "x"), 2, "nvtop-lite: --demo uses no NVML library", "")
	says(t, demo(t, "--once", "--root", "x"), 2, "nvtop-lite: --demo reads no files", "")
	r := run(t, []string{"NVTOP_LITE_NVML=/nowhere.so", "NVTOP_LITE_ROOT=/nowhere"}, program(t, "linux", "amd64"), "--demo", "--json")
	says(t, r, 0, "")
	s := parse(t, r.out)
	checkSnapshot(t, s)
	h := s.object("host")
	if h.text("hostname") != "demo" || h["cpu_percent"] == nil || h["memory_total_bytes"] == nil || h["memory_available_bytes"] == nil || s.object("platform").text("model") != "demo" {
		t.Errorf("host %v, platform %v", h, s.object("platform"))
	}
}
