package monitor

import "math"

// Platform is the kind of machine, and what is measured of a module as a whole.
type Platform struct {
	Kind       string // server, jetson, spark, grace, wsl or unknown
	Model      Text
	SoC        Text
	L4T        Text
	JetPack    Text
	PowerMode  Text                 // of nvpmodel
	Governor   Text                 // that chooses the clock of the integrated GPU
	Parts      []Part               // in the order of their kinds
	Closed     [NumPartKinds]Reason // why the parts of a kind are not known; NotSampled where they are
	EMCMHz     Reading              // clock of the memory controller
	EMCPercent Reading              // its load
}

// PartKind is what a part of a module is.
type PartKind uint8

// The kinds, in the order of their lists in JSON.
const (
	Rail          PartKind = iota // a power rail
	Engine                        // an engine beside the GPU, such as a video encoder
	ThrottleAlert                 // what tells that a part of the module is slowed down
	OverCurrent                   // a counter of times that too much current flowed
	NumPartKinds
)

// Where the readings of a part stand in Part.Readings, by its kind.
const (
	RailPower = 0 // mW

	EngineOn    = 0 // whether its clock runs
	EngineClock = 1 // MHz
	EngineLoad  = 2 // %

	AlertState = 0 // 0: nothing is slowed down

	OverCurrentEvents = 0 // since the machine was booted

	maxPartReadings = 3
)

// AlertSuffix is how the names of throttle alerts end, behind what is slowed down.
const AlertSuffix = "-throttle-alert"

// Part is one of several things of a kind that a module has.
type Part struct {
	Kind     PartKind
	Name     string // the system's own: the label of a rail
	Scope    string // of a rail: gpu where it feeds the GPU alone, input where it feeds everything, else shared
	Readings [maxPartReadings]Reading
}

// PartInfo describes the parts of a kind.
type PartInfo struct {
	Key      string // of their list in JSON
	Readings []PartReading
}

// PartReading describes a reading of a part.
type PartReading struct {
	Key  string // JSON key
	Unit string
	Kind Kind
}

var partInfos = [NumPartKinds]PartInfo{
	Rail:          {"rails", []PartReading{{"power_mw", "mW", Number}}},
	Engine:        {"engines", []PartReading{{"on", "", Flag}, {"clock_mhz", "MHz", Number}, {"percent", "%", Number}}},
	ThrottleAlert: {"throttle_alerts", []PartReading{{"state", "", Integer}}},
	OverCurrent:   {"overcurrent", []PartReading{{"events", "", Integer}}},
}

// Info returns the description of the parts of kind k.
func (k PartKind) Info() *PartInfo { return &partInfos[k] }

func (p *Platform) texts() [6]*Text {
	return [...]*Text{&p.Model, &p.SoC, &p.L4T, &p.JetPack, &p.PowerMode, &p.Governor}
}

func samePlatform(a, b *Platform) bool {
	return a.Kind == b.Kind && a.Model == b.Model && a.SoC == b.SoC && a.L4T == b.L4T &&
		a.JetPack == b.JetPack && a.PowerMode == b.PowerMode && a.Governor == b.Governor
}

// IsClosed returns whether it is not known which parts of a kind there are, and
// why.
func (p *Platform) IsClosed(k PartKind) (why Reason, closed bool) {
	why = p.Closed[k]
	return why, why != NotSampled && why != Known
}

// Power returns what the module takes: what flows into it, where that is
// measured, else the sum of its rails, which is an estimate: some of it may be
// measured twice, and some not at all. It is not_supported where there are no
// rails.
func (p *Platform) Power() Reading {
	if why, closed := p.IsClosed(Rail); closed {
		return Unknown(why)
	}
	total, sum := Unknown(NotSupported), 0.0
	missing := Known
	for i := range p.Parts {
		r := &p.Parts[i]
		if r.Kind != Rail {
			continue
		}
		total = r.Readings[RailPower]
		if r.Scope == "input" {
			return total
		}
		if mw, ok := total.Float(); ok {
			sum += mw
		} else {
			missing = total.Reason
		}
	}
	switch {
	case missing != Known:
		return Unknown(missing)
	case total.Known():
		total = OfFloat(math.Round(sum*1e3) / 1e3)
		total.Provenance = Estimated
	}
	return total
}

// Meter gives an integrated GPU whose driver does not tell its power that of
// the rail that feeds it alone.
func (p *Platform) Meter(g *GPU) {
	if !g.Integrated || g.State != OK || g.Readings[PowerMW].Known() {
		return
	}
	for i := range p.Parts {
		if r := &p.Parts[i]; r.Kind == Rail && r.Scope == "gpu" {
			g.Readings[PowerMW] = r.Readings[RailPower]
			return
		}
	}
}

// Outside is what stands for the name of a process of another PID namespace. On
// WSL it is one of Windows or of another distribution.
func (p *Platform) Outside() string {
	if p.Kind == "wsl" {
		return "(outside WSL)"
	}
	return "(outside this container)"
}
