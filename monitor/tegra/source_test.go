package tegra_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/tegra"
)

const gpuDir = "sys/devices/platform/bus@0/17000000.gpu"

// TestTheGPUAppears: nvgpu makes its entry in devfreq some time after boot. Until
// then its values are not found, and all else is there.
func TestTheGPUAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root, later := fixture.Machine(t, "orin-agx-booting"), fixture.Machine(t, "orin-agx-jetpack6")
		late := []monitor.ReadingID{monitor.UtilizationPercent, monitor.ClockGraphicsMHz, monitor.ClockGraphicsMaxMHz}
		s := source(root, &standin{})
		m := module(root)
		rest := func(r *row) {
			t.Helper()
			wantValue(t, r, monitor.TemperatureC, "47.625")
			wantValue(t, r, monitor.MemoryUsedBytes, "4.139003904e+09")
			wantValue(t, r, monitor.FanPercent, "29.804")
			wantValue(t, r, monitor.ThrottleReasons, "not_supported")
			if r.GPU.State != monitor.OK || len(r.GPU.Processes) != 3 || len(r.GPU.Fans) != 1 || value(r.GPU.Fans[0].RPM) != "1636" || r.GPU.Name.Value != "Orin (nvgpu)" {
				t.Errorf("%v, %d processes, fans %+v, %q", r.GPU.State, len(r.GPU.Processes), r.GPU.Fans, r.GPU.Name.Value)
			}
		}
		for range 3 {
			d := list(t, s)
			if len(d) != 1 {
				t.Fatalf("devices %v", d)
			}
			r := refresh(s, d[0])
			for _, id := range late {
				wantValue(t, r, id, "not_found")
			}
			rest(r)
			if p := m.Platform(); p.Governor.Known() || len(parts(t, p, monitor.Rail)) != 4 {
				t.Errorf("%+v", p)
			}
			time.Sleep(between)
		}
		// As the driver does: the load first, then devfreq's folder, then the link to it.
		moveFrom(t, later, root, gpuDir+"/load")
		moveFrom(t, later, root, gpuDir+"/devfreq")
		moveFrom(t, later, root, "sys/class/devfreq/17000000.gpu")
		r := refresh(s, list(t, s)[0])
		for id, want := range map[monitor.ReadingID]string{
			monitor.UtilizationPercent: "34.5", monitor.ClockGraphicsMHz: "1300.5", monitor.ClockGraphicsMaxMHz: "1300.5",
		} {
			wantValue(t, r, id, want)
		}
		rest(r)
		time.Sleep(5 * second)
		if p := m.Platform(); p.Governor.Value != "nvhost_podgov" {
			t.Errorf("governor %+v", p.Governor)
		}
	})
}

// TestTheGPUGoes: what is gone is not shown any more, and comes back.
func TestTheGPUGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := fixture.Machine(t, "orin-agx-jetpack6")
		s := source(root, &standin{})
		d := list(t, s)[0]
		wantValue(t, refresh(s, d), monitor.ClockGraphicsMHz, "1300.5")
		fixture.Move(t, root, "sys/class/devfreq/17000000.gpu", "gone")
		if r := refresh(s, d).Readings[monitor.ClockGraphicsMHz]; r.Known() {
			t.Errorf("a clock of %v", r)
		}
		time.Sleep(5 * second)
		r := refresh(s, d)
		wantValue(t, r, monitor.ClockGraphicsMHz, "not_found")
		wantValue(t, r, monitor.UtilizationPercent, "34.5") // which is elsewhere too
		fixture.Move(t, root, "gone", "sys/class/devfreq/17000000.gpu")
		time.Sleep(between)
		wantValue(t, refresh(s, d), monitor.ClockGraphicsMHz, "1300.5")
	})
}

// moveFrom moves a file or folder from one tree into another.
func moveFrom(t *testing.T, from, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(from, path), filepath.Join(to, path)); err != nil {
		t.Fatal(err)
	}
}

