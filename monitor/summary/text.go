package summary

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// What the text tells at most; the JSON has the rest.
const (
	textRuns      = 10
	textGaps      = 10
	textClocks    = 5
	textNotes     = 20 // about energy, and about what is unknown
	textPeriods   = 3  // of a GPU's state
	textReasons   = 4  // for being slowed
	textSlowed    = 16 // GPUs
	textAlarms    = 40
	textProcesses = 20
)

// AppendText appends the summary as text for people, in lines that each end in a
// newline.
func (s *Summary) AppendText(dst []byte, o ansi.PageOptions) []byte {
	t := text{Page: ansi.NewPage(dst, o), document: s.document()}
	t.oneDay = t.First != nil && t.day(stamp(*t.First)) == t.day(stamp(*t.Last))
	t.head()
	if t.Snapshots > 0 {
		t.gpus()
		t.states()
		t.slowed()
		t.alarms()
		t.processes()
	}
	t.gaps()
	return t.Bytes()
}

type text struct {
	*ansi.Page
	*document
	oneDay bool
}

func (t *text) format(at stamp, layout string) string {
	return time.Time(at).In(t.Location).Format(layout)
}

func (t *text) day(at stamp) string { return t.format(at, "2006-01-02") }

// clock returns a time, without the day where all that was recorded is of one.
func (t *text) clock(at stamp) string {
	if t.oneDay && t.day(at) == t.day(stamp(*t.First)) {
		return t.format(at, "15:04:05")
	}
	return t.format(at, "2006-01-02 15:04:05")
}

// period returns from when to when something was.
func (t *text) period(first, last stamp) string {
	from, to := t.clock(first), t.clock(last)
	if from == to {
		return from
	}
	return from + " to " + to
}

// span returns a time in few characters.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func span(ns nanos) string {
	if ns > 0 && ns < 1e9 {
		return "<1s"
	}
	return report.Spell(time.Duration(ns))
}

// count returns n and what is counted.
//
// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + more
}

// section begins a part of the page.
func (t *text) section(title string) {
	t.End()
	t.Line.Text(0, 0, title, t.Bold)
	t.End()
}

func (t *text) head() {
	title := "summary of " + t.File
	for _, source := range t.Sources {
		if source != "live" {
			title += "  [" + source + "]"
		}
	}
	t.Line.TextCut(0, 0, t.Width, title, t.Bold)
	t.End()
	if t.Snapshots == 0 {
		t.Paragraph("no snapshot in it", t.Warn)
	} else {
		line := t.day(stamp(*t.First)) + " " + t.format(stamp(*t.First), "15:04:05") + " to "
		if !t.oneDay {
			line += t.day(stamp(*t.Last)) + " "
		}
		line += t.format(stamp(*t.Last), "15:04:05") + ", " + count(t.Snapshots, "snapshot", "snapshots") + ", every "
		if *t.Least != *t.Most {
			line += strconv.FormatFloat(*t.Least, 'f', -1, 64) + " to "
		}
		line += strconv.FormatFloat(*t.Most, 'f', -1, 64) + " s, " + span(t.Covered) + " covered"
		t.Paragraph(line, t.Plain)
		t.hosts()
	}
	if t.Waiting > 0 || t.WaitingReason != "" {
		t.Paragraph("waited for the driver for "+span(t.Waiting)+": "+string(t.WaitingReason), t.Warn)
	}
	for i, c := range t.Clock.List {
		if i == textClocks {
			t.Paragraph(fmt.Sprintf("%d more changes of the clock", t.Clock.Count-int64(i)), t.Warn)
			break
		}
		line := "the clock was set back by " + report.Spell(-time.Duration(c.Seconds))
		if c.Seconds > 0 {
			line = "the clock was set forward by " + report.Spell(time.Duration(c.Seconds)) + ", or the machine slept,"
		}
		t.Paragraph(line+" at "+t.clock(c.From)+", to "+t.clock(c.To), t.Warn)
	}
	if n := t.Overlapping; n > 0 {
		t.Paragraph(count(int64(n), "run overlaps an earlier one", "runs overlap earlier ones")+" in time: what both have counts twice", t.Warn)
	}
	if n := t.Damaged; n > 0 {
		t.Paragraph("compressed data is damaged in "+count(int64(n), "place", "places")+": what was there is lost", t.Warn)
	}
	if n := t.Broken.Count; n > 0 {
		line := count(int64(n), "line is", "lines are") + " broken and not counted: "
		for i, number := range t.Broken.First {
			if i > 0 {
				line += ", "
			}
			line += strconv.FormatInt(number, 10)
		}
		if len(t.Broken.First) < n {
			line += ", and others"
		}
		t.Paragraph(line, t.Warn)
	}
}

