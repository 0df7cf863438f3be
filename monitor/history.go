package monitor

import (
	"math"
	"time"
)

// Quantity is what a History keeps.
type Quantity uint8

// The quantities. Rates are bytes per second; tx is from the GPU, rx to it.
const (
	HistoryUtilization Quantity = iota // percent
	HistorySM                          // percent
	HistoryMemory                      // percent of the total
	HistoryPower                       // percent of the limit
	HistoryPCIeRx
	HistoryPCIeTx
	HistoryNVLinkRx
	HistoryNVLinkTx
	NumQuantities // how many there are
)

// maxKeys is how many GPUs and instances a History remembers.
const maxKeys = 512

var gap = float32(math.NaN())

// History keeps the last samples of every GPU and instance, one an interval.
// It belongs to one goroutine at a time.
type History struct {
	samples int
	size    int     // of the buffers: the samples and room to move on in
	end     int     // of the newest sample in the buffers; they all have the same
	count   int     // samples there are, at most size
	slot    int64   // number of the newest sample
	at      int64   // when it was due, on the clock of Reading.At
	times   []int64 // when each sample was due, in the buffers' order
	entries map[string]*track
	key     []byte
}

// track is what is kept of one GPU.
type track struct {
	seen int64 // the slot it was last in
	data [NumQuantities][]float32
}

// NewHistory returns a History of the given number of samples, 1 or more.
func NewHistory(samples int) *History {
	samples = max(samples, 1)
	return &History{
		samples: samples,
		size:    samples + max(samples/4, 64),
		times:   make([]int64, samples+max(samples/4, 64)),
		entries: make(map[string]*track),
	}
}

// Reset forgets everything, as before showing another part of a recording.
func (h *History) Reset() {
	h.end, h.count, h.slot, h.at = 0, 0, 0, 0
	clear(h.entries)
}

// Add adds the samples of s. What is unknown, a GPU that is not in state OK or
// not there, and every interval without a snapshot become gaps. A snapshot
// that comes within half an interval after the one before completes its
// samples.
func (h *History) Add(s *Snapshot) {
	before := h.at
	if n := h.due(s); n > 0 {
		h.advance(n)
		h.stamp(n, before)
	}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		h.add(g, g.State)
		for j := range g.MIG {
			state := g.MIG[j].State
			if g.State != OK {
				state = g.State
			}
			h.add(&g.MIG[j], state)
		}
	}
}

// due returns by how many samples s moves on, and moves the clock.
func (h *History) due(s *Snapshot) int {
	interval := int64(s.Interval)
	if interval <= 0 {
		interval = int64(time.Second)
	}
	passed := s.Steady - h.at
	if h.count == 0 || passed < 0 {
		h.at = s.Steady
		return 1
	}
	// Rounded; what is missed beyond the buffer is gone anyway.
	n := passed / interval
	if passed%interval*2 >= interval {
		n++
	}
	if n > 0 {
		h.at = s.Steady
	}
	return int(min(n, int64(h.samples)+1))
}

// advance makes room for n samples, all of them gaps for now.
func (h *History) advance(n int) {
	h.slot += int64(n)
	if n > h.samples {
		n = h.samples
	}
	if h.end+n > h.size {
		// Keep what will still be shown, at the start of the buffers.
		keep := min(h.count, h.samples-n)
		for _, t := range h.entries {
			for _, data := range t.data {
				if data != nil {
					copy(data, data[h.end-keep:h.end])
				}
			}
		}
		copy(h.times, h.times[h.end-keep:h.end])
		h.end, h.count = keep, keep
	}
	for _, t := range h.entries {
		for _, data := range t.data {
			if data != nil {
				fillGaps(data[h.end : h.end+n])
			}
		}
	}
	h.end += n
	h.count = min(h.count+n, h.samples)
}

// stamp notes when the newest n samples were due. The newest is that of h.at,
// the others lie evenly between it and the one before them.
func (h *History) stamp(n int, before int64) {
	if h.count == 1 || before > h.at {
		before = h.at
	}
	n = min(n, h.count)
	for i := range n {
		h.times[h.end-1-i] = h.at - (h.at-before)*int64(i)/int64(n)
	}
}

// Times returns when the samples of every Series were due, on the clock of
// Reading.At, the newest last. It is valid until the next Add and must not be
// altered.
func (h *History) Times() []int64 { return h.times[h.end-h.count : h.end : h.end] }

func fillGaps(data []float32) {
	for i := range data {
		data[i] = gap
	}
}

func (h *History) add(g *GPU, state State) {
	h.key = appendKey(h.key[:0], g)
	t := h.entries[string(h.key)]
	if t == nil {
		if t = h.room(); t == nil {
			return
		}
		h.entries[string(h.key)] = t
	}
	t.seen = h.slot
	if state != OK {
		return
	}
	for q := range NumQuantities {
		v, ok := sample(g, q)
		if !ok {
			continue
		}
		if t.data[q] == nil {
			t.data[q] = make([]float32, h.size)
			fillGaps(t.data[q])
		}
		t.data[q][h.end-1] = v
	}
}

// room returns a track for a new key, nil where as many as may be are present.
// It forgets the one absent for longest where it must.
func (h *History) room() *track {
	if len(h.entries) < maxKeys {
		return new(track)
	}
	var oldest string
	var found *track
	for key, t := range h.entries {
		if t.seen < h.slot && (found == nil || t.seen < found.seen) {
			oldest, found = key, t
		}
	}
	if found == nil {
		return nil
	}
	delete(h.entries, oldest)
	for _, data := range found.data {
		fillGaps(data) // its buffers serve the next
	}
	return found
}

// sample returns the value of q, false where it is unknown.
func sample(g *GPU, q Quantity) (float32, bool) {
	var v float64
	var ok bool
	switch q {
	case HistoryUtilization:
		v, ok = g.Readings[UtilizationPercent].Float()
	case HistorySM:
		v, ok = g.Readings[SMActivePercent].Float()
	case HistoryMemory:
		v, ok = share(g.Readings[MemoryUsedBytes], g.Readings[MemoryTotalBytes])
	case HistoryPower:
		v, ok = share(g.Readings[PowerMW], g.Readings[PowerLimitMW])
	case HistoryPCIeRx:
		v, ok = g.Readings[PCIeRxBytesPerSecond].Float()
	case HistoryPCIeTx:
		v, ok = g.Readings[PCIeTxBytesPerSecond].Float()
	case HistoryNVLinkRx:
		v, ok = g.Readings[NVLinkRxBytesPerSecond].Float()
	case HistoryNVLinkTx:
		v, ok = g.Readings[NVLinkTxBytesPerSecond].Float()
	}
	return float32(v), ok
}

// share returns part as a percentage of whole; a whole of 0 gives none.
func share(part, whole Reading) (float64, bool) {
	p, ok := part.Float()
	w, ok2 := whole.Float()
	if !ok || !ok2 || w <= 0 {
		return 0, false
	}
	return 100 * p / w, true
}

// Series returns the samples of q for the GPU with that Key, the newest last
// and NaN for a gap; nil where none was ever known. It is valid until the next
// Add and must not be altered.
func (h *History) Series(key string, q Quantity) []float32 {
	t := h.entries[key]
	if t == nil || q >= NumQuantities || t.data[q] == nil {
		return nil
	}
	return t.data[q][h.end-h.count : h.end : h.end]
}
