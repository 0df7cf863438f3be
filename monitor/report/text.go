package report

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// TextOptions are how the text looks.
type TextOptions struct {
	Level    ansi.Level     // which colours; the zero value gives plain text
	ASCII    bool           // no characters beyond ASCII
	Version  string         // of the program, for the first line
	Width    int            // cells of a line, 40 or more; 0 means 80
	Location *time.Location // of the times shown; nil means the local one
	// Choice is what the processes of the snapshot were chosen by. A column
	// sorts those of all GPUs together; without one they stand by GPU, as the
	// snapshot has them. None leaves their table out.
	Choice monitor.Choice
}

// AppendText appends s as a table of the GPUs, a table of their processes, and
// what is wrong, in lines that each end in a newline.
func AppendText(dst []byte, s *monitor.Snapshot, opts TextOptions) []byte {
	look := ansi.PageOptions{Level: opts.Level, ASCII: opts.ASCII, Width: opts.Width, Location: opts.Location}
	t := text{Page: ansi.NewPage(dst, look), s: s, opts: &opts, gradients: newGradients(opts.Level)}
	t.header()
	if len(s.GPUs) > 0 {
		t.gpus()
		t.module()
		if !opts.Choice.None {
			t.processes()
		}
	} else if s.Waiting == "" {
		t.Paragraph("no GPU", t.Warn)
	}
	t.alarms()
	return t.Bytes()
}

// text is one text being written.
type text struct {
	*ansi.Page
	gradients
	s    *monitor.Snapshot
	opts *TextOptions
}

// gradients are the colours of loads, by percent, and of temperatures, by °C.
type gradients struct{ load, heat []ansi.Color }

func newGradients(level ansi.Level) gradients {
	return gradients{
		load: ansi.Gradient(level, 101, ansi.Stop{At: 0, R: 95, G: 175, B: 95}, ansi.Stop{At: 20, R: 175, G: 215, B: 95},
			ansi.Stop{At: 40, R: 215, G: 215, B: 95}, ansi.Stop{At: 60, R: 215, G: 175, B: 95},
			ansi.Stop{At: 80, R: 215, G: 135, B: 95}, ansi.Stop{At: 100, R: 215, G: 95, B: 95}),
		heat: ansi.Gradient(level, 101, ansi.Stop{At: 30, R: 95, G: 135, B: 215}, ansi.Stop{At: 45, R: 95, G: 175, B: 175},
			ansi.Stop{At: 60, R: 95, G: 175, B: 95}, ansi.Stop{At: 72, R: 215, G: 215, B: 95},
			ansi.Stop{At: 80, R: 215, G: 135, B: 95}, ansi.Stop{At: 88, R: 215, G: 95, B: 95}),
	}
}

// of returns the style for the levels of findings.
func (t *text) of(l monitor.Level) ansi.Style {
	switch l {
	case monitor.Critical:
		return t.Critical
	case monitor.Warn:
		return t.Warn
	}
	return t.Plain
}

// known appends the text of t and what stands before it, where it is known.
func known(b, before string, t monitor.Text) string {
	if t.Known() && t.Value != "" {
		return b + before + t.Value
	}
	return b
}

func (t *text) header() {
	left := "nvtop-lite"
	if t.opts.Version != "" {
		left += " " + t.opts.Version
	}
	x := t.Line.Text(0, 0, left, t.Bold)
	left = known("", "  ", t.s.Host.Hostname)
	if t.s.Source != "" && t.s.Source != "live" {
		left += "  [" + t.s.Source + "]"
	}
	left += t.s.Time.In(t.Location).Format("  2006-01-02 15:04:05")
	right := known("", "driver ", t.s.Driver.Version)
	right = known(right, "  CUDA ", t.s.Driver.CUDAVersion)
	if p := &t.s.Platform; p.JetPack.Known() || p.L4T.Known() {
		right = known(right, "  JetPack ", p.JetPack)
		right = known(right, "  L4T ", p.L4T)
		right = known(right, "  ", p.PowerMode)
	}
	right = strings.TrimLeft(right, " ")
	room := t.Width
	if w := ansi.Width(right); w > 0 && x+ansi.Width(left)+2+w <= t.Width {
		t.Line.Text(t.Width-w, 0, right, t.Dim)
		room -= w + 2
	}
	t.Line.TextCut(x, 0, room-x, left, t.Plain)
	t.End()
}

