package apart

import (
	"bytes"
	"testing"
)

// FuzzMessages: whatever comes over the pipe gives messages and an error, never
// a panic, never more memory than what came.
func FuzzMessages(f *testing.F) {
	var b bytes.Buffer
	w := &messageWriter{out: &b}
	_ = w.send(kindHello, nil)
	_ = w.sendJSON(kindSetup, Setup{Root: "/"})
	f.Add(b.Bytes())
	f.Add([]byte{'s', 255, 255, 255, 255})
	f.Add([]byte{'s', 0, 0, 0, 15, 1, 2})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newMessageReader(bytes.NewReader(in))
		total := 0
		for {
			_, payload, err := r.next()
			if err != nil {
				break
			}
			total += 5 + len(payload)
		}
		if total > len(in) {
			t.Fatalf("%d bytes of messages out of %d", total, len(in))
		}
		if cap(r.buf) > 1<<20+4*len(in) {
			t.Fatalf("%d bytes of memory for %d bytes", cap(r.buf), len(in))
		}
	})
}

func TestMessagesCross(t *testing.T) {
	var b bytes.Buffer
	w := &messageWriter{out: &b}
	big := bytes.Repeat([]byte("x"), 3<<20)
	if err := w.send(kindModes, appendBytes(big)); err != nil {
		t.Fatal(err)
	}
	if err := w.send(kindBye, nil); err != nil {
		t.Fatal(err)
	}
	r := newMessageReader(&b)
	if k, payload, err := r.next(); k != kindModes || !bytes.Equal(payload, big) || err != nil {
		t.Errorf("got %c, %d bytes, %v", k, len(payload), err)
	}
	if k, payload, err := r.next(); k != kindBye || len(payload) != 0 || err != nil {
		t.Errorf("got %c, %d bytes, %v", k, len(payload), err)
	}
}
