package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"nvtop-lite/monitor"
)

// What a snapshot may hold at most. A few bytes of a line may stand for much
// memory.
const (
	maxGPUs      = 2048    // with MIG instances
	maxProcesses = 65536   // of all GPUs together
	maxItems     = 1 << 17 // of all lists together
	maxDepth     = 64      // of values whose keys are not known here
	maxSeconds   = 9e9     // of an age or an interval; in ns it fits into 64 bits
	maxNotes     = 400000  // reasons, errors, ages and provenances in all
)

// SchemaError is what ParseJSON says of an object of another schema.
type SchemaError struct{ Schema string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema %q is not known to this version, which reads %s", e.Schema, Schema)
}

// ParseJSON reads an object that AppendJSON wrote, this version's or another
// one's: a key that is missing is unknown with reason not_sampled, a key that is
// not known here is passed over, and a word that is not known here is kept. The
// error is a *SchemaError for an object of another schema; any other says at
// which byte what was met.
//
// What AppendJSON leaves out is not brought back: the secrets in command lines,
// and ages below an interval.
func ParseJSON(line []byte) (*monitor.Snapshot, error) {
	p := parser{b: line}
	s := new(monitor.Snapshot)
	var schema, when, steady bool
	var other *SchemaError
	p.object(func(key []byte) {
		if other != nil {
			p.skip() // it means something else there
			return
		}
		switch string(key) {
		case "schema":
			if word := p.text(); word != Schema && p.err == nil {
				other = &SchemaError{word}
			}
			schema = true
		case "time":
			s.Time = p.time()
			when = true
		case "steady_time":
			s.Steady, steady = p.time().UnixNano(), true
		case "interval_seconds":
			s.Interval = time.Duration(p.seconds())
		case "source":
			s.Source = p.text()
		case "host":
			p.host(&s.Host)
		case "driver":
			p.driver(&s.Driver)
		case "platform":
			p.platform(&s.Platform)
		case "gpus":
			s.GPUs = p.gpus(false)
		case "warnings":
			p.warnings(s)
		default:
			p.skip()
		}
	})
	if p.err == nil {
		p.blanks()
		switch {
		case p.i < len(p.b):
			p.fail("more behind the object")
		case other != nil:
			return nil, other
		case !schema:
			return nil, errors.New("no schema in it")
		case !when:
			return nil, errors.New("no time in it")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	if !steady {
		s.Steady = s.Time.UnixNano()
	}
	if s.Steady < 0 {
		return nil, errors.New("a time before 1970")
	}
	for i := range s.GPUs {
		settle(&s.GPUs[i], s.Steady)
		for j := range s.GPUs[i].MIG {
			settle(&s.GPUs[i].MIG[j], s.Steady)
		}
	}
	return s, nil
}

// never is a moment that was not there. Until the clock is known, others are
// counted from now, backwards.
const never = math.MinInt64

// settle turns moments that count from now into those of the clock.
func settle(g *monitor.GPU, now int64) {
	for _, at := range [...]*int64{&g.StateSince, &g.Refreshed, &g.CallSince, &g.ProcStatus.At} {
		if *at == never {
			*at = 0
		} else {
			*at += now
		}
	}
	known := func(r *monitor.Reading) {
		if r.Known() {
			r.At += now
		}
	}
	for i := range g.Readings {
		known(&g.Readings[i])
	}
	if g.Adapter != nil {
		for i := range g.Adapter {
			known(&g.Adapter[i])
		}
	}
	for i := range g.Processes {
		p := &g.Processes[i]
		for _, r := range [...]*monitor.Reading{&p.GPUMemoryBytes, &p.SMPercent, &p.EncoderPercent, &p.DecoderPercent, &p.StartTicks, &p.StartTime, &p.CPUPercent, &p.HostMemoryBytes} {
			known(r)
		}
	}
}

// parser reads JSON from b. After the first error it is at the end of b, so that
// every loop ends.
type parser struct {
	b         []byte
	i         int
	err       error
	gpuCount  int
	processes int
	noteCount int
	items     int
}

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = monitor.Errorf("byte %d: %s", p.i+1, what)
	}
	p.i = len(p.b)
}

func (p *parser) blanks() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

