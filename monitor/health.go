package monitor

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// loadPercent is the load from which on a GPU's link should be as wide and as
// fast as it can be: an idle one saves power.
const loadPercent = 10

// confirmations is how many refreshes under load must agree about the link.
const confirmations = 3

// burst is for how long errors on NVLinks and over-currents are a warning after
// the last one: they come in bursts.
const burst = int64(time.Minute)

// blameWithin is how long before the loss of a GPU an Xid error may lie that is
// named as its cause, unless it says itself that the GPU is gone.
const blameWithin = int64(time.Minute)

// slowdownMargin is how many °C below its slowdown temperature a GPU is close to it.
const slowdownMargin = 3

// xidMeanings are the Xid errors that are worth a word.
var xidMeanings = map[int]string{
	13:  "fault in a program's kernel",
	31:  "memory access fault of a program",
	43:  "a program's work was stopped",
	45:  "a program's work was removed",
	48:  "double-bit ECC error",
	61:  "internal controller stopped",
	62:  "internal controller halted",
	63:  "memory page or row set aside",
	64:  "memory page or row could not be set aside",
	69:  "fault in a program's graphics or compute class",
	74:  "NVLink error",
	79:  "fell off the bus",
	92:  "many single-bit ECC errors",
	94:  "contained memory error",
	95:  "uncontained memory error",
	119: "GPU system processor does not answer",
	120: "GPU system processor failed",
}

// xidOffTheBus is the Xid of a GPU that fell off the bus.
const xidOffTheBus = 79

// xidLevel tells how much an Xid error matters.
func xidLevel(code int) Level {
	switch code {
	case 48, 64, 79, 95, 119, 120:
		return Critical
	case 13, 31, 43, 45:
		return Info
	}
	return Warn
}

func xidText(code int) string {
	s := "Xid " + strconv.Itoa(code)
	if m := xidMeanings[code]; m != "" {
		s += ", " + m
	}
	return s
}

var recoveryTexts = map[string]string{
	"gpu_reset":       "GPU reset needed",
	"node_reboot":     "reboot needed",
	"drain_p2p":       "end the peer-to-peer traffic",
	"drain_and_reset": "end the work, then reset",
	"recover_imex":    "IMEX needs recovery",
	"bus_reset":       "bus reset needed",
	"system_reboot":   "reboot needed",
}

// A HealthTracker assesses GPUs. Its zero value is ready. It remembers what
// takes several refreshes to find out, and belongs to one goroutine at a time.
type HealthTracker struct {
	gpus    map[string]*assessed
	key     []byte
	scratch []Health

	module      []Health         // findings about the module that an integrated GPU is part of
	overCurrent map[string]int64 // by counter
	overAt      int64            // when one was seen to rise last; 0 never
}

// assessed is what is remembered of one GPU.
type assessed struct {
	seen    int64
	refresh int64 // the one last counted
	narrow  int   // refreshes under load with a link below its width
	slow    int   // the same for its generation
	links   linkErrors
	last    []Health
}

// linkErrors are the errors on the NVLinks of one GPU.
type linkErrors struct {
	active int64 // links, when they were counted last
	known  [len(linkErrorIDs)]bool
	counts [len(linkErrorIDs)]int64
	rose   [len(linkErrorIDs)]int64 // when they were seen to rise last; 0 never
}

var (
	linkErrorIDs   = [...]ReadingID{NVLinkErrors, NVLinkReplays, NVLinkRecoveries}
	linkErrorWords = [...]string{"broken packets", "replays", "recoveries"}
)

// Assess returns the findings about g at the time now (on the clock of
// Reading.At), the worst first; nil when nothing is wrong. What it returns may
// be shared by the next call for the same GPU and must not be altered.
func (t *HealthTracker) Assess(g *GPU, now int64) []Health {
	a := t.of(g, now)
	found := t.scratch[:0]
	found = appendState(found, g, now)
	if g.State == OK || g.State == Stale {
		if g.State == OK {
			a.count(g, now)
		}
		found = appendMeasured(found, g)
		if a.narrow >= confirmations {
			width, _ := g.Readings[PCIeWidth].Int()
			limit, _ := g.Readings[PCIeWidthMax].Int()
			found = append(found, Health{"pcie_width", "PCIe x" + strconv.FormatInt(width, 10) + " of x" + strconv.FormatInt(limit, 10), Warn})
		}
		if a.slow >= confirmations {
			gen, _ := g.Readings[PCIeGeneration].Int()
			limit, _ := g.Readings[PCIeGenerationMax].Int()
			found = append(found, Health{"pcie_generation", "PCIe gen " + strconv.FormatInt(gen, 10) + " of " + strconv.FormatInt(limit, 10), Info})
		}
		found = a.links.append(found, now)
		if g.Integrated {
			found = append(found, t.module...)
		}
	}
	found = appendXIDs(found, g.XIDs)
	t.scratch = found
	if len(found) == 0 {
		a.last = nil
		return nil
	}
	for i := range found { // the worst first
		for j := i; j > 0 && found[j].Level > found[j-1].Level; j-- {
			found[j], found[j-1] = found[j-1], found[j]
		}
	}
	if !slices.Equal(found, a.last) {
		a.last = slices.Clone(found)
	}
	return a.last
}

