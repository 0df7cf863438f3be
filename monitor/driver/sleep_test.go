package driver

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// laptop is a tree of files of a machine whose GPUs can sleep.
type laptop struct {
	t    *testing.T
	root string
}

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("file names with a colon")
	}
	return &laptop{t, fixture.TempDir(t)}
}

func (l *laptop) write(path, text string) {
	l.t.Helper()
	fixture.Write(l.t, l.root, path, text)
}

// gpu writes what the kernel and the driver say of a GPU.
func (l *laptop) gpu(uuid, control, status string) {
	l.t.Helper()
	address := "0000:" + uuid[4:6] + ":00.0"
	l.write("sys/bus/pci/devices/"+address+"/power/control", control+"\n")
	l.write("sys/bus/pci/devices/"+address+"/power/runtime_status", status+"\n")
	l.write("proc/driver/nvidia/gpus/"+address+"/information", "Model: \t\t NVIDIA GeForce Test\nGPU UUID: \t "+uuid+"\nBus Location: \t "+address+"\n")
	l.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\n")
}

// open opens a Source on it that the caller closes.
func (l *laptop) open(fake *fakenvml.Fake) *rig {
	l.t.Helper()
	return openAt(l.t, fake, l.root)
}

// calm are GPUs that nobody uses.
func calm(uuids ...string) string {
	return machine(uuids...) + "gpu all util 0\ngpu all process compute none\ngpu all process graphics none\ngpu all process mps none\n"
}

// asleep checks a GPU that was not woken.
func asleep(t *testing.T, g *monitor.GPU, index int, uuid string) {
	t.Helper()
	if g.State != monitor.Sleeping || g.StateReason != notWoken || g.UUID.Value != uuid || g.Index != index || !g.Name.Known() ||
		g.PCIBusID.Value != "00000000:"+strings.ToUpper(uuid[4:6])+":00.0" || g.Serial.Reason == monitor.NotSampled {
		t.Errorf("%v, %q, %+v", g.State, g.StateReason, g.Identity)
	}
}

func TestAllGPUsSleep(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "suspended")
	l.gpu(b, "auto", "suspended")
	fake := fakenvml.New(t, "580", calm(a, b))
	r := l.open(fake)
	defer r.src.Close()
	for range 30 {
		r.pass(second)
		r.readAll(monitor.Everything)
		if r.look() != nil {
			t.Error("trouble")
		}
	}
	asleep(t, &r.sinks[0].gpu, 0, a)
	asleep(t, &r.sinks[1].gpu, 1, b)
	if calls := fake.AllCalls(); len(calls) > 0 {
		t.Errorf("NVML was called: %v", calls)
	}
	if drv := r.src.Driver(); drv.Version.Value != "580.95.05" || drv.NVMLVersion.Reason != monitor.Asleep {
		t.Errorf("driver %+v", drv)
	}
	// Somebody wakes one.
	l.gpu(b, "auto", "active")
	r.pass(second)
	r.readAll(view())
	asleep(t, &r.sinks[0].gpu, 0, a)
	if g := &r.sinks[1].gpu; g.State != monitor.OK || g.Index != 1 || g.UUID.Value != b || g.Name.Value != "NVIDIA H100 80GB HBM3" || !g.Serial.Known() || !g.Readings[monitor.PowerMW].Known() {
		t.Errorf("awake: %v, %q, %+v", g.State, g.StateReason, g.Identity)
	}
	r.look()
	if v := r.src.Driver().NVMLVersion; !v.Known() {
		t.Errorf("NVML's version is %+v", v)
	}
	onlyOn(t, fake, 1)
}

// onlyOn checks that NVML was asked for one GPU, and in no way that wakes others.
func onlyOn(t *testing.T, fake *fakenvml.Fake, gpu int) {
	t.Helper()
	for function := range fake.AllCalls() {
		if n := fake.CallsOn(function, 1-gpu); n > 0 {
			t.Errorf("%s was called %d times on the GPU that sleeps", function, n)
		}
		if strings.Contains(function, "GetCount") || strings.Contains(function, "HandleByIndex") && !strings.Contains(function, "Mig") ||
			strings.Contains(function, "HandleByUUID") || strings.HasPrefix(function, "nvmlEventSet") {
			t.Errorf("%s was called", function)
		}
	}
}

