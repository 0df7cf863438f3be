package driver

import (
	"testing"

	"nvtop-lite/monitor"
)

// TestDriverModelFailsInPassing: it is asked again, and a model that is known stays.
func TestDriverModelFailsInPassing(t *testing.T) {
	before := driverModel
	t.Cleanup(func() { driverModel = before })
	driverModel = modelOf
	r := open(t, "580", "gpus 1\ngpu 0 drivermodel 0\nfault nvmlDeviceGetDriverModel* calls 1-2 return 999\n")
	for i, want := range []string{"unknown", "unknown", "wddm"} {
		if got := r.read(0, monitor.Everything).DriverModel; i != 1 && got != want {
			t.Errorf("refresh %d: %q, want %q", i, got, want)
		}
		r.pass(slow)
	}
	r.fake.SetScenario("gpus 1\ngpu 0 drivermodel 0\nfault nvmlDeviceGetDriverModel* return 999\n")
	device := r.src.devices[0]
	device.mu.Lock()
	device.drop() // another handle asks anew
	device.mu.Unlock()
	if got := r.read(0, monitor.Everything).DriverModel; got != "wddm" {
		t.Errorf("after a failure: %q", got)
	}
}

// TestDriverModel: on Windows it is part of what a GPU is, and asked once, of old
// libraries by the older function; elsewhere nobody asks.
func TestDriverModel(t *testing.T) {
	before := driverModel
	t.Cleanup(func() { driverModel = before })
	for _, tt := range []struct{ generation, scenario, want string }{
		{"580", "gpu 0 drivermodel 0\n", "wddm"},
		{"580", "gpu 0 drivermodel 1\n", "tcc"},
		{"580", "gpu 0 drivermodel 2\n", "mcdm"},
		{"580", "gpu 0 drivermodel 7\n", "unknown"},
		{"390", "gpu 0 drivermodel 1\n", "tcc"},
		{"580", "gpu 0 drivermodel 1\nfault nvmlDeviceGetDriverModel* return 3\n", "unknown"},
	} {
		driverModel = modelOf
		r := open(t, tt.generation, "gpus 1\n"+tt.scenario)
		for range 3 {
			r.read(0, monitor.Everything)
		}
		if got := r.sinks[0].gpu.DriverModel; got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.generation, tt.scenario, got, tt.want)
		}
		if n := r.fake.Calls("nvmlDeviceGetDriverModel_v2") + r.fake.Calls("nvmlDeviceGetDriverModel"); n > 2 {
			t.Errorf("%s, %q: %d calls", tt.generation, tt.scenario, n)
		}
		driverModel = nil
		r = open(t, tt.generation, "gpus 1\n"+tt.scenario)
		if got := r.read(0, monitor.Everything).DriverModel; got != "" || r.fake.Calls("nvmlDeviceGetDriverModel_v2") > 0 {
			t.Errorf("elsewhere: %q", got)
		}
	}
}
