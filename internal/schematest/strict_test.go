package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema that takes everything says nothing: these tests spoil good output.

func golden(t *testing.T) map[string]any { t.Helper(); return goldenOf(t, "rich.json") }

func goldenOf(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "monitor/report/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return object(t, text)
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// spoiler spoils an output at every place.
type spoiler struct {
	t     *testing.T
	whole map[string]any
	tried int
}

func (s *spoiler) refused(what string) {
	s.t.Helper()
	s.tried++
	if check(s.whole) == nil {
		s.t.Errorf("accepted: %s", what)
	}
}

// spoil takes each key out, gives each another kind of value, and adds one.
// The objects that are called as in loose have keys that may be missing.
func (s *spoiler) spoil(where string, v any, loose []string) {
	s.t.Helper()
	switch v := v.(type) {
	case map[string]any:
		isMap := slices.Contains(loose, where[strings.LastIndexByte(where, '.')+1:])
		v["no_such_key"] = "timeout"
		s.refused(where + " with another key")
		delete(v, "no_such_key")
		for _, key := range slices.Sorted(maps.Keys(v)) {
			old := v[key]
			if !isMap {
				delete(v, key)
				s.refused(where + " without " + key)
			}
			wrong := any(map[string]any{"wrong": true})
			v[key] = wrong
			s.refused(where + "." + key + " as an object")
			if _, is := old.(json.Number); is && key != "value" {
				v[key] = old.(json.Number).String()
				s.refused(where + "." + key + " as text")
			}
			if _, is := old.(bool); is {
				v[key] = json.Number("1")
				s.refused(where + "." + key + " as a number")
			}
			v[key] = old
			s.spoil(where+"."+key, old, loose)
		}
	case []any:
		for i, e := range v {
			s.spoil(fmt.Sprintf("%s[%d]", where, i), e, loose)
		}
	}
	if err := check(s.whole); err != nil {
		s.t.Fatalf("%s was not mended: %v", where, err)
	}
}

// eachGPU returns the golden snapshot with one of its GPUs at a time, each with
// one process.
func eachGPU(t *testing.T) (list []map[string]any) {
	for i := range golden(t)["gpus"].([]any) {
		s := golden(t)
		g := at(s, "gpus", i)
		s["gpus"] = []any{g}
		if processes, _ := g["processes"].([]any); len(processes) > 0 {
			g["processes"] = processes[:1]
		}
		instances, _ := g["mig_devices"].([]any)
		for _, m := range instances {
			m.(map[string]any)["processes"] = []any{}
		}
		list = append(list, s)
	}
	return list
}

func TestSnapshotSchemaIsStrict(t *testing.T) {
	for i, whole := range eachGPU(t) {
		t.Run(fmt.Sprint("GPU ", i), func(t *testing.T) {
			t.Parallel()
			s := &spoiler{t: t, whole: whole}
			s.spoil("snapshot", whole, []string{"unavailable", "ages", "errors", "provenance"})
			if s.tried < 300 {
				t.Errorf("only %d ways were tried", s.tried)
			}
		})
	}
}

// TestModuleSchemaIsStrict on a Jetson, which has parts of all kinds.
func TestModuleSchemaIsStrict(t *testing.T) {
	whole := goldenOf(t, "module.json")
	whole["gpus"] = []any{}
	s := &spoiler{t: t, whole: whole}
	s.spoil("snapshot", whole, []string{"unavailable"})
	if s.tried < 150 {
		t.Errorf("only %d ways were tried", s.tried)
	}
	for what, spoil := range map[string]func(h, p map[string]any){
		"less than no huge pages":      func(h, _ map[string]any) { h["hugepages_free_bytes"] = json.Number("-1") },
		"a negative power":             func(_, p map[string]any) { at(p, "rails", 0)["power_mw"] = json.Number("-390") },
		"a rail of another scope":      func(_, p map[string]any) { at(p, "rails", 0)["scope"] = "fan" },
		"a negative clock":             func(_, p map[string]any) { at(p, "engines", 0)["clock_mhz"] = json.Number("-1") },
		"a negative load":              func(_, p map[string]any) { at(p, "engines", 1)["percent"] = json.Number("-1") },
		"half a state":                 func(_, p map[string]any) { at(p, "throttle_alerts", 1)["state"] = json.Number("0.5") },
		"half an event":                func(_, p map[string]any) { at(p, "overcurrent", 1)["events"] = json.Number("1.5") },
		"less than no event":           func(_, p map[string]any) { at(p, "overcurrent", 1)["events"] = json.Number("-1") },
		"no governor and no reason":    func(_, p map[string]any) { p["gpu_governor"] = nil },
		"no load of memory, no reason": func(_, p map[string]any) { delete(at(p, "unavailable"), "emc_percent") },
		"a reason for another list":    func(_, p map[string]any) { at(p, "unavailable")["fans[0].rpm"] = "timeout" },
	} {
		m := goldenOf(t, "module.json")
		spoil(at(m, "host"), at(m, "platform"))
		if check(m) == nil {
			t.Errorf("accepted: %s", what)
		}
	}
}

// TestPartsNeedReasons: of a list with one part, each of its readings in turn is
// null or has a reason.
func TestPartsNeedReasons(t *testing.T) {
	for list, whole := range map[string]int{"rails": 0, "engines": 1, "throttle_alerts": 0, "overcurrent": 0} { // one without nulls
		m := goldenOf(t, "module.json")
		m["gpus"] = []any{}
		p := at(m, "platform")
		part, why := at(p, list, whole), at(p, "unavailable")
		p[list] = []any{part}
		maps.DeleteFunc(why, func(key string, _ any) bool { return strings.HasPrefix(key, list+"[") })
		if err := check(m); err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(part)) {
			if key == "name" || key == "scope" {
				continue
			}
			old, path := part[key], list+"[0]."+key
			for _, c := range []struct {
				value any
				told  bool
				ok    bool
			}{{old, true, false}, {nil, false, false}, {nil, true, true}, {old, false, true}} {
				delete(why, path)
				if part[key] = c.value; c.told {
					why[path] = "no_permission"
				}
				if err := check(m); err == nil != c.ok {
					t.Errorf("%s is %v, with a reason: %t: %v", path, c.value, c.told, err)
				}
			}
		}
	}
}

