package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"nvtop-lite/monitor"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", path, got)
	}
}

// The keys of each object, in order.
var (
	snapshotKeys = words("schema time steady_time interval_seconds source host driver platform gpus warnings")
	hostKeys     = words("hostname os arch boot_id cpu_percent memory_total_bytes memory_available_bytes hugepages_total_bytes hugepages_free_bytes unavailable")
	driverKeys   = words("version cuda_version nvml_version library unavailable")
	platformKeys = words("kind model soc l4t jetpack power_mode gpu_governor rails engines throttle_alerts overcurrent power_mw emc_mhz emc_percent unavailable provenance")
	gpuKeys      = words(`index uuid pci_bus_id name architecture serial driver_model minor
		state state_reason state_seconds age_seconds call call_seconds sources integrated gpu_instance_id compute_instance_id profile parent_uuid
		utilization_percent memory_utilization_percent encoder_percent decoder_percent jpeg_percent ofa_percent
		sm_active_percent sm_occupancy_percent tensor_active_percent dram_active_percent
		memory_total_bytes memory_used_bytes memory_free_bytes memory_reserved_bytes memory_unified
		adapter_dedicated_total_bytes adapter_dedicated_used_bytes adapter_shared_total_bytes adapter_shared_used_bytes
		temperature_c temperature_memory_c temperature_slowdown_c temperature_margin_c fan_percent fans
		power_mw power_instant_mw power_limit_mw power_limit_default_mw energy_joules
		clock_graphics_mhz clock_sm_mhz clock_memory_mhz clock_video_mhz clock_graphics_max_mhz clock_memory_max_mhz
		performance_state throttle_reasons persistence_mode compute_mode
		pcie_generation pcie_generation_max pcie_width pcie_width_max
		pcie_tx_bytes_per_second pcie_rx_bytes_per_second pcie_replays
		nvlink_tx_bytes_per_second nvlink_rx_bytes_per_second nvlink_links_active nvlink_errors nvlink_replays nvlink_recoveries fabric_state
		ecc_enabled ecc_pending ecc_uncorrected_volatile ecc_corrected_volatile ecc_uncorrected_aggregate ecc_corrected_aggregate
		retired_pages retired_pages_pending rows_remapped rows_remap_pending rows_remap_failed recovery_action
		xids mig_enabled mig_devices health processes processes_state processes_age_seconds ages unavailable errors provenance`)
	processKeys = words(`pid start_time start_ticks name command user types gpu_memory_bytes gpu_memory_nonlocal_bytes sm_percent encoder_percent decoder_percent
		gpu_instance_id compute_instance_id cpu_percent host_memory_bytes container job unit namespace unavailable provenance`)
	smallKeys = map[string][]string{
		"fans": words("index percent rpm target_percent"), "xids": words("time code source gpu_instance_id compute_instance_id"), "health": words("code level text"),
		"rails": words("name power_mw scope"), "engines": words("name on clock_mhz percent"),
		"throttle_alerts": words("name state"), "overcurrent": words("name events"), "warnings": words("code text hint"),
		"container": words("runtime id pod_uid"), "job": words("scheduler id step"),
	}
	// mayBeNull are nulls that mean "does not apply".
	mayBeNull = words("state_reason state_seconds call call_seconds hint container job unit gpu_instance_id compute_instance_id profile parent_uuid pod_uid step " +
		"model soc l4t jetpack power_mode gpu_governor power_mw emc_mhz emc_percent " +
		"driver_model adapter_dedicated_total_bytes adapter_dedicated_used_bytes adapter_shared_total_bytes adapter_shared_used_bytes gpu_memory_nonlocal_bytes")
)

func words(s string) []string { return strings.Fields(s) }

// A node is a JSON object that knows the order of its keys.
type node struct {
	keys   []string
	values map[string]any
}

// parse reads JSON into nodes, slices and plain values.
func parse(t *testing.T, b []byte) *node {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v := parseValue(t, d)
	if _, err := d.Token(); err == nil {
		t.Fatalf("text behind the object: %s", b)
	}
	n, ok := v.(*node)
	if !ok {
		t.Fatalf("no object: %s", b)
	}
	return n
}

