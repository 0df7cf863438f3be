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
		out = format(out[:0], o.choice.Apply(e.Snapshot))
		if code, ok := write(out); !ok {
			return code
		}
		<-turn
	}
}

// write prints b on standard output. A closed pipe ends the program quietly.
func write(b []byte) (code int, ok bool) {
	_, err := os.Stdout.Write(b)
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
	if o.mode == modeJSON {
		return func(dst []byte, s *monitor.Snapshot) []byte { return append(report.AppendJSON(dst, s), '\n') }
	}
	terminal := ansi.IsTerminal(os.Stdout)
	vt, _ := ansi.EnableVT(os.Stdout)
	text := report.TextOptions{Level: o.level(os.Getenv, terminal, vt), ASCII: o.plain(os.Getenv), Version: version, Choice: o.choice}
	first := true
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
