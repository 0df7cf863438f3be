//go:build linux

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/internal/kept"
)

// These tests run the program as it is shipped on libraries of the fake driver.

// patience is how long anything may take that does not say otherwise: long
// enough for a busy machine and an emulated processor.
const patience = 2 * time.Minute

var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvtop-lite-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	endWine()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var programs sync.Map // "linux/amd64" → func() (string, error)

// program builds the program for a system, once.
func program(t testing.TB, goos, goarch string) string {
	t.Helper()
	target := goos + "/" + goarch
	once, _ := programs.LoadOrStore(target, sync.OnceValues(func() (string, error) {
		path := filepath.Join(buildDir, goos+"-"+goarch, "nvtop-lite")
		if goos == "windows" {
			path += ".exe"
		}
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build for %s: %w\n%s", target, err, out)
		}
		return path, nil
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// result is how a run of the program ended.
type result struct {
	out, err string
	code     int
	took     time.Duration
}

// environment is the test's own, without what would change the program's ways.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "NVTOP_LITE_") || strings.HasPrefix(e, "CUDA_") || strings.HasPrefix(e, "FAKENVML_")
	})
}

// run runs a command to its end.
func run(t testing.TB, env []string, command ...string) result {
	t.Helper()
	return runIn(t, "", env, command...)
}

// runIn runs a command in a folder to its end.
func runIn(t testing.TB, folder string, env []string, command ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Dir = append(environment(), env...), folder
	// Files, not pipes: whatever Wine leaves running would keep a pipe open.
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	stdout, stderr := create("stdout"), create("stderr")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	begin := time.Now()
	err := cmd.Run()
	r := result{out: content(t, stdout), err: content(t, stderr), took: time.Since(begin)}
	kept.Keep([]byte(r.out))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%q did not end within %v\n%s", command, patience, r.err)
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	if trace := regexp.MustCompile(`(?m)^(goroutine \d+ \[|panic: |fatal error: )`); trace.MatchString(r.err) {
		t.Fatalf("%q prints a trace:\n%s", command, r.err)
	}
	return r
}

// content closes a file and returns what is in it.
func content(t testing.TB, f *os.File) string {
	t.Helper()
	f.Close()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// object is a JSON object with numbers as they were written.
type object map[string]any

func (o object) object(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) objects(key string) []object {
	list, _ := o[key].([]any)
	var all []object
	for _, e := range list {
		m, _ := e.(map[string]any)
		all = append(all, m)
	}
	return all
}

func parse(t testing.TB, line string) object {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if d.More() {
		t.Fatalf("more than one object in %q", line)
	}
	return o
}

// snapshot runs the program for one JSON object.
func snapshot(t testing.TB, fake *fakenvml.Fake, args ...string) object {
	t.Helper()
	args = append([]string{program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json"}, args...)
	r := run(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.err)
	}
	return parse(t, r.out)
}

// obeys checks that the program kept NVML's rules.
func obeys(t testing.TB, fake *fakenvml.Fake) {
	t.Helper()
	if v := fake.Violations(); len(v) > 0 {
		t.Errorf("%d rules broken, the first: %s", len(v), v[0])
	}
}

// still makes every value of the model stand still, so that runs can be compared.
const still = `gpu all pcie.wait 0
gpu all util 44
gpu all util.memory 23
gpu all temperature 45
gpu all temperature.memory 55
gpu all power 280000
gpu all power.instant 310000
gpu all power.average 290000
gpu all energy 812421000
gpu all pcie.txbytes 9000000
gpu all pcie.rxbytes 8000000
gpu all nvlink.tx 1000000
gpu all nvlink.rx 2000000
gpu all nvlink.rawtx 1100000
gpu all nvlink.rawrx 2200000
`

func stillScenario(gpus int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "gpus %d\n%s", gpus, still)
	for _, id := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 20, 21, 60, 61} {
		fmt.Fprintf(&b, "gpu all gpm.%d %d\n", id, 10+id)
	}
	return b.String()
}

// Keys of a GPU that say what and where it is rather than what was measured.
var identityKeys = []string{"index", "uuid", "pci_bus_id", "name", "architecture", "serial", "minor", "state",
	"state_reason", "state_seconds", "age_seconds", "call", "call_seconds", "sources", "integrated", "gpu_instance_id", "compute_instance_id", "profile",
	"parent_uuid", "memory_unified", "driver_model"}

