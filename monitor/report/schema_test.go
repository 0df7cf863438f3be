package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
)

// entry is one key of a JSON object that keeps its order.
type entry struct {
	key   string
	value any
}

type ordered []entry

// MarshalJSON writes the keys in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, e.key), ':')
		v, err := marshal(e.value)
		if err != nil {
			return nil, err
		}
		b = append(b, v...)
	}
	return append(b, '}'), nil
}

// marshal is json.Marshal, but <, > and & stay what they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// appendLines appends v as JSON with what is short on one line.
func appendLines(dst []byte, v any, indent string) []byte {
	const width = 110
	short, err := marshal(v)
	if err != nil {
		panic(err)
	}
	if len(short) <= width {
		return append(dst, short...)
	}
	inner := indent + "  "
	switch v := v.(type) {
	case ordered:
		dst = append(dst, '{')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, "\n"+inner...)
			dst = append(appendString(dst, e.key), ": "...)
			dst = appendLines(dst, e.value, inner)
		}
		return append(dst, "\n"+indent+"}"...)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendLines(append(dst, "\n"+inner...), e, inner)
		}
		return append(dst, "\n"+indent+"]"...)
	case []string:
		dst = append(dst, '[')
		line := width
		for i, word := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if line += len(word) + 4; line > width {
				dst, line = append(dst, "\n"+inner...), len(word)
			} else {
				dst = append(dst, ' ')
			}
			dst = appendString(dst, word)
		}
		return append(dst, "\n"+indent+"]"...)
	}
	return append(dst, short...)
}

// nullness says what null means for a key.
type nullness int

const (
	notNull  nullness = iota
	reasoned          // unknown, and its reason stands in unavailable
	open              // does not apply; or unknown, where a reason stands
	absent            // does not apply, or is not so
	onJetson          // unknown on a Jetson, as reasoned; elsewhere it may not apply
)

// schemaKey is one key of the snapshot.
type schemaKey struct {
	name, what, unit string
	from             string // function or file that gives it, for docs/readings.md
	null             nullness
	is               ordered // what a known value is
}

func is(pairs ...any) (o ordered) {
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, entry{pairs[i].(string), pairs[i+1]})
	}
	return o
}

const wordPattern = "^[a-z][a-z0-9_]*$"

var (
	aText    = is("type", "string")
	someText = is("type", "string", "minLength", 1)
	flagged  = is("type", "boolean")
	number   = is("type", "number")
	positive = is("type", "number", "minimum", 0)
	integer  = is("type", "integer", "minimum", 0)
	aWord    = is("type", "string", "pattern", wordPattern)
	moment   = is("type", "string", "format", "date-time",
		"pattern", `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$`)
)

func oneOf(words ...string) ordered { return is("type", "string", "enum", words) }

func listOf(items any) ordered { return is("type", "array", "items", items) }

func ref(name string) ordered { return is("$ref", "#/$defs/"+name) }

var hostTold = []schemaKey{
	{"hostname", "name of the machine", "", "gethostname, /etc/hostname", reasoned, aText},
	{"os", "operating system, as Go names it: linux, windows, darwin, freebsd", "", "", notNull, aText},
	{"arch", "processor, as Go names it: amd64, arm64", "", "", notNull, aText},
	{"boot_id", "changes with each boot", "", "/proc/sys/kernel/random/boot_id", reasoned, aText},
	{"cpu_percent", "load of all processors together since the refresh before", "%", "/proc/stat", reasoned, positive},
	{"memory_total_bytes", "all memory of the machine", "bytes", "/proc/meminfo", reasoned, integer},
	{"memory_available_bytes", "memory that can be had without swapping", "bytes", "/proc/meminfo", reasoned, integer},
	{"hugepages_total_bytes", "memory set aside for huge pages of the default size, which nobody else can have; 0: none", "bytes", "/proc/meminfo", reasoned, integer},
	{"hugepages_free_bytes", "what of that nobody uses", "bytes", "/proc/meminfo", reasoned, integer},
}

