package monitor

import "math"

// Reason says why a reading has no value. Its zero value is NotSampled, so
// that a reading nobody touched is unknown.
type Reason uint8

// The reasons, in the words of the JSON output. Known means that there is a
// value.
const (
	NotSampled   Reason = iota // nobody asked yet
	Known                      // there is a value
	NotSupported               // this device or driver cannot give it
	NoPermission               // the system or the driver refused
	GPULost                    // the GPU is off the bus or needs a reset
	NotFound                   // the object asked about does not exist (any more)
	Timeout                    // no answer within the deadline
	DriverError                // the driver failed in another way
	Implausible                // the answer cannot be true
	Asleep                     // the GPU sleeps and is not woken
	numReasons
)

var reasonWords = [numReasons]string{
	"not_sampled", "", "not_supported", "no_permission", "gpu_lost",
	"not_found", "timeout", "driver_error", "implausible", "asleep",
}

// String returns the word used in JSON, "" for Known.
//
//go:noinline
func (r Reason) String() string {
	if r < numReasons {
		return reasonWords[r]
	}
	return "driver_error"
}

// ParseReason returns the reason of a word; ok is false for a word that is none.
func ParseReason(word string) (r Reason, ok bool) {
	for r := NotSampled; r < numReasons; r++ {
		if r != Known && reasonWords[r] == word {
			return r, true
		}
	}
	return NotSampled, false
}

// Provenance tells how a value came about where it was not plainly measured.
type Provenance uint8

// The kinds of provenance. Only measured values are ever added up.
const (
	Measured  Provenance = iota // read from the driver or the kernel
	Inferred                    // attributed by reasoning
	Estimated                   // computed from a formula
	Reported                    // what a program says of itself
	numProvenances
)

var provenanceWords = [numProvenances]string{"", "inferred", "estimated", "reported"}

// String returns the word used in JSON, "" for Measured.
func (p Provenance) String() string {
	if p < numProvenances {
		return provenanceWords[p]
	}
	return ""
}

// Kind tells how the value of a reading is to be read.
type Kind uint8

// The kinds of value.
const (
	Number  Kind = iota // may have a fraction
	Integer             // counts, ids, bytes, generations, widths
	Flag                // true or false
	Word                // one of ReadingInfo.Words, or unknown_N
	Mask                // a set of bits, named by ReadingInfo.Words
	numKinds
)

// Reading is a measured value, or the reason why there is none.
type Reading struct {
	bits       uint64
	At         int64     // when it was measured, in ns since 1970 on the sampler's steady clock; 0 when not measured
	Err        CallError // why there is no value
	Reason     Reason
	Provenance Provenance
	kind       Kind
}

// OfFloat returns a known reading that may have a fraction. A value that is no
// number is Implausible.
//
// Inlined, it would make the program 15 kB larger.
//
//go:noinline
func OfFloat(v float64) Reading {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Reading{Reason: Implausible}
	}
	return Reading{bits: math.Float64bits(v), Reason: Known, kind: Number}
}

// OfInt returns a known reading of an integer.
func OfInt(v int64) Reading { return Reading{bits: uint64(v), Reason: Known, kind: Integer} }

// OfUint returns a known reading of an integer; what does not fit into 63 bits
// is Implausible.
func OfUint(v uint64) Reading {
	if v > math.MaxInt64 {
		return Reading{Reason: Implausible}
	}
	return OfInt(int64(v))
}

// OfFlag returns a known reading of a boolean.
func OfFlag(v bool) Reading {
	r := Reading{Reason: Known, kind: Flag}
	if v {
		r.bits = 1
	}
	return r
}

// OfWord returns a known reading of an enumeration by its number.
func OfWord(v uint64) Reading { return Reading{bits: v, Reason: Known, kind: Word} }

// OfMask returns a known reading of a set of bits.
func OfMask(v uint64) Reading { return Reading{bits: v, Reason: Known, kind: Mask} }

// OfForeign returns a known reading of kind Word or Mask with words that have no
// number here, separated by blanks, as in a recording of a newer version. Bits
// are those of the words that have one.
func OfForeign(kind Kind, bits uint64, words string) Reading {
	return Reading{bits: bits, Err: NewCallError("", words, 0), Reason: Known, kind: kind}
}

// Unknown returns a reading without a value.
func Unknown(why Reason) Reading {
	if why == Known {
		why = NotSampled
	}
	return Reading{Reason: why}
}

// Failed returns a reading without a value that names the call to blame.
func Failed(why Reason, err CallError) Reading {
	r := Unknown(why)
	r.Err = err
	return r
}

// Known reports whether there is a value.
func (r Reading) Known() bool { return r.Reason == Known }

// Kind returns how the value is to be read.
func (r Reading) Kind() Kind { return r.kind }

// Float returns the value as a number; ok is false when it is unknown.
//
// Inlined, it would make the program 16 kB larger.
//
//go:noinline
func (r Reading) Float() (v float64, ok bool) {
	if r.Reason != Known {
		return 0, false
	}
	switch r.kind {
	case Number:
		return math.Float64frombits(r.bits), true
	case Integer:
		return float64(int64(r.bits)), true
	default:
		return float64(r.bits), true
	}
}

// Int returns the value as an integer, a fraction rounded half to even; ok is
// false when it is unknown.
//
// Inlined, it would make the program 7 kB larger.
//
//go:noinline
func (r Reading) Int() (v int64, ok bool) {
	if r.Reason != Known {
		return 0, false
	}
	if r.kind == Number {
		return int64(math.RoundToEven(math.Float64frombits(r.bits))), true
	}
	return int64(r.bits), true
}

// Flag returns the value as a boolean; ok is false when it is unknown.
func (r Reading) Flag() (v, ok bool) { return r.bits != 0, r.Reason == Known }

// Bits returns the value as a set of bits or as the number of a word; ok is
// false when it is unknown.
func (r Reading) Bits() (v uint64, ok bool) {
	if r.Reason != Known {
		return 0, false
	}
	return r.bits, true
}

// Text is a piece of text, or the reason why there is none.
type Text struct {
	Value  string
	Err    CallError
	Reason Reason
}

// OfText returns a known text.
func OfText(s string) Text { return Text{Value: s, Reason: Known} }

// UnknownText returns a text without a value.
func UnknownText(why Reason) Text { return Text{Reason: Unknown(why).Reason} }

// Known reports whether there is a text.
func (t Text) Known() bool { return t.Reason == Known }

// Status says whether a list was read, and when; its zero value is
// not_sampled.
type Status struct {
	Err    CallError
	At     int64 // as Reading.At
	Reason Reason
}