// Keys that are no measured values either, or only those of Windows.
var bookKeys = []string{"adapter_dedicated_total_bytes", "adapter_dedicated_used_bytes", "adapter_shared_total_bytes", "adapter_shared_used_bytes", "health", "processes_state", "processes_age_seconds", "ages", "unavailable", "errors", "provenance"}

// neverNull says that a null of that key has no reason: it does not apply.
var neverNull = []string{"state_reason", "state_seconds", "call", "call_seconds", "gpu_instance_id", "compute_instance_id", "profile", "parent_uuid", "container", "job", "unit",
	"driver_model", "adapter_dedicated_total_bytes", "adapter_dedicated_used_bytes", "adapter_shared_total_bytes", "adapter_shared_used_bytes", "gpu_memory_nonlocal_bytes"}

// checkNulls: every null has its reason in the same object.
func checkNulls(t testing.TB, where string, o object) {
	t.Helper()
	reasons := []string{"not_supported", "no_permission", "gpu_lost", "not_found", "timeout", "driver_error", "implausible", "not_sampled", "asleep"}
	why := o.object("unavailable")
	for key, v := range o {
		switch {
		case v != nil || slices.Contains(neverNull, key):
		case key == "processes":
			if !slices.Contains(reasons, o.text("processes_state")) {
				t.Errorf("%s: processes is null, and processes_state %q", where, o.text("processes_state"))
			}
		case !slices.Contains(reasons, why.text(key)):
			t.Errorf("%s: %s is null, and its reason %q", where, key, why.text(key))
		}
	}
	for key := range why {
		if v, known := o[key]; known && v != nil {
			t.Errorf("%s: %s is %v, and unavailable all the same", where, key, v)
		}
	}
}

// checkSnapshot looks at what is true of every snapshot of a one-shot.
func checkSnapshot(t testing.TB, s object) {
	t.Helper()
	if s.text("schema") != "nvtop-lite/1" {
		t.Errorf("schema %q", s.text("schema"))
	}
	for _, key := range []string{"host", "driver", "platform"} {
		if o := s.object(key); !(key == "platform" && o.text("kind") != "jetson") {
			checkNulls(t, key, o)
		}
	}
	for i, g := range s.objects("gpus") {
		checkNulls(t, fmt.Sprintf("GPU %d", i), g)
		for _, p := range g.objects("processes") {
			checkNulls(t, fmt.Sprintf("GPU %d, process %v", i, p["pid"]), p)
		}
	}
}

// notSampled are the keys of a one-shot that nobody asked for.
func notSampled(o object) []string {
	var keys []string
	for key, why := range o.object("unavailable") {
		if why == "not_sampled" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestGenerations(t *testing.T) {
	// The first generation that can give what not all can give, for an H100.
	since := map[string]string{
		"memory_reserved_bytes":      "510",
		"sm_active_percent":          "525",
		"sm_occupancy_percent":       "525",
		"tensor_active_percent":      "525",
		"dram_active_percent":        "525",
		"jpeg_percent":               "535.54",
		"ofa_percent":                "535.54",
		"fabric_state":               "525",
		"power_instant_mw":           "525",
		"temperature_margin_c":       "580",
		"recovery_action":            "580",
		"mig_enabled":                "450",
		"rows_remapped":              "450",
		"rows_remap_pending":         "450",
		"rows_remap_failed":          "450",
		"nvlink_tx_bytes_per_second": "450",
		"nvlink_rx_bytes_per_second": "450",
		"architecture":               "450",
		"mig_devices":                "450",
		"fans":                       "510",
	}
	// What an H100 does not have, in any of them.
	never := []string{"fan_percent", "retired_pages", "retired_pages_pending"}
	generations := fakenvml.Generations()
	for at, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, generation, stillScenario(2))
			s := snapshot(t, fake)
			checkSnapshot(t, s)
			obeys(t, fake)
			for _, key := range []string{"host", "driver"} {
				if keys := notSampled(s.object(key)); len(keys) > 0 {
					t.Errorf("%s: not sampled: %v", key, keys)
				}
			}
			gpus := s.objects("gpus")
			if len(gpus) != 2 {
				t.Fatalf("%d GPUs", len(gpus))
			}
			for _, g := range gpus {
				if keys := notSampled(g); len(keys) > 0 {
					t.Errorf("not sampled: %v", keys)
				}
				for key, v := range g {
					if slices.Contains(neverNull, key) {
						continue
					}
					want := !slices.Contains(never, key) && at >= max(0, slices.Index(generations, since[key]))
					if known := v != nil; known != want {
						t.Errorf("%s is %v (%v)", key, v, g.object("unavailable")[key])
					}
				}
			}
			checkProcesses(t, gpus[0], map[int]int{21001: 6442450944, 21002: 2147483648})
		})
	}
}

