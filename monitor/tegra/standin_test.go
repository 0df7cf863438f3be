package tegra_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/tegra"
)

// standin stands in for NVML. What is not set succeeds and knows no GPU.
type standin struct {
	mu      sync.Mutex
	opened  int
	open    func() error
	devices func() ([]monitor.Device, error)
	read    func(monitor.Device, monitor.Want, monitor.Sink)
	driver  monitor.Driver
}

func (s *standin) set(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
}

// opens is how often it was opened.
func (s *standin) opens() (n int) {
	s.set(func() { n = s.opened })
	return n
}

func (s *standin) Name() string    { return "nvml" }
func (s *standin) LocalPIDs() bool { return true }
func (s *standin) Close()          {}

func (s *standin) Open() error {
	s.mu.Lock()
	s.opened++
	f := s.open
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

func (s *standin) Driver() monitor.Driver {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.driver
}

func (s *standin) Devices() ([]monitor.Device, error) {
	s.mu.Lock()
	f := s.devices
	s.mu.Unlock()
	if f == nil {
		return nil, nil
	}
	return f()
}

func (s *standin) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	s.mu.Lock()
	f := s.read
	s.mu.Unlock()
	if f != nil {
		f(d, want, sink)
	}
}

// gives has the stand-in know GPUs by key, in the order of their numbers, each of
// which answers.
func (s *standin) gives(cards ...*card) {
	byKey := map[string]*card{}
	var list []monitor.Device
	for i, c := range cards {
		list = append(list, monitor.Device{Key: c.key, Index: i})
		c.id.Index = i
		byKey[c.key] = c
	}
	s.set(func() {
		s.devices = func() ([]monitor.Device, error) { return list, nil }
		s.read = func(d monitor.Device, want monitor.Want, sink monitor.Sink) { byKey[d.Key].answer(want, sink) }
	})
}

// card is a GPU as NVML tells of it: what it is, and in which state, once.
type card struct {
	key       string
	told      sync.Once
	id        monitor.Identity
	state     monitor.State
	readings  map[monitor.ReadingID]monitor.Reading
	fans      []monitor.Fan
	processes []monitor.Process
}

func (c *card) answer(want monitor.Want, sink monitor.Sink) {
	c.told.Do(func() {
		sink.Identity(c.id)
		sink.State(c.state, monitor.Known, "", monitor.CallError{})
	})
	for id := range monitor.NumReadings {
		if r, ok := c.readings[id]; ok && want.Has(id) {
			sink.Reading(id, r)
		} else if want.Has(id) {
			sink.Reading(id, monitor.Unknown(monitor.NotSupported))
		}
	}
	if want.HasGroup(monitor.GroupFans) {
		sink.Fans(c.fans, status(c.fans != nil))
	}
	if want.HasGroup(monitor.GroupProcesses) {
		sink.Processes(c.processes, status(c.processes != nil))
	}
}

func status(known bool) monitor.Status {
	if known {
		return monitor.Status{Reason: monitor.Known}
	}
	return monitor.Status{Reason: monitor.NotSupported}
}

// orin is what NVML tells of the integrated GPU of the nvgpu stack.
func orin() *card {
	return &card{key: "igpu", state: monitor.OK, id: monitor.Identity{Name: monitor.OfText("Orin (nvgpu)"), Integrated: true}}
}

// a2000 is a card beside it.
func a2000() *card {
	return &card{
		key: "a2000", state: monitor.OK, id: monitor.Identity{Name: monitor.OfText("NVIDIA RTX A2000"), UUID: monitor.OfText("GPU-a2000")},
		readings: map[monitor.ReadingID]monitor.Reading{monitor.UtilizationPercent: monitor.OfInt(7)},
	}
}

// thorCard is what NVML tells of Thor.
func thorCard(readings map[monitor.ReadingID]monitor.Reading) *card {
	return &card{
		key: "thor", state: monitor.OK, id: monitor.Identity{Name: monitor.OfText("NVIDIA Thor"), Integrated: true}, readings: readings,
		processes: []monitor.Process{},
	}
}

// row is what a sink was told of a GPU.
type row struct {
	mu sync.Mutex
	monitor.GPU
	begun monitor.Want
}

func (r *row) do(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
}

func (r *row) Begin(w monitor.Want)         { r.do(func() { r.begun = w }) }
func (r *row) Call(string)                  {}
func (r *row) Identity(id monitor.Identity) { r.do(func() { r.GPU.Identity = id }) }
func (r *row) Adapter(a *monitor.Adapter)   { r.do(func() { r.GPU.Adapter = a }) }
func (r *row) Sources(names ...string)      { r.do(func() { r.GPU.Sources = names }) }
func (r *row) Fans(l []monitor.Fan, st monitor.Status) {
	r.do(func() { r.GPU.Fans, r.FansStatus = l, st })
}
func (r *row) XIDs(l []monitor.XID, st monitor.Status) {
	r.do(func() { r.GPU.XIDs, r.XIDsStatus = l, st })
}
func (r *row) MIG(l []monitor.GPU, st monitor.Status) {
	r.do(func() { r.GPU.MIG, r.MIGStatus = l, st })
}
func (r *row) Processes(l []monitor.Process, st monitor.Status) {
	r.do(func() { r.GPU.Processes, r.ProcStatus = l, st })
}
func (r *row) Reading(id monitor.ReadingID, v monitor.Reading) {
	r.do(func() { r.Readings[id] = v })
}
func (r *row) State(s monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	r.do(func() { r.GPU.State, r.Blocked, r.StateReason, r.StateErr = s, blocked, why, err })
}

// source is the Source of a machine's tree.
func source(root string, nvml monitor.Source) *tegra.Source {
	h := host.Open(root)
	return tegra.New(h.Root(), h.Platform().SoC.Value, nvml, false)
}

// module is that of a machine's tree.
func module(root string) *tegra.Module { return tegra.NewModule(host.Open(root)) }

// list is what a source lists, opened as by the one who samples it.
func list(t testing.TB, s *tegra.Source) []monitor.Device {
	t.Helper()
	devices, err := s.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// refresh reads everything of a device, into a row of its own.
func refresh(s *tegra.Source, d monitor.Device) *row {
	r := &row{}
	s.Read(d, monitor.Everything, r)
	return r
}

// value is a reading as it shows: its number, or why there is none.
func value(r monitor.Reading) string {
	if v, ok := r.Float(); ok {
		return fmt.Sprint(v)
	}
	return r.Reason.String()
}

// wantValue checks a reading of a row.
func wantValue(t testing.TB, r *row, id monitor.ReadingID, want string) {
	t.Helper()
	if got := value(r.Readings[id]); got != want {
		t.Errorf("%s is %s, want %s", id.Info().Key, got, want)
	}
}

// parts are the parts of a kind by their names, as they show.
func parts(t testing.TB, p monitor.Platform, kind monitor.PartKind) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, part := range p.Parts {
		if part.Kind != kind {
			continue
		}
		if _, twice := all[part.Name]; twice {
			t.Errorf("%s is there twice", part.Name)
		}
		all[part.Name] = value(part.Readings[0])
	}
	return all
}

const (
	second = time.Second
	// between is longer than a source looks for what is missing, and than a
	// module's sensors are kept.
	between = time.Second
)