var driverTold = []schemaKey{
	{"version", "version of the driver", "", "nvmlSystemGetDriverVersion", reasoned, aText},
	{"cuda_version", "highest CUDA version that the driver knows", "", "nvmlSystemGetCudaDriverVersion_v2", reasoned, aText},
	{"nvml_version", "version of NVML", "", "nvmlSystemGetNVMLVersion", reasoned, aText},
	{"library", "path of NVML", "", "the loader", reasoned, aText},
}

var platformTold = []schemaKey{
	{"kind", "kind of machine", "", "", notNull, oneOf("server", "jetson", "spark", "grace", "wsl", "unknown")},
	{"model", "name of the machine or module", "", "/sys/class/dmi/id, /proc/device-tree/model", onJetson, aText},
	{"soc", "its chip", "", "/proc/device-tree/compatible", onJetson, aText},
	{"l4t", "version of Linux for Tegra", "", "/etc/nv_tegra_release", onJetson, aText},
	{"jetpack", "version of JetPack", "", "version of Linux for Tegra", onJetson, aText},
	{"power_mode", "power mode that is set", "", "/var/lib/nvpmodel/status, /etc/nvpmodel.conf", onJetson, aText},
	{"gpu_governor", "what chooses the clock of the integrated GPU, such as nvhost_podgov", "", "/sys/class/devfreq/*/governor", onJetson, aText},
	{"rails", "power rails of a module; the reason of a null stands under rails[N].power_mw", "", "", reasoned, listOf(ref("rail"))},
	{"engines", "engines beside the GPU; the reason of a null stands under engines[N].on and so on", "", "", reasoned, listOf(ref("engine"))},
	{"throttle_alerts", "what tells that a part of the module is slowed down; the reason of a null stands under throttle_alerts[N].state", "", "", reasoned, listOf(ref("throttle_alert"))},
	{"overcurrent", "counters of over-current events; the reason of a null stands under overcurrent[N].events", "", "", reasoned, listOf(ref("overcurrent"))},
	{"power_mw", "what the module takes: its input, else an estimate, the sum of its rails", "mW", "the rails", onJetson, positive},
	{"emc_mhz", "clock of the memory controller", "MHz", "/sys/kernel/debug/bpmp/debug/clk/emc/rate, /sys/class/devfreq/bwmgr/cur_freq", onJetson, positive},
	{"emc_percent", "how much of what it could move at that clock it moves", "%", "/sys/kernel/debug/cactmon/mc_all, /sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity", onJetson, positive},
}

// partTold is what is told of the parts of a kind.
type partTold struct {
	def, what, title, note string
	keys                   []schemaKey
}

var partsTold = [monitor.NumPartKinds]partTold{
	monitor.Rail: {"rail", "a power rail", "Each power rail", "In `rails`.", []schemaKey{
		{"name", "the board's name of it", "", "in*_label, label of hwmon; rail_name_* of iio", notNull, aText},
		{"power_mw", "its power, of an INA3221 the product of voltage and current; never below 0", "mW", "in*_input and curr*_input, power1_input of hwmon; in_power*_input of iio", absent, positive},
		{"scope", "what it feeds: gpu: the GPU alone; shared: others, with the GPU or without it; input: everything", "", "", notNull, oneOf("gpu", "shared", "input")},
	}},
	monitor.Engine: {"engine", "an engine beside the GPU", "Each engine", "In `engines`. The clocks in `/sys/kernel/debug` are for root alone.", []schemaKey{
		{"name", "its name, such as nvenc", "", "/sys/kernel/debug/clk", notNull, aText},
		{"on", "whether its clock runs", "", "/sys/kernel/debug/clk/*/clk_enable_count, clk_rate", absent, flagged},
		{"clock_mhz", "its clock", "MHz", "/sys/kernel/debug/clk/*/clk_rate", absent, positive},
		{"percent", "its load, which the kernel does not tell of most", "%", "/sys/class/devfreq/*/device/load", absent, positive},
	}},
	monitor.ThrottleAlert: {"throttle_alert", "what tells that a part of the module is slowed down", "Each throttle alert", "In `throttle_alerts`.", []schemaKey{
		{"name", "such as gpu-throttle-alert", "", "/sys/class/thermal/cooling_device*/type", notNull, aText},
		{"state", "0: nothing is slowed down", "", "/sys/class/thermal/cooling_device*/cur_state", absent, integer},
	}},
	monitor.OverCurrent: {"overcurrent", "a counter of over-current events", "Each over-current counter", "In `overcurrent`.", []schemaKey{
		{"name", "such as oc1", "", "/sys/class/hwmon/*/oc*_event_cnt", notNull, aText},
		{"events", "how often too much current flowed since the machine was booted", "", "/sys/class/hwmon/*/oc*_event_cnt", absent, integer},
	}},
}

