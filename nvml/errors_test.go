package nvml_test

import (
	"errors"
	"strings"
	"testing"

	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// codes are the return codes that drivers have, and two that they have not.
var codes = func() []nvml.Return {
	list := []nvml.Return{999, 12345, -7}
	for i := range nvml.Return(30) {
		list = append(list, i+1)
	}
	return list
}()

func TestReturnTexts(t *testing.T) {
	texts := map[string]nvml.Return{}
	for _, r := range append(codes, 0) {
		text, name := r.Error(), r.String()
		if other, ok := texts[text]; ok {
			t.Errorf("%d and %d have the same text %q", r, other, text)
		}
		texts[text] = r
		known := r >= 0 && r <= 30 || r == 999
		if r.Known() != known || strings.HasPrefix(name, "NVML_") != known {
			t.Errorf("%d: known %v, name %q", r, r.Known(), name)
		}
		if !known && !strings.Contains(text, name) {
			t.Errorf("%d: the text %q does not show the number", r, text)
		}
	}
	for r, want := range map[nvml.Return]gen.Return_t{
		nvml.ErrNotSupported: gen.NVML_ERROR_NOT_SUPPORTED, nvml.ErrGPUIsLost: gen.NVML_ERROR_GPU_IS_LOST,
		nvml.ErrArgumentVersion: gen.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvml.ErrUnknown: gen.NVML_ERROR_UNKNOWN,
		nvml.ErrResetTypeNotSupported: gen.NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, nvml.ErrInUse: gen.NVML_ERROR_IN_USE,
		nvml.ErrInsufficientResources: gen.NVML_ERROR_INSUFFICIENT_RESOURCES, nvml.ErrNotReady: gen.NVML_ERROR_NOT_READY,
	} {
		if gen.Return_t(r) != want {
			t.Errorf("%v is %d, not %d", r, r, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := error(&nvml.Error{Function: "nvmlDeviceGetPowerUsage", Device: 3, Return: nvml.ErrNotSupported})
	if got, want := err.Error(), "nvmlDeviceGetPowerUsage (GPU 3): not supported by this device (NVML_ERROR_NOT_SUPPORTED)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, nvml.ErrNotSupported) || errors.Is(err, nvml.ErrUnknown) {
		t.Error("errors.Is does not tell the codes apart")
	}
	gap := error(&nvml.DeviceError{Index: 3, Err: err})
	if gap.Error() != err.Error() || !errors.Is(gap, nvml.ErrNotSupported) {
		t.Errorf("gap: %v", gap)
	}
	err = &nvml.Error{Function: "nvmlInit_v2", Device: -1, Return: 12345}
	if got, want := err.Error(), "nvmlInit_v2: unknown NVML return code 12345"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