// peek is the first byte of what comes next, 0 at the end.
func (p *parser) peek() byte {
	p.blanks()
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

// take takes c, which must come next.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		p.fail("expected " + strconv.QuoteRune(rune(c)))
		return false
	}
	p.i++
	return true
}

// next reports whether a list or an object goes on, and takes what separates.
func (p *parser) next(first bool, end byte) bool {
	switch c := p.peek(); {
	case c == end:
		p.i++
		return false
	case first:
		return c != 0 || p.cut()
	case c == ',':
		p.i++
		if p.peek() == end {
			p.fail("expected a value")
		}
		return p.err == nil
	case c == 0:
		return p.cut()
	}
	p.fail("expected a comma")
	return false
}

// cut says that there is no end.
func (p *parser) cut() bool {
	p.fail("it ends too early")
	return false
}

// object calls visit for every key of an object; visit takes the value. A key is
// valid until then.
func (p *parser) object(visit func(key []byte)) {
	if !p.take('{') {
		return
	}
	for first := true; p.next(first, '}'); first = false {
		key := p.raw()
		if p.take(':') {
			visit(key)
		}
	}
}

// list calls visit for every element of a list.
func (p *parser) list(visit func()) {
	if !p.take('[') {
		return
	}
	for first := true; p.next(first, ']'); first = false {
		// A key may be there many times.
		if p.items++; p.items > maxItems {
			p.fail("too long lists")
			return
		}
		visit()
	}
}

// null takes a null, if there is one.
func (p *parser) null() bool {
	if p.peek() == 'n' {
		p.word("null")
		return true
	}
	return false
}

func (p *parser) word(word string) {
	if len(p.b)-p.i < len(word) || string(p.b[p.i:p.i+len(word)]) != word {
		p.fail("expected " + word)
		return
	}
	p.i += len(word)
}

func (p *parser) bool() bool {
	if p.peek() == 't' {
		p.word("true")
		return p.err == nil
	}
	p.word("false")
	return false
}

// raw takes a string. What it returns may lie in b.
func (p *parser) raw() []byte {
	if !p.take('"') {
		return nil
	}
	start := p.i
	end := bytes.IndexByte(p.b[start:], '"')
	if end < 0 {
		p.cut()
		return nil
	}
	s := p.b[start : start+end]
	if bytes.IndexByte(s, '\\') < 0 {
		p.i += end + 1
		for _, c := range s {
			if c < ' ' {
				p.fail("a control character in a string")
				return nil
			}
		}
		return s
	}
	return p.escaped()
}

// escaped takes the rest of a string that has escapes.
func (p *parser) escaped() []byte {
	var s []byte
	for p.i < len(p.b) {
		c := p.b[p.i]
		p.i++
		switch {
		case c == '"':
			return s
		case c < ' ':
			p.fail("a control character in a string")
		case c != '\\':
			s = append(s, c)
		case p.i < len(p.b):
			c = p.b[p.i]
			p.i++
			switch c {
			case '"', '\\', '/':
				s = append(s, c)
			case 'b':
				s = append(s, '\b')
			case 'f':
				s = append(s, '\f')
			case 'n':
				s = append(s, '\n')
			case 'r':
				s = append(s, '\r')
			case 't':
				s = append(s, '\t')
			case 'u':
				r := p.unit()
				if utf16.IsSurrogate(r) {
					pair := rune(utf8.RuneError)
					if rest := p.b[p.i:]; len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
						at := p.i
						p.i += 2
						if pair = utf16.DecodeRune(r, p.unit()); pair == utf8.RuneError && p.err == nil {
							p.i = at
						}
					}
					r = pair
				}
				s = utf8.AppendRune(s, r)
			default:
				p.fail("an unknown escape in a string")
			}
		}
	}
	p.cut()
	return nil
}

// unit takes the four digits of an escape.
func (p *parser) unit() rune {
	if len(p.b)-p.i < 4 {
		p.cut()
		return 0
	}
	v, err := strconv.ParseUint(string(p.b[p.i:p.i+4]), 16, 32)
	if err != nil {
		p.fail("an escape without a number")
		return 0
	}
	p.i += 4
	return rune(v)
}

func (p *parser) text() string { return strings.ToValidUTF8(string(p.raw()), "\ufffd") }

