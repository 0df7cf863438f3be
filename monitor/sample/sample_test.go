package sample_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/sample"
)

// scripted is a source whose devices do what a test says.
type scripted struct {
	mu      sync.Mutex
	open    func() error
	devices int
	read    func(i int, want monitor.Want, sink monitor.Sink)
	reads   map[int]int // per device
	busy    map[int]int // reads in progress per device
	most    int         // most reads in progress of one device
	closed  int
}

func (s *scripted) Name() string { return "scripted" }

func (s *scripted) Open() error {
	if s.open != nil {
		return s.open()
	}
	return nil
}

func (s *scripted) Driver() monitor.Driver {
	return monitor.Driver{Version: monitor.OfText("580.1")}
}

func (s *scripted) Devices() ([]monitor.Device, error) {
	var list []monitor.Device
	for i := range s.devices {
		list = append(list, monitor.Device{Key: fmt.Sprint(i), Index: i})
	}
	return list, nil
}

func (s *scripted) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	s.mu.Lock()
	if s.reads == nil {
		s.reads, s.busy = map[int]int{}, map[int]int{}
	}
	s.reads[d.Index]++
	s.busy[d.Index]++
	s.most = max(s.most, s.busy[d.Index])
	s.mu.Unlock()
	s.read(d.Index, want, sink)
	s.mu.Lock()
	s.busy[d.Index]--
	s.mu.Unlock()
}

func (s *scripted) LocalPIDs() bool { return false }
func (s *scripted) Close()          { s.mu.Lock(); s.closed++; s.mu.Unlock() }

func uuid(i int) string { return fmt.Sprintf("GPU-%08d-aaaa", i) }

// identify tells what every test device is.
func identify(i int, sink monitor.Sink) {
	sink.Identity(monitor.Identity{
		Index: i, UUID: monitor.OfText(uuid(i)), Name: monitor.OfText("Test"),
		GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
	})
	sink.State(monitor.OK, monitor.Known, "", monitor.CallError{})
}

func wellBehaved(i int, want monitor.Want, sink monitor.Sink) {
	identify(i, sink)
	if want.Has(monitor.UtilizationPercent) {
		sink.Begin(monitor.Of(monitor.UtilizationPercent))
		sink.Call("nvmlDeviceGetUtilizationRates")
		sink.Call("")
		sink.Reading(monitor.UtilizationPercent, monitor.OfFloat(float64(10*i)))
	}
	if want.Has(monitor.PowerMW) {
		sink.Reading(monitor.PowerMW, monitor.OfFloat(100e3))
	}
}

// run starts a sampler and gives its snapshots.
func run(t *testing.T, cfg sample.Config, req monitor.Request) (<-chan *monitor.Snapshot, <-chan error, chan<- monitor.Request) {
	t.Helper()
	cfg.Label = "live"
	if req.Want == (monitor.Want{}) {
		req.Want = monitor.Everything
	}
	s, err := sample.New(cfg, req)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	snaps, ended, requests := make(chan *monitor.Snapshot, 1000), make(chan error, 1), make(chan monitor.Request, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ended <- s.Run(ctx, requests, func(s *monitor.Snapshot) { snaps <- s })
	}()
	t.Cleanup(func() { cancel(); <-stopped })
	return snaps, ended, requests
}

// until waits for a snapshot that a test accepts.
func until(t *testing.T, snaps <-chan *monitor.Snapshot, what string, ok func(*monitor.Snapshot) bool) *monitor.Snapshot {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case s := <-snaps:
			kept.Keep(report.AppendJSON(nil, s))
			if ok(s) {
				return s
			}
		case <-late:
			t.Fatalf("no snapshot in 20 s in which %s", what)
		}
	}
}

func failure(t *testing.T, ended <-chan error) *monitor.OpenError {
	t.Helper()
	select {
	case err := <-ended:
		var open *monitor.OpenError
		if !errors.As(err, &open) {
			t.Fatalf("ended with %v, want a *monitor.OpenError", err)
		}
		return open
	case <-time.After(20 * time.Second):
		t.Fatal("did not end")
	}
	return nil
}

