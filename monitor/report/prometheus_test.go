package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

func TestPrometheusGolden(t *testing.T) {
	golden(t, "rich.prom", AppendPrometheus(nil, rich()))
}

func TestMetricNames(t *testing.T) {
	for id, want := range map[monitor.ReadingID]string{
		monitor.UtilizationPercent:     "nvtop_lite_gpu_utilization_ratio",
		monitor.SMOccupancyPercent:     "nvtop_lite_gpu_sm_occupancy_ratio",
		monitor.MemoryUsedBytes:        "nvtop_lite_gpu_memory_used_bytes",
		monitor.TemperatureC:           "nvtop_lite_gpu_temperature_celsius",
		monitor.TemperatureMemoryC:     "nvtop_lite_gpu_temperature_memory_celsius",
		monitor.PowerMW:                "nvtop_lite_gpu_power_watts",
		monitor.PowerLimitDefaultMW:    "nvtop_lite_gpu_power_limit_default_watts",
		monitor.EnergyJoules:           "nvtop_lite_gpu_energy_joules_total",
		monitor.ClockSMMHz:             "nvtop_lite_gpu_clock_sm_hertz",
		monitor.PCIeTxBytesPerSecond:   "nvtop_lite_gpu_pcie_tx_bytes_per_second",
		monitor.PCIeReplays:            "nvtop_lite_gpu_pcie_replays_total",
		monitor.NVLinkErrors:           "nvtop_lite_gpu_nvlink_errors_total",
		monitor.ECCEnabled:             "nvtop_lite_gpu_ecc_enabled",
		monitor.ECCUncorrectedVolatile: "nvtop_lite_gpu_ecc_uncorrected_volatile_total",
		monitor.RowsRemapped:           "nvtop_lite_gpu_rows_remapped",
		monitor.FabricState:            "nvtop_lite_gpu_fabric_state",
	} {
		if got := MetricName(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	names := map[string]monitor.ReadingID{}
	for id := range monitor.NumReadings {
		name := MetricName(id)
		if other, twice := names[name]; twice || regexp.MustCompile(`_(percent|mw|mhz|c)(_|$)`).MatchString(name) {
			t.Errorf("%s is called %s, as is %s", id, name, other)
		}
		names[name] = id
	}
}

var (
	sampleLine = regexp.MustCompile(`^(nvtop_lite_gpu_[a-z0-9_]+)\{(?:[a-z_]+="(?:[^"\\]|\\["\\])*",?)+\} -?[0-9.e+-]+$`)
	headLine   = regexp.MustCompile(`^# (HELP|TYPE) (nvtop_lite_gpu_[a-z0-9_]+) .*$`)
)

// TestPrometheusOfRandomSnapshots: whatever the driver says, it is a text that
// a scraper takes: each metric in one piece, with its head, no sample twice.
func TestPrometheusOfRandomSnapshots(t *testing.T) {
	for seed := range uint64(200) {
		text := string(AppendPrometheus(nil, random(seed)))
		seen := map[string]bool{}
		var heads []string
		current := ""
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if line == "" && text == "" {
				continue
			}
			if m := headLine.FindStringSubmatch(line); m != nil {
				if current = m[2]; m[1] == "HELP" {
					heads = append(heads, current)
				}
				continue
			}
			m := sampleLine.FindStringSubmatch(line)
			series, _, _ := strings.Cut(line, "} ")
			if m == nil || m[1] != current || seen[series] {
				t.Fatalf("seed %d: %q, below the head of %s, twice: %v", seed, line, current, seen[series])
			}
			seen[series] = true
		}
		if slices.Sort(heads); len(slices.Compact(heads)) != strings.Count(text, "# TYPE ") {
			t.Fatalf("seed %d: a metric stands in several places", seed)
		}
	}
}

// samples are the lines of a metric, without its name.
func samples(s *monitor.Snapshot, name string) (list []string) {
	for _, line := range strings.Split(string(AppendPrometheus(nil, s)), "\n") {
		if rest, ok := strings.CutPrefix(line, name+"{"); ok {
			list = append(list, rest)
		}
	}
	return list
}

// TestPrometheusUnknown: there is no sample, and no metric where there is none
// of any GPU.
func TestPrometheusUnknown(t *testing.T) {
	s := rich()
	if got := samples(s, "nvtop_lite_gpu_power_watts"); len(got) != 2 || !strings.HasSuffix(got[0], " 688") || !strings.HasPrefix(got[1], `gpu="3"`) {
		t.Errorf("power of the stale, the lost and the instance: %q", got)
	}
	if text := string(AppendPrometheus(nil, s)); strings.Contains(text, "retired_pages") || strings.Contains(text, "train.py") {
		t.Errorf("it names what nobody measured, or processes:\n%s", text)
	}
	states := strings.Join(samples(s, "nvtop_lite_gpu_state"), "\n")
	for _, want := range []string{`gpu="1",`, `state="stale"} 1`, `gpu="2",`, `state="lost"} 1`, `gpu="3:1",uuid="MIG-1",pci_bus_id="00000000:04:00.0",parent_uuid="GPU-3",state="ok"} 1`} {
		if !strings.Contains(states, want) {
			t.Errorf("no %s in\n%s", want, states)
		}
	}
	if text := AppendPrometheus(nil, &monitor.Snapshot{}); len(text) != 0 {
		t.Errorf("without GPUs: %s", text)
	}
}

// TestPrometheusWords: each reason to be slowed is told, also those that are
// not the case.
func TestPrometheusWords(t *testing.T) {
	s := rich()
	s.GPUs = s.GPUs[:1]
	got := strings.Join(samples(s, "nvtop_lite_gpu_throttle_reasons"), "\n")
	for word, value := range map[string]int{"sw_power_cap": 1, "idle": 0, "hw_thermal": 0, "unknown_0x100000": 1} {
		if want := fmt.Sprintf(`,throttle_reasons="%s"} %d`, word, value); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestPrometheusEscapes(t *testing.T) {
	s := rich()
	s.GPUs, s.Source = s.GPUs[:1], "demo"
	s.GPUs[0].Name = monitor.OfText("a \"b\" \\ c\nd \x1b[31m")
	got := samples(s, "nvtop_lite_gpu_info")
	if len(got) != 1 || !strings.Contains(got[0], `,source="demo",name="a \"b\" \\ cd [31m",`) {
		t.Errorf("%q", got)
	}
}

// TestPrometheusTwins: two GPUs of which nothing is known would be the same
// series, and the whole text be refused.
func TestPrometheusTwins(t *testing.T) {
	g := monitor.GPU{Identity: monitor.Identity{Index: monitor.None}, State: monitor.Lost}
	if got := samples(&monitor.Snapshot{GPUs: []monitor.GPU{g, g}}, "nvtop_lite_gpu_state"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