// partKeys are the keys that can be null of the parts of all kinds, such as
// rails.power_mw.
func partKeys() (list []string) {
	for kind := range monitor.NumPartKinds {
		for _, r := range kind.Info().Readings {
			list = append(list, kind.Info().Key+"."+r.Key)
		}
	}
	return list
}

var identityTold = []schemaKey{
	{"index", "the driver's present number of the GPU; null when a lost one's was taken. Of an instance: its number in the GPU", "", "order of nvmlDeviceGetHandleByIndex", reasoned, integer},
	{"uuid", "what identifies the GPU or the instance", "", "nvmlDeviceGetUUID", reasoned, aText},
	{"pci_bus_id", "place on the PCI bus, with a domain of eight digits", "", "nvmlDeviceGetPciInfo_v3", reasoned, aText},
	{"name", "product name", "", "nvmlDeviceGetName", reasoned, aText},
	{"architecture", "such as hopper; unknown_N for a new one", "", "nvmlDeviceGetArchitecture", reasoned, aText},
	{"serial", "serial number of the board", "", "nvmlDeviceGetSerial", reasoned, aText},
	{"driver_model", "model of Windows' driver; null elsewhere", "", "nvmlDeviceGetDriverModel_v2", absent, oneOf("wddm", "tcc", "mcdm", "unknown")},
}

// adapterTold are the keys of what Windows tells of a GPU under WDDM; elsewhere they
// are null without a reason.
var adapterTold = []schemaKey{
	{"adapter_dedicated_total_bytes", "under WDDM, what Windows takes for the GPU's own memory; 0 for some integrated ones", "bytes", "DXGI, DedicatedVideoMemory", open, integer},
	{"adapter_dedicated_used_bytes", "under WDDM, what Windows counts as used of that", "bytes", "the counter GPU Adapter Memory, Dedicated Usage", open, integer},
	{"adapter_shared_total_bytes", "under WDDM, memory of the host that the GPU may use besides", "bytes", "DXGI, SharedSystemMemory", open, integer},
	{"adapter_shared_used_bytes", "under WDDM, what it uses of that", "bytes", "the counter GPU Adapter Memory, Shared Usage", open, integer},
}

var stateTold = []schemaKey{
	{"state", "state of the GPU", "", "", notNull, oneOf("initialising", "ok", "stale", "lost", "asleep", "unavailable")},
	{"state_reason", "why, where the state does not say all", "", "", absent, someText},
	{"state_seconds", "how long the state has lasted; null where that is not known", "s", "", absent, positive},
	{"age_seconds", "how old the readings are, 0 while they are fresh", "s", "", reasoned, positive},
	{"call", "the call to the driver that is in progress; null: none", "", "", absent, someText},
	{"call_seconds", "for how long it has been", "s", "", absent, positive},
	{"sources", "who reads the GPU: nvml, tegra, wddm, demo", "", "", notNull, listOf(aWord)},
	{"integrated", "whether the GPU is part of the processor", "", "", notNull, flagged},
	{"gpu_instance_id", "number of the MIG GPU instance; null: not an instance", "", "nvmlDeviceGetGpuInstanceId", absent, integer},
	{"compute_instance_id", "number of the MIG compute instance; null: not an instance", "", "nvmlDeviceGetComputeInstanceId", absent, integer},
	{"profile", "MIG profile, such as 1g.10gb; null: not an instance", "", "", absent, someText},
	{"parent_uuid", "UUID of the GPU that an instance is part of; null: not an instance", "", "", absent, someText},
}

