package diff

import (
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// document is the JSON. What its keys mean stands in docs/diff.schema.json.
type document struct {
	Schema         string            `json:"schema"`
	Old            sideJSON          `json:"old"`
	New            sideJSON          `json:"new"`
	ElapsedSeconds float64           `json:"elapsed_seconds"`
	Rebooted       *bool             `json:"rebooted"`
	Different      bool              `json:"different"`
	Host           changes           `json:"host"`
	Driver         changes           `json:"driver"`
	Platform       changes           `json:"platform"`
	GPUs           []gpuJSON         `json:"gpus"`
	Unavailable    map[string]string `json:"unavailable"`
}

// sideJSON is one of the two snapshots.
type sideJSON struct {
	Time          string            `json:"time"`
	Source        string            `json:"source"`
	Hostname      *string           `json:"hostname"`
	BootID        *string           `json:"boot_id"`
	DriverVersion *string           `json:"driver_version"`
	CUDAVersion   *string           `json:"cuda_version"`
	Unavailable   map[string]string `json:"unavailable"`
}

type gpuJSON struct {
	Index             *int64            `json:"index"`
	UUID              *string           `json:"uuid"`
	Name              *string           `json:"name"`
	GPUInstanceID     *int64            `json:"gpu_instance_id"`
	ComputeInstanceID *int64            `json:"compute_instance_id"`
	Profile           *string           `json:"profile"`
	ParentUUID        *string           `json:"parent_uuid"`
	Presence          string            `json:"presence"`
	PresenceReason    *string           `json:"presence_reason"`
	State             wordsJSON         `json:"state"`
	StateReason       wordsJSON         `json:"state_reason"`
	Settings          changes           `json:"settings"`
	Counters          changes           `json:"counters"`
	Loads             changes           `json:"loads"`
	Memory            changes           `json:"memory"`
	Health            []findingJSON     `json:"health"`
	XIDsAppeared      []xidJSON         `json:"xids_appeared"`
	XIDsGone          []xidJSON         `json:"xids_gone"`
	XIDsState         wordsJSON         `json:"xids_state"`
	MIG               []gpuJSON         `json:"mig_devices"`
	MIGState          wordsJSON         `json:"mig_devices_state"`
	Processes         []processJSON     `json:"processes"`
	ProcessesState    wordsJSON         `json:"processes_state"`
	Unavailable       map[string]string `json:"unavailable"`
}

// wordsJSON are two words, null where there is nothing to have one.
type wordsJSON struct {
	Old *string `json:"old"`
	New *string `json:"new"`
}

type changeJSON struct {
	Old         any               `json:"old"`
	New         any               `json:"new"`
	Delta       any               `json:"delta"`
	Unavailable map[string]string `json:"unavailable"`
	Provenance  map[string]string `json:"provenance"`
}

type findingJSON struct {
	Code        string            `json:"code"`
	Old         *healthJSON       `json:"old"`
	New         *healthJSON       `json:"new"`
	Unavailable map[string]string `json:"unavailable"`
}

type healthJSON struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

type xidJSON struct {
	Time              string `json:"time"`
	Code              int    `json:"code"`
	Source            string `json:"source"`
	GPUInstanceID     *int64 `json:"gpu_instance_id"`
	ComputeInstanceID *int64 `json:"compute_instance_id"`
}

type processJSON struct {
	PID            uint32            `json:"pid"`
	StartTime      *string           `json:"start_time"`
	StartTicks     *int64            `json:"start_ticks"`
	Name           *string           `json:"name"`
	User           *string           `json:"user"`
	Presence       string            `json:"presence"`
	PresenceReason *string           `json:"presence_reason"`
	GPUMemoryBytes changeJSON        `json:"gpu_memory_bytes"`
	Unavailable    map[string]string `json:"unavailable"`
}

// Append appends the difference as one JSON object on one line, without a line
// end. Every key is always there. A null has its reason in "unavailable" of the
// same object, but for what does not apply. No command lines are in it, and no
// control characters.
func (d *Diff) Append(dst []byte) []byte {
	doc := document{
		Schema: Schema, Old: side(d.old), New: side(d.new),
		ElapsedSeconds: d.elapsed.Seconds(), Different: d.differs(),
		Host: d.host, Driver: d.driver, Platform: d.platform,
		GPUs: []gpuJSON{}, Unavailable: map[string]string{},
	}
	if d.boots == bootUnknown {
		doc.Unavailable["rebooted"] = d.bootWhy
	} else {
		rebooted := d.boots == otherBoot
		doc.Rebooted = &rebooted
	}
	for i := range d.gpus {
		doc.GPUs = append(doc.GPUs, d.gpus[i].json())
	}
	return json.Append(dst, doc)
}

func utc(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// textOrNull returns nil for what is unknown, and says why.
func textOrNull(missing map[string]string, key string, t *monitor.Text) *string {
	if t.Known() {
		return &t.Value
	}
	missing[key] = t.Reason.String()
	return nil
}

// wordOrNull returns nil for an empty word.
func wordOrNull(word string) *string {
	if word == "" {
		return nil
	}
	return &word
}

// idOrNull returns nil for None.
func idOrNull(id int) *int64 {
	if id < 0 {
		return nil
	}
	v := int64(id)
	return &v
}

func side(s *monitor.Snapshot) sideJSON {
	missing := map[string]string{}
	return sideJSON{
		Time: utc(s.Time), Source: s.Source,
		Hostname:      textOrNull(missing, "hostname", &s.Host.Hostname),
		BootID:        textOrNull(missing, "boot_id", &s.Host.BootID),
		DriverVersion: textOrNull(missing, "driver_version", &s.Driver.Version),
		CUDAVersion:   textOrNull(missing, "cuda_version", &s.Driver.CUDAVersion),
		Unavailable:   missing,
	}
}

func (g *gpu) json() gpuJSON {
	at := g.there()
	missing := map[string]string{}
	j := gpuJSON{
		Index:             idOrNull(at.Index),
		UUID:              textOrNull(missing, "uuid", &at.UUID),
		Name:              textOrNull(missing, "name", &at.Name),
		GPUInstanceID:     idOrNull(at.GPUInstanceID),
		ComputeInstanceID: idOrNull(at.ComputeInstanceID),
		Profile:           wordOrNull(at.Profile),
		ParentUUID:        wordOrNull(at.ParentUUID),
		Presence:          presenceWords[g.presence],
		PresenceReason:    wordOrNull(g.presenceWhy),
		Settings:          g.settings, Counters: g.counters, Loads: g.loads,
		Memory:      changes{g.used, g.attributed, g.rest},
		Health:      []findingJSON{},
		Unavailable: missing,
	}
	if j.Index == nil {
		missing["index"] = monitor.NotFound.String()
	}
	if g.old != nil {
		j.State.Old, j.StateReason.Old = wordOrNull(g.oldState.String()), wordOrNull(g.old.StateReason)
		j.XIDsState.Old, j.MIGState.Old, j.ProcessesState.Old = read(g.xids.old), read(g.migList.old), read(g.processList.old)
	}
	if g.new != nil {
		j.State.New, j.StateReason.New = wordOrNull(g.newState.String()), wordOrNull(g.new.StateReason)
		j.XIDsState.New, j.MIGState.New, j.ProcessesState.New = read(g.xids.new), read(g.migList.new), read(g.processList.new)
	}
	for i := range g.health {
		j.Health = append(j.Health, g.health[i].json())
	}
	if g.xids.read() {
		j.XIDsAppeared, j.XIDsGone = xidsJSON(g.xidsAppeared), xidsJSON(g.xidsGone)
	} else {
		missing["xids_appeared"], missing["xids_gone"] = g.xids.why(), g.xids.why()
	}
	// An empty list means that both were read, and that there is nothing.
	if g.migList.read() || len(g.instances) > 0 {
		j.MIG = []gpuJSON{}
		for i := range g.instances {
			j.MIG = append(j.MIG, g.instances[i].json())
		}
	} else {
		missing["mig_devices"] = g.migList.why()
	}
	if g.processList.read() || len(g.processes) > 0 {
		j.Processes = []processJSON{}
		for i := range g.processes {
			j.Processes = append(j.Processes, g.processes[i].json())
		}
	} else {
		missing["processes"] = g.processList.why()
	}
	return j
}

// read returns ok, or why a list was not read.
func read(why monitor.Reason) *string {
	if why == monitor.Known {
		return wordOrNull("ok")
	}
	return wordOrNull(why.String())
}

// AppendJSON appends an object of the changes by their keys.
func (l changes) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(json.Append(dst, l[i].key), ':')
		dst = json.Append(dst, l[i].json())
	}
	return append(dst, '}')
}

