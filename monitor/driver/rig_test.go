package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/screen"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// seed is a little more than the driver's shortest GPM window.
const seed = 110 * time.Millisecond

// recorder is a sink that keeps what it was told.
type recorder struct {
	mu       sync.Mutex
	gpu      monitor.GPU
	states   []monitor.State
	begun    monitor.Want              // for what the calls are now
	call     string                    // in progress
	made     map[string]monitor.Want   // functions, and for what they were called
	given    map[monitor.ReadingID]int // how often a reading was told
	groups   map[string]int            // the same for groups
	identity int                       // how often the identity was told
}

func newRecorder() *recorder {
	return &recorder{made: map[string]monitor.Want{}, given: map[monitor.ReadingID]int{}, groups: map[string]int{}}
}

func (r *recorder) locked(f func()) { r.mu.Lock(); defer r.mu.Unlock(); f() }

func (r *recorder) Begin(w monitor.Want) { r.locked(func() { r.begun = w }) }

func (r *recorder) Call(function string) {
	r.locked(func() {
		r.call = function
		if function != "" {
			w := r.made[function]
			r.made[function] = monitor.Want{Readings: w.Readings | r.begun.Readings, Groups: w.Groups | r.begun.Groups}
		}
	})
}

func (r *recorder) Identity(id monitor.Identity) {
	r.locked(func() { r.gpu.Identity = id; r.identity++ })
}

func (r *recorder) Adapter(a *monitor.Adapter) { r.locked(func() { r.gpu.Adapter = a }) }
func (r *recorder) Sources(names ...string)    { r.locked(func() { r.gpu.Sources = names }) }

func (r *recorder) State(s monitor.State, blocked monitor.Reason, why string, err monitor.CallError) {
	r.locked(func() {
		r.gpu.State, r.gpu.Blocked, r.gpu.StateReason, r.gpu.StateErr = s, blocked, why, err
		r.states = append(r.states, s)
	})
}

func (r *recorder) Reading(id monitor.ReadingID, v monitor.Reading) {
	r.locked(func() { r.gpu.Readings[id] = v; r.given[id]++ })
}

func (r *recorder) Fans(fans []monitor.Fan, st monitor.Status) {
	r.locked(func() { r.gpu.Fans, r.gpu.FansStatus = fans, st; r.groups["fans"]++ })
}

func (r *recorder) XIDs(xids []monitor.XID, st monitor.Status) {
	r.locked(func() { r.gpu.XIDs, r.gpu.XIDsStatus = xids, st; r.groups["xids"]++ })
}

func (r *recorder) MIG(instances []monitor.GPU, st monitor.Status) {
	r.locked(func() { r.gpu.MIG, r.gpu.MIGStatus = instances, st; r.groups["mig"]++ })
}

func (r *recorder) Processes(list []monitor.Process, st monitor.Status) {
	r.locked(func() { r.gpu.Processes, r.gpu.ProcStatus = list, st; r.groups["processes"]++ })
}

func (r *recorder) inCall() string { r.mu.Lock(); defer r.mu.Unlock(); return r.call }

// rig is a Source on a fake driver with a clock that the test moves.
type rig struct {
	t       testing.TB
	fake    *fakenvml.Fake
	src     *Source
	devices []monitor.Device
	sinks   []*recorder

	mu    sync.Mutex
	ahead time.Duration // of the real clock
}

// open opens a Source on a fake driver of a generation.
func open(t testing.TB, generation, scenario string) *rig {
	t.Helper()
	return openRoot(t, generation, scenario, "")
}

// openOn opens a Source that the caller closes.
func openOn(t testing.TB, fake *fakenvml.Fake) *rig { t.Helper(); return openAt(t, fake, "") }

// openRoot is open with another root.
func openRoot(t testing.TB, generation, scenario, root string) *rig {
	t.Helper()
	fake := fakenvml.New(t, generation, scenario)
	r := openAt(t, fake, root)
	r.closeAtEnd()
	return r
}

// closeAtEnd closes the Source when the test ends, and looks whether the driver's
// rules were kept.
func (r *rig) closeAtEnd() {
	r.t.Cleanup(func() {
		r.src.Close()
		r.fake.WaitCalls("nvmlShutdown", 1)
		for _, v := range r.fake.Violations() {
			r.t.Errorf("the driver's rules were broken: %s", v)
		}
	})
}

// openAt opens a Source with another root that the caller closes.
func openAt(t testing.TB, fake *fakenvml.Fake, root string) *rig {
	t.Helper()
	return openWith(t, fake, Options{Root: root})
}

