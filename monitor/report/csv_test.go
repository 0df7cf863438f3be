package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// records reads CSV: the names of the columns, and a row as a map each.
func records(t *testing.T, b []byte) (columns []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(b)).ReadAll() // refuses rows of different lengths
	if err != nil || len(all) == 0 || bytes.ContainsRune(b, '\r') {
		t.Fatalf("%v in\n%s", err, b)
	}
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// scalars are the keys of objects whose values are no objects and no lists of
// them, but with the reasons.
func scalars(keys []string, objects []*node) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return key != "unavailable" && slices.ContainsFunc(objects, func(n *node) bool {
			_, one := n.values[key].(*node)
			list, _ := n.values[key].([]any)
			return one || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(*node); return ok })
		})
	})
}

// wantCell returns what a value of the JSON is in CSV.
func wantCell(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return ""
	case *node:
		for key, why := range v.values {
			parts = append(parts, fmt.Sprint(key, "=", why))
		}
		slices.Sort(parts)
		return strings.Join(parts, ";")
	case []any:
		for _, word := range v {
			parts = append(parts, word.(string))
		}
		return wantCell(strings.Join(parts, ";"))
	case string:
		return ansi.Clean(v)
	}
	return fmt.Sprint(v)
}

// TestCSVIsTheJSON: the columns are the scalar keys in the same order, with the
// same values.
func TestCSVIsTheJSON(t *testing.T) {
	var gpus, processes []*node
	var gpuColumns, processColumns []string
	first := words("time host driver source")
	compare := func(seed uint64, row map[string]string, columns []string, from *node) {
		t.Helper()
		for _, key := range columns {
			if want := wantCell(from.values[key]); row[key] != want {
				t.Fatalf("seed %d: %s is %q, in JSON %q", seed, key, row[key], want)
			}
		}
	}
	for seed := range uint64(60) {
		s := random(seed)
		if seed == 0 {
			s = rich()
		}
		n := parse(t, AppendJSON(nil, s))
		var rows, processRows []map[string]string
		gpuColumns, rows = records(t, AppendCSV(nil, s, true))
		processColumns, processRows = records(t, AppendProcessCSV(nil, s, monitor.Choice{}, true))
		var unread []*node
		visit := func(g *node) {
			if len(rows) == 0 {
				t.Fatalf("seed %d: rows are missing", seed)
			}
			compare(seed, rows[0], gpuColumns[len(first):], g)
			rows, gpus = rows[1:], append(gpus, g)
			if g.values["processes"] == nil {
				unread = append(unread, g)
			}
			for _, p := range g.nodes("processes") {
				if len(processRows) == 0 {
					t.Fatalf("seed %d: processes are missing", seed)
				}
				compare(seed, processRows[0], words("index uuid pci_bus_id parent_uuid"), g)
				compare(seed, processRows[0], processColumns[len(first)+4:], p)
				processRows, processes = processRows[1:], append(processes, p)
			}
		}
		for _, g := range n.nodes("gpus") {
			visit(g)
			for _, instance := range g.nodesOrNone("mig_devices") {
				visit(instance)
			}
		}
		for _, g := range unread {
			compare(seed, processRows[0], words("index uuid pci_bus_id parent_uuid"), g)
			if row := processRows[0]; row["pid"] != "" || row["unavailable"] != "processes="+g.values["processes_state"].(string) {
				t.Fatalf("seed %d: of processes that were not read it says %v", seed, row)
			}
			processRows = processRows[1:]
		}
		if len(rows) > 0 || len(processRows) > 0 {
			t.Fatalf("seed %d: rows too many: %v, %v", seed, rows, processRows)
		}
	}
	if want := slices.Concat(first, scalars(gpuKeys, gpus)); !slices.Equal(gpuColumns, want) {
		t.Errorf("columns\n got %v\nwant %v", gpuColumns, want)
	}
	if want := slices.Concat(first, words("index uuid pci_bus_id parent_uuid"), scalars(processKeys, processes)); !slices.Equal(processColumns, want) {
		t.Errorf("columns of processes\n got %v\nwant %v", processColumns, want)
	}
}

func TestCSVGolden(t *testing.T) {
	golden(t, "rich.csv", AppendCSV(nil, rich(), true))
	golden(t, "rich-processes.csv", AppendProcessCSV(nil, rich(), monitor.Choice{}, true))
}

