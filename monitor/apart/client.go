package apart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// The times of a Client.
const (
	maxBackOff    = 30 * time.Second       // between starts of the driver process
	settled       = time.Minute            // a driver process that lived this long starts a new series
	silentLimit   = 10 * time.Second       // a stream whose driver process says nothing for this long is given up
	lateLimit     = time.Second            // and one whose first snapshot is this late for Setup.Timeout, and no word why
	maxFalls      = 2                      // a stream whose driver process falls this often in a row is given up
	saidWait      = 100 * time.Millisecond // for the last words of a driver process
	maxNoStarts   = 5                      // a stream whose driver process was there and cannot be started this often in a row is given up
	maxHelloFalls = 3                      // a driver process that never gets as far as its first word is done without
)

// maxSaid bounds what is kept of the words of a driver process.
const maxSaid = 64 << 10

// Options are what a Client needs.
type Options struct {
	Setup Setup
	Build Build                                    // for sampling in the program itself, where no process can be started
	Start func(program *string, attr *os.ProcAttr) // changes what is started, and how; nil leaves it
	Crash *os.File                                 // the other end of this process's standard error, passed on; nil for none
}

// Client starts the driver process, hears it, and starts it again.
type Client struct {
	opts   Options
	events chan Event
	stop   chan struct{}
	once   sync.Once

	loads      bool               // the host's loader has started a driver process
	unloadable *monitor.OpenError // why no loader is used any more; nil where one may be

	mu      sync.Mutex
	to      *messageWriter // nil while there is no driver process
	child   *os.Process    // the newest driver process, nil before the first
	request monitor.Request
	modes   []byte
	heard   time.Time            // when the driver process last said something
	spoke   atomic.Bool          // a snapshot has come
	inside  chan monitor.Request // when sampling in the program itself
}

// Start starts the driver process in the background.
func Start(o Options) *Client {
	c := &Client{opts: o, events: make(chan Event, 1), stop: make(chan struct{}), request: o.Setup.Request, heard: time.Now()}
	go c.keep()
	return c
}

// Events gives what the driver process finds. A live screen gets the newest
// snapshot, a stream every one.
func (c *Client) Events() <-chan Event { return c.events }

// Heard tells when the driver process last said something. It does so every
// second or so. Where the program samples in itself, it hears itself.
func (c *Client) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside != nil {
		return time.Now()
	}
	return c.heard
}

// Request changes what is wanted.
func (c *Client) Request(r monitor.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request = r
	if c.inside != nil {
		replace(c.inside, r)
	}
	if c.to != nil {
		_ = c.to.sendJSON(kindRequest, r)
	}
}

// Modes passes on what restores the terminal, for the driver process to use
// when this one is killed. The driver process understands it, not this package.
func (c *Client) Modes(modes []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modes = modes
	if c.to != nil {
		_ = c.to.send(kindModes, appendBytes(modes))
	}
}

