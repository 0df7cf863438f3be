package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

func TestParseChoice(t *testing.T) {
	o, err := parse(strings.Fields("--filter train -user=kim --sort -cpu --no-processes --view numbers --no-mouse --read-only"))
	want := monitor.Choice{Text: "train", User: "kim", Sort: monitor.ByCPU, Reverse: true, None: true}
	if err != nil || o.choice != want || o.view != "numbers" || !o.noMouse || !o.readOnly {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parse([]string{"--filter", "a b", "--filter=", "--sort", "-pid", "--sort=gpu"})
	if want := (monitor.Choice{Sort: monitor.ByGPU}); err != nil || o.choice != want {
		t.Errorf("the last one does not win: %+v, %v", o.choice, err)
	}
}

// TestParseErrors: one clear line each.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--sort", "--sort needs a value: [-]COLUMN"},
		{"--sort=", `--sort: "" is none of gpu, pid, user, type, sm, mem, enc, dec, cpu, host, time, command`},
		{"--sort memory", `--sort: "memory" is none of gpu, pid,`},
		{"--sort --json", `--sort: "-json" is none of gpu, pid,`},
		{"--filter", "--filter needs a value: TEXT"},
		{"--user", "--user needs a value: NAME"},
		{"--no-processes=yes", "--no-processes takes no value"},
		{"--view table", `--view: "table" is none of boxes, numbers, list, processes`},
		{"--view", "--view needs a value: VIEW"},
		{"--timeout soon", `--timeout: "soon" is no time`},
		{"--timeout 0", `--timeout: "0" is not within 0.001 to 86400 seconds`},
		{"--timeout 0.0000001", `--timeout: "0.0000001" is not within`},
		{"--timeout 0.9ms", `--timeout: "0.9ms" is not within`},
		{"--timeout 86401", `--timeout: "86401" is not within`},
		{"--read-only=no", "--read-only takes no value"},
	} {
		_, err := parse(strings.Fields(tt.args))
		checkUsage(t, tt.args, err, tt.want)
	}
}

func checkUsage(t *testing.T, of string, err error, want string) {
	t.Helper()
	var wrong *usageError
	if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.what, want) || strings.Contains(wrong.what, "\n") {
		t.Errorf("%s: %v, want %s", of, err, want)
	}
}

func TestLeastTimeout(t *testing.T) {
	if o, err := parse([]string{"--timeout", "0.001"}); err != nil || o.timeout != time.Millisecond {
		t.Errorf("%v, %v", o.timeout, err)
	}
}

func TestNoCommandInDefaults(t *testing.T) {
	_, err := parseLive("doctor", nil)
	checkUsage(t, "doctor", err, optsVariable+`: "doctor": no such command`)
}

func TestFlagsThatExcludeEachOther(t *testing.T) {
	const args = "--view processes --no-processes"
	o, err := parse(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	checkUsage(t, args, o.check(), "--view processes and --no-processes: one or the other")
}

// TestAPanicIsOneLine, which names the file with the trace.
func TestAPanicIsOneLine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // the same on Windows
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	was := os.Stderr
	os.Stderr = stderr
	code := run([]string{"--json"}, func(string) string { panic("no environment") })
	os.Stderr = was
	said, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	file, ok := strings.CutPrefix(strings.TrimSuffix(string(said), "\n"), "nvtop-lite: crashed; the trace is in ")
	if code != codeFailed || !ok || strings.Contains(file, "\n") {
		t.Fatalf("exit code %d, and it says\n%s", code, said)
	}
	trace, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(trace), "panic: no environment\n") || !strings.Contains(string(trace), "TestAPanicIsOneLine") {
		t.Errorf("%v\n%s", err, trace)
	}
}

func TestParseDefaultFlags(t *testing.T) {
	o, err := parseLive(" --view list\t--sort cpu  --user kim -i 5 --no-mouse\n", []string{"--sort", "pid", "--user=", "-i", "2"})
	if want := (monitor.Choice{Sort: monitor.ByPID}); err != nil || o.choice != want || o.view != "list" || !o.noMouse || o.interval.Seconds() != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, tt := range []struct{ defaults, want string }{
		{"--nvml /lib/x.so", "--nvml is no default flag"},
		{"-root=/x", "--root is no default flag"},
		{"--json", "--json is no default flag"},
		{"-1", "--once is no default flag"},
		{"-n 3", "--count is no default flag"},
		{"--help", "--help is no default flag"},
		{"-V", "--version is no default flag"},
		{"--view", "--view needs a value"},
		{"--sort big", `--sort: "big" is none of`},
		{"list", `"list": no such command`},
		{"--colour never", `"--colour": no such flag`},
	} {
		_, err := parseLive(tt.defaults, nil)
		checkUsage(t, tt.defaults, err, "NVTOP_LITE_OPTS: "+tt.want)
	}
	if o, err := parseLive("--ascii", []string{"--nvml", "/lib/x.so"}); err != nil || o.nvml != "/lib/x.so" || !o.ascii {
		t.Errorf("on the command line --nvml is right: %+v, %v", o, err)
	}
}

func TestOptionReadOnly(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true, "yes": true} {
		for _, raised := range []bool{false, true} {
			o, _ := parse(nil)
			if w := o.takeEnvironment(func(name string) string { return map[string]string{"NVTOP_LITE_READ_ONLY": value}[name] }, raised); o.readOnly != want || w != nil {
				t.Errorf("NVTOP_LITE_READ_ONLY=%s: %v, %q", value, o.readOnly, w)
			}
		}
	}
}