// label names a GPU, which is its own parent, or an instance in few characters.
func label(g, parent *monitor.GPU) string {
	switch {
	case g != parent && g.GPUInstanceID >= 0:
		return label(parent, parent) + ":" + strconv.Itoa(g.GPUInstanceID)
	case g.Index >= 0:
		return strconv.Itoa(g.Index)
	}
	return "?"
}

// Number returns a value times scale with the given digits behind the point,
// "-" where it is unknown, "~" before what was not measured.
func Number(r monitor.Reading, scale float64, digits int) string {
	v, ok := r.Float()
	if !ok {
		return "-"
	}
	s := strconv.FormatFloat(v*scale, 'f', digits, 64)
	if r.Provenance != monitor.Measured {
		s = "~" + s
	}
	return s
}

// percent returns a percentage in the colour of its height.
func (t *text) percent(r monitor.Reading) ansi.Cell {
	v, ok := r.Float()
	if !ok {
		return ansi.CellOf("-", t.Dim)
	}
	return ansi.CellOf(Number(whole(r, v), 1, 0)+"%", ansi.Style{Fg: at(t.load, v)})
}

// whole returns r rounded half to even, as everywhere on screen.
func whole(r monitor.Reading, v float64) monitor.Reading {
	w := monitor.OfFloat(math.RoundToEven(v))
	w.Provenance = r.Provenance
	return w
}

func at(gradient []ansi.Color, v float64) ansi.Color {
	return gradient[int(math.RoundToEven(min(max(v, 0), float64(len(gradient)-1))))]
}

// share returns part as a percentage of whole.
func share(part, whole monitor.Reading) monitor.Reading {
	p, ok := part.Float()
	w, ok2 := whole.Float()
	if !ok || !ok2 || w <= 0 {
		return monitor.Unknown(monitor.NotSupported)
	}
	r := monitor.OfFloat(100 * p / w)
	r.Provenance = max(part.Provenance, whole.Provenance)
	return r
}

const (
	perGiB  = 1.0 / (1 << 30)
	perWatt = 1.0 / 1000
)

// of returns "part/whole", "-" where both are unknown.
func of(part, whole monitor.Reading, scale float64, digits int) string {
	p, w := Number(part, scale, digits), Number(whole, scale, digits)
	if p == "-" && w == "-" {
		return "-"
	}
	return p + "/" + w
}

func (t *text) gpus() {
	rows := []ansi.Row{}
	for i := range t.s.GPUs {
		g := &t.s.GPUs[i]
		rows = append(rows, t.gpu(g, g))
		for j := range g.MIG {
			rows = append(rows, t.gpu(&g.MIG[j], g))
		}
	}
	if len(t.s.GPUs) > 1 {
		rows = append(rows, t.sum())
	}
	t.Table([]ansi.Column{
		{Head: "GPU", Right: true, Gap: 1, Most: 8},
		{Head: "NAME", Gap: 1, Most: 16},
		{Head: "UTIL", Right: true, Gap: 1},
		{Head: "SM", Right: true, Gap: 1, Least: 4},
		{Head: "MEM", Right: true, Gap: 1, Least: 4},
		{Head: "GiB", Right: true, Gap: 1, Least: 8},
		{Head: "POWER W", Right: true, Gap: 1},
		{Head: "TEMP", Right: true, Gap: 1},
		{Head: "NOTE", Gap: 2},
	}, rows, t.Dim)
}

