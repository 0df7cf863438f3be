//go:build linux || windows || darwin

package nvml_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"
	"time"

	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// emptyOn6 are the methods for which "not found" is the answer "nothing".
var emptyOn6 = map[string]bool{"ProcessUtilization": true, "AppendProcessUtilization": true, "Samples": true, "VgpuUtilization": true, "VgpuProcessUtilization": true}

func TestEveryCodeFromEveryFunction(t *testing.T) {
	answer.Store(0)
	lib, err := nvml.Open(nvml.Options{Resolver: everywhere})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, func() {
		for _, code := range codes {
			answer.Store(int32(code))
			check := func(name string, call func() ([]reflect.Value, error)) {
				_, err := call()
				if code == nvml.ErrNotFound && emptyOn6[name] {
					if err != nil {
						t.Errorf("%s after %d: %v", name, code, err)
					}
					return
				}
				var e *nvml.Error
				if !errors.Is(err, code) || !errors.As(err, &e) {
					t.Errorf("%s after %d: %v", name, code, err)
					return
				}
				if len(e.Function) < 5 || e.Function[:4] != "nvml" {
					t.Errorf("%s after %d: no function is named: %v", name, code, err)
				}
			}
			eachMethod(d, d, check)
			eachMethod(lib, d, func(name string, call func() ([]reflect.Value, error)) {
				switch name {
				case "DeviceCount", "Device", "ErrorString": // which everywhere answers
				default:
					check(name, call)
				}
			})
			for _, err := range d.MIGDevices() {
				if code == nvml.ErrNotSupported || !errors.Is(err, code) {
					t.Errorf("MIGDevices after %d: %v", code, err)
				}
			}
		}
	})
}

// TestSuccessThatFillsNothing asks all methods of a library whose functions
// succeed and do nothing.
func TestSuccessThatFillsNothing(t *testing.T) {
	answer.Store(0)
	lib, err := nvml.Open(nvml.Options{Resolver: everywhere})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, func() {
		for _, v := range []any{d, lib} {
			eachMethod(v, d, func(name string, call func() ([]reflect.Value, error)) {
				out, err := call()
				switch name {
				case "ComputeRunningProcesses", "GraphicsRunningProcesses", "MPSComputeRunningProcesses", "AppendRunningProcesses":
					// As many as there was room for, and not one was written.
					if !errors.Is(err, nvml.ErrImplausible) || out[0].Len() != 0 {
						t.Errorf("%s: %v, %v", name, out[0], err)
					}
				case "DeviceByUUID", "DeviceByPCIBusID", "DeviceBySerial", "MIGDevice", "MIGParent", "GpuInstanceById", "NewGPM":
					if err == nil {
						t.Errorf("%s: no error, and no handle", name)
					}
				}
			})
		}
		list := []nvml.FieldValue{{ID: nvml.FieldMemoryTemp}}
		if err := d.FieldValues(list); err != nil || list[0].Return != nvml.ErrNoData {
			t.Errorf("field: %v, %v", err, list[0])
		}
		for _, err := range d.MIGDevices() {
			t.Error(err)
		}
	})
}

// TestNilAndZeroValues calls each method of what no call of this package gave:
// it panics nowhere, and wherever there is an error it is the same.
func TestNilAndZeroValues(t *testing.T) {
	var d nvml.Device
	if d.Valid() || d.Index() != -1 || d.Handle() != 0 || d.Library() != nil {
		t.Error("the zero Device claims to be one")
	}
	uninitialized := func(of string, err error) {
		t.Helper()
		if !errors.Is(err, nvml.ErrUninitialized) {
			t.Errorf("%s: %v", of, err)
		}
	}
	for _, v := range []any{
		d, (*nvml.Library)(nil), new(nvml.Library), (*nvml.GPM)(nil), new(nvml.GPM), (*nvml.EventSet)(nil), new(nvml.EventSet),
		nvml.GpuInstance{}, nvml.ComputeInstance{}, nvml.Vgpu{},
	} {
		value := reflect.ValueOf(v)
		for i := range value.NumMethod() {
			of, m := fmt.Sprintf("%T.%s", v, value.Type().Method(i).Name), value.Method(i)
			args := make([]reflect.Value, m.Type().NumIn())
			for i := range args {
				switch m.Type().In(i) {
				case fieldsType:
					args[i] = reflect.ValueOf([]nvml.FieldValue{{ID: nvml.FieldPowerInstant}})
				case reflect.TypeFor[context.Context]():
					args[i] = reflect.ValueOf(t.Context())
				default:
					args[i] = reflect.Zero(m.Type().In(i))
				}
			}
			for _, out := range m.Call(args) {
				if out.Type() == errorType {
					err, _ := out.Interface().(error)
					uninitialized(of, err)
				}
				if list, ok := out.Interface().(iter.Seq2[nvml.Device, error]); ok {
					n := 0
					for _, err := range list {
						n++
						uninitialized(of, err)
					}
					if n != 1 {
						t.Errorf("%s: %d answers", of, n)
					}
				}
			}
		}
	}
	for _, l := range []*nvml.Library{nil, {}} {
		if l.Path() != "" || l.Has(gen.FnInit_v2) || l.Raw().Has(gen.FnInit_v2) {
			t.Errorf("%v claims to be open", l)
		}
	}
}

// TestEmptyLibrary asks all methods of a library that has hardly any function.
func TestEmptyLibrary(t *testing.T) {
	lib, err := nvml.Open(nvml.Options{Resolver: func(name string) uintptr {
		switch name {
		case "nvmlInit", "nvmlShutdown":
			return success
		case "nvmlDeviceGetCount":
			return one
		case "nvmlDeviceGetHandleByIndex":
			return handle
		}
		return 0
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	n := 0
	for d, err := range lib.Devices() {
		n++
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{d, lib} {
			eachMethod(v, d, func(name string, call func() ([]reflect.Value, error)) {
				if name == "DeviceCount" || name == "Device" {
					return
				}
				if _, err := call(); !errors.Is(err, nvml.ErrFunctionNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		for m, err := range d.MIGDevices() {
			t.Error(m, err)
		}
	}
	if n != 1 {
		t.Errorf("%d devices", n)
	}
	if !lib.Has(gen.FnInit) || lib.Has(gen.FnInit_v2) {
		t.Error("Has does not tell")
	}
}
