package wddm

import (
	"strconv"
	"strings"
)

// luid names an adapter until the next boot, the next driver or until it is
// disabled: the high part, which is signed, above the low one.
type luid int64

// instance is what an instance of a counter is about: a process on an adapter, and
// where engine is not "" on one engine of it.
type instance struct {
	pid     uint32
	adapter luid
	phys    uint32 // the card within a linked adapter
	number  uint32 // of the engine
	engine  string // its type in lower case, such as videodecode, or high priority 3d
	again   bool   // another of the same name
}

// parse parses the name of an instance of GPU Process Memory or of GPU Engine, such
// as
//
//	pid_4242_luid_0x00000000_0x0000D3F5_phys_0
//	pid_9540_luid_0x00000000_0x0000D3F5_phys_0_eng_3_engtype_3D
//
// Names of other objects, and of no process, are none.
func parse(name string) (in instance, ok bool) {
	n := in.begin(name)
	in.pid = n.number("pid", 10)
	in.place(&n)
	if n.rest != "" {
		in.number = n.number("eng", 10)
		n.key("engtype")
		in.engine, n.bad = n.rest, n.bad || n.rest == ""
	}
	return in, !n.bad && in.pid != 0
}

// parseAdapter parses the name of an instance of GPU Adapter Memory, such as
//
//	luid_0x00000000_0x0000D3F5_phys_0
func parseAdapter(name string) (in instance, ok bool) {
	n := in.begin(name)
	in.place(&n)
	return in, !n.bad && n.rest == ""
}

// begin takes what marks another of the same name off its end.
func (in *instance) begin(name string) fields {
	n := fields{rest: strings.ToLower(name)} // how it is written differs from tool to tool
	if i := strings.LastIndexByte(n.rest, '#'); i >= 0 {
		if _, err := strconv.ParseUint(n.rest[i+1:], 10, 32); err == nil {
			n.rest, in.again = n.rest[:i], true
		}
	}
	return n
}

// place takes the adapter, and the card in it.
func (in *instance) place(n *fields) {
	high, low := n.number("luid", 16), n.number("", 16)
	in.adapter = luid(int64(int32(high))<<32 | int64(low))
	in.phys = n.number("phys", 10)
}

// fields splits a name at its underscores.
type fields struct {
	rest string
	bad  bool
}

// key takes a word.
func (f *fields) key(word string) {
	rest, found := strings.CutPrefix(f.rest, word+"_")
	f.rest, f.bad = rest, f.bad || !found
}

// number takes a word, where there is one, and the number after it; one to the base
// of 16 begins with 0x.
func (f *fields) number(word string, base int) uint32 {
	if word != "" {
		f.key(word)
	}
	digits, rest, more := strings.Cut(f.rest, "_")
	f.rest, f.bad = rest, f.bad || more && rest == ""
	if base == 16 {
		var found bool
		digits, found = strings.CutPrefix(digits, "0x")
		f.bad = f.bad || !found
	}
	v, err := strconv.ParseUint(digits, base, 32)
	f.bad = f.bad || err != nil
	return uint32(v)
}
