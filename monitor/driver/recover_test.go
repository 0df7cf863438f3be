package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// look does what a sampler does when it is time to look: it takes the list, and
// opens the source anew where that is said. It returns the trouble there was.
func (r *rig) look() *monitor.OpenError {
	r.t.Helper()
	list, err := r.src.Devices()
	var trouble *monitor.OpenError
	if errors.As(err, &trouble) {
		if err := r.src.Open(); err != nil {
			errors.As(err, &trouble)
			return trouble
		}
		if list, err = r.src.Devices(); err != nil {
			r.t.Fatalf("opened anew: %v", err)
		}
	}
	r.take(list)
	return trouble
}

// take keeps the sinks of devices that were there before.
func (r *rig) take(list []monitor.Device) {
	sinks := make([]*recorder, len(list))
	for i, d := range list {
		sinks[i] = newRecorder()
		for j, b := range r.devices {
			if b.Key == d.Key {
				sinks[i] = r.sinks[j]
			}
		}
	}
	r.devices, r.sinks = list, sinks
}

// row returns what is known of the GPU with a UUID.
func (r *rig) row(uuid string) *monitor.GPU {
	r.t.Helper()
	for _, s := range r.sinks {
		if s.gpu.UUID.Value == uuid {
			return &s.gpu
		}
	}
	r.t.Fatalf("no row of %s", uuid)
	return nil
}

// settle lets a second pass and reads and looks, so often.
func (r *rig) settle(times int) {
	r.t.Helper()
	for range times {
		r.pass(second)
		r.readAll(view())
		r.look()
	}
}

// states are the rows as "index state", in the order of the UUIDs given.
func (r *rig) states(uuids ...string) (list []string) {
	for _, u := range uuids {
		g := r.row(u)
		list = append(list, fmt.Sprint(g.Index, " ", g.State))
	}
	return list
}

