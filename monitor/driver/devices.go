package driver

import (
	"slices"
	"strconv"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
	"nvtop-lite/nvml"
)

// hung is how long a refresh may take before its device counts as one that
// hangs, for others that wait for it.
const hung = 2 * time.Second

// standing is what others may know of a device while it is read. It belongs to
// Source.mu.
type standing struct {
	uuid      string
	address   string    // as host.PCIAddress; "" where it is not known
	index     int       // the driver's, None where another GPU has it
	tried     *session  // in which it was tried to take a handle last
	holds     *session  // of which it has a handle
	gone      error     // why it is believed to be gone, nil where it is not
	asleep    bool      // it was left asleep
	since     time.Time // when the refresh in progress began; zero: there is none
	idleSince time.Time // since when nobody uses it; zero: somebody does
	reads     [3]int64  // numbers of its last refreshes, the newest first
}

// stand changes what others know of the device.
func (d *device) stand(change func(*standing)) {
	d.src.mu.Lock()
	change(&d.seen)
	d.src.mu.Unlock()
}

// Devices lists the GPUs without taking a handle of any: those that there are,
// and those that were there before.
func (s *Source) Devices() ([]monitor.Device, error) {
	s.mu.Lock()
	x, resting, failure, powerAt := s.session, s.resting, s.failure, s.powerAt
	s.mu.Unlock()
	switch {
	case failure != nil:
		return nil, failure
	case x == nil && !resting:
		return nil, &monitor.OpenError{What: "NVML is not open"}
	}
	if err := s.trouble(x); err != nil {
		return nil, err
	}
	if !s.now().Before(powerAt) {
		s.readPower()
	}
	names := host.DriverGPUs(s.opts.Root)
	sparing := s.sparing()
	n := len(names)
	if !sparing && x != nil { // otherwise nothing is asked that might wake one
		var err error
		if n, err = x.lib.DeviceCount(); err != nil {
			return nil, &monitor.OpenError{What: "the GPUs cannot be counted: " + code(err).Error(), Code: name(code(err)), Hint: monitor.HintDriver}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed && x != nil && (n != s.count || !slices.Equal(names, s.names)) {
		return nil, &monitor.OpenError{Cause: monitor.CauseChanged, What: "the GPUs are not the same any more"}
	}
	s.listed, s.count, s.names = true, n, names
	if sparing {
		s.enrolByAddress(names)
	} else {
		s.enrolByIndex(x, n)
	}
	var list []monitor.Device
	for _, d := range s.devices {
		list = append(list, monitor.Device{Key: d.key, Index: d.seen.index})
	}
	return list, nil
}

// enrolByIndex adds the GPUs that no device stands for. Which those are is only
// known when all devices have looked for their own, by UUID.
func (s *Source) enrolByIndex(x *session, n int) {
	known := len(s.devices) > 0
	taken := map[int]bool{}
	s.remove(func(d *device) bool { // nothing is known of it but a number
		return d.seen.uuid == "" && d.seen.index >= n
	})
	for _, d := range s.devices {
		switch {
		case d.seen.uuid != "" && d.seen.tried != x && !s.hangs(d) && !s.unread(d):
			return
		default:
			taken[d.seen.index] = true
		}
	}
	for i := range n {
		if !taken[i] {
			s.enrol(i, "", known)
		}
	}
}

// enrolByAddress adds the GPUs at addresses where no device is. Their numbers
// are by address until the driver says otherwise.
func (s *Source) enrolByAddress(names []string) {
	known := len(s.devices) > 0
	for i, name := range names {
		if !slices.ContainsFunc(s.devices, func(d *device) bool { return d.seen.address == name }) {
			s.enrol(i, name, known)
		}
	}
}

// enrol adds a device. s.mu is held.
func (s *Source) enrol(index int, address string, newcomer bool) {
	d := newDevice(s, strconv.Itoa(s.keys), index)
	s.keys++
	if d.newcomer = newcomer; address != "" {
		d.address = address
		d.id.PCIBusID = monitor.OfText(host.BusID(address))
	}
	d.seen = standing{index: index, address: address}
	s.devices = append(slices.Clip(s.devices), d)
}

// remove takes devices away. s.mu is held.
func (s *Source) remove(which func(*device) bool) {
	list := make([]*device, 0, len(s.devices))
	for _, d := range s.devices {
		if !which(d) {
			list = append(list, d)
		}
	}
	s.devices = list
}

// hangs reports whether a refresh of the device takes long. s.mu is held.
func (s *Source) hangs(d *device) bool {
	return !d.seen.since.IsZero() && s.now().Sub(d.seen.since) >= hung
}

// unread reports whether nobody reads the device any more, or never did: another
// was read three times since. s.mu is held.
func (s *Source) unread(d *device) bool {
	return d.seen.since.IsZero() && slices.ContainsFunc(s.devices, func(o *device) bool { return o.seen.reads[2] > d.seen.reads[0] })
}

// owner returns the device other than d that is the GPU with a UUID.
func (s *Source) owner(uuid string, d *device) *device {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.devices {
		if o != d && o.seen.uuid == uuid {
			return o
		}
	}
	return nil
}

// welcome adds the GPU with an index that turned out to be another than the one
// that had it.
func (s *Source) welcome(index int, uuid string) {
	if s.owner(uuid, nil) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		if d.seen.uuid == "" && d.seen.index == index {
			return
		}
	}
	s.enrol(index, "", true)
}

// dismiss takes away a device that turned out to be another one, which may have
// moved to its address.
func (s *Source) dismiss(d, other *device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(o *device) bool { return o == d })
	if d.seen.address != "" {
		other.seen.address = d.seen.address
	}
}

// trouble returns why NVML must be initialised anew: no GPU answers, and some
// are gone. One that hangs is waited for, unless it is the library that says
// that it cannot go on.
func (s *Source) trouble(x *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	n, unknown, whole, hanging := 0, 0, false, false
	for _, d := range s.devices {
		switch {
		case d.seen.asleep || s.unread(d):
		case d.seen.gone != nil && d.seen.tried == x:
			n++
			if first == nil || isWhole(d.seen.gone) && !whole {
				first = d.seen.gone
			}
			whole = whole || isWhole(d.seen.gone)
			if code(d.seen.gone) == nvml.ErrUnknown {
				unknown++
			}
		case s.hangs(d):
			hanging = true
		case d.seen.holds == x || d.seen.tried != x:
			return nil // it answers, or was not tried yet
		}
	}
	if first == nil || hanging && !whole {
		return nil
	}
	why := code(first)
	e := &monitor.OpenError{What: "no GPU answers: " + why.Error(), Code: name(why), Hint: monitor.HintDriver}
	switch {
	case isLost(first):
		e.Hint = monitor.HintLost
	case unknown == n && host.Container(s.opts.Root):
		return s.cutOff(e)
	case why == nvml.ErrDriverNotLoaded:
		e.Cause = monitor.CauseNoDriver
	case why == nvml.ErrLibRMVersionMismatch:
		return s.mismatch(e)
	}
	return e
}