func (t *text) gpu(g, parent *monitor.GPU) ansi.Row {
	name := "?"
	if g.Name.Known() {
		name = strings.TrimPrefix(g.Name.Value, "NVIDIA ")
	}
	if parent != g && g.Profile != "" {
		name = g.Profile
	}
	cells := []ansi.Cell{ansi.CellOf(label(g, parent), t.Bold), ansi.CellOf(name, t.Plain)}
	if g.State != monitor.OK && g.State != monitor.Stale {
		style := t.Warn
		if g.State == monitor.Lost {
			style = t.Critical
		} else if g.State == monitor.Sleeping {
			style = t.Dim
		}
		return ansi.Row{Cells: append(cells, ansi.CellOf("-", t.Dim), ansi.CellOf(t.state(g), style)), Span: 3}
	}
	r := &g.Readings
	temperature := ansi.CellOf("-", t.Dim)
	if v, ok := r[monitor.TemperatureC].Float(); ok {
		unit := "°"
		if t.ASCII {
			unit = "C"
		}
		temperature = ansi.CellOf(Number(r[monitor.TemperatureC], 1, 0)+unit, ansi.Style{Fg: at(t.heat, v)})
	}
	return ansi.Row{Cells: append(cells,
		t.percent(r[monitor.UtilizationPercent]),
		t.percent(r[monitor.SMActivePercent]),
		t.percent(share(r[monitor.MemoryUsedBytes], r[monitor.MemoryTotalBytes])),
		ansi.CellOf(of(r[monitor.MemoryUsedBytes], r[monitor.MemoryTotalBytes], perGiB, 1), t.Plain),
		ansi.CellOf(of(r[monitor.PowerMW], r[monitor.PowerLimitMW], perWatt, 0), t.Plain),
		temperature,
		t.note(g),
	)}
}

// module says what the memory of integrated GPUs is, and what is known of the
// module that they are part of.
func (t *text) module() {
	p := &t.s.Platform
	begun := false
	for i := range t.s.GPUs {
		if g := &t.s.GPUs[i]; g.Integrated {
			if !begun {
				t.End()
				begun = true
			}
			t.Paragraph(t.memory(g), t.Plain)
		}
	}
	if !begun {
		return
	}
	facts := ""
	for i, x := range [...]*monitor.Text{&p.Model, &p.SoC, &p.JetPack, &p.L4T, &p.PowerMode, &p.Governor} {
		facts = known(facts, moduleFacts[i], *x)
	}
	parts := ""
	for i := range p.Parts {
		r := &p.Parts[i]
		first, state := &r.Readings[0], " -"
		switch on, known := first.Flag(); {
		case r.Kind > monitor.Engine:
			continue
		case r.Kind == monitor.Rail:
			state = " " + Number(*first, perWatt, 1) + " W"
			switch r.Scope {
			case "gpu":
				state += " (the GPU alone)"
			case "input":
				state += " (feeds everything)"
			}
		case known && !on:
			state = " off"
		case known:
			state = " on"
			fallthrough
		default:
			state = clocked(&r.Readings[monitor.EngineClock], &r.Readings[monitor.EngineLoad], state)
		}
		parts += ", " + r.Name + state
	}
	if b := clocked(&p.EMCMHz, &p.EMCPercent, ""); b != "" {
		parts += ", EMC" + b
	}
	t.list(facts)
	t.list(parts)
}

// list writes what begins with a comma, if anything.
func (t *text) list(s string) {
	if s != "" {
		t.Paragraph(s[len(", "):], t.Plain)
	}
}

var moduleFacts = [...]string{", ", ", ", ", JetPack ", ", L4T ", ", power mode ", ", governor "}

// clocked returns " 2133 MHz 41%", what is known of that, or none.
func clocked(clock, load *monitor.Reading, none string) string {
	b := ""
	if clock.Known() {
		b = " " + Number(*clock, 1, 0) + " MHz"
	}
	if load.Known() {
		b += " " + Number(*load, 1, 0) + "%"
	}
	if b == "" {
		return none
	}
	return b
}

