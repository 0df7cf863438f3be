package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhereItIsWritten: a name is seen from where the caller stands, also by "go -C".
func TestWhereItIsWritten(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, pwd, want string }{
		{"/a/../file", "/home/kim", "/file"},
		{"file", "/home/kim", "/home/kim/file"},
		{"../file", "/home/kim", "/home/file"},
		{"./-", "/home/kim", "/home/kim/-"},
		{"file", "", filepath.Join(here, "file")},
		{"file", "kim", filepath.Join(here, "file")},
	} {
		if got, err := target(c.name, c.pwd); got != c.want || err != nil {
			t.Errorf("-o %s in %q is %q, %v; want %s", c.name, c.pwd, got, err, c.want)
		}
	}
	// The wrong name is found before anything is built.
	cmd := exec.Command("go", "-C", here, "run", ".", "-o", "-")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "twomode: -o -: it writes a file") {
		t.Errorf("-o - says %v\n%s", err, out)
	}
	for _, dir := range []string{here, cmd.Dir} {
		if _, err := os.Stat(filepath.Join(dir, "-")); err == nil {
			t.Errorf("a file called - is in %s", dir)
		}
	}
}

func TestArchitectureOfThisMachine(t *testing.T) {
	for here, want := range map[string]string{"amd64": "amd64", "arm64": "arm64", "riscv64": "amd64"} {
		if got := hostArch(here); got != want {
			t.Errorf("on %s it is %s, want %s", here, got, want)
		}
	}
}
