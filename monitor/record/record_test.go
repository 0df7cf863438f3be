package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// start is when the recordings of these tests begin.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshot returns the snapshot number i of a recording with one a second. GPUs
// have four processes each.
func snapshot(i, gpus int) *monitor.Snapshot {
	at := start.Add(time.Duration(i) * time.Second)
	s := &monitor.Snapshot{Time: at, Steady: at.UnixNano(), Interval: time.Second, Source: "live"}
	s.Host.Hostname = monitor.OfText("n1")
	r := rand.New(rand.NewPCG(uint64(i), 1))
	for g := range gpus {
		gpu := monitor.GPU{State: monitor.OK, Sources: []string{"nvml"}}
		gpu.Index = g
		gpu.UUID = monitor.OfText(fmt.Sprintf("GPU-%08d", g))
		gpu.Name = monitor.OfText("NVIDIA H100 80GB HBM3")
		gpu.GPUInstanceID, gpu.ComputeInstanceID = monitor.None, monitor.None
		for n := range gpu.Readings {
			gpu.Readings[n] = monitor.OfInt(int64(r.IntN(100)))
		}
		for p := range 4 {
			gpu.Processes = append(gpu.Processes, monitor.Process{
				PID: uint32(1000*g + p), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
				GPUMemoryBytes: monitor.OfInt(r.Int64N(1 << 36)), SMPercent: monitor.OfInt(int64(r.IntN(100))),
				Name:    monitor.OfText("python3"),
				Command: monitor.OfText("python3 train.py --model llama --batch 32 --rank " + fmt.Sprint(g)),
				User:    monitor.OfText("kim"),
			})
		}
		gpu.ProcStatus = monitor.Status{Reason: monitor.Known}
		s.GPUs = append(s.GPUs, gpu)
	}
	return s
}

func lineOf(s *monitor.Snapshot) string { return string(report.AppendJSON(nil, s)) + "\n" }

// recording returns the lines of n snapshots.
func recording(n int) []string { return recordingOf(n, 1) }

// recordingOf returns the lines of n snapshots of a machine. What the GPUs do
// comes again after some, which saves time.
func recordingOf(n, gpus int) (all []string) {
	for i := range n {
		if i < 20 {
			all = append(all, lineOf(snapshot(i, gpus)))
		} else {
			all = append(all, at(i, all[i%20]))
		}
	}
	return all
}

// at returns a line with the time of snapshot number i.
func at(i int, line string) string {
	const times = len(`{"schema":"nvtop-lite/1","time":"2026-01-02T03:04:05Z","steady_time":"2026-01-02T03:04:05Z"`)
	return lineOf(snapshot(i, 0))[:times] + line[times:]
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// killed is what a run that was killed leaves of a compressed text.
func killed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Flush()
	return b.String()
}

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// number is which of recording's snapshots s is.
func number(s *monitor.Snapshot) int { return int(s.Time.Sub(start) / time.Second) }

// readAll returns the numbers of all snapshots.
func readAll(r *Reader) (all []int, err error) {
	for {
		s, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, number(s))
	}
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func join(parts ...any) (text string) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			text += p
		case []string:
			text += strings.Join(p, "")
		}
	}
	return text
}

