package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/report"
)

// setup is what the driver process is told.
func (o *options) setup() apart.Setup {
	return apart.Setup{
		Demo: o.demo, NVML: o.nvml, Root: o.root, Wake: o.wake, Count: o.count, Timeout: o.timeout,
		Request: monitor.Request{Interval: o.interval, Want: monitor.Everything, GPUs: o.gpus, Visible: o.visible},
	}
}

// signalPatience is how long a signal waits for what is being written: whoever
// reads gets whole lines.
const signalPatience = 500 * time.Millisecond

// stream prints snapshots: one, several, or until it is stopped.
func stream(o *options) int {
	vt, restore := ansi.EnableVT(os.Stdout)
	defer restore()
	format := o.format(vt)
	var out []byte
	code, sig, _ := o.follow(func(s *monitor.Snapshot) (int, bool) {
		out = format(out[:0], s)
		return o.deliver(out)
	}, func() {})
	if sig != nil {
		return codeOf(sig)
	}
	return code
}

// codeOf is the exit code of a program that a signal ends.
func codeOf(sig os.Signal) int { return codeSignal + int(sig.(syscall.Signal)) }

// follow hands every snapshot to take, until take says that it is over, until the
// time is up, or until sig. Take may never come back, where nobody reads what it
// writes: then free is false, and it may still be at work. Leave is called before a
// message about the driver.
func (o *options) follow(take func(*monitor.Snapshot) (code int, ok bool), leave func()) (code int, sig os.Signal, free bool) {
	oneThread()
	stop := make(chan os.Signal, 1)
	for _, sig := range endingSignals {
		if !signal.Ignored(sig) { // as nohup does with SIGHUP
			signal.Notify(stop, sig)
		}
	}
	defer signal.Stop(stop)
	var up <-chan time.Time
	if o.duration > 0 {
		up = time.After(o.duration)
	}

	setup := o.setup()
	setup.Complete = true
	client := apart.Start(apart.Options{Setup: setup, Build: build})
	defer client.Close()
	turn, ended := make(chan struct{}, 1), make(chan int, 1)
	go func() { ended <- o.takeAll(client.Events(), take, leave, turn) }()
	select {
	case code := <-ended:
		return code, nil, true
	case sig = <-stop:
	case <-up:
	}
	select {
	case turn <- struct{}{}:
		return codeDone, sig, true
	case code := <-ended:
		return code, sig, true
	case <-time.After(signalPatience):
		return codeDone, sig, false
	}
}

// oneThread lets one thread run Go code while the driver process works: more only
// wake each other. And qemu-user may hang where a process is started while
// threads are.
func oneThread() { runtime.GOMAXPROCS(1) }

// takeAll hands on what comes. It has the turn while take is at work. At its end
// it has failed if nothing that came had anything of a GPU.
func (o *options) takeAll(events <-chan apart.Event, take func(*monitor.Snapshot) (int, bool), leave func(), turn chan struct{}) (code int) {
	defer crashed(&code)
	var unread *monitor.OpenError
	read := false
	for {
		e, ok := <-events
		turn <- struct{}{}
		switch {
		case (!ok || e.Done) && unread != nil:
			leave()
			return complain(unread)
		case !ok || e.Done:
			return codeDone
		case e.Failed != nil:
			leave()
			return complain(e.Failed)
		}
		if !read {
			unread = e.Snapshot.Unread()
			read = unread == nil
		}
		if code, ok := take(o.chosen(e.Snapshot)); !ok {
			return code
		}
		<-turn
	}
}

// chosen returns a copy of s with what is to leave the program of its processes.
func (o *options) chosen(s *monitor.Snapshot) *monitor.Snapshot {
	s = o.choice.Apply(s)
	if !o.noCommands {
		return s
	}
	hide := func(g *monitor.GPU) {
		for i := range g.Processes {
			g.Processes[i].Command = monitor.UnknownText(monitor.NotSampled)
		}
	}
	for i := range s.GPUs {
		hide(&s.GPUs[i])
		for j := range s.GPUs[i].MIG {
			hide(&s.GPUs[i].MIG[j])
		}
	}
	return s
}

// deliver puts b where it is to go.
func (o *options) deliver(b []byte) (code int, ok bool) {
	if o.output == "" {
		return write(b)
	}
	return written(save(o.output, b))
}

// write prints b on standard output.
func write(b []byte) (code int, ok bool) {
	_, err := os.Stdout.Write(b)
	return written(err)
}

// written says what becomes of the program after output. A closed pipe ends it
// quietly.
func written(err error) (code int, ok bool) {
	switch {
	case err == nil:
		return codeDone, true
	case closedPipe(err):
		return codeDone, false
	}
	warn("writing the output: " + err.Error())
	return codeFailed, false
}

// format returns what turns a snapshot into output; vt says that a console of
// Windows takes escape sequences.
func (o *options) format(vt bool) func(dst []byte, s *monitor.Snapshot) []byte {
	first := true
	switch o.mode {
	case modeJSON:
		return func(dst []byte, s *monitor.Snapshot) []byte { return append(report.AppendJSON(dst, s), '\n') }
	case modeCSV, modeProcessCSV:
		return func(dst []byte, s *monitor.Snapshot) []byte {
			header := first
			first = false
			if o.mode == modeCSV {
				return report.AppendCSV(dst, s, header)
			}
			return report.AppendProcessCSV(dst, s, o.choice, header)
		}
	case modePrometheus:
		return report.AppendPrometheus
	}
	terminal := o.output == "" && ansi.IsTerminal(os.Stdout)
	text := report.TextOptions{Level: o.level(os.Getenv, terminal, vt), ASCII: o.plain(os.Getenv), Version: version, Choice: o.choice}
	return func(dst []byte, s *monitor.Snapshot) []byte {
		if !first {
			dst = append(dst, '\n')
		}
		first = false
		return report.AppendText(dst, s, text)
	}
}

// plain says whether to draw with plain characters only.
func (o *options) plain(getenv func(string) string) bool { return o.ascii || !ansi.UTF8(getenv) }
