//go:build unix

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	initialPID    = "pid:[4026531836]"
	otherPID      = "pid:[4026532744]"
	initialCgroup = "cgroup:[4026531835]"
	otherCgroup   = "cgroup:[4026532833]"
)

// fakeRoot is a root with one process, 4242, made of files. A name that ends in
// @ is a link, one that ends in / a folder.
func fakeRoot(t *testing.T, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		"etc/passwd":            "root:x:0:0:root:/root:/bin/bash\nkim:x:1000:1000::/home/kim:/bin/sh\n",
		"proc/stat":             "cpu  1 1 1 1 1 1 1 0 0 0\nbtime 1767225600\n",
		"proc/self/ns/pid@":     initialPID,
		"proc/self/ns/cgroup@":  initialCgroup,
		"proc/self/mounts":      "proc /proc proc rw,nosuid 0 0\n",
		"proc/4242/stat":        statLine(4242, "python3", "S", 1000, 500, 360050, 3),
		"proc/4242/statm":       "9 3 1 1 0 1 0\n",
		"proc/4242/cmdline":     "python3\x00-u\x00/src/train.py\x00--lr\x001e-4\x00",
		"proc/4242/status":      "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n",
		"proc/4242/cgroup":      "0::/system.slice/docker-" + id1 + ".scope\n",
		"proc/4242/fd/0@":       "/dev/null",
		"proc/4242/fd/1@":       "pipe:[1]",
		"proc/4242/fd/17@":      "/dev/nvidiactl",
		"proc/4242/ns/pid@":     initialPID,
		"sys/module/nvidia/dir": "",
	}
	for name, content := range change {
		if content == "-" {
			delete(files, name)
		} else {
			files[name] = content
		}
	}
	return fixture.Tree(t, files)
}

func fillTree(t *testing.T, change map[string]string, pid uint32) monitor.Process {
	t.Helper()
	return fillOne(NewTable(host.Open(fakeRoot(t, change)), Names{}, false), pid, second)
}

func TestServer(t *testing.T) {
	p := fillTree(t, nil, 4242)
	if p.Namespace != monitor.NamespaceSame || p.Name.Value != "train.py" || p.Command.Value != "python3 -u /src/train.py --lr 1e-4" || p.User.Value != "kim" {
		t.Errorf("%v %+v %+v %+v", p.Namespace, p.Name, p.Command, p.User)
	}
	if v, _ := p.StartTicks.Int(); v != 360050 || p.StartTicks.At != second {
		t.Errorf("start %d", v)
	}
	if hz := host.Open("").ClockTicks(); hz == 100 {
		if v, _ := p.StartTime.Int(); v != (1767225600+3600)*second+second/2 {
			t.Errorf("started at %d", v)
		}
	}
	if v, _ := p.HostMemoryBytes.Int(); v != 3*int64(os.Getpagesize()) {
		t.Errorf("%d bytes", v)
	}
	if p.Container != (monitor.Container{Runtime: "docker", ID: id1, Reason: monitor.Known}) {
		t.Errorf("%+v", p.Container)
	}
	if p.Job != (monitor.Job{Reason: monitor.Known}) {
		t.Errorf("%+v", p.Job)
	}
	if p.CPUPercent.Reason != monitor.NotSampled {
		t.Errorf("%v", p.CPUPercent)
	}
}

