package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

func TestThisMachine(t *testing.T) {
	r := Open("")
	h := r.Read()
	if !h.Hostname.Known() || h.Hostname.Value == "" {
		t.Errorf("host name %+v", h.Hostname)
	}
	if h.OS != runtime.GOOS || h.Arch != runtime.GOARCH {
		t.Errorf("%s/%s", h.OS, h.Arch)
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		return
	}
	total, ok := h.MemoryTotalBytes.Int()
	free, ok2 := h.MemoryAvailableBytes.Int()
	if !ok || !ok2 || total < 64<<20 || free <= 0 || free > total {
		t.Errorf("memory %d of %d, %v %v", free, total, h.MemoryAvailableBytes.Reason, h.MemoryTotalBytes.Reason)
	}
	if h.CPUPercent.Reason != monitor.NotSampled {
		t.Errorf("the first CPU load is %v, want not_sampled", h.CPUPercent)
	}
	// Work until a clock tick has passed.
	for range 1_000_000 {
		if h = r.Read(); h.CPUPercent.Known() {
			break
		}
	}
	if v, ok := h.CPUPercent.Float(); !ok || v < 0 || v > 100 {
		t.Errorf("CPU load %v, %v", v, h.CPUPercent.Reason)
	}
	if boot, err := r.BootTime(); err != nil || boot < 1e18 {
		t.Errorf("boot time %d, %v", boot, err)
	}
	if n := r.ClockTicks(); n < 1 || n > 10000 {
		t.Errorf("%d clock ticks a second", n)
	}
	if p := r.Platform(); p.Kind == "" || p.Kind == Unclear {
		t.Errorf("platform %q", p.Kind)
	}
}

const procStat = `cpu  100 0 50 800 50 0 0 0 0 0
cpu0 100 0 50 800 50 0 0 0 0 0
intr 1 2 3
ctxt 1234
btime 1767225600
processes 42
`

const serverMeminfo = `MemTotal:       131072 kB
MemFree:         4096 kB
MemAvailable:   65536 kB
Buffers:         1024 kB
Cached:          2048 kB
HugePages_Total:       7
`

func server() map[string]string {
	return map[string]string{
		"proc/stat":                       procStat,
		"proc/meminfo":                    serverMeminfo,
		"proc/sys/kernel/random/boot_id":  "9f1c2f0e-0000-4000-8000-000000000001\n",
		"proc/sys/kernel/osrelease":       "6.8.0-45-generic\n",
		"proc/sys/kernel/hostname":        "namespace-of-the-reader\n",
		"etc/hostname":                    "n1\n",
		"sys/class/dmi/id/product_name":   "DGXH100\n",
		"sys/class/dmi/id/product_family": "DGX\n",
		"proc/driver/nvidia/version":      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
		"sys/module/nvidia/version":       "550.163.01\n",
	}
}

