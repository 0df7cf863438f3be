package monitor

import (
	"fmt"
	"testing"
)

func healthy() GPU {
	g := GPU{Identity: Identity{UUID: OfText("GPU-1"), GPUInstanceID: None, ComputeInstanceID: None}, State: OK}
	for id, r := range map[ReadingID]Reading{
		UtilizationPercent: OfFloat(97), TemperatureC: OfFloat(61), TemperatureSlowdownC: OfFloat(89), TemperatureMarginC: OfFloat(26),
		ThrottleReasons: OfMask(ThrottleIdle | ThrottleAppClocks | ThrottleSyncBoost | ThrottleDisplayClocks),
		PersistenceMode: OfFlag(true), PCIeWidth: OfInt(16), PCIeWidthMax: OfInt(16), PCIeGeneration: OfInt(5), PCIeGenerationMax: OfInt(5),
		NVLinkLinksActive: OfInt(18), NVLinkErrors: OfInt(5), NVLinkReplays: OfInt(7), NVLinkRecoveries: OfInt(0),
		ECCEnabled: OfFlag(true), ECCPending: OfFlag(false), FabricState: OfWord(3), ECCUncorrectedVolatile: OfInt(0), RetiredPagesPending: OfFlag(false), RowsRemapPending: OfFlag(false),
		RowsRemapFailed: OfFlag(false), RecoveryAction: OfWord(0),
	} {
		g.Readings[id] = r
	}
	return g
}

func set(id ReadingID, r Reading) func(*GPU) { return func(g *GPU) { g.Readings[id] = r } }

func xids(codes ...int) func(*GPU) {
	return func(g *GPU) {
		for _, c := range codes {
			g.XIDs = append(g.XIDs, XID{Code: c})
		}
	}
}

