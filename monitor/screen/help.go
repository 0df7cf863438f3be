package screen

// keys are the keys and what they do, as the help shows them.
var keys = [...][2]string{
	{"q  Ctrl+C", "quit"},
	{"Esc", "close, drop the filter, thaw; else quit"},
	{"h  ?  F1", "this help"},
	{"Up Down jk", "select the one before, the next"},
	{"PgUp PgDn", "a page up, down"},
	{"Home End", "the first, the last"},
	{"Tab", "between GPUs and processes"},
	{"Enter", "details of the one selected"},
	{"Left Right", "a value in the graphs; the end of a command"},
	{"v", "view: automatic, boxes, numbers, list, processes"},
	{"g", "graphs: GPU, SM, memory, power, PCIe, NVLink"},
	{"p", "process table on, off"},
	{"o", "one row a process, on however many GPUs"},
	{"s  F6", "sort by the next column"},
	{"r", "sort the other way round"},
	{"/", "filter: name, user, PID, command, GPU number"},
	{"f", "freeze the order of the processes"},
	{"x  F9", "signal the process selected"},
	{"0-9", "GPU with that number on, off"},
	{"Space", "stop asking the driver, go on"},
	{"+ -", "longer, shorter interval"},
	{"m", "mouse on, off"},
	{"Ctrl+L", "draw anew"},
	{"Ctrl+Z", "suspend"},
}

// notes explain what the numbers are.
var notes = [...]string{
	"HISTORY is that of UTIL, or of SM where UTIL is not given, as under MIG.",
	"- is unknown, ? a name that cannot be read: Enter says why. SM, tensor: how much of the time these units worked, sampled by the GPU itself. → GPU is what the GPU receives, ← what it sends. TYPE: C compute, G graphics, M through MPS.",
	"Power is the mean of about a second on newer GPUs; a GPU's details have that of the moment too. Loads of processes are sampled at other times than those of GPUs and need not add up to them. CPU is of one core: 100% is one at work.",
	"Mouse: click selects, again opens; a click on a heading sorts; the wheel scrolls. Hold Shift to select text.",
	"A signal goes to the process that was shown and no other: its start time is compared just before. Kernels before 5.3 leave a small gap between the two.",
}

// updown names the keys that scroll.
func (s *Screen) updown() string {
	if s.opt.ASCII {
		return "Up/Down"
	}
	return "↑↓"
}

const (
	helpWidth = 66
	helpKeys  = 11
)

// drawHelp draws the help over the rest.
func (s *Screen) drawHelp() {
	s.v.HelpScroll = s.showPanel(helpWidth, helpKeys, s.v.HelpScroll, " Keys ", "Esc close", func(b *panel) {
		for i := range keys {
			s.put(b, keys[i][0], s.line.reset().text(s.pal.plain, keys[i][1]))
		}
		for _, note := range notes {
			b.blank()
			wide := *b
			wide.label = 0
			s.put(&wide, "", s.line.reset().text(s.pal.dim, note))
			b.row = wide.row
		}
	})
}
