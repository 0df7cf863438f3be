package wddm

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/monitor"
)

// machine stands in for NVML and for Windows. NVML knows GPUs by key, with the
// processes of each, of which it knows no memory and no load unless a test says so.
type machine struct {
	cards     map[string]monitor.Identity
	processes map[string][]monitor.Process

	counters      [numCounters]list
	adapters      []adapter
	unlisted      monitor.Reading // why there are no adapters
	stale         bool            // there are others
	asked, listed int
	hang          chan struct{}    // the call that hangs waits for
	hangs         string           // that call
	still         bool             // nothing is compared
	total, used   *monitor.Reading // of the memory, as NVML tells them; nil: as it is
}

func newMachine() *machine {
	return &machine{
		cards: map[string]monitor.Identity{
			"a": identity("00000000:01:00.0", "NVIDIA GeForce RTX 4090"),
			"b": identity("00000000:41:00.0", "NVIDIA GeForce RTX 4090"),
		},
		processes: map[string][]monitor.Process{"a": {process(4242), process(9540)}, "b": {process(4242)}},
		counters: [numCounters]list{
			localMemory: {failed: fine, values: []value{
				{"pid_4242" + on, 4096, valid}, {"pid_9540" + on, 8192, valid}, {"pid_4242" + other, 1 << 30, valid},
				{"pid_4242_luid_0x00000000_0x00000077_phys_0", 12288, valid}, // on the processor's own GPU
			}},
			nonLocalMemory: {failed: fine, values: []value{
				{"pid_4242" + on, 256, valid}, {"pid_9540" + on, 0, valid}, {"pid_4242" + other, 1 << 20, valid},
			}},
			engineLoad: {failed: fine, values: []value{
				{"pid_4242" + on + "_eng_0_engtype_3D", 12.5, valid},
				{"pid_4242" + on + "_eng_5_engtype_VideoEncode", 7, valid},
				{"pid_4242" + on + "_eng_7_engtype_VideoDecode", 30, valid},
				{"pid_4242" + other + "_eng_0_engtype_Compute_0", 99, valid},
			}},
			dedicatedMemory: {failed: fine, values: []value{{onAdapter, 3 << 30, valid}, {otherAdapter, 4 << 30, valid}}},
			sharedMemory:    {failed: fine, values: []value{{onAdapter, 1 << 20, valid}, {otherAdapter, 2 << 20, valid}}},
		},
		adapters: []adapter{
			{id: 0x77, name: "Intel(R) UHD Graphics 770", vendor: 0x8086, located: true, slot: 2},
			{id: big, name: "NVIDIA GeForce RTX 4090", vendor: nvidia, device: 0x2684, located: true, bus: 1, dedicated: 24 << 30, shared: 32 << 30},
			{id: small, name: "NVIDIA GeForce RTX 4090", vendor: nvidia, device: 0x2684, located: true, bus: 0x41, dedicated: 24 << 30, shared: 32 << 30},
		},
		unlisted: fine,
	}
}

func identity(bus, name string) monitor.Identity {
	return monitor.Identity{PCIBusID: monitor.OfText(bus), Name: monitor.OfText(name)}
}

var notSupported = monitor.Unknown(monitor.NotSupported)

func process(pid uint32) monitor.Process {
	return monitor.Process{
		PID: pid, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
		GPUMemoryBytes: notSupported, SMPercent: notSupported, EncoderPercent: notSupported, DecoderPercent: notSupported,
	}
}

func (*machine) Name() string           { return "nvml" }
func (*machine) Open() error            { return nil }
func (*machine) Driver() monitor.Driver { return monitor.Driver{} }
func (*machine) LocalPIDs() bool        { return true }
func (*machine) Close()                 {}

func (m *machine) Devices() (list []monitor.Device, err error) {
	for key := range m.cards {
		list = append(list, monitor.Device{Key: key, Index: int(key[0] - 'a')})
	}
	return list, nil
}

