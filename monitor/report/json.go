package report

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"nvtop-lite/monitor"
)

// Schema is the word that tells what the keys of the JSON mean.
const Schema = "nvtop-lite/1"

// maxXIDs is how many Xid errors of a GPU are told.
const maxXIDs = 32

// AppendJSON appends s as one JSON object on one line, without a line end.
// Every key is always there. A null has its reason in "unavailable" of the
// same object, but for what does not apply. The secrets in command lines are
// masked, and the text holds no control characters.
func AppendJSON(dst []byte, s *monitor.Snapshot) []byte {
	w := writer{b: append(dst, '{')}
	w.text("schema", Schema)
	w.time("time", s.Time)
	w.time("steady_time", time.Unix(0, s.Steady))
	w.number("interval_seconds", s.Interval.Seconds())
	w.text("source", s.Source)
	w.host(&s.Host)
	w.driver(&s.Driver)
	w.platform(&s.Platform)
	w.list("gpus")
	for i := range s.GPUs {
		w.gpu(s, &s.GPUs[i], nil)
	}
	w.close(']')
	w.list("warnings")
	if s.Waiting != "" {
		w.warning(waiting, s.Waiting, s.WaitingHint)
	}
	for i := range s.Warnings {
		w.warning(s.Warnings[i].Code, s.Warnings[i].Text, "")
	}
	w.close(']')
	w.close('}')
	return w.b
}

// writer writes JSON; commas come by themselves.
type writer struct{ b []byte }

// object collects what is said of the keys of one object at its end.
type object struct {
	missing []missing
	errors  []failure
	origins []origin
	ages    []age
}

type missing struct {
	key string
	why monitor.Reason
}

type failure struct {
	key string
	err monitor.CallError
}

type origin struct {
	key  string
	word monitor.Provenance
}

type age struct {
	key     string
	seconds float64
}

func (w *writer) separate() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':':
		default:
			w.b = append(w.b, ',')
		}
	}
}

// open begins an object in a list.
func (w *writer) open() {
	w.separate()
	w.b = append(w.b, '{')
}

func (w *writer) close(bracket byte) { w.b = append(w.b, bracket) }

func (w *writer) key(key string) {
	w.separate()
	w.b = appendString(w.b, key)
	w.b = append(w.b, ':')
}

// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (w *writer) object(key string) {
	w.key(key)
	w.b = append(w.b, '{')
}

// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (w *writer) list(key string) {
	w.key(key)
	w.b = append(w.b, '[')
}

// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (w *writer) null(key string) {
	w.key(key)
	w.b = append(w.b, "null"...)
}

func (w *writer) text(key, v string) {
	w.key(key)
	w.b = appendString(w.b, v)
}

// textOrNull writes null for an empty text.
func (w *writer) textOrNull(key, v string) {
	if v == "" {
		w.null(key)
		return
	}
	w.text(key, v)
}

func (w *writer) int(key string, v int64) {
	w.key(key)
	w.b = strconv.AppendInt(w.b, v, 10)
}

// idOrNull writes null for None.
func (w *writer) idOrNull(key string, v int) {
	if v < 0 {
		w.null(key)
		return
	}
	w.int(key, int64(v))
}

func (w *writer) bool(key string, v bool) {
	w.key(key)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) number(key string, v float64) {
	w.key(key)
	w.b = appendNumber(w.b, v)
}

func (w *writer) time(key string, t time.Time) {
	w.key(key)
	w.b = append(w.b, '"')
	w.b = t.UTC().AppendFormat(w.b, time.RFC3339Nano)
	w.b = append(w.b, '"')
}

// waiting is the code of the warning that there is no GPU yet.
const waiting = "waiting"

func (w *writer) warning(code, text, hint string) {
	w.open()
	w.text("code", code)
	w.text("text", text)
	w.textOrNull("hint", hint)
	w.close('}')
}

// maybe writes a text, or null and remembers why.
func (w *writer) maybe(o *object, key string, t *monitor.Text) {
	if t.Known() {
		w.text(key, t.Value)
		return
	}
	w.null(key)
	o.miss(key, t.Reason, t.Err)
}

