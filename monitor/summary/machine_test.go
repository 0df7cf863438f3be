package summary

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"nvtop-lite/monitor"
)

const start = int64(1_796_040_000_000_000_000) // 2026-11-30 12:00:00 UTC

// snapshot returns one with n GPUs that are well, seconds after the start.
func snapshot(seconds float64, n int) *monitor.Snapshot {
	at := start + int64(seconds*1e9)
	s := &monitor.Snapshot{
		Time: time.Unix(0, at).UTC(), Steady: at, Interval: time.Second, Source: "live",
		Host:   monitor.Host{Hostname: monitor.OfText("node17"), BootID: monitor.OfText("boot-1")},
		Driver: monitor.Driver{Version: monitor.OfText("580.95.05"), CUDAVersion: monitor.OfText("13.0")},
	}
	for i := range n {
		s.GPUs = append(s.GPUs, device(i))
	}
	return s
}

func device(i int) monitor.GPU {
	g := monitor.GPU{
		Identity: monitor.Identity{
			Index: i, UUID: monitor.OfText(fmt.Sprintf("GPU-%d", i)), PCIBusID: monitor.OfText(fmt.Sprintf("00000000:%02X:00.0", i+1)),
			Name: monitor.OfText("NVIDIA H100 80GB HBM3"), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
		},
		State: monitor.OK, ProcStatus: monitor.Status{Reason: monitor.Known}, XIDsStatus: monitor.Status{Reason: monitor.Known},
	}
	for id := range g.Readings {
		g.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	g.Readings[monitor.UtilizationPercent] = monitor.OfFloat(50)
	g.Readings[monitor.SMActivePercent] = monitor.OfFloat(40)
	g.Readings[monitor.MemoryUsedBytes] = monitor.OfInt(8 << 30)
	g.Readings[monitor.MemoryTotalBytes] = monitor.OfInt(80 << 30)
	g.Readings[monitor.PowerMW] = monitor.OfFloat(360_000)
	g.Readings[monitor.TemperatureC] = monitor.OfFloat(55)
	g.Readings[monitor.ThrottleReasons] = monitor.OfMask(0)
	return g
}

// instance returns a MIG instance of g.
func instance(g *monitor.GPU, id int) monitor.GPU {
	m := device(g.Index)
	m.UUID = monitor.OfText(fmt.Sprintf("MIG-%d-%d", g.Index, id))
	m.GPUInstanceID, m.ComputeInstanceID, m.Profile, m.ParentUUID = id, 0, "1g.10gb", g.UUID.Value
	for _, id := range []monitor.ReadingID{monitor.UtilizationPercent, monitor.PowerMW, monitor.TemperatureC, monitor.ThrottleReasons} {
		m.Readings[id] = monitor.Unknown(monitor.NotSupported)
	}
	return m
}

func program(pid uint32, ticks int64, mib int64, sm float64) monitor.Process {
	return monitor.Process{
		PID: pid, Types: monitor.Compute, Namespace: monitor.NamespaceSame, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
		GPUMemoryBytes: monitor.OfInt(mib << 20), SMPercent: monitor.OfFloat(sm), StartTicks: monitor.OfInt(ticks), StartTime: monitor.OfInt(start - 60e9 + ticks),
		Name: monitor.OfText("train.py"), Command: monitor.OfText("python train.py --token=abc"), User: monitor.OfText("kim"),
		Container: monitor.Container{Reason: monitor.Known}, Job: monitor.Job{Reason: monitor.Known}, Unit: monitor.OfText(""),
	}
}

// fill gives every field of v a value at random, words and numbers that no
// driver gives among them.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Addr().Interface().(type) {
	case *monitor.Reading:
		var x monitor.Reading
		switch r.IntN(6) {
		case 0:
			x = monitor.OfFloat(float64(r.IntN(2000))/8 - 10)
		case 1:
			x = monitor.OfInt(r.Int64())
		case 2:
			x = monitor.OfFloat(1e300)
		case 3:
			x = monitor.OfMask(r.Uint64() >> r.IntN(64))
		case 4:
			x = monitor.OfForeign(monitor.Mask, 5, "no_such_word "+anyWord(r))
		default:
			x = monitor.Unknown(monitor.Reason(r.IntN(12)))
		}
		x.Provenance = monitor.Provenance(r.IntN(4))
		v.Set(reflect.ValueOf(x))
		return
	case *monitor.CallError:
		v.Set(reflect.ValueOf(monitor.NewCallError(anyWord(r), anyWord(r), r.Int32())))
		return
	case *time.Time:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), 0)))
		return
	case *monitor.Reason:
		v.SetUint(uint64(r.IntN(12)))
		return
	case *monitor.State, *monitor.Level:
		v.SetUint(uint64(r.IntN(8)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i), depth)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]monitor.GPU]() {
			if depth++; depth > 2 {
				return
			}
		}
		n := r.IntN(5)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth)
		}
	case reflect.String:
		v.SetString(anyWord(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(r.Int64N(6) - 1)
		if v.Kind() == reflect.Int64 && r.IntN(3) == 0 {
			v.SetInt(int64(r.Uint64()))
		}
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(r.IntN(8)))
	default:
		panic(fmt.Sprint("no random ", v.Type()))
	}
}

func anyWord(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return ""
	case 1:
		return "quotes \" and \\, line\n, tab\t, escape \x1b[31m, bell \a, \u2028 \u202e \u0085 \x7f"
	case 2:
		return "invalid \xff\xc0 bytes"
	case 3:
		return strings.Repeat("界", r.IntN(200))
	}
	return fmt.Sprintf("text %d", r.IntN(4))
}
