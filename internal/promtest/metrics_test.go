//go:build linux

package promtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"nvtop-lite/internal/fakenvml"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvtop-lite-promtest")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "nvtop-lite")
	build := exec.Command("go", "build", "-o", binary, "./cmd/nvtop-lite")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// output runs the program.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(out)
}

// metrics are all there are by their names.
func metrics(t *testing.T, args ...string) map[string]*dto.MetricFamily {
	t.Helper()
	text := output(t, append(args, "--prometheus")...)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if n := strings.Count(text, "# TYPE "); n != len(families) || n == 0 {
		t.Fatalf("%d types for %d metrics", n, len(families))
	}
	for name, f := range families {
		kind := dto.MetricType_GAUGE
		if strings.HasSuffix(name, "_total") {
			kind = dto.MetricType_COUNTER
		}
		if !strings.HasPrefix(name, "nvtop_lite_gpu_") || f.GetType() != kind || f.GetHelp() == "" {
			t.Errorf("%s: %v, %q", name, f.GetType(), f.GetHelp())
		}
		seen := map[string]bool{}
		for _, m := range f.Metric {
			l := labels(m)
			for _, key := range []string{"gpu", "uuid", "pci_bus_id", "parent_uuid"} {
				if _, ok := l[key]; !ok {
					t.Errorf("%s has no label %s: %v", name, key, l)
				}
			}
			if _, named := l["name"]; named != (name == "nvtop_lite_gpu_info") || m.TimestampMs != nil {
				t.Errorf("%s: labels %v, time %v", name, l, m.TimestampMs)
			}
			key := fmt.Sprint(l)
			if seen[key] {
				t.Errorf("%s is there twice: %v", name, l)
			}
			seen[key] = true
		}
	}
	return families
}

func labels(m *dto.Metric) map[string]string {
	l := map[string]string{}
	for _, pair := range m.Label {
		l[pair.GetName()] = pair.GetValue()
	}
	return l
}

func value(m *dto.Metric) float64 {
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

// find returns the samples of a GPU or an instance.
func find(f *dto.MetricFamily, uuid string) (list []*dto.Metric) {
	for _, m := range f.GetMetric() {
		if labels(m)["uuid"] == uuid {
			list = append(list, m)
		}
	}
	return list
}

// named are keys whose metric has another name, and what one of its units is
// in the unit of the key.
var named = []struct {
	key, metric string
	scale       float64
}{
	{"utilization_percent", "utilization_ratio", 100},
	{"memory_utilization_percent", "memory_utilization_ratio", 100},
	{"sm_active_percent", "sm_active_ratio", 100},
	{"fan_percent", "fan_ratio", 100},
	{"memory_total_bytes", "memory_total_bytes", 1},
	{"memory_used_bytes", "memory_used_bytes", 1},
	{"temperature_c", "temperature_celsius", 1},
	{"temperature_memory_c", "temperature_memory_celsius", 1},
	{"power_mw", "power_watts", 1000},
	{"power_limit_mw", "power_limit_watts", 1000},
	{"energy_joules", "energy_joules_total", 1},
	{"clock_graphics_mhz", "clock_graphics_hertz", 1e-6},
	{"performance_state", "performance_state", 1},
	{"pcie_generation", "pcie_generation", 1},
	{"pcie_replays", "pcie_replays_total", 1},
	{"nvlink_errors", "nvlink_errors_total", 1},
	{"ecc_uncorrected_volatile", "ecc_uncorrected_volatile_total", 1},
	{"rows_remapped", "rows_remapped", 1},
	{"age_seconds", "age_seconds", 1},
}

// same compares the metrics with the JSON of a driver that stands still.
func same(t *testing.T, families map[string]*dto.MetricFamily, g map[string]any) (known int) {
	t.Helper()
	uuid, _ := g["uuid"].(string) // that of the lost one is unknown
	for _, n := range named {
		got := find(families["nvtop_lite_gpu_"+n.metric], uuid)
		want, ok := g[n.key].(float64)
		switch {
		case !ok && len(got) > 0:
			t.Errorf("%s of %s is unknown, and the metric %v", n.key, uuid, got)
		case ok && (len(got) != 1 || math.Abs(value(got[0])*n.scale-want) > 1e-9*math.Abs(want)):
			t.Errorf("%s of %s is %v, and the metric %v", n.key, uuid, want, got)
		case ok:
			known++
		}
	}
	for _, key := range []string{"state", "compute_mode", "fabric_state", "recovery_action"} {
		got := find(families["nvtop_lite_gpu_"+key], uuid)
		if word, ok := g[key].(string); ok != (len(got) == 1) || ok && (labels(got[0])[key] != word || value(got[0]) != 1) {
			t.Errorf("%s of %s is %v, and the metric %v", key, uuid, g[key], got)
		}
	}
	set := map[string]bool{}
	for _, m := range find(families["nvtop_lite_gpu_throttle_reasons"], uuid) {
		if value(m) == 1 {
			set[labels(m)["throttle_reasons"]] = true
		}
	}
	reasons, _ := g["throttle_reasons"].([]any)
	want := map[string]bool{}
	for _, word := range reasons {
		want[word.(string)] = true
	}
	if !maps.Equal(set, want) {
		t.Errorf("%s is slowed by %v, and the metric says %v", uuid, want, set)
	}
	return known
}

const scenario = `gpus 3
gpu all pcie.wait 0
gpu all util 44
gpu all util.memory 23
gpu all temperature 45
gpu all temperature.memory 55
gpu all power 280000
gpu all energy 812421000
gpu 0 name A "quoted" \ name
gpu 1 mig on
gpu 1 instance 0 1 0 1g.10gb
gpu 1 instance 1 2 0 1g.10gb
gpu 2 lost 1
`

// TestMetricsAreTheJSON: MIG, a lost GPU and a name that must be escaped
// among them.
func TestMetricsAreTheJSON(t *testing.T) {
	fake := fakenvml.New(t, "580", scenario)
	families := metrics(t, "--nvml", fake.Path())
	var snapshot struct{ GPUs []map[string]any }
	if err := json.Unmarshal([]byte(output(t, "--nvml", fake.Path(), "--json")), &snapshot); err != nil {
		t.Fatal(err)
	}
	if len(snapshot.GPUs) != 3 {
		t.Fatalf("%d GPUs", len(snapshot.GPUs))
	}
	for i, g := range snapshot.GPUs {
		if known := same(t, families, g); (known < 10) != (i == 2) {
			t.Errorf("GPU %d: %d values are known", i, known)
		}
		instances, _ := g["mig_devices"].([]any)
		if i == 1 && len(instances) != 2 {
			t.Errorf("%d instances", len(instances))
		}
		for _, instance := range instances {
			m := instance.(map[string]any)
			same(t, families, m)
			if state := find(families["nvtop_lite_gpu_state"], m["uuid"].(string)); len(state) != 1 || labels(state[0])["parent_uuid"] != g["uuid"] {
				t.Errorf("instance %v: %v", m["uuid"], state)
			}
		}
	}
	info := find(families["nvtop_lite_gpu_info"], snapshot.GPUs[0]["uuid"].(string))
	if len(info) != 1 || labels(info[0])["name"] != `A "quoted" \ name` {
		t.Errorf("%v", info)
	}
}

// TestMetricsOfTheDemo say on each sample that they are of no real machine.
func TestMetricsOfTheDemo(t *testing.T) {
	for name, f := range metrics(t, "--demo") {
		for _, m := range f.Metric {
			if labels(m)["source"] != "demo" {
				t.Errorf("%s: %v", name, labels(m))
			}
		}
	}
}