func (m *machine) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	sink.Identity(m.cards[d.Key])
	if m.used == nil {
		sink.Reading(monitor.MemoryUsedBytes, monitor.OfInt(5<<30))
	} else {
		sink.Reading(monitor.MemoryTotalBytes, *m.total)
		sink.Reading(monitor.MemoryUsedBytes, *m.used)
	}
	sink.Processes(m.processes[d.Key], monitor.Status{Reason: monitor.Known})
}

// calls makes a call.
func (m *machine) calls(calls calling, function string) {
	calls(function)
	if function == m.hangs {
		<-m.hang
	}
}

func (m *machine) read(calls calling) [numCounters]list {
	m.asked++
	for _, function := range []string{"PdhOpenQueryW", "PdhAddEnglishCounterW", "PdhCollectQueryData", "PdhGetFormattedCounterArrayW"} {
		m.calls(calls, function)
	}
	return m.counters
}

func (m *machine) list(calls calling) ([]adapter, monitor.Reading) {
	m.calls(calls, "CreateDXGIFactory1")
	m.listed++
	m.stale = false
	return slices.Clone(m.adapters), m.unlisted
}

func (m *machine) current(calling) bool { return !m.stale }

// row is what a user sees of a GPU.
type row struct {
	monitor.Sink
	gpu monitor.GPU
}

func (*row) Call(string)                                       {}
func (r *row) Identity(id monitor.Identity)                    { r.gpu.Identity = id }
func (r *row) Sources(names ...string)                         { r.gpu.Sources = names }
func (r *row) Reading(id monitor.ReadingID, v monitor.Reading) { r.gpu.Readings[id] = v }
func (r *row) Adapter(a *monitor.Adapter)                      { r.gpu.Adapter = a }
func (r *row) Processes(list []monitor.Process, st monitor.Status) {
	r.gpu.Processes, r.gpu.ProcStatus = list, st
}

// refresh reads all GPUs and returns what shows of each process: memory, that of the
// host, load, encoder and decoder; as "sources of" a GPU who told, and as "adapter of" it
// what Windows counts.
func (m *machine) refresh(t *testing.T, s *Source) map[string]string {
	t.Helper()
	devices, err := s.Devices()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, d := range devices {
		all.Go(func() {
			r := m.read1(s, d)
			mu.Lock()
			defer mu.Unlock()
			if m.still {
				return
			}
			if used, ok := r.gpu.Readings[monitor.MemoryUsedBytes].Int(); !ok || used != 5<<30 {
				t.Errorf("the GPU's own memory is %v", r.gpu.Readings[monitor.MemoryUsedBytes])
			}
			got["sources of "+d.Key] = strings.Join(r.gpu.Sources, " ")
			got["adapter of "+d.Key] = counted(r.gpu.Adapter)
			for _, p := range r.gpu.Processes {
				got[d.Key+" "+map[uint32]string{4242: "game", 9540: "dwm"}[p.PID]] = told(&p)
			}
		})
	}
	all.Wait()
	return got
}

func (m *machine) read1(s *Source, d monitor.Device) *row {
	r := &row{}
	s.Read(d, monitor.Everything, r)
	return r
}

// told is what is told of a process: its memory, that of the host, load, encoder and
// decoder, each with the call to blame.
func told(p *monitor.Process) string {
	host := "-" // it does not apply
	if p.NonLocalBytes != (monitor.Reading{}) {
		host = blamed(p.NonLocalBytes)
	}
	return blamed(p.GPUMemoryBytes) + ", " + host + ", " + blamed(p.SMPercent, p.EncoderPercent, p.DecoderPercent)
}

// counted is what Windows counts of a GPU.
func counted(a *monitor.Adapter) string {
	if a == nil {
		return "nothing"
	}
	return blamed(a[:]...)
}

