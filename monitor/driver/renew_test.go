package driver

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// calls is a Watcher that keeps the order of all calls.
type calls struct {
	mu   sync.Mutex
	list []nvml.Call
}

func (c *calls) Begin(nvml.Call)                      {}
func (c *calls) End(e nvml.Call)                      { c.mu.Lock(); c.list = append(c.list, e); c.mu.Unlock() }
func (c *calls) Lacks(nvml.Call)                      {}
func (c *calls) Opened(*nvml.Library, []nvml.Attempt) {}
func (c *calls) Unified(uint64, string)               {}

// take returns the calls since it was asked last, but for those of the one who
// waits for events.
func (c *calls) take() []nvml.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.DeleteFunc(c.list, func(e nvml.Call) bool { return strings.HasPrefix(e.Function.String(), "nvmlEventSet") })
	c.list = nil
	return list
}

const byUUID = "nvmlDeviceGetHandleByUUID"

// openRenewing opens a Source that finds handles again, as on Windows.
func openRenewing(t *testing.T, scenario string) (*rig, *calls) {
	t.Helper()
	watch := &calls{}
	r := openWith(t, fakenvml.New(t, "580", scenario), Options{Renew: true, Watch: watch})
	r.closeAtEnd()
	r.readAll(monitor.Everything)
	time.Sleep(seed)
	r.readAll(monitor.Everything)
	watch.take()
	return r, watch
}

// TestAnErrorAndTheHandle: after one that a restart of the GPU could be behind the
// next call on it is made with a handle that was found after that.
func TestAnErrorAndTheHandle(t *testing.T) {
	never := []int{3, 4, 6, 7, 13, 17, 21, 25}
	asked := slices.Concat(never, []int{1, 2, 9, 10, 12, 15, 16, 18, 27, 999, 12345})
	scenario := fmt.Sprintf("gpus %d\n", len(asked)) + hopper
	r, watch := openRenewing(t, scenario)
	for i, code := range asked {
		scenario += fmt.Sprintf("fault nvmlDeviceGetPowerUsage gpu %d calls 1 return %d\n", i, code)
	}
	r.fake.SetScenario(scenario)
	for i, code := range asked {
		r.pass(second)
		g := r.read(i, view())
		list := watch.take()
		failed := slices.IndexFunc(list, func(c nvml.Call) bool {
			return c.Return == nvml.Return(code) && c.Function.String() == "nvmlDeviceGetPowerUsage"
		})
		if failed < 0 || failed == len(list)-1 {
			t.Fatalf("%d: no such answer, or the last one", code)
		}
		next, want := list[failed+1].Function.String() == byUUID, !slices.Contains(never, code)
		if next != want || g.State != monitor.OK || g.Readings[monitor.PowerMW].Known() || !g.Readings[monitor.ClockGraphicsMHz].Known() {
			t.Errorf("%d: found again before the next call: %v, want %v; state %v", code, next, want, g.State)
		}
		before := r.fake.Calls(byUUID)
		for range 7 {
			r.pass(second)
			r.read(i, view())
		}
		if n := r.fake.Calls(byUUID) - before; n != 0 {
			t.Errorf("%d: found again %d times, though all was well", code, n)
		}
		watch.take()
	}
}

