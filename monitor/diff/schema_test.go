package diff

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

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
		for j, v := range [...]any{e.key, e.value} {
			if j > 0 {
				b = append(b, ':')
			}
			one, err := marshal(v)
			if err != nil {
				return nil, err
			}
			b = append(b, one...)
		}
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

func is(pairs ...any) (o ordered) {
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, entry{pairs[i].(string), pairs[i+1]})
	}
	return o
}

func ref(name string) ordered { return is("$ref", "#/$defs/"+name) }

func either(what ordered) ordered { return is("anyOf", []any{what, is("type", "null")}) }

// key is one key of an object.
type key struct {
	name, what string
	value      ordered
	reasoned   bool // null stands for unknown, and its reason in unavailable
}

// object is an object with all of its keys and no others.
func object(what string, keys ...key) ordered {
	var names, reasoned []string
	properties, rules := ordered{}, []any{}
	for _, k := range keys {
		names = append(names, k.name)
		properties = append(properties, entry{k.name, append(is("description", k.what), k.value...)})
		if k.reasoned {
			reasoned = append(reasoned, k.name)
			rules = append(rules, is("if", is("properties", is(k.name, is("type", "null"))),
				"then", is("properties", is("unavailable", is("required", []string{k.name}))),
				"else", is("properties", is("unavailable", is("properties", is(k.name, false))))))
		}
	}
	o := is("description", what, "type", "object", "additionalProperties", false)
	if len(reasoned) > 0 {
		names = append(names, "unavailable")
		properties = append(properties, entry{"unavailable", is("description", "why each key that is null is unknown", "type", "object",
			"propertyNames", is("enum", reasoned), "additionalProperties", ref("reason"))})
		o = append(o, entry{"allOf", rules})
	}
	return append(o, is("required", names, "properties", properties)...)
}

// changed is an object of what differs by its keys, all of them where all is set.
func changed(all bool, list changes, patterns ordered) ordered {
	properties, names := ordered{}, []string{}
	for _, c := range list {
		about := c.label
		if c.unit != "" && c.unit != "yes" && c.unit != "on" {
			about += "; in " + c.unit
		}
		properties = append(properties, entry{c.key, append(is("description", about), ref(c.old.v.(string))...)})
		names = append(names, c.key)
	}
	o := is("type", "object", "additionalProperties", false, "properties", properties)
	if len(patterns) > 0 {
		o = append(o, entry{"patternProperties", patterns})
	}
	if all {
		o = append(o, entry{"required", names})
	}
	return o
}

// aChange is a change between values of one type.
func aChange(what string, value, delta ordered, about string) ordered {
	o := object(what,
		key{"old", "value in the old snapshot; null: unknown, and the reason stands in unavailable", either(value), false},
		key{"new", "value in the new snapshot; null: unknown, and the reason stands in unavailable", either(value), false},
		key{"delta", about, delta, false},
		key{"unavailable", "why old, new and delta are unknown", is("type", "object",
			"propertyNames", is("enum", []string{"old", "new", "delta"}), "additionalProperties", ref("reason")), false},
		key{"provenance", "how a value came about that was not plainly measured", is("type", "object",
			"propertyNames", is("enum", []string{"old", "new"}), "additionalProperties", is("enum", []string{"inferred", "estimated", "reported"})), false})
	var rules []any
	for _, side := range []string{"old", "new"} {
		rules = append(rules, is("if", is("properties", is(side, is("type", "null"))),
			"then", is("properties", is("unavailable", is("required", []string{side}))),
			"else", is("properties", is("unavailable", is("properties", is(side, false))))))
	}
	rules = append(rules, is("if", is("properties", is("delta", is("type", "number"))),
		"then", is("properties", is("unavailable", is("properties", is("delta", false))))))
	return append(o, entry{"allOf", rules})
}

// kinds are what the changes of readings are called in the schema.
var kinds = map[monitor.Kind]string{
	monitor.Number: "number_change", monitor.Integer: "integer_change", monitor.Flag: "flag_change",
	monitor.Word: "word_change", monitor.Mask: "words_change",
}

