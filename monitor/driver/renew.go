package driver

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// doubt takes the answer of a call. Under Options.Renew one that a restart of the
// GPU could be behind makes the handle be found again before it is used. An error
// that goes on does so every few seconds.
func (d *device) doubt(function uint32, answer nvml.Return) {
	switch reason(answer) {
	case monitor.NotSupported, monitor.NoPermission, monitor.NotFound: // the last is the answer of empty lists, too
		return
	}
	if !d.src.opts.Renew || answer == nvml.Success || answer == nvml.ErrInsufficientSize {
		return
	}
	one := uint64(1) << ((function + 7*uint32(answer)) % 64) // two of one bit count as the same
	if d.met.Or(one)&one == 0 {
		d.renewal.Store(true)
	}
}

// renew finds the device's handle again where that is due. Where it is the one
// that was there all that was learned stays: the samples of GPM, the counts for
// rates, what was refused for good. It returns why the handle cannot be used any
// more.
func (r *round) renew() error {
	if !r.renewal.Swap(false) {
		return nil
	}
	r.sink.Begin(monitor.Want{})
	before := r.handle.dev
	err := r.device.take(r.held.Load(), r.src.sparing(), r.sink)
	if err == nil && r.handle.dev != before {
		return nvml.ErrInvalidArgument // as a stale handle answers
	}
	r.mig.listedAt = time.Time{} // finds those of the instances again
	return err
}
