package driver

import (
	"sync"

	"nvtop-lite/nvml"
)

// Watcher hears all that a Source does with the driver's library.
type Watcher interface {
	nvml.LackTracer
	// Opened tells of the libraries that were tried. lib is nil where none is
	// in use.
	Opened(lib *nvml.Library, tried []nvml.Attempt)
	// Unified tells what NVML said of the memory of a GPU that has the
	// machine's: a total in bytes, or the name of an error.
	Unified(total uint64, answer string)
}

// tracer tells a device's sink which call is in progress.
type tracer struct {
	owners  sync.Map      // by NVML's index, an int: the *device that asks there
	watcher Watcher       // hears everything; nil for none
	down    chan struct{} // closed when NVML was shut down
}

func (t *tracer) Begin(c nvml.Call) {
	t.say(c.Device, c.Function.String())
	if t.watcher != nil {
		t.watcher.Begin(c)
	}
}

func (t *tracer) End(c nvml.Call) {
	if t.watcher != nil {
		t.watcher.End(c)
	}
	if d := t.say(c.Device, ""); d != nil {
		d.doubt(uint32(c.Function), c.Return)
	}
	if c.Device < 0 && c.Function.String() == "nvmlShutdown" {
		close(t.down)
	}
}

func (t *tracer) Lacks(c nvml.Call) {
	if t.watcher != nil {
		t.watcher.Lacks(c)
	}
}

// say tells the device that asks, and returns it; nil where that is not known.
func (t *tracer) say(index int, function string) *device {
	if index < 0 {
		return nil
	}
	v, ok := t.owners.Load(index)
	if !ok {
		return nil
	}
	d := v.(*device)
	if sink := d.sink.Load(); sink != nil {
		(*sink).Call(function)
	}
	return d
}
