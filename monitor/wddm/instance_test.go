package wddm

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const card = luid(0xD3F5)
	for name, want := range map[string]instance{
		"pid_4242_luid_0x00000000_0x0000D3F5_phys_0":                               {pid: 4242, adapter: card},
		"pid_9540_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D":              {pid: 9540, adapter: card, number: 3, engine: "3d"},
		"pid_12388_luid_0x00000000_0x000158d5_phys_0_eng_0_engtype_3d":             {pid: 12388, adapter: 0x158d5, engine: "3d"},
		"PID_1_LUID_0X00000000_0X0000D3F5_PHYS_2_ENG_10_ENGTYPE_VideoDecode":       {pid: 1, adapter: card, phys: 2, number: 10, engine: "videodecode"},
		"pid_1388_luid_0x00000000_0x00011372_phys_0_eng_8_engtype_Compute_1":       {pid: 1388, adapter: 0x11372, number: 8, engine: "compute_1"},
		"pid_1388_luid_0x00000000_0x00011372_phys_0_eng_8_engtype_Compute 0":       {pid: 1388, adapter: 0x11372, number: 8, engine: "compute 0"},
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_1_engtype_High Priority 3D":   {pid: 7, adapter: card, number: 1, engine: "high priority 3d"},
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_1_engtype_Video Codec Engine": {pid: 7, adapter: card, number: 1, engine: "video codec engine"},
		"pid_7_luid_0x0_0xD3F5_phys_0":                                             {pid: 7, adapter: card},
		"pid_7_luid_0x0000000000000000_0x000000000000D3F5_phys_0":                  {pid: 7, adapter: card},
		"pid_7_luid_0xFFFFFFFF_0x0000D3F5_phys_0":                                  {pid: 7, adapter: -1<<32 + card},
		"pid_7_luid_0x00000001_0xFFFFFFFF_phys_0":                                  {pid: 7, adapter: 1<<32 + 0xFFFFFFFF},
		"pid_4294967295_luid_0x00000000_0x0000D3F5_phys_0":                         {pid: 4294967295, adapter: card},
		"pid_4242_luid_0x00000000_0x0000D3F5_phys_0#1":                             {pid: 4242, adapter: card, again: true},
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D#12":              {pid: 7, adapter: card, number: 3, engine: "3d", again: true},
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_C#":                 {pid: 7, adapter: card, number: 3, engine: "c#"},
	} {
		if in, ok := parse(name); !ok || in != want {
			t.Errorf("%q is %+v, %v, want %+v", name, in, ok, want)
		}
	}
	for _, name := range []string{
		"",
		"_Total",
		"pid_0_luid_0x00000000_0x0000D3F5_phys_0", // no process
		"pid__luid_0x00000000_0x0000D3F5_phys_0",
		"pid_-1_luid_0x00000000_0x0000D3F5_phys_0",
		"pid_4294967296_luid_0x00000000_0x0000D3F5_phys_0",
		"pid_0x10_luid_0x00000000_0x0000D3F5_phys_0",
		"luid_0x00000000_0x0000D3F5_phys_0",        // of the adapter
		"luid_0x00000000_0x0000D3F5_phys_0_part_0", // of a part of its memory
		"luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_part_0",
		"pid_7_luid_0x00000000_0x0000D3F5",
		"pid_7_luid_0x00000000_phys_0",
		"pid_7_luid_00000000_0000D3F5_phys_0",
		"pid_7_luid_0x100000000_0x0000D3F5_phys_0",
		"pid_7_luid_0x00000000_0x0000D3G5_phys_0",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_",
		"pid_7_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_#1",
		"pid_7_luid_0x00000000_0x0000D3F5_eng_3_phys_0_engtype_3D",
		" pid_7_luid_0x00000000_0x0000D3F5_phys_0",
	} {
		if in, ok := parse(name); ok {
			t.Errorf("%q is %+v", name, in)
		}
	}
}

func TestParseAdapter(t *testing.T) {
	for name, want := range map[string]instance{
		"luid_0x00000000_0x0000D3F5_phys_0":   {adapter: 0xD3F5},
		"LUID_0xffffffff_0x0000d3f5_PHYS_3":   {adapter: -1<<32 + 0xD3F5, phys: 3},
		"luid_0x00000000_0x0000D3F5_phys_0#1": {adapter: 0xD3F5, again: true},
	} {
		if in, ok := parseAdapter(name); !ok || in != want {
			t.Errorf("%q is %+v, %v, want %+v", name, in, ok, want)
		}
	}
	for _, name := range []string{
		"", "_Total", "luid_0x00000000_0x0000D3F5",
		"luid_0x00000000_0x0000D3F5_phys_0_part_0", // of a part of it
		"luid_0x00000000_0x0000D3F5_phys_0_",
		"pid_4242_luid_0x00000000_0x0000D3F5_phys_0",
		"pid_4242_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D",
	} {
		if in, ok := parseAdapter(name); ok {
			t.Errorf("%q is %+v", name, in)
		}
	}
}

// FuzzParse looks for names that are taken for something else than they say.
func FuzzParse(f *testing.F) {
	f.Add("pid_9540_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D")
	f.Add("pid_4242_luid_0xFFFFFFFF_0x0000D3F5_phys_0#1")
	f.Add("luid_0x00000000_0x0000D3F5_phys_0_part_0")
	f.Add("pid_1_luid_0x00000000_0x00011372_phys_0_eng_8_engtype_\xff_1")
	f.Fuzz(func(t *testing.T, name string) {
		in, ok := parse(name)
		whole, adapter := parseAdapter(name)
		if adapter && (ok || whole.pid != 0 || !strings.HasPrefix(strings.ToLower(name), "luid_")) {
			t.Errorf("%q is an adapter: %+v, %+v", name, whole, in)
		}
		if !ok {
			return
		}
		again := fmt.Sprintf("pid_%d_luid_0x%08X_0x%08X_phys_%d", in.pid, uint32(in.adapter>>32), uint32(in.adapter), in.phys)
		if in.engine != "" {
			again += fmt.Sprintf("_eng_%d_engtype_%s", in.number, in.engine)
		}
		if in.again {
			again += "#1"
		}
		if back, ok := parse(again); !ok || back != in || in.pid == 0 {
			t.Errorf("%q is %+v, and %q is %+v", name, in, again, back)
		}
		if !strings.HasPrefix(strings.ToLower(name), "pid_") {
			t.Errorf("%q is %+v", name, in)
		}
	})
}