// memory says what the memory of an integrated GPU is: the host's, or a part of
// it.
func (t *text) memory(g *monitor.GPU) string {
	h, used, total := &t.s.Host, &g.Readings[monitor.MemoryUsedBytes], &g.Readings[monitor.MemoryTotalBytes]
	name, how := "memory ", ""
	switch nvgpu := len(g.Sources) > 0 && g.Sources[0] == "tegra"; {
	case !g.MemoryUnified && total.Known():
		name = "carve-out "
	case !g.MemoryUnified:
	case nvgpu:
		name, how = "Shared ", " (nvmap)"
	default:
		name, how = "VRAM (shared) ", " (sum of GPU processes)"
	}
	b := "GPU " + label(g, g) + ": " + name + gib(used, total)
	if !used.Known() {
		how = ""
	}
	if a := g.Adapter; a != nil {
		how += ", shared " + gib(&a[monitor.SharedUsed], &a[monitor.SharedTotal])
	}
	if !g.MemoryUnified {
		return b + how
	}
	var host monitor.Reading
	all, _ := h.MemoryTotalBytes.Float()
	if left, ok := h.MemoryAvailableBytes.Float(); ok && left <= all {
		host = monitor.OfFloat(all - left)
	}
	b += how + ", host in use " + gib(&host, &h.MemoryTotalBytes) + ", avail " + gib(&h.MemoryAvailableBytes, nil)
	if v, _ := h.HugePagesTotalBytes.Float(); v > 0 {
		b += " + " + gib(&h.HugePagesFreeBytes, nil) + " huge pages"
	}
	return b
}

// gib returns "part/whole GiB", or without a whole the part.
func gib(part, whole *monitor.Reading) string {
	if whole == nil {
		return Number(*part, perGiB, 1) + " GiB"
	}
	return of(*part, *whole, perGiB, 1) + " GiB"
}

// state returns the state of a GPU that is not measured in words.
func (t *text) state(g *monitor.GPU) string {
	b := g.State.String()
	if g.StateSince != 0 && g.State != monitor.Unavailable {
		b += " " + Duration(t.s.Age(g.StateSince))
	}
	why := g.StateReason
	if g.State == monitor.Lost && why == "GPU is lost" {
		why = "" // said already
	}
	if why == "" && g.State == monitor.Unavailable {
		why = ReasonText(g.Unmeasured())
	}
	if why != "" {
		b += ": " + why
	}
	return b
}

// ReasonText returns the words for why there is no value.
func ReasonText(r monitor.Reason) string {
	switch r {
	case monitor.GPULost:
		return "GPU lost"
	case monitor.Timeout:
		return "no answer"
	case monitor.NotSampled:
		return "not read yet"
	}
	return strings.ReplaceAll(r.String(), "_", " ")
}

// Duration returns an age in words.
func Duration(d time.Duration) string {
	v := int64(d / time.Second)
	switch {
	case v >= 2*86400:
		return fmt.Sprintf("%d d", v/86400)
	case v >= 2*3600:
		return fmt.Sprintf("%d h", v/3600)
	case v >= 120:
		return fmt.Sprintf("%d min", v/60)
	}
	return fmt.Sprintf("%d s", v)
}

// Span returns a run time in few characters: 31s, 14m, 2h14m, 6d03h.
func Span(d time.Duration) string {
	v := max(int64(d/time.Second), 0)
	switch {
	case v < 60:
		return fmt.Sprintf("%ds", v)
	case v < 3600:
		return fmt.Sprintf("%dm", v/60)
	case v < 86400:
		return fmt.Sprintf("%dh%02dm", v/3600, v/60%60)
	}
	return fmt.Sprintf("%dd%02dh", v/86400, v/3600%24)
}

