package driver

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// fed is a key of a scenario, the reading that it is for, and what it can say.
type fed struct {
	id    monitor.ReadingID
	key   string
	bad   string // values that cannot be true, where the fake driver passes them on
	good  string // values at the ends of what can, and between
	extra string // more lines, for %d
}

const (
	absurd  = "none -70 999999999999"
	shares  = "0 37 100"
	numbers = "0 1 4096"
)

var feds = []fed{
	{monitor.Minor, "minor", absurd, "0 7 255", ""},
	{monitor.UtilizationPercent, "util", absurd + " 101", shares, ""},
	{monitor.MemoryUtilizationPercent, "util.memory", absurd + " 101", shares, ""},
	{monitor.EncoderPercent, "encoder", absurd + " 101", shares, ""},
	{monitor.DecoderPercent, "decoder", absurd + " 101", shares, ""},
	{monitor.JPEGPercent, "jpg", absurd + " 101", shares, ""},
	{monitor.OFAPercent, "ofa", absurd + " 101", shares, ""},
	{monitor.SMActivePercent, "gpm.2", absurd + " 102", shares, ""},
	{monitor.SMOccupancyPercent, "gpm.3", absurd + " 102", shares, ""},
	{monitor.TensorActivePercent, "gpm.5", absurd + " 102", shares, ""},
	{monitor.DRAMActivePercent, "gpm.10", absurd + " 102", shares, ""},
	{monitor.MemoryTotalBytes, "memory.total", "0 none", "85520809984 1125899906842623", ""},
	{monitor.MemoryUsedBytes, "memory.used", "", "0 1048576 60GiB", ""},
	{monitor.MemoryReservedBytes, "memory.reserved", "", "0 1048576", ""},
	{monitor.TemperatureC, "temperature", absurd + " 250", "-40 -5 0 61 125", ""},
	{monitor.TemperatureMemoryC, "temperature.memory", absurd + " 250", "0 71 110", ""},
	{monitor.TemperatureSlowdownC, "threshold.1", absurd + " 0 400", "60 89 105", ""},
	{monitor.TemperatureMarginC, "margin", "-200 4000 999999999999", "-3 -1 0 40 140", ""},
	{monitor.FanPercent, "fan.0", absurd + " 9999", "0 45 151", "gpu %d fans 1"},
	{monitor.PowerMW, "power", absurd, "0 412000 1500000", ""},
	{monitor.PowerInstantMW, "power.instant", absurd, "0 415000 1500000", ""},
	{monitor.PowerLimitMW, "power.enforced", absurd + " 0", "5000 700000", ""},
	{monitor.PowerLimitDefaultMW, "power.default", absurd + " 0", "5000 700000", ""},
	{monitor.EnergyJoules, "energy", "none 4294967295 -70", "0 1000 812345000 4000000000000000", ""},
	{monitor.ClockGraphicsMHz, "clock.graphics", absurd, "0 1755 3200", ""},
	{monitor.ClockSMMHz, "clock.sm", absurd, "0 1755 3200", ""},
	{monitor.ClockMemoryMHz, "clock.memory", absurd, "0 2619 16000", ""},
	{monitor.ClockVideoMHz, "clock.video", absurd, "0 1440 3200", ""},
	{monitor.ClockGraphicsMaxMHz, "clockmax.graphics", absurd + " 0", "1980 3200", ""},
	{monitor.ClockMemoryMaxMHz, "clockmax.memory", absurd + " 0", "2619 16000", ""},
	{monitor.PerformanceState, "pstate", absurd + " 16", "0 8 15", ""},
	{monitor.ThrottleReasons, "reasons", "none 4294967295", "0 4 1024 4096", ""},
	{monitor.PersistenceMode, "persistence", absurd + " 2", "0 1", ""},
	{monitor.ComputeMode, "computemode", absurd, "0 3 4", ""},
	{monitor.PCIeGeneration, "pcie.gen", absurd + " 0", "1 5 7", ""},
	{monitor.PCIeGenerationMax, "pcie.maxgen", absurd + " 0", "1 5 7", ""},
	{monitor.PCIeWidth, "pcie.width", absurd + " 0", "1 8 16 32", ""},
	{monitor.PCIeWidthMax, "pcie.maxwidth", absurd + " 0", "1 8 16 32", ""},
	{monitor.PCIeTxBytesPerSecond, "gpm.20", absurd, numbers, ""},
	{monitor.PCIeRxBytesPerSecond, "gpm.21", absurd, numbers, ""},
	{monitor.PCIeReplays, "pcie.replay", "none -70", "0 3 100000", ""},
	{monitor.NVLinkTxBytesPerSecond, "gpm.61", absurd, "0 900000", ""},
	{monitor.NVLinkRxBytesPerSecond, "gpm.60", absurd, "0 900000", ""},
	{monitor.NVLinkLinksActive, "nvlink.0.state", "", "0 1", ""},
	{monitor.NVLinkErrors, "nvlink.0.crcflit", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.NVLinkReplays, "nvlink.0.replay", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.NVLinkRecoveries, "nvlink.0.recovery", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.ECCPending, "ecc.pending", absurd + " 2", "0 1", ""},
	{monitor.ECCEnabled, "ecc.mode", absurd + " 2", "0 1", ""},
	{monitor.ECCUncorrectedVolatile, "ecc.uncorrected.volatile", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.ECCCorrectedVolatile, "ecc.corrected.volatile", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.ECCUncorrectedAggregate, "ecc.uncorrected.aggregate", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.ECCCorrectedAggregate, "ecc.corrected.aggregate", "none -70 4294967295", "0 12 5000000000", ""},
	{monitor.RetiredPagesPending, "retired.pending", absurd + " 2", "0 1", "gpu %d retired 1"},
	{monitor.RowsRemapped, "remap.corrected", absurd, "0 8 640", "gpu %d remap.uncorrected 0"},
	{monitor.RowsRemapped, "remap.uncorrected", absurd, "0 8 640", "gpu %d remap.corrected 0"},
	{monitor.FabricState, "fabric", absurd, "0 3", ""},
	{monitor.RecoveryAction, "recovery", absurd, "0 1 7", ""},
}

