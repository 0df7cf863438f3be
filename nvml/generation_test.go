package nvml_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// open opens the fake driver of a generation with a scenario.
func open(t testing.TB, generation, scenario string, o nvml.Options) (*fakenvml.Fake, *nvml.Library) {
	t.Helper()
	fake := fakenvml.New(t, generation, scenario)
	o.Path = fake.Path()
	lib, err := nvml.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lib.Close()
		for _, v := range fake.Violations() {
			t.Errorf("%s: violation: %s", generation, v)
		}
	})
	return fake, lib
}

// device opens the fake driver and takes its first GPU.
func device(t testing.TB, generation, scenario string, o nvml.Options) (*fakenvml.Fake, nvml.Device) {
	t.Helper()
	fake, lib := open(t, generation, scenario, o)
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	return fake, d
}

// recorder remembers the calls it is told of.
type recorder struct {
	mu     sync.Mutex
	calls  []nvml.Call
	inside map[uint64]nvml.Call
}

func (r *recorder) Begin(c nvml.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside == nil {
		r.inside = map[uint64]nvml.Call{}
	}
	r.inside[c.ID] = c
}

func (r *recorder) End(c nvml.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.inside[c.ID]; !ok {
		panic("a call ended that had not begun")
	}
	delete(r.inside, c.ID)
	r.calls = append(r.calls, c)
}

// take returns the calls since the last take.
func (r *recorder) take() []nvml.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.calls
	r.calls = nil
	return list
}

func (r *recorder) names() []string {
	var list []string
	for _, c := range r.take() {
		list = append(list, c.Function.String())
	}
	return list
}

const values = `gpus 2
gpu 0 name Test GPU
gpu 0 uuid GPU-00000000-0000-0000-0000-000000000042
gpu 0 memory.total 80GiB
gpu 0 memory.used 10GiB
gpu 0 memory.reserved 1GiB
gpu 0 util 71
gpu 0 util.memory 17
gpu 0 temperature 66
gpu 0 power 312000
gpu 0 power.average 313000
gpu 0 power.instant 314000
gpu 0 power.limit 650000
gpu 0 power.enforced 640000
gpu 0 power.default 700000
gpu 0 energy 123456789
gpu 0 fans 2
gpu 0 fan.0 31
gpu 0 fan.1 32
gpu 0 fan.rpm.1 1500
gpu 0 clock.graphics 1410
gpu 0 clock.sm 1411
gpu 0 clock.memory 2619
gpu 0 reasons 0x24
gpu 0 pstate 2
gpu 0 pcie.gen 4
gpu 0 pcie.width 8
gpu 0 pcie.maxgen 5
gpu 0 pcie.tx 1000
gpu 0 pcie.rx 2000
gpu 0 pcie.wait 1
gpu 0 pcie.replay 3
gpu 0 encoder 12
gpu 0 decoder 13
gpu 0 jpg 14
gpu 0 ofa 15
gpu 0 ecc.mode 1
gpu 0 ecc.pending 0
gpu 0 ecc.uncorrected.volatile 5
gpu 0 remap.corrected 1
gpu 0 remap.uncorrected 2
gpu 0 remap.pending 1
gpu 0 remap.failed 0
gpu 0 margin 21
gpu 0 tlimit.slowdown -2
gpu 0 threshold.1 89
gpu 0 temperature.memory 77
gpu 0 recovery 1
gpu 0 processload error 6
`

