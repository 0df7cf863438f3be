package driver

import (
	"slices"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

func TestDevicesAreListedWithoutOpeningAny(t *testing.T) {
	r := open(t, "580", "gpus 3\nfault nvmlDeviceGetHandleByIndex_v2 gpu 1 hang\n")
	if len(r.devices) != 3 || r.devices[2] != (monitor.Device{Key: "2", Index: 2}) {
		t.Fatalf("devices %+v", r.devices)
	}
	if n := r.fake.Calls("nvmlDeviceGetHandleByIndex_v2"); n != 0 {
		t.Errorf("%d handles were taken", n)
	}
	done := make(chan struct{})
	go func() { defer close(done); r.read(1, view()) }()
	until(t, "GPU 1 is being opened", func() bool { return r.sinks[1].inCall() == "nvmlDeviceGetHandleByIndex_v2" })
	if g := r.read(2, view()); g.State != monitor.OK {
		t.Errorf("GPU 2 is %v", g.State)
	}
	r.fake.SetScenario("gpus 3\n")
	<-done
}

func TestAGPUThatMayNotBeOpened(t *testing.T) {
	r := open(t, "580", "gpus 2\ngpu 1 open 4\n")
	r.readAll(view())
	g := &r.sinks[1].gpu
	if g.State != monitor.Unavailable || g.Blocked != monitor.NoPermission || g.StateReason != "cannot be opened: no permission" || g.UUID.Reason != monitor.NoPermission || g.Index != 1 {
		t.Errorf("%v, %v, %q, %+v", g.State, g.Blocked, g.StateReason, g.Identity)
	}
	if r.sinks[0].gpu.State != monitor.OK {
		t.Errorf("the other is %v", r.sinks[0].gpu.State)
	}
	r.fake.SetScenario("gpus 2\n")
	r.pass(second)
	if r.read(1, view()); g.State != monitor.OK || !g.UUID.Known() {
		t.Errorf("allowed: %v, %+v", g.State, g.Identity)
	}
}

// TestCloseDuringARefresh: samples are freed, and NVML is given back, when the
// refresh ends.
func TestCloseDuringARefresh(t *testing.T) {
	scenario := "gpus 2\n" + hopper + migLines("1") + "gpu 1:0 gpm.2 30\n"
	r := open(t, "580", scenario)
	r.wholeAll()
	r.fake.SetScenario(scenario + "fault nvmlDeviceGetPowerUsage gpu 0 hang\n")
	r.pass(second)
	done := make(chan struct{})
	go func() { defer close(done); r.read(0, view()) }()
	until(t, "GPU 0 hangs", func() bool { return r.sinks[0].inCall() == "nvmlDeviceGetPowerUsage" })
	begin := time.Now()
	r.src.Close()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if n := r.fake.Calls("nvmlShutdown"); n != 0 {
		t.Error("NVML was shut down under a call")
	}
	r.fake.SetScenario(scenario)
	<-done
	r.fake.WaitCalls("nvmlShutdown", 1)
	if n := r.fake.Calls("nvmlGpmSampleFree"); n != 8 {
		t.Errorf("%d samples were freed, want 8", n)
	}
	// And once more from the start.
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	if list, err := r.src.Devices(); err != nil || len(list) != 2 {
		t.Fatalf("devices %v, %v", list, err)
	}
	if r.read(0, view()); r.sinks[0].gpu.State != monitor.OK {
		t.Errorf("opened again: %v", r.sinks[0].gpu.State)
	}
	r.src.Close()
	r.fake.WaitCalls("nvmlShutdown", 2)
}

// TestDevicesAgain: to look which there are disturbs none.
func TestDevicesAgain(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	r.whole(0)
	list, err := r.src.Devices()
	if err != nil || !slices.Equal(list, r.devices) {
		t.Fatalf("devices %v, %v", list, err)
	}
	h100().check(t, r.whole(0))
	if n := r.fake.CallsOn("nvmlDeviceGetHandleByIndex_v2", 0); n != 1 {
		t.Errorf("%d handles were taken", n)
	}
}
