package driver

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"nvtop-lite/monitor"
)

// calls is how many calls were made for GPU 0, and to functions of no GPU.
func (r *rig) calls() (n int) {
	r.t.Helper()
	for _, c := range r.fake.AllCalls() {
		n += c
	}
	return n
}

// moving are lines of an H100 on which all that moves moves.
const moving = "gpus 1\n" + hopper + "gpu 0 encoder 0\ngpu 0 decoder 0\ngpu 0 memory.used walk 1048576 1073741824 8589934592 4294967296\n"

func TestCallsOfTheDefaultView(t *testing.T) {
	r := open(t, "580", moving)
	// The first refreshes ask what is asked once, and prove the batch of GPM.
	for range 6 {
		r.read(0, view())
		time.Sleep(seed)
		r.pass(second - seed)
	}
	refreshes, all, late := 0, 0, 0
	most := func() {
		t.Helper()
		before := r.fake.AllCalls()
		r.read(0, view())
		n, gpm := 0, 0
		made := r.fake.AllCalls()
		for f := range made {
			made[f] -= before[f]
			if strings.HasPrefix(f, "nvmlEventSetWait") {
				made[f] = 0 // which goes on beside the refreshes
			}
			n += made[f]
			if strings.HasPrefix(f, "nvmlGpm") {
				gpm += made[f]
			}
		}
		maps.DeleteFunc(made, func(_ string, c int) bool { return c == 0 })
		refreshes, all = refreshes+1, all+n
		// On a loaded machine refreshes come late, and now and then what is due
		// every few seconds comes together.
		if n-gpm > 16 {
			late++
		}
		if gpm > 2 || n-gpm > 19 {
			t.Errorf("%d calls in one refresh: %v", n, made)
		}
	}
	for range 11 {
		most()
		time.Sleep(seed)
		r.pass(second - seed)
	}
	// Over two minutes, too, in which what was refused is asked again. They
	// pass too fast for many samples of GPM.
	for range 120 {
		most()
		r.pass(second)
	}
	if mean := float64(all) / float64(refreshes); mean > 15 {
		t.Errorf("%.1f calls a refresh", mean)
	}
	if late > refreshes/8 {
		t.Errorf("more than 16 calls in %d of %d refreshes", late, refreshes)
	}
	time.Sleep(seed)
	before := r.fake.AllCalls()
	r.read(0, view())
	made := r.fake.AllCalls()
	for f, want := range map[string]int{
		"nvmlGpmSampleGet": 1, "nvmlGpmMetricsGet": 1, "nvmlDeviceGetUtilizationRates": 1, "nvmlDeviceGetProcessesUtilizationInfo": 1,
		"nvmlDeviceGetNvLinkState": 0, "nvmlDeviceGetNumFans": 0, "nvmlDeviceGetUUID": 0,
	} {
		if n := made[f] - before[f]; n != want {
			t.Errorf("%s was called %d times in a refresh, want %d", f, n, want)
		}
	}
}

func TestHowOftenEachIsAsked(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	// The time that the test itself takes comes to this, and after a minute all is
	// asked again.
	const seconds = 40
	for range seconds {
		r.read(0, view())
		r.pass(second)
	}
	for _, f := range []string{ // what cannot change, and what was refused
		"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetArchitecture", "nvmlDeviceGetSerial",
		"nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetHandleByIndex_v2",
		"nvmlDeviceGetNumFans", "nvmlDeviceGetRetiredPagesPendingStatus", "nvmlGpmQueryDeviceSupport",
	} {
		if n := r.fake.Calls(f); n != 1 {
			t.Errorf("%s was called %d times in %d s, want once", f, n, seconds)
		}
	}
	for _, f := range []string{
		"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetGpuFabricInfoV",
		"nvmlDeviceGetPersistenceMode", "nvmlDeviceGetEccMode", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetMigMode",
		"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
	} {
		if f == "nvmlDeviceGetPersistenceMode" && runtime.GOOS == "windows" {
			continue // it is refused there
		}
		if n := r.fake.Calls(f); n < seconds/5 || n > seconds/5+4 {
			t.Errorf("%s was called %d times in %d s, want every 5 s", f, n, seconds)
		}
	}
	for _, f := range []string{"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEncoderUtilization"} {
		if n := r.fake.Calls(f); n != seconds {
			t.Errorf("%s was called %d times in %d s", f, n, seconds)
		}
	}
	for _, f := range []string{"nvmlDeviceGetMinorNumber", "nvmlDeviceGetJpgUtilization", "nvmlDeviceGetPerformanceState", "nvmlDeviceGetPcieThroughput"} {
		if n := r.fake.Calls(f); n != 0 {
			t.Errorf("%s was called %d times, and nobody wants it", f, n)
		}
	}
	for range 40 {
		r.pass(second)
		r.read(0, view())
	}
	if n := r.fake.Calls("nvmlDeviceGetNumFans"); n != 2 {
		t.Errorf("what was refused was asked %d times in 80 s, want once more after a minute", n)
	}
}

