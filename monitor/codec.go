package monitor

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"
	"unicode/utf8"
)

// The encoding of snapshots: what goes through the pipe of the driver process
// and into recordings.
//
// A message is one snapshot. It starts with a byte that tells the format and
// whether the message stands alone, and a byte that counts messages, so that a
// lost one is noticed. All else is the difference to the snapshot before (to
// the zero Snapshot in a message that stands alone): masks say which fields
// follow. Numbers are varints. A string is sent once, then by its place in a
// table that both ends keep. Times of measurement are differences to the one
// sent before. The masks of readings are sent as the difference to those of
// the GPU before, since GPUs of one kind answer alike.

// MaxMessage is the size in bytes beyond which Decode refuses a message.
const MaxMessage = 64 << 20

// Limits of what a message can hold. Append cuts what exceeds them, Decode
// refuses it.
const (
	maxGPUs      = 4096     // with their instances
	maxProcesses = 1 << 17  // of all GPUs together
	maxList      = 256      // fans, Xids, rails, warnings, …
	maxString    = 64 << 10 // bytes
	maxInterned  = 256      // bytes of a string that is kept in the table
	tableSize    = 4096     // strings in the table
)

const (
	formatVersion = 0xA4 // first byte, with the bit below clear
	formatAlone   = 0x40 // set where the message stands alone; see firstByte
)

// firstByte returns the first byte of a message.
func firstByte(alone bool) byte {
	if alone {
		return formatVersion | formatAlone
	}
	return formatVersion
}

// Fields of a snapshot.
const (
	snapInterval = 1 << iota
	snapSource
	snapWaiting
	snapHost
	snapHostReadings
	snapGPUs
	snapPlatformReadings
	snapDriver
	snapPlatform
	snapWarnings
	snapMask = 1<<iota - 1
)

// Fields of a GPU, those that change most first.
const (
	gpuReadings = 1 << iota
	gpuRefreshed
	gpuProcStatus
	gpuProcesses
	gpuCall
	gpuFansStatus
	gpuFans
	gpuState
	gpuIdentity
	gpuSources
	gpuXIDs
	gpuXIDsStatus
	gpuMIG
	gpuMIGStatus
	gpuHealth
	gpuAdapter
	gpuMask = 1<<iota - 1
)

// Fields of a process.
const (
	procReadings = 1 << iota
	procIdentity
	procKind
	procName
	procCommand
	procUser
	procContainer
	procJob
	procUnit
	procMask = 1<<iota - 1
)

// Steps that build a list of processes from the one before, in the low two
// bits of a varint; a cursor walks through the list before.
const (
	stepCopy   = iota // so many as they were
	stepChange        // one at the cursor, with the fields in this mask
	stepNew           // one that was not there, with the fields in this mask
	stepSeek          // the cursor goes there
)

// Forms of a number, in the low three bits of a varint whose rest is the
// number times 1, 10, 100 or 1000.
const (
	formWhole = iota
	formTenths
	formHundredths
	formThousandths
	formFloat32 // 4 bytes follow
	formFloat64 // 8 bytes follow
)

var formScale = [...]float64{1, 10, 100, 1000}

// masks say which readings of a group follow: those with a new value, those
// new as a whole, those with a new time.
type masks struct{ value, whole, at uint64 }

// An Encoder turns the snapshots of one stream into messages. Its zero value
// is ready. It keeps the last snapshot, which must not change any more.
type Encoder struct {
	b     []byte
	prev  *Snapshot
	seq   byte
	at    int64
	masks [3]masks
	ids   map[string]uint32
	table []string
	next  int
	index map[processID]int32
}

// Kinds of mask groups.
const (
	maskGPU = iota
	maskProcess
	maskOther
)

// processID is what a process is called within the list of one GPU.
type processID struct {
	pid    uint32
	gi, ci int
}

func (p *Process) id() processID {
	return processID{p.PID, p.GPUInstanceID, p.ComputeInstanceID}
}

// Reset makes the next message stand alone, so that decoding can start there.
func (e *Encoder) Reset() { e.prev = nil }