// TestAsleep: a GPU without power tells no temperature, and asking takes long. It is
// not asked again for five seconds.
func TestAsleep(t *testing.T) {
	const temp = "sys/devices/virtual/thermal/thermal_zone1/temp"
	for _, machine := range []string{"orin-agx-jetpack6", "thor-jetpack7.0"} {
		t.Run(machine, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				root := fixture.Machine(t, machine)
				fixture.Block(t, root, temp)
				nvml := &standin{}
				if machine == "thor-jetpack7.0" {
					nvml.gives(thorCard(nil))
				}
				s := source(root, nvml)
				d := list(t, s)[0]
				wantValue(t, refresh(s, d), monitor.TemperatureC, "asleep")
				fixture.Write(t, root, temp, "52187\n")
				for waited := time.Duration(0); waited < 5*second; waited += second / 2 {
					wantValue(t, refresh(s, d), monitor.TemperatureC, "asleep")
					time.Sleep(second / 2)
				}
				wantValue(t, refresh(s, d), monitor.TemperatureC, "52.187")
				fixture.Block(t, root, temp)
				wantValue(t, refresh(s, d), monitor.TemperatureC, "asleep")
			})
		})
	}
}

// TestNVMLHangs: whichever call of NVML does not return, the row of the integrated
// GPU is there within moments and complete, and stays so.
func TestNVMLHangs(t *testing.T) {
	for _, call := range []string{"Open", "Devices", "Read"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				root := fixture.Machine(t, "orin-agx-jetpack6")
				hang := make(chan struct{})
				defer func() { close(hang); synctest.Wait() }()
				nvml := &standin{}
				nvml.gives(orin())
				nvml.set(func() {
					switch call {
					case "Open":
						nvml.open = func() error { <-hang; return nil }
					case "Devices":
						nvml.devices = func() ([]monitor.Device, error) { <-hang; return nil, nil }
					default:
						nvml.read = func(_ monitor.Device, _ monitor.Want, sink monitor.Sink) { <-hang }
					}
				})
				s := source(root, nvml)
				for round := range 5 {
					begin := time.Now()
					if err := s.Open(); err != nil {
						t.Fatal(err)
					}
					d := list(t, s)
					if len(d) != 1 || d[0].Index != 0 {
						t.Fatalf("devices %v", d)
					}
					r := refresh(s, d[0])
					if took := time.Since(begin); took > 2*second || round > 0 && took > 0 {
						t.Errorf("round %d took %v", round, took)
					}
					complete(t, r)
					s.Driver()
					time.Sleep(second)
				}
				if nvml.opens() > 1 {
					t.Errorf("opened %d times while it hangs", nvml.opens())
				}
			})
		})
	}
}

// TestAfterAFall: a driver process that follows on one that ended by itself reads
// the integrated GPU at once, and leaves NVML alone for two minutes; Thor has no
// other source.
func TestAfterAFall(t *testing.T) {
	for _, machine := range []string{"orin-agx-jetpack6", "thor-jetpack7.2"} {
		t.Run(machine, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := host.Open(fixture.Machine(t, machine))
				nvml := &standin{}
				nvml.gives(orin(), a2000())
				s := tegra.New(h.Root(), h.Platform().SoC.Value, nvml, true)
				look := func() int {
					if err := s.Open(); err != nil {
						t.Fatal(err)
					}
					n := len(list(t, s))
					synctest.Wait()
					return n
				}
				n := look()
				if machine == "thor-jetpack7.2" {
					if nvml.opens() != 1 || n != 2 {
						t.Errorf("NVML was opened %d times, %d GPUs", nvml.opens(), n)
					}
					return
				}
				complete(t, refresh(s, list(t, s)[0]))
				time.Sleep(119 * second)
				if why := s.Driver().Version.Reason; why != monitor.DriverError {
					t.Errorf("the driver's version is unknown, %v", why)
				}
				if n = look(); nvml.opens() != 0 || n != 1 {
					t.Errorf("NVML was opened %d times, %d GPUs", nvml.opens(), n)
				}
				time.Sleep(2 * second)
				look()
				if n = look(); nvml.opens() != 1 || n != 2 {
					t.Errorf("two minutes later NVML was opened %d times, %d GPUs", nvml.opens(), n)
				}
			})
		})
	}
}

