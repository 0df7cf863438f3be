package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/screen"
)

// mode is what comes out.
type mode uint8

const (
	modeLive mode = iota
	modeText
	modeJSON
	modeCSV
	modeProcessCSV
	modePrometheus
)

// outputs are the flags that choose one.
const outputs = "--once, --json, --csv, --csv-processes or --prometheus"

const (
	defaultInterval = time.Second
	minInterval     = 100 * time.Millisecond
	maxInterval     = time.Hour
	minTimeout      = time.Millisecond
	maxTimeout      = 24 * time.Hour
)

// options are what the command line says.
type options struct {
	mode        mode
	interval    time.Duration
	intervalSet bool
	gpus        []string // parts of the list; nil is all, if visible is too
	visible     []string // the GPUs that CUDA_VISIBLE_DEVICES shows
	count       int
	countSet    bool
	output      string // a file instead of standard output
	noCommands  bool
	demo        bool
	timeout     time.Duration // 0: none
	color       string
	ascii       bool
	nvml        string
	root        string
	rootFrom    string // the flag or variable that said it
	choice      monitor.Choice
	view        string // "": the screen's own choice
	noMouse     bool
	readOnly    bool
	help        bool
	version     bool
	inDefaults  bool     // the flags read now are those of NVTOP_LITE_OPTS
	command     string   // "": none
	operands    []string // of the command
	given       []string // the flags that were given
	quiet       bool     // doctor: problems only
	wake        bool
	duration    time.Duration // record: 0 until stopped
	speed       float64       // replay
	at          string        // replay, diff: a time; "" none
}

// flag is one flag of the command line, for the parser and the completions.
type flag struct {
	long, short string
	value       string // what it takes, "" for none
	set         func(o *options, value string) error
	noDefault   bool            // does not stand in NVTOP_LITE_OPTS
	commandOnly bool            // only commands take it
	words       func() []string // all that it can be; nil where that is no closed set
}

// flags stand in the order of --help.
var flags = []flag{
	{long: "interval", short: "i", value: "SEC", set: setInterval},
	{long: "gpus", short: "g", value: "LIST", set: setGPUs},
	{long: "once", short: "1", set: func(o *options, _ string) error { return o.setMode(modeText) }, noDefault: true},
	{long: "json", short: "j", set: func(o *options, _ string) error { return o.setMode(modeJSON) }, noDefault: true},
	{long: "csv", set: func(o *options, _ string) error { return o.setMode(modeCSV) }, noDefault: true},
	{long: "csv-processes", set: func(o *options, _ string) error { return o.setMode(modeProcessCSV) }, noDefault: true},
	{long: "prometheus", set: func(o *options, _ string) error { return o.setMode(modePrometheus) }, noDefault: true},
	{long: "count", short: "n", value: "N", set: setCount, noDefault: true},
	{long: "output", short: "o", value: "FILE", set: func(o *options, v string) error { return setPath(&o.output, "--output", v) }, noDefault: true},
	{long: "filter", value: "TEXT", set: func(o *options, v string) error { o.choice.Text = v; return nil }},
	{long: "user", value: "NAME", set: func(o *options, v string) error { o.choice.User = v; return nil }},
	{long: "sort", value: "[-]COLUMN", set: setSort, words: monitor.ColumnWords},
	{long: "no-processes", set: func(o *options, _ string) error { o.choice.None = true; return nil }},
	{long: "no-commands", set: func(o *options, _ string) error { o.noCommands = true; return nil }, noDefault: true},
	{long: "view", value: "VIEW", set: func(o *options, v string) error { o.view = v; return nil }, words: screen.ModeWords},
	{long: "for", value: "DURATION", set: setFor, noDefault: true, commandOnly: true},
	{long: "speed", value: "X", set: setSpeed, noDefault: true, commandOnly: true},
	{long: "at", value: "TIME", set: setAt, noDefault: true, commandOnly: true},
	{long: "quiet", short: "q", set: func(o *options, _ string) error { o.quiet = true; return nil }, noDefault: true, commandOnly: true},
	{long: "demo", set: func(o *options, _ string) error { o.demo = true; return nil }},
	{long: "wake", set: func(o *options, _ string) error { o.wake = true; return nil }},
	{long: "timeout", value: "SEC", set: setTimeout},
	{long: "color", value: "WHEN", set: func(o *options, v string) error { o.color = v; return nil }, words: colorWords},
	{long: "ascii", set: func(o *options, _ string) error { o.ascii = true; return nil }},
	{long: "no-mouse", set: func(o *options, _ string) error { o.noMouse = true; return nil }},
	{long: "read-only", set: func(o *options, _ string) error { o.readOnly = true; return nil }},
	{long: "nvml", value: "PATH", set: func(o *options, v string) error { return setPath(&o.nvml, "--nvml", v) }, noDefault: true},
	{long: "root", value: "DIR", set: func(o *options, v string) error { o.rootFrom = "--root"; return setPath(&o.root, "--root", v) }, noDefault: true},
	{long: "version", short: "V", set: func(o *options, _ string) error { o.version = true; return nil }, noDefault: true},
	{long: "help", short: "h", set: func(o *options, _ string) error { o.help = true; return nil }, noDefault: true},
}

