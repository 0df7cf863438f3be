package monitor

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A maker makes snapshots at random.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 1))} }

func (m maker) often() bool { return m.IntN(4) != 0 }
func (m maker) rare() bool  { return m.IntN(16) == 0 }

func (m maker) str() string {
	switch m.IntN(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("long ", m.IntN(300))
	case 2:
		return string([]byte{0xff, 0x1b, '[', byte(m.IntN(256))})
	}
	return fmt.Sprintf("text %d", m.IntN(40))
}

func (m maker) at() int64 {
	switch m.IntN(6) {
	case 0:
		return 0
	case 1:
		return int64(m.Uint64())
	}
	return 1_700_000_000_000_000_000 + m.Int64N(4)*1_000_000
}

func (m maker) callError() CallError {
	if m.often() {
		return CallError{}
	}
	return NewCallError(m.str(), m.str(), int32(m.Uint32()))
}

func (m maker) reason() Reason { return Reason(m.IntN(int(numReasons))) }

func (m maker) float() float64 {
	switch m.IntN(8) {
	case 0:
		return float64(m.IntN(101))
	case 1:
		return float64(m.IntN(1001)) / 10
	case 2:
		return float64(m.IntN(100001)) / 1000
	case 3:
		return float64(float32(m.Float64()))
	case 4:
		return []float64{math.Copysign(0, -1), math.MaxFloat64, -math.SmallestNonzeroFloat64, 1 << 50, -1 << 51, 1e300, 0.1 + 0.2}[m.IntN(7)]
	case 5:
		return -float64(m.IntN(1000)) / 100
	}
	return m.Float64() * 1e12
}

func (m maker) reading() Reading {
	var r Reading
	switch m.IntN(6) {
	case 0:
		r = OfFloat(m.float())
	case 1:
		r = OfInt(int64(m.Uint64() >> m.IntN(64)))
	case 2:
		r = OfFlag(m.IntN(2) == 0)
	case 3:
		r = OfWord(m.Uint64() >> m.IntN(64))
	case 4:
		r = OfMask(m.Uint64() >> m.IntN(64))
	case 5:
		r = Failed(m.reason(), m.callError())
	}
	if m.rare() {
		r.Reason = m.reason() // as a sampler does that keeps the value
	}
	r.Provenance = Provenance(m.IntN(int(numProvenances)))
	r.At = m.at()
	return r
}

func (m maker) text() Text {
	return Text{Value: m.str(), Reason: m.reason(), Err: m.callError()}
}

func (m maker) status() Status {
	return Status{Err: m.callError(), At: m.at(), Reason: m.reason()}
}

func many[T any](m maker, n int, one func() T) []T {
	if m.rare() {
		return nil
	}
	list := make([]T, m.IntN(n+1))
	for i := range list {
		list[i] = one()
	}
	return list
}

func (m maker) identity() Identity {
	return Identity{
		Index: m.IntN(20) - 1, UUID: m.text(), PCIBusID: m.text(), Name: m.text(), Architecture: m.text(),
		Serial: m.text(), DriverModel: m.str(), Integrated: m.rare(), MemoryUnified: m.rare(), GPUInstanceID: m.IntN(9) - 1,
		ComputeInstanceID: m.IntN(9) - 1, Profile: m.str(), ParentUUID: m.str(),
	}
}

func (m maker) process() Process {
	return Process{
		PID: m.Uint32() >> m.IntN(32), Types: ProcessTypes(m.IntN(8)), Namespace: Namespace(m.IntN(3)),
		GPUInstanceID: m.IntN(3) - 1, ComputeInstanceID: m.IntN(3) - 1,
		GPUMemoryBytes: m.reading(), SMPercent: m.reading(), EncoderPercent: m.reading(), DecoderPercent: m.reading(),
		StartTicks: m.reading(), StartTime: m.reading(), Name: m.text(), Command: m.text(), User: m.text(),
		CPUPercent: m.reading(), HostMemoryBytes: m.reading(), NonLocalBytes: m.reading(),
		Container: Container{Runtime: m.str(), ID: m.str(), PodUID: m.str(), Reason: m.reason()},
		Job:       Job{Scheduler: m.str(), ID: m.str(), Step: m.str(), Reason: m.reason()},
	}
}

