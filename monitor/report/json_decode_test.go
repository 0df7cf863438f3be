package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

// parsed is what comes back of what AppendJSON wrote.
func parsed(t *testing.T, line []byte) *monitor.Snapshot {
	t.Helper()
	s, err := ParseJSON(line)
	if err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return s
}

// TestJSONComesBack: what was read is written the same way again.
func TestJSONComesBack(t *testing.T) {
	same := func(s *monitor.Snapshot) {
		t.Helper()
		first := AppendJSON(nil, s)
		back := parsed(t, first)
		if again := AppendJSON(nil, back); !bytes.Equal(first, again) {
			t.Errorf("it comes back as %s", difference(first, again))
		}
		o := TextOptions{Width: 200}
		if a, b := AppendText(nil, back, o), AppendText(nil, parsed(t, AppendJSON(nil, back)), o); !bytes.Equal(a, b) {
			t.Errorf("its text differs:\n%s\n%s", a, b)
		}
	}
	same(rich())
	same(module())
	same(&monitor.Snapshot{Time: rich().Time})
	for seed := range uint64(300) {
		same(random(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// difference is where two lines differ.
func difference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	part := func(s []byte) []byte { return s[max(0, i-80):min(len(s), i+80)] }
	return fmt.Sprintf("\n%s\nfrom\n%s", part(b), part(a))
}

// TestJSONTextComesBack: people see the same.
func TestJSONTextComesBack(t *testing.T) {
	s := rich()
	back := parsed(t, AppendJSON(nil, s))
	o := TextOptions{Width: 200}
	if a, b := AppendText(nil, s, o), AppendText(nil, back, o); !bytes.Equal(a, b) {
		t.Errorf("got\n%s\nwant\n%s", b, a)
	}
	if a, b := AppendPrometheus(nil, s), AppendPrometheus(nil, back); !bytes.Equal(a, b) {
		t.Errorf("got\n%s\nwant\n%s", b, a)
	}
}

func TestJSONOfOthers(t *testing.T) {
	head := `{"schema":"nvtop-lite/1","time":"2026-01-02T03:04:05Z"`
	s := parsed(t, []byte(head+`,"later":{"a":[1,{"b":null}],"c":"}"},"gpus":[{"index":0,"uuid":"GPU-1","new_key":[[],{}],
		"utilization_percent":7.5,"throttle_reasons":["idle","too_loud","unknown_0x800000","too_cold"],"compute_mode":"shared_fairly","fabric_state":"unknown_9",
		"unavailable":{"power_mw":"on_strike","uuid":"timeout","nonsense":"timeout","fans[7].rpm":"timeout"},
		"processes":[{"pid":7,"types":["compute","quantum"]}]}]}`))
	g := &s.GPUs[0]
	if v, ok := g.Readings[monitor.UtilizationPercent].Float(); !ok || v != 7.5 {
		t.Errorf("%v %v", v, ok)
	}
	if got := strings.Join(monitor.ThrottleReasons.Words(nil, g.Readings[monitor.ThrottleReasons]), " "); got != "idle unknown_0x800000 too_loud too_cold" {
		t.Errorf("words that are not known here: %q", got)
	}
	if got := monitor.ComputeMode.Word(g.Readings[monitor.ComputeMode]); got != "shared_fairly" {
		t.Errorf("a word that is not known here: %q", got)
	}
	if got := monitor.FabricState.Word(g.Readings[monitor.FabricState]); got != "unknown_9" {
		t.Errorf("a word without a name: %q", got)
	}
	if r := g.Readings[monitor.PowerMW]; r.Reason != monitor.DriverError || r.Err.Name() != "on_strike" {
		t.Errorf("a reason that is not known here: %+v", r)
	}
	if r := g.Readings[monitor.TemperatureC]; r.Reason != monitor.NotSampled {
		t.Errorf("a key that is missing: %+v", r)
	}
	if g.UUID.Value != "GPU-1" || g.ProcStatus.Reason != monitor.Known || g.FansStatus.Reason != monitor.NotSampled {
		t.Errorf("%+v", g)
	}
	p := g.Processes[0]
	if p.PID != 7 || p.Types != monitor.Compute || p.Container.Reason != monitor.NotSampled || p.Name.Reason != monitor.NotSampled || p.GPUMemoryBytes.Known() {
		t.Errorf("%+v", p)
	}
	if s.Steady != s.Time.UnixNano() {
		t.Errorf("steady time %d", s.Steady)
	}
	// Keys in another order, as jq -S writes them.
	s = parsed(t, []byte(`{"gpus":[{"ages":{"power_mw":3.5},"power_mw":1,"age_seconds":2,"unavailable":{"fan_percent":"asleep"},"fan_percent":null}],
		"schema":"nvtop-lite/1","steady_time":"2026-01-02T03:04:05Z","time":"2026-01-02T04:04:05Z"}`))
	g = &s.GPUs[0]
	if s.Age(g.Readings[monitor.PowerMW].At).Seconds() != 3.5 || s.Age(g.Refreshed).Seconds() != 2 || g.Readings[monitor.FanPercent].Reason != monitor.Asleep {
		t.Errorf("%+v", g.Readings[monitor.PowerMW])
	}
	s = parsed(t, []byte(head+`,"gpus":[{"state":"teleported"}]}`))
	if g := &s.GPUs[0]; g.State != monitor.Unavailable || g.StateReason != "teleported" {
		t.Errorf("%+v", g)
	}
	s = parsed(t, []byte(head+`,"source":"\u0041\ud83d\ude00\ud83dx\n\/\"\\"}`))
	if s.Source != "A\U0001f600\ufffdx\n/\"\\" {
		t.Errorf("%q", s.Source)
	}
}

// TestJSONOfPartsComesBack: as parts, with what failed.
func TestJSONOfPartsComesBack(t *testing.T) {
	want := module()
	got := parsed(t, AppendJSON(nil, want))
	a, b := want.Platform.Parts, got.Platform.Parts
	if len(a) != len(b) {
		t.Fatalf("%d parts of %d", len(b), len(a))
	}
	for i := range a {
		if a[i].Kind != b[i].Kind || a[i].Name != b[i].Name || a[i].Scope != b[i].Scope {
			t.Errorf("%+v came back as %+v", a[i], b[i])
		}
		for j, r := range a[i].Kind.Info().Readings {
			x, y := a[i].Readings[j], b[i].Readings[j]
			xf, _ := x.Float()
			if yf, _ := y.Float(); x.Reason != y.Reason || xf != yf || y.Known() && r.Kind != monitor.Number && y.Kind() != r.Kind {
				t.Errorf("%s of %s: %+v came back as %+v", r.Key, a[i].Name, x, y)
			}
		}
	}
}

// TestJSONOfOldModules: as it was written when only loads of engines were known.
func TestJSONOfOldModules(t *testing.T) {
	s := parsed(t, []byte(`{"schema":"nvtop-lite/1","time":"2026-01-02T03:04:05Z",
		"host":{"hostname":"orin","os":"linux","arch":"arm64","boot_id":"b","cpu_percent":3,"memory_total_bytes":9,"memory_available_bytes":5,"unavailable":{}},
		"platform":{"kind":"jetson","model":"Orin","soc":"tegra234","l4t":"36.4.4","jetpack":"6.2.1","power_mode":"MAXN",
		"rails":[{"name":"VDD_GPU_SOC","power_mw":2395.2,"scope":"shared"},{"name":"VIN","power_mw":null,"scope":"input"}],
		"engines":[{"name":"nvenc","percent":7},{"name":"vic","percent":null}],"emc_mhz":2133,
		"unavailable":{"rails[1].power_mw":"timeout","engines[1].percent":"no_permission"}}}`))
	p := &s.Platform
	if len(p.Parts) != 4 {
		t.Fatalf("%+v", p.Parts)
	}
	power, load := p.Parts[0].Readings[monitor.RailPower], p.Parts[2].Readings[monitor.EngineLoad]
	if v, ok := power.Float(); !ok || v != 2395.2 || p.Parts[0].Kind != monitor.Rail || p.Parts[0].Scope != "shared" {
		t.Errorf("%+v", p.Parts[0])
	}
	if v, ok := load.Float(); !ok || v != 7 || p.Parts[2].Kind != monitor.Engine || p.Parts[2].Name != "nvenc" {
		t.Errorf("%+v", p.Parts[2])
	}
	for what, c := range map[string]struct{ got, want monitor.Reason }{
		"a rail":                 {p.Parts[1].Readings[monitor.RailPower].Reason, monitor.Timeout},
		"a load":                 {p.Parts[3].Readings[monitor.EngineLoad].Reason, monitor.NoPermission},
		"whether an engine runs": {p.Parts[2].Readings[monitor.EngineOn].Reason, monitor.NotSampled},
		"its clock":              {p.Parts[2].Readings[monitor.EngineClock].Reason, monitor.NotSampled},
		"the governor":           {p.Governor.Reason, monitor.NotSampled},
		"the memory controller":  {p.EMCPercent.Reason, monitor.NotSampled},
		"huge pages":             {s.Host.HugePagesTotalBytes.Reason, monitor.NotSampled},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	check(t, AppendJSON(nil, s))
}

func TestJSONThatIsBroken(t *testing.T) {
	head := `{"schema":"nvtop-lite/1","time":"2026-01-02T03:04:05Z"`
	for _, c := range []struct{ line, want string }{
		{``, "expected '{'"},
		{`[]`, "expected '{'"},
		{`null`, "expected '{'"},
		{`{}`, "no schema"},
		{`{"schema":"nvtop-lite/1"}`, "no time"},
		{`{"schema":"nvtop-lite/9","time":7,"gpus":{}}`, `schema "nvtop-lite/9" is not known to this version`},
		{`{"schema":7}`, "expected '\"'"},
		{head, "too early"},
		{head + `,"gpus":[`, "too early"},
		{head + `,"gpus":[{"index":`, "expected a number"},
		{head + `,"gpus":[{"index":0}]} {}`, "more behind"},
		{head + `,"gpus":[{"index":-1}]}`, "out of range"},
		{head + `,"gpus":[{"index":1.5}]}`, "expected an integer"},
		{head + `,"gpus":[{"power_mw":"7"}]}`, "expected a number"},
		{head + `,"gpus":[{"power_mw":1e999}]}`, "expected a number"},
		{head + `,"gpus":[{"power_mw":--7}]}`, "expected a number"},
		{head + `,"gpus":[{"ecc_enabled":1}]}`, "expected false"},
		{head + `,"platform":{"engines":[{"on":1}]}}`, "expected false"},
		{head + `,"platform":{"throttle_alerts":[{"state":0.5}]}}`, "expected an integer"},
		{head + `,"platform":{"overcurrent":{}}}`, "expected '['"},
		{head + `,"platform":{` + strings.Repeat(`"rails":[{}],`, 1<<20) + `"kind":"jetson"}}`, "too long lists"},
		{head + `,"gpus":[{"age_seconds":-1}]}`, "out of range"},
		{head + `,"gpus":[{"age_seconds":1e300}]}`, "out of range"},
		{head + `,"gpus":[{"processes":[{"pid":-4}]}]}`, "PID out of range"},
		{head + `,"gpus":{}}`, "expected '['"},
		{head + `,"gpus":[,]}`, "expected '{'"},
		{head + `,"gpus":[{},]}`, "expected a value"},
		{head + `,}`, "expected a value"},
		{head + `,"x":[1 2]}`, "expected a comma"},
		{head + `,"x":{"a" 1}}`, "expected ':'"},
		{head + `,"x":tru}`, "expected true"},
		{head + `,"x":"` + "\x01" + `"}`, "control character"},
		{head + `,"x":"\q"}`, "unknown escape"},
		{head + `,"x":"\u12g4"}`, "without a number"},
		{head + `,"x":` + strings.Repeat("[", 1<<20), "nested too deeply"},
		{head + `,"x":` + strings.Repeat(`{"a":`, 1<<20), "nested too deeply"},
		{head + `,"time":"1612-01-01T00:00:00Z"}`, "no time between"},
		{head + `,"time":"yesterday"}`, "no time between"},
		{`{"schema":"nvtop-lite/9","time":7`, "too early"},
		{head + `,"gpus":[` + strings.Repeat("{},", 1<<20) + `{}]}`, "too many GPUs"},
		{head + `,"gpus":[{` + strings.Repeat(`"fans":[{}],`, 1<<20) + `"index":0}]}`, "too long lists"},
		{head + `,` + strings.Repeat(`"warnings":[{}],`, 1<<20) + `"gpus":[]}`, "too long lists"},
		{head + `,"gpus":[` + strings.Repeat(`{"mig_devices":[{},{}]},`, 1<<10) + `{}]}`, "too many GPUs"},
		{head + `,"gpus":[{"processes":[` + strings.Repeat("{},", 1<<20) + `{}]}]}`, "too many processes"},
		{head + `,"gpus":[{"unavailable":{` + strings.Repeat(`"a":"b",`, 1<<20) + `"c":"d"}}]}`, "too many reasons"},
	} {
		s, err := ParseJSON([]byte(c.line))
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v, want %q", c.line, err, c.want)
		}
	}
	var other *SchemaError
	if _, err := ParseJSON([]byte(`{"schema":"nvtop-lite-doctor/1","time":true,"gpus":[7]}`)); !errors.As(err, &other) || other.Schema != "nvtop-lite-doctor/1" {
		t.Errorf("%v", err)
	}
}

// TestJSONCutAnywhere: no part of a line is taken for the whole.
func TestJSONCutAnywhere(t *testing.T) {
	line := AppendJSON(nil, rich())
	for i := range line {
		if _, err := ParseJSON(line[:i]); err == nil {
			t.Fatalf("cut at %d it is taken", i)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	s := rich()
	s.GPUs = s.GPUs[:1] // a small one is soon made smaller
	f.Add(AppendJSON(nil, s))
	f.Add(AppendJSON(nil, &monitor.Snapshot{Time: s.Time, Platform: module().Platform}))
	f.Add([]byte(`{"schema":"nvtop-lite/1","time":"1812-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"schema":"nvtop-lite/1","time":"2026-01-02T03:04:05Z","gpus":[{"fans":[{"rpm":null}],"unavailable":{"fans[0].rpm":"timeout"}}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := ParseJSON(line)
		if err != nil {
			return
		}
		// What was taken is a snapshot like any other.
		first := AppendJSON(nil, s)
		again, err := ParseJSON(first)
		if err != nil {
			t.Fatalf("%v in %s", err, first)
		}
		if b := AppendJSON(nil, again); !bytes.Equal(first, b) {
			t.Fatalf("it comes back as %s", difference(first, b))
		}
		AppendText(nil, s, TextOptions{})
		AppendPrometheus(nil, s)
		AppendCSV(nil, s, true)
	})
}

func BenchmarkParseJSON(b *testing.B) {
	line := AppendJSON(nil, rich())
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(line); err != nil {
			b.Fatal(err)
		}
	}
}
