package diff

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// AppendText appends the difference in words, in lines that each end in a
// newline. What is the same on both sides is left out.
func (d *Diff) AppendText(dst []byte, o ansi.PageOptions) []byte {
	t := text{Page: ansi.NewPage(dst, o), d: d, arrow: "→", degree: "°C"}
	if o.ASCII {
		t.arrow, t.degree = "->", "C"
	}
	t.header()
	var same, unread []string
	for _, g := range d.gpus {
		if g.differs() {
			t.gpu(g, "GPU ")
			continue
		}
		same = append(same, g.label)
		unread = t.unread(unread, g)
	}
	t.unchanged(same, unread)
	return t.Bytes()
}

// text is one text being written.
type text struct {
	*ansi.Page
	d             *Diff
	arrow, degree string
}

// Where the columns begin: the names of lines, and what is said.
const (
	nameColumn = 1
	sayColumn  = 11
)

// flow draws pieces from column x on. A piece that does not fit goes to the
// next line, whose column is indent; one longer than a line is broken between
// words.
func (t *text) flow(x, indent int, pieces []string, style ansi.Style) {
	begun := false
	place := func(s string) {
		w := ansi.Width(s)
		if begun {
			if x++; x+w > t.Width {
				t.End()
				x = indent
			}
		} else if x+w > t.Width && x > indent {
			t.End()
			x = indent
		}
		x = t.Line.TextCut(x, 0, t.Width-x, s, style)
		begun = true
	}
	for _, s := range pieces {
		list := strings.Fields(ansi.Clean(s))
		if s = strings.Join(list, " "); ansi.Width(s) <= t.Width-indent {
			list = []string{s}
		}
		for _, s := range list {
			if s != "" {
				place(s)
			}
		}
	}
	t.End()
}

// say writes a line: what it is about, and what is so.
func (t *text) say(name string, style ansi.Style, pieces ...string) {
	t.Line.Text(nameColumn, 0, name, t.Bold)
	t.flow(sayColumn, sayColumn, pieces, style)
}

// commas puts a comma behind all pieces but the last.
func commas(pieces []string) []string {
	for i := 0; i < len(pieces)-1; i++ {
		pieces[i] += ","
	}
	return pieces
}

// when returns a time of the snapshot s.
func (t *text) when(at time.Time) string { return at.In(t.Location).Format("2006-01-02 15:04:05") }

func (t *text) header() {
	d := t.d
	title := "nvtop-lite diff"
	a, b := &d.old.Host.Hostname, &d.new.Host.Hostname
	if known(a) && a.Value == b.Value {
		title += "  " + a.Value
	}
	t.Line.TextCut(0, 0, t.Width, title, t.Bold)
	t.End()
	for side, s := range [...]*monitor.Snapshot{d.old, d.new} {
		pieces := []string{t.when(s.Time)}
		if s.Source != "" && s.Source != "live" {
			pieces = append(pieces, "["+s.Source+"]")
		}
		for _, p := range [...]struct {
			before string
			text   *monitor.Text
		}{{"driver ", &s.Driver.Version}, {"CUDA ", &s.Driver.CUDAVersion}} {
			if known(p.text) {
				pieces = append(pieces, p.before+p.text.Value)
			}
		}
		if side == 1 {
			pieces = append(pieces, t.later())
		}
		t.say([...]string{"old", "new"}[side], t.Plain, pieces...)
	}
	if apart := d.new.Time.Sub(d.old.Time) - d.elapsed; apart.Abs() > 5*time.Second {
		t.say("clock", t.Warn, "it differs by "+report.Spell(apart.Abs())+" from the time that went by:", "it was set, or the machine slept")
	}
	switch {
	case d.boots == otherBoot && known(a) && known(b) && a.Value != b.Value:
		t.say("boot", t.Warn, "another boot and another host name:", "rebooted between the two, or the GPUs moved to another machine")
	case d.boots == otherBoot:
		t.say("boot", t.Warn, "rebooted between the two")
	case d.pairless():
		t.say("boot", t.Warn, "boot id unknown ("+words(d.bootWhy)+"), without which processes cannot be paired")
	}
	t.changes("driver", d.driver, monitor.Known, monitor.Known)
	t.changes("host", d.host, monitor.Known, monitor.Known)
	t.changes("platform", d.platform, monitor.Known, monitor.Known)
}