func TestHealthRules(t *testing.T) {
	const now = 100e9
	tests := []struct {
		name string
		set  func(*GPU)
		want string
	}{
		{"healthy", func(*GPU) {}, ""},
		{"nothing known", func(g *GPU) { g.Readings = [NumReadings]Reading{} }, ""},
		{"power cap", set(ThrottleReasons, OfMask(ThrottleSWPowerCap)), "info throttle_power SLOWED: power cap"},
		{"hot, software", set(ThrottleReasons, OfMask(ThrottleSWThermal)), "warning throttle_thermal SLOWED: too hot"},
		{"hot, hardware", set(ThrottleReasons, OfMask(ThrottleHWThermal|ThrottleHWSlowdown)), "warning throttle_thermal SLOWED: too hot"},
		{"brake", set(ThrottleReasons, OfMask(ThrottleHWPowerBrake|ThrottleHWSlowdown)), "warning throttle_brake SLOWED: hw brake"},
		{"hardware", set(ThrottleReasons, OfMask(ThrottleHWSlowdown)), "warning throttle_brake SLOWED: hw brake"},
		{"close to slowdown", set(TemperatureC, OfFloat(86)), "warning temperature hot: slows down at 89°C"},
		{"not so close", set(TemperatureC, OfFloat(85)), ""},
		{"margin", func(g *GPU) {
			g.Readings[TemperatureSlowdownC], g.Readings[TemperatureMarginC] = Unknown(NotSupported), OfFloat(3)
		}, "warning temperature hot: close to slowing down"},
		{"recovery", set(RecoveryAction, OfWord(1)), "critical recovery_action recovery: GPU reset needed"},
		{"recovery, unknown", set(RecoveryAction, OfWord(42)), "critical recovery_action recovery: unknown_42"},
		{"ecc", set(ECCUncorrectedVolatile, OfInt(2)), "critical ecc_uncorrected uncorrected ECC errors: 2"},
		{"remap failed", set(RowsRemapFailed, OfFlag(true)), "critical remap_failed row remapping failed"},
		{"remap pending", set(RowsRemapPending, OfFlag(true)), "warning remap_pending row remap pending; reset to apply"},
		{"retirement pending", set(RetiredPagesPending, OfFlag(true)), "warning retired_pending page retirement pending; reset to apply"},
		{"ecc off pending", set(ECCPending, OfFlag(true)), "warning ecc_pending ECC off pending; reset to apply"},
		{"ecc on pending", func(g *GPU) { set(ECCPending, OfFlag(true))(g); set(ECCEnabled, OfFlag(false))(g) },
			"warning ecc_pending ECC on pending; reset to apply"},
		{"fabric not started", set(FabricState, OfWord(1)), "warning fabric fabric not started; is the fabric manager running?"},
		{"fabric in progress", set(FabricState, OfWord(2)), "warning fabric fabric not ready yet; is the fabric manager running?"},
		{"no fabric", set(FabricState, OfWord(0)), ""},
		{"fabric unknown", set(FabricState, OfWord(9)), "warning fabric fabric: unknown_9"},
		{"persistence", set(PersistenceMode, OfFlag(false)), "info persistence_off persistence off"},
		{"persistence unknown", set(PersistenceMode, Unknown(NotSupported)), ""},
		{"program's xid", xids(31, 31, 13), "info xid Xid 31, memory access fault of a program (2 times)|info xid Xid 13, fault in a program's kernel"},
		{"xids by level", xids(13, 74, 48, 1000), "critical xid Xid 48, double-bit ECC error|warning xid Xid 74, NVLink error|warning xid Xid 1000|info xid Xid 13, fault in a program's kernel"},
		{"lost", func(g *GPU) { g.State = Lost; g.StateErr = NewCallError("", "NVML_ERROR_GPU_IS_LOST", 0) },
			"critical gpu_lost lost: does not answer any more; reset or reboot"},
		{"lost, xid", func(g *GPU) { g.State = Lost; xids(79, 13)(g) },
			"critical gpu_lost lost: Xid 79, fell off the bus; reset or reboot|critical xid Xid 79, fell off the bus|info xid Xid 13, fault in a program's kernel"},
		{"lost, but not because of that", func(g *GPU) {
			g.State, g.StateSince = Lost, now
			g.XIDs = []XID{{Time: now - 61e9, Code: 48}, {Time: now, Code: 13}}
		}, "critical gpu_lost lost: does not answer any more; reset or reboot|critical xid Xid 48, double-bit ECC error|info xid Xid 13, fault in a program's kernel"},
		{"lost because of that", func(g *GPU) {
			g.State, g.StateSince = Lost, now
			g.XIDs = []XID{{Time: now - 60e9, Code: 119}}
		}, "critical gpu_lost lost: Xid 119, GPU system processor does not answer; reset or reboot|critical xid Xid 119, GPU system processor does not answer"},
		{"lost long ago", func(g *GPU) { // before the program began
			g.State, g.StateSince = Lost, now
			g.XIDs = []XID{{Time: 1, Code: 79}}
		}, "critical gpu_lost lost: Xid 79, fell off the bus; reset or reboot|critical xid Xid 79, fell off the bus"},
		{"lost: old readings say nothing", func(g *GPU) { g.State = Lost; g.Readings[RowsRemapFailed] = OfFlag(true) },
			"critical gpu_lost lost: does not answer any more; reset or reboot"},
		{"reset", func(g *GPU) { g.State = Lost; g.StateErr = NewCallError("", "NVML_ERROR_RESET_REQUIRED", 0) }, "critical reset_required lost: reset required"},
		{"stale", func(g *GPU) { g.State = Stale; g.Call, g.CallSince = "nvmlDeviceGetPowerUsage", now-7.5e9 },
			"critical no_answer nvmlDeviceGetPowerUsage has not returned for 7 s"},
		{"stale, no call", func(g *GPU) { g.State = Stale; g.Refreshed = now - 3e9 }, "critical no_answer no answer for 3 s"},
		{"mismatch", func(g *GPU) {
			g.State = Unavailable
			g.StateErr = NewCallError("", "NVML_ERROR_LIB_RM_VERSION_MISMATCH", 0)
		},
			"critical version_mismatch driver and its library differ in version; reload the driver or reboot"},
		{"asleep", func(g *GPU) { g.State = Sleeping; g.Readings[RowsRemapFailed] = OfFlag(true) }, ""},
	}
	for _, tt := range tests {
		g := healthy()
		tt.set(&g)
		var tracker HealthTracker
		got := ""
		for i, h := range tracker.Assess(&g, now) {
			if i > 0 {
				got += "|"
			}
			got += fmt.Sprintf("%s %s %s", h.Level, h.Code, h.Text)
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestHealthOfTheLink goes through refreshes: load, width, generation.
func TestHealthOfTheLink(t *testing.T) {
	type refresh struct {
		load       float64
		width, gen int64
		want       string // code of the finding, after the refresh
	}
	tests := map[string][]refresh{
		"width, three loaded": {{50, 8, 5, ""}, {10, 8, 5, ""}, {97, 8, 5, "pcie_width"}, {0, 8, 5, "pcie_width"}, {50, 16, 5, ""}, {50, 8, 5, ""}},
		"idle does not count": {{9, 8, 1, ""}, {0, 8, 1, ""}, {0, 8, 1, ""}, {0, 8, 1, ""}},
		"idle in between":     {{50, 8, 5, ""}, {0, 8, 5, ""}, {50, 8, 5, ""}, {50, 8, 5, "pcie_width"}},
		"full in between":     {{50, 8, 5, ""}, {50, 8, 5, ""}, {50, 16, 5, ""}, {50, 8, 5, ""}, {50, 8, 5, ""}},
		"generation":          {{50, 16, 3, ""}, {50, 16, 3, ""}, {50, 16, 3, "pcie_generation"}, {50, 16, 5, ""}},
		"above the maximum":   {{50, 32, 6, ""}, {50, 32, 6, ""}, {50, 32, 6, ""}},
		"width 0 is no width": {{50, 0, 5, ""}, {50, 0, 5, ""}, {50, 0, 5, ""}},
	}
	for name, refreshes := range tests {
		for _, integrated := range []bool{false, true} {
			var tracker HealthTracker
			for i, r := range refreshes {
				g := healthy()
				g.Integrated = integrated
				g.Refreshed = int64(i + 1)
				g.Readings[UtilizationPercent] = OfFloat(r.load)
				g.Readings[PCIeWidth], g.Readings[PCIeGeneration] = OfInt(r.width), OfInt(r.gen)
				want := r.want
				if integrated {
					want = ""
				}
				// A refresh may be published several times.
				for range 5 {
					got := ""
					for _, h := range tracker.Assess(&g, int64(i)) {
						got += h.Code
					}
					if got != want {
						t.Errorf("%s, integrated %v, refresh %d: %q, want %q", name, integrated, i, got, want)
					}
				}
			}
		}
	}
}

// TestHealthOfNVLink goes through refreshes, five seconds apart.
func TestHealthOfNVLink(t *testing.T) {
	type refresh struct {
		active                      int64
		errors, replays, recoveries Reading
		want                        string
	}
	unknown := Unknown(NotSupported)
	n := func(v int64) Reading { return OfInt(v) }
	const rising = "warning nvlink_errors NVLink errors rising: "
	for name, refreshes := range map[string][]refresh{
		"counts from before":   {{18, n(5), n(6), n(7), ""}, {18, n(5), n(6), n(7), ""}},
		"replays":              {{18, n(5), n(6), n(7), ""}, {18, n(5), n(8), n(7), rising + "8 replays"}, {18, n(5), n(8), n(7), rising + "8 replays"}},
		"all":                  {{18, n(0), n(0), n(0), ""}, {18, n(1), n(2), n(3), rising + "1 broken packets, 2 replays, 3 recoveries"}},
		"began anew":           {{18, n(9), n(9), n(9), ""}, {18, n(0), n(0), n(0), ""}, {18, n(0), n(1), n(0), rising + "1 replays"}},
		"a link came":          {{17, n(0), n(0), n(0), ""}, {18, n(9), n(9), n(9), ""}, {18, n(9), n(9), n(9), ""}},
		"unknown in between":   {{18, n(0), n(0), n(0), ""}, {18, unknown, unknown, unknown, ""}, {18, n(0), unknown, n(2), rising + "2 recoveries"}},
		"nothing known of any": {{0, unknown, unknown, unknown, ""}, {0, unknown, unknown, unknown, ""}},
	} {
		var tracker HealthTracker
		for i, r := range refreshes {
			g := healthy()
			g.Refreshed = int64(1+5*i) * 1e9
			g.Readings[NVLinkLinksActive] = OfInt(r.active)
			g.Readings[NVLinkErrors], g.Readings[NVLinkReplays], g.Readings[NVLinkRecoveries] = r.errors, r.replays, r.recoveries
			for range 3 { // a refresh may be published several times
				got := ""
				for _, h := range tracker.Assess(&g, g.Refreshed) {
					got += fmt.Sprintf("%s %s %s", h.Level, h.Code, h.Text)
				}
				if got != r.want {
					t.Errorf("%s, refresh %d: %q, want %q", name, i, got, r.want)
				}
			}
		}
	}
	// The warning lasts a minute.
	var tracker HealthTracker
	g := healthy()
	for i, at := range []int64{0, 5, 64, 65, 66} {
		g.Refreshed = (1 + at) * 1e9
		if at == 5 {
			g.Readings[NVLinkRecoveries] = OfInt(1)
		}
		if got := len(tracker.Assess(&g, g.Refreshed)) == 1; got != (i >= 1 && at <= 65) {
			t.Errorf("after %d s: %v", at, got)
		}
	}
}

func TestHealthLinkText(t *testing.T) {
	var tracker HealthTracker
	g := healthy()
	g.Readings[PCIeWidth], g.Readings[PCIeGeneration] = OfInt(8), OfInt(3)
	g.Readings[UtilizationPercent] = Unknown(NotSupported) // as under MIG
	g.Readings[SMActivePercent] = OfFloat(50)
	var got []Health
	for i := range 3 {
		got = tracker.Assess(&g, int64(i+1))
	}
	if len(got) != 2 || got[0] != (Health{"pcie_width", "PCIe x8 of x16", Warn}) || got[1] != (Health{"pcie_generation", "PCIe gen 3 of 5", Info}) {
		t.Errorf("got %+v", got)
	}
}

func TestHealthAllocations(t *testing.T) {
	var tracker HealthTracker
	g := healthy()
	n := int64(0)
	assess := func() { n++; g.Refreshed = n; tracker.Assess(&g, n) }
	assess()
	if n := testing.AllocsPerRun(100, assess); n > 0 {
		t.Errorf("a healthy GPU costs %v allocations", n)
	}
	g.Readings[ThrottleReasons] = OfMask(ThrottleSWPowerCap)
	assess()
	if n := testing.AllocsPerRun(100, assess); n > 0 {
		t.Errorf("a slowed GPU costs %v allocations", n)
	}
}

func TestHealthFindingsOfTheLastCallStay(t *testing.T) {
	var tracker HealthTracker
	g := healthy()
	g.Readings[ThrottleReasons] = OfMask(ThrottleSWPowerCap)
	first := tracker.Assess(&g, 1)
	g.Readings[ThrottleReasons] = OfMask(ThrottleHWPowerBrake)
	tracker.Assess(&g, 2)
	if first[0].Code != "throttle_power" {
		t.Error("an earlier result was altered")
	}
}

func TestHealthTrackerForgets(t *testing.T) {
	var tracker HealthTracker
	for i := range maxGPUs + 50 {
		g := healthy()
		g.UUID = OfText(fmt.Sprint(i))
		tracker.Assess(&g, int64(i))
	}
	if n := len(tracker.gpus); n > maxGPUs {
		t.Errorf("%d GPUs are remembered", n)
	}
}
