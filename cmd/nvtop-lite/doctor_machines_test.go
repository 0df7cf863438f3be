//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nvtop-lite/internal/fixture"
)

// asUser is who runs the program as an ordinary user.
const asUser = "as an ordinary user"

// TestDoctorOnMachines: what the page says of Jetsons and of other machines whose
// GPU shares their memory; nothing of that on a server.
func TestDoctorOnMachines(t *testing.T) {
	for _, tt := range []struct {
		machine, how string
		change       func(t *testing.T, root string)
		library      string // another than the machine's
		code         int
	}{
		{machine: "orin-agx-jetpack5"},
		{machine: "orin-agx-jetpack6"},
		{machine: "orin-agx-jetpack6", how: asUser},
		{machine: "orin-agx-jetpack7.2"},
		{machine: "orin-agx-jetpack7.2", how: asUser},
		{machine: "orin-agx-debugfs-unmounted"},
		{machine: "orin-agx-booting"},
		{machine: "orin-agx-discrete"},
		{machine: "nano-jetpack4"},
		{machine: "thor-jetpack7.0"},
		{machine: "thor-jetpack7.0", how: "without its library", library: noLibrary, code: 1},
		{machine: "dgx-spark"},
		{machine: "dgx-spark-total-0"},
		{machine: "dgx-spark-total-all"},
		{machine: "dgx-spark-hugepages"},
		{machine: "x86-server", code: 1},
		{machine: "orin-agx-jetpack6", how: "bare", change: func(t *testing.T, root string) {
			for _, name := range []string{"var/lib/nvpmodel/status", "sys/class/hwmon", "sys/bus/i2c", "sys/module/nvgpu", "sys/class/devfreq", "sys/devices/platform/gpu.0", "sys/devices/platform/bus@0/17000000.gpu/load"} {
				fixture.Remove(t, root, name)
			}
			fixture.Write(t, root, "etc/nv_tegra_release", "# R40 (release), REVISION: 1.0, GCID: 1, BOARD: generic, EABI: aarch64, DATE: Mon Jun 14 12:00:00 UTC 2027\n")
		}},
		{machine: "orin-agx-jetpack6", how: "in a container", change: func(t *testing.T, root string) {
			fixture.Write(t, root, ".dockerenv", "")
			fixture.Remove(t, root, "proc/device-tree")
			fixture.Move(t, root, "sys/firmware/devicetree/base", "proc/device-tree")
			fixture.Remove(t, root, "sys")
		}},
	} {
		name := strings.ReplaceAll(strings.TrimSpace(tt.machine+" "+tt.how), " ", "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, library := fixture.Machine(t, tt.machine), tt.library
			if library == "" {
				library = machineLibrary(t, tt.machine)
			}
			if tt.change != nil {
				tt.change(t, root)
			}
			doctor := func(args ...string) result {
				command := append([]string{program(t, "linux", "amd64"), "doctor", "--root", root, "--nvml", library}, args...)
				if tt.how == asUser {
					return runAsUser(t, root, library, command...)
				}
				return run(t, nil, command...)
			}
			r := doctor()
			if r.code != tt.code || r.err != "" {
				t.Errorf("exit code %d, want %d; it says %q", r.code, tt.code, r.err)
			}
			checkClean(t, r.out)
			golden(t, filepath.Join("machines", name), onFiles(r.out, root, library))

			d := parse(t, doctor("--json").out)
			if ok, is := d["ok"].(bool); !is || ok != (tt.code == 0) {
				t.Errorf("ok %v", d["ok"])
			}
			q := doctor("-q")
			if want := strings.Count(r.out, "\ncritical  ") + strings.Count(r.out, "\nwarning   "); q.code != tt.code || strings.Count(q.out, "\n") != want {
				t.Errorf("exit code %d, and with -q it says\n%s", q.code, q.out)
			}
		})
	}
}

// onFiles is a page without what differs from run to run, and of the readings of
// GPUs those that files gave.
func onFiles(page, root, library string) string {
	head, rows, _ := strings.Cut(page, "\nGPU ")
	head, _, _ = strings.Cut(head, "\ncalls about no GPU\n")
	var b strings.Builder
	for line := range strings.Lines("\nGPU " + rows) {
		if rows != "" && strings.HasPrefix(line, "GPU ") || strings.Contains(line, "  /") {
			b.WriteString(line)
		}
	}
	page = head + "\n" + b.String()
	for _, r := range []struct{ from, to string }{
		{regexp.QuoteMeta(root), "/root-of-the-test"},
		{regexp.QuoteMeta(library), "/usr/lib/libnvidia-ml.so.1"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
		{`(?m)^program .*$`, "program     PROGRAM"},
		{`uid \d+`, "uid N"},
		{`owner \d+:\d+`, "owner N:N"},
		{`(?m)^  missing .*\n`, ""},
		{`\d+ of \d+ functions`, "N of N functions"},
		{`colours \w+`, "colours N"},
		{`\d+ calls, \d+ µs`, "N calls, N µs"},
	} {
		page = regexp.MustCompile(r.from).ReplaceAllString(page, r.to)
	}
	return page
}

// runAsUser runs a command as a user to whom what is root's alone is closed, as
// debugfs is.
func runAsUser(t *testing.T, root, library string, command ...string) (r result) {
	t.Helper()
	if os.Geteuid() != 0 {
		fixture.AsUser(t, root, func() { r = run(t, nil, command...) })
		return r
	}
	for _, path := range []string{root, library, command[0]} { // which the test keeps to itself
		for dir := filepath.Dir(path); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := []string{tool(t, "setpriv", "util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups"}
	return run(t, nil, append(other, command...)...)
}
