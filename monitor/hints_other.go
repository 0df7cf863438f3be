//go:build !windows

package monitor

// What to do about the driver and its GPUs, on this system.
const (
	HintNoLibrary    = "is the NVIDIA driver installed? in a container: is it passed through (--gpus all)? --nvml PATH names a library elsewhere"
	HintNotLoaded    = "load it (modprobe nvidia), or reboot after installing it; dmesg says why it does not load"
	HintMismatch     = "reboot, or unload and load the nvidia kernel modules, so that the new driver is used"
	HintNoGPU        = "check that the GPU is plugged in and bound to the nvidia driver (lspci -k)"
	HintNoPermission = "see who may open /dev/nvidiactl and /dev/nvidia0, and whether a container or a cgroup forbids it"
	HintLost         = "reset it (nvidia-smi --gpu-reset) or reboot; dmesg says more"
	HintHangs        = "it may hang: see whether nvidia-smi answers, and the kernel log (dmesg)"
	HintSlow         = "give it more time (--timeout), or see whether nvidia-smi answers, and what dmesg says"
	HintProcesses    = "no more processes or threads may be started: see ulimit -u, and the limit of PIDs of a container"
	HintRights       = "cgroup or rights of /dev/nvidia*?"
	HintDriver       = "see whether nvidia-smi works, and what dmesg says of the driver"
	LibraryName      = "libnvidia-ml.so.1"
)
