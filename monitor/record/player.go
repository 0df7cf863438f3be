package record

import (
	"io"
	"math"
	"sync"
	"time"

	"nvtop-lite/monitor"
)

const (
	minSpeed = 0.1
	maxSpeed = 1000

	framePause = 50 * time.Millisecond  // between frames
	growPause  = 500 * time.Millisecond // between looks whether the file has grown
	patience   = 250 * time.Millisecond // for a search, before it is said that there is one, or a newer wish ends it
	maxElapsed = time.Hour
	stoppedFor = 2 * time.Second // by which a look comes too late only where the program was stopped
)

// MaxBroken is how many broken lines a Player counts.
const MaxBroken = 10000

// PlayOptions say how a recording is played.
type PlayOptions struct {
	Speed   float64   // 0.1 to 1000; 0 means 1
	At      time.Time // where to begin; the zero value means at the beginning
	History int       // how many snapshots before the one shown are handed over after a seek
	// Choose picks what is shown of a snapshot; nil shows all.
	Choose func(*monitor.Snapshot) *monitor.Snapshot
}

// Frame is what is to be shown now.
type Frame struct {
	Snapshot *monitor.Snapshot // nil only with Err
	Again    bool              // the Snapshot was shown before; only State is new
	// Sought says that what was shown before does not lead up to Snapshot: a
	// history begins anew with Before.
	Sought  bool
	Before  []*monitor.Snapshot // oldest first, up to PlayOptions.History of them, and no more than some 64 MiB of text
	Skipped []*monitor.Snapshot // between Before, or the Snapshot of the last frame, and this one: not shown one by one; bounded as Before
	State   State
	Err     error // the recording cannot be read on: the last frame, in the place of one that was not taken
}

// State is where a Player stands.
type State struct {
	Paused         bool
	Speed          float64
	AtStart, AtEnd bool          // Snapshot is the first, or the last for now
	Seeking        bool          // another one is being looked for
	Broken         int           // lines that were passed over so far, and damages, up to MaxBroken
	Missing        time.Duration // how long before Snapshot nothing was recorded; 0 when there is no gap
	First, Last    time.Time     // of the recording, as far as is known
}

// Player plays a recording in a goroutine of its own. Its methods may be called
// from any goroutine and never wait.
type Player struct {
	r      *Reader
	o      PlayOptions
	frames chan Frame
	wake   chan struct{}

	mu     sync.Mutex
	wish   wish
	closed bool
	paused bool
	speed  float64

	// The rest belongs to the goroutine.
	state     State
	current   *monitor.Snapshot
	head      head     // of current
	place     position // of current
	next      position // behind current
	start     position // of the first snapshot
	strayed   bool     // the Reader does not stand at next, or peeked
	peeked    *item
	elapsed   time.Duration // of the recording, since current
	counted   time.Time     // until when elapsed is right
	due       time.Time     // when to look again
	shown     time.Time     // when the last frame was sent
	since     time.Time     // when the present search began, or reading for a frame
	announced bool          // that there is a search
	broken    map[position]struct{}
	sound     position // of the last line of peek that was not broken
}

// wish is where to go: first to base, then by a time, then by steps.
type wish struct {
	base  base
	at    time.Time
	by    time.Duration
	steps int
	fresh bool // base was wished for since the player last looked
	any   bool
}

type base uint8

const (
	here base = iota
	atTime
	atHome
	atEnd
)

// item is one line that is yet to be played.
type item struct {
	head
	text []byte
	snap *monitor.Snapshot // where it was decoded already
	at   position
	next position
}

// Play begins to play what r reads. r belongs to the Player from now on: Close
// closes it.
func Play(r *Reader, o PlayOptions) *Player {
	if o.Choose == nil {
		o.Choose = func(s *monitor.Snapshot) *monitor.Snapshot { return s }
	}
	p := &Player{
		r:      r,
		o:      o,
		frames: make(chan Frame, 1),
		wake:   make(chan struct{}, 1),
		speed:  clampSpeed(o.Speed),
		broken: make(map[position]struct{}),
	}
	p.wish = wish{base: atHome, any: true}
	if !o.At.IsZero() {
		p.wish = wish{base: atTime, at: o.At, any: true}
	}
	r.lines.in.stop = p.stopped
	go p.run()
	return p
}