// TestRead: every file that may come about, what is read of it, and which lines
// are passed over.
func TestRead(t *testing.T) {
	l := recording(6)
	text := strings.Join(l, "")
	damaged := []byte(zipped(text))
	damaged[len(damaged)-7] ^= 1
	for _, tt := range []struct {
		name    string
		content string
		want    []int
		broken  int
		numbers []int64
	}{
		{"plain", text, upTo(6), 0, nil},
		{"gzip", zipped(text), upTo(6), 0, nil},
		{"CRLF", strings.ReplaceAll(text, "\n", "\r\n"), upTo(6), 0, nil},
		{"byte order mark", "\ufeff" + text, upTo(6), 0, nil},
		{"blank lines", "\n \r\n" + strings.Join(l, "\n\t\n") + "\n\n", upTo(6), 0, nil},
		{"no last line end", strings.TrimSuffix(text, "\n"), upTo(6), 0, nil},
		{"cut last line", text[:len(text)-10], upTo(5), 1, []int64{6}},
		{"cut last line, zipped", zipped(text[:len(text)-10]), upTo(5), 1, []int64{6}},
		{"cut line within", join(l[:2], l[2][:100]+"\n", l[3:]), []int{0, 1, 3, 4, 5}, 1, []int64{3}},
		{"a line end lost", join(l[:2], l[2][:100], l[3:]), []int{0, 1, 4, 5}, 1, []int64{3}},
		{"interleaved", join(l[0], l[1][:50]+l[2][:80]+l[1][50:]+l[2][80:], l[3:]), []int{0, 3, 4, 5}, 2, []int64{2, 3}},
		{"binary", join("\x00\xff\x1f\x8b\x08\n", l, "\x7fELF\x00"), upTo(6), 2, []int64{1, 8}},
		{"first line is not of ours", join(`{"a":1}`+"\n[]\n1\n", l), upTo(6), 3, []int64{1, 2, 3}},
		{"many broken lines", join(strings.Repeat("x\n", 100), l), upTo(6), 100, []int64{1, 2, 3, 4, 5, 6, 7, 8}},
		{"two members", zipped(join(l[:3])) + zipped(join(l[3:])), upTo(6), 0, nil},
		{"members that split a line", zipped(text[:len(l[0])+7]) + zipped(text[len(l[0])+7:]), upTo(6), 0, nil},
		{"killed", killed(text), upTo(6), 0, nil},
		{"killed within a line", killed(text[:len(text)-5]), upTo(5), 1, []int64{6}},
		{"killed, then another run", killed(join(l[:3])) + zipped(join(l[3:])), upTo(6), 0, nil},
		{"killed within a line, then another run", killed(join(l[:2], l[2][:99])) + zipped(join(l[3:])), []int{0, 1, 3, 4, 5}, 1, []int64{3}},
		{"no checksum", cut(zipped(text), 8), upTo(6), 0, nil},
		{"half a header behind", zipped(text) + "\x1f\x8b\x08\x00", upTo(6), 0, nil},
		{"half a header, then another run", zipped(join(l[:3])) + "\x1f\x8b\x08" + zipped(join(l[3:])), upTo(6), 1, []int64{4}},
		{"other bytes between", zipped(join(l[:3])) + strings.Repeat("garbage", 100) + zipped(join(l[3:])), upTo(6), 1, []int64{4}},
		{"other bytes between, twice", zipped(join(l[:2])) + "x" + zipped(join(l[2:4])) + strings.Repeat("\x00", 100) + zipped(join(l[4:])), upTo(6), 2, []int64{3, 6}},
		{"wrong checksum", string(damaged), upTo(6), 1, []int64{7}},
		{"other bytes behind", zipped(text) + strings.Repeat("garbage", 100), upTo(6), 1, []int64{7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, write(t, "x", tt.content))
			got, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %v, want %v", got, tt.want)
			}
			if n, numbers := r.Broken(); n != tt.broken || fmt.Sprint(numbers) != fmt.Sprint(tt.numbers) {
				t.Errorf("%d broken lines %v, want %d %v", n, numbers, tt.broken, tt.numbers)
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("behind the end: %v", err)
			}

			// The same through a pipe.
			piped := newReader("standard input", nil, nil, strings.NewReader(tt.content), nil)
			got, err = readAll(piped)
			if n, numbers := piped.Broken(); err != nil || !reflect.DeepEqual(got, tt.want) || n != tt.broken || fmt.Sprint(numbers) != fmt.Sprint(tt.numbers) {
				t.Errorf("through a pipe: read %v, %d broken lines %v, error %v", got, n, numbers, err)
			}

			// Seeking finds what reading finds.
			first, last, err := r.Span()
			if err != nil || first != snapshot(tt.want[0], 0).Time || last != snapshot(tt.want[len(tt.want)-1], 0).Time {
				t.Errorf("span from %v to %v, error %v", first, last, err)
			}
			for _, n := range tt.want {
				if s, err := r.At(snapshot(n, 0).Time); err != nil || number(s) != n {
					t.Errorf("at %d: %v, error %v", n, s, err)
				}
			}
		})
	}
}

