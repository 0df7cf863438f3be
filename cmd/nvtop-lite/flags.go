package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// mode is what comes out.
type mode uint8

const (
	modeLive mode = iota
	modeText
	modeJSON
)

const (
	defaultInterval = time.Second
	minInterval     = 100 * time.Millisecond
	maxInterval     = time.Hour
)

// options are what the command line says.
type options struct {
	mode        mode
	interval    time.Duration
	intervalSet bool
	gpus        []string // parts of the list; nil is all
	count       int
	countSet    bool
	demo        bool
	timeout     time.Duration // 0: none
	color       string
	ascii       bool
	nvml        string
	root        string
	help        bool
	version     bool
}

// flag is one flag of the command line.
type flag struct {
	long, short string
	value       string // what it takes, "" for none
	set         func(o *options, value string) error
}

var flags = []flag{
	{"interval", "i", "SEC", setInterval},
	{"gpus", "g", "LIST", setGPUs},
	{"once", "1", "", func(o *options, _ string) error { return o.setMode(modeText) }},
	{"json", "j", "", func(o *options, _ string) error { return o.setMode(modeJSON) }},
	{"count", "n", "N", setCount},
	{"demo", "", "", func(o *options, _ string) error { o.demo = true; return nil }},
	{"timeout", "", "SEC", setTimeout},
	{"color", "", "WHEN", setColor},
	{"ascii", "", "", func(o *options, _ string) error { o.ascii = true; return nil }},
	{"nvml", "", "PATH", func(o *options, v string) error { return setPath(&o.nvml, "--nvml", v) }},
	{"root", "", "DIR", func(o *options, v string) error { return setPath(&o.root, "--root", v) }},
	{"version", "V", "", func(o *options, _ string) error { o.version = true; return nil }},
	{"help", "h", "", func(o *options, _ string) error { o.help = true; return nil }},
}

// parse reads the command line. Help and version win over what is wrong
// elsewhere in it.
func parse(args []string) (*options, error) {
	o := &options{interval: defaultInterval, count: 1, color: "auto"}
	var first error
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			if len(args) > 0 && first == nil {
				first = &usageError{what: fmt.Sprintf("%q: no command or file is expected here", args[0])}
			}
			break
		}
		rest, err := parseOne(o, arg, args)
		if err != nil && first == nil {
			first = err
		}
		args = rest
	}
	if o.help || o.version {
		return o, nil
	}
	return o, first
}

// parseOne takes one argument, and the value behind it where it needs one.
func parseOne(o *options, arg string, rest []string) ([]string, error) {
	if len(arg) < 2 || arg[0] != '-' {
		return rest, &usageError{what: fmt.Sprintf("%q: no such command", arg)}
	}
	name := strings.TrimPrefix(arg[1:], "-")
	name, value, glued := strings.Cut(name, "=")
	f := find(name, !strings.HasPrefix(arg, "--"))
	if f == nil {
		return rest, unknownFlag(arg, name)
	}
	shown := "--" + f.long
	switch {
	case f.value == "" && glued:
		return rest, &usageError{what: shown + " takes no value"}
	case f.value != "" && !glued:
		if len(rest) == 0 {
			return rest, &usageError{what: shown + " needs a value: " + f.value}
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, f.set(o, value)
}

// find looks a flag up: by its long name, and by its short one after a single
// dash.
func find(name string, short bool) *flag {
	for i := range flags {
		if flags[i].long == name || short && flags[i].short == name && name != "" {
			return &flags[i]
		}
	}
	return nil
}

func unknownFlag(arg, name string) error {
	e := &usageError{what: fmt.Sprintf("%q: no such flag", arg)}
	if !strings.HasPrefix(arg, "--") && len(name) > 1 {
		if f := find(name[:1], true); f != nil {
			if f.value != "" {
				e.hint = fmt.Sprintf("write -%s %s, with a blank", f.short, name[1:])
			} else {
				e.hint = "short flags are not joined: write each with its own dash"
			}
		}
	}
	return e
}

func (o *options) setMode(m mode) error {
	if o.mode != modeLive && o.mode != m {
		return &usageError{what: "--once and --json: one output at a time"}
	}
	o.mode = m
	return nil
}

func setInterval(o *options, v string) error {
	d, err := parseSeconds(v)
	switch {
	case err != nil && strings.Contains(v, ","):
		return &usageError{what: fmt.Sprintf("--interval: %q is no number of seconds", v), hint: "-i is the interval; to choose GPUs use -g " + v}
	case err != nil:
		return &usageError{what: fmt.Sprintf("--interval: %q is no time; expected seconds such as 0.5, or 500ms, 2s", v)}
	case d < minInterval || d > maxInterval:
		return &usageError{what: fmt.Sprintf("--interval: %q is not within 0.1 to 3600 seconds", v)}
	}
	o.interval, o.intervalSet = d, true
	return nil
}

func setTimeout(o *options, v string) error {
	d, err := parseSeconds(v)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return &usageError{what: fmt.Sprintf("--timeout: %q is no time; expected seconds above 0, such as 5, or 500ms", v)}
	}
	o.timeout = d
	return nil
}

// parseSeconds reads seconds with or without a fraction, or a number with ms or
// s behind it.
func parseSeconds(v string) (time.Duration, error) {
	number, unit := v, float64(time.Second)
	if n, ok := strings.CutSuffix(v, "ms"); ok {
		number, unit = n, float64(time.Millisecond)
	} else if n, ok := strings.CutSuffix(v, "s"); ok {
		number = n
	}
	if strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is no time", v)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(f, 0) || f > 1e9 {
		return 0, fmt.Errorf("%q is no time", v)
	}
	return time.Duration(math.Round(f * unit)), nil
}

