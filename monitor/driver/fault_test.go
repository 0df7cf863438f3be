package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
)

// codes are all return codes that drivers have, and one that none has.
var codes = func() (list []int) {
	for c := 1; c <= 30; c++ {
		list = append(list, c)
	}
	return append(list, 999, 12345)
}()

// reasonOf is why a reading is unknown whose call answers code.
func reasonOf(code int) monitor.Reason {
	switch code {
	case 3, 13, 22, 24, 25, 26:
		return monitor.NotSupported
	case 4, 17:
		return monitor.NoPermission
	case 6, 21:
		return monitor.NotFound
	case 10:
		return monitor.Timeout
	case 15, 16:
		return monitor.GPULost
	}
	return monitor.DriverError
}

// machines are those on which faults are tried: together they need every
// function that is ever called.
var machines = []struct{ name, generation, scenario string }{
	{"H100", "580", hopper},
	{"RTX 4090", "580", "model rtx4090\n" + more + "gpu all fan.0 40\ngpu all fan.1 41\n"},
	{"H100 with MIG", "580", hopper + migLines("all")},
	{"GTX 1080", "390", "model gtx1080\n" + still + "gpu all fan.0 40\n"},
	{"K80", "470", "model k80\n" + still + "gpu all page double 0x1000 5\n"},
	{"H100 on 615", "615", hopper},
}

func migLines(gpu string) string {
	return strings.ReplaceAll(`gpu X mig on
gpu X instance 0 1 0 1g.10gb
gpu X instance 2 5 0 2g.20gb
gpu X process compute none
`, "X", gpu)
}

// instances are lines for MIG devices, which name one GPU each.
func instances(gpus int) string {
	var b strings.Builder
	for i := range gpus {
		for _, in := range []int{0, 2} {
			fmt.Fprintf(&b, "gpu %d:%d process compute %d 1048576\ngpu %d:%d gpm.2 %d\ngpu %d:%d gpm.3 12\ngpu %d:%d gpm.5 13\ngpu %d:%d gpm.10 14\n",
				i, in, 500+in, i, in, 30+in, i, in, i, in, i, in)
		}
	}
	return b.String()
}

// notOfAGPU are functions that a fault cannot be tied to a GPU: other tests
// look at them.
func notOfAGPU(function string) bool {
	return strings.HasPrefix(function, "nvmlInit") || strings.HasPrefix(function, "nvmlShutdown") || strings.HasPrefix(function, "nvmlSystem") ||
		strings.HasPrefix(function, "nvmlDeviceGetCount") || strings.HasPrefix(function, "nvmlErrorString") ||
		slices.Contains([]string{"nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmMetricsGet"}, function)
}

func TestEveryAnswerOfEveryFunction(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range machines {
		scenario := fmt.Sprintf("gpus %d\n", 1+len(codes)) + m.scenario
		if strings.Contains(m.scenario, "mig on") {
			scenario += instances(1 + len(codes))
		}
		fake := fakenvml.New(t, m.generation, scenario)
		r := openOn(t, fake)
		r.wholeAll()
		r.src.Close()
		fake.WaitCalls("nvmlShutdown", 1)
		functions := slices.Sorted(maps.Keys(fake.AllCalls()))
		control := r.sinks[1]
		n := 0
		for _, function := range functions {
			if tried[function] || notOfAGPU(function) {
				continue
			}
			tried[function] = true
			n++
			faults := make([]string, len(codes))
			for i, code := range codes {
				faults[i] = fmt.Sprintf("fault %s gpu %d return %d", function, 1+i, code)
			}
			fake.SetScenario(scenario + lines(faults...))
			shutdowns := fake.Calls("nvmlShutdown")
			r := openOn(t, fake)
			r.wholeAll()
			r.src.Close()
			fake.WaitCalls("nvmlShutdown", shutdowns+1)
			for i, code := range codes {
				what := fmt.Sprintf("%s: %s answers %d", m.name, function, code)
				checkFault(t, what, function, code, &r.sinks[0].gpu, &r.sinks[1+i].gpu, control.made[function])
			}
		}
		if n == 0 {
			t.Errorf("%s: no function that was not tried before", m.name)
		}
		for _, v := range fake.Violations() {
			t.Errorf("%s: %s", m.name, v)
		}
	}
	t.Logf("%d functions", len(tried))
	for _, function := range []string{
		"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetFieldValues",
		"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetProcessUtilization", "nvmlDeviceGetProcessesUtilizationInfo", "nvmlDeviceGetPcieThroughput", "nvmlGpmSampleGet", "nvmlGpmMigSampleGet",
		"nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetRetiredPages_v2", "nvmlDeviceGetFanSpeed", "nvmlDeviceGetFanSpeed_v2", "nvmlDeviceGetTargetFanSpeed",
	} {
		if !tried[function] {
			t.Errorf("%s was not tried", function)
		}
	}
}

