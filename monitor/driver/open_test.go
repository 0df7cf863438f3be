package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

func openError(t *testing.T, o Options) *monitor.OpenError {
	t.Helper()
	s := New(o)
	err := s.Open()
	var open *monitor.OpenError
	if !errors.As(err, &open) {
		t.Fatalf("Open is %v, want a *monitor.OpenError", err)
	}
	if open.What == "" || open.Hint == "" || strings.Contains(open.What+open.Hint+open.Code, "\n") {
		t.Errorf("not two lines: %+v", open)
	}
	if list, err := s.Devices(); err == nil {
		t.Errorf("devices of a source that is not open: %v", list)
	}
	s.Read(monitor.Device{}, monitor.Everything, newRecorder())
	s.Close()
	return open
}

func TestWhyItCannotBeOpened(t *testing.T) {
	fake := fakenvml.New(t, "580", "")
	root := fixture.Tree(t, map[string]string{"sys/module/nvidia/version": "575.51.03\n"})
	for code, want := range map[int]monitor.OpenError{
		9:     {Cause: monitor.CauseNoDriver, Code: "NVML_ERROR_DRIVER_NOT_LOADED", What: "kernel driver is not loaded", Hint: monitor.HintNotLoaded},
		18:    {Cause: monitor.CauseVersionMismatch, Code: "NVML_ERROR_LIB_RM_VERSION_MISMATCH", What: "kernel module is 575.51.03", Hint: "reboot"},
		4:     {Cause: monitor.CauseNoPermission, Code: "NVML_ERROR_NO_PERMISSION", What: "may not be used", Hint: monitor.HintNoPermission},
		17:    {Cause: monitor.CauseNoPermission, Code: "NVML_ERROR_OPERATING_SYSTEM", What: "may not be used", Hint: monitor.HintNoPermission},
		28:    {Cause: monitor.CauseNoGPU, Code: "NVML_ERROR_GPU_NOT_FOUND", What: "no GPU", Hint: monitor.HintNoGPU},
		999:   {Cause: monitor.CauseOther, Code: "NVML_ERROR_UNKNOWN", What: "NVML (" + fake.Path() + ") cannot be initialised: unknown error", Hint: "nvidia-smi"},
		12345: {Cause: monitor.CauseOther, What: "12345", Hint: "nvidia-smi"},
	} {
		fake.SetScenario(fmt.Sprintf("init %d\n", code))
		got := openError(t, Options{Library: fake.Path(), Root: root})
		if got.Cause != want.Cause || got.Code != want.Code || !strings.Contains(got.What, want.What) || !strings.Contains(got.Hint, want.Hint) {
			t.Errorf("init answers %d: %+v, want %+v", code, got, want)
		}
		if once := nvml.Return(code).String(); strings.Count(got.Error(), once) != 1 {
			t.Errorf("init answers %d: %q says %s more or less than once", code, got.Error(), once)
		}
	}
}

func TestEveryAnswerOfInit(t *testing.T) {
	fake := fakenvml.New(t, "580", "")
	for _, code := range codes {
		fake.SetScenario(fmt.Sprintf("init %d\n", code))
		if got := openError(t, Options{Library: fake.Path()}); !strings.Contains(got.Error(), nvml.Return(code).String()) {
			t.Errorf("init answers %d: %q", code, got.Error())
		}
	}
}

func TestTheCountFails(t *testing.T) {
	fake := fakenvml.New(t, "580", "fault nvmlDeviceGetCount_v2 return 999\nfault nvmlSystemGetDriverVersion return 4\n")
	s := New(Options{Library: fake.Path()})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v := s.Driver().Version; v.Known() || v.Reason != monitor.NoPermission || v.Err.Function() != "nvmlSystemGetDriverVersion" {
		t.Errorf("version of the driver %+v", v)
	}
	var open *monitor.OpenError
	if _, err := s.Devices(); !errors.As(err, &open) || open.Code != "NVML_ERROR_UNKNOWN" || open.Hint == "" {
		t.Errorf("devices: %v", err)
	}
}