// readings are methods, what they give on the scenario values, and the C
// functions of which one must be there; the first driver branch of a field.
var readings = []struct {
	name  string
	get   func(nvml.Device) (any, error)
	want  any
	from  int // branch, for fields; 0 where the functions decide
	funcs []string
}{
	{"Name", of(nvml.Device.Name), "Test GPU", 0, []string{"DeviceGetName"}},
	{"UUID", of(nvml.Device.UUID), "GPU-00000000-0000-0000-0000-000000000042", 0, []string{"DeviceGetUUID"}},
	{"UtilizationRates", of(nvml.Device.UtilizationRates), nvml.Utilization{GPU: 71, Memory: 17}, 0, []string{"DeviceGetUtilizationRates"}},
	{"Temperature", func(d nvml.Device) (any, error) { return d.Temperature(nvml.TemperatureGPU) }, 66, 0, []string{"DeviceGetTemperatureV", "DeviceGetTemperature"}},
	{"TemperatureThreshold", func(d nvml.Device) (any, error) { return d.TemperatureThreshold(nvml.ThresholdSlowdown) }, 89, 0, []string{"DeviceGetTemperatureThreshold"}},
	{"TemperatureLimit", func(d nvml.Device) (any, error) { return d.TemperatureLimit(nvml.ThresholdSlowdown) }, -2, 525, nil},
	{"MarginTemperature", of(nvml.Device.MarginTemperature), 21, 0, []string{"DeviceGetMarginTemperature"}},
	{"MemoryTemperature", of(nvml.Device.MemoryTemperature), 77, 384, nil},
	{"PowerUsage", of(nvml.Device.PowerUsage), uint32(312000), 0, []string{"DeviceGetPowerUsage"}},
	{"PowerAverage", func(d nvml.Device) (any, error) { return d.PowerAverage(nvml.PowerOfGPU) }, uint32(313000), 525, nil},
	{"PowerInstant", func(d nvml.Device) (any, error) { return d.PowerInstant(nvml.PowerOfGPU) }, uint32(314000), 525, nil},
	{"PowerManagementLimit", of(nvml.Device.PowerManagementLimit), uint32(650000), 0, []string{"DeviceGetPowerManagementLimit"}},
	{"EnforcedPowerLimit", of(nvml.Device.EnforcedPowerLimit), uint32(640000), 0, []string{"DeviceGetEnforcedPowerLimit"}},
	{"PowerManagementDefaultLimit", of(nvml.Device.PowerManagementDefaultLimit), uint32(700000), 0, []string{"DeviceGetPowerManagementDefaultLimit"}},
	{"NumFans", of(nvml.Device.NumFans), 2, 0, []string{"DeviceGetNumFans"}},
	{"FanSpeed", func(d nvml.Device) (any, error) { return d.FanSpeed(0) }, uint32(31), 0, []string{"DeviceGetFanSpeed_v2", "DeviceGetFanSpeed"}},
	{"FanSpeedRPM", func(d nvml.Device) (any, error) { return d.FanSpeedRPM(1) }, uint32(1500), 0, []string{"DeviceGetFanSpeedRPM"}},
	{"ClockInfo", func(d nvml.Device) (any, error) { return d.ClockInfo(nvml.ClockSM) }, uint32(1411), 0, []string{"DeviceGetClockInfo"}},
	{"Reasons", of(nvml.Device.CurrentClocksEventReasons), nvml.ReasonSwPowerCap | nvml.ReasonSwThermal, 0, []string{"DeviceGetCurrentClocksThrottleReasons"}},
	{"PerformanceState", of(nvml.Device.PerformanceState), nvml.PState(2), 0, []string{"DeviceGetPerformanceState"}},
	{"CurrPcieLinkGeneration", of(nvml.Device.CurrPcieLinkGeneration), uint32(4), 0, []string{"DeviceGetCurrPcieLinkGeneration"}},
	{"CurrPcieLinkWidth", of(nvml.Device.CurrPcieLinkWidth), uint32(8), 0, []string{"DeviceGetCurrPcieLinkWidth"}},
	{"MaxPcieLinkGeneration", of(nvml.Device.MaxPcieLinkGeneration), uint32(5), 0, []string{"DeviceGetMaxPcieLinkGeneration"}},
	{"PcieTx", func(d nvml.Device) (any, error) { return d.PcieThroughput(nvml.PcieTx) }, uint32(1000), 0, []string{"DeviceGetPcieThroughput"}},
	{"PcieRx", func(d nvml.Device) (any, error) { return d.PcieThroughput(nvml.PcieRx) }, uint32(2000), 0, []string{"DeviceGetPcieThroughput"}},
	{"PcieReplayCounter", of(nvml.Device.PcieReplayCounter), uint32(3), 0, []string{"DeviceGetPcieReplayCounter"}},
	{"Encoder", engine(nvml.Device.EncoderUtilization), uint32(12), 0, []string{"DeviceGetEncoderUtilization"}},
	{"Decoder", engine(nvml.Device.DecoderUtilization), uint32(13), 0, []string{"DeviceGetDecoderUtilization"}},
	{"JPEG", engine(nvml.Device.JpgUtilization), uint32(14), 0, []string{"DeviceGetJpgUtilization"}},
	{"OFA", engine(nvml.Device.OfaUtilization), uint32(15), 0, []string{"DeviceGetOfaUtilization"}},
	{"EccMode", func(d nvml.Device) (any, error) {
		a, b, err := d.EccMode()
		return [2]bool{a, b}, err
	}, [2]bool{true, false}, 0, []string{"DeviceGetEccMode"}},
	{"TotalEccErrors", func(d nvml.Device) (any, error) { return d.TotalEccErrors(nvml.Uncorrected, nvml.Volatile) }, uint64(5), 0, []string{"DeviceGetTotalEccErrors"}},
	{"RecoveryAction", of(nvml.Device.RecoveryAction), nvml.RecoveryGPUReset, 565, nil},
	{"ProcessUtilization", func(d nvml.Device) (any, error) {
		l, err := d.ProcessUtilization(0)
		return len(l), err
	}, 0, 0, []string{"DeviceGetProcessUtilization"}},
}