// checkProcesses compares PIDs and bytes.
func checkProcesses(t testing.TB, g object, want map[int]int) {
	t.Helper()
	if g["processes"] == nil {
		t.Errorf("no list of processes: %s, %v", g.text("processes_state"), g.object("errors")["processes"])
		return
	}
	got := map[int]int{}
	for _, p := range g.objects("processes") {
		pid, err1 := strconv.Atoi(fmt.Sprint(p["pid"]))
		bytes, err2 := strconv.Atoi(fmt.Sprint(p["gpu_memory_bytes"]))
		if err1 != nil || err2 != nil {
			t.Errorf("process %v: %v, %v", p["pid"], err1, err2)
		}
		if _, twice := got[pid]; twice {
			t.Errorf("process %d stands twice", pid)
		}
		got[pid] = bytes
	}
	if !maps.Equal(got, want) {
		wrong := 0
		for pid, bytes := range want {
			if got[pid] != bytes {
				wrong++
				if wrong <= 3 {
					t.Errorf("process %d has %d bytes, want %d", pid, got[pid], bytes)
				}
			}
		}
		t.Errorf("%d processes, want %d; %d of them wrong", len(got), len(want), wrong)
	}
}

// TestProcessLists: lists of every length in each size of entry.
func TestProcessLists(t *testing.T) {
	sizes := []struct{ generation, options string }{
		{"390", ""},    // 16 bytes
		{"450", ""},    // 24 bytes
		{"535.54", ""}, // 32 bytes
		{"535.98", ""}, // a driver that took the newest function back
		{"580", ""},    // 24 bytes under the newest name
		{"615", "process.clear 1\n"},
		{"535.54", "process.holes 1\n"},
	}
	for _, size := range sizes {
		for _, count := range []int{0, 1, 64, 65, 1000, 10000} {
			t.Run(fmt.Sprintf("%s %s%d", size.generation, size.options, count), func(t *testing.T) {
				t.Parallel()
				scenario := stillScenario(1) + size.options +
					"gpu 0 process compute none\ngpu 0 process graphics none\ngpu 0 usage none\n"
				want := map[int]int{}
				if count > 0 {
					// Higher than any PID in use here, and beyond 4 GiB.
					scenario += fmt.Sprintf("gpu 0 processes compute %d 4100000 5368709120\n", count)
					for i := range count {
						want[4100000+i] = 5368709120 + 4096*i
					}
				}
				fake := fakenvml.New(t, size.generation, scenario)
				s := snapshot(t, fake)
				checkSnapshot(t, s)
				obeys(t, fake)
				checkProcesses(t, s.objects("gpus")[0], want)
			})
		}
	}
}

// reasonOf is what an answer of NVML means for a reading.
func reasonOf(code int) string {
	switch code {
	case 3, 13, 22, 24, 25, 26:
		return "not_supported"
	case 4, 17:
		return "no_permission"
	case 6, 21:
		return "not_found"
	case 10:
		return "timeout"
	case 15, 16:
		return "gpu_lost"
	}
	return "driver_error"
}

func codes() []int {
	var all []int
	for code := 1; code <= 30; code++ {
		all = append(all, code)
	}
	return append(all, 999, 12345)
}