// checkFault compares a GPU one of whose functions fails with a healthy one.
func checkFault(t *testing.T, what, function string, code int, good, got *monitor.GPU, depend monitor.Want) {
	t.Helper()
	why := reasonOf(code)
	failed := func(r monitor.Reason, err monitor.CallError) bool {
		// What says that it is missing is as good as missing: any of its chain may be named.
		return r == why && (err.Function() == function || code == 13) && err.Code() == int32(code) && err.Name() != ""
	}
	if strings.HasPrefix(function, "nvmlDeviceGetHandleByIndex") {
		want := monitor.Unavailable
		if why == monitor.GPULost {
			want = monitor.Lost
		}
		if got.State != want || got.StateErr.Function() != function || got.StateErr.Code() != int32(code) || want == monitor.Unavailable && got.Blocked != why || got.UUID.Known() {
			t.Errorf("%s: state %v, %v, %+v", what, got.State, got.Blocked, got.StateErr)
		}
		return
	}
	if got.State != monitor.OK {
		t.Errorf("%s: state %v, %+v", what, got.State, got.StateErr)
		return
	}
	for name, pair := range map[string][2]monitor.Text{
		"name": {good.Name, got.Name}, "architecture": {good.Architecture, got.Architecture},
		"uuid": {good.UUID, got.UUID}, "bus id": {good.PCIBusID, got.PCIBusID}, "serial": {good.Serial, got.Serial},
	} {
		if pair[0].Reason != pair[1].Reason && !failed(pair[1].Reason, pair[1].Err) {
			t.Errorf("%s: %s is %+v", what, name, pair[1])
		}
	}
	moving := monitor.Of(monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond, monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond)
	if function == "nvmlDeviceGetPcieThroughput" { // called, or not, as time passes
		depend.Readings |= monitor.Of(monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond).Readings
	}
	for id := range monitor.NumReadings {
		a, b := good.Readings[id], got.Readings[id]
		same := a.Reason == b.Reason && (a.Known() && show(a) == show(b) || !a.Known())
		switch {
		case id == monitor.Minor && a.Known() && b.Known(), same, a.Known() && b.Known() && moving.Has(id):
		case !depend.Has(id):
			t.Errorf("%s: %v is %v, though it does not come from there", what, id, show(b))
		case failed(b.Reason, b.Err):
		case b.Known() && id == monitor.MemoryUsedBytes || id == monitor.MemoryFreeBytes || id == monitor.MemoryReservedBytes:
			// The older function knows no reserve.
		case function == "nvmlDeviceGetNvLinkState" && code == 2 && b.Reason == noSupport:
			// Where links end.
		default:
			t.Errorf("%s: %v is %v, want %v or what a healthy GPU has, %v", what, id, show(b), why, show(a))
		}
	}
	if !slices.EqualFunc(good.Processes, got.Processes, func(a, b monitor.Process) bool {
		return a.PID == b.PID && a.GPUMemoryBytes == b.GPUMemoryBytes && a.Types == b.Types
	}) && !(depend.HasGroup(monitor.GroupProcesses) || depend.HasGroup(monitor.GroupMIG)) {
		t.Errorf("%s: processes %+v", what, got.Processes)
	}
	for _, p := range got.Processes {
		if r := p.SMPercent; !r.Known() && r.Reason != monitor.NotFound && r.Reason != noSupport && !failed(r.Reason, r.Err) {
			t.Errorf("%s: load of %d is %v", what, p.PID, show(r))
		}
		if code == 6 && strings.Contains(function, "Utilization") && strings.Contains(function, "Process") && show(p.SMPercent) != "0" {
			t.Errorf("%s: load of %d is %v, want idle", what, p.PID, show(p.SMPercent))
		}
	}
	for name, pair := range map[string][2]monitor.Status{
		"processes": {good.ProcStatus, got.ProcStatus}, "fans": {good.FansStatus, got.FansStatus}, "instances": {good.MIGStatus, got.MIGStatus},
	} {
		st := pair[1]
		if function == "nvmlDeviceGetNumFans" && why == noSupport && st.Reason == noSupport {
			continue // then the speed of the first was asked
		}
		if pair[0].Reason != st.Reason && !failed(st.Reason, st.Err) {
			t.Errorf("%s: %s are %+v", what, name, st)
		}
	}
	if got.ProcStatus.Reason != monitor.Known && got.Processes != nil || got.MIGStatus.Reason != monitor.Known && got.MIG != nil || got.FansStatus.Reason != monitor.Known && got.Fans != nil {
		t.Errorf("%s: a list that could not be read has entries", what)
	}
}

