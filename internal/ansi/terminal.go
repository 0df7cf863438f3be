package ansi

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	in     *os.File // nil: no keys
	opened bool     // in was opened here

	lock    chan struct{} // held while writing or changing modes
	mu      sync.Mutex    // guards what follows
	entered bool
	closed  bool
	mouse   bool
	saved   []byte
	set     []byte
	err     error
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
	t := &Terminal{out: out, lock: make(chan struct{}, 1)}
	if IsTerminal(in) {
		t.in = in
	} else if f := openKeys(); f != nil {
		t.in, t.opened = f, true
	}
	return t, nil
}

// HasKeys reports whether keys can be read.
func (t *Terminal) HasKeys() bool { return t.in != nil }

// Size returns the columns and rows of the window. A terminal that does not know
// its size counts as 80x24.
func (t *Terminal) Size() (w, h int, err error) {
	w, h, err = term.GetSize(int(t.out.Fd()))
	if err != nil {
		return 0, 0, fmt.Errorf("asking for the terminal's size: %w", err)
	}
	if w <= 0 || h <= 0 {
		return 80, 24, nil
	}
	return w, h, nil
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
	s := enterSequence
	if mouse {
		s += mouseOn
	}
	if _, err := io.WriteString(t.out, s); err != nil {
		t.leave()
		return fmt.Errorf("entering the screen: %w", err)
	}
	return nil
}

// Leave undoes Enter. A second call does nothing. A terminal that takes no
// output delays it by a second or two, not more.
func (t *Terminal) Leave() error {
	defer t.acquire(patience)()
	return t.leave()
}

func (t *Terminal) leave() error {
	t.mu.Lock()
	entered, mouse, saved := t.entered, t.mouse, t.saved
	t.entered, t.saved, t.set = false, nil, nil
	t.mu.Unlock()
	if !entered {
		return nil
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
	return t.Leave()
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
	_, err := io.WriteString(t.out, s)
	return err
}

// Write sends a frame. Before Enter and after Leave it is dropped, so that no
// frame ends up on the user's own screen.
func (t *Terminal) Write(b []byte) (int, error) {
	defer t.acquire(0)()
	t.mu.Lock()
	entered := t.entered
	t.mu.Unlock()
	if !entered {
		return len(b), nil
	}
	return t.out.Write(b)
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
	go func() { failed <- t.read(ctx, chunks) }()
	go func() {
		defer close(events)
		err := deliver(ctx, chunks, failed, events)
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
	}()
	return events
}

func deliver(ctx context.Context, chunks <-chan []byte, failed <-chan error, events chan<- Event) error {
	var p Parser
	timer := time.NewTimer(EscDelay)
	defer timer.Stop()
	for {
		var late <-chan time.Time
		if p.Pending() {
			timer.Reset(EscDelay)
			late = timer.C
		}
		var got []Event
		select {
		case b := <-chunks:
			got = p.Feed(b)
		case <-late:
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