func parseValue(t *testing.T, d *json.Decoder) any {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatalf("invalid JSON: %v", err)
	}
	switch token {
	case json.Delim('{'):
		n := &node{values: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				t.Fatalf("invalid JSON: %v", err)
			}
			k := key.(string)
			n.keys = append(n.keys, k)
			n.values[k] = parseValue(t, d)
		}
		d.Token()
		return n
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, parseValue(t, d))
		}
		d.Token()
		return list
	}
	return token
}

func (n *node) node(key string) *node { return n.values[key].(*node) }

func (n *node) nodes(key string) (list []*node) {
	elements, _ := n.values[key].([]any)
	for _, e := range elements {
		list = append(list, e.(*node))
	}
	return list
}

func wantKeys(t *testing.T, what string, n *node, want []string) {
	t.Helper()
	if !slices.Equal(n.keys, want) {
		t.Errorf("%s: keys\n got %v\nwant %v", what, n.keys, want)
	}
	for key, list := range smallKeys {
		if key == "warnings" {
			continue
		}
		for _, e := range n.nodesOrNone(key) {
			wantKeys(t, what+"."+key, e, list)
		}
		if e, ok := n.values[key].(*node); ok {
			wantKeys(t, what+"."+key, e, list)
		}
	}
}

func (n *node) nodesOrNone(key string) (list []*node) {
	elements, _ := n.values[key].([]any)
	for _, e := range elements {
		if e, ok := e.(*node); ok {
			list = append(list, e)
		}
	}
	return list
}

var reasons = func() (list []string) {
	for r := range monitor.Reason(10) {
		if s := r.String(); s != "" {
			list = append(list, s)
		}
	}
	return list
}()

// wantReasons checks that every null of an object has a reason, and that what
// has a reason is null.
func wantReasons(t *testing.T, what string, n *node) {
	t.Helper()
	unavailable := n.node("unavailable")
	named := map[string]bool{}
	var visit func(prefix string, n *node)
	visit = func(prefix string, n *node) {
		for key, v := range n.values {
			path := prefix + key
			switch {
			case v == nil:
				why, ok := unavailable.values[path].(string)
				named[path] = ok
				if !ok && !slices.Contains(mayBeNull, key) {
					t.Errorf("%s: %s is null without a reason", what, path)
				}
				if ok && !slices.Contains(reasons, why) {
					t.Errorf("%s: reason %q", what, why)
				}
			case slices.Contains(words("fans rails engines throttle_alerts overcurrent"), key):
				for i, e := range n.nodes(key) {
					visit(fmt.Sprintf("%s[%d].", key, i), e)
				}
			}
		}
	}
	visit("", n)
	for key := range unavailable.values {
		if !named[key] {
			t.Errorf("%s: %s has a reason and is not null", what, key)
		}
	}
}

func checkGPU(t *testing.T, what string, g *node) {
	t.Helper()
	wantKeys(t, what, g, gpuKeys)
	wantReasons(t, what, g)
	for key := range g.node("errors").values {
		if _, ok := g.node("unavailable").values[key]; !ok && key != "state" {
			t.Errorf("%s: an error for %s, which has a value", what, key)
		}
	}
	for _, p := range g.nodes("processes") {
		wantKeys(t, what+" process", p, processKeys)
		wantReasons(t, what+" process", p)
	}
	for i, m := range g.nodes("mig_devices") {
		checkGPU(t, fmt.Sprintf("%s:%d", what, i), m)
	}
}

func check(t *testing.T, b []byte) *node {
	t.Helper()
	if !utf8.Valid(b) || bytes.ContainsFunc(b, func(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }) {
		t.Fatalf("control characters or invalid UTF-8 in %q", b)
	}
	n := parse(t, b)
	wantKeys(t, "snapshot", n, snapshotKeys)
	wantKeys(t, "host", n.node("host"), hostKeys)
	wantKeys(t, "driver", n.node("driver"), driverKeys)
	wantKeys(t, "platform", n.node("platform"), platformKeys)
	for _, key := range words("host driver platform") {
		wantReasons(t, key, n.node(key))
	}
	for _, w := range n.nodes("warnings") {
		wantKeys(t, "warning", w, smallKeys["warnings"])
	}
	for i, g := range n.nodes("gpus") {
		checkGPU(t, fmt.Sprint("GPU ", i), g)
	}
	return n
}

