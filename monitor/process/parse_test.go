package process

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"nvtop-lite/monitor"
)

// statLine makes a line of /proc/PID/stat.
func statLine(pid uint32, comm, state string, utime, stime, start, pages uint64) string {
	return fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 4194304 100 0 0 0 %d %d 0 0 20 0 1 0 %d 12345678 %d 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		pid, comm, state, utime, stime, start, pages)
}

func TestParseStat(t *testing.T) {
	for _, comm := range []string{"python3", "(a b) c)", "", ") R 1 1 1", "new\nline"} {
		s, err := parseStat([]byte(statLine(7, comm, "S", 30, 12, 9000, 77)))
		if err != nil || s != (stat{comm: comm, state: 'S', parent: 1, cpu: 42, threads: 1, start: 9000, rss: 77}) {
			t.Errorf("%q: %+v, %v", comm, s, err)
		}
	}
	for _, bad := range []string{"", "7", "7 (x", "7 (x) ", "7 )x( S", "7 (x) S 1 2 3", strings.Replace(statLine(7, "x", "S", 1, 1, 999, 1), "999", "-1", 1)} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, s)
		}
	}
}

func TestParseUID(t *testing.T) {
	if uid, ok := parseUID([]byte("Name:\tUid: 5\nUmask:\t0022\nUid:\t1000\t0\t0\t0\nGid:\t5\n")); !ok || uid != 1000 {
		t.Errorf("%d %v, want the real uid", uid, ok)
	}
	for _, bad := range []string{"", "Uid:\n", "Uid:\t-1\n", "Uid:\t4294967296\n"} {
		if uid, ok := parseUID([]byte(bad)); ok {
			t.Errorf("%q gives %d", bad, uid)
		}
	}
}

func TestParsePasswd(t *testing.T) {
	names := parsePasswd([]byte("root:x:0:0:root:/root:/bin/bash\ntoor:x:0:0::/:\n# a:x:5:5::/:\n+::7::::\nbroken\nkim:x:1000:1000:Kim:/home/kim:/bin/sh\nlast:x:1001"))
	for uid, want := range map[uint32]string{0: "root", 1000: "kim", 5: "", 7: "", 1001: ""} {
		if names[uid] != want {
			t.Errorf("%d is %q, want %q", uid, names[uid], want)
		}
	}
}