func blamed(list ...monitor.Reading) string {
	var all []string
	for _, r := range list {
		s := show(r)
		if by := r.Err.Function(); by != "" {
			s += " by " + by
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func (m *machine) source() *Source { return newSource(m, m, m) }

func wantRows(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s:\n%v, want\n%v", when, got, want)
	}
}

var failing = strings.TrimSuffix(strings.Repeat("driver_error by CreateDXGIFactory1, ", 5), ", ")

const unknown = "not_supported, -, not_supported, not_supported, not_supported"

// Of what Windows counts, sizes are those of DXGI.
const (
	sizes    = "25769803776, "
	both     = sizes + "3221225472, 34359738368, 1048576"
	bothOfB  = sizes + "4294967296, 34359738368, 2097152"
	inferred = "25769803776 inferred, 3221225472 inferred, 34359738368 inferred, 1048576 inferred"
)

// inDXGI is what shows of the machine as it is.
func inDXGI() map[string]string {
	return map[string]string{
		"sources of a": "nvml wddm", "sources of b": "nvml wddm", "adapter of a": both, "adapter of b": bothOfB,
		"a game": "4096, 256, 30 estimated, 7, 30",
		"a dwm":  "8192, 0, not_found, not_found, not_found",
		"b game": "1073741824, 1048576, 99 estimated, not_supported, not_supported",
	}
}

func TestSource(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *machine)
		want   map[string]string // other than inDXGI
	}{
		{"two equal cards", func(*machine) {}, nil},
		{"what NVML tells stands", func(m *machine) {
			p := process(4242)
			p.GPUMemoryBytes, p.SMPercent = monitor.OfInt(77), monitor.OfInt(5)
			m.processes["b"] = []monitor.Process{p}
			p = process(4242)
			p.SMPercent, p.EncoderPercent = monitor.OfInt(6), monitor.Unknown(monitor.NotFound)
			m.processes["a"][0] = p
		}, map[string]string{"b game": "77, 1048576, 5, not_supported, not_supported", "a game": "4096, 256, 6, 7, 30"}},
		{"a GPU that is none of DXGI's", func(m *machine) { m.adapters = m.adapters[:2] }, unmanaged("b")},
		{"a GPU under MCDM", func(m *machine) {
			m.adapters = m.adapters[:2]
			m.model("b", "mcdm")
			m.processes["b"][0].GPUMemoryBytes = monitor.OfInt(99)
		}, with(unmanaged("b"), "b game", "99, -, not_supported, not_supported, not_supported")},
		{"a GPU under TCC, of whose process NVML has all ones", func(m *machine) { m.model("b", "tcc") }, unmanaged("b")},
		{"equal cards, of which one is under MCDM and none has a place", func(m *machine) {
			m.adapters[1].located, m.adapters = false, m.adapters[:2]
			m.model("b", "mcdm")
		}, with(unmanaged("b"), "adapter of a", inferred, "a game", "4096 inferred, 256 inferred, 30 estimated, 7 inferred, 30 inferred",
			"a dwm", "8192 inferred, 0 inferred, not_found, not_found, not_found")},
		{"a GPU under WDDM that is none of DXGI's", func(m *machine) {
			m.adapters = m.adapters[:2]
			m.model("b", "wddm")
		}, unmanaged("b")},
		{"an instance of MIG", func(m *machine) { m.processes["b"][0].GPUInstanceID = 1 }, map[string]string{"b game": unknown}},
		{"one of several in an instance of MIG", func(m *machine) { m.processes["a"][0].GPUInstanceID = 1 }, map[string]string{"a game": unknown}},
		{"no process", func(m *machine) { m.processes["b"] = nil }, map[string]string{"b game": ""}},
		{"a process that Windows does not know yet", func(m *machine) {
			for _, i := range []int{localMemory, nonLocalMemory} {
				m.counters[i].values = m.counters[i].values[1:]
			}
			m.counters[engineLoad].values = m.counters[engineLoad].values[3:]
		}, map[string]string{"a game": "not_found, not_found, not_found, not_found, not_found"}},
		{"what NVML doubts stays so where Windows knows nothing", func(m *machine) {
			m.counters[localMemory].values = m.counters[localMemory].values[1:]
			m.processes["a"][0].GPUMemoryBytes = monitor.Unknown(monitor.Implausible)
			m.processes["b"][0].GPUMemoryBytes = monitor.Unknown(monitor.Implausible)
		}, map[string]string{"a game": "implausible, 256, 30 estimated, 7, 30"}},
		{"the first look", func(m *machine) {
			m.counters[engineLoad] = list{failed: noValidData.failed("PdhGetFormattedCounterArrayW")}
		}, map[string]string{
			"a game": "4096, 256, not_sampled, not_sampled, not_sampled", "b game": "1073741824, 1048576, not_sampled, not_sampled, not_sampled",
			"a dwm": "8192, 0, not_sampled, not_sampled, not_sampled",
		}},
		{"no counter of engines", func(m *machine) { m.counters[engineLoad] = list{failed: noCounter.failed("PdhAddEnglishCounterW")} }, map[string]string{
			"a game": "4096, 256, not_supported, not_supported, not_supported", "b game": "1073741824, 1048576, not_supported, not_supported, not_supported",
			"a dwm": "8192, 0, not_supported, not_supported, not_supported",
		}},
		{"a refusal", func(m *machine) {
			for _, i := range []int{localMemory, nonLocalMemory, sharedMemory} {
				m.counters[i] = list{failed: pdhDenied.failed("PdhCollectQueryData")}
			}
		}, map[string]string{
			"a game": refused + ", " + refused + ", 30 estimated, 7, 30", "b game": refused + ", " + refused + ", 99 estimated, not_supported, not_supported",
			"a dwm":        refused + ", " + refused + ", not_found, not_found, not_found",
			"adapter of a": sizes + "3221225472, 34359738368, " + refused, "adapter of b": sizes + "4294967296, 34359738368, " + refused,
		}},
		{"no DXGI", func(m *machine) { m.adapters, m.unlisted = nil, dxgiNoSupport.failed("CreateDXGIFactory1") }, with(unmanaged("a", "b"),
			"a game", noDXGI, "b game", noDXGI, "a dwm", noDXGI)},
		{"no DXGI, under WDDM", func(m *machine) {
			m.adapters, m.unlisted = nil, dxgiNoSupport.failed("CreateDXGIFactory1")
			m.model("a", "wddm")
		}, with(unmanaged("a", "b"), "a game", noDXGI, "b game", noDXGI, "a dwm", noDXGI,
			"adapter of a", strings.TrimSuffix(strings.Repeat("not_supported by CreateDXGIFactory1, ", 4), ", "))},
		{"DXGI fails", func(m *machine) { m.adapters, m.unlisted = nil, status(0x887A0005).failed("CreateDXGIFactory1") }, with(unmanaged("a", "b"),
			"a game", failing, "b game", failing, "a dwm", failing)},
		{"different cards, of which one has no place", func(m *machine) {
			m.cards["b"] = identity("00000000:41:00.0", "NVIDIA RTX A2000")
			m.adapters[2].name, m.adapters[2].located = "NVIDIA RTX A2000", false
		}, map[string]string{
			"b game":       "1073741824 inferred, 1048576 inferred, 99 estimated, not_supported, not_supported",
			"adapter of b": "25769803776 inferred, 4294967296 inferred, 34359738368 inferred, 2097152 inferred",
		}},
		{"equal cards, of which none has a place", func(m *machine) {
			m.adapters[1].located, m.adapters[2].located = false, false
		}, with(unmanaged("a", "b"), "a dwm", unknown)},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine()
			tt.change(m)
			s := m.source()
			m.refresh(t, s) // as a one-shot does: all identities are known then
			time.Sleep(between)
			want := inDXGI()
			maps.Copy(want, tt.want)
			maps.DeleteFunc(want, func(_, row string) bool { return row == "" })
			wantRows(t, tt.name, m.refresh(t, s), want)
			if m.listed > 1 || m.asked > 2 {
				t.Errorf("%s: %d looks, %d lists of adapters", tt.name, m.asked, m.listed)
			}
		})
	}
}

