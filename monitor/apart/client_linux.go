package apart

// programFile is this program, whatever became of the file it was started from.
func programFile() string { return "/proc/self/exe" }
