package nvml_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
)

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestOpenReportsEveryPath(t *testing.T) {
	for _, code := range []nvml.Return{9, 18, 999, 12345} {
		fake := fakenvml.New(t, "580", fmt.Sprintf("init %d\n", int(code)))
		_, err := nvml.Open(nvml.Options{Path: fake.Path()})
		var open *nvml.OpenError
		if !errors.As(err, &open) || !errors.Is(err, code) || open.Return() != code || errors.Is(err, nvml.ErrLibraryNotFound) {
			t.Fatalf("%d: %v", code, err)
		}
		if len(open.Attempts) != 1 || open.Attempts[0].Path != fake.Path() {
			t.Errorf("%d: %v", code, open.Attempts)
		}
		if text := err.Error(); !strings.Contains(text, fake.Path()) || !strings.Contains(text, "nvmlInit_v2") || !strings.Contains(text, code.Error()) {
			t.Errorf("%d: %s", code, text)
		}
	}
}

func TestOpenOfNothing(t *testing.T) {
	path, err := filepath.Abs("no-library.so.1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = nvml.Open(nvml.Options{Path: path})
	var open *nvml.OpenError
	if !errors.As(err, &open) || !errors.Is(err, nvml.ErrLibraryNotFound) || open.Return() != nvml.ErrLibraryNotFound || !errors.Is(open.Attempts[0].Err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	if got, want := err.Error(), "no usable NVML library: "+path+": not found"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A file that is no library.
	_, err = nvml.Open(nvml.Options{Path: "doc.go"})
	if !errors.As(err, &open) || !errors.Is(err, nvml.ErrLibraryNotFound) || errors.Is(open.Attempts[0].Err, fs.ErrNotExist) || strings.Contains(err.Error(), "not found") {
		t.Fatalf("%v", err)
	}
}

// TestOpenSaysEachAnswerOnce: the same words behind every path are hard to read.
func TestOpenSaysEachAnswerOnce(t *testing.T) {
	// A file that was once tried as a library cannot be removed under Wine.
	dir, err := os.MkdirTemp("", "nvml-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	first, second, text := filepath.Join(dir, "first.so.1"), filepath.Join(dir, "second.so.1"), filepath.Join(dir, "text.so.1")
	if err := os.WriteFile(text, []byte("no library at all"), 0o666); err != nil {
		t.Fatal(err)
	}
	defer nvml.InTestSearch(first, text, second)()
	_, err = nvml.Open(nvml.Options{})
	var open *nvml.OpenError
	if !errors.As(err, &open) || len(open.Attempts) != 3 {
		t.Fatalf("%v", err)
	}
	answers := open.Answers()
	if len(answers) != 2 || answers[0] != first+", "+second+": not found" || !strings.HasPrefix(answers[1], text+": ") || strings.Count(answers[1], text) != 1 {
		t.Errorf("%q", answers)
	}
	if got, want := err.Error(), "no usable NVML library: "+answers[0]+"; "+answers[1]; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOpenTriesTheNext has a path that does not exist, a driver that is not
// loaded, the same once more under another name, and one that works.
func TestOpenTriesTheNext(t *testing.T) {
	broken, good := fakenvml.New(t, "550", "init 9\n"), fakenvml.New(t, "580", "gpus 1\n")
	missing, other := filepath.Join(broken.Dir(), "missing.so.1"), filepath.Join(broken.Dir(), "other.so.1")
	list := []string{missing, broken.Path()}
	if runtime.GOOS == "linux" {
		if err := os.Symlink(broken.Path(), other); err != nil {
			t.Fatal(err)
		}
		list = append(list, other)
	}
	undo := nvml.InTestSearch(list...)
	_, err := nvml.Open(nvml.Options{})
	undo()
	var open *nvml.OpenError
	if !errors.As(err, &open) || !errors.Is(err, nvml.ErrDriverNotLoaded) || len(open.Attempts) != len(list) {
		t.Fatalf("%v", err)
	}
	for i, a := range open.Attempts {
		if a.Path != list[i] || !strings.Contains(err.Error(), a.Path) {
			t.Errorf("%d: %v", i, a)
		}
	}
	if n := broken.Calls("nvmlInit_v2"); n != 1 {
		t.Errorf("the library that is there twice was initialised %d times", n)
	}
	defer nvml.InTestSearch(append(list, good.Path())...)()
	lib, err := nvml.Open(nvml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	if lib.Path() != good.Path() {
		t.Error(lib.Path())
	}
	tried := lib.Attempts()
	if last := len(list); len(tried) != last+1 || tried[last].Err != nil || tried[last].File != good.Path() ||
		!errors.Is(tried[0].Err, fs.ErrNotExist) || tried[0].File != "" || !errors.Is(tried[1].Err, nvml.ErrDriverNotLoaded) || tried[1].File != broken.Path() {
		t.Errorf("%+v", tried)
	}
}

// TestLoaderSearch starts itself with a library where the system's loader finds
// it by its name.
func TestLoaderSearch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux looks for a library by its name")
	}
	if explicit := os.Getenv("NVML_TEST_EXPLICIT"); explicit != "" {
		// Another library first: the loader would hand it out for the name.
		lib, err := nvml.Open(nvml.Options{Path: explicit})
		if err != nil {
			t.Fatal(err)
		}
		defer lib.Close()
		defer nvml.InTestSearch("libnvidia-ml.so.1")()
		if _, err = nvml.Open(nvml.Options{}); err == nil || !strings.Contains(err.Error(), "loaded already") {
			t.Errorf("%v", err)
		}
		return
	}
	if want := os.Getenv("NVML_TEST_PATH"); want != "" {
		for range 2 {
			lib, err := nvml.Open(nvml.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if lib.Path() != want {
				t.Errorf("%s, want %s", lib.Path(), want)
			}
			lib.Close()
		}
		return
	}
	if _, err := os.Stat("/dev/dxg"); err == nil {
		t.Skip("under WSL other folders come first")
	}
	fake := fakenvml.New(t, "580", "gpus 1\n")
	dir, err := filepath.EvalSymlinks(fake.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"NVML_TEST_PATH=" + filepath.Join(dir, "libnvidia-ml.so.1"), "NVML_TEST_EXPLICIT=" + fake.Path()} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLoaderSearch$")
		cmd.Env = append(append(os.Environ(), fake.Env()...), env)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this test, and cannot start it again")
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", env, err, out)
		}
	}
}

// TestSearchPath looks at the order, and at what must never be tried.
func TestSearchPath(t *testing.T) {
	list := nvml.InTestSearchPath("")
	for _, path := range list {
		if path != "libnvidia-ml.so.1" && !filepath.IsAbs(path) {
			t.Errorf("%s depends on the working folder", path)
		}
		if strings.HasSuffix(path, ".so") {
			t.Errorf("%s may be a stub", path)
		}
	}
	switch runtime.GOOS {
	case "linux":
		if i := slices.Index(list, "libnvidia-ml.so.1"); i < 0 || i == len(list)-1 {
			t.Errorf("%v", list)
		}
	case "windows":
		if len(list) != 2 || !strings.HasSuffix(strings.ToLower(list[0]), `system32\nvml.dll`) || !strings.HasSuffix(list[1], `\NVIDIA Corporation\NVSMI\nvml.dll`) {
			t.Errorf("%v", list)
		}
	}
	alone := nvml.InTestSearchPath("some.so")
	if len(alone) != 1 || !filepath.IsAbs(alone[0]) {
		t.Errorf("explicit: %v", alone)
	}
}

func TestClose(t *testing.T) {
	fake := fakenvml.New(t, "580", "gpus 1\n")
	lib, err := nvml.Open(nvml.Options{Path: fake.Path()})
	if err != nil {
		t.Fatal(err)
	}
	second, err := nvml.Open(nvml.Options{Path: fake.Path()})
	if err != nil {
		t.Fatal(err)
	}
	if lib.Path() != fake.Path() {
		t.Error(lib.Path())
	}
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	same, err := second.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lib.Close(); !errors.Is(err, nvml.ErrUninitialized) {
		t.Errorf("second Close: %v", err)
	}
	for _, v := range []any{d, lib} {
		eachMethod(v, d, func(name string, call func() ([]reflect.Value, error)) {
			if _, err := call(); !errors.Is(err, nvml.ErrUninitialized) {
				t.Errorf("%s after Close: %v", name, err)
			}
		})
	}
	for _, err := range lib.Devices() {
		if !errors.Is(err, nvml.ErrUninitialized) {
			t.Errorf("Devices after Close: %v", err)
		}
	}
	if _, err := same.PowerUsage(); err != nil {
		t.Errorf("the other Library: %v", err)
	}
	eventually(t, "the first nvmlShutdown", func() bool { return fake.Calls("nvmlShutdown") == 1 })
	if _, err := same.PowerUsage(); err != nil {
		t.Errorf("the other Library: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second nvmlShutdown", func() bool { return fake.Calls("nvmlShutdown") == 2 })
	// Open again.
	third, err := nvml.Open(nvml.Options{Path: fake.Path()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third.Device(0); err != nil {
		t.Error(err)
	}
	if _, err := d.PowerUsage(); !errors.Is(err, nvml.ErrUninitialized) {
		t.Errorf("a Device of a closed Library: %v", err)
	}
	third.Close()
}

// TestCloseDuringACall closes while a call hangs: Close returns, nvmlShutdown is
// left out, and made up for when the call comes back.
func TestCloseDuringACall(t *testing.T) {
	fake := fakenvml.New(t, "580", "gpus 2\nfault nvmlDeviceGetPowerUsage gpu 1 hang\n")
	r := &recorder{}
	lib, err := nvml.Open(nvml.Options{Path: fake.Path(), Trace: r})
	if err != nil {
		t.Fatal(err)
	}
	d0, _ := lib.Device(0)
	d1, err := lib.Device(1)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := d1.PowerUsage()
		done <- err
	}()
	fake.WaitCalls("nvmlDeviceGetPowerUsage", 1)
	// The tracer can name the call in progress.
	r.mu.Lock()
	var inside []nvml.Call
	for _, c := range r.inside {
		inside = append(inside, c)
	}
	r.mu.Unlock()
	if len(inside) != 1 || inside[0].Function.String() != "nvmlDeviceGetPowerUsage" || inside[0].Device != 1 || inside[0].Start.IsZero() {
		t.Errorf("in progress: %+v", inside)
	}
	if _, err := d0.PowerUsage(); err != nil {
		t.Errorf("the other GPU: %v", err)
	}
	within(t, 10*time.Second, func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d0.PowerUsage(); !errors.Is(err, nvml.ErrUninitialized) {
		t.Errorf("after Close: %v", err)
	}
	if n := fake.Calls("nvmlShutdown"); n != 0 {
		t.Errorf("%d calls of nvmlShutdown while a call hangs", n)
	}
	fake.SetScenario("gpus 2\n")
	if err := <-done; err != nil {
		t.Errorf("the call that hung: %v", err)
	}
	eventually(t, "nvmlShutdown after the call", func() bool { return fake.Calls("nvmlShutdown") == 1 })
}

func TestTrace(t *testing.T) {
	r := &recorder{}
	_, d := device(t, "580", "gpus 1\nfault nvmlDeviceGetPowerUsage delay 20 return 15\n", nvml.Options{Trace: r})
	r.take()
	_, _ = d.PowerUsage()
	calls := r.take()
	if len(calls) != 1 {
		t.Fatalf("%v", calls)
	}
	c := calls[0]
	if c.Function.String() != "nvmlDeviceGetPowerUsage" || c.Device != 0 || c.MIG != -1 || c.Place != 0 || c.Return != nvml.ErrGPUIsLost || c.Duration < 15*time.Millisecond || time.Since(c.Start) < c.Duration {
		t.Errorf("%+v", c)
	}
	_, _ = d.Library().DriverVersion()
	if calls := r.take(); len(calls) != 1 || calls[0].Device != -1 {
		t.Errorf("%+v", calls)
	}
}

// lackRecorder hears of missing functions, too.
type lackRecorder struct {
	recorder
	lacks []nvml.Call
}

func (r *lackRecorder) Lacks(c nvml.Call) { r.lacks = append(r.lacks, c) }

func TestTraceOfMissingFunctions(t *testing.T) {
	r := &lackRecorder{}
	_, d := device(t, "450", "gpus 1\n", nvml.Options{Trace: r})
	r.lacks = nil
	if _, err := d.MemoryInfo(); err != nil {
		t.Fatal(err)
	}
	if len(r.lacks) != 1 || r.lacks[0].Function.String() != "nvmlDeviceGetMemoryInfo_v2" || r.lacks[0].Return != nvml.ErrFunctionNotFound || r.lacks[0].Device != 0 || r.lacks[0].ID != 0 {
		t.Errorf("%+v", r.lacks)
	}
}

func TestConcurrentUse(t *testing.T) {
	_, lib := open(t, "580", "gpus 4\n", nvml.Options{})
	var wait sync.WaitGroup
	for d, err := range lib.Devices() {
		if err != nil {
			t.Fatal(err)
		}
		for worker := range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				mine := d
				if worker == 0 {
					mine = d.In(lib.NewSession())
				}
				for range 50 {
					if _, err := mine.MemoryInfo(); err != nil {
						t.Error(err)
					}
					if l, err := mine.ComputeRunningProcesses(); err != nil || len(l) == 0 {
						t.Error(l, err)
					}
					if _, err := mine.Name(); err != nil {
						t.Error(err)
					}
				}
			}()
		}
	}
	wait.Wait()
}

func TestSessionOfTwoGoroutinesPanics(t *testing.T) {
	fake, lib := open(t, "580", "gpus 1\nfault nvmlDeviceGetPowerUsage hang\n", nvml.Options{})
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	d = d.In(lib.NewSession())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = d.PowerUsage() }()
	fake.WaitCalls("nvmlDeviceGetPowerUsage", 1)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = d.Temperature(nvml.TemperatureGPU)
	}()
	fake.SetScenario("gpus 1\n")
	<-done
}

func TestExcludedDevices(t *testing.T) {
	const s = "gpus 1\nexcluded.0 GPU-aaaaaaaa-0000-0000-0000-000000000000 00000000:41:00.0\nexcluded.1 GPU-bbbbbbbb-0000-0000-0000-000000000000 00000000:42:00.0\n"
	for _, g := range fakenvml.Generations() {
		_, lib := open(t, g, s, nvml.Options{})
		list, err := lib.ExcludedDevices()
		if g == "390" {
			if !errors.Is(err, nvml.ErrFunctionNotFound) {
				t.Errorf("%s: %v, %v", g, list, err)
			}
			continue
		}
		if err != nil || len(list) != 2 || !strings.HasPrefix(list[1].UUID, "GPU-bbbbbbbb") || list[1].PciInfo.Bus != 0x42 {
			t.Errorf("%s: %v, %v", g, list, err)
		}
	}
}
