package driver

import (
	"strconv"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

func TestH100(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	g := r.whole(0)
	h100().check(t, g)
	if g.State != monitor.OK || len(r.sinks[0].states) != 1 {
		t.Errorf("state %v, told %v", g.State, r.sinks[0].states)
	}
	id := g.Identity
	for name, got := range map[string]monitor.Text{
		"GPU-5ca1ab1e-fa4e-4d1a-9c3b-000000000000": id.UUID, "00000000:1B:00.0": id.PCIBusID, "NVIDIA H100 80GB HBM3": id.Name,
		"hopper": id.Architecture, "1650221001000": id.Serial,
	} {
		if !got.Known() || got.Value != name {
			t.Errorf("identity has %+v, want %q", got, name)
		}
	}
	if id.Index != 0 || id.Integrated || id.MemoryUnified || id.GPUInstanceID != monitor.None {
		t.Errorf("identity %+v", id)
	}
	if g.Fans == nil || len(g.Fans) != 0 || g.FansStatus.Reason != monitor.Known {
		t.Errorf("fans %v, %v; want an empty list that is known", g.Fans, g.FansStatus)
	}
	if g.MIG == nil || len(g.MIG) != 0 || g.MIGStatus.Reason != monitor.Known {
		t.Errorf("instances %v, %v; want an empty list that is known", g.MIG, g.MIGStatus)
	}
	d := r.src.Driver()
	if d.Version.Value != "580.95.05" || d.CUDAVersion.Value != "13.0" || d.Library.Value != r.fake.Path() || !d.NVMLVersion.Known() {
		t.Errorf("driver %+v", d)
	}
}

// What each reading of an H100 needs of the driver: the first branch that has
// it, where that is not the oldest here.
var firstDriver = map[monitor.ReadingID]int{
	monitor.JPEGPercent: 535, monitor.OFAPercent: 535,
	monitor.SMActivePercent: 525, monitor.SMOccupancyPercent: 525, monitor.TensorActivePercent: 525, monitor.DRAMActivePercent: 525,
	monitor.MemoryReservedBytes: 510, monitor.TemperatureMarginC: 570, monitor.PowerInstantMW: 525,
	monitor.NVLinkTxBytesPerSecond: 450, monitor.NVLinkRxBytesPerSecond: 450,
	monitor.FabricState:  525,
	monitor.RowsRemapped: 450, monitor.RowsRemapPending: 450, monitor.RowsRemapFailed: 450,
	monitor.RecoveryAction: 565, monitor.MIGEnabled: 450,
}

var generations = []string{"390", "450", "470", "510", "525", "535.54", "535.98", "550", "580", "615"}

func TestEachGenerationGivesAllItCan(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			branch, _, _ := strings.Cut(generation, ".")
			major, err := strconv.Atoi(branch)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, generation, "gpus 1\n"+hopper)
			g := r.whole(0)
			want := h100()
			for id, first := range firstDriver {
				if major < first {
					want[id] = noSupport
				}
			}
			if major < 525 { // no GPM: other ways, and other numbers
				want[monitor.PCIeTxBytesPerSecond], want[monitor.PCIeRxBytesPerSecond] = 150000<<10, 450000<<10
				if major >= 450 {
					want[monitor.NVLinkTxBytesPerSecond], want[monitor.NVLinkRxBytesPerSecond] = nil, nil
				}
			}
			if major < 510 { // the reserve is not told, and not counted
				want[monitor.MemoryFreeBytes] = 85520809984 - 8700035072
			}
			want.check(t, g)
			if arch := g.Architecture; major >= 450 && arch.Value != "hopper" || major < 450 && arch.Reason != noSupport {
				t.Errorf("architecture %+v", arch)
			}
			if g.ProcStatus.Reason != monitor.Known || len(g.Processes) != 2 {
				t.Fatalf("processes %v, %+v", g.Processes, g.ProcStatus)
			}
			for i, pid := range []uint32{21001, 21002} {
				if p := g.Processes[i]; p.PID != pid || p.Types != monitor.Compute {
					t.Errorf("process %+v, want PID %d", p, pid)
				}
			}
			if v, ok := g.Processes[0].SMPercent.Float(); !ok || v != 35 {
				t.Errorf("load of a process is %v, want 35", show(g.Processes[0].SMPercent))
			}
		})
	}
}

