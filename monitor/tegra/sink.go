package tegra

import (
	"time"

	"nvtop-lite/monitor"
)

// filling is a sink that fills in from files what NVML does not tell of an
// integrated GPU.
type filling struct {
	monitor.Sink
	*missing
	want monitor.Want
	now  time.Time
}

// missing is what is kept from refresh to refresh of a GPU that NVML has.
type missing struct {
	gpu        gpu
	integrated bool
	// lacks are the readings that NVML did not give when it was asked last: it
	// is not asked each time.
	lacks monitor.Want
}

// begin begins a refresh.
func (f *filling) begin() {
	if !f.integrated {
		return
	}
	f.gpu.look(f.now)
	for i, id := range filled {
		if f.want.Has(id) && f.lacks.Has(id) {
			f.Begin(monitor.Of(id))
			f.Sink.Reading(id, f.gpu.read(i, f.now))
		}
	}
	if f.lacks.Has(monitor.FanPercent) {
		f.gpu.cool(f.want, f.Sink)
	}
	f.Begin(monitor.Want{})
}

func (f *filling) Identity(id monitor.Identity) {
	if f.integrated = id.Integrated; f.integrated {
		f.Sink.Sources("nvml", "tegra")
		f.gpu.look(f.now)
	} else {
		f.Sink.Sources("nvml")
	}
	f.Sink.Identity(id)
}

func (f *filling) Reading(id monitor.ReadingID, r monitor.Reading) {
	i := indexOf(id)
	fans := id == monitor.FanPercent && len(f.gpu.fans) > 0
	if f.integrated && (fans || i >= 0) {
		v, ok := r.Float()
		if v == 0 && (id == monitor.ClockGraphicsMHz || id == monitor.ClockGraphicsMaxMHz) {
			ok = false // without power some drivers say so
		}
		bit := monitor.Of(id).Readings
		f.lacks.Readings &^= bit
		if !ok {
			f.lacks.Readings |= bit
			if fans {
				return // it comes with them
			}
			if file := f.gpu.read(i, f.now); file.Known() || file.Reason != monitor.NotSupported && !r.Known() {
				r = file
			}
		}
	}
	f.Sink.Reading(id, r)
}

func (f *filling) Fans(list []monitor.Fan, st monitor.Status) {
	if f.lacks.Has(monitor.FanPercent) {
		f.gpu.cool(f.want, f.Sink)
		return
	}
	f.Sink.Fans(list, st)
}

// probe hears what a GPU is and in which state, and keeps it for whoever reads the
// GPU first.
type probe struct {
	id    monitor.Identity
	state func(monitor.Sink) // tells it; nil for nothing heard
	busy  bool               // it is being asked
	known bool               // whether it is integrated
	told  bool
}

func (p *probe) Identity(id monitor.Identity) { p.id = id }

func (p *probe) State(st monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	p.state = func(sink monitor.Sink) { sink.State(st, blocked, why, err) }
}

func (*probe) Begin(monitor.Want)                          {}
func (*probe) Call(string)                                 {}
func (*probe) Sources(...string)                           {}
func (*probe) Adapter(*monitor.Adapter)                    {}
func (*probe) Reading(monitor.ReadingID, monitor.Reading)  {}
func (*probe) Fans([]monitor.Fan, monitor.Status)          {}
func (*probe) XIDs([]monitor.XID, monitor.Status)          {}
func (*probe) MIG([]monitor.GPU, monitor.Status)           {}
func (*probe) Processes([]monitor.Process, monitor.Status) {}
