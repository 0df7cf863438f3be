package wddm

import (
	"strconv"
	"strings"

	"nvtop-lite/monitor"
)

// adapter is what DXGI and the kernel tell of one.
type adapter struct {
	id                luid
	name              string
	vendor, device    uint32
	software          bool   // draws on the CPU
	dedicated, shared uint64 // bytes of memory: its own, and what it may have of the host's

	located   bool // the rest is known
	bus, slot uint32
}

const nvidia = 0x10DE

// card is what NVML tells of a GPU.
type card struct {
	bus   monitor.Text // such as 00000000:01:00.0
	name  monitor.Text
	model string // of its driver, as in monitor.Identity
	index int    // NVML's
}

// managed says that Windows may manage the memory of a card: then it is an adapter.
func (c *card) managed() bool { return c.model != "tcc" && c.model != "mcdm" }

// link says which adapter a card is.
type link struct {
	*adapter
	from monitor.Provenance
}

// join finds the adapters that are cards, by key. Their place on the PCI bus tells.
// Where Windows does not tell the place of an adapter, its name does, as long as no
// other card or adapter has that name: of two equal cards each could be either. A
// card whose memory Windows does not manage is no adapter.
func join(adapters []adapter, cards map[string]card) map[string]link {
	links := map[string]link{}
	for key, c := range cards {
		if !c.managed() {
			continue
		}
		if a := only(adapters, cards, key, (*adapter).at); a != nil {
			links[key] = link{a, monitor.Measured}
		} else if a = only(adapters, cards, key, (*adapter).named); a != nil && !a.located && c.name.Known() {
			links[key] = link{a, monitor.Inferred}
		}
	}
	return links
}

// only returns the adapter that is the same as a card, where no other is, and as no
// other card.
func only(adapters []adapter, cards map[string]card, key string, same func(*adapter, card) bool) (found *adapter) {
	for i := range adapters {
		if a := &adapters[i]; a.counts() && same(a, cards[key]) {
			if found != nil {
				return nil
			}
			found = a
		}
	}
	for other, c := range cards {
		if found != nil && other != key && c.managed() && same(found, c) {
			return nil
		}
	}
	return found
}

// counts says that an adapter can be one that NVML knows.
func (a *adapter) counts() bool { return a.vendor == nvidia && !a.software }

// at says that a card is where the adapter is. Windows has no PCI domains.
func (a *adapter) at(c card) bool {
	bus, slot, ok := place(c.bus.Value)
	return ok && a.located && a.bus == bus && a.slot == slot
}

// named says that the adapter is named like a card.
func (a *adapter) named(c card) bool { return a.name == c.name.Value }

// place returns the bus and the device of a bus id.
func place(id string) (bus, slot uint32, ok bool) {
	_, rest, _ := strings.Cut(id, ":")
	b, rest, found := strings.Cut(rest, ":")
	s, _, also := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(b, 16, 8)
	m, bad := strconv.ParseUint(s, 16, 5)
	return uint32(n), uint32(m), found && also && err == nil && bad == nil
}
