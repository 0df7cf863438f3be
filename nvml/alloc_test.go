//go:build !race

package nvml_test

import (
	"testing"
	"time"

	"nvtop-lite/nvml"
)

// hot are the readings that a monitor repeats, and must not allocate for.
func hot(t testing.TB) map[string]func() {
	_, lib := open(t, "580", "gpus 1\ngpu 0 process compute none\ngpu 0 processes compute 40 1000 4096\n", nvml.Options{})
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	plain := d
	d = d.In(lib.NewSession())
	processes := make([]nvml.Process, 0, 100)
	loads := make([]nvml.ProcessLoad, 0, 100)
	fields := []nvml.FieldValue{{ID: nvml.FieldMemoryTemp}, {ID: nvml.FieldPowerInstant}, {ID: nvml.FieldClocksEventReasonSwThermal}}
	gpm, err := d.NewGPM()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gpm.Close() })
	metrics := []nvml.GPMMetric{{ID: nvml.GPMSM}, {ID: nvml.GPMDRAM}}
	for range 2 {
		if _, err := gpm.Update(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(nvml.GPMMinWindow + 50*time.Millisecond)
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	return map[string]func(){
		"PowerUsage":     func() { _, err := d.PowerUsage(); must(err) },
		"PowerUsagePool": func() { _, err := plain.PowerUsage(); must(err) },
		"PowerInstant":   func() { _, err := d.PowerInstant(nvml.PowerOfGPU); must(err) },
		"MemoryInfo":     func() { _, err := d.MemoryInfo(); must(err) },
		"Temperature":    func() { _, err := d.Temperature(nvml.TemperatureGPU); must(err) },
		"ClockInfo":      func() { _, err := d.ClockInfo(nvml.ClockSM); must(err) },
		"Utilization":    func() { _, err := d.UtilizationRates(); must(err) },
		"Encoder":        func() { _, _, err := d.EncoderUtilization(); must(err) },
		"Reasons":        func() { _, err := d.CurrentClocksEventReasons(); must(err) },
		"EccErrors":      func() { _, err := d.TotalEccErrors(nvml.Uncorrected, nvml.Volatile); must(err) },
		"RemappedRows":   func() { _, err := d.RemappedRows(); must(err) },
		"NvLinkTraffic":  func() { _, _, err := d.NvLinkTraffic(nvml.AllLinks); must(err) },
		"FieldValues":    func() { must(d.FieldValues(fields)) },
		"Processes": func() {
			var err error
			processes, err = d.AppendRunningProcesses(processes[:0], nvml.Compute)
			must(err)
		},
		"ProcessLoad": func() { var err error; loads, err = d.AppendProcessUtilization(loads[:0], 0); must(err) },
		"GPM":         func() { must(gpm.Metrics(metrics)) },
	}
}

func TestNoAllocations(t *testing.T) {
	for name, f := range hot(t) {
		f()
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkReading(b *testing.B) {
	for name, f := range hot(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