// textOrNone takes a string, or null for an empty one.
func (p *parser) textOrNone() string {
	if p.null() {
		return ""
	}
	return p.text()
}

// maybe takes a text, or a null, whose reason comes later.
func (p *parser) maybe() monitor.Text {
	if p.null() {
		return monitor.Text{}
	}
	return monitor.OfText(p.text())
}

// number takes a number. An integer is whole when it fits into 64 bits.
func (p *parser) number() (v float64, whole int64, isWhole bool) {
	p.blanks()
	start := p.i
	isWhole = true
	digits := 0
loop:
	for ; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c >= '0' && c <= '9':
			digits++
			whole = whole*10 + int64(c-'0')
		case c == '-' && p.i == start:
		case c == '-', c == '+', c == '.', c == 'e', c == 'E':
			isWhole = false
		default:
			break loop
		}
	}
	if isWhole && digits > 0 && digits <= 18 {
		if p.b[start] == '-' {
			whole = -whole
		}
		return float64(whole), whole, true
	}
	text := string(p.b[start:p.i])
	if isWhole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return float64(n), n, true
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if digits == 0 || err != nil || math.IsInf(v, 0) {
		p.i = start
		p.fail("expected a number")
		return 0, 0, false
	}
	return v, 0, false
}

func (p *parser) integer() int64 {
	_, n, whole := p.number()
	if !whole {
		p.fail("expected an integer")
	}
	return n
}

// seconds takes a span of time, in ns.
func (p *parser) seconds() int64 {
	v, _, _ := p.number()
	if v < 0 || v > maxSeconds {
		p.fail("a time out of range")
		return 0
	}
	return int64(math.Round(v * 1e9))
}

// ago takes how long ago something was, as a moment that counts from now.
func (p *parser) ago() int64 {
	if p.null() {
		return never
	}
	return -p.seconds()
}

func (p *parser) time() time.Time {
	text := p.raw()
	t, ok := monitor.ParseMoment(string(text), nil)
	// Moments are kept in ns of 64 bits.
	if p.err == nil && (!ok || max(t.Unix(), -t.Unix()) >= math.MaxInt64/1_000_000_000) {
		p.fail("no time between 1678 and 2262")
		return time.Time{}
	}
	return t.UTC()
}

// id takes an index or the id of an instance, null for None.
func (p *parser) id() int {
	if p.null() {
		return monitor.None
	}
	n := p.integer()
	if n < 0 || n > math.MaxInt32 {
		p.fail("a number out of range")
		return monitor.None
	}
	return int(n)
}

// skip takes a value of any kind.
func (p *parser) skip() {
	var brackets [maxDepth]byte
	depth := 0
	for {
		switch c := p.peek(); c {
		case '{', '[':
			if depth == maxDepth {
				p.fail("nested too deeply")
				return
			}
			p.i++
			brackets[depth] = c + 2 // what closes it
			depth++
			if p.next(true, c+2) {
				p.keyOf(c)
				continue
			}
			if p.err != nil {
				return
			}
			depth--
		case '"':
			p.raw()
		case 't', 'f':
			p.bool()
		case 'n':
			p.null()
		default:
			p.number()
		}
		for {
			if depth == 0 || p.err != nil {
				return
			}
			end := brackets[depth-1]
			if p.next(false, end) {
				p.keyOf(end - 2)
				break
			}
			depth--
		}
	}
}

// keyOf takes the key of the next value in an object.
func (p *parser) keyOf(bracket byte) {
	if bracket == '{' {
		p.raw()
		p.take(':')
	}
}

// note is what an object says of one of its keys.
type note struct {
	key, word      []byte
	function, name string
	code           int32
	ago            int64
}

// notes are what an object says of its keys.
type notes struct{ missing, errors, origins, ages []note }

// take takes one of the objects that notes are in, and reports whether key is
// one.
func (n *notes) take(p *parser, key []byte) bool {
	switch string(key) {
	case "unavailable":
		n.missing = p.notes(func(m *note) { m.word = p.raw() })
	case "provenance":
		n.origins = p.notes(func(m *note) { m.word = p.raw() })
	case "ages":
		n.ages = p.notes(func(m *note) { m.ago = -p.seconds() })
	case "errors":
		n.errors = p.notes(func(m *note) {
			p.object(func(key []byte) {
				switch string(key) {
				case "function":
					m.function = p.textOrNone()
				case "name":
					m.name = p.textOrNone()
				case "code":
					if !p.null() {
						m.code = int32(p.integer())
					}
				default:
					p.skip()
				}
			})
		})
	default:
		return false
	}
	return true
}