func TestServer(t *testing.T) {
	root := fixture.Tree(t, server())
	r := Open(root)
	h := r.Read()
	if h.Hostname.Value != "n1" || h.BootID.Value != "9f1c2f0e-0000-4000-8000-000000000001" {
		t.Errorf("%+v %+v", h.Hostname, h.BootID)
	}
	if v, ok := h.MemoryTotalBytes.Int(); !ok || v != 131072*1024 {
		t.Errorf("total %d", v)
	}
	if v, ok := h.MemoryAvailableBytes.Int(); !ok || v != 65536*1024 {
		t.Errorf("available %d", v)
	}
	if h.CPUPercent.Reason != monitor.NotSampled {
		t.Errorf("first CPU load: %v", h.CPUPercent.Reason)
	}
	// No tick has passed: still nothing to compare with, and not 0 %.
	if got := r.Read().CPUPercent.Reason; got != monitor.NotSampled {
		t.Errorf("CPU load without a tick: %v", got)
	}
	write := func(stat string) {
		if err := os.WriteFile(filepath.Join(root, "proc/stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cpu  125 0 75 840 60 0 0 0 0 0\n") // 50 busy of 100
	if v, _ := r.Read().CPUPercent.Float(); v != 50 {
		t.Errorf("CPU load %v, want 50", v)
	}
	if v, ok := r.Read().CPUPercent.Float(); !ok || v != 50 {
		t.Errorf("CPU load without a tick %v, want the former 50", v)
	}
	write("cpu  1 0 1 1 0 0 0 0 0 0\n") // the counters started anew
	if got := r.Read().CPUPercent.Reason; got != monitor.NotSampled {
		t.Errorf("CPU load after the counters fell: %v", got)
	}
	write("nonsense\n")
	if got := r.Read().CPUPercent.Reason; got != monitor.Implausible {
		t.Errorf("CPU load of nonsense: %v", got)
	}
	write(procStat)
	if boot, err := r.BootTime(); err != nil || boot != 1767225600e9 {
		t.Errorf("boot time %d, %v", boot, err)
	}
	p := r.Platform()
	if p.Kind != Server || p.Model.Value != "DGXH100" {
		t.Errorf("%+v", p)
	}
	for name, text := range map[string]monitor.Text{"soc": p.SoC, "l4t": p.L4T, "jetpack": p.JetPack, "power_mode": p.PowerMode, "gpu_governor": p.Governor} {
		if text.Reason != monitor.NotSupported {
			t.Errorf("%s off Jetson: %+v", name, text)
		}
	}
	if v, err := KernelModuleVersion(root); err != nil || v != "550.163.01" {
		t.Errorf("kernel module %q, %v", v, err)
	}
	if found, evidence := DriverInSight(root); !found || evidence != "/proc/driver/nvidia" {
		t.Errorf("driver in sight: %v %q", found, evidence)
	}
}

func TestEmptyRoot(t *testing.T) {
	root := fixture.TempDir(t)
	r := Open(root)
	h := r.Read()
	for name, why := range map[string]monitor.Reason{
		"hostname": h.Hostname.Reason, "boot_id": h.BootID.Reason, "cpu": h.CPUPercent.Reason,
		"total": h.MemoryTotalBytes.Reason, "available": h.MemoryAvailableBytes.Reason,
		"huge pages": h.HugePagesTotalBytes.Reason, "free huge pages": h.HugePagesFreeBytes.Reason,
	} {
		if why != monitor.NotSupported {
			t.Errorf("%s: %v", name, why)
		}
	}
	if got := h.MemoryTotalBytes.Err.Function(); got != "/proc/meminfo" {
		t.Errorf("the file to blame is %q", got)
	}
	if p := r.Platform(); p.Kind != Unclear {
		t.Errorf("kind %q", p.Kind)
	}
	if found, evidence := DriverInSight(root); found || evidence != "" {
		t.Errorf("driver in sight at %q", evidence)
	}
	if _, err := KernelModuleVersion(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("version: %v", err)
	}
	if initial, err := PIDNamespace(root); err == nil || initial {
		t.Errorf("namespace %v, %v: must be untold", initial, err)
	}
}

func TestOldMeminfo(t *testing.T) {
	root := fixture.Tree(t, map[string]string{"proc/meminfo": "MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 20 kB\nCached: 30 kB\n"})
	_, available := Memory(root)
	if v, _ := available.Int(); v != 60*1024 || available.Provenance != monitor.Estimated {
		t.Errorf("available %d, %v", v, available.Provenance)
	}
	if got := Meminfo(root, "NvMapMemUsed"); got.Reason != monitor.NotSupported {
		t.Errorf("a line that is not there: %v", got)
	}
}

// TestHugePages: as DGX Spark tells of them, with or without some set aside.
func TestHugePages(t *testing.T) {
	for meminfo, want := range map[string][2]int64{
		"HugePages_Total:   16384\nHugePages_Free:     8192\nHugepagesize:       2048 kB\n":                    {32 << 30, 16 << 30},
		"HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n":                    {0, 0},
		"HugePages_Total:      12\nHugePages_Free:       12\nHugepagesize:    1048576 kB\nDirectMap4k: 9 kB\n": {12 << 30, 12 << 30},
	} {
		h := Open(fixture.Tree(t, map[string]string{"proc/meminfo": "MemTotal: 127600748 kB\nMemAvailable: 118566368 kB\n" + meminfo})).Read()
		total, ok := h.HugePagesTotalBytes.Int()
		free, ok2 := h.HugePagesFreeBytes.Int()
		if !ok || !ok2 || total != want[0] || free != want[1] {
			t.Errorf("%q: %d (%v) and %d (%v), want %d", meminfo, total, ok, free, ok2, want)
		}
	}
	for meminfo, want := range map[string]monitor.Reason{
		"": monitor.NotSupported, // a kernel without them
		"HugePages_Total: 5\nHugePages_Free: 5\n":                                                         monitor.NotSupported,
		"HugePages_Total: some\nHugePages_Free: few\nHugepagesize: 2048 kB\n":                             monitor.NotSupported,
		"HugePages_Total: 9000000000000000\nHugePages_Free: 9000000000000000\nHugepagesize: 1048576 kB\n": monitor.Implausible,
	} {
		h := Open(fixture.Tree(t, map[string]string{"proc/meminfo": "MemTotal: 127600748 kB\n" + meminfo})).Read()
		if a, b := h.HugePagesTotalBytes.Reason, h.HugePagesFreeBytes.Reason; a != want || b != want {
			t.Errorf("%q: %v and %v, want %v", meminfo, a, b, want)
		}
	}
}

func TestPlatforms(t *testing.T) {
	orin := map[string]string{
		"proc/device-tree/model":      "NVIDIA Jetson AGX Orin Developer Kit\x00",
		"proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\x00nvidia,p3701-0005\x00nvidia,tegra234\x00",
		"etc/nv_tegra_release":        "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64, DATE: Mon Jun 16 16:07:13 UTC 2025\n",
		"var/lib/nvpmodel/status":     "pmode:0002 fmode:fanNull\n",
		"etc/nvpmodel.conf":           "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MODE_30W >\n",
		"proc/meminfo":                "MemTotal: 64349140 kB\nMemAvailable: 58012344 kB\nNvMapMemUsed:      4041996 kB\n",
		"dev/nvmap":                   "",
	}
	thor := map[string]string{
		// Only the second place of the device tree, as behind a mounted root.
		"sys/firmware/devicetree/base/model":      "NVIDIA Jetson AGX Thor Developer Kit\x00",
		"sys/firmware/devicetree/base/compatible": "nvidia,p4071-0000+p3834-0008\x00nvidia,p3834-0008\x00nvidia,tegra264\x00",
		"etc/nv_tegra_release":                    "# R38 (release), REVISION: 9.9, GCID: 1, BOARD: generic, EABI: aarch64, DATE: x\n",
		"sys/class/devfreq/bwmgr/cur_freq":        "4266000000\n",
		"dev/nvidiactl":                           "",
	}
	tests := []struct {
		name                            string
		files                           map[string]string
		kind, model, soc, l4t, jp, mode string
		driver                          string
		jetpackReason, powerModeReason  monitor.Reason
	}{
		{name: "orin", files: orin, kind: Jetson, model: "NVIDIA Jetson AGX Orin Developer Kit", soc: "tegra234", l4t: "36.4.4", jp: "6.2.1", mode: "MODE_30W", driver: "/dev/nvmap"},
		{name: "thor with a release newer than the table", files: thor, kind: Jetson, model: "NVIDIA Jetson AGX Thor Developer Kit", soc: "tegra264", l4t: "38.9.9",
			jetpackReason: monitor.NotFound, powerModeReason: monitor.NotSupported, driver: "/dev/nvidiactl"},
		{name: "wsl", files: map[string]string{"dev/dxg": "", "proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n"}, kind: WSL, driver: "/dev/dxg"},
		{name: "wsl without a GPU", files: map[string]string{"proc/sys/kernel/osrelease": "5.15.167.4-Microsoft-standard-WSL2\n"}, kind: WSL},
		{name: "spark", files: map[string]string{"sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark\n"}, kind: Spark, model: "NVIDIA_DGX_Spark"},
		{name: "another maker's GB10", files: map[string]string{"sys/class/dmi/id/product_name": "Dell Pro Max with GB10 FCM1253\n"}, kind: Spark, model: "Dell Pro Max with GB10 FCM1253"},
		{name: "grace by name", files: map[string]string{"sys/class/dmi/id/product_name": "Quanta S74G-2U GH200\n"}, kind: Grace, model: "Quanta S74G-2U GH200"},
		{name: "grace by its CPU", files: map[string]string{"sys/class/dmi/id/product_name": "ARS-111GL\n", "sys/bus/soc/devices/soc0/soc_id": "jep106:036b:0241\n"}, kind: Grace, model: "ARS-111GL"},
		{name: "a PC that nobody named", files: map[string]string{"sys/class/dmi/id/product_name": "To Be Filled By O.E.M.\n", "proc/stat": procStat}, kind: Server},
		{name: "an arm64 board that is no Tegra", files: map[string]string{"proc/device-tree/model": "Raspberry Pi 5\x00", "proc/device-tree/compatible": "raspberrypi,5-model-b\x00brcm,bcm2712\x00", "proc/stat": procStat}, kind: Server, model: "Raspberry Pi 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fixture.Tree(t, tt.files)
			p := Open(root).Platform()
			if p.Kind != tt.kind || p.Model.Value != tt.model || p.SoC.Value != tt.soc || p.L4T.Value != tt.l4t || p.JetPack.Value != tt.jp || p.PowerMode.Value != tt.mode {
				t.Errorf("%+v", p)
			}
			for _, text := range []monitor.Text{p.Model, p.SoC, p.L4T, p.JetPack, p.PowerMode} {
				if text.Known() != (text.Value != "") {
					t.Errorf("%+v: a text is known exactly when there is one", text)
				}
			}
			if tt.jetpackReason != 0 && p.JetPack.Reason != tt.jetpackReason {
				t.Errorf("JetPack: %v", p.JetPack.Reason)
			}
			if tt.powerModeReason != 0 && p.PowerMode.Reason != tt.powerModeReason {
				t.Errorf("power mode: %v", p.PowerMode.Reason)
			}
			if found, evidence := DriverInSight(root); found != (tt.driver != "") || evidence != tt.driver {
				t.Errorf("driver in sight: %v %q", found, evidence)
			}
		})
	}
	if v, _ := Meminfo(fixture.Tree(t, orin), "NvMapMemUsed").Int(); v != 4041996*1024 {
		t.Errorf("NvMapMemUsed %d", v)
	}
}

func TestKernelModuleVersion(t *testing.T) {
	const file = "proc/driver/nvidia/version"
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"closed module", map[string]string{file: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 09:19:07 UTC 2022\n"}, "390.157"},
		{"open module", map[string]string{file: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AM02-24-3)  Tue Sep 23 09:55:41 UTC 2025\n"}, "580.95.05"},
		{"open module on arm64", map[string]string{file: "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@mobile-u64-6519-d8000)  Tue Jan  7 09:55:41 PST 2025\n"}, "540.4.0"},
		{"only in /sys", map[string]string{"sys/module/nvidia/version": "580.95.05\n"}, "580.95.05"},
		{"unknown form in /proc", map[string]string{file: "NVRM: hello\n", "sys/module/nvidia/version": "535.54.03\n"}, "535.54.03"},
	}
	for _, tt := range tests {
		if got, err := KernelModuleVersion(fixture.Tree(t, tt.files)); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	if v, err := KernelModuleVersion(fixture.Tree(t, map[string]string{file: "NVRM: hello\n"})); err == nil {
		t.Errorf("%q from nonsense", v)
	}
}

func TestPIDNamespace(t *testing.T) {
	if runtime.GOOS == "windows" {
		if initial, err := PIDNamespace(""); !initial || err != nil {
			t.Errorf("%v, %v", initial, err)
		}
		return // links in a tree need a privilege there
	}
	const initialLink, other = "pid:[4026531836]", "pid:[4026532744]"
	tests := []struct {
		name        string
		files       map[string]string
		initial, ok bool
	}{
		{"a machine", map[string]string{"proc/self/ns/pid@": initialLink}, true, true},
		{"a container", map[string]string{"proc/self/ns/pid@": other, "proc/1/ns/pid@": other}, false, true},
		{"a container that may not look at PID 1", map[string]string{"proc/self/ns/pid@": other}, false, true},
		{"the host's /proc in a container", map[string]string{"proc/self/ns/pid@": other, "proc/1/ns/pid@": initialLink}, true, true},
		{"a container's /proc", map[string]string{"proc/1/ns/pid@": other}, false, true},
		{"a sandbox without the link", map[string]string{"proc/1/stat": ""}, false, false},
		{"a sandbox with another link", map[string]string{"proc/self/ns/pid@": "sandbox"}, false, false},
	}
	for _, tt := range tests {
		initial, err := PIDNamespace(fixture.Tree(t, tt.files))
		if initial != tt.initial || (err == nil) != tt.ok {
			t.Errorf("%s: %v, %v", tt.name, initial, err)
		}
	}
}

func TestCgroupNamespace(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links in a tree need a privilege there
	}
	for link, want := range map[string]bool{"cgroup:[4026531835]": true, "cgroup:[4026532833]": false} {
		if got := CgroupNamespace(fixture.Tree(t, map[string]string{"proc/self/ns/cgroup@": link})); got != want {
			t.Errorf("%s: %v", link, got)
		}
	}
	if !CgroupNamespace(fixture.Tree(t, map[string]string{"proc/self/stat": ""})) {
		t.Error("a kernel without namespaces must count as initial")
	}
	if CgroupNamespace(fixture.Tree(t, map[string]string{"proc/self/ns/pid": ""})) {
		t.Error("a link that cannot be read must not count as initial")
	}
}

func TestReadFile(t *testing.T) {
	long := strings.Repeat("0123456789", 10000)
	root := Root(fixture.Tree(t, map[string]string{"proc/long": long, "proc/short": "x", "proc/empty": "", "proc/dir/": ""}))
	for _, most := range []int{1, 4095, 4096, 4097, 32768, 99999, 100000, 200000} {
		data, err := root.ReadFile("/proc/long", most)
		if err != nil || string(data) != long[:min(most, len(long))] {
			t.Errorf("%d: %d bytes, %v", most, len(data), err)
		}
	}
	if data, err := root.ReadFile("/proc/empty", 10); err != nil || len(data) != 0 {
		t.Errorf("empty file: %q, %v", data, err)
	}
	if _, err := root.ReadFile("/proc/none", 10); Reason(err) != monitor.NotFound {
		t.Errorf("absent file: %v is %v", err, Reason(err))
	}
	if data, err := root.ReadFile("/proc/dir", 10); err == nil {
		t.Errorf("a folder reads as %q", data)
	}
}

func TestReason(t *testing.T) {
	for want, err := range map[monitor.Reason]error{
		monitor.Known:        nil,
		monitor.NotFound:     &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist},
		monitor.NoPermission: &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission},
		monitor.NotSupported: errors.ErrUnsupported,
		monitor.Implausible:  ErrMalformed,
		monitor.DriverError:  errors.New("something else"),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