var listsTold = []schemaKey{
	{"health", "what is wrong, or worth knowing", "", "", notNull, listOf(ref("health"))},
	{"processes", "processes on the GPU; those in a MIG instance stand there; null: the list could not be read", "",
		"nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetMPSComputeRunningProcesses_v3", reasoned, listOf(ref("process"))},
	{"processes_state", "ok, or the reason why there is no list", "", "", notNull, oneOf(append([]string{"ok"}, reasons...)...)},
	{"processes_age_seconds", "how old the list is, 0 while it is fresh", "s", "", reasoned, positive},
}

var processTold = []schemaKey{
	{"pid", "process id, in the driver's PID namespace", "", "the lists of processes", notNull, integer},
	{"start_time", "when it began", "", "/proc/PID/stat; GetProcessTimes", reasoned, moment},
	{"start_ticks", "the same in clock ticks after boot: with pid and boot_id it is the process's identity", "", "/proc/PID/stat; GetProcessTimes", reasoned, integer},
	{"name", "short name", "", "/proc/PID/cmdline, /proc/PID/comm", reasoned, aText},
	{"command", "command line, with the values of secrets masked", "", "/proc/PID/cmdline", reasoned, aText},
	{"user", "owner", "", "owner of /proc/PID, /etc/passwd, the system's name service", reasoned, aText},
	{"types", "how it uses the GPU; empty where nvgpu lists it, which does not tell", "", "which list it is in", notNull, is("type", "array", "items", oneOf("compute", "graphics", "mps"), "uniqueItems", true)},
	{"gpu_memory_bytes", "its memory on this GPU", "bytes", "the lists of processes; under WDDM the counter GPU Process Memory, Local Usage", reasoned, integer},
	{"gpu_memory_nonlocal_bytes", "under WDDM, memory of the host that it uses through this GPU, and in no other figure; elsewhere null without a reason", "bytes", "the counter GPU Process Memory, Non Local Usage", open, integer},
	{"sm_percent", "its share of the multiprocessors", "%", "nvmlDeviceGetProcessUtilization; under WDDM the counter GPU Engine, Utilization Percentage", reasoned, positive},
	{"encoder_percent", "its share of the video encoder", "%", "nvmlDeviceGetProcessUtilization; under WDDM the counter GPU Engine, Utilization Percentage", reasoned, positive},
	{"decoder_percent", "its share of the video decoder", "%", "nvmlDeviceGetProcessUtilization; under WDDM the counter GPU Engine, Utilization Percentage", reasoned, positive},
	{"gpu_instance_id", "MIG GPU instance that it runs in; null: none", "", "the lists of processes", absent, integer},
	{"compute_instance_id", "MIG compute instance that it runs in; null: none", "", "the lists of processes", absent, integer},
	{"cpu_percent", "processor time since the refresh before, of one core", "%", "/proc/PID/stat; GetProcessTimes", reasoned, positive},
	{"host_memory_bytes", "memory of the machine that it occupies", "bytes", "/proc/PID/statm; GetProcessMemoryInfo", reasoned, integer},
	{"container", "container that it runs in; null without a reason: none", "", "/proc/PID/cgroup", open, ref("container")},
	{"job", "batch job that it belongs to; null without a reason: none", "", "/proc/PID/cgroup", open, ref("job")},
	{"unit", "systemd service that it belongs to; null without a reason: none", "", "/proc/PID/cgroup", open, someText},
	{"namespace", "whether the PID is one of this PID namespace: then the process can be looked up here; outside of it on WSL are those of Windows and of other distributions", "", "", notNull, oneOf("same", "outside", "unknown")},
}

var fanTold = []schemaKey{
	{"index", "number of the fan", "", "nvmlDeviceGetNumFans", notNull, integer},
	{"percent", "speed that the driver asks for, of the nominal one; may be above 100", "%", "nvmlDeviceGetFanSpeed_v2", absent, positive},
	{"rpm", "revolutions a minute", "1/min", "nvmlDeviceGetFanSpeedRPM", absent, positive},
	{"target_percent", "speed that is aimed at", "%", "nvmlDeviceGetTargetFanSpeed", absent, positive},
}

