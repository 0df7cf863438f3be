package monitor

import "testing"

// TestDoubt: what a file says is held against what can be, as what a driver says.
func TestDoubt(t *testing.T) {
	s := &Snapshot{GPUs: []GPU{{
		Fans:      []Fan{{Percent: OfFloat(-3), RPM: OfInt(1200)}},
		Processes: []Process{{GPUMemoryBytes: OfInt(-1), SMPercent: OfFloat(1e300), CPUPercent: OfFloat(250)}},
	}}}
	g := &s.GPUs[0]
	g.Readings[UtilizationPercent], g.Readings[MemoryUsedBytes] = OfFloat(4000), OfInt(1<<30)
	g.Readings[TemperatureC] = Failed(Timeout, NewCallError("nvmlDeviceGetTemperature", "", 0))
	g.Readings[ComputeMode] = OfForeign(Word, 1<<63, "shared_fairly")
	s.Doubt()
	for what, r := range map[string]Reading{
		"a load of 4000 %": g.Readings[UtilizationPercent], "a fan at -3 %": g.Fans[0].Percent,
		"memory below 0": g.Processes[0].GPUMemoryBytes, "a load of 1e300": g.Processes[0].SMPercent,
	} {
		if r.Reason != Implausible {
			t.Errorf("%s: %+v", what, r)
		}
	}
	for what, r := range map[string]Reading{
		"memory": g.Readings[MemoryUsedBytes], "a fan": g.Fans[0].RPM, "CPU load of many cores": g.Processes[0].CPUPercent,
		"a word without a number": g.Readings[ComputeMode],
	} {
		if !r.Known() {
			t.Errorf("%s: %v", what, r.Reason)
		}
	}
	if r := g.Readings[TemperatureC]; r.Reason != Timeout || r.Err.Function() == "" {
		t.Errorf("what was unknown changed: %+v", r)
	}
}
