package live

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/process"
	"nvtop-lite/monitor/screen"
)

// folder is where a process works.
type folder struct {
	of   screen.ProcessID
	text monitor.Text
}

// lookUp finds out what the details of a process show besides the snapshot.
func (u *ui) lookUp() {
	v := &u.view
	if v.Details != screen.OfProcess {
		u.folderOf = screen.ProcessID{}
		return
	}
	if v.Process == u.folderOf {
		return
	}
	u.folderOf, v.Folder = v.Process, monitor.Text{}
	_, p := screen.FindProcess(u.snap, &v.Process)
	switch {
	case p == nil:
	case u.local == nil:
		v.Folder = monitor.UnknownText(monitor.NotSupported)
	case p.Namespace == monitor.NamespaceOutside:
		v.Folder = monitor.UnknownText(monitor.NotFound)
	default:
		id, q := v.Process, *p
		go func() { u.folders <- folder{id, u.local.Folder(&q)} }()
	}
}

// signalPatience is how long a process is given to end.
const signalPatience = 5 * time.Second

// signalled is the dialog's other half: what the screen needs not know.
type signalled struct {
	target  process.Target
	signals []process.Signal
	round   int // tells the outcomes of one dialog from those of another
}

// outcome is what came of a signal.
type outcome struct {
	round int
	text  string
}

// pinned is a process for which a dialog was asked for, or why it cannot be had.
type pinned struct {
	of     screen.ProcessID
	name   string
	target process.Target
	err    error
}

// askSignal asks for the dialog for the process selected. It opens when the
// process was looked at.
func (u *ui) askSignal() {
	v := &u.view
	_, p := screen.FindProcess(u.snap, &v.Process)
	switch {
	case u.player != nil:
		u.notice("nothing can be signalled in a recording")
		return
	case u.readOnly:
		u.notice("read-only: no process is signalled")
		return
	case u.local == nil:
		u.notice("these processes are not of this machine")
		return
	case v.Details == screen.NoDetails && u.screen.Focused(v) == screen.FocusGPUs:
		u.notice("select a process first: Tab, then the arrows")
		return
	case len(process.Signals()) == 0:
		u.notice("signals cannot be sent here")
		return
	case v.Process.PID == 0 || p == nil:
		u.notice("select a process first: Tab, then the arrows")
		return
	}
	id, q := v.Process, *p
	go func() {
		target, err := u.local.Pin(&q)
		u.pins <- pinned{id, q.Name.Value, target, err}
	}()
}

// openSignal opens the dialog.
func (u *ui) openSignal(p pinned) {
	switch {
	case u.view.Signal != nil:
		return
	case p.err != nil:
		u.notice(p.err.Error())
		return
	}
	d := &screen.SignalDialog{Process: p.of, Name: p.name}
	u.signalled = signalled{p.target, process.Signals(), u.signalled.round + 1}
	for _, s := range u.signalled.signals {
		d.Signals = append(d.Signals, screen.SignalItem{Name: s.Name, Does: s.Does})
	}
	u.view.Signal = d
}

// closeSignal goes one step back.
func (u *ui) closeSignal() {
	if d := u.view.Signal; d.Confirm && d.Outcome == "" {
		d.Confirm, d.Yes = false, false
		return
	}
	u.view.Signal = nil
}

// send sends the signal chosen and says what came of it. It waits elsewhere: a
// process that ends may hold up whoever looks at it.
func (u *ui) send() {
	d := u.view.Signal
	d.Outcome = "sending " + d.Signals[d.Chosen].Name
	s, sig := u.signalled, u.signalled.signals[d.Chosen]
	go func() {
		say := func(text string) { u.outcomes <- outcome{s.round, text} }
		if err := u.local.Send(s.target, sig); err != nil {
			say(err.Error())
			return
		}
		say(sig.Name + " was sent")
		for range int(signalPatience / (100 * time.Millisecond)) {
			time.Sleep(100 * time.Millisecond)
			if alive, _ := u.local.Alive(s.target); !alive {
				say(sig.Name + " was sent; the process has ended")
				return
			}
		}
		switch _, stuck := u.local.Alive(s.target); {
		case stuck:
			say(sig.Name + " was sent; the process waits in the kernel and ends when the driver lets go of it")
		case sig.Ends:
			say(sig.Name + " was sent; the process is still there after 5 s")
		}
	}()
}

// takeOutcome shows what came of a signal: in its dialog while that is open.
func (u *ui) takeOutcome(o outcome) {
	if d := u.view.Signal; d != nil && d.Outcome != "" && o.round == u.signalled.round {
		d.Outcome = o.text
		return
	}
	u.notice(o.text)
}
