package diff

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
)

func compareUnkept(t *testing.T, old, new *monitor.Snapshot) *Diff {
	t.Helper()
	d, err := Compare(old, new)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// check holds what is written of d against what is true of every difference.
func check(t *testing.T, d *Diff, width int) {
	t.Helper()
	for _, ascii := range []bool{false, true} {
		text := string(d.AppendText(nil, ansi.PageOptions{ASCII: ascii, Width: width, Location: time.UTC}))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			if w := ansi.Width(line); w > width {
				t.Fatalf("%d cells in a line of %d:\n%s", w, width, text)
			}
			for _, r := range line {
				if r < ' ' || r == utf8.RuneError || ascii && r > '~' || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cc, r) {
					t.Fatalf("%q in:\n%s", r, text)
				}
			}
			if heading := strings.HasPrefix(line, "GPU "); heading && (i+1 == len(lines) || lines[i+1] == "") {
				t.Fatalf("nothing is said of %s:\n%s", line, text)
			}
		}
		if same := strings.Contains(text, "\n no difference"); !same && !d.differs() || d.differs() && len(lines) < 4 {
			t.Fatalf("differs: %v, but the text is:\n%s", d.differs(), text)
		}
	}
	line := d.Append(nil)
	if !json.Valid(line) || strings.ContainsFunc(string(line), func(r rune) bool {
		return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	}) {
		t.Fatalf("not one line of harmless JSON: %q", line)
	}
}

// dice makes snapshots of the same GPUs that have everything at random.
type dice struct{ *rand.Rand }

func (r dice) one(in int) bool { return r.IntN(in) == 0 }

func (r dice) text() string {
	switch r.IntN(8) {
	case 0:
		return ""
	case 1:
		return "esc \x1b[31m bell \a line\n \u202e \u0085 \x7f \u2028 \"quoted\" \\"
	case 2:
		return "bad \xff\xc0"
	case 3:
		return strings.Repeat("界é", r.IntN(40))
	case 4:
		return strings.Repeat("word ", r.IntN(40))
	}
	return fmt.Sprint("text", r.IntN(3))
}

func (r dice) reason() monitor.Reason { return monitor.Reason(r.IntN(int(monitor.Asleep) + 1)) }

func (r dice) known() monitor.Status {
	if r.one(4) {
		return monitor.Status{Reason: r.reason()}
	}
	return monitor.Status{Reason: monitor.Known}
}

func (r dice) maybe() monitor.Text {
	if r.one(4) {
		return monitor.Text{Reason: r.reason(), Value: r.text()}
	}
	return monitor.OfText(r.text())
}

func (r dice) reading(kind monitor.Kind) (x monitor.Reading) {
	if r.one(8) {
		kind = monitor.Kind(r.IntN(5))
	}
	switch kind {
	case monitor.Flag:
		x = monitor.OfFlag(r.one(2))
	case monitor.Word:
		x = monitor.OfWord(uint64(r.IntN(9)))
	case monitor.Mask:
		x = monitor.OfMask(r.Uint64() >> (r.IntN(3) * 31))
	case monitor.Integer:
		x = monitor.OfInt(int64(r.IntN(3)) * gib)
		if r.one(4) {
			x = monitor.OfInt(int64(r.Uint64()))
		}
	default:
		x = monitor.OfFloat(float64(r.IntN(4)))
		if r.one(4) {
			x = monitor.OfFloat(r.NormFloat64() * 1e9)
		}
	}
	if r.one(4) {
		return monitor.Unknown(r.reason())
	}
	if r.one(6) {
		x.Provenance = monitor.Provenance(r.IntN(4))
	}
	return x
}

