package main

import (
	"os"
	"runtime"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/doctor"
)

// doctorPatience is how long the doctor takes at most where nobody says: the
// deadlines of a one-shot end before.
const doctorPatience = time.Minute

// examine is the command doctor.
func examine(o *options, getenv func(string) string) int {
	oneThread()
	limit := o.timeout
	if limit == 0 {
		limit = doctorPatience
	}
	setup := o.setup()
	setup.Complete, setup.Count, setup.Notes = true, 1, true
	setup.Timeout = limit * 9 / 10 // so that what it finds comes in time
	vt, restore := ansi.EnableVT(os.Stdout)
	defer restore()
	level := o.level(getenv, ansi.IsTerminal(os.Stdout), vt)
	client := apart.Start(apart.Options{Setup: setup, Build: build})
	defer client.Close()
	found := doctor.Examine(client.Events(), doctor.Options{
		Version: version, Demo: o.demo, Library: o.nvml, Root: o.root, Timeout: limit,
		Lookup: os.LookupEnv, Terminal: terminalFacts(o, getenv, vt),
	})
	var out []byte
	switch {
	case o.quiet:
		for _, line := range found.Lines() {
			out = append(append(out, line...), '\n')
		}
	case o.mode == modeJSON:
		out = found.Append(nil)
	default:
		out = found.AppendText(nil, doctor.TextOptions{Level: level, ASCII: o.plain(getenv)})
	}
	if len(out) > 0 {
		if code, ok := write(out); !ok {
			return code
		}
	}
	if !found.OK {
		return codeFailed
	}
	return codeDone
}

// terminalFacts are what standard output is.
func terminalFacts(o *options, getenv func(string) string, vt bool) doctor.Terminal {
	t := doctor.Terminal{Is: ansi.IsTerminal(os.Stdout), Colors: ansi.Detect(o.color, getenv, vt).String(), UTF8: ansi.UTF8(getenv)}
	if t.Is && ansi.Live(getenv, runtime.GOOS == "windows") {
		if term, err := ansi.Open(os.Stdin, os.Stdout); err == nil {
			if w, h, err := term.Size(); err == nil {
				t.Columns, t.Rows = &w, &h
			}
			term.Close()
		}
	}
	return t
}
