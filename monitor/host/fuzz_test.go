package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzStat(f *testing.F) {
	f.Add([]byte(procStat))
	f.Add([]byte("cpu  18446744073709551615 1 1 1 1\nbtime -1\n"))
	f.Add([]byte("cpu\nbtime 99999999999999999999\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseCPU(data); err == nil && c.busy > c.total {
			t.Errorf("busy %d of %d", c.busy, c.total)
		}
		if b, err := parseBootTime(data); err == nil && b < 0 {
			t.Errorf("boot time %d", b)
		}
	})
}

func FuzzMeminfo(f *testing.F) {
	f.Add([]byte(serverMeminfo), "MemTotal")
	f.Add([]byte("MemTotal: 18446744073709551615 kB\n"), "MemTotal")
	f.Add([]byte("MemTotal:\n"), "MemTotal")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		if v, ok := parseMeminfo(data, key); ok && !strings.Contains(string(data), key+":") {
			t.Errorf("%d for a key that is not there", v)
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add([]byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\n"))
	f.Add([]byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"))
	f.Add([]byte("NVRM version: 1.\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := parseModuleVersion(data); v != "" && !isVersion(v) {
			t.Errorf("version %q", v)
		}
	})
}

func FuzzJetson(f *testing.F) {
	f.Add([]byte("# R36 (release), REVISION: 4.4, GCID: 41062509\n"))
	f.Add([]byte("nvidia,p3701-0005\x00nvidia,tegra234\x00"))
	f.Add([]byte("pmode:0002 fmode:x\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := parseRelease(data); v != "" && !isVersion(v) {
			t.Errorf("L4T %q", v)
		}
		id, _ := parsePowerMode(data)
		for _, s := range []string{parseCompatible(data), parsePowerModeName(data, id)} {
			if !utf8.ValidString(s) {
				t.Errorf("%q", s)
			}
		}
	})
}

// FuzzLine looks for files of one line whose text is none, or whose number does not
// stand there.
func FuzzLine(f *testing.F) {
	for _, content := range []string{"345\n", "32760 ma\n", "-20\n", "+7", "007\n", "gpu\x00", " \t\r\n\x00", "", "1\n2\n", "\xff\x00\xfe", "9223372036854775808\n", "0x10\n", "1_000\n"} {
		f.Add(content)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(filepath.Join(dir, "line"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		line := Root(dir).Line("/line")
		if line.Known() != (line.Value != "") || !utf8.ValidString(line.Value) || cleanLine([]byte(line.Value)) != line.Value {
			t.Errorf("%q is %+v", content, line)
		}
		if n, ok := Root(dir).Number("/line").Int(); ok {
			word, _, _ := strings.Cut(strings.TrimLeft(content, " \t\r\n\x00"), " ")
			digits := strings.TrimLeft(strings.TrimLeft(strings.TrimRight(word, "\t\r\n\x00"), "+-"), "0")
			if want := strings.TrimLeft(strconv.FormatInt(n, 10), "-"); want != digits && (n != 0 || digits != "") {
				t.Errorf("%q is %d", content, n)
			}
		}
	})
}