// complete checks the row of the integrated GPU of orin-agx-jetpack6.
func complete(t *testing.T, r *row) {
	t.Helper()
	for id, want := range map[monitor.ReadingID]string{
		monitor.UtilizationPercent: "34.5", monitor.ClockGraphicsMHz: "1300.5", monitor.TemperatureC: "47.625",
		monitor.MemoryTotalBytes: "6.589351936e+10", monitor.MemoryUsedBytes: "4.139003904e+09",
		monitor.FanPercent: "29.804", monitor.PowerMW: "not_supported", monitor.EncoderPercent: "not_supported",
	} {
		wantValue(t, r, id, want)
	}
	for id := range monitor.NumReadings {
		if r.Readings[id].Reason == monitor.NotSampled {
			t.Errorf("%s: nobody told", id.Info().Key)
		}
	}
	if r.GPU.State != monitor.OK || r.GPU.Name.Value != "Orin (nvgpu)" || !r.GPU.Integrated || !r.GPU.MemoryUnified || len(r.GPU.Processes) != 3 || !slices.Equal(r.GPU.Sources, []string{"tegra"}) {
		t.Errorf("%v %+v, %d processes, from %q", r.GPU.State, r.GPU.Identity, len(r.GPU.Processes), r.GPU.Sources)
	}
	for _, st := range []monitor.Status{r.XIDsStatus, r.MIGStatus, r.FansStatus, r.ProcStatus} {
		if st.Reason == monitor.NotSampled {
			t.Error("a list of which nobody told")
		}
	}
	if r.begun != (monitor.Want{}) {
		t.Error("a reading never ended")
	}
}

// keys are the keys of devices, and their numbers.
func keys(list []monitor.Device) string {
	var all []string
	for _, d := range list {
		all = append(all, d.Key)
	}
	return strings.Join(all, " ")
}

// TestNVMLComesLate: a driver that is loaded while the program runs is found, and
// the version of it is shown.
func TestNVMLComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nvml := &standin{open: func() error { return &monitor.OpenError{Cause: monitor.CauseNoLibrary, What: "no library"} }}
		s := source(fixture.Machine(t, "orin-agx-discrete"), nvml)
		for range 5 {
			if got := keys(list(t, s)); got != "files" || s.Driver().Version.Known() {
				t.Fatalf("%q, driver %+v", got, s.Driver())
			}
			time.Sleep(second)
		}
		tries := nvml.opens()
		for range 100 {
			list(t, s)
		}
		synctest.Wait()
		if nvml.opens() != tries {
			t.Error("asked again and again")
		}
		nvml.gives(orin(), a2000())
		nvml.set(func() { nvml.open, nvml.driver = nil, monitor.Driver{Version: monitor.OfText("540.4.0")} })
		time.Sleep(30 * second) // the longest it waits before it asks anew
		list(t, s)
		synctest.Wait()
		d := list(t, s)
		if keys(d) != "files a2000" || d[1].Index != 1 || s.Driver().Version.Value != "540.4.0" {
			t.Fatalf("%v, driver %+v", d, s.Driver())
		}
		complete(t, refresh(s, d[0]))
		r := refresh(s, d[1])
		wantValue(t, r, monitor.UtilizationPercent, "7")
		wantValue(t, r, monitor.TemperatureC, "not_supported") // that of the module is not the card's
		if r.GPU.Name.Value != "NVIDIA RTX A2000" || r.GPU.Integrated || r.GPU.State != monitor.OK || !slices.Equal(r.GPU.Sources, []string{"nvml"}) {
			t.Errorf("%v, %+v from %q", r.GPU.State, r.GPU.Identity, r.GPU.Sources)
		}
	})
}

