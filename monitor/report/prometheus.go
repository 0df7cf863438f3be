package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

const metricPrefix = "nvtop_lite_gpu_"

// counters only rise while the driver is loaded.
var counters = monitor.Of(monitor.EnergyJoules, monitor.PCIeReplays,
	monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries,
	monitor.ECCUncorrectedVolatile, monitor.ECCCorrectedVolatile, monitor.ECCUncorrectedAggregate, monitor.ECCCorrectedAggregate)

// baseUnits are the units that Prometheus has other ones for: how the key ends,
// how the name does, and how the value becomes one of that unit.
var baseUnits = map[string]struct {
	key, name  string
	times, per float64
}{
	"%":   {"percent", "ratio", 1, 100},
	"mW":  {"mw", "watts", 1, 1000},
	"MHz": {"mhz", "hertz", 1e6, 1},
	"°C":  {"c", "celsius", 1, 1},
}

// MetricName returns the name of the Prometheus metric of a reading: its key
// with a base unit.
func MetricName(id monitor.ReadingID) string { return metricPrefix + metricKey(id) }

func metricKey(id monitor.ReadingID) string {
	key := id.String()
	if u, ok := baseUnits[id.Info().Unit]; ok {
		key = strings.TrimSuffix(key, u.key) + u.name
	}
	if counters.Has(id) {
		key += "_total"
	}
	return key
}

// AppendPrometheus appends s in the text format of Prometheus, without
// timestamps. What is unknown has no sample, and a metric that is unknown of
// every GPU is not named.
func AppendPrometheus(dst []byte, s *monitor.Snapshot) []byte {
	x := exposition{b: dst, s: s}
	eachGPU(s, x.add)

	x.metric("info", "What the GPU is.", func(g *labelled) {
		labels := fmt.Sprintf(`,name="%s",architecture="%s",driver="%s"`,
			labelText(g.Name), labelText(g.Architecture), labelText(s.Driver.Version))
		x.sample(g, labels, "1")
	})
	x.metric("state", "The state of the GPU: initialising, ok, stale, lost, asleep or unavailable.", func(g *labelled) {
		x.word(g, "state", g.state.String(), true)
	})
	x.metric("age_seconds", "How old the readings are, 0 while they are fresh.", func(g *labelled) {
		x.age(g, g.Refreshed)
	})
	x.metric("integrated", "Whether the GPU is part of the processor.", func(g *labelled) {
		x.sample(g, "", flagValue(g.Integrated))
	})
	x.metric("memory_unified", "Whether the GPU's memory is the host's.", func(g *labelled) {
		x.sample(g, "", flagValue(g.MemoryUnified))
	})
	for id := range monitor.NumReadings {
		x.reading(id)
	}
	x.metric("xids_total", fmt.Sprintf("How many Xid errors were seen; no more than %d are kept.", maxXIDs), func(g *labelled) {
		if g.XIDsStatus.Reason == monitor.Known {
			x.sample(g, "", strconv.Itoa(min(len(g.XIDs), maxXIDs)))
		}
	})
	x.metric("processes_age_seconds", "How old the list of processes is, 0 while it is fresh.", func(g *labelled) {
		if g.why == monitor.Known && g.ProcStatus.Reason == monitor.Known {
			x.age(g, g.ProcStatus.At)
		}
	})
	return x.b
}

// exposition is what is written of one snapshot.
type exposition struct {
	b    []byte
	s    *monitor.Snapshot
	gpus []*labelled
	name string // of the metric now written
}

// labelled is a GPU or an instance, with the state and the reason that count
// for it.
type labelled struct {
	*monitor.GPU
	labels string
	state  monitor.State
	why    monitor.Reason
}

// add takes a GPU. One that cannot be told from another is left out: whoever
// reads the samples would refuse them all.
func (x *exposition) add(g, parent *monitor.GPU, _ int) {
	l := &labelled{GPU: g, state: g.State, why: g.Unmeasured()}
	if why := parent.Unmeasured(); why != monitor.Known {
		l.state, l.why = parent.State, why
	}
	number := ""
	if parent.Index >= 0 {
		number = label(g, parent)
	}
	l.labels = fmt.Sprintf(`gpu="%s",uuid="%s",pci_bus_id="%s",parent_uuid="%s"`,
		number, labelText(g.UUID), labelText(g.PCIBusID), labelValue(g.ParentUUID))
	if x.s.Source == "demo" {
		l.labels += `,source="demo"`
	}
	if !slices.ContainsFunc(x.gpus, func(o *labelled) bool { return o.labels == l.labels }) {
		x.gpus = append(x.gpus, l)
	}
}

// metric writes one metric of all GPUs.
func (x *exposition) metric(key, help string, of func(g *labelled)) {
	kind := "gauge"
	if strings.HasSuffix(key, "_total") {
		kind = "counter"
	}
	x.name = metricPrefix + key
	begin := len(x.b)
	x.b = fmt.Appendf(x.b, "# HELP %s %s\n# TYPE %s %s\n", x.name, help, x.name, kind)
	head := len(x.b)
	for _, g := range x.gpus {
		of(g)
	}
	if len(x.b) == head {
		x.b = x.b[:begin]
	}
}

// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (x *exposition) sample(g *labelled, labels, value string) {
	x.b = fmt.Appendf(x.b, "%s{%s%s} %s\n", x.name, g.labels, labels, value)
}

// word writes 1 or 0 for a word, which is the value of a label.
func (x *exposition) word(g *labelled, key, word string, is bool) {
	x.sample(g, fmt.Sprintf(`,%s="%s"`, key, labelValue(word)), flagValue(is))
}

func (x *exposition) age(g *labelled, at int64) {
	if at == 0 {
		return
	}
	d := aged(x.s, at)
	if d <= tolerance(x.s) {
		d = 0
	}
	x.sample(g, "", string(appendNumber(nil, d.Seconds())))
}

func (x *exposition) reading(id monitor.ReadingID) {
	info := id.Info()
	help := fmt.Sprintf("JSON key %s, from %s.", info.Key, info.Function)
	x.metric(metricKey(id), help, func(g *labelled) {
		r := g.Readings[id]
		if id != monitor.Minor { // identity, which a lost GPU keeps
			r = measured(r, g.why)
		}
		if !r.Known() {
			return
		}
		switch info.Kind {
		case monitor.Flag:
			v, _ := r.Flag()
			x.sample(g, "", flagValue(v))
		case monitor.Word:
			x.word(g, info.Key, id.Word(r), true)
		case monitor.Mask:
			v, _ := r.Bits()
			// Those that are not set are told too: no sample would be unknown.
			for bit, word := range info.Words {
				x.word(g, info.Key, word, v&(1<<bit) != 0)
			}
			for _, word := range id.AppendWords(nil, v&(math.MaxUint64<<len(info.Words))) {
				x.word(g, info.Key, word, true)
			}
		case monitor.Integer:
			v, _ := r.Int()
			x.sample(g, "", strconv.FormatInt(v, 10))
		default:
			v, _ := r.Float()
			if u, ok := baseUnits[info.Unit]; ok {
				v = v * u.times / u.per
			}
			x.sample(g, "", string(appendNumber(nil, v)))
		}
	})
}

func flagValue(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// labelValue makes a text fit for between the quotes of a label; line ends and
// other control characters do not come through.
func labelValue(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(ansi.Clean(s), `\`, `\\`), `"`, `\"`)
}

func labelText(t monitor.Text) string { return labelValue(known("", "", t)) }
