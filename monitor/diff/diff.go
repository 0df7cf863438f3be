// Package diff tells what differs between two snapshots, as text for people and
// as JSON for programs.
package diff

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// Schema is the word that tells what the keys of the JSON mean.
const Schema = "nvtop-lite-diff/1"

// Refused is the error of snapshots that are not of the same GPUs.
type Refused struct{ why string }

// Error is one line that says why, and names the UUIDs.
func (r *Refused) Error() string { return r.why }

// boots says whether the machine was booted between the two.
type boots uint8

const (
	bootUnknown boots = iota
	sameBoot
	otherBoot
)

// Diff is what differs between two snapshots.
type Diff struct {
	old, new               *monitor.Snapshot
	elapsed                time.Duration // negative where the new snapshot is the older one
	boots                  boots
	bootWhy                string // why boots is unknown
	starts                 bool   // starts of processes tell them apart without a boot id
	host, driver, platform []change
	gpus                   []*gpu
}

// Compare returns what differs between two snapshots, which must not change any
// more. GPUs are paired by UUID, but for the integrated one of a module that has
// none: it is that of the host of this name. The error is a *Refused: where the
// sets of UUIDs differ, a UUID is unknown or stands twice, or there is no GPU at
// all.
func Compare(old, new *monitor.Snapshot) (*Diff, error) {
	partners, err := pairGPUs(old, new)
	if err != nil {
		return nil, err
	}
	d := &Diff{old: old, new: new, elapsed: new.Time.Sub(old.Time)}
	if old.Steady != 0 && new.Steady != 0 {
		d.elapsed = time.Duration(new.Steady - old.Steady)
	}
	a, b := &old.Host.BootID, &new.Host.BootID
	switch {
	case !a.Known():
		d.bootWhy = a.Reason.String()
	case !b.Known():
		d.bootWhy = b.Reason.String()
	case a.Value == b.Value:
		d.boots = sameBoot
	default:
		d.boots = otherBoot
	}
	// Windows gives a boot no identity, and the starts of processes as a time.
	d.starts = d.boots == sameBoot || old.Host.OS == "windows" && new.Host.OS == "windows"
	d.host = hostChanges(&old.Host, &new.Host)
	d.driver = driverChanges(&old.Driver, &new.Driver)
	d.platform = platformChanges(&old.Platform, &new.Platform)
	for i := range new.GPUs {
		g := &new.GPUs[i]
		d.gpus = append(d.gpus, d.gpu(partners[i], g, partners[i], g))
	}
	return d, nil
}

// known reports whether t holds a text.
func known(t *monitor.Text) bool { return t.Known() && t.Value != "" }

// pairGPUs returns the old GPU for each of the new ones.
func pairGPUs(old, new *monitor.Snapshot) ([]*monitor.GPU, error) {
	if len(old.GPUs) == 0 && len(new.GPUs) == 0 {
		why := "no GPU in either snapshot, so that there is nothing to compare"
		for _, s := range [...]*monitor.Snapshot{old, new} {
			if s.Waiting != "" {
				return nil, &Refused{why + ": " + ansi.Clean(s.Waiting)}
			}
		}
		return nil, &Refused{why}
	}
	sides := [2]map[string]*monitor.GPU{{}, {}}
	for side, s := range [...]*monitor.Snapshot{old, new} {
		name := [...]string{"old", "new"}[side]
		for i := range s.GPUs {
			g := &s.GPUs[i]
			why, id := "", identity(s, g)
			switch {
			case !known(&id):
				why = fmt.Sprintf("the UUID of GPU %s in the %s snapshot is unknown", label(g, g), name)
				if !g.UUID.Known() {
					why += " (" + words(g.UUID.Reason.String()) + ")"
				}
			case sides[side][id.Value] != nil:
				why = fmt.Sprintf("two GPUs in the %s snapshot have the UUID %s", name, ansi.Clean(id.Value))
			}
			if why != "" {
				return nil, &Refused{fmt.Sprintf("%s, and GPUs are paired by UUID; old: %s; new: %s", why, uuids(old, nil), uuids(new, nil))}
			}
			sides[side][id.Value] = g
		}
	}
	partners := make([]*monitor.GPU, len(new.GPUs))
	both := 0
	for i := range new.GPUs {
		if partners[i] = sides[0][identity(new, &new.GPUs[i]).Value]; partners[i] != nil {
			both++
		}
	}
	if both == len(old.GPUs) && both == len(new.GPUs) {
		return partners, nil
	}
	why := fmt.Sprintf("the GPUs are not the same; only in old: %s; only in new: %s", uuids(old, sides[1]), uuids(new, sides[0]))
	if both > 0 {
		why += fmt.Sprintf("; in both: %d", both)
		if numbers := common(old, sides[1]); numbers != "" {
			why += "; -g " + numbers + " chooses those that both have"
		}
	}
	return nil, &Refused{why}
}

