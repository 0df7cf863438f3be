package diff

import (
	"sort"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// Append appends the difference as one JSON object on one line, without a line
// end. Every key is always there. A null has its reason in "unavailable" of the
// same object, but for what does not apply. No command lines are in it, and no
// control characters. What the keys mean stands in docs/diff.schema.json.
func (d *Diff) Append(dst []byte) []byte {
	w := writer{dst}
	var missing reasons
	w.put('{')
	w.value("schema", Schema)
	w.snapshot("old", d.old)
	w.snapshot("new", d.new)
	w.value("elapsed_seconds", d.elapsed.Seconds())
	if d.boots == bootUnknown {
		missing.add("rebooted", d.bootWhy)
		w.value("rebooted", nil)
	} else {
		w.value("rebooted", d.boots == otherBoot)
	}
	w.value("different", d.differs())
	w.changes("host", d.host)
	w.changes("driver", d.driver)
	w.changes("platform", d.platform)
	w.gpus("gpus", d.gpus)
	w.reasons("unavailable", missing)
	w.put('}')
	return w.dst
}

// reasons say why keys of an object are null.
type reasons []struct{ key, why string }

// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (r *reasons) add(key, why string) {
	*r = append(*r, struct{ key, why string }{key, why})
}

// writer writes JSON piece by piece: types with tags would make the program 4 kB
// larger.
type writer struct{ dst []byte }

// item begins a value in a list or object: no value ends as these begin.
func (w *writer) item() {
	if c := w.dst[len(w.dst)-1]; c != '{' && c != '[' {
		w.dst = append(w.dst, ',')
	}
}

// put writes a bracket.
func (w *writer) put(bracket byte) { w.dst = append(w.dst, bracket) }

func (w *writer) key(key string) {
	w.item()
	w.dst = append(json.Append(w.dst, key), ':')
}

func (w *writer) value(key string, v any) {
	w.key(key)
	w.dst = json.Append(w.dst, v)
}

// word writes a word, null for an empty one.
func (w *writer) word(key, word string) {
	if word == "" {
		w.value(key, nil)
		return
	}
	w.value(key, word)
}

// id writes a number, null for None.
func (w *writer) id(key string, id int) {
	if id < 0 {
		w.value(key, nil)
		return
	}
	w.value(key, id)
}

func (w *writer) time(key string, t time.Time) {
	w.value(key, t.UTC().Format(time.RFC3339Nano))
}

// text writes a text, null for what is unknown, and says why.
func (w *writer) text(missing *reasons, key string, t *monitor.Text) {
	if !t.Known() {
		missing.add(key, t.Reason.String())
		w.value(key, nil)
		return
	}
	w.value(key, t.Value)
}

func (w *writer) reasons(key string, r reasons) {
	sort.Slice(r, func(i, j int) bool { return r[i].key < r[j].key })
	w.key(key)
	w.put('{')
	for i := range r {
		w.value(r[i].key, r[i].why)
	}
	w.put('}')
}

func (w *writer) snapshot(key string, s *monitor.Snapshot) {
	var missing reasons
	w.key(key)
	w.put('{')
	w.time("time", s.Time)
	w.value("source", s.Source)
	w.text(&missing, "hostname", &s.Host.Hostname)
	w.text(&missing, "boot_id", &s.Host.BootID)
	w.text(&missing, "driver_version", &s.Driver.Version)
	w.text(&missing, "cuda_version", &s.Driver.CUDAVersion)
	w.reasons("unavailable", missing)
	w.put('}')
}

func (w *writer) gpus(key string, list []*gpu) {
	w.key(key)
	w.put('[')
	for _, g := range list {
		w.item()
		w.gpu(g)
	}
	w.put(']')
}

func (w *writer) gpu(g *gpu) {
	at := g.there()
	var missing reasons
	w.put('{')
	w.id("index", at.Index)
	if at.Index < 0 {
		missing.add("index", monitor.NotFound.String())
	}
	w.text(&missing, "uuid", &at.UUID)
	w.text(&missing, "name", &at.Name)
	w.id("gpu_instance_id", at.GPUInstanceID)
	w.id("compute_instance_id", at.ComputeInstanceID)
	w.word("profile", at.Profile)
	w.word("parent_uuid", at.ParentUUID)
	w.value("presence", presenceWords[g.presence])
	w.word("presence_reason", g.presenceWhy)
	w.sides("state", g, g.oldState.String(), g.newState.String())
	w.sides("state_reason", g, stateReason(g.old), stateReason(g.new))
	w.changes("settings", g.settings)
	w.changes("counters", g.counters)
	w.changes("loads", g.loads)
	w.changes("memory", changes{g.used, g.free, g.attributed, g.rest})
	w.key("health")
	w.put('[')
	for i := range g.health {
		w.item()
		w.finding(&g.health[i])
	}
	w.put(']')
	w.xids("xids_appeared", g.xidsAppeared, g, &missing)
	w.xids("xids_gone", g.xidsGone, g, &missing)
	w.lists("xids_state", g, g.xids)
	// An empty list means that both were read, and that there is nothing.
	if g.migList.read() || len(g.instances) > 0 {
		w.gpus("mig_devices", g.instances)
	} else {
		missing.add("mig_devices", g.migList.why())
		w.value("mig_devices", nil)
	}
	w.lists("mig_devices_state", g, g.migList)
	if g.processList.read() || len(g.processes) > 0 {
		w.key("processes")
		w.put('[')
		for i := range g.processes {
			w.item()
			w.process(&g.processes[i])
		}
		w.put(']')
	} else {
		missing.add("processes", g.processList.why())
		w.value("processes", nil)
	}
	w.lists("processes_state", g, g.processList)
	w.reasons("unavailable", missing)
	w.put('}')
}

