package doctor

import (
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/wddm"
)

// TestWindows: what Windows tells comes from the driver process onto the page and into
// the JSON, the last word of it, and with the model of each driver.
func TestWindows(t *testing.T) {
	n, used, index, bus, id, model, by := 4, int64(3<<30), 0, "01:00", "0x00000000_0x0000D3F5", "wddm", "bus"
	why, name, code, reason := "Windows does not manage its memory: NVML alone tells of it", "PDH_CSTATUS_NO_COUNTER", "0xC0000BB9", "not_supported"
	told := &wddm.Told{
		Counters: []wddm.Counter{
			{Object: "GPU Process Memory", Counter: "Local Usage", Instances: &n},
			{Object: "GPU Engine", Counter: "Utilization Percentage", Reason: &reason, Failed: &wddm.Answer{Function: "PdhAddEnglishCounterW", Name: &name, Code: &code}},
		},
		Adapters: []wddm.Adapter{{Name: "NVIDIA \x1b[31mGeForce", Vendor: "10DE:2684", LUID: id, Bus: &bus, Dedicated: 24 << 30, InUse: &used, Shared: 32 << 30}},
		GPUs:     []wddm.Joined{{Index: &index, Model: &model, LUID: &id, By: &by}, {Why: &why}},
	}
	events := make(chan apart.Event, 4)
	watch := NewWatch(func(b []byte) { events <- apart.Event{Note: append([]byte(nil), b...)} })
	watch.System(&wddm.Told{}, []string{"adapter: of before"})
	watch.System(told, told.Lines())
	g := monitor.GPU{Identity: monitor.Identity{DriverModel: "wddm"}}
	events <- apart.Event{Snapshot: &monitor.Snapshot{GPUs: []monitor.GPU{g}}}
	close(events)
	f := Examine(events, Options{Version: "0.1", Terminal: Terminal{Colors: "never"}, Root: t.TempDir(), Timeout: time.Minute, Lookup: func(string) (string, bool) { return "", false }})
	text, b := string(f.AppendText(nil, TextOptions{})), f.Append(nil)
	for _, want := range []string{
		"counter     GPU Process Memory, Local Usage:  4  instances\n",
		"counter     GPU Engine, Utilization Percentage:  PdhAddEnglishCounterW answered PDH_CSTATUS_NO_COUNTER (0xC0000BB9)\n",
		"adapter     NVIDIA [31mGeForce  10DE:2684  LUID 0x00000000_0x0000D3F5  bus 01:00  dedicated 3072 of 24576 MiB  shared - of 32768 MiB\n",
		"GPU 0       wddm  adapter 0x00000000_0x0000D3F5, by its bus\n",
		"GPU -       driver model unknown  no adapter: Windows does not manage its memory: NVML alone tells of it\n",
		"driver model wddm",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "of before") || strings.Contains(text+string(b), "\x1b") {
		t.Errorf("%s", text)
	}
	for _, want := range []string{`"driver_model":"wddm"`, `"dedicated_used_bytes":3221225472`, `"shared_used_bytes":null`, `"instances":4`, `"code":"0xC0000BB9"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, b)
		}
	}
	kept.Keep(b)
}
