package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSetModule renames a small module, wherever its path stands.
func TestSetModule(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	script, err := os.ReadFile("set-module.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// OLD and NEW stand for the two paths.
	files := map[string]struct{ before, after string }{
		"go.mod":       {"module OLD\n\ngo 1.25.0\n", "module NEW\n\ngo 1.25.0\n"},
		"extra/go.mod": {"module OLD/extra\n\nrequire OLD v0.0.0\n\nreplace OLD => ..\n", "module NEW/extra\n\nrequire NEW v0.0.0\n\nreplace NEW => ..\n"},
		"room/a.go":    {"package room\n\nimport _ \"OLD/room/inner\"\n", "package room\n\nimport _ \"NEW/room/inner\"\n"},
		"README.md": {
			"`go doc\nOLD/room` tells (OLD/room/inner too).\ngo mod edit -require=OLD@v0.0.0 -replace=OLD=../OLD\n",
			"`go doc\nNEW/room` tells (NEW/room/inner too).\ngo mod edit -require=NEW@v0.0.0 -replace=NEW=../OLD\n",
		},
		"notes.txt": {
			"OLD/room\nthe program OLD, ./cmd/OLD/room, example.net/OLD/room, \"OLD/1\"\n",
			"NEW/room\nthe program OLD, ./cmd/OLD/room, example.net/OLD/room, \"OLD/1\"\n",
		},
	}
	names := strings.NewReplacer("OLD", "old-name", "NEW", "example.org/me/old-name")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("scripts/set-module.sh", string(script))
	for name, f := range files {
		write(name, names.Replace(f.before))
	}
	run := func(path string) (string, error) {
		out, err := exec.Command("sh", filepath.Join(dir, "scripts", "set-module.sh"), "--no-test", path).CombinedOutput()
		return string(out), err
	}
	if out, err := run("example.org/me/old-name"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, f := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if want := names.Replace(f.after); string(got) != want {
			t.Errorf("%s is\n%swant\n%s", name, got, want)
		}
	}
	// What it does not know how to change is told, and does not pass.
	write("odd.txt", "example.org/me/old-name/room,example.org/me/old-name/room\n")
	if out, err := run("example.org/other"); err == nil || !strings.Contains(out, "odd.txt:1:") {
		t.Errorf("%v\n%s", err, out)
	}
}