// later returns how much later the new snapshot is.
func (t *text) later() string {
	by := t.d.elapsed.Abs()
	span := report.Spell(by)
	if tenths := by.Round(100 * time.Millisecond); tenths < time.Minute {
		span = tenths.String()
	}
	switch {
	case t.d.elapsed < 0:
		return span + " earlier: the new one is the older one"
	case t.d.elapsed == 0:
		return "at the same time"
	}
	return span + " later"
}

// pairless reports whether a process could not be paired for want of a boot id.
func (d *Diff) pairless() bool {
	return pairless(d.gpus)
}

func pairless(list []*gpu) bool {
	for _, g := range list {
		for i := range g.processes {
			if g.processes[i].why == noBootID {
				return true
			}
		}
		if pairless(g.instances) {
			return true
		}
	}
	return false
}

// unread appends what is known of neither side of a GPU that does not differ.
func (t *text) unread(list []string, g *gpu) []string {
	if g.oldFate == monitor.Known && !g.processList.read() {
		list = append(list, "GPU "+g.label+": processes unknown on both sides ("+words(g.processList.why())+")")
	} else if g.oldFate != monitor.Known {
		list = append(list, "GPU "+g.label+": "+g.oldState.String()+" on both sides")
	}
	for _, in := range g.instances {
		list = t.unread(list, in)
	}
	return list
}

// unchanged tells of the GPUs that do not differ.
func (t *text) unchanged(same, unread []string) {
	if len(same) == 0 {
		return
	}
	what := "no difference"
	if len(unread) > 0 {
		what += " in what is known"
	}
	pieces := []string{what}
	if t.d.differs() {
		t.End()
		pieces[0] += ":"
		gpus := []string{}
		for _, s := range same {
			gpus = append(gpus, "GPU "+s)
		}
		pieces = append(pieces, commas(gpus)...)
	}
	t.flow(nameColumn, 3, pieces, t.Plain)
	for _, s := range unread {
		t.flow(nameColumn, 3, []string{s}, t.Warn)
	}
}

// style returns the style for the level of a finding.
func (t *text) style(l monitor.Level) ansi.Style {
	switch l {
	case monitor.Critical:
		return t.Critical
	case monitor.Warn:
		return t.Warn
	}
	return t.Plain
}

// gpu tells of a GPU, or of an instance; kind stands before its number.
func (t *text) gpu(g *gpu, kind string) {
	at := g.there()
	t.End()
	x := t.Line.Text(0, 0, kind+g.label, t.Bold)
	var pieces []string
	switch {
	case at.Profile != "":
		pieces = append(pieces, at.Profile)
	case known(&at.Name):
		pieces = append(pieces, strings.TrimPrefix(at.Name.Value, "NVIDIA "))
	}
	if known(&at.UUID) {
		pieces = append(pieces, at.UUID.Value)
	}
	switch g.presence {
	case appeared, gone:
		pieces = append(pieces, presenceWords[g.presence])
	case oldUnknown:
		pieces = append(pieces, "whether it was in the old one is unknown ("+words(g.presenceWhy)+")")
	case newUnknown:
		pieces = append(pieces, "whether it is in the new one is unknown ("+words(g.presenceWhy)+")")
	}
	t.flow(x+1, 3, pieces, t.Plain)
	if !g.itself() {
		t.flow(nameColumn, 3, []string{"no difference but on its instances"}, t.Dim)
	} else if g.presence == both {
		t.state(g)
		for i := range g.health {
			t.finding(g, i)
		}
		t.xids(g)
		t.changes("settings", g.settings, g.oldFate, g.newFate)
		t.changes("counters", g.counters, g.oldFate, g.newFate)
		t.changes("loads", g.loads, g.oldFate, g.newFate)
		t.changes("memory", changes{g.used, g.free, g.attributed, g.rest}, g.oldFate, g.newFate)
		t.list("MIG", "instances", g.migList, g)
	}
	if g.itself() {
		t.processes(g)
	}
	for _, in := range g.instances {
		if in.differs() {
			t.gpu(in, "MIG ")
		}
	}
}

