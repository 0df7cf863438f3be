package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"nvtop-lite/nvml"
	"nvtop-lite/nvml/gen"
)

const (
	handle    = 0x1000
	wantPower = 250001
)

// A way is one way to call one C function.
type way struct {
	name string
	call func() bool // reports whether the result was right
}

// ways returns the ways to ask for the power, and for the memory: cgo first.
func ways(tb testing.TB) map[string][]way {
	tb.Helper()
	raw, frame := gen.New(stub), gen.NewFrame()
	power, memory := new(uint32), new(gen.Memory_t)
	lib, err := nvml.Open(nvml.Options{Resolver: stub})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = lib.Close() })
	device, err := lib.Device(0)
	if err != nil {
		tb.Fatal(err)
	}
	bound := device.In(lib.NewSession())
	return map[string][]way{
		"PowerUsage": {
			{"cgo", func() bool {
				p, r := cgoPowerUsage(handle)
				return r == 0 && p == wantPower
			}},
			{"gen", func() bool {
				return raw.DeviceGetPowerUsage(frame, handle, power) == 0 && *power == wantPower
			}},
			{"nvml-session", func() bool {
				p, err := bound.PowerUsage()
				return err == nil && p == wantPower
			}},
			{"nvml", func() bool {
				p, err := device.PowerUsage()
				return err == nil && p == wantPower
			}},
		},
		"MemoryInfo": {
			{"cgo", func() bool {
				m, r := cgoMemoryInfo(handle)
				return r == 0 && m.Used == 30
			}},
			{"gen", func() bool {
				return raw.DeviceGetMemoryInfo(frame, handle, memory) == 0 && memory.Used == 30
			}},
		},
	}
}

var functions = []string{"PowerUsage", "MemoryInfo"}

// BenchmarkCall calls the same C function in every way.
func BenchmarkCall(b *testing.B) {
	all := ways(b)
	for _, function := range functions {
		for _, w := range all[function] {
			b.Run(function+"/"+w.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !w.call() {
						b.Fatal("wrong answer")
					}
				}
			})
		}
	}
}

// turn returns the nanoseconds of one call, from many: so many that what a
// call allocates has its part in it.
func turn(tb testing.TB, w way) float64 {
	const calls = 20000
	begin := time.Now()
	for range calls {
		if !w.call() {
			tb.Fatal("wrong answer")
		}
	}
	return float64(time.Since(begin)) / calls
}

// ratios compares two ways that take turns. Neighbouring turns meet the same
// machine, so their ratio is steadier than the times.
func ratios(tb testing.TB, a, b way) (nsA, nsB, ratio float64) {
	const turns = 200
	var as, bs, rs []float64
	for range turns {
		ta, tb := turn(tb, a), turn(tb, b)
		as, bs, rs = append(as, ta), append(bs, tb), append(rs, ta/tb)
	}
	slices.Sort(rs)
	return slices.Min(as), slices.Min(bs), rs[turns/2]
}

// TestCallCost: a call of package gen takes less than twice the time of a cgo
// call and allocates nothing.
func TestCallCost(t *testing.T) {
	all := ways(t)
	for _, function := range functions {
		cgo, gen := all[function][0], all[function][1]
		if n := testing.AllocsPerRun(1000, func() { gen.call() }); n != 0 {
			t.Errorf("%s: gen allocates %v times a call", function, n)
		}
		// A busy machine gets more tries; one good one shows what is possible.
		ratio := math.Inf(1)
		for try := 0; try < 5 && ratio >= 2; try++ {
			nsGen, nsCgo, r := ratios(t, gen, cgo)
			t.Logf("%s: gen %.1f ns, cgo %.1f ns, median ratio %.2f", function, nsGen, nsCgo, r)
			ratio = min(ratio, r)
		}
		if ratio >= 2 {
			t.Errorf("%s: a call of gen takes %.2f times as long as a cgo call", function, ratio)
		}
	}
	for _, w := range all["PowerUsage"][2:] {
		n := testing.AllocsPerRun(1000, func() { w.call() })
		t.Logf("PowerUsage: %s allocates %v times a call", w.name, n)
		if w.name == "nvml-session" && n != 0 {
			t.Errorf("a call through a session allocates %v times", n)
		}
	}
}