// TestNullsNeedReasons: each known value becomes null, each reason goes.
func TestNullsNeedReasons(t *testing.T) {
	for i, whole := range eachGPU(t) {
		t.Run(fmt.Sprint("GPU ", i), func(t *testing.T) {
			t.Parallel()
			nullsNeedReasons(t, whole)
		})
	}
}

func nullsNeedReasons(t *testing.T, whole map[string]any) {
	s := &spoiler{t: t, whole: whole}
	var visit func(where string, v any)
	visit = func(where string, v any) {
		switch v := v.(type) {
		case map[string]any:
			why, reasons := v["unavailable"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(v)) {
				old := v[key]
				switch {
				case !reasons:
				case old != nil && !mayBeNull[key]:
					v[key] = nil
					s.refused(where + "." + key + " is null")
					v[key] = old
				case old == nil && why[key] != nil:
					reason := why[key]
					delete(why, key)
					if !mayBeNull[key] {
						s.refused(where + "." + key + " is null, and its reason is gone")
					}
					why[key] = "because"
					s.refused(where + "." + key + " is null because")
					why[key] = reason
				}
				if old != nil && reasons && key != "unavailable" {
					why[key] = "timeout"
					s.refused(where + "." + key + " is known and unavailable")
					delete(why, key)
				}
				visit(where+"."+key, old)
			}
		case []any:
			for i, e := range v {
				visit(fmt.Sprintf("%s[%d]", where, i), e)
			}
		}
	}
	visit("snapshot", s.whole)
	if err := check(s.whole); err != nil || s.tried < 100 {
		t.Errorf("%d ways were tried, and at the end: %v", s.tried, err)
	}
}

// mayBeNull are the keys whose null needs no reason.
var mayBeNull = map[string]bool{
	"state_reason": true, "state_seconds": true, "call": true, "call_seconds": true, "gpu_instance_id": true, "compute_instance_id": true,
	"profile": true, "parent_uuid": true, "container": true, "job": true, "unit": true,
	"model": true, "soc": true, "l4t": true, "jetpack": true, "power_mode": true, "gpu_governor": true,
	"emc_mhz": true, "emc_percent": true,
	"driver_model": true, "adapter_dedicated_total_bytes": true, "adapter_dedicated_used_bytes": true,
	"adapter_shared_total_bytes": true, "adapter_shared_used_bytes": true, "gpu_memory_nonlocal_bytes": true,
}

// at goes down an object: numbers are places in lists.
func at(v any, path ...any) map[string]any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v.(map[string]any)
}