func stateReason(g *monitor.GPU) string {
	if g == nil {
		return ""
	}
	return g.StateReason
}

// sides writes a word of each side, null for an empty one, and where there is
// no such side.
func (w *writer) sides(key string, g *gpu, old, new string) {
	if g.old == nil {
		old = ""
	}
	if g.new == nil {
		new = ""
	}
	w.key(key)
	w.put('{')
	w.word("old", old)
	w.word("new", new)
	w.put('}')
}

// lists writes whether a list was read on either side: ok, or why not.
func (w *writer) lists(key string, g *gpu, l lists) {
	word := func(why monitor.Reason) string {
		if why == monitor.Known {
			return "ok"
		}
		return why.String()
	}
	w.sides(key, g, word(l.old), word(l.new))
}

// changes writes an object of the changes by their keys.
func (w *writer) changes(key string, l changes) {
	w.key(key)
	w.put('{')
	for i := range l {
		w.key(l[i].key)
		w.change(&l[i])
	}
	w.put('}')
}

func (w *writer) change(c *change) {
	var missing, origins reasons
	w.put('{')
	for _, v := range [...]struct {
		key   string
		value *value
	}{{"old", &c.old}, {"new", &c.new}} {
		w.value(v.key, v.value.v)
		if v.value.why != "" {
			missing.add(v.key, v.value.why)
		}
		if v.value.from != monitor.Measured {
			origins.add(v.key, v.value.from.String())
		}
	}
	w.value("delta", c.delta)
	if c.noDelta != "" {
		missing.add("delta", c.noDelta)
	}
	w.reasons("unavailable", missing)
	w.reasons("provenance", origins)
	w.put('}')
}

func (w *writer) finding(f *finding) {
	var missing reasons
	w.put('{')
	w.value("code", f.code())
	w.health("old", f.old, f.why, &missing)
	w.health("new", f.new, f.why, &missing)
	w.reasons("unavailable", missing)
	w.put('}')
}

// health writes a finding of one side, null where there is none; why says that
// it is unknown.
func (w *writer) health(key string, h *monitor.Health, why string, missing *reasons) {
	if h == nil {
		w.value(key, nil)
		if why != "" {
			missing.add(key, why)
		}
		return
	}
	w.key(key)
	w.put('{')
	w.value("level", h.Level.String())
	w.value("text", h.Text)
	w.put('}')
}

func (w *writer) xids(key string, list []monitor.XID, g *gpu, missing *reasons) {
	if !g.xids.read() {
		missing.add(key, g.xids.why())
		w.value(key, nil)
		return
	}
	w.key(key)
	w.put('[')
	for i := range list {
		x := &list[i]
		w.item()
		w.put('{')
		w.time("time", time.Unix(0, x.Time))
		w.value("code", x.Code)
		w.value("source", x.Source)
		w.id("gpu_instance_id", x.GPUInstanceID)
		w.id("compute_instance_id", x.ComputeInstanceID)
		w.put('}')
	}
	w.put(']')
}

func (w *writer) process(p *process) {
	at := p.there()
	var missing reasons
	w.put('{')
	w.value("pid", at.PID)
	if start, ok := at.StartTime.Int(); ok {
		w.time("start_time", time.Unix(0, start))
	} else {
		missing.add("start_time", at.StartTime.Reason.String())
		w.value("start_time", nil)
	}
	if ticks, ok := at.StartTicks.Int(); ok {
		w.value("start_ticks", ticks)
	} else {
		missing.add("start_ticks", at.StartTicks.Reason.String())
		w.value("start_ticks", nil)
	}
	w.text(&missing, "name", &at.Name)
	w.text(&missing, "user", &at.User)
	w.value("presence", presenceWords[p.presence])
	w.word("presence_reason", p.why)
	w.key("gpu_memory_bytes")
	c := p.memory()
	w.change(&c)
	w.reasons("unavailable", missing)
	w.put('}')
}