const (
	refused = "no_permission by PdhCollectQueryData"
	noDXGI  = "not_supported, not_supported by CreateDXGIFactory1, not_supported, not_supported, not_supported"
)

// unmanaged is what shows of GPUs that are no adapters.
func unmanaged(keys ...string) map[string]string {
	rows := map[string]string{}
	for _, key := range keys {
		rows["sources of "+key], rows["adapter of "+key], rows[key+" game"] = "nvml", "nothing", unknown
	}
	return rows
}

// with changes rows.
func with(rows map[string]string, pairs ...string) map[string]string {
	for i := 0; i < len(pairs); i += 2 {
		rows[pairs[i]] = pairs[i+1]
	}
	return rows
}

// model sets the model of a GPU's driver.
func (m *machine) model(key, model string) {
	id := m.cards[key]
	id.DriverModel = model
	m.cards[key] = id
}

// TestLoadsAreNotWanted: who does not show them is told none.
func TestLoadsAreNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		s := m.source()
		if _, err := s.Devices(); err != nil {
			t.Fatal(err)
		}
		r := &row{}
		s.Read(monitor.Device{Key: "a"}, monitor.Want{}.With(monitor.GroupProcesses), r)
		if got := told(&r.gpu.Processes[0]); got != "4096, 256, not_supported, not_supported, not_supported" {
			t.Error(got)
		}
	})
}

