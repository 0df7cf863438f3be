package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Decoder turns messages back into snapshots. Its zero value is ready for a
// message that stands alone.
//
// It trusts nothing: whatever the bytes, Decode returns a snapshot or an
// error, and takes memory only in proportion to them and to what earlier
// messages held.
type Decoder struct {
	b         []byte
	err       error
	prev      *Snapshot
	seq       byte
	at        int64
	masks     [3]masks
	table     []string
	next      int
	gpus      int // how many more there may be
	processes int
}

var (
	errCut        = errors.New("ends too early")
	errNotAlone   = errors.New("does not stand alone")
	errSequence   = errors.New("a message before it is missing")
	errFormat     = errors.New("unknown format")
	errTrailing   = errors.New("goes on behind its end")
	errLimit      = errors.New("exceeds a limit")
	errImpossible = errors.New("impossible value")
)

// Decode returns the snapshot in message b, which it does not keep. Its time
// is in UTC. Snapshots of one stream share what did not change, so none of
// them may be altered. After an error only a message that stands alone can be
// decoded.
func (d *Decoder) Decode(b []byte) (*Snapshot, error) {
	if len(b) > MaxMessage {
		d.prev = nil
		return nil, fmt.Errorf("snapshot message of %d bytes: %w", len(b), errLimit)
	}
	d.b, d.err = b, nil
	s := d.message()
	if d.err == nil && len(d.b) > 0 {
		d.err = errTrailing
	}
	d.b = nil
	if d.err != nil {
		d.prev = nil
		return nil, fmt.Errorf("snapshot message of %d bytes: %w", len(b), d.err)
	}
	d.prev = s
	return s, nil
}

func (d *Decoder) message() *Snapshot {
	first, seq := d.byte(), d.byte()
	switch {
	case d.err != nil:
	case first == firstByte(true):
		d.prev = new(Snapshot)
		d.table, d.next = d.table[:0], 0
	case first != firstByte(false):
		d.fail(errFormat)
	case d.prev == nil:
		d.fail(errNotAlone)
	case seq != d.seq+1:
		d.fail(errSequence)
	}
	if d.err != nil {
		return nil
	}
	d.seq = seq
	d.masks = [3]masks{}
	d.gpus, d.processes = maxGPUs, maxProcesses
	s := *d.prev
	d.snapshot(&s)
	return &s
}

// fail keeps the first error and ends the message.
//
// Inlined, it would make the program 6 kB larger.
//
//go:noinline
func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

func (d *Decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail(errCut)
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *Decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errCut)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *Decoder) int() int64 { return unzigzag(d.uint()) }

// small reads an integer that fits into an int everywhere.
func (d *Decoder) small() int {
	v := d.int()
	if v != int64(int32(v)) {
		d.fail(errImpossible)
		return 0
	}
	return int(v)
}

// mask reads a set of bits within all.
func (d *Decoder) mask(all uint64) uint64 {
	v := d.uint()
	if v&^all != 0 {
		d.fail(errImpossible)
		return 0
	}
	return v
}

func (d *Decoder) time() int64 {
	d.at += d.int()
	return d.at
}

func (d *Decoder) string() string {
	id := d.uint()
	switch id {
	case 0:
		return ""
	case 1:
		return d.literal(maxString)
	case 2:
		s := d.literal(maxInterned)
		if d.err != nil {
			return ""
		}
		if len(d.table) < tableSize {
			d.table = append(d.table, s)
		} else {
			d.table[d.next] = s
		}
		d.next = (d.next + 1) % tableSize
		return s
	}
	if id -= 3; id >= uint64(len(d.table)) {
		d.fail(errImpossible)
		return ""
	}
	return d.table[id]
}

