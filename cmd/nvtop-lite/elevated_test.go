//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// capability is what setcap cap_chown+ep writes: revision 2, in force at once, and
// the lowest bit of those that are permitted.
const capability = "\x01\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// TestRaised: a program that root's set-uid bit or a capability raises takes no
// library from its caller's variables.
func TestRaised(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a program root's for everyone")
	}
	dir := t.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	status, _ := os.ReadFile("/proc/self/status")
	if fs.Flags&syscall.MS_NOSUID != 0 || strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Skip("set-uid bits have no effect here")
	}
	text, err := os.ReadFile(program(t, "linux", "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "nvtop-lite")
	if err := os.WriteFile(exe, text, 0o755); err != nil {
		t.Fatal(err)
	}
	theirs := fakenvml.New(t, "580", still)
	for _, tt := range []struct {
		mode   os.FileMode
		caps   string
		raised bool
	}{{0o755, "", false}, {0o755 | os.ModeSetuid, "", true}, {0o755, capability, true}} {
		if err := os.Chmod(exe, tt.mode); err != nil {
			t.Fatal(err)
		}
		if tt.caps != "" {
			if err := syscall.Setxattr(exe, "security.capability", []byte(tt.caps), 0); err != nil {
				t.Skipf("files can have no capabilities here: %v", err)
			}
		}
		r := runAsUser(t, exe, theirs.Path(), "env", "NVTOP_LITE_NVML="+theirs.Path(), "NVTOP_LITE_ROOT=/", exe, "doctor", "--json")
		for _, name := range []string{"NVTOP_LITE_NVML", "NVTOP_LITE_ROOT"} {
			if says := strings.Contains(r.err, name+" is ignored"); says != tt.raised {
				t.Errorf("mode %v, capability %q: it says %q", tt.mode, tt.caps, r.err)
			}
		}
		if named := strings.Contains(r.out, theirs.Path()); named == tt.raised {
			t.Errorf("mode %v, capability %q: exit code %d, the caller's library is in its page: %v\n%s", tt.mode, tt.caps, r.code, named, r.out)
		}
	}
}