// hosts tells of what machines and drivers the snapshots are.
func (t *text) hosts() {
	line := "host "
	switch {
	case len(t.Hosts) > 1:
		line = "hosts " + strings.Join(t.Hosts, ", ")
		if t.HostsLeft > 0 {
			line += " and others"
		}
	case len(t.Hosts) == 1:
		line += t.Hosts[0]
	default:
		line += "unknown"
	}
	t.Paragraph(line, t.Plain)
	line = ""
	for i := range t.Drivers {
		d := t.Drivers[i]
		if i > 0 {
			line += ", from " + t.clock(d.First) + " "
		}
		if d.Version == nil {
			line += "unknown"
			continue
		}
		line += *d.Version
		if d.CUDA != nil {
			line += " (CUDA " + *d.CUDA + ")"
		}
	}
	if t.DriversLeft > 0 {
		line += ", and others"
	}
	t.Paragraph("driver "+line, t.Plain)
	if len(t.Runs) == 1 {
		return
	}
	t.Paragraph(count(int64(len(t.Runs))+t.RunsLeft, "run", "runs")+":", t.Plain)
	for i := range t.Runs {
		if i == textRuns {
			t.Paragraph(fmt.Sprintf("  %d more", int64(len(t.Runs)-i)+t.RunsLeft), t.Dim)
			break
		}
		r := t.Runs[i]
		line := t.period(r.First, r.Last) + ", " + count(r.Snapshots, "snapshot", "snapshots")
		if r.Host != nil {
			line += ", " + *r.Host
		}
		if r.Source != "live" {
			line += ", " + r.Source
		}
		t.Paragraph("  "+line, t.Plain)
	}
}

// label names a GPU or instance in few characters.
func (t *text) label(g *docGPU) string {
	if g.Parent != nil && g.GPUInstance != nil {
		return t.label(t.GPUs[*g.Parent]) + ":" + strconv.Itoa(*g.GPUInstance)
	}
	if g.Index != nil {
		return strconv.Itoa(*g.Index)
	}
	return "?"
}

// named is what a GPU is called in a sentence.
func (t *text) named(g *docGPU) string {
	name := "GPU " + t.label(g)
	if len(t.Hosts) > 1 && g.Host != nil {
		name += " of " + *g.Host
	}
	return name
}

// labels names several GPUs, those that follow each other as a range.
func (t *text) labels(list []*docGPU) string {
	if len(list) == 1 {
		return t.named(list[0])
	}
	var parts []string
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].Parent == nil && list[i].Parent == nil && list[j].Index != nil && list[j-1].Index != nil && *list[j].Index == *list[j-1].Index+1 {
			j++
		}
		part := t.label(list[i])
		if j-i > 2 {
			part += "-" + t.label(list[j-1])
		} else {
			j = i + 1
		}
		parts = append(parts, part)
		i = j
	}
	return "GPUs " + strings.Join(parts, ", ")
}

// number returns a value times scale, "-" where it is unknown. Of one too large
// for its column, or far below 0, it says that alone.
func number(v *float64, scale float64, digits int, estimated bool, most int) string {
	switch {
	case v == nil:
		return "-"
	case *v*scale > float64(most):
		return ">" + strconv.Itoa(most)
	case *v*scale < -99:
		return "<-99"
	}
	r := monitor.OfFloat(*v * scale)
	if estimated {
		r.Provenance = monitor.Estimated
	}
	return report.Number(r, 1, digits)
}

const (
	perGiB  = 1.0 / (1 << 30)
	perWatt = 1.0 / 1000
)

// The largest numbers told: larger ones would push others off the line.
const (
	mostPercent = 999
	mostDegrees = 999
	mostGiB     = 9999
	mostWatts   = 9999
	mostEnergy  = 9999
)