// Module looks at the module that integrated GPUs are part of, before they are
// assessed.
func (t *HealthTracker) Module(p *Platform, now int64) {
	t.module = t.module[:0]
	slowed, flowed := "", ""
	for i := range p.Parts {
		part := &p.Parts[i]
		n, ok := part.Readings[0].Int()
		switch {
		case !ok:
		case part.Kind == ThrottleAlert && n > 0:
			slowed += " " + strings.TrimSuffix(part.Name, AlertSuffix)
		case part.Kind == OverCurrent:
			if before, known := t.overCurrent[part.Name]; known && n > before {
				t.overAt = max(now, 1)
			}
			if t.overCurrent == nil {
				t.overCurrent = make(map[string]int64)
			}
			t.overCurrent[part.Name] = n
			if n > 0 {
				flowed += " " + part.Name + " " + strconv.FormatInt(n, 10)
			}
		}
	}
	if slowed != "" {
		t.module = append(t.module, Health{"throttle_alert", "SLOWED: too hot:" + slowed, Warn})
	}
	if t.overAt != 0 && now-t.overAt <= burst && flowed != "" {
		t.module = append(t.module, Health{"over_current", "SLOWED: over-current, events rising:" + flowed, Warn})
	}
}

// of returns what is remembered of g.
func (t *HealthTracker) of(g *GPU, now int64) *assessed {
	t.key = appendKey(t.key[:0], g)
	a := t.gpus[string(t.key)]
	if a == nil {
		if t.gpus == nil {
			t.gpus = make(map[string]*assessed)
		}
		if len(t.gpus) >= maxGPUs {
			t.forgetOne()
		}
		a = new(assessed)
		t.gpus[string(t.key)] = a
	}
	a.seen = now
	return a
}

// forgetOne forgets the GPU not assessed for longest.
func (t *HealthTracker) forgetOne() {
	var oldest string
	var found *assessed
	for key, a := range t.gpus {
		if found == nil || a.seen < found.seen {
			oldest, found = key, a
		}
	}
	delete(t.gpus, oldest)
}

// count looks at the link once a refresh.
func (a *assessed) count(g *GPU, now int64) {
	refresh := g.Refreshed
	if refresh == 0 {
		refresh = now
	}
	if refresh == a.refresh {
		return
	}
	a.refresh = refresh
	load, ok := g.Readings[UtilizationPercent].Float()
	if !ok {
		load, ok = g.Readings[SMActivePercent].Float()
	}
	loaded := ok && load >= loadPercent
	below := func(n *int, is, limit ReadingID) {
		v, ok := g.Readings[is].Int()
		m, ok2 := g.Readings[limit].Int()
		switch {
		case !ok || !ok2 || v <= 0 || v >= m || g.Integrated:
			*n = 0
		case loaded && *n < confirmations:
			*n++
		}
	}
	below(&a.narrow, PCIeWidth, PCIeWidthMax)
	below(&a.slow, PCIeGeneration, PCIeGenerationMax)
	a.links.count(g, now)
}

// count notes which counters have risen. With another number of links they are not
// the same counters.
func (l *linkErrors) count(g *GPU, now int64) {
	active, ok := g.Readings[NVLinkLinksActive].Int()
	if !ok {
		return
	}
	if active != l.active {
		l.active, l.known = active, [len(linkErrorIDs)]bool{}
	}
	for i, id := range linkErrorIDs {
		v, ok := g.Readings[id].Int()
		if !ok {
			continue
		}
		if l.known[i] && v > l.counts[i] {
			l.rose[i] = max(now, 1)
		}
		l.known[i], l.counts[i] = true, v
	}
}

