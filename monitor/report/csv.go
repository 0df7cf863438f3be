package report

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// The columns of CSV behind time, host, driver and source: the scalar keys of
// the JSON, in its order. A process stands behind what identifies its GPU. Once
// released, a column keeps its place: new keys come at the end.
var (
	csvFirst = []string{"time", "host", "driver", "source"}

	csvGPU = concat([]string{"index", "uuid", "pci_bus_id", "name", "architecture", "serial", "driver_model", "minor",
		"state", "state_reason", "state_seconds", "age_seconds", "call", "call_seconds", "sources", "integrated",
		"gpu_instance_id", "compute_instance_id", "profile", "parent_uuid"},
		keys(monitor.UtilizationPercent, monitor.MemoryReservedBytes), []string{"memory_unified"}, monitor.AdapterKeys[:],
		keys(monitor.MemoryReservedBytes+1, monitor.MIGEnabled),
		[]string{"processes_state", "processes_age_seconds", "unavailable"})

	csvProcessGPU = []string{"index", "uuid", "pci_bus_id", "parent_uuid"}
	csvProcess    = []string{"pid", "start_time", "start_ticks", "name", "command", "user", "types",
		"gpu_memory_bytes", "gpu_memory_nonlocal_bytes", "sm_percent", "encoder_percent", "decoder_percent", "gpu_instance_id", "compute_instance_id",
		"cpu_percent", "host_memory_bytes", "unit", "namespace", "unavailable"}
)

// keys are those of the readings from first to last.
func keys(first, last monitor.ReadingID) (list []string) {
	for id := first; id <= last; id++ {
		list = append(list, id.String())
	}
	return list
}

// AppendCSV appends a row for each GPU of s and, behind it, one for each of its
// MIG instances; before them the names of the columns, if header is set. A
// value is that of the JSON, and an unknown one is empty.
func AppendCSV(dst []byte, s *monitor.Snapshot, header bool) []byte {
	t := newSheet(dst, s)
	if header {
		t.row(csvFirst, csvGPU)
	}
	eachGPU(s, func(g, parent *monitor.GPU, _ int) {
		t.row(t.first, cells(gpuValues(s, g, parent), csvGPU))
	})
	return t.b
}

// AppendProcessCSV is AppendCSV with a row for each process: GPU by GPU, or in
// the order of c where it has one.
// A GPU whose processes could not be read has a row without one, whose last
// column says why: it is not a GPU that nobody uses.
func AppendProcessCSV(dst []byte, s *monitor.Snapshot, c monitor.Choice, header bool) []byte {
	t := newSheet(dst, s)
	if header {
		t.row(csvFirst, csvProcessGPU, csvProcess)
	}
	var chosen []monitor.Placed
	of := map[*monitor.GPU][]string{}
	var unread [][]string
	eachGPU(s, func(g, parent *monitor.GPU, place int) {
		values := gpuValues(s, g, parent)
		of[g] = cells(values, csvProcessGPU)
		if values["processes"] == nil {
			if !c.None {
				why := map[string]any{"unavailable": map[string]any{"processes": values["processes_state"]}}
				unread = append(unread, concat(of[g], cells(why, csvProcess)))
			}
			return
		}
		for i := range g.Processes {
			chosen = append(chosen, monitor.Placed{Process: &g.Processes[i], GPU: g, Parent: parent, Place: place})
		}
	})
	if c.Sort != monitor.ByDefault {
		sort.SliceStable(chosen, func(i, j int) bool { return c.Compare(&chosen[i], &chosen[j]) < 0 })
	}
	for _, p := range chosen {
		var w writer
		w.process(p.Process)
		t.row(t.first, of[p.GPU], cells(valuesOf(w.b), csvProcess))
	}
	for _, row := range unread {
		t.row(t.first, row)
	}
	return t.b
}

// sheet is what becomes of one snapshot.
type sheet struct {
	b     []byte
	first []string // the cells that begin each row
}

func newSheet(dst []byte, s *monitor.Snapshot) *sheet {
	first := []string{s.Time.UTC().Format(time.RFC3339Nano), known("", "", s.Host.Hostname), known("", "", s.Driver.Version), s.Source}
	for i, cell := range first {
		first[i] = csvText(cell)
	}
	return &sheet{dst, first}
}

// concat is slices.Concat, in one place.
//
//go:noinline
func concat(parts ...[]string) []string { return slices.Concat(parts...) }

// row appends a line as RFC 4180 has it, but for its end.
func (t *sheet) row(parts ...[]string) {
	for i, cell := range concat(parts...) {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		if strings.ContainsAny(cell, ",\"\r\n") || strings.HasPrefix(cell, " ") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		t.b = append(t.b, cell...)
	}
	t.b = append(t.b, '\n')
}

// eachGPU visits the GPUs, and behind each, which is its own parent, its
// instances. Place is that of the parent.
func eachGPU(s *monitor.Snapshot, visit func(g, parent *monitor.GPU, place int)) {
	for i := range s.GPUs {
		g := &s.GPUs[i]
		visit(g, g, i)
		for j := range g.MIG {
			visit(&g.MIG[j], g, i)
		}
	}
}

func gpuValues(s *monitor.Snapshot, g, parent *monitor.GPU) map[string]any {
	if parent == g {
		parent = nil
	}
	var w writer
	w.gpu(s, g, parent)
	return valuesOf(w.b)
}

// valuesOf reads an object that was just written.
func valuesOf(object []byte) map[string]any {
	var values any
	if err := json.Unmarshal(object, &values); err != nil {
		panic("report: " + err.Error())
	}
	return values.(map[string]any)
}

func cells(values map[string]any, columns []string) []string {
	list := make([]string, len(columns))
	for i, key := range columns {
		list[i] = csvCell(values[key])
	}
	return list
}

// csvCell returns a JSON value as a cell: lists of words joined, and the reasons
// of an object as key=reason.
func csvCell(v any) string {
	switch v := v.(type) {
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return csvText(v)
	case []any:
		words := make([]string, len(v))
		for i, word := range v {
			words[i], _ = word.(string)
		}
		return csvText(strings.Join(words, ";"))
	case map[string]any:
		var pairs []string
		for key, why := range v {
			word, _ := why.(string)
			pairs = append(pairs, key+"="+word)
		}
		sort.Slice(pairs, func(i, j int) bool { return pairs[i] < pairs[j] })
		return csvText(strings.Join(pairs, ";"))
	}
	return ""
}

// csvText makes a text safe: for terminals and for what reads lines, without
// control characters; for spreadsheets, with a ' before what they would run as
// a formula.
func csvText(s string) string {
	clean := ansi.Clean(s)
	if formula(s) || formula(clean) {
		return "'" + clean
	}
	return clean
}

func formula(s string) bool { return s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 }
