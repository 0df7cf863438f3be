//go:build linux || windows || darwin

package nvml_test

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

// features fills the structure of licensable features with two entries of a
// length, as the driver that has that length would.
func features(entry int) func(h uintptr, p *[860]byte) uintptr {
	return func(h uintptr, p *[860]byte) uintptr {
		word := func(at int, v uint32) { *(*uint32)(unsafe.Pointer(&p[at])) = v }
		word(0, 1)
		word(4, 2)
		for i := range 2 {
			at := 8 + i*entry
			word(at, uint32(i+1))
			word(at+4, 1)
			copy(p[at+8:], fmt.Sprint("license ", i))
			if entry > 136 {
				copy(p[at+136:], fmt.Sprint("product ", i))
			}
			if entry > 264 {
				word(at+264, 1)
			}
			if entry > 268 {
				e := (*gen.GridLicenseExpiry_t)(unsafe.Pointer(&p[at+268]))
				*e = gen.GridLicenseExpiry_t{Year: 2031, Month: 2, Day: uint16(3 + i), Status: gen.NVML_GRID_LICENSE_EXPIRY_VALID}
			}
		}
		return 0
	}
}

func vgpuHost(older map[string]any) map[string]any {
	list := map[string]any{
		"nvmlInit_v2":                   func() uintptr { return 0 },
		"nvmlShutdown":                  func() uintptr { return 0 },
		"nvmlDeviceGetCount_v2":         func(n *uint32) uintptr { *n = 1; return 0 },
		"nvmlDeviceGetHandleByIndex_v2": func(_ uintptr, h *uintptr) uintptr { *h = 1; return 0 },
	}
	for name, f := range older {
		list[name] = f
	}
	return list
}

