package emutest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/ansi"
)

// tmux is a terminal emulator that shares no code with the other one: it must
// show the frame at the end of a stream of changes too.
func TestTmuxShowsTheFrame(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tmux is missing")
		}
		t.Skip("tmux is missing: apt-get install tmux")
	}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			w, h := 20+r.IntN(60), 5+r.IntN(15)
			f := ansi.NewFrame(w, h)
			var out bytes.Buffer
			out.WriteString("\x1b[?1049h\x1b[?25l\x1b[?7l")
			writer := ansi.NewWriter(&out)
			for range 30 {
				for range r.IntN(20) {
					draw(f, r.IntN)
				}
				if r.IntN(8) == 0 {
					writer.Invalidate()
				}
				if _, err := writer.Flush(f); err != nil {
					t.Fatal(err)
				}
			}
			e := emulator(t, w, h)
			write(t, e, capture(t, tmux, out.Bytes(), w, h))
			if err := same(e, f); err != nil {
				t.Errorf("%v\n%s", err, f)
			}
		})
	}
}

// capture shows a stream in a tmux of its own and returns the screen as text
// with colours.
func capture(t *testing.T, tmux string, stream []byte, w, h int) []byte {
	dir := t.TempDir()
	file := filepath.Join(dir, "stream")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-u", "-f", "/dev/null", "-S", filepath.Join(dir, "socket")}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "TMUX=")
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("tmux %v: %v", args, err)
		}
		return b
	}
	done := filepath.Join(dir, "done")
	run("start-server", ";", "set-option", "-g", "status", "off", ";", "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h),
		"stty raw -echo; cat '"+file+"'; printf '\\033[6n'; dd bs=1 count=1 of='"+done+"' 2>/dev/null; sleep 1000")
	defer run("kill-server")
	// The answer to the question for the cursor's place comes when all before it
	// is drawn.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if st, err := os.Stat(done); err == nil && st.Size() > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("tmux did not show the stream")
		}
	}
	lines := strings.TrimSuffix(string(run("capture-pane", "-p", "-e", "-N")), "\n")
	return []byte(strings.ReplaceAll(lines, "\n", "\r\n"))
}
