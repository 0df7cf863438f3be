package wddm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nvtop-lite/monitor"
)

// Told is what Windows told, and which of its adapters the GPUs of NVML are: what a
// bug report needs. Its form is that of the doctor's JSON.
type Told struct {
	Counters []Counter `json:"counters"`
	Adapters []Adapter `json:"adapters"`
	Failed   *Answer   `json:"adapters_failed"` // why none could be listed; null: they were
	GPUs     []Joined  `json:"gpus"`            // those that NVML told of so far
}

// Counter is one with what it answered.
type Counter struct {
	Object    string  `json:"object"`
	Counter   string  `json:"counter"`
	Instances *int    `json:"instances"` // null: it was not answered
	Reason    *string `json:"reason"`    // why not
	Failed    *Answer `json:"failed"`    // the call to blame; null for none
}

// Answer is the call that failed, and how.
type Answer struct {
	Function string  `json:"function"`
	Name     *string `json:"name"` // null: it has not returned
	Code     *string `json:"code"` // hexadecimal; null likewise
}

// Adapter is one of DXGI's.
type Adapter struct {
	Name      string  `json:"name"`
	Vendor    string  `json:"vendor"` // with the device, as PCI has them
	LUID      string  `json:"luid"`   // as the counters have it
	Bus       *string `json:"bus"`    // place on the PCI bus, without a domain; null: the kernel does not tell
	Software  bool    `json:"software"`
	Dedicated uint64  `json:"dedicated_total_bytes"`
	InUse     *int64  `json:"dedicated_used_bytes"` // null: its counter does not tell
	Shared    uint64  `json:"shared_total_bytes"`
	Lent      *int64  `json:"shared_used_bytes"` // likewise
}

// Joined is a GPU of NVML with the adapter that it is.
type Joined struct {
	Index *int    `json:"index"`
	Model *string `json:"driver_model"`
	LUID  *string `json:"luid"` // null: it is none
	By    *string `json:"by"`   // bus or name
	Why   *string `json:"why"`  // it is none
}

// some is a text, null for none.
func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// told tells what is known by now, one after the other: the last is the newest.
func (s *Source) told() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	f := s.last
	if f == nil {
		f = s.late()
	}
	t := tellOf(f, s.cards)
	s.mu.Unlock()
	s.tell(t)
}

func tellOf(f *found, cards map[string]card) *Told {
	t := &Told{Counters: []Counter{}, Adapters: []Adapter{}, GPUs: []Joined{}}
	for i, n := range counterNames {
		c := Counter{Object: n.object, Counter: n.counter}
		if r := f.failed[i]; r.Known() {
			c.Instances = &f.instances[i]
		} else {
			c.Reason, c.Failed = some(r.Reason.String()), answer(r)
		}
		t.Counters = append(t.Counters, c)
	}
	for i := range f.adapters {
		a := &f.adapters[i]
		told := Adapter{
			Name: a.name, Vendor: fmt.Sprintf("%04X:%04X", a.vendor, a.device), LUID: a.id.String(),
			Software: a.software, Dedicated: a.dedicated, InUse: bytes(f.dedicated[a.id]), Shared: a.shared, Lent: bytes(f.shared[a.id]),
		}
		if a.located {
			told.Bus = some(fmt.Sprintf("%02X:%02X", a.bus, a.slot))
		}
		t.Adapters = append(t.Adapters, told)
	}
	t.Failed = answer(f.listed)
	keys := slices.SortedFunc(maps.Keys(cards), func(a, b string) int {
		return cmp.Or(cmp.Compare(cards[a].index, cards[b].index), strings.Compare(a, b))
	})
	for _, key := range keys {
		c := cards[key]
		j := Joined{Model: some(c.model)}
		if c.index != monitor.None {
			j.Index = &c.index
		}
		if l, ok := find(key, f.adapters, cards); ok {
			j.LUID, j.By = some(l.id.String()), some("bus")
			if l.from == monitor.Inferred {
				j.By = some("name")
			}
		} else {
			j.Why = some(f.unjoined(key, cards))
		}
		t.GPUs = append(t.GPUs, j)
	}
	return t
}

// bytes is a reading, nil for none.
func bytes(r monitor.Reading) *int64 {
	v, ok := r.Int()
	if !ok {
		return nil
	}
	return &v
}