func of[T any](f func(nvml.Device) (T, error)) func(nvml.Device) (any, error) {
	return func(d nvml.Device) (any, error) { return f(d) }
}

func engine(f func(nvml.Device) (uint32, time.Duration, error)) func(nvml.Device) (any, error) {
	return func(d nvml.Device) (any, error) {
		v, _, err := f(d)
		return v, err
	}
}

// branch is the number of a generation, such as 535 of 535.98.
func branch(generation string) int {
	n := 0
	fmt.Sscanf(generation, "%d", &n)
	return n
}

func TestReadingsOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		t.Run(g, func(t *testing.T) {
			symbols, err := fakenvml.Symbols(g)
			if err != nil {
				t.Fatal(err)
			}
			_, d := device(t, g, values, nvml.Options{})
			for _, r := range readings {
				expect := r.from == 0 || branch(g) >= r.from
				if r.from == 0 {
					expect = slices.ContainsFunc(r.funcs, func(f string) bool { return slices.Contains(symbols, "nvml"+f) })
				}
				for range 2 { // the second time what works is known
					got, err := r.get(d)
					switch {
					case expect && (err != nil || got != r.want):
						t.Errorf("%s: %v, %v; want %v", r.name, got, err, r.want)
					case !expect && r.from == 0 && !errors.Is(err, nvml.ErrFunctionNotFound),
						!expect && r.from != 0 && !errors.Is(err, nvml.ErrNotSupported):
						t.Errorf("%s: %v, %v, although this driver cannot have it", r.name, got, err)
					}
				}
			}
		})
	}
}

func TestMemoryOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		_, d := device(t, g, values, nvml.Options{})
		m, err := d.MemoryInfo()
		if err != nil {
			t.Fatal(g, err)
		}
		want := nvml.Memory{Total: 80 << 30, Used: 10 << 30, Reserved: 1 << 30, Free: 69 << 30, ReservedKnown: true}
		if branch(g) < 510 { // the driver does not tell of its reserve
			want = nvml.Memory{Total: 80 << 30, Used: 10 << 30, Free: 70 << 30}
		}
		if m != want {
			t.Errorf("%s: %+v, want %+v", g, m, want)
		}
	}
}

func TestVersionsOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		_, lib := open(t, g, "cuda 12040\ndriver 555.42.06\n", nvml.Options{})
		v, err := lib.DriverVersion()
		if err != nil || v != "555.42.06" {
			t.Errorf("%s: driver %q, %v", g, v, err)
		}
		if v, err := lib.NVMLVersion(); err != nil || v == "" {
			t.Errorf("%s: NVML %q, %v", g, v, err)
		}
		if a, b, err := lib.CudaDriverVersion(); err != nil || a != 12 || b != 4 {
			t.Errorf("%s: CUDA %d.%d, %v", g, a, b, err)
		}
		if v, err := lib.DriverBranch(); branch(g) >= 580 && (err != nil || v == "") || branch(g) < 560 && !errors.Is(err, nvml.ErrFunctionNotFound) {
			t.Errorf("%s: branch %q, %v", g, v, err)
		}
	}
}

func TestPciInfoOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		_, lib := open(t, g, "gpus 1\ngpu 0 busid 00000002:C1:00.0\ngpu 0 pci.id 0x233010de\n", nvml.Options{})
		d, err := lib.Device(0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.PciInfo()
		if err != nil || p.Domain != 2 || p.Bus != 0xC1 || p.Device != 0 || p.DeviceID != 0x233010de || !strings.HasSuffix(p.BusID, "0002:C1:00.0") {
			t.Errorf("%s: %+v, %v", g, p, err)
		}
		for _, id := range []string{"0002:C1:00.0", "00000002:c1:00.0"} {
			if same, err := lib.DeviceByPCIBusID(id); err != nil || same != d {
				t.Errorf("%s: by %s: %v, %v", g, id, same, err)
			}
		}
		uuid, err := d.UUID()
		if err != nil {
			t.Fatal(err)
		}
		if same, err := lib.DeviceByUUID(uuid); err != nil || same != d || same.Index() != 0 {
			t.Errorf("%s: by UUID: %v, %v", g, same, err)
		}
		if _, err := lib.DeviceByUUID("GPU-nobody"); !errors.Is(err, nvml.ErrNotFound) && !errors.Is(err, nvml.ErrInvalidArgument) || !strings.Contains(err.Error(), "GPU-nobody") {
			t.Errorf("%s: %v", g, err)
		}
	}
}

func TestEveryDeviceAndGaps(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		_, lib := open(t, g, "gpus 4\ngpu 2 open 15\n", nvml.Options{})
		var got []string
		for d, err := range lib.Devices() {
			var gap *nvml.DeviceError
			switch {
			case errors.As(err, &gap):
				got = append(got, fmt.Sprint("gap", gap.Index, errors.Is(err, nvml.ErrGPUIsLost)))
				if d.Valid() {
					t.Error("a gap has a handle")
				}
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, fmt.Sprint(d.Index()))
			}
		}
		if fmt.Sprint(got) != "[0 1 gap2 true 3]" {
			t.Errorf("%s: %v", g, got)
		}
		if _, err := lib.Device(-1); !errors.Is(err, nvml.ErrInvalidArgument) {
			t.Errorf("%s: Device(-1): %v", g, err)
		}
		if _, err := lib.Device(4); !errors.Is(err, nvml.ErrInvalidArgument) {
			t.Errorf("%s: Device(4): %v", g, err)
		}
	}
}

// TestNothingIsAskedTwice reads all that has a chain again and again: from the
// second time on there is one call.
func TestNothingIsAskedTwice(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		r := &recorder{}
		_, d := device(t, g, values, nvml.Options{Trace: r})
		for name, read := range map[string]func() error{
			"MemoryInfo":  func() error { _, err := d.MemoryInfo(); return err },
			"Temperature": func() error { _, err := d.Temperature(nvml.TemperatureGPU); return err },
			"PciInfo":     func() error { _, err := d.PciInfo(); return err },
			"FanSpeed":    func() error { _, err := d.FanSpeed(0); return err },
			"Reasons":     func() error { _, err := d.CurrentClocksEventReasons(); return err },
			"Processes":   func() error { _, err := d.ComputeRunningProcesses(); return err },
			"Energy":      func() error { _, err := d.TotalEnergyConsumption(); return err },
		} {
			_ = read()
			r.take()
			for range 3 {
				if err := read(); err != nil {
					t.Errorf("%s: %s: %v", g, name, err)
				}
				if calls := r.take(); len(calls) != 1 || calls[0].Return != nvml.Success {
					t.Errorf("%s: %s: %v", g, name, calls)
				}
			}
		}
	}
}

// TestFallbackOnError lets the newest member of a chain fail, although it is
// there.
func TestFallbackOnError(t *testing.T) {
	for _, c := range []struct {
		code nvml.Return
		ok   bool
	}{{3, true}, {13, true}, {25, true}, {26, true}, {999, true}, {15, false}, {4, false}, {10, false}} {
		r := &recorder{}
		fake, d := device(t, "580", values+fmt.Sprintf("fault nvmlDeviceGetMemoryInfo_v2 return %d\n", c.code), nvml.Options{Trace: r})
		r.take()
		m, err := d.MemoryInfo()
		if !c.ok {
			if !errors.Is(err, c.code) || fake.Calls("nvmlDeviceGetMemoryInfo") != 0 {
				t.Errorf("%d: %v, %v", c.code, m, r.take())
			}
			continue
		}
		if err != nil || m.Total != 80<<30 || m.ReservedKnown {
			t.Errorf("%d: %+v, %v", c.code, m, err)
		}
		calls := r.take()
		if len(calls) != 2 || calls[0].Place != 0 || calls[1].Place != 1 || calls[0].Return != c.code || calls[0].Device != 0 {
			t.Errorf("%d: %v", c.code, calls)
		}
		_, _ = d.MemoryInfo()
		if names := r.names(); !slices.Equal(names, []string{"nvmlDeviceGetMemoryInfo"}) {
			t.Errorf("%d, again: %v", c.code, names)
		}
		// The fault passes, and somebody says so.
		fake.SetScenario(values)
		d.Forget()
		if m, err := d.MemoryInfo(); err != nil || !m.ReservedKnown {
			t.Errorf("%d, after Forget: %+v, %v", c.code, m, err)
		}
	}
}

