package driver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/screen"
)

// BenchmarkGridRefresh is a refresh of what a screen of 200x50 shows, of machines of
// many sizes: GPUs, and processes on all of them together. Each comes a second after
// the one before, and in between every load, also the used memory, has moved; but for
// the time in which GPM needs to gather something, the second passes at once. Twenty
// of them are four rounds of what is asked every five seconds.
//
//	go test -run '^$' -bench GridRefresh -benchtime 20x
func BenchmarkGridRefresh(b *testing.B) {
	for _, gpus := range []int{1, 8, 64, 256} {
		for _, processes := range []int{4, 64, 1024, 4096} {
			b.Run(fmt.Sprintf("gpus=%d/processes=%d", gpus, processes), func(b *testing.B) {
				s := &fakenvml.Scenario{}
				s.Add("gpus %d", gpus).Add("%s", strings.TrimSpace(hopper))
				s.Add("gpu all memory.used walk 1048576 1073741824 8589934592 4294967296")
				s.Add("gpu all process compute none").Add("gpu all usage none")
				for i := range gpus {
					if n := processes*(i+1)/gpus - processes*i/gpus; n > 0 {
						s.Add("gpu %d processes compute %d %d 1048576", i, n, 10000+4096*i)
					}
				}
				r, want := open(b, "580", s.String()), shown(gpus)
				refresh := func() {
					for _, d := range r.devices {
						r.src.Read(d, want, nothing{})
					}
				}
				wait := func() {
					time.Sleep(seed)
					r.pass(second - seed)
				}
				for range 6 { // what is asked once, and what proves the batch of GPM
					refresh()
					wait()
				}
				before := r.calls()
				b.ReportAllocs()
				for b.Loop() {
					refresh()
					b.StopTimer()
					wait()
					b.StartTimer()
				}
				b.ReportMetric(float64(r.calls()-before)/float64(b.N), "calls")
			})
		}
	}
}

// shown is what a screen of 200x50 wants of so many GPUs.
func shown(gpus int) monitor.Want {
	s, v := screen.New(screen.Options{}), screen.View{ShowProcesses: true}
	snap := monitor.Snapshot{Source: "live", GPUs: make([]monitor.GPU, gpus)}
	for i := range snap.GPUs {
		snap.GPUs[i].State = monitor.OK
	}
	s.Draw(ansi.NewFrame(200, 50), &snap, monitor.NewHistory(16), &v)
	return s.Want(&v)
}
