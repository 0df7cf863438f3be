package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	if opts.Width == 0 {
		opts.Width = 80
	}
	opts.Width = max(opts.Width, 40)
	if opts.Location == nil {
		opts.Location = time.Local
	}
	line := ansi.NewFrame(opts.Width, 1)
	line.SetASCII(opts.ASCII)
	t := text{page: page{dst: dst, line: line, width: opts.Width, level: opts.Level}, s: s, opts: &opts, styles: newStyles(opts.Level)}
	t.header()
	if len(s.GPUs) > 0 {
		t.gpus()
		if !opts.Choice.None {
			t.processes()
		}
	} else if s.Waiting == "" {
		t.paragraph("no GPU", t.warn)
	}
	t.alarms()
	return t.dst
}

// text is one text being written.
type text struct {
	page
	styles
	s    *monitor.Snapshot
	opts *TextOptions
}

// styles are the looks, for the colours that there are.
type styles struct {
	plain, bold, dim, warn, critical ansi.Style
	load, heat                       []ansi.Color // by percent and by °C
}

func newStyles(level ansi.Level) styles {
	return styles{
		bold:     ansi.Style{Attr: ansi.Bold},
		dim:      ansi.Style{Attr: ansi.Dim},
		warn:     ansi.Style{Fg: level.RGB(215, 215, 95), Attr: ansi.Bold},
		critical: ansi.Style{Fg: level.RGB(215, 95, 95), Attr: ansi.Bold},
		load: ansi.Gradient(level, 101, ansi.Stop{At: 0, R: 95, G: 175, B: 95}, ansi.Stop{At: 20, R: 175, G: 215, B: 95},
			ansi.Stop{At: 40, R: 215, G: 215, B: 95}, ansi.Stop{At: 60, R: 215, G: 175, B: 95},
			ansi.Stop{At: 80, R: 215, G: 135, B: 95}, ansi.Stop{At: 100, R: 215, G: 95, B: 95}),
		heat: ansi.Gradient(level, 101, ansi.Stop{At: 30, R: 95, G: 135, B: 215}, ansi.Stop{At: 45, R: 95, G: 175, B: 175},
			ansi.Stop{At: 60, R: 95, G: 175, B: 95}, ansi.Stop{At: 72, R: 215, G: 215, B: 95},
			ansi.Stop{At: 80, R: 215, G: 135, B: 95}, ansi.Stop{At: 88, R: 215, G: 95, B: 95}),
	}
}

