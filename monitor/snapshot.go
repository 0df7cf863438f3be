package monitor

import "time"

// State is the state of a GPU.
type State uint8

// The states, in the words of the JSON output.
const (
	Initialising State = iota // being opened; the zero value, since nothing was read yet
	OK
	Stale       // the refresh now due is 2 s overdue
	Lost        // off the bus, or in need of a reset
	Sleeping    // not woken
	Unavailable // could not be opened
	numStates
)

var stateWords = [numStates]string{"initialising", "ok", "stale", "lost", "asleep", "unavailable"}

// String returns the word used in JSON.
//
//go:noinline
func (s State) String() string {
	if s < numStates {
		return stateWords[s]
	}
	return "unavailable"
}

// None stands for an absent index or instance id.
const None = -1

// Identity is what a GPU is, as far as it is known.
type Identity struct {
	Index             int // the driver's, None when it has none
	UUID              Text
	PCIBusID          Text
	Name              Text
	Architecture      Text // lower case, such as hopper
	Serial            Text
	DriverModel       string // of Windows' driver: wddm, tcc, mcdm or unknown; "" elsewhere
	Integrated        bool
	MemoryUnified     bool   // its memory is the host's
	GPUInstanceID     int    // MIG instances only, else None
	ComputeInstanceID int    // MIG instances only, else None
	Profile           string // of a MIG instance, such as 1g.10gb
	ParentUUID        string // of a MIG instance
}

// GPU is one GPU, or one MIG instance, at one time.
type GPU struct {
	Identity
	State       State
	StateReason string    // in words, "" where the state says all
	Blocked     Reason    // why nothing can be measured, when Unavailable
	StateErr    CallError // the call that brought the state about, if one did
	StateSince  int64     // as Reading.At: when the state began; 0 unknown
	Refreshed   int64     // as Reading.At: when the last complete refresh ended; 0 never
	Call        string    // the call in progress, "" when there is none
	CallSince   int64     // as Reading.At: since when
	Sources     []string  // nvml, tegra, wddm, demo
	Readings    [NumReadings]Reading
	Adapter     *Adapter // nil where Windows does not manage the memory
	Fans        []Fan
	FansStatus  Status
	XIDs        []XID
	XIDsStatus  Status
	MIG         []GPU
	MIGStatus   Status
	Health      []Health
	Processes   []Process
	ProcStatus  Status
}

// Unmeasured returns why nothing can be measured in the GPU's state, Known
// where readings speak for themselves.
func (g *GPU) Unmeasured() Reason {
	switch g.State {
	case Lost:
		return GPULost
	case Sleeping:
		return Asleep
	case Unavailable:
		return Unknown(g.Blocked).Reason
	}
	return Known
}

// Fan is one fan of a GPU.
type Fan struct {
	Index         int
	Percent       Reading // the speed intended; above 100 is legal
	RPM           Reading
	TargetPercent Reading
}

// XID is an Xid error that was seen.
type XID struct {
	Time              int64 // ns since 1970
	Code              int
	Source            string // event or kernel_log
	GPUInstanceID     int    // None where it is about the whole GPU
	ComputeInstanceID int    // likewise
}

// Level is how much a health finding matters.
type Level uint8

// The levels, in rising order.
const (
	Info Level = iota
	Warn
	Critical
)

// String returns the word used in JSON.
func (l Level) String() string {
	switch l {
	case Critical:
		return "critical"
	case Warn:
		return "warning"
	}
	return "info"
}

// Health is one finding about a GPU.
type Health struct {
	Code  string // such as pcie_width
	Text  string // the one wording used in every output
	Level Level
}

// ProcessTypes is a set of the ways in which a process uses a GPU.
type ProcessTypes uint8

// The types.
const (
	Compute ProcessTypes = 1 << iota
	Graphics
	MPS
)

// Namespace says whether a PID can be looked up here.
type Namespace uint8

// The words: a PID whose process is here, one of another PID namespace, and
// one about which nothing is known.
const (
	NamespaceUnknown Namespace = iota
	NamespaceSame
	NamespaceOutside
)

// String returns the word used in JSON.
func (n Namespace) String() string {
	switch n {
	case NamespaceSame:
		return "same"
	case NamespaceOutside:
		return "outside"
	}
	return "unknown"
}

// Process is one process on one GPU.
type Process struct {
	PID               uint32
	Types             ProcessTypes
	Namespace         Namespace
	GPUInstanceID     int     // None when it belongs to no MIG instance
	ComputeInstanceID int     // None when it belongs to no MIG instance
	GPUMemoryBytes    Reading // on this GPU
	NonLocalBytes     Reading // of the host, used through this GPU and in none of its figures; zero where it does not apply
	SMPercent         Reading
	EncoderPercent    Reading
	DecoderPercent    Reading
	StartTicks        Reading // clock ticks after boot (/proc/PID/stat field 22); with the PID the process's identity
	StartTime         Reading // ns since 1970
	Name              Text
	Command           Text
	User              Text
	CPUPercent        Reading // of one core
	HostMemoryBytes   Reading
	Container         Container
	Job               Job
	Unit              Text // the systemd service it belongs to; known and "" is none
}

// Container says in which container a process runs. An empty ID with reason
// Known means: in none.
type Container struct {
	Runtime string
	ID      string
	PodUID  string
	Reason  Reason
}

// Job says to which batch job a process belongs. An empty ID with reason Known
// means: to none.
type Job struct {
	Scheduler string
	ID        string
	Step      string
	Reason    Reason
}

// Host is the machine.
type Host struct {
	_                    [0]func() // not comparable: that makes the program 1 kB larger
	Hostname             Text
	OS, Arch             string
	BootID               Text
	CPUPercent           Reading // of all cores together
	MemoryTotalBytes     Reading
	MemoryAvailableBytes Reading
	HugePagesTotalBytes  Reading // memory set aside for huge pages, which is not available to others
	HugePagesFreeBytes   Reading // what of that nobody uses
}

// Driver is the driver and its library.
type Driver struct {
	Version     Text
	CUDAVersion Text
	NVMLVersion Text
	Library     Text // path
}

// Warning is something about the program itself that the user should know.
type Warning struct {
	Code string
	Text string
}

// Snapshot is everything known at one time.
type Snapshot struct {
	Time        time.Time
	Steady      int64         // the same moment on the clock of Reading.At
	Interval    time.Duration // between refreshes
	Source      string        // live, demo or replay
	Waiting     string        // why there is no GPU yet, "" when not waiting
	WaitingHint string        // what to do about it, "" where nothing is known
	Host        Host
	Driver      Driver
	Platform    Platform
	GPUs        []GPU
	Warnings    []Warning
}

// Age returns how old something measured at is, 0 when it was never measured.
func (s *Snapshot) Age(at int64) time.Duration {
	if at == 0 || at > s.Steady {
		return 0
	}
	return time.Duration(s.Steady - at)
}
