//go:build linux

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// prefix is a Windows that Wine made. The tests that use it run one after the other.
type prefix struct{ env []string }

var wines struct {
	once   sync.Once
	made   *prefix
	failed string
}

// wine makes the Windows of these tests, once.
func wine(t testing.TB) *prefix {
	t.Helper()
	gcc := tool(t, "x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")
	tool(t, "wine", "wine wine64")
	tool(t, "wineserver", "wine wine64")
	wines.once.Do(func() {
		dir := filepath.Join(buildDir, "prefix")
		p := &prefix{[]string{"WINEPREFIX=" + dir, "WINEDEBUG=-all", "WINEARCH=win64"}}
		wines.made = p
		// Wine's server ends a few seconds after the last program, and one that comes
		// just then finds its connection reset. This one stays.
		server := exec.Command("wineserver", "-p900")
		server.Env = append(environment(), p.env...)
		if err := errors.Join(os.Mkdir(dir, 0o700), server.Run()); err != nil {
			wines.failed = "wineserver: " + err.Error()
			return
		}
		if r := run(t, p.env, "wine", "wineboot", "-i"); r.code != 0 {
			wines.failed = "wineboot: " + r.err
			return
		}
		// Programs of today's Go ask for a library that older Wines lack.
		source := filepath.Join("..", "..", "scripts", "testdata", "bcryptprimitives.c")
		if r := run(t, nil, gcc, "-shared", "-O1", "-o", filepath.Join(p.system32(), "bcryptprimitives.dll"), source, "-ladvapi32"); r.code != 0 {
			wines.failed = r.err
		}
	})
	if wines.failed != "" {
		t.Fatal(wines.failed)
	}
	return wines.made
}

// endWine ends what Wine leaves running.
func endWine() {
	if wines.made != nil {
		cmd := exec.Command("wineserver", "-k")
		cmd.Env = append(environment(), wines.made.env...)
		_ = cmd.Run()
	}
}

func (p *prefix) drive() string {
	return filepath.Join(strings.TrimPrefix(p.env[0], "WINEPREFIX="), "drive_c")
}

func (p *prefix) system32() string { return filepath.Join(p.drive(), "windows", "system32") }

// nvsmi is where older drivers put their library.
func (p *prefix) nvsmi() string {
	return filepath.Join(p.drive(), "Program Files", "NVIDIA Corporation", "NVSMI")
}

// run runs the program.
func (p *prefix) run(t testing.TB, args ...string) result {
	t.Helper()
	return run(t, p.env, append([]string{"wine", program(t, "windows", "amd64")}, args...)...)
}

// put copies a file into a folder until the test ends.
func put(t testing.TB, file, folder string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, filepath.Base(file))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(to) })
}

// planted is the source of a library that tells that it was loaded.
const planted = `#include <windows.h>
BOOL WINAPI DllMain(HINSTANCE self, DWORD why, void *unused)
{
	char name[MAX_PATH + 8];
	if (why == DLL_PROCESS_ATTACH) {
		DWORD n = GetModuleFileNameA(self, name, MAX_PATH);
		lstrcpyA(name + n, ".loaded");
		CloseHandle(CreateFileA(name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL));
	}
	return TRUE;
}
`

