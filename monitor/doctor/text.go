package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"nvtop-lite/internal/ansi"
)

// TextOptions are how the page looks.
type TextOptions struct {
	Level ansi.Level // which colours; the zero value gives plain text
	ASCII bool       // no characters beyond ASCII
}

// page is the page being written. Its lines are as long as they come: nothing
// is cut from what goes into a bug report.
type page struct {
	dst   []byte
	line  *ansi.Frame
	level ansi.Level
	bold  ansi.Style
	ink   map[string]ansi.Style // by level of a problem
}

// AppendText appends the page.
func (f *Found) AppendText(dst []byte, o TextOptions) []byte {
	p := &page{dst: dst, line: ansi.NewFrame(1, 1), level: o.Level, bold: ansi.Style{Attr: ansi.Bold}, ink: map[string]ansi.Style{
		critical: {Fg: o.Level.RGB(215, 95, 95), Attr: ansi.Bold},
		warning:  {Fg: o.Level.RGB(215, 215, 95), Attr: ansi.Bold},
		info:     {Attr: ansi.Bold},
	}}
	p.line.SetASCII(o.ASCII)
	f.head(p)
	f.problems(p)
	f.tables(p)
	return p.dst
}

// say writes a line: a part in a style, and the rest.
func (p *page) say(part string, style ansi.Style, rest string) {
	p.line.Resize(max(1, ansi.Width(part)+ansi.Width(rest)), 1)
	p.line.Clear()
	p.line.Text(p.line.Text(0, 0, part, style), 0, rest, ansi.Style{})
	p.dst = append(ansi.AppendLine(p.dst, p.line, 0, p.level), '\n')
}

// fact writes a line of the upper part: what it is about, and what is so.
func (p *page) fact(name, text string) { p.say(fmt.Sprintf("%-12s", name), p.bold, text) }

// parts joins what is there.
func parts(sep string, list ...string) string {
	var there []string
	for _, s := range list {
		if s != "" {
			there = append(there, s)
		}
	}
	return strings.Join(there, sep)
}

// with puts a name before a text that is there.
//
//go:noinline
func with(name string, w Word) string {
	if w == "" {
		return ""
	}
	return name + " " + string(w)
}

//go:noinline
func or(w Word, none string) string {
	if w == "" {
		return none
	}
	return string(w)
}

func (f *Found) head(p *page) {
	title := "nvtop-lite " + f.Program.Version + " doctor"
	if f.Source == "demo" {
		title += "  [demo]"
	}
	p.say(title, p.bold, "  "+f.Time.Format("2006-01-02T15:04:05Z"))
	revision := with("revision", f.Program.Revision)
	if revision != "" && f.Program.Modified {
		revision += " (modified)"
	}
	p.fact("program", parts("  ", f.Program.Version, f.Program.OS+"/"+f.Program.Arch, f.Program.Go, revision))
	s := &f.System
	uid := ""
	if s.UID != nil {
		uid = "uid " + strconv.Itoa(*s.UID)
	}
	if f.Source == "demo" {
		p.fact("system", "simulated: nothing of this machine was looked at")
		f.terminalFacts(p)
		return
	}
	p.fact("system", parts("  ", or(Word(s.Platform), "unknown"), string(s.Model), with("kernel", s.Kernel), uid, with("read under", s.Root)))
	if s.SoC != "" || s.L4T != "" {
		p.fact("jetson", parts("  ", string(s.SoC), "L4T "+or(s.L4T, "unknown"), "JetPack "+or(s.JetPack, "unknown")))
	}
	if f.hasFiles() {
		p.fact("container", or(s.Container, "none")+"  PID namespace "+s.PIDNamespace)
	}
	d := &f.Driver
	fit := "whether they fit is not known"
	if d.Fit != nil && *d.Fit {
		fit = "they fit"
	} else if d.Fit != nil {
		fit = "THEY DIFFER"
	}
	if f.Integrated.Stack != "" {
		p.fact("stack", f.stackSays())
	}
	if says := f.memorySays(); says != "" {
		p.fact("memory", says)
	}
	none := "unknown"
	if f.jetson.onFiles {
		none = nvgpu
	}
	p.fact("driver", parts("  ", or(d.Version, none), with("NVML", d.NVML), with("CUDA", d.CUDA)))
	module := "none in sight"
	if d.Evidence != "" {
		module = "version unknown"
	}
	if !f.hasFiles() {
		f.libraryFacts(p)
		f.environmentFacts(p)
		f.terminalFacts(p)
		return
	}
	if f.jetson.onFiles && d.KernelModule == "" { // nvgpu and NVML have no versions to compare
		module, fit = nvgpu, ""
	}
	p.fact("module", parts("  ", or(d.KernelModule, module), with("library", first(d.Version, d.Library)), fit, with("sign", d.Evidence)))
	if d.Nouveau {
		p.fact("", "nouveau is loaded")
	}
	f.libraryFacts(p)
	f.nodeFacts(p)
	for _, c := range f.PCI {
		p.fact("PCI", parts("  ", c.BusID, with("device", c.Device), "driver "+or(c.Driver, "none"), string(c.Power)))
	}
	f.environmentFacts(p)
	f.terminalFacts(p)
}