// figure returns one of the figures of a quantity.
func (t *text) figure(v *float64, of *docValues, scale float64, digits int, unit string, most int) ansi.Cell {
	text := number(v, scale, digits, of.Provenance != "", most)
	if v == nil {
		return ansi.CellOf(text, t.Dim)
	}
	return ansi.CellOf(text+unit, t.Plain)
}

func (t *text) gpus() {
	if len(t.GPUs) == 0 {
		t.Paragraph("no GPU", t.Warn)
		return
	}
	degree := "°C"
	if t.ASCII {
		degree = "C"
	}
	t.section("GPUs: means, 95th percentiles, maxima of what was known")
	var rows []ansi.Row
	unit := t.energyUnit()
	percent := func(v *float64, of *docValues) ansi.Cell { return t.figure(v, of, 1, 0, "%", mostPercent) }
	for i := range t.GPUs {
		g := t.GPUs[i]
		p95 := percent(g.Utilization.P95, &g.Utilization)
		if g.Utilization.Estimated && g.Utilization.Provenance == "" {
			p95.Text = "~" + p95.Text
		}
		digits := 1
		if g.Memory.Max != nil && *g.Memory.Max*perGiB >= 1000 || g.Total != nil && *g.Total*perGiB >= 1000 {
			digits = 0
		}
		memory := t.figure(g.Memory.Max, &g.Memory, perGiB, digits, "/"+number(g.Total, perGiB, digits, false, mostGiB), mostGiB)
		name := "?"
		if g.Name != nil {
			name = strings.TrimPrefix(*g.Name, "NVIDIA ")
		}
		if g.Profile != "" {
			name = string(g.Profile)
		}
		if len(t.Hosts) > 1 && g.Host != nil {
			name = *g.Host + " " + name
		}
		rows = append(rows, ansi.Row{Cells: []ansi.Cell{
			ansi.CellOf(t.label(g), t.Bold),
			percent(g.Utilization.Mean, &g.Utilization), p95, percent(g.Utilization.Max, &g.Utilization),
			percent(g.SM.Mean, &g.SM), memory,
			t.figure(g.Power.Mean, &g.Power, perWatt, 0, "", mostWatts), t.figure(g.Power.Max, &g.Power, perWatt, 0, "", mostWatts),
			t.figure(g.Temperature.Mean, &g.Temperature, 1, 0, "", mostDegrees), t.figure(g.Temperature.Max, &g.Temperature, 1, 0, "", mostDegrees),
			t.joules(g.Energy.Joules, unit, g.Energy.Estimated),
			ansi.CellOf(name, t.Plain),
		}})
	}
	t.Table([]ansi.Column{
		{Head: "GPU", Right: true, Gap: 1, Most: 8},
		{Head: "UTIL", Right: true, Gap: 1}, {Head: "p95", Right: true, Gap: 1}, {Head: "max", Right: true, Gap: 1},
		{Head: "SM", Right: true, Gap: 1}, {Head: "MEM max/GiB", Right: true, Gap: 1},
		{Head: "W", Right: true, Gap: 1}, {Head: "max", Right: true, Gap: 1},
		{Head: degree, Right: true, Gap: 1}, {Head: "max", Right: true, Gap: 1},
		{Head: "ENERGY", Right: true, Gap: 1}, {Head: "NAME", Gap: 1},
	}, rows, t.Dim)
	t.energy()
	t.unknown()
	if t.GPUsLeft > 0 {
		t.Paragraph(count(int64(t.GPUsLeft), "GPU", "GPUs")+" more than are told apart, not counted", t.Warn)
	}
}

// energyUnits are J, Wh, kWh and MWh.
var energyUnits = [...]struct {
	name   string
	joules float64
	digits int
}{{"J", 1, 0}, {"Wh", 3600, 1}, {"kWh", 3.6e6, 1}, {"MWh", 3.6e9, 1}}

// unitOf returns the place of the unit that fits energy.
func unitOf(joules float64) int {
	i := 0
	for i+1 < len(energyUnits) && joules >= energyUnits[i+1].joules {
		i++
	}
	return i
}

