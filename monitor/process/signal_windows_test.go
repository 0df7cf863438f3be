package process

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// TestMain makes this program one that only waits, for the tests that need
// such a process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_WAIT") != "" {
		os.Stdin.Read(make([]byte, 1))
		return
	}
	os.Exit(m.Run())
}

func waiting(t *testing.T) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TEST_WAIT=1")
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Process.Kill()
		child.Wait()
	})
	return child
}

func TestTerminate(t *testing.T) {
	s := NewSignaller(host.Open(""))
	child := waiting(t)
	p := fillOne(NewTable(host.Open(""), Names{}, false), uint32(child.Process.Pid), second)
	if _, err := s.Pin(&p); err == nil || !strings.Contains(err.Error(), "a child of this program") {
		t.Errorf("our own child: %v", err)
	}
	s.self = 0
	target, err := s.Pin(&p)
	if err != nil {
		t.Fatal(err)
	}
	reused := target
	reused.StartTicks++
	if err := s.Send(reused, Signals()[0]); err == nil || !strings.Contains(err.Error(), "is another process by now") {
		t.Errorf("PID in other hands: %v", err)
	}
	if alive, _ := s.Alive(reused); alive {
		t.Error("another process of that number counts as the one that was pinned")
	}
	if err := s.Send(target, Signal{Name: "SIGTERM", Number: 15}); err == nil || !strings.Contains(err.Error(), "cannot be sent here") {
		t.Errorf("not on offer: %v", err)
	}
	if alive, stuck := s.Alive(target); !alive || stuck {
		t.Errorf("alive %v, stuck %v", alive, stuck)
	}
	if err := s.Send(target, Signals()[0]); err != nil {
		t.Fatal(err)
	}
	child.Process.Wait()
	if alive, _ := s.Alive(target); alive {
		t.Error("alive after its end")
	}
	if err := s.Send(target, Signals()[0]); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("ended: %v", err)
	}
}

func TestNeverTerminated(t *testing.T) {
	s := NewSignaller(host.Open(""))
	tab := NewTable(host.Open(""), Names{}, false)
	for name, tt := range map[string]struct {
		p    monitor.Process
		says string
	}{
		"PID 0":     {monitor.Process{StartTicks: monitor.OfInt(0)}, "no process"},
		"ourselves": {fillOne(tab, uint32(os.Getpid()), second), "is this program"},
		"no start":  {monitor.Process{PID: 4242}, "started is unknown"},
	} {
		if target, err := s.Pin(&tt.p); err == nil || !strings.Contains(err.Error(), tt.says) || target != (Target{}) {
			t.Errorf("%s: %+v, %v", name, target, err)
		}
	}
	if got := Folder(host.Open(""), &monitor.Process{PID: uint32(os.Getpid()), StartTicks: monitor.OfInt(1)}); got.Reason != monitor.NotSupported {
		t.Errorf("folder %+v", got)
	}
}
