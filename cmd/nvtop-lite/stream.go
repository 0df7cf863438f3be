package main

import (
	"errors"
	"os"
	"os/signal"
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

// stream prints snapshots: one, several, or until it is stopped. Nobody may be
// reading them, so that a signal does not wait for the one that writes.
func stream(o *options) int {
	stop := make(chan os.Signal, 1)
	for _, sig := range endingSignals {
		if !signal.Ignored(sig) { // as nohup does with SIGHUP
			signal.Notify(stop, sig)
		}
	}
	defer signal.Stop(stop)

	setup := o.setup()
	setup.Complete = true
	client := apart.Start(apart.Options{Setup: setup, Build: build})
	defer client.Close()
	turn, ended := make(chan struct{}, 1), make(chan int, 1)
	go func() { ended <- printAll(client.Events(), o, turn) }()
	select {
	case code := <-ended:
		return code
	case sig := <-stop:
		select {
		case turn <- struct{}{}:
		case <-ended:
		case <-time.After(signalPatience):
		}
		return codeSignal + int(sig.(syscall.Signal))
	}
}

// printAll prints what comes. It has the turn while it writes. At its end it
// has failed if nothing that came had anything of a GPU.
func printAll(events <-chan apart.Event, o *options, turn chan struct{}) (code int) {
	defer crashed(&code)
	format := o.format()
	var out []byte
	var unread *monitor.OpenError
	read := false
	for {
		e, ok := <-events
		turn <- struct{}{}
		switch {
		case (!ok || e.Done) && unread != nil:
			return complain(unread)
		case !ok || e.Done:
			return codeDone
		case e.Failed != nil:
			return complain(e.Failed)
		}
		if !read {
			unread = e.Snapshot.Unread()
			read = unread == nil
		}
		out = format(out[:0], o.chosen(e.Snapshot))
		if code, ok := o.deliver(out); !ok {
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

func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

// format returns what turns a snapshot into output.
func (o *options) format() func(dst []byte, s *monitor.Snapshot) []byte {
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
	vt, _ := ansi.EnableVT(os.Stdout)
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