// energyUnit returns the one unit of all GPUs, that of the least among them, or a
// larger one where numbers would become long.
func (t *text) energyUnit() int {
	unit, most := len(energyUnits)-1, 0.0
	for i := range t.GPUs {
		if v := t.GPUs[i].Energy.Joules; v != nil {
			most = max(most, *v)
			if *v > 0 {
				unit = min(unit, unitOf(*v))
			}
		}
	}
	if most == 0 {
		return 0
	}
	for unit+1 < len(energyUnits) && most > mostEnergy*energyUnits[unit].joules {
		unit++
	}
	return unit
}

func (t *text) joules(v *float64, unit int, estimated bool) ansi.Cell {
	if v == nil {
		return ansi.CellOf("-", t.Dim)
	}
	u := &energyUnits[unit]
	text := number(v, 1/u.joules, u.digits, estimated, mostEnergy)
	if unit > 0 && *v > 0 && *v < u.joules/20 {
		text = "<0.1"
		if estimated {
			text = "~" + text
		}
	}
	return ansi.CellOf(text+" "+u.name, t.Plain)
}

// energy tells what is to be known of the energy of the GPUs, and adds it up where
// it was measured of each.
func (t *text) energy() {
	sum, n := 0.0, 0
	var unknown, estimated []*docGPU
	var notes unknowns
	for i := range t.GPUs {
		g := t.GPUs[i]
		e := &g.Energy
		note := ""
		if e.Resets > 0 {
			note = ", its counter began anew " + count(e.Resets, "time", "times")
		}
		// By milliseconds it is always a little less.
		if e.Joules != nil && t.Covered-e.Seconds >= 1e9 {
			note = " covers " + span(e.Seconds) + " of " + span(t.Covered) + note
		}
		if note != "" {
			notes.add(g, "energy"+note, "")
		}
		switch {
		case e.Estimated:
			estimated = append(estimated, g)
		case e.Joules == nil && g.GPUInstance == nil:
			unknown = append(unknown, g)
		}
		if g.GPUInstance == nil && e.Joules != nil { // an instance's is part of its parent's
			sum += *e.Joules
		}
		if g.GPUInstance == nil {
			n++
		}
	}
	if len(estimated) > 0 {
		t.Paragraph("energy: ~ estimated from power", t.Dim)
	}
	switch {
	case n < 2 || len(unknown) == n:
	case len(unknown) > 0:
		t.Paragraph("energy of all GPUs not added up: that of "+t.labels(unknown)+" is unknown", t.Dim)
	case len(estimated) > 0:
		t.Paragraph("energy of all GPUs not added up: that of "+t.labels(estimated)+" is estimated", t.Dim)
	default:
		t.Paragraph(fmt.Sprintf("energy of all %d GPUs: %s", n, t.joules(&sum, unitOf(sum), false).Text), t.Plain)
	}
	var lines []string
	for _, g := range notes {
		lines = append(lines, t.labels(g.gpus)+": "+strings.Replace(g.what, "energy,", "energy:", 1))
	}
	t.notes(lines)
}

func (t *text) notes(lines []string) {
	for i, line := range lines {
		if i == textNotes {
			t.Paragraph(fmt.Sprintf("%d more of this kind", len(lines)-i), t.Dim)
			break
		}
		t.Paragraph(line, t.Dim)
	}
}

// unknown is what is missing of some GPUs for the same reason.
type unknown struct {
	what string
	why  string
	gpus []*docGPU // nil: told with another
}

type unknowns []*unknown

// Inlined, it would make the program 2 kB larger.
//
//go:noinline
func (l *unknowns) add(g *docGPU, what, why string) {
	for _, have := range *l {
		if have.what == what && have.why == why {
			have.gpus = append(have.gpus, g)
			return
		}
	}
	*l = append(*l, &unknown{what, why, []*docGPU{g}})
}

// unknown says why figures are missing.
func (t *text) unknown() {
	var groups unknowns
	for i := range t.GPUs {
		g := t.GPUs[i]
		for j, name := range [...]string{"utilization", "SM activity", "memory", "power", "temperature"} {
			v := [...]*docValues{&g.Utilization, &g.SM, &g.Memory, &g.Power, &g.Temperature}[j]
			if v.Unknown > 0 {
				groups.add(g, name, t.missing(v.Count, g, v.Reason))
			}
		}
		if g.Energy.Reason != "" {
			groups.add(g, "energy", t.missing(0, g, g.Energy.Reason))
		}
		if g.ListsReason != "" {
			groups.add(g, "processes", t.missing(g.ListsRead, g, g.ListsReason))
		}
	}
	var lines []string
	for i, g := range groups {
		if g.gpus == nil {
			continue
		}
		on := t.labels(g.gpus)
		for _, other := range groups[i+1:] {
			if other.why == g.why && other.gpus != nil && t.labels(other.gpus) == on {
				g.what += ", " + other.what
				other.gpus = nil
			}
		}
		lines = append(lines, on+": "+g.what+" unknown"+g.why)
	}
	t.notes(lines)
}

