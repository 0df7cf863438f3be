//go:build linux || windows

package fakenvml_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// What real libraries of these drivers export, counted in their headers, and
// the functions besides: the MPS list of old drivers, the two functions of the
// old name for excluded GPUs. 525 and 580 are not the tips of their branches.
var exported = map[string]int{
	"390": 169 + 1, "450": 240 + 1, "470": 251 + 2, "510": 271 + 2, "525": 309 + 2,
	"535.54": 326 + 2, "535.98": 323 + 2, "550": 347 + 2, "580": 399, "615": 428,
}

func TestSymbolsOfEachGeneration(t *testing.T) {
	every := map[string]bool{}
	for _, g := range fakenvml.Generations() {
		names, err := fakenvml.Symbols(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			every[name] = true
		}
	}
	each(t, func(t *testing.T, g string) {
		l := load(t, g, "")
		names, err := fakenvml.Symbols(g)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) != exported[g] {
			t.Errorf("%d functions, want %d", len(names), exported[g])
		}
		for name := range every {
			if got, want := findSymbol(l.handle, name) != 0, slices.Contains(names, name); got != want {
				t.Errorf("%s exported: %v, want %v", name, got, want)
			}
		}
	})
}

func TestPresenceThatComesAndGoes(t *testing.T) {
	has := func(g, name string) bool {
		names, err := fakenvml.Symbols(g)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(names, name)
	}
	for _, c := range []struct {
		name    string
		with    []string
		without []string
	}{
		{name: "nvmlDeviceGetComputeRunningProcesses_v3", with: []string{"510", "535.54", "550"}, without: []string{"470", "535.98"}},
		{name: "nvmlDeviceGetComputeRunningProcesses_v2", with: []string{"450", "535.98"}, without: []string{"390"}},
		{name: "nvmlDeviceGetRunningProcessDetailList", with: []string{"550"}, without: []string{"535.54", "535.98"}},
		{name: "nvmlDeviceGetMemoryInfo_v2", with: []string{"510"}, without: []string{"470"}},
		{name: "nvmlDeviceGetSramEccErrorStatus", with: []string{"550"}, without: []string{"535.54"}},
		{name: "nvmlDeviceGetRemappedRows_v2", with: []string{"615"}, without: []string{"580"}},
		{name: "nvmlDeviceGetMPSComputeRunningProcesses", with: []string{"390", "450", "615"}},
		{name: "nvmlGetBlacklistDeviceCount", with: []string{"450", "470", "550"}, without: []string{"390", "580"}},
		{name: "nvmlGpmMetricsGet", with: []string{"525"}, without: []string{"510"}},
		{name: "nvmlEventSetWait_v3", with: []string{"615"}, without: []string{"580"}},
		{name: "nvmlDeviceGetPowerMode", without: fakenvml.Generations()},
	} {
		for _, g := range c.with {
			if !has(g, c.name) {
				t.Errorf("%s lacks %s", g, c.name)
			}
		}
		for _, g := range c.without {
			if has(g, c.name) {
				t.Errorf("%s has %s", g, c.name)
			}
		}
	}
}

// Every function bears being called too early, with nothing, and on a device.
func TestEveryFunctionAnswers(t *testing.T) {
	// These work without initialisation, or undo it.
	early := []string{
		"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString",
		"nvmlSystemGetNVMLVersion", "nvmlGetExcludedDeviceCount", "nvmlGetExcludedDeviceInfoByIndex",
		"nvmlGetBlacklistDeviceCount", "nvmlGetBlacklistDeviceInfoByIndex",
	}
	each(t, func(t *testing.T, g string) {
		l := load(t, g, "")
		names, err := fakenvml.Symbols(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !slices.Contains(early, name) {
				l.want(uninitialized, name, 0, 0, 0, 0, 0, 0)
			}
		}
		l.want(success, "nvmlInit_v2")
		device := l.device(0)
		for _, name := range names {
			if slices.Contains(early, name) || name == "nvmlEventSetWait" {
				continue
			}
			if code := l.call(name, 0, 0, 0, 0, 0, 0); code == success {
				t.Errorf("%s of nothing succeeds", name)
			}
			if strings.HasPrefix(name, "nvmlDevice") {
				if code := l.call(name, device, 0, 0, 0, 0, 0); code < 0 || code > 30 {
					t.Errorf("%s without buffers = %d", name, code)
				}
			}
		}
	})
}

