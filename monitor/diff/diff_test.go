package diff

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/kept"
	"nvtop-lite/monitor"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file that -update writes.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", path, got)
	}
}

const gib = 1 << 30

var noon = time.Date(2026, 11, 30, 12, 4, 31, 0, time.UTC)

// machine returns a snapshot of two H100.
func machine() *monitor.Snapshot {
	return &monitor.Snapshot{
		Time: noon, Steady: noon.UnixNano(), Interval: time.Second, Source: "live",
		Host: monitor.Host{
			Hostname: monitor.OfText("node17"), OS: "linux", Arch: "amd64", BootID: monitor.OfText("boot-1"),
			CPUPercent: monitor.OfFloat(12), MemoryTotalBytes: monitor.OfInt(1008 * gib), MemoryAvailableBytes: monitor.OfInt(900 * gib),
		},
		Driver: monitor.Driver{
			Version: monitor.OfText("580.95.05"), CUDAVersion: monitor.OfText("13.0"),
			NVMLVersion: monitor.OfText("13.580.95.05"), Library: monitor.OfText("/usr/lib/libnvidia-ml.so.1"),
		},
		Platform: monitor.Platform{Kind: "server"},
		GPUs: []monitor.GPU{
			h100(0, "GPU-aaaa0000-1111-2222-3333-444455556666"),
			h100(1, "GPU-bbbb0000-1111-2222-3333-444455556666"),
		},
	}
}

func h100(index int, uuid string) monitor.GPU {
	listed := monitor.Status{Reason: monitor.Known}
	g := monitor.GPU{
		Identity: monitor.Identity{
			Index: index, UUID: monitor.OfText(uuid), Name: monitor.OfText("NVIDIA H100 80GB HBM3"),
			PCIBusID: monitor.OfText("00000000:4E:00.0"), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
		},
		State: monitor.OK, XIDsStatus: listed, MIGStatus: listed, ProcStatus: listed,
	}
	for id := range g.Readings {
		g.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	for id, v := range map[monitor.ReadingID]monitor.Reading{
		monitor.UtilizationPercent:      monitor.OfFloat(97),
		monitor.MemoryTotalBytes:        monitor.OfInt(80 * gib),
		monitor.MemoryUsedBytes:         monitor.OfInt(50 * gib),
		monitor.TemperatureC:            monitor.OfFloat(61),
		monitor.PowerMW:                 monitor.OfFloat(688_000),
		monitor.PowerLimitMW:            monitor.OfFloat(700_000),
		monitor.EnergyJoules:            monitor.OfFloat(1_000_000),
		monitor.ClockGraphicsMHz:        monitor.OfFloat(1755),
		monitor.ThrottleReasons:         monitor.OfMask(monitor.ThrottleSWPowerCap),
		monitor.PersistenceMode:         monitor.OfFlag(true),
		monitor.ComputeMode:             monitor.OfWord(0),
		monitor.PCIeWidth:               monitor.OfInt(16),
		monitor.PCIeRxBytesPerSecond:    monitor.OfFloat(40.99e9),
		monitor.PCIeReplays:             monitor.OfInt(3),
		monitor.ECCEnabled:              monitor.OfFlag(true),
		monitor.ECCCorrectedVolatile:    monitor.OfInt(1),
		monitor.ECCCorrectedAggregate:   monitor.OfInt(12),
		monitor.ECCUncorrectedVolatile:  monitor.OfInt(0),
		monitor.ECCUncorrectedAggregate: monitor.OfInt(0),
		monitor.RowsRemapped:            monitor.OfInt(0),
		monitor.MIGEnabled:              monitor.OfFlag(false),
	} {
		g.Readings[id] = v
	}
	return g
}

func proc(pid uint32, ticks int64, name string, memory monitor.Reading) monitor.Process {
	return monitor.Process{
		PID: pid, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None, GPUMemoryBytes: memory,
		StartTicks: monitor.OfInt(ticks), StartTime: monitor.OfInt(noon.UnixNano() - int64(time.Hour)),
		Name: monitor.OfText(name), User: monitor.OfText("kim"), Command: monitor.OfText(name + " --api-key=hunter2"),
	}
}

func instance(uuid string, gi int, processes ...monitor.Process) monitor.GPU {
	in := h100(monitor.None, uuid)
	in.GPUInstanceID, in.ComputeInstanceID, in.Profile, in.ParentUUID = gi, 0, "1g.10gb", "GPU-aaaa0000-1111-2222-3333-444455556666"
	in.Processes = processes
	return in
}

// later returns the machine some time later.
func later(by time.Duration) *monitor.Snapshot {
	s := machine()
	s.Time, s.Steady = s.Time.Add(by), s.Steady+int64(by)
	return s
}

func compare(t *testing.T, old, new *monitor.Snapshot) *Diff {
	t.Helper()
	d, err := Compare(old, new)
	if err != nil {
		t.Fatal(err)
	}
	kept.Keep(d.Append(nil))
	return d
}

func words80(t *testing.T, old, new *monitor.Snapshot) string {
	t.Helper()
	return string(compare(t, old, new).AppendText(nil, ansi.PageOptions{Location: time.UTC}))
}

// path returns what stands in a JSON object at keys and places joined by dots.
func path(t *testing.T, line []byte, where string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Split(where, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[key]; !ok {
				t.Fatalf("no %s in %s: %s", key, where, line)
			}
		case []any:
			i := int(key[0] - '0')
			if i >= len(x) {
				t.Fatalf("no element %s in %s: %s", key, where, line)
			}
			v = x[i]
		default:
			t.Fatalf("%s ends before %s: %s", where, key, line)
		}
	}
	return v
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, l := range lines {
		if !strings.Contains(squeezed, l) {
			t.Errorf("no %q in:\n%s", l, text)
		}
	}
}

