package report

import (
	"bytes"
	"fmt"
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
	got = string(AppendText(nil, s, with(func(o *TextOptions) { o.NoProcesses = true })))
	if strings.Contains(got, "process") {
		t.Errorf("processes are not wanted:\n%s", got)
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
	if got := strings.Join(strings.Fields(lines[2]), " "); !strings.HasPrefix(got, "0 ? - - - - - - (outside") {
		t.Errorf("GPU row %q", got)
	}
	if got := strings.Join(strings.Fields(lines[5]), " "); got != "0 31877 ? - - - - - - (outside this container)" {
		t.Errorf("process row %q", got)
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
		if got := duration(d) + "/" + span(d); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
	if span(-time.Second) != "0s" {
		t.Error("a start in the future")
	}
}
