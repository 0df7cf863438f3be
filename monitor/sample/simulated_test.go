//go:build linux

package sample_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/sample"
)

// ailment is what is wrong with a device.
type ailment int

const (
	well ailment = iota
	hangs
	gone    // the driver says that it is lost
	refuses // every reading fails
	slow
	ailments
)

// ward is a source whose devices fall ill and recover.
type ward struct {
	scripted
	mu       sync.Mutex
	ill      [8]ailment
	released [8]chan struct{} // closed when a hang ends
	shut     bool             // the driver is not there
}

func newWard() *ward {
	w := &ward{scripted: scripted{devices: 8}}
	for i := range w.released {
		w.released[i] = make(chan struct{})
	}
	w.open = func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.shut {
			return &monitor.OpenError{Cause: monitor.CauseNoDriver, What: "the driver is not loaded"}
		}
		return nil
	}
	w.read = w.nurse
	return w
}

func (w *ward) nurse(i int, want monitor.Want, sink monitor.Sink) {
	w.mu.Lock()
	ill, released := w.ill[i], w.released[i]
	w.mu.Unlock()
	switch ill {
	case hangs:
		identify(i, sink)
		sink.Begin(monitor.Of(monitor.UtilizationPercent))
		sink.Call("nvmlDeviceGetUtilizationRates")
		<-released
		sink.Call("")
	case gone:
		sink.State(monitor.Lost, monitor.GPULost, "GPU is lost", monitor.NewCallError("nvmlDeviceGetUtilizationRates", "NVML_ERROR_GPU_IS_LOST", 15))
		return
	case refuses:
		identify(i, sink)
		sink.Reading(monitor.UtilizationPercent, monitor.Failed(monitor.DriverError, monitor.NewCallError("nvmlDeviceGetUtilizationRates", "NVML_ERROR_UNKNOWN", 999)))
		return
	case slow:
		time.Sleep(3 * time.Second)
	}
	wellBehaved(i, want, sink)
}

// set gives a device an ailment, and ends the one it had.
func (w *ward) set(i int, a ailment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ill[i] == hangs {
		close(w.released[i])
		w.released[i] = make(chan struct{})
	}
	w.ill[i] = a
}

func (w *ward) of(i int) ailment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ill[i]
}

// TestHalfAnHourOfFaults runs a sampler for thirty minutes of a simulated clock,
// at one refresh a second, while eight GPUs fall ill and recover and the driver
// comes and goes.
func TestHalfAnHourOfFaults(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		synctest.Test(t, func(t *testing.T) { halfAnHour(t, seed) })
	}
}

func halfAnHour(t *testing.T, seed uint64) {
	w := newWard()
	s, err := sample.New(sample.Config{Sources: []monitor.Source{w}, Label: "live"}, monitor.Request{Interval: time.Second, Want: monitor.Everything})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var newest *monitor.Snapshot
	published := 0
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, make(chan monitor.Request), func(s *monitor.Snapshot) {
			kept.Keep(report.AppendJSON(nil, s))
			mu.Lock()
			newest = s
			published++
			mu.Unlock()
		})
	}()
	last := func() *monitor.Snapshot { mu.Lock(); defer mu.Unlock(); return newest }
	time.Sleep(5 * time.Second)
	goroutines := runtime.NumGoroutine()
	since, judged := [8]time.Time{}, [ailments]int{}
	r := rand.New(rand.NewPCG(seed, 11))
	for begin := time.Now(); time.Since(begin) < 30*time.Minute; {
		i := r.IntN(8)
		a := ailment(r.IntN(int(ailments)))
		w.set(i, a)
		since[i] = time.Now()
		if r.IntN(20) == 0 {
			w.mu.Lock()
			w.shut = !w.shut
			w.mu.Unlock()
		}
		time.Sleep(time.Duration(500+r.IntN(8000)) * time.Millisecond)
		snap := last()
		if len(snap.GPUs) != 8 {
			t.Fatalf("seed %d, after %v: %d GPUs", seed, time.Since(begin), len(snap.GPUs))
		}
		for i := range snap.GPUs {
			g := &snap.GPUs[i]
			if g.UUID.Value != uuid(i) {
				t.Fatalf("seed %d: GPU %d is %q", seed, i, g.UUID.Value)
			}
			// What has been so for long must be told as it is.
			if time.Since(since[i]) < 40*time.Second {
				continue
			}
			judged[w.of(i)]++
			switch want := w.of(i); {
			case want == hangs && g.State != monitor.Stale && g.State != monitor.Lost:
				t.Errorf("seed %d, after %v: GPU %d hangs and is %v", seed, time.Since(begin), i, g.State)
			case want == gone && g.State != monitor.Lost:
				t.Errorf("seed %d, after %v: GPU %d is lost and is %v", seed, time.Since(begin), i, g.State)
			case want == refuses && g.Readings[monitor.UtilizationPercent].Known():
				t.Errorf("seed %d: GPU %d answers what nobody said", seed, i)
			}
		}
		if n := runtime.NumGoroutine(); n > goroutines+8 {
			t.Fatalf("seed %d: %d goroutines; it began with %d", seed, n, goroutines)
		}
	}
	for a, n := range judged {
		if n < 20 {
			t.Errorf("seed %d: only %d looks at ailment %d", seed, n, a)
		}
	}
	if w.most > 1 {
		t.Errorf("seed %d: %d reads of one device at once", seed, w.most)
	}
	w.mu.Lock()
	w.shut = false
	w.mu.Unlock()
	for i := range 8 {
		w.set(i, well)
	}
	time.Sleep(90 * time.Second)
	snap := last()
	for i := range snap.GPUs {
		if g := &snap.GPUs[i]; g.State != monitor.OK || !g.Readings[monitor.UtilizationPercent].Known() || snap.Age(g.Refreshed) > 2*time.Second {
			t.Errorf("seed %d: GPU %d is %v when all is over, %v old", seed, i, g.State, snap.Age(g.Refreshed))
		}
	}
	if published < 1500 {
		t.Errorf("seed %d: only %d snapshots in half an hour", seed, published)
	}
	cancel()
	<-ended
	synctest.Wait()
}