// TestCSVOfNothing: the names of the columns, once.
func TestCSVOfNothing(t *testing.T) {
	s := &monitor.Snapshot{}
	for _, b := range [][]byte{AppendCSV(nil, s, true), AppendProcessCSV(nil, s, monitor.Choice{}, true)} {
		if columns, rows := records(t, b); columns[0] != "time" || len(rows) != 0 {
			t.Errorf("%s", b)
		}
	}
	if b := append(AppendCSV(nil, s, false), AppendProcessCSV(nil, s, monitor.Choice{}, false)...); len(b) != 0 {
		t.Errorf("%s", b)
	}
}

// TestCSVRunsNoFormula: neither in a spreadsheet nor in a terminal.
func TestCSVRunsNoFormula(t *testing.T) {
	for name, want := range map[string]string{
		"=1+2":                  "'=1+2",
		"+1":                    "'+1",
		"-bash":                 "'-bash",
		"@SUM(A1)":              "'@SUM(A1)",
		"\tcmd":                 "'cmd",
		"\rcmd":                 "'cmd",
		"\x1b=1":                "'=1",
		"\n@x":                  "'@x",
		"\u202e=1":              "'=1",
		"a=b":                   "a=b",
		"'=1":                   "'=1",
		`say "hi", x`:           `say "hi", x`,
		"two\nlines":            "twolines",
		"\x1b]0;title\abad\x7f": "]0;titlebad",
		"":                      "",
	} {
		s := rich()
		s.GPUs = s.GPUs[:1]
		s.GPUs[0].Processes = s.GPUs[0].Processes[:1]
		p := &s.GPUs[0].Processes[0]
		p.Name, p.User, s.GPUs[0].Name, s.Host.Hostname = monitor.OfText(name), monitor.OfText(name), monitor.OfText(name), monitor.OfText(name)
		b := AppendProcessCSV(nil, s, monitor.Choice{}, true)
		_, rows := records(t, b)
		if r := rows[0]; r["name"] != want || r["user"] != want || r["host"] != want {
			t.Errorf("%q is %q, %q, %q", name, r["name"], r["user"], r["host"])
		}
		if _, rows := records(t, AppendCSV(nil, s, true)); rows[0]["name"] != want {
			t.Errorf("%q is %q", name, rows[0]["name"])
		}
		if bytes.Count(b, []byte("\n")) != 2 {
			t.Errorf("%q is on several lines", name)
		}
	}
	s := rich()
	s.GPUs[0].Readings[monitor.TemperatureC] = monitor.OfFloat(-5)
	if _, rows := records(t, AppendCSV(nil, s, true)); rows[0]["temperature_c"] != "-5" {
		t.Errorf("a number is %q", rows[0]["temperature_c"])
	}
}

// TestCSVOfChosenProcesses: in the order asked for, whatever GPU they are on.
func TestCSVOfChosenProcesses(t *testing.T) {
	pids := func(c monitor.Choice) string {
		_, rows := records(t, AppendProcessCSV(nil, c.Apply(rich()), c, true))
		var list []string
		for _, r := range rows {
			if r["pid"] == "" {
				r["pid"] = r["unavailable"]
			}
			list = append(list, r["pid"])
		}
		return strings.Join(list, " ")
	}
	const lost = "processes=gpu_lost"
	for _, tt := range []struct {
		choice monitor.Choice
		want   string
	}{
		{monitor.Choice{}, "16523 20117 777 " + lost},
		{monitor.Choice{Sort: monitor.ByPID}, "777 16523 20117 " + lost},
		{monitor.Choice{Sort: monitor.ByPID, Reverse: true}, "20117 16523 777 " + lost},
		{monitor.Choice{User: "kim"}, "20117 " + lost},
		{monitor.Choice{None: true}, ""},
	} {
		if got := pids(tt.choice); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.choice, got, tt.want)
		}
	}
}

// TestCSVMasksSecrets as the JSON does.
func TestCSVMasksSecrets(t *testing.T) {
	b := AppendProcessCSV(nil, rich(), monitor.Choice{}, true)
	if bytes.Contains(b, []byte("hf_abc")) || !bytes.Contains(b, []byte("--hub-token *** --config")) || !bytes.Contains(b, []byte("PASSWORD=***")) {
		t.Errorf("%s", b)
	}
}