func setGPUs(o *options, v string) error {
	o.gpus = strings.Split(v, ",")
	for _, part := range o.gpus {
		if strings.TrimSpace(part) == "visible" {
			continue // the environment is looked at later
		}
		if _, err := monitor.ParseSelection(part); err != nil {
			return &usageError{what: "--gpus: " + err.Error()}
		}
	}
	return nil
}

func setCount(o *options, v string) error {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return &usageError{what: fmt.Sprintf("--count: %q is no number of snapshots; 0 means until stopped", v)}
	}
	o.count, o.countSet = int(n), true
	return nil
}

func setColor(o *options, v string) error {
	switch v {
	case "auto", "always", "never", "16", "256", "truecolor":
		o.color = v
		return nil
	}
	return &usageError{what: fmt.Sprintf("--color: %q is none of auto, always, never, 16, 256, truecolor", v)}
}

func setPath(dst *string, name, v string) error {
	if v == "" {
		return &usageError{what: name + " needs a path that is not empty"}
	}
	*dst = v
	return nil
}

// takeEnvironment takes from the environment what no flag said, and returns
// what to warn of.
func (o *options) takeEnvironment(getenv func(string) string, elevated bool) (warnings []string) {
	for _, e := range []struct {
		name string
		dst  *string
	}{{"NVTOP_LITE_NVML", &o.nvml}, {"NVTOP_LITE_ROOT", &o.root}} {
		v := getenv(e.name)
		switch {
		case v == "":
		case elevated:
			warnings = append(warnings, e.name+" is ignored, since this program runs with more rights than its caller")
		case *e.dst == "":
			*e.dst = v
		}
	}
	return warnings
}

// check looks at flags that depend on each other, and settles the count.
func (o *options) check(getenv func(string) string) error {
	if o.countSet && o.mode == modeLive {
		return &usageError{what: "--count goes with --once or --json"}
	}
	if o.intervalSet && !o.countSet {
		o.count = 0
	}
	for i, part := range o.gpus {
		if strings.TrimSpace(part) != "visible" {
			continue
		}
		visible := getenv("CUDA_VISIBLE_DEVICES")
		if visible == "" {
			return &usageError{what: "--gpus visible: CUDA_VISIBLE_DEVICES is not set", hint: "set it, or leave -g out for all GPUs"}
		}
		if _, err := monitor.ParseSelection(visible); err != nil {
			return &usageError{what: "--gpus visible: CUDA_VISIBLE_DEVICES: " + err.Error()}
		}
		o.gpus = append(append(append([]string(nil), o.gpus[:i]...), strings.Split(visible, ",")...), o.gpus[i+1:]...)
		break
	}
	return nil
}

// level decides how many colours to use on an output.
func (o *options) level(getenv func(string) string, terminal, vt bool) ansi.Level {
	if o.color == "auto" && !terminal {
		return ansi.LevelNone
	}
	return ansi.Detect(o.color, getenv, vt)
}
