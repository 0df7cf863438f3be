package process

import (
	"strconv"
	"strings"

	"nvtop-lite/monitor"
)

// parseCgroup finds the container, the batch job and the systemd service in
// /proc/PID/cgroup. Known with an empty ID or name means that there is none.
func parseCgroup(data []byte) (monitor.Container, monitor.Job, monitor.Text) {
	container := monitor.Container{Reason: monitor.Known}
	job := monitor.Job{Reason: monitor.Known}
	unit := monitor.OfText("")
	fromSystemd := false
	for line, text := "", string(data); text != ""; {
		line, text, _ = strings.Cut(text, "\n")
		_, rest, _ := strings.Cut(line, ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		path = strings.ToValidUTF8(path, "\uFFFD")
		// With the hierarchies of version 1, systemd's is the one to believe:
		// a runtime need not set up the others.
		systemd := controllers == "name=systemd"
		if container.ID == "" || systemd && !fromSystemd {
			if c := containerOf(path); c.ID != "" {
				container, fromSystemd = c, systemd
			}
		}
		if job.ID == "" {
			if j := jobOf(path); j.ID != "" {
				job = j
			}
		}
		// Version 2 has no controllers here, version 1 names systemd's hierarchy.
		if controllers == "" || systemd {
			if name := serviceOf(path); name != "" {
				unit.Value = limit(name, maxName)
			}
		}
	}
	if container.ID != "" {
		unit.Value = "" // that of the runtime says nothing of what runs in it
	}
	return container, job, unit
}

// serviceOf is the innermost systemd service of a path, "" for none. The manager
// of a user's services is not what the user runs.
func serviceOf(path string) (name string) {
	for _, part := range strings.Split(path, "/") {
		if strings.HasSuffix(part, ".service") && !strings.HasPrefix(part, "user@") {
			name = unescapeUnit(part)
		}
	}
	return name
}

// runtimes names those whose prefix says something else.
var runtimes = map[string]string{
	"cri-containerd": "containerd",
	"crio":           "cri-o",
	"libpod":         "podman",
	"libpod-payload": "podman",
}

// containerOf finds the innermost container of a path: where they nest, the
// last one.
func containerOf(path string) monitor.Container {
	found := monitor.Container{Reason: monitor.Known}
	var pod, before string
	for _, part := range strings.Split(path, "/") {
		if part == "" {
			continue
		}
		switch uid := podUID(part, before); {
		case uid != "":
			pod = uid
		case part == "runtime" && found.Runtime == "podman":
			// Podman's own processes beside the container.
			found.Runtime, found.ID, found.PodUID = "", "", ""
		default:
			if runtime, id := containerPart(part, before, pod != ""); id != "" {
				found.Runtime, found.ID, found.PodUID = runtime, limit(id, maxName), pod
			}
		}
		before = part
	}
	return found
}

// containerPart tells whether one part of a path names a container.
func containerPart(part, before string, inPod bool) (runtime, id string) {
	if isContainerID(part) {
		switch {
		case before == "" || before == "docker":
			return "docker", part
		case inPod:
			return "kubernetes", part // the part does not say which runtime
		}
		return "container", part
	}
	name := scopeName(part)
	if i := len(name) - containerIDLen - 1; i > 0 && name[i] == '-' && isContainerID(name[i+1:]) {
		prefix := name[:i]
		if strings.HasSuffix(prefix, "conmon") || !isRuntimeName(prefix) {
			return "", ""
		}
		if known, ok := runtimes[prefix]; ok {
			prefix = known
		}
		return prefix, name[i+1:]
	}
	if rest, ok := strings.CutPrefix(part, "lxc.payload."); ok {
		return "lxc", rest
	}
	if before == "lxc" || before == "lxc.payload" {
		return "lxc", part
	}
	if rest, ok := strings.CutPrefix(name, "machine-"); ok && before == "machine.slice" && part != name && !strings.HasPrefix(rest, "qemu") {
		return "systemd-nspawn", unescapeUnit(rest)
	}
	return "", ""
}

// scopeName cuts off the kind of a systemd unit.
func scopeName(part string) string {
	for _, kind := range []string{".scope", ".service", ".slice"} {
		if rest, ok := strings.CutSuffix(part, kind); ok {
			return rest
		}
	}
	return part
}

const containerIDLen = 64

func isContainerID(s string) bool { return len(s) == containerIDLen && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func isRuntimeName(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// podUID returns the uid of the Kubernetes pod that a part names: pod<uid> below
// kubepods, or kubepods-…-pod<uid>.slice, where systemd made _ of -.
func podUID(part, before string) string {
	if rest, ok := strings.CutPrefix(part, "pod"); ok {
		if before == "besteffort" || before == "burstable" || before == "guaranteed" || strings.Contains(before, "kubepods") {
			return uid(rest)
		}
	}
	name, ok := strings.CutSuffix(part, ".slice")
	if !ok || !strings.Contains(name, "kubepods") {
		return ""
	}
	if i := strings.LastIndex(name, "-pod"); i >= 0 {
		return uid(strings.ReplaceAll(name[i+len("-pod"):], "_", "-"))
	}
	return ""
}

// uid returns s if it has the form of a uid: with separators, or, for a static
// pod, 32 digits without.
func uid(s string) string {
	if len(s) == 32 && isHex(s) {
		return s
	}
	if len(s) != 36 || !isHex(strings.ReplaceAll(s, "-", "")) || strings.Count(s, "-") != 4 {
		return ""
	}
	return s
}

// unescapeUnit undoes systemd's \x2d in a name.
func unescapeUnit(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= 4 && s[0] == '\\' && s[1] == 'x' {
			if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
				b.WriteByte(byte(v))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// jobOf finds a Slurm job: job_<digits> somewhere below slurm…, and the step
// below that.
func jobOf(path string) monitor.Job {
	j := monitor.Job{Reason: monitor.Known}
	inSlurm := false
	for _, part := range strings.Split(path, "/") {
		name := scopeName(part)
		if strings.HasPrefix(name, "slurm") || strings.HasSuffix(name, "_slurmstepd") {
			inSlurm = true
			continue
		}
		if !inSlurm {
			continue
		}
		if id, ok := strings.CutPrefix(part, "job_"); ok && id != "" && len(id) <= 20 && strings.Trim(id, "0123456789") == "" {
			j.Scheduler, j.ID, j.Step = "slurm", id, ""
		} else if step, ok := strings.CutPrefix(part, "step_"); ok && j.ID != "" {
			j.Step = limit(step, 64)
		}
	}
	return j
}