func (r *rig) want(what string, got []string, want ...string) {
	r.t.Helper()
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const (
	a = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
	b = "GPU-bbbbbbbb-0000-0000-0000-000000000000"
	c = "GPU-cccccccc-0000-0000-0000-000000000000"
)

// machine is a scenario with those GPUs, in their order.
func machine(uuids ...string) string {
	text := fmt.Sprintf("gpus %d\n", len(uuids)) + hopper
	for i, u := range uuids {
		// A bus id stays with its GPU.
		text += fmt.Sprintf("gpu %d uuid %s\ngpu %d busid 00000000:%s:00.0\n", i, u, i, strings.ToUpper(u[4:6]))
	}
	return text
}

func TestGPUsThatComeAndGo(t *testing.T) {
	r := open(t, "580", machine(a, c))
	r.readAll(view())
	r.want("at first", r.states(a, c), "0 ok", "1 ok")

	// One more, before another.
	r.fake.SetScenario(machine(a, b, c))
	r.settle(3)
	r.readAll(view())
	r.want("one more", r.states(a, b, c), "0 ok", "1 ok", "2 ok")

	// The first is gone: its number is another's now.
	r.fake.SetScenario(machine(b, c))
	r.settle(3)
	r.want("one less", r.states(a, b, c), "-1 lost", "0 ok", "1 ok")
	if g := r.row(a); !g.Name.Known() || !g.PCIBusID.Known() || g.StateErr.Name() != "NVML_ERROR_NOT_FOUND" {
		t.Errorf("what is gone is %+v, %+v", g.Identity, g.StateErr)
	}

	// It is back, and the order is another.
	r.fake.SetScenario(machine(c, b, a))
	r.settle(maxBackOffSeconds)
	r.want("another order", r.states(a, b, c), "2 ok", "1 ok", "0 ok")
	if len(r.devices) != 3 {
		t.Errorf("%d rows", len(r.devices))
	}
}

const maxBackOffSeconds = int(maxBackOff/second) + 1

// TestAnotherGPUInThePlaceOfOne: the count stays what it was.
func TestAnotherGPUInThePlaceOfOne(t *testing.T) {
	r := open(t, "580", machine(a, b))
	r.readAll(view())
	r.fake.SetScenario(machine(a, b) + "gpu 1 lost 1\n")
	r.settle(1)
	r.want("lost", r.states(a, b), "0 ok", "1 lost")
	r.fake.SetScenario(machine(a, c))
	r.settle(5)
	r.want("another", r.states(a, b, c), "0 ok", "-1 lost", "1 ok")
	// And back.
	r.fake.SetScenario(machine(a, b))
	r.pass(maxBackOff)
	r.settle(5)
	r.pass(maxBackOff)
	r.settle(1)
	r.want("back", r.states(a, b, c), "0 ok", "1 ok", "-1 lost")
}

// TestANewcomerThatIsKnown: an unknown GPU that turns out to be a known one has no row.
func TestANewcomerThatIsKnown(t *testing.T) {
	r := open(t, "580", machine(a, b))
	r.readAll(view())
	r.src.mu.Lock()
	r.src.enrol(1, "", true)
	r.src.mu.Unlock()
	r.look()
	if len(r.devices) != 3 {
		t.Fatalf("%d devices", len(r.devices))
	}
	r.settle(1)
	if len(r.devices) != 2 {
		t.Errorf("%d devices", len(r.devices))
	}
	r.want("both", r.states(a, b), "0 ok", "1 ok")
}

// TestTheLibraryIsAtAnEnd: what concerns all of it, in the midst of a run.
func TestTheLibraryIsAtAnEnd(t *testing.T) {
	for code, says := range map[int]string{1: "UNINITIALIZED", 9: "DRIVER_NOT_LOADED", 18: "LIB_RM_VERSION_MISMATCH", 999: "UNKNOWN", 10: "TIMEOUT", 15: "GPU_IS_LOST"} {
		t.Run(says, func(t *testing.T) {
			r := open(t, "580", machine(a, b))
			r.wholeAll()
			// GPM too: whether a sample is due is a matter of real time.
			r.fake.SetScenario(machine(a, b) + fmt.Sprintf("fault nvmlDevice* return %d\nfault nvmlGpmSampleGet return %d\nfault nvmlGpmMetricsGet return %d\n", code, code, code))
			r.pass(second)
			r.readAll(view())
			trouble, err := r.src.Devices()
			var open *monitor.OpenError
			if !errors.As(err, &open) || !strings.Contains(open.Code, says) || open.Hint == "" {
				t.Fatalf("%v, %v", trouble, err)
			}
			for _, u := range []string{a, b} {
				g := r.row(u)
				if g.State != monitor.Lost && g.State != monitor.Unavailable || g.StateErr.Code() != int32(code) || g.Index == monitor.None {
					t.Errorf("%s is %v, %q, %+v", u, g.State, g.StateReason, g.StateErr)
				}
			}
			// Initialised anew, it goes on.
			r.fake.SetScenario(machine(b, a))
			if got := r.look(); got == nil {
				t.Error("no trouble any more")
			}
			r.pass(second)
			r.readAll(view())
			r.want("after it", r.states(a, b), "1 ok", "0 ok")
			if n, m := r.fake.Calls("nvmlInit_v2"), r.fake.Calls("nvmlShutdown"); n != 2 || m != 1 {
				t.Errorf("NVML was initialised %d times and shut down %d times", n, m)
			}
		})
	}
}

// TestOneGPUIsNotTheLibrary: nothing is initialised anew while one GPU answers, or
// while the only one may not be opened.
func TestOneGPUIsNotTheLibrary(t *testing.T) {
	for name, fault := range map[string]string{
		"one is lost":            "gpu 1 lost 1\n",
		"one has no library":     "fault * gpu 1 return 1\n",
		"no permission":          "gpu 0-1 open 4\n",
		"one hangs, one is lost": "fault nvmlDeviceGetMemoryInfo_v2 gpu 0 hang\ngpu 1 lost 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, "580", machine(a, b))
			if !strings.Contains(fault, "open") {
				r.readAll(view())
			}
			r.fake.SetScenario(machine(a, b) + fault)
			done := make(chan struct{})
			if strings.Contains(fault, "hang") {
				go func() { defer close(done); r.read(0, view()) }()
				until(t, "it hangs", func() bool { return r.sinks[0].inCall() != "" })
				r.pass(3 * second)
				r.read(1, view())
			} else {
				close(done)
				r.pass(second)
				r.readAll(view())
			}
			if _, err := r.src.Devices(); err != nil {
				t.Errorf("trouble: %v", err)
			}
			r.fake.SetScenario(machine(a, b))
			<-done
		})
	}
}

