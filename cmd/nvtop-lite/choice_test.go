//go:build linux

package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// demo runs the program on the simulated machine.
func demo(t testing.TB, args ...string) result {
	t.Helper()
	return run(t, nil, append([]string{program(t, "linux", "amd64"), "--demo"}, args...)...)
}

// demoProcesses are the processes of all GPUs of the simulated machine, and how
// many processes_state there are of each kind.
func demoProcesses(t testing.TB, args ...string) (all []object, states map[string]int) {
	t.Helper()
	r := demo(t, append([]string{"--json"}, args...)...)
	if r.code != 0 || r.err != "" {
		t.Fatalf("%q: exit code %d: %s", args, r.code, r.err)
	}
	states = map[string]int{}
	var add func(g object)
	add = func(g object) {
		states[g.text("processes_state")]++
		all = append(all, g.objects("processes")...)
		for _, instance := range g.objects("mig_devices") {
			add(instance)
		}
	}
	for _, g := range parse(t, r.out).objects("gpus") {
		add(g)
		if g["memory_used_bytes"] == nil || g["utilization_percent"] == nil {
			t.Errorf("%q: the GPU's own figures are not whole", args)
		}
	}
	return all, states
}

func TestFilterInDemo(t *testing.T) {
	everything, _ := demoProcesses(t, "--filter=", "--user=")
	lasting := slices.IndexFunc(everything, func(p object) bool { return p.text("name") == "train.py" })
	if len(everything) < 4 || lasting < 0 {
		t.Fatalf("%d processes", len(everything))
	}
	pid := fmt.Sprint(everything[lasting]["pid"])
	for _, tt := range []struct {
		args   []string
		chosen func(p object) bool
	}{
		{[]string{"--filter", "TRAIN.py"}, func(p object) bool { return strings.Contains(p.text("command"), "train.py") }},
		{[]string{"--user", "kim"}, func(p object) bool { return p.text("user") == "kim" }},
		{[]string{"--filter", pid}, func(p object) bool { return fmt.Sprint(p["pid"]) == pid }},
	} {
		got, states := demoProcesses(t, tt.args...)
		if len(got) == 0 || len(got) >= len(everything) || len(states) != 1 || states["ok"] == 0 {
			t.Errorf("%q: %d processes of %d, states %v", tt.args, len(got), len(everything), states)
		}
		for _, p := range got {
			if !tt.chosen(p) {
				t.Errorf("%q: %v", tt.args, p)
			}
		}
	}
	if got, states := demoProcesses(t, "--user", "ki"); len(got) != 0 || states["ok"] == 0 {
		t.Errorf("a part of an account: %d processes, states %v", len(got), states)
	}
}

func TestDemoWithoutProcesses(t *testing.T) {
	got, states := demoProcesses(t, "--no-processes")
	if len(got) != 0 || len(states) != 1 || states["not_sampled"] == 0 {
		t.Errorf("%d processes, states %v", len(got), states)
	}
	for _, g := range parse(t, demo(t, "--json", "--no-processes").out).objects("gpus") {
		if list, ok := g["processes"]; !ok || list != nil || g.object("unavailable").text("processes") != "not_sampled" {
			t.Errorf("processes %v, unavailable %v", list, g.object("unavailable"))
		}
	}
	r := demo(t, "--once", "--no-processes")
	if r.code != 0 || strings.Contains(r.out, "COMMAND") || strings.Contains(r.out, "train.py") || strings.Contains(r.out, "process") || !strings.Contains(r.out, "H100") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}

// TestDemoSortedText reads the PIDs down the table of --once.
func TestDemoSortedText(t *testing.T) {
	pids := func(args ...string) (list []string) {
		r := demo(t, append([]string{"--once"}, args...)...)
		_, table, _ := strings.Cut(r.out, "COMMAND\n")
		for _, line := range strings.Split(table, "\n") {
			if f := strings.Fields(line); len(f) > 8 {
				list = append(list, fmt.Sprintf("%9s", f[1]))
			}
		}
		if len(list) < 4 {
			t.Fatalf("%q: exit code %d:\n%s%s", args, r.code, r.out, r.err)
		}
		return list
	}
	if got := pids("--sort", "pid"); !slices.IsSorted(got) {
		t.Errorf("by PID: %v", got)
	}
	got := pids("--sort", "-pid")
	if slices.Reverse(got); !slices.IsSorted(got) {
		t.Errorf("by PID, reversed: %v", got)
	}
}

func TestFilterThatMatchesNothing(t *testing.T) {
	r := demo(t, "--filter", "no such process")
	if r.code != 0 || !strings.Contains(r.out, `no process on a GPU matches "no such process"`) || strings.Contains(r.out, "train.py") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}

func TestFlagErrors(t *testing.T) {
	for _, args := range [][]string{{"--sort", "memory"}, {"--sort"}, {"--view", "table"}} {
		r := demo(t, args...)
		if lines := strings.Split(r.err, "\n"); r.code != 2 || r.out != "" || len(lines) != 3 || !strings.HasPrefix(lines[0], "nvtop-lite: "+args[0]) {
			t.Errorf("%q: exit code %d, output %q, error %q", args, r.code, r.out, r.err)
		}
	}
}

// TestOptionDefaultsAreOfTheScreen: no script's output depends on them.
func TestOptionDefaultsAreOfTheScreen(t *testing.T) {
	r := run(t, []string{"NVTOP_LITE_OPTS=--no-processes --json"}, program(t, "linux", "amd64"), "--demo")
	if r.code != 0 || !strings.Contains(r.out, "train.py") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}
