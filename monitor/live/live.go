// Package live is the live screen: it takes keys and snapshots, and draws. It
// waits for nothing but the terminal: a driver that hangs stops neither the
// clock nor the keys. The snapshots come from the driver process, or from the
// player of a recording.
package live

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/process"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/screen"
)

const (
	historyLength    = 1024
	silentAfter      = 2 * time.Second        // the driver process speaks more often than that
	repaintEvery     = time.Minute            // others write on a terminal too: wall, the kernel
	noticeFor        = 4 * time.Second        // how long a passing message stands
	firstWait        = 40 * time.Millisecond  // what cannot work at all is said without a screen
	freshFrame       = 950 * time.Millisecond // a frame this young shows the right second
	terminalPatience = 2 * time.Second        // for a terminal that takes no output while the program is to end
)

// Options are what the screen runs on.
type Options struct {
	Terminal *ansi.Terminal
	Screen   *screen.Screen
	Player   *record.Player                     // replays a recording, and is closed at the end; nil: what happens now
	Client   func(crash *os.File) *apart.Client // starts the driver process, an idle one where there is a Player
	Request  monitor.Request                    // the first one; what is wanted is decided by the view
	View     screen.View                        // the first one
	Mouse    bool                               // take clicks and the wheel
	ReadOnly bool                               // no process can be signalled
	Local    Processes                          // nil where the processes shown are not of this machine
}

// Processes is what can be found out about a process here and done to it.
type Processes interface {
	// Folder is its working directory.
	Folder(p *monitor.Process) monitor.Text
	// Pin returns what Send needs, or why nothing can be sent.
	Pin(p *monitor.Process) (process.Target, error)
	Send(t process.Target, sig process.Signal) error
	Alive(t process.Target) (alive, stuck bool)
}

// ErrSignal is the end by a signal that is no wish to quit.
type ErrSignal struct{ Signal os.Signal }

func (e ErrSignal) Error() string { return "ended by " + e.Signal.String() }

// ErrHangup is the end of a terminal that went away.
var ErrHangup = errors.New("the terminal is gone")

// Run shows the live screen until the user quits. Its error is nil then, else a
// *monitor.OpenError, ErrSignal, ErrHangup, what writing to the terminal met, or
// what the player met before there was anything to show. The terminal is restored
// in every case.
func Run(o Options) error {
	if o.Player != nil {
		return replay(o)
	}
	// One goroutine draws; more threads only wake each other.
	runtime.GOMAXPROCS(1)
	crash := newCrash()
	defer crash.close()
	u := newUI(o)
	u.crash, u.request, u.local, u.readOnly = crash, o.Request, o.Local, o.ReadOnly
	u.view.Signals = o.Local != nil && !o.ReadOnly && len(process.Signals()) > 0
	u.request.Want = u.screen.Want(&u.view)
	u.client = o.Client(crash.reader())
	defer u.client.Close()
	u.client.Request(u.request)
	u.events = u.client.Events()

	// What cannot work at all is said on the user's own screen.
	var first apart.Event
	select {
	case first = <-u.events:
		if first.Failed != nil {
			return first.Failed
		}
	case <-time.After(firstWait):
	}
	return u.run(func() {
		crash.redirect()
		u.take(first)
	})
}

func newUI(o Options) *ui {
	u := &ui{
		term: o.Terminal, screen: o.Screen,
		frame: ansi.NewFrame(0, 0), writer: ansi.NewWriter(o.Terminal), hist: monitor.NewHistory(historyLength),
		view: o.View, mouse: o.Mouse,
		folders: make(chan folder, 1), pins: make(chan pinned, 1), outcomes: make(chan outcome, 1),
	}
	u.view.Hidden = map[string]bool{}
	return u
}

// run takes the terminal until the user quits; begin is called when it is taken.
func (u *ui) run(begin func()) error {
	// A signal stays caught to the very end: a second one must not end the
	// program while it restores the terminal.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, watchedSignals...)
	ends := make(chan os.Signal, 8)
	signal.Notify(ends, endingSignals...)
	wish := make(chan os.Signal, 1)
	go u.pressEnd(ends, wish)

	if err := u.enter(); err != nil {
		return err
	}
	begin()
	ctx, cancel := context.WithCancel(context.Background())
	err := u.loop(ctx, signals, wish)
	cancel()
	u.term.Close()
	return err
}

// ui is the state of the live screen. One goroutine owns it.
type ui struct {
	term    *ansi.Terminal
	screen  *screen.Screen
	client  *apart.Client // nil in a replay
	events  <-chan apart.Event
	crash   *crash
	player  player // nil but in a replay
	frames  <-chan record.Frame
	frame   *ansi.Frame
	writer  *ansi.Writer
	hist    *monitor.History
	view    screen.View
	snap    *monitor.Snapshot
	request monitor.Request
	noticed time.Time // when the notice began
	missed  time.Time // when the snapshot after a gap was shown
	drawn   time.Time // when the last frame was made
	mouse   bool

	readOnly bool

	local     Processes
	folderOf  screen.ProcessID // whose folder was asked for last
	folders   chan folder
	pins      chan pinned
	signalled signalled
	outcomes  chan outcome
}