// of returns the style for the levels of findings.
func (st *styles) of(l monitor.Level) ansi.Style {
	switch l {
	case monitor.Critical:
		return st.critical
	case monitor.Warn:
		return st.warn
	}
	return st.plain
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
	x := t.line.Text(0, 0, left, t.bold)
	left = known("", "  ", t.s.Host.Hostname)
	if t.s.Source != "" && t.s.Source != "live" {
		left += "  [" + t.s.Source + "]"
	}
	left += t.s.Time.In(t.opts.Location).Format("  2006-01-02 15:04:05")
	right := known("", "driver ", t.s.Driver.Version)
	right = known(right, "  CUDA ", t.s.Driver.CUDAVersion)
	if p := &t.s.Platform; p.JetPack.Known() || p.L4T.Known() {
		right = known(right, "  JetPack ", p.JetPack)
		right = known(right, "  L4T ", p.L4T)
		right = known(right, "  ", p.PowerMode)
	}
	right = strings.TrimLeft(right, " ")
	room := t.width
	if w := ansi.Width(right); w > 0 && x+ansi.Width(left)+2+w <= t.width {
		t.line.Text(t.width-w, 0, right, t.dim)
		room -= w + 2
	}
	t.line.TextCut(x, 0, room-x, left, t.plain)
	t.end()
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

// number returns a value times scale with the given digits behind the point,
// "-" where it is unknown, "~" before what was not measured.
func number(r monitor.Reading, scale float64, digits int) string {
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
func (t *text) percent(r monitor.Reading) cell {
	v, ok := r.Float()
	if !ok {
		return cell{"-", t.dim}
	}
	return cell{number(whole(r, v), 1, 0) + "%", ansi.Style{Fg: at(t.load, v)}}
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
	p, w := number(part, scale, digits), number(whole, scale, digits)
	if p == "-" && w == "-" {
		return "-"
	}
	return p + "/" + w
}

func (t *text) gpus() {
	rows := []row{}
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
	t.table([]column{
		{head: "GPU", right: true, gap: 1, most: 8},
		{head: "NAME", gap: 1, most: 16},
		{head: "UTIL", right: true, gap: 1},
		{head: "SM", right: true, gap: 1, least: 4},
		{head: "MEM", right: true, gap: 1, least: 4},
		{head: "GiB", right: true, gap: 1, least: 8},
		{head: "POWER W", right: true, gap: 1},
		{head: "TEMP", right: true, gap: 1},
		{head: "NOTE", gap: 2},
	}, rows, t.dim)
}

func (t *text) gpu(g, parent *monitor.GPU) row {
	name := "?"
	if g.Name.Known() {
		name = strings.TrimPrefix(g.Name.Value, "NVIDIA ")
	}
	if parent != g && g.Profile != "" {
		name = g.Profile
	}
	cells := []cell{{label(g, parent), t.bold}, {name, t.plain}}
	if g.State != monitor.OK && g.State != monitor.Stale {
		style := t.warn
		if g.State == monitor.Lost {
			style = t.critical
		} else if g.State == monitor.Sleeping {
			style = t.dim
		}
		return row{cells: append(cells, cell{"-", t.dim}, cell{t.state(g), style}), span: 3}
	}
	r := &g.Readings
	temperature := cell{"-", t.dim}
	if v, ok := r[monitor.TemperatureC].Float(); ok {
		unit := "°"
		if t.opts.ASCII {
			unit = "C"
		}
		temperature = cell{number(r[monitor.TemperatureC], 1, 0) + unit, ansi.Style{Fg: at(t.heat, v)}}
	}
	return row{cells: append(cells,
		t.percent(r[monitor.UtilizationPercent]),
		t.percent(r[monitor.SMActivePercent]),
		t.percent(share(r[monitor.MemoryUsedBytes], r[monitor.MemoryTotalBytes])),
		cell{of(r[monitor.MemoryUsedBytes], r[monitor.MemoryTotalBytes], perGiB, 1), t.plain},
		cell{of(r[monitor.PowerMW], r[monitor.PowerLimitMW], perWatt, 0), t.plain},
		temperature,
		t.note(g),
	)}
}

// state returns the state of a GPU that is not measured in words.
func (t *text) state(g *monitor.GPU) string {
	b := g.State.String()
	if g.StateSince != 0 && g.State != monitor.Unavailable {
		b += " " + duration(t.s.Age(g.StateSince))
	}
	why := g.StateReason
	if g.State == monitor.Lost && why == "GPU is lost" {
		why = "" // said already
	}
	if why == "" && g.State == monitor.Unavailable {
		why = reason(g.Unmeasured())
	}
	if why != "" {
		b += ": " + why
	}
	return b
}

// reason returns the words for why there is no value.
func reason(r monitor.Reason) string {
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

// duration returns an age in words.
func duration(d time.Duration) string {
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

// span returns a run time in few characters: 31s, 14m, 2h14m, 6d03h.
func span(d time.Duration) string {
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

// note returns what matters most about a GPU: what is wrong, else who uses it,
// else what is good to know.
func (t *text) note(g *monitor.GPU) cell {
	if g.State == monitor.Stale {
		b := "stale"
		if g.Refreshed != 0 {
			b += " " + duration(t.s.Age(g.Refreshed))
		}
		return cell{b, t.warn}
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
		return cell{fmt.Sprintf("%s +%d", worst.Text, wrong-1), t.of(worst.Level)}
	case wrong == 1:
		return cell{worst.Text, t.of(worst.Level)}
	case len(g.MIG) == 1:
		return cell{"MIG: 1 instance", t.plain}
	case len(g.MIG) > 1:
		return cell{fmt.Sprintf("MIG: %d instances", len(g.MIG)), t.plain}
	}
	if len(g.Processes) > 0 {
		first := slices.MinFunc(g.Processes, byMemory)
		b := strconv.FormatUint(uint64(first.PID), 10)
		if first.Name.Known() && first.Name.Value != "" {
			b = first.Name.Value
		}
		if v, ok := first.GPUMemoryBytes.Float(); ok {
			b += " " + strconv.FormatFloat(v*perGiB, 'f', 1, 64) + "G"
		}
		if n := len(g.Processes) - 1; n > 0 {
			b += fmt.Sprintf(" +%d", n)
		}
		return cell{b, t.plain}
	}
	return cell{worst.Text, t.plain}
}

// byMemory orders processes by memory, the largest first, then by PID.
func byMemory(a, b monitor.Process) int {
	x, ok := a.GPUMemoryBytes.Float()
	y, ok2 := b.GPUMemoryBytes.Float()
	if !ok {
		x = -1
	}
	if !ok2 {
		y = -1
	}
	return cmp.Or(cmp.Compare(y, x), cmp.Compare(a.PID, b.PID))
}

// sum returns the row below the GPUs: means of percentages, totals of the
// rest, over those that are measured.
func (t *text) sum() row {
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
	if t.opts.ASCII {
		sign = "all"
	}
	covered := fmt.Sprintf("%d of %d GPUs", n, len(t.s.GPUs))
	if n == 0 {
		return row{cells: []cell{{sign, t.dim}, {covered, t.dim}}, span: 1}
	}
	mean := func(sum *monitor.Total) cell {
		r := sum.Reading()
		if v, ok := r.Float(); ok {
			r = monitor.OfFloat(v / float64(n))
		}
		return t.percent(r)
	}
	return row{cells: []cell{
		{sign, t.dim}, {}, mean(&load), mean(&sm),
		t.percent(share(used.Reading(), total.Reading())),
		{of(used.Reading(), total.Reading(), perGiB, 0), t.plain},
		{of(power.Reading(), limit.Reading(), perWatt, 0), t.plain},
		{}, {covered, t.dim},
	}}
}

// command returns what a process is called: its command line, or its name
// where that is unknown.
func command(p *monitor.Process) string {
	switch {
	case p.Command.Known() && p.Command.Value != "":
		return monitor.MaskSecrets(p.Command.Value)
	case p.Name.Known() && p.Name.Value != "":
		return p.Name.Value
	case p.Namespace == monitor.NamespaceOutside:
		return "(outside this container)"
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
			unread = append(unread, fmt.Sprintf("GPU %s: processes unknown, %s", label(g, parent), reason(g.ProcStatus.Reason)))
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
		slices.SortStableFunc(chosen, func(a, b monitor.Placed) int { return c.Compare(&a, &b) })
	}
	var rows []row
	for i := range chosen {
		rows = append(rows, t.process(&chosen[i]))
	}
	if len(rows) > 0 {
		t.end()
		t.table([]column{
			{head: "GPU", right: true, gap: 1, most: 8},
			{head: "PID", right: true, gap: 1, least: 8},
			{head: "USER", gap: 1, least: 7, most: 8},
			{head: "TYPE", gap: 1},
			{head: "SM", right: true, gap: 1, least: 4},
			{head: "GPU MEM", right: true, gap: 1, least: 8},
			{head: "%", right: true, gap: 1, least: 3},
			{head: "CPU", right: true, gap: 1, least: 5},
			{head: "TIME", right: true, gap: 1, least: 6},
			{head: "COMMAND", gap: 1},
		}, rows, t.dim)
	} else if read == all {
		t.end()
		t.paragraph(nobody(c, "a GPU"), t.dim)
	} else if read > 0 && len(unread) == 0 {
		t.end()
		t.paragraph(nobody(c, "a GPU that could be read"), t.dim)
	}
	if len(unread) > 0 {
		t.end()
		for _, s := range unread {
			t.paragraph(s, t.warn)
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

func (t *text) process(at *monitor.Placed) row {
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
	cpu.style = t.plain // of one core: 101 % is no alarm
	ran := "-"
	if start, ok := p.StartTime.Int(); ok {
		ran = span(t.s.Time.Sub(time.Unix(0, start)))
	}
	return row{cells: []cell{
		{label(at.GPU, at.Parent), t.bold},
		{strconv.FormatUint(uint64(p.PID), 10), t.plain},
		{user, t.plain},
		{kinds, t.plain},
		t.percent(p.SMPercent),
		{size(p.GPUMemoryBytes), t.plain},
		t.percent(share(p.GPUMemoryBytes, at.GPU.Readings[monitor.MemoryTotalBytes])),
		cpu,
		{ran, t.plain},
		{command(p), t.plain},
	}}
}

// size returns a number of bytes in GiB, or in MiB where it is small.
func size(r monitor.Reading) string {
	v, ok := r.Float()
	switch {
	case !ok:
		return "-"
	case v > 0 && v < 0.1*(1<<30):
		return number(r, 1.0/(1<<20), 0) + " MiB"
	}
	return number(r, perGiB, 1) + " GiB"
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
		if g.MemoryUnified {
			alarms = append(alarms, alarm{"GPU " + label(g, g) + ": unified memory, shared with the host", monitor.Info})
		}
	}
	slices.SortStableFunc(alarms, func(a, b alarm) int { return cmp.Compare(b.level, a.level) })
	if t.s.Waiting != "" {
		alarms = append(alarms, alarm{"waiting for the driver: " + t.s.Waiting, monitor.Warn})
	}
	for _, w := range t.s.Warnings {
		alarms = append(alarms, alarm{"warning: " + w.Text, monitor.Warn})
	}
	if len(alarms) > 0 && len(t.s.GPUs) > 0 {
		t.end()
	}
	for _, a := range alarms {
		t.paragraph(a.text, t.of(a.level))
	}
}

// said reports whether one of the findings has text in it.
func said(findings []monitor.Health, text string) bool {
	return slices.ContainsFunc(findings, func(h monitor.Health) bool { return strings.Contains(h.Text, text) })
}
