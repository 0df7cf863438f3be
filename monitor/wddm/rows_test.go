package wddm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// jsonOf refreshes all GPUs as a one-shot does and returns what --json says of keys of
// each, in their order: of the GPU, and of each of its processes behind its PID.
func (m *machine) jsonOf(t *testing.T, s *Source, keys, ofProcesses string) (rows []string) {
	t.Helper()
	snap := &monitor.Snapshot{Source: "live", Interval: time.Second, Host: monitor.Host{OS: "windows", Arch: "amd64"}}
	for range 2 {
		devices, err := s.Devices()
		if err != nil {
			t.Fatal(err)
		}
		snap.GPUs = make([]monitor.GPU, len(devices))
		for _, d := range devices {
			r := &row{gpu: monitor.GPU{State: monitor.OK}}
			s.Read(d, monitor.Everything, r)
			snap.GPUs[d.Index] = r.gpu
		}
		time.Sleep(between)
	}
	text := report.AppendJSON(nil, snap)
	kept.Keep(text)
	var out struct{ GPUs []map[string]any }
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	told := func(o map[string]any, keys string) string {
		var all []string
		for _, key := range strings.Fields(keys) {
			v := fmt.Sprint(o[key])
			if o[key] == nil {
				v = "null"
				if why := o["unavailable"].(map[string]any)[key]; why != nil {
					v = fmt.Sprint(why)
				}
			}
			if from := o["provenance"].(map[string]any)[key]; from != nil {
				v += fmt.Sprint(" ", from)
			}
			all = append(all, v)
		}
		return strings.Join(all, ", ")
	}
	for _, g := range out.GPUs {
		line := told(g, keys)
		processes, _ := g["processes"].([]any)
		for _, p := range processes {
			o := p.(map[string]any)
			line += fmt.Sprintf("; %v: %s", o["pid"], told(o, ofProcesses))
		}
		rows = append(rows, line)
	}
	return rows
}

func wantJSON(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s:\n%s\nwant\n%s", what, g, w)
	}
}

const (
	gpuKeys     = "sources driver_model adapter_dedicated_used_bytes adapter_shared_used_bytes"
	processKeys = "gpu_memory_bytes gpu_memory_nonlocal_bytes sm_percent"
)

// TestManyGPUs: eight cards of one name, each with the process of the same PID, beside
// the processor's own GPU.
func TestManyGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{
			cards: map[string]monitor.Identity{}, processes: map[string][]monitor.Process{}, unlisted: fine,
			adapters: newMachine().adapters[:1],
		}
		for i := range m.counters {
			m.counters[i].failed = fine
		}
		add := func(counter int, name string, number float64) {
			m.counters[counter].values = append(m.counters[counter].values, value{name, number, valid})
		}
		var want []string
		for i := range 8 {
			key, id := string(rune('a'+i)), luid(0x1000*(8-i)) // in another order than NVML's
			m.cards[key] = identity(fmt.Sprintf("00000000:%02X:00.0", 0x10+i), "NVIDIA RTX 6000 Ada Generation")
			m.model(key, "wddm")
			m.processes[key] = []monitor.Process{process(77)}
			m.adapters = append(m.adapters, adapter{id: id, name: "NVIDIA RTX 6000 Ada Generation", vendor: nvidia, located: true, bus: uint32(0x10 + i)})
			on := fmt.Sprintf("luid_0x00000000_0x%08x_phys_0", uint32(id))
			add(localMemory, "pid_77_"+on, float64(100+i))
			add(nonLocalMemory, "pid_77_"+on, float64(200+i))
			add(engineLoad, "pid_77_"+on+"_eng_0_engtype_Cuda", float64(i))
			add(dedicatedMemory, on, float64(300+i))
			add(sharedMemory, on, float64(400+i))
			want = append(want, fmt.Sprintf("[nvml wddm], wddm, %d, %d; 77: %d, %d, %d estimated", 300+i, 400+i, 100+i, 200+i, i))
		}
		wantJSON(t, "eight cards", m.jsonOf(t, m.source(), gpuKeys, processKeys), want...)
	})
}

// TestSameNameTwice: without a place on the bus nobody can tell which is which, and
// none gets the numbers of the other.
func TestSameNameTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.adapters[1].located, m.adapters[2].located = false, false
		m.processes["a"] = m.processes["a"][:1]
		none := "[nvml], null, null, null; 4242: not_supported, null, not_supported"
		wantJSON(t, "two of one name", m.jsonOf(t, m.source(), gpuKeys, processKeys), none, none)
		m = newMachine()
		m.processes["a"] = m.processes["a"][:1]
		wantJSON(t, "two of one name, with their places", m.jsonOf(t, m.source(), gpuKeys, processKeys),
			"[nvml wddm], null, 3221225472, 1048576; 4242: 4096, 256, 30 estimated",
			"[nvml wddm], null, 4294967296, 2097152; 4242: 1073741824, 1048576, 99 estimated")
	})
}

