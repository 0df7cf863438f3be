package apart

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// aliveEvery is how long the driver process says nothing, at most. It is longer
// than the usual interval, so that snapshots say enough.
const aliveEvery = 1250 * time.Millisecond

// Serve is the driver process. It ends when its standard input does: then the
// program that draws is gone, and where that had not said goodbye the terminal
// is put right by restore, from what the program sent of it and what it wrote
// on its standard error.
func Serve(build Build, restore func(modes, trace []byte)) int {
	// More would wake each other at each refresh. A call of the driver that blocks
	// holds up nobody: the runtime gives its place to another thread.
	runtime.GOMAXPROCS(1)
	arrive()
	spareThreads()
	ignoreSignals()
	in, out, err := takePipes()
	if err != nil {
		return 1
	}
	code := serve(in, out, build, restore, crashPipe())
	endNow(code)
	return code
}

// threads is how many threads run Go code from the start: more than are in calls
// that block while the library is loaded, which are that one, reading the pipe, and
// now and then a file or a message.
const threads = 6

// spareThreads starts them before the library is loaded. A loader holds a lock
// while it opens files, and starting a thread waits for the same lock: where a file
// does not come, the runtime would stand still with no thread left to say so.
func spareThreads() {
	var there, free sync.WaitGroup
	there.Add(threads)
	free.Add(threads)
	for range threads {
		go func() {
			runtime.LockOSThread()
			there.Done()
			there.Wait()
			runtime.UnlockOSThread()
			free.Done()
		}()
	}
	free.Wait()
}

func serve(in io.Reader, out io.Writer, build Build, restore func(modes, trace []byte), crash *os.File) int {
	w := &messageWriter{out: out, quiet: time.NewTimer(aliveEvery)}
	if w.send(kindHello, nil) != nil {
		return 1
	}
	trace := collect(crash, maxTrace)

	var (
		r        = newMessageReader(in)
		requests = make(chan monitor.Request, 1)
		modes    []byte
		bye      bool
		started  bool
	)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		k, payload, err := r.next()
		if err != nil {
			break
		}
		switch k {
		case kindSetup:
			var setup Setup
			if json.Unmarshal(payload, &setup) != nil || started {
				return 1
			}
			started = true
			go alive(ctx, w)
			go run(ctx, setup, build, requests, w)
		case kindRequest:
			var req monitor.Request
			if json.Unmarshal(payload, &req) != nil {
				return 1
			}
			select { // the newest counts
			case <-requests:
			default:
			}
			requests <- req
		case kindModes:
			modes = append(modes[:0], payload...)
		case kindBye:
			bye = true
		}
	}
	if !bye && len(modes) > 0 && restore != nil {
		restore(modes, trace(traceWait))
	}
	return 0
}

// run makes snapshots and sends them.
func run(ctx context.Context, setup Setup, build Build, requests <-chan monitor.Request, w *messageWriter) {
	setup.Note = func(b []byte) { _ = w.send(kindNote, appendBytes(b)) }
	s, err := build(setup, nil)
	if err == nil {
		send := sender(ctx, setup, w)
		err = s.Run(ctx, requests, send)
	}
	if err != nil {
		_ = w.sendJSON(kindFailed, openError(err)) // a broken pipe ends the process by its input
		return
	}
	_ = w.send(kindDone, nil)
}

// sender returns what sends a snapshot. A stream loses none: the pipe holds it
// back. A screen gets the newest: what it was too slow for is dropped.
func sender(ctx context.Context, setup Setup, w *messageWriter) func(*monitor.Snapshot) {
	var enc monitor.Encoder
	send := func(s *monitor.Snapshot) {
		_ = w.send(kindSnapshot, func(dst []byte) []byte { return enc.Append(dst, s) })
	}
	if setup.Complete {
		return send
	}
	newest := make(chan *monitor.Snapshot, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-newest:
				send(s)
			}
		}
	}()
	return func(s *monitor.Snapshot) { replace(newest, s) }
}

// replace puts v into a channel of one place, in the place of what nobody took.
// Only one goroutine may call it for a channel.
func replace[T any](c chan T, v T) {
	for {
		select {
		case c <- v:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

// alive says that the driver process runs where nothing else has said so for a
// while.
func alive(ctx context.Context, w *messageWriter) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.quiet.C:
			if w.send(kindAlive, nil) != nil {
				return
			}
		}
	}
}

// maxTrace bounds what is kept of a crash, and traceWait how long its end is
// waited for: somebody else may hold the other end.
const (
	maxTrace  = 1 << 20
	traceWait = time.Second
)

// collect reads a pipe to its end and closes it, so that nobody who writes there
// is held up. What it returns gives the beginning of what came, at most so many
// bytes, once the pipe has ended or the wait is over.
func collect(pipe *os.File, most int) func(wait time.Duration) []byte {
	if pipe == nil {
		return func(time.Duration) []byte { return nil }
	}
	var mu sync.Mutex
	var kept []byte
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer pipe.Close()
		b := make([]byte, 16<<10)
		for {
			n, err := pipe.Read(b)
			mu.Lock()
			kept = append(kept, b[:min(n, most-len(kept))]...)
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return func(wait time.Duration) []byte {
		select {
		case <-ended:
		case <-time.After(wait):
		}
		mu.Lock()
		defer mu.Unlock()
		return kept
	}
}

// openError is an error of a sampler as it is told.
func openError(err error) *monitor.OpenError {
	var open *monitor.OpenError
	if errors.As(err, &open) {
		return open
	}
	return &monitor.OpenError{What: err.Error()}
}

// takePipes returns the ends of the pipes, and gives the driver's library a
// standard output that it may print on.
func takePipes() (in, out *os.File, err error) {
	out, err = moveStdout()
	return os.Stdin, out, err
}