// TestAnErrorThatGoesOn: the handle is found again every few seconds, and nothing
// of what was learned is lost for that.
func TestAnErrorThatGoesOn(t *testing.T) {
	scenario := "gpus 2\n" + hopper + strings.ReplaceAll(migLines("1"), "process compute none", "process graphics none") + "gpu 1:0 gpm.2 30\ngpu 1:2 gpm.2 32\n"
	r, watch := openRenewing(t, scenario)
	const errors = "fault nvmlDeviceGetPowerUsage return 999\nfault nvmlDeviceGetTotalEccErrors return 10\n"
	r.fake.SetScenario(scenario + errors)
	r.settle(1) // at once
	before, began := r.fake.AllCalls(), len(watch.take())
	const seconds = 60
	for i := range seconds {
		r.settle(1)
		for _, s := range r.sinks {
			g := &s.gpu
			if g.State != monitor.OK || g.Readings[monitor.PowerMW].Err.Code() != 999 || !g.Readings[monitor.UtilizationPercent].Known() && len(g.MIG) == 0 {
				t.Fatalf("after %d s: state %v, power %v", i, g.State, show(g.Readings[monitor.PowerMW]))
			}
			for _, id := range []monitor.ReadingID{monitor.SMActivePercent, monitor.PCIeTxBytesPerSecond} {
				if !g.Readings[id].Known() {
					t.Fatalf("after %d s: %v of GPU %d is %v", i, id, g.Index, show(g.Readings[id]))
				}
			}
			for _, in := range g.MIG {
				if v := in.Readings[monitor.SMActivePercent]; !v.Known() {
					t.Fatalf("after %d s: activity of an instance is %v", i, show(v))
				}
			}
		}
	}
	after := r.fake.AllCalls()
	if n := after[byUUID] - before[byUUID]; n < 2*seconds/5 || n > 2*2*seconds/5 || began == 0 {
		t.Errorf("2 GPUs were found %d times in %d s for 2 errors that go on", n, seconds)
	}
	for _, function := range []string{"nvmlGpmSampleAlloc", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetName", "nvmlDeviceGetMinorNumber"} {
		if after[function] != before[function] {
			t.Errorf("%s was called %d times more", function, after[function]-before[function])
		}
	}
	if n := after["nvmlDeviceGetRetiredPages_v2"] + after["nvmlDeviceGetRetiredPages"] - before["nvmlDeviceGetRetiredPages_v2"] - before["nvmlDeviceGetRetiredPages"]; n > 4 {
		t.Errorf("what was refused was asked %d times in %d s", n, seconds)
	}
}

// TestAnErrorAndAnotherIndex: the GPUs changed places with the error, and none gets
// what the other says.
func TestAnErrorAndAnotherIndex(t *testing.T) {
	const own = "gpu 0 power 111000\ngpu 1 power 222000\ngpu 0 temperature 51\ngpu 1 temperature 62\ngpu 0 util 11\ngpu 1 util 22\n"
	r, _ := openRenewing(t, machine(a, b)+own)
	swapped := machine(b, a) + "gpu 1 power 111000\ngpu 0 power 222000\ngpu 1 temperature 51\ngpu 0 temperature 62\ngpu 1 util 11\ngpu 0 util 22\n"
	r.fake.SetScenario(swapped + "fault nvmlDeviceGetMemoryInfo_v2 gpu 1 calls 1 return 999\n")
	r.pass(second)
	r.read(1, view())
	r.read(0, view())
	r.want("both", r.states(a, b), "1 ok", "0 ok")
	for uuid, want := range map[string]string{a: "111000 51 11", b: "222000 62 22"} {
		v := &r.row(uuid).Readings
		if got := show(v[monitor.PowerMW]) + " " + show(v[monitor.TemperatureC]) + " " + show(v[monitor.UtilizationPercent]); got != want {
			t.Errorf("%s has %s, want %s", uuid, got, want)
		}
	}
}

// TestAnErrorOfAGPUThatIsGone: nothing more is asked of its old handle.
func TestAnErrorOfAGPUThatIsGone(t *testing.T) {
	r, watch := openRenewing(t, machine(a, b))
	r.fake.SetScenario(machine(a, c) + "fault nvmlDeviceGetTemperatureV gpu 1 calls 1 return 999\n")
	r.pass(second)
	r.read(1, view())
	list := watch.take()
	failed := slices.IndexFunc(list, func(c nvml.Call) bool { return c.Return == nvml.ErrUnknown })
	var after []string
	for _, c := range list[failed+1:] {
		after = append(after, c.Function.String())
	}
	// Who has the number now is asked, and what samples there are are given back.
	if len(after) == 0 || after[0] != byUUID || slices.ContainsFunc(after, func(f string) bool {
		return !slices.Contains([]string{byUUID, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlGpmSampleFree"}, f)
	}) {
		t.Errorf("calls after the error: %q", after)
	}
	r.want("gone", r.states(b), "-1 lost")
}
