// Nvtop-lite shows what the NVIDIA GPUs of this machine do: live on a terminal,
// once as text, or as data for scripts.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/live"
)

//go:generate go -C ../../scripts/winres run .

// version is the program's version. The Windows resources beside this file have
// it too: go generate.
const version = "0.1.0"

// neededFiles is how many files the program must be able to open besides those
// that are open at its start. Of itself it opens about ten; the driver's library
// opens some for each GPU.
const neededFiles = 24

// The exit codes. One that a signal ends adds its number to codeSignal.
const (
	codeDone    = 0
	codeFailed  = 1 // nothing could be read, or output failed
	codeUsage   = 2
	codeRefused = 3 // diff: the two cannot be compared
	codeSignal  = 128
	codeHangup  = codeSignal + 1
)

// gcPercent is how much garbage there may be for what is in use. Half of Go's own
// choice costs nothing that can be measured with so small a heap, and saves some MiB
// with many GPUs: see BENCHMARKS.md. GOGC, as for any program of Go, goes first.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if len(os.Args) == 2 && os.Args[1] == apart.Argument {
		os.Exit(apart.Serve(buildApart, live.Restore))
	}
	ignoreBrokenPipe()
	os.Exit(run(os.Args[1:], os.Getenv))
}

// run is the program, without the driver process.
func run(args []string, getenv func(string) string) (code int) {
	defer crashed(&code)
	o, err := parse(args)
	if err != nil {
		return complain(err)
	}
	switch {
	case o.help:
		return output(usage)
	case o.version:
		return output(versionText())
	case o.command == commandCompletion:
		return output(completion(o.operands[0]))
	}
	if n := moreFiles(); n < neededFiles {
		warn(fmt.Sprintf("no more than %d files can be opened, and %d are needed: see ulimit -n", n, neededFiles))
		return codeFailed
	}
	raised := elevated()
	onScreen := o.command == "" && o.mode == modeLive && ansi.IsTerminal(os.Stdout) && ansi.Live(getenv, runtime.GOOS == "windows")
	var warnings []string
	if onScreen {
		if o, warnings, err = o.takeDefaults(args, getenv, raised); err != nil {
			return complain(err)
		}
	}
	warnings = append(warnings, o.takeEnvironment(getenv, raised)...)
	for _, w := range warnings {
		warn(w)
	}
	if err := o.check(); err != nil {
		return complain(err)
	}
	warning, err := o.takeVisible(os.LookupEnv)
	if err != nil {
		return complain(err)
	}
	if warning != "" {
		warn(warning)
	}
	switch o.command {
	case commandDoctor:
		return examine(o, getenv)
	case commandRecord:
		return recordTo(o)
	case commandReplay:
		return replay(o, getenv)
	case commandSummary:
		return summarize(o, getenv)
	case commandDiff:
		return compare(o, getenv)
	}
	if o.mode != modeLive {
		return stream(o)
	}
	if !ansi.IsTerminal(os.Stdout) {
		why, hint := noTerminal()
		return instead(o, why+", so this is one snapshot", hint)
	}
	if !ansi.Live(getenv, runtime.GOOS == "windows") {
		return instead(o, "TERM is "+nameOf(getenv("TERM"))+", so this is one snapshot", "for the live screen set TERM to what the terminal is, such as xterm-256color")
	}
	vt, restore := ansi.EnableVT(os.Stdout)
	restore() // what is put back when the program is killed must be what was there
	if runtime.GOOS == "windows" && !vt {
		return instead(o, "this console takes no escape sequences, so this is one snapshot", "for the live screen use Windows Terminal")
	}
	return screenOf(o, getenv, vt)
}

func nameOf(term string) string {
	if term == "" {
		return "not set"
	}
	return ansi.Clean(term)
}

// instead prints one text snapshot where a live screen cannot be had.
func instead(o *options, why, hint string) int {
	o.mode, o.count, o.interval = modeText, 1, defaultInterval
	code := stream(o)
	if code == codeDone {
		warn(why)
		fmt.Fprintln(os.Stderr, hint)
	}
	return code
}

// warn prints one line on standard error.
func warn(text string) {
	fmt.Fprintln(os.Stderr, "nvtop-lite: "+ansi.Clean(text))
}

// output prints text on standard output.
func output(text string) int {
	code, _ := write([]byte(text))
	return code
}

// crashed ends a panic, for deferring: in one line, which names the file with
// the trace.
func crashed(code *int) {
	fault := recover()
	if fault == nil {
		return
	}
	*code = codeFailed
	where := "the trace could not be written"
	if f, err := os.CreateTemp("", "nvtop-lite-crash-*.txt"); err == nil {
		_, err = fmt.Fprintf(f, "panic: %v\n\n%s", fault, debug.Stack())
		if err2 := f.Close(); err == nil && err2 == nil {
			where = "the trace is in " + f.Name()
		}
	}
	warn("crashed; " + where)
}

// usageError is wrong input: what is wrong, and what to do.
type usageError struct{ what, hint string }

func (e *usageError) Error() string { return e.what }

// complain prints what went wrong, what to do and what was tried, and gives the
// exit code.
func complain(err error) int {
	var wrong *usageError
	if errors.As(err, &wrong) {
		warn(wrong.what)
		if wrong.hint == "" {
			wrong.hint = "nvtop-lite --help lists the flags"
		}
		fmt.Fprintln(os.Stderr, ansi.Clean(wrong.hint))
		return codeUsage
	}
	warn(err.Error())
	var open *monitor.OpenError
	if errors.As(err, &open) {
		if open.Hint != "" {
			fmt.Fprintln(os.Stderr, ansi.Clean(open.Hint))
		}
		for _, line := range open.Tried {
			fmt.Fprintln(os.Stderr, "  tried "+ansi.Clean(line))
		}
	}
	return codeFailed
}