// keysOf returns keys as changes whose old value is what the schema calls them.
func keysOf(l changes) (out changes) {
	for _, c := range l {
		kind := "word_change"
		switch c.old.v.(type) {
		case float64:
			kind = "number_change"
		case int64:
			kind = "integer_change"
		case bool:
			kind = "flag_change"
		}
		c.old.v = kind
		out = append(out, c)
	}
	return out
}

// everything differs between the two.
func everything() (old, new *monitor.Snapshot) {
	old, new = machine(), later(time.Minute)
	for side, s := range [...]*monitor.Snapshot{old, new} {
		name := monitor.OfText([...]string{"a", "b"}[side])
		count := monitor.OfInt(int64(side))
		s.Host = monitor.Host{Hostname: name, OS: name.Value, Arch: name.Value, BootID: name, CPUPercent: monitor.OfFloat(float64(side)),
			MemoryTotalBytes: count, MemoryAvailableBytes: count, HugePagesTotalBytes: count, HugePagesFreeBytes: count}
		s.Driver = monitor.Driver{Version: name, CUDAVersion: name, NVMLVersion: name, Library: name}
		s.Platform = monitor.Platform{Kind: name.Value, Model: name, SoC: name, L4T: name, JetPack: name, PowerMode: name,
			Governor: name, EMCMHz: monitor.OfFloat(float64(side)), EMCPercent: monitor.OfFloat(float64(side))}
		g := &s.GPUs[0]
		g.Index, g.PCIBusID, g.Name, g.Architecture, g.Serial = side, name, name, name, name
		g.DriverModel = []string{"wddm", "tcc"}[side]
		g.Integrated, g.MemoryUnified, g.GPUInstanceID, g.ComputeInstanceID, g.Profile = side > 0, side > 0, side, side, name.Value
		for id := range monitor.NumReadings {
			switch id.Info().Kind {
			case monitor.Flag:
				g.Readings[id] = monitor.OfFlag(side > 0)
			case monitor.Word:
				g.Readings[id] = monitor.OfWord(uint64(side))
			case monitor.Mask:
				g.Readings[id] = monitor.OfMask(uint64(side))
			case monitor.Integer:
				g.Readings[id] = count
			default:
				g.Readings[id] = monitor.OfFloat(float64(side))
			}
		}
	}
	return old, new
}