func TestDesktopCard(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "model rtx4090", more, "gpu 0 fan.0 45", "gpu 0 fan.1 151", "gpu 0 fan.target.0 50", "gpu 0 fan.rpm.0 1234",
		"gpu 0 pcie.maxgen 1", "gpu 0 pcie.maxwidth 1"))
	g := r.whole(0)
	h100().with(values{
		monitor.SMActivePercent: noSupport, monitor.SMOccupancyPercent: noSupport, monitor.TensorActivePercent: noSupport, monitor.DRAMActivePercent: noSupport,
		monitor.MemoryTotalBytes: 25757220864, monitor.MemoryUsedBytes: 3221225472, monitor.MemoryReservedBytes: 402653184,
		monitor.MemoryFreeBytes:      25757220864 - 3221225472 - 402653184,
		monitor.TemperatureSlowdownC: 97, monitor.FanPercent: 45,
		monitor.PowerLimitMW: 450000, monitor.PowerLimitDefaultMW: 450000,
		monitor.ClockGraphicsMHz: 2610, monitor.ClockSMMHz: 2610, monitor.ClockMemoryMHz: 10501, monitor.ClockVideoMHz: 2025,
		monitor.ClockGraphicsMaxMHz: 3105, monitor.ClockMemoryMaxMHz: 10501,
		monitor.PersistenceMode: persistence(false),
		monitor.PCIeGeneration:  4, monitor.PCIeGenerationMax: 1, monitor.PCIeWidthMax: 1,
		monitor.PCIeTxBytesPerSecond: nil, monitor.PCIeRxBytesPerSecond: nil,
		monitor.NVLinkTxBytesPerSecond: noSupport, monitor.NVLinkRxBytesPerSecond: noSupport, monitor.NVLinkLinksActive: noSupport,
		monitor.NVLinkErrors: noSupport, monitor.NVLinkReplays: noSupport, monitor.NVLinkRecoveries: noSupport,
		monitor.FabricState: noSupport, monitor.ECCEnabled: noSupport, monitor.ECCPending: noSupport, monitor.ECCUncorrectedVolatile: noSupport, monitor.ECCCorrectedVolatile: noSupport,
		monitor.ECCUncorrectedAggregate: noSupport, monitor.ECCCorrectedAggregate: noSupport,
		monitor.RowsRemapped: noSupport, monitor.RowsRemapPending: noSupport, monitor.RowsRemapFailed: noSupport,
		monitor.MIGEnabled: noSupport, monitor.TemperatureMemoryC: 71,
	}).check(t, g)
	if len(g.Fans) != 2 || g.FansStatus.Reason != monitor.Known {
		t.Fatalf("fans %+v, %+v", g.Fans, g.FansStatus)
	}
	for i, want := range [][3]float64{{45, 1234, 50}, {151, 4530, 151}} {
		f := g.Fans[i]
		for j, got := range []monitor.Reading{f.Percent, f.RPM, f.TargetPercent} {
			if v, ok := got.Float(); !ok || v != want[j] || f.Index != i {
				t.Errorf("fan %d: %v, want %v", i, show(got), want[j])
			}
		}
	}
	var types []monitor.ProcessTypes
	for _, p := range g.Processes {
		types = append(types, p.Types)
	}
	if len(types) != 3 || types[0] != monitor.Compute || types[1] != monitor.Graphics || types[2] != monitor.Graphics {
		t.Errorf("types of the processes %v", types)
	}
	if g.MIGStatus.Reason != noSupport {
		t.Errorf("instances of a card without MIG: %+v", g.MIGStatus)
	}
}