func TestParseHides(t *testing.T) {
	for line, want := range map[string]bool{
		"proc /proc proc rw,nosuid,hidepid=2,gid=5 0 0\n":     true,
		"proc /proc proc rw,relatime,hidepid=invisible 0 0\n": true,
		"proc /proc proc rw,hidepid=1 0 0\n":                  false,
		"proc /proc proc rw,nosuid 0 0\n":                     false,
		"proc /srv/proc proc rw,hidepid=2 0 0\n":              false,
		"tmpfs /proc tmpfs rw,hidepid=2 0 0\n":                false,
		"":                                                    false,
	} {
		if got := parseHides([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"aä", 2, "a"}, {"日本", 5, "日"}, {"日本", 2, ""}} {
		if got := limit(tt.s, tt.n); got != tt.want {
			t.Errorf("%q cut to %d: %q", tt.s, tt.n, got)
		}
	}
}

const (
	id1 = "3f9a0c1d2e3f405162738495a6b7c8d9eaf0b1c2d3e4f5061728394a5b6c7d8e"
	id2 = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	pod = "f9a04ecc-1875-491b-926c-d2f64757704e"
)

func TestParseCgroup(t *testing.T) {
	systemdPod := strings.ReplaceAll(pod, "-", "_")
	tests := []struct {
		name, data                      string
		runtime, id, pod, job, stepName string
	}{
		{"nothing", "0::/user.slice/user-1000.slice/session-3.scope\n", "", "", "", "", ""},
		{"the root", "0::/\n", "", "", "", "", ""},
		{"docker v1", "12:pids:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n", "docker", id1, "", "", ""},
		{"docker, old", "4:memory:/" + id1 + "\n", "docker", id1, "", "", ""},
		{"docker, systemd", "0::/system.slice/docker-" + id1 + ".scope\n", "docker", id1, "", "", ""},
		{"docker in docker", "0::/docker/" + id1 + "/docker/" + id2 + "\n", "docker", id2, "", "", ""},
		{"podman as root", "0::/machine.slice/libpod-" + id1 + ".scope/container\n", "podman", id1, "", "", ""},
		{"podman as user", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id1 + ".scope\n", "podman", id1, "", "", ""},
		{"podman quadlet", "0::/system.slice/nginx.service/libpod-payload-" + id1 + "\n", "podman", id1, "", "", ""},
		{"podman's own", "0::/system.slice/nginx.service/runtime\n", "", "", "", "", ""},
		{"conmon", "0::/machine.slice/libpod-conmon-" + id1 + ".scope\n", "", "", "", "", ""},
		{"conmon of CRI-O", "0::/kubepods.slice/kubepods-pod" + systemdPod + ".slice/crio-conmon-" + id1 + ".scope\n", "", "", "", "", ""},
		{"nerdctl", "0::/system.slice/nerdctl-" + id1 + ".scope\n", "nerdctl", id1, "", "", ""},
		{"some cgroup parent", "0::/actions_job/" + id1 + "\n", "container", id1, "", "", ""},
		{"kubernetes, cgroupfs", "0::/kubepods/besteffort/pod" + pod + "/" + id1 + "\n", "kubernetes", id1, pod, "", ""},
		{"kubernetes, guaranteed", "11:memory:/kubepods/pod" + pod + "/" + id1 + "\n", "kubernetes", id1, pod, "", ""},
		{"containerd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdPod + ".slice/cri-containerd-" + id1 + ".scope\n", "containerd", id1, pod, "", ""},
		{"CRI-O", "0::/kubepods.slice/kubepods-pod" + systemdPod + ".slice/crio-" + id1 + ".scope/container\n", "cri-o", id1, pod, "", ""},
		{"kubernetes on docker", "0::/kubepods.slice/kubepods-pod" + systemdPod + ".slice/docker-" + id1 + ".scope\n", "docker", id1, pod, "", ""},
		{"kubelet's prefix", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort-pod" + systemdPod + ".slice/cri-containerd-" + id1 + ".scope\n", "containerd", id1, pod, "", ""},
		{"static pod", "0::/kubepods/burstable/pod" + id1[:32] + "/" + id2 + "\n", "kubernetes", id2, id1[:32], "", ""},
		{"a pod in a pod", "0::/kubepods/pod" + id1[:32] + "/" + id1 + "/kubelet/kubepods/pod" + pod + "/" + id2 + "\n", "kubernetes", id2, pod, "", ""},
		{"lxc", "0::/lxc.payload.web/system.slice/x.service\n", "lxc", "web", "", "", ""},
		{"lxc v1", "3:cpu:/lxc/web\n", "lxc", "web", "", "", ""},
		{"lxc's monitor", "0::/lxc.monitor.web\n", "", "", "", "", ""},
		{"nspawn", `0::/machine.slice/machine-my\x2dbox.scope` + "\n", "systemd-nspawn", "my-box", "", "", ""},
		{"a virtual machine", `0::/machine.slice/machine-qemu\x2d1\x2dvm.scope` + "\n", "", "", "", "", ""},
		{"slurm v2", "0::/system.slice/slurmstepd.scope/job_1392969/step_0/user/task_0\n", "", "", "", "1392969", "0"},
		{"slurm, several daemons", "0::/system.slice/node7_slurmstepd.scope/job_5/step_batch/user/task_special\n", "", "", "", "5", "batch"},
		{"slurm v1", "9:devices:/slurm/uid_2101171/job_280678/step_interactive/task_0\n1:name=systemd:/system.slice/slurmd.service\n", "", "", "", "280678", "interactive"},
		{"slurm v1, several daemons", "9:memory:/slurm_node7/uid_1/job_12/step_extern\n", "", "", "", "12", "extern"},
		{"slurm's own", "0::/system.slice/slurmstepd.scope/system\n", "", "", "", "", ""},
		{"no slurm", "0::/job_17/step_0\n", "", "", "", "", ""},
		{"no number", "0::/slurm/job_hello/step_0\n", "", "", "", "", ""},
		{"job and container", "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0/libpod-" + id1 + ".scope\n", "podman", id1, "", "88123", "0"},
		{"systemd's hierarchy counts", "4:memory:/docker/" + id2 + "\n1:name=systemd:/docker/" + id1 + "\n", "docker", id1, "", "", ""},
		{"not hexadecimal", "0::/docker/" + strings.Repeat("g", 64) + "\n", "", "", "", "", ""},
		{"too short", "0::/docker/" + id1[:63] + "\n", "", "", "", "", ""},
		{"garbage", "::::\n\n0\n:\x00:/\xff\n", "", "", "", "", ""},
	}
	for _, tt := range tests {
		c, j, _ := parseCgroup([]byte(tt.data))
		if c.Reason != monitor.Known || j.Reason != monitor.Known {
			t.Errorf("%s: %v, %v", tt.name, c.Reason, j.Reason)
		}
		if c.Runtime != tt.runtime || c.ID != tt.id || c.PodUID != tt.pod {
			t.Errorf("%s: container %+v", tt.name, c)
		}
		if j.ID != tt.job || j.Step != tt.stepName || (j.Scheduler == "slurm") != (j.ID != "") {
			t.Errorf("%s: job %+v", tt.name, j)
		}
	}
}

func TestSystemdServices(t *testing.T) {
	for data, want := range map[string]string{
		"0::/system.slice/ollama.service\n":                                                       "ollama.service",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service\n":            "jupyter.service",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-77.scope\n": "",
		"0::/user.slice/user-1000.slice/session-3.scope\n":                                        "",
		"0::/init.scope\n": "",
		"0::/system.slice/docker-" + id1 + ".scope\n":                                              "",
		"0::/system.slice/nginx.service/libpod-payload-" + id1 + "\n":                              "",
		"4:memory:/elsewhere.service\n1:name=systemd:/system.slice/my\\x2dserver.service/worker\n": "my-server.service",
	} {
		if _, _, unit := parseCgroup([]byte(data)); !unit.Known() || unit.Value != want {
			t.Errorf("%q: %+v, want %q", data, unit, want)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte(statLine(7, "(a b) c)", "S", 1, 2, 3, 4)))
	f.Add([]byte("7 (x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStat(data); err == nil && (!utf8.ValidString(s.comm) || s.start > 1<<63-1) {
			t.Errorf("%+v", s)
		}
	})
}

func TestParseStatm(t *testing.T) {
	if pages, err := parseStatm([]byte("12345 77 66 55 0 44 0\n")); err != nil || pages != 77 {
		t.Errorf("%d, %v", pages, err)
	}
	for _, bad := range []string{"", "1", "1 -1", "1 99999999999999999999"} {
		if pages, err := parseStatm([]byte(bad)); err == nil {
			t.Errorf("%q gives %d", bad, pages)
		}
	}
}

func FuzzStatm(f *testing.F) {
	f.Add([]byte("12345 77 66 55 0 44 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if pages, err := parseStatm(data); err == nil && pages > 1<<45 {
			t.Errorf("%d pages", pages)
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte("Name:\tx\nUid:\t1000\t1000\t1000\t1000\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseUID(data) })
}

func FuzzPasswd(f *testing.F) {
	f.Add([]byte("root:x:0:0:root:/root:/bin/bash\n+::0:::\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for uid, name := range parsePasswd(data) {
			if name == "" || !utf8.ValidString(name) || len(name) > maxName {
				t.Errorf("%d: %q", uid, name)
			}
		}
	})
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte("proc /proc proc rw,hidepid=2 0 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if parseHides(data) && !strings.Contains(string(data), "hidepid=") {
			t.Error("hides without the option")
		}
	})
}

func FuzzCgroup(f *testing.F) {
	f.Add([]byte("0::/kubepods.slice/kubepods-pod" + strings.ReplaceAll(pod, "-", "_") + ".slice/crio-" + id1 + ".scope/container\n"))
	f.Add([]byte("9:memory:/slurm_node7/uid_1/job_12/step_extern\n1:name=systemd:/docker/" + id1 + "\n"))
	f.Add([]byte(`0::/machine.slice/machine-my\x2dbox.scope`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, j, unit := parseCgroup(data)
		if !utf8.ValidString(unit.Value) || len(unit.Value) > maxName || c.ID != "" && unit.Value != "" {
			t.Errorf("unit %+v", unit)
		}
		if (c.ID == "") != (c.Runtime == "") || c.ID == "" && c.PodUID != "" || !utf8.ValidString(c.ID) || len(c.ID) > maxName {
			t.Errorf("container %+v", c)
		}
		if (j.ID == "") != (j.Scheduler == "") || j.ID == "" && j.Step != "" || strings.Trim(j.ID, "0123456789") != "" {
			t.Errorf("job %+v", j)
		}
	})
}

func FuzzCmdline(f *testing.F) {
	f.Add([]byte("python\x00-Wignore\x00-c\x00x\x00"), "python")
	f.Add([]byte("env\x00A=b\x00bash\x00-lc\x00cd x && uv run -m y\x00"), "env")
	f.Add([]byte("nginx: worker process\x00\x00\x00"), "nginx")
	f.Add([]byte("\xff\x00timeout\x00--\x001\x00"), "")
	f.Fuzz(func(t *testing.T, data []byte, comm string) {
		args := splitCmdline(data)
		for _, a := range args {
			if a == "" || !utf8.ValidString(a) {
				t.Errorf("argument %q", a)
			}
		}
		name := nameOf(args, comm)
		if !utf8.ValidString(name) {
			t.Errorf("name %q", name)
		}
		if len(args) > 0 && name == "" && strings.TrimSpace(strings.Join(args, "")) != "" {
			t.Errorf("no name for %q", args)
		}
	})
}