func diffSchema(t *testing.T) ordered {
	old, new := everything()
	d := compare(t, old, new)
	g := d.gpus[0]
	reasons := []string{}
	for r := monitor.NotSampled; r <= monitor.Asleep; r++ {
		if r != monitor.Known {
			reasons = append(reasons, r.String())
		}
	}
	reasons = append(reasons, counterRestarted, newIsOlder, startUnknown, noBootID, uuidUnknown)
	text, integer, boolean := is("type", "string"), is("type", "integer"), is("type", "boolean")
	someText, someID := is("type", []string{"string", "null"}), is("type", []string{"integer", "null"}, "minimum", 0)
	moment := is("type", "string", "format", "date-time")
	listOf := func(name string) ordered { return is("type", "array", "items", ref(name)) }
	noDelta := "null: there is no difference of such values"
	states := []string{}
	for s := monitor.Initialising; s <= monitor.Unavailable; s++ {
		states = append(states, s.String())
	}
	lists := "ok, or why the list was not read; null: the instance is not in that snapshot"
	readings := func(l changes) (out changes) {
		for _, c := range l {
			for id := range monitor.NumReadings {
				if id.String() == c.key {
					c.old.v = kinds[id.Info().Kind]
				}
			}
			if _, ok := c.old.v.(string); !ok || c.key == "name" || c.key == "serial" || c.key == "pci_bus_id" || c.key == "architecture" || c.key == "profile" || c.key == "driver_model" {
				c = keysOf(changes{c})[0]
			}
			out = append(out, c)
		}
		return out
	}
	parts := ordered{}
	for kind := range monitor.NumPartKinds {
		for _, r := range kind.Info().Readings {
			parts = append(parts, entry{`^` + kind.Info().Key + `\[[\s\S]*\]\.` + r.Key + `$`, ref(kinds[r.Kind])})
		}
	}
	side := func(what string) ordered {
		return object(what,
			key{"time", "when it was made", moment, false}, key{"source", "live, demo or replay", text, false},
			key{"hostname", "name of the machine", someText, true}, key{"boot_id", "changes with each boot", someText, true},
			key{"driver_version", "version of the driver", someText, true}, key{"cuda_version", "highest CUDA version that the driver knows", someText, true})
	}
	gpu := object("a GPU, or a MIG instance, that is in one of the snapshots; its identity is that of the new one where it is in both",
		key{"index", "the driver's present number", someID, true},
		key{"uuid", "its UUID, by which it is paired", someText, true},
		key{"name", "what it is called", someText, true},
		key{"gpu_instance_id", "null: no MIG instance", someID, false},
		key{"compute_instance_id", "null: no MIG instance", someID, false},
		key{"profile", "of a MIG instance; null: no MIG instance", someText, false},
		key{"parent_uuid", "of a MIG instance; null: no MIG instance", someText, false},
		key{"presence", "GPUs are always in both", ref("presence"), false},
		key{"presence_reason", "why it is unknown whether it is in one of them; null: it is known", either(ref("reason")), false},
		key{"state", "its state; null: it is not in that snapshot", ref("states"), false},
		key{"state_reason", "the state in words; null: the state says all, or it is not in that snapshot", ref("words"), false},
		key{"settings", "what does not change by itself, and differs, by the key of a snapshot", changed(false, readings(g.settings), nil), false},
		key{"counters", "what counts up, and differs, by the key of a snapshot", changed(false, readings(g.counters), nil), false},
		key{"loads", "what changes all the time, and differs, by the key of a snapshot", changed(false, readings(g.loads),
			is(`^fans\[[0-9]+\]\.(percent|rpm|target_percent)$`, ref("number_change"))), false},
		key{"memory", "whether it differs or not. memory_used_bytes: of the GPU, all who use it. memory_free_bytes: of the GPU, as it tells it. processes_bytes: the measured memory of its processes, those on its instances included, unknown while that of one is. unattributed_bytes: used less that of the processes, inferred; where it would be less than 0 it is unknown, and the reason is implausible",
			changed(true, keysOf(changes{g.used, g.free, g.attributed, g.rest}), nil), false},
		key{"health", "findings that came, went or are told otherwise", listOf("finding"), false},
		key{"xids_appeared", "Xid errors that only the new snapshot lists; null: a list was not read", is("type", []string{"array", "null"}, "items", ref("xid")), true},
		key{"xids_gone", "Xid errors that only the old snapshot lists; null: a list was not read", is("type", []string{"array", "null"}, "items", ref("xid")), true},
		key{"xids_state", lists, ref("words"), false},
		key{"mig_devices", "the MIG instances of either snapshot; null: none is known, and a list was not read", is("type", []string{"array", "null"}, "items", ref("gpu")), true},
		key{"mig_devices_state", lists, ref("words"), false},
		key{"processes", "the processes of either snapshot that are on no instance; null: none is known, and a list was not read", is("type", []string{"array", "null"}, "items", ref("process")), true},
		key{"processes_state", lists, ref("words"), false})
	integerChange := aChange("a change of an integer", integer, is("type", []string{"number", "null"}),
		"new less old; null: unknown, and the reason stands in unavailable; or, without one, the number is a name")
	top := object("What differs between two snapshots. Every key is always there.",
		key{"schema", "what the keys mean", is("const", Schema), false},
		key{"old", "the first snapshot", ref("old"), false}, key{"new", "the second snapshot", ref("new"), false},
		key{"elapsed_seconds", "time from the old to the new one, on a clock that does not jump where both know it; negative where the new one is the older one; in s", is("type", "number"), false},
		key{"rebooted", "whether the machine was booted between the two, or is another one", is("type", []string{"boolean", "null"}), true},
		key{"different", "whether anything differs but the time, or cannot be told", boolean, false},
		key{"host", "what differs of the machine, by the key of a snapshot", changed(false, keysOf(d.host), nil), false},
		key{"driver", "what differs of the driver and its library, by the key of a snapshot", changed(false, keysOf(d.driver), nil), false},
		key{"platform", "what differs of the kind of machine; rails, engines, throttle alerts and over-current counters by their names, by the key of a snapshot", changed(false, keysOf(d.platform), parts), false},
		key{"gpus", "the GPUs, in the order of the new snapshot", listOf("gpu"), false})
	health := object("a finding as one snapshot has it",
		key{"level", "how much it matters", is("enum", []string{"critical", "warning", "info"}), false}, key{"text", "what it is", text, false})
	return append(ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:nvtop-lite:diff:1"},
		{"title", "A difference of nvtop-lite"},
		{"$comment", "Made by a test of monitor/diff; go test ./monitor/diff -update writes it anew."},
	}, append(top, entry{"$defs", ordered{
		{"reason", is("description", "why something is not known: the reasons of readings, and "+counterRestarted+": the counter began anew between the two, "+newIsOlder+": the new snapshot is the older one, and a counter does not count backwards, "+
			startUnknown+": the start of a process is unknown and a process of its PID is in the other snapshot, "+
			noBootID+": likewise, and a boot id is unknown, "+uuidUnknown+": a MIG instance has no UUID of its own", "enum", reasons)},
		{"presence", is("description", "both; appeared: only in the new one; gone: only in the old one; old_unknown: in the new one, whether in the old one is unknown; new_unknown: the other way round",
			"enum", presenceWords)},
		{"words", object("two words", key{"old", "of the old snapshot; null: as its key says", someText, false}, key{"new", "of the new snapshot; null: as its key says", someText, false})},
		{"states", object("two states",
			key{"old", "in the old snapshot; null: the instance is not in it", either(is("enum", states)), false},
			key{"new", "in the new snapshot; null: the instance is not in it", either(is("enum", states)), false})},
		{"number_change", aChange("a change of a number", is("type", "number"), is("type", []string{"number", "null"}), "new less old; null: unknown, and the reason stands in unavailable")},
		{"integer_change", integerChange},
		{"flag_change", aChange("a change of what is so or not", boolean, is("type", "null"), noDelta)},
		{"word_change", aChange("a change of a text or word", text, is("type", "null"), noDelta)},
		{"words_change", aChange("a change of a set of words", is("type", "array", "items", text), is("type", "null"), noDelta)},
		{"old", side("the old snapshot")}, {"new", side("the new snapshot")},
		{"health", health},
		{"finding", object("a finding that differs",
			key{"code", "kind of finding", text, false},
			key{"old", "in the old snapshot; null: it was not found", either(ref("health")), false},
			key{"new", "in the new snapshot; null: it was not found", either(ref("health")), false},
			key{"unavailable", "why a side that is null could not tell whether it is so", is("type", "object",
				"propertyNames", is("enum", []string{"old", "new"}), "additionalProperties", ref("reason")), false})},
		{"xid", object("an Xid error",
			key{"time", "when", moment, false}, key{"code", "its number", integer, false}, key{"source", "event or kernel_log", text, false},
			key{"gpu_instance_id", "null: it is about the whole GPU", someID, false}, key{"compute_instance_id", "null: it is about the whole GPU", someID, false})},
		{"process", object("a process on the GPU or instance, paired by boot, PID and start",
			key{"pid", "its PID", is("type", "integer", "minimum", 0), false},
			key{"start_time", "when it began", either(moment), true},
			key{"start_ticks", "clock ticks from boot to its start; on Windows µs since 1970", is("type", []string{"integer", "null"}), true},
			key{"name", "what it is called", someText, true}, key{"user", "whose it is", someText, true},
			key{"presence", "where it is", ref("presence"), false},
			key{"presence_reason", "why it is unknown whether it is in one of them; null: it is known", either(ref("reason")), false},
			key{"gpu_memory_bytes", "its memory on the GPU, whether it differs or not; not_found on the side where it is not", ref("integer_change"), false})},
		{"gpu", gpu},
	}})...)
}

func TestSchemaIsFresh(t *testing.T) {
	b, err := marshal(diffSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/diff.schema.json", append(lines.Bytes(), '\n'))
}

// Every reading stands in one group, so that none is forgotten.
func TestEveryReadingIsCompared(t *testing.T) {
	old, new := everything()
	g := compare(t, old, new).gpus[0]
	found := map[string]int{g.used.key: 1, g.free.key: 1}
	for _, l := range [...]changes{g.settings, g.counters, g.loads} {
		for _, c := range l {
			found[c.key]++
		}
	}
	for id := range monitor.NumReadings {
		if found[id.String()] != 1 {
			t.Errorf("%s stands %d times", id, found[id.String()])
		}
	}
}
