package screen

// helpRow is a row of the help: a key and what it does, or a note.
type helpRow struct {
	where     helpFor
	key, does string
}

// helpFor says in which help a row stands.
type helpFor uint8

const (
	everywhere helpFor = iota
	inLive
	inReplay
)

// keys are the keys and what they do, as the help shows them.
var keys = [...]helpRow{
	{everywhere, "q  Ctrl+C", "quit"},
	{everywhere, "Esc", "close, drop the filter, thaw; else quit"},
	{everywhere, "h  ?  F1", "this help"},
	{inReplay, "Space", "pause, go on"},
	{inReplay, ".  ,", "one snapshot on, back; then paused"},
	{inReplay, "<  >", "slower, faster, up to what the disk and CPU allow"},
	{inReplay, "Left Right", "10 seconds back, on"},
	{inReplay, "PgUp PgDn", "10 minutes back, on"},
	{inReplay, "Home End", "start, end of the recording"},
	{inReplay, "t", "jump to a time: see below"},
	{everywhere, "Up Down jk", "select the one before, the next"},
	{inLive, "PgUp PgDn", "a page up, down"},
	{inLive, "Home End", "the first, the last"},
	{everywhere, "Tab", "between GPUs and processes"},
	{everywhere, "Enter", "details of the one selected"},
	{inLive, "Left Right", "a value in the graphs; the end of a command"},
	{everywhere, "v", "view: automatic, boxes, numbers, list, processes"},
	{everywhere, "g", "graphs: GPU, SM, memory, power, PCIe, NVLink"},
	{everywhere, "p", "process table on, off"},
	{everywhere, "o", "one row a process, on however many GPUs"},
	{everywhere, "s  F6", "sort by the next column"},
	{everywhere, "r", "sort the other way round"},
	{everywhere, "/", "filter: name, user, PID, command, GPU number"},
	{everywhere, "f", "freeze the order of the processes"},
	{inLive, "x  F9", "signal the process selected"},
	{everywhere, "0-9", "GPU with that number on, off"},
	{inLive, "Space", "stop asking the driver, go on"},
	{inLive, "+ -", "longer, shorter interval"},
	{everywhere, "m", "mouse on, off"},
	{everywhere, "Ctrl+L", "draw anew"},
	{everywhere, "Ctrl+Z", "suspend"},
}

// notes explain what the numbers are.
var notes = [...]helpRow{
	{where: inReplay, does: "A time is 14:05 or 14:05:30 (the first in the recording), 2026-11-30 14:05, RFC 3339 as in JSON, +90s or +1h30m after the start, -5m before the end. Times are in the zone of this terminal; ages, and what is stale, are as they were recorded."},
	{where: inReplay, does: "In details and in this help PgUp, PgDn, Home and End scroll. Nothing can be signalled in a recording, and its interval is what it is. Lines of it that are broken are passed over and counted. A click in a graph tells its value there."},
	{does: "HISTORY is that of UTIL, or of SM where UTIL is not given, as under MIG."},
	{does: "- is unknown, ? a name that cannot be read: Enter says why. SM, tensor: how much of the time these units worked, sampled by the GPU itself. → GPU is what the GPU receives, ← what it sends. TYPE: C compute, G graphics, M through MPS."},
	{does: "Power is the mean of about a second on newer GPUs; a GPU's details have that of the moment too. Loads of processes are sampled at other times than those of GPUs and need not add up to them. CPU is of one core: 100% is one at work."},
	{does: "Mouse: click selects, again opens; a click on a heading sorts; the wheel scrolls. Hold Shift to select text."},
	{where: inLive, does: "A signal goes to the process that was shown and no other: its start time is compared just before. Kernels before 5.3 leave a small gap between the two."},
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
	elsewhere := inReplay
	if s.v.Replay != nil {
		elsewhere = inLive
	}
	s.v.HelpScroll = s.showPanel(helpWidth, helpKeys, s.v.HelpScroll, " Keys ", "Esc close", func(b *panel) {
		for i := range keys {
			if k := &keys[i]; k.where != elsewhere {
				s.put(b, k.key, s.line.reset().text(s.pal.plain, k.does))
			}
		}
		for i := range notes {
			if notes[i].where == elsewhere {
				continue
			}
			b.blank()
			wide := *b
			wide.label = 0
			s.put(&wide, "", s.line.reset().text(s.pal.dim, notes[i].does))
			b.row = wide.row
		}
	})
}
