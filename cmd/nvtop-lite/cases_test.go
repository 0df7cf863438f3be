//go:build linux

package main_test

import (
	"strings"
	"testing"

	"nvtop-lite/internal/fakenvml"
)

// TestAStreamInitialisesOnce: to open GPUs that nobody keeps open takes seconds.
func TestAStreamInitialisesOnce(t *testing.T) {
	fake := fakenvml.New(t, "580", stillScenario(2))
	r := run(t, nil, program(t, "linux", "amd64"), "--nvml", fake.Path(), "--json", "-n", "4", "-i", "0.1")
	if r.code != 0 || strings.Count(r.out, "\n") != 4 {
		t.Errorf("exit code %d, %d lines: %s", r.code, strings.Count(r.out, "\n"), r.err)
	}
	if n := fake.Calls("nvmlInit_v2"); n != 1 {
		t.Errorf("NVML was initialised %d times", n)
	}
	for gpu := range 2 {
		if n := fake.CallsOn("nvmlDeviceGetHandleByIndex_v2", gpu); n != 1 {
			t.Errorf("GPU %d was opened %d times", gpu, n)
		}
	}
}

// TestOneShotsWakeNobody: neither the outputs of scripts nor the doctor.
func TestOneShotsWakeNobody(t *testing.T) {
	const device = "sys/bus/pci/devices/0000:1b:00.0/"
	root := files(t, machine(map[string]string{
		"dev/nvidia1":                                      "-",
		device + "power/control":                           "auto\n",
		device + "power/runtime_status":                    "suspended\n",
		"proc/driver/nvidia/gpus/0000:1b:00.0/information": "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-aaaaaaaa-0000-0000-0000-000000000000\n",
	}))
	fake := fakenvml.New(t, "580", "gpus 1\ngpu 0 busid 00000000:1B:00.0\ngpu 0 uuid GPU-aaaaaaaa-0000-0000-0000-000000000000\n")
	asked := func(args ...string) result {
		return run(t, nil, append([]string{program(t, "linux", "amd64"), "--nvml", fake.Path(), "--root", root}, args...)...)
	}
	r := asked("--json")
	s := parse(t, r.out)
	checkSnapshot(t, s)
	if gpus := s.objects("gpus"); r.code != 0 || len(gpus) != 1 || gpus[0].text("state") != "asleep" || gpus[0].text("name") != "NVIDIA H100" ||
		gpus[0].text("uuid") != "GPU-aaaaaaaa-0000-0000-0000-000000000000" || gpus[0].object("unavailable").text("power_mw") != "asleep" {
		t.Errorf("exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	for _, args := range [][]string{{"--once"}, {"doctor"}} {
		if r := asked(args...); r.code != 0 || !strings.Contains(r.out, "asleep") {
			t.Errorf("%v: exit code %d: %s\n%s", args, r.code, r.err, r.out)
		}
	}
	if calls := fake.AllCalls(); len(calls) > 0 {
		t.Errorf("NVML was called: %v", calls)
	}
	if r := asked("--json", "--wake"); parse(t, r.out).objects("gpus")[0].text("state") != "ok" {
		t.Errorf("with --wake: %s", r.out)
	}
}

// TestMIGInAContainer: the doctor says what a container must be given to see
// the memory of the whole GPU.
func TestMIGInAContainer(t *testing.T) {
	fake := fakenvml.New(t, "580", still+"gpus 1\ngpu 0 mig on\ngpu 0 instance 0 1 0 1g.10gb\ngpu 0 memory.total error 4\n")
	g := snapshot(t, fake).objects("gpus")[0]
	if why := g.object("unavailable").text("memory_used_bytes"); why != "no_permission" {
		t.Errorf("memory of the whole is unknown for %q", why)
	}
	if m := g.objects("mig_devices"); len(m) != 1 || m[0]["memory_used_bytes"] == nil || m[0].text("profile") != "1g.10gb" {
		t.Errorf("instances %v", m)
	}
	if r := examined(t, fake); !strings.Contains(r.out, "memory_used_bytes") || !strings.Contains(r.out, "NVIDIA_MIG_MONITOR_DEVICES=all") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// TestIntervals: as short as is decent, as long as one likes.
func TestIntervals(t *testing.T) {
	for _, interval := range []string{"0.1", "3600"} {
		says(t, demo(t, "--json", "-n", "1", "-i", interval), 0, "")
	}
	for _, interval := range []string{"0", "0.09", "3601", "-1"} {
		r := demo(t, "--json", "-n", "1", "-i", interval)
		if r.code != 2 || !strings.HasPrefix(r.err, "nvtop-lite: --interval") {
			t.Errorf("-i %s: exit code %d: %s", interval, r.code, r.err)
		}
	}
}