func (t *text) state(g *gpu) {
	side := func(s monitor.State, why string) string {
		if why != "" {
			return s.String() + ": " + why
		}
		return s.String()
	}
	if g.oldState == g.newState && g.old.StateReason == g.new.StateReason && g.oldFate == g.newFate {
		return
	}
	style := t.Plain
	switch g.newState {
	case monitor.Lost:
		style = t.Critical
	case monitor.Stale, monitor.Unavailable:
		style = t.Warn
	}
	pieces := []string{side(g.oldState, g.old.StateReason), t.arrow + " " + side(g.newState, g.new.StateReason)}
	switch {
	case g.newFate != monitor.Known && g.oldFate == monitor.Known:
		pieces = append(pieces, "(all readings became unknown: "+words(g.newFate.String())+")")
	case g.oldFate != monitor.Known && g.newFate == monitor.Known:
		pieces = append(pieces, "(readings became known)")
	case g.oldFate != g.newFate:
		pieces = append(pieces, "(readings unknown: "+words(g.oldFate.String())+", now "+words(g.newFate.String())+")")
	}
	t.say("state", style, pieces...)
}

func (t *text) finding(g *gpu, i int) {
	name := ""
	if i == 0 {
		name = "health"
	}
	f := &g.health[i]
	switch {
	case f.old == nil && f.why != "":
		t.say(name, t.style(f.new.Level), "known now, unknown before ("+words(f.why)+"):", f.new.Text)
	case f.old == nil:
		t.say(name, t.style(f.new.Level), "came:", f.new.Text)
	case f.new == nil && f.why != "":
		t.say(name, t.style(f.old.Level), "unknown now ("+words(f.why)+"), was:", f.old.Text)
	case f.new == nil:
		t.say(name, t.Plain, "went:", f.old.Text)
	default:
		t.say(name, t.style(f.new.Level), f.old.Text, t.arrow+" "+f.new.Text)
	}
}

func (t *text) xids(g *gpu) {
	list := func(xids []monitor.XID, before string) {
		if len(xids) == 0 {
			return
		}
		var pieces []string
		for _, x := range xids {
			pieces = append(pieces, fmt.Sprintf("%d at %s", x.Code, t.when(time.Unix(0, x.Time))))
		}
		t.say("Xid", t.Plain, append([]string{before}, commas(pieces)...)...)
	}
	list(g.xidsAppeared, "new:")
	list(g.xidsGone, "no longer listed:")
	t.list("Xid", "errors", g.xids, g)
}

// list says that a list became known or unknown, unless the state of the GPU
// says so.
func (t *text) list(name, what string, l lists, g *gpu) {
	a, b := words(l.old.String()), words(l.new.String())
	switch {
	case l.old == l.new || l.old == g.oldFate && l.old != monitor.Known || l.new == g.newFate && l.new != monitor.Known:
	case l.old == monitor.Known:
		t.say(name, t.Warn, what+" became unknown ("+b+")")
	case l.new == monitor.Known:
		t.say(name, t.Plain, what+" became known (unknown before: "+a+")")
	default:
		t.say(name, t.Plain, what+" unknown ("+a+", now "+b+")")
	}
}

// groups are pieces under heads, in the order in which these came.
type groups []struct {
	head   string
	pieces []string
}

// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (l *groups) add(head, piece string) {
	for i := range *l {
		if g := &(*l)[i]; g.head == head {
			g.pieces = append(g.pieces, piece)
			return
		}
	}
	*l = append(*l, struct {
		head   string
		pieces []string
	}{head, []string{piece}})
}

// changes tells of changes of one kind: first what has a value on both sides,
// then what became known or unknown, by reason. What is unknown because of the
// GPU's fate is told with its state.
func (t *text) changes(name string, list changes, oldFate, newFate monitor.Reason) {
	var pieces []string
	var groups groups
	var fan *change // of all of them
	for i := range list {
		c := &list[i]
		told := c.key == "boot_id" && c.old.why == "" && c.new.why == ""
		if told || !c.differs() {
			continue
		}
		a, b := t.show(c, &c.old, 0), t.show(c, &c.new, 0)
		if c.key == monitor.FanPercent.String() {
			fan = c
		}
		if strings.HasPrefix(c.key, "fans[") && fan != nil && t.alike(c, fan) {
			continue
		}
		switch {
		case c.old.why == "" && c.new.why == "":
			pieces = append(pieces, c.label+" "+t.both(c, a, b))
		case c.old.why != "" && c.old.why == oldFate.String(), c.new.why != "" && c.new.why == newFate.String():
		case c.old.why == "":
			groups.add("became unknown ("+words(c.new.why)+"):", c.label+" (was "+a+")")
		case c.new.why == "":
			groups.add("became known (unknown before: "+words(c.old.why)+"):", c.label+" "+b)
		default:
			groups.add("unknown ("+words(c.old.why)+", now "+words(c.new.why)+"):", c.label)
		}
	}
	if len(pieces) > 0 {
		t.say(name, t.Plain, commas(pieces)...)
		name = ""
	}
	for _, g := range groups {
		t.say(name, t.Plain, append([]string{g.head}, commas(g.pieces)...)...)
		name = ""
	}
}

