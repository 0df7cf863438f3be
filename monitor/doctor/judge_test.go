package doctor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
)

func failed(c monitor.Cause, code string) *monitor.OpenError {
	return &monitor.OpenError{Cause: c, What: "it fails", Code: code, Hint: "the hint"}
}

// TestCauseAndCure: each known failure, told apart by what was found besides.
func TestCauseAndCure(t *testing.T) {
	denied := []Node{{Path: "/dev/nvidiactl", Mode: "Dcrw-rw----", GID: 44, Access: "permission denied"}}
	refused := []Node{{Path: "/dev/nvidiactl", Mode: "Dcrw-rw-rw-", Access: "operation not permitted"}}
	there := []Node{{Path: "/dev/nvidiactl", Access: "ok"}}
	docker, void := System{Container: "docker"}, "void"
	for _, tt := range []struct {
		name              string
		found             Found
		code, cause, cure string
	}{
		{"not installed", Found{failed: failed(monitor.CauseNoLibrary, "")}, "no_library", "not installed", "install it"},
		{"library only missing", Found{failed: failed(monitor.CauseNoLibrary, ""), Driver: Driver{KernelModule: "580.1"}}, "no_library", "kernel driver is loaded", "version 580.1"},
		{"asked for", Found{failed: failed(monitor.CauseNoLibrary, ""), explicit: "/x"}, "no_library", "--nvml", "the hint"},
		{"no loader", Found{failed: failed(monitor.CauseNoLoader, "")}, "no_loader", "no library was looked for", "the hint"},
		{"not loadable", Found{failed: failed(monitor.CauseNoLibrary, ""), Library: Library{Tried: []Try{{Answer: "wrong ELF class"}}}}, "no_library", "cannot be loaded", "processor"},
		{"no utility", Found{failed: failed(monitor.CauseNoLibrary, ""), System: docker, Nodes: there}, "no_library", "not the driver's library", "NVIDIA_DRIVER_CAPABILITIES must have utility"},
		{"no driver in container", Found{failed: failed(monitor.CauseNoLibrary, ""), System: docker}, "no_library", "without the driver", "--gpus all"},
		{"WSL", Found{failed: failed(monitor.CauseNoLibrary, ""), System: System{Platform: "wsl"}}, "no_library", "Windows", "in Windows, not here"},
		{"WSL without the device", Found{failed: failed(monitor.CauseNoDriver, ""), System: System{Platform: "wsl"}}, "no_driver", "Windows", "in Windows, not here"},
		{"WSL without a GPU", Found{failed: failed(monitor.CauseNoGPU, ""), System: System{Platform: "wsl", Kernel: "5.15"}}, "no_gpu", "Windows", "in Windows, not here"},
		{"Jetson", Found{failed: failed(monitor.CauseNoLibrary, ""), Integrated: Integrated{Stack: nvidia}}, "no_library", "this JetPack", "--runtime nvidia"},
		{"void", Found{failed: failed(monitor.CauseNoDriver, ""), System: docker, Environment: Environment{VisibleDevices: &void}}, "no_driver", `NVIDIA_VISIBLE_DEVICES is "void"`, "--gpus all"},
		{"nouveau", Found{failed: failed(monitor.CauseNoDriver, ""), Driver: Driver{Nouveau: true}}, "no_driver", "nouveau", "blacklist"},
		{"not loaded", Found{failed: failed(monitor.CauseNoDriver, ""), PCI: []PCI{{BusID: "0000:01:00.0"}}}, "no_driver", "0000:01:00.0, which no driver has", "modprobe nvidia"},
		{"node denied", Found{failed: failed(monitor.CauseNoPermission, "NVML_ERROR_NO_PERMISSION"), Nodes: denied}, "no_permission", "/dev/nvidiactl is Dcrw-rw----", "group 44"},
		{"denied in container", Found{failed: failed(monitor.CauseNoPermission, "NVML_ERROR_NO_PERMISSION"), Nodes: denied, System: docker}, "no_permission", "/dev/nvidiactl", "restart the container"},
		{"device rules lost", Found{failed: failed(monitor.CauseNoPermission, "NVML_ERROR_NO_PERMISSION"), Nodes: refused, System: docker}, "container_lost_devices", "daemon-reload", "restart the container"},
		{"999 in container", Found{failed: failed(monitor.CauseOther, unknownError), System: docker}, "container_lost_devices", "daemon-reload", "restart the container"},
		{"999", Found{failed: failed(monitor.CauseOther, unknownError)}, "unknown_error", "no cause", "dmesg"},
		{"mismatch", Found{failed: failed(monitor.CauseVersionMismatch, "18"), Driver: Driver{KernelModule: "570.1", Library: "580.1"}}, "version_mismatch", "upgraded", "reboot"},
		{"mismatch in container", Found{failed: failed(monitor.CauseVersionMismatch, "18"), System: docker}, "version_mismatch", "host's driver", "image"},
		{"vfio", Found{failed: failed(monitor.CauseNoGPU, ""), PCI: []PCI{{BusID: "0000:01:00.0", Driver: "vfio-pci"}}}, "no_gpu", "belongs to vfio-pci", "bind it"},
		{"unplugged", Found{failed: failed(monitor.CauseNoGPU, ""), System: System{Kernel: "6"}}, "no_gpu", "PCI bus", "plugged in"},
		{"crash", Found{failed: &monitor.OpenError{What: "the driver process ended: SIGSEGV", Hint: "the hint"}}, "crashed", "library", "the hint"},
		{"too late", Found{late: true}, "no_answer", "does not answer", "nvidia-smi"},
	} {
		f := &tt.found
		f.Program.OS = "linux"
		f.judge()
		if f.OK || len(f.Problems) == 0 {
			t.Errorf("%s: %+v", tt.name, f.Problems)
			continue
		}
		p := f.Problems[0]
		if p.Level != critical || p.Code != tt.code || !strings.Contains(string(p.Cause), tt.cause) || !strings.Contains(string(p.Cure), tt.cure) {
			t.Errorf("%s: %+v", tt.name, p)
		}
		if line := p.line(); strings.Contains(line, "\n") || !strings.HasPrefix(line, "critical: ") {
			t.Errorf("%s: %q", tt.name, line)
		}
	}
}

