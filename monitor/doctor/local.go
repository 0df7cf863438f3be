package doctor

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"nvtop-lite/monitor/host"
)

// maxLine bounds what is read of a file of one line.
const maxLine = 4096

// maxNodes bounds the list of device nodes: a machine has a few a GPU.
const maxNodes = 600

// surroundings are what the files of the machine tell.
type surroundings struct {
	system System
	driver Driver
	nodes  []Node
	pci    []PCI
	jetson jetson
	own    string
}

// look looks at the machine under root. It opens no device node, which could
// wake a GPU.
func look(root string) surroundings {
	h := host.Open(root)
	r := h.Root()
	p := h.Platform()
	s := surroundings{system: System{
		Platform: p.Kind, Model: word(p.Model), SoC: word(p.SoC),
		L4T: word(p.L4T), JetPack: word(p.JetPack), PIDNamespace: "unknown",
	}}
	if !r.Here() {
		s.system.Root = Word(r)
	}
	if uid := os.Getuid(); uid >= 0 {
		s.system.UID = &uid
	}
	initial, err := host.PIDNamespace(root)
	switch {
	case err != nil:
	case initial:
		s.system.PIDNamespace = "initial"
	default:
		s.system.PIDNamespace = "other"
	}
	if !r.Files() {
		return s
	}
	s.system.Kernel = line(r, "/proc/sys/kernel/osrelease")
	s.system.Container = container(r)
	if s.system.Container == "" && host.Container(root) {
		s.system.Container = "unknown"
	}
	if v, err := host.KernelModuleVersion(root); err == nil {
		s.driver.KernelModule = Word(v)
	}
	if found, evidence := host.DriverInSight(root); found {
		s.driver.Evidence = Word(evidence)
	}
	if p.Kind == host.WSL {
		s.own = ownLibrary(r)
	}
	s.driver.Nouveau = r.Exists("/sys/module/nouveau")
	s.nodes, s.pci, s.jetson = nodes(r), pciDevices(r), lookJetson(r, &p)
	return s
}

// line is a file of one line, "" where it cannot be read.
func line(r host.Root, path string) Word {
	data, err := r.ReadFile(path, maxLine)
	if err != nil {
		return ""
	}
	return Word(strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD")))
}

// container is what kind of container this is, "" for none that can be seen.
func container(r host.Root) Word {
	if r.Exists("/run/secrets/kubernetes.io") || r.Exists("/var/run/secrets/kubernetes.io") {
		return "kubernetes"
	}
	if r.Exists("/.dockerenv") {
		return "docker"
	}
	if r.Exists("/run/.containerenv") {
		return "podman"
	}
	if kind := line(r, "/run/systemd/container"); kind != "" && kind != "wsl" {
		return kind
	}
	cgroup := string(line(r, "/proc/1/cgroup"))
	for _, c := range []struct{ mark, kind string }{
		{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}, {"containerd", "containerd"},
	} {
		if strings.Contains(cgroup, c.mark) {
			return Word(c.kind)
		}
	}
	return ""
}

// nodes lists the device nodes of the driver.
func nodes(r host.Root) []Node {
	var list []Node
	for _, pattern := range []string{
		"/dev/nvidiactl", "/dev/nvidia[0-9]*", "/dev/nvidia-uvm", "/dev/nvidia-modeset", "/dev/nvidia-caps/*",
		"/dev/dxg", "/dev/nvgpu/*", "/dev/nvhost-gpu", "/dev/nvhost-ctrl-gpu", "/dev/nvmap",
	} {
		folder, names := path.Split(pattern)
		entries, _ := os.ReadDir(r.Path(folder))
		for _, e := range entries {
			if fits, _ := path.Match(names, e.Name()); !fits || len(list) == maxNodes {
				continue
			}
			if n, ok := node(r.Path(folder + e.Name())); ok {
				n.Path = folder + e.Name()
				list = append(list, n)
			}
		}
	}
	return list
}

// pciDevices lists the display and 3D controllers of NVIDIA.
func pciDevices(r host.Root) []PCI {
	const folder = "/sys/bus/pci/devices"
	entries, err := os.ReadDir(r.Path(folder))
	if err != nil {
		return nil
	}
	var list []PCI
	for _, e := range entries {
		dir := folder + "/" + e.Name()
		if line(r, dir+"/vendor") != "0x10de" || !strings.HasPrefix(string(line(r, dir+"/class")), "0x03") {
			continue
		}
		p := PCI{BusID: e.Name(), Device: line(r, dir+"/device"), Power: line(r, dir+"/power/runtime_status")}
		if to, err := r.ReadLink(dir + "/driver"); err == nil {
			p.Driver = Word(filepath.Base(to))
		}
		list = append(list, p)
	}
	return list
}

// fileVersion is the version in the name of a library's file, "" where there is
// none.
func fileVersion(path string) string {
	if path == "" {
		return ""
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	// So the driver's installers name it; a single number is that of the ABI.
	version, ok := strings.CutPrefix(filepath.Base(path), "libnvidia-ml.so.")
	parts := strings.Split(version, ".")
	if !ok || len(parts) < 2 || slices.ContainsFunc(parts, func(p string) bool { return !allDigits(p) }) {
		return ""
	}
	return version
}

// program is this program.
func program(version string) Program {
	p := Program{Version: version, OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				p.Revision = Word(s.Value)
			case "vcs.modified":
				p.Modified = s.Value == "true"
			}
		}
	}
	return p
}

// environment takes what is told of it, and no more.
func environment(lookup func(string) (string, bool)) Environment {
	get := func(name string) *string {
		if v, ok := lookup(name); ok {
			return &v
		}
		return nil
	}
	return Environment{
		VisibleDevices: get("NVIDIA_VISIBLE_DEVICES"), DriverCapabilities: get("NVIDIA_DRIVER_CAPABILITIES"),
		CUDAVisibleDevices: get("CUDA_VISIBLE_DEVICES"), SlurmJobGPUs: get("SLURM_JOB_GPUS"),
	}
}

// has reports whether there is a node at path.
//
//go:noinline
func has(list []Node, path string) bool {
	for i := range list {
		if list[i].Path == path {
			return true
		}
	}
	return false
}
