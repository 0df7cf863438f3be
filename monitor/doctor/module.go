package doctor

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/tegra"
)

// Integrated is what is known of a GPU that is part of the processor, and of the
// module that it is on.
type Integrated struct {
	// Stack is the driver of the GPU of a Jetson: nvgpu, where files alone tell
	// of it, or nvidia, where NVML is read too.
	Stack Word `json:"stack"`
	// Used is what the memory in use is taken from, where it is the machine's:
	// NvMapMemUsed, nvmap (its table) or processes (their sum).
	Used Word `json:"memory_used"`
	// Answer is what NVML said of that memory: an error, "0" or "all" for a total
	// of 0 or of all that the machine has.
	Answer   Word      `json:"memory_answer"`
	Readings []Reading `json:"readings"` // of the module, each with its file
}

// The stacks.
const (
	nvgpu  = "nvgpu"
	nvidia = "nvidia"
)

// debugfs is open to root alone.
const debugfs = "/sys/kernel/debug"

// jetson is what the files of a Jetson tell besides.
type jetson struct {
	onFiles   bool // they alone tell of the GPU
	files     []tegra.File
	debugfs   monitor.Reason // why it cannot be read; NotFound where it is not mounted
	noSys     bool
	noModule  bool // nvgpu is not loaded
	lineless  bool // /proc/meminfo has no NvMapMemUsed
	disguised bool // it looks like a server, since its device tree cannot be read
}

// lookJetson looks at the files of a Jetson.
func lookJetson(r host.Root, p *monitor.Platform) (j jetson) {
	if p.Kind != host.Jetson {
		j.disguised = p.Kind == host.Server && r.Exists("/etc/nv_tegra_release")
		return j
	}
	j.onFiles, j.files = tegra.Files(r, p.SoC.Value)
	names, err := r.Names(debugfs)
	if j.debugfs = host.Reason(err); err == nil && len(names) == 0 {
		j.debugfs = monitor.NotFound
	}
	j.noSys = !r.Exists("/sys/class")
	j.noModule = !r.Exists("/sys/module/nvgpu")
	j.lineless = !host.Meminfo(string(r), tegra.UsedKey).Known()
	return j
}

// file returns where something is read, "" where no file tells of it.
//
//go:noinline
func (f *Found) file(key string) string {
	for i := range f.jetson.files {
		if f.jetson.files[i].Key == key {
			return f.jetson.files[i].Path
		}
	}
	return ""
}

// takeJetson takes what its files say.
func (f *Found) takeJetson(j jetson) {
	f.jetson = j
	switch {
	case f.System.Platform != host.Jetson:
	case j.onFiles:
		f.Integrated.Stack = nvgpu
	default:
		f.Integrated.Stack = nvidia
	}
}

// takeModule takes what a snapshot says of the module, and answer: what NVML
// said of memory that is the machine's.
func (f *Found) takeModule(p *monitor.Platform, answer string) {
	f.Integrated.Answer = Word(answer)
	switch {
	case !f.unified():
	case !f.jetson.onFiles:
		f.Integrated.Used = "processes"
	case f.jetson.lineless:
		f.Integrated.Used = "nvmap"
	default:
		f.Integrated.Used = tegra.UsedKey
	}
	if f.Integrated.Stack == "" {
		return
	}
	f.addText("l4t", "/etc/nv_tegra_release", &p.L4T)
	f.addText("power_mode", "/var/lib/nvpmodel/status", &p.PowerMode)
	f.addText("gpu_governor", f.file("gpu_governor"), &p.Governor)
	var n [monitor.NumPartKinds]int64
	for i := range p.Parts {
		n[p.Parts[i].Kind]++
	}
	for kind := range n {
		r := monitor.OfInt(n[kind])
		if why, closed := p.IsClosed(monitor.PartKind(kind)); closed {
			r = monitor.Unknown(why)
		} else if n[kind] == 0 {
			r = monitor.Unknown(monitor.NotSupported)
		}
		f.addNumber(monitor.PartKind(kind).Info().Key, r)
	}
	f.addNumber("emc_mhz", p.EMCMHz)
	f.addNumber("emc_percent", p.EMCPercent)
}

// unified reports whether a GPU has the machine's memory.
func (f *Found) unified() bool {
	for i := range f.GPUs {
		if f.GPUs[i].Unified {
			return true
		}
	}
	return false
}

// addText adds what was read of the module.
func (f *Found) addText(key, path string, t *monitor.Text) {
	r := Reading{Key: key, Reason: Word(t.Reason.String()), Answer: Word(t.Err.Name())}
	if t.Known() {
		r.Value, r.Reason = t.Value, ""
	}
	if path = cmp.Or(t.Err.Function(), path); path != "" {
		r.Functions = []string{path}
	}
	f.Integrated.Readings = append(f.Integrated.Readings, r)
}