// TestNamesWaitForAll: as long as a GPU has not told its name, an adapter that is
// known by its name alone could be that GPU.
func TestNamesWaitForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.adapters = m.adapters[1:2]
		m.adapters[0].located = false
		m.cards["b"] = monitor.Identity{PCIBusID: monitor.OfText("00000000:41:00.0")}
		s := m.source()
		m.refresh(t, s)
		if got := m.refresh(t, s)["a game"]; got != unknown {
			t.Errorf("%s before the other GPU has a name", got)
		}
		m.cards["b"] = identity("00000000:41:00.0", "NVIDIA RTX A2000")
		m.refresh(t, s)
		if got := m.refresh(t, s)["a game"]; got != "4096 inferred, 256 inferred, 30 estimated, 7 inferred, 30 inferred" {
			t.Errorf("%s when it has another", got)
		}
	})
}

// TestInstancesComeAndGo: what shows is always of the last look.
func TestInstancesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		s := m.source()
		wantRows(t, "at first", m.refresh(t, s), inDXGI())
		all := m.counters[localMemory].values
		m.counters[localMemory].values = append(all[1:3:3], value{"pid_4242" + on, 1 << 20, valid})
		wantRows(t, "at once", m.refresh(t, s), inDXGI()) // the look of a moment ago
		time.Sleep(between)
		want := inDXGI()
		want["a game"] = "1048576, 256, 30 estimated, 7, 30"
		wantRows(t, "later", m.refresh(t, s), want)
		m.counters[localMemory] = list{failed: fine} // nobody uses a GPU
		time.Sleep(between)
		if got := m.refresh(t, s)["a game"]; got != "not_found, 256, 30 estimated, 7, 30" {
			t.Errorf("%s when it has gone", got)
		}
	})
}