// of is "3 of 24 MiB".
func of(used *int64, total uint64) string {
	part := "-"
	if used != nil {
		part = fmt.Sprint(*used >> 20)
	}
	return fmt.Sprintf("%s of %d MiB", part, total>>20)
}

// answer is the call to blame for what is not there, nil for none.
func answer(r monitor.Reading) *Answer {
	if r.Err.Function() == "" {
		return nil
	}
	a := &Answer{Function: r.Err.Function()}
	if r.Err.Name() != "" {
		a.Name, a.Code = some(r.Err.Name()), some(fmt.Sprintf("0x%08X", uint32(r.Err.Code())))
	}
	return a
}

// String is the LUID as the names of counters have it.
func (l luid) String() string { return fmt.Sprintf("0x%08X_0x%08X", uint32(l>>32), uint32(l)) }

// unjoined says why a card is no adapter.
func (f *found) unjoined(key string, cards map[string]card) string {
	c := cards[key]
	bus, slot, placed := place(c.bus.Value)
	located, named := 0, 0 // adapters at its place, and such without a place that have its name
	for i := range f.adapters {
		a := &f.adapters[i]
		switch {
		case !a.counts():
		case a.at(c):
			located++
		case !a.located && c.name.Known() && a.named(c):
			named++
		}
	}
	switch {
	case !c.managed():
		return "Windows does not manage its memory: NVML alone tells of it"
	case !f.listed.Known():
		return "Windows lists no adapters"
	case !c.name.Known() && !c.bus.Known():
		return "NVML has not told what it is"
	case located > 0:
		return fmt.Sprintf("the place %02X:%02X on the bus is not its alone", bus, slot)
	case named > 0:
		return "its name is not its alone, and Windows tells no place on the bus"
	case !placed:
		return "NVML tells no place on the bus, and no adapter without one has its name"
	}
	return fmt.Sprintf("no adapter of NVIDIA is at its place on the bus, %02X:%02X", bus, slot)
}

// Lines are the same on the doctor's page: what each line is about, a colon, and what
// is so.
func (t *Told) Lines() (lines []string) {
	add := func(about string, parts ...string) { lines = append(lines, about+": "+strings.Join(parts, "  ")) }
	if none := t.noCounters(); none != "" {
		add("counters", "none: "+none+"; under WDDM what processes use stays unknown")
	} else {
		for _, c := range t.Counters {
			name := c.Object + ", " + c.Counter + ":"
			switch {
			case c.Instances != nil:
				add("counter", name, fmt.Sprint(*c.Instances), "instances")
			case c.Failed != nil:
				add("counter", name, c.Failed.String())
			default:
				add("counter", name, "no value yet: it takes two looks")
			}
		}
	}
	if t.Failed != nil {
		add("adapters", "none: "+t.Failed.String())
	}
	for _, a := range t.Adapters {
		bus := "no place on the bus"
		if a.Bus != nil {
			bus = "bus " + *a.Bus
		}
		kind := ""
		if a.Software {
			kind = "  software"
		}
		add("adapter", a.Name, a.Vendor, "LUID "+a.LUID, bus,
			"dedicated "+of(a.InUse, a.Dedicated), "shared "+of(a.Lent, a.Shared)+kind)
	}
	for _, g := range t.GPUs {
		index, model := "-", "driver model unknown"
		if g.Index != nil {
			index = fmt.Sprint(*g.Index)
		}
		if g.Model != nil && *g.Model != "unknown" {
			model = *g.Model
		}
		if g.LUID != nil {
			add("GPU "+index, model, "adapter "+*g.LUID+", by its "+*g.By)
		} else {
			add("GPU "+index, model, "no adapter: "+*g.Why)
		}
	}
	return lines
}

// noCounters is why no counter was answered, where all failed in one way.
func (t *Told) noCounters() string {
	why := ""
	for _, c := range t.Counters {
		if c.Failed == nil || why != "" && c.Failed.String() != why {
			return ""
		}
		why = c.Failed.String()
	}
	return why
}

func (a *Answer) String() string {
	switch {
	case a.Name == nil:
		return a.Function + " has not returned"
	case strings.HasPrefix(*a.Name, "0x"): // nobody knows a name
		return a.Function + " answered " + *a.Code
	}
	return a.Function + " answered " + *a.Name + " (" + *a.Code + ")"
}