func TestLifeCycle(t *testing.T) {
	l := load(t, "580", "gpus 3\ngpu 1 open 4\ngpu 2 lost 1\n")
	count := new(uint32)
	l.want(uninitialized, "nvmlDeviceGetCount_v2", ref(count))
	l.want(success, "nvmlInit_v2")
	l.want(success, "nvmlDeviceGetCount_v2", ref(count))
	if *count != 3 {
		t.Errorf("%d GPUs", *count)
	}
	l.want(success, "nvmlDeviceGetCount", ref(count))
	if *count != 2 {
		t.Errorf("the first form counts %d GPUs", *count)
	}
	handle := new(uintptr)
	l.want(noPermission, "nvmlDeviceGetHandleByIndex_v2", 1, ref(handle))
	l.want(invalidArgument, "nvmlDeviceGetHandleByIndex_v2", 3, ref(handle))
	l.want(invalidArgument, "nvmlDeviceGetHandleByIndex_v2", 0, 0)
	l.want(success, "nvmlDeviceGetHandleByIndex", 1, ref(handle))
	old := l.device(0)
	lost := l.device(2)
	if *handle != lost {
		t.Error("the first form counts GPUs without permission")
	}
	if _, code := l.number("nvmlDeviceGetPowerUsage", lost); code != gpuIsLost {
		t.Errorf("lost GPU answers %d", code)
	}
	if _, code := l.number("nvmlDeviceGetPowerUsage", old); code != success {
		t.Errorf("power = %d", code)
	}
	l.want(invalidArgument, "nvmlDeviceGetPowerUsage", old, 0)
	l.want(invalidArgument, "nvmlDeviceGetPowerUsage", old+1, ref(count))
	l.want(success, "nvmlInit_v2")
	l.want(success, "nvmlShutdown")
	if _, code := l.number("nvmlDeviceGetPowerUsage", old); code != success {
		t.Errorf("after one of two shutdowns power = %d", code)
	}
	l.want(success, "nvmlShutdown")
	if _, code := l.number("nvmlDeviceGetPowerUsage", old); code != uninitialized {
		t.Errorf("after shutdown power = %d", code)
	}
	l.want(uninitialized, "nvmlShutdown")
	l.want(success, "nvmlInit_v2")
	if _, code := l.number("nvmlDeviceGetPowerUsage", old); code != invalidArgument {
		t.Errorf("a handle from before the shutdown answers %d", code)
	}
}

func TestInitFails(t *testing.T) {
	l := load(t, "550", "init 9\n")
	l.want(driverNotLoaded, "nvmlInit_v2")
	l.want(driverNotLoaded, "nvmlInitWithFlags", 0)
	l.want(success, "nvmlShutdown")
	count := new(uint32)
	l.want(uninitialized, "nvmlDeviceGetCount_v2", ref(count))
	if got := l.text("nvmlSystemGetNVMLVersion"); got != "12.550.163.01" {
		t.Errorf("NVML version %q", got)
	}
	l.SetScenario("init 0\n")
	l.want(success, "nvmlInit_v2")

	old := load(t, "470", "init 18\n")
	old.want(18, "nvmlInit_v2")
	old.want(uninitialized, "nvmlSystemGetNVMLVersion", ref(new([80]byte)), 80)
}

func TestVersions(t *testing.T) {
	each(t, func(t *testing.T, g string) {
		l := start(t, g, "driver 571.11\n")
		if got := l.text("nvmlSystemGetDriverVersion"); got != "571.11" {
			t.Errorf("driver version %q", got)
		}
		l.want(insufficientSize, "nvmlSystemGetDriverVersion", ref(new([6]byte)), 6)
		l.SetScenario("")
		if got := l.text("nvmlSystemGetDriverVersion"); !strings.HasPrefix(got, g) && g != "535.54" {
			t.Errorf("driver version %q", got)
		}
		version := new(int32)
		l.want(success, "nvmlSystemGetCudaDriverVersion", ref(version))
		if *version < 9000 || *version > 13090 {
			t.Errorf("CUDA version %d", *version)
		}
	})
}

func TestHandles(t *testing.T) {
	l := start(t, "580", "gpus 2\ngpu 1 uuid GPU-one\ngpu 1 busid 00010000:C1:00.0\ngpu 1 serial 77\n")
	second := l.device(1)
	find := func(function, text string) uintptr {
		buffer := new([64]byte)
		copy(buffer[:], text)
		handle := new(uintptr)
		l.want(success, function, ref(buffer), ref(handle))
		return *handle
	}
	for function, text := range map[string]string{
		"nvmlDeviceGetHandleByUUID":        "GPU-one",
		"nvmlDeviceGetHandleBySerial":      "77",
		"nvmlDeviceGetHandleByPciBusId":    "00010000:C1:00.0",
		"nvmlDeviceGetHandleByPciBusId_v2": "10000:c1:00.0",
	} {
		if got := find(function, text); got != second {
			t.Errorf("%s(%s) = %#x, want %#x", function, text, got, second)
		}
	}
	missing := new([64]byte)
	copy(missing[:], "GPU-none")
	l.want(notFound, "nvmlDeviceGetHandleByUUID", ref(missing), ref(new(uintptr)))
	index := new(uint32)
	l.want(success, "nvmlDeviceGetIndex", second, ref(index))
	if *index != 1 {
		t.Errorf("index %d", *index)
	}
	pci := new([68]byte)
	l.want(success, "nvmlDeviceGetPciInfo_v3", second, ref(pci))
	if got := strings.TrimRight(string(pci[36:]), "\x00"); got != "00010000:C1:00.0" {
		t.Errorf("bus id %q", got)
	}
	if got := strings.TrimRight(string(pci[:16]), "\x00"); got != "0000:C1:00.0" {
		t.Errorf("legacy bus id %q", got)
	}
}

