package wddm

import "nvtop-lite/monitor"

// New returns the GPUs of nvml with what Windows tells of their processes.
func New(nvml monitor.Source) *Source { return newSource(nvml, newQuery(), &system{}) }
