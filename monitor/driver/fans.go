package driver

import (
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

const maxFans = 16

// fanState is what a device keeps of its fans.
type fanState struct {
	n           int // how many there are; 0: not counted yet
	rpm, target gate
}

func fans(r *round) {
	f := &r.fans
	n := f.n
	var uncounted error
	if n == 0 {
		counted, err := r.dev.NumFans()
		switch {
		case err != nil:
			uncounted = err
			n = maxFans // counted up until there is none
		case counted == 0:
			r.refused = true
			r.sink.Reading(monitor.FanPercent, monitor.Unknown(monitor.NotSupported))
			r.sink.Fans([]monitor.Fan{}, monitor.Status{Reason: monitor.Known})
			return
		default:
			n = min(counted, maxFans)
		}
	}
	list := make([]monitor.Fan, 0, min(n, 4))
	for i := range n {
		speed, err := r.dev.FanSpeed(i)
		if i > 0 && (code(err) == nvml.ErrInvalidArgument || isRefused(err)) {
			break // past the last
		}
		if err != nil && i == 0 {
			err = worse(uncounted, err)
			r.fail(err, monitor.FanPercent)
			r.sink.Fans(nil, status(err))
			return
		}
		list = append(list, monitor.Fan{Index: i, Percent: reading(monitor.FanRange.Check(number(speed)), err)})
	}
	f.n = len(list)
	r.give(monitor.FanPercent, list[0].Percent)
	if !r.full.HasGroup(monitor.GroupFans) {
		return
	}
	for i := range list {
		list[i].RPM = r.behind(&f.rpm, nvml.Device.FanSpeedRPM, i, monitor.RPMRange)
		list[i].TargetPercent = r.behind(&f.target, nvml.Device.TargetFanSpeed, i, monitor.FanRange)
	}
	r.sink.Fans(list, monitor.Status{Reason: monitor.Known})
}

// behind is the reading of a fan by a call that stands behind a gate.
func (r *round) behind(g *gate, get func(nvml.Device, int) (uint32, error), fan int, s monitor.Range) monitor.Reading {
	if err := g.shut(r.now); err != nil {
		return reading(monitor.Reading{}, err)
	}
	v, err := get(r.dev, fan)
	g.note(err, r.now)
	return reading(s.Check(number(v)), err)
}