// identity is what a GPU is paired by: its UUID. The integrated GPU of a module
// that has none is told by the machine.
func identity(s *monitor.Snapshot, g *monitor.GPU) monitor.Text {
	if host := &s.Host.Hostname; g.Integrated && g.UUID.Reason == monitor.NotSupported && known(host) {
		return monitor.OfText("that of " + host.Value)
	}
	return g.UUID
}

// common lists the numbers of the GPUs of s that are among others, "" where one
// is unknown: a recording is chosen from by the numbers of its first part.
func common(s *monitor.Snapshot, others map[string]*monitor.GPU) string {
	var list []int
	for i := range s.GPUs {
		if g := &s.GPUs[i]; others[identity(s, g).Value] != nil {
			if g.Index < 0 {
				return ""
			}
			list = append(list, g.Index)
		}
	}
	text := ""
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		if text != "" {
			text += ","
		}
		text += strconv.Itoa(list[i])
		if j-i > 2 {
			text += "-" + strconv.Itoa(list[j-1])
		} else {
			j = i + 1
		}
		i = j
	}
	return text
}

// uuids lists the UUIDs of s that are not among others.
func uuids(s *monitor.Snapshot, others map[string]*monitor.GPU) string {
	const most = 3
	var list []string
	more := 0
	for i := range s.GPUs {
		u := identity(s, &s.GPUs[i])
		switch {
		case others[u.Value] != nil:
		case len(list) == most:
			more++
		case known(&u):
			list = append(list, ansi.Clean(u.Value))
		default:
			list = append(list, "unknown")
		}
	}
	switch {
	case len(list) == 0:
		return "none"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), more)
	}
	return strings.Join(list, ", ")
}

// presence says on which side something is.
type presence uint8

const (
	both presence = iota
	appeared
	gone
	oldUnknown // it is in the new one; whether it was in the old one is unknown
	newUnknown // it was in the old one; whether it is in the new one is unknown
)

var presenceWords = [...]string{"both", "appeared", "gone", "old_unknown", "new_unknown"}

// Reasons beyond those of readings.
const (
	counterRestarted = "counter_restarted" // it counts from 0 since then
	newIsOlder       = "new_is_older"      // a counter would count backwards
	startUnknown     = "start_unknown"     // a process of that PID is on either side, and its start is unknown
	noBootID         = "boot_unknown"      // likewise, and a boot id is unknown
	uuidUnknown      = "uuid_unknown"      // an instance has no UUID
)

// gpu is what differs of a GPU or a MIG instance.
type gpu struct {
	old, new                   *monitor.GPU // nil where it is not; one of them is there
	oldFate, newFate           monitor.Reason
	oldState, newState         monitor.State
	label                      string
	presence                   presence
	presenceWhy                string
	settings, counters, loads  []change
	used, free                 change
	attributed, rest           change
	health                     []finding
	xidsAppeared, xidsGone     []monitor.XID
	xids, processList, migList lists
	processes                  []process
	instances                  []*gpu
}

// lists says why a list was not read on either side, Known where it was.
type lists struct{ old, new monitor.Reason }

func (l lists) read() bool { return l.old == monitor.Known && l.new == monitor.Known }

// why returns why nothing can be said of what came and went.
func (l lists) why() string {
	if l.old != monitor.Known {
		return l.old.String()
	}
	return l.new.String()
}

// there returns g on the side where it is, the new one where on both.
func (g *gpu) there() *monitor.GPU {
	if g.new != nil {
		return g.new
	}
	return g.old
}

// fate returns the state of g, which may be an instance of parent, and why
// nothing can be measured, Known where it can.
func fate(g, parent *monitor.GPU) (monitor.State, monitor.Reason) {
	if g == nil {
		return 0, monitor.NotFound
	}
	if why := parent.Unmeasured(); why != monitor.Known {
		return parent.State, why
	}
	return g.State, g.Unmeasured()
}