var xidTold = []schemaKey{
	{"time", "when it was seen", "", "", notNull, moment},
	{"code", "number of the Xid error", "", "nvmlEventSetWait_v2, /dev/kmsg", notNull, integer},
	{"source", "who told of it", "", "", notNull, oneOf("event", "kernel_log")},
	{"gpu_instance_id", "MIG GPU instance that it is about; null: the whole GPU", "", "", absent, integer},
	{"compute_instance_id", "MIG compute instance that it is about; null: none", "", "", absent, integer},
}

// gpuTold are the keys of a GPU, and of an instance, but the last few.
func gpuTold() []schemaKey {
	var list []schemaKey
	list = append(list, identityTold...)
	list = append(list, readingTold(monitor.Minor))
	list = append(list, stateTold...)
	for id := monitor.UtilizationPercent; id < monitor.NumReadings; id++ {
		if id == monitor.MIGEnabled {
			list = append(list, schemaKey{"xids", "Xid errors that were seen, the last 32; null: nobody could watch for them", "", "", reasoned,
				is("type", "array", "maxItems", maxXIDs, "items", ref("xid"))})
		}
		list = append(list, readingTold(id))
		switch id {
		case monitor.MemoryReservedBytes:
			list = append(list, schemaKey{"memory_unified", "whether the GPU's memory is the host's", "", "", notNull, flagged})
			list = append(list, adapterTold...)
		case monitor.FanPercent:
			list = append(list, schemaKey{"fans", "each fan; the reason of a null stands under fans[N].rpm and so on", "", "", reasoned, listOf(ref("fan"))})
		}
	}
	list = append(list, schemaKey{"mig_devices", "MIG instances; an instance has none", "", "nvmlDeviceGetMigDeviceHandleByIndex", reasoned, listOf(ref("gpu"))})
	return append(list, listsTold...)
}

func readingTold(id monitor.ReadingID) schemaKey {
	info := id.Info()
	k := schemaKey{info.Key, readingsTold[id].what, info.Unit, info.Function, reasoned, positive}
	switch info.Kind {
	case monitor.Integer:
		k.is = integer
	case monitor.Flag:
		k.is = flagged
	case monitor.Word:
		k.is = is("anyOf", []any{is("enum", info.Words), is("type", "string", "pattern", "^unknown_[0-9]+$")})
	case monitor.Mask:
		k.is = is("type", "array", "uniqueItems", true,
			"items", is("anyOf", []any{is("enum", info.Words), is("type", "string", "pattern", "^unknown_0x[0-9a-f]+$")}))
	}
	switch id {
	case monitor.TemperatureC, monitor.TemperatureMemoryC, monitor.TemperatureMarginC:
		k.is = number
	}
	return k
}

// orNull is what a value or null is.
func orNull(o ordered) ordered {
	if o[0].key != "type" {
		return is("anyOf", []any{o, is("type", "null")})
	}
	o = slices.Clone(o)
	o[0].value = []string{o[0].value.(string), "null"}
	for i := range o {
		if words, ok := o[i].value.([]string); ok && o[i].key == "enum" {
			o[i].value = append([]any{nil}, toAny(words)...)
		}
	}
	return o
}

