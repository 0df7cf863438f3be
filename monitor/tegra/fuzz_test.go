package tegra

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// put writes a file below a root.
func put(t testing.TB, root host.Root, path, content string) {
	t.Helper()
	name := root.Path(path)
	err := os.WriteFile(name, []byte(content), 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			err = os.WriteFile(name, []byte(content), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzValue looks for files that give a number outside of what it can be, or with
// digits that nobody measured.
func FuzzValue(f *testing.F) {
	for form := range forms {
		for _, content := range []string{"345\n", "-1\n", "-0\n", "0", "32760 ma\n", "9223372036854775807\n", "garbage", "\x00\xff"} {
			f.Add(content, "120\n", uint8(form))
		}
	}
	f.Add("19992", "-20", uint8(microWatt))
	f.Add("9223372036854775807", "-9223372036854775808", uint8(microWatt))
	root := host.Root(f.TempDir())
	f.Fuzz(func(t *testing.T, content, times string, of uint8) {
		put(t, root, "/value", content)
		put(t, root, "/times", times)
		v := value{path: "/value", form: form(int(of) % len(forms))}
		for _, v.times = range []string{"", "/times"} {
			if v.times != "" && forms[v.form].in != monitor.PowerMW {
				break // nobody multiplies others
			}
			r := v.read(root)
			n, ok := r.Float()
			in := forms[v.form].in.Range()
			switch {
			case !ok && r.Reason == monitor.NotSampled:
				t.Errorf("%+v has no reason", v)
			case !ok:
			case n < in.Low || n > in.High || n == 0 && math.Signbit(n):
				t.Errorf("%+v is %v", v, n)
			case math.Round(n*1e3)/1e3 != n:
				t.Errorf("%+v has too many digits: %v", v, n)
			case v.times == "" && strings.Trim(content, "0123456789+- \t\r\n\x00") == content:
				t.Errorf("%q has no number in it, and is %v", content, n)
			}
		}
	})
}

// FuzzLabels looks for names of chips, rails and zones that give a part without a
// name, or one that is another after its label has changed.
func FuzzLabels(f *testing.F) {
	for _, label := range []string{
		"VDD_GPU_SOC\n", "VIN\n", "NC\n", "VDD_NC\n", "NC-1", "nc\n", " NC \n", "sum of shunt voltages\n", "\n", "\x00", "\xff\xfe\n", "a\nb\n", "GPU-therm\n", "gpu-thermal", "GPU-THERMAL\x00", "gpu-throttle-alert\n", "-throttle-alert",
	} {
		for _, chip := range []string{"ina3221\n", "ina238", "soctherm_oc\n", "pwmfan\n", "", "ina\xff"} {
			f.Add(chip, label)
		}
	}
	root := host.Root(f.TempDir())
	const dir, zone, device = "/sys/class/hwmon/hwmon3/", thermal + "thermal_zone1", thermal + "cooling_device2"
	for _, name := range []string{"in1_input", "curr1_input", "power1_input", "in_voltage0_input", "in_current0_input", "in_power1_input", "oc1_event_cnt"} {
		put(f, root, dir+name, "1000\n")
	}
	put(f, root, device+"/cur_state", "1\n")
	f.Fuzz(func(t *testing.T, chip, label string) {
		labels := []string{dir + "label", dir + "in1_label", dir + "rail_name_0", dir + "rail_name_1", zone + "/type", device + "/type"}
		for _, path := range labels {
			put(t, root, path, label)
		}
		put(t, root, dir+"name", chip)
		all := devices(root)
		if len(all) != 1 {
			t.Fatalf("%d devices", len(all))
		}
		list := appendAlerts(root, appendRails(root, nil, &all[0]))
		for i := range list {
			s := &list[i]
			var p monitor.Part
			if !s.read(root, &p) || p.Name != s.name || p.Name == "" || !utf8.ValidString(p.Name) || !p.Readings[0].Known() {
				t.Errorf("%+v reads as %+v", s, p)
			}
			if s.kind == monitor.Rail && (all[0].chip[:3] != "ina" || p.Name == "NC") {
				t.Errorf("%q is a rail of %q", p.Name, chip)
			}
		}
		gpu := findZone(root)
		if word := strings.ToLower(root.Line(zone + "/type").Value); (gpu == zone) != (word == "gpu-thermal" || word == "gpu-therm") {
			t.Errorf("the zone of the GPU is %q, of type %q", gpu, word)
		}
		for _, path := range append(labels, dir+"name") {
			put(t, root, path, "another\n")
		}
		for i := range list {
			var p monitor.Part
			if s := &list[i]; s.says != "another" && s.read(root, &p) {
				t.Errorf("%+v is still read, as %+v", s, p)
			}
		}
	})
}

// FuzzOnNVGPU looks for names of a SoC or of a node of the device tree that make one
// stack of the other.
func FuzzOnNVGPU(f *testing.F) {
	for _, soc := range []string{"tegra234", "tegra194", "tegra264", "tegra999", "", "TEGRA234", "tegra2", "\xff"} {
		for _, node := range []string{"gpu\x00", "ga10b\x00", "GV11B", "vic\x00", "nvgpu@17000000", "", "\xff\x00"} {
			f.Add(soc, node, false)
			f.Add(soc, node, true)
		}
	}
	root := host.Root(f.TempDir())
	f.Fuzz(func(t *testing.T, soc, node string, thor bool) {
		put(t, root, devfreq+"17000000.x/device/of_node/name", node)
		put(t, root, thorGPU+"/cur_freq", "0\n")
		if !thor {
			if err := os.RemoveAll(root.Path(thorGPU)); err != nil {
				t.Fatal(err)
			}
		}
		c := onNVGPU(root, soc)
		old := soc == "tegra234" || soc == "tegra194" || soc == "tegra186" || soc == "tegra210"
		entry := nodesOf(root).gpu()
		if (c != nil) != (old || !thor && entry != "") {
			t.Errorf("%q, entry %q, that of Thor %v: %+v", soc, entry, thor, c)
		}
		if c != nil && (c.soc != soc || !strings.Contains(c.gpu, "(nvgpu)")) {
			t.Errorf("%q is %+v", soc, c)
		}
		if entry != "" && entry != devfreq+"17000000.x" {
			t.Errorf("the GPU is %q", entry)
		}
	})
}
