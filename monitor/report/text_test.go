package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

var plain = TextOptions{Version: "0.1", Location: time.UTC}

func with(change func(*TextOptions)) TextOptions {
	o := plain
	change(&o)
	return o
}

func TestTextGolden(t *testing.T) {
	s := rich()
	golden(t, "rich.txt", AppendText(nil, s, plain))
	golden(t, "rich-ascii.txt", AppendText(nil, s, with(func(o *TextOptions) { o.ASCII = true })))
	golden(t, "rich-16.txt", AppendText(nil, s, with(func(o *TextOptions) { o.Level = ansi.Level16 })))
	golden(t, "rich-wide.txt", AppendText(nil, s, with(func(o *TextOptions) { o.Width = 120 })))
}

func TestTextOfAllStates(t *testing.T) {
	s := rich()
	one := s.GPUs[0]
	s.GPUs = nil
	for i, st := range []monitor.State{monitor.OK, monitor.Initialising, monitor.Sleeping, monitor.Unavailable, monitor.Unavailable} {
		g := one
		g.Index, g.State, g.StateSince, g.Processes, g.Health = i, st, now-4e9, nil, nil
		s.GPUs = append(s.GPUs, g)
	}
	s.GPUs[0].ProcStatus.Reason = monitor.NoPermission
	s.GPUs[3].Blocked = monitor.NoPermission
	s.GPUs[4].StateReason = "the device cannot be opened"
	s.GPUs[4].Index = monitor.None
	s.Warnings = nil
	golden(t, "states.txt", AppendText(nil, s, plain))
}

