package tegra_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// rails are what the power rails of orin-agx-jetpack6 say, in mW.
func rails() map[string]string {
	return map[string]string{"VDD_GPU_SOC": "2395.2", "VDD_CPU_CV": "798.08", "VIN_SYS_5V0": "3617.28", "VDDQ_VDD2_1V8AO": "998.8"}
}

const (
	ina0 = "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040"
	ina1 = "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0041"
)

// wantRails checks the rails of a module as they are read now.
func wantRails(t *testing.T, p monitor.Platform, want map[string]string) {
	t.Helper()
	if got := parts(t, p, monitor.Rail); !maps.Equal(got, want) {
		t.Errorf("rails %v, want %v", got, want)
	}
}

// TestRailsMove: the numbers of hwmon are not the same for ever. Whatever changes,
// no rail has the value of another, and each is found again at once.
func TestRailsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := fixture.Machine(t, "orin-agx-jetpack6")
		m := module(root)
		next := func() monitor.Platform {
			time.Sleep(between)
			return m.Platform()
		}
		wantRails(t, m.Platform(), rails())
		for range 6 { // and round
			fixture.Renumber(t, root)
			p := next()
			wantRails(t, p, rails())
			if got := parts(t, p, monitor.OverCurrent); len(got) != 3 {
				t.Errorf("over-currents %v", got)
			}
		}

		// The driver of one chip is unloaded, and loaded again.
		fixture.Move(t, root, ina0+"/hwmon", "gone")
		wantRails(t, next(), map[string]string{"VDDQ_VDD2_1V8AO": "998.8"})
		fixture.Move(t, root, "gone", ina0+"/hwmon")
		time.Sleep(5 * second)
		wantRails(t, next(), rails())

		// The other chip takes its number, with other rails under the same files.
		fixture.Move(t, root, ina0+"/hwmon/hwmon3", "a")
		fixture.Move(t, root, ina1+"/hwmon/hwmon4", "b")
		fixture.Move(t, root, "b", ina0+"/hwmon/hwmon3")
		fixture.Move(t, root, "a", ina1+"/hwmon/hwmon4")
		wantRails(t, next(), rails())

		// A label changes, goes, and comes back; so does a value.
		const rail = ina1 + "/hwmon/hwmon4/"
		fixture.Write(t, root, rail+"in1_label", "VDD_OTHER\n")
		changed := rails()
		delete(changed, "VDD_GPU_SOC")
		changed["VDD_OTHER"] = "2395.2"
		wantRails(t, next(), changed)
		fixture.Write(t, root, rail+"in1_label", "NC\n")
		delete(changed, "VDD_OTHER")
		wantRails(t, next(), changed)
		fixture.Write(t, root, rail+"in1_label", "VDD_GPU_SOC\n")
		fixture.Move(t, root, rail+"curr1_input", "current")
		time.Sleep(5 * second)
		wantRails(t, next(), changed) // a channel without a current is no rail
		fixture.Move(t, root, "current", rail+"curr1_input")
		time.Sleep(5 * second)
		wantRails(t, next(), rails())
		fixture.Move(t, root, rail+"in1_input", "voltage")
		changed["VDD_GPU_SOC"] = "not_supported"
		wantRails(t, next(), changed)
	})
}

// TestRailsComeLate: what is loaded after the program has begun is found.
func TestRailsComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := fixture.Machine(t, "orin-agx-jetpack6")
		for from, to := range map[string]string{"sys/class/hwmon": "a", "sys/bus/i2c": "b"} {
			fixture.Move(t, root, from, to)
		}
		m := module(root)
		wantRails(t, m.Platform(), map[string]string{})
		if p := m.Platform(); value(p.Power()) != "not_supported" {
			t.Errorf("a power of %s", value(p.Power()))
		}
		for from, to := range map[string]string{"a": "sys/class/hwmon", "b": "sys/bus/i2c"} {
			fixture.Move(t, root, from, to)
		}
		time.Sleep(5 * second)
		wantRails(t, m.Platform(), rails())
	})
}