// calledFunctions are those that the monitor calls on any machine: about a GPU,
// and about none.
func calledFunctions(t testing.TB) (device, library []string) {
	t.Helper()
	all := map[string]bool{}
	for _, generation := range []string{"390", "535.54", "580", "615"} {
		for _, model := range []string{"h100", "rtx4090", "v100", "gtx1080"} {
			fake := fakenvml.New(t, generation, "gpus 2\nmodel "+model+"\n"+still)
			snapshot(t, fake)
			for name := range fake.AllCalls() {
				if !all[name] {
					all[name] = true
					if fake.CallsOn(name, 0)+fake.CallsOn(name, 1) > 0 {
						device = append(device, name)
					} else {
						library = append(library, name)
					}
				}
			}
		}
	}
	slices.Sort(device)
	slices.Sort(library)
	return device, library
}

// TestReturnCodes gives each function that the monitor calls each return code
// there is: one GPU a code, and a last one where nothing is wrong.
// TestXIDErrors has a GPU that is lost, with Xid errors in the kernel's log.
func TestXIDErrors(t *testing.T) {
	root := fixture.Tree(t, map[string]string{
		"proc/stat": "cpu  1 2 3 4\nbtime 1700000000\n",
		"dev/kmsg": "4,7,5000000,-;NVRM: Xid (PCI:0000:1b:00 GPU-I:05 GPU-CI:00): 31, pid=7, name=x, Ch 0000000a\n" +
			"4,8,6500000,-;NVRM: Xid (PCI:0000:1c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n",
	})
	fake := fakenvml.New(t, "580", stillScenario(3)+"fault * gpu 1 calls 40- return 15\n")
	s := snapshot(t, fake, "--root", root)
	checkSnapshot(t, s)
	gpus := s.objects("gpus")
	if len(gpus) != 3 {
		t.Fatalf("%d GPUs", len(gpus))
	}
	for i, want := range []string{
		`[map[code:31 compute_instance_id:0 gpu_instance_id:5 source:kernel_log time:2023-11-14T22:13:25Z]]`,
		`[map[code:79 compute_instance_id:<nil> gpu_instance_id:<nil> source:kernel_log time:2023-11-14T22:13:26.5Z]]`,
		`[]`,
	} {
		if got := fmt.Sprint(gpus[i]["xids"]); got != want {
			t.Errorf("GPU %d: %s, want %s", i, got, want)
		}
	}
	if h := gpus[1].objects("health"); gpus[1].text("state") != "lost" || len(h) != 2 || h[0].text("text") != "lost: Xid 79, fell off the bus; reset or reboot" {
		t.Errorf("GPU 1 is %s: %v", gpus[1].text("state"), h)
	}
}

func TestReturnCodes(t *testing.T) {
	all := codes()
	functions, _ := calledFunctions(t)
	if len(functions) < 30 {
		t.Fatalf("only %d functions: %v", len(functions), functions)
	}
	scenario := stillScenario(len(all) + 1)
	healthy := snapshot(t, fakenvml.New(t, "580", scenario)).objects("gpus")
	t.Logf("%d functions, %d codes", len(functions), len(all))
	for _, function := range functions {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			b.WriteString(scenario)
			for gpu, code := range all {
				fmt.Fprintf(&b, "fault %s gpu %d return %d\n", function, gpu, code)
			}
			fake := fakenvml.New(t, "580", b.String())
			s := snapshot(t, fake)
			checkSnapshot(t, s)
			obeys(t, fake)
			gpus := s.objects("gpus")
			if len(gpus) != len(all)+1 {
				t.Fatalf("%d GPUs, want %d", len(gpus), len(all)+1)
			}
			for gpu, code := range all {
				checkFailed(t, healthy[gpu], gpus[gpu], function, code)
			}
			last := len(all)
			if diff := differences(healthy[last], gpus[last]); len(diff) > 0 {
				t.Errorf("the GPU without a fault differs: %v", diff)
			}
		})
	}
}

// differences are the measured keys that differ.
func differences(a, b object) []string {
	var keys []string
	for key := range a {
		if !slices.Contains(bookKeys, key) && key != "processes" && !slices.Contains(identityKeys, key) && !reflect.DeepEqual(a[key], b[key]) {
			keys = append(keys, fmt.Sprintf("%s: %v, %v", key, a[key], b[key]))
		}
	}
	slices.Sort(keys)
	return keys
}

// inexact are keys that an older function answers a little differently.
var inexact = []string{"memory_used_bytes", "memory_free_bytes", "pcie_tx_bytes_per_second", "pcie_rx_bytes_per_second",
	"nvlink_tx_bytes_per_second", "nvlink_rx_bytes_per_second", "power_mw"}

