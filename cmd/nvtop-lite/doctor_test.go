//go:build linux

package main_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// files makes a tree: what ends in -> is a link, modes are those of /dev.
func files(t *testing.T, tree map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range tree {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(to, path)
		} else if err = os.WriteFile(path, []byte(content), 0o666); err == nil {
			err = os.Chmod(path, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// machine is a server with a driver and two GPUs, and more.
func machine(more map[string]string) map[string]string {
	tree := map[string]string{
		"proc/sys/kernel/osrelease":                             "6.8.0-45-generic\n",
		"proc/self/ns/pid":                                      "-> pid:[4026531836]",
		"proc/driver/nvidia/version":                            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Wed Oct  1 2025\n",
		"sys/class/dmi/id/product_name":                         "PowerEdge XE9680\n",
		"dev/nvidiactl":                                         "",
		"dev/nvidia0":                                           "",
		"dev/nvidia1":                                           "",
		"sys/bus/pci/devices/0000:1b:00.0/vendor":               "0x10de\n",
		"sys/bus/pci/devices/0000:1b:00.0/class":                "0x030200\n",
		"sys/bus/pci/devices/0000:1b:00.0/device":               "0x2330\n",
		"sys/bus/pci/devices/0000:1b:00.0/driver":               "-> ../../../bus/pci/drivers/nvidia",
		"sys/bus/pci/devices/0000:00:1f.0/vendor":               "0x8086\n",
		"sys/bus/pci/devices/0000:00:1f.0/class":                "0x060100\n",
		"sys/bus/pci/devices/0000:1b:00.0/power/runtime_status": "active\n",
	}
	for name, content := range more {
		if content == "-" {
			delete(tree, name)
		} else {
			tree[name] = content
		}
	}
	return tree
}

// examined runs the doctor on a library of the fake driver.
func examined(t *testing.T, fake *fakenvml.Fake, args ...string) result {
	t.Helper()
	return run(t, []string{"NVIDIA_VISIBLE_DEVICES=all\x1b[31m", "SLURM_JOB_GPUS=0,1"},
		append([]string{program(t, "linux", "amd64"), "doctor", "--nvml", fake.Path()}, args...)...)
}

// wslFiles make the server a WSL, with a package of the distribution that has a
// library of its own. Two processes run there: one of it, one of nobody there.
var wslFiles = map[string]string{
	"proc/driver/nvidia/version": "-", "dev/nvidiactl": "-", "dev/nvidia0": "-", "dev/nvidia1": "-", "dev/dxg": "",
	"sys/class/dmi/id/product_name": "-", "sys/bus/pci/devices/0000:1b:00.0/vendor": "-",
	"proc/sys/kernel/osrelease":                  "5.15.167.4-microsoft-standard-WSL2\n",
	"proc/self/ns/pid":                           "-> pid:[4026532201]",
	"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "",
}

const wslProcesses = "gpus 1\ngpu 0 process compute none\ngpu 0 process compute 50 none\ngpu 0 process compute 4243 none\n"

// TestWSL: all ones for the memory of a process is unknown in every output, and so
// is what would be counted from it.
func TestWSL(t *testing.T) {
	fake := fakenvml.New(t, "580", still+wslProcesses)
	args := []string{program(t, "linux", "amd64"), "--nvml", fake.Path(), "--root", files(t, machine(wslFiles))}
	s := parse(t, run(t, nil, append(args, "--json")...).out)
	if kind := s.object("platform").text("kind"); kind != "wsl" {
		t.Errorf("a machine of kind %q", kind)
	}
	processes := s.objects("gpus")[0].objects("processes")
	if len(processes) != 2 {
		t.Fatalf("processes %v", processes)
	}
	for _, p := range processes {
		if p["gpu_memory_bytes"] != nil || p.object("unavailable").text("gpu_memory_bytes") != "not_supported" {
			t.Errorf("process %v has %v of memory, %v", p["pid"], p["gpu_memory_bytes"], p["unavailable"])
		}
	}
	for _, how := range []string{"--once", "--csv", "--csv-processes", "--prometheus", "--json"} {
		r := run(t, nil, append(args, how)...)
		if all := regexp.MustCompile(`1844674407|1\.84e|17179869184|16777216 ?TiB|16 ?EiB`).FindString(r.out); all != "" || r.code != 0 || r.err != "" {
			t.Errorf("%s has %q; exit code %d, %s", how, all, r.code, r.err)
		}
	}
}

// TestDoctorPages: the page of each known failure.
func TestDoctorPages(t *testing.T) {
	docker := map[string]string{".dockerenv": ""}
	for _, tt := range []struct {
		name, scenario string
		tree           map[string]string
		args           []string
		code           int
	}{
		{name: "well", scenario: still},
		{name: "driver not loaded", scenario: "init 9\n", code: 1, tree: map[string]string{
			"proc/driver/nvidia/version": "-", "dev/nvidiactl": "-", "dev/nvidia0": "-", "dev/nvidia1": "-", "sys/module/nouveau/version": "1\n",
			"sys/bus/pci/devices/0000:1b:00.0/driver": "-> ../../../bus/pci/drivers/nouveau",
		}},
		{name: "versions differ", scenario: "init 18\n", code: 1, tree: map[string]string{
			"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.133.20  Sun Mar 23 2025\n",
		}},
		{name: "no permission", scenario: "init 4\n", code: 1},
		{name: "one not permitted", scenario: still + "gpu 1 open 4\n", code: 1},
		{name: "container without GPUs", scenario: "init 9\n", code: 1, tree: map[string]string{
			".dockerenv": "", "dev/nvidiactl": "-", "dev/nvidia0": "-", "dev/nvidia1": "-", "proc/self/ns/pid": "-> pid:[4026532000]",
		}},
		{name: "container cut off", scenario: "init 999\n", tree: docker, code: 1},
		{name: "container loses all", scenario: still + "gpu all lost 999\n", tree: docker, code: 1},
		{name: "WSL", scenario: still + wslProcesses, tree: wslFiles},
		{name: "unknown error", scenario: "init 999\n", code: 1},
		{name: "no GPU", scenario: "gpus 0\n", code: 1},
		{name: "no such GPU", scenario: still, args: []string{"-g", "7"}, code: 1},
		{name: "lost", scenario: still + "gpu 1 lost 1\n", code: 1},
		{name: "persistence off", scenario: still + "gpu all persistence 0\n"},
		{name: "a reading fails", scenario: still + "fault nvmlDeviceGetPowerUsage gpu 1 return 999\n"},
		{name: "init hangs", scenario: "fault nvmlInit_v2 hang\n", args: []string{"--timeout", "2"}, code: 1},
		{name: "a call hangs", scenario: still + "fault nvmlDeviceGetPowerUsage gpu 1 hang\n", args: []string{"--timeout", "20"}, code: 1},
		{name: "a handle hangs", scenario: still + "fault nvmlDeviceGetHandleByIndex_v2 gpu 1 hang\n", args: []string{"--timeout", "2"}, code: 1},
		{name: "a crash", scenario: still + "gpus 1\nfault nvmlDeviceGetPowerUsage segv\n", code: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", tt.scenario)
			// Installers give the file the driver's version, and the library's name to a link.
			named := filepath.Join(fake.Dir(), "libnvidia-ml.so.580.95.05")
			if err := os.Rename(fake.Path(), named); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Base(named), fake.Path()); err != nil {
				t.Fatal(err)
			}
			root := files(t, machine(tt.tree))
			args := append([]string{"--root", root}, tt.args...)
			r := examined(t, fake, args...)
			if r.code != tt.code || r.err != "" {
				t.Errorf("exit code %d, want %d; it says %q", r.code, tt.code, r.err)
			}
			checkClean(t, r.out)
			page, _, _ := strings.Cut(r.out, "\ncalls about no GPU\n")
			golden(t, tt.name, steady(page, fake, root))
			obeys(t, fake)

			// The same, one problem a line and as JSON.
			q := examined(t, fake, append(args, "-q")...)
			if q.code != tt.code || strings.Count(q.out, "\n") != strings.Count(r.out, "\ncritical  ")+strings.Count(r.out, "\nwarning   ") {
				t.Errorf("exit code %d, and with -q it says\n%s", q.code, q.out)
			}
			j := examined(t, fake, append(args, "--json")...)
			d := parse(t, j.out)
			if ok, is := d["ok"].(bool); !is || ok != (tt.code == 0) || j.code != tt.code || d.text("schema") != "nvtop-lite-doctor/1" {
				t.Errorf("exit code %d, ok %v, schema %q", j.code, d["ok"], d.text("schema"))
			}
			if n := strings.Count(r.out, "\n          cause: "); n == 0 && tt.code != 0 {
				t.Error("a failure without its cause")
			}
		})
	}
}

// checkClean: no control sequence leaves the program.
func checkClean(t *testing.T, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }); i >= 0 {
		t.Errorf("a control character in %q", text[max(0, i-40):min(len(text), i+10)])
	}
}