// Close says goodbye: the terminal is in order and the driver process may end.
// It waits for nothing.
func (c *Client) Close() {
	c.once.Do(func() { close(c.stop) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bye()
}

// bye ends the driver process, where there is one. It is killed, since one that
// was stopped would stay for ever; nor does it do anything else at its end. One
// that is stuck in the kernel is gone when its call returns. c.mu is held.
func (c *Client) bye() {
	if c.to != nil {
		_ = c.to.send(kindBye, nil)
	}
	if c.child != nil {
		_ = c.child.Kill()
	}
}

func appendBytes(b []byte) func([]byte) []byte {
	return func(dst []byte) []byte { return append(dst, b...) }
}

// fall is how a driver process ended.
type fall struct {
	why     string        // in words
	scarce  bool          // for want of a process or a thread
	hello   bool          // it got as far as its first word
	loaded  bool          // it was started through the host's loader
	spoke   bool          // it sent a snapshot
	done    bool          // it was done
	mute    time.Duration // it was ended since it had said nothing of use for this long; 0: it was not
	lived   time.Duration
	nostart error // it could not be started at all
}

func (f fall) String() string {
	switch {
	case f.nostart != nil:
		return "the driver process cannot be started: " + f.nostart.Error()
	case f.mute > 0:
		return fmt.Sprintf("the driver process did not answer within %s", f.mute.Round(time.Second/10))
	}
	return "the driver process ended: " + f.why
}

// hint says what to do about it.
func (f fall) hint() string {
	var open *monitor.OpenError
	switch {
	case errors.As(f.nostart, &open):
		return open.Hint
	case errors.Is(f.nostart, syscall.EMFILE):
		return "no more files may be open: see ulimit -n"
	case f.mute > 0:
		return monitor.HintHangs
	case f.scarce:
		return monitor.HintProcesses
	}
	return "the driver's library faults; run it again, and nvidia-smi to see whether it does the same"
}

// keep runs driver processes, one after the other, until there is an end.
func (c *Client) keep() {
	defer close(c.events)
	var (
		backOff    = time.Second
		falls      int // in a row without a snapshot
		noStarts   int // in a row, of one that was there before
		helloFalls int
		last       *monitor.Snapshot
		setup      = c.opts.Setup
	)
	deliver := func(e Event) bool {
		if e.Snapshot != nil {
			e.Snapshot = keepRows(last, e.Snapshot)
			last = e.Snapshot
			if setup.Count > 0 {
				setup.Count--
			}
		}
		return c.deliver(e)
	}
	for {
		f := c.runOne(setup, deliver)
		switch {
		case c.stopped() || f.done || setup.Idle:
			return
		case f.nostart != nil && !f.scarce:
			c.runInside(setup, f.nostart.Error(), deliver)
			return
		case f.loaded && !f.hello && !f.scarce && !c.loads && !strings.HasPrefix(f.why, "signal: "):
			c.unloadable = notThrough(f.why)
			continue
		}
		c.loads = c.loads || f.loaded && f.hello
		setup.Fell = setup.Fell || f.nostart == nil
		if f.spoke {
			falls = 0
		}
		if noStarts++; f.nostart == nil || !c.loads {
			noStarts = 0
			falls++
		}
		if !f.hello && !f.scarce && !c.loads { // without threads the program itself would end
			if helloFalls++; helloFalls >= maxHelloFalls {
				c.runInside(setup, f.why, deliver)
				return
			}
		}
		if setup.Complete && (falls >= maxFalls || noStarts >= maxNoStarts || (f.hello || f.mute > 0) && setup.Timeout > 0) {
			failed := &monitor.OpenError{What: f.String(), Hint: f.hint()}
			if f.mute > 0 {
				failed.Cause = monitor.CauseTimeout
			}
			c.deliver(Event{Failed: failed})
			return
		}
		if f.lived >= settled {
			backOff = time.Second
		}
		if !setup.Complete {
			deliver(Event{Snapshot: fallen(last, c.opts.Setup, f, backOff)})
		}
		select {
		case <-c.stop:
			return
		case <-time.After(backOff):
		}
		backOff = min(2*backOff, maxBackOff)
	}
}

// deliver hands over an event; for a live screen in the place of one that
// nobody took. It reports whether to go on.
func (c *Client) deliver(e Event) bool {
	if !c.opts.Setup.Complete && e.Snapshot != nil {
		replace(c.events, e)
		return !c.stopped()
	}
	select {
	case c.events <- e:
		return true
	case <-c.stop:
		return false
	}
}

func (c *Client) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// runOne starts one driver process and hears it to its end.
func (c *Client) runOne(setup Setup, deliver func(Event) bool) fall {
	inR, inW, err := os.Pipe()
	if err != nil {
		return c.noStart(err)
	}
	defer inW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		return c.noStart(err)
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		inR.Close()
		outW.Close()
		return c.noStart(err)
	}
	attr := &os.ProcAttr{Files: []*os.File{inR, outW, errW}}
	place(attr, setup)
	if c.opts.Crash != nil {
		passCrash(attr, c.opts.Crash)
	}
	begin := time.Now()
	child, loaded, err := c.startChild(&setup, attr)
	inR.Close()
	outW.Close()
	errW.Close()
	if err != nil {
		errR.Close()
		return c.noStart(err)
	}
	bind(child, setup)
	said := collect(errR, maxSaid)

	w := &messageWriter{out: patient{inW}}
	c.mu.Lock()
	setup.Request = c.request
	if !setup.Idle {
		_ = w.sendJSON(kindSetup, setup)
	}
	c.to, c.child, c.heard = w, child, time.Now()
	if c.modes != nil {
		_ = w.send(kindModes, appendBytes(c.modes))
	}
	c.mu.Unlock()

	over, mute := make(chan struct{}), make(chan time.Duration, 1)
	go c.watch(child, outR, over, mute)
	f, err := c.hear(outR, deliver)
	f.loaded = loaded
	close(over)
	f.mute = <-mute
	c.mu.Lock()
	if c.stopped() {
		c.bye() // it began while Close was at work
	}
	c.to = nil
	c.mu.Unlock()
	f.lived = time.Since(begin)
	if f.done || c.stopped() {
		go func() { _, _ = child.Wait() }() // nobody waits
		return f
	}
	// It closed its pipe, or talks nonsense: it is ending, or made to.
	ended := make(chan string, 1)
	go func() {
		switch state, err := child.Wait(); {
		case err != nil:
			ended <- err.Error()
		case state.Success():
			ended <- "the driver's library ended it (exit status 0)" // which the program never does
		default:
			ended <- state.String()
		}
	}()
	select {
	case how := <-ended:
		f.why, f.scarce = describe(how, said(saidWait))
	case <-time.After(time.Second):
		_ = child.Kill()
		how := "it closed its pipe"
		if err != nil && !errors.Is(err, io.EOF) {
			how = err.Error()
		}
		f.why, f.scarce = describe(how, said(saidWait))
	}
	return f
}

// patient writes to a driver process that should read at once: one that was
// stopped must not hold up the program.
type patient struct{ *os.File }

func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)) // where pipes have no deadlines, done without
	return p.File.Write(b)
}