// TestDamagedMembers: what a member lost is told, as one damage, whatever the
// inflater made of it; a run that was killed is none.
func TestDamagedMembers(t *testing.T) {
	l := recording(200)
	a, b := zipped(join(l[:100])), zipped(join(l[100:]))
	random := rand.New(rand.NewPCG(1, 3))
	spoil := func(s string) string {
		p := []byte(s)
		for i := range 100 {
			p[len(p)/2+i] = byte(random.IntN(256))
		}
		return string(p)
	}
	garbage := strings.Repeat("garbage", 1000)
	for range 20 {
		for _, tt := range []struct {
			name, content string
			damaged       int
		}{
			{"none", a + b, 0},
			{"killed", killed(join(l[:100])), 0},
			{"killed, then another run", killed(join(l[:100])) + b, 0},
			{"killed within a line, then another run", killed(join(l[:99], l[99][:50])) + b, 1},
			{"one", spoil(a), 1},
			{"the first", spoil(a) + b, 1},
			{"the last", a + spoil(b), 1},
			{"both", spoil(a) + spoil(b), 2},
			{"between", a + garbage + b, 1},
			{"between and behind", a + garbage + b + garbage, 2},
			{"the first and between", spoil(a) + garbage + b, 1},
			{"between and the last", a + garbage + spoil(b), 2},
		} {
			r := open(t, write(t, "x", tt.content))
			got, err := readAll(r)
			broken, numbers := r.Broken()
			if err != nil || r.Damaged() != tt.damaged || broken < tt.damaged || len(numbers) != min(broken, maxNumbers) {
				t.Errorf("%s: %d damages, want %d; %d broken lines %v; %d lines; error %v", tt.name, r.Damaged(), tt.damaged, broken, numbers, len(got), err)
			}
			if broken != tt.damaged {
				t.Logf("%s: %d broken lines, %d damages", tt.name, broken, tt.damaged)
			}
			piped := newReader("x", nil, nil, strings.NewReader(tt.content), nil)
			readAll(piped)
			if n, _ := piped.Broken(); n != broken || piped.Damaged() != tt.damaged {
				t.Errorf("%s: %d broken lines and %d damages through a pipe, %d and %d without", tt.name, n, piped.Damaged(), broken, tt.damaged)
			}
		}
	}
}

// TestDamageIsToldOnce: also where the file grows behind it.
func TestDamageIsToldOnce(t *testing.T) {
	l := recording(6)
	path := write(t, "x", zipped(join(l[:2]))+strings.Repeat("garbage", 100))
	r := open(t, path)
	for n, more := range []string{"", "more garbage", zipped(l[2]), zipped(l[3])} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(more)
		f.Close()
		got, err := readAll(r)
		if want := []([]int){{0, 1}, nil, {2}, {3}}[n]; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %v, want %v, error %v", got, want, err)
		}
		if broken, _ := r.Broken(); broken != 1 || r.Damaged() != 1 {
			t.Errorf("%d broken lines, %d damages", broken, r.Damaged())
		}
	}
}

// TestCutMembers: wherever a compressed member was cut, what a later run wrote
// behind it is read, and nothing of it is read that was not written.
func TestCutMembers(t *testing.T) {
	l := recording(6)
	for name, member := range map[string]string{"at once": zipped(join(l[:3])), "flushed": flushedLines(l[:3])} {
		for n := 2; n < len(member); n += 7 {
			r := newReader("x", nil, nil, strings.NewReader(member[:n]+zipped(join(l[3:]))), nil)
			got, err := readAll(r)
			if whole := len(got) - 3; err != nil || whole < 0 || !reflect.DeepEqual(got, append(upTo(whole), 3, 4, 5)) {
				t.Errorf("%s, cut after %d bytes: read %v, error %v", name, n, got, err)
			}
		}
	}
}

// flushedLines compresses lines as a Writer does.
func flushedLines(l []string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, line := range l {
		io.WriteString(z, line)
		z.Flush()
	}
	z.Close()
	return b.String()
}

func cut(s string, n int) string { return s[:len(s)-n] }

