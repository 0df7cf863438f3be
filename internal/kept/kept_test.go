package kept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeep: once each, and whatever a schema could refuse.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Folder, dir)
	text := func() string {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%v: %v", err, paths)
		}
		b, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const gpu = `{"schema":"x","gpus":[{"power_mw":1.5,"state":"ok","unavailable":{}}]}`
	Keep([]byte("a table\n" + gpu + "\n" + gpu + "\n"))
	if got := text(); strings.Count(got, "\n") != 1 {
		t.Errorf("kept\n%s", got)
	}
	n := 1
	for _, line := range []string{
		`{"schema":"x","gpus":[{"power_mw":2.5,"state":"ok","unavailable":{}},{"power_mw":null,"state":"ok","unavailable":{"power_mw":"timeout"}}]}`,
		`{"schema":"x","gpus":[{"power_mw":null,"state":"ok","unavailable":{}}]}`,
		`{"schema":"x","gpus":[{"power_mw":1.5,"state":"ok","unavailable":{"power_mw":"timeout"}}]}`,
		`{"schema":"x","gpus":[{"power_mw":-1.5,"state":"ok","unavailable":{}}]}`,
		`{"schema":"x","gpus":[{"power_mw":1.5,"state":"odd","unavailable":{}}]}`,
		`{"schema":"x","gpus":[{"power_mw":1.5,"unavailable":{}}]}`,
		`{"schema":"x","gpus":[{"power_mw":1.5,"state":"ok","new":1,"unavailable":{}}]}`,
		`{"schema":"x","gpus":[],"time":"2026-01-02T03:04:05Z"}`,
		`{"schema":"x","gpus":[],"time":"2026-01-02T03:04:05"}`,
		`{"schema":"x","gpus":[],"fans":[{"rpm":null}],"unavailable":{"fans[0].rpm":"timeout"}}`,
		`{"schema":"x","gpus":[],"fans":[{"rpm":null}],"unavailable":{}}`,
		`{"schema":"x" broken}`,
	} {
		Keep([]byte(line))
		n++
		if got := text(); strings.Count(got, "\n") != n {
			t.Fatalf("not kept: %s\n%s", line, got)
		}
		Keep([]byte(strings.NewReplacer("1.5", "12.25", "2026", "2027").Replace(line)))
		if got := text(); strings.Count(got, "\n") != n && !strings.Contains(line, "broken") {
			t.Fatalf("kept twice: %s\n%s", line, got)
		}
	}
	if got := text(); strings.Contains(got, "2.5") {
		t.Errorf("a GPU that has nothing new was kept:\n%s", got)
	}
}