// watch closes the pipe when the program is done with the driver process, and,
// for a stream, when that has said nothing for too long. It tells at its end how
// long that was, 0 where it was not so.
func (c *Client) watch(child *os.Process, out *os.File, over <-chan struct{}, mute chan<- time.Duration) {
	var silent time.Duration
	defer func() { mute <- silent }()
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	var late <-chan time.Time
	if setup := c.opts.Setup; setup.Complete && setup.Timeout > 0 {
		late = time.After(setup.Timeout + lateLimit)
	}
	for {
		select {
		case <-over:
			return
		case <-c.stop:
			out.Close()
			return
		case <-late:
			if !c.spoke.Load() {
				silent = c.opts.Setup.Timeout
			}
		case <-tick.C:
			if s := time.Since(c.Heard()); c.opts.Setup.Complete && s > silentLimit {
				silent = s
			}
		}
		if silent > 0 {
			_ = child.Kill()
			out.Close()
			return
		}
	}
}

// hear takes messages until the pipe ends.
func (c *Client) hear(out io.Reader, deliver func(Event) bool) (fall, error) {
	var (
		f   fall
		dec monitor.Decoder
		r   = newMessageReader(out)
	)
	for {
		k, payload, err := r.next()
		if err != nil {
			return f, err
		}
		c.mu.Lock()
		c.heard = time.Now()
		c.mu.Unlock()
		switch k {
		case kindHello:
			f.hello = true
		case kindAlive:
		case kindSnapshot:
			s, err := dec.Decode(payload)
			if err != nil {
				return f, err
			}
			f.spoke = true
			c.spoke.Store(true)
			if !deliver(Event{Snapshot: s}) {
				return f, nil
			}
		case kindNote:
			if !deliver(Event{Note: bytes.Clone(payload)}) {
				return f, nil
			}
		case kindFailed:
			failed := new(monitor.OpenError)
			if err := json.Unmarshal(payload, failed); err != nil {
				return f, err
			}
			f.done = true
			deliver(Event{Failed: failed})
			return f, nil
		case kindDone:
			f.done = true
			deliver(Event{Done: true})
			return f, nil
		default:
			return f, monitor.Errorf("message of kind %q", k)
		}
	}
}

// describe says in a few words why a driver process ended: how it did, and what
// it said before, if that tells more. It also reports whether that was for want
// of threads.
func describe(how string, said []byte) (why string, scarce bool) {
	first := ""
	for _, raw := range strings.Split(string(said), "\n") {
		line := oneLine(raw)
		for _, own := range []string{"fakecgo: ", "runtime/cgo: ", "runtime: "} {
			if rest, ok := strings.CutPrefix(line, own); ok {
				return rest, strings.Contains(rest, "pthread_create") || strings.Contains(rest, "OS thread")
			}
		}
		for _, mark := range []string{"SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL"} {
			if strings.HasPrefix(line, mark) {
				how = mark + " in the driver's library"
				if first == "" || mark != "SIGABRT" {
					return how, false
				}
				return first + "; " + how, false // who aborts has said why
			}
		}
		if rest, ok := strings.CutPrefix(line, "Exception 0x"); ok {
			code, _, _ := strings.Cut(rest, " ")
			return "exception 0x" + code + " in the driver's library", false
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line, false
		}
		if first == "" {
			first = line
		}
	}
	// Windows ends a process for a fault outside Go without a word.
	if code, ok := strings.CutPrefix(how, "exit status 0xc0"); ok {
		how = "exception 0xc0" + code + " in the driver's library"
	}
	if first == "" || strings.HasPrefix(how, "signal: ") {
		return how, false
	}
	return first + "; " + how, false
}

// maxLine bounds a line of a driver process that is repeated.
const maxLine = 200

// oneLine is a line of a driver process as it can be repeated.
func oneLine(s string) string {
	printed := strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	if runes := []rune(printed); len(runes) > maxLine {
		printed = string(runes[:maxLine-1]) + "…"
	}
	return strings.TrimSpace(printed)
}