// steady replaces what differs from run to run, and from machine to machine.
func steady(page string, fake *fakenvml.Fake, root string) string {
	page = strings.NewReplacer(fake.Dir(), "/fake", root, "/root-of-the-test").Replace(page)
	for _, r := range []struct{ from, to string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
		{`(?m)^program .*$`, "program     PROGRAM"},
		{`uid \d+`, "uid N"},
		{`owner \d+:\d+`, "owner N:N"},
		{`(?m)^  missing .*\n`, ""}, // grows with what the program asks for
		{`\d+ of \d+ functions`, "N of N functions"},
		{`within \d+(\.\d+)? ?s`, "within N s"},
		{`returned for \d+ s`, "returned for N s"},
		{`colours \w+`, "colours N"},
	} {
		page = regexp.MustCompile(r.from).ReplaceAllString(page, r.to)
	}
	return page
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	goldenFile(t, filepath.Join("doctor", strings.ReplaceAll(name, " ", "-")+".txt"), got)
}

// goldenFile compares a text with a file of testdata.
func goldenFile(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// readings are the rows of a GPU's table, by key.
func readings(g object) map[string]object {
	rows := map[string]object{}
	for _, r := range g.objects("readings") {
		rows[r.text("key")] = r
	}
	return rows
}

// TestDoctorReadings: the value or reason of each reading, the function that gave
// it, how long it took and what was passed over, over the generations.
func TestDoctorReadings(t *testing.T) {
	for generation, want := range map[string]map[string]string{
		"390": {
			"memory_used_bytes": "nvmlDeviceGetMemoryInfo; nvmlDeviceGetMemoryInfo_v2 missing",
			"temperature_c":     "nvmlDeviceGetTemperature; nvmlDeviceGetTemperatureV missing",
			"mig_enabled":       "nvmlDeviceGetMigMode; ",
			"power_mw":          "nvmlDeviceGetPowerUsage; ",
		},
		"580": {
			"memory_used_bytes": "nvmlDeviceGetMemoryInfo_v2; ",
			"temperature_c":     "nvmlDeviceGetTemperatureV; ",
			"fabric_state":      "nvmlDeviceGetGpuFabricInfoV; nvmlDeviceGetGpuFabricInfo_v4 missing",
			"retired_pages":     "nvmlDeviceGetRetiredPages; nvmlDeviceGetRetiredPages_v2 NVML_ERROR_NOT_SUPPORTED",
		},
		"615": {
			"memory_used_bytes": "nvmlDeviceGetMemoryInfo_v2; ",
			"fabric_state":      "nvmlDeviceGetGpuFabricInfo_v4; ",
		},
	} {
		t.Run(generation, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, generation, stillScenario(2))
			r := examined(t, fake, "--json")
			d := parse(t, r.out)
			if r.code != 0 || len(d.objects("gpus")) != 2 {
				t.Fatalf("exit code %d, %d GPUs: %v", r.code, len(d.objects("gpus")), d["problems"])
			}
			same := parse(t, run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json").out).objects("gpus")
			for i, g := range d.objects("gpus") {
				rows := readings(g)
				for key, row := range rows {
					if (row["value"] == nil) == (row["reason"] == nil) {
						t.Errorf("%s: value %v, reason %v", key, row["value"], row["reason"])
					}
					if reason := row.text("reason"); reason == "not_sampled" || reason != "" && same[i].object("unavailable").text(key) != reason && key != "processes" {
						t.Errorf("%s: %s, and in the snapshot %q", key, reason, same[i].object("unavailable").text(key))
					}
					if functions, _ := row["functions"].([]any); row["value"] != nil && (len(functions) == 0 || row["microseconds"] == nil) {
						t.Errorf("%s has a value and no call: %v", key, row)
					}
				}
				for key, how := range want {
					row := rows[key]
					functions, _ := row["functions"].([]any)
					var passed []string
					for _, p := range row.objects("passed_over") {
						passed = append(passed, p.text("function")+" "+p.text("answer"))
					}
					if got := fmt.Sprint(functions...) + "; " + strings.Join(passed, ", "); got != how {
						t.Errorf("%s: %q, want %q", key, got, how)
					}
				}
				if row := rows["power_mw"]; fmt.Sprint(row["value"]) != "280000" {
					t.Errorf("power %v", row["value"])
				}
			}
			if missing := fmt.Sprint(d.object("library")["missing"]); (generation == "390") != strings.Contains(missing, "nvmlDeviceGetMemoryInfo_v2") {
				t.Errorf("missing: %s", missing)
			}
			obeys(t, fake)
		})
	}
}