// isOf turns a value of a key into that of its reading.
func (f *fed) isOf(v float64) float64 {
	switch f.id {
	case monitor.EnergyJoules:
		return v / 1000
	case monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond, monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond:
		return v * mib
	case monitor.NVLinkLinksActive:
		return v + 16 // of 18, one is down
	case monitor.ECCPending:
		return 1 - v // it is on now
	}
	return v
}

// TestWhatCannotBeTrueIsUnknown feeds every reading with what drivers say when
// they know nothing, and with what can be.
func TestWhatCannotBeTrueIsUnknown(t *testing.T) {
	type probe struct {
		*fed
		value string
		good  bool
	}
	var probes []probe
	covered := monitor.Want{}
	for i := range feds {
		f := &feds[i]
		covered = covered.And(monitor.Of(f.id))
		for _, v := range strings.Fields(f.bad) {
			probes = append(probes, probe{f, v, false})
		}
		for _, v := range strings.Fields(f.good) {
			probes = append(probes, probe{f, v, true})
		}
	}
	for id := range monitor.NumReadings {
		switch id {
		case monitor.MemoryFreeBytes, monitor.RetiredPages, monitor.RowsRemapPending, monitor.RowsRemapFailed, monitor.MIGEnabled:
			continue // no number of the driver's is behind them
		}
		if !covered.Has(id) {
			t.Errorf("nothing is fed to %v", id)
		}
	}
	for ; len(probes) > 0; probes = probes[min(200, len(probes)):] {
		some := probes[:min(200, len(probes))]
		s := []string{fmt.Sprintf("gpus %d", len(some)), hopper}
		for i, p := range some {
			if p.extra != "" {
				s = append(s, fmt.Sprintf(p.extra, i))
			}
			s = append(s, fmt.Sprintf("gpu %d %s %s", i, p.key, p.value))
		}
		r := open(t, "580", lines(s...))
		r.wholeAll()
		for i, p := range some {
			got := r.sinks[i].gpu.Readings[p.id]
			if p.id == monitor.PersistenceMode && runtime.GOOS == "windows" {
				continue
			}
			if !p.good {
				if got.Reason != monitor.Implausible {
					t.Errorf("%v of %s %s is %v, want implausible", p.id, p.key, p.value, show(got))
				}
				continue
			}
			var want float64
			if strings.HasSuffix(p.value, "GiB") {
				fmt.Sscan(strings.TrimSuffix(p.value, "GiB"), &want)
				want *= 1 << 30
			} else {
				fmt.Sscan(p.value, &want)
			}
			if p.key == "memory.used" {
				continue // plus the reserve, where the driver counts that
			}
			want = p.isOf(want)
			if v, ok := got.Float(); !ok || v != want {
				t.Errorf("%v of %s %s is %v, want %v", p.id, p.key, p.value, show(got), want)
			}
		}
	}
}

