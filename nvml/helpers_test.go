package nvml_test

import (
	"reflect"
	"testing"
	"time"

	"nvtop-lite/nvml"
)

// within fails the test if f does not come back.
func within(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatal("no answer")
	}
}

var (
	errorType  = reflect.TypeFor[error]()
	deviceType = reflect.TypeFor[nvml.Device]()
	fieldsType = reflect.TypeFor[[]nvml.FieldValue]()
)

// eachMethod calls f with the name of each method of v that returns an error,
// and a function that calls it: with other for a device, a field for a list of
// fields, 0 for all else.
func eachMethod(v any, other nvml.Device, f func(name string, call func() ([]reflect.Value, error))) {
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		name, m := value.Type().Method(i).Name, value.Method(i)
		t := m.Type()
		if t.NumOut() == 0 || t.Out(t.NumOut()-1) != errorType || name == "Close" {
			continue
		}
		args := make([]reflect.Value, t.NumIn())
		for i := range args {
			switch t.In(i) {
			case deviceType:
				args[i] = reflect.ValueOf(other)
			case fieldsType:
				args[i] = reflect.ValueOf([]nvml.FieldValue{{ID: nvml.FieldPowerInstant}})
			default:
				args[i] = reflect.Zero(t.In(i))
			}
		}
		f(name, func() ([]reflect.Value, error) {
			out := m.Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			return out[:len(out)-1], err
		})
	}
}