// TestOneGPUOfNVMLHangs: while the integrated GPU does not tell NVML what it is, the
// card beside it is shown, and cards that come later.
func TestOneGPUOfNVMLHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		nvml := &standin{}
		whole := func(cards ...*card) {
			nvml.gives(cards...)
			answer := nvml.read
			nvml.set(func() {
				nvml.read = func(d monitor.Device, want monitor.Want, sink monitor.Sink) {
					if d.Key == "igpu" {
						<-hang
					}
					answer(d, want, sink)
				}
			})
		}
		card := a2000()
		whole(orin(), card)
		s := source(fixture.Machine(t, "orin-agx-discrete"), nvml)
		d := list(t, s)
		if keys(d) != "files a2000" || d[1].Index != 1 {
			t.Fatalf("devices %v", d)
		}
		if r := refresh(s, d[1]); r.GPU.Name.Value != "NVIDIA RTX A2000" || r.GPU.State != monitor.OK {
			t.Errorf("%v, %+v", r.GPU.State, r.GPU.Identity)
		}
		other := a2000()
		other.key = "other"
		whole(orin(), card, other)
		time.Sleep(5 * second)
		list(t, s)
		synctest.Wait()
		if d = list(t, s); keys(d) != "files a2000 other" {
			t.Errorf("devices %v", d)
		}
		close(hang)
		synctest.Wait()
		if d = list(t, s); keys(d) != "files a2000 other" {
			t.Errorf("devices %v", d)
		}
	})
}

// TestALostCard: a card that was lost before anybody asked its name has a row that
// says so.
func TestALostCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := a2000()
		lost.id.Name, lost.state = monitor.UnknownText(monitor.GPULost), monitor.Lost
		nvml := &standin{}
		nvml.gives(orin(), lost)
		s := source(fixture.Machine(t, "orin-agx-discrete"), nvml)
		d := list(t, s)
		if keys(d) != "files a2000" {
			t.Fatalf("devices %v", d)
		}
		if r := refresh(s, d[1]); r.GPU.State != monitor.Lost || r.GPU.Name.Reason != monitor.GPULost {
			t.Errorf("%v, %+v", r.GPU.State, r.GPU.Identity)
		}
	})
}

// TestCardsComeAndGo: a card that appears later gets a row, and loses it where NVML
// does not list it any more. Where NVML is lost it stays, until NVML is back.
func TestCardsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nvml := &standin{}
		nvml.gives(orin())
		s := source(fixture.Machine(t, "orin-agx-discrete"), nvml)
		now := func(want string) {
			t.Helper()
			list(t, s)
			synctest.Wait()
			if got := keys(list(t, s)); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		now("files")
		nvml.gives(orin(), a2000())
		time.Sleep(4 * second)
		now("files")
		time.Sleep(second)
		now("files a2000")

		// NVML says that something changed: it is opened anew at once.
		opened := nvml.opens()
		nvml.set(func() {
			whole := nvml.devices
			nvml.devices = func() ([]monitor.Device, error) {
				nvml.set(func() { nvml.devices = whole })
				return nil, &monitor.OpenError{Cause: monitor.CauseChanged, What: "changed"}
			}
		})
		time.Sleep(5 * second)
		now("files a2000")
		synctest.Wait()
		if nvml.opens() != opened+1 {
			t.Errorf("opened %d times, want once more than %d", nvml.opens(), opened)
		}

		// NVML is lost.
		lost := errors.New("gone")
		nvml.set(func() {
			nvml.devices = func() ([]monitor.Device, error) { return nil, lost }
			nvml.open = func() error { return &monitor.OpenError{What: "gone"} }
		})
		for range 10 {
			time.Sleep(5 * second)
			now("files a2000")
		}
		nvml.set(func() {
			nvml.read = func(_ monitor.Device, _ monitor.Want, sink monitor.Sink) {
				sink.State(monitor.Lost, monitor.Known, "", monitor.CallError{})
			}
		})
		if r := refresh(s, monitor.Device{Key: "a2000", Index: 1}); r.GPU.State != monitor.Lost || !slices.Equal(r.GPU.Sources, []string{"nvml"}) {
			t.Errorf("%v from %q", r.GPU.State, r.GPU.Sources)
		}
		nvml.set(func() { nvml.open = nil })
		nvml.gives(orin())
		time.Sleep(30 * second)
		now("files")
	})
}