func TestEveryAnswerOfGPM(t *testing.T) {
	for _, function := range []string{"nvmlGpmSampleAlloc", "nvmlGpmMetricsGet"} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", "gpus 1\n"+hopper)
			for n, code := range codes {
				fake.SetScenario("gpus 1\n" + hopper + fmt.Sprintf("fault %s return %d\n", function, code))
				r := openOn(t, fake)
				g := r.whole(0)
				r.src.Close()
				fake.WaitCalls("nvmlShutdown", n+1)
				if got := g.Readings[monitor.SMActivePercent]; got.Reason != reasonOf(code) || got.Err.Function() != function || got.Err.Code() != int32(code) {
					t.Errorf("%d: activity is %v", code, show(got))
				}
				for _, id := range []monitor.ReadingID{monitor.PCIeTxBytesPerSecond, monitor.UtilizationPercent, monitor.RecoveryAction} {
					if got := g.Readings[id]; !got.Known() {
						t.Errorf("%d: %v is %v", code, id, show(got))
					}
				}
				if g.State != monitor.OK {
					t.Errorf("%d: state %v", code, g.State)
				}
			}
			for _, v := range fake.Violations() {
				t.Error(v)
			}
		})
	}
}

// hanging are functions, and what a hang of them costs.
var hanging = map[string]monitor.Want{
	"nvmlDeviceGetUUID":                          {},
	"nvmlDeviceGetName":                          {},
	"nvmlDeviceGetHandleByIndex_v2":              {},
	"nvmlDeviceGetUtilizationRates":              monitor.Of(monitor.UtilizationPercent, monitor.MemoryUtilizationPercent),
	"nvmlDeviceGetMemoryInfo_v2":                 monitor.Of(memoryIDs[:]...),
	"nvmlDeviceGetTemperatureV":                  monitor.Of(monitor.TemperatureC),
	"nvmlDeviceGetPowerUsage":                    monitor.Of(monitor.PowerMW),
	"nvmlDeviceGetClockInfo":                     monitor.Of(monitor.ClockGraphicsMHz),
	"nvmlDeviceGetNumFans":                       monitor.Of(monitor.FanPercent).With(monitor.GroupFans),
	"nvmlGpmQueryDeviceSupport":                  gpmWant,
	"nvmlGpmSampleGet":                           gpmWant,
	"nvmlDeviceGetEncoderUtilization":            monitor.Of(monitor.EncoderPercent),
	"nvmlDeviceGetMigMode":                       monitor.Of(monitor.MIGEnabled).With(monitor.GroupMIG),
	"nvmlDeviceGetComputeRunningProcesses_v3":    monitor.Want{}.With(monitor.GroupProcesses, monitor.GroupProcessLoad),
	"nvmlDeviceGetMPSComputeRunningProcesses_v3": monitor.Want{}.With(monitor.GroupProcesses, monitor.GroupProcessLoad),
	"nvmlDeviceGetProcessesUtilizationInfo":      monitor.Want{}.With(monitor.GroupProcesses, monitor.GroupProcessLoad),
	"nvmlDeviceGetFieldValues":                   monitor.Of(monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond),
	"nvmlDeviceGetMinorNumber":                   monitor.Of(monitor.Minor),
	"nvmlDeviceGetNvLinkState":                   monitor.Of(append(nvlinkErrorIDs[:], monitor.NVLinkLinksActive)...),
	"nvmlDeviceGetGpuFabricInfo_v4":              monitor.Of(monitor.FabricState),
	"nvmlDeviceGetTotalEccErrors":                monitor.Of(monitor.ECCUncorrectedVolatile),
	"nvmlDeviceGetSupportedEventTypes":           monitor.Want{}.With(monitor.GroupXIDs),
	"nvmlDeviceGetRemappedRows_v2":               monitor.Of(monitor.RowsRemapped, monitor.RowsRemapPending, monitor.RowsRemapFailed),
}