// Older forms of a function must not write more than their own layout has.
func TestOldLayouts(t *testing.T) {
	l := start(t, "550", "")
	device := l.device(0)
	for _, c := range []struct {
		name string
		size int
	}{
		{"nvmlDeviceGetPciInfo_v3", 68},
		{"nvmlDeviceGetPciInfo_v2", 52},
		{"nvmlDeviceGetPciInfo", 36},
		{"nvmlDeviceGetMemoryInfo", 24},
		{"nvmlDeviceGetBAR1MemoryInfo", 24},
		{"nvmlDeviceGetUtilizationRates", 8},
		{"nvmlDeviceGetGpuFabricInfo", 28},
	} {
		buffer := new([128]byte)
		for i := range buffer {
			buffer[i] = 0xa5
		}
		l.want(success, c.name, device, ref(buffer))
		end := len(buffer)
		for end > 0 && buffer[end-1] == 0xa5 {
			end--
		}
		if end > c.size || end < c.size-3 {
			t.Errorf("%s wrote %d bytes, want %d", c.name, end, c.size)
		}
	}
}

func TestVersionWords(t *testing.T) {
	const word = 0x02000028
	each(t, func(t *testing.T, g string) {
		l := start(t, g, "")
		if findSymbol(l.handle, "nvmlDeviceGetMemoryInfo_v2") == 0 {
			return
		}
		device := l.device(0)
		memory := new([40]byte)
		binary.NativeEndian.PutUint32(memory[:], word)
		l.want(success, "nvmlDeviceGetMemoryInfo_v2", device, ref(memory))
		number := func(at int) uint64 { return binary.NativeEndian.Uint64(memory[at:]) }
		if total := number(8); total != number(16)+number(24)+number(32) || total == 0 {
			t.Errorf("memory does not add up: %d", total)
		}
		refused := int32(versionMismatch)
		if g == "510" {
			refused = functionNotFound
		}
		for _, bad := range []uint32{0, 2, word + 8, 0x01000028} {
			binary.NativeEndian.PutUint32(memory[:], bad)
			l.want(refused, "nvmlDeviceGetMemoryInfo_v2", device, ref(memory))
		}
		if len(l.Violations()) != 4 {
			t.Errorf("violations: %q", l.Violations())
		}
	})
}

func TestMemoryCountsTheReserve(t *testing.T) {
	scenario := "gpus 1\ngpu 0 memory.total 1000\ngpu 0 memory.used 300\ngpu 0 memory.reserved 100\n"
	for g, used := range map[string]uint64{"470": 300, "510": 400, "580": 400} {
		l := start(t, g, scenario)
		memory := new([3]uint64)
		l.want(success, "nvmlDeviceGetMemoryInfo", l.device(0), ref(memory))
		if want := [3]uint64{1000, 1000 - used, used}; *memory != want {
			t.Errorf("%s: %v, want %v", g, *memory, want)
		}
	}
}

func TestFaults(t *testing.T) {
	l := start(t, "580", strings.Join([]string{
		"gpus 3",
		"fault nvmlDeviceGetPowerUsage gpu 0 calls 2-3 return 999",
		"fault nvmlDeviceGetPowerUsage gpu 1 calls every 2 return 27",
		"fault nvmlDeviceGetTemp* return 4",
		"fault * gpu 2 calls 4- return 15",
	}, "\n"))
	devices := []uintptr{l.device(0), l.device(1), l.device(2)}
	codes := func(name string, device uintptr, n int) []int32 {
		var got []int32
		for range n {
			_, code := l.number(name, device)
			got = append(got, code)
		}
		return got
	}
	for _, c := range []struct {
		name   string
		device int
		want   []int32
	}{
		{"nvmlDeviceGetPowerUsage", 0, []int32{0, 999, 999, 0}},
		{"nvmlDeviceGetPowerUsage", 1, []int32{0, 27, 0, 27}},
		{"nvmlDeviceGetTemperature", 0, []int32{4}},
		{"nvmlDeviceGetNumFans", 0, []int32{0}},
		// The handle was the first call.
		{"nvmlDeviceGetNumFans", 2, []int32{0, 0, 15, 15}},
	} {
		if c.name == "nvmlDeviceGetTemperature" {
			l.want(4, c.name, devices[c.device], 0, ref(new(uint32)))
			continue
		}
		if got := codes(c.name, devices[c.device], len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s of GPU %d: %v, want %v", c.name, c.device, got, c.want)
		}
	}
	for _, bad := range l.Violations() {
		t.Errorf("violation: %s", bad)
	}
}

