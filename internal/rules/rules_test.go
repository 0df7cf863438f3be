package rules

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	purego    = "github.com/ebitengine/purego"
	runewidth = "github.com/mattn/go-runewidth"
	sys       = "golang.org/x/sys"
	term      = "golang.org/x/term"
)

// mayImport says what a package's own files may import besides the standard
// library: folders of this module, and modules of others. A "*" is every
// folder of this module but those behind a "!".
var mayImport = map[string][]string{
	"nvml/gen": {purego},
	"nvml":     {"nvml/gen", purego, sys},

	"monitor":         {},
	"monitor/host":    {"monitor", sys},
	"monitor/process": {"monitor", "monitor/host", sys, purego},

	"monitor/driver": {"monitor", "monitor/host", "nvml"},
	"monitor/tegra":  {"monitor", "monitor/host"},
	"monitor/demo":   {"monitor", "monitor/host"},
	"monitor/wddm":   {"monitor", "monitor/host", sys},

	"monitor/sample": {"monitor", "monitor/host", "monitor/process"},
	"monitor/apart":  {"monitor", "internal/twomode", "monitor/sample", "internal/json", sys},

	"monitor/screen":  {"monitor", "internal/ansi"},
	"monitor/report":  {"monitor", "internal/ansi", "internal/json"},
	"monitor/record":  {"monitor", "monitor/report", sys},
	"monitor/summary": {"monitor", "monitor/report", "internal/ansi", "internal/json"},
	"monitor/diff":    {"monitor", "monitor/report", "internal/ansi", "internal/json"},
	"monitor/live":    {"monitor", "monitor/screen", "monitor/apart", "monitor/process", "monitor/record", "internal/ansi", "internal/json", sys},
	"monitor/doctor":  {"*", sys},

	"internal/ansi":           {term, sys, runewidth},
	"internal/json":           {},
	"internal/fakenvml":       {},
	"internal/fakenvml/build": {"internal/fakenvml"},
	"internal/fixture":        {sys},
	"internal/kept":           {},
	"internal/rules":          {},
	"internal/twomode":        {sys},

	"cmd/nvtop-lite": {"*", "!nvml", "!nvml/gen", sys},
}

// testOnly are packages that no other package's own files import, so that
// nothing of them gets into the program.
var testOnly = []string{"internal/fakenvml", "internal/fixture", "internal/kept", "internal/rules"}

// startsPrograms may use os/exec: the tests' C compiler is started there. The
// driver process needs less of it, and os/exec makes the program 24 kB larger.
var startsPrograms = []string{"internal/fakenvml"}

var systems = []string{"linux", "windows", "darwin"}

