//go:build linux

package main_test

import (
	"bufio"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// table runs the program on the simulated machine and reads its CSV.
func table(t testing.TB, args ...string) []map[string]string {
	t.Helper()
	r := demo(t, args...)
	all, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	if err != nil || r.code != 0 || r.err != "" || len(all) == 0 {
		t.Fatalf("%q: exit code %d, %v: %s\n%s", args, r.code, err, r.err, r.out)
	}
	var rows []map[string]string
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

func column(rows []map[string]string, key string) (cells []string) {
	for _, row := range rows {
		cells = append(cells, row[key])
	}
	return cells
}

func TestCSVInDemo(t *testing.T) {
	rows := table(t, "--csv")
	json := parse(t, demo(t, "--json").out).objects("gpus")
	var uuids []string
	for _, g := range json {
		uuids = append(uuids, g.text("uuid"))
		for _, instance := range g.objects("mig_devices") {
			uuids = append(uuids, instance.text("uuid"))
		}
	}
	if got := column(rows, "uuid"); !slices.Equal(got, uuids) {
		t.Errorf("rows of %v, want %v", got, uuids)
	}
	for _, row := range rows {
		if row["source"] != "demo" || row["host"] != "demo" || row["memory_used_bytes"] == "" || row["state"] != "ok" {
			t.Errorf("%v", row)
		}
	}
	// The game card cannot say what its tensor cores do.
	if got := rows[3]; got["tensor_active_percent"] != "" || !strings.Contains(got["unavailable"], "tensor_active_percent=not_supported") {
		t.Errorf("%v", got)
	}
}

// TestCSVStreams: one line with the names, and each snapshot when it is made.
func TestCSVStreams(t *testing.T) {
	rows := table(t, "--csv", "-g", "0,1", "-n", "3", "-i", "0.1")
	times := column(rows, "time")
	if len(rows) != 6 || len(slices.Compact(slices.Clone(times))) != 3 || !slices.IsSorted(times) {
		t.Errorf("%d rows at %v", len(rows), times)
	}

	cmd := exec.Command(program(t, "linux", "amd64"), "--demo", "--csv", "-g", "0", "-i", "3600")
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, begin := range []string{"time,host,driver,source,", "20"} { // before the next one is due
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), begin) {
			t.Errorf("got %q", lines.Text())
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
}

func TestCSVProcessesInDemo(t *testing.T) {
	everything := table(t, "--csv-processes")
	if len(everything) < 4 || !slices.Contains(column(everything, "command"), "obs --startrecording") {
		t.Fatalf("%v", everything)
	}
	for _, row := range everything {
		if row["uuid"] == "" || row["pid"] == "" || row["gpu_memory_bytes"] == "" {
			t.Errorf("%v", row)
		}
	}
	if kim := table(t, "--csv-processes", "--user", "kim"); len(kim) == 0 || len(kim) == len(everything) || strings.Trim(strings.Join(column(kim, "user"), ""), "kim") != "" {
		t.Errorf("of kim: %v", kim)
	}
	if found := table(t, "--csv-processes", "--filter", "TRAIN.py"); len(found) == 0 || len(found) == len(everything) {
		t.Errorf("found: %v", found)
	}
	if users := column(table(t, "--csv-processes", "--sort", "-user"), "user"); !slices.IsSortedFunc(users, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("by user, reversed: %v", users)
	}
	if none := table(t, "--csv-processes", "--no-processes"); len(none) != 0 {
		t.Errorf("%v", none)
	}
}

// TestCSVOfProcessesThatCannotBeRead: that is not a GPU that nobody uses.
func TestCSVOfProcessesThatCannotBeRead(t *testing.T) {
	fake := fakenvml.New(t, "580", "gpus 1\n"+
		"fault nvmlDeviceGetComputeRunningProcesses* return 4\nfault nvmlDeviceGetGraphicsRunningProcesses* return 4\nfault nvmlDeviceGetMPSComputeRunningProcesses* return 4\n")
	r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--csv-processes")
	if lines := strings.Split(r.out, "\n"); r.code != 0 || len(lines) != 3 || !strings.HasSuffix(lines[1], ",,processes=no_permission") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
}

// TestNoCommands: the name stays, and the reason takes the place of the line.
func TestNoCommands(t *testing.T) {
	all, _ := demoProcesses(t, "--no-commands")
	for _, p := range all {
		if command, there := p["command"]; !there || command != nil || p.object("unavailable").text("command") != "not_sampled" || p.text("name") == "" {
			t.Errorf("%v", p)
		}
	}
	found, _ := demoProcesses(t, "--no-commands", "--filter", "big.yaml")
	if len(found) == 0 || len(found) == len(all) {
		t.Errorf("looked for in command lines: %d of %d", len(found), len(all))
	}
	for _, row := range table(t, "--csv-processes", "--no-commands") {
		if row["command"] != "" || row["name"] == "" || !strings.Contains(row["unavailable"], "command=not_sampled") {
			t.Errorf("%v", row)
		}
	}
	r := demo(t, "--once", "--no-commands")
	if r.code != 0 || strings.Contains(r.out, "big.yaml") || !strings.Contains(r.out, "train.py") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
}

func TestPrometheusInDemo(t *testing.T) {
	r := demo(t, "--prometheus")
	if r.code != 0 || r.err != "" || strings.Contains(r.out, "train.py") || strings.Contains(r.out, "pid=") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	for _, line := range strings.Split(strings.TrimSuffix(r.out, "\n"), "\n") {
		if !strings.HasPrefix(line, "# ") && !strings.Contains(line, `,source="demo"`) {
			t.Errorf("not said to be a demo: %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^nvtop_lite_gpu_power_watts\{gpu="0",uuid="GPU-[-0-9a-f]+",pci_bus_id="00000000:01:00.0",parent_uuid="",source="demo"\} \d+`).MatchString(r.out) {
		t.Errorf("%s", r.out)
	}
}

func TestOutputUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--prometheus -i 1":            "nvtop-lite: --prometheus is one snapshot",
		"--prometheus -i 1 -n 1":       "nvtop-lite: --prometheus is one snapshot",
		"--prometheus -n 2":            "nvtop-lite: --prometheus is one snapshot",
		"--prometheus -n 0":            "nvtop-lite: --prometheus is one snapshot",
		"--csv --json":                 "nvtop-lite: one output at a time: --once,",
		"--csv --csv-processes":        "nvtop-lite: one output at a time: --once,",
		"--output x":                   "nvtop-lite: --output goes with --once,",
		"--json --output x -n 2":       "nvtop-lite: --output takes one snapshot",
		"--json --output x -i 1":       "nvtop-lite: --output takes one snapshot",
		"--json --output=":             "nvtop-lite: --output needs a path",
		"--output -":                   "nvtop-lite: --output goes with --once,",
		"--json --output - -n 2":       "nvtop-lite: --output takes one snapshot",
		"--no-commands":                "nvtop-lite: --no-commands goes with --once,",
		"doctor --csv":                 "nvtop-lite: doctor does not take --csv",
		"doctor --json --output x":     "nvtop-lite: doctor does not take --output",
		"doctor --json --no-commands":  "nvtop-lite: doctor does not take --no-commands",
		"--json --csv --output x -n 2": "nvtop-lite: one output at a time",
	} {
		r := demo(t, strings.Fields(args)...)
		says(t, r, 2, want, "")
		if r.out != "" {
			t.Errorf("%s: prints %s", args, r.out)
		}
	}
	says(t, demo(t, "--prometheus", "-n", "1"), 0, "")
}

// TestOutputFile: whole or not at all, with the mode that it had.
func TestOutputFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gpus.prom")
	wrote := func(path, begin string, args ...string) {
		t.Helper()
		r := demo(t, append(args, "--output", path)...)
		says(t, r, 0, "")
		if text, err := os.ReadFile(path); err != nil || r.out != "" || !strings.HasPrefix(string(text), begin) {
			t.Errorf("%v, printed %q, in the file %.200s", err, r.out, text)
		}
	}
	mode := func(path string) os.FileMode {
		t.Helper()
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	wrote(path, "# HELP nvtop_lite_gpu_", "--prometheus")
	if m := mode(path); m != 0o644 {
		t.Errorf("a new file has mode %v", m)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	wrote(path, `{"schema":`, "--json")
	if m := mode(path); m != 0o600 {
		t.Errorf("the mode was 0600 and is %v", m)
	}
	if text := content(t, old); !strings.HasPrefix(text, `{"schema":`) {
		t.Errorf("the name has %.100s", text)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("gpus.prom", link); err != nil {
		t.Fatal(err)
	}
	wrote(link, "time,host,", "--csv")
	if mode(link)&os.ModeSymlink == 0 || mode(path) != 0o600 {
		t.Errorf("the link has become %v, the file %v", mode(link), mode(path))
	}
	wrote(filepath.Join(dir, "text"), "nvtop-lite ", "--once", "--color", "auto")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	hidden, err2 := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || err2 != nil || len(files) != 3 || len(hidden) != 0 {
		t.Errorf("%v, %v: left behind %v %v", err, err2, files, hidden)
	}
	says(t, demo(t, "--json", "-o", filepath.Join(dir, "no", "such")), 1, "nvtop-lite: writing the output: ")
	says(t, demo(t, "--json", "-o", dir), 1, "nvtop-lite: writing the output: ")
	says(t, demo(t, "--json", "-o", "/dev/full"), 1, "nvtop-lite: writing the output: ")
	says(t, demo(t, "--json", "-o", "/dev/null"), 0, "")
	if r := demo(t, "--json", "-n", "1", "-o", "/dev/stdout"); r.code != 0 || r.err != "" {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if r := demo(t, "--json", "-o", "-"); r.code != 0 || r.err != "" || !strings.HasPrefix(r.out, `{"schema":`) {
		t.Errorf("-o -: exit code %d: %s, %.100s", r.code, r.err, r.out)
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error("a file called - was made")
	}
}

// TestOutputKeepsTheOldFile where nothing could be read.
func TestOutputKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.prom")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, run(t, nil, program(t, "linux", "amd64"), "--nvml", "/nowhere.so", "--prometheus", "-o", path), 1, "nvtop-lite: no NVML library", "")
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("%v, in the file %s", err, text)
	}
}

// TestOutputToAPipe is written to it, not put in its place.
func TestOutputToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(path)
		read <- string(text)
	}()
	says(t, demo(t, "--json", "--output", path), 0, "")
	if text := <-read; !strings.HasPrefix(text, `{"schema":`) || !strings.HasSuffix(text, "}\n") {
		t.Errorf("it got %.100s", text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