// openWith is openAt with all the options but the library.
func openWith(t testing.TB, fake *fakenvml.Fake, o Options) *rig {
	t.Helper()
	o.Library = fake.Path()
	r := &rig{t: t, fake: fake, src: New(o)}
	r.src.now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return time.Now().Add(r.ahead)
	}
	if err := r.src.Open(); err != nil {
		t.Fatalf("open: %v", err)
	}
	var err error
	if r.devices, err = r.src.Devices(); err != nil {
		t.Fatalf("devices: %v", err)
	}
	for range r.devices {
		r.sinks = append(r.sinks, newRecorder())
	}
	return r
}

// pass moves the clock.
func (r *rig) pass(d time.Duration) { r.mu.Lock(); r.ahead += d; r.mu.Unlock() }

// read reads one device and returns what is known of it.
func (r *rig) read(i int, want monitor.Want) *monitor.GPU {
	r.src.Read(r.devices[i], want, r.sinks[i])
	return &r.sinks[i].gpu
}

// readAll reads all devices at the same time.
func (r *rig) readAll(want monitor.Want) {
	var wg sync.WaitGroup
	for i := range r.devices {
		wg.Go(func() { r.read(i, want) })
	}
	wg.Wait()
}

// whole reads a device as a one-shot does: twice, with time for GPM between.
func (r *rig) whole(i int) *monitor.GPU {
	r.read(i, monitor.Everything)
	time.Sleep(seed)
	g := r.read(i, monitor.Everything)
	kept.Keep(report.AppendJSON(nil, &monitor.Snapshot{Source: "live", GPUs: []monitor.GPU{*g}}))
	return g
}