// Append appends the message for s to dst. Only a Decoder that was given every
// message since the last Reset understands it.
func (e *Encoder) Append(dst []byte, s *Snapshot) []byte {
	s = limited(s)
	alone := e.prev == nil
	if alone {
		e.prev = new(Snapshot)
		clear(e.ids)
		e.table, e.next = e.table[:0], 0
		if e.ids == nil {
			e.ids = make(map[string]uint32)
		}
	}
	e.b = dst
	e.seq++
	e.byte(firstByte(alone))
	e.byte(e.seq)
	e.snapshot(s, e.prev)
	e.prev = s
	dst, e.b = e.b, nil
	return dst
}

func (e *Encoder) byte(v byte) { e.b = append(e.b, v) }
func (e *Encoder) int(v int64) { e.uint(zigzag(v)) }

// Inlined, it would make the program 18 kB larger.
//
//go:noinline
func (e *Encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

// zigzag maps numbers near zero to small ones.
func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// time writes a time of measurement as the difference to the last one.
func (e *Encoder) time(at int64) {
	e.int(at - e.at)
	e.at = at
}

func (e *Encoder) string(s string) {
	if len(s) > maxInterned {
		s = cutString(s, maxString)
		e.uint(1)
		e.literal(s)
		return
	}
	if s == "" {
		e.byte(0)
		return
	}
	if id, ok := e.ids[s]; ok {
		e.uint(uint64(id) + 3)
		return
	}
	e.uint(2)
	e.literal(s)
	if len(e.table) < tableSize {
		e.table = append(e.table, s)
	} else {
		delete(e.ids, e.table[e.next])
		e.table[e.next] = s
	}
	e.ids[s] = uint32(e.next)
	e.next = (e.next + 1) % tableSize
}

func (e *Encoder) literal(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

// cutString shortens s to at most n bytes without cutting a character.
func cutString(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// reason writes a reason and whether an error follows it.
func (e *Encoder) reason(r Reason, err *CallError) {
	if r >= numReasons {
		r = DriverError
	}
	if *err == (CallError{}) {
		e.byte(byte(r))
		return
	}
	e.byte(byte(r) | 0x80)
	e.callError(err)
}

func (e *Encoder) callError(err *CallError) {
	e.string(err.Function())
	e.string(err.Name())
	e.int(int64(err.Code()))
}

func (e *Encoder) text(t *Text) {
	e.reason(t.Reason, &t.Err)
	e.string(t.Value)
}

func (e *Encoder) status(s *Status) {
	e.reason(s.Reason, &s.Err)
	e.time(s.At)
}

// readings writes how cur differs from prev; both have the same length, at
// most 64.
func (e *Encoder) readings(group int, cur, prev []*Reading) {
	var m masks
	for i, c := range cur {
		p := prev[i]
		bit := uint64(1) << i
		if c.At != p.At {
			m.at |= bit
		}
		if c.Reason != p.Reason || c.kind != p.kind || c.Provenance != p.Provenance || c.Err != p.Err {
			m.whole |= bit
		} else if c.bits != p.bits {
			m.value |= bit
		}
	}
	last := &e.masks[group]
	e.uint(m.value ^ last.value)
	e.uint(m.whole ^ last.whole)
	e.uint(m.at ^ last.at)
	*last = m

	for left := m.value | m.whole; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		c := cur[i]
		if m.whole&(1<<i) != 0 {
			e.reason(c.Reason, &c.Err)
			e.byte(byte(c.kind) | byte(min(c.Provenance, numProvenances-1))<<4)
		}
		switch c.kind {
		case Number:
			e.number(c.bits)
		case Integer:
			e.int(int64(c.bits - prev[i].bits))
		default:
			e.uint(c.bits)
		}
	}
	if m.at == 0 {
		return
	}
	// Readings that came from one call have one time.
	first := cur[bits.TrailingZeros64(m.at)].At
	same := byte(1)
	for left := m.at; left != 0; left &= left - 1 {
		if cur[bits.TrailingZeros64(left)].At != first {
			same = 0
			break
		}
	}
	e.byte(same)
	if same == 1 {
		e.time(first)
		return
	}
	for left := m.at; left != 0; left &= left - 1 {
		e.time(cur[bits.TrailingZeros64(left)].At)
	}
}

func (e *Encoder) number(b uint64) {
	const limit = 1 << 50
	v := math.Float64frombits(b)
	for form, scale := range formScale {
		n := math.RoundToEven(v * scale)
		if !(math.Abs(n) < limit) {
			break
		}
		if i := int64(n); math.Float64bits(float64(i)/scale) == b {
			e.uint(zigzag(i)<<3 | uint64(form))
			return
		}
	}
	if f := float32(v); math.Float64bits(float64(f)) == b {
		e.byte(formFloat32)
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(f))
		return
	}
	e.byte(formFloat64)
	e.b = binary.LittleEndian.AppendUint64(e.b, b)
}

func (h *Host) readings() [5]*Reading {
	return [...]*Reading{&h.CPUPercent, &h.MemoryTotalBytes, &h.MemoryAvailableBytes, &h.HugePagesTotalBytes, &h.HugePagesFreeBytes}
}

func (p *Process) readings() [9]*Reading {
	return [...]*Reading{
		&p.GPUMemoryBytes, &p.SMPercent, &p.EncoderPercent, &p.DecoderPercent,
		&p.StartTicks, &p.StartTime, &p.CPUPercent, &p.HostMemoryBytes, &p.NonLocalBytes,
	}
}

func (g *GPU) readings(dst *[NumReadings]*Reading) {
	for i := range g.Readings {
		dst[i] = &g.Readings[i]
	}
}

// bit returns b where cond holds, else 0.
func bit(cond bool, b uint64) uint64 {
	if cond {
		return b
	}
	return 0
}

// same reports whether two lists are equal, nil and empty told apart.
func same[T comparable](a, b []T) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b)
}

