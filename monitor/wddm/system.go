package wddm

import "nvtop-lite/monitor"

// The counters that are read, each with all its instances.
const (
	localMemory    = iota // of processes, in the adapter's memory
	nonLocalMemory        // of processes, in the host's
	engineLoad
	dedicatedMemory // of adapters
	sharedMemory
	numCounters
)

// counterNames are their English names, which every Windows knows.
var counterNames = [numCounters]struct{ object, counter string }{
	localMemory:     {"GPU Process Memory", "Local Usage"},
	nonLocalMemory:  {"GPU Process Memory", "Non Local Usage"},
	engineLoad:      {"GPU Engine", "Utilization Percentage"},
	dedicatedMemory: {"GPU Adapter Memory", "Dedicated Usage"},
	sharedMemory:    {"GPU Adapter Memory", "Shared Usage"},
}

// path is what PDH calls all instances of a counter.
func path(counter int) string {
	n := &counterNames[counter]
	return `\` + n.object + `(*)\` + n.counter
}

// counters are those of Windows, each time anew: instances come and go.
type counters interface {
	read(calling) [numCounters]list
}

// calling hears of each call that is about to be made: any of them may hang.
type calling func(function string)

// list is a counter with all its instances.
type list struct {
	values []value
	failed monitor.Reading // why there are none; Known where there are
}

// adapters are those of DXGI, those that NVML does not know too.
type adapters interface {
	// list lists them anew.
	list(calling) ([]adapter, monitor.Reading)
	// current says that they are still those that were listed last.
	current(calling) bool
}

// fine stands where a reading says why there is no list, and there is one.
var fine = monitor.OfInt(0)