func toAny(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

func (k schemaKey) schema() ordered {
	what := k.what
	if k.unit != "" {
		what += "; in " + k.unit
	}
	value := k.is
	if k.null != notNull {
		value = orNull(value)
	}
	return append(is("description", what), value...)
}

// objectOf is the schema of an object with those keys and no others.
func objectOf(what string, keys []schemaKey, more ...entry) ordered {
	var required []string
	var properties ordered
	for _, k := range keys {
		required = append(required, k.name)
		properties = append(properties, entry{k.name, k.schema()})
	}
	for _, e := range more {
		required = append(required, e.key)
		properties = append(properties, e)
	}
	return is("description", what, "type", "object", "additionalProperties", false, "required", required, "properties", properties)
}

// withReasons is objectOf with unavailable: a null that must have a reason has
// one, and what is known has none. Inner are the keys that can be null of the
// elements of its lists, such as fans.rpm. More stands before unavailable, last
// behind it.
func withReasons(what string, keys []schemaKey, inner []string, more []entry, last ...entry) ordered {
	var names []string
	var rules, jetson []any
	for _, k := range keys {
		if k.null == notNull || k.null == absent {
			continue
		}
		names = append(names, k.name)
		null := is("properties", is(k.name, is("type", "null")))
		known := is("properties", is("unavailable", is("properties", is(k.name, false))))
		told := is("properties", is("unavailable", is("required", []string{k.name})))
		switch k.null {
		case reasoned:
			rules = append(rules, is("if", null, "then", told, "else", known))
		case open:
			rules = append(rules, is("if", null, "else", known))
		case onJetson:
			rules = append(rules, is("if", null, "else", known))
			jetson = append(jetson, is("if", null, "then", told))
		}
	}
	for _, path := range inner {
		list, key, _ := strings.Cut(path, ".")
		one := is("type", "array", "contains", is("properties", is(key, is("type", "null"))))
		none := is("propertyNames", is("not", is("pattern", elementKeys(path))))
		rules = append(rules, is("if", is("properties", is(list, one)),
			"then", is("properties", is("unavailable", is("not", none))),
			"else", is("properties", is("unavailable", none))))
	}
	if jetson != nil {
		rules = append(rules, is("if", is("properties", is("kind", is("const", "jetson"))), "then", is("allOf", jetson)))
	}
	more = append(more, entry{"unavailable", is("description", "why each key that is null is unknown",
		"type", "object", "propertyNames", keysOf(names, inner), "additionalProperties", ref("reason"))})
	return append(objectOf(what, keys, append(more, last...)...), entry{"allOf", rules})
}

// elementKeys is the pattern of such names as fans[0].rpm.
func elementKeys(path string) string {
	list, key, _ := strings.Cut(path, ".")
	return `^` + list + `\[[0-9]+\]\.` + key + `$`
}

// keysOf are the names of an object's keys, and of those of the elements of its
// lists.
func keysOf(names, inner []string) ordered {
	if inner == nil {
		return is("enum", names)
	}
	choices := []any{is("enum", names)}
	for _, path := range inner {
		choices = append(choices, is("pattern", elementKeys(path)))
	}
	return is("anyOf", choices)
}

func snapshotSchema() ordered {
	gpu := gpuTold()
	var measured, failing []string
	for _, k := range gpu {
		if k.null == reasoned || k.null == open {
			failing = append(failing, k.name)
		}
	}
	for id := monitor.UtilizationPercent; id < monitor.NumReadings; id++ {
		measured = append(measured, id.String())
	}
	measured = append(measured, monitor.AdapterKeys[:]...)
	provenance := func(names, inner []string) entry {
		return entry{"provenance", is("description", "how values came about that were not plainly measured",
			"type", "object", "propertyNames", keysOf(names, inner), "additionalProperties", oneOf("inferred", "estimated", "reported"))}
	}
	fans := []string{"fans.percent", "fans.rpm", "fans.target_percent"}
	processKeys := []string{}
	for _, k := range processTold {
		if k.null == reasoned || k.name == "gpu_memory_nonlocal_bytes" {
			processKeys = append(processKeys, k.name)
		}
	}
	gpuSchema := withReasons("a GPU, or a MIG instance", gpu, fans,
		[]entry{{"ages", is("description", "how old readings are that are older than one interval; in s",
			"type", "object", "propertyNames", keysOf(measured, nil), "additionalProperties", positive)}},
		entry{"errors", is("description", "the call to blame, for keys that are null and for state",
			"type", "object", "propertyNames", keysOf(append([]string{"state"}, failing...), fans), "additionalProperties", ref("call"))},
		provenance(append([]string{monitor.Minor.String()}, measured...), fans))
	rules := &gpuSchema[len(gpuSchema)-1]
	rules.value = append(rules.value.([]any),
		is("if", is("properties", is("processes", is("type", "null"))),
			"then", is("properties", is("processes_state", is("not", is("const", "ok")), "processes_age_seconds", is("type", "null"))),
			"else", is("properties", is("processes_state", is("const", "ok")))),
		is("if", is("properties", is("call", is("type", "null"))), "then", is("properties", is("call_seconds", is("type", "null")))))
	platform := withReasons("the kind of machine; what is null without a reason does not apply to it", platformTold, partKeys(), nil, provenance([]string{"power_mw", "emc_mhz", "emc_percent"}, partKeys()))
	defs := ordered{}
	for _, p := range partsTold {
		defs = append(defs, entry{p.def, objectOf(p.what, p.keys)})
	}
	return ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:nvtop-lite:snapshot:1"},
		{"title", "A snapshot of nvtop-lite"},
		{"$comment", "Made by a test of monitor/report; go test ./monitor/report -update writes it anew."},
		{"description", "One line of nvtop-lite --json, and of a recording. Every key is always there. A later version may have more: take additionalProperties out to read those, too."},
		{"type", "object"},
		{"additionalProperties", false},
		{"required", snapshotKeys},
		{"properties", ordered{
			{"schema", is("description", "what the keys mean", "const", Schema)},
			{"time", append(is("description", "when the snapshot was made"), moment...)},
			{"steady_time", append(is("description", "the same moment on a clock that does not jump: it begins at the wall time at which the program was started"), moment...)},
			{"interval_seconds", append(is("description", "time between refreshes; in s"), positive...)},
			{"source", append(is("description", "demo: of a simulated machine; replay: of a recording"), oneOf("live", "demo", "replay")...)},
			{"host", withReasons("the machine", hostTold, nil, nil)},
			{"driver", withReasons("the driver and its library", driverTold, nil, nil)},
			{"platform", platform},
			{"gpus", append(is("description", "the GPUs, in the driver's order; one that was seen keeps its place"), listOf(ref("gpu"))...)},
			{"warnings", append(is("description", "what one should know of the program itself"), listOf(ref("warning"))...)},
		}},
		{"$defs", append(ordered{
			{"reason", is("description", "why a value is not known", "enum", reasons)},
			{"call", append(objectOf("a call that gave no value", []schemaKey{
				{"function", "C function, or file", "", "", absent, someText},
				{"name", "the driver's name for its answer; null: it did not answer in time", "", "", absent, someText},
				{"code", "the driver's number of its answer", "", "", absent, is("type", "integer")},
			}), entry{"if", is("properties", is("name", is("type", "null")))},
				entry{"then", is("properties", is("code", is("type", "null")))}, entry{"else", is("properties", is("code", is("type", "integer")))})},
			{"warning", objectOf("a warning", []schemaKey{
				{"code", "kind of warning", "", "", notNull, aWord}, {"text", "what it is", "", "", notNull, aText}, {"hint", "what to do about it", "", "", absent, someText},
			})},
			{"fan", objectOf("a fan", fanTold)},
			{"xid", objectOf("an Xid error", xidTold)},
			{"health", objectOf("a finding", []schemaKey{
				{"code", "kind of finding", "", "", notNull, aWord}, {"level", "how much it matters", "", "", notNull, oneOf("critical", "warning", "info")},
				{"text", "what it is", "", "", notNull, aText},
			})},
			{"container", objectOf("a container", []schemaKey{
				{"runtime", "such as docker", "", "", notNull, aText}, {"id", "its id", "", "", notNull, someText}, {"pod_uid", "of the Kubernetes pod", "", "", absent, someText},
			})},
			{"job", objectOf("a batch job", []schemaKey{
				{"scheduler", "such as slurm", "", "", notNull, aText}, {"id", "its id", "", "", notNull, someText}, {"step", "its step", "", "", absent, someText},
			})},
			{"process", withReasons("a process on a GPU", processTold, nil, nil, provenance(processKeys, nil))},
			{"gpu", gpuSchema},
		}, defs...)},
	}
}

