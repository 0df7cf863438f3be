//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
		p := &prefix{[]string{"WINEPREFIX=" + filepath.Join(buildDir, "prefix"), "WINEDEBUG=-all", "WINEARCH=win64"}}
		wines.made = p
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
		return r
	}
	const system, older = `C:\windows\system32\nvml.dll`, `C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll`

	r := start("--once")
	says(t, r, 1, "no NVIDIA driver library found", "--nvml PATH", "  tried "+system+", "+older+": not found")
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
	says(t, r, 1, "no NVIDIA driver library can be loaded", "--nvml PATH", "  tried "+system+": ", "  tried "+older+": not found")
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