func (r dice) gpu(uuid string, instances bool) monitor.GPU {
	g := monitor.GPU{
		Identity: monitor.Identity{
			Index: r.IntN(9) - 1, UUID: monitor.OfText(uuid), PCIBusID: r.maybe(), Name: r.maybe(), Architecture: r.maybe(), Serial: r.maybe(), DriverModel: []string{"", "wddm", "tcc"}[r.IntN(3)],
			Integrated: r.one(2), MemoryUnified: r.one(2), GPUInstanceID: r.IntN(4) - 1, ComputeInstanceID: r.IntN(4) - 1, Profile: r.text(), ParentUUID: r.text(),
		},
		State: monitor.State(r.IntN(6)), Blocked: r.reason(), FansStatus: r.known(), XIDsStatus: r.known(), MIGStatus: r.known(), ProcStatus: r.known(),
	}
	if r.one(2) {
		g.State = monitor.OK
	}
	if r.one(4) {
		g.StateReason = r.text()
	}
	for id := range monitor.NumReadings {
		g.Readings[id] = r.reading(id.Info().Kind)
	}
	for range r.IntN(3) {
		g.Fans = append(g.Fans, monitor.Fan{Index: r.IntN(2), Percent: r.reading(0), RPM: r.reading(0), TargetPercent: r.reading(0)})
	}
	for range r.IntN(4) {
		g.XIDs = append(g.XIDs, monitor.XID{Time: noon.UnixNano() + int64(r.IntN(5))*int64(time.Minute), Code: r.IntN(3), Source: "event", GPUInstanceID: r.IntN(3) - 1})
		g.Health = append(g.Health, monitor.Health{Code: [...]string{"xid", "fabric", "gpu_lost"}[r.IntN(3)], Text: r.text(), Level: monitor.Level(r.IntN(3))})
	}
	for range r.IntN(6) {
		g.Processes = append(g.Processes, monitor.Process{
			PID: uint32(r.IntN(4)), StartTicks: monitor.OfInt(int64(r.IntN(2))), StartTime: r.reading(monitor.Integer),
			Name: r.maybe(), User: r.maybe(), GPUMemoryBytes: r.reading(monitor.Integer),
		})
		if p := &g.Processes[len(g.Processes)-1]; r.one(4) {
			p.StartTicks, p.PID = monitor.Unknown(r.reason()), r.Uint32()
		}
	}
	for range r.IntN(4) {
		if instances {
			in := r.gpu(fmt.Sprint("MIG-", r.IntN(4)), false)
			if r.one(8) {
				in.UUID = r.maybe()
			}
			g.MIG = append(g.MIG, in)
		}
	}
	return g
}

func (r dice) snapshot(at time.Time, gpus int) *monitor.Snapshot {
	s := &monitor.Snapshot{
		Time: at, Steady: at.UnixNano(), Source: [...]string{"live", "demo", "replay"}[r.IntN(3)],
		Host: monitor.Host{
			Hostname: r.maybe(), OS: [...]string{"linux", "windows"}[r.IntN(2)], Arch: "amd64", BootID: r.maybe(),
			CPUPercent: r.reading(0), MemoryTotalBytes: r.reading(monitor.Integer), MemoryAvailableBytes: r.reading(monitor.Integer),
			HugePagesTotalBytes: r.reading(monitor.Integer), HugePagesFreeBytes: r.reading(monitor.Integer),
		},
		Driver:   monitor.Driver{Version: r.maybe(), CUDAVersion: r.maybe(), NVMLVersion: r.maybe(), Library: r.maybe()},
		Platform: monitor.Platform{Kind: "jetson", Model: r.maybe(), L4T: r.maybe(), Governor: r.maybe(), EMCMHz: r.reading(0), EMCPercent: r.reading(0)},
	}
	for kind := range monitor.NumPartKinds {
		for range r.IntN(3) {
			part := monitor.Part{Kind: kind, Name: r.text()}
			for i, reading := range kind.Info().Readings {
				part.Readings[i] = r.reading(reading.Kind)
			}
			s.Platform.Parts = append(s.Platform.Parts, part)
		}
	}
	if r.one(2) {
		s.Host.BootID = monitor.OfText("boot")
	}
	for i := range gpus {
		s.GPUs = append(s.GPUs, r.gpu(fmt.Sprint("GPU-", i), true))
	}
	r.Shuffle(gpus, func(i, j int) { s.GPUs[i], s.GPUs[j] = s.GPUs[j], s.GPUs[i] })
	return s
}

func (r dice) pair() (old, new *monitor.Snapshot) {
	n := 1 + r.IntN(3)
	old = r.snapshot(noon, n)
	new = r.snapshot(noon.Add(time.Duration(r.Int64N(1e12)+1)), n)
	if r.one(2) { // most of it the same
		by := new.Time
		copied := *old
		new = &copied
		new.Time, new.Steady = by, by.UnixNano()
		new.GPUs = append([]monitor.GPU(nil), old.GPUs...)
		if !r.one(3) {
			g := &new.GPUs[r.IntN(n)]
			*g = r.gpu(g.UUID.Value, true)
		}
	}
	return old, new
}

