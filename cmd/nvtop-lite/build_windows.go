package main

import (
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/wddm"
)

// withSystem adds to what NVML tells what this system does.
func withSystem(nvml monitor.Source) monitor.Source { return wddm.New(nvml) }