func (p *parser) notes(value func(m *note)) (list []note) {
	p.object(func(key []byte) {
		if p.noteCount++; p.noteCount > maxNotes {
			p.fail("too many reasons")
			return
		}
		list = append(list, note{key: key})
		value(&list[len(list)-1])
	})
	return list
}

// slot is where a reason and an error belong.
type slot struct {
	reading *monitor.Reading
	text    *monitor.Text
	status  *monitor.Status
	reason  *monitor.Reason    // of what is none or unknown
	err     *monitor.CallError // likewise
}

func (s slot) miss(why monitor.Reason, foreign string) {
	switch err := (monitor.NewCallError("", foreign, 0)); {
	case s.reading != nil && !s.reading.Known():
		s.reading.Reason, s.reading.Err = why, err
	case s.text != nil && !s.text.Known():
		s.text.Reason, s.text.Err = why, err
	case s.status != nil && s.status.Reason != monitor.Known:
		s.status.Reason, s.status.Err = why, err
	case s.reason != nil:
		*s.reason = why
	}
}

func (s slot) blame(err monitor.CallError) {
	switch {
	case s.reading != nil && !s.reading.Known():
		s.reading.Err = err
	case s.text != nil && !s.text.Known():
		s.text.Err = err
	case s.status != nil && s.status.Reason != monitor.Known:
		s.status.Err = err
	case s.err != nil:
		*s.err = err
	}
}

// apply puts the notes where they belong.
func (n *notes) apply(find func(key []byte) slot) {
	for i := range n.missing {
		m := &n.missing[i]
		why, known := monitor.ParseReason(string(m.word))
		foreign := ""
		if !known {
			why, foreign = monitor.DriverError, string(m.word)
		}
		find(m.key).miss(why, foreign)
	}
	for i := range n.errors {
		m := &n.errors[i]
		find(m.key).blame(monitor.NewCallError(m.function, m.name, m.code))
	}
	for i := range n.origins {
		if r := find(n.origins[i].key).reading; r != nil {
			r.Provenance = provenanceOf(n.origins[i].word)
		}
	}
	for i := range n.ages {
		if r := find(n.ages[i].key).reading; r != nil && r.Known() {
			r.At = n.ages[i].ago
		}
	}
}

// provenanceOf returns the provenance of a word. One that is not known here is
// no measurement.
func provenanceOf(word []byte) monitor.Provenance {
	for v := monitor.Inferred; v <= monitor.Reported; v++ {
		if v.String() == string(word) {
			return v
		}
	}
	return monitor.Reported
}

// element takes apart a key such as fans[0].rpm.
func element(key []byte) (list string, i int, field string) {
	name, rest, ok := strings.Cut(string(key), "[")
	number, field, ok2 := strings.Cut(rest, "].")
	n, err := strconv.Atoi(number)
	if !ok || !ok2 || err != nil || n < 0 {
		return "", 0, ""
	}
	return name, n, field
}

// reading takes a reading of kind Number or Integer, or a null, whose reason
// comes later.
func (p *parser) reading() monitor.Reading {
	if p.null() {
		return monitor.Reading{}
	}
	v, n, whole := p.number()
	if whole {
		return monitor.OfInt(n)
	}
	return monitor.OfFloat(v)
}

// readingOf takes the reading id.
func (p *parser) readingOf(id monitor.ReadingID) monitor.Reading {
	info := id.Info()
	return p.readingAs(info.Kind, info.Words)
}

// readingAs takes a reading of a kind, with words for those that are words.
func (p *parser) readingAs(kind monitor.Kind, words []string) monitor.Reading {
	switch c := p.peek(); {
	case c == 'n':
		return p.reading()
	case kind == monitor.Flag:
		return monitor.OfFlag(p.bool())
	case kind == monitor.Word:
		return wordOf(words, p.text())
	case kind == monitor.Mask:
		var bits uint64
		var foreign []string
		p.list(func() {
			word := p.text()
			if bit, ok := bitOf(words, word); ok {
				bits |= bit
			} else if word != "" {
				foreign = append(foreign, word)
			}
		})
		return monitor.OfForeign(monitor.Mask, bits, strings.Join(foreign, " "))
	case kind == monitor.Integer:
		return monitor.OfInt(p.integer())
	}
	return p.reading()
}