func (f *Found) environmentFacts(p *page) {
	for _, v := range []struct {
		name  string
		value *string
	}{
		{"NVIDIA_VISIBLE_DEVICES", f.Environment.VisibleDevices}, {"NVIDIA_DRIVER_CAPABILITIES", f.Environment.DriverCapabilities},
		{"CUDA_VISIBLE_DEVICES", f.Environment.CUDAVisibleDevices}, {"SLURM_JOB_GPUS", f.Environment.SlurmJobGPUs},
	} {
		if v.value != nil {
			p.fact("environment", fmt.Sprintf("%s=%q", v.name, *v.value))
		}
	}
}

func (f *Found) terminalFacts(p *page) {
	t := &f.Terminal
	size := "no terminal"
	if t.Is {
		size = "size unknown"
	}
	if t.Columns != nil && t.Rows != nil {
		size = fmt.Sprintf("%dx%d", *t.Columns, *t.Rows)
	}
	utf8 := "UTF-8"
	if !t.UTF8 {
		utf8 = "no UTF-8"
	}
	p.fact("terminal", parts("  ", size, "colours "+t.Colors, utf8))
}

//go:noinline
func first(list ...Word) Word {
	for _, w := range list {
		if w != "" {
			return w
		}
	}
	return ""
}

func (f *Found) libraryFacts(p *page) {
	l := &f.Library
	count := ""
	if l.Functions != nil {
		count = fmt.Sprintf("%d of %d functions", *l.Functions, l.Known)
	}
	none := "none"
	if f.jetson.onFiles {
		none = "none, and none is needed"
	}
	p.fact("library", parts("  ", or(l.Path, none), count))
	for _, t := range l.Tried {
		file := ""
		if t.File != "" && string(t.File) != t.Path {
			file = " (" + string(t.File) + ")"
		}
		p.fact("  tried", t.Path+file+": "+t.Answer)
	}
	if len(l.Missing) > 0 {
		p.fact("  missing", strings.Join(l.Missing, " "))
	}
	for _, line := range f.Facts {
		about, rest, _ := strings.Cut(line, ": ")
		p.fact(about, rest)
	}
}

func (f *Found) nodeFacts(p *page) {
	if len(f.Nodes) == 0 {
		p.fact("nodes", "none")
	}
	for _, n := range f.Nodes {
		p.fact("node", parts("  ", n.Path, n.Mode, fmt.Sprintf("owner %d:%d", n.UID, n.GID), string(n.Device), n.Access))
	}
}

func (f *Found) problems(p *page) {
	p.say("", p.bold, "")
	if len(f.Problems) == 0 {
		p.say("no problem was found", p.bold, "")
		return
	}
	for i := range f.Problems {
		q := &f.Problems[i]
		p.say(fmt.Sprintf("%-8s", q.Level), p.ink[q.Level], "  "+q.about()+q.Text)
		if q.Cause != "" {
			p.say("", p.bold, "          cause: "+string(q.Cause))
		}
		if q.Cure != "" {
			p.say("", p.bold, "          cure:  "+string(q.Cure))
		}
	}
	if f.OK {
		p.say("nothing critical", p.bold, "")
	}
}

// number is a time in a table.
func number(micros *float64) string {
	if micros == nil {
		return "-"
	}
	return strconv.FormatFloat(*micros, 'f', 0, 64)
}

func (f *Found) tables(p *page) {
	if len(f.Integrated.Readings) > 0 {
		p.say("", p.bold, "")
		p.say("Jetson", p.bold, "")
		rows(p, f.Integrated.Readings, "file")
	}
	if len(f.Calls) > 0 {
		p.say("", p.bold, "")
		p.say("calls about no GPU", p.bold, "")
		for _, c := range f.Calls {
			p.row(c.Function, or(c.Answer, notReturned), number(c.Micros), "")
		}
	}
	for i := range f.GPUs {
		f.GPUs[i].table(p)
	}
}

// row writes one row of a table.
func (p *page) row(name, value, took, rest string) {
	p.say("", p.bold, "  "+pad(name, 34)+" "+pad(value, 24)+" "+strings.Repeat(" ", max(0, 8-len(took)))+took+"  "+rest)
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-ansi.Width(s))) }

func (g *GPU) table(p *page) {
	p.say("", p.bold, "")
	index := "-"
	if g.Index != nil {
		index = strconv.Itoa(*g.Index)
	}
	p.say("GPU "+index, p.bold, parts("  ", "  "+or(g.Name, "name unknown"), string(g.Architecture), string(g.BusID), string(g.UUID), with("driver model", g.Model), g.State, string(g.StateReason),
		fmt.Sprintf("%d calls, %s µs", g.Calls, number(&g.Micros))))
	rows(p, g.Readings, "function or file; what was passed over")
}

// rows writes the rows of readings.
func rows(p *page, list []Reading, how string) {
	p.row("reading", "value or reason", "µs", how)
	for i := range list {
		r := &list[i]
		p.row(r.Key, r.shown(), number(r.Micros), r.how())
	}
}

// shown is the value of a reading, or why there is none.
func (r *Reading) shown() string {
	switch v := r.Value.(type) {
	case nil:
		return string(r.Reason)
	case []string:
		if len(v) == 0 {
			return "none"
		}
		return strings.Join(v, ",")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// how says which functions gave a reading and which were passed over.
func (r *Reading) how() string {
	text := ""
	if n := len(r.Functions); n > 0 {
		text = r.Functions[n-1]
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
	}
	if r.Answer != "" {
		text += " " + string(r.Answer)
	}
	for i, passed := range r.Passed {
		sep := ", "
		if i == 0 {
			sep = "; "
		}
		text += sep + passed.Function + " " + passed.Answer
	}
	return text
}
