//go:build linux

package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// recorded runs record on the simulated machine.
func recorded(t testing.TB, path string, args ...string) result {
	t.Helper()
	return run(t, nil, append([]string{program(t, "linux", "amd64"), "record", "--demo", "-i", "0.1", path}, args...)...)
}

// linesOf reads a recording, plain or compressed.
func linesOf(t testing.TB, path string) []object {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		t.Errorf("%s has no line end", path)
	}
	var all []object
	for line := range strings.Lines(string(text)) {
		all = append(all, parse(t, line))
	}
	return all
}

func TestRecord(t *testing.T) {
	for _, name := range []string{"r.ndjson", "r.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			for round := range 3 { // each appends to what is there
				r := recorded(t, path, "-n", "2")
				says(t, r, 0, "")
				if r.out != "" {
					t.Errorf("on standard output: %s", r.out)
				}
				all := linesOf(t, path)
				if len(all) != 2*(round+1) {
					t.Fatalf("round %d: %d snapshots", round, len(all))
				}
				for _, s := range all {
					checkSnapshot(t, s)
					if s.text("source") != "demo" || len(s.objects("gpus")) == 0 {
						t.Errorf("%v", s)
					}
				}
			}
			if f, err := os.Stat(path); err != nil || f.Mode().Perm() != 0o600 {
				t.Errorf("%v %v: others may read it", f.Mode(), err)
			}
		})
	}
}

// TestRecordEnds: however it is stopped, the file is whole.
func TestRecordEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		code int
	}{{"int", syscall.SIGINT, 0}, {"term", syscall.SIGTERM, 143}, {"hup", syscall.SIGHUP, 129}, {"quit", syscall.SIGQUIT, 131}, {"kill", syscall.SIGKILL, -1}} {
		for _, ext := range []string{".ndjson", ".gz"} {
			t.Run(tt.name+ext, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "r"+ext)
				cmd := exec.Command(program(t, "linux", "amd64"), "record", "--demo", "-i", "0.1", path)
				cmd.Env = environment()
				var said strings.Builder
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
					// A snapshot has some 14 kB, and a tenth of that in a .gz.
					if f, err := os.Stat(path); err == nil && f.Size() > 60<<10 || err == nil && ext == ".gz" && f.Size() > 8<<10 {
						break
					} else if time.Now().After(deadline) {
						t.Fatal("nothing is recorded")
					}
				}
				_ = cmd.Process.Signal(tt.sig)
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != tt.code || said.String() != "" {
					t.Errorf("exit code %d, want %d: %s", code, tt.code, said.String())
				}
				if tt.sig == syscall.SIGKILL {
					says(t, recorded(t, path, "-n", "1"), 0, "") // which puts right what was cut off
				}
				if all := linesOf(t, path); len(all) < 2 {
					t.Errorf("%d snapshots", len(all))
				}
			})
		}
	}
	t.Run("for", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for seconds := 1; ; seconds *= 2 { // the driver process's start counts
			path := filepath.Join(dir, fmt.Sprint(seconds))
			says(t, recorded(t, path, "--for", fmt.Sprint(seconds)), 0, "")
			if _, err := os.Stat(path); err == nil && len(linesOf(t, path)) > 1 {
				break
			}
			if seconds > 60 {
				t.Fatalf("no two snapshots in %d seconds", seconds)
			}
		}
	})
}

func TestRecordToStandardOutput(t *testing.T) {
	r := recorded(t, "-", "-n", "2")
	if r.code != 0 || r.err != "" || strings.Count(r.out, "\n") != 2 {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	defer out.Close()
	cmd := exec.Command(program(t, "linux", "amd64"), "record", "--demo", "-")
	cmd.Env = environment()
	cmd.Stdout = out
	if said, err := stderrOf(cmd); err != nil || said != "" {
		t.Errorf("a closed pipe: %v %s", err, said)
	}
}

func TestRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	newer := write("newer", `{"schema":"nvtop-lite/9","time":"2026-01-02T03:04:05Z"}`+"\n")
	other := write("other", "a letter to a friend\n")
	for path, want := range map[string]string{
		newer:                         `nvtop-lite/9`,
		other:                         "other",
		dir:                           "directory",
		filepath.Join(dir, "no", "x"): "no such file or directory",
		"/dev/full":                   "no space left on device",
	} {
		if path == "/dev/full" { // which has no end
			says(t, recorded(t, path, "-n", "1"), 1, want)
			continue
		}
		before, _ := os.ReadFile(path)
		says(t, recorded(t, path, "-n", "1"), 1, want)
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
}

// TestNothingToRecord leaves no file behind.
func TestNothingToRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	r := run(t, nil, program(t, "linux", "amd64"), "record", "--nvml", "/nowhere.so", path)
	if r.code != 1 || !strings.HasPrefix(r.err, "nvtop-lite: no NVML library") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty file is left")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, program(t, "linux", "amd64"), "record", "--nvml", "/nowhere.so", path)
	if _, err := os.Stat(path); err != nil {
		t.Error("a file that was there is gone")
	}
}