func (d *Decoder) literal(limit uint64) string {
	n := d.uint()
	if n > limit {
		d.fail(errLimit)
		return ""
	}
	if n > uint64(len(d.b)) {
		d.fail(errCut)
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *Decoder) reason() (Reason, CallError) {
	b := d.byte()
	r := Reason(b &^ 0x80)
	if r >= numReasons {
		d.fail(errImpossible)
		return NotSampled, CallError{}
	}
	if b&0x80 == 0 {
		return r, CallError{}
	}
	return r, d.callError()
}

func (d *Decoder) callError() CallError {
	return NewCallError(d.string(), d.string(), int32(d.small()))
}

func (d *Decoder) text(t *Text) {
	t.Reason, t.Err = d.reason()
	t.Value = d.string()
}

func (d *Decoder) status(s *Status) {
	s.Reason, s.Err = d.reason()
	s.At = d.time()
}

func (d *Decoder) readings(group int, list []*Reading) {
	all := ^uint64(0) >> (64 - len(list))
	last := &d.masks[group]
	m := masks{value: d.uint() ^ last.value, whole: d.uint() ^ last.whole, at: d.uint() ^ last.at}
	if (m.value|m.whole|m.at)&^all != 0 || m.value&m.whole != 0 {
		d.fail(errImpossible)
		return
	}
	*last = m
	for left := m.value | m.whole; left != 0 && d.err == nil; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		r := list[i]
		if m.whole&(1<<i) != 0 {
			r.Reason, r.Err = d.reason()
			b := d.byte()
			r.kind, r.Provenance = Kind(b&15), Provenance(b>>4)
			if r.kind >= numKinds || r.Provenance >= numProvenances {
				d.fail(errImpossible)
				return
			}
		}
		switch r.kind {
		case Number:
			r.bits = d.number()
		case Integer:
			r.bits += uint64(d.int())
		default:
			r.bits = d.uint()
		}
	}
	if m.at == 0 {
		return
	}
	switch d.byte() {
	case 0:
		for left := m.at; left != 0 && d.err == nil; left &= left - 1 {
			list[bits.TrailingZeros64(left)].At = d.time()
		}
	case 1:
		at := d.time()
		for left := m.at; left != 0; left &= left - 1 {
			list[bits.TrailingZeros64(left)].At = at
		}
	default:
		d.fail(errImpossible)
	}
}

func (d *Decoder) number() uint64 {
	v := d.uint()
	switch form := v & 7; form {
	case formWhole, formTenths, formHundredths, formThousandths:
		return math.Float64bits(float64(unzigzag(v>>3)) / formScale[form])
	case formFloat32:
		if len(d.b) < 4 {
			break
		}
		f := math.Float32frombits(binary.LittleEndian.Uint32(d.b))
		d.b = d.b[4:]
		return math.Float64bits(float64(f))
	case formFloat64:
		if len(d.b) < 8 {
			break
		}
		b := binary.LittleEndian.Uint64(d.b)
		d.b = d.b[8:]
		return b
	default:
		d.fail(errImpossible)
		return 0
	}
	d.fail(errCut)
	return 0
}

// list reads the length of a list whose elements take a byte or more each, and
// returns room for it, nil for no list.
func list[T any](d *Decoder, limit int) []T {
	n := d.uint()
	if n == 0 {
		return nil
	}
	if n--; n > uint64(limit) {
		d.fail(errLimit)
		return nil
	}
	if n > uint64(len(d.b)) {
		d.fail(errCut)
		return nil
	}
	return make([]T, n)
}

func (d *Decoder) snapshot(s *Snapshot) {
	mask := d.mask(snapMask)
	sec := s.Time.Unix() + d.int()
	nsec := d.uint()
	if nsec >= uint64(time.Second) {
		d.fail(errImpossible)
		return
	}
	s.Time = unixTime(sec, nsec)
	s.Steady += d.int()
	d.at = s.Steady
	if mask&snapInterval != 0 {
		s.Interval = time.Duration(d.int())
	}
	if mask&snapSource != 0 {
		s.Source = d.string()
	}
	if mask&snapWaiting != 0 {
		s.Waiting = d.string()
		s.WaitingHint = d.string()
	}
	if mask&snapHost != 0 {
		d.text(&s.Host.Hostname)
		s.Host.OS = d.string()
		s.Host.Arch = d.string()
		d.text(&s.Host.BootID)
	}
	if mask&snapHostReadings != 0 {
		r := s.Host.readings()
		d.readings(maskOther, r[:])
	}
	if mask&snapDriver != 0 {
		d.text(&s.Driver.Version)
		d.text(&s.Driver.CUDAVersion)
		d.text(&s.Driver.NVMLVersion)
		d.text(&s.Driver.Library)
	}
	if mask&snapPlatform != 0 {
		s.Platform.Kind = d.string()
		for _, t := range s.Platform.texts() {
			d.text(t)
		}
	}
	if mask&snapPlatformReadings != 0 {
		d.platformReadings(&s.Platform)
	}
	if mask&snapWarnings != 0 {
		s.Warnings = list[Warning](d, maxList)
		for i := range s.Warnings {
			s.Warnings[i] = Warning{Code: d.string(), Text: d.string()}
		}
	}
	if mask&snapGPUs != 0 {
		s.GPUs = d.gpuList(s.GPUs, true)
	}
}

