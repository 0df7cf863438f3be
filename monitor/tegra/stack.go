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
	if !root.Exists(thorGPU) && findGPU(root) != "" {
		return &chip{soc: soc, gpu: soc + " (nvgpu)"}
	}
	return nil
}

// gpuNames are names of the integrated GPU in the device tree, where it has not
// "gpu" in it.
var gpuNames = []string{"gv11b", "gp10b", "ga10b", "gb10b", "gm20b"}

// findGPU returns the devfreq folder of a GPU that nvgpu drives, "" where there
// is none, as long after boot as nvgpu is not ready.
func findGPU(root host.Root) string { return entryOf(root, "gpu") }

// entryOf returns the devfreq folder of a device by its name in the device
// tree, "" where there is none.
func entryOf(root host.Root, device string) string {
	names, _ := root.Names(devfreq)
	for _, name := range names {
		node := strings.ToLower(root.Line(devfreq + name + "/device/of_node/name").Value)
		if node == device || device == "gpu" && (strings.Contains(node, "gpu") || slices.Contains(gpuNames, node)) {
			return devfreq + name
		}
	}
	return ""
}
