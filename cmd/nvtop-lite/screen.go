package main

import (
	"errors"
	"os"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/host"
	"nvtop-lite/monitor/live"
	"nvtop-lite/monitor/process"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/screen"
)

// screenOf runs the live screen.
func screenOf(o *options, getenv func(string) string, vt bool) int {
	term, err := ansi.Open(os.Stdin, os.Stdout)
	if err != nil {
		return complain(err)
	}
	defer term.Close() // live.Run does, unless it crashes
	setup := o.setup()
	opts := o.onScreen(term, getenv, vt)
	opts.Request, opts.ReadOnly, opts.Local = setup.Request, o.readOnly, o.local()
	opts.Client = func(crash *os.File) *apart.Client {
		return apart.Start(apart.Options{Setup: setup, Build: build, Crash: crash})
	}
	return shown(live.Run(opts))
}

// replayOn shows a recording on the live screen.
func replayOn(o *options, getenv func(string) string, vt bool, player *record.Player) int {
	term, err := ansi.Open(os.Stdin, os.Stdout)
	if err != nil {
		return complain(err)
	}
	defer term.Close()
	opts := o.onScreen(term, getenv, vt)
	opts.Player = player
	opts.Client = func(crash *os.File) *apart.Client {
		return apart.Start(apart.Options{Setup: apart.Setup{Idle: true}, Crash: crash})
	}
	return shown(live.Run(opts))
}

// onScreen is what the flags say of any screen.
func (o *options) onScreen(term *ansi.Terminal, getenv func(string) string, vt bool) live.Options {
	return live.Options{
		Terminal: term,
		Screen:   screen.New(screen.Options{Level: o.level(getenv, true, vt), ASCII: o.plain(getenv), Version: version, User: account(o)}),
		View:     o.firstView(),
		Mouse:    !o.noMouse,
	}
}

// shown says how a screen ended, and gives the exit code.
func shown(err error) int {
	var sig live.ErrSignal
	switch {
	case err == nil:
		return codeDone
	case errors.As(err, &sig):
		return sig.ExitCode()
	case errors.Is(err, live.ErrHangup):
		return codeHangup
	}
	return complain(err)
}

// firstView is the view that the flags ask for.
func (o *options) firstView() screen.View {
	v := screen.View{Mode: screen.ParseMode(o.view), Choice: o.choice, ShowProcesses: !o.choice.None}
	v.Choice.None = false // the key p brings them back
	return v
}

// local is what can be done with the processes shown, nil where they are not of
// this machine.
func (o *options) local() live.Processes {
	if o.demo {
		return nil
	}
	h := host.Open(o.root)
	return localProcesses{process.NewSignaller(h), h}
}

type localProcesses struct {
	*process.Signaller
	host *host.Reader
}

func (l localProcesses) Folder(p *monitor.Process) monitor.Text { return process.Folder(l.host, p) }

// account is the account whose processes go without an owner on the screen.
func account(o *options) string {
	if o.demo || o.command == commandReplay {
		return ""
	}
	return currentAccount()
}