// append appends a finding where a counter has risen not long ago.
func (l *linkErrors) append(found []Health, now int64) []Health {
	text := ""
	for i, at := range l.rose {
		if at == 0 || now-at > burst {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += strconv.FormatInt(l.counts[i], 10) + " " + linkErrorWords[i]
	}
	if text == "" {
		return found
	}
	return append(found, Health{"nvlink_errors", "NVLink errors rising: " + text, Warn})
}

// appendState appends what the state of g says.
func appendState(found []Health, g *GPU, now int64) []Health {
	switch g.State {
	case Lost:
		if g.StateErr.Name() == "NVML_ERROR_RESET_REQUIRED" {
			return append(found, Health{"reset_required", "lost: reset required", Critical})
		}
		text := "lost: does not answer any more; reset or reboot"
		for _, x := range slices.Backward(g.XIDs) {
			if x.Code == xidOffTheBus || xidLevel(x.Code) == Critical && x.Time >= g.StateSince-blameWithin {
				text = "lost: " + xidText(x.Code) + "; reset or reboot"
				break
			}
		}
		return append(found, Health{"gpu_lost", text, Critical})
	case Stale:
		text, since := "no answer", g.Refreshed
		if g.Call != "" {
			text, since = g.Call+" has not returned", g.CallSince
		}
		if since > 0 && since < now {
			text += " for " + strconv.FormatInt((now-since)/int64(time.Second), 10) + " s"
		}
		return append(found, Health{"no_answer", text, Critical})
	}
	if g.StateErr.Name() == "NVML_ERROR_LIB_RM_VERSION_MISMATCH" {
		return append(found, Health{"version_mismatch", "driver and its library differ in version; reload the driver or reboot", Critical})
	}
	return found
}

// appendMeasured appends what the readings of g say by themselves.
func appendMeasured(found []Health, g *GPU) []Health {
	is := func(id ReadingID) bool {
		v, ok := g.Readings[id].Flag()
		return ok && v
	}
	add := func(code, text string, level Level) { found = append(found, Health{code, text, level}) }

	if v, ok := g.Readings[RecoveryAction].Bits(); ok && v != 0 {
		word := RecoveryAction.WordOf(v)
		text := recoveryTexts[word]
		if text == "" {
			text = word
		}
		add("recovery_action", "recovery: "+text, Critical)
	}
	if n, ok := g.Readings[ECCUncorrectedVolatile].Int(); ok && n > 0 {
		add("ecc_uncorrected", "uncorrected ECC errors: "+strconv.FormatInt(n, 10), Critical)
	}
	if is(RowsRemapFailed) {
		add("remap_failed", "row remapping failed", Critical)
	}
	if v, ok := g.Readings[ThrottleReasons].Bits(); ok {
		hot := v&(ThrottleSWThermal|ThrottleHWThermal) != 0
		if hot {
			add("throttle_thermal", "SLOWED: too hot", Warn)
		}
		// The plain hardware bit comes along with the two that say why.
		if v&ThrottleHWPowerBrake != 0 || v&ThrottleHWSlowdown != 0 && !hot {
			add("throttle_brake", "SLOWED: hw brake", Warn)
		}
		if v&ThrottleSWPowerCap != 0 {
			add("throttle_power", "SLOWED: power cap", Info)
		}
	}
	if limit, near := nearSlowdown(g); near {
		text := "hot: close to slowing down"
		if limit > 0 {
			text = "hot: slows down at " + strconv.FormatInt(limit, 10) + "°C"
		}
		add("temperature", text, Warn)
	}
	if is(ECCPending) {
		text := "ECC on pending; reset to apply"
		if is(ECCEnabled) {
			text = "ECC off pending; reset to apply"
		}
		add("ecc_pending", text, Warn)
	}
	if is(RetiredPagesPending) {
		add("retired_pending", "page retirement pending; reset to apply", Warn)
	}
	if is(RowsRemapPending) {
		add("remap_pending", "row remap pending; reset to apply", Warn)
	}
	if v, ok := g.Readings[FabricState].Bits(); ok {
		switch word := FabricState.WordOf(v); word {
		case "not_supported", "completed":
		case "not_started":
			add("fabric", "fabric not started; is the fabric manager running?", Warn)
		case "in_progress":
			add("fabric", "fabric not ready yet; is the fabric manager running?", Warn)
		default:
			add("fabric", "fabric: "+word, Warn)
		}
	}
	if v, ok := g.Readings[PersistenceMode].Flag(); ok && !v {
		add("persistence_off", "persistence off", Info)
	}
	return found
}

// nearSlowdown reports whether g is close to its slowdown
// temperature, and that temperature, 0 where only the margin is known.
func nearSlowdown(g *GPU) (limit int64, near bool) {
	temperature, ok := g.Readings[TemperatureC].Float()
	if !ok {
		return 0, false
	}
	if v, ok := g.Readings[TemperatureSlowdownC].Float(); ok && v > 0 {
		limit, _ = g.Readings[TemperatureSlowdownC].Int()
		return limit, temperature >= v-slowdownMargin
	}
	margin, ok := g.Readings[TemperatureMarginC].Float()
	return 0, ok && margin <= slowdownMargin
}

// appendXIDs appends a finding for each Xid error seen, however often.
func appendXIDs(found []Health, xids []XID) []Health {
	for i, x := range xids {
		if slices.ContainsFunc(xids[:i], func(y XID) bool { return y.Code == x.Code }) {
			continue
		}
		n := 0
		for _, y := range xids[i:] {
			if y.Code == x.Code {
				n++
			}
		}
		text := xidText(x.Code)
		if n > 1 {
			text += " (" + strconv.Itoa(n) + " times)"
		}
		found = append(found, Health{"xid", text, xidLevel(x.Code)})
	}
	return found
}
