package monitor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxIndex bounds the indices a selection may name.
const maxIndex = 9999

// Selection chooses GPUs as -g does. The zero Selection chooses all.
type Selection struct {
	parts []selector
}

// selector is one part of a list: a range of indices, a UUID or a prefix of
// one, or a PCI bus id.
type selector struct {
	text        string
	first, last int    // first is None when it is no range
	uuid        string // lower case, a prefix
	bus         string // as NormalBusID gives it
	visible     bool   // of CUDA_VISIBLE_DEVICES
}

// ParseSelection reads a list such as 0,2,4-7, GPU-4d1f, 0000:4e:00.0. Its
// error names the part that is wrong.
func ParseSelection(list string) (Selection, error) {
	var s Selection
	for _, part := range strings.Split(list, ",") {
		p, err := parseSelector(strings.TrimSpace(part))
		if err != nil {
			return Selection{}, err
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// NewSelection returns the choice of parts as ParseSelection takes them, and of what
// VisibleDevices returns; with neither, of all GPUs.
func NewSelection(parts, visible []string) (s Selection, err error) {
	if len(parts) > 0 {
		if s, err = ParseSelection(strings.Join(parts, ",")); err != nil {
			return s, err
		}
	}
	return s.WithVisible(visible)
}

func parseSelector(p string) (selector, error) {
	sel := selector{text: p, first: None}
	if p == "" {
		return sel, Errorf("an empty part; expected numbers such as 0,2,4-7, a UUID or a PCI bus id")
	}
	if isUUID(p) {
		if len(p) < len("gpu-")+4 {
			return sel, Errorf("%q: a UUID needs at least 4 characters after %s", p, p[:4])
		}
		sel.uuid = strings.ToLower(p)
		return sel, nil
	}
	if strings.ContainsRune(p, ':') {
		bus, ok := NormalBusID(p)
		if !ok {
			return sel, Errorf("%q: not a PCI bus id such as 0000:4e:00.0", p)
		}
		sel.bus = bus
		return sel, nil
	}
	from, to, isRange := strings.Cut(p, "-")
	first, ok := parseIndex(from)
	if !ok {
		return sel, Errorf("%q: expected a number, a range such as 4-7, a UUID or a PCI bus id", p)
	}
	last := first
	if isRange {
		if last, ok = parseIndex(to); !ok {
			return sel, Errorf("%q: a range needs both ends, such as 4-7", p)
		}
	}
	if last < first {
		return sel, Errorf("%q: the range is reversed; write %d-%d", p, last, first)
	}
	if last > maxIndex {
		return sel, Errorf("%q: no GPU has a number above %d", p, maxIndex)
	}
	sel.first, sel.last = first, last
	return sel, nil
}

// isUUID reports whether p begins as UUIDs do.
func isUUID(p string) bool {
	lower := strings.ToLower(p)
	return strings.HasPrefix(lower, "gpu-") || strings.HasPrefix(lower, "mig-")
}

// VisibleDevices returns the GPUs that a value of CUDA_VISIBLE_DEVICES lists.
// For CUDA a list ends at the first entry that is no GPU, such as -1.
func VisibleDevices(value string) []string {
	var list []string
	for _, part := range strings.Split(value, ",") {
		part = strings.TrimSpace(part)
		if n, ok := parseIndex(part); (!ok || n > maxIndex) && !isUUID(part) {
			break
		}
		list = append(list, part)
	}
	return list
}

// WithVisible returns s with GPUs as VisibleDevices gives them.
func (s Selection) WithVisible(list []string) (Selection, error) {
	s.parts = slices.Clone(s.parts)
	for _, part := range list {
		p, err := parseSelector(part)
		if err != nil {
			return Selection{}, err
		}
		p.visible = true
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// Trimmed returns s on a machine that has exactly gpus: as for CUDA, what
// CUDA_VISIBLE_DEVICES lists ends before the first that is not there.
func (s Selection) Trimmed(gpus []GPU) Selection {
	end := slices.IndexFunc(s.parts, func(p selector) bool { return p.visible && p.count(gpus) == 0 })
	if end < 0 {
		return s
	}
	return Selection{parts: s.parts[:end]}
}

// parseIndex takes ASCII digits only: no sign, no underscore.
func parseIndex(s string) (int, bool) {
	if s == "" || len(s) > 9 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// NormalBusID gives a PCI bus id with four or eight domain digits, or none, as
// lower case with eight domain digits.
func NormalBusID(s string) (string, bool) {
	s = strings.ToLower(s)
	if strings.Count(s, ":") == 1 {
		s = "0000:" + s
	}
	domain, rest, _ := strings.Cut(s, ":")
	bus, dev, _ := strings.Cut(rest, ":")
	dev, fn, ok := strings.Cut(dev, ".")
	if !ok {
		fn = "0"
	}
	if len(domain) != 4 && len(domain) != 8 || len(bus) != 2 || len(dev) != 2 || len(fn) != 1 {
		return "", false
	}
	for _, part := range []string{domain, bus, dev, fn} {
		if _, err := strconv.ParseUint(part, 16, 32); err != nil {
			return "", false
		}
	}
	if len(domain) == 4 {
		domain = "0000" + domain
	}
	return domain + ":" + bus + ":" + dev + "." + fn, true
}

// All reports whether s chooses every GPU.
func (s Selection) All() bool { return len(s.parts) == 0 }

// ByIndex reports whether s can be decided by indices alone.
func (s Selection) ByIndex() bool {
	for _, p := range s.parts {
		if p.first == None {
			return false
		}
	}
	return true
}

// HasNumbers reports whether s names a GPU by its index.
func (s Selection) HasNumbers() bool {
	return slices.ContainsFunc(s.parts, func(p selector) bool { return p.first != None })
}

// ByInstance reports whether s names a MIG instance.
func (s Selection) ByInstance() bool {
	for _, p := range s.parts {
		if strings.HasPrefix(p.uuid, "mig-") {
			return true
		}
	}
	return false
}

// HasIndex reports whether s chooses index i.
func (s Selection) HasIndex(i int) bool {
	for _, p := range s.parts {
		if p.first != None && p.first <= i && i <= p.last {
			return true
		}
	}
	return s.All()
}

func (p selector) picksWhole(id *Identity) bool {
	switch {
	case p.first != None:
		return id.Index != None && p.first <= id.Index && id.Index <= p.last
	case p.uuid != "":
		return id.UUID.Known() && strings.HasPrefix(strings.ToLower(id.UUID.Value), p.uuid)
	}
	bus, ok := NormalBusID(id.PCIBusID.Value)
	return ok && bus == p.bus
}

func (p selector) picksInstance(id *Identity) bool {
	return strings.HasPrefix(p.uuid, "mig-") && strings.HasPrefix(strings.ToLower(id.UUID.Value), p.uuid)
}

// Picks reports whether s chooses g, and which of its MIG instances are to be
// shown: all of them, or those named alone.
func (s Selection) Picks(g *GPU) (picked bool, instances []GPU) {
	if s.All() {
		return true, g.MIG
	}
	if s.picksWhole(&g.Identity) {
		return true, g.MIG
	}
	for i := range g.MIG {
		for _, p := range s.parts {
			if p.picksInstance(&g.MIG[i].Identity) {
				instances = append(instances, g.MIG[i])
				break
			}
		}
	}
	return instances != nil, instances
}

// Settle returns s on a machine that has exactly gpus, as Trimmed does, and what is
// wrong with it there, "" when all is well.
func (s Selection) Settle(gpus []GPU) (settled Selection, wrong string) {
	settled = s.Trimmed(gpus)
	if settled.All() && !s.All() {
		return s, "CUDA_VISIBLE_DEVICES shows no GPU"
	}
	return settled, settled.Check(gpus)
}

// Fixed returns the choice that s makes among gpus by what stays of a GPU: its
// UUID, or the bus id where that is unknown. A choice of none of them stays as
// it is.
func (s Selection) Fixed(gpus []GPU) Selection {
	var f Selection
	for i := range gpus {
		g := &gpus[i]
		if s.picksWhole(&g.Identity) {
			f.parts = append(f.parts, fixed(&g.Identity))
			continue
		}
		_, instances := s.Picks(g)
		for j := range instances {
			f.parts = append(f.parts, fixed(&instances[j].Identity))
		}
	}
	if s.All() || f.All() {
		return s
	}
	return f
}

// fixed is the part of a selection that names one GPU or instance.
func fixed(id *Identity) selector {
	p := selector{first: id.Index, last: id.Index}
	if bus, ok := NormalBusID(id.PCIBusID.Value); ok {
		p.first, p.bus = None, bus
	}
	if id.UUID.Known() && id.UUID.Value != "" {
		p.first, p.uuid = None, strings.ToLower(id.UUID.Value)
	}
	return p
}

func (s Selection) picksWhole(id *Identity) bool {
	for _, p := range s.parts {
		if p.picksWhole(id) {
			return true
		}
	}
	return false
}

// Of returns a copy of the snapshot with the GPUs that s chooses.
func (s Selection) Of(snap *Snapshot) *Snapshot {
	if s.All() {
		return snap
	}
	c := *snap
	c.GPUs = nil
	for i := range snap.GPUs {
		if picked, instances := s.Picks(&snap.GPUs[i]); picked {
			g := snap.GPUs[i]
			g.MIG = instances
			c.GPUs = append(c.GPUs, g)
		}
	}
	return &c
}

// Check says what is wrong with s on a machine that has exactly gpus: the parts
// that name none of them and the prefixes that name more than one. It is ""
// when all is well.
func (s Selection) Check(gpus []GPU) string {
	var missing, ambiguous []string
	for _, p := range s.parts {
		if p.first != None {
			for i := p.first; i <= p.last; i++ {
				if !hasIndex(gpus, i) {
					missing = append(missing, strconv.Itoa(i))
				}
			}
			continue
		}
		switch n := p.count(gpus); {
		case n == 0:
			missing = append(missing, p.text)
		case n > 1:
			ambiguous = append(ambiguous, p.text)
		}
	}
	switch {
	case len(missing) > 8:
		return fmt.Sprintf("no such GPU: %s and %d more", strings.Join(missing[:8], ", "), len(missing)-8)
	case len(missing) > 0:
		return "no such GPU: " + strings.Join(missing, ", ")
	case len(ambiguous) > 0:
		return "more than one GPU has a UUID that begins with " + strings.Join(ambiguous, ", ")
	}
	return ""
}

// count returns how many GPUs and instances p names.
func (p selector) count(gpus []GPU) int {
	n := 0
	for i := range gpus {
		if p.picksWhole(&gpus[i].Identity) {
			n++
		}
		for j := range gpus[i].MIG {
			if p.picksInstance(&gpus[i].MIG[j].Identity) {
				n++
			}
		}
	}
	return n
}

func hasIndex(gpus []GPU, i int) bool {
	for k := range gpus {
		if gpus[k].Index == i {
			return true
		}
	}
	return false
}