func openHost(t *testing.T, functions map[string]any) nvml.Device {
	t.Helper()
	lib, err := nvml.Open(nvml.Options{Resolver: standIn(vgpuHost(functions))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	d, err := lib.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLicensableFeatures(t *testing.T) {
	for i, c := range []struct {
		name  string
		entry int
	}{
		{"nvmlDeviceGetGridLicensableFeatures", 136}, {"nvmlDeviceGetGridLicensableFeatures_v2", 264},
		{"nvmlDeviceGetGridLicensableFeatures_v3", 268}, {"nvmlDeviceGetGridLicensableFeatures_v4", 284},
	} {
		d := openHost(t, map[string]any{c.name: features(c.entry)})
		list, err := d.GridLicensableFeatures()
		if err != nil || len(list) != 2 {
			t.Fatalf("%s: %v, %v", c.name, list, err)
		}
		want := nvml.LicensableFeature{Code: 2, State: 1, License: "license 1"}
		if i >= 1 {
			want.Product = "product 1"
		}
		if i >= 2 {
			want.Enabled, want.EnabledKnown = true, true
		}
		if i >= 3 {
			want.Expiry = time.Date(2031, 2, 4, 0, 0, 0, 0, time.UTC)
		}
		if list[1] != want {
			t.Errorf("%s: %+v, want %+v", c.name, list[1], want)
		}
	}
}

func TestVgpus(t *testing.T) {
	text := func(s string) func(id uintptr, b *byte, n uint32) uintptr {
		return func(id uintptr, b *byte, n uint32) uintptr { copy(unsafe.Slice(b, n), s); return 0 }
	}
	d := openHost(t, map[string]any{
		"nvmlDeviceGetVirtualizationMode": func(_ uintptr, m *uint32) uintptr { *m = 3; return 0 },
		"nvmlDeviceGetHostVgpuMode":       func(_ uintptr, m *uint32) uintptr { *m = 1; return 0 },
		"nvmlDeviceGetActiveVgpus": func(_ uintptr, n, ids *uint32) uintptr {
			if *n < 200 {
				*n = 200
				return 7
			}
			*n = 200
			for i := range 200 {
				unsafe.Slice(ids, 200)[i] = uint32(1000 + i)
			}
			return 0
		},
		"nvmlVgpuInstanceGetUUID": text("vgpu-uuid"),
		"nvmlVgpuInstanceGetVmID": func(_ uintptr, b *byte, n uint32, kind *uint32) uintptr {
			copy(unsafe.Slice(b, n), "vm-1")
			*kind = 1
			return 0
		},
		"nvmlVgpuInstanceGetFbUsage":         func(id uintptr, v *uint64) uintptr { *v = uint64(id) << 20; return 0 },
		"nvmlVgpuInstanceGetType":            func(_ uintptr, v *uint32) uintptr { *v = 55; return 0 },
		"nvmlVgpuTypeGetName":                func(_ uintptr, b *byte, n *uint32) uintptr { copy(unsafe.Slice(b, *n), "GRID A100-4C"); return 0 },
		"nvmlVgpuInstanceGetVmDriverVersion": text("580.1"),
		"nvmlVgpuInstanceGetLicenseInfo_v2": func(_ uintptr, l *gen.VgpuLicenseInfo_t) uintptr {
			l.IsLicensed, l.CurrentState = 1, 5
			return 0
		},
		"nvmlDeviceGetVgpuUtilization": func(_ uintptr, last uint64, kind, n *uint32, list *gen.VgpuInstanceUtilizationSample_t) uintptr {
			*kind, *n = 1, 1
			*list = gen.VgpuInstanceUtilizationSample_t{VgpuInstance: 1007, TimeStamp: last + 1, SmUtil: gen.Value_t{Bits: 44}}
			return 0
		},
		"nvmlDeviceGetVgpuProcessUtilization": func(_ uintptr, last uint64, n *uint32, list *gen.VgpuProcessUtilizationSample_t) uintptr {
			*n = 1
			*list = gen.VgpuProcessUtilizationSample_t{VgpuInstance: 1007, Pid: 8, TimeStamp: last + 1, SmUtil: 33}
			copy(list.ProcessName[:], "game.exe")
			return 0
		},
	})
	if m, err := d.VirtualizationMode(); err != nil || m != nvml.VirtualizationHost {
		t.Error(m, err)
	}
	if s, err := d.HostVgpuMode(); err != nil || !s {
		t.Error(s, err)
	}
	list, err := d.ActiveVgpus()
	if err != nil || len(list) != 200 || list[199].ID() != 1199 {
		t.Fatalf("%d, %v", len(list), err)
	}
	v := list[7]
	if s, err := v.UUID(); err != nil || s != "vgpu-uuid" {
		t.Error(s, err)
	}
	if s, uuid, err := v.VmID(); err != nil || s != "vm-1" || !uuid {
		t.Error(s, uuid, err)
	}
	if n, err := v.FbUsage(); err != nil || n != 1007<<20 {
		t.Error(n, err)
	}
	if s, err := v.TypeName(); err != nil || s != "GRID A100-4C" {
		t.Error(s, err)
	}
	if s, err := v.VmDriverVersion(); err != nil || s != "580.1" {
		t.Error(s, err)
	}
	if l, err := v.LicenseInfo(); err != nil || !l.Licensed || l.State != 5 || !l.StateKnown || !l.Expiry.IsZero() {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := v.PlacementId(); !errors.Is(err, nvml.ErrFunctionNotFound) {
		t.Error(err)
	}
	loads, err := d.VgpuUtilization(9)
	if err != nil || len(loads) != 1 || loads[0].Vgpu != v || loads[0].Time != 10 {
		t.Fatalf("%+v, %v", loads, err)
	}
	if x, ok := loads[0].SM.Uint64(); !ok || x != 44 {
		t.Error(x, ok)
	}
	processes, err := d.VgpuProcessUtilization(9)
	if err != nil || len(processes) != 1 || processes[0].Name != "game.exe" || processes[0].SM != 33 || processes[0].PID != 8 {
		t.Errorf("%+v, %v", processes, err)
	}
}

func TestFabricCliques(t *testing.T) {
	d := openHost(t, map[string]any{
		"nvmlDeviceGetGpuFabricInfo_v4": func(_ uintptr, v *gen.GpuFabricInfo_v4_t) uintptr {
			v.State, v.NumCliques = gen.NVML_GPU_FABRIC_STATE_COMPLETED, 2
			v.Cliques[0] = gen.GpuFabricClique_v1_t{Type: 1, Id: 7}
			v.Cliques[1] = gen.GpuFabricClique_v1_t{Type: 2, Id: 8}
			return 0
		},
	})
	f, err := d.GpuFabricInfo()
	if err != nil || f.Version != 4 || f.Clique != 7 || fmt.Sprint(f.Cliques) != "[7 8]" {
		t.Errorf("%+v, %v", f, err)
	}
}