func (m maker) fan() Fan {
	return Fan{Index: m.IntN(4), Percent: m.reading(), RPM: m.reading(), TargetPercent: m.reading()}
}

// parts are of all kinds, in their order.
func (m maker) parts() []Part {
	parts := many(m, 3*int(NumPartKinds), func() Part {
		p := Part{Kind: PartKind(m.IntN(int(NumPartKinds))), Name: m.str(), Scope: m.str()}
		for i := range p.Readings {
			p.Readings[i] = m.reading()
		}
		return p
	})
	slices.SortStableFunc(parts, func(a, b Part) int { return int(a.Kind) - int(b.Kind) })
	return parts
}

func (m maker) gpu(instances bool) GPU {
	g := GPU{
		Identity: m.identity(), State: State(m.IntN(int(numStates))), StateReason: m.str(), Blocked: m.reason(), StateErr: m.callError(),
		StateSince: m.at(), Refreshed: m.at(), Call: m.str(), CallSince: m.at(), Sources: many(m, 2, m.str),
		Fans: many(m, 3, m.fan), FansStatus: m.status(),
		XIDs: many(m, 4, func() XID {
			return XID{Time: m.at(), Code: m.IntN(150), Source: m.str(), GPUInstanceID: m.IntN(9) - 1, ComputeInstanceID: m.IntN(9) - 1}
		}),
		XIDsStatus: m.status(), MIGStatus: m.status(),
		Health: many(m, 3, func() Health {
			return Health{Code: m.str(), Text: m.str(), Level: Level(m.IntN(3))}
		}),
		Processes: many(m, 9, m.process), ProcStatus: m.status(),
	}
	for i := range g.Readings {
		g.Readings[i] = m.reading()
	}
	if m.rare() {
		g.Adapter = &Adapter{m.reading(), m.reading(), m.reading(), m.reading()}
	}
	if instances && m.rare() {
		g.MIG = many(m, 3, func() GPU { return m.gpu(false) })
	}
	return g
}

func (m maker) snapshot() *Snapshot {
	s := &Snapshot{
		Time: unixTime(m.Int64N(4e9), uint64(m.IntN(1e9))), Steady: m.at(), Interval: time.Duration(m.Int64N(1e10)),
		Source: m.str(), Waiting: m.str(), WaitingHint: m.str(),
		Host: Host{Hostname: m.text(), OS: m.str(), Arch: m.str(), BootID: m.text(), CPUPercent: m.reading(),
			MemoryTotalBytes: m.reading(), MemoryAvailableBytes: m.reading(), HugePagesTotalBytes: m.reading(), HugePagesFreeBytes: m.reading()},
		Driver: Driver{Version: m.text(), CUDAVersion: m.text(), NVMLVersion: m.text(), Library: m.text()},
		Platform: Platform{Kind: m.str(), Model: m.text(), SoC: m.text(), L4T: m.text(), JetPack: m.text(), PowerMode: m.text(),
			Governor: m.text(), Parts: m.parts(), EMCMHz: m.reading(), EMCPercent: m.reading()},
		GPUs:     many(m, 4, func() GPU { return m.gpu(true) }),
		Warnings: many(m, 2, func() Warning { return Warning{Code: m.str(), Text: m.str()} }),
	}
	if m.rare() {
		s.Time = time.Time{}
	}
	return s
}

