package monitor

// Adapter is what Windows counts of the memory of a GPU that it manages (WDDM), as
// Task Manager shows it. None of it is ever added to another figure: what is
// dedicated is the GPU's own memory, counted by another than the driver, and what
// is shared is the host's. It does not change once it was handed on.
type Adapter [numAdapter]Reading

// The readings of an Adapter, in bytes.
const (
	DedicatedTotal = iota // memory that the GPU has to itself; 0 for some integrated ones
	DedicatedUsed
	SharedTotal // memory of the host that the GPU may use
	SharedUsed
	numAdapter
)

// AdapterKeys are the JSON keys of an Adapter.
var AdapterKeys = [numAdapter]string{
	"adapter_dedicated_total_bytes", "adapter_dedicated_used_bytes", "adapter_shared_total_bytes", "adapter_shared_used_bytes",
}

func (a *Adapter) readings() []*Reading {
	list := make([]*Reading, numAdapter)
	for i := range a {
		list[i] = &a[i]
	}
	return list
}
