//go:build linux

package termtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/fakenvml"
)

// twoMode builds the file of two modes.
func twoMode(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nvtop-lite")
	build := exec.Command("go", "-C", "../../scripts/twomode", "run", ".", "-o", file)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestKeysWithoutStandardInput: where standard input is closed or no terminal, keys
// come from the terminal of the session, in both files; and every way out restores
// it, whatever is closed.
func TestKeysWithoutStandardInput(t *testing.T) {
	fake := fakenvml.New(t, "580", "gpus 1\ngpu 0 util 42\n")
	for name, file := range map[string]string{"plain": own(t), "two modes": twoMode(t)} {
		for _, streams := range []string{"<&-", "</dev/null", "2>&-", "<&- 2>&-", "<&- 2>/dev/null"} {
			for _, kill := range []bool{false, true} {
				t.Run(name+" "+streams, func(t *testing.T) {
					s := runFile(t, "/bin/sh", 90, 25, fake.Env(), "-c", `exec "$0" --nvml "$1" `+streams, file, fake.Path())
					s.file = file
					s.see("42%")
					s.press("h")
					s.see("Keys")
					want := 0
					if kill {
						want = 137
						s.signal(unix.SIGKILL)
					} else {
						s.press("hq")
					}
					if code := s.end(); code != want {
						t.Errorf("exit status %d, want %d", code, want)
					}
					s.restored()
					gone(t, file)
				})
			}
		}
	}
}