func expectNot(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(text, l) {
			t.Errorf("%q in:\n%s", l, text)
		}
	}
}

// crash is a machine before and after a crash and an upgrade of the driver.
func crash() (old, new *monitor.Snapshot) {
	old, new = machine(), later(2*time.Hour+5*time.Minute)
	g := &old.GPUs[0]
	g.Processes = []monitor.Process{proc(16523, 100, "train.py", monitor.OfInt(43*gib)), proc(3310, 200, "vllm", monitor.OfInt(5*gib))}
	g.Health = []monitor.Health{{Code: "throttle_power", Text: "SLOWED: power cap"}}
	old.GPUs[1].Processes = []monitor.Process{proc(777, 300, "bench.py", monitor.OfInt(3*gib))}

	new.Host.BootID = monitor.OfText("boot-2")
	new.Driver.Version, new.Driver.CUDAVersion = monitor.OfText("590.10"), monitor.OfText("13.1")
	new.Driver.NVMLVersion = monitor.UnknownText(monitor.DriverError)
	g = &new.GPUs[0]
	g.Index = 1
	g.Processes = []monitor.Process{proc(16523, 90, "train.py", monitor.OfInt(20*gib))}
	g.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(21 * gib)
	g.Readings[monitor.PowerLimitMW] = monitor.OfFloat(500_000)
	g.Readings[monitor.PowerMW] = monitor.OfFloat(412_300)
	g.Readings[monitor.UtilizationPercent] = monitor.OfFloat(41)
	g.Readings[monitor.ThrottleReasons] = monitor.OfMask(0)
	g.Readings[monitor.PersistenceMode] = monitor.OfFlag(false)
	g.Readings[monitor.PCIeWidth] = monitor.OfInt(8)
	g.Readings[monitor.ECCCorrectedVolatile] = monitor.OfInt(4)
	g.Readings[monitor.ECCCorrectedAggregate] = monitor.OfInt(17)
	g.Readings[monitor.RowsRemapped] = monitor.OfInt(1)
	g.Readings[monitor.TemperatureC] = monitor.Unknown(monitor.NoPermission)
	g.Readings[monitor.FanPercent] = monitor.OfFloat(30)
	g.Health = []monitor.Health{{Code: "pcie_width", Text: "PCIe x8 of x16", Level: monitor.Warn}, {Code: "persistence_off", Text: "persistence off"}}
	g = &new.GPUs[1]
	g.Index, g.State, g.StateReason = 0, monitor.Lost, "Xid 79, fell off the bus"
	g.XIDs = []monitor.XID{{Time: noon.Add(time.Hour).UnixNano(), Code: 79, Source: "kernel_log", GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}}
	g.Health = []monitor.Health{{Code: "gpu_lost", Text: "lost: Xid 79, fell off the bus; reset or reboot", Level: monitor.Critical}}
	return old, new
}

// upgrade is one machine without a reboot, and with instances.
func upgrade() (old, new *monitor.Snapshot) {
	old, new = machine(), later(90*time.Second)
	refused := monitor.Unknown(monitor.NoPermission)
	a, b := &old.GPUs[0], &new.GPUs[0]
	a.Processes = []monitor.Process{
		proc(1, 10, "stays", monitor.OfInt(gib)), proc(2, 20, "grows", monitor.OfInt(8*gib)), proc(3, 30, "hides", monitor.OfInt(4*gib)),
		proc(4, 40, "shows", refused), proc(5, 50, "ends", monitor.OfInt(2*gib)), proc(6, 60, "is replaced", monitor.OfInt(2*gib)),
		proc(7, 0, "outside", refused),
	}
	a.Processes[6].StartTicks = monitor.Unknown(monitor.NoPermission)
	b.Processes = []monitor.Process{
		proc(1, 10, "stays", monitor.OfInt(gib)), proc(2, 20, "grows", monitor.OfInt(9*gib+gib/2)), proc(3, 30, "hides", refused),
		proc(4, 40, "shows", monitor.OfInt(3*gib)), proc(6, 66, "replaces", monitor.OfInt(gib/64)),
		proc(7, 0, "outside", refused), proc(8, 80, "begins", monitor.OfInt(7*gib)),
	}
	b.Processes[5].StartTicks = monitor.Unknown(monitor.NoPermission)
	b.Readings[monitor.EnergyJoules] = monitor.OfFloat(1_061_200)
	b.Readings[monitor.PCIeReplays] = monitor.OfInt(5)
	a, b = &old.GPUs[1], &new.GPUs[1]
	b.Readings[monitor.MIGEnabled] = monitor.OfFlag(true)
	a.MIG = []monitor.GPU{instance("MIG-1", 1, proc(20, 1, "nb.py", monitor.OfInt(3*gib))), instance("MIG-2", 2, proc(21, 1, "old.py", monitor.OfInt(gib)))}
	b.MIG = []monitor.GPU{instance("MIG-1", 1, proc(20, 1, "nb.py", monitor.OfInt(4*gib))), instance("MIG-3", 3, proc(22, 1, "new.py", monitor.OfInt(2*gib)))}
	return old, new
}