// TestFansThatCannotBeTrue: each number of a fan for itself.
func TestFansThatCannotBeTrue(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "model rtx4090", more, "gpu 0 fan.0 9999", "gpu 0 fan.1 130", "gpu 0 fan.rpm.0 none", "gpu 0 fan.target.0 none",
		"gpu 0 fan.rpm.1 23000", "gpu 0 fan.target.1 45"))
	g := r.read(0, monitor.Everything)
	if len(g.Fans) != 2 {
		t.Fatalf("fans %+v", g.Fans)
	}
	for _, got := range []monitor.Reading{g.Fans[0].Percent, g.Fans[0].RPM, g.Fans[0].TargetPercent, g.Readings[monitor.FanPercent]} {
		if got.Reason != monitor.Implausible {
			t.Errorf("a fan that cannot be: %v", show(got))
		}
	}
	for i, got := range []monitor.Reading{g.Fans[1].Percent, g.Fans[1].RPM, g.Fans[1].TargetPercent} {
		if want := []string{"130", "23000", "45"}[i]; show(got) != want {
			t.Errorf("a fast fan: %v, want %s", show(got), want)
		}
	}
}

// TestProcessesThatCannotBeTrue have more memory than there is, and loads
// beyond all.
func TestProcessesThatCannotBeTrue(t *testing.T) {
	const list = "process compute none"
	r := open(t, "580", lines("gpus 2", hopper, "gpu all "+list, "gpu all process graphics none", "gpu 0 usage none",
		"gpu 0 process compute 100 90GiB", "gpu 0 process compute 101 60GiB", "gpu 0 process compute 102 4294967295", "gpu 0 process compute 103 60GiB 4000000000 5000",
		"gpu 0 usage 100 101 7 4294967295 300", "gpu 0 usage 101 100 7 0 5",
		"gpu 1 memory.total 0", "gpu 1 process compute 100 90GiB"))
	r.wholeAll()
	is := func(gpu int, pid uint32, why monitor.Reason, readings ...monitor.Reading) {
		t.Helper()
		for _, got := range readings {
			if got.Reason != why {
				t.Errorf("process %d of GPU %d: %v, want reason %q", pid, gpu, show(got), why)
			}
		}
	}
	for gpu := range r.sinks {
		for _, p := range r.sinks[gpu].gpu.Processes {
			if p.GPUInstanceID != monitor.None || p.ComputeInstanceID != monitor.None {
				t.Errorf("process %d is in instance %d, %d", p.PID, p.GPUInstanceID, p.ComputeInstanceID)
			}
			switch {
			case p.PID == 100 && gpu == 0:
				is(gpu, p.PID, monitor.Implausible, p.GPUMemoryBytes, p.SMPercent, p.EncoderPercent, p.DecoderPercent)
			case p.PID == 101 && gpu == 0:
				is(gpu, p.PID, monitor.Known, p.GPUMemoryBytes, p.SMPercent, p.EncoderPercent, p.DecoderPercent)
			case p.PID == 102:
				is(gpu, p.PID, monitor.Implausible, p.GPUMemoryBytes)
			default: // two may share memory; where the total is not known much is possible
				is(gpu, p.PID, monitor.Known, p.GPUMemoryBytes)
			}
		}
	}
	if a, b := len(r.sinks[0].gpu.Processes), len(r.sinks[1].gpu.Processes); a != 4 || b != 1 {
		t.Errorf("%d and %d processes, %+v", a, b, r.sinks[1].gpu.ProcStatus)
	}
}