// TestRecordIsKilled: at most the last line is lost each time.
func TestRecordIsKilled(t *testing.T) {
	for _, name := range []string{"r.ndjson", "r.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			least := 0
			for round := range 6 {
				cmd := exec.Command(program(t, "linux", "amd64"), "record", "--demo", "-i", "0.1", path)
				cmd.Env = environment()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				size := func() int64 {
					if f, err := os.Stat(path); err == nil {
						return f.Size()
					}
					return 0
				}
				before := size()
				for deadline := time.Now().Add(patience); size() <= before && time.Now().Before(deadline); {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(time.Duration(37*round) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				s := summaryOf(t, path, least > 0)
				if s == nil {
					continue
				}
				n := number(t, s["snapshots"])
				if n < least {
					t.Fatalf("round %d: %d snapshots, where %d were", round, n, least)
				}
				least = n
			}
			says(t, recorded(t, path, "-n", "1"), 0, "")
			if all := linesOf(t, path); len(all) < least+1 {
				t.Errorf("%d snapshots, want %d", len(all), least+1)
			}
		})
	}
}

func number(t testing.TB, v any) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(fmt.Sprint(v), &n); err != nil {
		t.Fatalf("%v is no number", v)
	}
	return n
}

// summaryOf is the summary of a recording, nil where there may be none.
func summaryOf(t testing.TB, path string, must bool) object {
	t.Helper()
	r := run(t, nil, program(t, "linux", "amd64"), "summary", "--json", path)
	if r.code != 0 {
		if must {
			t.Fatalf("exit code %d: %s", r.code, r.err)
		}
		return nil
	}
	return parse(t, r.out)
}

func TestRecordWithoutProcesses(t *testing.T) {
	dir := t.TempDir()
	fake := fakenvml.New(t, "580", "gpus 2\n")
	nvtop := program(t, "linux", "amd64")
	for _, flag := range []string{"--no-commands", "--no-processes"} {
		path := filepath.Join(dir, flag)
		says(t, run(t, nil, nvtop, "record", "--demo", "-n", "1", flag, path), 0, "")
		for _, g := range linesOf(t, path)[0].objects("gpus") {
			for _, p := range g.objects("processes") {
				if flag == "--no-processes" || p["command"] != nil || p["name"] == nil {
					t.Errorf("%s: %v", flag, p)
				}
			}
		}
	}
	path := filepath.Join(dir, "one")
	says(t, run(t, nil, nvtop, "record", "--nvml", fake.Path(), "-g", "1", "-n", "1", path), 0, "")
	if gpus := linesOf(t, path)[0].objects("gpus"); len(gpus) != 1 || number(t, gpus[0]["index"]) != 1 {
		t.Errorf("%v", gpus)
	}
	obeys(t, fake)
}

func TestSummaryAndDiff(t *testing.T) {
	dir := t.TempDir()
	nvtop := program(t, "linux", "amd64")
	a, b := filepath.Join(dir, "a.ndjson"), filepath.Join(dir, "b.gz")
	says(t, recorded(t, a, "-n", "5"), 0, "")
	says(t, recorded(t, b, "-n", "3", "-g", "0,1"), 0, "")

	s := summaryOf(t, a, true)
	if number(t, s["snapshots"]) != 5 || len(s.objects("gpus")) < 4 || s.text("schema") != "nvtop-lite-summary/1" {
		t.Errorf("%v", s)
	}
	if s := parse(t, run(t, nil, nvtop, "summary", "--json", "-g", "1", a).out); len(s.objects("gpus")) != 1 {
		t.Errorf("of one GPU: %v", s.objects("gpus"))
	}
	says(t, run(t, nil, nvtop, "summary", "-g", "9", a), 1, "no such GPU: 9", "recording")
	says(t, run(t, []string{"CUDA_VISIBLE_DEVICES=GPU-4242", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, nvtop, "summary", "-g", "visible", a), 1, "CUDA_VISIBLE_DEVICES shows no GPU", "recording")
	for _, args := range [][]string{{"summary", a}, {"summary", b}, {"diff", "-g", "0-1", a, b}, {"diff", "--at", "+0s,+1h", a, a}} {
		r := run(t, nil, append([]string{nvtop}, args...)...)
		if r.code != 0 || r.err != "" || r.out == "" || strings.Contains(r.out, "\x1b") {
			t.Errorf("%q: exit code %d: %s\n%s", args, r.code, r.err, r.out)
		}
		for line := range strings.Lines(r.out) {
			if len([]rune(line)) > 81 {
				t.Errorf("%q: a line of %d columns: %s", args, len([]rune(line)), line)
			}
		}
	}
	// A pipe is read from its beginning to its end.
	text, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"summary", "--json", "-"}, {"diff", "--json", "-", a}} {
		cmd := exec.Command(nvtop, args...)
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v %s", args, err, err.(*exec.ExitError).Stderr)
		}
		parse(t, string(out))
	}
	says(t, run(t, nil, nvtop, "diff", "--at", "-0s", "-", a), 2, "--at needs files", "file first")
	says(t, run(t, nil, nvtop, "diff", "-", "-"), 2, "standard input cannot be both", "--help")
	says(t, run(t, nil, nvtop, "diff", "--at", "noon", a, a), 2, "--at: ", "--help")
	if d := parse(t, run(t, nil, nvtop, "diff", "--json", "-g", "0,1", a, b).out); d.text("schema") != "nvtop-lite-diff/1" {
		t.Errorf("%v", d)
	}
	r := run(t, nil, nvtop, "diff", a, b)
	if r.code != 3 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "only in old: GPU-") || r.out != "" {
		t.Errorf("other GPUs: exit code %d: %s\n%s", r.code, r.err, r.out)
	}
}