func TestAHangCostsWhatDependsOnIt(t *testing.T) {
	functions := slices.Sorted(maps.Keys(hanging))
	scenario := fmt.Sprintf("gpus %d\n", 1+len(functions)) + hopper
	var faults strings.Builder
	for i, f := range functions {
		fmt.Fprintf(&faults, "fault %s gpu %d hang\n", f, 1+i)
	}
	r := open(t, "615", scenario+faults.String())
	healthy := r.read(0, monitor.Everything)
	order := r.order(t)
	returned := make([]chan struct{}, len(functions))
	for i := range functions {
		returned[i] = make(chan struct{})
		go func() { defer close(returned[i]); r.read(1+i, monitor.Everything) }()
	}
	for i, f := range functions {
		s := r.sinks[1+i]
		until(t, f+" is the call in progress", func() bool { return s.inCall() == f })
	}
	time.Sleep(20 * time.Millisecond)
	for i, f := range functions {
		s := r.sinks[1+i]
		s.locked(func() {
			if s.call != f || s.begun != hanging[f] {
				t.Errorf("%s hangs: the call in progress is %q for %v", f, s.call, names(s.begun))
			}
			// What was asked before was told, and nothing else.
			reached := false
			for _, id := range order {
				reached = reached || hanging[f].Has(id)
				if known := s.given[id] > 0; known == reached && s.begun != gpmWant && s.begun.Readings != 0 {
					t.Errorf("%s hangs: %v was told: %v", f, id, known)
				}
			}
			if s.begun == (monitor.Want{}) && len(s.given) > 0 {
				t.Errorf("%s hangs: %d readings were told", f, len(s.given))
			}
		})
	}
	r.pass(second)
	if r.read(0, monitor.Everything); healthy.State != monitor.OK {
		t.Errorf("another GPU is %v", healthy.State)
	}
	r.fake.SetScenario(scenario)
	for i, f := range functions {
		select {
		case <-returned[i]:
		case <-time.After(patience):
			t.Fatalf("%s came back, but Read did not", f)
		}
		if g := &r.sinks[1+i].gpu; g.State != monitor.OK || !g.Readings[monitor.RecoveryAction].Known() || r.sinks[1+i].call != "" {
			t.Errorf("%s came back: state %v, call %q", f, g.State, r.sinks[1+i].call)
		}
	}
}

// order is the order in which queries tell single readings.
func (r *rig) order(t *testing.T) (order []monitor.ReadingID) {
	t.Helper()
	for _, q := range queries {
		for id := range monitor.NumReadings {
			if q.gives.Has(id) {
				order = append(order, id)
			}
		}
	}
	return order
}

func names(w monitor.Want) (list []string) {
	for id := range monitor.NumReadings {
		if w.Has(id) {
			list = append(list, id.String())
		}
	}
	return append(list, fmt.Sprintf("groups %b", w.Groups))
}

func TestALostGPU(t *testing.T) {
	for name, fault := range map[string]string{
		"every call on it":            "gpu 1 lost 1\n",
		"every call, also to find it": "fault * gpu 1 return 15\n",
		"a reset is required":         "fault * gpu 1 return 16\n",
	} {
		t.Run(name, func(t *testing.T) {
			scenario := "gpus 2\n" + hopper
			r := open(t, "580", scenario)
			r.wholeAll()
			uuid := r.sinks[1].gpu.UUID
			r.fake.SetScenario(scenario + fault)
			r.pass(second)
			r.readAll(view())
			g := &r.sinks[1].gpu
			if g.State != monitor.Lost || g.UUID != uuid || !g.Name.Known() || g.StateErr.Name() == "" || g.StateReason == "" {
				t.Fatalf("state %v, %q, %+v, %+v", g.State, g.StateReason, g.StateErr, g.Identity)
			}
			if r.sinks[0].gpu.State != monitor.OK {
				t.Errorf("the other GPU is %v", r.sinks[0].gpu.State)
			}
			// 1, 2, 4 … 30 s between attempts.
			r.sinks[1].states = nil
			var at []int
			calls := r.fake.Calls("nvmlDeviceGetHandleByUUID")
			for s := 1; s <= 130; s++ {
				r.pass(second)
				r.read(1, view())
				if n := r.fake.Calls("nvmlDeviceGetHandleByUUID"); n != calls {
					at, calls = append(at, s), n
				}
			}
			if want := []int{1, 3, 7, 15, 31, 61, 91, 121}; !slices.Equal(at, want) {
				t.Errorf("tried after %v s, want %v", at, want)
			}
			if slices.Contains(r.sinks[1].states, monitor.OK) {
				t.Errorf("said to be well meanwhile: %v", r.sinks[1].states)
			}
			// It comes back.
			r.fake.SetScenario(scenario)
			r.pass(maxBackOff)
			r.read(1, view())
			if g.State != monitor.OK || g.UUID != uuid || !g.Readings[monitor.PowerMW].Known() || g.Index != 1 {
				t.Errorf("come back: state %v, %+v", g.State, g.Identity)
			}
		})
	}
}