func TestGolden(t *testing.T) {
	for name, make := range map[string]func() (*monitor.Snapshot, *monitor.Snapshot){"crash": crash, "upgrade": upgrade} {
		old, new := make()
		d := compare(t, old, new)
		golden(t, "testdata/"+name+".txt", d.AppendText(nil, ansi.PageOptions{Location: time.UTC}))
		golden(t, "testdata/"+name+".json", append(d.Append(nil), '\n'))
	}
}

var errRefused *Refused

func refused(t *testing.T, old, new *monitor.Snapshot, parts ...string) {
	t.Helper()
	d, err := Compare(old, new)
	if d != nil || !errors.As(err, &errRefused) {
		t.Fatalf("not refused: %v, %v", d, err)
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("not one clean line: %q", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("no %q in: %v", p, err)
		}
	}
}

// TestModules: the integrated GPU of a module has no UUID. It is told by its
// machine.
func TestModules(t *testing.T) {
	module := func(host monitor.Text) *monitor.Snapshot {
		s := machine()
		s.GPUs, s.Host.Hostname = s.GPUs[:1], host
		s.GPUs[0].Integrated, s.GPUs[0].UUID = true, monitor.UnknownText(monitor.NotSupported)
		return s
	}
	old, new := module(monitor.OfText("orin")), module(monitor.OfText("orin"))
	new.GPUs[0].Readings[monitor.UtilizationPercent] = monitor.OfFloat(77)
	d, err := Compare(old, new)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(d.AppendText(nil, ansi.PageOptions{})); !strings.Contains(text, "77") {
		t.Errorf("a load of 77 %% is not told:\n%s", text)
	}
	refused(t, old, module(monitor.OfText("other")), "only in old: that of orin;", "only in new: that of other")
	refused(t, old, module(monitor.UnknownText(monitor.NotFound)), "the UUID of GPU 0 in the new snapshot is unknown")
	card := module(monitor.OfText("orin"))
	card.GPUs[0].Integrated = false
	refused(t, old, card, "the UUID of GPU 0 in the new snapshot is unknown")
}

func TestRefusals(t *testing.T) {
	only := func(s *monitor.Snapshot, uuids ...string) *monitor.Snapshot {
		s.GPUs = nil
		for i, u := range uuids {
			s.GPUs = append(s.GPUs, h100(i, u))
		}
		return s
	}
	const a, b, c = "GPU-aaaa", "GPU-bbbb", "GPU-cccc"
	refused(t, only(machine(), a, b), only(machine(), c, a), "only in old: GPU-bbbb;", "only in new: GPU-cccc;", "in both: 1; -g 0 chooses those that both have")
	refused(t, only(machine(), a, b, "1", "2", "3", "4"), only(machine(), "4", "2", "1", b, a), "; -g 0-3,5 chooses those that both have")
	refused(t, only(machine(), a, b, c), only(machine(), c, a), "; -g 0,2 chooses those that both have")
	unnumbered := only(machine(), a, b)
	unnumbered.GPUs[0].Index = monitor.None
	if _, err := Compare(unnumbered, only(machine(), a)); strings.Contains(err.Error(), "-g") {
		t.Errorf("no number to choose by: %v", err)
	}
	if _, err := Compare(only(machine(), a), only(machine(), b)); strings.Contains(err.Error(), "-g") {
		t.Errorf("nothing to choose: %v", err)
	}
	refused(t, only(machine(), a, b), only(machine(), a), "only in old: GPU-bbbb;", "only in new: none")
	refused(t, only(machine()), only(machine(), a), "only in old: none;", "only in new: GPU-aaaa")
	refused(t, only(machine()), only(machine()), "no GPU in either snapshot")
	waiting := only(machine())
	waiting.Waiting = "no driver\x1b[2J"
	refused(t, only(machine()), waiting, "no GPU in either snapshot", "no driver")

	nameless := only(machine(), a, b)
	nameless.GPUs[1].UUID = monitor.UnknownText(monitor.NoPermission)
	refused(t, only(machine(), a, b), nameless, "UUID of GPU 1 in the new snapshot is unknown (no permission)", "old: GPU-aaaa, GPU-bbbb; new: GPU-aaaa, unknown")
	refused(t, nameless, only(machine(), a, b), "UUID of GPU 1 in the old snapshot is unknown")
	nameless.GPUs[1].UUID = monitor.OfText("")
	refused(t, nameless, nameless, "UUID of GPU 1 in the old snapshot is unknown")
	refused(t, only(machine(), a, b), only(machine(), a, a), "two GPUs in the new snapshot have the UUID GPU-aaaa")
	refused(t, only(machine(), "\x1b]0;x\a\n"), only(machine(), a), "only in new: GPU-aaaa")

	many := machine()
	for range 400 {
		many.GPUs = append(many.GPUs, h100(2, "GPU-"+strings.Repeat("f", len(many.GPUs))))
	}
	refused(t, only(machine(), a), many, "and 399 more")
	if _, err := Compare(only(machine(), a), many); len(err.Error()) > 400 {
		t.Errorf("not readable: %v", err)
	}
}

