package diff

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nvtop-lite/monitor"
)

// value is what stands on one side.
type value struct {
	v    any    // float64, int64, bool, string or []string; nil where it is unknown
	why  string // why it is unknown
	from monitor.Provenance
}

// change is something that has a value on either side.
type change struct {
	key, label string
	unit       string // as ReadingInfo.Unit; "on" and "yes" of flags
	old, new   value
	counts     bool   // it only ever counts up
	delta      any    // float64 or int64, nil where there is none
	noDelta    string // why there is none, "" where there is no such thing
}

// differs reports whether the two sides differ.
func (c *change) differs() bool {
	a, b := &c.old, &c.new
	if a.why != b.why || a.from != b.from {
		return true
	}
	if x, ok := a.v.([]string); ok {
		y, ok := b.v.([]string)
		return !ok || !slices.Equal(x, y)
	}
	_, list := b.v.([]string)
	return list || a.v != b.v
}

// valueOf returns r as a value of the kind of id's.
func valueOf(r monitor.Reading, kind monitor.Kind, id monitor.ReadingID) value {
	if !r.Known() {
		return value{why: r.Reason.String()}
	}
	v := value{from: r.Provenance}
	bits, _ := r.Bits()
	switch kind {
	case monitor.Flag:
		v.v, _ = r.Flag()
	case monitor.Word:
		v.v = id.WordOf(bits)
	case monitor.Mask:
		v.v = id.AppendWords([]string{}, bits)
	case monitor.Integer:
		v.v, _ = r.Int()
	default:
		v.v, _ = r.Float()
	}
	return v
}

func ofText(t *monitor.Text) value {
	if t.Known() {
		return value{v: t.Value}
	}
	return value{why: t.Reason.String()}
}

// number returns a number that is not measured but is a name, None for unknown.
func number(v int) value {
	if v < 0 {
		return value{why: monitor.NotFound.String()}
	}
	return value{v: int64(v)}
}

// numbers returns a change of integers with its difference.
func numbers(key, label, unit string, old, new monitor.Reading) change {
	c := change{key: key, label: label, unit: unit, old: valueOf(old, monitor.Integer, 0), new: valueOf(new, monitor.Integer, 0)}
	c.subtract()
	return c
}

// subtract fills in the difference, where the values are numbers.
func (c *change) subtract() {
	switch {
	case c.old.why != "":
		c.noDelta = c.old.why
		return
	case c.new.why != "":
		c.noDelta = c.new.why
		return
	}
	switch a := c.old.v.(type) {
	case int64:
		b := c.new.v.(int64)
		if n := b - a; (n > 0) == (b > a) {
			c.delta = n
		} else {
			c.delta = float64(b) - float64(a)
		}
	case float64:
		n := c.new.v.(float64) - a
		switch {
		case math.IsInf(n, 0):
			c.noDelta = monitor.Implausible.String()
		case math.Abs(n) < 1e6:
			c.delta = math.Round(n*1e9) / 1e9 // 5.7 less 5.4 is 0.3
		default:
			c.delta = n
		}
	}
}

// sign returns whether the value rose or fell: 1, -1, or 0.
func (c *change) sign() int {
	switch n := c.delta.(type) {
	case int64:
		return int(min(max(n, -1), 1))
	case float64:
		switch {
		case n > 0:
			return 1
		case n < 0:
			return -1
		}
	}
	return 0
}

// measured returns a reading of g as it counts where nothing can be measured
// because of fate.
func measured(g *monitor.GPU, id monitor.ReadingID, fate monitor.Reason) monitor.Reading {
	if fate != monitor.Known && id != monitor.Minor {
		return monitor.Unknown(fate)
	}
	return g.Readings[id]
}

// changes are those that differ.
type changes []change

func (l *changes) add(c *change) {
	if c.differs() {
		*l = append(*l, *c)
	}
}

// text adds a text, word anything that has no difference in numbers.
func (l *changes) text(key, label string, old, new *monitor.Text) {
	l.word(key, label, "", ofText(old), ofText(new))
}

func (l *changes) word(key, label, unit string, old, new value) {
	l.add(&change{key: key, label: label, unit: unit, old: old, new: new})
}

// name adds a text that is always known, flag a flag, and id a number that is a
// name, None for unknown.
func (l *changes) name(key, label, old, new string) {
	l.word(key, label, "", value{v: old}, value{v: new})
}

func (l *changes) flag(key, label string, old, new bool) {
	l.word(key, label, "yes", value{v: old}, value{v: new})
}

func (l *changes) id(key, label string, old, new int) {
	l.word(key, label, "", number(old), number(new))
}