func (d *Decoder) platformReadings(p *Platform) {
	d.readings(maskOther, []*Reading{&p.EMCMHz, &p.EMCPercent})
	for i := range p.Closed {
		p.Closed[i] = Reason(min(d.byte(), byte(numReasons-1)))
	}
	parts := list[Part](d, maxList)
	copy(parts, p.Parts)
	for i := range parts {
		part := &parts[i]
		if d.byte() != 0 {
			if part.Kind = PartKind(d.byte()); part.Kind >= NumPartKinds {
				d.fail(errImpossible)
				part.Kind = 0
			}
			part.Name, part.Scope = d.string(), d.string()
		}
		readings := part.readings()
		d.readings(maskOther, readings[:])
	}
	p.Parts = parts
}

// gpuList reads GPUs, or the instances of one, which have none themselves.
func (d *Decoder) gpuList(before []GPU, instances bool) []GPU {
	gpus := list[GPU](d, d.gpus)
	d.gpus -= len(gpus)
	copy(gpus, before)
	for i := range gpus {
		if d.err != nil {
			break
		}
		d.gpu(&gpus[i], instances)
	}
	return gpus
}

// gpu changes g, a copy of what was before.
func (d *Decoder) gpu(g *GPU, instances bool) {
	mask := d.mask(gpuMask)
	if mask&gpuIdentity != 0 {
		d.identity(&g.Identity)
	}
	if mask&gpuState != 0 {
		g.State = State(d.byte())
		if g.State >= numStates {
			d.fail(errImpossible)
			return
		}
		g.StateReason = d.string()
		g.Blocked, g.StateErr = d.reason()
		g.StateSince = d.time()
	}
	if mask&gpuSources != 0 {
		g.Sources = list[string](d, maxList)
		for i := range g.Sources {
			g.Sources[i] = d.string()
		}
	}
	if mask&gpuReadings != 0 {
		var r [NumReadings]*Reading
		g.readings(&r)
		d.readings(maskGPU, r[:])
	}
	if mask&gpuFansStatus != 0 {
		d.status(&g.FansStatus)
	}
	if mask&gpuFans != 0 {
		fans := list[Fan](d, maxList)
		copy(fans, g.Fans)
		for i := range fans {
			f := &fans[i]
			f.Index += d.small()
			d.readings(maskOther, []*Reading{&f.Percent, &f.RPM, &f.TargetPercent})
		}
		g.Fans = fans
	}
	if mask&gpuXIDsStatus != 0 {
		d.status(&g.XIDsStatus)
	}
	if mask&gpuXIDs != 0 {
		g.XIDs = list[XID](d, maxList)
		for i := range g.XIDs {
			g.XIDs[i] = XID{Time: d.int(), Code: d.small(), Source: d.string(), GPUInstanceID: d.small(), ComputeInstanceID: d.small()}
		}
	}
	if mask&gpuHealth != 0 {
		g.Health = list[Health](d, maxList)
		for i := range g.Health {
			h := Health{Code: d.string(), Text: d.string(), Level: Level(d.byte())}
			if h.Level > Critical {
				d.fail(errImpossible)
				return
			}
			g.Health[i] = h
		}
	}
	if mask&gpuMIGStatus != 0 {
		d.status(&g.MIGStatus)
	}
	if mask&gpuMIG != 0 {
		if !instances {
			d.fail(errImpossible)
			return
		}
		g.MIG = d.gpuList(g.MIG, false)
	}
	if mask&gpuProcStatus != 0 {
		d.status(&g.ProcStatus)
	}
	if mask&gpuProcesses != 0 {
		g.Processes = d.processList(g.Processes)
	}
	if mask&gpuCall != 0 {
		g.Call = d.string()
		g.CallSince = d.time()
	}
	if mask&gpuRefreshed != 0 {
		g.Refreshed = d.time()
	}
	if mask&gpuAdapter != 0 {
		if g.Adapter = nil; d.byte() != 0 {
			g.Adapter = new(Adapter)
			d.readings(maskOther, g.Adapter.readings())
		}
	}
}