// checkFailed compares a GPU one of whose functions fails with the same GPU in
// good health.
func checkFailed(t testing.TB, healthy, g object, function string, code int) {
	t.Helper()
	where := fmt.Sprintf("%s answers %d", function, code)
	switch g.text("state") {
	case "lost", "unavailable":
		// Every measurement is unknown for one reason.
		for key, v := range g {
			if v != nil && !slices.Contains(identityKeys, key) && !slices.Contains(bookKeys, key) && !slices.Contains([]string{"fans", "mig_devices", "xids"}, key) {
				t.Errorf("%s: the GPU is %s, but %s is %v", where, g.text("state"), key, v)
			}
		}
		return
	case "ok":
	default:
		t.Errorf("%s: the GPU is %s", where, g.text("state"))
	}
	why, errs := g.object("unavailable"), g.object("errors")
	for key, before := range healthy {
		now := g[key]
		switch {
		case slices.Contains(bookKeys, key) || slices.Contains(identityKeys, key):
		case key == "processes" && now != nil:
			if len(g.objects(key)) != len(healthy.objects(key)) {
				t.Errorf("%s: %d processes, want %d", where, len(g.objects(key)), len(healthy.objects(key)))
			}
		case reflect.DeepEqual(before, now):
		case now == nil:
			failed := errs.object(key)
			reason := why.text(key)
			if key == "processes" {
				reason = g.text("processes_state")
			}
			// The older function, which answered, does not know the reserve.
			if failed.text("function") == "" && !(key == "memory_reserved_bytes" && reason == "not_supported") {
				t.Errorf("%s: %s is unknown (%s), and no call is named", where, key, reason)
			}
			if failed.text("function") == function {
				// Without a code the call was answered by an older function, which
				// knows nothing of this key.
				got, known := failed["code"].(json.Number)
				if known && got.String() != strconv.Itoa(code) {
					t.Errorf("%s: the error of %s says %s", where, key, got)
				}
				want := reasonOf(code)
				if function == "nvmlDeviceGetNvLinkState" && code == 2 {
					want = "not_supported" // so answers a GPU without the first link
				}
				if known && reason != want || !known && reason != "not_supported" {
					t.Errorf("%s: %s is unknown for %s, want %s", where, key, reason, want)
				}
			}
		case !slices.Contains(inexact, key):
			t.Errorf("%s: %s is %v; it was %v", where, key, now, before)
		}
	}
}

// TestLibraryReturnCodes: the same for functions that are about no GPU. When one
// fails the program may have nothing to show, and then says so.
func TestLibraryReturnCodes(t *testing.T) {
	_, functions := calledFunctions(t)
	if len(functions) < 3 {
		t.Fatalf("only %d functions: %v", len(functions), functions)
	}
	t.Logf("%v", functions)
	for _, function := range functions {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", stillScenario(1))
			for _, code := range codes() {
				fake.SetScenario(stillScenario(1) + fmt.Sprintf("fault %s return %d\n", function, code))
				r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json")
				switch r.code {
				case 0:
					s := parse(t, r.out)
					checkSnapshot(t, s)
					if gpus := s.objects("gpus"); len(gpus) != 1 {
						t.Errorf("%d: %d GPUs", code, len(gpus))
					}
				case 1:
					lines := strings.Split(strings.TrimSpace(r.err), "\n")
					if !strings.HasPrefix(lines[0], "nvtop-lite: ") || len(lines) > 2 || r.out != "" {
						t.Errorf("%d: it says %q, and prints %q", code, r.err, r.out)
					}
				default:
					t.Errorf("%d: exit code %d", code, r.code)
				}
			}
			obeys(t, fake)
		})
	}
}

