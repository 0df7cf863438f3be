package monitor

// What to do about the driver and its GPUs, on this system.
const (
	HintNoLibrary    = "is the NVIDIA driver installed? nvml.dll comes with it; --nvml PATH names one elsewhere"
	HintNotLoaded    = "see what the Device Manager says of the GPU; install the driver anew"
	HintMismatch     = "reboot, so that the new driver is used"
	HintNoGPU        = "see in the Device Manager whether the GPU is there, is on and has NVIDIA's driver"
	HintNoPermission = "try it in a prompt of the administrator"
	HintLost         = "turn it off and on in the Device Manager, or reboot; the event log says more (source nvlddmkm)"
	HintHangs        = "it may hang: see whether nvidia-smi answers, and the event log (source nvlddmkm)"
	HintSlow         = "give it more time (--timeout), or see whether nvidia-smi answers"
	HintProcesses    = "no more processes or threads may be started: see how much memory is left, and the limits of the job that it runs in"
	HintRights       = "rights of this account?"
	HintDriver       = "see whether nvidia-smi works, and what the event log says (source nvlddmkm)"
	LibraryName      = "nvml.dll"
)