// document compares a file in docs with what the tests make of the model.
func document(t *testing.T, name string, got []byte) {
	t.Helper()
	golden(t, "../../../docs/"+name, got)
}

//go:generate go test . -run TestSchemaIsFresh|TestReadingsDocument -update

func TestSchemaIsFresh(t *testing.T) {
	b := appendLines(nil, snapshotSchema(), "")
	if !json.Valid(b) {
		t.Fatalf("invalid JSON: %s", b)
	}
	document(t, "snapshot.schema.json", append(b, '\n'))
}

// TestSchemaHasEveryKey: in the order in which they are written.
func TestSchemaHasEveryKey(t *testing.T) {
	names := func(keys []schemaKey, more string) (list []string) {
		for _, k := range keys {
			list = append(list, k.name)
		}
		return append(list, strings.Fields(more)...)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"host":     {names(hostTold, "unavailable"), hostKeys},
		"driver":   {names(driverTold, "unavailable"), driverKeys},
		"platform": {names(platformTold, "unavailable provenance"), platformKeys},
		"GPU":      {names(gpuTold(), "ages unavailable errors provenance"), gpuKeys},
		"process":  {names(processTold, "unavailable provenance"), processKeys},
		"fan":      {names(fanTold, ""), smallKeys["fans"]},
		"Xid":      {names(xidTold, ""), smallKeys["xids"]},

		"rail":           {names(partsTold[monitor.Rail].keys, ""), smallKeys["rails"]},
		"engine":         {names(partsTold[monitor.Engine].keys, ""), smallKeys["engines"]},
		"throttle alert": {names(partsTold[monitor.ThrottleAlert].keys, ""), smallKeys["throttle_alerts"]},
		"over-current":   {names(partsTold[monitor.OverCurrent].keys, ""), smallKeys["overcurrent"]},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: the schema has\n%v\nthe JSON\n%v", what, c.got, c.want)
		}
	}
	for kind := range monitor.NumPartKinds {
		for _, r := range kind.Info().Readings {
			if !slices.ContainsFunc(partsTold[kind].keys, func(k schemaKey) bool { return k.name == r.Key && k.unit == r.Unit }) {
				t.Errorf("%s: nothing is told of %s in %q", kind.Info().Key, r.Key, r.Unit)
			}
		}
	}
	for id := range monitor.NumReadings {
		if t1 := readingsTold[id]; t1.what == "" || t1.null == "" {
			t.Errorf("nothing is told of %s", id)
		}
	}
}