// wholeAll is whole for all devices.
func (r *rig) wholeAll() {
	r.readAll(monitor.Everything)
	time.Sleep(seed)
	r.readAll(monitor.Everything)
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// view is what the screen asks for by default.
func view() monitor.Want {
	return screen.New(screen.Options{}).Want(&screen.View{ShowProcesses: true})
}

// values are expected readings: a number, a bool, a monitor.Reason, or nil for
// any value.
type values map[monitor.ReadingID]any

const (
	noSupport = monitor.NotSupported
	noDecimal = 1e-6
)

// check compares all readings of a GPU.
func (want values) check(t *testing.T, g *monitor.GPU) {
	t.Helper()
	kept.Keep(report.AppendJSON(nil, &monitor.Snapshot{Source: "live", GPUs: []monitor.GPU{*g}}))
	for id := range monitor.NumReadings {
		r := g.Readings[id]
		expected, listed := want[id]
		if !listed {
			t.Errorf("%v: the test says nothing of it; it is %v", id, show(r))
			continue
		}
		ok := false
		switch e := expected.(type) {
		case nil:
			ok = r.Known()
		case monitor.Reason:
			ok = r.Reason == e
		case bool:
			v, known := r.Flag()
			ok = known && v == e
		default:
			v, known := r.Float()
			number := reflect.ValueOf(e).Convert(reflect.TypeFor[float64]()).Float()
			ok = known && v-number < noDecimal && number-v < noDecimal
			if info := id.Info(); known && info.Kind != r.Kind() {
				t.Errorf("%v is of kind %d, want %d", id, r.Kind(), info.Kind)
			}
		}
		if !ok {
			t.Errorf("%v is %v, want %v", id, show(r), expected)
		}
	}
}

func show(r monitor.Reading) string {
	if v, ok := r.Float(); ok {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%v %+v", r.Reason, r.Err)
}

// with returns a copy with some values replaced.
func (want values) with(other values) values {
	all := values{}
	for id, v := range want {
		all[id] = v
	}
	for id, v := range other {
		all[id] = v
	}
	return all
}

// still are lines that make what moves in a scenario stand still.
const still = `gpu all pcie.wait 0
gpu all util 37
gpu all util.memory 21
gpu all encoder 5
gpu all decoder 6
gpu all temperature 61
gpu all power 412000
gpu all pcie.replay 3
gpu all reasons 0x4
`

// more are such lines for GPUs of Turing and later.
const more = still + `gpu all jpg 7
gpu all ofa 8
gpu all temperature.memory 71
gpu all power.instant 415000
gpu all energy 812345678
`

// hopper are such lines for H100.
const hopper = more + `gpu all gpm.2 41.5
gpu all gpm.3 22.25
gpu all gpm.5 30
gpu all gpm.10 35.5
gpu all gpm.20 150
gpu all gpm.21 450
gpu all gpm.60 20000
gpu all gpm.61 21000
gpu all nvlink.7.state 0
gpu all remap.corrected 2
gpu all remap.uncorrected 3
gpu all ecc.corrected.volatile 11
gpu all ecc.uncorrected.volatile 12
gpu all ecc.corrected.aggregate 13
gpu all ecc.uncorrected.aggregate 14
`

// persistence is what a GPU says of its persistence mode, which Windows lacks.
func persistence(on bool) any {
	if runtime.GOOS == "windows" {
		return noSupport
	}
	return on
}

// h100 is what an H100 gives on driver 580 with hopper.
func h100() values {
	return values{
		monitor.Minor: 0, monitor.UtilizationPercent: 37, monitor.MemoryUtilizationPercent: 21,
		monitor.EncoderPercent: 5, monitor.DecoderPercent: 6, monitor.JPEGPercent: 7, monitor.OFAPercent: 8,
		monitor.SMActivePercent: 41.5, monitor.SMOccupancyPercent: 22.25, monitor.TensorActivePercent: 30, monitor.DRAMActivePercent: 35.5,
		monitor.MemoryTotalBytes: 85520809984, monitor.MemoryUsedBytes: 8700035072, monitor.MemoryReservedBytes: 631242752,
		monitor.MemoryFreeBytes: 85520809984 - 8700035072 - 631242752,
		monitor.TemperatureC:    61, monitor.TemperatureMemoryC: 71, monitor.TemperatureSlowdownC: 89, monitor.TemperatureMarginC: 40,
		monitor.FanPercent: noSupport,
		monitor.PowerMW:    412000, monitor.PowerInstantMW: 415000, monitor.PowerLimitMW: 700000, monitor.PowerLimitDefaultMW: 700000,
		monitor.EnergyJoules:     812345.678,
		monitor.ClockGraphicsMHz: 1755, monitor.ClockSMMHz: 1755, monitor.ClockMemoryMHz: 2619, monitor.ClockVideoMHz: 1440,
		monitor.ClockGraphicsMaxMHz: 1980, monitor.ClockMemoryMaxMHz: 2619,
		monitor.PerformanceState: 0, monitor.ThrottleReasons: monitor.ThrottleSWPowerCap,
		monitor.PersistenceMode: persistence(true), monitor.ComputeMode: 0,
		monitor.PCIeGeneration: 5, monitor.PCIeGenerationMax: 5, monitor.PCIeWidth: 16, monitor.PCIeWidthMax: 16,
		monitor.PCIeTxBytesPerSecond: 150 << 20, monitor.PCIeRxBytesPerSecond: 450 << 20, monitor.PCIeReplays: 3,
		monitor.NVLinkTxBytesPerSecond: 21000 << 20, monitor.NVLinkRxBytesPerSecond: 20000 << 20, monitor.NVLinkLinksActive: 17,
		monitor.NVLinkErrors: 0, monitor.NVLinkReplays: 0, monitor.NVLinkRecoveries: 0,
		monitor.FabricState: 3,
		monitor.ECCEnabled:  true, monitor.ECCPending: false, monitor.ECCUncorrectedVolatile: 12, monitor.ECCCorrectedVolatile: 11,
		monitor.ECCUncorrectedAggregate: 14, monitor.ECCCorrectedAggregate: 13,
		monitor.RetiredPages: noSupport, monitor.RetiredPagesPending: noSupport,
		monitor.RowsRemapped: 5, monitor.RowsRemapPending: false, monitor.RowsRemapFailed: false,
		monitor.RecoveryAction: 0, monitor.MIGEnabled: false,
	}
}

// lines joins lines of a scenario.
func lines(parts ...string) string { return strings.Join(parts, "\n") + "\n" }

// nothing is a sink that keeps nothing.
type nothing struct{}

func (nothing) Begin(monitor.Want)                                             {}
func (nothing) Call(string)                                                    {}
func (nothing) Identity(monitor.Identity)                                      {}
func (nothing) Adapter(*monitor.Adapter)                                       {}
func (nothing) Sources(...string)                                              {}
func (nothing) State(monitor.State, monitor.Reason, string, monitor.CallError) {}
func (nothing) Reading(monitor.ReadingID, monitor.Reading)                     {}
func (nothing) Fans([]monitor.Fan, monitor.Status)                             {}
func (nothing) XIDs([]monitor.XID, monitor.Status)                             {}
func (nothing) MIG([]monitor.GPU, monitor.Status)                              {}
func (nothing) Processes([]monitor.Process, monitor.Status)                    {}