// reading adds a reading that is none of a GPU's.
func (l *changes) reading(key, label, unit string, kind monitor.Kind, old, new monitor.Reading) {
	c := change{key: key, label: label, unit: unit, old: valueOf(old, kind, 0), new: valueOf(new, kind, 0)}
	c.subtract()
	l.add(&c)
}

// What does not change by itself, and what only ever counts up; all else is
// load. Of the counters some begin anew when the driver is loaded.
var (
	settings = monitor.Of(monitor.Minor, monitor.MemoryTotalBytes, monitor.MemoryReservedBytes, monitor.TemperatureSlowdownC,
		monitor.PowerLimitMW, monitor.PowerLimitDefaultMW, monitor.ClockGraphicsMaxMHz, monitor.ClockMemoryMaxMHz,
		monitor.PersistenceMode, monitor.ComputeMode, monitor.PCIeGenerationMax, monitor.PCIeWidth, monitor.PCIeWidthMax,
		monitor.NVLinkLinksActive, monitor.FabricState, monitor.ECCEnabled, monitor.ECCPending, monitor.RetiredPagesPending,
		monitor.RowsRemapPending, monitor.RowsRemapFailed, monitor.RecoveryAction, monitor.MIGEnabled)
	lasting = monitor.Of(monitor.ECCUncorrectedAggregate, monitor.ECCCorrectedAggregate, monitor.RetiredPages, monitor.RowsRemapped)
	passing = monitor.Of(monitor.ECCUncorrectedVolatile, monitor.ECCCorrectedVolatile, monitor.PCIeReplays,
		monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries, monitor.EnergyJoules)
)

// labelOf names a reading. Some labels would not be understood here: an arrow
// stands for a change.
func labelOf(id monitor.ReadingID) string {
	switch id {
	case monitor.PCIeRxBytesPerSecond:
		return "PCIe to GPU"
	case monitor.PCIeTxBytesPerSecond:
		return "PCIe from GPU"
	case monitor.NVLinkRxBytesPerSecond:
		return "NVLink to GPU"
	case monitor.NVLinkTxBytesPerSecond:
		return "NVLink from GPU"
	case monitor.MIGEnabled:
		return "MIG mode"
	}
	return id.Info().Label
}

// readings compares the identity and the readings of a GPU.
func (d *Diff) readings(g *gpu) {
	var facts, counters, loads changes
	a, b := g.old, g.new
	facts.id("index", "index", a.Index, b.Index)
	facts.text("pci_bus_id", "PCI bus id", &a.PCIBusID, &b.PCIBusID)
	facts.text("name", "name", &a.Name, &b.Name)
	facts.text("architecture", "architecture", &a.Architecture, &b.Architecture)
	facts.text("serial", "serial", &a.Serial, &b.Serial)
	if a.DriverModel != "" && b.DriverModel != "" {
		facts.name("driver_model", "driver model", a.DriverModel, b.DriverModel)
	}
	facts.flag("integrated", "integrated", a.Integrated, b.Integrated)
	facts.flag("memory_unified", "unified memory", a.MemoryUnified, b.MemoryUnified)
	if a.Instance() || b.Instance() {
		facts.id("gpu_instance_id", "GPU instance", a.GPUInstanceID, b.GPUInstanceID)
		facts.id("compute_instance_id", "compute instance", a.ComputeInstanceID, b.ComputeInstanceID)
		facts.name("profile", "profile", a.Profile, b.Profile)
	}
	for id := monitor.Minor; id < monitor.NumReadings; id++ {
		if id == monitor.MemoryUsedBytes || id == monitor.MemoryFreeBytes {
			continue // stand with what the processes use
		}
		info := id.Info()
		c := change{key: info.Key, label: labelOf(id), unit: info.Unit,
			old: valueOf(measured(a, id, g.oldFate), info.Kind, id), new: valueOf(measured(b, id, g.newFate), info.Kind, id)}
		switch {
		case info.Kind == monitor.Flag:
			c.unit = "yes"
			if id == monitor.PersistenceMode || id == monitor.ECCEnabled || id == monitor.MIGEnabled {
				c.unit = "on"
			}
		case id != monitor.Minor && (info.Kind == monitor.Number || info.Kind == monitor.Integer):
			c.subtract()
		}
		to := &loads
		switch {
		case settings.Has(id):
			to = &facts
		case lasting.Has(id), passing.Has(id):
			c.counts, to = true, &counters
			switch {
			case passing.Has(id) && d.restarted(&c):
				c.delta, c.noDelta = nil, counterRestarted
			case d.elapsed < 0 && c.delta != nil:
				c.delta, c.noDelta = nil, newIsOlder
			}
		}
		to.add(&c)
	}
	if a.FansStatus.Reason == monitor.Known || b.FansStatus.Reason == monitor.Known {
		fans(&loads, g)
	}
	g.settings, g.counters, g.loads = facts, counters, loads
}