func TestOneHangingDeviceCostsOnlyItself(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	src := &scripted{devices: 3, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		if i == 1 {
			sink.Begin(monitor.Of(monitor.TemperatureC))
			sink.Call("nvmlDeviceGetTemperatureV")
			<-hang
		}
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 200 * time.Millisecond})
	s := until(t, snaps, "GPU 1 is stale", func(s *monitor.Snapshot) bool {
		return len(s.GPUs) == 3 && s.GPUs[1].State == monitor.Stale
	})
	g := &s.GPUs[1]
	if g.Call != "nvmlDeviceGetTemperatureV" || s.Age(g.CallSince) < 2*time.Second {
		t.Errorf("call in progress %q for %v", g.Call, s.Age(g.CallSince))
	}
	if r := g.Readings[monitor.TemperatureC]; r.Reason != monitor.Timeout || r.Err.Function() != "nvmlDeviceGetTemperatureV" {
		t.Errorf("the reading that hangs is %+v", r)
	}
	if v, ok := g.Readings[monitor.UtilizationPercent].Float(); !ok || v != 10 {
		t.Errorf("what was read before the hang is %v, %v; want the last value", v, ok)
	}
	if r := g.Readings[monitor.ECCEnabled]; r.Reason != monitor.Timeout {
		t.Errorf("what was never obtained is %v, want timeout", r.Reason)
	}
	for _, i := range []int{0, 2} {
		if s.GPUs[i].State != monitor.OK || s.Age(s.GPUs[i].Refreshed) > time.Second {
			t.Errorf("GPU %d is %v, refreshed %v ago", i, s.GPUs[i].State, s.Age(s.GPUs[i].Refreshed))
		}
	}
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.reads[1] != 1 || src.most != 1 {
		t.Errorf("the hanging device was read %d times, at most %d at once; want no second read", src.reads[1], src.most)
	}
}

// TestSources: a device is read by its source, and by those whom that names.
func TestSources(t *testing.T) {
	src := &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		if i == 1 {
			sink.Sources("tegra", "nvml")
		}
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1}, monitor.Request{})
	s := until(t, snaps, "both were read", func(s *monitor.Snapshot) bool { return len(s.GPUs) == 2 })
	if a, b := s.GPUs[0].Sources, s.GPUs[1].Sources; !slices.Equal(a, []string{"scripted"}) || !slices.Equal(b, []string{"tegra", "nvml"}) {
		t.Errorf("sources %q and %q", a, b)
	}
}

func TestADeviceThatAnswersAgainGoesOn(t *testing.T) {
	var once sync.Once
	answer := make(chan struct{})
	src := &scripted{devices: 1, read: func(i int, want monitor.Want, sink monitor.Sink) {
		identify(i, sink)
		once.Do(func() {
			sink.Begin(monitor.Of(monitor.UtilizationPercent))
			sink.Call("nvmlDeviceGetUtilizationRates")
			<-answer
		})
		wellBehaved(i, want, sink)
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 100 * time.Millisecond})
	until(t, snaps, "the GPU is stale", func(s *monitor.Snapshot) bool {
		return len(s.GPUs) == 1 && s.GPUs[0].State == monitor.Stale
	})
	close(answer)
	until(t, snaps, "it is well again", func(s *monitor.Snapshot) bool {
		return s.GPUs[0].State == monitor.OK && s.GPUs[0].Readings[monitor.UtilizationPercent].Known()
	})
}

// neverOpens are two devices, of which one stays in being opened until the test ends.
func neverOpens(t *testing.T, which int) *scripted {
	t.Helper()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	return &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		if i == which {
			sink.Call("nvmlDeviceGetHandleByIndex_v2")
			<-hang
		}
		wellBehaved(i, want, sink)
	}}
}

func TestASlowOpenIsSaid(t *testing.T) {
	src := neverOpens(t, 1)
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 100 * time.Millisecond})
	until(t, snaps, "GPU 0 is shown while GPU 1 has been opening for 2 s", func(s *monitor.Snapshot) bool {
		return len(s.GPUs) == 2 && s.GPUs[0].State == monitor.OK && s.GPUs[1].State == monitor.Initialising &&
			s.Age(s.GPUs[1].StateSince) > 2*time.Second
	})
}

