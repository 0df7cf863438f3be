//go:build !windows

package doctor

const (
	askDriver  = "see whether nvidia-smi answers, and what dmesg says of NVRM and Xid"
	askSystem  = "see what dmesg says"
	reload     = "reboot; or end what uses the GPUs, then unload and load the modules: modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia"
	notStarted = "see what dmesg says of NVRM: an old GPU may need an older driver, a new one a newer one or the open kernel modules"
)
