package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree is a module with a program of version 1.2.3.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "cmd", name, "main.go"), "package main\n\nconst version = \"1.2.3\"\n")
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// commit makes a commit of all that is in a folder, as of a time.
func commit(t *testing.T, root, when string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+when, "GIT_AUTHOR_DATE=2001-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

const someDay = "1764500000"

func TestWhatIsNoRelease(t *testing.T) {
	there := t.TempDir()
	for _, c := range []struct {
		what  string
		args  []string
		env   map[string]string
		alter func(root string)
		want  string
		usage bool
	}{
		{what: "no version", want: "usage: scripts/release.sh VERSION [FOLDER]", usage: true},
		{what: "too much", args: []string{"1.2.3", "a", "b"}, want: "usage:", usage: true},
		{what: "a tag", args: []string{"v1.2.3"}, want: `"v1.2.3" is no version such as`, usage: true},
		{what: "two numbers", args: []string{"1.2"}, want: `"1.2" is no version`, usage: true},
		{what: "a leading zero", args: []string{"1.02.3"}, want: `"1.02.3" is no version`, usage: true},
		{what: "build metadata", args: []string{"1.2.3+a"}, want: `"1.2.3+a" is no version`, usage: true},
		{what: "another version", args: []string{"1.2.4"}, want: "the program is version 1.2.3, not 1.2.4: cmd/nvtop-lite/main.go says so"},
		{what: "a folder that exists", args: []string{"1.2.3", there}, want: there + " is there already"},
		{what: "no folder", args: []string{"1.2.3", "-"}, want: "a release is a folder of files", usage: true},
		{what: "no date", args: []string{"1.2.3"}, want: "no checkout of Git: SOURCE_DATE_EPOCH must say"},
		{what: "a date in words", args: []string{"1.2.3"}, env: map[string]string{"SOURCE_DATE_EPOCH": "today"}, want: `SOURCE_DATE_EPOCH: "today" is no time`},
		{what: "a date before all zips", args: []string{"1.2.3"}, env: map[string]string{"SOURCE_DATE_EPOCH": "0"}, want: `"0" is no time`},
		{what: "no such key", args: []string{"1.2.3"}, env: map[string]string{"NVTOP_LITE_SIGNING_KEY": filepath.Join(there, "key")}, want: "NVTOP_LITE_SIGNING_KEY: stat " + there},
		{what: "no version in the source", args: []string{"1.2.3"}, alter: func(root string) { put(t, filepath.Join(root, "cmd", name, "main.go"), "package main\n") }, want: "has no line const version"},
		{what: "a file that nobody added", args: []string{"1.2.3"}, alter: func(root string) {
			commit(t, root, "2026-01-02T03:04:05Z")
			put(t, filepath.Join(root, "a.go"), "package main\n")
			put(t, filepath.Join(root, "b.go"), "package main\n")
		}, want: "the tree has changes that are in no commit: ?? a.go and 1 more"},
		{what: "a file that was changed", args: []string{"1.2.3"}, env: map[string]string{"SOURCE_DATE_EPOCH": someDay}, alter: func(root string) {
			put(t, filepath.Join(root, "a.go"), "package main\n")
			commit(t, root, "2026-01-02T03:04:05Z")
			put(t, filepath.Join(root, "a.go"), "package other\n")
		}, want: "in no commit: M a.go"},
	} {
		root := tree(t)
		if c.alter != nil {
			c.alter(root)
		}
		_, err := newSettings(t.Context(), root, c.args, func(key string) string { return c.env[key] })
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || errors.Is(err, errUsage) != c.usage {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestToolsThatAreMissing: before anything is built.
func TestToolsThatAreMissing(t *testing.T) {
	root, key := tree(t), filepath.Join(t.TempDir(), "key")
	put(t, key, "x")
	put(t, filepath.Join(root, ".git"), "x")
	t.Setenv("PATH", t.TempDir())
	env := map[string]string{"NVTOP_LITE_SIGNING_KEY": key}
	for _, want := range []string{"ssh-keygen is missing", "git is missing"} {
		_, err := newSettings(t.Context(), root, []string{"1.2.3"}, func(key string) string { return env[key] })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		clear(env)
	}
}

// TestTheDateIsThatOfTheCommit, unless another one is told.
func TestTheDateIsThatOfTheCommit(t *testing.T) {
	root := tree(t)
	commit(t, root, "2026-01-02T03:04:05+09:00")
	env := map[string]string{"NVTOP_LITE_URL": "https://example.org/x/"}
	s, err := newSettings(t.Context(), root, []string{"1.2.3"}, func(key string) string { return env[key] })
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 1, 1, 18, 4, 5, 0, time.UTC); s.time != want {
		t.Errorf("it is of %v, want %v", s.time, want)
	}
	if s.out != filepath.Join(root, "dist") || s.url != "https://example.org/x" || s.home != s.url {
		t.Errorf("%+v", s)
	}
	env["SOURCE_DATE_EPOCH"] = someDay
	if s, err = newSettings(t.Context(), root, []string{"1.2.3"}, func(key string) string { return env[key] }); err != nil || s.time.Unix() != 1764500000 {
		t.Errorf("%v, %v", s.time, err)
	}
}

// TestNothingIsLeftOfHalfARelease: the program of this tree cannot be built.
func TestNothingIsLeftOfHalfARelease(t *testing.T) {
	root, parent := tree(t), filepath.Join(t.TempDir(), "releases")
	put(t, filepath.Join(root, "go.mod"), "module example.org/x\n\ngo 1.25.0\n")
	for _, file := range []string{"LICENSE", "NOTICE", manFile} {
		put(t, filepath.Join(root, file), "x")
	}
	err := run(t.Context(), root, []string{"1.2.3", filepath.Join(parent, "new")}, func(key string) string {
		return map[string]string{"SOURCE_DATE_EPOCH": someDay}[key]
	})
	if err == nil || !strings.Contains(err.Error(), "go build: exit status 1") || !strings.Contains(err.Error(), "main is undeclared") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