// reading writes a reading as kind, or null and remembers why. The key under
// which that is remembered may be longer than the one written.
func (w *writer) reading(o *object, key, full string, r monitor.Reading, kind monitor.Kind, id monitor.ReadingID) {
	if !r.Known() {
		w.null(key)
		o.miss(full, r.Reason, r.Err)
		return
	}
	if r.Provenance != monitor.Measured {
		o.origins = append(o.origins, origin{full, r.Provenance})
	}
	w.key(key)
	switch kind {
	case monitor.Integer:
		v, _ := r.Int()
		w.b = strconv.AppendInt(w.b, v, 10)
	case monitor.Flag:
		v, _ := r.Flag()
		w.b = strconv.AppendBool(w.b, v)
	case monitor.Word:
		w.b = appendString(w.b, id.Word(r))
	case monitor.Mask:
		w.words(id.Words(nil, r))
	default:
		if v, ok := r.Int(); ok && r.Kind() == monitor.Integer {
			w.b = strconv.AppendInt(w.b, v, 10)
			return
		}
		v, _ := r.Float()
		w.b = appendNumber(w.b, v)
	}
}

func (w *writer) words(words []string) {
	w.b = append(w.b, '[')
	for i, word := range words {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendString(w.b, word)
	}
	w.b = append(w.b, ']')
}

// miss remembers why key is null.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (o *object) miss(key string, why monitor.Reason, err monitor.CallError) {
	o.missing = append(o.missing, missing{key, why})
	o.blame(key, err)
}

// blame remembers the call that failed, if it was one.
func (o *object) blame(key string, err monitor.CallError) {
	if err.Function() != "" || err.Name() != "" {
		o.errors = append(o.errors, failure{key, err})
	}
}

func (w *writer) unavailable(o *object) {
	w.object("unavailable")
	for _, m := range o.missing {
		w.text(m.key, m.why.String())
	}
	w.close('}')
}

func (w *writer) provenance(o *object) {
	w.object("provenance")
	for _, p := range o.origins {
		w.text(p.key, p.word.String())
	}
	w.close('}')
}

func (w *writer) host(h *monitor.Host) {
	var o object
	w.object("host")
	w.maybe(&o, "hostname", &h.Hostname)
	w.text("os", h.OS)
	w.text("arch", h.Arch)
	w.maybe(&o, "boot_id", &h.BootID)
	w.reading(&o, "cpu_percent", "cpu_percent", h.CPUPercent, monitor.Number, 0)
	w.reading(&o, "memory_total_bytes", "memory_total_bytes", h.MemoryTotalBytes, monitor.Integer, 0)
	w.reading(&o, "memory_available_bytes", "memory_available_bytes", h.MemoryAvailableBytes, monitor.Integer, 0)
	w.reading(&o, "hugepages_total_bytes", "hugepages_total_bytes", h.HugePagesTotalBytes, monitor.Integer, 0)
	w.reading(&o, "hugepages_free_bytes", "hugepages_free_bytes", h.HugePagesFreeBytes, monitor.Integer, 0)
	w.unavailable(&o)
	w.close('}')
}

func (w *writer) driver(d *monitor.Driver) {
	var o object
	w.object("driver")
	w.maybe(&o, "version", &d.Version)
	w.maybe(&o, "cuda_version", &d.CUDAVersion)
	w.maybe(&o, "nvml_version", &d.NVMLVersion)
	w.maybe(&o, "library", &d.Library)
	w.unavailable(&o)
	w.close('}')
}

func (w *writer) platform(p *monitor.Platform) {
	var o object
	kind := p.Kind
	if kind == "" {
		kind = "unknown"
	}
	// Off Jetson most keys do not apply, which needs no reason.
	applies := func(r monitor.Reason) bool {
		return kind == "jetson" || r != monitor.NotSampled && r != monitor.NotSupported && r != monitor.NotFound
	}
	w.object("platform")
	w.text("kind", kind)
	for _, t := range [...]struct {
		key  string
		text *monitor.Text
	}{{"model", &p.Model}, {"soc", &p.SoC}, {"l4t", &p.L4T}, {"jetpack", &p.JetPack}, {"power_mode", &p.PowerMode}, {"gpu_governor", &p.Governor}} {
		if t.text.Known() || applies(t.text.Reason) {
			w.maybe(&o, t.key, t.text)
		} else {
			w.null(t.key)
		}
	}
	for kind := range monitor.NumPartKinds {
		if why, closed := p.IsClosed(kind); closed {
			key := kind.Info().Key
			w.null(key)
			o.miss(key, why, monitor.CallError{})
		} else {
			w.parts(&o, kind, p.Parts)
		}
	}
	if power := p.Power(); power.Known() || applies(power.Reason) {
		w.reading(&o, "power_mw", "power_mw", power, monitor.Number, 0)
	} else {
		w.null("power_mw")
	}
	for _, r := range [...]struct {
		key     string
		reading monitor.Reading
	}{{"emc_mhz", p.EMCMHz}, {"emc_percent", p.EMCPercent}} {
		if r.reading.Known() || applies(r.reading.Reason) {
			w.reading(&o, r.key, r.key, r.reading, monitor.Number, 0)
		} else {
			w.null(r.key)
		}
	}
	w.unavailable(&o)
	w.provenance(&o)
	w.close('}')
}