// next returns a snapshot in which some of s has changed.
func (m maker) next(s *Snapshot) *Snapshot {
	if m.rare() {
		return m.snapshot()
	}
	c := *s
	c.Time = c.Time.Add(time.Duration(m.Int64N(2e9) - 1e7))
	c.Steady += m.Int64N(2e9)
	if m.rare() {
		c.Interval = time.Duration(m.Int64N(1e10))
	}
	if m.often() {
		c.Host.CPUPercent = m.reading()
	}
	if m.rare() {
		c.Host.BootID, c.Driver.Version, c.Platform.PowerMode = m.text(), m.text(), m.text()
	}
	if m.rare() {
		c.Source, c.Waiting, c.WaitingHint = m.str(), m.str(), m.str()
	}
	switch parts := slices.Clone(c.Platform.Parts); {
	case m.rare():
		c.Platform.Parts = m.parts()
	case m.often() && len(parts) > 0:
		p := &parts[m.IntN(len(parts))]
		p.Readings[m.IntN(len(p.Readings))] = m.reading()
		c.Platform.Parts = parts
	}
	if m.rare() {
		c.Platform.EMCPercent, c.Host.HugePagesFreeBytes = m.reading(), m.reading()
	}
	if m.rare() {
		c.Warnings = many(m, 2, func() Warning { return Warning{Code: m.str(), Text: m.str()} })
	}
	if m.rare() {
		return &c // the GPUs are the same
	}
	c.GPUs = m.nextGPUs(c.GPUs, true)
	return &c
}

func (m maker) nextGPUs(gpus []GPU, instances bool) []GPU {
	gpus = slices.Clone(gpus)
	if len(gpus) > 0 && m.rare() {
		gpus = slices.Delete(gpus, 0, 1)
	}
	if m.rare() {
		gpus = slices.Insert(gpus, m.IntN(len(gpus)+1), m.gpu(instances))
	}
	for i := range gpus {
		g := &gpus[i]
		if m.rare() {
			continue
		}
		g.Refreshed += m.Int64N(2e9)
		for j := range g.Readings {
			switch m.IntN(5) {
			case 0:
				g.Readings[j] = m.reading()
			case 1, 2:
				g.Readings[j].At = g.Refreshed
			}
		}
		if m.rare() {
			g.State, g.StateReason, g.StateErr, g.StateSince = State(m.IntN(int(numStates))), m.str(), m.callError(), m.at()
			g.Call, g.CallSince = m.str(), m.at()
			g.XIDs = append(slices.Clone(g.XIDs), XID{Code: m.IntN(99)})
			g.Health = append(slices.Clone(g.Health), Health{Text: m.str(), Level: Warn})
			g.XIDsStatus, g.MIGStatus, g.FansStatus = m.status(), m.status(), m.status()
		}
		if m.rare() {
			g.Identity, g.Sources = m.identity(), []string{m.str()}
		}
		if m.often() && len(g.Fans) > 0 {
			g.Fans = slices.Clone(g.Fans)
			g.Fans[m.IntN(len(g.Fans))] = m.fan()
		}
		if m.often() {
			g.ProcStatus.At = g.Refreshed
			g.Processes = m.nextProcesses(g.Processes)
		}
		if g.MIG != nil && m.often() {
			g.MIG = m.nextGPUs(g.MIG, false)
		}
	}
	return gpus
}

