package driver

import (
	"sync"
	"testing"
	"time"
)

// BenchmarkRefresh8 is one refresh of eight H100 in the default view, each in a
// goroutine of its own, a second after the one before.
func BenchmarkRefresh8(b *testing.B) {
	r := open(b, "580", "gpus 8\n"+hopper+"gpu all memory.used walk 1048576 1073741824 8589934592 4294967296\n")
	want := view()
	refresh := func() {
		var wg sync.WaitGroup
		for i := range r.devices {
			wg.Go(func() { r.src.Read(r.devices[i], want, nothing{}) })
		}
		wg.Wait()
		r.pass(second)
	}
	for range 5 {
		refresh()
		time.Sleep(seed)
	}
	before := r.calls()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		refresh()
	}
	b.StopTimer()
	b.ReportMetric(float64(r.calls()-before)/float64(b.N), "calls/op")
}