// TestRefused: what is no recording, or one of another schema.
func TestRefused(t *testing.T) {
	l := recording(3)
	newer := strings.Replace(l[1], "nvtop-lite/1", "nvtop-lite/9", 1)
	for _, tt := range []struct {
		content, want string
		schema        string
	}{
		{"", "FILE is empty", ""},
		{zipped(""), "FILE is empty", ""},
		{"\n\n", "FILE is no recording: there is no snapshot in it", ""},
		{"x", "FILE is no recording: there is no snapshot in it", ""},
		{"some\ntext\n", "FILE is no recording: there is no snapshot in it", ""},
		{zipped("some\ntext\n"), "FILE is no recording: there is no snapshot in it", ""},
		{`{"schema":"nvtop-lite/1"`, "FILE is no recording: there is no snapshot in it", ""},
		{newer, `FILE, line 1: schema "nvtop-lite/9" is not known to this version`, "nvtop-lite/9"},
		{l[0] + "\nx\n" + newer + l[2], `FILE, line 4: schema "nvtop-lite/9" is not known to this version`, "nvtop-lite/9"},
		{zipped(l[0] + newer), `FILE, line 2: schema "nvtop-lite/9" is not known to this version`, "nvtop-lite/9"},
		{`{"schema":"nvtop-lite-summary/1","gpus":[]}` + "\n", `FILE, line 1: schema "nvtop-lite-summary/1" is not known to this version`, "nvtop-lite-summary/1"},
	} {
		path := write(t, "x", tt.content)
		r := open(t, path)
		_, err := readAll(r)
		_, lastErr := r.Last()
		_, atErr := r.At(start)
		for _, err := range []error{err, lastErr, atErr} {
			if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(tt.want, "FILE", path)) {
				if tt.schema != "" && !strings.HasPrefix(tt.want, "FILE, line 1:") && err == atErr {
					continue // what is sought stands before that line
				}
				t.Errorf("%.60q: %v, want %s", tt.content, err, tt.want)
			}
			var other *report.SchemaError
			if errors.As(err, &other) != (tt.schema != "") || other != nil && other.Schema != tt.schema {
				t.Errorf("%.60q: schema %v", tt.content, other)
			}
		}
	}
	for _, tt := range []struct{ content, want string }{
		{strings.Replace(l[0], `"interval_seconds":1`, `"interval_seconds":1e999`, 1), "FILE: its only line cannot be read; line 1: byte "},
		{strings.ReplaceAll(join("x\n", l), `"interval_seconds":1`, `"interval_seconds":1e999`), "FILE: none of its 4 lines can be read; line 2: byte "},
		{zipped(strings.ReplaceAll(join(l), `"interval_seconds":1`, `"interval_seconds":1e999`) + l[0][:100]), "FILE: none of its 4 lines can be read; line 1: byte "},
	} {
		path := write(t, "x", tt.content)
		r := open(t, path)
		_, err := readAll(r)
		_, lastErr := open(t, path).Last()
		_, _, spanErr := r.Span()
		f := <-Play(open(t, path), PlayOptions{}).Frames()
		for _, err := range []error{err, lastErr, spanErr, f.Err} {
			if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(tt.want, "FILE", path)) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), " is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestReadWhileItGrows: a reader goes on where more was written, also within a
// line and within a compressed member.
func TestReadWhileItGrows(t *testing.T) {
	l := recording(40)
	text := strings.Join(l, "")
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	for i, line := range l {
		io.WriteString(z, line)
		z.Flush()
		if i%7 == 6 {
			z.Close()
			z.Reset(&compressed)
		}
	}
	for name, content := range map[string]string{"plain": text, "gzip": compressed.String()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := open(t, path)
			var all []int
			for random := rand.New(rand.NewPCG(1, 1)); content != ""; {
				n := min(random.IntN(1500), len(content))
				f.WriteString(content[:n])
				content = content[n:]
				got, err := readAll(r)
				if err != nil && len(all) > 0 {
					t.Fatal(err)
				}
				all = append(all, got...)
			}
			if !reflect.DeepEqual(all, upTo(40)) {
				t.Errorf("read %v", all)
			}
			if n, _ := r.Broken(); n != 0 {
				t.Errorf("%d broken lines", n)
			}
		})
	}
}

// endless gives the same piece of text over and over, as often as is asked for.
type endless struct {
	before, piece string
	times         int
	after         string
	rest          string
	stage         int
}

