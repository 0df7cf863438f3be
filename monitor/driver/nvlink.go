package driver

import (
	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// nvlinkErrorIDs are the readings of what goes wrong on the NVLinks together:
// flits or packets that came in broken, those sent again, and links that had to be
// trained again.
var nvlinkErrorIDs = [...]monitor.ReadingID{monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries}

// nvlinkErrorFields are the fields that count them: of NVLink up to 4, and of
// NVLink 5, which does not tell of replays (0).
var nvlinkErrorFields = [...][len(nvlinkErrorIDs)]nvml.FieldID{
	{nvml.FieldNvLinkErrorCRC, nvml.FieldNvLinkErrorReplay, nvml.FieldNvLinkErrorRecovery},
	{nvml.FieldNvLink5ReceiveErrors, 0, nvml.FieldNvLink5Recoveries},
}

// nvlinkErrorCounters count them in drivers older than the fields.
var nvlinkErrorCounters = [len(nvlinkErrorIDs)]nvml.NvLinkErrorCounter{nvml.NvLinkCRCFlit, nvml.NvLinkReplay, nvml.NvLinkRecovery}

// nvlinkErrors reads the error counters while links are active: in one call, else
// link by link.
func nvlinkErrors(r *round, active int) {
	n := &r.nvlink
	if active == 0 {
		for _, id := range nvlinkErrorIDs {
			r.give(id, monitor.Unknown(monitor.NotFound))
		}
		return
	}
	var first error
	for i, fields := range nvlinkErrorFields {
		g := &n.noFields[i]
		err := g.shut(r.now)
		if err == nil {
			var sums [len(nvlinkErrorIDs)]uint64
			sums, err = n.errorFields(r.dev, fields, active)
			g.note(err, r.now)
			if err == nil {
				for k, id := range nvlinkErrorIDs {
					v := monitor.OfUint(sums[k])
					if fields[k] == 0 {
						v = monitor.Unknown(monitor.NotSupported)
					}
					r.give(id, v)
				}
				return
			}
		}
		if !isRefused(err) {
			r.fail(err, nvlinkErrorIDs[:]...)
			return
		}
		first = err
	}
	for k, id := range nvlinkErrorIDs {
		sum, err := n.errorCounter(r.dev, nvlinkErrorCounters[k], active)
		if err != nil {
			err = worse(first, err)
		}
		r.take(id, monitor.OfUint(sum), err)
	}
}

// tally adds up one counter of all links. A link that is not active may refuse; a
// sum of which another part is missing is none.
type tally struct {
	sum     uint64
	answers int
	err     error
}

func (t *tally) add(v uint64, err error) {
	switch {
	case err == nil && allOnes(v):
		t.err = &nvml.Error{Device: -1, Return: nvml.ErrImplausible}
	case err == nil:
		t.sum += v
		t.answers++
	case t.err == nil || isRefused(t.err):
		t.err = err
	}
}

// result is the sum of so many active links at least.
func (t *tally) result(active int) (uint64, error) {
	if t.err != nil && (t.answers < active || !isRefused(t.err)) {
		return 0, t.err
	}
	return t.sum, nil
}

// errorFields reads the fields of all links in one call.
func (n *nvlinkState) errorFields(dev nvml.Device, fields [len(nvlinkErrorIDs)]nvml.FieldID, active int) (sums [len(nvlinkErrorIDs)]uint64, err error) {
	list := n.errors[:0]
	for _, id := range fields {
		for link := 0; id != 0 && link < n.links; link++ {
			list = append(list, nvml.FieldValue{ID: id, Scope: uint32(link)})
		}
	}
	n.errors = list
	if err := dev.FieldValues(list); err != nil {
		return sums, err
	}
	for k, id := range fields {
		if id == 0 {
			continue
		}
		var t tally
		for i := range n.links {
			f := &list[i]
			v, ok := f.Value.Uint64()
			switch {
			case f.Return == nvml.ErrInvalidArgument:
				f.Return = nvml.ErrNotSupported // the driver is older than the field
			case f.Return == nvml.Success && !ok:
				f.Return = nvml.ErrImplausible
			}
			var err error
			if f.Return != nvml.Success {
				err = &nvml.Error{Function: "nvmlDeviceGetFieldValues", Device: dev.Index(), Return: f.Return}
			}
			t.add(v, err)
		}
		list = list[n.links:]
		if sums[k], err = t.result(active); err != nil {
			return sums, err
		}
	}
	return sums, nil
}

// errorCounter asks link by link.
func (n *nvlinkState) errorCounter(dev nvml.Device, counter nvml.NvLinkErrorCounter, active int) (uint64, error) {
	var t tally
	for link := range n.links {
		v, err := dev.NvLinkErrorCounter(uint32(link), counter)
		if code(err) == nvml.ErrInvalidArgument {
			err = &nvml.Error{Function: "nvmlDeviceGetNvLinkErrorCounter", Device: dev.Index(), Return: nvml.ErrNotSupported}
		}
		if t.add(v, err); t.answers == 0 && link > 0 && isRefused(t.err) {
			break // none has it
		}
	}
	return t.result(active)
}
