package ansi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// ErrNotTerminal says that the output is no terminal.
var ErrNotTerminal = errors.New("not a terminal")

const (
	// EscDelay is how long an Esc waits for the rest of a sequence.
	EscDelay = 100 * time.Millisecond

	enterSequence = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h"
	leaveSequence = "\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l"
	mouseOn       = "\x1b[?1000h\x1b[?1006h"
	mouseOff      = "\x1b[?1006l\x1b[?1000l"

	// patience limits how long the way out waits for a terminal that takes no
	// output.
	patience = time.Second
)

// Terminal is the terminal of a live screen: its modes and its keys. As an
// io.Writer it is what a Writer writes to. All methods may be called from any
// goroutine.
type Terminal struct {
	out    *os.File
	own    nonblocking // the same terminal as out; nil: there is only out
	in     *os.File    // nil: no keys
	opened bool        // in was opened here

	lock   chan struct{} // held while writing or changing modes; guards what follows
	rest   []byte        // what the terminal has not taken yet
	failed error         // of sending the rest

	mu      sync.Mutex    // guards what follows
	busy    chan struct{} // closed when the rest is gone; nil: there is none
	entered bool
	closed  bool
	mouse   bool
	saved   []byte
	set     []byte
	err     error
}

// nonblocking is an open file of its own for a terminal, since a mode of the file
// that the program was started with would hold for the shell too.
type nonblocking interface {
	// write writes what the terminal takes at once, which may be nothing.
	write(b []byte) (n int, err error)
	// wait waits until the terminal takes something, but no longer than d.
	wait(d time.Duration) error
	// discard takes back what was written and is not on its way yet.
	discard()
	close()
}

// Modes is what another process needs to restore a terminal: plain data that
// encodes as JSON or gob. Saved and Set are the system's own form.
type Modes struct {
	Path  string // of the terminal; "" where it is not known
	Saved []byte // the modes before Enter; empty while the screen is not entered
	Set   []byte // the modes that Enter set
}

// IsTerminal reports whether f is a terminal; nil is none.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// Open takes out, which must be a terminal, for a live screen. Keys come from in
// if that is a terminal, else from the controlling terminal (/dev/tty, CONIN$),
// else there are none. Nothing is changed yet.
func Open(in, out *os.File) (*Terminal, error) {
	if !IsTerminal(out) {
		return nil, fmt.Errorf("opening the terminal: %w", ErrNotTerminal)
	}
	t := &Terminal{out: out, own: openOwn(out), lock: make(chan struct{}, 1)}
	if IsTerminal(in) {
		t.in = in
	} else if f := openKeys(); f != nil {
		t.in, t.opened = f, true
	}
	return t, nil
}

// HasKeys reports whether keys can be read.
func (t *Terminal) HasKeys() bool { return t.in != nil }

// The largest window that is drawn on; what a larger one has besides stays blank.
const maxColumns, maxRows = 1024, 512

// Size returns the columns and rows of the window to draw on. A terminal that
// does not know its size counts as 80x24.
func (t *Terminal) Size() (w, h int, err error) {
	w, h, err = term.GetSize(int(t.out.Fd()))
	if err != nil {
		return 0, 0, fmt.Errorf("asking for the terminal's size: %w", err)
	}
	if w <= 0 || h <= 0 {
		return 80, 24, nil
	}
	// A frame has memory for every cell.
	return min(w, maxColumns), min(h, maxRows), nil
}

// acquire takes the lock, but waits no longer than d (0: for ever) for a writer
// that the terminal holds up.
func (t *Terminal) acquire(d time.Duration) (release func()) {
	if d == 0 {
		t.lock <- struct{}{}
		return func() { <-t.lock }
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case t.lock <- struct{}{}:
		return func() { <-t.lock }
	case <-timer.C:
		return func() {}
	}
}

