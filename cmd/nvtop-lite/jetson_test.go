//go:build linux

package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor/report"
)

// streaming is the program that runs on a machine's files and prints JSON.
type streaming struct {
	root  string
	lines *bufio.Scanner
}

// stream starts the program on a machine. The end of the test ends it.
func stream(t *testing.T, machine string) *streaming {
	t.Helper()
	root := fixture.Machine(t, machine)
	cmd := exec.Command(program(t, "linux", "amd64"), "--root", root, "--nvml", machineLibrary(t, machine), "--json", "-n", "0", "-i", "0.2")
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	return &streaming{root, lines}
}

// until returns the first snapshot of which ok is true. All before it, and it,
// must be as they should always be.
func (s *streaming) until(t *testing.T, what string, always func(object), ok func(object) bool) object {
	t.Helper()
	var last string
	for s.lines.Scan() {
		last = s.lines.Text()
		o := parse(t, last)
		checkSnapshot(t, o)
		always(o)
		if t.Failed() {
			t.Fatalf("in %s", last)
		}
		if ok(o) {
			return o
		}
	}
	t.Fatalf("%s: never seen. %v\n%s", what, s.lines.Err(), last)
	return nil
}

// number is a number of an object as it was written, null where there is none.
func (o object) number(key string) string {
	if n, ok := o[key].(json.Number); ok {
		return n.String()
	}
	return "null"
}

// railsOf are the rails of a snapshot: name, then power.
func railsOf(s object) map[string]string {
	all := map[string]string{}
	for _, r := range s.object("platform").objects("rails") {
		all[r.text("name")] = r.number("power_mw")
	}
	return all
}

var agxRails = map[string]string{"VDD_GPU_SOC": "2395.2", "VDD_CPU_CV": "798.08", "VIN_SYS_5V0": "3617.28", "VDDQ_VDD2_1V8AO": "998.8"}

