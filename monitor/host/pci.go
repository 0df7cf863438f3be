package host

import (
	"os"
	"sort"
	"strings"

	"nvtop-lite/monitor"
)

// DriverGPUs returns the PCI addresses, such as 0000:01:00.0, of the GPUs that
// the driver has, in their order. It is nil where that is not known. No GPU is
// woken. In a container the driver's own list has those that were passed on,
// the bus those of the whole machine.
func DriverGPUs(root string) []string {
	r := rootOf(root)
	if !r.Files() {
		return nil
	}
	for _, dir := range []string{"/proc/driver/nvidia/gpus", "/sys/bus/pci/drivers/nvidia"} {
		entries, err := os.ReadDir(r.Path(dir))
		if err != nil {
			continue
		}
		var list []string
		for _, e := range entries {
			if isPCIAddress(e.Name()) {
				list = append(list, e.Name())
			}
		}
		if list != nil {
			sort.Slice(list, func(i, j int) bool { // a domain may have five digits
				if len(list[i]) != len(list[j]) {
					return len(list[i]) < len(list[j])
				}
				return list[i] < list[j]
			})
			return list
		}
	}
	return nil
}

// PCIAddress returns a bus id as NVML writes it, 00000000:01:00.0, in the
// kernel's form, 0000:01:00.0; "" where it is none.
func PCIAddress(busID string) string {
	id := strings.ToLower(busID)
	domain, rest, ok := strings.Cut(id, ":")
	if !ok {
		return ""
	}
	for len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	if id = domain + ":" + rest; !isPCIAddress(id) {
		return ""
	}
	return id
}

// BusID is the reverse of PCIAddress.
func BusID(address string) string {
	domain, rest, _ := strings.Cut(strings.ToUpper(address), ":")
	return strings.Repeat("0", max(8-len(domain), 0)) + domain + ":" + rest
}

// isPCIAddress reports whether s is of the form 0000:01:00.0.
func isPCIAddress(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || len(domain) < 4 || len(domain) > 8 || len(rest) != 7 || rest[2] != ':' || rest[5] != '.' {
		return false
	}
	return isHex(domain) && isHex(rest[:2]) && isHex(rest[3:5]) && isHex(rest[6:])
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// CanSleep reports whether the kernel may suspend the PCI device while nobody
// uses it, and the driver does not say that it cannot be.
func CanSleep(root, address string) bool {
	r := rootOf(root)
	var buf [512]byte
	control, err := r.ReadOnce(device(address)+"power/control", buf[:])
	if err != nil || cleanLine(control) != "auto" {
		return false
	}
	power, err := r.ReadOnce(gpuFolder(address)+"power", buf[:])
	if err != nil {
		return true
	}
	status := cleanLine([]byte(valueOf(power, "Runtime D3 status")))
	return !strings.HasPrefix(status, "Disabled") && status != "Not supported"
}

// Suspended reports whether the PCI device sleeps, or is about to. Looking does
// not wake it.
func Suspended(root, address string) bool {
	var buf [32]byte
	status, err := rootOf(root).ReadOnce(device(address)+"power/runtime_status", buf[:])
	if err != nil {
		return false
	}
	s := cleanLine(status)
	return s == "suspended" || s == "suspending"
}

// GPUInformation returns what the driver says of a GPU without asking it: its
// name and its UUID, unknown as long as it was never opened.
func GPUInformation(root, address string) (name, uuid monitor.Text) {
	none := monitor.UnknownText(monitor.NotFound)
	data, err := rootOf(root).ReadFile(gpuFolder(address)+"information", maxLine)
	if err != nil {
		return none, none
	}
	name, uuid = none, none
	if s := valueOf(data, "Model"); s != "" && s != "Unknown" {
		name = monitor.OfText(s)
	}
	if s := valueOf(data, "GPU UUID"); strings.HasPrefix(s, "GPU-") && !strings.Contains(s, "?") {
		uuid = monitor.OfText(s)
	}
	return name, uuid
}

func device(address string) string    { return "/sys/bus/pci/devices/" + address + "/" }
func gpuFolder(address string) string { return "/proc/driver/nvidia/gpus/" + address + "/" }

// valueOf returns what stands behind "key:" in a file of such lines, "" where
// there is no such line.
func valueOf(data []byte, key string) string {
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return cleanLine([]byte(v))
		}
	}
	return ""
}

// Container reports whether there are signs that this is a container.
func Container(root string) bool {
	r := rootOf(root)
	if !r.Files() || r.Exists("/dev/dxg") { // WSL has a PID namespace of its own
		return false
	}
	if r.Exists("/.dockerenv") || r.Exists("/run/.containerenv") || r.Exists("/var/run/secrets/kubernetes.io") {
		return true
	}
	initial, err := PIDNamespace(root)
	return err == nil && !initial
}