// TestDoctorKeys: the keys of the JSON are always the same.
func TestDoctorKeys(t *testing.T) {
	want := []string{"calls", "device_nodes", "driver", "environment", "gpus", "integrated", "library", "ok", "pci_devices", "problems", "program", "schema", "source", "system", "terminal", "time", "windows"}
	for name, args := range map[string][]string{
		"a GPU":     {"--nvml", fakenvml.New(t, "580", still).Path()},
		"demo":      {"--demo"},
		"no driver": {"--nvml", filepath.Join(t.TempDir(), "none.so")},
	} {
		r := run(t, []string{"CUDA_VISIBLE_DEVICES=0"}, append([]string{program(t, "linux", "amd64"), "doctor", "--json"}, args...)...)
		if strings.Count(r.out, "\n") != 1 {
			t.Errorf("%s: %d lines", name, strings.Count(r.out, "\n"))
		}
		d := parse(t, r.out)
		var keys []string
		for key, v := range d {
			keys = append(keys, key)
			if (v == nil) != (key == "windows") { // which this is not
				t.Errorf("%s: %s is %v", name, key, v)
			}
		}
		slices.Sort(keys)
		if !slices.Equal(keys, want) {
			t.Errorf("%s: keys %v", name, keys)
		}
		if e := d.object("environment"); len(e) != 4 || name != "demo" && e.text("CUDA_VISIBLE_DEVICES") != "0" || e["SLURM_JOB_GPUS"] != nil {
			t.Errorf("%s: environment %v", name, e)
		}
	}
}