func (m maker) nextProcesses(list []Process) []Process {
	list = slices.Clone(list)
	for i := range list {
		if m.often() {
			continue
		}
		switch m.IntN(4) {
		case 0:
			list[i] = m.process()
		case 1:
			list[i].User, list[i].Job.Step, list[i].Types = m.text(), m.str(), ProcessTypes(m.IntN(8))
		default:
			list[i].SMPercent, list[i].GPUMemoryBytes.At = m.reading(), m.at()
		}
	}
	if len(list) > 0 && m.rare() {
		list = slices.Delete(list, 0, 1)
	}
	if m.rare() {
		list = append(list, m.process())
	}
	if m.rare() {
		m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

func TestCodecRoundTrip(t *testing.T) {
	for seed := range uint64(40) {
		m := newMaker(seed)
		var enc Encoder
		var dec Decoder
		s := m.snapshot()
		var sent, got []*Snapshot
		for i := range 40 {
			if i > 0 {
				s = m.next(s)
			}
			if m.rare() {
				enc.Reset()
			}
			out, err := dec.Decode(enc.Append(nil, s))
			if err != nil {
				t.Fatalf("seed %d, snapshot %d: %v", seed, i, err)
			}
			sent, got = append(sent, s), append(got, out)
		}
		// Compared at the end, so that altering an earlier snapshot shows.
		for i := range sent {
			if !reflect.DeepEqual(sent[i], got[i]) {
				t.Fatalf("seed %d, snapshot %d differs:\nsent %+v\ngot  %+v", seed, i, sent[i], got[i])
			}
		}
	}
}

// TestCodecKnowsEveryField changes one field after another, those included that
// are added to the model one day.
func TestCodecKnowsEveryField(t *testing.T) {
	var enc Encoder
	var dec Decoder
	s := newMaker(1).snapshot()
	m := newMaker(2)
	s.GPUs = []GPU{m.gpu(false)}
	s.GPUs[0].MIG = []GPU{m.gpu(false)}
	for _, g := range []*GPU{&s.GPUs[0], &s.GPUs[0].MIG[0]} {
		g.Processes, g.Fans, g.Sources = []Process{m.process()}, []Fan{m.fan()}, []string{"x"}
		g.XIDs, g.Health = []XID{{}}, []Health{{}}
		g.Adapter = new(Adapter)
	}
	s.Platform.Parts, s.Warnings = []Part{{}}, []Warning{{}}
	s.Time = unixTime(5, 6)
	check := func(path string) {
		t.Helper()
		got, err := dec.Decode(enc.Append(nil, s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s does not arrive: %v", path, err)
		}
		// The encoder keeps s, so that the next change is made to a copy.
		s = deepCopy(reflect.ValueOf(s)).Interface().(*Snapshot)
	}
	check("the whole")
	var walk func(path string, get func() reflect.Value)
	walk = func(path string, get func() reflect.Value) {
		v := get()
		switch v.Interface().(type) {
		case Reading:
			v.Set(reflect.ValueOf(OfMask(uint64(len(path)))))
			check(path)
			return
		case time.Time:
			v.Set(reflect.ValueOf(unixTime(7, 8)))
			check(path)
			return
		case CallError:
			v.Set(reflect.ValueOf(NewCallError(path, "name", 7)))
			check(path)
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).Name == "_" {
					continue // forbids to compare
				}
				walk(path+"."+v.Type().Field(i).Name, func() reflect.Value { return get().Field(i) })
			}
		case reflect.Pointer:
			walk(path, func() reflect.Value { return get().Elem() })
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(fmt.Sprintf("%s[%d]", path, i), func() reflect.Value { return get().Index(i) })
			}
		case reflect.String:
			v.SetString(v.String() + "x")
			check(path)
		case reflect.Bool:
			v.SetBool(!v.Bool())
			check(path)
		case reflect.Int, reflect.Int32, reflect.Int64:
			v.SetInt(v.Int() ^ 1)
			check(path)
		case reflect.Uint8, reflect.Uint32:
			v.SetUint(v.Uint()&1 ^ 1) // valid in every enumeration
			check(path)
		default:
			t.Fatalf("%s: the test does not know %s", path, v.Type())
		}
	}
	walk("Snapshot", func() reflect.Value { return reflect.ValueOf(s).Elem() })
}

// deepCopy copies what the lists and pointers in v hold.
func deepCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return c
		}
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(deepCopy(v.Elem()))
		return c
	case reflect.Slice:
		if v.IsNil() {
			return c
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
		return c
	}
	c.Set(v)
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() && v.Type() != reflect.TypeFor[Reading]() && v.Type() != reflect.TypeFor[CallError]() {
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				c.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	}
	return c
}

func TestCodecAppends(t *testing.T) {
	var enc Encoder
	var dec Decoder
	b := enc.Append([]byte("head"), &Snapshot{Source: "demo"})
	if string(b[:4]) != "head" {
		t.Fatalf("Append overwrote what was there: %q", b)
	}
	s, err := dec.Decode(b[4:])
	if err != nil || s.Source != "demo" {
		t.Fatalf("got %+v, %v", s, err)
	}
}