func clampSpeed(speed float64) float64 {
	if !(speed > 0) {
		return 1
	}
	return min(max(speed, minSpeed), maxSpeed)
}

// Frames gives what is to be shown. A frame that was not taken is merged into
// the next one. The channel is closed after Close, and after a frame with Err.
func (p *Player) Frames() <-chan Frame { return p.frames }

// Pause stops playing, or goes on.
func (p *Player) Pause(on bool) { p.do(func() { p.paused = on }) }

// SetSpeed sets how many times faster than life to play, from 0.1 to 1000.
func (p *Player) SetSpeed(speed float64) { p.do(func() { p.speed = clampSpeed(speed) }) }

// Step pauses and goes n snapshots on, or back where n is negative.
func (p *Player) Step(n int) {
	p.do(func() {
		p.paused = true
		p.wish.steps = min(max(p.wish.steps+n, -1e9), 1e9)
		p.wish.any = true
	})
}

// SeekTo goes to the last snapshot at or before t, or to the first one.
func (p *Player) SeekTo(t time.Time) {
	p.do(func() { p.wish = wish{base: atTime, at: t, fresh: true, any: true} })
}

// SeekBy goes on by d, or back, from the snapshot shown or just looked for.
func (p *Player) SeekBy(d time.Duration) {
	p.do(func() {
		if sum := p.wish.by + d; (sum > p.wish.by) == (d > 0) {
			p.wish.by = sum
		}
		p.wish.any = true
	})
}

// Home goes to the first snapshot.
func (p *Player) Home() { p.do(func() { p.wish = wish{base: atHome, fresh: true, any: true} }) }

// End goes to the last snapshot.
func (p *Player) End() { p.do(func() { p.wish = wish{base: atEnd, fresh: true, any: true} }) }

// Close ends playing, and closes the Reader soon after.
func (p *Player) Close() { p.do(func() { p.closed = true }) }