func TestAnOpenThatNeverReturnsKeepsSnapshotsComing(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	src := &scripted{open: func() error { <-hang; return nil }}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 100 * time.Millisecond})
	until(t, snaps, "the wait is said with its length", func(s *monitor.Snapshot) bool {
		return strings.Contains(s.Waiting, "2 s")
	})
}

func TestWaitingForADriver(t *testing.T) {
	var mu sync.Mutex
	tries := 0
	src := &scripted{devices: 1, read: wellBehaved, open: func() error {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries < 3 {
			return &monitor.OpenError{Cause: monitor.CauseNoDriver, What: "no driver in sight", Hint: "load it"}
		}
		return nil
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 100 * time.Millisecond})
	until(t, snaps, "the wait is said", func(s *monitor.Snapshot) bool { return s.Waiting == "no driver in sight" && s.WaitingHint == "load it" })
	until(t, snaps, "the GPU is there", func(s *monitor.Snapshot) bool { return len(s.GPUs) == 1 && s.Waiting == "" && s.WaitingHint == "" })
}

func TestFinalCausesEnd(t *testing.T) {
	for _, cause := range []monitor.Cause{monitor.CauseNoLibrary, monitor.CauseVersionMismatch} {
		src := &scripted{open: func() error { return &monitor.OpenError{Cause: cause, What: "no"} }}
		_, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: time.Second})
		if got := failure(t, ended); got.Cause != cause {
			t.Errorf("ended with cause %v, want %v", got.Cause, cause)
		}
	}
}

func TestChoice(t *testing.T) {
	for _, complete := range []bool{false, true} {
		for _, c := range []struct {
			gpus []string
			want string
		}{
			{[]string{"1"}, "1"}, {[]string{"0", "2-3"}, "0 2 3"}, {[]string{uuid(2)}, "2"}, {[]string{"3", uuid(0)}, "0 3"},
		} {
			src := &scripted{devices: 4, read: wellBehaved}
			snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: complete, Count: 1},
				monitor.Request{Interval: 100 * time.Millisecond, GPUs: c.gpus})
			until(t, snaps, fmt.Sprintf("%v are GPUs %s (complete: %v)", c.gpus, c.want, complete), func(s *monitor.Snapshot) bool {
				var got []string
				for i := range s.GPUs {
					if s.GPUs[i].State == monitor.OK && s.GPUs[i].Readings[monitor.PowerMW].Known() {
						got = append(got, fmt.Sprint(s.GPUs[i].Index))
					}
				}
				return strings.Join(got, " ") == c.want && len(s.GPUs) == len(got)
			})
		}
		for _, gpus := range [][]string{{"4"}, {"GPU-ffff"}, {"0", "7"}} {
			src := &scripted{devices: 4, read: wellBehaved}
			_, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: complete, Count: 1},
				monitor.Request{Interval: 100 * time.Millisecond, GPUs: gpus})
			if got := failure(t, ended); got.Cause != monitor.CauseNoSuchGPU || !strings.Contains(got.What, gpus[len(gpus)-1]) {
				t.Errorf("%v: ended with %+v", gpus, got)
			}
		}
	}
}