func TestEveryReturnCode(t *testing.T) {
	codes := []int32{999, 12345, -1}
	for code := range int32(31) {
		codes = append(codes, code)
	}
	var s fakenvml.Scenario
	for i, code := range codes {
		s.Add("fault nvmlDeviceGetPowerUsage calls %d return %d", i+1, code)
	}
	l := start(t, "615", s.String())
	device := l.device(0)
	for _, code := range codes {
		if _, got := l.number("nvmlDeviceGetPowerUsage", device); got != code {
			t.Errorf("answer %d, want %d", got, code)
		}
	}
}

func TestDelay(t *testing.T) {
	l := start(t, "580", "fault nvmlDeviceGetHandleByIndex_v2 gpu 1 delay 150\n")
	begin := time.Now()
	l.device(1)
	if took := time.Since(begin); took < 140*time.Millisecond {
		t.Errorf("the delayed call took %v", took)
	}
}

func TestHang(t *testing.T) {
	l := start(t, "580", "fault nvmlDeviceGetPowerUsage gpu 0 hang\n")
	first, second := l.device(0), l.device(1)
	done := make(chan int32)
	go func() {
		_, code := l.number("nvmlDeviceGetPowerUsage", first)
		done <- code
	}()
	l.WaitCalls("nvmlDeviceGetPowerUsage", 1)
	// Others go on meanwhile.
	if _, code := l.number("nvmlDeviceGetPowerUsage", second); code != success {
		t.Errorf("power of the other GPU = %d", code)
	}
	if n := l.Active("nvmlDeviceGetPowerUsage"); n != 1 {
		t.Errorf("%d calls are active", n)
	}
	// A change that keeps the fault keeps the call.
	l.SetScenario("gpus 2\nfault nvmlDeviceGetPowerUsage gpu 0 hang\n")
	select {
	case code := <-done:
		t.Fatalf("the hanging call returned %d", code)
	case <-time.After(100 * time.Millisecond):
	}
	l.SetScenario("")
	if code := <-done; code != success {
		t.Errorf("the released call returned %d", code)
	}
	if n := l.MostActive("nvmlDeviceGetPowerUsage"); n != 2 {
		t.Errorf("at most %d calls at once, want 2", n)
	}
}

func TestHangEndsByItself(t *testing.T) {
	l := start(t, "580", "fault nvmlDeviceGetPowerUsage hang release-after 50 return 10\n")
	if _, code := l.number("nvmlDeviceGetPowerUsage", l.device(0)); code != timeout {
		t.Errorf("power = %d", code)
	}
}

func TestHangWrite(t *testing.T) {
	l := start(t, "580", "")
	path := filepath.Join(l.Dir(), "frozen")
	l.SetScenario("fault nvmlDeviceGetPowerUsage hangwrite " + path + "\n")
	if _, code := l.number("nvmlDeviceGetPowerUsage", l.device(0)); code != success {
		t.Errorf("power = %d", code)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x" {
		t.Errorf("written: %q, %v", text, err)
	}
}

// TestMain is also the program that TestCrashes starts.
func TestMain(m *testing.M) {
	path := os.Getenv("FAKENVML_CRASH")
	if path == "" {
		os.Exit(m.Run())
	}
	handle, err := loadLibrary(path)
	if err != nil {
		os.Exit(99)
	}
	l := &library{handle: handle, t: &testing.T{}}
	l.call("nvmlInit_v2")
	handlePointer := new(uintptr)
	l.call("nvmlDeviceGetHandleByIndex_v2", 0, ref(handlePointer))
	l.call("nvmlDeviceGetPowerUsage", *handlePointer, ref(new(uint32)))
	os.Exit(98)
}

func TestCrashes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"segv", "abort", "exit 7"} {
		fake := fakenvml.New(t, "580", "fault nvmlDeviceGetPowerUsage "+action+"\n")
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "FAKENVML_CRASH="+fake.Path())
		text, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.Is(err, syscall.ENOEXEC):
			t.Skip("programs cannot start programs under this emulator: no binfmt entry for " + runtime.GOARCH)
		case !errors.As(err, &exit):
			t.Fatalf("%s: %v", action, err)
		}
		code := exit.ExitCode()
		if code == 98 || code == 99 || action == "exit 7" && code != 7 {
			t.Errorf("%s: exit %d: %s", action, code, text)
		}
		if n := fake.Calls("nvmlDeviceGetPowerUsage"); n != 1 {
			t.Errorf("%s: %d calls counted", action, n)
		}
	}
}