// TestPlantedLibrary: whoever can write beside the program, into the folder it is
// started in or into one of PATH must not get his code run.
func TestPlantedLibrary(t *testing.T) {
	w := wine(t)
	dir := t.TempDir()
	source, evil := filepath.Join(dir, "planted.c"), filepath.Join(dir, "nvml.dll")
	if err := os.WriteFile(source, []byte(planted), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := run(t, nil, "x86_64-w64-mingw32-gcc", "-shared", "-O1", "-o", evil, source); r.code != 0 {
		t.Fatal(r.err)
	}
	beside, working, onPath := filepath.Join(dir, "beside"), filepath.Join(dir, "working"), filepath.Join(dir, "path")
	for _, folder := range []string{beside, working, onPath} {
		put(t, evil, folder)
	}
	put(t, program(t, "windows", "amd64"), beside)
	start := func(args ...string) result {
		t.Helper()
		env := append([]string{"WINEPATH=Z:" + onPath}, w.env...)
		r := runIn(t, working, env, append([]string{"wine", filepath.Join(beside, "nvtop-lite.exe")}, args...)...)
		for _, folder := range []string{beside, working, onPath} {
			if _, err := os.Stat(filepath.Join(folder, "nvml.dll.loaded")); err == nil {
				t.Errorf("%q loads the library in the folder %s", args, filepath.Base(folder))
			}
		}
		for _, word := range []string{"--gpus all", "container", "dmesg", "libnvidia-ml", "modprobe", "%1"} {
			if text := r.err + r.out; strings.Contains(text, word) && !strings.HasPrefix(text, "{") {
				t.Errorf("%q speaks of %s: %s", args, word, text)
			}
		}
		return r
	}
	const system, older = `C:\windows\system32\nvml.dll`, `C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll`

	r := start("--once")
	says(t, r, 1, "no NVIDIA driver library found", "--nvml PATH", "  tried "+system+", "+older+": not found")
	if r = start("doctor"); r.code != 1 || !strings.Contains(r.out, "name its library (nvml.dll) with --nvml") {
		t.Errorf("exit code %d, and doctor says %s", r.code, r.out)
	}
	// One that fails is followed by the next, and both are told.
	broken := filepath.Join(dir, "broken", "nvml.dll")
	if err := os.Mkdir(filepath.Dir(broken), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("no library at all"), 0o666); err != nil {
		t.Fatal(err)
	}
	put(t, broken, w.system32())
	r = start("--once")
	says(t, r, 1, "no NVIDIA driver library can be loaded", "--nvml PATH", "  tried "+system+": is no library for this processor (amd64), or is damaged", "  tried "+older+": not found")
	if strings.Contains(r.err, system+": not found") {
		t.Errorf("it says of a file that is there: %s", r.err)
	}
	library := foreign(t, "windows", "amd64", "gpus 1\n")
	put(t, library, w.nvsmi())
	put(t, filepath.Join(filepath.Dir(library), "scenario.txt"), w.nvsmi())
	r = start("doctor", "--json")
	says(t, r, 0, "")
	found := parse(t, r.out).object("library")
	tried := found.objects("tried")
	if found.text("path") != older || len(tried) != 2 || tried[0].text("path") != system || tried[0].text("answer") == "ok" || tried[1].text("answer") != "ok" {
		t.Errorf("the library is %v", found)
	}
	put(t, library, w.system32())
	put(t, filepath.Join(filepath.Dir(library), "scenario.txt"), w.system32())
	if r = start("doctor", "--json"); parse(t, r.out).object("library").text("path") != system {
		t.Errorf("System32 does not come first: %s", r.out)
	}
	// What is planted would be found out.
	_ = w.run(t, "--once", "--nvml", "Z:"+evil)
	if _, err := os.Stat(evil + ".loaded"); err != nil {
		t.Errorf("the planted library does not tell that it was loaded: %v", err)
	}
}

// TestWindowsSaysTheSame: text, doctor, recordings and exit codes are those of Linux.
func TestWindowsSaysTheSame(t *testing.T) {
	w := wine(t)
	scenario := stillScenario(2)
	library := "Z:" + foreign(t, "windows", "amd64", scenario)
	fake := fakenvml.New(t, "580", scenario)
	linux := func(args ...string) result {
		t.Helper()
		return run(t, nil, append([]string{program(t, "linux", "amd64")}, args...)...)
	}
	// The line that has the time and the host is left out.
	body := func(r result) string {
		t.Helper()
		says(t, r, 0, "")
		_, rest, _ := strings.Cut(r.out, "\n")
		return rest
	}
	if got, want := body(w.run(t, "--once", "--nvml", library)), body(linux("--once", "--nvml", fake.Path())); got != want || !strings.Contains(got, "H100") {
		t.Errorf("--once prints\n%swant\n%s", got, want)
	}

	readings := func(r result) map[string]string {
		t.Helper()
		says(t, r, 0, "")
		all := map[string]string{}
		for _, g := range parse(t, r.out).objects("gpus") {
			for _, e := range g.objects("readings") {
				all[fmt.Sprint(g["index"], " ", e["key"])] = fmt.Sprint(e["value"], e["reason"], e["answer"], e["functions"])
			}
		}
		return all
	}
	examined := w.run(t, "doctor", "--json", "--nvml", library)
	got, want := readings(examined), readings(linux("doctor", "--json", "--nvml", fake.Path()))
	// Wine has none of the counters, and no adapter without a screen.
	told := parse(t, examined.out).object("windows")
	for _, c := range told.objects("counters") {
		if failed := c.object("failed"); failed.text("function") != "PdhAddEnglishCounterW" || failed.text("code") != "0xC0000BB9" || c["instances"] != nil {
			t.Errorf("doctor: a counter that Wine has not: %v", c)
		}
	}
	if n := len(told.objects("counters")); n != 5 || len(told.objects("gpus")) != 2 {
		t.Errorf("doctor: %d counters, of Windows %v", n, told)
	}
	for _, g := range told.objects("gpus") {
		if g.text("driver_model") != "tcc" || !strings.Contains(g.text("why"), "NVML alone") { // as the fake driver says
			t.Errorf("doctor: a GPU under TCC: %v", g)
		}
	}
	page := w.run(t, "doctor", "--nvml", library)
	for _, line := range []string{
		"counters    none: PdhAddEnglishCounterW answered PDH_CSTATUS_NO_COUNTER (0xC0000BB9)", "GPU 1       tcc  no adapter", "driver model tcc",
	} {
		if page.code != 0 || strings.Count(page.out, line) < 1 {
			t.Errorf("doctor: exit code %d, and no %q in\n%s", page.code, line, page.out)
		}
	}
	for key, v := range want {
		_, name, _ := strings.Cut(key, " ")
		if name != "persistence_mode" && name != "xids" && got[key] != v { // which Windows has not
			t.Errorf("doctor: %s is %s, want %s", key, got[key], v)
		}
	}
	if len(got) != len(want) || len(want) < 50 {
		t.Errorf("doctor: %d readings, want %d", len(got), len(want))
	}

	file := filepath.Join(t.TempDir(), "r.ndjson")
	says(t, w.run(t, "record", "-i", "0.1", "-n", "3", "--nvml", library, "Z:"+file), 0, "")
	if lines := linesOf(t, file); len(lines) != 3 {
		t.Errorf("%d lines are recorded", len(lines))
	}
	// The first line names the file.
	if got, want := body(w.run(t, "summary", "Z:"+file)), body(linux("summary", file)); !strings.Contains(got, "3 snapshots") || got != want {
		t.Errorf("summary prints\n%swant\n%s", got, want)
	}

	says(t, w.run(t, "--no-such-flag"), 2, "no such flag", "--help")
	says(t, w.run(t, "summary", `C:\no\such\file`), 1, `C:\no\such\file`)
	says(t, w.run(t, "--json", "--nvml", `C:\no\nvml.dll`), 1, `no NVML library at C:\no\nvml.dll`, "give --nvml the path")
}

// head is the source of a program that runs others, reads the first that each
// writes, closes the pipe, and writes down their exit codes.
const head = `#include <windows.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
		STARTUPINFOA s = {sizeof s};
		PROCESS_INFORMATION p;
		HANDLE in, out;
		DWORD n = 0, code = 0;
		char first[64];
		if (!CreatePipe(&in, &out, &inherited, 0)) return 1;
		SetHandleInformation(in, HANDLE_FLAG_INHERIT, 0);
		s.dwFlags = STARTF_USESTDHANDLES;
		s.hStdOutput = out;
		s.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
		s.hStdError = GetStdHandle(STD_ERROR_HANDLE);
		if (!CreateProcessA(NULL, argv[i], NULL, NULL, TRUE, 0, NULL, NULL, &s, &p)) return 1;
		CloseHandle(out);
		ReadFile(in, first, sizeof first, &n, NULL);
		CloseHandle(in);
		if (WaitForSingleObject(p.hProcess, 60000) != WAIT_OBJECT_0) TerminateProcess(p.hProcess, 99);
		GetExitCodeProcess(p.hProcess, &code);
		printf("%lu %lu\n", n > 0, code);
	}
	return 0;
}
`

// TestAClosedPipeEndsItOnWindows quietly, as on Linux: with | head -1.
func TestAClosedPipeEndsItOnWindows(t *testing.T) {
	w := wine(t)
	dir := t.TempDir()
	source, reader := filepath.Join(dir, "head.c"), filepath.Join(dir, "head.exe")
	if err := os.WriteFile(source, []byte(head), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := run(t, nil, "x86_64-w64-mingw32-gcc", "-O1", "-o", reader, source); r.code != 0 {
		t.Fatal(r.err)
	}
	command := []string{"wine", reader}
	for _, args := range []string{"--demo --json -i 0.1", "--demo --once -i 0.1", "--demo --csv -i 0.1", "record --demo -i 0.1 -"} {
		command = append(command, "Z:"+program(t, "windows", "amd64")+" "+args)
	}
	r := run(t, w.env, command...)
	says(t, r, 0, "")
	if got := strings.ReplaceAll(r.out, "\r", ""); got != strings.Repeat("1 0\n", 4) {
		t.Errorf("what was read of each, and exit codes:\n%s", got)
	}
}

// TestAStreamGoesOnAfterFaults: a library that faults costs time, and no snapshots.
func TestAStreamGoesOnAfterFaults(t *testing.T) {
	w := wine(t)
	// In each process that loads it.
	scenario := stillScenario(1) + "fault nvmlDeviceGetPowerUsage calls 4 segv\n"
	fake := fakenvml.New(t, "580", scenario)
	library := "Z:" + foreign(t, "windows", "amd64", scenario)
	file := filepath.Join(t.TempDir(), "r.ndjson")
	args := []string{"-i", "0.1", "-n", "4", "--nvml"}
	for what, lines := range map[string]func() []object{
		"record on Linux": func() []object {
			says(t, run(t, nil, append(append([]string{program(t, "linux", "amd64"), "record"}, args...), fake.Path(), file)...), 0, "")
			return linesOf(t, file)
		},
		"a stream on Windows": func() (list []object) {
			r := w.run(t, append(args, library, "--json")...)
			says(t, r, 0, "")
			for line := range strings.Lines(r.out) {
				list = append(list, parse(t, line))
			}
			return list
		},
	} {
		got := lines()
		if len(got) != 4 {
			t.Errorf("%s: %d snapshots, want 4", what, len(got))
		}
		for i, line := range got {
			g := line.objects("gpus")[0]
			if g.text("state") != "ok" || fmt.Sprint(g["power_mw"]) != "280000" {
				t.Errorf("%s, snapshot %d: state %v, power %v", what, i, g["state"], g["power_mw"])
			}
		}
	}
}
