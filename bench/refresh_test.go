package bench

import (
	"errors"
	"testing"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/driver"
	"nvtop-lite/monitor/screen"
	"nvtop-lite/nvml"
)

// machine is eight GPUs with four processes each; every load is a walk.
func machine() string {
	s := &fakenvml.Scenario{}
	s.Add("gpus 8").Add("gpu all model h100")
	s.Add("gpu all process compute none").Add("gpu all usage none")
	for gpu := range 8 {
		for i := range 4 {
			pid := 20000 + gpu*10 + i
			s.Add("gpu %d process compute %d %d", gpu, pid, (i+1)<<30)
			s.Add("gpu %d usage %d %d 5 0 0 age 200", gpu, pid, 10*i)
		}
	}
	return s.String()
}

func total(f *fakenvml.Fake) int {
	n := 0
	for _, calls := range f.AllCalls() {
		n += calls
	}
	return n
}

// values counts what a source found out; it is a monitor.Sink.
type values struct{ known, unknown int }

func (v *values) Begin(monitor.Want)                                             {}
func (v *values) Call(string)                                                    {}
func (v *values) Identity(monitor.Identity)                                      {}
func (*values) Adapter(*monitor.Adapter)                                         {}
func (v *values) Sources(...string)                                              {}
func (v *values) State(monitor.State, monitor.Reason, string, monitor.CallError) {}
func (v *values) Fans([]monitor.Fan, monitor.Status)                             {}
func (v *values) XIDs([]monitor.XID, monitor.Status)                             {}
func (v *values) MIG([]monitor.GPU, monitor.Status)                              {}
func (v *values) Processes(list []monitor.Process, _ monitor.Status)             { v.known += len(list) }
func (v *values) Reading(_ monitor.ReadingID, r monitor.Reading) {
	if r.Reason == monitor.Known {
		v.known++
	} else {
		v.unknown++
	}
}

// BenchmarkRefresh reads eight GPUs once, through everything between the C
// library and the model: all that can be known, and what the screen shows. The
// refreshes follow each other at once, so readings that are asked every few
// seconds, or not again, count as they would in a long run.
func BenchmarkRefresh(b *testing.B) {
	fake := fakenvml.New(b, "580", machine())
	src := driver.New(driver.Options{Library: fake.Path()})
	if err := src.Open(); err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	devices, err := src.Devices()
	if err != nil || len(devices) != 8 {
		b.Fatalf("%d devices, %v", len(devices), err)
	}
	for _, c := range []struct {
		name string
		want monitor.Want
	}{
		{"everything", monitor.Everything},
		{"screen", screen.New(screen.Options{}).Want(&screen.View{Mode: screen.Boxes, ShowProcesses: true})},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := &values{}
			refresh := func() {
				for _, d := range devices {
					src.Read(d, c.want, v)
				}
			}
			refresh() // opens the devices
			*v = values{}
			before, rounds := total(fake), 0
			b.ReportAllocs()
			for b.Loop() {
				refresh()
				rounds++
			}
			b.ReportMetric(float64(total(fake)-before)/float64(rounds*len(devices)), "calls/GPU")
			if v.known == 0 {
				b.Fatal("nothing was read")
			}
		})
	}
}

// ask makes ten calls.
func ask(d nvml.Device) error {
	_, e1 := d.MemoryInfo()
	_, e2 := d.UtilizationRates()
	_, e3 := d.Temperature(nvml.TemperatureGPU)
	_, e4 := d.PowerUsage()
	_, e5 := d.ClockInfo(nvml.ClockGraphics)
	_, e6 := d.ClockInfo(nvml.ClockSM)
	_, e7 := d.PerformanceState()
	_, e8 := d.CurrentClocksEventReasons()
	_, e9 := d.CurrPcieLinkWidth()
	_, e10 := d.ComputeRunningProcesses()
	return errors.Join(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10)
}

// BenchmarkBinding asks eight GPUs for ten things through package nvml.
func BenchmarkBinding(b *testing.B) {
	fake := fakenvml.New(b, "580", machine())
	lib, err := nvml.Open(nvml.Options{Path: fake.Path()})
	if err != nil {
		b.Fatal(err)
	}
	defer lib.Close()
	var devices []nvml.Device
	for d, err := range lib.Devices() {
		if err != nil {
			b.Fatal(err)
		}
		devices = append(devices, d)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range devices {
			if err := ask(d); err != nil {
				b.Fatal(err)
			}
		}
	}
}