// TestChoiceOfCUDA: a list ends before the first GPU that is not there.
func TestChoiceOfCUDA(t *testing.T) {
	for _, complete := range []bool{false, true} {
		for _, c := range []struct {
			gpus, visible []string
			want          string // "" for none
		}{
			{nil, []string{"2", "0"}, "0 2"}, {nil, []string{"1", "9", "2"}, "1"}, {nil, []string{uuid(1), "GPU-ffff", uuid(2)}, "1"},
			{[]string{"3"}, []string{"9", "0"}, "3"}, {nil, []string{"9", "0"}, ""}, {nil, []string{"GPU-ffff", uuid(0)}, ""},
		} {
			src := &scripted{devices: 4, read: wellBehaved}
			snaps, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: complete, Count: 1},
				monitor.Request{Interval: 100 * time.Millisecond, GPUs: c.gpus, Visible: c.visible})
			if c.want == "" {
				if got := failure(t, ended); got.Cause != monitor.CauseNoSuchGPU || got.What != "CUDA_VISIBLE_DEVICES shows no GPU" {
					t.Errorf("%v: ended with %+v", c.visible, got)
				}
				continue
			}
			until(t, snaps, fmt.Sprintf("%v and %v are GPUs %s (complete: %v)", c.gpus, c.visible, c.want, complete), func(s *monitor.Snapshot) bool {
				var got []string
				for i := range s.GPUs {
					got = append(got, fmt.Sprint(s.GPUs[i].Index))
				}
				return strings.Join(got, " ") == c.want
			})
		}
	}
}

func TestChoiceByIndexOpensNoOther(t *testing.T) {
	src := &scripted{devices: 4, read: wellBehaved}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1}, monitor.Request{GPUs: []string{"2"}})
	until(t, snaps, "GPU 2 is there", func(s *monitor.Snapshot) bool { return len(s.GPUs) == 1 })
	src.mu.Lock()
	defer src.mu.Unlock()
	if len(src.reads) != 1 || src.reads[2] != 2 {
		t.Errorf("reads per GPU: %v; want the seed and the snapshot of GPU 2 alone", src.reads)
	}
}

func TestOneShotsAreSeededAndWhole(t *testing.T) {
	var mu sync.Mutex
	n := 0
	src := &scripted{devices: 1, read: func(i int, want monitor.Want, sink monitor.Sink) {
		if want != monitor.Everything {
			t.Errorf("a one-shot wants %+v", want)
		}
		wellBehaved(i, want, sink)
		mu.Lock()
		defer mu.Unlock()
		if n++; n > 1 {
			sink.Reading(monitor.SMActivePercent, monitor.OfFloat(50))
		}
	}}
	snaps, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	if !s.GPUs[0].Readings[monitor.SMActivePercent].Known() {
		t.Error("what needs a seed sample is unknown")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAHungDeviceCostsTheOthersNothing: GPU 1 needs its second look although
// GPU 0 never ends its first.
func TestAHungDeviceCostsTheOthersNothing(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	var mu sync.Mutex
	looks := 0
	src := &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		if i == 0 {
			sink.Call("nvmlDeviceGetHandleByIndex_v2")
			<-hang
		}
		wellBehaved(i, want, sink)
		mu.Lock()
		defer mu.Unlock()
		if looks++; looks > 1 {
			sink.Reading(monitor.SMActivePercent, monitor.OfFloat(50))
		}
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1, Timeout: 2 * time.Second}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	if g := &s.GPUs[1]; g.State != monitor.OK || !g.Readings[monitor.SMActivePercent].Known() {
		t.Errorf("GPU 1 is %v, its SM load %v", g.State, g.Readings[monitor.SMActivePercent].Reason)
	}
}

// TestAHungDeviceAgesNoOther: what is published after a wait for GPU 0 is of now.
func TestAHungDeviceAgesNoOther(t *testing.T) {
	src := neverOpens(t, 0)
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1, Timeout: 5 * time.Second}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	g := &s.GPUs[1]
	if age := s.Age(g.Refreshed); g.State != monitor.OK || age > time.Second {
		t.Errorf("GPU 1 is %v, and was read %v before", g.State, age)
	}
}

func TestTimeoutCutsAOneShot(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	src := &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		if i == 0 {
			sink.Call("nvmlDeviceGetHandleByIndex_v2")
			<-hang
		}
		wellBehaved(i, want, sink)
	}}
	begin := time.Now()
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1, Timeout: 700 * time.Millisecond}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for id := range monitor.NumReadings {
		if s.GPUs[0].Readings[id].Reason != monitor.Timeout {
			t.Errorf("%v of the GPU that does not answer is %v, want timeout", id, s.GPUs[0].Readings[id].Reason)
		}
	}
	if s.GPUs[0].ProcStatus.Reason != monitor.Timeout || s.GPUs[0].UUID.Reason != monitor.Timeout {
		t.Errorf("its process list is %v and its UUID %v, want timeout", s.GPUs[0].ProcStatus.Reason, s.GPUs[0].UUID.Reason)
	}
	if v, ok := s.GPUs[1].Readings[monitor.UtilizationPercent].Float(); !ok || v != 10 {
		t.Error("the GPU that answers lost its readings")
	}
}