func TestNamespaces(t *testing.T) {
	container := map[string]string{"proc/self/ns/pid@": otherPID}
	with := func(m map[string]string, kv ...string) map[string]string {
		all := map[string]string{}
		for k, v := range m {
			all[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			all[kv[i]] = kv[i+1]
		}
		return all
	}
	tests := []struct {
		name      string
		change    map[string]string
		pid       uint32
		namespace monitor.Namespace
		why       monitor.Reason // of the name; Known: train.py
	}{
		{"a machine", nil, 4242, monitor.NamespaceSame, monitor.Known},
		{"a machine, no device open", map[string]string{"proc/4242/fd/17@": "-"}, 4242, monitor.NamespaceUnknown, monitor.Known},
		{"a machine, files closed to us", map[string]string{"proc/4242/fd/0@": "-", "proc/4242/fd/1@": "-", "proc/4242/fd/17@": "-"}, 4242, monitor.NamespaceSame, monitor.Known},
		{"a machine, nobody there", nil, 4243, monitor.NamespaceUnknown, monitor.NotFound},
		{"no process", nil, 0, monitor.NamespaceUnknown, monitor.NotFound},
		{"no PID at all", map[string]string{"proc/4294967295/stat": statLine(1, "x", "S", 0, 0, 0, 0)}, 4294967295, monitor.NamespaceUnknown, monitor.NotFound},
		{"a container, our own", container, 4242, monitor.NamespaceSame, monitor.Known},
		{"a container, another process of that number", with(container, "proc/4242/fd/17@", "-"), 4242, monitor.NamespaceOutside, monitor.NotFound},
		{"a container, files closed to us", with(container, "proc/4242/fd/0@", "-", "proc/4242/fd/1@", "-", "proc/4242/fd/17@", "-"), 4242, monitor.NamespaceOutside, monitor.NoPermission},
		{"a container, nobody there", container, 4243, monitor.NamespaceOutside, monitor.NotFound},
		{"a sandbox, ours", map[string]string{"proc/self/ns/pid@": "-"}, 4242, monitor.NamespaceSame, monitor.Known},
		{"a sandbox, not verified", map[string]string{"proc/self/ns/pid@": "-", "proc/4242/fd/17@": "-"}, 4242, monitor.NamespaceUnknown, monitor.NotFound},
		{"a sandbox, nobody there", map[string]string{"proc/self/ns/pid@": "-"}, 4243, monitor.NamespaceUnknown, monitor.NotFound},
		{"WSL", with(container, "dev/dxg", "", "proc/4242/fd/17@", "/dev/dxg"), 4242, monitor.NamespaceSame, monitor.Known},
		{"WSL, one of Windows", with(container, "dev/dxg", ""), 4243, monitor.NamespaceOutside, monitor.NotFound},
		{"WSL, one of Windows with a number that is used here", with(container, "dev/dxg", "", "proc/4242/fd/17@", "-"), 4242, monitor.NamespaceOutside, monitor.NotFound},
		{"Jetson Orin", with(container, "proc/4242/fd/17@", "/dev/nvmap"), 4242, monitor.NamespaceSame, monitor.Known},
		{"Jetson Orin, host1x", with(container, "proc/4242/fd/17@", "/dev/nvhost-gpu"), 4242, monitor.NamespaceSame, monitor.Known},
		{"Jetson Thor", with(container, "proc/4242/fd/17@", "/dev/nvidia0"), 4242, monitor.NamespaceSame, monitor.Known},
		{"hidepid=2", map[string]string{"proc/self/mounts": "proc /proc proc rw,hidepid=2 0 0\n"}, 4243, monitor.NamespaceUnknown, monitor.NoPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := fillTree(t, tt.change, tt.pid)
			if p.Namespace != tt.namespace {
				t.Errorf("namespace %v, want %v", p.Namespace, tt.namespace)
			}
			if tt.why != monitor.Known {
				unknownBecause(t, tt.name, p, tt.why)
			} else if p.Name.Value != "train.py" {
				t.Errorf("%+v", p.Name)
			}
		})
	}
}

func TestOddProcesses(t *testing.T) {
	t.Run("zombie", func(t *testing.T) {
		p := fillTree(t, map[string]string{
			"proc/4242/stat": statLine(4242, "python3", "Z", 1, 1, 5, 0), "proc/4242/cmdline": "",
			"proc/4242/fd/0@": "-", "proc/4242/fd/1@": "-", "proc/4242/fd/17@": "-", "proc/4242/fd/": "",
		}, 4242)
		if p.Name.Value != "[python3]" || p.Command.Reason != monitor.NotFound || p.HostMemoryBytes.Reason != monitor.NotFound || p.User.Value != "kim" || p.Namespace != monitor.NamespaceSame {
			t.Errorf("%+v", p)
		}
	})
	t.Run("an account without a name", func(t *testing.T) {
		if p := fillTree(t, map[string]string{"proc/4242/status": "Uid:\t5555\t0\t0\t0\n"}, 4242); p.User.Value != "5555" {
			t.Errorf("%+v", p.User)
		}
	})
	t.Run("no accounts at all", func(t *testing.T) {
		if p := fillTree(t, map[string]string{"etc/passwd": "-"}, 4242); p.User.Value != "1000" {
			t.Errorf("%+v", p.User)
		}
	})
	t.Run("text that is no text", func(t *testing.T) {
		p := fillTree(t, map[string]string{"proc/4242/cmdline": "tool\xff\x00" + strings.Repeat("ä", 5000) + "\x00"}, 4242)
		if p.Name.Value != "tool\uFFFD" || len(p.Command.Value) > 4096 || len(p.Command.Value) < 4090 || strings.ToValidUTF8(p.Command.Value, "") != p.Command.Value {
			t.Errorf("%q, %d bytes", p.Name.Value, len(p.Command.Value))
		}
	})
	t.Run("a private cgroup namespace", func(t *testing.T) {
		p := fillTree(t, map[string]string{"proc/self/ns/cgroup@": otherCgroup, "proc/4242/cgroup": "0::/\n"}, 4242)
		if p.Container.Reason != monitor.NotSupported || p.Job.Reason != monitor.NotSupported {
			t.Errorf("nothing to be seen must not mean that there is none: %+v %+v", p.Container, p.Job)
		}
		p = fillTree(t, map[string]string{"proc/self/ns/cgroup@": otherCgroup, "proc/4242/cgroup": "0::/../docker-" + id1 + ".scope\n"}, 4242)
		if p.Container.ID != id1 || p.Container.Reason != monitor.Known || p.Job.Reason != monitor.NotSupported {
			t.Errorf("%+v %+v", p.Container, p.Job)
		}
	})
	t.Run("no boot time", func(t *testing.T) {
		p := fillTree(t, map[string]string{"proc/stat": "-"}, 4242)
		if p.StartTime.Reason != monitor.NotSupported || !p.StartTicks.Known() {
			t.Errorf("%v %v", p.StartTime.Reason, p.StartTicks.Reason)
		}
	})
	t.Run("no memory to be read", func(t *testing.T) {
		p := fillTree(t, map[string]string{"proc/4242/statm": "-"}, 4242)
		if p.HostMemoryBytes.Reason != monitor.NotFound || p.Name.Value != "train.py" {
			t.Errorf("%v, %+v", p.HostMemoryBytes.Reason, p.Name)
		}
		p = fillTree(t, map[string]string{"proc/4242/statm": "x y\n"}, 4242)
		if p.HostMemoryBytes.Reason != monitor.Implausible {
			t.Errorf("%v", p.HostMemoryBytes.Reason)
		}
	})
	t.Run("a torn stat", func(t *testing.T) {
		p := fillTree(t, map[string]string{"proc/4242/stat": "4242 (python3"}, 4242)
		unknownBecause(t, "torn", p, monitor.Implausible)
	})
	t.Run("the device behind a thousand files", func(t *testing.T) {
		change := map[string]string{"proc/self/ns/pid@": otherPID}
		for i := 100; i < 1100; i++ {
			change["proc/4242/fd/"+strconv.Itoa(i)+"@"] = "socket:[" + strconv.Itoa(i) + "]"
		}
		change["proc/4242/fd/17@"], change["proc/4242/fd/1100@"] = "-", "/dev/nvidia-uvm"
		if p := fillTree(t, change, 4242); p.Namespace != monitor.NamespaceSame {
			t.Errorf("%v", p.Namespace)
		}
	})
}

