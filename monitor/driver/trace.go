package driver

import (
	"sync"

	"nvtop-lite/nvml"
)

// tracer tells a device's sink which call is in progress.
type tracer struct {
	owners sync.Map // by NVML's index, an int: the *device that asks there
}

func (t *tracer) Begin(c nvml.Call) { t.say(c.Device, c.Function.String()) }

func (t *tracer) End(c nvml.Call) { t.say(c.Device, "") }

func (t *tracer) say(index int, function string) {
	if index < 0 {
		return
	}
	if d, ok := t.owners.Load(index); ok {
		if sink := d.(*device).sink.Load(); sink != nil {
			(*sink).Call(function)
		}
	}
}