// TestTimeoutNamesTheCallThatHangs: a GPU that is cut off within a call is not
// well.
func TestTimeoutNamesTheCallThatHangs(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	src := &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		if i == 0 {
			sink.Begin(monitor.Of(monitor.PowerMW))
			sink.Call("nvmlDeviceGetPowerUsage")
			<-hang
		}
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1, Timeout: 700 * time.Millisecond}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	g := &s.GPUs[0]
	if g.State != monitor.Stale || g.StateSince == 0 || g.StateSince > s.Steady || g.Call != "nvmlDeviceGetPowerUsage" || g.CallSince == 0 || g.CallSince > s.Steady {
		t.Errorf("%v since %d, %q since %d, at %d", g.State, g.StateSince, g.Call, g.CallSince, s.Steady)
	}
	if r := g.Readings[monitor.PowerMW]; r.Reason != monitor.Timeout || r.Err.Function() != g.Call {
		t.Errorf("power is %+v", r)
	}
	if !slices.ContainsFunc(g.Health, func(h monitor.Health) bool {
		return h.Code == "no_answer" && strings.Contains(h.Text, g.Call)
	}) {
		t.Errorf("health %+v", g.Health)
	}
	if s.GPUs[1].State != monitor.OK {
		t.Errorf("the GPU that answers is %v", s.GPUs[1].State)
	}
	var out struct {
		GPUs []struct {
			Unavailable map[string]string
		}
	}
	if err := json.Unmarshal(report.AppendJSON(nil, s), &out); err != nil {
		t.Fatal(err)
	}
	for key, why := range out.GPUs[0].Unavailable {
		if why == "not_sampled" {
			t.Errorf("%s is %s", key, why)
		}
	}
	if why := out.GPUs[0].Unavailable["age_seconds"]; why != "timeout" {
		t.Errorf("its age is unknown because of %q, want timeout", why)
	}
}

func TestLostMeansEveryMeasurementIsLost(t *testing.T) {
	src := &scripted{devices: 1, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		sink.Processes([]monitor.Process{{PID: 1}}, monitor.Status{Reason: monitor.Known})
		sink.State(monitor.Lost, monitor.Known, "GPU is lost", monitor.NewCallError("nvmlDeviceGetPowerUsage", "NVML_ERROR_GPU_IS_LOST", 15))
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1}, monitor.Request{})
	s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
	g := &s.GPUs[0]
	for id := range monitor.NumReadings {
		if g.Readings[id].Reason != monitor.GPULost {
			t.Errorf("%v is %v", id, g.Readings[id].Reason)
		}
	}
	if g.ProcStatus.Reason != monitor.GPULost || g.Processes != nil || g.UUID.Value != uuid(0) {
		t.Errorf("processes %v (%v), UUID %v", g.Processes, g.ProcStatus.Reason, g.UUID)
	}
}

// TestAPublishedSnapshotStaysAsItIs: the instances that a source hands over once
// stand in every snapshot that follows.
func TestAPublishedSnapshotStaysAsItIs(t *testing.T) {
	given := []monitor.GPU{{Identity: monitor.Identity{UUID: monitor.OfText("MIG-1")}, State: monitor.OK, Processes: []monitor.Process{{PID: 1}}}}
	var once sync.Once
	src := &scripted{devices: 1, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		once.Do(func() { sink.MIG(given, monitor.Status{Reason: monitor.Known}) })
	}}
	snaps, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 2}, monitor.Request{Interval: 100 * time.Millisecond})
	there := func(s *monitor.Snapshot) bool { return len(s.GPUs[0].MIG) == 1 }
	first := until(t, snaps, "there is an instance", there)
	refreshed := first.GPUs[0].MIG[0].Refreshed
	second := until(t, snaps, "there is one again", there)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if first.GPUs[0].MIG[0].Refreshed != refreshed || &first.GPUs[0].MIG[0] == &second.GPUs[0].MIG[0] {
		t.Error("the first snapshot changed with the second")
	}
	if given[0].Refreshed != 0 {
		t.Error("what the source owns was changed")
	}
}

