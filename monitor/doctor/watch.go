package doctor

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// note is what the driver process tells: one of its fields is there.
type note struct {
	Opened *opened `json:",omitempty"`
	Begin  *call   `json:",omitempty"`
	End    *call   `json:",omitempty"`
	Lacks  *call   `json:",omitempty"` // a function that the library has not
	Told   *told   `json:",omitempty"` // a reading that NVML gave
	Memory *string `json:",omitempty"` // what NVML said of memory that is the machine's
	System *system `json:",omitempty"` // what the system itself tells of its GPUs
}

// told is a reading that NVML gave. What is shown may be another: files fill in
// what cannot be.
type told struct {
	GPU   int
	Key   string
	Value float64
}

// system is what the system itself tells of its GPUs: for the JSON, and as lines of
// the page, each with what it is about before a colon.
type system struct {
	Found any
	Lines []string
}

// opened tells of the libraries that were tried.
type opened struct {
	Tried     []Try
	Path      string // of the one in use
	Functions int
}

// call is one call into the driver's library.
type call struct {
	ID       uint64
	Function string
	GPU, MIG int          // -1 for none
	For      monitor.Want // what it is to bring
	Query    int          // calls of one query have one number
	Took     time.Duration
	Code     int32
	Answer   string // NVML's name for Code, or the number
}

// Watch tells of all that is done with the driver's library, in the driver
// process.
type Watch struct {
	tell func([]byte)

	mu    sync.Mutex
	asks  map[int]query        // by GPU: what is being asked of it
	begun map[uint64]time.Time // calls in progress
	count int                  // of queries
}

// query is a number, and what its calls are to bring.
type query struct {
	want   monitor.Want
	number int
}

// NewWatch returns a Watch that tells through tell, which must not keep what it
// is given.
func NewWatch(tell func([]byte)) *Watch {
	return &Watch{tell: tell, asks: map[int]query{}, begun: map[uint64]time.Time{}}
}

// Source is s, watched: it is heard what readings a call is made for.
func (w *Watch) Source(s monitor.Source) monitor.Source { return watched{s, w} }

type watched struct {
	monitor.Source
	watch *Watch
}

func (s watched) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	s.Source.Read(d, want, watchedSink{sink, s.watch, d.Index})
}

type watchedSink struct {
	monitor.Sink
	watch *Watch
	gpu   int
}

func (s watchedSink) Begin(want monitor.Want) {
	w := s.watch
	w.mu.Lock()
	w.count++
	w.asks[s.gpu] = query{want, w.count}
	w.mu.Unlock()
	s.Sink.Begin(want)
}

func (s watchedSink) Reading(id monitor.ReadingID, r monitor.Reading) {
	if r.Known() {
		v, _ := r.Float()
		s.watch.send(note{Told: &told{s.gpu, id.String(), v}})
	}
	s.Sink.Reading(id, r)
}

// Unified is driver.Watcher's.
func (w *Watch) Unified(total uint64, answer string) {
	switch {
	case answer != "":
	case total == 0:
		answer = "0"
	default:
		answer = "all"
	}
	w.send(note{Memory: &answer})
}

// System tells what the system itself tells of its GPUs.
func (w *Watch) System(found any, lines []string) {
	w.send(note{System: &system{found, lines}})
}

// Opened tells of the libraries that were tried, as driver.Watcher.
func (w *Watch) Opened(lib *nvml.Library, tried []nvml.Attempt) {
	o := &opened{}
	for _, a := range tried {
		t := Try{Path: a.Path, File: Word(a.File), Answer: answerOf(a)}
		if a.Err == nil && lib == nil {
			t.Answer = "loads"
		}
		o.Tried = append(o.Tried, t)
	}
	if lib != nil {
		o.Path = lib.Path()
		for fn := range gen.Function(gen.NumFunctions) {
			if lib.Has(fn) {
				o.Functions++
			}
		}
	}
	w.send(note{Opened: o})
}

// answerOf is what a library that was tried answered, in one line.
func answerOf(a nvml.Attempt) string {
	switch {
	case a.Err == nil:
		return "ok"
	case errors.Is(a.Err, fs.ErrNotExist):
		return "not found"
	}
	text := strings.TrimPrefix(a.Err.Error(), a.Path+": ")
	return strings.Join(strings.Fields(text), " ")
}

// Begin is nvml.Tracer's.
func (w *Watch) Begin(c nvml.Call) {
	w.send(note{Begin: w.call(c)})
	w.mu.Lock()
	w.begun[c.ID] = time.Now() // telling of it takes time, too
	w.mu.Unlock()
}

// End is nvml.Tracer's.
func (w *Watch) End(c nvml.Call) {
	now := time.Now()
	w.mu.Lock()
	took := now.Sub(w.begun[c.ID])
	delete(w.begun, c.ID)
	w.mu.Unlock()
	end := w.call(c)
	end.Took, end.Code, end.Answer = took, int32(c.Return), c.Return.String()
	w.send(note{End: end})
}

// Lacks is nvml.LackTracer's.
func (w *Watch) Lacks(c nvml.Call) { w.send(note{Lacks: w.call(c)}) }

func (w *Watch) call(c nvml.Call) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.asks[c.Device]
	return &call{ID: c.ID, Function: c.Function.String(), GPU: c.Device, MIG: c.MIG, For: q.want, Query: q.number}
}

func (w *Watch) send(n note) { w.tell(json.Append(nil, n)) }
