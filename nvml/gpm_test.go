package nvml_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
)

const gpmValues = "gpus 2\ngpu all gpm 1\ngpu all gpm.2 87.5\ngpu all gpm.3 31\ngpu all gpm.5 58.25\ngpu all gpm.10 44\n"

// sample updates until there is a window.
func sample(t *testing.T, g *nvml.GPM) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		w, err := g.Update()
		if err != nil {
			t.Fatal(err)
		}
		if w > 0 {
			if w < nvml.GPMMinWindow {
				t.Fatalf("a window of %v", w)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("no second sample")
		}
	}
}

func metrics() []nvml.GPMMetric {
	return []nvml.GPMMetric{{ID: nvml.GPMSM}, {ID: nvml.GPMSMOccupancy}, {ID: nvml.GPMTensor}, {ID: nvml.GPMDRAM}, {ID: 9999}}
}

func checkMetrics(t *testing.T, when string, list []nvml.GPMMetric) {
	t.Helper()
	for i, want := range []float64{87.5, 31, 58.25, 44} {
		if list[i].Return != nvml.Success || list[i].Value != want {
			t.Errorf("%s: metric %d: %+v, want %v", when, list[i].ID, list[i], want)
		}
	}
	if m := list[4]; m.Return == nvml.Success || m.Return == nvml.ErrNotReady || m.Value != 0 {
		t.Errorf("%s: a metric that does not exist: %+v", when, m)
	}
}

func TestGPMOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		fake, d := device(t, g, gpmValues, nvml.Options{})
		gpm, err := d.NewGPM()
		if branch(g) < 520 {
			if !errors.Is(err, nvml.ErrFunctionNotFound) {
				t.Errorf("%s: %v", g, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(g, err)
		}
		if err := gpm.Metrics(metrics()); !errors.Is(err, nvml.ErrNotReady) {
			t.Errorf("%s: before a sample: %v", g, err)
		}
		if w, err := gpm.Update(); w != 0 || err != nil {
			t.Errorf("%s: first sample: %v, %v", g, w, err)
		}
		if err := gpm.Metrics(metrics()); !errors.Is(err, nvml.ErrNotReady) {
			t.Errorf("%s: after one sample: %v", g, err)
		}
		sample(t, gpm)
		list := metrics()
		if err := gpm.Metrics(list); err != nil {
			t.Fatal(g, err)
		}
		checkMetrics(t, g, list)
		if !gpm.Proven() {
			t.Errorf("%s: a batch is not proven", g)
		}
		before := fake.Calls("nvmlGpmMetricsGet")
		list = metrics()
		if err := gpm.Metrics(list); err != nil {
			t.Fatal(g, err)
		}
		checkMetrics(t, g+" in one call", list)
		if n := fake.Calls("nvmlGpmMetricsGet") - before; n != 1 {
			t.Errorf("%s: %d calls for a proven list", g, n)
		}
		gpm.Reset()
		if err := gpm.Metrics(metrics()); !errors.Is(err, nvml.ErrNotReady) {
			t.Errorf("%s: after Reset: %v", g, err)
		}
		if err := gpm.Close(); err != nil {
			t.Error(g, err)
		}
		if _, err := gpm.Update(); !errors.Is(err, nvml.ErrUninitialized) {
			t.Errorf("%s: Update after Close: %v", g, err)
		}
		if n := fake.Calls("nvmlGpmSampleFree"); n != 2 {
			t.Errorf("%s: %d samples were given back", g, n)
		}
	}
}

