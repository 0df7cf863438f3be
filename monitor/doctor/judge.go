package doctor

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// The levels of problems, the worst first.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

// unknownError is NVML's name for an error without a cause.
const unknownError = "NVML_ERROR_UNKNOWN"

// slowOpen is from when on opening a GPU is worth a word.
const slowOpen = 500 * time.Millisecond

// judge says what is wrong with what was found, the worst first.
func (f *Found) judge() {
	switch {
	case f.failed != nil:
		f.judgeFailure()
	case f.late && len(f.GPUs) == 0:
		f.add(critical, "no_answer", "no answer within "+seconds(f.waited)+f.hanging(),
			"the driver, or a file of the system, does not answer", askDriver)
	case len(f.GPUs) == 0:
		f.add(critical, "no_gpu", "nothing was said of any GPU", "the driver process ended without a word", askDriver)
	}
	f.judgeGPUs()
	f.judgeVersions()
	f.judgeNodes()
	if f.unlooked {
		f.add(warning, "unlooked", "the files of this machine were not read in time", "/proc, /sys or /dev hangs", askSystem)
	}
	for _, w := range f.warnings {
		f.add(warning, w.Code, w.Text, "", "")
	}
	f.judgeModule()
	f.judgeNamespace()
	f.judgeWSL()
	f.join()
	sort.SliceStable(f.Problems, func(i, j int) bool { return rank(f.Problems[i].Level) < rank(f.Problems[j].Level) })
	f.OK = !slices.ContainsFunc(f.Problems, func(p Problem) bool { return p.Level == critical })
}

// join makes one problem of those that are the same on several GPUs.
func (f *Found) join() {
	var joined []Problem
	for _, p := range f.Problems {
		same := slices.IndexFunc(joined, func(q Problem) bool {
			return len(q.GPUs) > 0 && len(p.GPUs) > 0 && q.Code == p.Code && q.Level == p.Level && q.Text == p.Text && q.Cause == p.Cause && q.Cure == p.Cure
		})
		if same < 0 {
			joined = append(joined, p)
		} else {
			joined[same].GPUs = append(joined[same].GPUs, p.GPUs...)
		}
	}
	f.Problems = joined
}

func rank(level string) int { return slices.Index([]string{critical, warning, info}, level) }

// Inlined, it would make the program 10 kB larger.
//
//go:noinline
func (f *Found) add(level, code, text, cause, cure string) *Problem {
	f.Problems = append(f.Problems, Problem{Code: code, Level: level, Text: text, Cause: Word(cause), Cure: Word(cure)})
	return &f.Problems[len(f.Problems)-1]
}

const restart = "restart the container; so that it does not happen again, give it its nodes by name (--device /dev/nvidiactl --device /dev/nvidia0 …) or through CDI"

// judgeFailure says why there is no GPU at all.
func (f *Found) judgeFailure() {
	e := f.failed
	what := e.What
	if e.Code != "" {
		what += " (" + e.Code + ")"
	}
	switch {
	case e.Cause == monitor.CauseNoLibrary:
		cause, cure := f.noLibrary()
		f.add(critical, "no_library", what, cause, cure)
	case e.Cause == monitor.CauseNoLoader:
		f.add(critical, "no_loader", what, "no library was looked for: the driver's own may be there all the same", e.Hint)
	case e.Cause == monitor.CauseNoDriver:
		cause, cure := f.noDriver()
		f.add(critical, "no_driver", what, cause, cure)
	case e.Cause == monitor.CauseVersionMismatch:
		text := "the NVML library and the kernel module are of different versions"
		if f.Driver.Library != "" && f.Driver.KernelModule != "" {
			text = fmt.Sprintf("the NVML library is of version %s, the kernel module of %s", f.Driver.Library, f.Driver.KernelModule)
		} else if f.Driver.KernelModule != "" {
			text += " (the kernel module is " + string(f.Driver.KernelModule) + ")"
		}
		cause := "the driver was upgraded, and the old kernel module is still loaded"
		cure := reload
		if f.System.Container != "" {
			cause = "the library in the container is not that of the host's driver"
			cure = "remove NVIDIA's libraries from the image: the container runtime puts those of the host there; if the host was upgraded, reboot it"
		}
		f.add(critical, "version_mismatch", text+" ("+e.Code+")", cause, cure)
	case f.cutOff(e.Code):
		f.lostDevices("NVML answers " + e.Code)
	case e.Cause == monitor.CauseNoPermission:
		cause, cure := f.noPermission()
		f.add(critical, "no_permission", what, cause, cure)
	case e.Cause == monitor.CauseNoGPU:
		cause, cure := f.noGPU()
		f.add(critical, "no_gpu", what, cause, cure)
	case e.Cause == monitor.CauseNoSuchGPU:
		f.add(critical, "no_such_gpu", what, "-g or CUDA_VISIBLE_DEVICES asks for it", e.Hint)
	case e.Cause == monitor.CauseTimeout:
		f.add(critical, "no_answer", what+f.hanging(), "the driver hangs", askDriver+"; a GPU that hangs is freed by a reset or a reboot")
	case e.Cause == monitor.CauseLoading:
		f.add(critical, "no_answer", what, "the file does not come, or what the library does first hangs", e.Hint)
	case strings.HasPrefix(e.What, "the driver process"):
		text := what
		if len(f.pending) > 0 {
			text += "; in progress: " + named(f.pending)
		}
		f.add(critical, "crashed", text, "the driver's library failed in a way that ends the process that uses it", e.Hint)
	case e.Code == unknownError:
		f.add(critical, "unknown_error", what, "the driver gives no cause; the kernel log often has one", askDriver+"; then reload the driver, or reboot")
	default:
		f.add(critical, "not_opened", what, "", e.Hint)
	}
}