// TestAdaptersComeAndGo: a driver that starts again gives an adapter another LUID.
func TestAdaptersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		s := m.source()
		m.refresh(t, s)
		time.Sleep(time.Minute)
		if m.refresh(t, s); m.listed != 1 {
			t.Errorf("%d lists of the same adapters", m.listed)
		}
		m.adapters[2].id = 0x20000
		const renamed, again = "pid_4242_luid_0x00000000_0x00020000_phys_0", "pid_4242_luid_0x00000000_0x00030000_phys_0"
		m.counters[nonLocalMemory].values[2].name = renamed
		m.counters[dedicatedMemory].values[1].name, m.counters[sharedMemory].values[1].name = renamed[len("pid_4242_"):], renamed[len("pid_4242_"):]
		m.counters[localMemory].values[2].name, m.counters[engineLoad].values[3].name = renamed, renamed+"_eng_0_engtype_Compute_0"
		time.Sleep(between)
		wantRows(t, "with another LUID", m.refresh(t, s), inDXGI())
		// A factory that is of yesterday is known at once.
		m.adapters[2].id, m.stale = 0x30000, true
		m.counters[localMemory].values[2].name, m.counters[engineLoad].values[3].name = again, again+"_eng_0_engtype_Compute_0"
		m.counters[nonLocalMemory].values[2].name = again
		m.counters[dedicatedMemory].values[1].name, m.counters[sharedMemory].values[1].name = again[len("pid_4242_"):], again[len("pid_4242_"):]
		time.Sleep(between)
		wantRows(t, "with a third LUID", m.refresh(t, s), inDXGI())
		if m.listed != 3 {
			t.Errorf("%d lists", m.listed)
		}
		m.listed = 0
		// One that is on no list is not looked for each time.
		m.counters[localMemory].values = append(m.counters[localMemory].values, value{"pid_1_luid_0x00000000_0x00000099_phys_0", 1, valid})
		for range 100 {
			time.Sleep(time.Second)
			m.refresh(t, s)
		}
		if m.listed > 1+100/30 {
			t.Errorf("%d lists in 100 s", m.listed)
		}
	})
}

// TestAdapterThatNobodyUses: its own counter tells that it is another one now.
func TestAdapterThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.processes = nil
		m.counters[localMemory], m.counters[nonLocalMemory] = list{failed: fine}, list{failed: fine}
		s := m.source()
		m.refresh(t, s)
		const renamed = "luid_0x00000000_0x00020000_phys_0"
		m.adapters[2].id = 0x20000
		m.counters[dedicatedMemory].values[1].name, m.counters[sharedMemory].values[1].name = renamed, renamed
		time.Sleep(renew)
		if got := m.refresh(t, s)["adapter of b"]; got != bothOfB || m.listed != 2 {
			t.Errorf("%s, %d lists of adapters", got, m.listed)
		}
	})
}

// TestWindowsHangs: what NVML tells shows, and the rest has timed out, until the
// counters answer again.
func TestWindowsHangs(t *testing.T) {
	for _, hangs := range []string{"PdhAddEnglishCounterW", "PdhCollectQueryData", "CreateDXGIFactory1"} {
		t.Run(hangs, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { windowsHangs(t, hangs) }) })
	}
}

// windowsHangs: hangs is a call that does not return.
func windowsHangs(t *testing.T, hangs string) {
	m := newMachine()
	m.hang, m.hangs = make(chan struct{}), hangs
	s := m.source()
	late := strings.TrimSuffix(strings.Repeat("timeout by "+hangs+", ", 5), ", ")
	for range 3 {
		begin := time.Now()
		wantRows(t, "no answer", m.refresh(t, s), with(unmanaged("a", "b"), "a game", late, "a dwm", late, "b game", late))
		if took := time.Since(begin); took > patient {
			t.Errorf("it took %v", took)
		}
	}
	close(m.hang)
	synctest.Wait()
	wantRows(t, "an answer", m.refresh(t, s), inDXGI())
	looks := 1
	if hangs == "CreateDXGIFactory1" {
		looks = 2 // what the counters said is old by then
	}
	if m.asked != looks {
		t.Errorf("%d looks, want %d", m.asked, looks)
	}
}