// Spell returns a time rounded to its two largest units: 31s, 8m57s, 2h14m,
// 6d03h.
func Spell(d time.Duration) string {
	s, m, h := d.Round(time.Second), d.Round(time.Minute), d.Round(time.Hour)
	switch {
	case s < time.Minute:
		return fmt.Sprintf("%ds", max(s, 0)/time.Second)
	case s < time.Hour:
		return fmt.Sprintf("%dm%02ds", s/time.Minute, s%time.Minute/time.Second)
	case m < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", m/time.Hour, m%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", h/(24*time.Hour), h%(24*time.Hour)/time.Hour)
}

// note returns what matters most about a GPU: what is wrong, else who uses it,
// else what is good to know.
func (t *text) note(g *monitor.GPU) ansi.Cell {
	if g.State == monitor.Stale {
		b := "stale"
		if g.Refreshed != 0 {
			b += " " + Duration(t.s.Age(g.Refreshed))
		}
		return ansi.CellOf(b, t.Warn)
	}
	worst := monitor.Health{}
	wrong := 0
	for _, h := range g.Health {
		if worst.Text == "" || h.Level > worst.Level {
			worst = h
		}
		if h.Level >= monitor.Warn {
			wrong++
		}
	}
	switch {
	case wrong > 1:
		return ansi.CellOf(fmt.Sprintf("%s +%d", worst.Text, wrong-1), t.of(worst.Level))
	case wrong == 1:
		return ansi.CellOf(worst.Text, t.of(worst.Level))
	case len(g.MIG) == 1:
		return ansi.CellOf("MIG: 1 instance", t.Plain)
	case len(g.MIG) > 1:
		return ansi.CellOf(fmt.Sprintf("MIG: %d instances", len(g.MIG)), t.Plain)
	}
	if len(g.Processes) > 0 {
		first := largest(g.Processes)
		b := strconv.FormatUint(uint64(first.PID), 10)
		if first.Name.Known() && first.Name.Value != "" {
			b = first.Name.Value
		}
		if v, ok := first.GPUMemoryBytes.Float(); ok {
			if v >= 0.1/perGiB || v == 0 {
				b += " " + strconv.FormatFloat(v*perGiB, 'f', 1, 64) + "G"
			} else {
				b += " " + strconv.FormatFloat(v*perGiB*1024, 'f', 0, 64) + "M"
			}
		}
		if n := len(g.Processes) - 1; n > 0 {
			b += fmt.Sprintf(" +%d", n)
		}
		return ansi.CellOf(b, t.Plain)
	}
	return ansi.CellOf(worst.Text, t.Plain)
}

// largest is the process that holds the most memory, of several the one with the
// lowest PID.
func largest(list []monitor.Process) *monitor.Process {
	held := func(p *monitor.Process) float64 {
		if v, ok := p.GPUMemoryBytes.Float(); ok {
			return v
		}
		return -1
	}
	best := &list[0]
	for i := range list {
		if p := &list[i]; held(p) > held(best) || held(p) == held(best) && p.PID < best.PID {
			best = p
		}
	}
	return best
}