// TestGarbageOfNVML: where NVML answers everything, with zeros and PIDs that nobody
// has, none of it shows: files alone tell of the GPU.
func TestGarbageOfNVML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		garbage := orin()
		garbage.id.MemoryUnified = true
		garbage.id.UUID, garbage.id.PCIBusID, garbage.id.Serial = monitor.OfText("GPU-garbage"), monitor.OfText("00000000:00:00.0"), monitor.OfText("garbage")
		garbage.readings = map[monitor.ReadingID]monitor.Reading{}
		for id := range monitor.NumReadings {
			garbage.readings[id] = monitor.OfInt(4242)
		}
		garbage.fans = []monitor.Fan{{Percent: monitor.OfInt(4242), RPM: monitor.OfInt(4242)}}
		for _, pid := range []uint32{0, 4294967295, 3735928559} {
			garbage.processes = append(garbage.processes, monitor.Process{PID: pid, GPUMemoryBytes: monitor.OfInt(4242)})
		}
		nvml := &standin{}
		nvml.gives(garbage)
		s := source(fixture.Machine(t, "orin-nano-jetpack6"), nvml)
		for range 3 {
			d := list(t, s)
			if keys(d) != "files" {
				t.Fatalf("devices %v", d)
			}
			r := refresh(s, d[0])
			for id := range monitor.NumReadings {
				if value(r.Readings[id]) == "4242" {
					t.Errorf("%s is NVML's", id.Info().Key)
				}
			}
			wantValue(t, r, monitor.UtilizationPercent, "0") // which was measured
			wantValue(t, r, monitor.ClockGraphicsMaxMHz, "1020")
			wantValue(t, r, monitor.MemoryUsedBytes, "4.21920768e+08")
			if r.GPU.UUID.Known() || r.GPU.PCIBusID.Known() || r.GPU.Serial.Known() {
				t.Errorf("%+v", r.GPU.Identity)
			}
			for _, p := range r.GPU.Processes {
				if value(p.GPUMemoryBytes) == "4242" || p.PID == 0 || p.PID > 1<<22 {
					t.Errorf("process %+v", p)
				}
			}
			if len(r.GPU.Fans) != 1 || value(r.GPU.Fans[0].RPM) == "4242" {
				t.Errorf("fans %+v", r.GPU.Fans)
			}
			time.Sleep(5 * second)
		}
	})
}

// TestThor: what NVML refuses is read from files in each refresh, also in those
// in which NVML is not asked again; what NVML tells is what shows.
func TestThor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gpc = "sys/class/devfreq/gpu-gpc-0/cur_freq"
		root := fixture.Machine(t, "thor-jetpack7.2")
		c := thorCard(map[monitor.ReadingID]monitor.Reading{
			monitor.UtilizationPercent: monitor.OfInt(97), monitor.ClockGraphicsMHz: monitor.OfInt(0), monitor.ClockGraphicsMaxMHz: monitor.OfInt(0),
		})
		nvml := &standin{}
		nvml.gives(c)
		s := source(root, nvml)
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		if nvml.opens() != 1 {
			t.Fatal("Thor is NVML's, which was not opened")
		}
		d := list(t, s)
		if keys(d) != "thor" {
			t.Fatalf("devices %v", d)
		}
		r := refresh(s, d[0])
		for id, want := range map[monitor.ReadingID]string{
			monitor.UtilizationPercent: "97", monitor.ClockGraphicsMHz: "1575", monitor.ClockGraphicsMaxMHz: "1575",
			monitor.TemperatureC: "52.187",
			monitor.FanPercent:   "70.588", monitor.EncoderPercent: "not_supported", monitor.PowerMW: "not_supported",
		} {
			wantValue(t, r, id, want)
		}
		if len(r.GPU.Fans) != 1 || value(r.GPU.Fans[0].RPM) != "4210" || !slices.Equal(r.GPU.Sources, []string{"nvml", "tegra"}) {
			t.Errorf("fans %+v, from %q", r.GPU.Fans, r.GPU.Sources)
		}

		// The driver asks for what it was refused only now and then.
		nvml.set(func() {
			nvml.read = func(_ monitor.Device, want monitor.Want, sink monitor.Sink) {
				sink.Reading(monitor.UtilizationPercent, monitor.OfInt(98))
			}
		})
		zone := "sys/devices/virtual/thermal/thermal_zone1/temp"
		for i, file := range []struct{ clock, temp, wantClock, wantTemp string }{
			{"315000000\n", "60000\n", "315", "60"},
			{"612000000\n", "61000\n", "612", "61"},
			{"garbage\n", "62000\n", "implausible", "62"},
			{"1575000000\n", "63000\n", "1575", "63"},
		} {
			fixture.Write(t, root, gpc, file.clock)
			fixture.Write(t, root, zone, file.temp)
			time.Sleep(second)
			r := refresh(s, d[0])
			wantValue(t, r, monitor.ClockGraphicsMHz, file.wantClock)
			wantValue(t, r, monitor.TemperatureC, file.wantTemp)
			wantValue(t, r, monitor.UtilizationPercent, "98")
			if len(r.GPU.Fans) != 1 {
				t.Errorf("round %d: fans %+v", i, r.GPU.Fans)
			}
		}

		// A driver that tells them, such as a later one.
		told := thorCard(map[monitor.ReadingID]monitor.Reading{
			monitor.UtilizationPercent: monitor.OfInt(1), monitor.ClockGraphicsMHz: monitor.OfInt(2), monitor.ClockGraphicsMaxMHz: monitor.OfInt(3),
			monitor.TemperatureC: monitor.OfInt(4), monitor.EncoderPercent: monitor.OfInt(5), monitor.FanPercent: monitor.OfInt(6),
		})
		told.fans = []monitor.Fan{{Percent: monitor.OfInt(6)}, {Percent: monitor.OfInt(7)}}
		nvml.gives(told)
		for range 2 {
			r = refresh(s, d[0])
		}
		for id, want := range map[monitor.ReadingID]string{
			monitor.UtilizationPercent: "1", monitor.ClockGraphicsMHz: "2", monitor.ClockGraphicsMaxMHz: "3", monitor.TemperatureC: "4",
			monitor.EncoderPercent: "5", monitor.FanPercent: "6",
		} {
			wantValue(t, r, id, want)
		}
		if len(r.GPU.Fans) != 2 {
			t.Errorf("fans %+v", r.GPU.Fans)
		}
	})
}

