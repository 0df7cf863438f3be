package record

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// FuzzReader: whatever a file holds, reading and seeking end, hold no more than
// a line, and find what stands there: reading goes on behind anything.
func FuzzReader(f *testing.F) {
	l := recording(3)
	text := join(l)
	for _, content := range []string{
		"", "\n", "x", l[0], text[:len(text)-9], l[0] + l[1][:50] + l[2], l[0] + "\x1f\x8b\x08\x00\n" + l[1],
		zipped(text), killed(text), cut(zipped(text), 30), killed(text[:700]) + zipped(l[2]), zipped(l[0]) + "\x1f\x8b\x08\x00" + zipped(l[2]),
		zipped(l[0]) + "garbage" + zipped(l[2]), flushedLines(l[:2]) + string(gzipHeader), cut(flushedLines(l), 14),
		string(gzipHeader), strings.Repeat(string(gzipHeader), 50), flushedLines(l), zipped(strings.Repeat("x", 1<<20)), zipped(text) + strings.Repeat("\x00", 1000),
		`{"schema":"nvtop-lite/9"}` + "\n", strings.Repeat("[", 10000),
	} {
		f.Add([]byte(content))
	}
	last := lineOf(snapshot(3, 0))
	f.Fuzz(func(t *testing.T, content []byte) {
		at := bytes.NewReader(content)
		r := newReader("x", nil, at, nil, func() (int64, error) { return int64(len(content)), nil })
		count, failed := 0, false
		var times []time.Time
		for {
			s, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				failed = true
				break
			}
			if count++; count > len(content)*1100 {
				t.Fatal("endless")
			}
			times = append(times, s.Time)
		}
		if broken, numbers := r.Broken(); broken < len(numbers) || len(numbers) > maxNumbers {
			t.Errorf("%d broken lines %v", broken, numbers)
		} else if r.Damaged() > broken || r.Damaged() > 0 && !r.lines.gzip {
			t.Errorf("%d damages, %d broken", r.Damaged(), broken)
		}
		if !failed {
			s, err := r.Last()
			if err != nil || !s.Time.Equal(times[len(times)-1]) {
				t.Errorf("last: %v, error %v, want %v", s, err, times[len(times)-1])
			}
			first, _, err := r.Span()
			if err != nil || !first.Equal(times[0]) {
				t.Errorf("first: %v, error %v", first, err)
			}
			if s, err := r.At(times[len(times)/2]); err == nil && s.Time.After(times[len(times)/2]) {
				t.Errorf("at %v: %v", times[len(times)/2], s.Time)
			}
		} else {
			r.Last()
			r.At(start)
		}
		if n := len(r.lines.buf) + len(r.lines.in.buf); n > 4*len(content)+maxLine+1<<20 {
			t.Errorf("%d bytes are held", n)
		}

		// Through a pipe the same is read.
		piped := newReader("x", nil, nil, bytes.NewReader(content), nil)
		got := 0
		for {
			if _, err := piped.Next(); err != nil {
				if err == io.EOF && got != count {
					t.Errorf("%d snapshots through a pipe, %d without", got, count)
				}
				if err == io.EOF && piped.Damaged() != r.Damaged() {
					t.Errorf("%d damages through a pipe, %d without", piped.Damaged(), r.Damaged())
				}
				break
			}
			got++
		}

		// What can be appended to has one more line then, and all that it had.
		path := write(t, "x", string(content))
		w, err := Create(path)
		if err != nil {
			return
		}
		if err := w.Write([]byte(last)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all, err := readAll(open(t, path))
		if err == nil && (len(all) != count+1 || all[count] != 3) {
			t.Errorf("after appending: %v, %d before", all, count)
		}
		if w.z == nil {
			return
		}
		// Others read it to its end from a member that they can read.
		grown := open(t, path)
		if err := grown.lines.look(); err != nil {
			t.Fatal(err)
		}
		member, err := grown.lastMember(w.Size())
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(io.NewSectionReader(grown.file, member, w.Size()-member))
		if err == nil {
			_, err = io.Copy(io.Discard, z)
		}
		if err != nil {
			t.Errorf("after appending, the last member: %v", err)
		}
	})
}

// TestDamaged does a part of FuzzReader's work where nobody fuzzes: files with a
// few bytes changed, gone or doubled.
func TestDamaged(t *testing.T) {
	l := recording(8)
	random := rand.New(rand.NewPCG(1, 1))
	for name, text := range map[string]string{"plain": join(l), "ours": flushedLines(l[:4]) + flushedLines(l[4:]), "gzip": zipped(join(l[:4])) + zipped(join(l[4:]))} {
		for range 150 {
			b := []byte(text)
			for range 1 + random.IntN(3) {
				i := 20 + random.IntN(len(b)-40)
				n := random.IntN(20)
				switch random.IntN(3) {
				case 0:
					b[i] ^= byte(1 + random.IntN(255))
				case 1:
					b = append(b[:i], b[i+n:]...)
				case 2:
					b = append(b[:i+n:i+n], b[i:]...)
				}
			}
			r := newReader("x", nil, bytes.NewReader(b), nil, func() (int64, error) { return int64(len(b)), nil })
			got, err := readAll(r)
			piped, pipedErr := readAll(newReader("x", nil, nil, bytes.NewReader(b), nil))
			if len(got) != len(piped) || (err == nil) != (pipedErr == nil) {
				t.Errorf("%s: read %v, through a pipe %v; errors %v, %v", name, got, piped, err, pipedErr)
			}
			r.Last()
			r.At(start.Add(3 * time.Second))
		}
	}
}