func (c *change) json() changeJSON {
	missing := map[string]string{}
	origins := map[string]string{}
	for _, v := range [...]struct {
		key   string
		value *value
	}{{"old", &c.old}, {"new", &c.new}} {
		if v.value.why != "" {
			missing[v.key] = v.value.why
		}
		if v.value.from != monitor.Measured {
			origins[v.key] = v.value.from.String()
		}
	}
	if c.noDelta != "" {
		missing["delta"] = c.noDelta
	}
	return changeJSON{c.old.v, c.new.v, c.delta, missing, origins}
}

func (f *finding) json() findingJSON {
	side := func(h *monitor.Health) *healthJSON {
		if h == nil {
			return nil
		}
		return &healthJSON{h.Level.String(), h.Text}
	}
	j := findingJSON{Code: f.code(), Old: side(f.old), New: side(f.new), Unavailable: map[string]string{}}
	if f.why != "" && f.old == nil {
		j.Unavailable["old"] = f.why
	} else if f.why != "" {
		j.Unavailable["new"] = f.why
	}
	return j
}

func xidsJSON(list []monitor.XID) []xidJSON {
	j := []xidJSON{}
	for _, x := range list {
		j = append(j, xidJSON{utc(time.Unix(0, x.Time)), x.Code, x.Source, idOrNull(x.GPUInstanceID), idOrNull(x.ComputeInstanceID)})
	}
	return j
}

func (p *process) json() processJSON {
	at := p.there()
	missing := map[string]string{}
	c := p.memory()
	j := processJSON{
		PID:            at.PID,
		Name:           textOrNull(missing, "name", &at.Name),
		User:           textOrNull(missing, "user", &at.User),
		Presence:       presenceWords[p.presence],
		PresenceReason: wordOrNull(p.why),
		GPUMemoryBytes: c.json(),
		Unavailable:    missing,
	}
	if start, ok := at.StartTime.Int(); ok {
		j.StartTime = wordOrNull(utc(time.Unix(0, start)))
	} else {
		missing["start_time"] = at.StartTime.Reason.String()
	}
	if ticks, ok := at.StartTicks.Int(); ok {
		j.StartTicks = &ticks
	} else {
		missing["start_ticks"] = at.StartTicks.Reason.String()
	}
	return j
}