func TestJSONOfRandomSnapshots(t *testing.T) {
	gpus, processes := 0, 0
	for seed := range uint64(400) {
		n := check(t, AppendJSON(nil, random(seed)))
		for _, g := range n.nodes("gpus") {
			gpus++
			processes += len(g.nodes("processes"))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if gpus < 100 || processes < 20 {
		t.Errorf("only %d GPUs and %d processes were tried", gpus, processes)
	}
}

func TestJSONOfNothing(t *testing.T) {
	n := check(t, AppendJSON(nil, &monitor.Snapshot{GPUs: make([]monitor.GPU, 1)}))
	g := n.nodes("gpus")[0]
	for id := range monitor.NumReadings {
		if g.values[id.String()] != nil || g.node("unavailable").values[id.String()] != "not_sampled" {
			t.Errorf("%s: %v, %v", id, g.values[id.String()], g.node("unavailable").values[id.String()])
		}
	}
	if g.values["state"] != "initialising" || g.values["processes"] != nil || g.values["processes_state"] != "not_sampled" {
		t.Errorf("got %v", g.values)
	}
}

// rich is a snapshot that has a bit of everything.
func rich() *monitor.Snapshot {
	at := int64(now - 200e6)
	read := func(r monitor.Reading) monitor.Reading { r.At = at; return r }
	s := &monitor.Snapshot{
		Time: time.Unix(0, now).UTC(), Steady: now, Interval: time.Second, Source: "live",
		Host: monitor.Host{Hostname: monitor.OfText("node17"), OS: "linux", Arch: "amd64", BootID: monitor.OfText("5f0e"),
			CPUPercent: monitor.OfFloat(12.25), MemoryTotalBytes: monitor.OfInt(1008 << 30), MemoryAvailableBytes: monitor.OfInt(963 << 30),
			HugePagesTotalBytes: monitor.OfInt(16 << 30), HugePagesFreeBytes: monitor.OfInt(8 << 30)},
		Driver: monitor.Driver{Version: monitor.OfText("580.95.05"), CUDAVersion: monitor.OfText("13.0"),
			NVMLVersion: monitor.OfText("13.580.95.05"), Library: monitor.UnknownText(monitor.NoPermission)},
		Platform: monitor.Platform{Kind: "server"},
		Warnings: []monitor.Warning{{Code: "in_process", Text: "the driver process cannot be started: operation not permitted"}},
	}
	gpu := func(index int) monitor.GPU {
		g := monitor.GPU{
			Identity: monitor.Identity{Index: index, UUID: monitor.OfText(fmt.Sprintf("GPU-%d", index)),
				PCIBusID: monitor.OfText(fmt.Sprintf("00000000:0%d:00.0", index+1)), Name: monitor.OfText("NVIDIA H100 80GB HBM3"),
				Architecture: monitor.OfText("hopper"), Serial: monitor.UnknownText(monitor.NotSupported),
				GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None},
			State: monitor.OK, Refreshed: at, Sources: []string{"nvml"},
			XIDsStatus: monitor.Status{Reason: monitor.Known, At: at}, MIGStatus: monitor.Status{Reason: monitor.Known, At: at},
			FansStatus: monitor.Status{Reason: monitor.NotSupported, Err: monitor.NewCallError("nvmlDeviceGetNumFans", "NVML_ERROR_NOT_SUPPORTED", 3)},
			ProcStatus: monitor.Status{Reason: monitor.Known, At: at},
		}
		for id := range monitor.NumReadings {
			g.Readings[id] = monitor.Failed(monitor.NotSupported, monitor.NewCallError("nvmlDeviceGetFieldValues", "NVML_ERROR_NOT_SUPPORTED", 3))
		}
		for id, r := range map[monitor.ReadingID]monitor.Reading{
			monitor.Minor: monitor.OfInt(int64(index)), monitor.UtilizationPercent: monitor.OfFloat(97), monitor.MemoryUtilizationPercent: monitor.OfFloat(41),
			monitor.EncoderPercent: monitor.OfFloat(0), monitor.DecoderPercent: monitor.OfFloat(0), monitor.SMActivePercent: monitor.OfFloat(87.2),
			monitor.SMOccupancyPercent: monitor.OfFloat(31), monitor.TensorActivePercent: monitor.OfFloat(58), monitor.DRAMActivePercent: monitor.OfFloat(44.1),
			monitor.MemoryTotalBytes: monitor.OfInt(80 << 30), monitor.MemoryUsedBytes: monitor.OfInt(468 << 30 / 10), monitor.MemoryFreeBytes: monitor.OfInt(33 << 30),
			monitor.MemoryReservedBytes: monitor.OfInt(600 << 20), monitor.TemperatureC: monitor.OfFloat(61), monitor.TemperatureSlowdownC: monitor.OfFloat(89),
			monitor.PowerMW: monitor.OfFloat(688_000), monitor.PowerLimitMW: monitor.OfFloat(700_000), monitor.PowerLimitDefaultMW: monitor.OfFloat(700_000),
			monitor.EnergyJoules: monitor.OfFloat(1.5), monitor.ClockGraphicsMHz: monitor.OfFloat(1755), monitor.ClockSMMHz: monitor.OfFloat(1755),
			monitor.PerformanceState: monitor.OfInt(0), monitor.ThrottleReasons: monitor.OfMask(monitor.ThrottleSWPowerCap | 1<<20),
			monitor.PersistenceMode: monitor.OfFlag(true), monitor.ComputeMode: monitor.OfWord(3), monitor.PCIeGeneration: monitor.OfInt(5),
			monitor.PCIeGenerationMax: monitor.OfInt(5), monitor.PCIeWidth: monitor.OfInt(16), monitor.PCIeWidthMax: monitor.OfInt(16),
			monitor.PCIeTxBytesPerSecond: monitor.OfFloat(20.49e9), monitor.PCIeRxBytesPerSecond: monitor.OfFloat(40.99e9),
			monitor.NVLinkLinksActive: monitor.OfInt(18), monitor.NVLinkErrors: monitor.OfInt(0), monitor.NVLinkReplays: monitor.OfInt(3), monitor.NVLinkRecoveries: monitor.OfInt(1), monitor.ECCPending: monitor.OfFlag(false),
			monitor.FabricState: monitor.OfWord(3), monitor.ECCEnabled: monitor.OfFlag(true),
			monitor.RowsRemapPending: monitor.OfFlag(false), monitor.RecoveryAction: monitor.OfWord(0), monitor.MIGEnabled: monitor.OfFlag(false),
		} {
			g.Readings[id] = read(r)
		}
		g.Readings[monitor.PCIeReplays] = monitor.OfInt(0)
		g.Readings[monitor.PCIeReplays].At = now - 4200e6
		return g
	}
	start := monitor.OfInt(now - 8040e9)
	process := func(pid uint32, user, name, command string, gib float64) monitor.Process {
		return monitor.Process{PID: pid, Types: monitor.Compute, Namespace: monitor.NamespaceSame,
			GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
			GPUMemoryBytes: read(monitor.OfInt(int64(gib * (1 << 30)))), SMPercent: read(monitor.OfFloat(72)),
			EncoderPercent: monitor.Unknown(monitor.NotSupported), DecoderPercent: read(monitor.OfFloat(0)),
			StartTicks: monitor.OfInt(123456), StartTime: start, Name: monitor.OfText(name), Command: monitor.OfText(command), User: monitor.OfText(user),
			CPUPercent: monitor.OfFloat(101), HostMemoryBytes: monitor.OfInt(52 << 30 / 10),
			Container: monitor.Container{Reason: monitor.Known}, Job: monitor.Job{Reason: monitor.NoPermission}}
	}
	s.GPUs = []monitor.GPU{gpu(0), gpu(1), gpu(2), gpu(3)}

	g := &s.GPUs[0]
	g.Health = []monitor.Health{{Code: "throttle_power", Text: "SLOWED: power cap", Level: monitor.Info}}
	g.Processes = []monitor.Process{
		process(16523, "root", "train.py", "python train.py --hub-token hf_abc --config big.yaml", 43.4),
		process(20117, "kim", "bench.py", "./bench.py \u202eevil\x1b[31m", 3.2),
	}
	g.Processes[0].Container = monitor.Container{Reason: monitor.Known, Runtime: "docker", ID: "3f9a1c0d2b7e"}
	g.Processes[0].Job = monitor.Job{Reason: monitor.Known, Scheduler: "slurm", ID: "88123"}
	g.Processes[1].Types |= monitor.Graphics
	inferred := monitor.OfFloat(14)
	inferred.Provenance = monitor.Inferred
	g.Processes[1].SMPercent = inferred

	g = &s.GPUs[1] // stale: power hangs
	g.State, g.Call, g.CallSince, g.Refreshed = monitor.Stale, "nvmlDeviceGetPowerUsage", now-7e9, now-7.5e9
	for i := range g.Readings {
		if g.Readings[i].At != 0 {
			g.Readings[i].At = now - 7.5e9
		}
	}
	g.Readings[monitor.PowerMW] = monitor.Failed(monitor.Timeout, monitor.NewCallError("nvmlDeviceGetPowerUsage", "", 0))
	g.Health = []monitor.Health{{Code: "no_answer", Text: "nvmlDeviceGetPowerUsage has not returned for 7 s", Level: monitor.Critical}}
	g.FansStatus = monitor.Status{Reason: monitor.Known, At: at}
	g.Readings[monitor.FanPercent] = read(monitor.OfFloat(45))
	g.Fans = []monitor.Fan{{Index: 0, Percent: read(monitor.OfFloat(45)), RPM: monitor.Unknown(monitor.NotSupported), TargetPercent: read(monitor.OfFloat(45))}}
	g.Processes = []monitor.Process{}
	g.ProcStatus.At = now - 7.5e9

	g = &s.GPUs[2]
	g.State, g.StateSince, g.StateReason, g.Refreshed = monitor.Lost, now-14e9, "GPU is lost", now-14e9
	g.StateErr = monitor.NewCallError("nvmlDeviceGetUtilizationRates", "NVML_ERROR_GPU_IS_LOST", 15)
	g.XIDs = []monitor.XID{{Time: now - 14e9, Code: 79, Source: "event", GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}}
	g.Health = []monitor.Health{{Code: "gpu_lost", Text: "lost: Xid 79, fell off the bus; reset or reboot", Level: monitor.Critical},
		{Code: "xid", Text: "Xid 79, fell off the bus", Level: monitor.Critical}}
	g.Processes = []monitor.Process{process(1, "x", "x", "x", 1)}

	g = &s.GPUs[3]
	g.Readings[monitor.MIGEnabled] = read(monitor.OfFlag(true))
	g.Readings[monitor.UtilizationPercent] = monitor.Failed(monitor.NotSupported, monitor.NewCallError("nvmlDeviceGetUtilizationRates", "NVML_ERROR_NOT_SUPPORTED", 3))
	instance := gpu(3)
	instance.Identity = monitor.Identity{Index: 0, UUID: monitor.OfText("MIG-1"), PCIBusID: g.PCIBusID, Name: monitor.OfText("NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
		Architecture: g.Architecture, Serial: g.Serial, GPUInstanceID: 1, ComputeInstanceID: 0, Profile: "1g.10gb", ParentUUID: "GPU-3"}
	instance.MIGStatus, instance.Readings[monitor.UtilizationPercent] = monitor.Status{Reason: monitor.NotSupported}, g.Readings[monitor.UtilizationPercent]
	instance.Readings[monitor.MemoryTotalBytes], instance.Readings[monitor.MemoryUsedBytes] = read(monitor.OfInt(98<<30/10)), read(monitor.OfInt(31<<30/10))
	instance.Readings[monitor.TemperatureC], instance.Readings[monitor.PowerMW] = monitor.Unknown(monitor.NotSupported), monitor.Unknown(monitor.NotSupported)
	instance.Processes = []monitor.Process{process(777, "svc-llm", "nb.py", "python nb.py PASSWORD=x", 3)}
	instance.Processes[0].GPUInstanceID, instance.Processes[0].ComputeInstanceID = 1, 0
	g.MIG = []monitor.GPU{instance}
	return s
}

// module is a snapshot of a module that has parts of all kinds, some of which
// only root may read.
func module() *monitor.Snapshot {
	s := rich()
	refused := func(path string) monitor.Reading {
		return monitor.Failed(monitor.NoPermission, monitor.NewCallError(path, "EACCES", 13))
	}
	none := monitor.Unknown(monitor.NotSupported)
	part := func(kind monitor.PartKind, name string, readings ...monitor.Reading) monitor.Part {
		p := monitor.Part{Kind: kind, Name: name}
		copy(p.Readings[:], readings)
		return p
	}
	rail := func(name, scope string, power monitor.Reading) monitor.Part {
		p := part(monitor.Rail, name, power)
		p.Scope = scope
		return p
	}
	h := &s.Host
	h.Arch, h.MemoryTotalBytes, h.MemoryAvailableBytes = "arm64", monitor.OfInt(64349140<<10), monitor.OfInt(58012344<<10)
	h.HugePagesTotalBytes, h.HugePagesFreeBytes = none, none
	s.Platform = monitor.Platform{
		Kind: "jetson", Model: monitor.OfText("NVIDIA Jetson AGX Orin Developer Kit"), SoC: monitor.OfText("tegra234"),
		L4T: monitor.OfText("36.4.4"), JetPack: monitor.OfText("6.2.1"), PowerMode: monitor.UnknownText(monitor.NotFound),
		Governor: monitor.OfText("nvhost_podgov"),
		Parts: []monitor.Part{
			rail("VDD_GPU_SOC", "shared", monitor.OfFloat(2395.2)),
			rail("VDD_CPU_CV", "shared", monitor.Unknown(monitor.Asleep)),
			rail("VIN_SYS_5V0", "shared", monitor.OfFloat(3617.28)),
			part(monitor.Engine, "nvenc", monitor.OfFlag(true), monitor.OfFloat(716.8), none),
			part(monitor.Engine, "nvdec", monitor.OfFlag(false), monitor.OfFloat(0), monitor.OfFloat(0)),
			part(monitor.Engine, "vic", refused("/sys/kernel/debug/clk/vic/clk_rate"), refused("/sys/kernel/debug/clk/vic/clk_rate"), monitor.OfFloat(34)),
			part(monitor.ThrottleAlert, "cpu-throttle-alert", monitor.OfInt(0)),
			part(monitor.ThrottleAlert, "gpu-throttle-alert", monitor.OfInt(1)),
			part(monitor.OverCurrent, "oc1", monitor.OfInt(0)),
			part(monitor.OverCurrent, "oc2", monitor.OfInt(3)),
			part(monitor.OverCurrent, "oc3", refused("/sys/class/hwmon/hwmon2/oc3_event_cnt")),
		},
		EMCMHz: monitor.OfFloat(2133), EMCPercent: refused("/sys/kernel/debug/cactmon/mc_all"),
	}
	s.Warnings, s.GPUs = nil, s.GPUs[:1]
	g := &s.GPUs[0]
	g.Name, g.Integrated, g.MemoryUnified, g.Sources = monitor.OfText("Orin (nvgpu)"), true, true, []string{"tegra", "nvml"}
	g.PCIBusID, g.Architecture = monitor.UnknownText(monitor.NotSupported), monitor.OfText("ampere")
	for id := range g.Readings {
		g.Readings[id] = none
	}
	for id, r := range map[monitor.ReadingID]monitor.Reading{
		monitor.UtilizationPercent: monitor.OfFloat(34.5), monitor.MemoryTotalBytes: h.MemoryTotalBytes, monitor.MemoryUsedBytes: monitor.OfInt(4041996 << 10),
		monitor.TemperatureC: monitor.OfFloat(47.625), monitor.ClockGraphicsMHz: monitor.OfFloat(1300.5),
	} {
		r.At = g.Refreshed
		g.Readings[id] = r
	}
	g.Health, g.Processes = nil, g.Processes[:1]
	g.Processes[0].Types, g.Processes[0].GPUMemoryBytes = 0, monitor.OfInt(3986636<<10)
	return s
}

func TestJSONGolden(t *testing.T) {
	for name, s := range map[string]*monitor.Snapshot{"rich.json": rich(), "module.json": module()} {
		line := AppendJSON(nil, s)
		check(t, line)
		var b bytes.Buffer
		if err := json.Indent(&b, line, "", " "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
		golden(t, name, b.Bytes())
	}
}

// TestJSONOfParts: each kind has its list, and each null its reason.
func TestJSONOfParts(t *testing.T) {
	p := check(t, AppendJSON(nil, module())).node("platform")
	for list, names := range map[string]string{
		"rails": "VDD_GPU_SOC VDD_CPU_CV VIN_SYS_5V0", "engines": "nvenc nvdec vic",
		"throttle_alerts": "cpu-throttle-alert gpu-throttle-alert", "overcurrent": "oc1 oc2 oc3",
	} {
		var got []string
		for _, e := range p.nodes(list) {
			got = append(got, e.values["name"].(string))
		}
		if !slices.Equal(got, words(names)) {
			t.Errorf("%s: %v, want %s", list, got, names)
		}
	}
	engines, alerts, counters, why := p.nodes("engines"), p.nodes("throttle_alerts"), p.nodes("overcurrent"), p.node("unavailable").values
	for what, ok := range map[string]bool{
		"an engine that runs":             engines[0].values["on"] == true && engines[0].values["clock_mhz"] == json.Number("716.8"),
		"one that does not":               engines[1].values["on"] == false && engines[1].values["clock_mhz"] == json.Number("0") && engines[1].values["percent"] == json.Number("0"),
		"a load that nobody tells":        engines[0].values["percent"] == nil && why["engines[0].percent"] == "not_supported",
		"an engine that only root knows":  engines[2].values["on"] == nil && why["engines[2].on"] == "no_permission" && why["engines[2].clock_mhz"] == "no_permission",
		"its load, which anyone may read": engines[2].values["percent"] == json.Number("34") && why["engines[2].percent"] == nil,
		"a rail that is asleep":           p.nodes("rails")[1].values["power_mw"] == nil && why["rails[1].power_mw"] == "asleep",
		"what is slowed down":             alerts[0].values["state"] == json.Number("0") && alerts[1].values["state"] == json.Number("1"),
		"over-current":                    counters[1].values["events"] == json.Number("3") && why["overcurrent[2].events"] == "no_permission",
		"the governor":                    p.values["gpu_governor"] == "nvhost_podgov",
		"the memory controller":           p.values["emc_mhz"] == json.Number("2133") && p.values["emc_percent"] == nil && why["emc_percent"] == "no_permission",
	} {
		if !ok {
			t.Errorf("%s: %v", what, p.values)
		}
	}
}

func TestJSONStates(t *testing.T) {
	s := rich()
	n := check(t, AppendJSON(nil, s))
	stale, lost := n.nodes("gpus")[1], n.nodes("gpus")[2]
	for what, ok := range map[string]bool{
		"stale keeps its values":           stale.values["utilization_percent"] == json.Number("97"),
		"stale says its age":               stale.values["age_seconds"] == json.Number("7.5"),
		"readings say their age":           stale.node("ages").values["utilization_percent"] == json.Number("7.5"),
		"the hanging one is unknown":       stale.values["power_mw"] == nil && stale.node("unavailable").values["power_mw"] == "timeout",
		"our deadline has no code":         stale.node("errors").node("power_mw").values["code"] == nil,
		"stale keeps its list":             len(stale.nodes("processes")) == 0 && stale.values["processes_state"] == "ok" && stale.values["processes_age_seconds"] == json.Number("7.5"),
		"lost has no values":               lost.values["utilization_percent"] == nil && lost.node("unavailable").values["utilization_percent"] == "gpu_lost",
		"lost has no processes":            lost.values["processes"] == nil && lost.values["processes_state"] == "gpu_lost",
		"lost keeps its identity":          lost.values["uuid"] == "GPU-2" && lost.values["minor"] == json.Number("2"),
		"lost keeps its Xid errors":        len(lost.nodes("xids")) == 1,
		"lost names the call":              lost.node("errors").node("state").values["name"] == "NVML_ERROR_GPU_IS_LOST",
		"a call that failed is not blamed": len(lost.node("errors").keys) == 1,
		"a slow reading has an age":        n.nodes("gpus")[0].node("ages").values["pcie_replays"] == json.Number("4.2"),
		"a fresh one has none":             len(n.nodes("gpus")[0].node("ages").keys) == 1,
	} {
		if !ok {
			t.Errorf("it does not hold that %s", what)
		}
	}
	for state, word := range map[monitor.State]string{monitor.Sleeping: "asleep", monitor.Unavailable: "no_permission"} {
		s := rich()
		s.GPUs[3].State, s.GPUs[3].Blocked = state, monitor.NoPermission
		g := check(t, AppendJSON(nil, s)).nodes("gpus")[3]
		for _, n := range []*node{g, g.nodes("mig_devices")[0]} {
			if n.values["memory_used_bytes"] != nil || n.node("unavailable").values["memory_used_bytes"] != word || n.values["state"] != state.String() {
				t.Errorf("%s: memory %v, %v", state, n.values["memory_used_bytes"], n.node("unavailable").values["memory_used_bytes"])
			}
		}
	}
	s.GPUs[0].Index = monitor.None
	if g := check(t, AppendJSON(nil, s)).nodes("gpus")[0]; g.values["index"] != nil || g.node("unavailable").values["index"] != "not_found" {
		t.Errorf("index %v", g.values["index"])
	}
}

func TestJSONKindsOfValues(t *testing.T) {
	n := check(t, AppendJSON(nil, rich()))
	g := n.nodes("gpus")[0]
	for key, want := range map[string]string{
		"throttle_reasons": "[sw_power_cap unknown_0x100000]", "compute_mode": "exclusive_process", "persistence_mode": "true",
		"sm_active_percent": "87.2", "memory_total_bytes": "85899345920", "energy_joules": "1.5", "pcie_rx_bytes_per_second": "40990000000",
		"performance_state": "0", "recovery_action": "none", "mig_devices": "[]",
	} {
		if got := fmt.Sprint(g.values[key]); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if got := n.values["time"]; got != "2026-01-02T03:04:05.678901234Z" {
		t.Errorf("time %v", got)
	}
}

func TestJSONMasksSecrets(t *testing.T) {
	b := AppendJSON(nil, rich())
	if bytes.Contains(b, []byte("hf_abc")) || !bytes.Contains(b, []byte("--hub-token *** --config")) || !bytes.Contains(b, []byte("PASSWORD=***")) {
		t.Errorf("secrets leave: %s", b)
	}
}

func TestJSONSaysWaiting(t *testing.T) {
	n := check(t, AppendJSON(nil, &monitor.Snapshot{Waiting: "no driver in sight", WaitingHint: "load it"}))
	if w := n.nodes("warnings"); len(w) != 1 || w[0].values["code"] != "waiting" || w[0].values["text"] != "no driver in sight" || w[0].values["hint"] != "load it" {
		t.Errorf("warnings %v", w)
	}
}

func TestJSONKeepsTheLastXIDs(t *testing.T) {
	s := rich()
	for i := range 40 {
		s.GPUs[0].XIDs = append(s.GPUs[0].XIDs, monitor.XID{Code: i})
	}
	x := check(t, AppendJSON(nil, s)).nodes("gpus")[0].nodes("xids")
	if len(x) != maxXIDs || x[maxXIDs-1].values["code"] != json.Number("39") {
		t.Errorf("%d Xid errors, the last %v", len(x), x[len(x)-1].values)
	}
}

func TestJSONAppends(t *testing.T) {
	b := AppendJSON([]byte("{}"), &monitor.Snapshot{})
	if !bytes.HasPrefix(b, []byte(`{}{"schema":`)) {
		t.Errorf("got %s", b)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\x1f\x7f\u0080\u009f\u2028\u2029\u202e\u2066\xff\xed\xa0\x80\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		b := appendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
			t.Fatalf("%q became %q", s, got)
		}
		if !utf8.Valid(b) || bytes.ContainsFunc(b, unicode.IsControl) {
			t.Fatalf("%q is not clean", b)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	s := rich()
	buf := AppendJSON(nil, s)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendJSON(buf[:0], s)
	}
}
