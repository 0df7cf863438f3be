package apart

import (
	"fmt"
	"slices"
	"time"

	"nvtop-lite/monitor"
)

// keepRows returns next with the rows that last had and next lacks, since a GPU
// that was seen once keeps its row: those of a driver process that has just begun
// again, and GPUs that the driver no longer lists. next stays as it is: the message
// after it tells the difference to it.
func keepRows(last, next *monitor.Snapshot) *monitor.Snapshot {
	if last == nil || len(last.GPUs) == 0 {
		return next
	}
	own := *next
	next = &own
	if len(next.GPUs) == 0 {
		next.GPUs = staleRows(last.GPUs, last.Steady, next.Steady, next.Waiting)
		return next
	}
	have := make(map[string]bool, len(next.GPUs))
	for i := range next.GPUs {
		g := &next.GPUs[i]
		if !g.UUID.Known() {
			for k := range last.GPUs {
				l := &last.GPUs[k]
				opening := g.State == monitor.Initialising && l.Index == g.Index
				asleep := g.State == monitor.Sleeping && g.PCIBusID.Known() && l.PCIBusID == g.PCIBusID
				if l.UUID.Known() && (opening || asleep) {
					next.GPUs = slices.Clone(next.GPUs)
					g = &next.GPUs[i]
					g.Identity = l.Identity
				}
			}
		}
		have[monitor.Key(g)] = true
	}
	for i := range last.GPUs {
		g := last.GPUs[i]
		if !g.UUID.Known() || have[monitor.Key(&g)] {
			continue
		}
		if next.Driver.Version.Known() {
			g = gone(g, next)
		} else { // a Jetson's files list its GPU before anybody has asked the driver
			g = staleRows(last.GPUs[i:i+1], last.Steady, next.Steady, "the driver was not asked yet")[0]
		}
		for k := range next.GPUs {
			if next.GPUs[k].Index == g.Index {
				g.Index = monitor.None // its number was taken
			}
		}
		next.GPUs = append(slices.Clip(next.GPUs), g)
	}
	return next
}

// gone is the row of a GPU that the driver no longer lists.
func gone(g monitor.GPU, next *monitor.Snapshot) monitor.GPU {
	row := monitor.GPU{
		Identity: g.Identity, State: monitor.Lost, StateReason: "no longer listed by the driver",
		StateSince: g.StateSince, Refreshed: g.Refreshed, Sources: g.Sources, XIDs: g.XIDs, XIDsStatus: g.XIDsStatus,
	}
	if g.State != monitor.Lost {
		row.StateSince = next.Steady
	} else if g.StateReason != "" {
		row.StateReason = g.StateReason
	}
	for id := range monitor.NumReadings {
		row.Readings[id] = monitor.Unknown(monitor.GPULost)
	}
	lost := monitor.Status{Reason: monitor.GPULost}
	row.FansStatus, row.ProcStatus, row.MIGStatus = lost, lost, lost
	return row
}

// staleRows are rows whose driver process is gone: old numbers that say their
// age. The clocks of two driver processes agree, give or take what the wall
// clock jumped between their starts.
func staleRows(rows []monitor.GPU, then, now int64, why string) []monitor.GPU {
	out := append([]monitor.GPU(nil), rows...)
	for i := range out {
		g := &out[i]
		if g.State == monitor.OK || g.State == monitor.Initialising {
			g.State, g.StateReason, g.StateSince = monitor.Stale, why, max(then, 1)
		}
		g.Call, g.CallSince = "", 0
	}
	return out
}

// fallen is the snapshot of a machine whose driver process has just ended.
func fallen(last *monitor.Snapshot, setup Setup, f fall, backOff time.Duration) *monitor.Snapshot {
	t := time.Now()
	text := fmt.Sprintf("%s; starting it again in %d s", f, int(backOff.Seconds()))
	s := &monitor.Snapshot{Time: t.UTC().Round(0), Steady: t.UnixNano(), Interval: setup.Request.Interval, Source: "live", Waiting: text}
	if last != nil {
		c := *last
		c.Time, c.Waiting, c.WaitingHint = s.Time, text, "" // what was to be done for another reason
		c.Steady = max(last.Steady, last.Steady+int64(t.Sub(last.Time)))
		c.GPUs = staleRows(last.GPUs, last.Steady, c.Steady, text)
		s = &c
	}
	return s
}