// TestProcessesComeAndGo: who is in NVML's list alone, and who has gone from the
// counters, is unknown with a reason and not 0; who comes back is told at once.
func TestProcessesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		delete(m.cards, "b")
		s := m.source()
		before := m.counters
		all := func() []string { return m.jsonOf(t, s, "sources", processKeys) }
		full := "[nvml wddm]; 4242: 4096, 256, 30 estimated; 9540: 8192, 0, not_found"
		wantJSON(t, "at first", all(), full)
		for _, i := range []int{localMemory, nonLocalMemory} {
			m.counters[i].values = m.counters[i].values[1:]
		}
		m.counters[engineLoad].values = m.counters[engineLoad].values[3:]
		wantJSON(t, "the game has gone", all(), "[nvml wddm]; 4242: not_found, not_found, not_found; 9540: 8192, 0, not_found")
		m.counters[localMemory] = list{failed: fine} // nobody has an instance
		wantJSON(t, "all have gone", all(), "[nvml wddm]; 4242: not_found, not_found, not_found; 9540: not_found, 0, not_found")
		m.counters = before
		wantJSON(t, "they are back", all(), full)
		m.processes["a"] = []monitor.Process{}
		wantJSON(t, "NVML lists none", all(), "[nvml wddm]")
	})
}

// TestLocalizedSystem: what Windows translates, the names of its own adapters and of the
// total, is nothing that matters here.
func TestLocalizedSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		delete(m.cards, "b")
		m.adapters = append(m.adapters, adapter{id: 0x99, name: "Microsoft Basic Render-Treiber", vendor: 0x1414, device: 0x8C, software: true})
		for i, total := range []string{"_Gesamt", "_合計", "_Total", "Gesamt", "_Итого"} {
			m.counters[i].values = append([]value{{total, 1 << 40, valid}}, m.counters[i].values...)
		}
		wantJSON(t, "in German, Japanese and Russian", m.jsonOf(t, m.source(), gpuKeys, processKeys),
			"[nvml wddm], null, 3221225472, 1048576; 4242: 4096, 256, 30 estimated; 9540: 8192, 0, not_found")
		if m.listed != 1 {
			t.Errorf("%d lists of adapters", m.listed)
		}
	})
}

// TestModels: which driver model leaves what to whom.
func TestModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			model  string
			memory monitor.Reading // of its process, as NVML tells it
			want   string
		}{
			{"tcc", monitor.OfInt(777), "[nvml], tcc, null, null; 4242: 777, null, not_supported"},
			{"mcdm", monitor.OfInt(777), "[nvml], mcdm, null, null; 4242: 777, null, not_supported"},
			{"mcdm", notSupported, "[nvml], mcdm, null, null; 4242: not_supported, null, not_supported"}, // all ones
			{"wddm", notSupported, "[nvml wddm], wddm, 4294967296, 2097152; 4242: 1073741824, 1048576, 99 estimated"},
			{"unknown", notSupported, "[nvml wddm], unknown, 4294967296, 2097152; 4242: 1073741824, 1048576, 99 estimated"},
		} {
			m := newMachine()
			m.model("b", tt.model)
			m.processes["b"][0].GPUMemoryBytes = tt.memory
			wantJSON(t, tt.model, m.jsonOf(t, m.source(), gpuKeys, processKeys)[1:], tt.want)
		}
	})
}

// TestOnlyTCC: where Windows manages no GPU nobody looks at its counters.
func TestOnlyTCC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.model("a", "tcc")
		m.model("b", "mcdm")
		m.jsonOf(t, m.source(), gpuKeys, processKeys)
		if m.asked > 0 || m.listed > 0 {
			t.Errorf("%d looks, %d lists of adapters", m.asked, m.listed)
		}
	})
}

// TestMemoryOfTheGPU: what NVML measures stands, whatever Windows counts; where it has
// none Windows' figure of the dedicated memory does, and never the host's.
func TestMemoryOfTheGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = "memory_total_bytes memory_used_bytes adapter_dedicated_total_bytes adapter_shared_total_bytes"
		broken := monitor.Failed(monitor.DriverError, monitor.NewCallError("nvmlDeviceGetMemoryInfo_v2", "NVML_ERROR_UNKNOWN", 999))
		for _, tt := range []struct {
			name        string
			total, used monitor.Reading // as NVML tells them
			unified     bool
			dedicated   uint64 // of DXGI
			want        string
		}{
			{"NVML measures", monitor.OfInt(24 << 30), monitor.OfInt(5 << 30), false, 23 << 30, "25769803776, 5368709120, 24696061952, 34359738368"},
			{"NVML has neither", notSupported, notSupported, false, 24 << 30, "25769803776, 3221225472, 25769803776, 34359738368"},
			{"NVML has one", monitor.OfInt(24 << 30), notSupported, false, 24 << 30, "25769803776, 3221225472, 25769803776, 34359738368"},
			{"NVML fails for once", broken, broken, false, 24 << 30, "driver_error, driver_error, 25769803776, 34359738368"},
			{"a carve-out", monitor.OfInt(8128 << 20), monitor.OfInt(1 << 30), false, 8128 << 20, "8522825728, 1073741824, 8522825728, 34359738368"},
			{"nothing of its own", notSupported, notSupported, false, 0, "not_supported, not_supported, 0, 34359738368"},
			{"memory of the machine", monitor.OfInt(64 << 30), notSupported, true, 128 << 20, "68719476736, not_supported, 134217728, 34359738368"},
		} {
			m := newMachine()
			delete(m.cards, "b")
			id := m.cards["a"]
			id.MemoryUnified = tt.unified
			m.cards["a"] = id
			m.total, m.used = &tt.total, &tt.used
			m.adapters[1].dedicated = tt.dedicated
			wantJSON(t, tt.name, m.jsonOf(t, m.source(), keys, "pid")[:1], tt.want+"; 4242: 4242; 9540: 9540")
		}
	})
}
