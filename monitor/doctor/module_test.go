package doctor

import (
	"strings"
	"testing"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/tegra"
)

// TestRemarksOnModules: what is told apart by more than a machine's files.
func TestRemarksOnModules(t *testing.T) {
	root, user, docker := 0, 1000, System{Platform: host.Jetson, Container: "docker", L4T: "36.4.4", JetPack: "6.2.1"}
	gpu := []GPU{{Integrated: true, Unified: true, State: "ok"}}
	clock := []tegra.File{{Key: "clock_graphics_mhz", Path: "/x"}}
	for _, tt := range []struct {
		name              string
		found             Found
		code, cause, cure string // code "": no remark
	}{
		{"all is there", Found{GPUs: gpu, Integrated: Integrated{Stack: nvgpu}, jetson: jetson{onFiles: true, files: clock}}, "", "", ""},
		{"closed to a user", Found{GPUs: gpu, System: System{UID: &user}, Integrated: Integrated{Stack: nvidia}, jetson: jetson{debugfs: monitor.NoPermission}}, "needs_root", "root alone", "sudo"},
		{"closed to root", Found{GPUs: gpu, System: System{UID: &root}, Integrated: Integrated{Stack: nvidia}, jetson: jetson{debugfs: monitor.NoPermission}}, "needs_root", "lockdown", "--privileged"},
		{"not mounted", Found{GPUs: gpu, Integrated: Integrated{Stack: nvidia}, jetson: jetson{debugfs: monitor.NotFound}}, "debugfs", "nothing has mounted it", "mount -t debugfs none /sys/kernel/debug"},
		{"not mounted in a container", Found{GPUs: gpu, System: docker, Integrated: Integrated{Stack: nvidia}, jetson: jetson{debugfs: monitor.NotFound}}, "debugfs", "container", "-v /sys/kernel/debug:/sys/kernel/debug"},
		{"device tree hidden", Found{GPUs: gpu, jetson: jetson{disguised: true}}, "device_tree", "/sys/firmware", "systempaths=unconfined"},
		{"a DGX Spark has no debugfs to open", Found{GPUs: gpu, jetson: jetson{debugfs: monitor.NoPermission}}, "", "", ""},
		{"set aside by Windows", Found{GPUs: []GPU{{Integrated: true, State: "ok"}}, Program: Program{OS: "windows"}}, "carve_out", "more of the machine's memory", ""},
		{"set aside by Windows, which tells what else there is", Found{GPUs: []GPU{{Integrated: true, State: "ok", adapter: &monitor.Adapter{monitor.SharedTotal: monitor.OfInt(45 << 30)}}}, Program: Program{OS: "windows"}}, "carve_out", "; shared: 46080 MiB", ""},
		{"rails are read late", Found{GPUs: gpu, Integrated: Integrated{Stack: nvidia, Readings: []Reading{{Key: "rails", Reason: "timeout"}}}}, "", "", ""},
	} {
		f := &tt.found
		f.judgeModule()
		if tt.code == "" {
			if len(f.Problems) != 0 {
				t.Errorf("%s: %+v", tt.name, f.Problems)
			}
			continue
		}
		if len(f.Problems) != 1 {
			t.Errorf("%s: %+v", tt.name, f.Problems)
			continue
		}
		if p := f.Problems[0]; p.Code != tt.code || p.Level == critical || !strings.Contains(string(p.Cause), tt.cause) || !strings.Contains(string(p.Cure), tt.cure) {
			t.Errorf("%s: %+v", tt.name, p)
		}
	}
}

// TestAFileThatWon: where NVML gave what is shown, it is named; where a file did,
// NVML was passed over.
func TestAFileThatWon(t *testing.T) {
	f := &Found{jetson: jetson{files: []tegra.File{{Key: "clock_graphics_mhz", Path: "/cur_freq"}}}}
	g := &monitor.GPU{Identity: monitor.Identity{Integrated: true}}
	for _, tt := range []struct {
		told  float64 // by NVML
		value float64 // shown
		by    string
	}{{1575, 1575, "nvmlDeviceGetClockInfo"}, {0, 1575, "/cur_freq"}} {
		r := Reading{Key: "clock_graphics_mhz", Value: tt.value, Functions: []string{"nvmlDeviceGetClockInfo"}}
		f.byFile(g, &r, monitor.CallError{}, &account{told: []told{{0, r.Key, tt.told}}})
		if r.Functions[0] != tt.by || (len(r.Passed) == 1) != (tt.by == "/cur_freq") {
			t.Errorf("NVML said %v, %v is shown: by %v, passed over %v", tt.told, tt.value, r.Functions, r.Passed)
		}
	}
}
