package tegra

import (
	"slices"
	"strings"

	"nvtop-lite/monitor/host"
)

const devfreq = "/sys/class/devfreq/"

// thorGPU is the clock domain of a GPU that nvidia.ko drives.
const thorGPU = devfreq + "gpu-gpc-0"

// chip is what is known of a SoC.
type chip struct {
	soc, gpu, architecture string
}

// chips are those whose GPU nvgpu drives; all later ones have nvidia.ko.
var chips = []chip{
	{"tegra234", "Orin (nvgpu)", "ampere"},
	{"tegra194", "Xavier (nvgpu)", "volta"},
	{"tegra186", "Tegra X2 (nvgpu)", "pascal"},
	{"tegra210", "Tegra X1 (nvgpu)", "maxwell"},
}

// onNVGPU returns the chip where nvgpu drives the integrated GPU of this SoC,
// nil where it does not. Which release of JetPack is installed says nothing of
// that.
func onNVGPU(root host.Root, soc string) *chip {
	for i := range chips {
		if chips[i].soc == soc {
			return &chips[i]
		}
	}
	// A chip that is not known yet: its GPU's clock domain tells.
	if !root.Exists(thorGPU) && nodesOf(root).gpu() != "" {
		return &chip{soc: soc, gpu: soc + " (nvgpu)"}
	}
	return nil
}

// gpuNames are names of the integrated GPU in the device tree, where it has not
// "gpu" in it.
var gpuNames = []string{"gv11b", "gp10b", "ga10b", "gb10b", "gm20b"}

// node is an entry of devfreq, by its device's name in the device tree, or by
// what of its own name stands for that.
type node struct{ name, dir string }

type nodes []node

func nodesOf(root host.Root) nodes {
	names, _ := root.Names(devfreq)
	list := make(nodes, len(names))
	for i, name := range names {
		dir := devfreq + name
		of := root.Line(dir + "/device/of_node/name").Value
		if of == "" { // Docker hides the device tree
			_, of, _ = strings.Cut(name, ".") // 17000000.gpu
		}
		list[i] = node{strings.ToLower(of), dir}
	}
	return list
}

// gpu returns the folder of a GPU that nvgpu drives, "" where there is none, as
// long after boot as nvgpu is not ready.
func (list nodes) gpu() string {
	for _, n := range list {
		if strings.Contains(n.name, "gpu") || slices.Contains(gpuNames, n.name) {
			return n.dir
		}
	}
	return ""
}

// find returns a file in the folder of a device, "" where there is no such
// device.
func (list nodes) find(name, file string) string {
	for _, n := range list {
		if n.name == name {
			return n.dir + file
		}
	}
	return ""
}