// TestTheLibraryIsAtAnEndDuringAHang: it is initialised anew without waiting for
// the call, and without a second one on that GPU.
func TestTheLibraryIsAtAnEndDuringAHang(t *testing.T) {
	r := open(t, "580", machine(a, b))
	r.readAll(view())
	const hang = "fault nvmlDeviceGetMemoryInfo_v2 gpu 0 hang\n"
	r.fake.SetScenario(machine(a, b) + hang)
	r.pass(second)
	done := make(chan struct{})
	go func() { defer close(done); r.read(0, view()) }()
	until(t, "it hangs", func() bool { return r.sinks[0].inCall() == "nvmlDeviceGetMemoryInfo_v2" })
	r.fake.SetScenario(machine(a, b) + hang + "fault nvmlDevice* gpu 1 return 1\n")
	r.pass(3 * second)
	r.read(1, view())
	r.fake.SetScenario(machine(a, b) + hang)
	if r.look() == nil {
		t.Error("no trouble")
	}
	if n, m := r.fake.Calls("nvmlInit_v2"), r.fake.Calls("nvmlShutdown"); n != 2 || m != 0 {
		t.Errorf("NVML was initialised %d times and shut down %d times, under a call", n, m)
	}
	r.pass(second)
	r.read(1, view())
	r.want("the other", r.states(b), "1 ok")
	r.fake.SetScenario(machine(a, b))
	<-done
	r.fake.WaitCalls("nvmlShutdown", 1)
	r.settle(1)
	r.want("both", r.states(a, b), "0 ok", "1 ok")
}

// TestInitHangs: those who read wait for it, and go on when it answers.
func TestInitHangs(t *testing.T) {
	r := open(t, "580", machine(a))
	r.readAll(view())
	r.fake.SetScenario(machine(a) + "fault nvmlInit_v2 hang\n")
	opened := make(chan error, 1)
	go func() { opened <- r.src.Open() }()
	until(t, "it hangs", func() bool { return r.fake.Active("nvmlInit_v2") == 1 })
	read := make(chan struct{})
	go func() { defer close(read); r.read(0, view()) }()
	until(t, "it is said for what is waited", func() bool { return r.sinks[0].inCall() == "nvmlInit_v2" })
	r.fake.SetScenario(machine(a))
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	<-read
	r.want("after it", r.states(a), "0 ok")
}

// TestAStaleHandle: a new one is taken at once.
func TestAStaleHandle(t *testing.T) {
	r := open(t, "580", machine(a, b))
	r.readAll(view())
	r.fake.SetScenario(machine(a, b) + "fault nvmlDeviceGet* gpu 1 return 2\n")
	r.pass(second)
	handles := r.fake.Calls("nvmlDeviceGetHandleByUUID")
	r.sinks[1].states = nil
	r.readAll(view())
	r.pass(second)
	r.readAll(view())
	if n := r.fake.Calls("nvmlDeviceGetHandleByUUID") - handles; n == 0 {
		t.Error("no new handle was taken")
	}
	r.fake.SetScenario(machine(a, b))
	for range 3 {
		r.pass(second)
		r.readAll(view())
	}
	r.want("both", r.states(a, b), "0 ok", "1 ok")
}

// TestTheContainerLostItsGPUs has the words that name the only cure.
func TestTheContainerLostItsGPUs(t *testing.T) {
	root := fixture.TempDir(t)
	if err := os.WriteFile(filepath.Join(root, ".dockerenv"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	says := func(e *monitor.OpenError) {
		t.Helper()
		if e == nil || !strings.Contains(e.What, "systemctl daemon-reload") || !strings.Contains(e.What, "restarting the container") || e.Code != "NVML_ERROR_UNKNOWN" {
			t.Errorf("%+v", e)
		}
	}
	fake := fakenvml.New(t, "580", machine(a, b))
	r := openAt(t, fake, root)
	defer r.src.Close()
	r.readAll(view())
	fake.SetScenario(machine(a, b) + "init 999\nfault * return 999\n")
	r.pass(second)
	r.readAll(view())
	says(r.look()) // from init
	fake.SetScenario(machine(a, b))
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	fake.SetScenario(machine(a, b) + "fault nvmlDevice* return 999\n")
	r.pass(second)
	r.readAll(view())
	_, err := r.src.Devices()
	var e *monitor.OpenError
	errors.As(err, &e)
	says(e) // from the GPUs
	fake.SetScenario(machine(a, b) + "fault nvmlDeviceGet* gpu 0 return 999\nfault nvmlDeviceGet* gpu 1 return 15\n")
	r.pass(time.Minute)
	r.readAll(view())
	if _, err := r.src.Devices(); err == nil || strings.Contains(err.Error(), "container") {
		t.Errorf("with two causes: %v", err)
	}
}