// TestCardInThor: what files tell is the integrated GPU's, and no other card's.
func TestCardInThor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nvml := &standin{}
		nvml.gives(thorCard(nil), a2000())
		s := source(fixture.Machine(t, "thor-jetpack7.2"), nvml)
		d := list(t, s)
		if keys(d) != "thor a2000" {
			t.Fatalf("devices %v", d)
		}
		for round := range 2 {
			wantValue(t, refresh(s, d[0]), monitor.ClockGraphicsMHz, "1575")
			r := refresh(s, d[1])
			wantValue(t, r, monitor.ClockGraphicsMHz, "not_supported")
			wantValue(t, r, monitor.TemperatureC, "not_supported")
			wantValue(t, r, monitor.FanPercent, "not_supported")
			if r.GPU.Fans != nil || round == 0 && !slices.Equal(r.GPU.Sources, []string{"nvml"}) {
				t.Errorf("fans %+v from %q", r.GPU.Fans, r.GPU.Sources)
			}
		}
	})
}

// TestLateXIDs: an error that the driver tells of after Read has returned, from
// another goroutine, goes to the sink that Read had.
func TestLateXIDs(t *testing.T) {
	for _, machine := range []string{"thor-jetpack7.2", "orin-agx-discrete"} {
		t.Run(machine, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nvml := &standin{}
				card := a2000()
				if machine == "thor-jetpack7.2" {
					card = thorCard(nil)
				}
				nvml.gives(orin(), card)
				answer := nvml.read
				var sinks []monitor.Sink
				nvml.set(func() {
					nvml.read = func(d monitor.Device, want monitor.Want, sink monitor.Sink) {
						answer(d, want, sink)
						if d.Key == card.key && want != (monitor.Want{}) {
							sinks = append(sinks, sink)
						}
					}
				})
				s := source(fixture.Machine(t, machine), nvml)
				d := list(t, s)
				if len(d) != 2 {
					t.Fatalf("devices %v", d)
				}
				first := refresh(s, d[1])
				go sinks[0].XIDs([]monitor.XID{{Code: 79}}, status(true))
				second := refresh(s, d[1]) // at the same time
				synctest.Wait()
				if len(first.GPU.XIDs) != 1 || first.GPU.XIDs[0].Code != 79 || first.XIDsStatus.Reason != monitor.Known || len(second.GPU.XIDs) != 0 {
					t.Errorf("%+v, %+v", first.GPU.XIDs, second.GPU.XIDs)
				}
			})
		})
	}
}