// modulePath is the name of the module around the test's folder.
func modulePath(t *testing.T) string {
	t.Helper()
	for _, line := range readLines(t, "go.mod") {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	t.Fatal("go.mod names no module")
	return ""
}

var root = filepath.Join("..", "..")

func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// imported is one import of one package on one system.
type imported struct {
	folder string // of the package, with slashes
	path   string
	file   string
	system string
}

// walkFiles calls visit for every file of the tree but those of hidden folders.
func walkFiles(t *testing.T, visit func(name string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") && name != ".ci":
			return fs.SkipDir
		case d.Type().IsRegular():
			visit(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// packageFolders are the folders with Go files of this module, without those
// of the modules nested in it.
func packageFolders(t *testing.T) []string {
	t.Helper()
	var folders, nested []string
	walkFiles(t, func(name string) {
		switch {
		case path.Base(name) == "go.mod" && name != "go.mod":
			nested = append(nested, path.Dir(name))
		case strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/"):
			folders = append(folders, path.Dir(name))
		}
	})
	folders = slices.Compact(folders)
	return slices.DeleteFunc(folders, func(folder string) bool {
		return slices.ContainsFunc(nested, func(n string) bool {
			return folder == n || strings.HasPrefix(folder, n+"/")
		})
	})
}

// imports are the imports of every package's own files, on every system.
func imports(t *testing.T) []imported {
	t.Helper()
	var all []imported
	for _, folder := range packageFolders(t) {
		for _, system := range systems {
			ctx := build.Default
			ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = system, "amd64", false
			p, err := ctx.ImportDir(filepath.Join(root, filepath.FromSlash(folder)), 0)
			var none *build.NoGoError
			if errors.As(err, &none) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range p.Imports {
				all = append(all, imported{folder, to, filepath.Base(p.ImportPos[to][0].Filename), system})
			}
			// Files with import "C" are not built without cgo, and are
			// forbidden for that very reason.
			if len(p.CgoFiles) > 0 {
				all = append(all, imported{folder, "C", p.CgoFiles[0], system})
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no imports found")
	}
	return all
}

// allowed tells whether a package may import another, which is a folder of
// this module or a package of another module.
func allowed(list []string, to string, ours bool) bool {
	if slices.Contains(list, "!"+to) {
		return false
	}
	return slices.ContainsFunc(list, func(a string) bool {
		if ours {
			return a == to || a == "*"
		}
		return to == a || strings.HasPrefix(to, a+"/")
	})
}

func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func TestImports(t *testing.T) {
	module := modulePath(t)
	for _, i := range imports(t) {
		list, known := mayImport[i.folder]
		if !known {
			t.Errorf("%s: what this package may import is not written in mayImport", i.folder)
			continue
		}
		to, ours := strings.CutPrefix(i.path, module+"/")
		switch {
		case i.path == "C":
			t.Errorf("%s/%s imports C: everything builds without cgo", i.folder, i.file)
		case ours && slices.Contains(testOnly, to) && !strings.HasPrefix(i.folder, to+"/"):
			t.Errorf("%s/%s imports %s, which is for tests", i.folder, i.file, to)
		case !ours && standard(i.path):
			checkStandard(t, i)
		case !allowed(list, to, ours):
			t.Errorf("%s/%s (%s) may not import %s", i.folder, i.file, i.system, i.path)
		}
	}
}

// checkStandard forbids what the program must not do at all: it opens no
// network connection, and starts no program but itself.
func checkStandard(t *testing.T, i imported) {
	t.Helper()
	switch {
	case i.path == "net" || strings.HasPrefix(i.path, "net/"):
		t.Errorf("%s/%s imports %s: this program uses no network", i.folder, i.file, i.path)
	case i.path == "os/exec" && !slices.Contains(startsPrograms, i.folder):
		t.Errorf("%s/%s imports os/exec: only %s start programs", i.folder, i.file, strings.Join(startsPrograms, " and "))
	case i.path == "plugin" || i.path == "runtime/cgo":
		t.Errorf("%s/%s imports %s", i.folder, i.file, i.path)
	}
}

// TestNoCgo looks for import "C" in the text, since a build
// constraint could hide a file from the other tests.
func TestNoCgo(t *testing.T) {
	importC := regexp.MustCompile(`(?m)^\s*(import\s+)?"C"\s*$`)
	for _, folder := range packageFolders(t) {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", folder, err, len(files))
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if importC.Match(text) {
				t.Errorf("%s imports C", file)
			}
		}
	}
}

// TestRequirements: every direct requirement is a decision, see RATIONALE.md.
func TestRequirements(t *testing.T) {
	want := []string{purego, runewidth, sys, term}
	var got []string
	inside := false
	for _, line := range readLines(t, "go.mod") {
		line, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		rest, single := strings.CutPrefix(line, "require ")
		switch {
		case line == "require (":
			inside = true
		case line == ")":
			inside = false
		case (inside || single) && strings.TrimSpace(comment) != "indirect":
			if f := strings.Fields(rest); len(f) == 2 {
				got = append(got, f[0])
			}
		}
		if strings.HasPrefix(line, "replace ") {
			t.Errorf("go.mod has %q, which importers would not get", line)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("go.mod requires directly\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNoMachinePaths: nothing in the tree depends on the machine it was
// written on.
func TestNoMachinePaths(t *testing.T) {
	// Written so that this file does not match itself.
	places := regexp.MustCompile(`(?i)/wor[k]/|/tmp/bash_job[s]|/tmp/brie[f]|/root/g[o]\b|C:\\Users\\[A-Za-z]+\\`)
	seen := 0
	walkFiles(t, func(name string) {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Size() > 4<<20 {
			return // what a build left there
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			return
		}
		if strings.Contains(string(text[:min(len(text), 8000)]), "\x00") {
			return // binary
		}
		seen++
		if at := places.FindIndex(text); at != nil {
			line := 1 + strings.Count(string(text[:at[0]]), "\n")
			t.Errorf("%s:%d names a place of one machine: %s", name, line, text[at[0]:at[1]])
		}
	})
	if seen < 50 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// TestRulesThemselves: the checks above refuse what they should.
func TestRulesThemselves(t *testing.T) {
	for _, c := range []struct {
		folder, to string
		ours, want bool
	}{
		{"nvml", "nvml/gen", true, true},
		{"nvml", "monitor", true, false},
		{"nvml/gen", "nvml", true, false},
		{"monitor", sys + "/unix", false, false},
		{"monitor/screen", "monitor/sample", true, false},
		{"cmd/nvtop-lite", "monitor/live", true, true},
		{"cmd/nvtop-lite", "nvml", true, false},
		{"cmd/nvtop-lite", "nvml/gen", true, false},
		{"internal/ansi", sys + "/windows", false, true},
		{"internal/ansi", sys + "x", false, false},
		{"internal/ansi", "monitor", true, false},
	} {
		if got := allowed(mayImport[c.folder], c.to, c.ours); got != c.want {
			t.Errorf("%s may import %s: %v", c.folder, c.to, got)
		}
	}
	for p, want := range map[string]bool{"os/exec": true, "net": true, "golang.org/x/sys/unix": false} {
		if standard(p) != want {
			t.Errorf("standard(%q) is not %v", p, want)
		}
	}
}
