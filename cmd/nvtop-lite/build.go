package main

import (
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/demo"
	"nvtop-lite/monitor/driver"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/process"
	"nvtop-lite/monitor/sample"
)

// build wires the rooms of the driver process.
func build(setup apart.Setup, warnings []monitor.Warning) (*sample.Sampler, error) {
	h := host.Open(setup.Root)
	cfg := sample.Config{
		Host: h, Processes: process.NewTable(h), Label: "live", Warnings: warnings,
		Complete: setup.Complete, Count: setup.Count, Timeout: setup.Timeout,
	}
	if setup.Demo {
		machine := demo.New(demo.Options{})
		cfg.Label, cfg.Host, cfg.Sources = "demo", machine.Host(), []monitor.Source{machine}
	} else {
		cfg.Sources = []monitor.Source{driver.New(driver.Options{Library: setup.NVML, Root: setup.Root})}
	}
	return sample.New(cfg, setup.Request)
}
