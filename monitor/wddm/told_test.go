package wddm

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/monitor"
)

// tell reads all GPUs twice, as a one-shot does, and returns what the doctor hears last.
func (m *machine) tell(t *testing.T) (last *Told) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := m.source()
		s.Tell(func(told *Told) { last = told })
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m.refresh(t, s)
			time.Sleep(between)
		}
	})
	return last
}

// failAll has all counters fail in one way.
func (m *machine) failAll(why monitor.Reading) {
	for i := range m.counters {
		m.counters[i] = list{failed: why}
	}
}

const (
	fiveCounters = `counter: GPU Process Memory, Local Usage:  4  instances
counter: GPU Process Memory, Non Local Usage:  3  instances
counter: GPU Engine, Utilization Percentage:  4  instances
counter: GPU Adapter Memory, Dedicated Usage:  2  instances
counter: GPU Adapter Memory, Shared Usage:  2  instances
`
	threeAdapters = `adapter: Intel(R) UHD Graphics 770  8086:0000  LUID 0x00000000_0x00000077  bus 00:02  dedicated - of 0 MiB  shared - of 0 MiB
adapter: NVIDIA GeForce RTX 4090  10DE:2684  LUID 0x00000000_0x0000D3F5  bus 01:00  dedicated 3072 of 24576 MiB  shared 1 of 32768 MiB
adapter: NVIDIA GeForce RTX 4090  10DE:2684  LUID 0x00000000_0x00011372  bus 41:00  dedicated 4096 of 24576 MiB  shared 2 of 32768 MiB
`
	noPlace = `adapter: NVIDIA GeForce RTX 4090  10DE:2684  LUID 0x00000000_0x0000D3F5  no place on the bus  dedicated 3072 of 24576 MiB  shared 1 of 32768 MiB
`
)