func wordOf(words []string, word string) monitor.Reading {
	for i, w := range words {
		if w == word {
			return monitor.OfWord(uint64(i))
		}
	}
	if number, ok := strings.CutPrefix(word, "unknown_"); ok {
		if n, err := strconv.ParseUint(number, 10, 64); err == nil {
			return monitor.OfWord(n)
		}
	}
	return monitor.OfForeign(monitor.Word, math.MaxUint64, word)
}

func bitOf(words []string, word string) (bit uint64, ok bool) {
	for i, w := range words {
		if w == word {
			return 1 << i, true
		}
	}
	if number, ok := strings.CutPrefix(word, "unknown_0x"); ok {
		n, err := strconv.ParseUint(number, 16, 64)
		return n, err == nil
	}
	return 0, false
}

func (p *parser) host(h *monitor.Host) {
	p.fields(func(key []byte) slot {
		switch string(key) {
		case "hostname":
			return slot{text: &h.Hostname}
		case "boot_id":
			return slot{text: &h.BootID}
		case "cpu_percent":
			return slot{reading: &h.CPUPercent}
		case "memory_total_bytes":
			return slot{reading: &h.MemoryTotalBytes}
		case "memory_available_bytes":
			return slot{reading: &h.MemoryAvailableBytes}
		case "hugepages_total_bytes":
			return slot{reading: &h.HugePagesTotalBytes}
		case "hugepages_free_bytes":
			return slot{reading: &h.HugePagesFreeBytes}
		}
		return slot{}
	}, func(key []byte) bool {
		switch string(key) {
		case "os":
			h.OS = p.text()
		case "arch":
			h.Arch = p.text()
		default:
			return false
		}
		return true
	})
}

func (p *parser) driver(d *monitor.Driver) {
	p.fields(func(key []byte) slot {
		switch string(key) {
		case "version":
			return slot{text: &d.Version}
		case "cuda_version":
			return slot{text: &d.CUDAVersion}
		case "nvml_version":
			return slot{text: &d.NVMLVersion}
		case "library":
			return slot{text: &d.Library}
		}
		return slot{}
	}, nil)
}

// fields takes an object of texts and readings that belong where find says, and
// then their reasons. Other keys are taken by other, which reports whether it
// did.
func (p *parser) fields(find func(key []byte) slot, other func(key []byte) bool) {
	var n notes
	p.object(func(key []byte) {
		switch s := find(key); {
		case s.text != nil:
			*s.text = p.maybe()
		case s.reading != nil:
			*s.reading = p.reading()
		case !n.take(p, key) && (other == nil || !other(key)):
			p.skip()
		}
	})
	n.apply(find)
}

func (p *parser) platform(f *monitor.Platform) {
	p.fields(func(key []byte) slot {
		switch string(key) {
		case "model":
			return slot{text: &f.Model}
		case "soc":
			return slot{text: &f.SoC}
		case "l4t":
			return slot{text: &f.L4T}
		case "jetpack":
			return slot{text: &f.JetPack}
		case "power_mode":
			return slot{text: &f.PowerMode}
		case "gpu_governor":
			return slot{text: &f.Governor}
		case "emc_mhz":
			return slot{reading: &f.EMCMHz}
		case "emc_percent":
			return slot{reading: &f.EMCPercent}
		}
		for kind := range monitor.NumPartKinds {
			if string(key) == kind.Info().Key && f.Closed[kind] != monitor.NotSampled {
				return slot{reason: &f.Closed[kind]}
			}
		}
		return slot{reading: partReading(f.Parts, key)}
	}, func(key []byte) bool {
		if string(key) == "kind" {
			f.Kind = p.text()
			return true
		}
		for kind := range monitor.NumPartKinds {
			if string(key) == kind.Info().Key {
				if p.null() {
					f.Closed[kind] = monitor.NotFound // unless a reason follows
				} else {
					p.list(func() { f.Parts = append(f.Parts, p.part(kind)) })
				}
				return true
			}
		}
		return false
	})
}