func TestTextWithoutGPUs(t *testing.T) {
	s := &monitor.Snapshot{Time: time.Unix(0, now), Source: "demo", Waiting: "no driver in sight"}
	got := string(AppendText(nil, s, plain))
	if want := "nvtop-lite 0.1  [demo]  2026-01-02 03:04:05\n waiting for the driver: no driver in sight\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s.Waiting = ""
	if got := string(AppendText(nil, s, plain)); !strings.HasSuffix(got, "\n no GPU\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTextOfOneIdleGPU(t *testing.T) {
	s := rich()
	s.GPUs = s.GPUs[:1]
	s.GPUs[0].Processes, s.GPUs[0].Health, s.Warnings = nil, nil, nil
	got := string(AppendText(nil, s, plain))
	if !strings.Contains(got, "no process uses a GPU") || strings.Contains(got, "Σ") {
		t.Errorf("got\n%s", got)
	}
	got = string(AppendText(nil, s, with(func(o *TextOptions) { o.Choice.None = true })))
	if strings.Contains(got, "process") {
		t.Errorf("processes are not wanted:\n%s", got)
	}
}

// TestTextKnowsNoProcessesOfGPUsThatAreNotRead: a list that nobody has is not an
// empty one.
func TestTextKnowsNoProcessesOfGPUsThatAreNotRead(t *testing.T) {
	s := rich()
	s.Warnings = nil
	lost, refused, idle := s.GPUs[2], s.GPUs[0], s.GPUs[0]
	refused.State, refused.StateReason, refused.ProcStatus, refused.Processes = monitor.Unavailable, "cannot be opened: no permission", monitor.Status{Reason: monitor.NoPermission}, nil
	idle.Processes, idle.Health = nil, nil
	for _, tt := range []struct {
		gpus []monitor.GPU
		says string // of processes
	}{
		{[]monitor.GPU{lost, refused}, ""},
		{[]monitor.GPU{lost, idle}, "no process uses a GPU that could be read"},
		{[]monitor.GPU{idle}, "no process uses a GPU"},
	} {
		s.GPUs = tt.gpus
		got := string(AppendText(nil, s, plain))
		if tt.says == "" && strings.Contains(got, "process") || !strings.Contains(got, tt.says) {
			t.Errorf("want %q in\n%s", tt.says, got)
		}
	}
}

// TestTextOrdersProcesses reads the PIDs down the table, with a full GPU, an
// instance of it, and another GPU.
func TestTextOrdersProcesses(t *testing.T) {
	listed := monitor.Status{Reason: monitor.Known}
	p := func(pid uint32, bytes int64) monitor.Process {
		return monitor.Process{PID: pid, GPUMemoryBytes: monitor.OfInt(bytes)}
	}
	full := monitor.Identity{GPUInstanceID: monitor.None}
	s := &monitor.Snapshot{GPUs: []monitor.GPU{
		{Identity: full, State: monitor.OK, ProcStatus: listed, Processes: []monitor.Process{p(7, 2<<30), p(3, 5<<30)}, MIG: []monitor.GPU{
			{Identity: monitor.Identity{Profile: "1g.10gb", GPUInstanceID: 3}, State: monitor.OK, ProcStatus: listed, Processes: []monitor.Process{p(9, 1<<30)}},
		}},
		{Identity: full, State: monitor.OK, ProcStatus: listed, Processes: []monitor.Process{p(5, 3<<30)}},
	}}
	s.GPUs[1].Index = 1
	for _, tt := range []struct {
		choice monitor.Choice
		want   string
	}{
		{monitor.Choice{}, "0/7 0/3 0:3/9 1/5"},
		{monitor.Choice{Sort: monitor.ByMemory}, "0/3 1/5 0/7 0:3/9"},
		{monitor.Choice{Sort: monitor.ByPID}, "0/3 1/5 0/7 0:3/9"},
		{monitor.Choice{Sort: monitor.ByPID, Reverse: true}, "0:3/9 0/7 1/5 0/3"},
		{monitor.Choice{Sort: monitor.ByGPU, Reverse: true}, "1/5 0/3 0/7 0:3/9"},
	} {
		text := string(AppendText(nil, s, with(func(o *TextOptions) { o.Choice = tt.choice })))
		var got []string
		_, table, _ := strings.Cut(text, "COMMAND\n")
		for _, line := range strings.Split(table, "\n") {
			if f := strings.Fields(line); len(f) > 2 {
				got = append(got, f[0]+"/"+f[1])
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%+v: %s, want %s", tt.choice, g, tt.want)
		}
	}
}

// TestTextSaysThatNothingMatches: that no process was chosen is not that there
// is none. One of the GPUs is lost.
func TestTextSaysThatNothingMatches(t *testing.T) {
	for want, c := range map[string]monitor.Choice{
		`no process on a GPU that could be read matches "no such"`:         {Text: "no such"},
		`no process of nobody uses a GPU that could be read`:               {User: "nobody"},
		`no process of nobody on a GPU that could be read matches "train"`: {Text: "train", User: "nobody"},
	} {
		got := string(AppendText(nil, c.Apply(rich()), with(func(o *TextOptions) { o.Choice = c })))
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestTextSumNeedsAllParts makes one part unknown.
func TestTextSumNeedsAllParts(t *testing.T) {
	sum := func(s *monitor.Snapshot) []string {
		for _, line := range strings.Split(string(AppendText(nil, s, plain)), "\n") {
			if strings.Contains(line, "Σ") {
				return strings.Fields(line)
			}
		}
		t.Fatal("no sum")
		return nil
	}
	s := rich()
	s.GPUs = []monitor.GPU{s.GPUs[0], s.GPUs[0]}
	if got := fmt.Sprint(sum(s)); got != "[Σ 97% 87% 58% 94/160 1376/1400 2 of 2 GPUs]" {
		t.Errorf("sum %s", got)
	}
	s.GPUs[1].Readings[monitor.PowerMW] = monitor.Unknown(monitor.Timeout)
	s.GPUs[1].Readings[monitor.MemoryUsedBytes].Provenance = monitor.Estimated
	if got := fmt.Sprint(sum(s)); got != "[Σ 97% 87% - -/160 -/1400 2 of 2 GPUs]" {
		t.Errorf("sum %s", got)
	}
}

// TestTextIsCleanAndFits draws snapshots full of foreign text.
func TestTextIsCleanAndFits(t *testing.T) {
	for seed := range uint64(150) {
		s := random(seed)
		for _, width := range []int{0, 40, 133} {
			for _, ascii := range []bool{false, true} {
				b := AppendText(nil, s, with(func(o *TextOptions) { o.Width, o.ASCII = width, ascii }))
				for _, line := range strings.Split(string(b), "\n") {
					if line != ansi.Clean(line) {
						t.Fatalf("seed %d: not clean: %q", seed, line)
					}
					if w := ansi.Width(line); w > max(width, 40) && (width != 0 || w > 80) {
						t.Fatalf("seed %d, width %d: a line of %d cells: %q", seed, width, w, line)
					}
				}
				if ascii && bytes.ContainsFunc(b, func(r rune) bool { return r > 126 }) {
					t.Fatalf("seed %d: not ASCII: %q", seed, b)
				}
			}
		}
	}
}

func TestTextUnknownIsADash(t *testing.T) {
	s := &monitor.Snapshot{Time: time.Unix(0, now), GPUs: []monitor.GPU{{State: monitor.OK, ProcStatus: monitor.Status{Reason: monitor.Known},
		Processes: []monitor.Process{{PID: 31877, Namespace: monitor.NamespaceOutside}}}}}
	lines := strings.Split(string(AppendText(nil, s, with(func(o *TextOptions) { o.Width = 100 }))), "\n")
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "0 ? - - - - - - 31877" {
		t.Errorf("GPU row %q", got)
	}
	if got := strings.Join(strings.Fields(lines[5]), " "); got != "0 31877 ? - - - - - - (outside this container)" {
		t.Errorf("process row %q", got)
	}
	s.Platform.Kind = "wsl"
	if text := AppendText(nil, s, with(func(o *TextOptions) { o.Width = 100 })); !bytes.Contains(text, []byte(" (outside WSL)\n")) {
		t.Errorf("on WSL it says\n%s", text)
	}
}

func TestTextMasksSecrets(t *testing.T) {
	b := AppendText(nil, rich(), with(func(o *TextOptions) { o.Width = 300 }))
	if bytes.Contains(b, []byte("hf_abc")) || !bytes.Contains(b, []byte("--hub-token ***")) {
		t.Errorf("secrets leave:\n%s", b)
	}
}

func TestTextWrapsLongWords(t *testing.T) {
	s := &monitor.Snapshot{Waiting: strings.Repeat("x", 200) + " end"}
	b := AppendText(nil, s, with(func(o *TextOptions) { o.Width = 40 }))
	if n := bytes.Count(b, []byte("x")); n != 200 || !bytes.HasSuffix(b, []byte("end\n")) {
		t.Errorf("%d of 200 characters:\n%s", n, b)
	}
}

func TestDurations(t *testing.T) {
	for seconds, want := range map[int64]string{0: "0 s/0s", 31: "31 s/31s", 100: "100 s/1m", 840: "14 min/14m", 8040: "2 h/2h14m", 529200: "6 d/6d03h"} {
		d := time.Duration(seconds) * time.Second
		if got := Duration(d) + "/" + Span(d); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
	if Span(-time.Second) != "0s" {
		t.Error("a start in the future")
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 499 * time.Millisecond: "0s", 31 * time.Second: "31s", 59*time.Second + 600*time.Millisecond: "1m00s",
		108 * time.Second: "1m48s", 537 * time.Second: "8m57s", 3599 * time.Second: "59m59s", 3599*time.Second + 600*time.Millisecond: "1h00m",
		2*time.Hour + 14*time.Minute + 29*time.Second: "2h14m", time.Hour + 29*time.Second + 700*time.Millisecond: "1h00m",
		24*time.Hour - 29*time.Second: "1d00h", 24*time.Hour + 59*time.Minute + 59750*time.Millisecond: "1d01h", 147 * time.Hour: "6d03h",
		math.MaxInt64: "106751d23h",
	} {
		if got := Spell(d); got != want {
			t.Errorf("%d ns is %s, not %s", d, got, want)
		}
	}
}
