package apart

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
)

// A message is a kind, the length of its payload in four bytes, little end
// first, and the payload.
type kind byte

const (
	// From the driver process.
	kindHello    kind = 'h' // it runs; nothing of the driver was touched yet
	kindAlive    kind = 'a' // it still runs
	kindSnapshot kind = 's' // monitor.Encoder
	kindNote     kind = 'n' // what Setup.Note was given
	kindFailed   kind = 'f' // monitor.OpenError as JSON: nothing more will come
	kindDone     kind = 'd' // all that was asked for was sent

	// To the driver process.
	kindSetup   kind = 'S' // Setup as JSON, first of all
	kindRequest kind = 'R' // monitor.Request as JSON
	kindModes   kind = 'M' // what restores the terminal
	kindBye     kind = 'B' // the terminal was restored
)

// maxPayload bounds what a reader believes.
const maxPayload = 256 << 20

// messageWriter sends messages, each in one write. After an error it sends
// nothing more, since the other side could not tell where a message begins.
type messageWriter struct {
	mu  sync.Mutex
	out io.Writer
	buf []byte
	err error

	// quiet, where there is one, goes off when nothing was sent for aliveEvery.
	quiet *time.Timer
}

// send sends one message whose payload fill appends.
func (w *messageWriter) send(k kind, fill func(dst []byte) []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = append(w.buf[:0], byte(k), 0, 0, 0, 0)
	if fill != nil {
		w.buf = fill(w.buf)
	}
	binary.LittleEndian.PutUint32(w.buf[1:], uint32(len(w.buf)-5))
	_, w.err = w.out.Write(w.buf)
	if w.quiet != nil {
		w.quiet.Reset(aliveEvery)
	}
	return w.err
}

// sendJSON sends v.
func (w *messageWriter) sendJSON(k kind, v any) error {
	return w.send(k, func(dst []byte) []byte { return json.Append(dst, v) })
}

// messageReader receives messages. The payload is valid until the next call.
type messageReader struct {
	in  *bufio.Reader
	buf []byte
}

func newMessageReader(in io.Reader) *messageReader {
	return &messageReader{in: bufio.NewReaderSize(in, 64<<10)}
}

func (r *messageReader) next() (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxPayload {
		return 0, nil, monitor.Errorf("message of %d bytes", n)
	}
	if uint32(cap(r.buf)) < n {
		// Grown by what really arrives, not by what the header claims.
		r.buf = make([]byte, 0, min(n, 1<<20))
	}
	r.buf = r.buf[:0]
	for uint32(len(r.buf)) < n {
		if len(r.buf) == cap(r.buf) {
			r.buf = append(r.buf, 0)[:len(r.buf)]
		}
		part := r.buf[len(r.buf):min(cap(r.buf), int(n))]
		m, err := io.ReadFull(r.in, part)
		r.buf = r.buf[:len(r.buf)+m]
		if err != nil {
			return 0, nil, io.ErrUnexpectedEOF
		}
	}
	return kind(head[0]), r.buf, nil
}
