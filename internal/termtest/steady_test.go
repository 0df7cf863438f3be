//go:build linux

package termtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
	"nvtop-lite/internal/fakenvml"
)

// BenchmarkSteadyState runs the program on a terminal of 200x50, once a second,
// with four processes on each GPU, and tells what its processes took together:
// percent of one core, calls of the driver a GPU and second, bytes a second, and MiB at
// the most. One run says little of
// a busy machine; compare those of one session. With eight GPUs nvtop and btop do the
// same where they are installed: nvtop 3.0 told to look once a second (-d 10) does so
// three times in four, and with -d 7 once; before 1.3 btop knows nothing of GPUs.
//
//	go test -run '^$' -bench SteadyState -benchtime 20x
func BenchmarkSteadyState(b *testing.B) {
	for _, gpus := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("%dgpus/nvtop-lite", gpus), func(b *testing.B) {
			fake := walking(b, gpus)
			s := run(b, 200, 50, nil, "--nvml", fake.Path())
			s.see("tensor", "UTIL")
			steady(b, s, fake, gpus)
		})
		for _, other := range [][]string{{"nvtop", "-d", "10"}, {"nvtop", "-d", "7"}, {"btop", "--utf-force"}} {
			file, err := exec.LookPath(other[0])
			if err != nil || gpus != 8 {
				continue
			}
			b.Run(fmt.Sprintf("%dgpus/%s", gpus, strings.Join(other, " ")), func(b *testing.B) {
				fake := walking(b, gpus)
				env := append(fake.Env(), "XDG_CONFIG_HOME="+b.TempDir(), "HOME="+b.TempDir())
				if other[0] == "btop" { // its own default is two seconds
					conf := filepath.Join(b.TempDir(), "btop")
					if err := os.Mkdir(conf, 0o755); err != nil {
						b.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(conf, "btop.conf"), []byte("update_ms = 1000\n"), 0o644); err != nil {
						b.Fatal(err)
					}
					env = append(env, "XDG_CONFIG_HOME="+filepath.Dir(conf))
				}
				s := runFile(b, file, 200, 50, env, other[1:]...)
				s.see("GPU", "Mem", "mem", "cpu")
				steady(b, s, fake, gpus)
			})
		}
	}
}

// walking is a fake driver whose GPUs have four processes each, and loads that are
// random walks.
func walking(b *testing.B, gpus int) *fakenvml.Fake {
	b.Helper()
	walks, err := os.ReadFile("testdata/steady.txt")
	if err != nil {
		b.Fatal(err)
	}
	var scenario strings.Builder
	fmt.Fprintf(&scenario, "gpus %d\ngpu all process compute none\ngpu all usage none\n", gpus)
	sleepers := make([]*exec.Cmd, 32) // more GPUs share them
	for i := range sleepers {
		sleepers[i] = exec.Command("sleep", "1000")
		if err := sleepers[i].Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = sleepers[i].Process.Kill()
			_ = sleepers[i].Wait()
		})
	}
	for gpu := range gpus {
		for i := range 4 {
			pid := sleepers[(4*gpu+i)%len(sleepers)].Process.Pid
			fmt.Fprintf(&scenario, "gpu %d process compute %d %d\ngpu %d usage %d %d 5 0 0 age 200\n", gpu, pid, (i+1)<<30, gpu, pid, 10*i)
		}
	}
	return fakenvml.New(b, "580", scenario.String()+string(walks))
}

// steady measures what runs on a screen for b.N seconds.
func steady(b *testing.B, s *screen, fake *fakenvml.Fake, gpus int) {
	b.Helper()
	time.Sleep(5 * time.Second)
	family := append(s.pids(), children(b, s.pids()[0])...)
	cpu, bytes, calls, begin := cpuTime(b, family), len(s.written()), allCalls(fake), time.Now()
	time.Sleep(time.Duration(b.N) * time.Second)
	took := time.Since(begin).Seconds()
	b.ReportMetric(100*(cpuTime(b, family)-cpu)/took, "%core")
	b.ReportMetric(float64(allCalls(fake)-calls)/took/float64(gpus), "calls/GPU/s")
	b.ReportMetric(float64(len(s.written())-bytes)/took, "bytes/s")
	b.ReportMetric(peak(b, family), "MiB")
	b.ReportMetric(0, "ns/op")
}

func allCalls(fake *fakenvml.Fake) (n int) {
	for _, calls := range fake.AllCalls() {
		n += calls
	}
	return n
}

// BenchmarkFirstFrame tells how long it takes from the start of the program until
// the terminal has the first row of a GPU, on a driver that answers at once, and how
// much of it that driver takes to be loaded and initialised: init-ms, in a process of
// its own.
func BenchmarkFirstFrame(b *testing.B) {
	for _, gpus := range []int{1, 8} {
		b.Run(fmt.Sprintf("%dgpus", gpus), func(b *testing.B) {
			fake := fakenvml.New(b, "580", fmt.Sprintf("gpus %d\n", gpus))
			var inits time.Duration
			for b.Loop() {
				b.StopTimer()
				inits += initTime(b, fake.Path())
				b.StartTimer()
				firstFrame(b, fake.Path())
			}
			b.ReportMetric(float64(inits.Microseconds())/1e3/float64(b.N), "init-ms")
		})
	}
}

// firstFrame runs the program until its first frame has come. Nothing but that is
// done meanwhile: the emulator would take the processor from it.
func firstFrame(b *testing.B, library string) {
	b.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: 200, Rows: 50}); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(binary, "--nvml", library)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	slave.Close()
	_ = master.SetReadDeadline(time.Now().Add(patience))
	var came []byte
	for buf := make([]byte, 64<<10); !bytes.Contains(came, []byte("H100")); {
		n, err := master.Read(buf)
		if err != nil {
			b.Fatalf("%v after %q", err, came)
		}
		came = append(came, buf[:n]...)
	}
	b.StopTimer()
	defer b.StartTimer()
	if _, err := master.WriteString("q"); err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, master)
	_ = cmd.Wait()
}

// initLibrary names, in the environment, a library that this program is to load and
// initialise: it prints how long that takes, and tests nothing.
const initLibrary = "TERMTEST_INIT"

func initTime(b *testing.B, library string) time.Duration {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), initLibrary+"="+library)
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	took, err := time.ParseDuration(string(out))
	if err != nil {
		b.Fatal(err)
	}
	return took
}

func printInitTime(library string) {
	begin := time.Now()
	handle, err := purego.Dlopen(library, purego.RTLD_NOW)
	if err != nil {
		panic(err)
	}
	var nvmlInit func() int32
	purego.RegisterLibFunc(&nvmlInit, handle, "nvmlInit_v2")
	if r := nvmlInit(); r != 0 {
		panic(r)
	}
	fmt.Print(time.Since(begin))
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