// TestKeepSnapshots keeps what the schema is held against: the snapshots of the
// tests, and such as no source makes, with words that one could.
func TestKeepSnapshots(t *testing.T) {
	kept.Keep(AppendJSON(nil, rich()))
	kept.Keep(AppendJSON(nil, module()))
	waiting := monitor.Snapshot{Waiting: "no driver in sight", WaitingHint: "load it", GPUs: make([]monitor.GPU, 1)}
	possible(reflect.ValueOf(&waiting).Elem())
	kept.Keep(AppendJSON(nil, &waiting))
	for state := range monitor.State(6) {
		s := rich()
		s.GPUs[0].Index = monitor.None
		for i := range s.GPUs {
			s.GPUs[i].State, s.GPUs[i].Blocked = state, monitor.NoPermission
		}
		kept.Keep(AppendJSON(nil, s))
	}
	for seed := range uint64(100) {
		s := random(seed)
		possible(reflect.ValueOf(s).Elem())
		kept.Keep(AppendJSON(nil, s))
	}
}

// possible makes of the random values those that a source could give.
func possible(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *monitor.Reading:
		if f, ok := x.Float(); ok && (f < 0 || f > 1<<62) {
			*x = monitor.OfInt(1)
		}
		return
	case *monitor.Snapshot:
		x.Source, x.Host.OS, x.Host.Arch, x.Platform.Kind = "live", "linux", "amd64", "jetson"
	case *monitor.Part:
		x.Scope = "shared"
	case *monitor.XID:
		x.Code, x.Source = max(x.Code, 0), "event"
	case *monitor.Health:
		x.Code = "some"
	case *monitor.Warning:
		x.Code = "some"
	case *monitor.Fan:
		x.Index = max(x.Index, 0)
	case *monitor.GPU:
		for i := range x.Sources {
			x.Sources[i] = "nvml"
		}
		if x.DriverModel = ""; x.Adapter != nil {
			x.DriverModel = "wddm"
			possible(reflect.ValueOf(x.Adapter).Elem())
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				possible(v.Field(i))
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			possible(v.Index(i))
		}
	}
}