func (e *endless) Read(p []byte) (int, error) {
	for e.rest == "" {
		switch {
		case e.stage == 0:
			e.rest = e.before
		case e.stage <= e.times:
			e.rest = e.piece
		case e.stage == e.times+1:
			e.rest = e.after
		default:
			return 0, io.EOF
		}
		e.stage++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestLongLines: a line of 1 GiB is passed over, and never held, and so is one of
// 256 MiB that was compressed to little.
func TestLongLines(t *testing.T) {
	l := recording(3)
	mebibyte := strings.Repeat("x", 1<<20)
	times := 1024
	if testing.Short() {
		times = 128
	}
	plain := &endless{before: l[0], piece: mebibyte, times: times, after: "\n" + l[1]}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.WriteString(z, l[0])
	for range times / 4 {
		io.WriteString(z, mebibyte)
	}
	io.WriteString(z, "\n"+l[1])
	z.Close()
	for name, src := range map[string]io.Reader{"plain": plain, "gzip": &bomb} {
		r := newReader(name, nil, nil, src, nil)
		got, err := readAll(r)
		if n, numbers := r.Broken(); err != nil || !reflect.DeepEqual(got, upTo(2)) || n != 1 || numbers[0] != 2 {
			t.Errorf("%s: read %v, %d broken lines %v, error %v", name, got, n, numbers, err)
		}
		if n := len(r.lines.buf) + len(r.lines.in.buf); n > 1<<20 {
			t.Errorf("%s: %d bytes are held", name, n)
		}
	}
}

// TestSeekOverALongLine: a hole in a file is such a line, too.
func TestSeekOverALongLine(t *testing.T) {
	l := recording(4)
	path := write(t, "x", join(l[:2]))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const hole = 2 * maxLine
	if _, err := f.WriteAt([]byte("\n"+join(l[2:])), hole); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	for _, n := range []int{1, 2, 3} {
		if s, err := r.At(snapshot(n, 0).Time); err != nil || number(s) != n {
			t.Errorf("at %d: %v, error %v", n, s, err)
		}
	}
	if s, err := r.Last(); err != nil || number(s) != 3 {
		t.Errorf("last: %v, error %v", s, err)
	}
	if len(r.lines.buf) > 1<<20 {
		t.Errorf("%d bytes are held", len(r.lines.buf))
	}
}

// TestLongestLine: the largest machine's line is read.
func TestLongestLine(t *testing.T) {
	s := snapshot(0, 256)
	command := strings.Repeat(`"\`, 2048)
	for g := range s.GPUs {
		for len(s.GPUs[g].Processes) < 16 {
			s.GPUs[g].Processes = append(s.GPUs[g].Processes, s.GPUs[g].Processes...)
		}
		for p := range s.GPUs[g].Processes {
			s.GPUs[g].Processes[p].Command = monitor.OfText(command)
		}
	}
	text := lineOf(s)
	t.Logf("%d MiB", len(text)>>20)
	r := open(t, write(t, "x", text+lineOf(snapshot(1, 1))))
	if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, upTo(2)) {
		t.Errorf("read %v, error %v", got, err)
	}
}

// failing fails to give more than its text.
type failing struct{ *strings.Reader }

var errDisk = errors.New("input/output error")

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.Reader.ReadAt(p, at)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

// TestReadErrors: what the system says is no broken line.
func TestReadErrors(t *testing.T) {
	text := strings.Join(recording(3), "")
	for _, content := range []string{text, zipped(text), killed(text)[:100]} {
		r := newReader("FILE", nil, failing{strings.NewReader(content)}, nil, func() (int64, error) { return math.MaxInt64, nil })
		if _, err := readAll(r); !errors.Is(err, errDisk) || err.Error() != "FILE: input/output error" {
			t.Errorf("read: %v", err)
		}
		if _, err := r.Last(); !errors.Is(err, errDisk) {
			t.Errorf("last: %v", err)
		}
	}
}

// TestALineOfNoSchemaOfOurs is a broken line: damaged data may read like that.
func TestALineOfNoSchemaOfOurs(t *testing.T) {
	l := recording(2)
	line := strings.Replace(l[0], "nvtop-lite/1", "n58op-lite/1", 1)
	for _, content := range []string{l[0] + line + l[1], zipped(l[0] + line + l[1])} {
		r := open(t, write(t, "x", content))
		got, err := readAll(r)
		if broken, _ := r.Broken(); err != nil || !reflect.DeepEqual(got, []int{0, 1}) || broken != 1 {
			t.Errorf("read %v, %d broken lines, error %v", got, broken, err)
		}
	}
}
