package main

import (
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/doctor"
	"nvtop-lite/monitor/wddm"
)

// withSystem adds to what NVML tells what this system does, which watch hears of;
// nil is nobody.
func withSystem(nvml monitor.Source, watch *doctor.Watch) monitor.Source {
	source := wddm.New(nvml)
	if watch != nil {
		source.Tell(func(t *wddm.Told) { watch.System(t, t.Lines()) })
	}
	return source
}