func TestOneGPUSleeps(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "suspended")
	l.gpu(b, "on", "active")
	fake := fakenvml.New(t, "580", calm(a, b)+"gpu 1 process compute 77 1GiB\n")
	r := l.open(fake)
	defer r.src.Close()
	for range 3 {
		r.wholeAll()
		r.look()
		r.pass(second)
	}
	asleep(t, &r.sinks[0].gpu, 0, a)
	if g := &r.sinks[1].gpu; g.State != monitor.OK || g.Index != 1 || len(g.Processes) != 1 {
		t.Errorf("%v, %+v", g.State, g.Identity)
	}
	onlyOn(t, fake, 1)
	// It wakes, and is what it was.
	l.gpu(a, "auto", "active")
	r.pass(second)
	r.readAll(view())
	r.want("both", r.states(a, b), "0 ok", "1 ok")
}

// TestAnIdleGPUIsLeftAlone until it sleeps, and read again when it wakes.
func TestAnIdleGPUIsLeftAlone(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "active")
	fake := fakenvml.New(t, "580", calm(a)+"gpu 0 process compute 77 1GiB\n")
	r := l.open(fake)
	defer r.src.Close()
	step := func(n int) {
		for range n {
			r.pass(second)
			r.readAll(view())
			r.look()
		}
	}
	step(60)
	if n := fake.Calls("nvmlShutdown"); n != 0 {
		t.Fatalf("NVML was shut down %d times while a process used the GPU", n)
	}
	fake.SetScenario(calm(a) + "gpu 0 process graphics 1 4MiB\n") // a display server
	step(5)
	if n := fake.Calls("nvmlShutdown"); n != 0 {
		t.Error("NVML was shut down at once")
	}
	step(20)
	fake.WaitCalls("nvmlShutdown", 1)
	g := &r.sinks[0].gpu
	if g.State != monitor.Sleeping || g.StateReason != leftAlone {
		t.Errorf("%v, %q", g.State, g.StateReason)
	}
	l.gpu(a, "auto", "suspended")
	before := fake.AllCalls()
	step(300)
	asleep(t, g, 0, a)
	if g.Name.Value != "NVIDIA H100 80GB HBM3" {
		t.Errorf("what was known is forgotten: %+v", g.Identity)
	}
	if after := fake.AllCalls(); !maps.Equal(before, after) {
		t.Errorf("NVML was called while the GPU slept: %v, before %v", after, before)
	}
	l.gpu(a, "auto", "active")
	step(1)
	if g.State != monitor.OK || g.UUID.Value != a || !g.Readings[monitor.PowerMW].Known() {
		t.Errorf("awake: %v, %q", g.State, g.StateReason)
	}
}

// TestAGPUThatStaysAwake is read again, and left alone more and more seldom.
func TestAGPUThatStaysAwake(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "active")
	fake := fakenvml.New(t, "580", calm(a))
	r := l.open(fake)
	defer r.src.Close()
	away, last := []int{}, monitor.OK
	for at := range 600 {
		r.pass(second)
		r.readAll(view())
		s := r.sinks[0].gpu.State
		if s == monitor.Sleeping && last == monitor.OK {
			away = append(away, at)
		}
		last = s
	}
	if len(away) < 3 || len(away) > 5 || away[2]-away[1] < 2*60 || away[len(away)-1]-away[len(away)-2] < 4*60-60 {
		t.Errorf("left alone after %v s", away)
	}
}

// TestAGPUThatCannotSleepBesideOneThatCan: it is missed only until the other
// sleeps.
func TestAGPUThatCannotSleepBesideOneThatCan(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "active")
	l.gpu(b, "on", "active")
	fake := fakenvml.New(t, "580", calm(a, b))
	r := l.open(fake)
	defer r.src.Close()
	for range 15 {
		r.pass(second)
		r.readAll(view())
	}
	fake.WaitCalls("nvmlShutdown", 1)
	power := r.sinks[1].given[monitor.PowerMW]
	r.pass(second)
	r.readAll(view())
	if g := &r.sinks[1].gpu; g.State != monitor.OK || r.sinks[1].given[monitor.PowerMW] != power {
		t.Errorf("meanwhile: %v, told %d times more", g.State, r.sinks[1].given[monitor.PowerMW]-power)
	}
	l.gpu(a, "auto", "suspended")
	r.pass(second)
	r.readAll(view())
	asleep(t, r.row(a), 0, a)
	if g := r.row(b); g.State != monitor.OK || r.sinks[1].given[monitor.PowerMW] == power {
		t.Errorf("the other sleeps: %v", g.State)
	}
}

