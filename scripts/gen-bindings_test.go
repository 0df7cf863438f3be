package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// pinnedHeader reads the header in the version that go.mod requires.
var pinnedHeader = sync.OnceValues(func() ([]byte, error) {
	dir, err := headerFolder("")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "gen", "nvml", headerName))
})

// loadPinned returns a model of its own for each test.
func loadPinned(t *testing.T) (*Model, []byte) {
	t.Helper()
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(header)
	if err != nil {
		t.Fatal(err)
	}
	return m, header
}

// counts are what is known of one version of the header from counting by other
// means than this generator.
var counts = map[string]map[string]int{
	"13.4.92": {
		"functions": 428, "deprecated": 29, "version words": 65, "handles": 7,
		"1 parameter or none": 45, "2 parameters": 227, "3 parameters": 119,
		"4 parameters": 29, "5 parameters": 7, "6 parameters": 1,
		"struct typedefs": 239, "union typedefs": 4, "enum typedefs": 67, "pointer typedefs": 7,
		"unsigned typedefs": 7, "unsigned char typedefs": 2, "unsigned long long typedefs": 1,
		"struct definitions": 186, "union definitions": 4, "enumerators": 877,
		"functions returning a string": 1, "macros with a value": 747,
	},
}

func TestCounts(t *testing.T) {
	m, _ := loadPinned(t)
	got := map[string]int{
		"functions": len(m.Funcs), "version words": len(m.Words), "handles": len(m.Handles),
	}
	for _, f := range m.Funcs {
		if f.Deprecated != "" {
			got["deprecated"]++
		}
		if f.String {
			got["functions returning a string"]++
		}
		switch n := len(f.Params); n {
		case 0, 1:
			got["1 parameter or none"]++
		default:
			got[fmt.Sprint(n, " parameters")]++
		}
	}
	for kind, n := range m.Typedefs {
		got[kind+" typedefs"] = n
	}
	for _, r := range m.Records {
		if r.Union {
			got["union definitions"]++
		} else {
			got["struct definitions"]++
		}
	}
	for _, e := range m.Enums {
		got["enumerators"] += len(e.Enumerators)
	}
	got["macros with a value"] = len(m.Words)
	for _, x := range m.Macros {
		if !x.Range {
			got["macros with a value"]++
		}
	}
	want, ok := counts[m.Version]
	if !ok {
		t.Logf("nothing is known of version %s but what was counted now: %v", m.Version, got)
		for _, kind := range []string{"functions", "version words", "handles", "struct definitions", "enumerators"} {
			if got[kind] < counts["13.4.92"][kind] {
				t.Errorf("%d %s, fewer than 13.4.92 has", got[kind], kind)
			}
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		for k := range want {
			if got[k] != want[k] {
				t.Errorf("%s: %d, want %d", k, got[k], want[k])
			}
		}
		for k := range got {
			if _, ok := want[k]; !ok {
				t.Errorf("%s: %d, want none", k, got[k])
			}
		}
	}
}

func TestVersionWords(t *testing.T) {
	m, _ := loadPinned(t)
	words := map[string]uint32{}
	for _, w := range m.Words {
		words[w.CName] = w.Word
	}
	for name, want := range map[string]uint32{
		"nvmlMemory_v2": 0x02000028, "nvmlTemperature_v1": 0x0100000c, "nvmlFanSpeedInfo_v1": 0x0100000c,
		"nvmlGpuFabricInfo_v3": 0x03000028, "nvmlVgpuSchedulerLogInfo_v1": 0x010025a0, "nvmlNvLinkInfo_v2": 0x0200064c,
		"nvmlC2cModeInfo_v1": 0x01000004, "nvmlProcessDetailList_v1": 0x01000018,
	} {
		if words[name] != want {
			t.Errorf("%s is %#x, want %#x", name, words[name], want)
		}
	}
}

func TestGeneratedFilesAreFresh(t *testing.T) {
	if err := run("..", "", "", true); err != nil {
		t.Error(err)
	}
}

func TestStaleFilesAreNamed(t *testing.T) {
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "nvml.h")
	write(t, path, header)
	if err := run(dir, "", path, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, "", path, true); err != nil {
		t.Errorf("files just written are not fresh: %v", err)
	}
	write(t, filepath.Join(dir, "nvml", "gen", "enum.go"), []byte("package gen\n"))
	if err := os.Remove(filepath.Join(dir, "internal", "abi", "echo.c")); err != nil {
		t.Fatal(err)
	}
	err = run(dir, "", path, true)
	if err == nil {
		t.Fatal("a changed and a missing file are called fresh")
	}
	want := "internal/abi/echo.c is missing, run go generate ./nvml/gen\nnvml/gen/enum.go is not fresh, run go generate ./nvml/gen"
	if err.Error() != want {
		t.Errorf("the error says\n%v\nwant\n%s", err, want)
	}
}

func TestOutputIsDeterministic(t *testing.T) {
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	one, err := Generate(header)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		two, err := Generate(header)
		if err != nil {
			t.Fatal(err)
		}
		for name := range one {
			if !bytes.Equal(one[name], two[name]) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	}
}

