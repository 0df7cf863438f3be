//go:build linux || windows || darwin

package gen

import (
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// A stand-in for the library can be written in Go, since the table takes its
// addresses from whoever makes it.
func TestAStandInWrittenInGo(t *testing.T) {
	power := purego.NewCallback(func(device uintptr, milliwatts *uint32) uintptr {
		if device != 0x1234 {
			return uintptr(NVML_ERROR_INVALID_ARGUMENT)
		}
		*milliwatts = 285_125
		return uintptr(NVML_SUCCESS)
	})
	l := New(func(name string) uintptr {
		if name == "nvmlDeviceGetPowerUsage" {
			return power
		}
		return 0
	})
	f, got := NewFrame(), new(uint32)
	if r := l.DeviceGetPowerUsage(f, 0x1234, got); r != NVML_SUCCESS || *got != 285_125 {
		t.Errorf("the stand-in answered %d with %d mW, want 285125 mW", r, *got)
	}
	if r := l.DeviceGetPowerUsage(f, 0x4321, got); r != NVML_ERROR_INVALID_ARGUMENT {
		t.Errorf("another handle was answered with %d", r)
	}
	if r := l.DeviceGetEnforcedPowerLimit(f, 0x1234, got); r != NVML_ERROR_FUNCTION_NOT_FOUND {
		t.Errorf("a function it lacks was answered with %d", r)
	}
}

func TestAMissingFunctionIsNotFound(t *testing.T) {
	asked := map[string]int{}
	l, f := New(func(name string) uintptr { asked[name]++; return 0 }), NewFrame()
	var power uint32
	for range 3 {
		if r := l.DeviceGetPowerUsage(f, 1, &power); r != NVML_ERROR_FUNCTION_NOT_FOUND {
			t.Errorf("the call returned %d, want NVML_ERROR_FUNCTION_NOT_FOUND", r)
		}
		if l.Has(FnDeviceGetPowerUsage) {
			t.Error("a function that is not there is said to be")
		}
		if s := l.ErrorString(f, NVML_SUCCESS); s != "" {
			t.Errorf("ErrorString without a library says %q", s)
		}
	}
	if len(asked) != 2 || asked["nvmlDeviceGetPowerUsage"] != 1 || asked["nvmlErrorString"] != 1 {
		t.Errorf("symbols were looked up %v, want each of two once", asked)
	}
	if f.keep[1] != nil {
		t.Error("the frame still holds a pointer")
	}
}

func TestSymbolsAreLookedUpOnceByManyGoroutines(t *testing.T) {
	asked := map[string]int{} // the table calls the resolver under its lock
	l := New(func(name string) uintptr { asked[name]++; return 0 })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for fn := range Function(NumFunctions) {
				l.Has(fn)
			}
		})
	}
	wg.Wait()
	if len(asked) != NumFunctions {
		t.Errorf("%d names were looked up, want %d", len(asked), NumFunctions)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("%s was looked up %d times", name, n)
		}
	}
}

func TestManyGoroutinesCallAtOnce(t *testing.T) {
	count := purego.NewCallback(func(index uint32, device *uintptr) uintptr {
		*device = uintptr(index) + 1000
		return uintptr(NVML_SUCCESS)
	})
	l := New(func(string) uintptr { return count })
	var wg sync.WaitGroup
	for g := range uint32(8) {
		wg.Go(func() {
			f, device := NewFrame(), new(Device_t)
			for i := range uint32(500) {
				index := g<<16 | i
				if r := l.DeviceGetHandleByIndex_v2(f, index, device); r != NVML_SUCCESS || *device != Device_t(index)+1000 {
					t.Errorf("index %d: code %d, handle %d", index, r, *device)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestFunctionNamesAndFirstDrivers(t *testing.T) {
	for _, c := range []struct {
		fn          Function
		name, first string
	}{
		{FnInit_v2, "nvmlInit_v2", "375.26"},
		{FnDeviceGetMemoryInfo_v2, "nvmlDeviceGetMemoryInfo_v2", "510.39.01"},
		{FnDeviceGetComputeRunningProcesses_v3, "nvmlDeviceGetComputeRunningProcesses_v3", "510.39.01"},
		{FnDeviceGetBankRemapperStatus_v1, "nvmlDeviceGetBankRemapperStatus_v1", ""},
		{NumFunctions, "nvml?", ""},
	} {
		if got := c.fn.String(); got != c.name {
			t.Errorf("function %d is called %q, want %q", c.fn, got, c.name)
		}
		if got := c.fn.FirstDriver(); got != c.first {
			t.Errorf("%s: first driver %q, want %q", c.name, got, c.first)
		}
	}
	known := 0
	for fn := range Function(NumFunctions) {
		if !strings.HasPrefix(fn.String(), "nvml") {
			t.Errorf("function %d is called %q", fn, fn)
		}
		if fn > 0 && fn.String() <= (fn-1).String() {
			t.Errorf("%s is out of order", fn)
		}
		if fn.FirstDriver() != "" {
			known++
		}
	}
	if known < 400 {
		t.Errorf("only %d functions have a first driver", known)
	}
}

func TestValueMembers(t *testing.T) {
	v := Value_t{Bits: 0xfedcba98_89abcdef}
	if v.Uint64() != 0xfedcba98_89abcdef || v.Int64() != -0x1234567_76543211 ||
		v.Uint32() != 0x89abcdef || v.Int32() != -0x76543211 || v.Uint16() != 0xcdef {
		t.Errorf("members are read as %#x %#x %#x %#x %#x", v.Uint64(), v.Int64(), v.Uint32(), v.Int32(), v.Uint16())
	}
	bits := v.Bits
	if v.Ulong() != Ulong(bits) {
		t.Errorf("unsigned long is read as %#x", v.Ulong())
	}
	if d := (Value_t{Bits: 0x3ff8000000000000}).Double(); d != 1.5 {
		t.Errorf("double is read as %v, want 1.5", d)
	}
}

func TestUnionMembersShareTheirMemory(t *testing.T) {
	var u VgpuSchedulerParams_t
	u.VgpuSchedDataWithARR().AvgFactor = 7
	u.VgpuSchedDataWithARR().Timeslice = 9
	if u != (VgpuSchedulerParams_t{7, 9}) || u.VgpuSchedData().Timeslice != 7 {
		t.Errorf("the union holds %v", u)
	}
}