func TestPausedAsksNothing(t *testing.T) {
	src := &scripted{devices: 1, read: wellBehaved}
	snaps, _, requests := run(t, sample.Config{Sources: []monitor.Source{src}}, monitor.Request{Interval: 100 * time.Millisecond})
	until(t, snaps, "the GPU is there", func(s *monitor.Snapshot) bool { return len(s.GPUs) == 1 && s.GPUs[0].State == monitor.OK })
	requests <- monitor.Request{Interval: 100 * time.Millisecond, Want: monitor.Everything, Paused: true}
	time.Sleep(300 * time.Millisecond)
	src.mu.Lock()
	before := src.reads[0]
	src.mu.Unlock()
	time.Sleep(500 * time.Millisecond)
	src.mu.Lock()
	after := src.reads[0]
	src.mu.Unlock()
	if after != before {
		t.Errorf("%d reads while paused", after-before)
	}
	requests <- monitor.Request{Interval: 100 * time.Millisecond, Want: monitor.Everything}
	for len(snaps) > 0 {
		<-snaps
	}
	until(t, snaps, "it goes on", func(s *monitor.Snapshot) bool { return s.Age(s.GPUs[0].Refreshed) < time.Second })
}

// TestEverythingOfTheOneLookedAtClosely: it alone is asked for more, and what
// nobody wants any more is gone, so that it does not grow old.
func TestEverythingOfTheOneLookedAtClosely(t *testing.T) {
	src := &scripted{devices: 2, read: func(i int, want monitor.Want, sink monitor.Sink) {
		wellBehaved(i, want, sink)
		if want.Has(monitor.EnergyJoules) {
			sink.Reading(monitor.EnergyJoules, monitor.OfInt(5))
		}
		if want.HasGroup(monitor.GroupFans) {
			sink.Fans([]monitor.Fan{{}}, monitor.Status{Reason: monitor.Known})
		}
	}}
	few := monitor.Request{Interval: 100 * time.Millisecond, Want: monitor.Of(monitor.UtilizationPercent)}
	snaps, _, requests := run(t, sample.Config{Sources: []monitor.Source{src}}, few)
	s := until(t, snaps, "both are there", func(s *monitor.Snapshot) bool {
		return len(s.GPUs) == 2 && s.GPUs[0].State == monitor.OK && s.GPUs[1].State == monitor.OK
	})
	closely := few
	closely.Closely = monitor.Key(&s.GPUs[1])
	requests <- closely
	s = until(t, snaps, "there is more of one", func(s *monitor.Snapshot) bool { return s.GPUs[1].Readings[monitor.EnergyJoules].Known() })
	if s.GPUs[0].Readings[monitor.EnergyJoules].Known() || len(s.GPUs[1].Fans) != 1 || len(s.GPUs[0].Fans) != 0 {
		t.Errorf("of the other there is %+v", s.GPUs[0].Readings[monitor.EnergyJoules])
	}
	requests <- few
	until(t, snaps, "it is gone again", func(s *monitor.Snapshot) bool {
		return s.GPUs[1].Readings[monitor.EnergyJoules].Reason == monitor.NotSampled && s.GPUs[1].Fans == nil
	})
}

func TestManyDevicesLeaveNothingBehind(t *testing.T) {
	src := &scripted{devices: 256, read: wellBehaved}
	snaps, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 3}, monitor.Request{Interval: 100 * time.Millisecond})
	for range 3 {
		s := until(t, snaps, "there is a snapshot", func(*monitor.Snapshot) bool { return true })
		if len(s.GPUs) != 256 {
			t.Fatalf("%d GPUs", len(s.GPUs))
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