// TestElevated: whoever starts a program with more rights than his own does not
// choose by the environment what it loads and reads; flags, which only those give
// who may start it, count.
func TestElevated(t *testing.T) {
	chosen := map[string]string{"NVTOP_LITE_NVML": "/theirs.so", "NVTOP_LITE_ROOT": "/theirs", "NVTOP_LITE_OPTS": "--ascii"}
	getenv := func(name string) string { return chosen[name] }
	for _, tt := range []struct {
		raised     bool
		args       string
		nvml, root string
		ascii      bool
		warnings   int
	}{
		{raised: false, nvml: "/theirs.so", root: "/theirs", ascii: true},
		{raised: true, warnings: 3},
		{raised: false, args: "--nvml /ours.so --root /ours", nvml: "/ours.so", root: "/ours", ascii: true},
		{raised: true, args: "--nvml /ours.so --root /ours", nvml: "/ours.so", root: "/ours", warnings: 3},
	} {
		args := strings.Fields(tt.args)
		o, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		o, warnings, err := o.takeDefaults(args, getenv, tt.raised)
		if err != nil {
			t.Fatal(err)
		}
		warnings = append(warnings, o.takeEnvironment(getenv, tt.raised)...)
		if o.nvml != tt.nvml || o.root != tt.root || o.ascii != tt.ascii {
			t.Errorf("elevated %v, %q: library %q, root %q, ascii %v", tt.raised, tt.args, o.nvml, o.root, o.ascii)
		}
		text := strings.Join(warnings, "\n")
		if len(warnings) != tt.warnings || strings.Count(text, "is ignored, since this program runs with more rights") != tt.warnings {
			t.Errorf("elevated %v, %q: it warns\n%s", tt.raised, tt.args, text)
		}
		for name := range chosen {
			if tt.raised && !strings.Contains(text, name) {
				t.Errorf("no word of %s", name)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	o, err := parse(strings.Fields("record -i 5 r.gz --for 1h30m -n 7 --no-commands"))
	if err == nil {
		err = o.check()
	}
	if err != nil || o.command != commandRecord || o.operands[0] != "r.gz" || o.duration != 90*time.Minute || o.count != 7 || !o.noCommands {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parse([]string{"record", "r"}); err != nil || o.check() != nil || o.count != 0 {
		t.Errorf("it does not go on until it is stopped: %+v, %v", o, err)
	}
	if o, err = parse(strings.Fields("--speed=2.5 replay --at +5m -- -r")); err != nil || o.command != commandReplay || o.operands[0] != "-r" || o.speed != 2.5 || o.at != "+5m" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parse(strings.Fields("diff a - --json")); err != nil || len(o.operands) != 2 || o.operands[1] != "-" || o.mode != modeJSON {
		t.Errorf("%+v, %v", o, err)
	}
	for _, tt := range []struct{ args, want string }{
		{"record", "record needs FILE"},
		{"replay", "replay needs FILE"},
		{"diff", "diff needs OLD and NEW"},
		{"diff a", "diff needs NEW"},
		{"diff a b c", `"c": diff takes no more words`},
		{"summary a b", `"b": summary takes no more words`},
		{"doctor a", `"a": doctor takes no more words`},
		{"a b", `"a": no such command`},
		{"summary r --csv", "summary does not take --csv"},
		{"record r --json", "record does not take --json"},
		{"record r --view list", "record does not take --view"},
		{"replay r --interval 2", "replay does not take --interval"},
		{"replay r --demo", "replay does not take --demo"},
		{"diff a b --speed 2", "diff does not take --speed"},
		{"--speed 2", "--speed goes with the command replay"},
		{"--at +5m --json", "--at goes with the command replay or diff"},
		{"--for 5 --json", "--for goes with the command record"},
		{"-q", "--quiet goes with the command doctor"},
		{"record r --for 0", `--for: "0" is no time above 0`},
		{"record r --for -5m", `--for: "-5m" is no time above 0`},
		{"record r --for soon", `--for: "soon" is no time above 0`},
		{"replay r --speed 0", `--speed: "0" is no number within 0.1 to 1000`},
		{"replay r --speed NaN", `--speed: "NaN" is no number`},
		{"replay r --speed fast", `--speed: "fast" is no number`},
		{"replay r --at=", "--at needs a time"},
	} {
		o, err := parse(strings.Fields(tt.args))
		if err == nil {
			err = o.check()
		}
		checkUsage(t, tt.args, err, tt.want)
	}
	for args, want := range map[string]string{
		"record":              "nvtop-lite record [flags] FILE",
		"replay":              "nvtop-lite replay [flags] FILE",
		"summary a b":         "nvtop-lite summary [flags] FILE",
		"diff a":              "nvtop-lite diff [flags] OLD NEW",
		"doctor a":            "nvtop-lite doctor [flags]",
		"completion":          "nvtop-lite completion SHELL",
		"completion bash zsh": "nvtop-lite completion SHELL",
	} {
		_, err := parse(strings.Fields(args))
		if wrong, ok := err.(*usageError); !ok || wrong.hint != "usage: "+want || !strings.Contains(usage, want+"  ") {
			t.Errorf("%s: %+v; want the usage %s, as --help has it", args, err, want)
		}
	}
	_, err = parse([]string{"summary", ""})
	checkUsage(t, "summary ''", err, "summary: an empty name is no file")
}