// missing says in how many snapshots of g something was unknown that was known in
// so many, and why.
func (t *text) missing(known int64, g *docGPU, reason word) string {
	why := ", " + strings.ReplaceAll(string(reason), "_", " ")
	if known > 0 {
		return fmt.Sprintf(" in %d of %s%s", g.Snapshots-known, count(g.Snapshots, "snapshot", "snapshots"), why)
	}
	return why
}

// states tells when GPUs were not there or could not be read.
func (t *text) states() {
	begun := false
	for i := range t.GPUs {
		g := t.GPUs[i]
		line := ""
		for _, state := range g.States {
			if state.value > 0 {
				line += ", " + state.key + " " + span(state.value)
			}
		}
		shown, not := 0, g.PeriodsLeft
		for j := range g.Periods {
			p := g.Periods[j]
			if p.State == monitor.OK.String() {
				continue
			}
			if shown == textPeriods {
				not++
				continue
			}
			shown++
			line += "; " + p.State + " " + t.period(p.First, p.Last)
			if p.Reason != "" {
				line += ": " + string(p.Reason)
			}
		}
		if shown == 0 && not == 0 || g.Parent != nil && sameStates(g, t.GPUs[*g.Parent]) {
			continue
		}
		if not > 0 {
			line += "; " + count(not, "more period", "more periods")
		}
		if !begun {
			t.section("States")
			begun = true
		}
		t.Paragraph(t.named(g)+": "+strings.TrimLeft(line, ",; "), t.Plain)
	}
}

// sameStates reports whether an instance fared as its GPU did.
func sameStates(g, parent *docGPU) bool {
	for i := range g.States {
		if g.States[i] != parent.States[i] {
			return false
		}
	}
	return len(g.Periods) == len(parent.Periods) && g.PeriodsLeft == parent.PeriodsLeft
}

// slowed tells for how long GPUs were slowed by what.
func (t *text) slowed() {
	all := members{}
	for i := range t.GPUs {
	reasons:
		for _, m := range t.GPUs[i].Throttle {
			if m.key == "idle" {
				continue // which slows nothing
			}
			for j := range all {
				if all[j].key == m.key {
					all[j].value += m.value
					continue reasons
				}
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].value > all[j].value })
	shown := all[:min(len(all), textReasons)]
	t.section("Slowed: for how long, and percent of the time in which it was known")
	columns := []ansi.Column{{Head: "GPU", Right: true, Gap: 1, Most: 8}}
	for _, m := range shown {
		columns = append(columns, ansi.Column{Head: ansi.Cut(strings.ReplaceAll(m.key, "_", " "), 14), Right: true, Gap: 2, Least: 10, Most: 14})
	}
	columns = append(columns, ansi.Column{})
	type slow struct {
		row    ansi.Row
		place  int
		passed nanos // by the reason that did so most
	}
	var rows []slow
	for i := range t.GPUs {
		g := t.GPUs[i]
		r := slow{ansi.Row{Cells: []ansi.Cell{ansi.CellOf(t.label(g), t.Bold)}}, i, 0}
		for _, m := range shown {
			cell := ansi.CellOf("", t.Plain)
			for _, have := range g.Throttle {
				if have.key == m.key {
					r.passed = max(r.passed, have.value)
					cell.Text = fmt.Sprintf("%s %3.0f%%", span(have.value), 100*float64(have.value)/float64(max(g.ThrottleKnown, 1)))
				}
			}
			r.row.Cells = append(r.row.Cells, cell)
		}
		if r.passed > 0 {
			rows = append(rows, r)
		}
	}
	// Of many GPUs those that were slowed most, in the order in which they stand.
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].passed > rows[j].passed })
	more := rows[min(len(rows), textSlowed):]
	rows = rows[:len(rows)-len(more)]
	sort.Slice(rows, func(i, j int) bool { return rows[i].place < rows[j].place })
	var table []ansi.Row
	for _, r := range rows {
		table = append(table, r.row)
	}
	t.Table(columns, table, t.Dim)
	if len(more) > 0 {
		t.Paragraph(count(int64(len(more)), "more GPU", "more GPUs")+", "+span(more[0].passed)+" each at most", t.Dim)
	}
	line := ""
	for _, m := range all[len(shown):] {
		line += ", " + strings.ReplaceAll(m.key, "_", " ") + " " + span(m.value)
	}
	if line != "" {
		t.Paragraph("all GPUs together: "+line[2:], t.Plain)
	}
}