// TestErrorDoesNotLatch lets the newest member fail once, in a way that no
// fallback cures.
func TestErrorDoesNotLatch(t *testing.T) {
	_, d := device(t, "580", values+"fault nvmlDeviceGetMemoryInfo_v2 calls 2 return 15\nfault nvmlDeviceGetMemoryInfo calls 1- return 999\n", nvml.Options{})
	for i := range 4 {
		m, err := d.MemoryInfo()
		if i == 1 && !errors.Is(err, nvml.ErrGPUIsLost) || i != 1 && (err != nil || !m.ReservedKnown) {
			t.Errorf("%d: %+v, %v", i, m, err)
		}
	}
}

var functionName = regexp.MustCompile(`\bnvml[A-Z]\w*`)

// documented returns, for each method of Device and Library that has a doc
// comment with "Calls", the C functions it names.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			recv := f.Recv.List[0].Type
			if s, ok := recv.(*ast.StarExpr); ok {
				recv = s.X
			}
			_, calls, found := strings.Cut(f.Doc.Text(), "Calls ")
			if !found {
				continue
			}
			list[recv.(*ast.Ident).Name+"."+f.Name.Name] = functionName.FindAllString(calls, -1)
		}
	}
	return list
}

// family says whether name is among names, which shorten some to _v2 and the
// like.
func family(names []string, name string) bool {
	base := regexp.MustCompile(`_v\d+$`).ReplaceAllString(name, "")
	return slices.ContainsFunc(names, func(n string) bool { return regexp.MustCompile(`_v\d+$`).ReplaceAllString(n, "") == base })
}

// TestDocNamesEveryFunction compares the functions that methods call, on every
// generation, with those that their comments name.
func TestDocNamesEveryFunction(t *testing.T) {
	docs := documented(t)
	all := map[string]bool{"nvmlGetBlacklistDeviceCount": true, "nvmlGetBlacklistDeviceInfoByIndex": true}
	for f := range gen.Function(gen.NumFunctions) {
		all[f.String()] = true
	}
	for method, names := range docs {
		for _, n := range names {
			if !all[n] {
				t.Errorf("%s: the comment names %s, which does not exist", method, n)
			}
		}
	}
	// Where a comment points at another method's.
	docs["Device.AppendRunningProcesses"] = docs["Device.ComputeRunningProcesses"]
	docs["Device.AppendProcessUtilization"] = docs["Device.ProcessUtilization"]
	docs["Device.TypeName"] = nil
	seen := 0
	for _, g := range fakenvml.Generations() {
		r := &recorder{}
		_, lib := open(t, g, values, nvml.Options{Trace: r})
		d, err := lib.Device(0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := lib.Device(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{d, lib} {
			receiver := reflect.TypeOf(v)
			if receiver.Kind() == reflect.Pointer {
				receiver = receiver.Elem()
			}
			eachMethod(v, other, func(name string, call func() ([]reflect.Value, error)) {
				r.take()
				out, err := call()
				if gpm, ok := first(out).(*nvml.GPM); ok && err == nil {
					defer gpm.Close()
				}
				if set, ok := first(out).(*nvml.EventSet); ok && err == nil {
					defer set.Close()
				}
				name = receiver.Name() + "." + name
				names, ok := docs[name]
				if !ok {
					t.Errorf("%s has no comment that says what it calls", name)
				}
				for _, called := range r.names() {
					seen++
					if called != "nvmlSystemGetDriverVersion" && called != "nvmlDeviceGetIndex" && !family(names, called) {
						t.Errorf("%s: %s calls %s, which its comment does not name", g, name, called)
					}
				}
			})
		}
	}
	if seen < 1000 {
		t.Errorf("only %d calls were seen", seen)
	}
}

func first(out []reflect.Value) any {
	if len(out) == 0 {
		return nil
	}
	return out[0].Interface()
}
