package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

func TestThisProcess(t *testing.T) {
	tab := NewTable(host.Open(""), Names{}, false)
	began := time.Now()
	p := fillOne(tab, uint32(os.Getpid()), second)
	if want := filepath.Base(os.Args[0]); !strings.EqualFold(p.Name.Value, want) {
		t.Errorf("name %+v, want %s", p.Name, want)
	}
	if p.Namespace != monitor.NamespaceSame || !p.User.Known() || p.User.Value == "" {
		t.Errorf("%v, user %+v", p.Namespace, p.User)
	}
	// Old systems do not tell the command line, and say so.
	if p.Command.Known() && !strings.Contains(p.Command.Value, "-test.") || !p.Command.Known() && p.Command.Reason != monitor.NotSupported {
		t.Errorf("command %+v", p.Command)
	}
	if v, _ := p.HostMemoryBytes.Int(); v < 1<<20 {
		t.Errorf("%d bytes, %v", v, p.HostMemoryBytes.Reason)
	}
	start, ok := p.StartTime.Int()
	if age := began.Sub(time.Unix(0, start)); !ok || age < -2*time.Second || age > time.Hour {
		t.Errorf("started %v ago", age)
	}
	if ticks, ok := p.StartTicks.Int(); !ok || ticks != start/1000 {
		t.Errorf("start %d, want the µs of %d", ticks, start)
	}
	if p.Container.Reason != monitor.NotSupported || p.Job.Reason != monitor.NotSupported {
		t.Errorf("%+v %+v", p.Container, p.Job)
	}
	for spent := time.Now(); time.Since(spent) < 100*time.Millisecond; {
	}
	p = fillOne(tab, uint32(os.Getpid()), second+time.Since(began).Nanoseconds()+int64(window))
	if v, ok := p.CPUPercent.Float(); !ok || v <= 0 {
		t.Errorf("CPU load %v, %v", v, p.CPUPercent.Reason)
	}
	if title := allTitles()[uint32(os.Getpid())]; !strings.EqualFold(title, filepath.Base(os.Args[0])) {
		t.Errorf("the list of all processes calls us %q", title)
	}
}

func TestNobody(t *testing.T) {
	tab := NewTable(host.Open(""), Names{}, false)
	unknownBecause(t, "PID 0", fillOne(tab, 0, second), monitor.NotFound)
	unknownBecause(t, "no such PID", fillOne(tab, 0xFFFFFFF0, second), monitor.NotFound)
}