func TestAnyTwoSnapshots(t *testing.T) {
	for seed := range uint64(120) {
		r := dice{rand.New(rand.NewPCG(seed, 1))}
		old, new := r.pair()
		d := compareUnkept(t, old, new)
		check(t, d, 40+r.IntN(80))
		if seed < 40 {
			kept.Keep(d.Append(nil))
		}
		if same := compareUnkept(t, old, old); same.differs() {
			if _, told := ambiguous(same); !told {
				t.Fatalf("seed %d: a snapshot differs from itself:\n%s", seed, same.AppendText(nil, ansi.PageOptions{}))
			}
		}
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

// ambiguous reports whether something could not be paired.
func ambiguous(d *Diff) (string, bool) {
	var in func(list []*gpu) string
	in = func(list []*gpu) string {
		for _, g := range list {
			for _, p := range g.processes {
				if p.why != "" {
					return p.why
				}
			}
			if g.presenceWhy != "" {
				return g.presenceWhy
			}
			if why := in(g.instances); why != "" {
				return why
			}
		}
		return ""
	}
	why := in(d.gpus)
	return why, why != ""
}

// mirrored returns the JSON of a difference as that of the two snapshots the
// other way round has it, in an order of its own, without what is told of one
// side alone.
func mirrored(v any, swap bool) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = mirrored(v[i], swap)
		}
		sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
		return list
	case map[string]any:
		out := map[string]any{}
		_, change := v["provenance"]
		for key, x := range v {
			switch key {
			case "counters":
				x = uncounted(x.(map[string]any))
			case "index", "name", "user", "start_time", "start_ticks", "gpu_instance_id", "compute_instance_id", "profile", "parent_uuid":
				if _, ok := x.(map[string]any); !ok {
					continue // of the new side, or of the only one
				}
			case "unavailable":
				if m := x.(map[string]any); change {
					if _, ok := m["delta"]; ok {
						m["delta"] = "some reason" // the first of two
					}
				} else if m["old"] == nil && m["new"] == nil {
					continue
				}
			}
			if swap {
				switch key {
				case "old":
					key = "new"
				case "new":
					key = "old"
				case "xids_appeared":
					key = "xids_gone"
				case "xids_gone":
					key = "xids_appeared"
				case "delta", "elapsed_seconds":
					if n, ok := x.(float64); ok {
						x = 0 - n
					}
				case "presence":
					x = map[string]string{"both": "both", "appeared": "gone", "gone": "appeared", "old_unknown": "new_unknown", "new_unknown": "old_unknown"}[x.(string)]
				}
			}
			out[key] = mirrored(x, swap)
		}
		return out
	}
	return v
}

// uncounted returns changes of counters without their differences, which are not
// told back in time.
func uncounted(changes map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range changes {
		change := map[string]any{}
		for k, x := range v.(map[string]any) {
			switch k {
			case "delta":
				continue
			case "unavailable":
				why := map[string]any{}
				for side, reason := range x.(map[string]any) {
					if side != "delta" {
						why[side] = reason
					}
				}
				x = why
			}
			change[k] = x
		}
		out[key] = change
	}
	return out
}

// countsBack reports whether a difference of a counter is told.
func countsBack(d *Diff) bool {
	for _, g := range d.gpus {
		for i := range g.counters {
			if g.counters[i].delta != nil {
				return true
			}
		}
	}
	return false
}

func TestTheOtherWayRound(t *testing.T) {
	for seed := range uint64(60) {
		r := dice{rand.New(rand.NewPCG(seed, 2))}
		old, new := r.pair()
		if d := compareUnkept(t, new, old); d.elapsed < 0 && countsBack(d) {
			t.Errorf("seed %d: a counter counts back", seed)
		}
		var there, back any
		if err := json.Unmarshal(compareUnkept(t, old, new).Append(nil), &there); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(compareUnkept(t, new, old).Append(nil), &back); err != nil {
			t.Fatal(err)
		}
		if a, b := mirrored(there, false), mirrored(back, true); !reflect.DeepEqual(a, b) {
			x, _ := json.MarshalIndent(a, "", " ")
			y, _ := json.MarshalIndent(b, "", " ")
			t.Fatalf("seed %d: %s\n\nand back: %s", seed, x, y)
		}
	}
}
