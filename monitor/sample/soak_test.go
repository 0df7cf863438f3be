//go:build linux

package sample_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/driver"
	"nvtop-lite/monitor/report"
	"nvtop-lite/monitor/sample"
)

// soakInterval is the time between refreshes, a tenth of that of the screen: a
// soak of 30 s has as many refreshes as five minutes before a user.
const soakInterval = 100 * time.Millisecond

// soakFor is how long faults go on; SOAK=3m is half an hour of refreshes.
func soakFor(t *testing.T) time.Duration {
	if text := os.Getenv("SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 12 * time.Second
}

// weather makes scenarios of random faults on eight GPUs, the same ones for the
// same seed.
type weather struct{ r *rand.Rand }

func (w *weather) scenario() string {
	var b strings.Builder
	gpus := 8
	if w.r.IntN(6) == 0 {
		gpus = w.r.IntN(9) // some vanish, or all
	}
	fmt.Fprintf(&b, "gpus %d\nclock 100\n", gpus)
	if gpus == 0 {
		return b.String()
	}
	b.WriteString("gpu all util walk 20 0 100\ngpu all memory.used walk 1073741824 0 80000000000\n")
	functions := []string{
		"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperatureV", "nvmlGpm*",
		"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetFieldValues", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGet*", "nvmlEventSetWait*", "*",
	}
	codes := []int{1, 2, 3, 4, 6, 7, 9, 10, 15, 16, 18, 25, 999, 4711}
	garbage := []string{
		"util none", "util 4294967295", "temperature -2000", "temperature 65535", "power none", "memory.used none", "clock.graphics none",
		"gpm.2 1e300", "gpm.10 -5", "pcie.width 0", "fan.0 9999", "energy none",
	}
	for gpu := range gpus {
		switch w.r.IntN(7) {
		case 0:
			fmt.Fprintf(&b, "fault %s gpu %d return %d\n", functions[w.r.IntN(len(functions)-1)], gpu, codes[w.r.IntN(len(codes))])
		case 1:
			fmt.Fprintf(&b, "fault %s gpu %d hang\n", functions[w.r.IntN(8)], gpu)
		case 2:
			fmt.Fprintf(&b, "gpu %d lost 1\n", gpu)
		case 3:
			fmt.Fprintf(&b, "gpu %d %s\n", gpu, garbage[w.r.IntN(len(garbage))])
		case 4:
			fmt.Fprintf(&b, "gpu %d process compute none\ngpu %d processes compute %d %d 1048576\n", gpu, gpu, 1+w.r.IntN(3000), 100000+w.r.IntN(1000))
		case 5:
			fmt.Fprintf(&b, "fault %s gpu %d delay %d\n", functions[w.r.IntN(7)], gpu, w.r.IntN(300))
		}
	}
	if w.r.IntN(8) == 0 {
		fmt.Fprintf(&b, "fault %s return %d\n", functions[w.r.IntN(len(functions))], codes[w.r.IntN(len(codes))])
	}
	if w.r.IntN(4) == 0 {
		fmt.Fprintf(&b, "process.garbage %d\n", 1+w.r.IntN(4))
	}
	return b.String()
}

// ranges are what a reading of a unit can be at most.
var ranges = map[string][2]float64{
	"%": {0, 300}, "bytes": {0, 1 << 50}, "bytes/s": {0, 1e14}, "mW": {0, 1e7}, "J": {0, 1e13}, "°C": {-150, 250}, "MHz": {0, 50000},
}

func checkRanges(t *testing.T, s *monitor.Snapshot) {
	t.Helper()
	for i := range s.GPUs {
		g := &s.GPUs[i]
		for id := range monitor.NumReadings {
			span, ok := ranges[id.Info().Unit]
			v, known := g.Readings[id].Float()
			if ok && known && (v < span[0] || v > span[1]) {
				t.Errorf("GPU %d: %s is %g", i, id, v)
			}
		}
		if u, ok := g.Readings[monitor.UtilizationPercent].Float(); ok && u > 100 {
			t.Errorf("GPU %d: %g %%", i, u)
		}
	}
}

// threads is how many threads this process has.
func threads(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestSoak lets faults come and go: no crash, no reading that cannot be, every
// GPU back when its fault ends, and nothing that grows.
func TestSoak(t *testing.T) {
	const calm = "gpus 8\nclock 100\n"
	fake := fakenvml.New(t, "580", calm)
	src := driver.New(driver.Options{Library: fake.Path()})
	s, err := sample.New(sample.Config{Sources: []monitor.Source{src}, Label: "live"}, monitor.Request{Interval: soakInterval, Want: monitor.Everything})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	snaps, ended := make(chan *monitor.Snapshot, 100), make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, make(chan monitor.Request), func(s *monitor.Snapshot) {
			select {
			case snaps <- s:
			default: // nobody must wait for this test
			}
		})
	}()
	// well waits until all GPUs are read, within the longest back-off.
	well := func(what string) {
		t.Helper()
		for deadline := time.After(90 * time.Second); ; {
			select {
			case s := <-snaps:
				checkRanges(t, s)
				n := 0
				for i := range s.GPUs {
					if s.GPUs[i].State == monitor.OK && s.GPUs[i].Readings[monitor.UtilizationPercent].Known() {
						n++
					}
				}
				if n == 8 && len(s.GPUs) == 8 {
					return
				}
			case err := <-ended:
				t.Fatalf("%s: the sampler ended: %v", what, err)
			case <-deadline:
				t.Fatalf("%s: not all of the GPUs came back", what)
			}
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	storm := func(seed uint64, d time.Duration) {
		w := weather{rand.New(rand.NewPCG(seed, seed))}
		for end := time.Now().Add(d); time.Now().Before(end); {
			fake.SetScenario(w.scenario())
			for change := time.After(700 * time.Millisecond); change != nil; {
				select {
				case s := <-snaps:
					checkRanges(t, s)
					if seed == 0 { // what is kept takes memory
						kept.Keep(report.AppendJSON(nil, s))
					}
				case err := <-ended:
					t.Fatalf("the sampler ended: %v", err)
				case <-change:
					change = nil
				}
			}
		}
		fake.SetScenario(calm)
		well(fmt.Sprintf("after the faults of seed %d", seed))
	}
	well("at first")
	storm(0, 5*time.Second) // what is made once is made now
	goroutines, tasks, bytes := runtime.NumGoroutine(), threads(t), heap()
	for seed := uint64(1); seed <= 3; seed++ {
		storm(seed, soakFor(t)/3)
		t.Logf("seed %d: %d goroutines, %d threads, %d KiB", seed, runtime.NumGoroutine(), threads(t), heap()>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+8 {
		t.Errorf("%d goroutines; it began with %d", n, goroutines)
	}
	if n := threads(t); n > tasks+16 {
		t.Errorf("%d threads; it began with %d", n, tasks)
	}
	if n := heap(); n > 2*bytes+(4<<20) {
		t.Errorf("%d KiB; it began with %d", n>>10, bytes>>10)
	}
	cancel()
	<-ended
}
