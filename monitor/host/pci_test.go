package host

import (
	"runtime"
	"slices"
	"testing"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// pciTree is fixture.Tree. Windows has no such names.
func pciTree(t *testing.T, files map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("file names with a colon")
	}
	return fixture.Tree(t, files)
}

func TestGPUsOfTheDriver(t *testing.T) {
	if list := DriverGPUs(t.TempDir()); list != nil {
		t.Errorf("without a driver: %v", list)
	}
	bus := map[string]string{
		"sys/bus/pci/drivers/nvidia/0000:c1:00.0/vendor":  "0x10de\n",
		"sys/bus/pci/drivers/nvidia/0000:01:00.0/vendor":  "0x10de\n",
		"sys/bus/pci/drivers/nvidia/10000:01:00.0/vendor": "0x10de\n",
		"sys/bus/pci/drivers/nvidia/module/x":             "",
		"sys/bus/pci/drivers/nvidia/new_id":               "",
	}
	if list, want := DriverGPUs(pciTree(t, bus)), []string{"0000:01:00.0", "0000:c1:00.0", "10000:01:00.0"}; !slices.Equal(list, want) {
		t.Errorf("on the bus: %v, want %v", list, want)
	}
	bus["proc/driver/nvidia/gpus/0000:c1:00.0/information"] = ""
	if list, want := DriverGPUs(pciTree(t, bus)), []string{"0000:c1:00.0"}; !slices.Equal(list, want) {
		t.Errorf("in a container: %v, want %v", list, want)
	}
}

func TestPCIAddress(t *testing.T) {
	for id, want := range map[string]string{
		"00000000:01:00.0": "0000:01:00.0", "0000000F:C1:1F.0": "000f:c1:1f.0", "00010000:01:00.0": "10000:01:00.0",
		"": "", "x": "", "0000:01:00": "", "0000:01:00.0/..": "", "0000:../.": "",
	} {
		if got := PCIAddress(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		} else if want != "" && BusID(got) != id {
			t.Errorf("%q is %q again, want %q", got, BusID(got), id)
		}
	}
}

func TestSleep(t *testing.T) {
	const dev, gpu = "sys/bus/pci/devices/0000:01:00.0/power/", "proc/driver/nvidia/gpus/0000:01:00.0/"
	for name, c := range map[string]struct {
		files          map[string]string
		can, suspended bool
	}{
		"no files":                {nil, false, false},
		"a server":                {map[string]string{dev + "control": "on\n", dev + "runtime_status": "active\n"}, false, false},
		"a laptop":                {map[string]string{dev + "control": "auto\n", dev + "runtime_status": "suspended\n"}, true, true},
		"falling asleep":          {map[string]string{dev + "control": "auto\n", dev + "runtime_status": "suspending\n"}, true, true},
		"waking up":               {map[string]string{dev + "control": "auto\n", dev + "runtime_status": "resuming\n"}, true, false},
		"the driver can":          {map[string]string{dev + "control": "auto\n", gpu + "power": "Runtime D3 status:          Enabled (fine-grained)\nVideo Memory:               Off\n"}, true, false},
		"the driver cannot":       {map[string]string{dev + "control": "auto\n", gpu + "power": "Runtime D3 status:          Not supported\n"}, false, false},
		"the driver may not":      {map[string]string{dev + "control": "auto\n", gpu + "power": "Runtime D3 status:          Disabled by default\n"}, false, false},
		"the driver says no word": {map[string]string{dev + "control": "auto\n", gpu + "power": "\x00\xff"}, true, false},
	} {
		root := pciTree(t, c.files)
		if can, s := CanSleep(root, "0000:01:00.0"), Suspended(root, "0000:01:00.0"); can != c.can || s != c.suspended {
			t.Errorf("%s: can sleep %v, suspended %v", name, can, s)
		}
	}
}

func TestGPUInformation(t *testing.T) {
	const path = "proc/driver/nvidia/gpus/0000:01:00.0/information"
	for text, want := range map[string][2]string{
		"": {}, "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-????????????\n": {},
		"Model: \t\t NVIDIA GeForce RTX 3060 Laptop GPU\nIRQ:   \t\t 142\nGPU UUID: \t GPU-5ca1ab1e-fa4e-4d1a-9c3b-000000000000\nBus Location: \t 0000:01:00.0\n": {
			"NVIDIA GeForce RTX 3060 Laptop GPU", "GPU-5ca1ab1e-fa4e-4d1a-9c3b-000000000000",
		},
	} {
		name, uuid := GPUInformation(pciTree(t, map[string]string{path: text}), "0000:01:00.0")
		if name.Value != want[0] || uuid.Value != want[1] || name.Known() != (want[0] != "") || uuid.Known() != (want[1] != "") {
			t.Errorf("%q: %+v, %+v", text, name, uuid)
		}
	}
	if name, uuid := GPUInformation(t.TempDir(), "0000:01:00.0"); name.Reason != monitor.NotFound || uuid.Reason != monitor.NotFound {
		t.Errorf("no file: %+v, %+v", name, uuid)
	}
}

func TestContainer(t *testing.T) {
	for path, want := range map[string]bool{
		".dockerenv": true, "run/.containerenv": true, "var/run/secrets/kubernetes.io/x": true, "proc/stat": false,
	} {
		if got := Container(pciTree(t, map[string]string{path: ""})); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if Container(pciTree(t, map[string]string{".dockerenv": "", "dev/dxg": ""})) {
		t.Error("WSL counts as a container")
	}
}

// FuzzGPUInformation: whatever the files say, a text is one line that was there.
func FuzzGPUInformation(f *testing.F) {
	f.Add([]byte("Model: \t\t NVIDIA X\nGPU UUID: \t GPU-1\n"))
	f.Add([]byte("Model:\xff\x00\nGPU UUID: GPU-??"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, key := range []string{"Model", "GPU UUID", "Runtime D3 status"} {
			if v := valueOf(data, key); cleanLine([]byte(v)) != v {
				t.Errorf("%q", v)
			}
		}
		if a := PCIAddress(string(data)); a != "" && PCIAddress(BusID(a)) != a {
			t.Errorf("%q", a)
		}
	})
}
