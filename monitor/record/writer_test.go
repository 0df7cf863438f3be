package record

import (
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func create(t testing.TB, path string) *Writer {
	t.Helper()
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// record appends lines to the file.
func record(t testing.TB, path string, l []string) {
	t.Helper()
	w := create(t, path)
	for _, line := range l {
		if err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != w.Size() {
		t.Errorf("the file has %d bytes, Size says %d; error %v", info.Size(), w.Size(), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unzipped is the text of a whole file, every byte of which must be right.
func unzipped(t testing.TB, path string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(content(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWrite: new files, plain and compressed, and what is appended to them.
func TestWrite(t *testing.T) {
	l := recording(20)
	dir := t.TempDir()
	plain, compressed := filepath.Join(dir, "a.json"), filepath.Join(dir, "a.json.gz")
	for _, part := range [][]string{l[:5], nil, l[5:6], l[6:]} {
		record(t, plain, part)
		record(t, compressed, part)
	}
	if got := content(t, plain); got != join(l) {
		t.Errorf("plain: %q", got)
	}
	if got := unzipped(t, compressed); got != join(l) {
		t.Errorf("compressed: %q", got)
	}
	// What is there goes on as it is, whatever its name.
	renamed := filepath.Join(dir, "b.gz")
	if err := os.Rename(plain, renamed); err != nil {
		t.Fatal(err)
	}
	record(t, renamed, l[:1])
	if got := content(t, renamed); got != join(l, l[0]) {
		t.Errorf("plain text by the name of .gz: %q", got)
	}
}

// TestMembers: a compressed file has a new member every 1 MiB of text.
func TestMembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gz")
	line := lineOf(snapshot(0, 8))
	n := 5*memberText/len(line) + 1
	l := recordingOf(n, 8)
	record(t, path, l)
	if got := unzipped(t, path); got != join(l) {
		t.Error("the text differs")
	}
	if got := strings.Count(content(t, path), string(gzipHeader)); got != 5 {
		t.Errorf("%d members", got)
	}
	r := open(t, path)
	for _, i := range []int{0, 1, n / 3, n / 2, n - 2, n - 1} {
		if s, err := r.At(snapshot(i, 0).Time); err != nil || number(s) != i {
			t.Errorf("at %d: %v", i, err)
		}
	}
}

// TestEveryLineIsThere: what was written is in the file, also before Close.
func TestEveryLineIsThere(t *testing.T) {
	l := recording(5)
	for _, name := range []string{"a", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w := create(t, path)
		r := open(t, path)
		for i, line := range l {
			if err := w.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, []int{i}) {
				t.Errorf("%s: read %v, error %v", name, got, err)
			}
		}
		w.Close()
	}
}

// TestAppendTo: every end that a file may have. want is what is read after one
// more line, unchanged whether the beginning of the file stays byte by byte.
func TestAppendTo(t *testing.T) {
	l := recording(6)
	five := l[:5]
	text := join(five)
	flushes := flushedLines(five)
	for _, tt := range []struct {
		name, content string
		want          []int
		whole         bool // gzip finds nothing wrong afterwards
		kept          int  // bytes that must be what they were
	}{
		{"nothing", "", []int{5}, true, 0},
		{"plain", text, upTo(6), true, len(text)},
		{"plain, unfinished", cut(text, 20), []int{0, 1, 2, 3, 5}, true, len(text) - 20},
		{"plain, without the last line end", cut(text, 1), upTo(6), true, len(text) - 1},
		{"plain, hardly begun", `{"sch`, []int{5}, true, 5},
		{"plain, first line begun", l[0][:100], []int{5}, true, 100},
		{"by gzip", zipped(text), upTo(6), true, len(zipped(text))},
		{"ended", flushes, upTo(6), true, len(flushes)},
		{"killed", cut(flushes, 13), upTo(6), true, len(flushes) - 13},
		{"killed within the end of the member", cut(flushes, 5), upTo(6), true, len(flushes) - 13},
		{"killed within a line", cut(flushes, 30), []int{0, 1, 2, 3, 5}, true, len(flushedLines(l[:4])) - 13},
		{"zeros behind", cut(flushes, 13) + strings.Repeat("\x00", 500), upTo(6), true, len(flushes) - 13},
		{"killed in a second run", zipped(join(l[:3])) + cut(flushedLines(l[3:5]), 13), upTo(6), true, 0},
		{"header alone", string(gzipHeader), []int{5}, true, 0},
		{"half a header", string(gzipHeader[:4]), []int{5}, true, 0},
		{"half a header behind", flushes + string(gzipHeader[:4]), upTo(6), true, len(flushes)},
		{"header behind", flushes + string(gzipHeader), upTo(6), true, len(flushes)},
		{"a member behind that was hardly begun", flushes + flushedLines(l[:1])[:100], upTo(6), true, len(flushes)},
		{"the same with zeros", flushes + flushedLines(l[:1])[:100] + strings.Repeat("\x00", 500), upTo(6), true, len(flushes)},
		{"zeros behind the end", flushes + strings.Repeat("\x00", 5000), upTo(6), true, len(flushes)},
		{"killed within the last line's flush", cut(flushes, 14), upTo(6), true, len(flushedLines(l[:4])) - 13},
		{"killed within the first line's flush", cut(flushedLines(l[:1]), 14), []int{0, 5}, true, 0},
		{"lines behind the last flush", killed(join(l[:1])) + zipped("")[10:12] + "x", []int{0, 5}, true, len(killed(join(l[:1])))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "x", tt.content)
			if tt.content == "" || strings.HasPrefix(tt.content, "\x1f") {
				path = write(t, "x.gz", tt.content)
			}
			record(t, path, nil)
			r := open(t, path)
			if before := open(t, write(t, "y", tt.content)); tt.want[0] == 0 {
				old, _ := readAll(before)
				if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, old) {
					t.Errorf("opening it has changed it: %v instead of %v, error %v", got, old, err)
				}
			}
			record(t, path, l[5:])
			got, err := readAll(open(t, path))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %v, want %v, error %v", got, tt.want, err)
			}
			if now := content(t, path); now[:tt.kept] != tt.content[:tt.kept] {
				t.Error("what was there has changed")
			}
			if tt.whole && strings.HasPrefix(tt.content, "\x1f") {
				unzipped(t, path)
			}
		})
	}
}

// TestAppendToCut: wherever a compressed recording was cut, no line that was
// there is lost, and gzip finds nothing wrong afterwards. Where that cannot be, as
// where gzip itself compressed more than a line at once, it is refused.
func TestAppendToCut(t *testing.T) {
	l := recording(5)
	for name, text := range map[string]string{"flushed": flushedLines(l[:2]) + flushedLines(l[2:4]), "at once": zipped(join(l[:2])) + zipped(join(l[2:4]))} {
		// Around the end of each line each byte counts.
		ends := map[int]bool{}
		if name == "flushed" {
			for i := range 4 {
				member := flushedLines(l[:2])
				end := len(flushedLines(l[i/2*2 : i+1]))
				if i >= 2 {
					end += len(member)
				}
				for n := end - 40; n <= min(end+2, len(text)-1); n++ {
					ends[n] = true
				}
			}
		}
		for n := range len(text) {
			if n%11 != 0 && !ends[n] {
				continue
			}
			path := write(t, "x.gz", text[:n])
			before, _ := readAll(open(t, path))
			if w, err := Create(path); err == nil {
				w.Close()
			} else if name == "flushed" || !strings.Contains(err.Error(), "cut off or damaged") {
				t.Errorf("%s, cut after %d: %v", name, n, err)
				continue
			} else {
				if content(t, path) != text[:n] {
					t.Errorf("%s, cut after %d: refused, and changed", name, n)
				}
				continue
			}
			record(t, path, l[4:])
			unzipped(t, path)
			if got, err := readAll(open(t, path)); err != nil || !reflect.DeepEqual(got, append(before, 4)) {
				t.Errorf("%s, cut after %d: read %v before, then %v, error %v", name, n, before, got, err)
			}
		}
	}
}

// TestAppendRefused: what is no recording stays as it is.
func TestAppendRefused(t *testing.T) {
	l := recording(1)
	newer := strings.Replace(l[0], "nvtop-lite/1", "nvtop-lite/9", 1)
	five := recording(5)
	flushes := flushedLines(five)
	wrong := []byte(zipped(join(five)))
	wrong[len(wrong)-7] ^= 1
	const broken = "FILE cannot be appended to: its compressed data is cut off or damaged at the end; record to another file, or take what can be read of it: gzip -dc FILE > NEW"
	for _, tt := range []struct{ content, want string }{
		{cut(zipped(join(five)), 8), broken},
		{cut(zipped(join(five)), 30), broken},
		{flushes + cut(zipped(join(five)), 30), broken},
		{string(wrong), broken},
		{flushes + strings.Repeat("x", 100), broken},
		{cut(flushes, 13) + "\xff\xff" + flushes[20:], broken},
		{newer, `FILE, line 1: schema "nvtop-lite/9" is not known`},
		{zipped(newer), `FILE, line 1: schema "nvtop-lite/9" is not known`},
		{"x\n" + newer + l[0], `FILE, line 2: schema "nvtop-lite/9" is not known`},
		{"#!/bin/sh\n", "FILE is no recording"},
		{"hello", "FILE is no recording"},
		{zipped("hello\n"), "FILE is no recording"},
		{"\x7fELF\x00", "FILE is no recording"},
	} {
		path := write(t, "x", tt.content)
		if w, err := Create(path); err == nil || !strings.HasPrefix(err.Error(), strings.Replace(tt.want, "FILE", path, 1)) {
			t.Errorf("%.40q: %v %v, want %s", tt.content, w, err, tt.want)
		}
		if content(t, path) != tt.content {
			t.Errorf("%.40q was changed", tt.content)
		}
	}
	if _, err := Create(t.TempDir()); err == nil {
		t.Error("a directory can be recorded to")
	}
}

// TestAppendToOneMember: a large file that gzip made is appended to without
// being held in memory.
func TestAppendToOneMember(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
	line := lineOf(snapshot(0, 8))
	n := 16 << 20 / len(line)
	for range n {
		io.WriteString(z, line)
	}
	z.Close()
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	create(t, path).Close()
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 8<<20 {
		t.Errorf("%d bytes of memory for appending to %d", allocated, n*len(line))
	}
	record(t, path, []string{lineOf(snapshot(1, 8))})
	r := open(t, path)
	got, err := readAll(r)
	if err != nil || len(got) != n+1 || got[n] != 1 {
		t.Errorf("read %d, error %v", len(got), err)
	}
	if s, err := r.Last(); err != nil || number(s) != 1 {
		t.Errorf("last: %v", err)
	}
}

// TestTwoWriters: the second is refused while the first is there.
func TestTwoWriters(t *testing.T) {
	l := recording(2)
	for _, name := range []string{"a", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		first := create(t, path)
		if err := first.Write([]byte(l[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path); err == nil || err.Error() != path+" is being recorded to by another program" {
			t.Errorf("the second: %v", err)
		}
		if got, err := readAll(open(t, path)); err != nil || len(got) != 1 {
			t.Errorf("a reader meanwhile: %v, error %v", got, err)
		}
		first.Close()
		record(t, path, l[1:])
		if got, err := readAll(open(t, path)); err != nil || len(got) != 2 {
			t.Errorf("read %v, error %v", got, err)
		}
	}
}

// TestFailedWrite: a file that could not be written to has what was there
// before, and can be gone on with.
func TestFailedWrite(t *testing.T) {
	l := recording(30)
	for _, name := range []string{"a", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w := create(t, path)
		random := rand.New(rand.NewPCG(1, 2))
		var want []int
		for i, line := range l {
			if random.IntN(2) == 0 {
				if err := w.Write([]byte(line)); err != nil {
					t.Fatal(err)
				}
				want = append(want, i)
				continue
			}
			// Nothing gets there; TestFullDisk is about a part that does.
			good := w.file
			w.file = failingFile(t, path)
			if err := w.Write([]byte(line)); err == nil {
				t.Error("no error")
			}
			w.file.Close()
			w.file = good
			if got, err := readAll(open(t, path)); len(want) > 0 && (err != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("%s: read %v, error %v", name, got, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(open(t, path))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %v, want %v, error %v", name, got, want, err)
		}
		if strings.HasSuffix(name, ".gz") {
			unzipped(t, path)
		}
	}
}

// failingFile cannot be written to.
func failingFile(t *testing.T, path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// BenchmarkWrite tells the bytes a snapshot of 8 GPUs takes.
func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"plain", "x.gz"} {
		b.Run(name, func(b *testing.B) {
			w := create(b, filepath.Join(b.TempDir(), name))
			defer w.Close()
			l := recordingOf(100, 8)
			b.SetBytes(int64(len(l[0])))
			i := 0
			for b.Loop() {
				if err := w.Write([]byte(l[i%100])); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(w.Size())/float64(i), "bytes/snapshot")
		})
	}
}