// TestWSL: whose library is in use, and what of Windows cannot be known.
func TestWSL(t *testing.T) {
	const windows, own = "/usr/lib/wsl/lib/libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
	for _, tt := range []struct {
		name  string
		found Found
		codes string
	}{
		{"Windows' own", Found{Library: Library{Path: windows}}, "wsl"},
		{"beside another", Found{Library: Library{Path: windows}, own: own}, "wsl_passed_over wsl"},
		{"from the folder of drivers", Found{Library: Library{Path: "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libnvidia-ml.so.1"}, own: own}, "wsl_passed_over wsl"},
		{"another", Found{Library: Library{Path: own}, own: own}, "wsl_library wsl"},
		{"one that was asked for", Found{Library: Library{Path: "/x.so"}, explicit: "/x.so"}, "wsl"},
		{"none", Found{own: own}, ""},
	} {
		f := &tt.found
		f.System.Platform = "wsl"
		f.GPUs = []GPU{{State: "ok"}}
		f.judge()
		var codes []string
		for _, p := range f.Problems {
			codes = append(codes, p.Code)
			if p.Cause == "" || p.Cure == "" || p.Code == "wsl_passed_over" && !strings.HasPrefix(p.Text, own) {
				t.Errorf("%s: %+v", tt.name, p)
			}
		}
		if got := strings.Join(codes, " "); got != tt.codes || !f.OK {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.codes)
		}
	}
	native := Found{Library: Library{Path: own}, own: own, GPUs: []GPU{{State: "ok"}}, System: System{Platform: "server"}}
	if native.judge(); len(native.Problems) != 0 {
		t.Errorf("on a server: %+v", native.Problems)
	}
}

