package tegra

import (
	"math"
	"strings"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// form is how a number in a file is to be read.
type form uint8

const (
	counter form = iota // a count
	hertz               // a clock in Hz
	tenths              // a load in tenths of a percent
	pulse               // a pulse width in parts of 255
	milliWatt
	microWatt  // also mV by mA
	milliGrade // a temperature in thousandths of a °C
)

var forms = [...]struct {
	scale float64 // 0: it stays as it is
	in    monitor.ReadingID
}{
	counter:    {0, monitor.PCIeReplays},
	hertz:      {1e-6, monitor.ClockGraphicsMHz},
	tenths:     {1e-1, monitor.UtilizationPercent},
	pulse:      {100. / 255, monitor.FanPercent},
	milliWatt:  {1, monitor.PowerMW},
	microWatt:  {1e-3, monitor.PowerMW},
	milliGrade: {1e-3, monitor.TemperatureC},
}

// value is a number in a file, as a reading.
type value struct {
	path  string // "" for what nobody tells
	times string // another file, by whose number it is multiplied; "" for none
	form  form
}

// read reads it; a file that is missing is not_supported.
//
//go:noinline
func (v *value) read(root host.Root) monitor.Reading {
	if v.path == "" {
		return notSupported
	}
	r := root.Number(v.path)
	n, ok := r.Float()
	if ok && v.times != "" {
		var m float64
		r = root.Number(v.times)
		m, ok = r.Float()
		n = max(n, 0) * m // two of less than nothing are not more than it
	}
	if !ok {
		return r
	}
	if f := &forms[v.form]; f.scale == 0 {
		return f.in.Range().Check(r)
	}
	return v.form.reading(n)
}

// reading is a number of that form, which has a scale, as a reading.
func (f form) reading(n float64) monitor.Reading {
	of := &forms[f]
	n *= of.scale
	if of.in == monitor.PowerMW {
		n = max(n, 0) // without a load it may be measured to be less than nothing
	}
	r := of.in.Range().Check(monitor.OfFloat(n))
	if r.Known() { // no digits that nobody measured
		r = monitor.OfFloat(math.Round(n*1e3) / 1e3)
	}
	return r
}

var notSupported = monitor.Unknown(monitor.NotSupported)

// sensor is a part of the module, and where it is read.
type sensor struct {
	kind        monitor.PartKind
	name, scope string
	label, says string // a file, and what it says as long as the part is the same
	values      [3]value
}

// device is a folder of sensors, with the name of its chip. Numbers in such
// folders differ from boot to boot: names and labels tell what is what.
type device struct{ dir, chip string }

// devices lists the sensors that there are: those of hwmon, and of its
// forerunner iio on JetPack 4.
func devices(root host.Root) []device {
	list := within(root, nil, "/sys/class/hwmon/", "hwmon", "")
	const i2c = "/sys/bus/i2c/devices/"
	names, _ := root.Names(i2c)
	for _, name := range names {
		dir := i2c + name + "/"
		list = within(root, list, dir+"hwmon/", "hwmon", dir)
		list = within(root, list, dir, "iio:device", dir)
	}
	return list
}

// within appends those in a folder, which a chip may have of its own.
func within(root host.Root, list []device, folder, prefix, above string) []device {
	names, _ := root.Names(folder)
next:
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		name = "/" + name + "/"
		for i := range list {
			if strings.HasSuffix(list[i].dir, name) { // in both places
				continue next
			}
		}
		dir := folder[:len(folder)-1] + name
		chip := root.Line(dir + "name").Value
		if chip == "" && above != "" {
			chip = root.Line(above + "name").Value
		}
		list = append(list, device{dir, chip})
	}
	return list
}

// channels is how many an INA3221 and its kin have at most, that which adds up
// shunt voltages aside.
const channels = "123456"

// appendRails appends the rails that a device measures, and its counters of
// over-currents.
func appendRails(root host.Root, list []sensor, d *device) []sensor {
	if d.chip == "soctherm_oc" {
		for i := range channels {
			name := "oc" + channels[i:i+1]
			if path := d.dir + name + "_event_cnt"; root.Exists(path) {
				list = append(list, sensor{kind: monitor.OverCurrent, name: name, label: d.dir + "name", says: d.chip, values: [3]value{{path: path}}})
			}
		}
	}
	if !strings.HasPrefix(d.chip, "ina") {
		return list
	}
	add := func(label, path, times string, form form) {
		name := root.Line(d.dir + label).Value
		v := value{path: d.dir + path, form: form}
		last := v.path
		if times != "" {
			v.times = d.dir + times
			last = v.times
		}
		if name != "" && !unconnected(name) && root.Exists(last) {
			list = append(list, sensor{monitor.Rail, name, scopeOf(name), d.dir + label, name, [3]value{v}})
		}
	}
	add("label", "power1_input", "", microWatt) // INA238
	for i := range channels {
		n := channels[i : i+1]
		add("in"+n+"_label", "in"+n+"_input", "curr"+n+"_input", microWatt) // mV, mA
		n = string(channels[i] - 1)
		if root.Exists(d.dir + "in_power" + n + "_input") {
			add("rail_name_"+n, "in_power"+n+"_input", "", milliWatt)
		} else {
			add("rail_name_"+n, "in_voltage"+n+"_input", "in_current"+n+"_input", microWatt)
		}
	}
	return list
}