// Older headers need another version number and nothing else. The packages
// generated from them compile, and every method reaches its function.
func TestOlderHeaders(t *testing.T) {
	for _, version := range []string{"v0.12.0-1", "v0.13.0-1"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			if err := run(dir, version, "", false); err != nil {
				t.Fatal(err)
			}
			copyFile(t, filepath.Join("..", "go.mod"), filepath.Join(dir, "go.mod"))
			copyFile(t, filepath.Join("..", "go.sum"), filepath.Join(dir, "go.sum"))
			sources, err := filepath.Glob(filepath.Join("..", "nvml", "gen", "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sources {
				name := filepath.Base(s)
				text, err := os.ReadFile(s)
				if err != nil {
					t.Fatal(err)
				}
				// library_test.go names functions of the newest header.
				if bytes.HasPrefix(text, []byte(generatedMark)) || name == "library_test.go" {
					continue
				}
				write(t, filepath.Join(dir, "nvml", "gen", name), text)
			}
			for _, target := range targets {
				cmd := exec.Command("go", "vet", "./nvml/gen")
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.goos, "GOARCH="+target.goarch, "GOFLAGS=-mod=mod -buildvcs=false")
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: go vet: %v\n%s", target, err, out)
				}
			}
			cmd := exec.Command("go", "test", "./nvml/gen")
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go test: %v\n%s", err, out)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, text)
}

func TestModuleSumsAreChecked(t *testing.T) {
	sums := []byte("github.com/NVIDIA/go-nvml v1.2.3 h1:right=\ngithub.com/NVIDIA/go-nvml v1.2.3/go.mod h1:other=\n")
	for _, c := range []struct{ version, sum, want string }{
		{"v1.2.3", "h1:right=", ""},
		{"v1.2.3", "h1:wrong=", "github.com/NVIDIA/go-nvml v1.2.3 has the sum h1:wrong=, go.sum says h1:right="},
		{"v1.2.4", "h1:right=", "go.sum has no sum of github.com/NVIDIA/go-nvml v1.2.4"},
	} {
		err := checkSum(sums, c.version, c.sum)
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%s %s: %v, want %q", c.version, c.sum, err, c.want)
		}
	}
	if _, err := headerFolder("v0.11.1-0"); err == nil {
		t.Error("a version that go.sum does not know is taken")
	}
}

// noticeYears is what changes in the notice from year to year.
var noticeYears = regexp.MustCompile(`1993-[0-9]{4}`)

// The header asks that its notice be carried in documentation and code.
func TestTheNoticeIsCarried(t *testing.T) {
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	text := string(header)
	text = text[strings.Index(text, "/*\n * Copyright"):]
	text = text[:strings.Index(text, "*/")]
	var lines []string
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*")); s != "" && s != "/*" {
			lines = append(lines, noticeYears.ReplaceAllString(s, ""))
		}
	}
	if len(lines) < 25 {
		t.Fatalf("the header's notice has %d lines", len(lines))
	}
	for _, path := range []string{"../NOTICE", "../nvml/gen/doc.go"} {
		have, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		rest := noticeYears.ReplaceAllString(string(have), "")
		for _, line := range lines {
			_, after, ok := strings.Cut(rest, line)
			if !ok {
				t.Errorf("%s lacks %q, or not in this place", path, line)
				break
			}
			rest = after
		}
	}
}

// Nothing of the header's prose may get into what is generated.
func TestNoProseIsCopied(t *testing.T) {
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Generate(header)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, name := range sortedNames(files) {
		all.Write(files[name])
	}
	phrases := 0
	for _, m := range regexp.MustCompile(`(?m)(?://!<|^ \*) *(.*)$`).FindAllSubmatch(header, -1) {
		words := strings.Fields(string(m[1]))
		for i := 0; i+4 <= len(words); i += 4 {
			phrase := strings.Join(words[i:i+4], " ")
			if !regexp.MustCompile(`^[A-Za-z ,.'-]{18,}$`).MatchString(phrase) {
				continue
			}
			phrases++
			if bytes.Contains(all.Bytes(), []byte(phrase)) {
				t.Errorf("the header's words %q are in the output", phrase)
			}
		}
	}
	if phrases < 1000 {
		t.Errorf("only %d phrases were looked for", phrases)
	}
}

func TestEveryGeneratedFileIsMarked(t *testing.T) {
	header, err := pinnedHeader()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Generate(header)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		mark := generatedMark
		if !strings.HasSuffix(name, ".go") {
			mark = cMark
		}
		if !bytes.HasPrefix(text, []byte(mark+"\n")) {
			t.Errorf("%s does not begin with %q", name, mark)
		}
	}
	// What stands in the folders marked as generated is what is generated.
	for _, dir := range []string{"nvml/gen", "internal/abi"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			if _, ok := files[name]; !ok && bytes.Contains(text, []byte("scripts/gen-bindings.go; DO NOT EDIT")) {
				t.Errorf("%s is marked as generated and is not", name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
