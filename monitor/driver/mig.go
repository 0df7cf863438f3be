package driver

import (
	"errors"
	"slices"
	"strings"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// migState is what a device keeps of its MIG mode and instances.
type migState struct {
	known   bool // enabled was read once
	enabled bool
	err     error     // why the mode is not known
	at      time.Time // when it was read
	none    gate      // shut while there is no MIG

	list     []*instance
	listedAt time.Time // zero: to be listed anew
}

// instance is what a device keeps of one MIG instance.
type instance struct {
	dev  nvml.Device
	id   monitor.Identity
	err  error // why it has no handle
	gpm  gpmState
	none listGates

	listed bool // its own list of processes was read
}

func migMode(r *round) {
	r.readMIGMode()
	r.take(monitor.MIGEnabled, monitor.OfFlag(r.mig.enabled), r.mig.err)
}

// readMIGMode reads whether MIG is on, once a refresh.
func (r *round) readMIGMode() {
	m := &r.mig
	if m.at.Equal(r.now) {
		return
	}
	if m.err = m.none.shut(r.now); m.err != nil {
		return
	}
	r.sink.Begin(monitor.Of(monitor.MIGEnabled).With(monitor.GroupMIG))
	now, _, err := r.dev.MigMode()
	r.sink.Begin(r.gives)
	m.at, m.err = r.now, err
	m.none.note(err, r.now)
	if err != nil {
		return
	}
	if m.known && now != m.enabled {
		r.modeChanged()
	}
	m.known, m.enabled = true, now
}

// modeChanged asks all that was refused again: with MIG other things are
// supported than without.
func (r *round) modeChanged() {
	for i, stopped := range r.stopped {
		if stopped {
			r.stopped[i], r.due[i] = false, time.Time{}
		}
	}
	r.gpm.free()
	r.gpm = gpmState{}
	r.mig.free()
	r.mig.list, r.mig.listedAt = nil, time.Time{}
	r.procs = procState{raw: r.procs.raw, lists: r.procs.lists}
	r.pcie.none, r.nvlink.none, r.fans = gate{}, gate{}, fanState{}
}

// migInstances lists the instances of a GPU, each with its memory, its
// processes, and its activity where the chip counts that.
func migInstances(r *round) {
	m := &r.mig
	if !m.enabled && (m.at.IsZero() || r.now.Sub(m.at) >= slow-slack) || m.err != nil {
		r.readMIGMode()
	}
	st := monitor.Status{Reason: monitor.Known, At: r.src.steady(m.at)}
	switch {
	case m.err != nil:
		r.failMIG(m.err)
		return
	case !m.enabled:
		r.answered, r.cached = true, !m.at.Equal(r.now)
		r.sink.MIG([]monitor.GPU{}, st)
		return
	}
	r.again = second
	again := m.listedAt.IsZero() || r.now.Sub(m.listedAt) >= slow-slack || r.all
	if again {
		if err := r.listInstances(); err != nil {
			r.failMIG(err)
			return
		}
	}
	list, stale := r.readInstances()
	if stale && !again { // some were made anew
		if err := r.listInstances(); err != nil {
			r.failMIG(err)
			return
		}
		list, stale = r.readInstances()
	}
	if stale {
		m.listedAt = time.Time{}
	}
	st.At = r.src.steady(r.now)
	r.answered, r.cached = true, true // what an instance answers was heard
	r.sink.MIG(list, st)
}

func (r *round) failMIG(err error) {
	r.mig.listedAt = time.Time{}
	st := status(err)
	r.note(st.Reason, err)
	r.sink.MIG(nil, st)
}

// listInstances finds out which instances there are. What cannot change is
// asked only of new ones.
func (r *round) listInstances() error {
	var list []*instance
	for dev, err := range r.dev.MIGDevices() {
		var gap *nvml.DeviceError
		switch {
		case err != nil && (!errors.As(err, &gap) || isRefused(err)):
			return err // the whole list, or MIG is off by now
		case err != nil:
			in := &instance{id: r.unidentified(), err: err}
			in.id.UUID = text("", err)
			in.id.Name = in.id.UUID
			list = append(list, in)
			continue
		}
		dev = dev.In(r.session)
		uuid := text(dev.UUID())
		at := slices.IndexFunc(r.mig.list, func(in *instance) bool { return uuid.Known() && in.id.UUID == uuid })
		if at >= 0 {
			in := r.mig.list[at]
			in.dev = dev
			list = append(list, in)
			continue
		}
		list = append(list, r.newInstance(dev, uuid))
	}
	for _, in := range r.mig.list {
		if !slices.Contains(list, in) {
			in.gpm.free()
		}
	}
	r.mig.list, r.mig.listedAt = list, r.now
	return nil
}

// unidentified is what is known of every instance.
func (r *round) unidentified() monitor.Identity {
	return monitor.Identity{
		Index: monitor.None, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None, ParentUUID: r.id.UUID.Value,
		PCIBusID: r.id.PCIBusID, Architecture: r.id.Architecture, Serial: r.id.Serial,
	}
}

func (r *round) newInstance(dev nvml.Device, uuid monitor.Text) *instance {
	in := &instance{dev: dev, id: r.unidentified()}
	in.id.UUID = uuid
	in.id.Name = text(dev.Name())
	if _, profile, ok := strings.Cut(in.id.Name.Value, "MIG "); ok {
		in.id.Profile = profile
	}
	if id, err := dev.GpuInstanceId(); err == nil {
		in.id.GPUInstanceID = instanceID(id)
	}
	if id, err := dev.ComputeInstanceId(); err == nil {
		in.id.ComputeInstanceID = instanceID(id)
	}
	return in
}

// readInstances reads all instances; stale says that some of them are not what
// was listed any more.
func (r *round) readInstances() (list []monitor.GPU, stale bool) {
	list = make([]monitor.GPU, len(r.mig.list))
	for i, in := range r.mig.list {
		gone := r.readInstance(in, &list[i])
		stale = stale || gone
	}
	return list, stale
}

// readInstance reads one instance.
func (r *round) readInstance(in *instance, g *monitor.GPU) (stale bool) {
	at := r.src.steady(r.now)
	*g = monitor.GPU{Identity: in.id, State: monitor.OK, Sources: []string{r.src.Name()}, Refreshed: at}
	in.listed = false
	none := monitor.Status{Reason: monitor.NotSupported}
	g.FansStatus, g.XIDsStatus, g.MIGStatus = none, none, none
	if in.err != nil {
		g.State = monitor.Unavailable
		g.Blocked, g.StateErr = failure(in.err)
		g.StateReason = "cannot be opened: " + code(in.err).Error()
		g.ProcStatus = status(in.err)
		for id := range monitor.NumReadings {
			g.Readings[id] = monitor.Failed(g.Blocked, g.StateErr)
		}
		return false
	}
	for id := range monitor.NumReadings {
		g.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	set := func(id monitor.ReadingID, v monitor.Reading) {
		v = id.Range().Check(v)
		v.At = at
		g.Readings[id] = v
	}
	set(monitor.MIGEnabled, monitor.OfFlag(true))
	m, err := in.dev.MemoryInfo()
	switch code(err) {
	case nvml.ErrInvalidArgument, nvml.ErrNotFound, nvml.ErrUnknown:
		stale = true // as a handle answers whose instance is gone
	}
	if err != nil {
		r.note(reason(code(err)), err)
	} else {
		r.heard()
	}
	for i, v := range memoryReadings(m) {
		set(memoryIDs[i], reading(v, err))
	}
	in.gpm.read(in.dev, r.now, r.all)
	for i, id := range activityIDs {
		set(id, in.gpm.value(i, share))
	}
	total, _ := g.Readings[monitor.MemoryTotalBytes].Int()
	g.Processes, err = r.readProcesses(in.dev, &in.none, uint64(total))
	in.listed = err == nil
	g.ProcStatus = status(err)
	g.ProcStatus.At = at
	for i := range g.Processes {
		p := &g.Processes[i]
		p.GPUInstanceID, p.ComputeInstanceID = in.id.GPUInstanceID, in.id.ComputeInstanceID
		none := monitor.Unknown(monitor.NotSupported)
		p.SMPercent, p.EncoderPercent, p.DecoderPercent = none, none, none
	}
	return stale
}

// without leaves out the processes that stand in an instance.
func (m *migState) without(list []monitor.Process) []monitor.Process {
	kept := make([]monitor.Process, 0, len(list))
	for i := range list {
		if !m.holds(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// holds reports whether a process stands in an instance whose list was read.
func (m *migState) holds(p *monitor.Process) bool {
	return p.GPUInstanceID != monitor.None && slices.ContainsFunc(m.list, func(in *instance) bool {
		return in.listed && in.id.GPUInstanceID == p.GPUInstanceID &&
			(p.ComputeInstanceID == monitor.None || in.id.ComputeInstanceID == p.ComputeInstanceID)
	})
}

// free gives the samples of all instances back.
func (m *migState) free() {
	for _, in := range m.list {
		in.gpm.free()
	}
}