// TestRailsRead: what the numbers of a rail may look like, and what shows then.
func TestRailsRead(t *testing.T) {
	const dir = ina0 + "/hwmon/hwmon3/"
	root := fixture.Machine(t, "orin-agx-jetpack6")
	for name, tt := range map[string]struct{ voltage, current, want string }{
		"nothing flows":                  {"19960\n", "0\n", "0"},
		"measured to be below 0":         {"19992\n", "-20\n", "0"},
		"units":                          {"19960 mV\n", "120 ma\n", "2395.2"},
		"no end of the line":             {"19960", "120", "2395.2"},
		"more than there is":             {"32760\n", "32760 ma\n", "1.0732176e+06"},
		"more than there can be":         {"9223372036854775807\n", "120\n", "implausible"},
		"more than a number can be":      {"19960\n", "9223372036854775808\n", "implausible"},
		"two large ones":                 {"9223372036854775807\n", "9223372036854775807\n", "implausible"},
		"empty":                          {"19960\n", "", "not_found"},
		"blank":                          {"19960\n", " \n", "not_found"},
		"a NUL":                          {"19960\n", "\x00", "not_found"},
		"a word":                         {"19960\n", "off\n", "implausible"},
		"no voltage":                     {"off\n", "120\n", "implausible"},
		"a fraction":                     {"19960\n", "120.5\n", "implausible"},
		"an exponent":                    {"19960\n", "1e3\n", "implausible"},
		"a hexadecimal number":           {"19960\n", "0x78\n", "implausible"},
		"digits of another script":       {"19960\n", "١٢٠\n", "implausible"},
		"a word with a number before it": {"19960\n", "120mA\n", "implausible"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fixture.Write(t, root, dir+"in1_input", tt.voltage)
			fixture.Write(t, root, dir+"curr1_input", tt.current)
			if got := parts(t, module(root).Platform(), monitor.Rail)["VDD_GPU_SOC"]; got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		})
	}
}

// TestARailAsleep: a chip that cannot be read now has no value, and one later.
func TestARailAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const current = ina0 + "/hwmon/hwmon3/curr1_input"
		root := fixture.Machine(t, "orin-agx-jetpack6")
		m := module(root)
		fixture.Block(t, root, current)
		want := rails()
		want["VDD_GPU_SOC"] = "asleep"
		p := m.Platform()
		wantRails(t, p, want)
		if got := value(p.Power()); got != "asleep" {
			t.Errorf("a power of %s, of which a part is unknown", got)
		}
		fixture.Write(t, root, current, "120\n")
		time.Sleep(between)
		wantRails(t, m.Platform(), rails())
	})
}

// TestThorRails: the input is measured by another chip in µW, and what is measured
// to be less than nothing is nothing.
func TestThorRails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := fixture.Machine(t, "thor-jetpack7.0")
		m := module(root)
		want := map[string]string{"VDD_GPU": "0", "VDD_CPU_SOC_MSS": "8193.44", "VIN_SYS_5V0": "5041.92", "VIN": "31500"}
		for range 3 {
			p := m.Platform()
			wantRails(t, p, want)
			scopes := ""
			for _, part := range p.Parts {
				if part.Kind == monitor.Rail && part.Scope != "shared" {
					scopes += part.Name + " " + part.Scope + " "
				}
			}
			if scopes != "VDD_GPU gpu VIN input " && scopes != "VIN input VDD_GPU gpu " || value(p.Power()) != "31500" {
				t.Errorf("%s, a power of %s", scopes, value(p.Power()))
			}
			fixture.Renumber(t, root)
			time.Sleep(between)
		}
	})
}

// TestSensorsAreKept: who asks often is told what was read within the last second.
func TestSensorsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const current = ina0 + "/hwmon/hwmon3/curr1_input"
		root := fixture.Machine(t, "orin-agx-jetpack6")
		m := module(root)
		m.Platform()
		fixture.Write(t, root, current, "240\n")
		time.Sleep(second / 2)
		wantRails(t, m.Platform(), rails())
		time.Sleep(second / 2)
		want := rails()
		want["VDD_GPU_SOC"] = "4790.4"
		wantRails(t, m.Platform(), want)
	})
}