func TestBadRecordings(t *testing.T) {
	dir := t.TempDir()
	nvtop := program(t, "linux", "amd64")
	good := strings.TrimSuffix(demo(t, "--json").out, "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"empty":   {"", "empty"},
		"none":    {"hello\nworld\n", "none"},
		"newer":   {good + "\n" + `{"schema":"nvtop-lite/2","time":"2030-01-02T03:04:05Z"}` + "\n", `line 2: schema "nvtop-lite/2"`},
		"doctor":  {`{"schema":"nvtop-lite-doctor/1"}` + "\n", `schema "nvtop-lite-doctor/1"`},
		"garbage": {"\x1f\x8b\x08\x00garbage that is no gzip", "garbage"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"summary", path}, {"diff", path, path}} {
			r := run(t, nil, append([]string{nvtop}, args...)...)
			if r.code != 1 || !strings.Contains(r.err, tt.want) || strings.Count(r.err, "\n") > 2 || r.out != "" {
				t.Errorf("%q: exit code %d: %s\n%s", args, r.code, r.err, r.out)
			}
		}
	}
	says(t, run(t, nil, nvtop, "summary", filepath.Join(dir, "absent")), 1, "no such file")
	says(t, run(t, nil, nvtop, "summary", dir), 1, "directory")

	// What is broken is passed over, counted and named.
	path := filepath.Join(dir, "broken")
	if err := os.WriteFile(path, []byte(good+"\n{\"schema\":\"nvtop-lite/1\",\"ti\n\x00\x01\n"+good+"\n"+good[:len(good)/2]), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, nil, nvtop, "summary", path)
	if r.code != 0 || !strings.Contains(r.out, "2, 3") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	if s := summaryOf(t, path, true); number(t, s["snapshots"]) != 2 {
		t.Errorf("%v", s["snapshots"])
	}
}

func TestReplayNeedsATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	says(t, recorded(t, path, "-n", "1"), 0, "")
	says(t, run(t, nil, program(t, "linux", "amd64"), "replay", path), 2, "replay needs a terminal", "summary")
}

// TestAStreamWaitsForTheDriver, as the live screen does.
func TestAStreamWaitsForTheDriver(t *testing.T) {
	const absent = "init 9\n"
	fake := fakenvml.New(t, "580", absent)
	nvtop := program(t, "linux", "amd64")
	r := run(t, nil, nvtop, "--nvml", fake.Path(), "--json", "-i", "0.1", "-n", "3")
	says(t, r, 1, "driver is not loaded", "modprobe nvidia")
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		s := parse(t, line)
		if w := s.objects("warnings"); len(s.objects("gpus")) != 0 || len(w) != 1 || w[0].text("code") != "waiting" || w[0]["hint"] == nil {
			t.Errorf("%s", line)
		}
	}
	says(t, run(t, nil, nvtop, "--nvml", fake.Path(), "--json"), 1, "driver is not loaded", "modprobe nvidia")

	path := filepath.Join(t.TempDir(), "r")
	cmd := exec.Command(nvtop, "record", "--nvml", fake.Path(), "-i", "0.1", path)
	cmd.Env = environment()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	recorded := func(what string, ok func(text string) bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if text, _ := os.ReadFile(path); ok(string(text)) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("it never records %s", what)
			}
		}
	}
	recorded("that it waits", func(text string) bool { return strings.Contains(text, `"code":"waiting"`) })
	fake.SetScenario("gpus 2\n")
	recorded("the GPUs", func(text string) bool { return strings.Contains(text, `"index":1`) })
	_ = cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	s := summaryOf(t, path, true)
	if len(s.objects("gpus")) != 2 {
		t.Errorf("%v", s)
	}
}

// TestDamageIsTold: compressed data that cannot be read is data that is missing.
func TestDamageIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.gz")
	says(t, recorded(t, path, "-n", "2"), 0, "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(append(append([]byte(nil), text...), "between two recordings"...), text...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, nil, program(t, "linux", "amd64"), "summary", path)
	if r.code != 0 || !strings.Contains(r.out, "compressed data is damaged in 1 place: what was there is lost") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	if s := summaryOf(t, path, true); number(t, s["snapshots"]) != 4 || number(t, s["damaged_parts"]) != 1 {
		t.Errorf("%v", s)
	}
}