//go:noinline
func (f *Found) addNumber(key string, v monitor.Reading) {
	f.addText(key, f.file(key), &monitor.Text{Reason: v.Reason, Err: v.Err})
	if n, ok := v.Float(); ok {
		f.Integrated.Readings[len(f.Integrated.Readings)-1].Value = math.Round(n*1000) / 1000
	}
}

// byFile says that a file gave a reading of the integrated GPU, where it did:
// what NVML answered was passed over.
func (f *Found) byFile(g *monitor.GPU, r *Reading, err monitor.CallError, a *account) {
	path := f.file(r.Key)
	if path == "" || !g.Integrated || strings.HasPrefix(err.Function(), "nvml") || r.Reason == "not_supported" {
		return
	}
	key := r.Key
	if key == "fans" { // they come with the speed of the first
		key = monitor.FanPercent.String()
	}
	v, ok := r.Value.(float64)
	for i := range a.told {
		if t := &a.told[i]; t.GPU == g.Index && t.Key == key && (!ok || math.Abs(v-t.Value) < 0.001) {
			return
		}
	}
	for _, function := range r.Functions {
		if strings.HasPrefix(function, "nvml") {
			pass(r, function, "NVML_SUCCESS")
		}
	}
	r.Functions, r.Micros = []string{path}, nil
}

// A remark is something worth knowing of a Jetson, or of memory that is the
// machine's.
type remark uint8

const (
	deviceTree remark = iota
	anotherCard
	unnamedJetPack
	noPowerMode
	noRails
	noSys
	noNode
	noNVGPU
	needsRoot
	closedToRoot
	unmounted
	unmountedHere
	zoneAsleep
	carveOut
	hugePages
)

var remarks = [...]struct{ level, code, text, cause, cure string }{
	deviceTree: {warning, "device_tree", "this is a Jetson whose device tree cannot be read: nothing but NVML is asked of it",
		"a container hides /sys/firmware, as Docker does", "start it with --security-opt systempaths=unconfined, or --privileged"},
	anotherCard: {info, "card", "a card beside the Jetson's own GPU: it has memory of its own, and NVML alone tells of it", "", ""},
	unnamedJetPack: {info, "jetpack", "which JetPack this is, is not known",
		"the table of this program does not have that release of L4T; nothing else depends on it", ""},
	noPowerMode: {info, "power_mode", "the power mode is unknown",
		"/var/lib/nvpmodel/status is not there, or /etc/nvpmodel.conf does not name what it says", "see systemctl status nvpmodel; a container needs both files"},
	noRails: {info, "no_rails", "no power rail is measured",
		"no INA3221 or INA238 has a folder in /sys/class/hwmon or /sys/bus/i2c/devices", "see cat /sys/class/hwmon/*/name, and what dmesg says of ina"},
	noSys: {warning, "no_sys", "there is no /sys/class: load, clocks, temperature and power cannot be read",
		"this container was started without /sys", "start it with -v /sys:/sys:ro"},
	noNode: {warning, "gpu_node", "the GPU has no entry in /sys/class/devfreq, which has its clocks and load",
		"nvgpu has not made it yet, as for a while after boot", "it is looked for again and again; if it stays so, see what dmesg says of nvgpu"},
	noNVGPU: {warning, "gpu_node", "the GPU has no entry in /sys/class/devfreq, which has its clocks and load",
		"the kernel module nvgpu is not loaded", "modprobe nvgpu; if that fails dmesg says why"},
	needsRoot: {info, "needs_root", "needs root: ", "debugfs, " + debugfs + ", is open to root alone", "run it as root (sudo)"},
	closedToRoot: {info, "needs_root", "not even root may see: ",
		"a container's rules, or the kernel's lockdown, close " + debugfs, "a container: start it with --privileged"},
	unmounted: {info, "debugfs", "debugfs is not mounted, which has: ", "nothing has mounted it at " + debugfs,
		"as root: mount -t debugfs none " + debugfs + "; this program never does"},
	unmountedHere: {info, "debugfs", "debugfs is not mounted, which has: ", "this container was started without it",
		"start it with -v " + debugfs + ":" + debugfs},
	zoneAsleep: {info, "zone_asleep", "its temperature is not told now",
		"the GPU has no power while nobody uses it, and its thermal zone answers EAGAIN: that is as it should be", ""},
	carveOut: {info, "carve_out", "its memory is what Windows set aside for it",
		"it is part of the processor: programs can have more of the machine's memory than that", ""},
	hugePages: {info, "huge_pages", "MemAvailable is not reliable: ", "memory is reserved for huge pages, which only programs that ask for such can have", ""},
}

// say makes a remark. More follows its text, and why its cause.
func (f *Found) say(x remark, more, why string) *Problem {
	r := &remarks[x]
	return f.add(r.level, r.code, r.text+more, r.cause+why, r.cure)
}

