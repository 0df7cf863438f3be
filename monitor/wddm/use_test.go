package wddm

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"nvtop-lite/monitor"
)

// show is a reading as it is compared: its value and its provenance, or the reason.
func show(r monitor.Reading) string {
	v, ok := r.Float()
	if !ok {
		return r.Reason.String()
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if r.Provenance != monitor.Measured {
		s += " " + r.Provenance.String()
	}
	return s
}

const (
	big   = luid(0xD3F5)  // the first GPU
	small = luid(0x11372) // the second
	on    = "_luid_0x00000000_0x0000D3F5_phys_0"
	other = "_luid_0x00000000_0x00011372_phys_0"

	onAdapter, otherAdapter = "luid_0x00000000_0x0000D3F5_phys_0", "luid_0x00000000_0x00011372_phys_0"
)

func TestMemoryUse(t *testing.T) {
	got := map[user]string{}
	for of, r := range memoryUse(localMemory, []value{
		{"pid_4242" + on, 1 << 30, valid},
		{"pid_4242" + other, 4096, newData}, // the same process on another GPU
		{"pid_5" + on, 0, valid},
		{"pid_6" + on, 8192, valid},
		{"pid_6_luid_0x00000000_0x0000D3F5_phys_1", 4096, valid}, // two cards that are one adapter
		{"pid_7" + on, 4096, valid},
		{"pid_7" + on + "#1", 4096, valid},
		{"pid_8" + on, 4096, valid},
		{"pid_8_luid_0x00000000_0x0000D3F5_phys_1", 0, invalidData}, // a part is missing
		{"pid_9" + on, 0, invalidData},
		{"pid_10" + on, -1, valid},
		{"pid_11" + on, math.NaN(), valid},
		{"pid_12" + on, 1e300, valid},
		{"pid_13" + on, 0, negativeValue},
		{"pid_14" + on, 0, 0xC0000BBC},
		{"pid_16" + on, 0, noInstance},
		{"pid_0" + on, 4096, valid},
		{"luid_0x00000000_0x0000D3F5_phys_0", 4096, valid},
		{"pid_15" + on + "_eng_0_engtype_3D", 50, valid},
	}) {
		got[of] = show(r)
	}
	want := map[user]string{
		{big, 4242}: "1073741824", {small, 4242}: "4096", {big, 5}: "0", {big, 6}: "12288", {big, 7}: "8192 inferred",
		{big, 8}: "not_sampled", {big, 9}: "not_sampled", {big, 10}: "implausible", {big, 11}: "implausible",
		{big, 12}: "implausible", {big, 13}: "implausible", {big, 14}: "driver_error", {big, 16}: "not_found",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAdapterUse: cards that are one adapter are added up; processes and parts are not.
func TestAdapterUse(t *testing.T) {
	got := map[luid]string{}
	for of, r := range adapterUse(sharedMemory, []value{
		{onAdapter, 4096, valid},
		{"luid_0x00000000_0x0000D3F5_phys_1", 8192, newData},
		{otherAdapter, 0, valid},
		{"luid_0x00000000_0x00000001_phys_0", -1, valid},
		{"luid_0x00000000_0x00000002_phys_0", 0, invalidData},
		{onAdapter + "_part_0", 1 << 40, valid},
		{"pid_4242" + on, 1 << 40, valid},
	}) {
		got[of] = show(r)
	}
	if want := map[luid]string{big: "12288", small: "0", 1: "implausible", 2: "not_sampled"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCounterNames: Windows knows the English names whatever its language.
func TestCounterNames(t *testing.T) {
	want := []string{
		`\GPU Process Memory(*)\Local Usage`, `\GPU Process Memory(*)\Non Local Usage`, `\GPU Engine(*)\Utilization Percentage`,
		`\GPU Adapter Memory(*)\Dedicated Usage`, `\GPU Adapter Memory(*)\Shared Usage`,
	}
	for i := range numCounters {
		if path(i) != want[i] {
			t.Errorf("%s, want %s", path(i), want[i])
		}
	}
}

func TestEngineUse(t *testing.T) {
	engine := func(pid, of, number, kind string, percent float64, s status) value {
		return value{"pid_" + pid + of + "_eng_" + number + "_engtype_" + kind, percent, s}
	}
	got := map[user]string{}
	for of, u := range engineUse([]value{
		// A game: the largest of its engines is its load, not their sum.
		engine("10", on, "0", "3D", 61.24, valid),
		engine("10", on, "1", "Copy", 12, valid),
		engine("10", on, "5", "VideoEncode", 7.5, newData),
		engine("10", on, "6", "VideoEncode", 3, valid),
		engine("10", on, "7", "VideoDecode", 0, valid),
		// The same engine twice is one engine.
		engine("11", on, "8", "Compute_0", 40, valid),
		engine("11", on, "8", "Compute_0#1", 35, valid),
		engine("11", on, "9", "Compute_1", 60, valid),
		// More than all of the time is all of it; many times that is nonsense.
		engine("12", on, "0", "3D", 103.7, valid),
		engine("13", on, "0", "3D", 1e7, valid),
		// Two GPUs.
		engine("14", on, "0", "Cuda", 99, valid),
		engine("14", other, "0", "Cuda", 1, valid),
		// It began just now.
		engine("15", on, "0", "3D", 0, invalidData),
		engine("15", on, "7", "VideoDecode", 0, invalidData),
		// One of its engines is new.
		engine("16", on, "0", "3D", 5, valid),
		engine("16", on, "1", "Copy", 0, invalidData),
		// Nothing that a process uses.
		engine("0", on, "0", "3D", 50, valid),
		{"pid_17" + on, 4096, valid},
		{"pid_18" + on + "_eng_0", 50, valid},
	}) {
		got[of] = show(u.load) + ", " + show(u.encoder) + ", " + show(u.decoder)
	}
	want := map[user]string{
		{big, 10}:   "61.2 estimated, 7.5, 0",
		{big, 11}:   "75 estimated, not_supported, not_supported",
		{big, 12}:   "100 estimated, not_supported, not_supported",
		{big, 13}:   "implausible, not_supported, not_supported",
		{big, 14}:   "99 estimated, not_supported, not_supported",
		{small, 14}: "1 estimated, not_supported, not_supported",
		{big, 15}:   "not_sampled, not_supported, not_sampled",
		{big, 16}:   "5 estimated, not_supported, not_supported",
	}
	for of, u := range want {
		if got[of] != u {
			t.Errorf("%v: %s, want %s", of, got[of], u)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

// FuzzUse looks for numbers that nobody can have, and for unknown ones without a reason.
func FuzzUse(f *testing.F) {
	f.Add("pid_1"+on, 4096.0, uint32(valid), "pid_1"+on+"#1", 1e18)
	f.Add("pid_1"+on+"_eng_0_engtype_3D", 99.9, uint32(valid), "pid_1"+on+"_eng_0_engtype_3D#1", 99.9)
	f.Add("pid_1"+on+"_eng_0_engtype_VideoEncode", -0.5, uint32(newData), "pid_1"+on+"_eng_1_engtype_VideoDecode", math.Inf(1))
	f.Fuzz(func(t *testing.T, name string, number float64, s uint32, second string, another float64) {
		list := []value{{name, number, status(s)}, {second, another, valid}}
		check := func(r monitor.Reading, in monitor.Range) {
			v, ok := r.Float()
			if ok && (math.IsNaN(v) || v < in.Low || v > in.High) {
				t.Errorf("%v: %v", list, v)
			}
			if !ok && r.Reason == monitor.Known {
				t.Errorf("%v: %+v", list, r)
			}
		}
		for _, r := range memoryUse(nonLocalMemory, list) {
			check(r, monitor.MemoryRange)
		}
		for _, u := range engineUse(list) {
			for _, r := range []monitor.Reading{u.load, u.encoder, u.decoder} {
				check(r, monitor.ShareRange)
			}
		}
	})
}

// TestStatus: what takes a second look is no failure; what failed names the call.
func TestStatus(t *testing.T) {
	for s, want := range map[status]string{
		noData: "not_sampled", invalidData: "not_sampled", noValidData: "not_sampled",
		noObject: "not_supported PDH_CSTATUS_NO_OBJECT", noCounter: "not_supported PDH_CSTATUS_NO_COUNTER",
		pdhDenied: "no_permission PDH_ACCESS_DENIED", negativeValue: "implausible PDH_CALC_NEGATIVE_VALUE",
		dxgiNoSupport: "not_supported DXGI_ERROR_UNSUPPORTED", noFunction: "not_supported ERROR_PROC_NOT_FOUND",
		0xC0000BBC: "driver_error 0xC0000BBC", 5: "driver_error 0x5",
	} {
		r := s.failed("PdhCollectQueryData")
		got := r.Reason.String()
		if name := r.Err.Name(); name != "" {
			got += " " + name
			if r.Err.Function() != "PdhCollectQueryData" || status(r.Err.Code()) != s {
				t.Errorf("%#x: %s %d", s, r.Err.Function(), r.Err.Code())
			}
		}
		if got != want || s.good() {
			t.Errorf("%#x is %q, want %q", s, got, want)
		}
	}
	for _, s := range []status{valid, newData, noInstance} {
		if !s.good() {
			t.Errorf("%#x is an error", s)
		}
	}
}

// joined is a link as it is compared.
type joined struct {
	id   luid
	from monitor.Provenance
}

func joins(adapters []adapter, cards map[string]card) map[string]joined {
	all := map[string]joined{}
	for key, l := range join(adapters, cards) {
		all[key] = joined{l.id, l.from}
	}
	return all
}

func TestJoin(t *testing.T) {
	geforce, quadro := "NVIDIA GeForce RTX 4090", "NVIDIA RTX A2000"
	placed := func(id luid, name string, bus, slot uint32) adapter {
		return adapter{id: id, name: name, vendor: nvidia, located: true, bus: bus, slot: slot}
	}
	lost := func(id luid, name string) adapter { return adapter{id: id, name: name, vendor: nvidia} }
	gpu := func(bus, name string) card { return card{bus: monitor.OfText(bus), name: monitor.OfText(name)} }
	basic := adapter{id: 9, name: "Microsoft Basic Render Driver", vendor: 0x1414, software: true}
	intel := adapter{id: 8, name: "Intel(R) UHD Graphics 770", vendor: 0x8086, located: true, slot: 2}
	tests := []struct {
		name     string
		adapters []adapter
		cards    map[string]card
		want     map[string]joined
	}{
		{
			"a laptop", []adapter{intel, placed(2, geforce, 1, 0), basic},
			map[string]card{"a": gpu("00000000:01:00.0", geforce)},
			map[string]joined{"a": {2, monitor.Measured}},
		},
		{
			"two equal cards", []adapter{placed(3, geforce, 0x41, 0), placed(2, geforce, 1, 0)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000000:41:00.0", geforce)},
			map[string]joined{"a": {2, monitor.Measured}, "b": {3, monitor.Measured}},
		},
		{
			"an MCDM GPU is none of DXGI's", []adapter{placed(2, geforce, 1, 0)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000000:02:00.0", geforce)},
			map[string]joined{"a": {2, monitor.Measured}},
		},
		{
			"different cards without a place", []adapter{lost(2, geforce), lost(3, quadro), basic},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000000:02:00.0", quadro)},
			map[string]joined{"a": {2, monitor.Inferred}, "b": {3, monitor.Inferred}},
		},
		{
			"equal cards without a place", []adapter{lost(2, geforce), lost(3, geforce)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000000:02:00.0", geforce)},
			nil,
		},
		{
			"two equal cards, of which one is an adapter", []adapter{lost(2, geforce)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000000:02:00.0", geforce)},
			nil,
		},
		{
			"one of two equal adapters has no place", []adapter{placed(2, geforce, 5, 0), lost(3, geforce)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce)},
			nil,
		},
		{
			"the adapter of that name is elsewhere", []adapter{placed(2, geforce, 5, 0)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce)},
			nil,
		},
		{
			"the same bus in two domains", []adapter{placed(2, geforce, 1, 0)},
			map[string]card{"a": gpu("00000000:01:00.0", geforce), "b": gpu("00000001:01:00.0", geforce)},
			nil,
		},
		{
			"a software adapter, and one of another maker, in its place",
			[]adapter{{id: 2, vendor: nvidia, software: true, located: true, bus: 1}, {id: 3, vendor: 0x1002, located: true, bus: 1}},
			map[string]card{"a": gpu("00000000:01:00.0", geforce)},
			nil,
		},
		{
			"a card of which nothing is known", []adapter{lost(2, ""), placed(3, "", 0, 0)},
			map[string]card{"a": {}},
			nil,
		},
	}
	for _, tt := range tests {
		if got := joins(tt.adapters, tt.cards); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		slices.Reverse(tt.adapters)
		if got := joins(tt.adapters, tt.cards); !maps.Equal(got, tt.want) {
			t.Errorf("%s, the other way round: %v, want %v", tt.name, got, tt.want)
		}
	}
}
