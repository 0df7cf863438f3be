package wddm

import "nvtop-lite/monitor"

// counters are those of Windows, each time anew: instances come and go.
type counters interface {
	// read reads all instances of memoryCounter and engineCounter.
	read() (memory, engines list)
}

// list is a counter with all its instances.
type list struct {
	values []value
	failed monitor.Reading // why there are none; Known where there are
}

// adapters are those of DXGI, those that NVML does not know too.
type adapters interface {
	list() ([]adapter, monitor.Reading)
}

// fine stands where a reading says why there is no list, and there is one.
var fine = monitor.OfInt(0)