func TestGPUsOfOneNameArePairedByUUID(t *testing.T) {
	old, new := machine(), later(time.Minute)
	new.GPUs[0], new.GPUs[1] = new.GPUs[1], new.GPUs[0]
	new.GPUs[0].Index, new.GPUs[1].Index = 0, 1
	for i := range old.GPUs {
		p := []monitor.Process{proc(uint32(i+1), 1, "p", monitor.OfInt(gib))}
		old.GPUs[i].Processes, new.GPUs[1-i].Processes = p, p
	}
	text := words80(t, old, new)
	expect(t, text, "settings index 1 → 0", "settings index 0 → 1", "1 process as it was")
	expectNot(t, text, "gone", "appeared", "no difference")
}

func TestIdenticalSnapshots(t *testing.T) {
	old, new := machine(), later(90*time.Second)
	text := words80(t, old, new)
	if want := `nvtop-lite diff  node17
 old       2026-11-30 12:04:31 driver 580.95.05 CUDA 13.0
 new       2026-11-30 12:06:01 driver 580.95.05 CUDA 13.0 1m30s later
 no difference
`; text != want {
		t.Errorf("got:\n%s", text)
	}
	d := compare(t, old, new)
	if got := path(t, d.Append(nil), "different"); got != false {
		t.Error("different: ", got)
	}
	for _, s := range [...]*monitor.Snapshot{old, new} {
		s.GPUs[1].ProcStatus = monitor.Status{Reason: monitor.NoPermission}
	}
	expect(t, words80(t, old, new), "no difference in what is known GPU 1: processes unknown on both sides (no permission)")
	new.GPUs[0].Readings[monitor.PowerMW] = monitor.OfFloat(688_100)
	expect(t, words80(t, old, new), "loads power 688.0 → 688.1 W", "no difference in what is known: GPU 1")
}

func TestTheOlderSnapshotAsTheNewOne(t *testing.T) {
	old, new := crash()
	expect(t, words80(t, new, old), "2h05m earlier: the new one is the older one")
	new.Steady += int64(time.Hour)
	expect(t, words80(t, old, new), "3h05m later", "clock it differs by 1h00m from the time that went by")
}