// parts writes the list of the parts of a kind.
func (w *writer) parts(o *object, kind monitor.PartKind, all []monitor.Part) {
	info := kind.Info()
	w.list(info.Key)
	n := 0
	for i := range all {
		part := &all[i]
		if part.Kind != kind {
			continue
		}
		w.open()
		w.text("name", part.Name)
		for j, r := range info.Readings {
			w.reading(o, r.Key, within(info.Key, n, r.Key), part.Readings[j], r.Kind, 0)
		}
		if kind == monitor.Rail {
			w.text("scope", part.Scope)
		}
		w.close('}')
		n++
	}
	w.close(']')
}

// within names a key of an element of a list, such as fans[0].rpm, since these
// small objects have no reasons of their own.
func within(list string, i int, key string) string {
	return list + "[" + strconv.Itoa(i) + "]." + key
}

// measured returns r as it counts where nothing can be measured because of
// why.
func measured(r monitor.Reading, why monitor.Reason) monitor.Reading {
	if why == monitor.Known || r.Reason == why {
		return r
	}
	return monitor.Unknown(why)
}

// gpu writes a GPU, or an instance of parent, which shares its fate.
func (w *writer) gpu(s *monitor.Snapshot, g, parent *monitor.GPU) {
	var o object
	state, why := g.State, g.Unmeasured()
	if parent != nil && parent.Unmeasured() != monitor.Known {
		state, why = parent.State, parent.Unmeasured()
	}
	w.open()
	if g.Index >= 0 {
		w.int("index", int64(g.Index))
	} else {
		w.null("index")
		o.miss("index", monitor.NotFound, monitor.CallError{})
	}
	w.maybe(&o, "uuid", &g.UUID)
	w.maybe(&o, "pci_bus_id", &g.PCIBusID)
	w.maybe(&o, "name", &g.Name)
	w.maybe(&o, "architecture", &g.Architecture)
	w.maybe(&o, "serial", &g.Serial)
	w.textOrNull("driver_model", g.DriverModel)
	minor := g.Readings[monitor.Minor] // identity, which a lost GPU keeps
	w.reading(&o, "minor", "minor", minor, monitor.Integer, monitor.Minor)
	w.text("state", state.String())
	w.textOrNull("state_reason", g.StateReason)
	w.since(s, "state_seconds", g.StateSince)
	o.blame("state", g.StateErr)
	never := why
	if why == monitor.Known && slices.ContainsFunc(g.Readings[:], func(r monitor.Reading) bool { return r.Reason == monitor.Timeout }) {
		never = monitor.Timeout // the first refresh did not end
	}
	w.age(&o, s, "age_seconds", g.Refreshed, never)
	w.textOrNull("call", g.Call)
	since := g.CallSince
	if g.Call == "" {
		since = 0
	}
	w.since(s, "call_seconds", since)
	w.key("sources")
	w.words(g.Sources)
	w.bool("integrated", g.Integrated)
	w.idOrNull("gpu_instance_id", g.GPUInstanceID)
	w.idOrNull("compute_instance_id", g.ComputeInstanceID)
	w.textOrNull("profile", g.Profile)
	w.textOrNull("parent_uuid", g.ParentUUID)
	for id := monitor.UtilizationPercent; id < monitor.NumReadings; id++ {
		if id == monitor.MIGEnabled {
			w.xids(&o, g)
		}
		r := measured(g.Readings[id], why)
		w.reading(&o, id.String(), id.String(), r, id.Info().Kind, id)
		if r.Known() && r.At > 0 {
			o.old(s, id.String(), r.At)
		}
		switch id {
		case monitor.MemoryReservedBytes:
			w.bool("memory_unified", g.MemoryUnified)
			w.adapter(&o, s, g.Adapter, why)
		case monitor.FanPercent:
			w.fans(&o, g, why)
		}
	}
	w.instances(&o, s, g, why)
	w.list("health")
	for _, h := range g.Health {
		w.open()
		w.text("code", h.Code)
		w.text("level", h.Level.String())
		w.text("text", h.Text)
		w.close('}')
	}
	w.close(']')
	w.processes(&o, s, g, why)
	w.object("ages")
	for _, a := range o.ages {
		w.number(a.key, a.seconds)
	}
	w.close('}')
	w.unavailable(&o)
	w.object("errors")
	for _, e := range o.errors {
		w.object(e.key)
		w.textOrNull("function", e.err.Function())
		w.textOrNull("name", e.err.Name())
		if e.err.Name() == "" {
			w.null("code") // our own deadline
		} else {
			w.int("code", int64(e.err.Code()))
		}
		w.close('}')
	}
	w.close('}')
	w.provenance(&o)
	w.close('}')
}

