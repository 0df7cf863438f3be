package main

import (
	"runtime"

	"nvtop-lite/internal/twomode"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/demo"
	"nvtop-lite/monitor/doctor"
	"nvtop-lite/monitor/driver"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/process"
	"nvtop-lite/monitor/sample"
	"nvtop-lite/monitor/tegra"
)

// buildApart wires the rooms of the driver process.
func buildApart(setup apart.Setup, warnings []monitor.Warning) (*sample.Sampler, error) {
	return wire(setup, warnings, process.Names{Libc: !twomode.Static(), Fell: setup.Fell})
}

// build wires the same rooms in the program itself, where no module of the name
// service shall run.
func build(setup apart.Setup, warnings []monitor.Warning) (*sample.Sampler, error) {
	return wire(setup, warnings, process.Names{})
}

func wire(setup apart.Setup, warnings []monitor.Warning, names process.Names) (*sample.Sampler, error) {
	h := host.Open(setup.Root)
	cfg := sample.Config{
		Host: h, Processes: process.NewTable(h, names, setup.Complete), Label: "live", Warnings: warnings,
		Complete: setup.Complete, Count: setup.Count, Timeout: setup.Timeout,
	}
	if setup.Demo {
		machine := demo.New(demo.Options{})
		cfg.Label, cfg.Host, cfg.Sources = "demo", machine.Host(), []monitor.Source{machine}
	} else {
		opts := driver.Options{
			Library: setup.NVML, Root: setup.Root, Wake: setup.Wake,
			Renew: runtime.GOOS == "windows", Unloadable: setup.Unloadable,
		}
		var source monitor.Source
		var watch *doctor.Watch
		if !setup.Notes {
			source = driver.New(opts)
		} else {
			watch = doctor.NewWatch(setup.Note)
			opts.Watch = watch
			source = watch.Source(driver.New(opts))
		}
		if h.Root().Here() {
			source = withSystem(source, watch)
		}
		if p := h.Platform(); p.Kind == host.Jetson {
			cfg.Host, source = tegra.NewModule(h), tegra.New(h.Root(), p.SoC.Value, source, setup.Fell)
		}
		cfg.Sources, cfg.Loading = []monitor.Source{source}, driver.Loading
	}
	if setup.Notes { // processes are only counted
		cfg.Processes = nil
	}
	return sample.New(cfg, setup.Request)
}