func TestIdleEnginesAreAskedSeldom(t *testing.T) {
	r := open(t, "580", lines("gpus 1", "gpu 0 encoder 0", "gpu 0 decoder 50"))
	for range 11 {
		r.read(0, view())
		r.pass(second)
	}
	if n := r.fake.Calls("nvmlDeviceGetEncoderUtilization"); n < 2 || n > 4 {
		t.Errorf("an idle encoder was asked %d times in 10 s", n)
	}
	if n := r.fake.Calls("nvmlDeviceGetDecoderUtilization"); n != 11 {
		t.Errorf("a busy decoder was asked %d times in 10 s", n)
	}
}

func TestWhatWasRefusedIsLeftAlone(t *testing.T) {
	codes := []int{3, 13, 25}
	functions := []string{
		"nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetClockInfo", "nvmlDeviceGetProcessesUtilizationInfo",
		"nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
	}
	scenario := fmt.Sprintf("gpus %d\n", len(codes)*len(functions)) + hopper
	for i, f := range functions {
		// The older forms say the same.
		older := map[string]string{"nvmlDeviceGetProcessesUtilizationInfo": "nvmlDeviceGetProcessUtilization", "nvmlDeviceGetMPSComputeRunningProcesses_v3": "nvmlDeviceGetMPSComputeRunningProcesses*"}[f]
		for j, code := range codes {
			scenario += fmt.Sprintf("fault %s gpu %d return %d\n", f, i*len(codes)+j, code)
			if older != "" {
				scenario += fmt.Sprintf("fault %s gpu %d return %d\n", older, i*len(codes)+j, code)
			}
		}
	}
	r := open(t, "580", scenario)
	for s := range 40 {
		w := view()
		if s%10 == 0 {
			w = monitor.Everything // also not for one-shots
		}
		r.readAll(w)
		r.pass(second)
	}
	for i, f := range functions {
		for j, code := range codes {
			n := r.fake.CallsOn(f, i*len(codes)+j)
			if f == "nvmlDeviceGetClockInfo" {
				n -= 3 // four clocks
			}
			if n != 1 {
				t.Errorf("%s answered %d and was called %d times in 40 seconds", f, code, n)
			}
		}
	}
	r.pass(2 * reprobe)
	r.readAll(view())
	for i, f := range functions {
		if n := r.fake.CallsOn(f, i*len(codes)); n < 2 {
			t.Errorf("%s is never asked again", f)
		}
	}
}

func TestOneShotsReadAllEachTime(t *testing.T) {
	r := open(t, "580", "gpus 1\ngpu 0 encoder 0\n")
	for range 3 {
		r.read(0, monitor.Everything)
		r.pass(10 * time.Millisecond)
	}
	for _, f := range []string{
		"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetEccMode",
		"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetProcessesUtilizationInfo", "nvmlDeviceGetMigMode", "nvmlDeviceGetGpuFabricInfoV",
	} {
		if n := r.fake.Calls(f); n < 3 {
			t.Errorf("%s was called %d times for three snapshots", f, n)
		}
	}
	if n := r.fake.Calls("nvmlDeviceGetMinorNumber"); n != 1 {
		t.Errorf("what cannot change was asked %d times", n)
	}
}

func TestEachReadingHasItsOwnAge(t *testing.T) {
	r := open(t, "580", "gpus 1\n"+hopper)
	s := r.sinks[0]
	for range 5 {
		r.read(0, view())
		r.pass(second)
	}
	if n := s.given[monitor.PowerMW]; n != 5 {
		t.Errorf("power was told %d times in 5 refreshes", n)
	}
	if n := s.given[monitor.PCIeWidth]; n > 2 {
		t.Errorf("the width of the link was told %d times in 5 s: it looks younger than it is", n)
	}
	if n := s.given[monitor.PCIeWidthMax]; n != 1 {
		t.Errorf("the largest width was told %d times", n)
	}
}

func TestEachReadingHasOneQuery(t *testing.T) {
	var all monitor.Want
	for _, q := range queries {
		if all.Readings&q.gives.Readings != 0 || all.Groups&q.gives.Groups != 0 {
			t.Errorf("two queries for %v", names(q.gives))
		}
		all.Readings |= q.gives.Readings
		all.Groups |= q.gives.Groups
	}
	if all.Readings != monitor.Everything.Readings {
		t.Errorf("no query for %v", names(monitor.Want{Readings: monitor.Everything.Readings &^ all.Readings}))
	}
}