// adapter writes what Windows counts, null without a reason where it does not.
func (w *writer) adapter(o *object, s *monitor.Snapshot, a *monitor.Adapter, why monitor.Reason) {
	for i := range monitor.AdapterKeys {
		key := monitor.AdapterKeys[i]
		if a == nil {
			w.null(key)
			continue
		}
		r := measured(a[i], why)
		w.reading(o, key, key, r, monitor.Integer, 0)
		if r.Known() {
			o.old(s, key, r.At)
		}
	}
}

// tolerance is how old something may be and count as fresh.
func tolerance(s *monitor.Snapshot) time.Duration {
	if s.Interval > 0 {
		return s.Interval
	}
	return time.Second
}

// aged is the age of something, in whole milliseconds.
func aged(s *monitor.Snapshot, at int64) time.Duration { return s.Age(at).Round(time.Millisecond) }

// old remembers the age of key where it is older than an interval.
func (o *object) old(s *monitor.Snapshot, key string, at int64) {
	if d := aged(s, at); d > tolerance(s) {
		o.ages = append(o.ages, age{key, d.Seconds()})
	}
}

// age writes how long ago something was, 0 while it is fresh, null where it
// never was.
func (w *writer) age(o *object, s *monitor.Snapshot, key string, at int64, why monitor.Reason) {
	if at == 0 {
		w.null(key)
		if why == monitor.Known {
			why = monitor.NotSampled
		}
		o.miss(key, why, monitor.CallError{})
		return
	}
	d := aged(s, at)
	if d <= tolerance(s) {
		d = 0
	}
	w.number(key, d.Seconds())
}

// since writes for how long something has been so, null where it is not so.
func (w *writer) since(s *monitor.Snapshot, key string, at int64) {
	if at == 0 {
		w.null(key)
		return
	}
	w.number(key, aged(s, at).Seconds())
}

// unlisted writes null for a list that was not read, or does not count because
// of why, and reports whether it did.
func (w *writer) unlisted(o *object, key string, st *monitor.Status, why monitor.Reason) bool {
	if why == monitor.Known {
		why = st.Reason
	}
	if why == monitor.Known {
		return false
	}
	w.null(key)
	var err monitor.CallError
	if st.Reason == why {
		err = st.Err
	}
	o.miss(key, why, err)
	return true
}

func (w *writer) fans(o *object, g *monitor.GPU, why monitor.Reason) {
	if w.unlisted(o, "fans", &g.FansStatus, why) {
		return
	}
	w.list("fans")
	for i := range g.Fans {
		f := &g.Fans[i]
		w.open()
		w.int("index", int64(f.Index))
		w.reading(o, "percent", within("fans", i, "percent"), f.Percent, monitor.Number, 0)
		w.reading(o, "rpm", within("fans", i, "rpm"), f.RPM, monitor.Number, 0)
		w.reading(o, "target_percent", within("fans", i, "target_percent"), f.TargetPercent, monitor.Number, 0)
		w.close('}')
	}
	w.close(']')
}

// xids writes what was seen, which a lost GPU keeps.
func (w *writer) xids(o *object, g *monitor.GPU) {
	if w.unlisted(o, "xids", &g.XIDsStatus, monitor.Known) {
		return
	}
	w.list("xids")
	for _, x := range g.XIDs[max(0, len(g.XIDs)-maxXIDs):] {
		w.open()
		w.time("time", time.Unix(0, x.Time))
		w.int("code", int64(x.Code))
		w.text("source", x.Source)
		w.idOrNull("gpu_instance_id", x.GPUInstanceID)
		w.idOrNull("compute_instance_id", x.ComputeInstanceID)
		w.close('}')
	}
	w.close(']')
}

// instances writes the MIG instances, whose rows a lost GPU keeps. An instance
// has none.
func (w *writer) instances(o *object, s *monitor.Snapshot, g *monitor.GPU, why monitor.Reason) {
	if len(g.MIG) == 0 && !g.Instance() && w.unlisted(o, "mig_devices", &g.MIGStatus, why) {
		return
	}
	w.list("mig_devices")
	for i := range g.MIG {
		w.gpu(s, &g.MIG[i], g)
	}
	w.close(']')
}

