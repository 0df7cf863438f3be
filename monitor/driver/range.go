package driver

import (
	"math"

	"nvtop-lite/monitor"
)

// celsius is a temperature. A driver that has none says -1, all ones, which a
// GPU is for a moment at most.
func celsius(v int) monitor.Reading {
	if v == -1 {
		return monitor.Unknown(monitor.Implausible)
	}
	return monitor.OfFloat(float64(v))
}

// number is a reading of a number.
func number[T uint32 | int | float64](v T) monitor.Reading { return monitor.OfFloat(float64(v)) }

// allOnes says of a byte counter, which may count in KiB, that it counts
// nothing.
func allOnes(v uint64) bool {
	return v == math.MaxUint32 || v == math.MaxUint32<<10 || v == math.MaxUint64 || v == math.MaxUint64<<10&math.MaxUint64
}

// instanceID is the number of a MIG instance, None where it can be none.
func instanceID(v uint32) int {
	if v > 255 {
		return monitor.None
	}
	return int(v)
}