// restarted reports whether a counter began anew between the two: the machine
// was booted, or it went back.
func (d *Diff) restarted(c *change) bool {
	if c.delta == nil {
		return false
	}
	if d.elapsed < 0 {
		return d.boots == otherBoot || c.sign() > 0
	}
	return d.boots == otherBoot || c.sign() < 0
}

// fans compares the fans of a GPU by index.
func fans(loads *changes, g *gpu) {
	find := func(in *monitor.GPU, fate monitor.Reason, index int) monitor.Fan {
		why := or(or(fate, in.FansStatus.Reason), monitor.NotFound)
		if why == monitor.NotFound {
			for _, f := range in.Fans {
				if f.Index == index {
					return f
				}
			}
		}
		none := monitor.Unknown(why)
		return monitor.Fan{Percent: none, RPM: none, TargetPercent: none}
	}
	done := map[int]bool{}
	for _, list := range [...][]monitor.Fan{g.old.Fans, g.new.Fans} {
		for _, f := range list {
			if done[f.Index] {
				continue
			}
			done[f.Index] = true
			a, b := find(g.old, g.oldFate, f.Index), find(g.new, g.newFate, f.Index)
			key, label := fmt.Sprintf("fans[%d].", f.Index), fmt.Sprintf("fan %d", f.Index)
			loads.reading(key+"percent", label, "%", monitor.Number, a.Percent, b.Percent)
			loads.reading(key+"rpm", label, "rpm", monitor.Number, a.RPM, b.RPM)
			loads.reading(key+"target_percent", label+" target", "%", monitor.Number, a.TargetPercent, b.TargetPercent)
		}
	}
}

func hostChanges(a, b *monitor.Host) (l changes) {
	l.text("hostname", "host name", &a.Hostname, &b.Hostname)
	l.name("os", "system", a.OS, b.OS)
	l.name("arch", "processor", a.Arch, b.Arch)
	l.text("boot_id", "boot id", &a.BootID, &b.BootID)
	l.reading("cpu_percent", "CPU", "%", monitor.Number, a.CPUPercent, b.CPUPercent)
	l.reading("memory_total_bytes", "memory total", "bytes", monitor.Integer, a.MemoryTotalBytes, b.MemoryTotalBytes)
	l.reading("memory_available_bytes", "memory available", "bytes", monitor.Integer, a.MemoryAvailableBytes, b.MemoryAvailableBytes)
	l.reading("hugepages_total_bytes", "huge pages total", "bytes", monitor.Integer, a.HugePagesTotalBytes, b.HugePagesTotalBytes)
	l.reading("hugepages_free_bytes", "huge pages free", "bytes", monitor.Integer, a.HugePagesFreeBytes, b.HugePagesFreeBytes)
	return l
}

func driverChanges(a, b *monitor.Driver) (l changes) {
	l.text("version", "version", &a.Version, &b.Version)
	l.text("cuda_version", "CUDA", &a.CUDAVersion, &b.CUDAVersion)
	l.text("nvml_version", "NVML", &a.NVMLVersion, &b.NVMLVersion)
	l.text("library", "library", &a.Library, &b.Library)
	return l
}

func platformChanges(a, b *monitor.Platform) (l changes) {
	l.name("kind", "kind", a.Kind, b.Kind)
	l.text("model", "model", &a.Model, &b.Model)
	l.text("soc", "SoC", &a.SoC, &b.SoC)
	l.text("l4t", "L4T", &a.L4T, &b.L4T)
	l.text("jetpack", "JetPack", &a.JetPack, &b.JetPack)
	l.text("power_mode", "power mode", &a.PowerMode, &b.PowerMode)
	l.text("gpu_governor", "GPU governor", &a.Governor, &b.Governor)
	for kind := range monitor.NumPartKinds {
		for i, r := range kind.Info().Readings {
			l.named(kind.Info().Key+"[", "]."+r.Key, r, partsOf(a, kind, i), partsOf(b, kind, i))
		}
	}
	l.reading("emc_mhz", "memory controller", "MHz", monitor.Number, a.EMCMHz, b.EMCMHz)
	l.reading("emc_percent", "memory controller load", "%", monitor.Number, a.EMCPercent, b.EMCPercent)
	return l
}

// named is a reading of a list that has a name there.
type named struct {
	name    string
	reading monitor.Reading
}