// TestUnifiedMemoryThatCannotBeTrue: the processes of a machine use no more than
// it has, one by one and together.
func TestUnifiedMemoryThatCannotBeTrue(t *testing.T) {
	total, _ := host.Memory("")
	have, ok := total.Int()
	if !ok {
		t.Skip("the memory of this machine is not known")
	}
	part := func(percent int64) string { return fmt.Sprint(have / 100 * percent) }
	r := open(t, "580", lines("gpus 3", "model gb10", "gpu all process compute none", "gpu all process graphics none",
		"gpu 0 process compute 1 "+part(60), "gpu 0 process compute 2 "+part(30),
		"gpu 1 process compute 1 "+part(60), "gpu 1 process compute 2 "+part(50),
		"gpu 2 process compute 1 "+part(110)))
	r.readAll(monitor.Everything)
	for i, why := range []monitor.Reason{monitor.Known, monitor.Implausible, monitor.Implausible} {
		g := &r.sinks[i].gpu
		if got := g.Readings[monitor.MemoryUsedBytes]; got.Reason != why {
			t.Errorf("GPU %d uses %v, want reason %q", i, show(got), why)
		}
		if got := g.Readings[monitor.MemoryTotalBytes]; !got.Known() {
			t.Errorf("GPU %d has %v", i, show(got))
		}
	}
	if got := r.sinks[2].gpu.Processes[0].GPUMemoryBytes; got.Reason != monitor.Implausible {
		t.Errorf("a process uses %v", show(got))
	}
}

// TestCountersThatCannotBeTrue give no rate, neither of their own nor of 0.
func TestCountersThatCannotBeTrue(t *testing.T) {
	r := open(t, "580", lines("gpus 2", "model a100", "gpu all pcie.wait 0", "gpu 0 pcie.txbytes none", "gpu 0 pcie.rxbytes none", "gpu 0 pcie.tx none", "gpu 0 pcie.rx -5",
		"gpu all field.138 u64 none", "gpu 1 field.138 u32 none", "gpu 0 field.139 u64 none", "gpu 1 field.139 u64 0"))
	for range 3 {
		r.readAll(monitor.Everything)
		r.pass(second)
	}
	for i, ids := range [][]monitor.ReadingID{
		{monitor.PCIeTxBytesPerSecond, monitor.PCIeRxBytesPerSecond, monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond},
		{monitor.NVLinkTxBytesPerSecond, monitor.NVLinkRxBytesPerSecond},
	} {
		for _, id := range ids {
			if got := r.sinks[i].gpu.Readings[id]; got.Reason != monitor.Implausible {
				t.Errorf("GPU %d: %v is %v", i, id, show(got))
			}
		}
	}
}

// TestIdentityThatIsNone: an empty name is no name. It may come yet.
func TestIdentityThatIsNone(t *testing.T) {
	r := open(t, "580", lines("gpus 1", hopper, `fault nvmlDeviceGetName return 0`, `fault nvmlDeviceGetUUID return 0`, `fault nvmlDeviceGetSerial return 0`))
	g := r.read(0, view())
	for what, got := range map[string]monitor.Text{"name": g.Name, "UUID": g.UUID, "serial number": g.Serial} {
		if got.Reason != monitor.Implausible || got.Value != "" {
			t.Errorf("an empty %s is %+v", what, got)
		}
	}
	if g.State != monitor.OK || !g.Readings[monitor.PowerMW].Known() {
		t.Errorf("state %v", g.State)
	}
	r.fake.SetScenario(lines("gpus 1", hopper))
	r.pass(slow)
	if g := r.read(0, view()); g.Name.Value != "NVIDIA H100 80GB HBM3" || !g.UUID.Known() {
		t.Errorf("identity %+v", g.Identity)
	}
}

// TestAFactThatCannotBeTrueIsAskedAgain, though facts are asked once.
func TestAFactThatCannotBeTrueIsAskedAgain(t *testing.T) {
	r := open(t, "580", lines("gpus 1", hopper, "gpu 0 threshold.1 none", "gpu 0 minor none"))
	g := r.read(0, monitor.Everything)
	r.fake.SetScenario(lines("gpus 1", hopper))
	r.pass(slow)
	r.read(0, monitor.Everything)
	for _, id := range []monitor.ReadingID{monitor.TemperatureSlowdownC, monitor.Minor} {
		if !g.Readings[id].Known() {
			t.Errorf("%v is %v", id, show(g.Readings[id]))
		}
	}
}