// finding is an alarm or an Xid error, of several GPUs where it is the same.
type finding struct {
	text        string
	level       monitor.Level
	gpus        []*docGPU
	first, last stamp
	passed      nanos // the longest
	times       int64 // the most of a GPU
	differ      bool  // not all GPUs have both
	xid         bool
}

func (t *text) alarms() {
	type kind struct {
		text  string
		level monitor.Level
		xid   bool
	}
	var list []*finding
	known := map[kind]*finding{}
	left := int64(0)
	add := func(g *docGPU, f finding) {
		k := kind{f.text, f.level, f.xid}
		have := known[k]
		if have == nil {
			f.gpus = []*docGPU{g}
			list = append(list, &f)
			known[k] = &f
			return
		}
		if have.gpus[len(have.gpus)-1] != g {
			have.gpus = append(have.gpus, g)
		}
		if time.Time(f.first).Before(time.Time(have.first)) {
			have.first = f.first
		}
		if time.Time(f.last).After(time.Time(have.last)) {
			have.last = f.last
		}
		have.differ = have.differ || f.passed != have.passed || f.times != have.times
		have.passed = max(have.passed, f.passed)
		have.times = max(have.times, f.times)
	}
	for i := range t.GPUs {
		g := t.GPUs[i]
		left += g.AlarmsLeft
		for j := range g.Alarms {
			// Xid errors have their own times; how long they were told means nothing.
			if a := g.Alarms[j]; a.Code != "xid" {
				add(g, finding{text: a.Text, level: a.level, first: a.First, last: a.Last, passed: a.Seconds, times: a.Times})
			}
		}
		for j := range g.XIDs {
			x := g.XIDs[j]
			f := finding{text: "Xid " + strconv.Itoa(x.Code), level: monitor.Warn, first: x.First, last: x.Last, times: x.Count, xid: true}
			for k := range g.gpu.alarms {
				if a := g.gpu.alarms[k]; a.code == "xid" && a.mark == f.text {
					f.text, _, _ = strings.Cut(a.text, " (")
					f.level = a.level
				}
			}
			add(g, f)
		}
		left += g.XIDsLeft
	}
	if len(list) == 0 && left == 0 {
		return
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].level != list[j].level {
			return list[i].level > list[j].level
		}
		return time.Time(list[i].first).Before(time.Time(list[j].first))
	})
	t.section("Alarms, as last worded")
	for i, f := range list {
		if i == textAlarms {
			t.Paragraph(fmt.Sprintf("%d more", len(list)-i), t.Dim)
			break
		}
		line := t.period(f.first, f.last) + " " + t.labels(f.gpus) + ": " + f.text
		how := ""
		if !f.xid {
			how = ", seen for " + span(f.passed)
		}
		if f.times > 1 {
			how += ", " + strconv.FormatInt(f.times, 10) + " times"
		}
		if how != "" && len(f.gpus) > 1 {
			how += " each"
			if f.differ {
				how += " at most"
			}
		}
		if how != "" {
			line += " (" + how[2:] + ")"
		}
		style := t.Plain
		switch f.level {
		case monitor.Critical:
			style = t.Critical
		case monitor.Warn:
			style = t.Warn
		}
		t.Paragraph(line, style)
	}
	if left > 0 {
		t.Paragraph("others were too many to tell apart", t.Warn)
	}
}