// alike reports whether two changes of one unit are told in the same words.
func (t *text) alike(a, b *change) bool {
	return a.unit == b.unit && a.old.why == b.old.why && a.new.why == b.new.why &&
		t.show(a, &a.old, 0) == t.show(b, &b.old, 0) && t.show(a, &a.new, 0) == t.show(b, &b.new, 0)
}

// both returns a change between two values that are shown as a and b.
func (t *text) both(c *change, a, b string) string {
	if c.key == monitor.EnergyJoules.String() {
		switch c.noDelta {
		case counterRestarted:
			return "counter began anew"
		case newIsOlder:
			return "difference unknown (new is older)"
		}
		v, _ := c.delta.(float64)
		return fmt.Sprintf("%+.0f J (%+.1f Wh)", v, v/3600)
	}
	for digits := 1; a == b && digits <= 6; digits++ { // as many as show it
		a, b = t.show(c, &c.old, digits), t.show(c, &c.new, digits)
	}
	s := b
	if a != b {
		// The unit once, where both have the same.
		if i, j := strings.LastIndexByte(a, ' '), strings.LastIndexByte(b, ' '); c.unit != "" && i > 0 && j > 0 && a[i:] == b[j:] {
			a = a[:i]
		}
		s = a + " " + t.arrow + " " + b
	}
	if n, ok := c.delta.(int64); ok && n != 0 {
		if c.unit == "bytes" {
			s += " (" + sizeDelta(n) + ")"
		} else if c.counts {
			s += fmt.Sprintf(" (%+d)", n)
		}
	}
	switch c.noDelta {
	case counterRestarted:
		s += ", counted anew"
	case newIsOlder:
		s += " (new is older)"
	}
	return s
}

// sizeDelta returns a difference of sizes in the largest unit that shows it.
func sizeDelta(n int64) string {
	v := math.Abs(float64(n))
	unit, digits := "bytes", 0
	switch {
	case v >= 0.1*(1<<30):
		v, unit, digits = v/(1<<30), "GiB", 1
	case v >= 1<<20:
		v, unit = v/(1<<20), "MiB"
	case v >= 1<<10:
		v, unit = v/(1<<10), "KiB"
	}
	sign := "+"
	if n < 0 {
		sign = "-"
	}
	return sign + strconv.FormatFloat(v, 'f', digits, 64) + " " + unit
}

// show returns one side of a change as people read it, a fraction with so many
// digits more than usual.
func (t *text) show(c *change, v *value, more int) string {
	number := func(n float64) string {
		scale, digits, unit := 1.0, 0, c.unit
		switch c.unit {
		case "bytes":
			return report.Size(monitor.OfFloat(n))
		case "bytes/s":
			scale, digits, unit = 1e-9, 2, "GB/s"
		case "mW":
			scale, unit = 1e-3, "W"
		case "°C":
			unit = t.degree
		}
		if unit != "" {
			unit = " " + unit
		}
		return report.Number(monitor.OfFloat(n), scale, digits+more) + unit
	}
	s := ""
	switch n := v.v.(type) {
	case bool:
		s = [...]string{"off", "on"}[btoi(n)]
		if c.unit == "yes" {
			s = [...]string{"no", "yes"}[btoi(n)]
		}
	case string:
		s = n
		if s == "" {
			s = "none"
		}
	case []string:
		s = "no"
		if len(n) > 0 {
			s = strings.ReplaceAll(strings.Join(n, " + "), "_", " ")
		}
	case float64:
		s = number(n)
	case int64:
		if c.unit == "" {
			s = strconv.FormatInt(n, 10)
		} else {
			s = number(float64(n))
		}
	}
	if v.from != monitor.Measured && s != "" {
		s = "~" + s
	}
	return s
}

func btoi(v bool) int {
	if v {
		return 1
	}
	return 0
}

