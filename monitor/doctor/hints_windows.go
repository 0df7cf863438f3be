package doctor

const (
	askDriver  = "see whether nvidia-smi answers, and what the event log says (source nvlddmkm)"
	askSystem  = "see what the event log says"
	reload     = "reboot"
	notStarted = "see what the Device Manager says of the GPU: an old one may need an older driver, a new one a newer one"
)