// pressEnd hands on a signal that ends the program, and ends it by force when
// nobody takes it, since the terminal holds up the one who draws.
func (u *ui) pressEnd(ends <-chan os.Signal, wish chan<- os.Signal) {
	sig := <-ends
	wish <- sig
	time.Sleep(terminalPatience)
	if u.client != nil {
		u.client.Close()
	}
	u.term.Close()
	os.Exit(exitCode(sig))
}

// enter takes the terminal, and tells the driver process how to restore it.
func (u *ui) enter() error {
	if err := u.term.Enter(u.mouse); err != nil {
		return err
	}
	u.tellModes()
	u.writer.Invalidate()
	return nil
}

func (u *ui) tellModes() {
	if u.client == nil {
		return
	}
	u.client.Modes(json.Append(nil, u.term.Modes()))
}

func (u *ui) loop(ctx context.Context, signals <-chan os.Signal, wish <-chan os.Signal) error {
	keys := u.term.Keys(ctx)
	clock := time.NewTimer(0)
	defer clock.Stop()
	var repainted time.Time
	for {
		select {
		case sig := <-wish:
			if isInterrupt(sig) {
				return nil
			}
			return ErrSignal{sig}

		case e, ok := <-u.events:
			if !ok {
				return nil
			}
			if e.Failed != nil {
				return e.Failed
			}
			u.take(e)

		case f, ok := <-u.frames:
			if !ok {
				u.frames = nil // what was shown last stays
				continue
			}
			if err := u.takeFrame(f); err != nil {
				return err
			}

		case k, ok := <-keys:
			if !ok {
				if u.term.Err() != nil {
					return ErrHangup
				}
				return nil
			}
			quit, err := u.press(k)
			if quit || err != nil {
				return err
			}

		case sig := <-signals:
			if isSuspend(sig) {
				if err := u.suspend(); err != nil {
					return err
				}
			} else if isContinue(sig) {
				if err := u.term.Resume(); err != nil {
					return err
				}
				u.writer.Invalidate()
			}

		case f := <-u.folders:
			if f.of == u.view.Process {
				u.view.Folder = f.text
			}

		case p := <-u.pins:
			u.openSignal(p)

		case o := <-u.outcomes:
			u.takeOutcome(o)

		case <-u.term.Busy():
			// The terminal has taken the last frame; the next one is the newest.

		case now := <-clock.C:
			clock.Reset(now.Truncate(time.Second).Add(time.Second).Sub(now))
			if now.Sub(repainted) >= repaintEvery {
				if !repainted.IsZero() {
					u.writer.Refresh()
				}
				repainted = now
			}
			if now.Sub(u.drawn) < freshFrame {
				continue // the snapshots come often enough to move the clock
			}
		}
		if err := u.draw(); err != nil {
			return err
		}
	}
}

// take takes a snapshot.
func (u *ui) take(e apart.Event) {
	if e.Snapshot == nil {
		return
	}
	u.snap = e.Snapshot
	u.hist.Add(u.snap)
	for _, w := range u.snap.Warnings {
		if w.Code == "in_process" {
			u.crash.restore() // nobody takes what a crash prints
		}
	}
}

// draw shows what there is.
func (u *ui) draw() error {
	w, h, err := u.term.Size()
	if err != nil {
		return ErrHangup
	}
	if u.term.Busy() != nil {
		return nil // no queue: what changes meanwhile comes in one frame
	}
	if fw, fh := u.frame.Size(); fw != w || fh != h {
		u.frame.Resize(w, h)
	}
	u.drawn = time.Now()
	u.picture(u.drawn)
	u.want()
	u.lookUp()
	_, err = u.writer.Flush(u.frame)
	return err
}

// picture makes a frame of what there is.
func (u *ui) picture(now time.Time) {
	u.view.Now, u.view.SilentFor = now, 0
	if u.player != nil {
		u.recorded(now)
	} else if silent := now.Sub(u.client.Heard()); silent >= silentAfter && !u.view.Paused {
		u.view.SilentFor = silent
	}
	if u.view.Notice != "" && now.Sub(u.noticed) > noticeFor {
		u.view.Notice = ""
	}
	u.screen.Draw(u.frame, u.snap, u.hist, &u.view)
}

// want tells the driver process what the view needs, when that is something
// else than before.
func (u *ui) want() {
	if u.player != nil {
		return
	}
	want, closely := u.screen.Want(&u.view), ""
	if u.view.Details == screen.OfGPU {
		closely = u.view.GPU
	}
	if want != u.request.Want || closely != u.request.Closely {
		u.request.Want, u.request.Closely = want, closely
		u.client.Request(u.request)
	}
}

// suspend gives the terminal back and stops, as Ctrl+Z does.
func (u *ui) suspend() error {
	if u.player != nil {
		u.player.Pause(true)
	} else {
		asleep := u.request
		asleep.Paused = true
		u.client.Request(asleep)
	}
	err := u.term.Suspend()
	if u.player != nil {
		u.player.Pause(u.view.Replay.Paused)
	} else {
		u.client.Request(u.request)
	}
	u.tellModes()
	u.writer.Invalidate()
	return err
}

// notice shows a passing message.
//
// Inlined, it would make the program 3 kB larger.
//
//go:noinline
func (u *ui) notice(text string) {
	u.view.Notice, u.noticed = text, time.Now()
}