// TestDoctorTellsNoMore: of the environment four variables, of processes how
// many there are.
func TestDoctorTellsNoMore(t *testing.T) {
	fake := fakenvml.New(t, "580", stillScenario(1))
	for _, args := range [][]string{nil, {"--json"}} {
		r := run(t, []string{"SECRET_TOKEN=hunter2", "TERM=hunter3", "NVIDIA_DRIVER_CAPABILITIES=utility"}, append([]string{program(t, "linux", "amd64"), "doctor", "--nvml", fake.Path()}, args...)...)
		if strings.Contains(r.out, "hunter") || strings.Contains(r.out, "21001") || !strings.Contains(r.out, "utility") {
			t.Errorf("output:\n%s", r.out)
		}
		checkClean(t, r.out)
	}
}

// TestDoctorDemo: simulated, and nothing of the machine beside it.
func TestDoctorDemo(t *testing.T) {
	r := run(t, []string{"NVIDIA_VISIBLE_DEVICES=all"}, program(t, "linux", "amd64"), "doctor", "--demo")
	if r.code != 0 || !strings.Contains(r.out, "[demo]") || !strings.Contains(r.out, "GPU 0  NVIDIA H100") || strings.Contains(r.out, "NVIDIA_VISIBLE_DEVICES") || strings.Contains(r.out, "kernel") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// TestDoctorWithoutLibrary: every place that was looked at, and its answer.
func TestDoctorWithoutLibrary(t *testing.T) {
	root := files(t, map[string]string{"proc/sys/kernel/osrelease": "6.8.0\n", "sys/class/dmi/id/product_name": "X\n"})
	r := run(t, nil, program(t, "linux", "amd64"), "doctor", "--root", root)
	if strings.Contains(r.out, ": loads") {
		t.Skip("this machine has an NVML library")
	}
	if r.code != 1 || strings.Count(r.out, "  tried ") < 3 || !strings.Contains(r.out, "critical  no NVIDIA driver library found") || !strings.Contains(r.out, "the kernel sees no NVIDIA GPU") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// TestDoctorIsInTime: with -q and --timeout it is fit for a health check.
func TestDoctorIsInTime(t *testing.T) {
	fake := fakenvml.New(t, "580", "fault * hang\n")
	for _, timeout := range []string{"0.001", "1"} {
		r := examined(t, fake, "-q", "--timeout", timeout)
		if r.code != 1 || r.took > 20*time.Second || strings.Count(r.out, "\n") != 1 || !strings.HasPrefix(r.out, "critical: ") {
			t.Errorf("exit code %d after %v:\n%s", r.code, r.took, r.out)
		}
	}
}

func TestDoctorUsage(t *testing.T) {
	nvtop := program(t, "linux", "amd64")
	for args, want := range map[string]string{
		"doctor --once":            "nvtop-lite: doctor does not take --once",
		"-i 2 doctor":              "nvtop-lite: doctor does not take --interval",
		"doctor --no-mouse":        "nvtop-lite: doctor does not take --no-mouse",
		"doctor doctor":            `nvtop-lite: "doctor": doctor takes no more words`,
		"doctor -q -j":             "nvtop-lite: --quiet and --json: one output at a time",
		"-q":                       "nvtop-lite: --quiet goes with the command doctor",
		"docter":                   `nvtop-lite: "docter": no such command`,
		"doctor --demo --nvml x":   "nvtop-lite: --demo uses no NVML library",
		"doctor --root /nonesuch":  "nvtop-lite: --root: there is no folder",
		"doctor --timeout soon -q": "nvtop-lite: --timeout:",
	} {
		says(t, run(t, nil, append([]string{nvtop}, strings.Fields(args)...)...), 2, want, "")
	}
	for _, args := range []string{"--demo doctor -q", "doctor -q --demo", "-q --demo -- doctor"} {
		if r := run(t, nil, append([]string{nvtop}, strings.Fields(args)...)...); r.code != 0 || r.out != "" || r.err != "" {
			t.Errorf("%s: exit code %d, %q, %q", args, r.code, r.out, r.err)
		}
	}
}