func TestCodecTimeIsUTC(t *testing.T) {
	var enc Encoder
	var dec Decoder
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	s, err := dec.Decode(enc.Append(nil, &Snapshot{Time: at}))
	if err != nil || !s.Time.Equal(at) || s.Time.Location() != time.UTC {
		t.Fatalf("got %v, %v, want %v in UTC", s.Time, err, at)
	}
}

func TestDecoderNoticesLoss(t *testing.T) {
	m := newMaker(7)
	var enc Encoder
	var dec Decoder
	s := m.snapshot()
	first := enc.Append(nil, s)
	second := enc.Append(nil, m.next(s))
	third := enc.Append(nil, m.next(s))
	if _, err := dec.Decode(second); !errors.Is(err, errNotAlone) {
		t.Errorf("start in the middle: %v", err)
	}
	if _, err := dec.Decode(first); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Decode(third); !errors.Is(err, errSequence) {
		t.Errorf("second message lost: %v", err)
	}
	if _, err := dec.Decode(second); !errors.Is(err, errNotAlone) {
		t.Errorf("after an error: %v", err)
	}
	enc.Reset()
	if got, err := dec.Decode(enc.Append(nil, s)); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("a message that stands alone does not mend the stream: %v", err)
	}
}

func TestDecoderRefuses(t *testing.T) {
	var enc Encoder
	whole := enc.Append(nil, newMaker(3).snapshot())
	for n := range whole {
		if _, err := new(Decoder).Decode(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a snapshot", n, len(whole))
		}
	}
	if _, err := new(Decoder).Decode(append(slices.Clone(whole), 0)); !errors.Is(err, errTrailing) {
		t.Errorf("trailing byte: %v", err)
	}
	if _, err := new(Decoder).Decode(make([]byte, MaxMessage+1)); !errors.Is(err, errLimit) {
		t.Errorf("message too long: %v", err)
	}
	if _, err := new(Decoder).Decode([]byte("{\"schema\"")); !errors.Is(err, errFormat) {
		t.Errorf("not our format: %v", err)
	}
}