// TestSnapshotValues: what no snapshot may say.
func TestSnapshotValues(t *testing.T) {
	for what, spoil := range map[string]func(s, g map[string]any){
		"a time without a zone":              func(s, _ map[string]any) { s["time"] = "2026-01-02T03:04:05" },
		"a time in another zone":             func(s, _ map[string]any) { s["time"] = "2026-01-02T03:04:05+01:00" },
		"the 31st of February":               func(s, _ map[string]any) { s["steady_time"] = "2026-02-31T03:04:05Z" },
		"another schema":                     func(s, _ map[string]any) { s["schema"] = "nvtop-lite/2" },
		"another source":                     func(s, _ map[string]any) { s["source"] = "guess" },
		"a word that is not a state":         func(_, g map[string]any) { g["state"] = "fine" },
		"a fraction of a byte":               func(_, g map[string]any) { g["memory_used_bytes"] = json.Number("1.5") },
		"less than nothing":                  func(_, g map[string]any) { g["memory_used_bytes"] = json.Number("-1") },
		"a negative power":                   func(_, g map[string]any) { g["power_mw"] = json.Number("-1") },
		"a fraction of a P-state":            func(_, g map[string]any) { g["performance_state"] = json.Number("0.5") },
		"a compute mode that nobody knows":   func(_, g map[string]any) { g["compute_mode"] = "shared" },
		"a reason to slow down twice":        func(_, g map[string]any) { g["throttle_reasons"] = []any{"idle", "idle"} },
		"a reason that nobody knows":         func(_, g map[string]any) { g["throttle_reasons"] = []any{"tired"} },
		"a list that was and was not read":   func(_, g map[string]any) { g["processes_state"] = "timeout" },
		"33 Xid errors":                      func(_, g map[string]any) { g["xids"] = slices.Repeat([]any{xid()}, 33) },
		"an Xid from nowhere":                func(_, g map[string]any) { x := xid(); x["source"] = "rumour"; g["xids"] = []any{x} },
		"how long no call takes":             func(_, g map[string]any) { g["call"], g["call_seconds"] = nil, json.Number("1") },
		"an answer without a code":           func(_, g map[string]any) { at(g, "errors", "jpeg_percent")["code"] = nil },
		"a code without an answer":           func(_, g map[string]any) { at(g, "errors", "jpeg_percent")["name"] = nil },
		"the age of what has none":           func(_, g map[string]any) { at(g, "ages")["name"] = json.Number("2") },
		"values that came about by guessing": func(_, g map[string]any) { at(g, "provenance")["power_mw"] = "guessed" },
		"a process of another type":          func(_, g map[string]any) { at(g, "processes", 0)["types"] = []any{"mining"} },
		"another namespace":                  func(_, g map[string]any) { at(g, "processes", 0)["namespace"] = "mine" },
		"a PID below 0":                      func(_, g map[string]any) { at(g, "processes", 0)["pid"] = json.Number("-1") },
		"a fan's reason for what is known": func(s, _ map[string]any) {
			at(s, "gpus", 1, "unavailable")["fans[0].percent"] = "timeout"
		},
		"a fan without a reason":     func(s, _ map[string]any) { delete(at(s, "gpus", 1, "unavailable"), "fans[0].rpm") },
		"a Jetson without a reason":  func(s, _ map[string]any) { at(s, "platform")["kind"] = "jetson" },
		"a platform of another kind": func(s, _ map[string]any) { at(s, "platform")["kind"] = "toaster" },
	} {
		t.Run(what, func(t *testing.T) {
			s := golden(t)
			spoil(s, at(s, "gpus", 0))
			if check(s) == nil {
				t.Error("accepted")
			}
		})
	}
}

func xid() map[string]any {
	return map[string]any{"time": "2026-01-02T03:04:05Z", "code": json.Number("79"), "source": "event", "gpu_instance_id": nil, "compute_instance_id": nil}
}

// TestSchemasOfRecordingsAreStrict on what is said of the simulated machine.
func TestSchemasOfRecordingsAreStrict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording")
	run(t, "record", path, "--demo", "-g", "0", "-n", "3", "-i", "0.2")
	for _, command := range [][]string{{"summary", "--json", path}, {"diff", "--json", path, path}} {
		t.Run(command[0], func(t *testing.T) {
			s := &spoiler{t: t, whole: object(t, output(t, command...))}
			s.spoil(command[0], s.whole, []string{"unavailable", "provenance", "throttle_seconds"})
			t.Logf("%d ways", s.tried)
		})
	}
}

// TestDoctorSchemaIsStrict on what the doctor says of the simulated machine.
func TestDoctorSchemaIsStrict(t *testing.T) {
	s := &spoiler{t: t, whole: object(t, output(t, "doctor", "--demo", "--json"))}
	g := at(s.whole, "gpus", 0)
	s.whole["gpus"], g["readings"] = []any{g}, g["readings"].([]any)[:5]
	s.spoil("doctor", s.whole, nil)
	if s.tried < 200 {
		t.Errorf("only %d ways were tried", s.tried)
	}
	for what, spoil := range map[string]func(d, r map[string]any){
		"a value and a reason":   func(_, r map[string]any) { r["reason"] = "timeout" },
		"no value and no reason": func(_, r map[string]any) { r["value"] = nil },
		"a reason of its own":    func(_, r map[string]any) { r["value"], r["reason"] = nil, "tired" },
		"another level":          func(d, _ map[string]any) { at(d, "problems", 0)["level"] = "bad" },
		"a time of the day":      func(d, _ map[string]any) { d["time"] = "12:00" },
	} {
		d := object(t, output(t, "doctor", "--demo", "--json"))
		r := at(d, "gpus", 0, "readings", 1)
		if r["value"] == nil {
			t.Fatalf("%v is unknown", r["key"])
		}
		spoil(d, r)
		if check(d) == nil {
			t.Errorf("accepted: %s", what)
		}
	}
}