func TestOldCardsOnOldDrivers(t *testing.T) {
	const gtx = "gpu all fan.0 40\n"
	none := values{}
	for id := range monitor.NumReadings {
		none[id] = noSupport
	}
	common := none.with(values{
		monitor.Minor: 0, monitor.UtilizationPercent: 37, monitor.MemoryUtilizationPercent: 21, monitor.EncoderPercent: 5, monitor.DecoderPercent: 6,
		monitor.TemperatureC: 61, monitor.PowerMW: 412000, monitor.PerformanceState: 0, monitor.ThrottleReasons: 4, monitor.ComputeMode: 0,
		monitor.PCIeGeneration: 3, monitor.PCIeGenerationMax: 3, monitor.PCIeWidth: 16, monitor.PCIeWidthMax: 16, monitor.PCIeReplays: 3,
		monitor.PCIeTxBytesPerSecond: 150000 << 10, monitor.PCIeRxBytesPerSecond: 450000 << 10,
	})
	for name, c := range map[string]struct {
		generation, scenario string
		want                 values
	}{
		"GTX 1080 on 390": {"390", "model gtx1080\n" + still + gtx, common.with(values{
			monitor.MemoryTotalBytes: 8589934592, monitor.MemoryUsedBytes: 1610612736, monitor.MemoryFreeBytes: 8589934592 - 1610612736,
			monitor.TemperatureSlowdownC: 96, monitor.FanPercent: 40, monitor.PowerLimitMW: 180000, monitor.PowerLimitDefaultMW: 180000,
			monitor.ClockGraphicsMHz: 1733, monitor.ClockSMMHz: 1733, monitor.ClockMemoryMHz: 5005, monitor.ClockVideoMHz: 1556,
			monitor.ClockGraphicsMaxMHz: 1911, monitor.ClockMemoryMaxMHz: 5005, monitor.PersistenceMode: persistence(false),
		})},
		"K80 on 470": {"470", "model k80\n" + still + "gpu 0 page single 0x1000 5\ngpu 0 page double 0x2000 6\ngpu 0 page double 0x3000 7\ngpu 0 retired.pending 1\n", common.with(values{
			monitor.MemoryTotalBytes: 12884901888, monitor.MemoryUsedBytes: 2684354560, monitor.MemoryFreeBytes: 12884901888 - 2684354560,
			monitor.TemperatureSlowdownC: 88, monitor.PowerLimitMW: 149000, monitor.PowerLimitDefaultMW: 149000,
			monitor.ClockGraphicsMHz: 823, monitor.ClockSMMHz: 823, monitor.ClockMemoryMHz: 2505, monitor.ClockVideoMHz: 540,
			monitor.ClockGraphicsMaxMHz: 875, monitor.ClockMemoryMaxMHz: 2505, monitor.PersistenceMode: persistence(true),
			monitor.ECCEnabled: true, monitor.ECCPending: false, monitor.ECCUncorrectedVolatile: 0, monitor.ECCCorrectedVolatile: 0,
			monitor.ECCUncorrectedAggregate: 0, monitor.ECCCorrectedAggregate: 0,
			monitor.RetiredPages: 3, monitor.RetiredPagesPending: true,
		})},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, c.generation, "gpus 1\n"+c.scenario)
			c.want.check(t, r.whole(0))
			g := &r.sinks[0].gpu
			if g.ProcStatus.Reason != monitor.Known || len(g.Processes) != 2 {
				t.Errorf("processes %+v, %+v", g.Processes, g.ProcStatus)
			}
			if g.Serial.Known() == (c.generation == "390") {
				t.Errorf("serial %+v", g.Serial)
			}
		})
	}
}

func TestIntegratedGPUs(t *testing.T) {
	r := open(t, "580", lines("gpus 3", "gpu 0 model gb10", "gpu 1 model thor", "gpu 2 model orin"))
	r.wholeAll()
	for i, sinkState := range []struct {
		used   any
		reason monitor.Reason
	}{{17179869184.0 + 188743680, 0}, {4294967296.0 + 104857600, 0}, {nil, noSupport}} {
		g := &r.sinks[i].gpu
		if g.State != monitor.OK || !g.Integrated || !g.MemoryUnified {
			t.Errorf("%s: state %v, integrated %v, unified %v", g.Name.Value, g.State, g.Integrated, g.MemoryUnified)
		}
		used := g.Readings[monitor.MemoryUsedBytes]
		if v, ok := used.Float(); ok != (sinkState.used != nil) || ok && v != sinkState.used {
			t.Errorf("%s: memory in use %v, want %v", g.Name.Value, show(used), sinkState.used)
		}
		if total := g.Readings[monitor.MemoryTotalBytes]; !total.Known() {
			t.Errorf("%s: memory of the machine %v", g.Name.Value, show(total))
		}
		for _, id := range []monitor.ReadingID{
			monitor.MemoryFreeBytes, monitor.MemoryReservedBytes, monitor.PCIeGeneration, monitor.PCIeWidth, monitor.PCIeWidthMax,
			monitor.PCIeTxBytesPerSecond, monitor.PCIeReplays,
		} {
			if got := g.Readings[id]; got.Reason != noSupport {
				t.Errorf("%s: %v is %v, want not_supported", g.Name.Value, id, show(got))
			}
		}
	}
	for name, want := range map[string]bool{
		"NVIDIA GB10": true, "NVIDIA GB100": false, "NVIDIA GB200": false, "Orin (nvgpu)": true, "NVIDIA Thor": true, "NVIDIA Authored": false, "": false,
	} {
		if integrated(name) != want {
			t.Errorf("integrated(%q) is %v", name, !want)
		}
	}
}