// TestTold: what stands on the doctor's page.
func TestTold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*machine)
		want   string
	}{
		{"by the bus", func(m *machine) { m.model("a", "wddm"); m.model("b", "wddm") }, fiveCounters + threeAdapters +
			"GPU 0: wddm  adapter 0x00000000_0x0000D3F5, by its bus\nGPU 1: wddm  adapter 0x00000000_0x00011372, by its bus\n"},
		{"TCC beside WDDM", func(m *machine) { m.model("a", "wddm"); m.model("b", "tcc") }, fiveCounters + threeAdapters +
			"GPU 0: wddm  adapter 0x00000000_0x0000D3F5, by its bus\nGPU 1: tcc  no adapter: Windows does not manage its memory: NVML alone tells of it\n"},
		{"by the name", func(m *machine) {
			m.adapters = m.adapters[1:2]
			m.adapters[0].located = false
			m.cards["b"] = identity("00000000:41:00.0", "NVIDIA RTX A2000")
		}, fiveCounters + noPlace +
			"GPU 0: driver model unknown  adapter 0x00000000_0x0000D3F5, by its name\nGPU 1: driver model unknown  no adapter: no adapter of NVIDIA is at its place on the bus, 41:00\n"},
		{"equal names and no place", func(m *machine) {
			m.adapters = m.adapters[1:2]
			m.adapters[0].located = false
		}, fiveCounters + noPlace +
			"GPU 0: driver model unknown  no adapter: its name is not its alone, and Windows tells no place on the bus\n" +
			"GPU 1: driver model unknown  no adapter: its name is not its alone, and Windows tells no place on the bus\n"},
		{"one place in two domains", func(m *machine) {
			m.adapters = nil
			m.adapters = append(m.adapters, newMachine().adapters[1])
			m.cards["b"] = identity("00000001:01:00.0", "NVIDIA RTX A2000")
		}, fiveCounters + strings.Split(threeAdapters, "\n")[1] + "\n" +
			"GPU 0: driver model unknown  no adapter: the place 01:00 on the bus is not its alone\n" +
			"GPU 1: driver model unknown  no adapter: the place 01:00 on the bus is not its alone\n"},
		{"NVML tells nothing", func(m *machine) {
			m.adapters = m.adapters[:0]
			m.cards["a"], m.cards["b"] = monitor.Identity{}, monitor.Identity{Name: monitor.OfText("NVIDIA T4")}
		}, fiveCounters +
			"GPU 0: driver model unknown  no adapter: NVML has not told what it is\n" +
			"GPU 1: driver model unknown  no adapter: NVML tells no place on the bus, and no adapter without one has its name\n"},
		{"as under Wine", func(m *machine) {
			m.failAll(noCounter.failed("PdhAddEnglishCounterW"))
			m.adapters, m.unlisted = nil, dxgiNoSupport.failed("CreateDXGIFactory1")
			delete(m.cards, "b")
		}, "counters: none: PdhAddEnglishCounterW answered PDH_CSTATUS_NO_COUNTER (0xC0000BB9); under WDDM what processes use stays unknown\n" +
			"adapters: none: CreateDXGIFactory1 answered DXGI_ERROR_UNSUPPORTED (0x887A0004)\n" +
			"GPU 0: driver model unknown  no adapter: Windows lists no adapters\n"},
		{"counters that fail, each in its way", func(m *machine) {
			m.adapters = m.adapters[:0]
			clear(m.cards)
			for i, s := range []status{noObject, pdhDenied, noValidData, 0xC0000BBC, negativeValue} {
				m.counters[i] = list{failed: s.failed("PdhGetFormattedCounterArrayW")}
			}
		}, `counter: GPU Process Memory, Local Usage:  PdhGetFormattedCounterArrayW answered PDH_CSTATUS_NO_OBJECT (0xC0000BB8)
counter: GPU Process Memory, Non Local Usage:  PdhGetFormattedCounterArrayW answered PDH_ACCESS_DENIED (0xC0000BDB)
counter: GPU Engine, Utilization Percentage:  no value yet: it takes two looks
counter: GPU Adapter Memory, Dedicated Usage:  PdhGetFormattedCounterArrayW answered 0xC0000BBC
counter: GPU Adapter Memory, Shared Usage:  PdhGetFormattedCounterArrayW answered PDH_CALC_NEGATIVE_VALUE (0x800007D8)
`},
	} {
		m := newMachine()
		tt.change(m)
		m.still = true
		told := m.tell(t)
		if got := strings.Join(told.Lines(), "\n") + "\n"; got != tt.want {
			t.Errorf("%s:\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestToldOfSilence: Windows does not answer, and NVML is read all the same.
func TestToldOfSilence(t *testing.T) {
	for hangs, want := range map[string]string{
		"PdhOpenQueryW": "counters: none: PdhOpenQueryW has not returned; under WDDM what processes use stays unknown\n" +
			"adapters: none: PdhOpenQueryW has not returned\n",
		"PdhAddEnglishCounterW": "counters: none: PdhAddEnglishCounterW has not returned; under WDDM what processes use stays unknown\n" +
			"adapters: none: PdhAddEnglishCounterW has not returned\n",
		"CreateDXGIFactory1": fiveCounters + "adapters: none: CreateDXGIFactory1 has not returned\n", // the counters were answered
	} {
		t.Run(hangs, func(t *testing.T) { toldOfSilence(t, hangs, want) })
	}
}

func toldOfSilence(t *testing.T, hangs, want string) {
	m := newMachine()
	m.still = true
	var told *Told
	synctest.Test(t, func(t *testing.T) {
		m.hang, m.hangs = make(chan struct{}), hangs
		s := m.source()
		s.Tell(func(t *Told) { told = t })
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		m.refresh(t, s)
		close(m.hang)
	})
	if got := strings.Join(told.Lines(), "\n"); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestToldJSON: lists that are empty are not null, and what is unknown has its reason.
func TestToldJSON(t *testing.T) {
	m := newMachine()
	m.still = true
	m.model("a", "wddm")
	m.model("b", "mcdm")
	m.adapters = m.adapters[1:2]
	m.counters[sharedMemory] = list{failed: pdhDenied.failed("PdhCollectQueryData")}
	b, err := json.Marshal(m.tell(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"counters":[` +
		`{"object":"GPU Process Memory","counter":"Local Usage","instances":4,"reason":null,"failed":null},` +
		`{"object":"GPU Process Memory","counter":"Non Local Usage","instances":3,"reason":null,"failed":null},` +
		`{"object":"GPU Engine","counter":"Utilization Percentage","instances":4,"reason":null,"failed":null},` +
		`{"object":"GPU Adapter Memory","counter":"Dedicated Usage","instances":2,"reason":null,"failed":null},` +
		`{"object":"GPU Adapter Memory","counter":"Shared Usage","instances":null,"reason":"no_permission","failed":{"function":"PdhCollectQueryData","name":"PDH_ACCESS_DENIED","code":"0xC0000BDB"}}],` +
		`"adapters":[{"name":"NVIDIA GeForce RTX 4090","vendor":"10DE:2684","luid":"0x00000000_0x0000D3F5","bus":"01:00","software":false,` +
		`"dedicated_total_bytes":25769803776,"dedicated_used_bytes":3221225472,"shared_total_bytes":34359738368,"shared_used_bytes":null}],` +
		`"adapters_failed":null,` +
		`"gpus":[{"index":0,"driver_model":"wddm","luid":"0x00000000_0x0000D3F5","by":"bus","why":null},` +
		`{"index":1,"driver_model":"mcdm","luid":null,"by":null,"why":"Windows does not manage its memory: NVML alone tells of it"}]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}