// TestAGPUThatCannotSleepBesideOneThatDoesNot is read nearly all the time.
func TestAGPUThatCannotSleepBesideOneThatDoesNot(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "on", "active") // the first to be read
	l.gpu(b, "auto", "active")
	fake := fakenvml.New(t, "580", calm(a, b))
	r := l.open(fake)
	defer r.src.Close()
	for range 600 {
		r.pass(second)
		r.read(0, view())
		r.read(1, view())
	}
	if n := r.sinks[0].given[monitor.PowerMW]; n < 500 {
		t.Errorf("its power was read %d times in 600 s", n)
	}
}

func TestWake(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "suspended")
	fake := fakenvml.New(t, "580", calm(a))
	r := &rig{t: t, fake: fake, src: New(Options{Library: fake.Path(), Root: l.root, Wake: true})}
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	defer r.src.Close()
	list, err := r.src.Devices()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	r.take(list)
	if g := r.read(0, view()); g.State != monitor.OK {
		t.Errorf("%v", g.State)
	}
}

// TestAServerPaysNothing: what the files say is not looked at again each second.
func TestAServerPaysNothing(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "on", "active")
	fake := fakenvml.New(t, "580", calm(a))
	r := l.open(fake)
	defer r.src.Close()
	// Were it looked at, the GPU would not be read.
	l.gpu(a, "auto", "suspended")
	for range 50 {
		r.pass(second)
		r.readAll(view())
		r.look()
	}
	if g := &r.sinks[0].gpu; g.State != monitor.OK {
		t.Errorf("%v", g.State)
	}
	// The user may have changed it: that is seen in the end.
	for range 30 {
		r.pass(second)
		r.readAll(view())
		r.look()
	}
	asleep(t, &r.sinks[0].gpu, 0, a)
}

// TestNothingIsKnownOfASleeper: the driver has not opened it since it was loaded.
func TestNothingIsKnownOfASleeper(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "suspended")
	l.write("proc/driver/nvidia/gpus/0000:aa:00.0/information", "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-????????????\n")
	fake := fakenvml.New(t, "580", calm(a))
	r := l.open(fake)
	defer r.src.Close()
	g := r.read(0, monitor.Everything)
	if g.State != monitor.Sleeping || g.UUID.Reason != monitor.Asleep || g.Name.Reason != monitor.Asleep || !g.PCIBusID.Known() {
		t.Errorf("%v, %+v", g.State, g.Identity)
	}
	l.gpu(a, "auto", "active")
	r.pass(second)
	if r.read(0, monitor.Everything); g.State != monitor.OK || g.UUID.Value != a || !g.Name.Known() {
		t.Errorf("awake: %v, %+v", g.State, g.Identity)
	}
}

// TestASleeperThatIsPulled is lost, and one in its place is another row.
func TestASleeperThatIsPulled(t *testing.T) {
	l := newLaptop(t)
	l.gpu(a, "auto", "active")
	l.gpu(b, "auto", "suspended")
	fake := fakenvml.New(t, "580", calm(a, b)+"gpu 0 process compute 77 1GiB\n")
	r := l.open(fake)
	defer r.src.Close()
	r.readAll(view())
	asleep(t, r.row(b), 1, b)
	for _, dir := range []string{"sys/bus/pci/devices/0000:bb:00.0", "proc/driver/nvidia/gpus/0000:bb:00.0"} {
		if err := os.RemoveAll(filepath.Join(l.root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	fake.SetScenario(calm(a) + "gpu 0 process compute 77 1GiB\n")
	r.settle(4)
	r.want("pulled", r.states(a, b), "0 ok", "1 lost")
	l.gpu(c, "auto", "active")
	fake.SetScenario(calm(a, c) + "gpu 0 process compute 77 1GiB\n")
	r.settle(maxBackOffSeconds)
	r.want("another", r.states(a, c), "0 ok", "1 ok")
	if g := r.row(b); g.State != monitor.Lost || g.Index != monitor.None {
		t.Errorf("what was there is %v, %d", g.State, g.Index)
	}
	if len(r.devices) != 3 {
		t.Errorf("%d rows", len(r.devices))
	}
}