func (p *Player) do(change func()) {
	p.mu.Lock()
	change()
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// stopped tells whether what is being looked for is no longer wanted.
func (p *Player) stopped() bool {
	p.mu.Lock()
	stop := p.closed || p.wish.any && !p.since.IsZero() && (p.wish.fresh || time.Since(p.since) > patience)
	p.mu.Unlock()
	if !stop && !p.announced && !p.since.IsZero() && p.current != nil && time.Since(p.since) > patience {
		p.announced = true
		p.state.Seeking = true
		p.send(Frame{Snapshot: p.current, Again: true})
	}
	return stop
}

func (p *Player) run() {
	defer close(p.frames)
	defer p.r.Close()
	err := p.play()
	if err == errStopped {
		return
	}
	p.send(Frame{Err: err})
}

// play plays until it is closed, which is errStopped, or something fails.
func (p *Player) play() error {
	if !p.r.seeks {
		return &unseekableError{p.r.name}
	}
	if err := p.open(); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p.mu.Lock()
		w := p.wish
		p.wish = wish{}
		closed, paused, speed := p.closed, p.paused, p.speed
		p.mu.Unlock()
		if closed {
			return errStopped
		}
		p.count()
		changed := paused != p.state.Paused || speed != p.state.Speed
		p.state.Paused, p.state.Speed = paused, speed
		pause := time.Duration(0)
		var err error
		p.since = time.Now()
		if w.any {
			err = p.fulfil(w)
			if err == errStopped {
				p.strayed = true
				p.putBack(w)
				err = nil
			}
		} else {
			if changed {
				p.send(Frame{Snapshot: p.current, Again: true})
			}
			pause, err = p.advance()
		}
		p.since, p.announced = time.Time{}, false
		if err != nil {
			return err
		}
		p.due = time.Now().Add(pause)
		timer.Reset(pause)
		select {
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// unseekableError says that a file can be read only once.
type unseekableError struct{ name string }

func (e *unseekableError) Error() string {
	return e.name + " cannot be replayed: it is no regular file, in which one can go back"
}

// putBack keeps a wish that something newer has interrupted.
func (p *Player) putBack(w wish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wish.fresh {
		return
	}
	w.by += p.wish.by
	w.steps += p.wish.steps
	p.wish = w
}

// open finds the first and the last snapshot.
func (p *Player) open() error {
	at, h, err := p.r.first()
	if err != nil {
		return err
	}
	last, err := p.r.last()
	if err != nil {
		return err
	}
	p.start = at
	p.state.First, p.state.Last = h.time, last.Time
	return nil
}

// send hands a frame over. One that was not taken yet becomes part of it.
func (p *Player) send(f Frame) {
	f.State = p.state
	select {
	case old := <-p.frames:
		f = p.merge(old, f)
	default:
	}
	p.frames <- f
	p.shown = time.Now()
}

func (p *Player) merge(old, f Frame) Frame {
	switch {
	case f.Err != nil || f.Sought:
		return f
	case f.Again:
		old.State = f.State
		return old
	case old.Again:
		return f
	}
	skipped := make([]*monitor.Snapshot, 0, len(old.Skipped)+1+len(f.Skipped))
	skipped = append(append(append(skipped, old.Skipped...), old.Snapshot), f.Skipped...)
	f.Skipped = skipped[max(0, len(skipped)-p.o.History):]
	f.Sought, f.Before = old.Sought, old.Before
	return f
}

// count adds what was played to elapsed. While the program was stopped nothing
// was.
func (p *Player) count() {
	now := time.Now()
	if !p.state.Paused && !p.counted.IsZero() {
		until := now
		if now.Sub(p.due) > stoppedFor {
			until = p.due
		}
		played := float64(until.Sub(p.counted)) * p.state.Speed
		p.elapsed = time.Duration(min(float64(p.elapsed)+played, float64(maxElapsed)))
	}
	p.counted = now
}

// peek returns the next line to be played, nil at the end.
func (p *Player) peek() (*item, error) {
	if p.strayed {
		p.r.lines.goTo(p.next, 0)
		p.strayed, p.peeked = false, nil
	}
	for p.peeked == nil {
		found, err := p.r.lines.next()
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			p.strayed = true
			return nil, p.r.wrap(err)
		}
		it := &item{at: found.at}
		h, ok := headOf(found.text)
		if !ok || h.steady == 0 || h.interval == 0 || found.partial {
			// The head does not tell enough, or the line may not be whole.
			s, err := p.r.decode(&found)
			if err != nil {
				return nil, err
			}
			if s == nil {
				if !found.partial {
					p.pass(&found)
				}
				continue
			}
			h, it.snap = headOfSnapshot(s), s
		}
		it.head, it.text, it.next = h, found.text, p.r.lines.start
		p.peeked = it
		p.sound = it.at
	}
	return p.peeked, nil
}

// pass counts a line that is no snapshot, once, and a damage instead of the
// lines that came of it, as Reader.Broken does.
func (p *Player) pass(l *line) {
	if l.damage {
		for at := range p.broken {
			if at.entry == l.at.entry && p.sound.before(at) {
				delete(p.broken, at)
			}
		}
	}
	if len(p.broken) < MaxBroken {
		p.broken[l.at] = struct{}{}
	}
	p.state.Broken = len(p.broken)
}

// decode returns what is shown of a line, nil where it is no snapshot.
func (p *Player) decode(it *item) (*monitor.Snapshot, error) {
	s := it.snap
	if s == nil {
		var err error
		if s, err = p.r.decode(&line{text: it.text, at: it.at}); err != nil {
			return nil, err
		}
	}
	if s == nil {
		p.pass(&line{at: it.at})
		return nil, nil
	}
	return p.o.Choose(s), nil
}

// gap returns how long to wait between two snapshots at speed 1, and for how
// long nothing was recorded between them: where a later run went on with the
// file, or the program did not come to record.
func gap(old, new head) (wait, missing time.Duration) {
	interval := max(old.interval, new.interval)
	if interval <= 0 {
		interval = time.Second
	}
	wait = time.Duration(new.steady - old.steady)
	if wait >= 0 && wait <= 2*interval {
		return wait, 0
	}
	if wait < 0 {
		wait = max(0, new.time.Sub(old.time))
	}
	return min(wait, interval), wait
}

// batch is what is taken of the recording for one frame: the last snapshots, as
// many as a history needs.
type batch struct {
	items   []item
	text    int
	missing time.Duration // before the last
}

func (p *Player) add(b *batch, it *item, missing time.Duration) {
	if it.snap == nil {
		it.text = append([]byte(nil), it.text...)
	}
	b.items = append(b.items, *it)
	b.text += len(it.text)
	b.missing = missing
	for len(b.items) > 1 && (len(b.items) > p.o.History+1 || b.text > maxHistory) {
		b.text -= len(b.items[0].text)
		b.items = b.items[1:]
	}
	p.peeked = nil
}

// finish decodes a batch, and makes its last snapshot the current one. It is
// false where there was none.
func (p *Player) finish(b *batch) (f Frame, ok bool, err error) {
	for i := range b.items {
		s, err := p.decode(&b.items[i])
		if err != nil {
			return f, false, err
		}
		if s == nil {
			continue
		}
		if f.Snapshot != nil {
			f.Skipped = append(f.Skipped, f.Snapshot)
		}
		f.Snapshot = s
		p.enter(s, &b.items[i], b.missing)
	}
	return f, f.Snapshot != nil, nil
}

// enter makes s the snapshot shown.
func (p *Player) enter(s *monitor.Snapshot, it *item, missing time.Duration) {
	p.current, p.head, p.place, p.next = s, it.head, it.at, it.next
	p.state.Missing = missing
	p.state.AtStart = p.place == p.start
	if it.time.After(p.state.Last) {
		p.state.Last = it.time
	}
}

// advance shows what is due, and returns how long to wait for more.
func (p *Player) advance() (time.Duration, error) {
	if p.state.Paused {
		return time.Hour, nil
	}
	var taken batch
	pause, ended := growPause, false
	for last := p.head; ; {
		it, err := p.peek()
		if err == errStopped {
			// What was taken is shown first.
			pause = 0
			break
		}
		if err != nil {
			return 0, err
		}
		if it == nil {
			ended = true
			break
		}
		wait, missing := gap(last, it.head)
		if p.state.AtEnd {
			// The time spent at the end was not the recording's.
			p.state.AtEnd = false
			p.elapsed = min(p.elapsed, wait)
		}
		if p.elapsed < wait {
			pause = time.Duration(float64(wait-p.elapsed) / p.state.Speed)
			break
		}
		if len(taken.items) == 0 {
			if rest := framePause - time.Since(p.shown); rest > 0 {
				pause = rest
				break
			}
		} else if time.Since(p.since) > framePause {
			// Faster than can be read: what was not reached is not owed.
			p.elapsed, pause = 0, 0
			break
		}
		p.elapsed -= wait
		last = it.head
		p.add(&taken, it, missing)
	}
	f, ok, err := p.finish(&taken)
	if err != nil {
		return 0, err
	}
	if ok || ended != p.state.AtEnd || p.state.Seeking {
		if !ok {
			f = Frame{Snapshot: p.current, Again: true}
		}
		p.state.AtEnd, p.state.Seeking = ended, false
		p.send(f)
	}
	return pause, nil
}

// fulfil goes where w wants to.
func (p *Player) fulfil(w wish) error {
	place := p.place
	if w.base != here || w.by != 0 {
		var err error
		if place, err = p.search(w); err != nil {
			return err
		}
		if place == p.place && w.base == here && w.by > 0 {
			// There is nothing within that time: over the gap.
			w.steps++
		} else if w.steps >= 0 {
			if err := p.show(place, -1); err != nil {
				return err
			}
		}
	}
	switch {
	case w.steps < 0:
		return p.show(place, -w.steps)
	case w.steps > 0:
		return p.forward(w.steps)
	case w.base == here && w.by == 0:
		return p.arrive(Frame{Snapshot: p.current, Again: true})
	}
	return nil
}

// search finds where w wants to go, but for its steps.
func (p *Player) search(w wish) (position, error) {
	p.strayed = true
	t := w.at
	switch w.base {
	case here:
		t = p.head.time
	case atHome:
		if w.by == 0 {
			return p.start, nil
		}
		t = p.state.First
	case atEnd:
		size, err := p.r.lines.size()
		if err != nil {
			return position{}, p.r.wrap(err)
		}
		last, err := p.r.before(position{size, math.MaxInt64}, 1)
		if err != nil {
			return position{}, err
		}
		if len(last) == 0 {
			return p.start, nil
		}
		if w.by == 0 {
			return last[0], nil
		}
		t = p.state.Last
	}
	if t = t.Add(w.by); t.Before(p.state.First) {
		return p.start, nil
	}
	return p.r.find(t, p.start, head{time: p.state.First})
}

// show goes to the snapshot at a place, or to the one that stands some steps
// before it, with the history before that. A line that turns out to be broken
// gives way to the one before, and that to the first one.
func (p *Player) show(place position, steps int) error {
	p.strayed = true
	n := max(p.o.History, 1) // one tells whether there is a gap
	places, err := p.r.before(place, n+max(steps, 0))
	if err != nil {
		return err
	}
	if steps > 0 {
		if len(places) == 0 {
			return p.arrive(Frame{Snapshot: p.current, Again: true})
		}
		i := max(len(places)-steps, 0)
		place, places = places[i], places[max(0, i-n):i]
	}
	from := place
	if len(places) > 0 {
		from = places[0]
	}
	var items []item
	var shown []*monitor.Snapshot
	p.r.lines.goTo(from, 0)
	for at := from; at.before(place) || at == from; {
		found, err := p.r.lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.r.wrap(err)
		}
		if at = found.at; place.before(at) {
			break
		}
		s, err := p.r.decode(&found)
		if err != nil {
			return err
		}
		if s == nil {
			p.pass(&found)
			continue
		}
		items = append(items, item{head: headOfSnapshot(s), at: at, next: p.r.lines.start})
		shown = append(shown, p.o.Choose(s))
	}
	last := len(shown) - 1
	if last < 0 {
		if place == p.start {
			return p.r.nothing()
		}
		return p.show(p.start, 0)
	}
	missing := time.Duration(0)
	if last > 0 {
		_, missing = gap(items[last-1].head, items[last].head)
	}
	p.enter(shown[last], &items[last], missing)
	return p.arrive(Frame{Snapshot: shown[last], Sought: true, Before: shown[max(0, last-p.o.History):last]})
}

// forward goes n snapshots on, or to the last.
func (p *Player) forward(n int) error {
	for {
		var taken batch
		last := p.head
		for ; n > 0; n-- {
			it, err := p.peek()
			if err != nil {
				return err
			}
			if it == nil {
				break
			}
			_, missing := gap(last, it.head)
			last = it.head
			p.add(&taken, it, missing)
		}
		f, ok, err := p.finish(&taken)
		if err != nil {
			return err
		}
		if ok {
			return p.arrive(f)
		}
		if len(taken.items) == 0 {
			return p.arrive(Frame{Snapshot: p.current, Again: true})
		}
		n = 1 // these were broken
	}
}

// arrive shows what a wish has led to.
func (p *Player) arrive(f Frame) error {
	// Whether anything follows is not worth a wait that nobody asked for.
	it, err := p.peek()
	if err != nil && err != errStopped {
		return err
	}
	p.state.AtEnd = it == nil && err == nil
	p.state.Seeking = false
	p.elapsed, p.counted = 0, time.Now()
	p.send(f)
	return nil
}
