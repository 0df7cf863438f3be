//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/screen"
)

// TestMachines runs the program on the files of Jetsons and of other machines,
// each with the library that it has: what comes out as JSON, as text and on a
// screen stands in testdata/machines. The program for arm64 must say the same.
func TestMachines(t *testing.T) {
	for _, name := range fixture.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, library := fixture.Machine(t, name), machineLibrary(t, name)
			args := []string{"--root", root, "--nvml", library, "--json"}
			r := run(t, nil, append([]string{program(t, "linux", "amd64")}, args...)...)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.err)
			}
			all := parse(t, r.out)
			checkSnapshot(t, all)
			for _, g := range all.objects("gpus") {
				if state := g.text("state"); state != "ok" && state != "lost" {
					t.Errorf("GPU %v is %s", g["index"], state)
				}
			}
			want := steadied(t, r.out, root, library)
			goldenFile(t, filepath.Join("machines", name+".json"), indented(t, want))
			goldenFile(t, filepath.Join("machines", name+".txt"), onScreen(t, want))

			t.Run("arm64", func(t *testing.T) {
				tool(t, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
				qemu := tool(t, "qemu-aarch64", "qemu-user")
				env := []string{}
				if library != noLibrary {
					library = armLibrary(t)
					scenario := filepath.Join(t.TempDir(), "scenario.txt")
					if err := os.WriteFile(scenario, []byte(fixture.Scenario(t, name)), 0o666); err != nil {
						t.Fatal(err)
					}
					env = append(env, "FAKENVML_SCENARIO="+scenario)
				}
				args := []string{qemu, "-L", "/usr/aarch64-linux-gnu", program(t, "linux", "arm64"), "--root", root, "--nvml", library, "--json"}
				r := run(t, env, args...)
				if r.code != 0 {
					t.Fatalf("exit code %d: %s", r.code, r.err)
				}
				if got := steadied(t, r.out, root, library); !bytes.Equal(got, want) {
					t.Errorf("for arm64:\n%s\nfor amd64:\n%s", indented(t, got), indented(t, want))
				}
			})
		})
	}
}

// noLibrary is where a machine without a driver's library is told to look for
// it, so that none of the machine that the test runs on is found.
const noLibrary = "/nonexistent/libnvidia-ml.so.1"

func machineLibrary(t *testing.T, name string) string {
	scenario := fixture.Scenario(t, name)
	if scenario == "" {
		return noLibrary
	}
	fake := fakenvml.New(t, "580", scenario)
	t.Cleanup(func() { obeys(t, fake) })
	return fake.Path()
}

// armLibrary is the fake driver for arm64.
func armLibrary(t *testing.T) string {
	t.Helper()
	path, err := armLibraryOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var armLibraryOnce = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "run", "./internal/fakenvml/build", "-os", "linux", "-arch", "arm64", "-generation", "580", "-out", filepath.Join(buildDir, "arm64"))
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
})

// steadied is a snapshot without what differs from run to run, or from system to
// system.
func steadied(t *testing.T, line, root, library string) []byte {
	t.Helper()
	for _, r := range []struct{ from, to string }{
		{regexp.QuoteMeta(root), ""},
		{regexp.QuoteMeta(library), "/usr/lib/libnvidia-ml.so.1"},
		{`"arch":"\w+"`, `"arch":"arm64"`},
		{`"(steady_)?time":"[^"]*"`, `"${1}time":"2026-01-02T12:04:31Z"`},
		{`"(state_seconds|age_seconds|processes_age_seconds)":[0-9.]+`, `"$1":0`},
		{`"ages":\{[^}]*\}`, `"ages":{}`},
	} {
		line = regexp.MustCompile(r.from).ReplaceAllString(line, r.to)
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		t.Fatal(err)
	}
	if warnings := string(o["warnings"]); warnings != "[]" && !strings.Contains(warnings, "in_process") {
		t.Errorf("warnings: %s", warnings) // an emulator may not start programs
	}
	// In the order of the keys.
	if s, err := report.ParseJSON([]byte(line)); err != nil {
		t.Fatal(err)
	} else {
		s.Warnings = nil
		return report.AppendJSON(nil, s)
	}
	return nil
}

func indented(t *testing.T, line []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(line), "", " "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// onScreen is what screens of two sizes and the one-shot text show of a snapshot.
func onScreen(t *testing.T, line []byte) string {
	t.Helper()
	snap, err := report.ParseJSON(line)
	if err != nil {
		t.Fatal(err)
	}
	snap.Source = "live"
	for i := range snap.GPUs {
		snap.GPUs[i].Refreshed = snap.Steady
	}
	hist := monitor.NewHistory(200)
	for i := range 50 {
		s := *snap
		s.Steady += int64(i-50) * int64(time.Second)
		hist.Add(&s)
	}
	var b strings.Builder
	for _, size := range [][2]int{{80, 24}, {130, 40}} {
		f := ansi.NewFrame(size[0], size[1])
		v := &screen.View{Now: snap.Time, ShowProcesses: true}
		screen.New(screen.Options{Version: "0.1"}).Draw(f, snap, hist, v)
		fmt.Fprintf(&b, "%dx%d\n%s\n\n", size[0], size[1], f.String())
	}
	return b.String()
}