// TestDecoderRefusesUnknownParts: a kind that is not known here is no part, in
// the first message and in a later one.
func TestDecoderRefusesUnknownParts(t *testing.T) {
	known := &Snapshot{Platform: Platform{Parts: []Part{{Kind: Rail, Name: "VDD_GPU"}, {Kind: NumPartKinds - 1, Name: "oc1"}}}}
	for _, kind := range []PartKind{NumPartKinds, math.MaxUint8} {
		unknown := &Snapshot{Platform: Platform{Parts: []Part{{Kind: Rail, Name: "VDD_GPU"}, {Kind: kind, Name: "oc1"}}}}
		for _, before := range [][]*Snapshot{nil, {known}} {
			var enc Encoder
			var dec Decoder
			for _, s := range before {
				if got, err := dec.Decode(enc.Append(nil, s)); err != nil || !reflect.DeepEqual(got, s) {
					t.Fatalf("got %+v, %v", got, err)
				}
			}
			if got, err := dec.Decode(enc.Append(nil, unknown)); got != nil || !errors.Is(err, errImpossible) {
				t.Errorf("kind %d after %d messages: %+v, %v", kind, len(before), got, err)
			}
			enc.Reset()
			if got, err := dec.Decode(enc.Append(nil, known)); err != nil || !reflect.DeepEqual(got, known) {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
		}
	}
}

// TestDecoderStaysSmall claims long lists in short messages.
func TestDecoderStaysSmall(t *testing.T) {
	head := []byte{firstByte(true), 1}
	body := func(mask uint64, more ...uint64) []byte {
		var e Encoder
		e.b = slices.Clone(head)
		for _, v := range append([]uint64{mask, 0, 0, 0}, more...) {
			e.uint(v)
		}
		return e.b
	}
	for name, b := range map[string][]byte{
		"gpus":      body(snapGPUs, 4001),
		"gpus max":  body(snapGPUs, math.MaxUint64),
		"warnings":  body(snapWarnings, 200),
		"string":    body(snapSource, 1, 60000),
		"parts":     body(snapPlatformReadings, 0, 0, 0, 200),
		"parts max": body(snapPlatformReadings, 0, 0, 0, math.MaxUint64),
		"processes": body(snapGPUs, 2, gpuProcesses, maxProcesses, stepCopy|4<<2),
	} {
		var err error
		got := allocated(func() { _, err = new(Decoder).Decode(b) })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if got > 256<<10 { // other goroutines may allocate a little
			t.Errorf("%s: %d bytes of memory for a message of %d", name, got, len(b))
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestEncoderCutsToLimits(t *testing.T) {
	list := make([]Process, maxProcesses)
	for i := range list {
		list[i].PID = uint32(i)
	}
	s := &Snapshot{
		Waiting:  strings.Repeat("ä", maxString),
		Platform: Platform{Parts: make([]Part, maxList+1)},
		GPUs: []GPU{
			{Processes: list, Fans: make([]Fan, maxList+1), MIG: []GPU{{MIG: []GPU{{}}}}},
			{Processes: list[:10]},
		},
	}
	for i := range s.GPUs {
		s.GPUs[i].Index = i
	}
	var enc Encoder
	var dec Decoder
	for range 3 {
		got, err := dec.Decode(enc.Append(nil, s))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Waiting); n != maxString || got.Waiting != s.Waiting[:n] {
			t.Errorf("string of %d bytes", n)
		}
		if a, b := len(got.GPUs[0].Processes), len(got.GPUs[1].Processes); a+b != maxProcesses || b != 0 {
			t.Errorf("%d and %d processes", a, b)
		}
		if n := len(got.GPUs[0].Fans); n != maxList {
			t.Errorf("%d fans", n)
		}
		if n := len(got.Platform.Parts); n != maxList {
			t.Errorf("%d parts", n)
		}
		c := *s
		c.GPUs = slices.Clone(s.GPUs)
		c.GPUs[0].Processes = slices.Clone(list)
		c.GPUs[0].Processes[5].Types = MPS
		s = &c
	}
}

// TestStringTableTurnsOver sends more strings than the table holds.
func TestStringTableTurnsOver(t *testing.T) {
	var enc Encoder
	var dec Decoder
	for i := range 3 * tableSize {
		s := &Snapshot{Source: fmt.Sprint(i), Waiting: fmt.Sprint(i / 2), Host: Host{OS: fmt.Sprint(i % 5000)}}
		got, err := dec.Decode(enc.Append(nil, s))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("%d: got %+v", i, got)
		}
	}
	if len(enc.ids) > tableSize || len(enc.table) > tableSize || len(dec.table) > tableSize {
		t.Errorf("tables grew to %d, %d, %d", len(enc.ids), len(enc.table), len(dec.table))
	}
}

// machine is a machine whose load moves, for what a stream costs.
type machine struct {
	maker
	s *Snapshot
}

func newMachine(gpus, processes int) *machine {
	m := &machine{maker: newMaker(9)}
	s := &Snapshot{Time: unixTime(1_767_000_000, 0), Steady: 1_767_000_000_000_000_000, Interval: time.Second, Source: "live"}
	s.Host = Host{Hostname: OfText("n1"), OS: "linux", Arch: "amd64", BootID: OfText("b"), CPUPercent: OfFloat(3),
		MemoryTotalBytes: OfInt(1 << 40), MemoryAvailableBytes: OfInt(1 << 39)}
	for i := range gpus {
		g := GPU{Identity: Identity{Index: i, UUID: OfText(fmt.Sprintf("GPU-%08x-0000-4000-8000-000000000000", i)),
			PCIBusID: OfText(fmt.Sprintf("00000000:%02X:00.0", i&255)), Name: OfText("NVIDIA H100 80GB HBM3"),
			Architecture: OfText("hopper"), GPUInstanceID: None, ComputeInstanceID: None}, State: OK, Sources: []string{"nvml"}}
		for j := range g.Readings {
			id := ReadingID(j)
			switch id.Info().Kind {
			case Number:
				g.Readings[j] = OfFloat(float64(50 + j))
			case Integer:
				g.Readings[j] = OfInt(int64(j))
			default:
				g.Readings[j] = Failed(NotSupported, NewCallError(id.Info().Function, "NVML_ERROR_NOT_SUPPORTED", 3))
			}
		}
		for j := range processes {
			g.Processes = append(g.Processes, Process{PID: uint32(1000 + i*processes + j), Types: Compute, Namespace: NamespaceSame,
				GPUInstanceID: None, ComputeInstanceID: None, GPUMemoryBytes: OfInt(1 << 30), SMPercent: OfFloat(10),
				EncoderPercent: OfFloat(0), DecoderPercent: OfFloat(0), StartTicks: OfInt(12345), StartTime: OfInt(1),
				Name: OfText("train.py"), Command: OfText("python train.py --config big.yaml"), User: OfText("kim"),
				CPUPercent: OfFloat(99), HostMemoryBytes: OfInt(1 << 31), Container: Container{Reason: Known}, Job: Job{Reason: Known}})
		}
		g.ProcStatus.Reason = Known
		s.GPUs = append(s.GPUs, g)
	}
	m.s = s
	return m
}

// moving are the readings that a refresh of the default view asks for.
var moving = []ReadingID{
	UtilizationPercent, MemoryUtilizationPercent, SMActivePercent, TensorActivePercent, MemoryUsedBytes, MemoryFreeBytes,
	TemperatureC, FanPercent, PowerMW, ClockGraphicsMHz, PCIeRxBytesPerSecond, PCIeTxBytesPerSecond, NVLinkRxBytesPerSecond,
	NVLinkTxBytesPerSecond, PerformanceState, ThrottleReasons,
}

// tick moves the machine on by a second.
func (m *machine) tick(moves bool) *Snapshot {
	c := *m.s
	c.Time = c.Time.Add(time.Second)
	c.Steady += 1e9 + m.Int64N(1e5)
	c.GPUs = slices.Clone(c.GPUs)
	c.Host.CPUPercent = OfFloat(float64(m.IntN(1001)) / 10)
	c.Host.CPUPercent.At = c.Steady
	for i := range c.GPUs {
		g := &c.GPUs[i]
		at := c.Steady - 5e6 + m.Int64N(1e5)
		for _, id := range moving {
			at += 20_000 + m.Int64N(10_000)
			r := &g.Readings[id]
			if moves && r.Known() {
				switch id.Info().Kind {
				case Number:
					*r = OfFloat(float64(m.IntN(101)))
				case Integer:
					if id == MemoryUsedBytes || id == MemoryFreeBytes {
						*r = OfInt(m.Int64N(80<<10) << 20)
					}
				}
			}
			r.At = at
		}
		g.Refreshed = at + 1000
		if moves {
			g.ProcStatus.At = at
			g.Processes = slices.Clone(g.Processes)
			for j := range g.Processes {
				p := &g.Processes[j]
				p.SMPercent, p.CPUPercent = OfFloat(float64(m.IntN(101))), OfFloat(float64(m.IntN(1001))/10)
				for _, r := range []*Reading{&p.GPUMemoryBytes, &p.SMPercent, &p.EncoderPercent, &p.DecoderPercent} {
					r.At = at
				}
				p.CPUPercent.At, p.HostMemoryBytes.At = c.Steady, c.Steady
			}
		}
	}
	m.s = &c
	return m.s
}

func TestSteadyGPUsAreSmall(t *testing.T) {
	m := newMachine(8, 4)
	var enc Encoder
	first := len(enc.Append(nil, m.s))
	enc.Append(nil, m.tick(false))
	steady := len(enc.Append(nil, m.tick(false)))
	busy := 0
	for range 10 {
		busy = len(enc.Append(nil, m.tick(true)))
	}
	t.Logf("8 GPUs with 4 processes each: first %d bytes, steady %d, all moving %d", first, steady, busy)
	if steady > 8*80 {
		t.Errorf("a steady refresh of 8 GPUs takes %d bytes", steady)
	}
	if busy > 8*400 {
		t.Errorf("a refresh of 8 GPUs in which all moves takes %d bytes", busy)
	}
}

func TestCodecAllocations(t *testing.T) {
	m := newMachine(8, 4)
	var enc Encoder
	var dec Decoder
	buf := enc.Append(nil, m.s)
	if _, err := dec.Decode(buf); err != nil {
		t.Fatal(err)
	}
	var snaps []*Snapshot
	for range 60 {
		snaps = append(snaps, m.tick(true))
	}
	buf = append(make([]byte, 0, 1<<16), buf...)
	i := 0
	encoding := testing.AllocsPerRun(50, func() {
		buf = enc.Append(buf[:0], snaps[i])
		i++
	})
	if encoding > 0 {
		t.Errorf("Append allocates %v times", encoding)
	}
	// One for the snapshot, one for its GPUs, one a GPU for its processes.
	enc, dec, i = Encoder{}, Decoder{}, 0
	var messages [][]byte
	for _, s := range snaps {
		messages = append(messages, enc.Append(nil, s))
	}
	decoding := testing.AllocsPerRun(50, func() {
		if _, err := dec.Decode(messages[i]); err != nil {
			t.Error(err)
		}
		i++
	})
	if decoding > 2+8 {
		t.Errorf("Decode allocates %v times", decoding)
	}
}

func FuzzDecoder(f *testing.F) {
	// Short ones: the fuzzer shortens what it keeps, which takes its time.
	for seed, found := uint64(0), 0; found < 4; seed++ {
		m := newMaker(seed)
		var enc Encoder
		s := m.snapshot()
		first, second := enc.Append(nil, s), enc.Append(nil, m.next(s))
		if len(first)+len(second) < 1500 {
			found++
			f.Add(first, second)
		}
	}
	mach := newMachine(1, 2)
	var enc Encoder
	f.Add(enc.Append(nil, mach.s), enc.Append(nil, mach.tick(true)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var dec Decoder
		a, err := dec.Decode(first)
		if err != nil {
			return
		}
		var enc Encoder
		again := enc.Append(nil, a)
		b, err := new(Decoder).Decode(again)
		if err != nil {
			t.Fatalf("what was decoded cannot be sent on: %v", err)
		}
		if !sameNumbers(a, b) {
			t.Fatalf("sent on it differs:\n%+v\n%+v", a, b)
		}
		dec.Decode(second)
	})
}

// sameNumbers is DeepEqual, by way of the encoding, for which NaN is itself.
func sameNumbers(a, b *Snapshot) bool {
	var x, y Encoder
	return slices.Equal(x.Append(nil, a), y.Append(nil, b))
}

func BenchmarkCodec(b *testing.B) {
	for _, size := range []struct{ gpus, processes int }{{8, 4}, {256, 4}, {8, 512}} {
		m := newMachine(size.gpus, size.processes)
		var snaps []*Snapshot
		for range 16 {
			snaps = append(snaps, m.tick(true))
		}
		name := fmt.Sprintf("%dx%d", size.gpus, size.processes)
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var enc Encoder
			buf := enc.Append(nil, snaps[15])
			total, n := 0, 0
			for b.Loop() {
				buf = enc.Append(buf[:0], snaps[n%16])
				total += len(buf)
				n++
			}
			b.ReportMetric(float64(total)/float64(n), "bytes/snapshot")
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var enc Encoder
			var dec Decoder
			var messages [][]byte
			for i := range 17 {
				messages = append(messages, enc.Append(nil, snaps[i%16]))
			}
			for n := 0; b.Loop(); n++ {
				i := n % 17
				if _, err := dec.Decode(messages[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