// label names a GPU, which is its own parent, or an instance in few characters.
func label(g, parent *monitor.GPU) string {
	switch {
	case g != parent && g.GPUInstanceID >= 0:
		return fmt.Sprintf("%s:%d", label(parent, parent), g.GPUInstanceID)
	case parent.Index >= 0:
		return fmt.Sprint(parent.Index)
	}
	return "?"
}

// gpu compares a GPU, or an instance of a GPU. Of an instance one side may be
// nil.
func (d *Diff) gpu(old, new, oldParent, newParent *monitor.GPU) *gpu {
	g := &gpu{old: old, new: new}
	g.oldState, g.oldFate = fate(old, oldParent)
	g.newState, g.newFate = fate(new, newParent)
	switch {
	case old == nil:
		g.presence = appeared
	case new == nil:
		g.presence = gone
	}
	if new != nil {
		g.label = label(new, newParent)
	}
	if old != nil && (new == nil || g.label == "?") {
		g.label = label(old, oldParent)
	}
	g.used = numbers("memory_used_bytes", "used", "bytes", memory(old, monitor.MemoryUsedBytes, g.oldFate), memory(new, monitor.MemoryUsedBytes, g.newFate))
	g.free = numbers("memory_free_bytes", "free", "bytes", memory(old, monitor.MemoryFreeBytes, g.oldFate), memory(new, monitor.MemoryFreeBytes, g.newFate))
	g.attributed = numbers("processes_bytes", "processes", "bytes", attributed(old, g.oldFate), attributed(new, g.newFate))
	g.rest = numbers("unattributed_bytes", "unattributed", "bytes", unattributed(old, g.oldFate), unattributed(new, g.newFate))
	g.xids.old, g.xids.new = listed(old, g.oldFate, xidList), listed(new, g.newFate, xidList)
	g.processList.old, g.processList.new = listed(old, g.oldFate, processList), listed(new, g.newFate, processList)
	g.migList.old, g.migList.new = listed(old, g.oldFate, migList), listed(new, g.newFate, migList)
	if old != nil && new != nil {
		d.readings(g)
		g.health = findings(g)
		if g.xids.read() {
			g.xidsAppeared, g.xidsGone = pairXIDs(old.XIDs, new.XIDs)
		}
		d.instances(g)
	}
	d.processes(g)
	return g
}

// differs reports whether anything of the GPU, its instances included, differs
// or cannot be told.
func (g *gpu) differs() bool {
	for _, in := range g.instances {
		if in.differs() {
			return true
		}
	}
	return g.itself()
}

// itself is differs without the instances.
func (g *gpu) itself() bool {
	if g.presence != both || g.oldState != g.newState || g.oldFate != g.newFate || g.old.StateReason != g.new.StateReason ||
		len(g.settings)+len(g.counters)+len(g.loads)+len(g.health)+len(g.xidsAppeared)+len(g.xidsGone) > 0 ||
		g.used.differs() || g.free.differs() || g.attributed.differs() || g.rest.differs() ||
		g.xids.old != g.xids.new || g.processList.old != g.processList.new || g.migList.old != g.migList.new {
		return true
	}
	for i := range g.processes {
		if g.processes[i].differs() {
			return true
		}
	}
	return false
}

// differs reports whether anything differs but the time.
func (d *Diff) differs() bool {
	for _, g := range d.gpus {
		if g.differs() {
			return true
		}
	}
	return len(d.host)+len(d.driver)+len(d.platform) > 0
}

// unsure marks an instance, and what runs on it, as not comparable.
func (g *gpu) unsure(why string) {
	p := oldUnknown
	if g.new == nil {
		p = newUnknown
	}
	g.presence, g.presenceWhy = p, why
	for i := range g.processes {
		q := &g.processes[i]
		q.presence, q.why, q.reused = p, why, false
	}
}

type listOf uint8

const (
	xidList listOf = iota
	processList
	migList
)