// TestHealthHasCures: whatever health finds comes with what to do about it,
// unless there is nothing.
func TestHealthHasCures(t *testing.T) {
	for _, level := range []monitor.Level{monitor.Critical, monitor.Warn, monitor.Info} {
		for _, a := range advices {
			code := a.code
			f := Found{GPUs: []GPU{{State: "ok", Health: []Health{{Code: code, Level: level.String(), Text: "x"}}}}}
			f.judge()
			if f.Problems[0].Cure == "" || f.OK == (level == monitor.Critical) {
				t.Errorf("%s, %s: %+v", code, level, f.Problems)
			}
		}
	}
}

func TestSameProblemOfSeveralGPUs(t *testing.T) {
	f := Found{}
	for i := range 6 {
		h := Health{Code: "persistence_off", Level: info, Text: "persistence off"}
		if i == 3 {
			h = Health{Code: "gpu_lost", Level: critical, Text: "lost"}
		}
		f.GPUs = append(f.GPUs, GPU{Index: &i, State: "ok", Health: []Health{h}})
	}
	f.judge()
	if len(f.Problems) != 2 || f.Problems[0].about() != "GPU 3: " || f.Problems[1].about() != "GPUs 0-2,4-5: " || len(f.Lines()) != 1 {
		t.Errorf("%+v", f.Problems)
	}
}

// TestEveryTextIsClean, wherever it came from.
func TestEveryTextIsClean(t *testing.T) {
	evil := "a\x1b]0;x\x07b\u202e\x9bc\nd"
	index := 0
	f := Found{
		System: System{Model: Word(evil)}, Environment: Environment{VisibleDevices: &evil}, failed: &monitor.OpenError{What: evil, Hint: evil, Code: evil},
		Library: Library{Tried: []Try{{Path: evil, Answer: evil}}}, GPUs: []GPU{{Index: &index, Name: Word(evil), Readings: []Reading{{Key: "k", Functions: []string{evil}}}}},
		warnings: []monitor.Warning{{Code: evil, Text: evil}},
	}
	scrub(reflect.ValueOf(&f).Elem())
	f.judge()
	scrub(reflect.ValueOf(&f).Elem())
	for _, text := range []string{string(f.AppendText(nil, TextOptions{})), string(f.Append(nil))} {
		if strings.ContainsAny(text, "\x1b\x07\u202e\u009b") || strings.Contains(text, "\\u") || strings.Contains(text, `\n`) {
			t.Errorf("%q", text)
		}
	}
	if got := string(f.AppendText(nil, TextOptions{ASCII: true})); strings.IndexFunc(got, func(r rune) bool { return r > 0x7e }) >= 0 {
		t.Errorf("%q", got)
	}
}

// TestNotesOfADriverProcessGoneMad change nothing.
func TestNotesOfADriverProcessGoneMad(t *testing.T) {
	events := make(chan apart.Event, 9)
	for _, note := range []string{"", "{", "null", `{"End":{"ID":7}}`, `{"Begin":{"ID":1,"Function":"f\u001b[0m","GPU":-1}}`, `{"Begin":{"ID":1}}`, `{"System":{"Found":{"a":[7,-1.5e3,"\u001b[0m"]},"Lines":["","no colon","a: b: \u001b[0mc"]}}`} {
		events <- apart.Event{Note: []byte(note)}
	}
	close(events)
	f := Examine(events, Options{Demo: true, Timeout: time.Minute})
	if f.OK || len(f.Calls) != 1 || strings.Contains(fmt.Sprint(f.Calls), "\x1b") {
		t.Errorf("%+v", f)
	}
	if b := string(f.Append(nil)); strings.Contains(b, "\x1b") || !strings.Contains(b, `"windows":{"a":[7,-1.5e3,"`) {
		t.Errorf("%s", b)
	}
	if text := string(f.AppendText(nil, TextOptions{})); strings.Contains(text, "\x1b") {
		t.Errorf("%s", text)
	}
}

// TestItEndsInTime, though nothing comes.
func TestItEndsInTime(t *testing.T) {
	f := Examine(make(chan apart.Event), Options{Root: t.TempDir(), Timeout: 50 * time.Millisecond, Lookup: func(string) (string, bool) { return "", false }})
	if f.OK || len(f.Problems) == 0 || f.Problems[0].Code != "no_answer" {
		t.Errorf("%+v", f.Problems)
	}
}