func (p *parser) part(kind monitor.PartKind) monitor.Part {
	part := monitor.Part{Kind: kind}
	p.object(func(key []byte) {
		switch string(key) {
		case "name":
			part.Name = p.text()
			return
		case "scope":
			part.Scope = p.text()
			return
		}
		for i, r := range kind.Info().Readings {
			if string(key) == r.Key {
				part.Readings[i] = p.readingAs(r.Kind, nil)
				return
			}
		}
		p.skip()
	})
	return part
}

// partReading is the reading that a key such as rails[0].power_mw names, nil
// where there is none.
func partReading(parts []monitor.Part, key []byte) *monitor.Reading {
	list, n, field := element(key)
	for i := range parts {
		info := parts[i].Kind.Info()
		if info.Key != list {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		for j, r := range info.Readings {
			if r.Key == field {
				return &parts[i].Readings[j]
			}
		}
		return nil
	}
	return nil
}

func (p *parser) warnings(s *monitor.Snapshot) {
	p.list(func() {
		var w monitor.Warning
		hint := ""
		p.object(func(key []byte) {
			switch string(key) {
			case "code":
				w.Code = p.text()
			case "text":
				w.Text = p.text()
			case "hint":
				hint = p.textOrNone()
			default:
				p.skip()
			}
		})
		if w.Code == waiting {
			s.Waiting, s.WaitingHint = w.Text, hint
			return
		}
		s.Warnings = append(s.Warnings, w)
	})
}

// gpus takes a list of GPUs, or of the instances of one.
func (p *parser) gpus(instances bool) []monitor.GPU {
	list := []monitor.GPU{}
	p.list(func() {
		if p.gpuCount++; p.gpuCount > maxGPUs {
			p.fail("too many GPUs")
			return
		}
		list = append(list, monitor.GPU{})
		p.gpu(&list[len(list)-1], instances)
	})
	return list
}

// readingIDs are the readings by key.
var readingIDs = func() map[string]monitor.ReadingID {
	ids := make(map[string]monitor.ReadingID, monitor.NumReadings)
	for id := range monitor.NumReadings {
		ids[id.String()] = id
	}
	return ids
}()

func (p *parser) gpu(g *monitor.GPU, instance bool) {
	g.Index, g.GPUInstanceID, g.ComputeInstanceID = monitor.None, monitor.None, monitor.None
	g.StateSince, g.Refreshed, g.CallSince, g.ProcStatus.At = never, never, never, never
	var n notes
	foreign := ""
	p.object(func(key []byte) {
		if id, ok := readingIDs[string(key)]; ok {
			g.Readings[id] = p.readingOf(id)
			return
		}
		switch string(key) {
		case "index":
			g.Index = p.id()
		case "uuid":
			g.UUID = p.maybe()
		case "pci_bus_id":
			g.PCIBusID = p.maybe()
		case "name":
			g.Name = p.maybe()
		case "architecture":
			g.Architecture = p.maybe()
		case "serial":
			g.Serial = p.maybe()
		case "driver_model":
			g.DriverModel = p.textOrNone()
		case "state":
			g.State, foreign = stateOf(p.text())
		case "state_reason":
			g.StateReason = p.textOrNone()
		case "state_seconds":
			g.StateSince = p.ago()
		case "age_seconds":
			g.Refreshed = p.ago()
		case "call":
			g.Call = p.textOrNone()
		case "call_seconds":
			g.CallSince = p.ago()
		case "sources":
			p.list(func() { g.Sources = append(g.Sources, p.text()) })
		case "integrated":
			g.Integrated = p.bool()
		case "gpu_instance_id":
			g.GPUInstanceID = p.id()
		case "compute_instance_id":
			g.ComputeInstanceID = p.id()
		case "profile":
			g.Profile = p.textOrNone()
		case "parent_uuid":
			g.ParentUUID = p.textOrNone()
		case "memory_unified":
			g.MemoryUnified = p.bool()
		case "fans":
			p.listed(&g.FansStatus, func() { g.Fans = append(g.Fans, p.fan()) })
		case "xids":
			p.listed(&g.XIDsStatus, func() { g.XIDs = append(g.XIDs, p.xid()) })
		case "mig_devices":
			if p.null() {
				break
			}
			if instance { // has none
				p.skip()
				break
			}
			g.MIG, g.MIGStatus.Reason = p.gpus(true), monitor.Known
		case "health":
			p.list(func() { g.Health = append(g.Health, p.finding()) })
		case "processes":
			if p.null() {
				break
			}
			g.Processes, g.ProcStatus.Reason = []monitor.Process{}, monitor.Known
			p.list(func() {
				if p.processes++; p.processes > maxProcesses {
					p.fail("too many processes")
					return
				}
				g.Processes = append(g.Processes, monitor.Process{})
				p.process(&g.Processes[len(g.Processes)-1])
			})
		case "processes_age_seconds":
			g.ProcStatus.At = p.ago()
		default:
			if n.take(p, key) || p.null() {
				break
			}
			if r := adapterReading(g, key); r != nil {
				*r = p.reading()
			} else {
				p.skip()
			}
		}
	})
	if foreign != "" && g.StateReason == "" {
		g.StateReason = foreign
	}
	n.apply(func(key []byte) slot {
		if id, ok := readingIDs[string(key)]; ok {
			return slot{reading: &g.Readings[id]}
		}
		switch string(key) {
		case "uuid":
			return slot{text: &g.UUID}
		case "pci_bus_id":
			return slot{text: &g.PCIBusID}
		case "name":
			return slot{text: &g.Name}
		case "architecture":
			return slot{text: &g.Architecture}
		case "serial":
			return slot{text: &g.Serial}
		case "state":
			return slot{err: &g.StateErr}
		case "fans":
			return slot{status: &g.FansStatus}
		case "xids":
			return slot{status: &g.XIDsStatus}
		case "mig_devices":
			return slot{status: &g.MIGStatus}
		case "processes":
			return slot{status: &g.ProcStatus}
		}
		if list, i, field := element(key); list == "fans" && i < len(g.Fans) {
			switch field {
			case "percent":
				return slot{reading: &g.Fans[i].Percent}
			case "rpm":
				return slot{reading: &g.Fans[i].RPM}
			case "target_percent":
				return slot{reading: &g.Fans[i].TargetPercent}
			}
		}
		return slot{reading: adapterReading(g, key)}
	})
	if g.State == monitor.Unavailable {
		g.Blocked = g.Readings[monitor.UtilizationPercent].Reason
	}
}

// adapterReading is the reading of the adapter by key, nil where it is none.
//
//go:noinline
func adapterReading(g *monitor.GPU, key []byte) *monitor.Reading {
	for i := range monitor.AdapterKeys {
		if monitor.AdapterKeys[i] == string(key) {
			if g.Adapter == nil {
				g.Adapter = new(monitor.Adapter)
			}
			return &g.Adapter[i]
		}
	}
	return nil
}

// stateOf returns the state of a word. One that is not known here stands as the
// reason of a GPU that cannot be shown.
func stateOf(word string) (s monitor.State, foreign string) {
	for s := monitor.Initialising; s <= monitor.Unavailable; s++ {
		if s.String() == word {
			return s, ""
		}
	}
	return monitor.Unavailable, word
}

// listed takes a list, or a null, whose reason comes later.
func (p *parser) listed(st *monitor.Status, visit func()) {
	if p.null() {
		return
	}
	st.Reason = monitor.Known
	p.list(visit)
}

func (p *parser) fan() (f monitor.Fan) {
	p.object(func(key []byte) {
		switch string(key) {
		case "index":
			f.Index = int(p.integer())
		case "percent":
			f.Percent = p.reading()
		case "rpm":
			f.RPM = p.reading()
		case "target_percent":
			f.TargetPercent = p.reading()
		default:
			p.skip()
		}
	})
	return f
}

func (p *parser) xid() monitor.XID {
	x := monitor.XID{GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}
	p.object(func(key []byte) {
		switch string(key) {
		case "time":
			x.Time = p.time().UnixNano()
		case "code":
			x.Code = int(p.integer())
		case "source":
			x.Source = p.text()
		case "gpu_instance_id":
			x.GPUInstanceID = p.id()
		case "compute_instance_id":
			x.ComputeInstanceID = p.id()
		default:
			p.skip()
		}
	})
	return x
}

func (p *parser) finding() (h monitor.Health) {
	p.object(func(key []byte) {
		switch string(key) {
		case "code":
			h.Code = p.text()
		case "text":
			h.Text = p.text()
		case "level":
			switch p.text() {
			case monitor.Critical.String():
				h.Level = monitor.Critical
			case monitor.Warn.String():
				h.Level = monitor.Warn
			}
		default:
			p.skip()
		}
	})
	return h
}

func (p *parser) process(q *monitor.Process) {
	q.GPUInstanceID, q.ComputeInstanceID = monitor.None, monitor.None
	var n notes
	p.object(func(key []byte) {
		switch string(key) {
		case "pid":
			pid := p.integer()
			if pid < 0 || pid > math.MaxUint32 {
				p.fail("a PID out of range")
			}
			q.PID = uint32(pid)
		case "start_time":
			if !p.null() {
				q.StartTime = monitor.OfInt(p.time().UnixNano())
			}
		case "types":
			p.list(func() {
				switch string(p.raw()) {
				case "compute":
					q.Types |= monitor.Compute
				case "graphics":
					q.Types |= monitor.Graphics
				case "mps":
					q.Types |= monitor.MPS
				}
			})
		case "gpu_instance_id":
			q.GPUInstanceID = p.id()
		case "compute_instance_id":
			q.ComputeInstanceID = p.id()
		case "container":
			c := &q.Container
			c.Reason = monitor.Known
			p.named("runtime", &c.Runtime, "id", &c.ID, "pod_uid", &c.PodUID)
		case "job":
			j := &q.Job
			j.Reason = monitor.Known
			p.named("scheduler", &j.Scheduler, "id", &j.ID, "step", &j.Step)
		case "unit":
			q.Unit = monitor.OfText(p.textOrNone())
		case "namespace":
			switch string(p.raw()) {
			case monitor.NamespaceSame.String():
				q.Namespace = monitor.NamespaceSame
			case monitor.NamespaceOutside.String():
				q.Namespace = monitor.NamespaceOutside
			}
		default:
			switch s := slotOf(q, key); {
			case s.reading != nil:
				*s.reading = p.reading()
			case s.text != nil:
				*s.text = p.maybe()
			case !n.take(p, key):
				p.skip()
			}
		}
	})
	n.apply(func(key []byte) slot { return slotOf(q, key) })
}

func slotOf(q *monitor.Process, key []byte) slot {
	switch string(key) {
	case "start_time":
		return slot{reading: &q.StartTime}
	case "start_ticks":
		return slot{reading: &q.StartTicks}
	case "name":
		return slot{text: &q.Name}
	case "command":
		return slot{text: &q.Command}
	case "user":
		return slot{text: &q.User}
	case "gpu_memory_bytes":
		return slot{reading: &q.GPUMemoryBytes}
	case "gpu_memory_nonlocal_bytes":
		return slot{reading: &q.NonLocalBytes}
	case "sm_percent":
		return slot{reading: &q.SMPercent}
	case "encoder_percent":
		return slot{reading: &q.EncoderPercent}
	case "decoder_percent":
		return slot{reading: &q.DecoderPercent}
	case "cpu_percent":
		return slot{reading: &q.CPUPercent}
	case "host_memory_bytes":
		return slot{reading: &q.HostMemoryBytes}
	case "container":
		if q.Container.ID == "" {
			return slot{reason: &q.Container.Reason}
		}
	case "job":
		if q.Job.ID == "" {
			return slot{reason: &q.Job.Reason}
		}
	case "unit":
		if q.Unit.Value == "" {
			return slot{reason: &q.Unit.Reason}
		}
	}
	return slot{}
}

// named takes an object of three texts, or a null.
func (p *parser) named(key1 string, text1 *string, key2 string, text2 *string, key3 string, text3 *string) {
	if p.null() {
		return
	}
	p.object(func(key []byte) {
		switch string(key) {
		case key1:
			*text1 = p.textOrNone()
		case key2:
			*text2 = p.textOrNone()
		case key3:
			*text3 = p.textOrNone()
		default:
			p.skip()
		}
	})
}
