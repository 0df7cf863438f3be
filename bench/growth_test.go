package bench

import (
	"runtime"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/driver"
	"nvtop-lite/monitor/screen"
)

// heap is the memory in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestNoGrowth lets a day go by in steps of ten seconds, with processes that come
// and go, through all that a snapshot passes on its way to the terminal, and as
// many refreshes of a driver. After the second hour, when the history is full,
// neither may take more memory.
func TestNoGrowth(t *testing.T) {
	const hours, steps, slack = 24, 360, 512 << 10
	m, out := newWalk(t, 8, 32), &counter{}
	var enc monitor.Encoder
	var dec monitor.Decoder
	hist, s := monitor.NewHistory(400), screen.New(screen.Options{Level: ansi.LevelRGB, Version: "0.1"})
	f, w, v := ansi.NewFrame(200, 50), ansi.NewWriter(out), screen.View{ShowProcesses: true}
	var message []byte
	draw := func(pid uint32) {
		snap := m.next()
		m.now += 9 * int64(time.Second)
		for i := range snap.GPUs {
			for j := range snap.GPUs[i].Processes {
				snap.GPUs[i].Processes[j].PID += pid
			}
		}
		message = enc.Append(message[:0], snap)
		snap, err := dec.Decode(message)
		if err != nil {
			t.Fatal(err)
		}
		hist.Add(snap)
		v.Now = snap.Time
		s.Draw(f, snap, hist, &v)
		if _, err := w.Flush(f); err != nil {
			t.Fatal(err)
		}
	}
	fake := fakenvml.New(t, "580", "gpus 2\n")
	src := driver.New(driver.Options{Library: fake.Path()})
	if err := src.Open(); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	devices, err := src.Devices()
	if err != nil || len(devices) != 2 {
		t.Fatalf("%d devices, %v", len(devices), err)
	}
	var early uint64
	goroutines := 0
	for hour := range hours {
		for i := range steps {
			draw(uint32(hour*steps + i))
			for _, d := range devices {
				src.Read(d, monitor.Everything, &values{})
			}
		}
		if hour == 1 {
			early, goroutines = heap(), runtime.NumGoroutine()
		}
	}
	late := heap()
	t.Logf("%d KiB after two hours, %d KiB after a day", early>>10, late>>10)
	if late > early+slack {
		t.Errorf("%d KiB after two hours, %d KiB after a day", early>>10, late>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines after two hours, %d after a day", goroutines, n)
	}
	runtime.KeepAlive(hist)
}