// processes tells of the processes of a GPU that came, went or changed.
func (t *text) processes(g *gpu) {
	l := g.processList
	if !l.read() && g.presence == both {
		what := "unknown on both sides (" + words(l.why()) + ")"
		switch {
		case l.old != monitor.Known && l.new != monitor.Known:
			if l.old != l.new {
				what = "unknown on both sides (" + words(l.old.String()) + ", now " + words(l.new.String()) + ")"
			}
		case l.old != monitor.Known:
			what = "unknown in the old one (" + words(l.old.String()) + ")"
		default:
			what = "unknown in the new one (" + words(l.new.String()) + ")"
		}
		if t.d.boots != otherBoot {
			what += ", so that nobody knows which ones appeared or went"
		}
		t.say("processes", t.Warn, what)
	}
	stayed := 0
	var told []*process
	pids, users, names := 0, 0, 0
	for i := range g.processes {
		p := &g.processes[i]
		if !p.differs() {
			stayed++
			continue
		}
		told = append(told, p)
		at := p.there()
		pids = max(pids, len(strconv.FormatUint(uint64(at.PID), 10)))
		users = max(users, ansi.Width(orUnknown(&at.User)))
		names = max(names, ansi.Width(orUnknown(&at.Name)))
	}
	const least = 26 // cells for what is said of a process on the same line
	users = min(users, 8)
	names = min(names, 24, max(12, t.Width-(sayColumn+pids+1+users+1+1+least)))
	for _, p := range told {
		at := p.there()
		word := [...]string{both: "stayed", appeared: "appeared", gone: "gone", oldUnknown: "in new", newUnknown: "in old"}[p.presence]
		x := sayColumn
		t.Line.Text(nameColumn, 0, word, t.Bold)
		t.Line.TextRight(x, 0, pids, strconv.FormatUint(uint64(at.PID), 10), t.Plain)
		x += pids + 1
		t.Line.TextCut(x, 0, users, orUnknown(&at.User), t.Plain)
		x += users + 1
		t.Line.TextCut(x, 0, min(names, t.Width-x), orUnknown(&at.Name), t.Plain)
		x += names + 1
		indent := x
		if x+least > t.Width {
			t.End()
			x, indent = sayColumn+2, sayColumn+2
		}
		t.flow(x, indent, t.process(p), t.Plain)
	}
	if stayed == 1 {
		t.say("stayed", t.Dim, "1 process as it was")
	} else if stayed > 1 {
		t.say("stayed", t.Dim, strconv.Itoa(stayed)+" processes as they were")
	}
}

// orUnknown returns a text, "?" where it is unknown.
func orUnknown(t *monitor.Text) string {
	if known(t) {
		return t.Value
	}
	return "?"
}

// process returns what is said of the memory of a process.
func (t *text) process(p *process) []string {
	c := p.memory()
	a, b := t.show(&c, &c.old, 0), t.show(&c, &c.new, 0)
	one := func(v *value, s string) string {
		if v.why != "" {
			return "memory unknown (" + words(v.why) + ")"
		}
		return s
	}
	switch p.presence {
	case gone:
		return []string{one(&c.old, a)}
	case appeared:
		s := one(&c.new, b)
		if p.reused {
			return []string{s + ",", "another process of this PID"}
		}
		return []string{s}
	case oldUnknown, newUnknown:
		s := one(&c.new, b)
		if p.presence == newUnknown {
			s = one(&c.old, a)
		}
		if p.why == startUnknown {
			return []string{s + ",", "not paired:", "start unknown"}
		}
		if p.why == noBootID {
			return []string{s + ",", "not paired:", "boot unknown"}
		}
		return []string{s}
	}
	switch {
	case c.old.why == "" && c.new.why == "":
		return []string{t.both(&c, a, b)}
	case c.old.why == "":
		return []string{"memory became unknown (" + words(c.new.why) + "),", "was " + a}
	case c.new.why == "":
		return []string{"memory became known: " + b + ",", "unknown before (" + words(c.old.why) + ")"}
	}
	return []string{"memory unknown (" + words(c.old.why) + ",", "now " + words(c.new.why) + ")"}
}

// words returns a reason as people say it.
func words(why string) string {
	switch why {
	case noBootID:
		return "boot id unknown"
	case uuidUnknown:
		return "an instance has no UUID of its own"
	}
	if r, ok := monitor.ParseReason(why); ok {
		return report.ReasonText(r)
	}
	return strings.ReplaceAll(why, "_", " ")
}
