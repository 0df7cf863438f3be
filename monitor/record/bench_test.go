package record

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkRecording reads a recording of 8 GPUs, and seeks in it. RECORD_MIB is
// how much text it has, in MiB.
func BenchmarkRecording(b *testing.B) {
	mebibytes := 64
	if text := os.Getenv("RECORD_MIB"); text != "" {
		var err error
		if mebibytes, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	for _, name := range []string{"plain", "x.gz"} {
		path := filepath.Join(dir, name)
		w := create(b, path)
		text, n := 0, 0
		l := recordingOf(50, 8)
		for ; text < mebibytes<<20; n++ {
			line := at(n, l[n%50])
			if err := w.Write([]byte(line)); err != nil {
				b.Fatal(err)
			}
			text += len(line)
		}
		b.Logf("%s: %d snapshots, %d MiB of text, %d MiB in the file, %d bytes a snapshot", name, n, text>>20, w.Size()>>20, int(w.Size())/n)
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		run := func(what string, bytes int64, each func(r *Reader)) {
			b.Run(what+"/"+name, func(b *testing.B) {
				r := open(b, path)
				b.SetBytes(bytes)
				peak := watch()
				for b.Loop() {
					each(r)
				}
				b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
			})
		}
		run("read", int64(text), func(*Reader) {
			r := open(b, path)
			defer r.Close()
			got := 0
			for {
				_, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				got++
			}
			if got != n {
				b.Fatalf("%d of %d", got, n)
			}
		})
		random := rand.New(rand.NewPCG(1, 1))
		run("at", 0, func(r *Reader) {
			i := random.IntN(n)
			if s, err := r.At(snapshot(i, 0).Time); err != nil || number(s) != i {
				b.Fatalf("%d: %v, %v", i, s, err)
			}
		})
		run("last", 0, func(r *Reader) {
			if s, err := r.Last(); err != nil || number(s) != n-1 {
				b.Fatalf("%v, %v", s, err)
			}
		})
		b.Run("seek and 300 before/"+name, func(b *testing.B) {
			p := Play(open(b, path), PlayOptions{History: 300})
			defer p.Close()
			p.Pause(true)
			<-p.Frames()
			peak := watch()
			for b.Loop() {
				to := snapshot(random.IntN(n), 0).Time
				p.SeekTo(to)
				for f := range p.Frames() {
					if f.Sought && f.Snapshot.Time.Equal(to) {
						break
					}
				}
			}
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
		})
	}
}

// watch begins to look at how much memory the heap has, and returns what ends
// that and tells the most it had.
func watch() func() uint64 {
	runtime.GC()
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-done:
				most <- peak
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-most
	}
}