func TestOtherFilesAreNoLibrary(t *testing.T) {
	dir := fixture.TempDir(t)
	garbage := filepath.Join(dir, "garbage.so")
	if err := os.WriteFile(garbage, []byte("no library at all"), 0o777); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.so")
	for path, want := range map[string]string{
		// A file that is there was found: NVML's name for the opposite would mislead.
		garbage: "no NVML library: " + garbage + ": ",
		dir:     "no NVML library: " + dir + ": ",
		missing: "no NVML library at " + missing + ": NVML_ERROR_LIBRARY_NOT_FOUND",
	} {
		got := openError(t, Options{Library: path})
		if got.Cause != monitor.CauseNoLibrary || !got.Cause.Final() || !strings.HasPrefix(got.Error(), want) || strings.Count(got.What, path) != 1 ||
			path != missing && strings.Contains(got.Error(), "NOT_FOUND") || !strings.Contains(got.Hint, "--nvml") || got.Tried != nil {
			t.Errorf("%s: %q, %+v", path, got.Error(), got)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	libc, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if len(libc) == 0 {
		t.Skip("no libc.so.6 to be seen")
	}
	got := openError(t, Options{Library: libc[0]}) // a library, but not this one
	if want := "no NVML library: " + libc[0] + " has no nvmlInit: NVML_ERROR_FUNCTION_NOT_FOUND"; got.Cause != monitor.CauseNoLibrary || got.Error() != want {
		t.Errorf("%q, %+v", got.Error(), got)
	}
}

// TestNothingIsTouchedWithoutADriver looks at a machine without a driver, in a
// process of its own that finds a library.
func TestNothingIsTouchedWithoutADriver(t *testing.T) {
	const variable = "DRIVER_TEST_ROOT"
	if root := os.Getenv(variable); root != "" {
		fmt.Printf("cause %d\n", openError(t, Options{Root: root}).Cause)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked for traces of a driver")
	}
	fake := fakenvml.New(t, "580", "")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(env ...string) string {
		cmd := exec.Command(self, "-test.run=^TestNothingIsTouchedWithoutADriver$", "-test.v")
		cmd.Env = append(append(os.Environ(), variable+"="+fixture.TempDir(t)), env...)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulated program cannot start itself again")
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out, want := ask(fake.Env()...), fmt.Sprintf("cause %d\n", monitor.CauseNoDriver); !strings.Contains(out, want) {
		t.Errorf("with a library and no driver: want %q in\n%s", want, out)
	}
	if calls := fake.AllCalls(); len(calls) > 0 {
		t.Errorf("the library was called: %v", calls)
	}
}

// TestASearchInVainIsShort: one sentence, and each answer once behind the paths
// that got it.
func TestASearchInVainIsShort(t *testing.T) {
	missing := func(path string) nvml.Attempt {
		return nvml.Attempt{Path: path, Err: fs.ErrNotExist}
	}
	wrong := nvml.Attempt{Path: "/c", Err: errors.New("/c: invalid ELF header")}
	for _, tt := range []struct {
		attempts []nvml.Attempt
		says     string
		tried    []string
	}{
		{[]nvml.Attempt{missing("/a"), missing("/b")}, "no NVIDIA driver library found: NVML_ERROR_LIBRARY_NOT_FOUND", []string{"/a, /b: not found"}},
		{[]nvml.Attempt{missing("/a"), wrong, missing("/b")}, "no NVIDIA driver library can be loaded", []string{"/a, /b: not found", "/c: invalid ELF header"}},
	} {
		var got *monitor.OpenError
		if !errors.As(New(Options{}).openError(&nvml.OpenError{Attempts: tt.attempts}), &got) || got.Error() != tt.says || !slices.Equal(got.Tried, tt.tried) || !strings.Contains(got.Hint, "--nvml") {
			t.Errorf("%q, %+v, want %q, %q", got.Error(), got, tt.says, tt.tried)
		}
	}
}

func TestNoLibraryAndNoDriver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked for traces of a driver")
	}
	s := New(Options{Root: fixture.TempDir(t)})
	var open *monitor.OpenError
	if err := s.Open(); !errors.As(err, &open) || open.Cause != monitor.CauseNoLibrary && open.Cause != monitor.CauseNoDriver {
		t.Errorf("Open: %v", err)
	}
	if s.LocalPIDs() {
		t.Error("PIDs under another root are not this machine's")
	}
}