func (w *writer) processes(o *object, s *monitor.Snapshot, g *monitor.GPU, why monitor.Reason) {
	if w.unlisted(o, "processes", &g.ProcStatus, why) {
		why = o.missing[len(o.missing)-1].why
		w.text("processes_state", why.String())
		w.null("processes_age_seconds")
		o.miss("processes_age_seconds", why, monitor.CallError{})
		return
	}
	w.list("processes")
	for i := range g.Processes {
		w.process(&g.Processes[i])
	}
	w.close(']')
	w.text("processes_state", "ok")
	w.age(o, s, "processes_age_seconds", g.ProcStatus.At, monitor.Known)
}

func (w *writer) process(p *monitor.Process) {
	var o object
	w.open()
	w.int("pid", int64(p.PID))
	if start, ok := p.StartTime.Int(); ok {
		w.time("start_time", time.Unix(0, start))
		if p.StartTime.Provenance != monitor.Measured {
			o.origins = append(o.origins, origin{"start_time", p.StartTime.Provenance})
		}
	} else {
		w.null("start_time")
		o.miss("start_time", p.StartTime.Reason, monitor.CallError{})
	}
	number := func(key string, r monitor.Reading, kind monitor.Kind) { w.reading(&o, key, key, r, kind, 0) }
	number("start_ticks", p.StartTicks, monitor.Integer)
	w.maybe(&o, "name", &p.Name)
	command := p.Command
	command.Value = monitor.MaskSecrets(command.Value)
	w.maybe(&o, "command", &command)
	w.maybe(&o, "user", &p.User)
	w.list("types")
	for _, t := range [...]struct {
		is   monitor.ProcessTypes
		word string
	}{{monitor.Compute, "compute"}, {monitor.Graphics, "graphics"}, {monitor.MPS, "mps"}} {
		if p.Types&t.is != 0 {
			w.separate()
			w.b = appendString(w.b, t.word)
		}
	}
	w.close(']')
	number("gpu_memory_bytes", p.GPUMemoryBytes, monitor.Integer)
	if p.NonLocalBytes.Reason != monitor.NotSampled {
		number("gpu_memory_nonlocal_bytes", p.NonLocalBytes, monitor.Integer)
	} else {
		w.null("gpu_memory_nonlocal_bytes")
	}
	number("sm_percent", p.SMPercent, monitor.Number)
	number("encoder_percent", p.EncoderPercent, monitor.Number)
	number("decoder_percent", p.DecoderPercent, monitor.Number)
	w.idOrNull("gpu_instance_id", p.GPUInstanceID)
	w.idOrNull("compute_instance_id", p.ComputeInstanceID)
	number("cpu_percent", p.CPUPercent, monitor.Number)
	number("host_memory_bytes", p.HostMemoryBytes, monitor.Integer)
	if c := &p.Container; c.Reason == monitor.Known && c.ID != "" {
		w.object("container")
		w.text("runtime", c.Runtime)
		w.text("id", c.ID)
		w.textOrNull("pod_uid", c.PodUID)
		w.close('}')
	} else {
		w.none(&o, "container", c.Reason)
	}
	if j := &p.Job; j.Reason == monitor.Known && j.ID != "" {
		w.object("job")
		w.text("scheduler", j.Scheduler)
		w.text("id", j.ID)
		w.textOrNull("step", j.Step)
		w.close('}')
	} else {
		w.none(&o, "job", j.Reason)
	}
	if u := &p.Unit; u.Known() && u.Value != "" {
		w.text("unit", u.Value)
	} else {
		w.none(&o, "unit", u.Reason)
	}
	w.text("namespace", p.Namespace.String())
	w.unavailable(&o)
	w.provenance(&o)
	w.close('}')
}

// none writes null: there is none, or it is unknown why.
func (w *writer) none(o *object, key string, why monitor.Reason) {
	w.null(key)
	if why != monitor.Known {
		o.miss(key, why, monitor.CallError{})
	}
}

// appendNumber appends v as JSON, without an exponent where it is of a size
// that people read.
func appendNumber(dst []byte, v float64) []byte {
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'g'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString appends s in quotes. Control characters of all kinds, the two
// that end lines in JavaScript and those that change the direction of text are
// escaped; an invalid byte becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, `\n`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, `\u00`...)
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
		} else if r < 0xa0 || r == 0x61c || r >= 0x200e && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u`...)
			for shift := 12; shift >= 0; shift -= 4 {
				dst = append(dst, hexDigits[r>>shift&15])
			}
		} else {
			i += n
			continue
		}
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
