//go:build linux

package termtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// BenchmarkSteadyState runs the program on a terminal of 200x50, once a second,
// with four processes on each GPU, and tells what both processes together took:
// percent of one core, bytes a frame, and MiB at the most. One run says little of
// a busy machine; compare those of one session.
//
//	go test -run '^$' -bench SteadyState -benchtime 20x
func BenchmarkSteadyState(b *testing.B) {
	walks, err := os.ReadFile("testdata/steady.txt")
	if err != nil {
		b.Fatal(err)
	}
	for _, gpus := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("%dgpus", gpus), func(b *testing.B) {
			var scenario strings.Builder
			fmt.Fprintf(&scenario, "gpus %d\ngpu all process compute none\ngpu all usage none\n", gpus)
			sleepers := make([]*exec.Cmd, 32) // more GPUs share them
			for i := range sleepers {
				sleepers[i] = exec.Command("sleep", "1000")
				if err := sleepers[i].Start(); err != nil {
					b.Fatal(err)
				}
				defer func() {
					_ = sleepers[i].Process.Kill()
					_ = sleepers[i].Wait()
				}()
			}
			for gpu := range gpus {
				for i := range 4 {
					pid := sleepers[(4*gpu+i)%len(sleepers)].Process.Pid
					fmt.Fprintf(&scenario, "gpu %d process compute %d %d\ngpu %d usage %d %d 5 0 0 age 200\n", gpu, pid, (i+1)<<30, gpu, pid, 10*i)
				}
			}
			fake := fakenvml.New(b, "580", scenario.String()+string(walks))
			s := run(b, 200, 50, nil, "--nvml", fake.Path())
			s.see("tensor", "UTIL")
			time.Sleep(5 * time.Second)
			family := append(s.pids(), children(b, s.pids()[0])...)
			cpu, bytes, begin := cpuTime(b, family), len(s.written()), time.Now()
			time.Sleep(time.Duration(b.N) * time.Second)
			took := time.Since(begin).Seconds()
			b.ReportMetric(100*(cpuTime(b, family)-cpu)/took, "%core")
			b.ReportMetric(float64(len(s.written())-bytes)/took, "bytes/s")
			b.ReportMetric(peak(b, family), "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func children(b *testing.B, pid int) []int {
	var list []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			b.Fatal(err)
		}
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			list = append(list, child)
		}
	}
	return list
}

// cpuTime is the time that all threads of processes ran, in seconds.
func cpuTime(b *testing.B, pids []int) (seconds float64) {
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				b.Fatal(err)
			}
			ran, _ := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
			seconds += ran / 1e9
		}
	}
	return seconds
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak is the most memory that processes had, in MiB.
func peak(b *testing.B, pids []int) (mib float64) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			b.Fatal(err)
		}
		if m := peakLine.FindSubmatch(text); m != nil {
			kib, _ := strconv.ParseFloat(string(m[1]), 64)
			mib += kib / 1024
		}
	}
	return mib
}