// TestHangs: a function that never returns costs what comes after it on its
// GPU, and nothing else. Each GPU but the last has a function of its own that
// hangs.
func TestHangs(t *testing.T) {
	functions, _ := calledFunctions(t)
	// Samples of GPM are taken one after the other: that one is tried alone.
	const gpm = "nvmlGpmSampleGet"
	functions = slices.DeleteFunc(functions, func(f string) bool { return f == gpm })
	for _, hanging := range [][]string{functions, {gpm}} {
		t.Run(fmt.Sprintf("%d functions from %s", len(hanging), hanging[0]), func(t *testing.T) {
			t.Parallel()
			last := len(hanging)
			scenario := stillScenario(last + 1)
			healthy := snapshot(t, fakenvml.New(t, "580", scenario)).objects("gpus")
			for gpu, function := range hanging {
				scenario += fmt.Sprintf("fault %s gpu %d hang\n", function, gpu)
			}
			fake := fakenvml.New(t, "580", scenario)
			r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json", "--timeout", "10")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.err)
			}
			if r.took > 40*time.Second {
				t.Errorf("it took %v", r.took)
			}
			s := parse(t, r.out)
			checkSnapshot(t, s)
			gpus := s.objects("gpus")
			if len(gpus) != last+1 {
				t.Fatalf("%d GPUs", len(gpus))
			}
			well := gpus[last]
			if hanging[0] == gpm {
				// First samples are taken one after the other, so that a GPU whose
				// turn comes later gets none: what only GPM gives is unknown, and
				// rates come from counters, for which the scenario has other values.
				counted := snapshot(t, fakenvml.New(t, "580", stillScenario(last+1)+"fault nvmlGpmQueryDeviceSupport return 3\n")).objects("gpus")[last]
				well = maps.Clone(well)
				for key, v := range well {
					switch {
					case v != nil && strings.HasSuffix(key, "_bytes_per_second"):
						if !reflect.DeepEqual(v, healthy[last][key]) && !reflect.DeepEqual(v, counted[key]) {
							t.Errorf("%s is %v; GPM gives %v, the counters %v", key, v, healthy[last][key], counted[key])
						}
					case v != nil || well.object("unavailable").text(key) != "timeout" || well.object("errors").object(key).text("function") != gpm:
						continue
					}
					well[key] = healthy[last][key]
				}
			}
			if diff := differences(healthy[last], well); len(diff) > 0 {
				t.Errorf("the GPU without a fault differs: %v", diff)
			}
			for gpu, function := range hanging {
				if fake.CallsOn(function, gpu) > 0 {
					checkHung(t, healthy[gpu], gpus[gpu], function)
				}
			}
		})
	}
}

// checkHung compares a GPU one of whose functions does not return with the same
// GPU in good health: what is known is right, and something is unknown.
func checkHung(t testing.TB, healthy, g object, function string) {
	t.Helper()
	lost := g.text("processes_state") == "timeout"
	for key, v := range g {
		switch {
		case slices.Contains(bookKeys, key) || slices.Contains(identityKeys, key) || key == "processes":
		case v == nil && healthy[key] != nil:
			if why := g.object("unavailable").text(key); why != "timeout" {
				t.Errorf("%s hangs: %s is unknown for %q", function, key, why)
			}
			lost = true
		case !reflect.DeepEqual(v, healthy[key]):
			t.Errorf("%s hangs: %s is %v; it was %v", function, key, v, healthy[key])
		}
	}
	for _, key := range identityKeys {
		lost = lost || g[key] == nil && healthy[key] != nil
	}
	if !lost {
		t.Errorf("%s hangs, and nothing is unknown; state %s", function, g.text("state"))
	}
}

// TestCrashes: a driver's library that faults or aborts ends no more than the
// driver process.
func TestCrashes(t *testing.T) {
	for _, how := range []string{"segv", "abort", "exit 3"} {
		for _, function := range []string{"nvmlInit_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetPowerUsage"} {
			t.Run(how+" "+function, func(t *testing.T) {
				t.Parallel()
				fake := fakenvml.New(t, "580", stillScenario(1)+fmt.Sprintf("fault %s %s\n", function, how))
				r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json", "--timeout", "5")
				if r.took > 30*time.Second {
					t.Errorf("it took %v", r.took)
				}
				switch r.code {
				case 0:
					s := parse(t, r.out)
					if len(s.objects("warnings")) == 0 {
						t.Error("nothing says that the driver process ended")
					}
				case 1:
					if lines := strings.Split(strings.TrimSpace(r.err), "\n"); !strings.HasPrefix(lines[0], "nvtop-lite: ") || len(lines) > 2 {
						t.Errorf("it says %q", r.err)
					}
				default:
					t.Errorf("exit code %d: %s", r.code, r.err)
				}
			})
		}
	}
}