// parse reads the command line.
func parse(args []string) (*options, error) {
	o := &options{interval: defaultInterval, count: 1, color: "auto", speed: 1}
	return o, o.read(args)
}

// optsVariable holds default flags for the live screen.
const optsVariable = "NVTOP_LITE_OPTS"

// parseLive reads the command line of a live screen over its default flags.
func parseLive(defaults string, args []string) (*options, error) {
	o := &options{interval: defaultInterval, count: 1, color: "auto", speed: 1, inDefaults: true}
	if err := o.read(strings.Fields(defaults)); err != nil {
		var wrong *usageError
		if errors.As(err, &wrong) {
			wrong.what = optsVariable + ": " + wrong.what
		}
		return o, err
	}
	o.inDefaults = false
	return o, o.read(args)
}

// read takes arguments. Help and version win over what is wrong elsewhere in
// them.
func (o *options) read(args []string) error {
	var first error
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			for _, word := range args {
				if err := o.setCommand(word); err != nil && first == nil {
					first = err
				}
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
		return nil
	}
	if first == nil {
		first = o.checkCommand()
	}
	return first
}

// parseOne takes one argument, and the value behind it where it needs one.
func parseOne(o *options, arg string, rest []string) ([]string, error) {
	if len(arg) < 2 || arg[0] != '-' {
		return rest, o.setCommand(arg)
	}
	name := strings.TrimPrefix(arg[1:], "-")
	name, value, glued := strings.Cut(name, "=")
	f := find(name, !strings.HasPrefix(arg, "--"))
	if f == nil {
		return rest, unknownFlag(arg, name)
	}
	shown := "--" + f.long
	switch {
	case f.noDefault && o.inDefaults:
		return rest, &usageError{what: shown + " is no default flag", hint: "give it on the command line"}
	case f.value == "" && glued:
		return rest, &usageError{what: shown + " takes no value"}
	case f.value != "" && !glued:
		if len(rest) == 0 {
			return rest, &usageError{what: shown + " needs a value: " + f.value}
		}
		value, rest = rest[0], rest[1:]
	}
	if f.words != nil {
		word := value
		if f.value[0] == '[' { // [-]
			word = strings.TrimPrefix(word, "-")
		}
		if err := oneOf(shown, word, f.words()); err != nil {
			return rest, err
		}
	}
	o.given = append(o.given, f.long)
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
		return &usageError{what: "one output at a time: " + outputs}
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
	switch {
	case err != nil:
		return &usageError{what: fmt.Sprintf("--timeout: %q is no time; expected seconds such as 5, or 500ms", v)}
	case d < minTimeout || d > maxTimeout:
		return &usageError{what: fmt.Sprintf("--timeout: %q is not within 0.001 to 86400 seconds", v)}
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
		return 0, monitor.Errorf("%q is no time", v)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(f, 0) || f > 1e9 {
		return 0, monitor.Errorf("%q is no time", v)
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

func setFor(o *options, v string) error {
	d, err := parseSeconds(v)
	if err != nil {
		d, err = time.ParseDuration(v)
	}
	if err != nil || d <= 0 {
		return &usageError{what: fmt.Sprintf("--for: %q is no time above 0; expected seconds, or such as 90s, 15m, 1h30m", v)}
	}
	o.duration = d
	return nil
}

const minSpeed, maxSpeed = 0.1, 1000

func setSpeed(o *options, v string) error {
	x, err := strconv.ParseFloat(strings.TrimSuffix(v, "x"), 64)
	if err != nil || !(x >= minSpeed && x <= maxSpeed) {
		return &usageError{what: fmt.Sprintf("--speed: %q is no number within 0.1 to 1000; 2 is twice as fast as it was", v)}
	}
	o.speed = x
	return nil
}

func setAt(o *options, v string) error {
	if v == "" {
		return &usageError{what: "--at needs a time that is not empty"}
	}
	o.at = v
	return nil
}

var colors = []string{"auto", "always", "never", "16", "256", "truecolor"}

func colorWords() []string { return colors }

// oneOf checks a word that has to be one of a few.
func oneOf(name, v string, words []string) error {
	if slices.Contains(words, v) {
		return nil
	}
	return &usageError{what: fmt.Sprintf("%s: %q is none of %s", name, v, strings.Join(words, ", "))}
}

func setSort(o *options, v string) error {
	word, reverse := strings.CutPrefix(v, "-")
	o.choice.Reverse = reverse
	o.choice.Sort = monitor.ParseColumn(word)
	return nil
}

func setPath(dst *string, name, v string) error {
	if v == "" {
		return &usageError{what: name + " needs a path that is not empty"}
	}
	*dst = v
	return nil
}

// takeEnvironment takes from the environment what no flag said, and returns
// what to warn of. The demo uses no library and no files.
func (o *options) takeEnvironment(getenv func(string) string, elevated bool) (warnings []string) {
	for _, e := range []struct {
		name, flag string
		dst        *string
	}{{"NVTOP_LITE_NVML", "nvml", &o.nvml}, {"NVTOP_LITE_ROOT", "root", &o.root}} {
		v := getenv(e.name)
		switch {
		case v == "" || o.demo || !o.takes(e.flag):
		case elevated:
			warnings = append(warnings, ignored(e.name))
		case *e.dst == "":
			*e.dst = v
			if e.dst == &o.root {
				o.rootFrom = e.name
			}
		}
	}
	// It only takes away, so that it counts whoever runs the program.
	if v := getenv("NVTOP_LITE_READ_ONLY"); v != "" && v != "0" {
		o.readOnly = true
	}
	return warnings
}

// takeDefaults reads the arguments of the live screen once more, behind the default
// flags of the environment.
func (o *options) takeDefaults(args []string, getenv func(string) string, elevated bool) (with *options, warnings []string, err error) {
	defaults := getenv(optsVariable)
	switch {
	case defaults == "":
		return o, nil, nil
	case elevated:
		return o, []string{ignored(optsVariable)}, nil
	}
	o, err = parseLive(defaults, args)
	return o, nil, err
}

// ignored is the warning about a variable of someone with fewer rights.
func ignored(variable string) string {
	return variable + " is ignored, since this program runs with more rights than its caller"
}

const rootHint = "it is the folder that has /proc, /sys, /etc, /var and /dev"

// check looks at flags that depend on each other, and settles the count.
func (o *options) check() error {
	monitoring := o.command == "" && o.mode == modeLive
	switch {
	case o.countSet && monitoring:
		return &usageError{what: "--count goes with " + outputs}
	case o.output != "" && monitoring:
		return &usageError{what: "--output goes with " + outputs}
	case o.noCommands && monitoring:
		return &usageError{what: "--no-commands goes with " + outputs}
	case o.mode == modePrometheus && (o.intervalSet || o.count != 1):
		return &usageError{what: "--prometheus is one snapshot: --interval and another --count do not go with it", hint: "let a timer call it, with --output for the file"}
	case o.output != "" && (o.count != 1 || o.intervalSet && !o.countSet):
		return &usageError{what: "--output takes one snapshot: several do not go with it", hint: "for several let the shell write them, with > FILE"}
	case o.demo && o.nvml != "":
		return &usageError{what: "--demo uses no NVML library: --nvml does not go with it"}
	case o.demo && o.root != "":
		return &usageError{what: "--demo reads no files: --root does not go with it"}
	case o.choice.None && o.view == "processes":
		return &usageError{what: "--view processes and --no-processes: one or the other"}
	}
	if o.root != "" {
		switch f, err := os.Stat(o.root); {
		case errors.Is(err, fs.ErrNotExist):
			return &usageError{what: fmt.Sprintf("%s: there is no folder %q", o.rootFrom, o.root), hint: rootHint}
		case err != nil:
			return &usageError{what: o.rootFrom + ": " + err.Error(), hint: rootHint}
		case !f.IsDir():
			return &usageError{what: fmt.Sprintf("%s: %q is no folder", o.rootFrom, o.root), hint: rootHint}
		}
	}
	if o.output == "-" {
		o.output = "" // as in record
	}
	if (o.intervalSet || o.command == commandRecord) && !o.countSet {
		o.count = 0
	}
	return nil
}

// takeVisible puts the GPUs that CUDA shows in the place of "visible", and
// returns what to warn of.
func (o *options) takeVisible(lookup func(string) (string, bool)) (warning string, err error) {
	given := o.gpus
	o.gpus = nil
	for _, part := range given {
		if strings.TrimSpace(part) != "visible" {
			o.gpus = append(o.gpus, part)
		}
	}
	if len(o.gpus) == len(given) {
		return "", nil
	}
	value, set := lookup("CUDA_VISIBLE_DEVICES")
	if !set {
		return "", &usageError{what: "--gpus visible: CUDA_VISIBLE_DEVICES is not set", hint: "set it, or leave -g out for all GPUs"}
	}
	o.visible = monitor.VisibleDevices(value)
	if len(o.visible) == 0 {
		if len(o.gpus) > 0 {
			return "", nil
		}
		return "", &monitor.OpenError{
			Cause: monitor.CauseNoSuchGPU, What: "CUDA_VISIBLE_DEVICES shows no GPU",
			Hint: fmt.Sprintf("it is %q; change it, or leave -g out for all GPUs", value),
		}
	}
	visible, err := monitor.ParseSelection(strings.Join(o.visible, ","))
	if err != nil {
		return "", &usageError{what: "--gpus visible: CUDA_VISIBLE_DEVICES: " + err.Error()}
	}
	if order, _ := lookup("CUDA_DEVICE_ORDER"); order != "PCI_BUS_ID" && visible.HasNumbers() {
		warning = "CUDA counts the fastest GPU first unless CUDA_DEVICE_ORDER is PCI_BUS_ID; the numbers of CUDA_VISIBLE_DEVICES are taken for those of NVML here"
	}
	return warning, nil
}

// level decides how many colours to use on an output.
func (o *options) level(getenv func(string) string, terminal, vt bool) ansi.Level {
	if o.color == "auto" && (!terminal || runtime.GOOS == "windows" && !vt) { // an old console would show the escape sequences
		return ansi.LevelNone
	}
	return ansi.Detect(o.color, getenv, vt)
}