// Enter saves the terminal's modes and sets those of a live screen: no echo, no
// line editing, signal keys as they were; alternate screen, hidden cursor, no
// wrapping. mouse asks for clicks and the wheel. On an error the terminal is as
// before. The screen's content is unknown afterwards: Invalidate the Writer.
func (t *Terminal) Enter(mouse bool) error {
	defer t.acquire(0)()
	t.mu.Lock()
	entered, closed := t.entered, t.closed
	t.mu.Unlock()
	if closed {
		return fmt.Errorf("entering the screen: %w", os.ErrClosed)
	}
	if entered {
		return t.setMouse(mouse)
	}
	saved, err := t.getModes()
	if err != nil {
		return fmt.Errorf("reading the terminal's modes: %w", err)
	}
	set, err := t.rawModes(saved)
	if err != nil {
		t.putModes(saved)
		return fmt.Errorf("setting the terminal's modes: %w", err)
	}
	t.mu.Lock()
	t.entered, t.mouse, t.saved, t.set = true, mouse, saved, set
	t.mu.Unlock()
	t.failed = nil
	if err := t.ask(mouse); err != nil {
		t.leave()
		return fmt.Errorf("entering the screen: %w", err)
	}
	return nil
}

// ask sends what a live screen needs.
func (t *Terminal) ask(mouse bool) error {
	s := enterSequence
	if mouse {
		s += mouseOn
	}
	return t.send([]byte(s))
}

// Resume sets again what Enter has set, the mouse included, since others may have
// changed it: call it on SIGCONT, which follows a SIGSTOP that nobody saw coming.
// Before Enter and after Leave it does nothing. Invalidate the Writer afterwards.
func (t *Terminal) Resume() error {
	defer t.acquire(0)()
	t.mu.Lock()
	entered, mouse, set := t.entered, t.mouse, t.set
	t.mu.Unlock()
	if !entered {
		return nil
	}
	if err := errors.Join(t.putModes(set), t.ask(mouse)); err != nil {
		return fmt.Errorf("resuming the screen: %w", err)
	}
	return nil
}

// Leave undoes Enter. A second call does nothing. What a slow terminal has not
// taken yet is dropped. One that takes no output delays it by a second or two, not
// more.
func (t *Terminal) Leave() error {
	defer t.acquire(patience)()
	return t.leave()
}

func (t *Terminal) leave() error {
	t.mu.Lock()
	entered, mouse, saved := t.entered, t.mouse, t.saved
	t.entered, t.saved, t.set = false, nil, nil
	busy := t.busy
	t.mu.Unlock()
	if !entered {
		return nil
	}
	if busy != nil {
		t.own.discard()
		t.drop()
	}
	err := writeSoon(t.out, []byte(leaveSequence), patience)
	if mouse {
		t.dropInput() // reports on their way would be typed into the shell
	}
	if err := errors.Join(err, t.putModes(saved)); err != nil {
		return fmt.Errorf("restoring the terminal: %w", err)
	}
	return nil
}

// Close leaves the screen for good; Enter fails from now on.
func (t *Terminal) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	defer t.acquire(patience)()
	err := t.leave()
	if t.own != nil {
		t.own.close()
		t.own = nil
	}
	return err
}

// SetMouse asks for mouse reports or ends them.
func (t *Terminal) SetMouse(on bool) error {
	defer t.acquire(0)()
	return t.setMouse(on)
}

func (t *Terminal) setMouse(on bool) error {
	t.mu.Lock()
	same := on == t.mouse || !t.entered
	if !same {
		t.mouse = on
	}
	t.mu.Unlock()
	if same {
		return nil
	}
	s := mouseOff
	if on {
		s = mouseOn
	}
	return t.send([]byte(s))
}

// Write sends a frame. Before Enter and after Leave it is dropped, so that no
// frame ends up on the user's own screen.
//
// On Linux it returns at once: what a slow terminal does not take is sent while
// the program does other things, and Busy tells for how long; a second frame
// waits for the first. An error of that is returned by the next call. Elsewhere,
// and where the terminal cannot be opened anew, Write waits for the terminal.
func (t *Terminal) Write(b []byte) (int, error) {
	for {
		busy, err := t.write(b)
		if err != nil {
			return 0, err
		}
		if busy == nil {
			return len(b), nil
		}
		<-busy
	}
}

func (t *Terminal) write(b []byte) (busy <-chan struct{}, err error) {
	defer t.acquire(0)()
	t.mu.Lock()
	entered, busy := t.entered, t.busy
	t.mu.Unlock()
	switch {
	case !entered:
		return nil, nil
	case busy != nil:
		return busy, nil
	case t.failed != nil:
		return nil, t.failed
	}
	return nil, t.send(b)
}