func TestMemoryThatCannotBeTrue(t *testing.T) {
	r := open(t, "580", lines("gpus 3", still, "gpu 0 memory.total 0", "gpu 1 memory.total none", "gpu 2 memory.total error 999"))
	r.readAll(monitor.Everything)
	for i, why := range []monitor.Reason{monitor.Implausible, monitor.Implausible, monitor.DriverError} {
		for _, id := range memoryIDs {
			if got := r.sinks[i].gpu.Readings[id]; got.Reason != why {
				t.Errorf("GPU %d: %v is %v, want %v", i, id, show(got), why)
			}
		}
	}
}

func TestNVLinksAreCounted(t *testing.T) {
	r := open(t, "580", lines("gpus 2", still, "gpu 0 nvlink.state 0", "gpu 1 nvlink 0"))
	r.readAll(monitor.Everything)
	for range 2 {
		if v, ok := r.sinks[0].gpu.Readings[monitor.NVLinkLinksActive].Int(); !ok || v != 0 {
			t.Errorf("links of a GPU whose links are all down: %v", show(r.sinks[0].gpu.Readings[monitor.NVLinkLinksActive]))
		}
		if got := r.sinks[1].gpu.Readings[monitor.NVLinkLinksActive]; got.Reason != noSupport {
			t.Errorf("links of a GPU without: %v", show(got))
		}
		r.pass(10 * slow)
		r.readAll(monitor.Everything)
	}
}

func TestAValueThatFailsLaterIsUnknown(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	if g := r.read(0, view()); !g.Readings[monitor.PowerMW].Known() {
		t.Fatal("no power")
	}
	r.fake.SetScenario("gpus 1\n" + hopper + "fault nvmlDeviceGetPowerUsage return 999\nfault nvmlDeviceGetEnforcedPowerLimit return 23\n")
	r.pass(2 * slow)
	g := r.read(0, view())
	want := monitor.Failed(monitor.DriverError, monitor.NewCallError("nvmlDeviceGetPowerUsage", "NVML_ERROR_UNKNOWN", 999))
	if got := g.Readings[monitor.PowerMW]; got != want {
		t.Errorf("power is %+v, want %+v", got, want)
	}
	if got := g.Readings[monitor.PowerLimitMW]; got.Reason != monitor.DriverError {
		t.Errorf("limit is %v", show(got))
	}
	r.fake.SetScenario("gpus 1\n" + hopper)
	r.pass(second)
	if g := r.read(0, view()); !g.Readings[monitor.PowerMW].Known() {
		t.Error("power does not come back")
	}
}

// TestAOneShotHasAllThereIs: whatever the model and the driver, each reading and
// list has a value or a reason that is final.
func TestAOneShotHasAllThereIs(t *testing.T) {
	models := []string{"h100", "a100", "v100", "t4", "l40s", "rtx4090", "gtx1080", "k80", "gb10", "thor", "orin"}
	s := []string{"gpus " + strconv.Itoa(len(models))}
	for i, m := range models {
		s = append(s, "gpu "+strconv.Itoa(i)+" model "+m)
	}
	for _, generation := range generations {
		r := open(t, generation, lines(s...))
		r.wholeAll()
		for i, m := range models {
			g := &r.sinks[i].gpu
			if g.State != monitor.OK {
				t.Errorf("%s on %s: state %v, %+v", m, generation, g.State, g.StateErr)
			}
			for id := range monitor.NumReadings {
				if v := g.Readings[id]; !v.Known() && v.Reason != noSupport {
					t.Errorf("%s on %s: %v is %v", m, generation, id, show(v))
				}
			}
			for name, st := range map[string]monitor.Status{"processes": g.ProcStatus, "fans": g.FansStatus, "instances": g.MIGStatus} {
				if st.Reason != monitor.Known && st.Reason != noSupport {
					t.Errorf("%s on %s: %s are %+v", m, generation, name, st)
				}
			}
		}
	}
}