// partsOf are the readings number i of the parts of a kind.
func partsOf(p *monitor.Platform, kind monitor.PartKind, i int) (list []named) {
	for j := range p.Parts {
		if part := &p.Parts[j]; part.Kind == kind {
			list = append(list, named{part.Name, part.Readings[i]})
		}
	}
	return list
}

// named compares lists by name, of which the first in each counts; before and
// after make its key.
func (l *changes) named(before, after string, r monitor.PartReading, old, new []named) {
	find := func(list []named, name string) monitor.Reading {
		for i := range list {
			if list[i].name == name {
				return list[i].reading
			}
		}
		return monitor.Unknown(monitor.NotFound)
	}
	done := map[string]bool{}
	for _, list := range [...][]named{old, new} {
		for i := range list {
			if name := list[i].name; !done[name] {
				done[name] = true
				l.reading(before+name+after, name, r.Unit, r.Kind, find(old, name), find(new, name))
			}
		}
	}
}

// finding is something wrong with a GPU that came, went or is told otherwise.
type finding struct {
	old, new *monitor.Health // nil where there was none
	why      string          // why the side without one cannot tell whether it is so
}

// shownBy are the readings that findings come of.
var shownBy = map[string]monitor.ReadingID{
	"recovery_action":  monitor.RecoveryAction,
	"ecc_uncorrected":  monitor.ECCUncorrectedVolatile,
	"remap_failed":     monitor.RowsRemapFailed,
	"throttle_thermal": monitor.ThrottleReasons,
	"throttle_brake":   monitor.ThrottleReasons,
	"throttle_power":   monitor.ThrottleReasons,
	"temperature":      monitor.TemperatureC,
	"pcie_width":       monitor.PCIeWidth,
	"pcie_generation":  monitor.PCIeGeneration,
	"ecc_pending":      monitor.ECCPending,
	"retired_pending":  monitor.RetiredPagesPending,
	"remap_pending":    monitor.RowsRemapPending,
	"fabric":           monitor.FabricState,
	"nvlink_errors":    monitor.NVLinkErrors,
	"persistence_off":  monitor.PersistenceMode,
}

// blind returns why g could not have told of code, "" where it could.
func blind(code string, g *monitor.GPU, fate monitor.Reason) string {
	if code == "xid" {
		return g.XIDsStatus.Reason.String()
	}
	if id, ok := shownBy[code]; ok {
		return measured(g, id, fate).Reason.String()
	}
	return ""
}

// findings compares what is wrong.
func findings(g *gpu) (list []finding) {
	used := make([]bool, len(g.old.Health))
	find := func(same func(a *monitor.Health) bool) *monitor.Health {
		for i := range g.old.Health {
			if !used[i] && same(&g.old.Health[i]) {
				used[i] = true
				return &g.old.Health[i]
			}
		}
		return nil
	}
	var left []*monitor.Health
	for i := range g.new.Health {
		b := &g.new.Health[i]
		if find(func(a *monitor.Health) bool { return *a == *b }) == nil {
			left = append(left, b)
		}
	}
	for _, b := range left {
		a := find(func(a *monitor.Health) bool {
			// There is one Xid finding for each number; how often is told in brackets.
			return a.Code == b.Code && (a.Code != "xid" || head(a.Text) == head(b.Text))
		})
		f := finding{old: a, new: b}
		if a == nil {
			f.why = blind(b.Code, g.old, g.oldFate)
		}
		list = append(list, f)
	}
	for i := range g.old.Health {
		if a := &g.old.Health[i]; !used[i] {
			list = append(list, finding{old: a, why: blind(a.Code, g.new, g.newFate)})
		}
	}
	return list
}

// head returns what stands before a bracket.
func head(text string) string {
	for i := range text {
		if text[i] == '(' {
			return text[:i]
		}
	}
	return text + " "
}

// sameXID is how far apart in time an Xid error may stand on both sides: an
// event and the kernel's log do not tell the same time.
const sameXID = int64(5 * time.Second)

// pairXIDs returns the errors that are only among the new, and those only among
// the old.
func pairXIDs(old, new []monitor.XID) (appeared, gone []monitor.XID) {
	used := make([]bool, len(old))
	appeared = []monitor.XID{}
	gone = []monitor.XID{}
next:
	for _, x := range new {
		for i, y := range old {
			if apart := x.Time - y.Time; !used[i] && x.Code == y.Code && apart <= sameXID && apart >= -sameXID {
				used[i] = true
				continue next
			}
		}
		appeared = append(appeared, x)
	}
	for i, y := range old {
		if !used[i] {
			gone = append(gone, y)
		}
	}
	return appeared, gone
}

func (f *finding) code() string {
	if f.new != nil {
		return f.new.Code
	}
	return f.old.Code
}