// sameProcesses is same, which would make the program 2 kB larger here: a second
// comparison of processes.
func sameProcesses(a, b []Process) bool {
	if !shared(a, b) {
		if (a == nil) != (b == nil) || len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
	}
	return true
}

// shared reports whether two lists are one and the same.
func shared[T any](a, b []T) bool {
	return (a == nil) == (b == nil) && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// length writes the length of a list; nil is not empty.
func length[T any](e *Encoder, list []T) {
	if list == nil {
		e.byte(0)
		return
	}
	e.uint(uint64(len(list)) + 1)
}

func (e *Encoder) snapshot(s, p *Snapshot) {
	e.masks = [3]masks{}
	h, hp := &s.Host, &p.Host
	hostReadings, hostReadingsBefore := h.readings(), hp.readings()
	mask := bit(s.Interval != p.Interval, snapInterval) |
		bit(s.Source != p.Source, snapSource) |
		bit(s.Waiting != p.Waiting || s.WaitingHint != p.WaitingHint, snapWaiting) |
		bit(h.Hostname != hp.Hostname || h.OS != hp.OS || h.Arch != hp.Arch || h.BootID != hp.BootID, snapHost) |
		bit(!sameReadings(hostReadings[:], hostReadingsBefore[:]), snapHostReadings) |
		bit(!shared(s.GPUs, p.GPUs), snapGPUs) |
		bit(s.Driver != p.Driver, snapDriver) |
		bit(!samePlatform(&s.Platform, &p.Platform), snapPlatform) |
		bit(s.Platform.EMCMHz != p.Platform.EMCMHz || s.Platform.EMCPercent != p.Platform.EMCPercent || s.Platform.Closed != p.Platform.Closed || !same(s.Platform.Parts, p.Platform.Parts), snapPlatformReadings) |
		bit(!same(s.Warnings, p.Warnings), snapWarnings)
	e.uint(mask)
	e.int(s.Time.Unix() - p.Time.Unix())
	e.uint(uint64(s.Time.Nanosecond()))
	e.int(s.Steady - p.Steady)
	e.at = s.Steady
	if mask&snapInterval != 0 {
		e.int(int64(s.Interval))
	}
	if mask&snapSource != 0 {
		e.string(s.Source)
	}
	if mask&snapWaiting != 0 {
		e.string(s.Waiting)
		e.string(s.WaitingHint)
	}
	if mask&snapHost != 0 {
		e.text(&h.Hostname)
		e.string(h.OS)
		e.string(h.Arch)
		e.text(&h.BootID)
	}
	if mask&snapHostReadings != 0 {
		e.readings(maskOther, hostReadings[:], hostReadingsBefore[:])
	}
	if mask&snapDriver != 0 {
		e.text(&s.Driver.Version)
		e.text(&s.Driver.CUDAVersion)
		e.text(&s.Driver.NVMLVersion)
		e.text(&s.Driver.Library)
	}
	if mask&snapPlatform != 0 {
		e.string(s.Platform.Kind)
		for _, t := range s.Platform.texts() {
			e.text(t)
		}
	}
	if mask&snapPlatformReadings != 0 {
		e.platformReadings(&s.Platform, &p.Platform)
	}
	if mask&snapWarnings != 0 {
		length(e, s.Warnings)
		for i := range s.Warnings {
			e.string(s.Warnings[i].Code)
			e.string(s.Warnings[i].Text)
		}
	}
	if mask&snapGPUs != 0 {
		e.gpus(s.GPUs, p.GPUs)
	}
}

func sameReadings(a, b []*Reading) bool {
	for i, r := range a {
		if *r != *b[i] {
			return false
		}
	}
	return true
}

func (e *Encoder) platformReadings(s, p *Platform) {
	e.readings(maskOther, []*Reading{&s.EMCMHz, &s.EMCPercent}, []*Reading{&p.EMCMHz, &p.EMCPercent})
	for _, why := range s.Closed {
		e.byte(byte(why))
	}
	length(e, s.Parts)
	for i := range s.Parts {
		part, before := &s.Parts[i], Part{}
		if i < len(p.Parts) {
			before = p.Parts[i]
		}
		named := part.Kind != before.Kind || part.Name != before.Name || part.Scope != before.Scope
		e.byte(byte(bit(named, 1)))
		if named {
			e.byte(byte(part.Kind))
			e.string(part.Name)
			e.string(part.Scope)
		}
		now, then := part.readings(), before.readings()
		e.readings(maskOther, now[:], then[:])
	}
}

func (p *Part) readings() [maxPartReadings]*Reading {
	return [...]*Reading{&p.Readings[0], &p.Readings[1], &p.Readings[2]}
}

// noGPU and noProcess are what is compared with where nothing was before.
var (
	noGPU     GPU
	noProcess Process
)

func (e *Encoder) gpus(list, before []GPU) {
	length(e, list)
	for i := range list {
		p := &noGPU
		if i < len(before) {
			p = &before[i]
		}
		e.gpu(&list[i], p)
	}
}

func (e *Encoder) gpu(g, p *GPU) {
	mask := bit(g.Readings != p.Readings, gpuReadings) |
		bit(g.Refreshed != p.Refreshed, gpuRefreshed) |
		bit(g.ProcStatus != p.ProcStatus, gpuProcStatus) |
		bit(!sameProcesses(g.Processes, p.Processes), gpuProcesses) |
		bit(g.Call != p.Call || g.CallSince != p.CallSince, gpuCall) |
		bit(g.FansStatus != p.FansStatus, gpuFansStatus) |
		bit(!same(g.Fans, p.Fans), gpuFans) |
		bit(g.State != p.State || g.StateReason != p.StateReason || g.StateErr != p.StateErr || g.Blocked != p.Blocked || g.StateSince != p.StateSince, gpuState) |
		bit(g.Identity != p.Identity, gpuIdentity) |
		bit(!same(g.Sources, p.Sources), gpuSources) |
		bit(!same(g.XIDs, p.XIDs), gpuXIDs) |
		bit(g.XIDsStatus != p.XIDsStatus, gpuXIDsStatus) |
		bit(!shared(g.MIG, p.MIG), gpuMIG) |
		bit(g.MIGStatus != p.MIGStatus, gpuMIGStatus) |
		bit(!same(g.Health, p.Health), gpuHealth) |
		bit(g.Adapter != p.Adapter, gpuAdapter)
	e.uint(mask)
	if mask&gpuIdentity != 0 {
		e.identity(&g.Identity)
	}
	if mask&gpuState != 0 {
		e.byte(byte(min(g.State, numStates-1)))
		e.string(g.StateReason)
		e.reason(g.Blocked, &g.StateErr)
		e.time(g.StateSince)
	}
	if mask&gpuSources != 0 {
		length(e, g.Sources)
		for _, s := range g.Sources {
			e.string(s)
		}
	}
	if mask&gpuReadings != 0 {
		var cur, before [NumReadings]*Reading
		g.readings(&cur)
		p.readings(&before)
		e.readings(maskGPU, cur[:], before[:])
	}
	if mask&gpuFansStatus != 0 {
		e.status(&g.FansStatus)
	}
	if mask&gpuFans != 0 {
		e.fans(g.Fans, p.Fans)
	}
	if mask&gpuXIDsStatus != 0 {
		e.status(&g.XIDsStatus)
	}
	if mask&gpuXIDs != 0 {
		length(e, g.XIDs)
		for i := range g.XIDs {
			x := &g.XIDs[i]
			e.int(x.Time)
			e.int(int64(x.Code))
			e.string(x.Source)
			e.int(int64(x.GPUInstanceID))
			e.int(int64(x.ComputeInstanceID))
		}
	}
	if mask&gpuHealth != 0 {
		length(e, g.Health)
		for i := range g.Health {
			h := &g.Health[i]
			e.string(h.Code)
			e.string(h.Text)
			e.byte(byte(min(h.Level, Critical)))
		}
	}
	if mask&gpuMIGStatus != 0 {
		e.status(&g.MIGStatus)
	}
	if mask&gpuMIG != 0 {
		e.gpus(g.MIG, p.MIG)
	}
	if mask&gpuProcStatus != 0 {
		e.status(&g.ProcStatus)
	}
	if mask&gpuProcesses != 0 {
		e.processes(g.Processes, p.Processes)
	}
	if mask&gpuCall != 0 {
		e.string(g.Call)
		e.time(g.CallSince)
	}
	if mask&gpuRefreshed != 0 {
		e.time(g.Refreshed)
	}
	if mask&gpuAdapter != 0 {
		e.adapter(g.Adapter)
	}
}

func (e *Encoder) identity(id *Identity) {
	e.int(int64(id.Index))
	for _, t := range id.texts() {
		e.text(t)
	}
	e.byte(byte(bit(id.Integrated, 1) | bit(id.MemoryUnified, 2)))
	e.int(int64(id.GPUInstanceID))
	e.int(int64(id.ComputeInstanceID))
	e.string(id.DriverModel)
	e.string(id.Profile)
	e.string(id.ParentUUID)
}

func (e *Encoder) adapter(a *Adapter) {
	e.byte(byte(bit(a != nil, 1)))
	if a != nil {
		var none Adapter
		e.readings(maskOther, a.readings(), none.readings())
	}
}

func (id *Identity) texts() [5]*Text {
	return [...]*Text{&id.UUID, &id.PCIBusID, &id.Name, &id.Architecture, &id.Serial}
}

func (e *Encoder) fans(list, before []Fan) {
	length(e, list)
	var none Fan
	for i := range list {
		f, p := &list[i], &none
		if i < len(before) {
			p = &before[i]
		}
		e.int(int64(f.Index - p.Index))
		e.readings(maskOther, []*Reading{&f.Percent, &f.RPM, &f.TargetPercent}, []*Reading{&p.Percent, &p.RPM, &p.TargetPercent})
	}
}

// processes writes list as steps that build it from the list before.
func (e *Encoder) processes(list, before []Process) {
	length(e, list)
	cursor, run, indexed := 0, 0, false
	flush := func() {
		if run > 0 {
			e.uint(uint64(run) << 2) // stepCopy
			run = 0
		}
	}
	for i := range list {
		p := &list[i]
		if cursor >= len(before) || before[cursor].id() != p.id() {
			flush()
			if !indexed {
				indexed = true
				if e.index == nil {
					e.index = make(map[processID]int32)
				}
				clear(e.index)
				for j := range before {
					e.index[before[j].id()] = int32(j)
				}
			}
			at, ok := e.index[p.id()]
			if !ok {
				e.process(stepNew, p, &noProcess)
				continue
			}
			cursor = int(at)
			e.uint(uint64(at)<<2 | stepSeek)
		}
		if *p == before[cursor] {
			run++
		} else {
			flush()
			e.process(stepChange, p, &before[cursor])
		}
		cursor++
	}
	flush()
}

func (e *Encoder) process(step uint64, p, before *Process) {
	cur, prev := p.readings(), before.readings()
	changed := false
	for i := range cur {
		if *cur[i] != *prev[i] {
			changed = true
			break
		}
	}
	mask := bit(changed, procReadings) |
		bit(p.id() != before.id(), procIdentity) |
		bit(p.Types != before.Types || p.Namespace != before.Namespace, procKind) |
		bit(p.Name != before.Name, procName) |
		bit(p.Command != before.Command, procCommand) |
		bit(p.User != before.User, procUser) |
		bit(p.Container != before.Container, procContainer) |
		bit(p.Job != before.Job, procJob) |
		bit(p.Unit != before.Unit, procUnit)
	e.uint(mask<<2 | step)
	if mask&procIdentity != 0 {
		e.uint(uint64(p.PID))
		e.int(int64(p.GPUInstanceID))
		e.int(int64(p.ComputeInstanceID))
	}
	if mask&procKind != 0 {
		e.byte(byte(p.Types))
		e.byte(byte(min(p.Namespace, NamespaceOutside)))
	}
	if mask&procName != 0 {
		e.text(&p.Name)
	}
	if mask&procCommand != 0 {
		e.text(&p.Command)
	}
	if mask&procUser != 0 {
		e.text(&p.User)
	}
	if mask&procContainer != 0 {
		e.reason(p.Container.Reason, &CallError{})
		e.string(p.Container.Runtime)
		e.string(p.Container.ID)
		e.string(p.Container.PodUID)
	}
	if mask&procJob != 0 {
		e.reason(p.Job.Reason, &CallError{})
		e.string(p.Job.Scheduler)
		e.string(p.Job.ID)
		e.string(p.Job.Step)
	}
	if mask&procUnit != 0 {
		e.text(&p.Unit)
	}
	if mask&procReadings != 0 {
		e.readings(maskProcess, cur[:], prev[:])
	}
}

// limited returns s, or a copy with its lists cut where s holds more than a
// message can.
func limited(s *Snapshot) *Snapshot {
	gpus, processes := len(s.GPUs), 0
	fits := len(s.Warnings) <= maxList && len(s.Platform.Parts) <= maxList
	for i := range s.GPUs {
		g := &s.GPUs[i]
		gpus += len(g.MIG)
		processes += len(g.Processes)
		fits = fits && g.smallLists()
		for j := range g.MIG {
			processes += len(g.MIG[j].Processes)
			fits = fits && g.MIG[j].smallLists() && g.MIG[j].MIG == nil
		}
	}
	if fits && gpus <= maxGPUs && processes <= maxProcesses {
		return s
	}
	c := *s
	c.Warnings = cut(c.Warnings, maxList)
	c.Platform.Parts = cut(c.Platform.Parts, maxList)
	gpus, processes = maxGPUs, maxProcesses
	c.GPUs = limitedGPUs(s.GPUs, &gpus, &processes)
	for i := range c.GPUs {
		c.GPUs[i].MIG = limitedGPUs(c.GPUs[i].MIG, &gpus, &processes)
		for j := range c.GPUs[i].MIG {
			c.GPUs[i].MIG[j].MIG = nil
		}
	}
	return &c
}

func limitedGPUs(list []GPU, gpus, processes *int) []GPU {
	list = slices.Clone(cut(list, *gpus))
	*gpus -= len(list)
	for i := range list {
		g := &list[i]
		g.Sources = cut(g.Sources, maxList)
		g.Fans = cut(g.Fans, maxList)
		g.XIDs = cut(g.XIDs, maxList)
		g.Health = cut(g.Health, maxList)
		g.Processes = cut(g.Processes, *processes)
		*processes -= len(g.Processes)
	}
	return list
}

func (g *GPU) smallLists() bool {
	return len(g.Sources) <= maxList && len(g.Fans) <= maxList && len(g.XIDs) <= maxList && len(g.Health) <= maxList
}

func cut[T any](list []T, n int) []T {
	if len(list) > n {
		return list[:n:n]
	}
	return list
}

// unixTime is the inverse of how a snapshot's time is written.
func unixTime(sec int64, nsec uint64) time.Time { return time.Unix(sec, int64(nsec)).UTC() }
