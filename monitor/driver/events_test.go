package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// logged makes a root whose kernel's log has those lines, and returns it.
func logged(t *testing.T, lines ...string) string {
	t.Helper()
	return fixture.Tree(t, map[string]string{"dev/kmsg": strings.Join(append(lines, ""), "\n"), "proc/stat": "cpu  1 2 3 4\nbtime 1700000000\n"})
}

// write adds a record to the log under root.
func write(t *testing.T, root string, record string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(root, "dev", "kmsg"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(record + "\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// record is a line of the log about the GPU with an index, at s seconds after
// boot.
func record(index, sequence int, s float64, code int) string {
	return fmt.Sprintf("4,%d,%d,-;NVRM: Xid (PCI:0000:%02x:00): %d, pid=1, name=x", sequence, int64(s*1e6), busOf(index), code)
}

// busOf is the bus of a GPU of the fake driver.
func busOf(index int) int { return 0x1b + index }

// known waits until the Xid errors of a GPU are as many, and returns them.
func (r *rig) known(i, n int) []monitor.XID {
	r.t.Helper()
	var list []monitor.XID
	until(r.t, fmt.Sprintf("GPU %d has %d Xid errors", i, n), func() bool {
		r.read(i, view())
		r.sinks[i].locked(func() { list = r.sinks[i].gpu.XIDs })
		return len(list) >= n
	})
	return list
}

// status is how it stands with the Xid errors of a GPU.
func (r *rig) xidStatus(i int) (st monitor.Status) {
	r.sinks[i].locked(func() { st = r.sinks[i].gpu.XIDsStatus })
	return st
}

// is tells whether an error is what the test expects, but for its time.
func is(x monitor.XID, code int, source string, gi, ci int) bool {
	return x.Code == code && x.Source == source && x.GPUInstanceID == gi && x.ComputeInstanceID == ci
}

const whole = monitor.None

func needsEvents(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has events")
	}
}

// noLog is a root without a kernel's log.
func noLog(t *testing.T) string { return fixture.TempDir(t) }

func TestEventsOfEachGeneration(t *testing.T) {
	needsEvents(t)
	for _, generation := range []string{"390", "450", "580", "615"} {
		t.Run(generation, func(t *testing.T) {
			begin := time.Now()
			r := openRoot(t, generation, "gpus 2\n", noLog(t))
			r.readAll(view())
			until(t, "events are waited for", func() bool {
				r.readAll(view())
				return r.xidStatus(0).Reason == monitor.Known && r.xidStatus(1).Reason == monitor.Known
			})
			for i, s := range r.sinks {
				if s.gpu.XIDs == nil || len(s.gpu.XIDs) != 0 {
					t.Errorf("GPU %d: %v before there were any", i, s.gpu.XIDs)
				}
			}
			r.fake.SetScenario("gpus 2\nevent gpu 1 xid 79\nevent gpu 1 xid 31 gi 2 ci 1\n")
			list := r.known(1, 2)
			gi, ci := 2, 1
			if generation == "390" { // its events end before them
				gi, ci = whole, whole
			}
			if len(list) != 2 || !is(list[0], 79, "event", whole, whole) || !is(list[1], 31, "event", gi, ci) {
				t.Errorf("got %+v", list)
			}
			for _, x := range list {
				if at := time.Unix(0, x.Time); at.Before(begin) || at.After(time.Now().Add(time.Second)) {
					t.Errorf("%+v happened at %v", x, at)
				}
			}
			if n := len(r.sinks[0].gpu.XIDs); n != 0 {
				t.Errorf("the other GPU has %d", n)
			}
			for i := range r.devices {
				if n := r.fake.CallsOn("nvmlDeviceRegisterEvents", i); n != 1 {
					t.Errorf("GPU %d registered %d times", i, n)
				}
			}
		})
	}
}

func TestOneShotsKnowWhatTheLogHolds(t *testing.T) {
	root := logged(t, record(0, 1, 5, 13), record(1, 2, 6, 79), record(7, 3, 7, 31))
	r := openRoot(t, "580", "gpus 2\n", root)
	r.readAll(monitor.Everything)
	for i, code := range []int{13, 79} {
		g := &r.sinks[i].gpu
		want := time.Unix(1700000005+int64(i), 0).UnixNano()
		if len(g.XIDs) != 1 || !is(g.XIDs[0], code, "kernel_log", whole, whole) || g.XIDs[0].Time != want || g.XIDsStatus.Reason != monitor.Known {
			t.Errorf("GPU %d: %+v, %+v", i, g.XIDs, g.XIDsStatus)
		}
	}
}

func TestTheLogIsFollowed(t *testing.T) {
	for name, fault := range map[string]string{
		"no set":           "fault nvmlEventSetCreate return 3\n",
		"no events":        "gpu all events 0\n",
		"not registered":   "fault nvmlDeviceRegisterEvents return 3\n",
		"no permission":    "fault nvmlDeviceRegisterEvents return 4\n",
		"waiting fails":    "fault nvmlEventSetWait* return 999\n",
		"registering, 999": "fault nvmlDeviceRegisterEvents return 999\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := logged(t)
			r := openRoot(t, "580", "gpus 1\n"+fault, root)
			r.read(0, monitor.Everything)
			if st := r.xidStatus(0); st.Reason != monitor.Known {
				t.Errorf("%+v", st)
			}
			write(t, root, record(0, 9, 8, 119))
			if list := r.known(0, 1); !is(list[0], 119, "kernel_log", whole, whole) {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestWhyXIDsAreNotSeen has neither events nor a log.
func TestWhyXIDsAreNotSeen(t *testing.T) {
	for _, c := range []struct {
		name, fault, function string
		why                   monitor.Reason
	}{
		{"unsupported", "gpu all events 0\n", "/dev/kmsg", monitor.NotSupported},
		{"no permission", "fault nvmlDeviceRegisterEvents return 4\n", "nvmlDeviceRegisterEvents", monitor.NoPermission},
		{"no set", "fault nvmlEventSetCreate return 999\n", "nvmlEventSetCreate", monitor.DriverError},
	} {
		if runtime.GOOS == "windows" {
			c.function, c.why = "/dev/kmsg", monitor.NotSupported // its files are there under a root alone
			if c.name == "no set" {
				continue
			}
		}
		r := openRoot(t, "580", "gpus 1\n"+c.fault, noLog(t))
		r.read(0, monitor.Everything)
		if g := &r.sinks[0].gpu; g.XIDs != nil || g.XIDsStatus.Reason != c.why || g.XIDsStatus.Err.Function() != c.function {
			t.Errorf("%s: %v, %+v", c.name, g.XIDs, g.XIDsStatus)
		}
	}
}

func TestAnErrorSeenTwiceIsOne(t *testing.T) {
	var b xidBook
	const s = int64(time.Second)
	seen := func(at int64, code int, source string) {
		b.add("a", monitor.XID{Time: at, Code: code, Source: source, GPUInstanceID: whole, ComputeInstanceID: whole})
	}
	seen(100*s, 31, sourceEvent)
	seen(103*s, 31, sourceLog) // the same
	seen(104*s, 31, sourceLog) // another: each event has one record
	seen(102*s, 13, sourceLog)
	seen(105*s, 13, sourceEvent) // the same
	seen(200*s, 31, sourceEvent)
	seen(206*s, 31, sourceLog) // too far apart
	b.add("b", monitor.XID{Time: 100 * s, Code: 31, Source: sourceLog})
	list, st := b.of("a", monitor.Status{})
	var got []string
	for _, x := range list {
		got = append(got, fmt.Sprint(x.Time/s, " ", x.Code, " ", x.Source))
	}
	want := []string{"100 31 event", "102 13 event", "104 31 kernel_log", "200 31 event", "206 31 kernel_log"}
	if st.Reason != monitor.Known || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 100 {
		seen(int64(300+10*i)*s, 43, sourceEvent)
	}
	if list, _ := b.of("a", monitor.Status{}); len(list) != keptXIDs || list[0].Time < 900*s {
		t.Errorf("%d are kept, from %d", len(list), list[0].Time/s)
	}
}

func TestBothSourcesTogether(t *testing.T) {
	needsEvents(t)
	root := logged(t)
	r := openRoot(t, "580", "gpus 1\n", root)
	r.read(0, monitor.Everything)
	r.fake.SetScenario("gpus 1\nevent gpu 0 xid 62\n")
	r.known(0, 1)
	since := float64(time.Now().UnixNano())/1e9 - 1700000000
	write(t, root, record(0, 1, since, 62))
	write(t, root, record(0, 2, since, 63))
	list := r.known(0, 2)
	if len(list) != 2 || !slices.ContainsFunc(list, func(x monitor.XID) bool { return is(x, 62, "event", whole, whole) }) ||
		!slices.ContainsFunc(list, func(x monitor.XID) bool { return is(x, 63, "kernel_log", whole, whole) }) {
		t.Errorf("%+v", list)
	}
}

// TestAWaitThatHangs costs nothing but the events.
func TestAWaitThatHangs(t *testing.T) {
	needsEvents(t)
	const hang = "fault nvmlEventSetWait* hang\n"
	fake := fakenvml.New(t, "580", "gpus 2\n"+hang)
	r := openAt(t, fake, noLog(t))
	r.readAll(view())
	until(t, "it waits", func() bool { r.readAll(view()); return fake.Active("nvmlEventSetWait_v2") == 1 })
	until(t, "it is told", func() bool { r.readAll(view()); return r.xidStatus(0).Reason == monitor.Timeout })
	if st := r.xidStatus(1); st.Reason != monitor.Timeout || st.Err.Function() != "nvmlEventSetWait" {
		t.Errorf("%+v", st)
	}
	for i, s := range r.sinks {
		if s.gpu.State != monitor.OK || !s.gpu.Readings[monitor.PowerMW].Known() {
			t.Errorf("GPU %d is %v", i, s.gpu.State)
		}
	}
	// Another session does not add another thread to it.
	r.src.Close()
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.src.Devices(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.readAll(view())
		time.Sleep(10 * time.Millisecond)
	}
	if n := fake.MostActive("nvmlEventSetWait_v2"); n != 1 {
		t.Errorf("%d wait at once", n)
	}
	fake.SetScenario("gpus 2\nevent gpu 1 xid 45\n")
	if list := r.known(1, 1); !is(list[0], 45, "event", whole, whole) {
		t.Errorf("%+v", list)
	}
	r.src.Close()
	fake.WaitCalls("nvmlShutdown", 2)
}

// TestASetThatFails is made anew.
func TestASetThatFails(t *testing.T) {
	needsEvents(t)
	r := openRoot(t, "580", "gpus 2\nfault nvmlEventSetWait* calls 1 return 999\n", noLog(t))
	r.readAll(view())
	until(t, "a second set", func() bool { r.readAll(view()); return r.fake.Calls("nvmlEventSetCreate") == 2 })
	until(t, "both are back", func() bool {
		r.readAll(view())
		return r.xidStatus(0).Reason == monitor.Known && r.xidStatus(1).Reason == monitor.Known
	})
	r.fake.SetScenario("gpus 2\nevent gpu 0 xid 43\n")
	r.known(0, 1)
}

// TestAGPUThatSpoilsASet is left out of the next one.
func TestAGPUThatSpoilsASet(t *testing.T) {
	needsEvents(t)
	const fault = "fault nvmlDeviceRegisterEvents gpu 1 return 999\n"
	r := openRoot(t, "580", "gpus 2\n"+fault, noLog(t))
	until(t, "the other one is heard of", func() bool {
		r.readAll(view())
		return r.xidStatus(0).Reason == monitor.Known && r.xidStatus(1).Reason == monitor.DriverError
	})
	r.fake.SetScenario("gpus 2\n" + fault + "event gpu 0 xid 43\n")
	r.known(0, 1)
	if n := r.fake.CallsOn("nvmlDeviceRegisterEvents", 1); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

// TestTheXIDOfALostGPU comes when the GPU is lost already.
func TestTheXIDOfALostGPU(t *testing.T) {
	needsEvents(t)
	r := openRoot(t, "580", "gpus 1\n", noLog(t))
	until(t, "events are waited for", func() bool { r.read(0, view()); return r.xidStatus(0).Reason == monitor.Known })
	r.fake.SetScenario("gpus 1\ngpu 0 lost 1\n")
	until(t, "it is lost", func() bool { return r.read(0, view()).State == monitor.Lost })
	var tracker monitor.HealthTracker
	if h := tracker.Assess(&r.sinks[0].gpu, 1); len(h) != 1 || h[0].Code != "gpu_lost" || strings.Contains(h[0].Text, "Xid") {
		t.Errorf("without an event: %+v", h)
	}
	r.fake.SetScenario("gpus 1\ngpu 0 lost 1\nevent gpu 0 xid 79\n")
	if list := r.known(0, 1); !is(list[0], 79, "event", whole, whole) {
		t.Errorf("%+v", list)
	}
	if h := tracker.Assess(&r.sinks[0].gpu, 1); len(h) != 2 || !strings.Contains(h[0].Text, "Xid 79") {
		t.Errorf("with it: %+v", h)
	}
}

// TestAnXIDWhileACallHangs is told at once: it may say why.
func TestAnXIDWhileACallHangs(t *testing.T) {
	root := logged(t)
	fake := fakenvml.New(t, "580", "gpus 1\n")
	r := openAt(t, fake, root)
	r.read(0, monitor.Everything)
	fake.SetScenario("gpus 1\nfault nvmlDeviceGetPowerUsage hang\n")
	returned := make(chan struct{})
	go func() { defer close(returned); r.read(0, view()) }()
	until(t, "it hangs", func() bool { return r.sinks[0].inCall() == "nvmlDeviceGetPowerUsage" })
	write(t, root, record(0, 5, 9, 119))
	until(t, "the error is told", func() bool {
		var n int
		r.sinks[0].locked(func() { n = len(r.sinks[0].gpu.XIDs) })
		return n == 1
	})
	if call := r.sinks[0].inCall(); call != "nvmlDeviceGetPowerUsage" {
		t.Errorf("the call in progress is %q", call)
	}
	fake.SetScenario("gpus 1\n")
	<-returned
	r.src.Close()
	fake.WaitCalls("nvmlShutdown", 1)
}

func TestNobodyWaitsForEventsWhileAGPUCouldSleep(t *testing.T) {
	needsEvents(t)
	root := logged(t, record(0, 1, 5, 13))
	r := openRoot(t, "580", "gpus 1\n", root)
	r.src.mayWatch.Store(false)
	for range 3 {
		r.read(0, monitor.Everything)
	}
	if n := r.fake.Calls("nvmlEventSetCreate"); n != 0 {
		t.Errorf("%d sets were made", n)
	}
	r.known(0, 1)
	r.src.mayWatch.Store(true)
	until(t, "events are waited for", func() bool { r.read(0, view()); return r.fake.Calls("nvmlEventSetWait_v2") > 0 })
	r.src.mayWatch.Store(false)
	until(t, "the set was given back", func() bool { r.read(0, view()); return r.fake.Calls("nvmlEventSetFree") == 1 })
}

// TestXIDsAreNotWanted makes no set for those who do not want it.
func TestXIDsAreNotWanted(t *testing.T) {
	r := openRoot(t, "580", "gpus 1\n", noLog(t))
	r.read(0, monitor.Of(monitor.PowerMW))
	if n := r.fake.Calls("nvmlEventSetCreate"); n != 0 {
		t.Errorf("%d sets were made", n)
	}
}

func TestXIDsOutliveASession(t *testing.T) {
	needsEvents(t)
	root := logged(t, record(0, 1, 5, 13))
	fake := fakenvml.New(t, "580", "gpus 1\nevent gpu 0 xid 45\n")
	r := openAt(t, fake, root)
	r.known(0, 2)
	r.src.Close()
	fake.WaitCalls("nvmlShutdown", 1)
	fake.SetScenario("gpus 1\n")
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	devices, err := r.src.Devices()
	if err != nil {
		t.Fatal(err)
	}
	r.devices, r.sinks[0] = devices, newRecorder()
	r.read(0, monitor.Everything)
	if list := r.known(0, 2); len(list) != 2 {
		t.Errorf("%+v", list)
	}
	r.src.Close()
	fake.WaitCalls("nvmlShutdown", 2)
}

func TestNVLinkErrors(t *testing.T) {
	set := func(key string, v int) string {
		return fmt.Sprintf("gpu 0 nvlink.3.%s %d\ngpu 0 nvlink.4.%s %d\n", key, v, key, 1)
	}
	for name, c := range map[string]struct {
		generation, scenario string
		want                 [3]any
		calls                map[string]int
	}{
		"fields": {"580", set("crcflit", 7) + set("replay", 8) + set("recovery", 9), [3]any{8, 9, 10},
			map[string]int{"nvmlDeviceGetNvLinkErrorCounter": 0}},
		"link by link": {"470", "model a100\n" + set("crcflit", 7) + set("replay", 8) + set("recovery", 9), [3]any{8, 9, 10},
			map[string]int{"nvmlDeviceGetNvLinkErrorCounter": 36}},
		"NVLink 5": {"580", "gpu 0 nvlink.replay unset\ngpu 0 nvlink.recovery unset\ngpu 0 nvlink.crcflit unset\ngpu 0 arch 10\n" +
			"gpu 0 nvlink5.tx 1\ngpu 0 nvlink5.rxerrors 2\ngpu 0 nvlink5.recoveries 1\n", [3]any{36, noSupport, 18}, nil},
		"one link fails":  {"580", "gpu 0 nvlink.3.replay error 999\n", [3]any{monitor.DriverError, monitor.DriverError, monitor.DriverError}, nil},
		"one is inactive": {"580", set("replay", 5) + "gpu 0 nvlink.7.state 0\ngpu 0 nvlink.7.replay error 3\n", [3]any{0, 6, 0}, nil},
		"all inactive":    {"580", "gpu 0 nvlink.state 0\n", [3]any{monitor.NotFound, monitor.NotFound, monitor.NotFound}, map[string]int{"nvmlDeviceGetNvLinkErrorCounter": 0}},
		"no links":        {"580", "model rtx4090\n", [3]any{noSupport, noSupport, noSupport}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, c.generation, "gpus 1\n"+c.scenario)
			g := r.read(0, monitor.Everything)
			for i, id := range nvlinkErrorIDs {
				got := g.Readings[id]
				why, isReason := c.want[i].(monitor.Reason)
				v, ok := got.Int()
				if isReason && got.Reason != why || !isReason && (!ok || v != int64(c.want[i].(int))) {
					t.Errorf("%v is %v, want %v", id, show(got), c.want[i])
				}
			}
			for f, n := range c.calls {
				if got := r.fake.Calls(f); got != n {
					t.Errorf("%s was called %d times, want %d", f, got, n)
				}
			}
		})
	}
}

func TestPendingECC(t *testing.T) {
	r := open(t, "580", "gpus 2\ngpu 1 ecc.pending 0\n")
	r.readAll(monitor.Everything)
	for i, want := range []bool{false, true} {
		if v, ok := r.sinks[i].gpu.Readings[monitor.ECCPending].Flag(); !ok || v != want {
			t.Errorf("GPU %d: %v", i, show(r.sinks[i].gpu.Readings[monitor.ECCPending]))
		}
	}
}