// sum returns the row below the GPUs: means of percentages, totals of the
// rest, over those that are measured.
func (t *text) sum() ansi.Row {
	var load, sm, used, total, power, limit monitor.Total
	n := 0
	for i := range t.s.GPUs {
		g := &t.s.GPUs[i]
		if g.State != monitor.OK && g.State != monitor.Stale {
			continue
		}
		n++
		r := &g.Readings
		load.Add(r[monitor.UtilizationPercent])
		sm.Add(r[monitor.SMActivePercent])
		used.Add(r[monitor.MemoryUsedBytes])
		total.Add(r[monitor.MemoryTotalBytes])
		power.Add(r[monitor.PowerMW])
		limit.Add(r[monitor.PowerLimitMW])
	}
	sign := "Σ"
	if t.ASCII {
		sign = "all"
	}
	covered := fmt.Sprintf("%d of %d GPUs", n, len(t.s.GPUs))
	if n == 0 {
		return ansi.Row{Cells: []ansi.Cell{ansi.CellOf(sign, t.Dim), ansi.CellOf(covered, t.Dim)}, Span: 1}
	}
	mean := func(sum *monitor.Total) ansi.Cell {
		r := sum.Reading()
		if v, ok := r.Float(); ok {
			r = monitor.OfFloat(v / float64(n))
		}
		return t.percent(r)
	}
	return ansi.Row{Cells: []ansi.Cell{
		ansi.CellOf(sign, t.Dim), {}, mean(&load), mean(&sm),
		t.percent(share(used.Reading(), total.Reading())),
		ansi.CellOf(of(used.Reading(), total.Reading(), perGiB, 0), t.Plain),
		ansi.CellOf(of(power.Reading(), limit.Reading(), perWatt, 0), t.Plain),
		{}, ansi.CellOf(covered, t.Dim),
	}}
}

// command returns what a process is called: its command line, or its name
// where that is unknown.
func (t *text) command(p *monitor.Process) string {
	switch {
	case p.Command.Known() && p.Command.Value != "":
		return monitor.MaskSecrets(p.Command.Value)
	case p.Name.Known() && p.Name.Value != "":
		return p.Name.Value
	case p.Namespace == monitor.NamespaceOutside:
		return t.s.Platform.Outside()
	}
	return "?"
}

func (t *text) processes() {
	var chosen []monitor.Placed
	var unread []string
	read, all := 0, 0 // lists
	list := func(g, parent *monitor.GPU, place int) {
		all++
		if g.Unmeasured() != monitor.Known {
			return // its row says why
		}
		if g.ProcStatus.Reason != monitor.Known {
			unread = append(unread, fmt.Sprintf("GPU %s: processes unknown, %s", label(g, parent), ReasonText(g.ProcStatus.Reason)))
			return
		}
		read++
		for i := range g.Processes {
			chosen = append(chosen, monitor.Placed{Process: &g.Processes[i], GPU: g, Parent: parent, Place: place})
		}
	}
	for i := range t.s.GPUs {
		g := &t.s.GPUs[i]
		list(g, g, i)
		for j := range g.MIG {
			if g.Unmeasured() == monitor.Known {
				list(&g.MIG[j], g, i)
			}
		}
	}
	c := &t.opts.Choice
	if c.Sort != monitor.ByDefault {
		sort.SliceStable(chosen, func(i, j int) bool { return c.Compare(&chosen[i], &chosen[j]) < 0 })
	}
	var rows []ansi.Row
	for i := range chosen {
		rows = append(rows, t.process(&chosen[i]))
	}
	if len(rows) > 0 {
		t.End()
		t.Table([]ansi.Column{
			{Head: "GPU", Right: true, Gap: 1, Most: 8},
			{Head: "PID", Right: true, Gap: 1, Least: 8},
			{Head: "USER", Gap: 1, Least: 7, Most: 8},
			{Head: "TYPE", Gap: 1},
			{Head: "SM", Right: true, Gap: 1, Least: 4},
			{Head: "GPU MEM", Right: true, Gap: 1, Least: 8},
			{Head: "%", Right: true, Gap: 1, Least: 3},
			{Head: "CPU", Right: true, Gap: 1, Least: 5},
			{Head: "TIME", Right: true, Gap: 1, Least: 6},
			{Head: "COMMAND", Gap: 1},
		}, rows, t.Dim)
	} else if read == all {
		t.End()
		t.Paragraph(nobody(c, "a GPU"), t.Dim)
	} else if read > 0 && len(unread) == 0 {
		t.End()
		t.Paragraph(nobody(c, "a GPU that could be read"), t.Dim)
	}
	if len(unread) > 0 {
		t.End()
		for _, s := range unread {
			t.Paragraph(s, t.Warn)
		}
	}
}