// judgeModule says what of a Jetson, or of memory that is the machine's, is
// missing and why.
func (f *Found) judgeModule() {
	if f.jetson.disguised {
		f.say(deviceTree, "", "")
	}
	if total, _ := f.host.HugePagesTotalBytes.Int(); total > 0 && f.unified() {
		f.say(hugePages, "it is "+mebibytes(f.host.MemoryAvailableBytes)+", and "+mebibytes(f.host.HugePagesFreeBytes)+
			" of "+mebibytes(f.host.HugePagesTotalBytes)+" of huge pages are free", "")
	}
	for i := range f.GPUs {
		g := &f.GPUs[i]
		from := len(f.Problems)
		switch {
		case !g.Integrated && f.Integrated.Stack != "":
			f.say(anotherCard, "", "")
		case g.Integrated:
			f.judgeIntegrated(g)
		}
		for j := from; j < len(f.Problems) && g.Index != nil; j++ {
			f.Problems[j].GPUs = []int{*g.Index}
		}
	}
	if f.System.L4T != "" && f.System.JetPack == "" {
		f.say(unnamedJetPack, "", "")
	}
	if reasonOf(f.Integrated.Readings, "power_mode") == "not_supported" {
		f.say(noPowerMode, "", "")
	}
	if reasonOf(f.Integrated.Readings, "rails") == "not_supported" && !f.jetson.noSys {
		f.say(noRails, "", "")
	}
}

func mebibytes(r monitor.Reading) string {
	v, ok := r.Int()
	if !ok {
		return "unknown"
	}
	return strconv.FormatInt(v>>20, 10) + " MiB"
}

// judgeIntegrated says what is missing of an integrated GPU.
func (f *Found) judgeIntegrated(g *GPU) {
	j := &f.jetson
	if g.State == "ok" && reasonOf(g.Readings, monitor.TemperatureC.String()) == "asleep" {
		f.say(zoneAsleep, "", "")
	}
	if f.Program.OS == "windows" && !g.Unified && g.State == "ok" {
		more := ""
		if g.adapter != nil {
			more = "; shared: " + mebibytes(g.adapter[monitor.SharedTotal])
		}
		f.say(carveOut, "", more)
	}
	switch {
	case f.Integrated.Stack == "":
		return
	case j.noSys:
		f.say(noSys, "", "")
		return
	case !j.onFiles || f.file(monitor.ClockGraphicsMHz.String()) != "":
	case j.noModule:
		f.say(noNVGPU, "", "")
	default:
		f.say(noNode, "", "")
	}
	root, here := needsRoot, unmounted
	if f.System.UID != nil && *f.System.UID == 0 {
		root = closedToRoot
	}
	if f.inContainer() {
		here = unmountedHere
	}
	switch j.debugfs {
	case monitor.NotFound:
		root = here
	case monitor.NoPermission:
	default:
		return
	}
	more, why := "engines that only clocks show, memory controller", ""
	if reasonOf(g.Readings, "processes") != "" {
		more = "memory of each process, " + more
	}
	if reasonOf(g.Readings, monitor.MemoryUsedBytes.String()) != "" {
		more = "memory in use, " + more
		if j.lineless {
			why = "; this kernel, as those of L4T 38 and later, has no " + tegra.UsedKey + " in /proc/meminfo, open to all"
		}
	}
	f.say(root, more, why)
}

// reasonOf is why a reading has no value, "" where it has one or is not there.
//
//go:noinline
func reasonOf(list []Reading, key string) Word {
	for i := range list {
		if list[i].Key == key {
			return list[i].Reason
		}
	}
	return ""
}

// stackSays tells where what is shown of a Jetson comes from.
func (f *Found) stackSays() string {
	if f.jetson.onFiles {
		return "nvgpu: load, clocks, memory, temperature and rails come from files; NVML gives a name at most, and nothing else of it is used"
	}
	return "nvidia.ko: NVML is read; files fill in what it does not tell, such as clocks, rails and fans"
}

// memorySays tells what the figures of memory mean that is the machine's.
func (f *Found) memorySays() string {
	used, answer := "", string(f.Integrated.Answer)
	switch f.Integrated.Used {
	case "":
		return ""
	case "processes":
		used = "the sum of its processes"
	case "nvmap":
		used = "the total of nvmap's table in debugfs"
	default:
		used = tegra.UsedKey + " of /proc/meminfo"
	}
	switch answer {
	case "0":
		answer = "gives a total of 0"
	case "all":
		answer = "gives that of the whole machine"
	case "":
	default:
		answer = "answers " + answer
	}
	if answer != "" {
		answer = "; asked for it NVML " + answer
	}
	return "the machine's own: used is " + used + ", total MemTotal, available the host's MemAvailable" + answer
}
