//go:build !windows

package main

import "nvtop-lite/monitor"

// withSystem adds to what NVML tells what this system does: nothing here.
func withSystem(nvml monitor.Source) monitor.Source { return nvml }