func (t *text) processes() {
	read := false
	for i := range t.GPUs {
		read = read || t.GPUs[i].ListsRead > 0
	}
	if !read {
		return // said with the GPUs
	}
	if len(t.Processes) == 0 {
		t.End()
		t.Paragraph("no process", t.Dim)
		return
	}
	t.section("Processes: most memory, mean load, and for how long they were seen")
	var rows []ansi.Row
	for i := range t.Processes[:min(len(t.Processes), textProcesses)] {
		rows = append(rows, t.process(t.Processes[i]))
	}
	t.Table([]ansi.Column{
		{Head: "GPU", Right: true, Gap: 1, Most: 9},
		{Head: "PID", Right: true, Gap: 1, Least: 7},
		{Head: "USER", Gap: 1, Least: 7, Most: 8},
		{Head: "GPU MEM", Right: true, Gap: 1, Least: 9},
		{Head: "SM", Right: true, Gap: 1, Least: 4},
		{Head: "SEEN", Right: true, Gap: 1, Least: 6},
		{Head: "FIRST", Gap: 1}, {Head: "LAST", Gap: 1},
		{Head: "NAME", Gap: 1},
	}, rows, t.Dim)
	if n := len(t.Processes) - len(rows); n > 0 {
		t.Paragraph(count(int64(n), "more process", "more processes")+" with less memory", t.Dim)
	}
	if n := t.ProcessesLeft.Count; n > 0 {
		line := count(n, "process", "processes") + " more than are told apart"
		if v := t.ProcessesLeft.Peak; v != nil {
			line += ", of " + report.Size(monitor.OfFloat(*v)) + " at most"
		}
		t.Paragraph(line, t.Warn)
	}
}

func (t *text) process(p *docProc) ansi.Row {
	named := func(w *string) ansi.Cell {
		if w == nil || *w == "" {
			return ansi.CellOf("?", t.Dim)
		}
		return ansi.CellOf(*w, t.Plain)
	}
	is := func(key string) bool { // not measured
		for _, e := range p.Provenance {
			if e.key == key {
				return true
			}
		}
		return false
	}
	var on []string
	for i := range p.GPUs {
		on = append(on, t.label(t.GPUs[p.GPUs[i].GPU]))
	}
	gpus := strings.Join(on, ",")
	switch {
	case len(on) == 0:
		gpus = "?"
	case p.GPUsLeft:
		gpus = on[0] + " +?"
	case len(on) > 3:
		gpus = on[0] + " +" + strconv.Itoa(len(on)-1)
	}
	memory := monitor.Unknown(monitor.NotSampled)
	if p.Peak != nil {
		memory = monitor.OfFloat(*p.Peak)
		if is("peak_gpu_memory_bytes") {
			memory.Provenance = monitor.Estimated
		}
	}
	size := report.Size(memory)
	if p.Peak != nil && *p.Peak*perGiB > mostGiB {
		size = ">" + strconv.Itoa(mostGiB) + " GiB"
	}
	load := number(p.SM, 1, 0, is("mean_sm_percent"), 99999)
	if p.SM != nil {
		load += "%"
	}
	short := func(at stamp) string {
		if t.oneDay && t.day(at) == t.day(stamp(*t.First)) {
			return t.format(at, "15:04:05")
		}
		return t.format(at, "01-02 15:04")
	}
	return ansi.Row{Cells: []ansi.Cell{
		ansi.CellOf(gpus, t.Bold),
		ansi.CellOf(strconv.FormatUint(uint64(p.PID), 10), t.Plain),
		named(p.User),
		ansi.CellOf(size, t.Plain),
		ansi.CellOf(load, t.Plain),
		ansi.CellOf(span(p.Seconds), t.Plain),
		ansi.CellOf(short(p.First), t.Plain), ansi.CellOf(short(p.Last), t.Plain),
		named(p.Name),
	}}
}

func (t *text) gaps() {
	if t.Gaps.Count == 0 {
		return
	}
	t.section(fmt.Sprintf("%s in the recording, %s in all", count(t.Gaps.Count, "gap", "gaps"), span(t.Gaps.Seconds)))
	for i := range t.Gaps.List {
		if i == textGaps {
			t.Paragraph(fmt.Sprintf("%d more", t.Gaps.Count-int64(i)), t.Dim)
			break
		}
		g := t.Gaps.List[i]
		t.Paragraph(t.period(g.From, g.To)+" ("+span(g.Seconds)+")", t.Plain)
	}
}
