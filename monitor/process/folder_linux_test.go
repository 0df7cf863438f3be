package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

func TestFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "a place")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "1000")
	child.Dir = dir
	start(t, child)
	defer child.Wait()
	defer child.Process.Kill()
	h := host.Open("")
	p := listed(child)
	if got := Folder(h, p); got != monitor.OfText(dir) {
		t.Errorf("%+v, want %s", got, dir)
	}
	other := *p
	start, _ := p.StartTicks.Int()
	other.StartTicks = monitor.OfInt(start + 1)
	if got := Folder(h, &other); got.Reason != monitor.NotFound {
		t.Errorf("another process of that number: %+v", got)
	}
	other.StartTicks = monitor.Unknown(monitor.Timeout)
	if got := Folder(h, &other); got.Reason != monitor.Timeout {
		t.Errorf("a process that is not known: %+v", got)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got := Folder(h, p); got.Value != dir+" (deleted)" {
		t.Errorf("removed: %+v", got)
	}
	child.Process.Kill()
	child.Wait()
	if got := Folder(h, p); got.Reason != monitor.NotFound {
		t.Errorf("ended: %+v", got)
	}
}

func TestFolderUnderARoot(t *testing.T) {
	root := fakeRoot(t, map[string]string{"proc/4242/cwd@": "/src/\xff"})
	p := fillOne(NewTable(host.Open(root), Names{}, false), 4242, second)
	if got := Folder(host.Open(root), &p); got != monitor.OfText("/src/\uFFFD") {
		t.Errorf("%+v", got)
	}
}

func TestFolderThatDoesNotAnswer(t *testing.T) {
	hang := make(chan struct{})
	for range maxPending {
		got := within(1, func() monitor.Text {
			<-hang
			return monitor.OfText("/")
		})
		if got.Reason != monitor.Timeout {
			t.Errorf("%+v", got)
		}
	}
	// Enough of them wait: nobody else is sent after them.
	got := within(1, func() monitor.Text {
		t.Error("asked")
		return monitor.Text{}
	})
	if got.Reason != monitor.Timeout {
		t.Errorf("%+v", got)
	}
	close(hang)
	for len(asked) > 0 { // until they have answered
		runtime.Gosched()
	}
}