func TestALostGPUComesBackUnderAnotherIndex(t *testing.T) {
	r := open(t, "580", "gpus 3\n"+hopper)
	r.wholeAll()
	one, two := r.sinks[1].gpu.UUID.Value, r.sinks[2].gpu.UUID.Value
	// GPU 1 is gone, GPU 2 has its number now; both were lost for a moment.
	r.fake.SetScenario("gpus 3\n" + hopper + "gpu 1-2 lost 1\n")
	r.pass(second)
	r.readAll(view())
	r.fake.SetScenario("gpus 2\n" + hopper + "gpu 1 uuid " + two + "\ngpu 1 power 222000\n")
	r.pass(second)
	for _, s := range r.sinks {
		s.made = map[string]monitor.Want{}
	}
	r.read(2, view())
	r.read(1, view())
	g := &r.sinks[2].gpu
	if v := g.Readings[monitor.PowerMW]; g.State != monitor.OK || g.UUID.Value != two || g.Index != 1 || show(v) != "222000" {
		t.Errorf("GPU 2 is %v, %+v, %v", g.State, g.Identity, show(v))
	}
	g = &r.sinks[1].gpu
	if g.State != monitor.Lost || g.UUID.Value != one || g.Index != monitor.None {
		t.Errorf("GPU 1 is %v, %+v; want it lost, without a number", g.State, g.Identity)
	}
	if made := slices.Collect(maps.Keys(r.sinks[1].made)); !slices.Equal(made, []string{"nvmlDeviceGetHandleByUUID"}) {
		t.Errorf("calls that were told to GPU 1: %v", made)
	}
	if _, ok := r.sinks[2].made["nvmlDeviceGetPowerUsage"]; !ok {
		t.Errorf("calls that were told to GPU 2: %v", r.sinks[2].made)
	}
}

// TestAGPUThatOnlyFails: without a cause, and without any answer.
func TestAGPUThatOnlyFails(t *testing.T) {
	r := open(t, "580", "gpus 2\n"+hopper)
	r.readAll(view())
	uuid := r.sinks[1].gpu.UUID
	r.fake.SetScenario("gpus 2\n" + hopper + "fault * gpu 1 return 999\n")
	r.pass(second)
	r.readAll(view())
	g := &r.sinks[1].gpu
	if g.State != monitor.Lost || g.UUID != uuid || g.StateErr.Code() != 999 || r.sinks[0].gpu.State != monitor.OK {
		t.Errorf("state %v, %+v, %+v", g.State, g.StateErr, g.Identity)
	}
	r.fake.SetScenario("gpus 2\n" + hopper)
	r.pass(second)
	if r.readAll(view()); g.State != monitor.OK || !g.Readings[monitor.PowerMW].Known() {
		t.Errorf("come back: %v", g.State)
	}
}

func TestAGPUThatIsLostFromTheStart(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper+"gpu 0 lost 1\n")
	r.read(0, monitor.Everything)
	g := &r.sinks[0].gpu
	if g.State != monitor.Lost || g.UUID.Reason != monitor.GPULost || g.Index != 0 {
		t.Errorf("state %v, %+v", g.State, g.Identity)
	}
	r.fake.SetScenario("gpus 1\n" + hopper)
	r.pass(second)
	r.read(0, monitor.Everything)
	if g.State != monitor.OK || !g.UUID.Known() {
		t.Errorf("state %v, %+v", g.State, g.Identity)
	}
}

func TestIdentityThatFailedIsAskedAgain(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper+"fault nvmlDeviceGetName return 999\n")
	if g := r.read(0, view()); g.Name.Reason != monitor.DriverError || !g.UUID.Known() {
		t.Errorf("identity %+v", g.Identity)
	}
	r.fake.SetScenario("gpus 1\n" + hopper)
	r.pass(slow)
	if g := r.read(0, view()); g.Name.Value != "NVIDIA H100 80GB HBM3" {
		t.Errorf("identity %+v", g.Identity)
	}
	if n := r.fake.Calls("nvmlDeviceGetUUID"); n != 1 {
		t.Errorf("the UUID was asked %d times", n)
	}
}