// TestABootingJetson: nvgpu comes up while the program runs, and its values are
// there without a restart. Until then they are not found, and the rest is shown.
func TestABootingJetson(t *testing.T) {
	t.Parallel()
	s, later := stream(t, "orin-agx-booting"), fixture.Machine(t, "orin-agx-jetpack6")
	row := func(o object) object {
		if all := o.objects("gpus"); len(all) == 1 {
			return all[0]
		}
		t.Errorf("%d GPUs", len(o.objects("gpus")))
		return object{}
	}
	always := func(o object) {
		g := row(o)
		if load := g.number("utilization_percent"); load != "34.5" && (load != "null" || g.object("unavailable").text("utilization_percent") != "not_found") {
			t.Errorf("a load of %s, %s", load, g.object("unavailable").text("utilization_percent"))
		}
		if g.text("state") != "ok" || g.number("memory_used_bytes") != "4139003904" || g.number("temperature_c") != "47.625" || len(g.objects("processes")) != 3 || len(railsOf(o)) != 4 {
			t.Errorf("state %q, %d processes, rails %v", g.text("state"), len(g.objects("processes")), railsOf(o))
		}
	}
	seen := 0
	s.until(t, "a GPU without a load", always, func(object) bool { seen++; return seen == 3 })
	for _, name := range []string{
		"sys/devices/platform/bus@0/17000000.gpu/load", "sys/devices/platform/bus@0/17000000.gpu/devfreq", "sys/class/devfreq/17000000.gpu",
	} {
		if err := os.Rename(filepath.Join(later, name), filepath.Join(s.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.until(t, "the load of the GPU", always, func(o object) bool {
		g := row(o)
		return g.number("utilization_percent") == "34.5" && g.number("clock_graphics_mhz") == "1300.5" && o.object("platform").text("gpu_governor") == "nvhost_podgov"
	})
}

// TestSensorsAreNumberedAnew while the program runs: no rail has another's value.
func TestSensorsAreNumberedAnew(t *testing.T) {
	t.Parallel()
	s := stream(t, "orin-agx-jetpack6")
	always := func(o object) {
		for name, power := range railsOf(o) {
			if power != "null" && power != agxRails[name] {
				t.Errorf("%s is %s mW", name, power)
			}
		}
	}
	whole := func(o object) bool { return reflect.DeepEqual(railsOf(o), agxRails) }
	s.until(t, "all rails", always, whole)
	for range 4 {
		fixture.Renumber(t, s.root)
		age := 0 // those of before are kept for a second
		s.until(t, "all rails anew", always, func(o object) bool { age++; return age > 8 && whole(o) })
	}
}

// snapshotAsUser runs the program as an ordinary user, to whom debugfs is closed.
func snapshotAsUser(t *testing.T, machine string) object {
	t.Helper()
	root := fixture.Machine(t, machine)
	cmd := exec.Command(program(t, "linux", "amd64"), "--root", root, "--nvml", machineLibrary(t, machine), "--json")
	cmd.Env = environment()
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		// The folders of tests, and what was built, are root's alone.
		reachable(t, root, 0o755)
		reachable(t, cmd.Path, 0o755)
		reachable(t, cmd.Args[4], 0o755)
		if library := filepath.Dir(cmd.Args[4]); library != "/nonexistent" {
			all, err := filepath.Glob(filepath.Join(library, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range all {
				if err := os.Chmod(name, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(library, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		// Closed to its owner, as to those whom it does not belong to.
		debug := filepath.Join(root, "sys", "kernel", "debug")
		if err := os.Chmod(debug, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(debug, 0o700) }()
	}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	s := parse(t, string(out))
	checkSnapshot(t, s)
	return s
}

// reachable opens the folders above a file that a test made.
func reachable(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	for dir := filepath.Dir(name); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAJetsonForAnOrdinaryUser: what debugfs tells is not his to see, and says so;
// all else is as it is for root.
func TestAJetsonForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	const machine = "orin-agx-jetpack6"
	s := snapshotAsUser(t, machine)
	g, p := s.objects("gpus")[0], s.object("platform")
	if g["processes"] != nil || g.text("processes_state") != "no_permission" || g.number("memory_used_bytes") != "4139003904" {
		t.Errorf("processes %v, %s; %s bytes used", g["processes"], g.text("processes_state"), g.number("memory_used_bytes"))
	}
	why := p.object("unavailable")
	for _, key := range []string{"emc_mhz", "emc_percent"} {
		if p[key] != nil || why.text(key) != "no_permission" {
			t.Errorf("%s is %v, %s", key, p[key], why.text(key))
		}
	}
	// Three of them are in devfreq, too.
	engines := p.objects("engines")
	for i, want := range []string{"NVENC 793.6 null", "NVDEC 998.4 null", "VIC 115.2 8.7"} {
		if i >= len(engines) {
			t.Fatalf("engines %v", engines)
		}
		e, key := engines[i], "engines["+strconv.Itoa(i)+"].on"
		if got := e.text("name") + " " + e.number("clock_mhz") + " " + e.number("percent"); got != want || e["on"] != nil || why.text(key) != "no_permission" {
			t.Errorf("%s, on %v, %s; want %s", got, e["on"], why.text(key), want)
		}
	}

	// As for root.
	root := fixture.Machine(t, machine)
	whole := parse(t, run(t, nil, program(t, "linux", "amd64"), "--root", root, "--nvml", machineLibrary(t, machine), "--json").out)
	rootGPU, rootPlatform := whole.objects("gpus")[0], whole.object("platform")
	for key, v := range rootGPU {
		if !slices.Contains([]string{"processes", "processes_state", "processes_age_seconds", "ages", "age_seconds", "state_seconds", "unavailable", "errors"}, key) && !reflect.DeepEqual(v, g[key]) {
			t.Errorf("%s is %v, for root %v", key, g[key], v)
		}
	}
	for key, v := range rootPlatform {
		if !slices.Contains([]string{"engines", "emc_mhz", "emc_percent", "unavailable"}, key) && !reflect.DeepEqual(v, p[key]) {
			t.Errorf("%s is %v, for root %v", key, p[key], v)
		}
	}
}

// TestMemoryForAnOrdinaryUser: kernels of JetPack 7.2 tell in debugfs alone what the
// GPU has of the memory.
func TestMemoryForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	g := snapshotAsUser(t, "orin-agx-jetpack7.2").objects("gpus")[0]
	if g["memory_used_bytes"] != nil || g.object("unavailable").text("memory_used_bytes") != "no_permission" || g.number("memory_total_bytes") != "65893519360" {
		t.Errorf("%v of %v, %s", g["memory_used_bytes"], g["memory_total_bytes"], g.object("unavailable").text("memory_used_bytes"))
	}
	if g.number("utilization_percent") != "34.5" || g.text("processes_state") != "no_permission" {
		t.Errorf("a load of %s, processes %s", g.number("utilization_percent"), g.text("processes_state"))
	}
}

// TestACrashOnAJetson: a driver's library that ends the process that loads it takes
// no row of a GPU along that files tell of.
func TestACrashOnAJetson(t *testing.T) {
	t.Parallel()
	const machine = "orin-agx-jetpack6"
	for _, how := range []string{"segv", "abort"} {
		fake := fakenvml.New(t, "580", fixture.Scenario(t, machine)+"fault nvmlInit_v2 "+how+"\n")
		r := run(t, nil, program(t, "linux", "amd64"), "--root", fixture.Machine(t, machine), "--nvml", fake.Path(), "--json")
		says(t, r, 0, "")
		s := parse(t, r.out)
		checkSnapshot(t, s)
		g := s.objects("gpus")[0]
		if g.text("state") != "ok" || g.text("name") != "Orin (nvgpu)" || g.number("utilization_percent") != "34.5" || g.number("memory_used_bytes") != "4139003904" {
			t.Errorf("%s: %s, state %s, load %s, memory %s", how, g.text("name"), g.text("state"), g.number("utilization_percent"), g.number("memory_used_bytes"))
		}
	}
}

// TestACardInAJetson: each GPU can be chosen by its number, and is shown alone.
func TestACardInAJetson(t *testing.T) {
	t.Parallel()
	const machine = "orin-agx-discrete"
	root, library := fixture.Machine(t, machine), machineLibrary(t, machine)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "0 Orin (nvgpu) true, 1 NVIDIA RTX A2000 false"},
		{[]string{"-g", "0"}, "0 Orin (nvgpu) true"},
		{[]string{"-g", "1"}, "1 NVIDIA RTX A2000 false"},
		{[]string{"-g", "GPU-da1b"}, "1 NVIDIA RTX A2000 false"},
		{[]string{"-g", "0005:01:00.0"}, "1 NVIDIA RTX A2000 false"},
		{[]string{"-g", "1,0"}, "0 Orin (nvgpu) true, 1 NVIDIA RTX A2000 false"},
	} {
		r := run(t, nil, append([]string{program(t, "linux", "amd64"), "--root", root, "--nvml", library, "--json"}, tt.args...)...)
		says(t, r, 0, "")
		s := parse(t, r.out)
		checkSnapshot(t, s)
		var got []string
		for _, g := range s.objects("gpus") {
			unified, _ := g["memory_unified"].(bool)
			got = append(got, g.number("index")+" "+g.text("name")+" "+strconv.FormatBool(unified))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, strings.Join(got, ", "), tt.want)
		}
	}
}

// TestOutputsOfAJetson: every output can be had of one; what is recorded is, when it
// is replayed, what it was.
func TestOutputsOfAJetson(t *testing.T) {
	for machine, tt := range map[string]struct {
		name, short, load, process string
		rails                      []string
	}{
		"orin-agx-jetpack6": {"Orin (nvgpu)", "Orin", "34", "8123", []string{"VDD_GPU_SOC", "VDDQ_VDD2_1V8AO"}},
		"thor-jetpack7.2":   {"NVIDIA Thor", "Thor", "97", "6001", []string{"VDD_CPU_SOC_MSS", `"VIN"`}},
	} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			nvtop := program(t, "linux", "amd64")
			root, library := fixture.Machine(t, machine), machineLibrary(t, machine)
			live := func(args ...string) string {
				t.Helper()
				r := run(t, nil, append(append([]string{nvtop}, args...), "--root", root, "--nvml", library)...)
				says(t, r, 0, "")
				return r.out
			}
			for output, wants := range map[string][]string{
				"--once": {tt.short, tt.load + "%"}, "--csv": {tt.name, tt.load}, "--csv-processes": {tt.process},
				"--prometheus": {tt.name, "nvtop_lite_gpu_utilization_ratio{gpu=\"0\""}, "--json": append(tt.rails, tt.name),
			} {
				out := live(output)
				for _, want := range wants {
					if !strings.Contains(out, want) {
						t.Errorf("%s does not tell of %s:\n%s", output, want, out)
					}
				}
			}
			dir := t.TempDir()
			file, other := filepath.Join(dir, "r.ndjson"), filepath.Join(dir, "other.gz")
			live("record", file, "-n", "3", "-i", "0.2")
			live("record", other, "-n", "1")
			now := parse(t, live("--json")).object("platform")
			all := linesOf(t, file)
			if len(all) != 3 {
				t.Fatalf("%d snapshots", len(all))
			}
			for _, s := range all {
				checkSnapshot(t, s)
				if !reflect.DeepEqual(s.object("platform"), now) {
					t.Errorf("recorded:\n%v\nwas:\n%v", s.object("platform"), now)
				}
			}
			// What is replayed was read from the file, and is written again.
			again := func(args ...string) string {
				t.Helper()
				r := run(t, nil, append([]string{nvtop}, args...)...)
				says(t, r, 0, "")
				return r.out
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				snap, err := report.ParseJSON([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				if replayed := parse(t, string(report.AppendJSON(nil, snap))); !reflect.DeepEqual(replayed.object("platform"), now) {
					t.Errorf("replayed:\n%v\nwas:\n%v", replayed.object("platform"), now)
				}
			}
			for _, args := range [][]string{{"summary", file}, {"summary", "--json", file}, {"diff", file, other}, {"diff", "--json", file, other}} {
				if out := again(args...); strings.TrimSpace(out) == "" {
					t.Errorf("%q says nothing", args)
				}
			}
			if out := again("summary", file); !strings.Contains(out, tt.short) {
				t.Errorf("the summary does not name the GPU:\n%s", out)
			}
		})
	}
}

// TestJetsonInDocker: Docker hides the device tree, where the names of SoC and
// devices stand.
func TestJetsonInDocker(t *testing.T) {
	t.Parallel()
	for machine, id := range map[string]string{"orin-agx-jetpack6": "35", "xavier-nx-jetpack5": "25", "thor-jetpack7.0": "38"} {
		root, library := fixture.Machine(t, machine), machineLibrary(t, machine)
		ask := func() object {
			r := run(t, nil, program(t, "linux", "amd64"), "--root", root, "--nvml", library, "--json")
			if r.code != 0 {
				t.Fatalf("%s: exit code %d: %s", machine, r.code, r.err)
			}
			return parse(t, r.out)
		}
		before := ask()
		fixture.Remove(t, root, "sys/firmware")
		fixture.Write(t, root, "sys/devices/soc0/family", "Tegra\n")
		fixture.Write(t, root, "sys/devices/soc0/soc_id", id+"\n")
		fixture.Write(t, root, "sys/devices/soc0/machine", before.object("platform").text("model")+"\n")
		after := ask()
		for _, key := range []string{"kind", "model", "soc", "l4t", "gpu_governor"} {
			if was, is := before.object("platform")[key], after.object("platform")[key]; was == nil || is != was {
				t.Errorf("%s: %s was %v, is %v", machine, key, was, is)
			}
		}
		was, is := before.objects("gpus")[0], after.objects("gpus")[0]
		for _, key := range []string{"name", "architecture", "utilization_percent", "clock_graphics_mhz", "memory_used_bytes", "memory_total_bytes"} {
			if was[key] == nil || is[key] != was[key] {
				t.Errorf("%s: %s was %v, is %v", machine, key, was[key], is[key])
			}
		}
	}
}