func TestProcessesArePairedByBootPIDAndStart(t *testing.T) {
	unknown := monitor.Unknown(monitor.NotFound)
	type side struct {
		pid   uint32
		ticks monitor.Reading
	}
	at := monitor.OfInt
	for name, c := range map[string]struct {
		old, new         []side
		oldBoot, newBoot monitor.Text
		os               string
		want             string // presence of each, by PID, those of the new snapshot first
	}{
		"the same":                     {[]side{{1, at(5)}}, []side{{1, at(5)}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 both"},
		"a PID used again":             {[]side{{1, at(5)}}, []side{{1, at(6)}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 gone, 1 appeared"},
		"another PID":                  {[]side{{1, at(5)}}, []side{{2, at(5)}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 gone, 2 appeared"},
		"rebooted":                     {[]side{{1, at(5)}}, []side{{1, at(5)}}, monitor.OfText("b"), monitor.OfText("c"), "linux", "1 gone, 1 appeared"},
		"rebooted, starts unknown":     {[]side{{1, unknown}}, []side{{1, unknown}}, monitor.OfText("b"), monitor.OfText("c"), "linux", "1 gone, 1 appeared"},
		"no start on one side":         {[]side{{1, at(5)}}, []side{{1, unknown}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 new_unknown start_unknown, 1 old_unknown start_unknown"},
		"no start on both sides":       {[]side{{1, unknown}}, []side{{1, unknown}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 new_unknown start_unknown, 1 old_unknown start_unknown"},
		"no start, but no such PID":    {[]side{{1, unknown}}, []side{{2, unknown}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 gone, 2 appeared"},
		"no boot id":                   {[]side{{1, at(5)}}, []side{{1, at(5)}}, unknownBoot, monitor.OfText("b"), "linux", "1 new_unknown boot_unknown, 1 old_unknown boot_unknown"},
		"Windows has none":             {[]side{{1, at(5)}}, []side{{1, at(5)}}, unknownBoot, unknownBoot, "windows", "1 both"},
		"Windows, a PID used again":    {[]side{{1, at(5)}}, []side{{1, at(6)}}, unknownBoot, unknownBoot, "windows", "1 gone, 1 appeared"},
		"one of two of that PID stays": {[]side{{1, at(5)}, {1, unknown}}, []side{{1, at(5)}}, monitor.OfText("b"), monitor.OfText("b"), "linux", "1 gone, 1 both"},
	} {
		old, new := machine(), later(time.Minute)
		for i, list := range [...][]side{c.old, c.new} {
			s := [...]*monitor.Snapshot{old, new}[i]
			s.Host.BootID, s.Host.OS = [...]monitor.Text{c.oldBoot, c.newBoot}[i], c.os
			for _, p := range list {
				q := proc(p.pid, 0, "p", at(gib))
				q.StartTicks = p.ticks
				s.GPUs[0].Processes = append(s.GPUs[0].Processes, q)
			}
		}
		d := compare(t, old, new)
		var got []string
		for _, p := range d.gpus[0].processes {
			got = append(got, strings.TrimSpace(string(rune('0'+p.there().PID))+" "+presenceWords[p.presence]+" "+p.why))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

var unknownBoot = monitor.UnknownText(monitor.NoPermission)

func TestABootThatIsUnknownIsSaidOnce(t *testing.T) {
	old, new := machine(), later(time.Minute)
	old.Host.BootID = unknownBoot
	for i := range old.GPUs {
		old.GPUs[i].Processes = []monitor.Process{proc(1, 1, "p", monitor.OfInt(gib))}
		new.GPUs[i].Processes = old.GPUs[i].Processes
	}
	d := compare(t, old, new)
	text := string(d.AppendText(nil, ansi.PageOptions{}))
	if n := strings.Count(text, "boot id unknown (no permission), without which processes cannot"); n != 1 {
		t.Errorf("said %d times:\n%s", n, text)
	}
	expect(t, text, "in old 1 kim p 1.0 GiB, not paired: boot unknown", "in new 1 kim p 1.0 GiB, not paired: boot unknown")
	line := d.Append(nil)
	if path(t, line, "rebooted") != nil || path(t, line, "unavailable.rebooted") != "no_permission" {
		t.Errorf("%s", line)
	}
}

func TestAProcessListThatWasNotRead(t *testing.T) {
	old, new := machine(), later(time.Minute)
	old.GPUs[0].Processes = []monitor.Process{proc(1, 1, "p", monitor.OfInt(gib))}
	new.GPUs[0].ProcStatus = monitor.Status{Reason: monitor.Timeout}
	text := words80(t, old, new)
	expect(t, text, "processes unknown in the new one (no answer), so that nobody knows which ones appeared or went", "in old 1 kim p 1.0 GiB",
		"memory became unknown (no answer): processes (was 1.0 GiB), unattributed (was ~49.0 GiB)")
	expectNot(t, text, "gone", " appeared  ")
	line := compare(t, old, new).Append(nil)
	for where, want := range map[string]any{
		"gpus.0.processes.0.presence": "new_unknown", "gpus.0.processes.0.presence_reason": "timeout",
		"gpus.0.processes.0.gpu_memory_bytes.new": nil, "gpus.0.processes.0.gpu_memory_bytes.unavailable.new": "timeout",
		"gpus.0.processes_state.new": "timeout", "gpus.0.processes_state.old": "ok",
	} {
		if got := path(t, line, where); got != want {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
	text = words80(t, new, old)
	expect(t, text, "processes unknown in the old one (no answer)", "in new 1 kim p 1.0 GiB")

	// Nothing is known of any process: null, never an empty list.
	old.GPUs[0].Processes = nil
	line = compare(t, old, new).Append(nil)
	if path(t, line, "gpus.0.processes") != nil || path(t, line, "gpus.0.unavailable.processes") != "timeout" {
		t.Errorf("%s", line)
	}
	if list, ok := path(t, line, "gpus.1.processes").([]any); !ok || len(list) != 0 {
		t.Errorf("%s", line)
	}
}

func TestMemoryInWords(t *testing.T) {
	refused, failed := monitor.Unknown(monitor.NoPermission), monitor.Unknown(monitor.DriverError)
	for _, c := range []struct {
		old, new monitor.Reading
		want     string
	}{
		{monitor.OfInt(3 * gib), refused, "memory became unknown (no permission), was 3.0 GiB"},
		{refused, monitor.OfInt(3 * gib), "memory became known: 3.0 GiB, unknown before (no permission)"},
		{refused, failed, "memory unknown (no permission, now driver error)"},
		{monitor.OfInt(3 * gib), monitor.OfInt(3*gib + 12<<20), "3.0 GiB (+12 MiB)"},
		{monitor.OfInt(3 * gib), monitor.OfInt(3*gib - 4096), "3.0 GiB (-4 KiB)"},
		{monitor.OfInt(0), monitor.OfInt(1), "0.0 GiB → 0 MiB (+1 bytes)"},
		{monitor.OfInt(3 * gib), monitor.OfInt(0), "3.0 → 0.0 GiB (-3.0 GiB)"},
	} {
		old, new := machine(), later(time.Minute)
		old.GPUs[0].Processes = []monitor.Process{proc(1, 1, "p", c.old)}
		new.GPUs[0].Processes = []monitor.Process{proc(1, 1, "p", c.new)}
		expect(t, words80(t, old, new), "stayed 1 kim p "+c.want)
	}
}

func TestTheUnattributedRest(t *testing.T) {
	old, new := machine(), later(time.Minute)
	old.GPUs[0].Processes = []monitor.Process{proc(1, 1, "p", monitor.OfInt(40*gib))}
	rest := func(key string) any { return path(t, compare(t, old, new).Append(nil), "gpus.0.memory."+key) }
	set := func(r ...monitor.Reading) {
		new.GPUs[0].Processes = nil
		for i := range r {
			new.GPUs[0].Processes = append(new.GPUs[0].Processes, proc(uint32(i+1), 1, "p", r[i]))
		}
	}
	set(monitor.OfInt(30*gib), monitor.OfInt(15*gib))
	if got := rest("unattributed_bytes.delta"); got != float64(-5*gib) {
		t.Error(got)
	}
	if got := rest("unattributed_bytes.provenance.new"); got != "inferred" {
		t.Error(got)
	}
	// Unknown while one process is.
	set(monitor.OfInt(30*gib), monitor.Unknown(monitor.NoPermission))
	for _, key := range []string{"processes_bytes", "unattributed_bytes"} {
		if rest(key+".new") != nil || rest(key+".unavailable.new") != "no_permission" || rest(key+".unavailable.delta") != "no_permission" {
			t.Error(key, rest(key))
		}
	}
	// What processes say that was not measured counts as unknown.
	guess := monitor.OfInt(gib)
	guess.Provenance = monitor.Estimated
	set(guess)
	if rest("processes_bytes.new") != nil {
		t.Error(rest("processes_bytes"))
	}
	// More than is used cannot be.
	set(monitor.OfInt(51 * gib))
	if rest("unattributed_bytes.unavailable.new") != "implausible" || rest("processes_bytes.new") != float64(51*gib) {
		t.Error(rest("unattributed_bytes"))
	}
	expect(t, words80(t, old, new), "became unknown (implausible): unattributed (was ~10.0 GiB)")
	// Where used memory is made of the processes, the rest would say nothing.
	set(monitor.OfInt(20 * gib))
	used := monitor.OfInt(20 * gib)
	used.Provenance = monitor.Inferred
	new.GPUs[0].Readings[monitor.MemoryUsedBytes] = used
	if rest("unattributed_bytes.unavailable.new") != "not_supported" {
		t.Error(rest("unattributed_bytes"))
	}
	// Instances count, and are in the way while they are not read.
	new = later(time.Minute)
	g := &new.GPUs[0]
	g.Readings[monitor.MIGEnabled] = monitor.OfFlag(true)
	g.MIG = []monitor.GPU{instance("MIG-1", 1, proc(20, 1, "nb.py", monitor.OfInt(3*gib)))}
	if got := rest("processes_bytes.new"); got != float64(3*gib) {
		t.Error(got)
	}
	g.MIG[0].ProcStatus.Reason = monitor.Timeout
	if rest("processes_bytes.unavailable.new") != "timeout" {
		t.Error(rest("processes_bytes"))
	}
	g.MIG, g.MIGStatus.Reason = nil, monitor.DriverError
	if rest("processes_bytes.unavailable.new") != "driver_error" {
		t.Error(rest("processes_bytes"))
	}
}

func TestInstances(t *testing.T) {
	old, new := upgrade()
	line := compare(t, old, new).Append(nil)
	for where, want := range map[string]any{
		"gpus.1.mig_devices.0.presence": "both", "gpus.1.mig_devices.1.presence": "appeared", "gpus.1.mig_devices.2.presence": "gone",
		"gpus.1.mig_devices.1.state.old": nil, "gpus.1.mig_devices.1.processes.0.presence": "appeared", "gpus.1.mig_devices.2.processes.0.presence": "gone",
	} {
		if got := path(t, line, where); got != want {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
	// One without a UUID may be any of those left over.
	new.GPUs[1].MIG[1].UUID = monitor.UnknownText(monitor.DriverError)
	text := words80(t, old, new)
	expect(t, text, "MIG 1:3 1g.10gb whether it was in the old one is unknown (an instance has no UUID of its own)",
		"whether it is in the new one is unknown", "in new 22 kim new.py", "in old 21 kim old.py")
	expectNot(t, text, "MIG-3 appeared", "MIG-2 gone", "gone      21", "appeared  22")
	// So may two of one UUID.
	new.GPUs[1].MIG[1].UUID = monitor.OfText("MIG-1")
	expect(t, words80(t, old, new), "an instance has no UUID of its own")
	// A list that was not read says nothing of what was there.
	new.GPUs[1].MIG, new.GPUs[1].MIGStatus.Reason = nil, monitor.NoPermission
	text = words80(t, old, new)
	expect(t, text, "MIG instances became unknown (no permission)", "MIG 1:2 1g.10gb MIG-2 whether it is in the new one is unknown (no permission)")
	expectNot(t, text, "MIG-2 gone", "gone      21")
	// Where only an instance differs, its GPU says so.
	old, new = machine(), later(time.Minute)
	old.GPUs[0].MIG = []monitor.GPU{instance("MIG-1", 1), instance("MIG-2", 2)}
	new.GPUs[0].MIG = []monitor.GPU{instance("MIG-1", 1), instance("MIG-2", 2)}
	new.GPUs[0].MIG[1].Readings[monitor.MemoryUsedBytes] = monitor.OfInt(60 * gib)
	text = words80(t, old, new)
	expect(t, text, "no difference but on its instances MIG 0:2 1g.10gb MIG-2 memory used 50.0 → 60.0 GiB (+10.0 GiB)")
	expectNot(t, text, "MIG-1")
}

func TestALostGPUIsCompared(t *testing.T) {
	old, new := machine(), later(time.Minute)
	new.GPUs[0].State = monitor.Lost
	old.GPUs[0].Health = []monitor.Health{{Code: "throttle_thermal", Text: "SLOWED: too hot", Level: monitor.Warn}}
	text := words80(t, old, new)
	expect(t, text, "state ok → lost (all readings became unknown: GPU lost)", "unknown now (GPU lost), was: SLOWED: too hot", "no difference: GPU 1")
	expectNot(t, text, "power", "went:")
	line := compare(t, old, new).Append(nil)
	if path(t, line, "gpus.0.loads.power_mw.unavailable.new") != "gpu_lost" || path(t, line, "gpus.0.health.0.unavailable.new") != "gpu_lost" {
		t.Errorf("%s", line)
	}
	expect(t, words80(t, new, old), "state lost → ok (readings became known)", "known now, unknown before (GPU lost): SLOWED: too hot")
}

func TestCountersThatBeganAnew(t *testing.T) {
	old, new := machine(), later(time.Minute)
	g := &new.GPUs[0]
	g.Readings[monitor.EnergyJoules] = monitor.OfFloat(400)
	g.Readings[monitor.PCIeReplays] = monitor.OfInt(1)
	g.Readings[monitor.ECCCorrectedAggregate] = monitor.OfInt(11)
	expect(t, words80(t, old, new), "counters energy counter began anew, PCIe replays 3 → 1, counted anew, ECC corrected ever 12 → 11 (-1)")
	line := compare(t, old, new).Append(nil)
	if path(t, line, "gpus.0.counters.energy_joules.delta") != nil || path(t, line, "gpus.0.counters.energy_joules.unavailable.delta") != counterRestarted {
		t.Errorf("%s", line)
	}
	new.Host.CPUPercent, old.Host.CPUPercent = monitor.OfFloat(5.7), monitor.OfFloat(5.4)
	if got := path(t, compare(t, old, new).Append(nil), "host.cpu_percent.delta"); got != 0.3 {
		t.Error(got)
	}
	// Back in time nothing counts.
	g.Readings[monitor.EnergyJoules] = monitor.OfFloat(1_000_036)
	expect(t, words80(t, old, new), "energy +36 J (+0.0 Wh)")
	text := words80(t, new, old)
	expect(t, text, "energy difference unknown (new is older)", "PCIe replays 1 → 3, counted anew", "ECC corrected ever 11 → 12 (new is older)")
	expectNot(t, text, "energy -", "(+1)")
	line = compare(t, new, old).Append(nil)
	if path(t, line, "gpus.0.counters.energy_joules.delta") != nil || path(t, line, "gpus.0.counters.energy_joules.unavailable.delta") != newIsOlder {
		t.Errorf("%s", line)
	}
	// After a reboot a larger count is no sum either.
	new.Host.BootID = monitor.OfText("boot-2")
	expect(t, words80(t, old, new), "energy counter began anew")
}

func TestXIDs(t *testing.T) {
	x := func(code int, after time.Duration, source string) monitor.XID {
		return monitor.XID{Time: noon.Add(after).UnixNano(), Code: code, Source: source, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}
	}
	old, new := machine(), later(time.Hour)
	old.GPUs[0].XIDs = []monitor.XID{x(13, -2*time.Hour, "event"), x(31, -time.Minute, "event")}
	old.GPUs[0].Health = []monitor.Health{{Code: "xid", Text: "Xid 31, memory access fault of a program"}}
	new.GPUs[0].XIDs = []monitor.XID{x(31, -time.Minute-time.Second, "kernel_log"), x(31, -time.Minute, "kernel_log"), x(79, time.Minute, "event")}
	new.GPUs[0].Health = []monitor.Health{{Code: "xid", Text: "Xid 79, fell off the bus", Level: monitor.Critical}, {Code: "xid", Text: "Xid 31, memory access fault of a program (2 times)"}}
	text := words80(t, old, new)
	expect(t, text, "Xid new: 31 at 2026-11-30 12:03:31, 79 at 2026-11-30 12:05:31", "no longer listed: 13 at 2026-11-30 10:04:31",
		"came: Xid 79, fell off the bus", "Xid 31, memory access fault of a program → Xid 31, memory access fault of a program (2 times)")
	new.GPUs[0].XIDs, new.GPUs[0].XIDsStatus.Reason, new.GPUs[0].Health = nil, monitor.NoPermission, nil
	expect(t, words80(t, old, new), "Xid errors became unknown (no permission)", "unknown now (no permission), was: Xid 31")
	line := compare(t, old, new).Append(nil)
	if path(t, line, "gpus.0.xids_appeared") != nil || path(t, line, "gpus.0.unavailable.xids_gone") != "no_permission" {
		t.Errorf("%s", line)
	}
}

func TestFansAndParts(t *testing.T) {
	old, new := machine(), later(time.Minute)
	none := monitor.Unknown(monitor.NotSupported)
	fan := func(v float64) []monitor.Fan {
		return []monitor.Fan{{Index: 1, Percent: monitor.OfFloat(v), RPM: none, TargetPercent: none}}
	}
	old.GPUs[0].Fans, old.GPUs[0].FansStatus.Reason = fan(30), monitor.Known
	new.GPUs[0].Fans, new.GPUs[0].FansStatus.Reason = fan(55), monitor.Known
	old.GPUs[1].Fans, old.GPUs[1].FansStatus.Reason = fan(30), monitor.Known
	new.GPUs[1].FansStatus.Reason = monitor.Timeout
	part := func(kind monitor.PartKind, name string, readings ...monitor.Reading) monitor.Part {
		p := monitor.Part{Kind: kind, Name: name}
		copy(p.Readings[:], readings)
		return p
	}
	old.Platform.Parts = []monitor.Part{part(monitor.Rail, "VDD_GPU", monitor.OfFloat(18_000)), part(monitor.Rail, "VIN", monitor.OfFloat(60_000)),
		part(monitor.Engine, "NVENC", monitor.OfFlag(false), monitor.OfFloat(0), none),
		part(monitor.ThrottleAlert, "gpu-throttle-alert", monitor.OfInt(0)), part(monitor.OverCurrent, "oc1", monitor.OfInt(2))}
	new.Platform.Parts = []monitor.Part{part(monitor.Rail, "VDD_GPU", monitor.OfFloat(25_000)),
		part(monitor.Engine, "DLA0", monitor.OfFlag(true), none, monitor.OfFloat(4)), part(monitor.Engine, "NVENC", monitor.OfFlag(true), monitor.OfFloat(716), none),
		part(monitor.ThrottleAlert, "gpu-throttle-alert", monitor.OfInt(1)), part(monitor.OverCurrent, "oc1", monitor.OfInt(5))}
	expect(t, words80(t, old, new), "fan 1 30 → 55 %", "became unknown (no answer): fan 1 (was 30 %)",
		"platform VDD_GPU 18 → 25 W, NVENC off → on, NVENC 0 → 716 MHz, gpu-throttle-alert 0 → 1, oc1 2 → 5",
		"became unknown (not found): VIN (was 60 W)", "became known (unknown before: not found): DLA0 on, DLA0 4 %")
	platform := path(t, compare(t, old, new).Append(nil), "platform").(map[string]any)
	for key, want := range map[string]any{"rails[VDD_GPU].power_mw": 7000.0, "engines[NVENC].on": nil, "engines[NVENC].clock_mhz": 716.0,
		"throttle_alerts[gpu-throttle-alert].state": 1.0, "overcurrent[oc1].events": 3.0} {
		if change, ok := platform[key].(map[string]any); !ok || change["delta"] != want {
			t.Errorf("%s: %v, want a delta of %v", key, platform[key], want)
		}
	}
}

// TestFansAreToldOnce: single ones where they differ from what is told of all.
func TestFansAreToldOnce(t *testing.T) {
	old, new := machine(), later(time.Minute)
	for i, s := range []*monitor.Snapshot{old, new} {
		v := monitor.OfFloat(float64(30 + 10*i))
		g := &s.GPUs[0]
		g.Readings[monitor.FanPercent], g.FansStatus.Reason = v, monitor.Known
		g.Fans = []monitor.Fan{{Index: 0, Percent: v, RPM: monitor.OfFloat(float64(1000 + 500*i)), TargetPercent: v}, {Index: 1, Percent: v, RPM: monitor.OfFloat(900), TargetPercent: monitor.OfFloat(float64(30 + 20*i))}}
	}
	text := words80(t, old, new)
	expect(t, text, "loads FAN 30 → 40 %, fan 0 1000 → 1500 rpm, fan 1 target 30 → 50 %")
	expectNot(t, text, "fan 0 30", "fan 1 30", "fan 0 target")
	if path(t, compare(t, old, new).Append(nil), "gpus.0.loads") == nil {
		t.Error("no loads")
	}
}

func TestFreeMemoryIsMemory(t *testing.T) {
	old, new := machine(), later(time.Minute)
	old.GPUs[0].Readings[monitor.MemoryFreeBytes], new.GPUs[0].Readings[monitor.MemoryFreeBytes] = monitor.OfInt(30*gib), monitor.OfInt(20*gib)
	text := words80(t, old, new)
	expect(t, text, "memory free 30.0 → 20.0 GiB (-10.0 GiB)")
	expectNot(t, text, "loads")
}

func TestHowMuchLater(t *testing.T) {
	for by, want := range map[time.Duration]string{
		0: "at the same time", 1500 * time.Millisecond: "1.5s later", 59*time.Second + 990*time.Millisecond: "1m00s later",
		59*time.Minute + 59*time.Second: "59m59s later", 24*time.Hour + 59*time.Minute + 59*time.Second + 750*time.Millisecond: "1d01h later",
		23*time.Hour + 59*time.Minute + 59*time.Second: "1d00h later", -2 * time.Hour: "2h00m earlier",
	} {
		expect(t, words80(t, machine(), later(by)), "CUDA 13.0 "+want)
	}
}

func TestHostileNames(t *testing.T) {
	old, new := crash()
	evil := "\x1b[31mred\x1b[0m\nline\u202e\u0085 " + strings.Repeat("界x", 60) + "\xff"
	for _, s := range [...]*monitor.Snapshot{old, new} {
		s.Host.Hostname, s.Driver.Version, s.Source = monitor.OfText(evil+s.Host.BootID.Value), monitor.OfText(evil), evil
		for i := range s.GPUs {
			g := &s.GPUs[i]
			g.Name, g.Profile, g.StateReason = monitor.OfText(evil), evil, evil+s.Host.BootID.Value
			for j := range g.Processes {
				g.Processes[j].Name, g.Processes[j].User = monitor.OfText(evil), monitor.OfText(evil)
			}
			for j := range g.Health {
				g.Health[j].Text = evil
			}
		}
	}
	d := compareUnkept(t, old, new)
	check(t, d, 80)
	expectNot(t, string(d.Append(nil)), "hunter2", "api-key")
}