// TestGPMBatchThatLies has drivers that answer several metrics in one call
// wrongly.
func TestGPMBatchThatLies(t *testing.T) {
	for _, how := range []string{"gpm.batch wrong\n", "gpm.batch partial\n", "gpm.overrun 4096\n"} {
		_, d := device(t, "580", gpmValues+how, nvml.Options{})
		gpm, err := d.NewGPM()
		if err != nil {
			t.Fatal(err)
		}
		sample(t, gpm)
		for range 3 {
			list := metrics()
			if err := gpm.Metrics(list); err != nil {
				t.Fatal(how, err)
			}
			checkMetrics(t, how, list)
		}
		if gpm.Proven() != (how == "gpm.overrun 4096\n") {
			t.Errorf("%s: proven is %v", how, gpm.Proven())
		}
		if err := gpm.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFirstGPMSample lets the first sample of one GPU hang: that of the other is
// refused at once, and comes later.
func TestFirstGPMSample(t *testing.T) {
	fake, lib := open(t, "580", gpmValues+"fault nvmlGpmSampleGet gpu 0 calls 1 hang\n", nvml.Options{})
	var list []*nvml.GPM
	for d, err := range lib.Devices() {
		if err != nil {
			t.Fatal(err)
		}
		g, err := d.NewGPM()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	done := make(chan error)
	go func() {
		_, err := list[0].Update()
		done <- err
	}()
	fake.WaitCalls("nvmlGpmSampleGet", 1)
	within(t, 10*time.Second, func() {
		if w, err := list[1].Update(); !errors.Is(err, nvml.ErrNotReady) || w != 0 {
			t.Errorf("%v, %v", w, err)
		}
	})
	if n := fake.Calls("nvmlGpmSampleGet"); n != 1 {
		t.Errorf("%d samples at once", n)
	}
	within(t, 10*time.Second, func() {
		if err := list[0].Close(); !errors.Is(err, nvml.ErrInUse) {
			t.Errorf("Close during a sample: %v", err)
		}
	})
	fake.SetScenario(gpmValues)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, g := range list {
		sample(t, g)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestGPMWithoutSupport(t *testing.T) {
	_, d := device(t, "580", "gpus 1\ngpu 0 gpm unset\n", nvml.Options{})
	if _, err := d.NewGPM(); !errors.Is(err, nvml.ErrNotSupported) {
		t.Error(err)
	}
	_, d = device(t, "580", "gpus 1\nfault nvmlGpmQueryDeviceSupport return 25\n", nvml.Options{})
	if _, err := d.NewGPM(); !errors.Is(err, nvml.ErrArgumentVersion) {
		t.Error(err)
	}
}

const migScenario = `gpus 1
gpu 0 mig on
gpu 0 instance 0 1 0 3g.40gb
gpu 0 instance 2 5 0 1g.10gb
gpu 0:2 memory.used 5GiB
gpu 0:2 gpm.2 64
gpu 0:2 process compute 100 4096
`

func TestMIG(t *testing.T) {
	for _, g := range []string{"450", "470", "510", "525", "535.54", "535.98", "550", "580", "615"} {
		r := &recorder{}
		_, d := device(t, g, migScenario, nvml.Options{Trace: r})
		if on, _, err := d.MigMode(); err != nil || !on {
			t.Fatal(g, on, err)
		}
		var indices []int
		var last nvml.Device
		for m, err := range d.MIGDevices() {
			if err != nil {
				t.Fatal(g, err)
			}
			if !m.IsMIG() || m.Index() != 0 {
				t.Errorf("%s: %v %d", g, m.IsMIG(), m.Index())
			}
			indices = append(indices, m.MIGIndex())
			last = m
		}
		if !slices.Equal(indices, []int{0, 2}) {
			t.Fatalf("%s: %v", g, indices)
		}
		if gi, err := last.GpuInstanceId(); err != nil || gi != 5 {
			t.Errorf("%s: GPU instance %d, %v", g, gi, err)
		}
		r.take()
		if m, err := last.MemoryInfo(); err != nil || m.Used != 5<<30 {
			t.Errorf("%s: %+v, %v", g, m, err)
		}
		if calls := r.take(); len(calls) == 0 || calls[0].MIG != 2 || calls[0].Device != 0 {
			t.Errorf("%s: calls %+v", g, calls)
		}
		if _, err := last.UtilizationRates(); !errors.Is(err, nvml.ErrNotSupported) {
			t.Errorf("%s: load of a MIG device: %v", g, err)
		}
		list, err := last.ComputeRunningProcesses()
		if err != nil || len(list) != 1 || list[0].PID != 100 {
			t.Errorf("%s: %v, %v", g, list, err)
		}
		a, err := last.Attributes()
		if err != nil || a.Multiprocessors == 0 || branch(g) >= 470 && a.MemorySize == 0 {
			t.Errorf("%s: %+v, %v", g, a, err)
		}
		uuid, err := last.UUID()
		if err != nil {
			t.Fatal(g, err)
		}
		if same, err := d.Library().DeviceByUUID(uuid); err != nil || same != last {
			t.Errorf("%s: by UUID: %v, %v", g, same, err)
		}
		if p, err := last.MIGParent(); err != nil || p != d {
			t.Errorf("%s: parent: %v, %v", g, p, err)
		}
		if branch(g) < 525 {
			continue
		}
		gpm, err := last.NewGPM()
		if err != nil {
			t.Fatal(g, err)
		}
		sample(t, gpm)
		m := []nvml.GPMMetric{{ID: nvml.GPMSM}}
		if err := gpm.Metrics(m); err != nil || m[0].Value != 64 {
			t.Errorf("%s: %v, %v", g, m, err)
		}
		if err := gpm.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMIGErrors(t *testing.T) {
	_, d := device(t, "580", migScenario+"gpu 0:2 open 4\n", nvml.Options{})
	var got []string
	for m, err := range d.MIGDevices() {
		var gap *nvml.DeviceError
		if errors.As(err, &gap) {
			got = append(got, fmt.Sprint("gap ", gap.Index, " ", errors.Is(err, nvml.ErrNoPermission)))
		} else {
			got = append(got, fmt.Sprint(m.MIGIndex(), " ", err))
		}
	}
	if !slices.Equal(got, []string{"0 <nil>", "gap 2 true"}) {
		t.Error(got)
	}
	// A GPU that knows no MIG.
	_, d = device(t, "580", "gpus 1\ngpu 0 model t4\n", nvml.Options{})
	for m, err := range d.MIGDevices() {
		t.Error(m, err)
	}
}

func TestProfilesAndInstances(t *testing.T) {
	for _, g := range []string{"450", "470", "525", "550", "580", "615"} {
		_, d := device(t, g, migScenario, nvml.Options{})
		found := 0
		for n := range uint32(20) {
			p, err := d.GpuInstanceProfileInfo(n)
			if err != nil {
				if !errors.Is(err, nvml.ErrNotSupported) && !errors.Is(err, nvml.ErrInvalidArgument) {
					t.Errorf("%s: profile %d: %v", g, n, err)
				}
				continue
			}
			found++
			if p.Slices == 0 || p.Multiprocessors == 0 || p.MemorySize == 0 || branch(g) >= 525 && p.Name == "" {
				t.Errorf("%s: %+v", g, p)
			}
			list, err := d.GpuInstances(p.ID)
			if err != nil {
				t.Errorf("%s: %v", g, err)
			}
			for _, gi := range list {
				info, err := gi.Info()
				if err != nil || info.ID != 1 && info.ID != 5 || info.ProfileID != p.ID {
					t.Errorf("%s: %+v, %v", g, info, err)
				}
				if same, err := d.GpuInstanceById(info.ID); err != nil || same != gi {
					t.Errorf("%s: %v, %v", g, same, err)
				}
				for c := range uint32(8) {
					cp, err := gi.ComputeInstanceProfileInfo(c, 0)
					if err != nil {
						continue
					}
					cis, err := gi.ComputeInstances(cp.ID)
					if err != nil {
						t.Errorf("%s: %v", g, err)
					}
					for _, ci := range cis {
						if info, err := ci.Info(); err != nil || info.ID != 0 {
							t.Errorf("%s: %+v, %v", g, info, err)
						}
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no profiles", g)
		}
	}
}