func TestPasswdChanges(t *testing.T) {
	root := fakeRoot(t, nil)
	u := users{root: host.Root(root)}
	if u.name(1000) != "kim" || u.name(1001) != "1001" {
		t.Error(u.name(1000), u.name(1001))
	}
	if err := os.WriteFile(filepath.Join(root, "etc/passwd"), []byte("lee:x:1001:1::/:\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.readAt = u.readAt.Add(-2 * passwdAgain)
	if got := u.name(1001); got != "lee" {
		t.Errorf("a new account is called %q", got)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/passwd"), []byte("ann:x:1001:1::/:\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.readAt = u.readAt.Add(-2 * nameHolds)
	if got := u.name(1001); got != "ann" {
		t.Errorf("a renamed account is called %q", got)
	}
}

// BenchmarkFill is the cost of a round with processes that are known.
func BenchmarkFill(b *testing.B) {
	const n = 4096
	root := b.TempDir()
	list := make([]monitor.Process, n)
	for i := range list {
		list[i].PID = uint32(i + 1)
		dir := filepath.Join(root, "proc", strconv.Itoa(i+1))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(statLine(uint32(i+1), "x", "S", 1, 1, 1, 1)), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "statm"), []byte("9 3 1 1 0 1 0\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	tab := NewTable(host.Open(root), Names{}, false)
	now := second
	tab.Fill(list, true, now)
	b.ReportAllocs()
	for b.Loop() {
		now += second
		tab.Fill(list, true, now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/process")
}

// TestMemoryThatStays: the exact file costs as much as all the others, so it is read
// when the rough number that comes for nothing has changed, or after 5 s; by a
// one-shot and a stream always.
func TestMemoryThatStays(t *testing.T) {
	for _, complete := range []bool{false, true} {
		root := fakeRoot(t, nil)
		set := func(rough uint64, exact string) {
			t.Helper()
			for name, text := range map[string]string{"stat": statLine(4242, "python3", "S", 1000, 500, 360050, rough), "statm": exact + "\n"} {
				if err := os.WriteFile(filepath.Join(root, "proc/4242", name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		tab := NewTable(host.Open(root), Names{}, complete)
		now := 100 * second
		want := func(pages, age int64) {
			t.Helper()
			if complete {
				age = 0
			}
			m := fillOne(tab, 4242, now).HostMemoryBytes
			if v, ok := m.Int(); !ok || v != pages*int64(os.Getpagesize()) || now-m.At != age*second {
				t.Errorf("complete %v: %d bytes, %v old; want %d pages, %d s old", complete, v, time.Duration(now-m.At), pages, age)
			}
		}
		set(3, "9 4 1")
		want(4, 0)
		now += 4 * second
		want(4, 4)
		now += second
		want(4, 0) // read again
		now += second
		set(5, "9 6 1")
		want(6, 0)
	}
}