// listed returns why a list of g does not count, Known where it does.
func listed(g *monitor.GPU, fate monitor.Reason, which listOf) monitor.Reason {
	switch {
	case g == nil:
		return monitor.Known // what does not exist has nothing
	case which == xidList:
		return g.XIDsStatus.Reason // a lost GPU keeps what was seen
	case which == migList && (len(g.MIG) > 0 || g.Instance()):
		return monitor.Known // a lost GPU keeps their rows; an instance has none
	case fate != monitor.Known:
		return fate
	case which == migList:
		return g.MIGStatus.Reason
	}
	return g.ProcStatus.Reason
}

func memory(g *monitor.GPU, id monitor.ReadingID, fate monitor.Reason) monitor.Reading {
	if g == nil {
		return monitor.Unknown(monitor.NotFound)
	}
	return measured(g, id, fate)
}

// attributed returns the memory of all processes together, those on the
// instances included.
func attributed(g *monitor.GPU, fate monitor.Reason) monitor.Reading {
	if why := listed(g, fate, processList); g == nil || why != monitor.Known {
		return monitor.Unknown(or(why, monitor.NotFound))
	}
	enabled, ok := g.Readings[monitor.MIGEnabled].Flag()
	if why := listed(g, fate, migList); why != monitor.Known && why != monitor.NotSupported && (enabled || !ok) {
		return monitor.Unknown(why) // there may be more on instances
	}
	var sum monitor.Total
	add := func(list []monitor.Process) {
		for i := range list {
			sum.Add(list[i].GPUMemoryBytes)
		}
	}
	add(g.Processes)
	for i := range g.MIG {
		in := &g.MIG[i]
		if why := listed(in, or(fate, in.Unmeasured()), processList); why != monitor.Known {
			return monitor.Unknown(why)
		}
		add(in.Processes)
	}
	return sum.Reading()
}

// or returns the first that is not Known.
func or(a, b monitor.Reason) monitor.Reason {
	if a != monitor.Known {
		return a
	}
	return b
}

// unattributed returns the used memory that no process accounts for. It is
// inferred: the two are not read at the same moment. Less than nothing cannot
// be true.
func unattributed(g *monitor.GPU, fate monitor.Reason) monitor.Reading {
	used, sum := memory(g, monitor.MemoryUsedBytes, fate), attributed(g, fate)
	u, ok := used.Int()
	s, ok2 := sum.Int()
	switch {
	case !ok:
		return monitor.Unknown(used.Reason)
	case !ok2:
		return monitor.Unknown(sum.Reason)
	case used.Provenance != monitor.Measured:
		return monitor.Unknown(monitor.NotSupported) // it may be made of that very sum
	case u < 0 || s < 0 || u < s:
		return monitor.Unknown(monitor.Implausible)
	}
	r := monitor.OfInt(u - s)
	r.Provenance = monitor.Inferred
	return r
}

// instances pairs the MIG instances of a GPU by UUID. While one has none, or
// shares it with another, it may be any of those left over.
func (d *Diff) instances(g *gpu) {
	oldAt, oldSure := byUUID(g.old.MIG)
	newAt, newSure := byUUID(g.new.MIG)
	sure := oldSure && newSure
	alone := func(in *gpu, other monitor.Reason) {
		switch {
		case other != monitor.Known:
			in.unsure(other.String())
		case !sure:
			in.unsure(uuidUnknown)
		}
		g.instances = append(g.instances, in)
	}
	for i := range g.new.MIG {
		in := &g.new.MIG[i]
		if old, ok := oldAt[in.UUID.Value]; ok && newAt[in.UUID.Value] == in {
			g.instances = append(g.instances, d.gpu(old, in, g.old, g.new))
			continue
		}
		alone(d.gpu(nil, in, nil, g.new), g.migList.old)
	}
	for i := range g.old.MIG {
		in := &g.old.MIG[i]
		if newAt[in.UUID.Value] == nil || oldAt[in.UUID.Value] != in {
			alone(d.gpu(in, nil, g.old, nil), g.migList.new)
		}
	}
}

// byUUID finds instances by UUID, and says whether all have one of their own.
func byUUID(list []monitor.GPU) (at map[string]*monitor.GPU, all bool) {
	count := map[string]int{}
	at = map[string]*monitor.GPU{}
	all = true
	for i := range list {
		in := &list[i]
		u := in.UUID.Value
		if count[u]++; !known(&in.UUID) || count[u] > 1 {
			delete(at, u)
			all = false
			continue
		}
		at[u] = in
	}
	return at, all
}
