package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"nvtop-lite/monitor"
)

const now = 1_767_323_045_678_901_234 // 2026-01-02 03:04:05.678901234 UTC

// random returns a snapshot with every field at random.
func random(seed uint64) *monitor.Snapshot {
	r := rand.New(rand.NewPCG(seed, 2))
	s := new(monitor.Snapshot)
	fill(r, reflect.ValueOf(s).Elem(), 0)
	s.Time, s.Steady, s.Interval = time.Unix(0, now).UTC(), now, time.Second
	return s
}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Addr().Interface().(type) {
	case *monitor.Reading:
		v.Set(reflect.ValueOf(randomReading(r)))
		return
	case *monitor.CallError:
		v.Set(reflect.ValueOf(monitor.NewCallError(randomString(r), randomString(r), r.Int32())))
		return
	case *time.Time:
		return
	case **monitor.Adapter:
		if r.IntN(2) == 0 {
			a := new(monitor.Adapter)
			fill(r, reflect.ValueOf(a).Elem(), depth)
			v.Set(reflect.ValueOf(a))
		}
		return
	case *monitor.Reason:
		v.SetUint(uint64(r.IntN(10)))
		return
	case *monitor.State:
		v.SetUint(uint64(r.IntN(6)))
		return
	case *monitor.Level, *monitor.Namespace:
		v.SetUint(uint64(r.IntN(3)))
		return
	case *monitor.PartKind:
		v.SetUint(uint64(r.IntN(int(monitor.NumPartKinds))))
		return
	case *[]monitor.Part:
		parts := make([]monitor.Part, r.IntN(3*int(monitor.NumPartKinds)))
		for i := range parts {
			fill(r, reflect.ValueOf(&parts[i]).Elem(), depth)
		}
		slices.SortStableFunc(parts, func(a, b monitor.Part) int { return int(a.Kind) - int(b.Kind) })
		v.Set(reflect.ValueOf(parts))
		return
	}
	switch v.Kind() {
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
		if n := r.IntN(4); n < 3 || depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth)
			}
		}
	case reflect.String:
		v.SetString(randomString(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(r.Int64N(20) - 1)
		if v.Kind() == reflect.Int64 && r.IntN(4) != 0 {
			v.SetInt(now - r.Int64N(5e9))
		}
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(r.IntN(8)))
	default:
		panic(fmt.Sprint("no random ", v.Type()))
	}
}

func randomReading(r *rand.Rand) monitor.Reading {
	var x monitor.Reading
	switch r.IntN(5) {
	case 0:
		x = monitor.OfFloat(float64(r.IntN(2000))/8 - 10)
	case 1:
		x = monitor.OfInt(r.Int64())
	case 2:
		x = monitor.OfFlag(r.IntN(2) == 0)
	case 3:
		x = monitor.OfMask(r.Uint64() >> r.IntN(64))
	case 4:
		x = monitor.Failed(monitor.Reason(r.IntN(10)), monitor.NewCallError(randomString(r), randomString(r), r.Int32()))
	}
	x.Provenance = monitor.Provenance(r.IntN(4))
	x.At = now - r.Int64N(5e9)
	return x
}

func randomString(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return ""
	case 1:
		return "quotes \" and \\, line\n, tab\t, escape \x1b[31m, bell \a, \u2028 \u202e \u0085 \x7f"
	case 2:
		return "invalid \xff\xc0 bytes"
	case 3:
		return strings.Repeat("界", r.IntN(30))
	}
	return fmt.Sprintf("text %d", r.IntN(100))
}