func TestCounts(t *testing.T) {
	l := start(t, "580", "gpus 2\n")
	first, second := l.device(0), l.device(1)
	for range 3 {
		l.number("nvmlDeviceGetPowerUsage", first)
	}
	l.number("nvmlDeviceGetPowerUsage", second)
	l.call("nvmlDeviceSetPowerManagementLimit", second, 1)
	for name, want := range map[string][3]int{
		"nvmlDeviceGetPowerUsage":           {4, 3, 1},
		"nvmlDeviceSetPowerManagementLimit": {1, 0, 1},
		"nvmlInit_v2":                       {1, 0, 0},
		"nvmlDeviceGetName":                 {0, 0, 0},
	} {
		if got := [3]int{l.Calls(name), l.CallsOn(name, 0), l.CallsOn(name, 1)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		buffer := new([64]byte)
		copy(buffer[:], name)
		if got := l.call("fakenvml_calls", ref(buffer)); int(got) != want[0] {
			t.Errorf("fakenvml_calls(%s) = %d, want %d", name, got, want[0])
		}
	}
	if got := l.AllCalls()["nvmlDeviceGetPowerUsage"]; got != 4 {
		t.Errorf("all calls: %d", got)
	}
}

func TestScenarioChanges(t *testing.T) {
	l := start(t, "580", "gpus 1\ngpu 0 power 1000\n")
	device := l.device(0)
	if got, _ := l.number("nvmlDeviceGetPowerUsage", device); got != 1000 {
		t.Errorf("power %d", got)
	}
	l.SetScenario("gpus 1\ngpu 0 power 2000\n")
	if got, _ := l.number("nvmlDeviceGetPowerUsage", device); got != 2000 {
		t.Errorf("power %d after the change", got)
	}
	l.SetScenario("gpus 0\n")
	if _, code := l.number("nvmlDeviceGetPowerUsage", device); code != invalidArgument {
		t.Errorf("a GPU that vanished answers %d", code)
	}
}

// mistakes are the notes on a scenario's lines, by the line; they do not fail the test.
func (l *library) mistakes() map[int][]string {
	l.t.Helper()
	notes := map[int][]string{}
	for _, v := range l.Violations() {
		var line int
		if _, err := fmt.Sscanf(v, "scenario: line %d: ", &line); err != nil {
			l.t.Errorf("not about the scenario: %s", v)
		}
		notes[line] = append(notes[line], v)
	}
	if err := os.Remove(l.ViolationsPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return notes
}

// Every line that says nothing is noted, once however many GPUs it is about,
// and nothing of it happens.
func TestScenarioMistakesAreNoted(t *testing.T) {
	wrong := []string{
		// the library
		"zzz 1", "foo bar", "what", "temperature 4", "pcie.wait 0", "driver", "cuda new", "model z9", "model",
		"gpus 3x", "gpus", "gpus 257", "gpus 2 3", "processname.x sh", "processname.007 sh", "process.null no",
		"gpm.batch right", "excluded.0 GPU-1", "excluded.0 GPU-1 here",
		// which GPU
		"gpu", "gpu 0", "gpu 7 power 1", "gpu 0-9 power 1", "gpu 1-0 power 1", "gpu x power 1", "gpu 0x1 power 1",
		"gpu all:0 power 1", "gpu 0:99 open 4", "gpu 0:5 open 4", "gpu -1 power 1",
		// models and keys
		"gpu 0 model z9", "gpu 0 model", "gpu 0 model a100 2", "gpu 0:0 model a100",
		"gpu 0 tempreature 4", "gpu all tempreature 4", "gpu 0 power", "gpu 0 fan.x 3", "gpu 0 fan.01 3",
		"gpu 0 gpm.first 3", "gpu 0 gi 3", "gpu 0 driver 580", "gpu 0 nvlink.0 1", "gpu 0 nvlink.0.encryption 1",
		"gpu 0 nvlink.0.colour 1", "gpu 0:0 temperature 4", "gpu 0:0 instance 1 2 3 1g.10gb",
		// values
		"gpu 1 temperature hello", "gpu all temperature hello", "gpu 0 util 3x", "gpu 0 util 1 2", "gpu 0 util 5Mib",
		"gpu 0 util error", "gpu 0 util error x", "gpu 0 name error x", "gpu 0 util unset 1", "gpu 0 util walk",
		"gpu 0 util walk 1 2", "gpu 0 util walk 1 2 x", "gpu 0 util sine 1 2", "gpu 0 util list", "gpu 0 util list 1 2,3",
		"gpu 0 util ramp 1", "gpu 0 util counter 1 2 3", "gpu 0 cpus 0-", "gpu 0 cpus 0 1", "gpu 0 busid 3",
		"gpu 0 clocks.memory fast", "gpu 0 nvlink.0.peer x", "gpu 0 field.5 u128 1", "gpu 0 field.5 u64 x",
		"gpu 0 field.5 u64", "gpu 0 field.5 type-x 1", "gpu 0 field.5.x u64 1",
		// statements
		"gpu 0 process disk 1 1", "gpu 0 process compute 1", "gpu 0 process compute 1 1 1", "gpu 0 process compute a 1",
		"gpu 0 process compute 1 1 1 1 1 1", "gpu 0 process compute error x", "gpu 0 processes compute 1 1",
		"gpu 0 processes compute 1 1 x", "gpu 0 usage", "gpu 0 usage 1 2 3 4", "gpu 0 usage 1 2 3 4 5 6",
		"gpu 0 usage 1 2 3 4 x", "gpu 0 usage 1 2 3 4 5 age", "gpu 0 usage 1 2 3 4 5 age x", "gpu 0 usage 1 2 3 4 5 old 3",
		"gpu 0 instance", "gpu 0 instance 14 1 2 1g.10gb", "gpu 0 instance 1 1 2", "gpu 0 instance 1 x 2 1g.10gb",
		"gpu 0 instance 1 1 2 big", "gpu 0 instance 1 1 2 1g.10gbx", "gpu 0 mig", "gpu 0 mig yes", "gpu 0 mig on maybe",
		"gpu 0 mig on on on", "gpu 0 mig error x", "gpu 0 page", "gpu 0 page triple 1 2", "gpu 0 page single 1",
		"gpu 0 account 1 2 3 4 5 6", "gpu 0 account 1 2 3 4 5 6 x",
		// events and faults
		"event", "event foo", "event gpu 0", "event xid 79", "event gpu 0 xid", "event gpu 0 xid x", "event gpu 7 xid 79",
		"event gpu 0 xid 79 when 3", "fault x y", "fault nvmlDeviceGetPowerUsage", "fault nvmlDeviceGetPowerUsag return 3",
		"fault nvmlDeviceX* return 3", "fault nvmlDeviceGetPowerUsage calls 3-", "fault nvmlDeviceGetPowerUsage calls x return 3",
		"fault nvmlDeviceGetPowerUsage calls every x return 3", "fault nvmlDeviceGetPowerUsage return x",
		"fault nvmlDeviceGetPowerUsage gpu x return 3", "fault nvmlDeviceGetPowerUsage slow", "fault nvmlDeviceGetPowerUsage delay",
	}
	right := []string{
		"gpus 4", "gpu 0 mig on", "gpu 0 instance 0 1 0 1g.10gb", "gpu 0:0 open 0", "gpu all power 1234", "gpu 1-2 util 16",
		"gpu 0 nvlink.3.crcdata 1", "gpu 0 nvlink.crcdata 1", "fault nvmlDeviceGetPowerUsage gpu 9 return 3",
		"gpu 0 field.5.1 type-99 1.5", "gpu 0 field.5 7", "  # nothing", "", "event gpu 3 at 5 type 8 data 1 gi 1 ci 2",
		"fault nvmlDeviceGetUUID return 3 # calls", "gpu 0 usage 1 2 3 4 5 6 7 stamp 8", "processname.7 sh -c true",
	}
	l := start(t, "580", strings.Join(append(slices.Clone(right), wrong...), "\n"))
	check := func() {
		t.Helper()
		notes := l.mistakes()
		for i, line := range append(slices.Clone(right), wrong...) {
			want := 0
			if i >= len(right) {
				want = 1
			}
			if got := notes[i+1]; len(got) != want {
				t.Errorf("%q: %d notes, want %d: %q", line, len(got), want, got)
			}
		}
	}
	check()
	for i := range 4 {
		if power, code := l.number("nvmlDeviceGetPowerUsage", l.device(i)); power != 1234 || code != success {
			t.Errorf("power of GPU %d: %d, code %d", i, power, code)
		}
	}
	time.Sleep(50 * time.Millisecond)
	l.device(0)
	if notes := l.mistakes(); len(notes) > 0 {
		t.Errorf("noted again although the file is the same: %q", notes)
	}
	l.SetScenario(strings.Join(append(slices.Clone(right), wrong...), "\n") + "\n")
	l.device(0)
	check()
	l.SetScenario("gpus 0\ngpu all power 1\ngpu all tempreature 4\n")
	l.want(success, "nvmlInit_v2")
	if notes := l.mistakes(); len(notes) != 1 || len(notes[3]) != 1 {
		t.Errorf("without GPUs: %q", notes)
	}
}

func TestMovingValues(t *testing.T) {
	scenario := strings.Join([]string{
		"gpus 2",
		"gpu all power walk 500 1000 3000",
		"gpu 0 pcie.replay list 5 6 7",
		"gpu 0 pcie.gen ramp 1 2",
		"gpu 0 minor sine 0 100 4",
	}, "\n")
	read := func(gpu, n int, name string) []uint32 {
		l := start(t, "580", scenario)
		device := l.device(gpu)
		values := make([]uint32, n)
		for i := range values {
			values[i], _ = l.number(name, device)
		}
		return values
	}
	walk := read(0, 200, "nvmlDeviceGetPowerUsage")
	if !slices.Equal(walk, read(0, 200, "nvmlDeviceGetPowerUsage")) {
		t.Error("a walk is another one at the second time")
	}
	if slices.Equal(walk, read(1, 200, "nvmlDeviceGetPowerUsage")) {
		t.Error("two GPUs walk alike")
	}
	if slices.Min(walk) < 1000 || slices.Max(walk) > 3000 || slices.Min(walk) == slices.Max(walk) {
		t.Errorf("walk from %d to %d", slices.Min(walk), slices.Max(walk))
	}
	for name, want := range map[string][]uint32{
		"nvmlDeviceGetPcieReplayCounter":      {5, 6, 7, 5},
		"nvmlDeviceGetCurrPcieLinkGeneration": {1, 3, 5, 7},
		"nvmlDeviceGetMinorNumber":            {0, 50, 100, 50},
	} {
		if got := read(0, 4, name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestModels(t *testing.T) {
	for model, c := range map[string]struct {
		name        string
		fan, memory int32 // return codes
		ecc, gpm    bool
	}{
		"h100":    {"NVIDIA H100 80GB HBM3", notSupported, success, true, true},
		"a100":    {"NVIDIA A100-SXM4-40GB", notSupported, success, true, false},
		"v100":    {"Tesla V100-SXM2-16GB", notSupported, success, true, false},
		"t4":      {"Tesla T4", notSupported, success, true, false},
		"l40s":    {"NVIDIA L40S", notSupported, success, true, false},
		"rtx4090": {"NVIDIA GeForce RTX 4090", success, success, false, false},
		"gtx1080": {"NVIDIA GeForce GTX 1080", success, success, false, false},
		"k80":     {"Tesla K80", notSupported, success, true, false},
		"gb10":    {"NVIDIA GB10", notSupported, notSupported, false, false},
		"thor":    {"NVIDIA Thor", notSupported, notSupported, false, false},
		"orin":    {"Orin (nvgpu)", notSupported, notSupported, false, false},
	} {
		l := start(t, "580", "gpus 2\ngpu 1 model "+model+"\n")
		device := l.device(1)
		if got := l.text("nvmlDeviceGetName", device); got != c.name {
			t.Errorf("%s: name %q", model, got)
		}
		if _, code := l.number("nvmlDeviceGetFanSpeed", device); code != c.fan {
			t.Errorf("%s: fan = %d, want %d", model, code, c.fan)
		}
		l.want(c.memory, "nvmlDeviceGetMemoryInfo", device, ref(new([3]uint64)))
		code := l.call("nvmlDeviceGetEccMode", device, ref(new(uint32)), ref(new(uint32)))
		if got := code == success; got != c.ecc {
			t.Errorf("%s: ECC = %d", model, code)
		}
		support := &[2]uint32{1, 9}
		l.want(success, "nvmlGpmQueryDeviceSupport", device, ref(support))
		if got := support[1] == 1; got != c.gpm {
			t.Errorf("%s: GPM %v", model, got)
		}
		if bad := l.Violations(); len(bad) > 0 {
			t.Errorf("%s: %q", model, bad)
		}
	}
}

func TestAffinity(t *testing.T) {
	l := start(t, "580", "gpus 1\ngpu 0 cpus 0-3,33,64\n")
	// Words of unsigned long: 64 bits on Linux, 32 on Windows.
	bytes := new([16]byte)
	words := 2
	if isWindows() {
		words = 4
	}
	l.want(success, "nvmlDeviceGetCpuAffinity", l.device(0), uintptr(words), ref(bytes))
	want := [16]byte{0: 0x0f, 4: 0x02, 8: 0x01}
	if *bytes != want {
		t.Errorf("cpus % x, want % x", *bytes, want)
	}
}

func TestFieldValues(t *testing.T) {
	type field struct {
		id, scope uint32
		wantKind  uint32
		wantCode  int32
		wantValue uint64
	}
	negative := int32(-8)
	cases := []field{
		{id: 186, wantKind: 1, wantValue: 70000},
		{id: 230, wantKind: 1, wantValue: 2},
		{id: 193, wantKind: 5, wantValue: uint64(uint32(negative))},
		{id: 83, wantKind: 3, wantValue: 1 << 40},
		{id: 91, wantKind: 1, wantValue: 2},
		{id: 138, scope: 0, wantKind: 3, wantValue: 10},
		{id: 138, scope: 1, wantKind: 3, wantValue: 20},
		{id: 138, scope: 0xffffffff, wantKind: 3, wantValue: 30},
		{id: 138, scope: 2, wantCode: invalidArgument},
		{id: 269, wantKind: 3, wantValue: 77},
		{id: 251, wantCode: notSupported},
		{id: 301, wantCode: invalidArgument},
		{id: 82, wantCode: 15},
		{id: 90, wantKind: 0, wantValue: math.Float64bits(2.5)},
		{id: 94, wantKind: 9, wantValue: 5},
		{id: 0, wantCode: invalidArgument},
	}
	l := start(t, "580", strings.Join([]string{
		"gpus 1", "gpu 0 power.instant 70000", "gpu 0 recovery 2", "gpu 0 energy 1099511627776",
		"gpu 0 nvlink 2", "gpu 0 nvlink.0.tx 10", "gpu 0 nvlink.1.tx 20", "gpu 0 policy.swthermal 77",
		"gpu 0 field.82 error 15", "gpu 0 field.90 double 2.5", "gpu 0 field.94 type-9 5",
	}, "\n"))
	const size = 40
	buffer := make([]byte, size*len(cases))
	for i, c := range cases {
		binary.NativeEndian.PutUint32(buffer[size*i:], c.id)
		binary.NativeEndian.PutUint32(buffer[size*i+4:], c.scope)
	}
	l.want(success, "nvmlDeviceGetFieldValues", l.device(0), uintptr(len(cases)), ref(&buffer[0]))
	for i, c := range cases {
		entry := buffer[size*i:]
		kind := binary.NativeEndian.Uint32(entry[24:])
		code := int32(binary.NativeEndian.Uint32(entry[28:]))
		value := binary.NativeEndian.Uint64(entry[32:])
		if code != c.wantCode || code == success && (kind != c.wantKind || value != c.wantValue) {
			t.Errorf("field %d scope %d: kind %d code %d value %#x, want %d %d %#x",
				c.id, c.scope, kind, code, value, c.wantKind, c.wantCode, c.wantValue)
		}
	}
	old := start(t, "470", "")
	entry := new([40]byte)
	binary.NativeEndian.PutUint32(entry[:], 186)
	old.want(success, "nvmlDeviceGetFieldValues", old.device(0), 1, ref(entry))
	if code := binary.NativeEndian.Uint32(entry[28:]); code != invalidArgument {
		t.Errorf("field 186 on 470: code %d", code)
	}
}

func TestConcurrentCalls(t *testing.T) {
	l := start(t, "580", "gpus 8\n")
	var all sync.WaitGroup
	for gpu := range 8 {
		device := l.device(gpu)
		all.Go(func() {
			for range 200 {
				if _, code := l.number("nvmlDeviceGetPowerUsage", device); code != success {
					t.Errorf("power of GPU %d = %d", gpu, code)
				}
			}
		})
	}
	all.Wait()
	if n := l.Calls("nvmlDeviceGetPowerUsage"); n != 1600 {
		t.Errorf("%d calls counted", n)
	}
	if n := l.Active("nvmlDeviceGetPowerUsage"); n != 0 {
		t.Errorf("%d calls still active", n)
	}
}

// Whatever a scenario says, the library reads it and answers.
func FuzzScenario(f *testing.F) {
	f.Add("gpus 2\ngpu all model a100\ngpu 0 mig on\ngpu 0 instance 0 1 0 3g.20gb\n")
	f.Add("gpu 0 util sine 0 0 0\ngpu 1 power list\nfault * calls 1-2 return 3\n")
	f.Add("gpus 99999999999\ngpu 0:99 x y\ngpu -1 a b\nevent gpu 9 xid 79\n")
	f.Add("gpu 0 process compute 1\ngpu 0 processes mps 4000000000 1 1\ngpu 0 usage\n")
	loaded := load(f, newest(), "")
	f.Fuzz(func(t *testing.T, text string) {
		l := &library{loaded.Fake, t, loaded.handle}
		for _, word := range []string{"hang", "delay", "segv", "abort", "exit", "clock", "wait"} {
			if strings.Contains(text, word) {
				return
			}
		}
		if err := os.WriteFile(l.ScenarioPath(), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if l.call("nvmlInit_v2") != success {
			return
		}
		handle := new(uintptr)
		if l.call("nvmlDeviceGetHandleByIndex_v2", 0, ref(handle)) == success {
			for _, name := range []string{"nvmlDeviceGetPowerUsage", "nvmlDeviceGetNumFans", "nvmlDeviceGetMaxMigDeviceCount"} {
				l.number(name, *handle)
			}
			l.call("nvmlDeviceGetUtilizationRates", *handle, ref(new([2]uint32)))
			l.call("nvmlDeviceGetComputeRunningProcesses_v3", *handle, ref(new(uint32)), 0)
		}
		l.call("nvmlShutdown")
		_ = os.Remove(l.ViolationsPath()) // of the mistakes in the text
	})
}