// Busy returns nil when the terminal has taken all that was written, else a
// channel that is closed once it has. Who makes no frame meanwhile waits for
// nothing, and sends the newest one next. What lies on the way behind the
// terminal, as in the buffers of ssh, nobody here can see.
func (t *Terminal) Busy() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy
}

// send writes b, behind what the terminal has not taken yet.
func (t *Terminal) send(b []byte) error {
	if t.own == nil {
		_, err := t.out.Write(b)
		return err
	}
	if len(t.rest) == 0 {
		n, err := t.own.write(b)
		if err != nil || n == len(b) {
			return err
		}
		b = b[n:]
	}
	t.rest = append(t.rest, b...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy == nil {
		t.busy = make(chan struct{})
		go t.sendRest(t.own)
	}
	return nil
}

// sendRest ends when the rest is sent or dropped. The waits are bounded, so that
// it notices the latter.
func (t *Terminal) sendRest(own nonblocking) {
	for more := true; more; {
		err := own.wait(time.Second)
		release := t.acquire(0)
		if n := 0; err == nil && len(t.rest) > 0 {
			n, err = own.write(t.rest)
			t.rest = t.rest[n:]
		}
		if err != nil && len(t.rest) > 0 {
			t.failed = err
			t.rest = nil
		}
		if more = len(t.rest) > 0; !more {
			t.drop()
		}
		release()
	}
}

// drop drops what the terminal has not taken.
func (t *Terminal) drop() {
	t.rest = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy != nil {
		close(t.busy)
		t.busy = nil
	}
}

// Modes returns what RestoreFrom needs. Take it after each Enter.
func (t *Terminal) Modes() Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Modes{Path: t.path(), Saved: append([]byte(nil), t.saved...), Set: append([]byte(nil), t.set...)}
}

// RestoreFrom restores a terminal for a process that has died: it writes the
// leave sequence, and puts the modes back if they are still those that Enter
// set, since a shell may have taken the terminal back already. The calling
// process ignores SIGTTOU afterwards. Modes of a screen that was not entered
// need nothing.
func RestoreFrom(m Modes) error {
	if len(m.Saved) == 0 {
		return nil
	}
	if err := restore(m); err != nil {
		return fmt.Errorf("restoring the terminal: %w", err)
	}
	return nil
}

// Err returns why the channel of Keys was closed: io.EOF when the terminal went
// away, another error of reading, nil when its context ended.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Keys delivers keys and mouse actions until ctx ends or reading fails, then
// closes the channel. Without keys it stays silent until ctx ends. One call at a
// time.
func (t *Terminal) Keys(ctx context.Context) <-chan Event {
	events := make(chan Event, 64)
	if t.in == nil {
		context.AfterFunc(ctx, func() { close(events) })
		return events
	}
	chunks, failed := make(chan []byte), make(chan error, 1)
	read := make(chan struct{})
	go func() {
		failed <- t.read(ctx, chunks)
		close(read)
	}()
	go func() {
		defer close(events)
		err := deliver(ctx, chunks, failed, events)
		<-read // what is typed from now on is for the next one
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
	}()
	return events
}

// pasteDelay is how long the next part of a paste may take: one whose end got
// lost must not take the keys away for good.
const pasteDelay = time.Second

func deliver(ctx context.Context, chunks <-chan []byte, failed <-chan error, events chan<- Event) error {
	var p Parser
	timer := time.NewTimer(EscDelay)
	defer timer.Stop()
	for {
		var late <-chan time.Time
		switch {
		case p.Pending():
			timer.Reset(EscDelay)
			late = timer.C
		case p.Pasting():
			timer.Reset(pasteDelay)
			late = timer.C
		}
		var got []Event
		select {
		case b := <-chunks:
			got = p.Feed(b)
		case <-late:
			if p.Pasting() {
				p.EndPaste()
			}
			got = p.Flush()
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-ctx.Done():
			return nil
		}
		for _, e := range got {
			select {
			case events <- e:
			case <-ctx.Done():
				return nil
			}
		}
	}
}