// nobody says that no process is shown of those on a GPU.
func nobody(c *monitor.Choice, gpu string) string {
	switch {
	case c.Text != "" && c.User != "":
		return fmt.Sprintf("no process of %s on %s matches %q", c.User, gpu, c.Text)
	case c.Text != "":
		return fmt.Sprintf("no process on %s matches %q", gpu, c.Text)
	case c.User != "":
		return fmt.Sprintf("no process of %s uses %s", c.User, gpu)
	}
	return "no process uses " + gpu
}

func (t *text) process(at *monitor.Placed) ansi.Row {
	p := at.Process
	user := "?"
	if p.User.Known() && p.User.Value != "" {
		user = p.User.Value
	}
	kinds := ""
	for _, k := range [...]struct {
		is   monitor.ProcessTypes
		word string
	}{{monitor.Compute, "+C"}, {monitor.Graphics, "+G"}, {monitor.MPS, "+M"}} {
		if p.Types&k.is != 0 {
			kinds += k.word
		}
	}
	if kinds = strings.TrimPrefix(kinds, "+"); kinds == "" {
		kinds = "-"
	}
	cpu := t.percent(p.CPUPercent)
	cpu.Style = t.Plain // of one core: 101 % is no alarm
	ran := "-"
	if start, ok := p.StartTime.Int(); ok {
		ran = Span(t.s.Time.Sub(time.Unix(0, start)))
	}
	return ansi.Row{Cells: []ansi.Cell{
		ansi.CellOf(label(at.GPU, at.Parent), t.Bold),
		ansi.CellOf(strconv.FormatUint(uint64(p.PID), 10), t.Plain),
		ansi.CellOf(user, t.Plain),
		ansi.CellOf(kinds, t.Plain),
		t.percent(p.SMPercent),
		ansi.CellOf(Size(p.GPUMemoryBytes), t.Plain),
		t.percent(share(p.GPUMemoryBytes, at.GPU.Readings[monitor.MemoryTotalBytes])),
		cpu,
		ansi.CellOf(ran, t.Plain),
		ansi.CellOf(t.command(p), t.Plain),
	}}
}

// Size returns a number of bytes in GiB, or in MiB where it is small.
func Size(r monitor.Reading) string {
	v, ok := r.Float()
	switch {
	case !ok:
		return "-"
	case v > 0 && v < 0.1*(1<<30):
		return Number(r, 1.0/(1<<20), 0) + " MiB"
	}
	return Number(r, perGiB, 1) + " GiB"
}

// alarms says in full what is wrong, the worst first.
func (t *text) alarms() {
	type alarm struct {
		text  string
		level monitor.Level
	}
	var alarms []alarm
	for i := range t.s.GPUs {
		g := &t.s.GPUs[i]
		for j, h := range g.Health {
			if h.Level < monitor.Warn || said(g.Health[:j], h.Text) {
				continue
			}
			b := "GPU " + label(g, g)
			if strings.HasPrefix(h.Text, "lost") {
				b += " " + h.Text
			} else {
				b += ": " + h.Text
			}
			alarms = append(alarms, alarm{b, h.Level})
		}
	}
	sort.SliceStable(alarms, func(i, j int) bool { return alarms[i].level > alarms[j].level })
	if t.s.Waiting != "" {
		alarms = append(alarms, alarm{"waiting for the driver: " + t.s.Waiting, monitor.Warn})
	}
	for _, w := range t.s.Warnings {
		alarms = append(alarms, alarm{"warning: " + w.Text, monitor.Warn})
	}
	if len(alarms) > 0 && len(t.s.GPUs) > 0 {
		t.End()
	}
	for _, a := range alarms {
		t.Paragraph(a.text, t.of(a.level))
	}
}

// said reports whether one of the findings has text in it.
func said(findings []monitor.Health, text string) bool {
	return slices.ContainsFunc(findings, func(h monitor.Health) bool { return strings.Contains(h.Text, text) })
}