func (d *Decoder) identity(id *Identity) {
	id.Index = d.small()
	for _, t := range id.texts() {
		d.text(t)
	}
	flags := d.byte()
	id.Integrated, id.MemoryUnified = flags&1 != 0, flags&2 != 0
	id.GPUInstanceID = d.small()
	id.ComputeInstanceID = d.small()
	id.DriverModel = d.string()
	id.Profile = d.string()
	id.ParentUUID = d.string()
}

func (d *Decoder) processList(before []Process) []Process {
	v := d.uint()
	if v == 0 {
		return nil
	}
	if v--; v > uint64(d.processes) {
		d.fail(errLimit)
		return nil
	}
	n := int(v)
	d.processes -= n
	// A run copies many for one byte, but no more than there were, if the
	// sender does not repeat itself; more grows as it comes.
	processes := make([]Process, 0, min(n, len(before)+len(d.b)))
	cursor := 0
	for len(processes) < n && d.err == nil {
		step := d.uint()
		v := step >> 2
		switch step & 3 {
		case stepCopy:
			if v == 0 || v > uint64(len(before)-cursor) || v > uint64(n-len(processes)) {
				d.fail(errImpossible)
				return nil
			}
			processes = append(processes, before[cursor:cursor+int(v)]...)
			cursor += int(v)
		case stepChange:
			if cursor >= len(before) {
				d.fail(errImpossible)
				return nil
			}
			processes = append(processes, before[cursor])
			d.process(v, &processes[len(processes)-1])
			cursor++
		case stepNew:
			processes = append(processes, Process{})
			d.process(v, &processes[len(processes)-1])
		case stepSeek:
			if v >= uint64(len(before)) {
				d.fail(errImpossible)
				return nil
			}
			cursor = int(v)
		}
	}
	return processes
}

func (d *Decoder) process(mask uint64, p *Process) {
	if mask&^procMask != 0 {
		d.fail(errImpossible)
		return
	}
	if mask&procIdentity != 0 {
		pid := d.uint()
		if pid > math.MaxUint32 {
			d.fail(errImpossible)
			return
		}
		p.PID = uint32(pid)
		p.GPUInstanceID = d.small()
		p.ComputeInstanceID = d.small()
	}
	if mask&procKind != 0 {
		p.Types = ProcessTypes(d.byte())
		p.Namespace = Namespace(d.byte())
		if p.Namespace > NamespaceOutside {
			d.fail(errImpossible)
			return
		}
	}
	if mask&procName != 0 {
		d.text(&p.Name)
	}
	if mask&procCommand != 0 {
		d.text(&p.Command)
	}
	if mask&procUser != 0 {
		d.text(&p.User)
	}
	if mask&procContainer != 0 {
		p.Container.Reason, _ = d.reason()
		p.Container.Runtime = d.string()
		p.Container.ID = d.string()
		p.Container.PodUID = d.string()
	}
	if mask&procJob != 0 {
		p.Job.Reason, _ = d.reason()
		p.Job.Scheduler = d.string()
		p.Job.ID = d.string()
		p.Job.Step = d.string()
	}
	if mask&procUnit != 0 {
		d.text(&p.Unit)
	}
	if mask&procReadings != 0 {
		r := p.readings()
		d.readings(maskProcess, r[:])
	}
}