// named is a call as it is told of.
func (c *call) named() string {
	if c.GPU >= 0 {
		return c.Function + " (GPU " + strconv.Itoa(c.GPU) + ")"
	}
	return c.Function
}

// hanging names the calls that have not returned.
func (f *Found) hanging() string {
	if len(f.pending) == 0 {
		return ""
	}
	return "; not returned: " + named(f.pending)
}

// named names calls, a few of them.
func named(calls []call) string {
	const most = 4
	var names []string
	for i := range calls[:min(len(calls), most)] {
		names = append(names, calls[i].named())
	}
	text := strings.Join(names, ", ")
	if more := len(calls) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// inContainer reports whether this is a container whose devices are a matter
// of how it was started.
func (f *Found) inContainer() bool { return f.System.Container != "" }

// hasFiles reports whether the files of Linux were looked at.
func (f *Found) hasFiles() bool { return f.Program.OS == "linux" || f.System.Root != "" }

func (f *Found) noLibrary() (cause, cure string) {
	devices := has(f.Nodes, "/dev/nvidiactl")
	there := slices.ContainsFunc(f.Library.Tried, func(t Try) bool { return t.Answer != "not found" })
	switch {
	case f.explicit != "":
		return "--nvml or NVTOP_LITE_NVML names that file and no other", f.failed.Hint
	case there:
		return "a file is there, and cannot be loaded", "see its answer under library: it may be for another processor or C library, or lack another file"
	case strings.Contains(f.failed.Hint, "musl"):
		return f.failed.Hint, "use a system, or an image, with glibc"
	case f.inContainer() && devices:
		return "the container has the GPUs, but not the driver's library", "NVIDIA_DRIVER_CAPABILITIES must have utility in it (or be all) when the container is started"
	case f.inContainer():
		return "the container was started without the driver", "start it with --gpus all (or --device nvidia.com/gpu=all), with the NVIDIA container toolkit on the host"
	case f.System.Platform == host.WSL:
		return windowsDriver()
	case f.Integrated.Stack == nvidia:
		return "the libraries of this JetPack's driver are not installed, or not passed into the container", "install them from JetPack; start a container with --runtime nvidia"
	case f.Driver.KernelModule != "":
		return "the kernel driver is loaded, and its libraries are not installed, or not where they are looked for", "install the driver's libraries of version " + string(f.Driver.KernelModule) + ", or name the library with --nvml"
	}
	return "the NVIDIA driver is not installed" + f.pciSays(), "install it; if it is, name its library (" + monitor.LibraryName + ") with --nvml"
}

// pciSays says whether the kernel sees an NVIDIA GPU.
func (f *Found) pciSays() string {
	switch {
	case len(f.PCI) > 0:
		p := f.PCI[0]
		text := "; the kernel sees a GPU at " + p.BusID
		if p.Driver != "" {
			return text + ", which the driver " + string(p.Driver) + " has"
		}
		return text + ", which no driver has"
	case f.System.Kernel != "" && f.System.Platform == "server":
		return "; the kernel sees no NVIDIA GPU on the PCI bus"
	}
	return ""
}

func (f *Found) noDriver() (cause, cure string) {
	v := f.Environment.VisibleDevices
	switch {
	case f.inContainer() && !has(f.Nodes, "/dev/nvidiactl"):
		cause = "this container has no /dev/nvidiactl: it was started without GPUs"
		if v != nil && (*v == "" || *v == "void" || *v == "none") {
			cause += fmt.Sprintf(" (NVIDIA_VISIBLE_DEVICES is %q)", *v)
		}
		return cause, "start it with --gpus all (or --device nvidia.com/gpu=all), with the NVIDIA container toolkit on the host; if the host has no driver, install it there"
	case f.System.Platform == host.WSL:
		return windowsDriver()
	case !f.hasFiles():
		return "the driver is not running", "see what the Device Manager says of the GPU; install the driver anew"
	case f.Driver.Nouveau:
		return "nouveau, the other driver for such GPUs, is loaded in its place", "blacklist nouveau, rebuild the initramfs, reboot"
	case f.Driver.KernelModule != "":
		return "the kernel module is loaded, but the library does not reach it", "see that /dev/nvidiactl is there (nvidia-modprobe makes it), and what dmesg says"
	}
	return "no NVIDIA kernel module is loaded" + f.pciSays(),
		"modprobe nvidia; if that fails dmesg says why: not built for this kernel (reinstall it, or its DKMS package), or not signed for Secure Boot"
}

func (f *Found) noPermission() (cause, cure string) {
	for _, n := range f.Nodes {
		if n.Access != "ok" && isGPUNode(n.Path) {
			cause = fmt.Sprintf("%s is %s, owner %d, group %d, and this user may not use it: %s", n.Path, n.Mode, n.UID, n.GID, n.Access)
			if f.inContainer() {
				return cause, restart
			}
			cure = "set the mode that the driver gives its nodes (options nvidia NVreg_DeviceFileMode=0666 in /etc/modprobe.d), or look for what else made them so"
			if n.GID > 0 {
				cure = fmt.Sprintf("let the user into group %d, or ", n.GID) + cure
			}
			return cause, cure
		}
	}
	if f.inContainer() {
		return "the container's device rules forbid it", restart
	}
	return "a control group, a security module or the driver's own settings forbid it", "see who may use /dev/nvidiactl and /dev/nvidia0, and under Slurm whether the job asked for GPUs (--gres=gpu:1)"
}

func isGPUNode(path string) bool {
	node, ok := strings.CutPrefix(path, "/dev/nvidia")
	return ok && (node == "ctl" || allDigits(node))
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// cutOff reports whether an answer is that of a container that has lost its
// devices: no cause given, or no permission, and a node that is there but may
// not be used.
func (f *Found) cutOff(code string) bool {
	if !f.inContainer() {
		return false
	}
	return code == unknownError || code == "NVML_ERROR_NO_PERMISSION" && slices.ContainsFunc(f.Nodes, func(n Node) bool {
		return isGPUNode(n.Path) && n.Access == "operation not permitted"
	})
}

func (f *Found) lostDevices(what string) {
	f.add(critical, "container_lost_devices", what,
		"the container has lost its GPUs, as happens when the host runs systemctl daemon-reload: its device rules are gone", restart)
}

func (f *Found) noGPU() (cause, cure string) {
	for _, p := range f.PCI {
		if p.Driver != "nvidia" {
			d := string(p.Driver)
			if d == "" {
				d = "no driver"
			}
			return "the GPU at " + p.BusID + " belongs to " + d, "bind it to the nvidia driver: see lspci -k, and what passes it on to a virtual machine"
		}
	}
	if v := f.Environment.VisibleDevices; f.inContainer() && v != nil {
		return fmt.Sprintf("the container was given none (NVIDIA_VISIBLE_DEVICES is %q)", *v), "start it with the GPUs that it needs"
	}
	if f.System.Platform == host.WSL {
		return windowsDriver()
	}
	if len(f.PCI) == 0 && f.System.Kernel != "" && !f.inContainer() {
		return "the kernel sees no NVIDIA GPU on the PCI bus", "check that the GPU is plugged in and has power"
	}
	return "the driver could not start the GPU", notStarted
}

// advice is what is behind a finding of health, where that can be said, and what
// to do about it.
type advice struct{ code, cause, cure string }

var advices = []advice{
	{"gpu_lost", "it fell off the bus, or the driver gave it up", "reset it (nvidia-smi --gpu-reset -i N) or reboot; if it comes again: power, risers, heat, or a broken GPU"},
	{"reset_required", "", "end what uses it, then nvidia-smi --gpu-reset -i N"},
	{"no_answer", "the call hangs in the driver, or the driver is busy with a GPU that fails", askDriver + "; a GPU that hangs is freed by a reset or a reboot"},
	{"version_mismatch", "", reload},
	{"recovery_action", "", "do as the driver says: drain the machine first"},
	{"ecc_uncorrected", "", "reset the GPU; if it comes again, have it replaced"},
	{"remap_failed", "", "have the GPU replaced"},
	{"throttle_thermal", "", "look at fans, air flow and dust"},
	{"throttle_brake", "", "look at the power supply: it asks the GPU to brake"},
	{"temperature", "", "look at fans, air flow and dust"},
	{"pcie_width", "", "seat the card anew, look at risers and the slot's width"},
	{"ecc_pending", "", "reset the GPU or reboot, so that the change takes effect"},
	{"retired_pending", "", "reset the GPU or reboot, so that the pages are set aside"},
	{"remap_pending", "", "reset the GPU or reboot, so that the rows are set aside"},
	{"fabric", "", "see whether nvidia-fabricmanager runs, and what its log says"},
	{"nvlink_errors", "", "look at the NVLink bridges or the switch"},
	{"xid", "", "dmesg has the whole line; NVIDIA's list of Xid errors says what each means"},
	{"persistence_off", "without it the driver puts a GPU down when nobody uses it; each program that begins then waits 1 to 3 s for each GPU, and settings are lost", "start nvidia-persistenced, or as root: nvidia-smi -pm 1"},
}

//go:noinline
func adviceOn(code string) (a advice) {
	for i := range advices {
		if advices[i].code == code {
			return advices[i]
		}
	}
	return a
}

func (f *Found) judgeGPUs() {
	cut := 0
	for i := range f.GPUs {
		g := &f.GPUs[i]
		if (g.State == "unavailable" || g.State == "lost") && f.cutOff(string(g.StateAnswer)) {
			cut++
		}
	}
	if cut > 0 && cut == len(f.GPUs) {
		f.lostDevices("every GPU answers " + string(f.GPUs[0].StateAnswer))
		return
	}
	for i := range f.GPUs {
		f.judgeGPU(&f.GPUs[i])
	}
}

func (f *Found) judgeGPU(g *GPU) {
	add := func(level, code, text, cause, cure string) {
		p := f.add(level, code, text, cause, cure)
		if g.Index != nil {
			p.GPUs = []int{*g.Index}
		} else if g.UUID != "" {
			p.Text = string(g.UUID) + ": " + p.Text
		}
	}
	switch g.State {
	case "unavailable":
		cause, cure := "", askDriver
		if g.blocked == monitor.NoPermission.String() {
			cause, cure = f.noPermission()
		}
		text := string(g.StateReason)
		if g.StateAnswer != "" {
			text += " (" + string(g.StateAnswer) + ")"
		}
		add(critical, "unavailable", text, cause, cure)
	case "initialising":
		text := "has not been opened in time"
		for i := range f.pending {
			if c := &f.pending[i]; g.Index != nil && c.GPU == *g.Index {
				text += ": " + c.Function + " has not returned"
				break
			}
		}
		add(critical, "no_answer", text, "the driver hangs, or takes long to start the GPU", adviceOn("no_answer").cure)
	case "asleep":
		add(info, "asleep", "asleep, and was not woken", "its power is off while nobody uses it", "--wake looks at it all the same")
	}
	for _, h := range g.Health {
		a := adviceOn(h.Code)
		add(h.Level, h.Code, h.Text, a.cause, a.cure)
	}
	if g.State != "ok" && g.State != "stale" {
		return
	}
	f.judgeReadings(g, add)
	if !slices.ContainsFunc(g.Health, func(h Health) bool { return h.Code == "persistence_off" }) {
		return
	}
	for _, r := range g.Readings {
		if r.Key == "handle" && r.Micros != nil && *r.Micros > float64(slowOpen.Microseconds()) {
			a := adviceOn("persistence_off")
			add(info, "slow_open", fmt.Sprintf("it took %.1f s to open", *r.Micros/1e6), a.cause, a.cure)
		}
	}
}

// judgeReadings tells of readings that should be there and are not, those that
// failed alike together.
func (f *Found) judgeReadings(g *GPU, add func(level, code, text, cause, cure string)) {
	type kind struct {
		reason   Word
		function string
		answer   Word
	}
	var kinds []kind
	keys := map[kind][]string{}
	for _, r := range g.Readings {
		switch r.Reason {
		case "driver_error", "timeout", "gpu_lost", "no_permission", "implausible":
		default:
			continue
		}
		if r.Reason == "timeout" && r.Answer == "" && g.State == "stale" {
			continue // it stands behind a call that hangs, which health names
		}
		if r.Reason == "no_permission" && f.jetson.debugfs != monitor.Known && len(r.Functions) > 0 && strings.HasPrefix(r.Functions[0], debugfs) {
			continue // told of once for all that is there
		}
		k := kind{r.Reason, strings.Join(r.Functions, ", "), r.Answer}
		if keys[k] == nil {
			kinds = append(kinds, k)
		}
		keys[k] = append(keys[k], r.Key)
	}
	for _, k := range kinds {
		text := strings.Join(keys[k], ", ") + ": " + string(k.reason)
		if k.function != "" {
			text += " from " + k.function
		}
		if k.answer != "" {
			text += " (" + string(k.answer) + ")"
		}
		cause, cure := "", askDriver
		switch k.reason {
		case "no_permission":
			cause, cure = "the driver keeps this from ordinary users, or from containers", "run as root; in a container with MIG: NVIDIA_MIG_MONITOR_DEVICES=all, and more privileges"
		case "implausible":
			cause, cure = "the driver's answer cannot be true", "report it, with this page; a newer driver may be right"
		case "timeout":
			cause = "the call did not return in time, or stood behind one that did not"
		}
		add(warning, "unread", text, cause, cure)
	}
}

func (f *Found) judgeVersions() {
	if f.failed == nil && f.Driver.Fit != nil && !*f.Driver.Fit {
		f.add(warning, "versions", fmt.Sprintf("the library is of version %s, the kernel module of %s", f.Driver.Version, f.Driver.KernelModule),
			"the driver was upgraded, or the library is another one's", reload)
	}
}

// judgeNodes tells of nodes that may not be used, where nothing else told why.
func (f *Found) judgeNodes() {
	told := func(p Problem) bool {
		return p.Code == "no_permission" || p.Code == "container_lost_devices" || p.Code == "unavailable"
	}
	if slices.ContainsFunc(f.Problems, told) {
		return
	}
	for _, n := range f.Nodes {
		if isGPUNode(n.Path) && n.Access != "ok" {
			cause, cure := f.noPermission()
			f.add(warning, "node_access", n.Path+": "+n.Access, cause, cure)
			return
		}
	}
}

func (f *Found) judgeNamespace() {
	if f.System.PIDNamespace == "other" && f.inContainer() && len(f.GPUs) > 0 {
		f.add(info, "pid_namespace", "processes have no names: their PIDs are of another PID namespace",
			"the driver knows the host's PIDs, and this container has its own", "to see names, run it on the host, or with --pid=host")
	}
}

// about names the GPUs of a problem, in ranges.
func (p *Problem) about() string {
	var list []string
	for i := 0; i < len(p.GPUs); {
		end := i + 1
		for end < len(p.GPUs) && p.GPUs[end] == p.GPUs[end-1]+1 {
			end++
		}
		part := strconv.Itoa(p.GPUs[i])
		if end-i > 1 {
			part += "-" + strconv.Itoa(p.GPUs[end-1])
		}
		list = append(list, part)
		i = end
	}
	switch len(p.GPUs) {
	case 0:
		return ""
	case 1:
		return "GPU " + list[0] + ": "
	}
	return "GPUs " + strings.Join(list, ",") + ": "
}

// Lines are the problems that are more than a remark, a line each.
func (f *Found) Lines() []string {
	var lines []string
	for i := range f.Problems {
		if p := &f.Problems[i]; p.Level != info {
			lines = append(lines, p.line())
		}
	}
	return lines
}

// line is a problem in one line: what to do about it is left to the page.
func (p *Problem) line() string {
	text := p.Level + ": " + p.about() + p.Text
	if p.Cause != "" {
		text += "; " + string(p.Cause)
	}
	return text
}