// unconnected reports whether a label says that nothing is connected.
func unconnected(label string) bool {
	return strings.Contains("_"+strings.ReplaceAll(strings.ReplaceAll(label, " ", "_"), "-", "_")+"_", "_NC_")
}

// scopeOf says what a rail feeds. Those of Orin all feed other things besides
// the GPU.
func scopeOf(label string) string {
	switch label {
	case "VDD_GPU", "GPU", "POM_5V_GPU", "VDD_SYS_GPU":
		return "gpu"
	case "VIN", "VDD_IN", "POM_5V_IN", "5V_IN":
		return "input"
	}
	return "shared"
}

const thermal = "/sys/class/thermal/"

// appendAlerts appends what tells that something is slowed down.
func appendAlerts(root host.Root, list []sensor) []sensor {
	names, _ := root.Names(thermal)
	for _, name := range names {
		label := thermal + name + "/type"
		if !strings.HasPrefix(name, "cooling_device") {
			continue
		}
		if kind := root.Line(label).Value; strings.HasSuffix(kind, monitor.AlertSuffix) {
			list = append(list, sensor{monitor.ThrottleAlert, kind, "", label, kind, [3]value{{path: thermal + name + "/cur_state"}}})
		}
	}
	return list
}

// findZone returns the folder of the thermal zone of the GPU, "" for none.
func findZone(root host.Root) string {
	for _, folder := range [...]string{thermal, "/sys/devices/virtual/thermal/"} {
		names, _ := root.Names(folder)
		for _, name := range names {
			if strings.HasPrefix(name, "thermal_zone") && isGPUZone(root, folder+name) {
				return folder + name
			}
		}
	}
	return ""
}

func isGPUZone(root host.Root, zone string) bool {
	kind := strings.ToLower(root.Line(zone + "/type").Value)
	return kind == "gpu-thermal" || kind == "gpu-therm"
}

// clocks has a folder for each clock, open to root alone.
const clocks = "/sys/kernel/debug/clk/"

// engines are the clocks of engines, and what devfreq calls them.
var engines = []string{
	"nvenc", "nvenc1", "nvdec", "nvdec1", "nvjpg", "nvjpg1", "ofa", "vic",
	"dla0_core", "dla1_core", "pva0_vps", "pva1_vps", "se", "ape",
}

// appendEngines appends the engines. Closed is why those that only clocks show
// are not seen, NotSampled where they are.
func appendEngines(root host.Root, entries nodes, list []sensor) (_ []sensor, closed monitor.Reason) {
	n := len(list)
	_, err := root.Names(clocks)
	for _, name := range engines {
		clock, entry := clocks+name, entries.find(name, "")
		s := sensor{kind: monitor.Engine, name: strings.ToUpper(name)}
		s.values[monitor.EngineOn] = value{path: clock + "/clk_enable_count"}
		switch {
		case err == nil && root.Exists(clock+"/clk_rate"):
			s.values[monitor.EngineClock] = value{path: clock + "/clk_rate", form: hertz}
		case entry != "": // which everybody may read
			s.values[monitor.EngineClock] = value{path: entry + "/cur_freq", form: hertz}
		default:
			continue
		}
		if entry != "" {
			s.values[monitor.EngineLoad] = value{path: entry + "/device/load", form: tenths}
		}
		list = append(list, s)
	}
	if err != nil && len(list) == n {
		closed = host.Failed(clocks, err).Reason
	}
	return list, closed
}

// read reads a part; ok is false where it is not there any more.
func (s *sensor) read(root host.Root, p *monitor.Part) (ok bool) {
	*p = monitor.Part{Kind: s.kind, Name: s.name, Scope: s.scope}
	for i := range s.values {
		p.Readings[i] = s.values[i].read(root)
	}
	// Afterwards, since it may become another between the two.
	if s.label != "" && root.Line(s.label).Value != s.says {
		return false
	}
	if s.kind == monitor.Engine {
		clock := &p.Readings[monitor.EngineClock]
		if clock.Reason == monitor.NotSupported {
			return false
		}
		if on := &p.Readings[monitor.EngineOn]; on.Known() {
			n, _ := on.Float()
			mhz, _ := clock.Float() // some run although nobody enabled them
			*on = monitor.OfFlag(n+mhz > 0)
		}
	}
	return true
}

// fansOf lists the fans: speed, measured, target. A tachometer that is a device
// of its own is that of the first.
func fansOf(root host.Root) (list [][3]value) {
	tachometer := ""
	all := devices(root)
	fan := func(speed, measured, target string) {
		list = append(list, [3]value{{path: speed, form: pulse}, {path: measured}, {path: target, form: pulse}})
	}
	tachometerIn := func(dir string) string {
		for _, name := range [...]string{"fan1_input", "rpm"} {
			if root.Exists(dir + name) {
				return dir + name
			}
		}
		return ""
	}
	for i := range all {
		switch d := &all[i]; {
		case strings.Contains(d.chip, "tach"):
			tachometer = tachometerIn(d.dir)
		case strings.Contains(d.chip, "fan") && root.Exists(d.dir+"pwm1"):
			fan(d.dir+"pwm1", tachometerIn(d.dir), "")
		}
	}
	if old := "/sys/devices/pwm-fan/"; list == nil && root.Exists(old+"cur_pwm") { // JetPack 4
		fan(old+"cur_pwm", old+"rpm_measured", old+"target_pwm")
	}
	if list != nil && list[0][1].path == "" {
		list[0][1].path = tachometer
	}
	return list
}