// tool finds a program that a test cannot do without.
func tool(t testing.TB, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", name)
		}
		t.Skipf("%s is missing: apt-get install --no-install-recommends %s", name, pkg)
	}
	return path
}

// portable is what of a GPU does not depend on the system: Windows has neither
// Xid events nor a persistence mode, but models of the driver, and knows other
// things of a process.
func portable(g object) object {
	p := maps.Clone(g)
	for _, key := range []string{"age_seconds", "state_seconds", "call", "call_seconds", "processes_age_seconds", "ages", "xids", "persistence_mode", "driver_model", "errors"} {
		delete(p, key)
	}
	var list []any
	for _, process := range g.objects("processes") {
		list = append(list, []any{process["pid"], process["types"], process["gpu_memory_bytes"], process["sm_percent"], process["encoder_percent"], process["decoder_percent"]})
	}
	p["processes"] = list
	why := maps.Clone(g.object("unavailable"))
	delete(why, "xids")
	delete(why, "persistence_mode")
	delete(why, "driver_model")
	p["unavailable"] = why
	var health []any
	for _, h := range g.objects("health") {
		if h.text("code") != "persistence_off" {
			health = append(health, h)
		}
	}
	p["health"] = health
	return p
}

// TestSameEverywhere: the same library gives the same values on every system.
func TestSameEverywhere(t *testing.T) {
	scenario := stillScenario(3) + `gpu 1 model rtx4090
gpu 1 usage none
gpu 2 process graphics 700 1073741824
` + "gpu 1 pcie.wait 0\ngpu 1 util 7\ngpu 1 util.memory 5\ngpu 1 temperature 61\ngpu 1 power 90000\ngpu 1 power.instant 90000\ngpu 1 power.average 90000\ngpu 1 energy 1000000\n"
	here := snapshot(t, fakenvml.New(t, "580", scenario))
	want := here.objects("gpus")
	compare := func(t *testing.T, r result) {
		t.Helper()
		if r.code != 0 {
			t.Fatalf("exit code %d: %s", r.code, r.err)
		}
		s := parse(t, r.out)
		checkSnapshot(t, s)
		for _, key := range []string{"version", "cuda_version", "nvml_version"} {
			if a, b := here.object("driver")[key], s.object("driver")[key]; a == nil || a != b {
				t.Errorf("driver: %s is %v, want %v", key, b, a)
			}
		}
		got := s.objects("gpus")
		if len(got) != len(want) {
			t.Fatalf("%d GPUs, want %d", len(got), len(want))
		}
		for i := range want {
			a, b := portable(want[i]), portable(got[i])
			for key := range a {
				if !reflect.DeepEqual(a[key], b[key]) {
					t.Errorf("GPU %d: %s is %v, want %v", i, key, b[key], a[key])
				}
			}
		}
	}
	t.Run("linux arm64", func(t *testing.T) {
		tool(t, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
		qemu := tool(t, "qemu-aarch64", "qemu-user")
		library := foreign(t, "linux", "arm64", scenario)
		compare(t, run(t, nil, qemu, "-L", "/usr/aarch64-linux-gnu", program(t, "linux", "arm64"), "--nvml", library, "--json"))
	})
	t.Run("windows amd64", func(t *testing.T) {
		library := foreign(t, "windows", "amd64", scenario)
		compare(t, wine(t).run(t, "--nvml", "Z:"+library, "--json"))
	})
}

// foreign is a library for another system, with the scenario beside it.
func foreign(t testing.TB, goos, goarch, scenario string) string {
	t.Helper()
	once, _ := libraries.LoadOrStore(goos+"/"+goarch, sync.OnceValues(func() (string, error) {
		cmd := exec.Command("go", "run", "./internal/fakenvml/build", "-os", goos, "-arch", goarch, "-generation", "580", "-out", filepath.Join(buildDir, "fake-"+goos+"-"+goarch))
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return strings.TrimSpace(string(out)), err
	}))
	library, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(library))
	if err := os.WriteFile(path, text, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "scenario.txt"), []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

var libraries sync.Map // "windows/amd64" → func() (string, error)
