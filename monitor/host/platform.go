package host

import (
	"runtime"
	"strconv"
	"strings"

	"nvtop-lite/monitor"
)

// The kinds of machine.
const (
	Server  = "server" // any machine with a card in it, a PC too
	Jetson  = "jetson"
	Spark   = "spark" // DGX Spark and other machines with a GB10
	Grace   = "grace" // GH200, GB200 and the like
	WSL     = "wsl"
	Unclear = "unknown"
)

// jetPacks gives the JetPack release of an L4T version.
var jetPacks = map[string]string{
	"39.2.0": "7.2", "39.0.0": "7.2 EA",
	"38.4.0": "7.1",
	"38.2.0": "7.0", "38.2.1": "7.0", "38.2.2": "7.0",
	"36.5.0": "6.2.2",
	"36.4.4": "6.2.1", "36.4.7": "6.2.1",
	"36.4.3": "6.2", "36.4.0": "6.1", "36.3.0": "6.0",
	"35.6.4": "5.1.6",
	"35.6.1": "5.1.5", "35.6.2": "5.1.5", "35.6.3": "5.1.5",
	"35.5.0": "5.1.3", "35.4.1": "5.1.2",
	"32.7.6": "4.6.6",
}

// Platform returns what kind of machine this is, as it was when it was first
// asked. What only a Jetson has is not_supported elsewhere. What is measured of
// one is not read here.
func (r *Reader) Platform() monitor.Platform {
	if r.platform == nil {
		p := r.readPlatform()
		r.platform = &p
	}
	return *r.platform
}

func (r *Reader) readPlatform() monitor.Platform {
	none := monitor.UnknownText(monitor.NotSupported)
	p := monitor.Platform{
		Kind: Unclear, Model: none, SoC: none, L4T: none, JetPack: none, PowerMode: none,
		Governor: none, EMCMHz: monitor.Unknown(monitor.NotSupported), EMCPercent: monitor.Unknown(monitor.NotSupported),
	}
	if !r.root.Files() {
		if runtime.GOOS == "windows" {
			p.Kind = Server
		}
		p.Model = nativeModel()
		return p
	}
	if soc := r.root.tegra(); soc != "" {
		p.Kind = Jetson
		p.SoC = monitor.OfText(soc)
		r.root.jetson(&p)
		return p
	}
	kernel := r.root.Line("/proc/sys/kernel/osrelease")
	if r.root.Exists("/dev/dxg") || strings.Contains(strings.ToLower(kernel.Value), "microsoft") {
		p.Kind = WSL
		return p
	}
	p.Model = r.root.dmi("product_name")
	names := p.Model.Value + " " + r.root.dmi("product_family").Value
	switch {
	case isSpark(names):
		p.Kind = Spark
	case isGrace(names), r.root.Line("/sys/bus/soc/devices/soc0/soc_id").Value == graceSoC:
		p.Kind = Grace
	case p.Model.Known(), kernel.Known(), r.root.Exists("/proc/stat"), r.root.Exists("/proc/meminfo"):
		p.Kind = Server
	}
	if !p.Model.Known() {
		if m := r.root.deviceTree("model"); m != "" { // an arm64 board without DMI
			p.Model = monitor.OfText(m)
		}
	}
	return p
}

// graceSoC is what firmware calls the Grace CPU: NVIDIA's JEDEC code and T241.
const graceSoC = "jep106:036b:0241"

// isSpark knows DGX Spark and those of its kin that say so in their names.
func isSpark(names string) bool {
	return containsAny(names, "DGX SPARK", "GB10", "ASCENT GX10", "THINKSTATION PGX", "ZGX NANO")
}

func isGrace(names string) bool { return containsAny(names, "GRACE", "GH200", "GB200", "GB300") }

// containsAny looks for words without regard to case; _ and - count as blanks.
func containsAny(s string, words ...string) bool {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToUpper(s), "_", " "), "-", " ")
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// dmi returns a name from the firmware, unless it is one that the maker of the
// board forgot to fill in.
func (r Root) dmi(file string) monitor.Text {
	t := r.Line("/sys/class/dmi/id/" + file)
	switch strings.ToLower(strings.TrimRight(t.Value, ". ")) {
	case "to be filled by o.e.m", "default string", "system product name", "system name", "not specified", "not applicable", "none", "n/a", "unknown", "o.e.m":
		return monitor.UnknownText(monitor.NotFound)
	}
	return t
}

// deviceTree returns a file of the device tree without its NULs, "" where there
// is none. /proc/device-tree is a link that a fake root may lack.
func (r Root) deviceTree(file string) string { return cleanLine(r.deviceTreeBytes(file)) }

func (r Root) deviceTreeBytes(file string) []byte {
	for _, dir := range []string{"/proc/device-tree/", "/sys/firmware/devicetree/base/"} {
		if data, err := r.ReadFile(dir+file, maxLine); err == nil && len(data) > 0 {
			return data
		}
	}
	return nil
}

// socs are the SoCs that a Jetson can have, by the chip id that the kernel gives
// in decimal.
var socs = [...]struct{ id, name string }{
	{"24", "tegra186"}, {"25", "tegra194"}, {"33", "tegra210"}, {"35", "tegra234"}, {"38", "tegra264"},
}

// tegra returns the SoC of a Jetson, "" where this is none.
func (r Root) tegra() string {
	if soc := parseCompatible(r.deviceTreeBytes("compatible")); soc != "" {
		return soc
	}
	// Docker hides the device tree.
	if r.Line(soc0+"family").Value != "Tegra" {
		return ""
	}
	id := r.Line(soc0 + "soc_id").Value
	for _, s := range socs {
		if s.id == id {
			return s.name
		}
	}
	return "tegra"
}

const soc0 = "/sys/devices/soc0/"

// jetson fills in what only a Jetson has.
func (r Root) jetson(p *monitor.Platform) {
	if m := r.deviceTree("model"); m != "" {
		p.Model = monitor.OfText(m)
	} else {
		p.Model = r.Line(soc0 + "machine")
	}
	if data, err := r.ReadFile("/etc/nv_tegra_release", maxLine); err != nil {
		p.L4T = monitor.UnknownText(reasonHere(err))
		p.JetPack = p.L4T
	} else if v := parseRelease(data); v != "" {
		p.L4T = monitor.OfText(v)
		p.JetPack = monitor.UnknownText(monitor.NotFound) // newer than our table
		if jp, ok := jetPacks[v]; ok {
			p.JetPack = monitor.OfText(jp)
		}
	} else {
		p.L4T = monitor.UnknownText(monitor.Implausible)
		p.JetPack = p.L4T
	}
	p.PowerMode = r.powerMode()
}

func (r Root) powerMode() monitor.Text {
	data, err := r.ReadFile("/var/lib/nvpmodel/status", maxLine)
	if err != nil {
		return monitor.Text{Reason: reasonHere(err), Err: callError("/var/lib/nvpmodel/status", err)}
	}
	id, ok := parsePowerMode(data)
	if !ok {
		return monitor.UnknownText(monitor.Implausible)
	}
	// Without the list of names the number is still worth showing.
	if data, err := r.ReadFile("/etc/nvpmodel.conf", 1<<20); err == nil {
		if name := parsePowerModeName(data, id); name != "" {
			return monitor.OfText(name)
		}
	}
	return monitor.OfText("mode " + strconv.Itoa(id))
}
