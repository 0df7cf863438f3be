package screen

import (
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

const (
	detailWidth = 100 // of a panel of details at most
	detailLabel = 11  // of its labels
)

// drawGPUDetails draws everything that is known of a GPU or instance, and why
// the rest is not.
func (s *Screen) drawGPUDetails(g, parent *monitor.GPU) {
	title := s.side.reset()
	title.text(s.pal.bold, " ")
	if g != parent {
		title.text(s.pal.bold, "GPU ")
		number(title, s.pal.bold, parent, g, 0)
		title.text(s.pal.bold, "  ").text(s.pal.bold, g.Profile)
	} else {
		called(title, s.pal.bold, g)
	}
	if g.Name.Known() {
		title.pad(2).text(s.pal.bold, g.Name.Value)
	}
	title.text(s.pal.bold, " ")
	s.v.DetailScroll = s.showPanel(detailWidth, detailLabel, s.v.DetailScroll, string(title.b), "Esc close", func(p *panel) {
		s.writeIdentity(p, g)
		s.writeState(p, g)
		if g.Integrated {
			s.writeModule(p)
		}
		if measured(g) {
			s.writeLoads(p, g)
			s.writeClocks(p, g)
			s.writeLinks(p, g)
			s.writeErrors(p, g)
		}
		s.writeInstances(p, g)
		s.writeXIDs(p, g)
		s.writeProcessCount(p, g)
		if measured(g) {
			s.writeUnknown(p, g)
		}
	})
}

func (s *Screen) writeIdentity(p *panel, g *monitor.GPU) {
	l := s.line.reset()
	s.word(l, "", g.UUID)
	s.word(l.pad(3), "", g.PCIBusID)
	s.put(p, "identity", l)
	l = s.line.reset()
	s.word(l, "serial ", g.Serial)
	s.measure(l.pad(3).text(s.pal.dim, "device node "), g, monitor.Minor)
	s.word(l.pad(3), "architecture ", g.Architecture)
	if g.Integrated {
		l.pad(3).text(s.pal.plain, "integrated")
	}
	s.put(p, "", l)
	if g.Profile != "" {
		l = s.line.reset().text(s.pal.plain, g.Profile).text(s.pal.dim, "   GPU instance ").int(s.pal.plain, int64(g.GPUInstanceID), 0)
		l.text(s.pal.dim, "   compute instance ").int(s.pal.plain, int64(g.ComputeInstanceID), 0).text(s.pal.dim, "   of ").text(s.pal.plain, g.ParentUUID)
		s.put(p, "instance", l)
	}
	l = s.line.reset()
	for i, source := range g.Sources {
		if i > 0 {
			l.text(s.pal.plain, ", ")
		}
		l.text(s.pal.plain, source)
	}
	if g.DriverModel != "" {
		l.text(s.pal.dim, "   driver model ").text(s.pal.plain, g.DriverModel)
	}
	s.put(p, "read from", l)
}

// word appends a text, or "-".
func (s *Screen) word(l *line, label string, t monitor.Text) {
	l.text(s.pal.dim, label)
	if t.Known() && t.Value != "" {
		l.text(s.pal.plain, t.Value)
	} else {
		l.text(s.pal.plain, "-")
	}
}

func (s *Screen) writeState(p *panel, g *monitor.GPU) {
	l := s.line.reset()
	if g.State == monitor.OK && !s.old(g) {
		l.text(s.pal.plain, "ok")
	} else {
		s.state(l, g)
	}
	if g.Call != "" && g.State == monitor.Stale {
		l.pad(2).text(s.pal.warn, g.Call).text(s.pal.warn, " has not returned for ").duration(s.pal.warn, s.age(g.CallSince))
	}
	if g.StateErr.Function() != "" {
		l.pad(2)
		s.blame(l, g.StateErr)
	}
	s.put(p, "state", l)
	label := "health"
	for i := range g.Health {
		h := &g.Health[i]
		l := s.line.reset().text(s.levelStyle(h.Level), h.Text).pad(2).text(s.pal.dim, h.Level.String())
		s.put(p, label, l)
		label = ""
	}
}

func (s *Screen) writeLoads(p *panel, g *monitor.GPU) {
	s.putReadings(p, "load", g,
		"GPU", monitor.UtilizationPercent, "SM", monitor.SMActivePercent, "occupancy", monitor.SMOccupancyPercent,
		"tensor", monitor.TensorActivePercent, "DRAM", monitor.DRAMActivePercent, "memory controller", monitor.MemoryUtilizationPercent)
	if !nvgpu(g) {
		s.putReadings(p, "engines", g, "encoder", monitor.EncoderPercent, "decoder", monitor.DecoderPercent, "JPEG", monitor.JPEGPercent, "optical flow", monitor.OFAPercent)
	}
	l := s.line.reset()
	if name := memoryName(g); name != "MEM" {
		l.text(s.pal.dim, name).pad(1)
	}
	s.measure(l, g, monitor.MemoryUsedBytes)
	s.measure(l.text(s.pal.dim, " of "), g, monitor.MemoryTotalBytes)
	part, ok := shareOf(g.Readings[monitor.MemoryUsedBytes], g.Readings[monitor.MemoryTotalBytes])
	if ok {
		l.text(s.pal.dim, " (").float(s.pal.plain, part, 0, 0).text(s.pal.dim, "%)")
	}
	if g.MemoryUnified {
		host := s.hostInUse()
		s.gibs(l.text(s.pal.dim, "   host in use "), &host, nil, "")
		s.available(l.text(s.pal.dim, " GiB   "), " GiB + ", " GiB")
	} else {
		s.measure(l.text(s.pal.dim, "   free "), g, monitor.MemoryFreeBytes)
		s.measure(l.text(s.pal.dim, "   reserved "), g, monitor.MemoryReservedBytes)
	}
	s.put(p, "memory", l)
	if g.Adapter != nil {
		l := s.adapter(s.line.reset(), g, "dedicated ", monitor.DedicatedTotal)
		s.put(p, "in Windows", s.adapter(l, g, "   shared ", monitor.SharedTotal))
	}
	s.putReadings(p, "heat", g,
		"GPU", monitor.TemperatureC, "memory", monitor.TemperatureMemoryC, "slows down at", monitor.TemperatureSlowdownC, "margin", monitor.TemperatureMarginC)
	if len(g.Fans) == 0 {
		s.putReadings(p, "fan", g, "", monitor.FanPercent)
	} else {
		l := s.line.reset()
		for i := range g.Fans {
			f := &g.Fans[i]
			if i > 0 {
				l.pad(3)
			}
			s.fan(l, f)
			l.text(s.pal.dim, " wanted ").number(s.pal.plain, f.TargetPercent, 1, 0, 0).text(s.pal.dim, "%")
		}
		s.put(p, "fans", l)
	}
	l = s.line.reset()
	s.measure(l, g, monitor.PowerMW)
	s.measure(l.text(s.pal.dim, " of "), g, monitor.PowerLimitMW)
	s.measure(l.text(s.pal.dim, "   default limit "), g, monitor.PowerLimitDefaultMW)
	s.measure(l.text(s.pal.dim, "   at this moment "), g, monitor.PowerInstantMW)
	s.measure(l.text(s.pal.dim, "   energy "), g, monitor.EnergyJoules)
	s.put(p, "power", l)
}

// adapter appends "shared 0.3 / 31.8 GiB", of which total is the latter.
//
//go:noinline
func (s *Screen) adapter(l *line, g *monitor.GPU, name string, total int) *line {
	return s.gibs(l.text(s.pal.dim, name), &g.Adapter[total+1], &g.Adapter[total], " / ").text(s.pal.dim, " GiB")
}

// fan appends "0: 30% 1200 rpm".
func (s *Screen) fan(l *line, f *monitor.Fan) {
	l.int(s.pal.dim, int64(f.Index), 0).text(s.pal.dim, ": ").number(s.pal.plain, f.Percent, 1, 0, 3).text(s.pal.dim, "% ")
	l.number(s.pal.plain, f.RPM, 1, 0, 4).text(s.pal.dim, " rpm")
}

func (s *Screen) writeClocks(p *panel, g *monitor.GPU) {
	l := s.line.reset().text(s.pal.dim, "graphics ").number(s.pal.plain, g.Readings[monitor.ClockGraphicsMHz], 1, 0, 0)
	l.text(s.pal.dim, " of ").number(s.pal.plain, g.Readings[monitor.ClockGraphicsMaxMHz], 1, 0, 0)
	l.text(s.pal.dim, "   memory ").number(s.pal.plain, g.Readings[monitor.ClockMemoryMHz], 1, 0, 0)
	l.text(s.pal.dim, " of ").number(s.pal.plain, g.Readings[monitor.ClockMemoryMaxMHz], 1, 0, 0)
	l.text(s.pal.dim, "   SM ").number(s.pal.plain, g.Readings[monitor.ClockSMMHz], 1, 0, 0)
	l.text(s.pal.dim, "   video ").number(s.pal.plain, g.Readings[monitor.ClockVideoMHz], 1, 0, 0).text(s.pal.dim, " MHz")
	s.put(p, "clocks", l)
	s.putReadings(p, "held down", g, "by", monitor.ThrottleReasons)
	l = s.pstate(s.line.reset().text(s.pal.dim, "P-state "), g)
	s.measure(l.text(s.pal.dim, "   persistence "), g, monitor.PersistenceMode)
	s.measure(l.text(s.pal.dim, "   compute "), g, monitor.ComputeMode)
	s.measure(l.text(s.pal.dim, "   MIG "), g, monitor.MIGEnabled)
	s.put(p, "modes", l)
}

func (s *Screen) writeLinks(p *panel, g *monitor.GPU) {
	whole := func(l *line, id monitor.ReadingID) { l.number(s.pal.plain, g.Readings[id], 1, 0, 0) }
	l := s.line.reset()
	if !g.Integrated {
		whole(l.text(s.pal.dim, "gen "), monitor.PCIeGeneration)
		whole(l.text(s.pal.dim, " of "), monitor.PCIeGenerationMax)
		whole(l.text(s.pal.dim, "  x"), monitor.PCIeWidth)
		whole(l.text(s.pal.dim, " of x"), monitor.PCIeWidthMax)
		s.rates(l.pad(3), g, monitor.PCIeRxBytesPerSecond, monitor.PCIeTxBytesPerSecond)
		whole(l.text(s.pal.dim, "   replays "), monitor.PCIeReplays)
		s.put(p, "PCIe", l)
		l.reset()
	}
	whole(l, monitor.NVLinkLinksActive)
	s.rates(l.text(s.pal.dim, " links up   "), g, monitor.NVLinkRxBytesPerSecond, monitor.NVLinkTxBytesPerSecond)
	s.measure(l.text(s.pal.dim, "   fabric "), g, monitor.FabricState)
	s.put(p, "NVLink", l)
	for _, id := range []monitor.ReadingID{monitor.NVLinkErrors, monitor.NVLinkReplays, monitor.NVLinkRecoveries} {
		if n, _ := g.Readings[id].Int(); n > 0 {
			s.putReadings(p, "", g,
				"broken packets", monitor.NVLinkErrors, "replays", monitor.NVLinkReplays, "recoveries", monitor.NVLinkRecoveries)
			break
		}
	}
}

// rates appends "→ 40.99  ← 20.49 GB/s".
func (s *Screen) rates(l *line, g *monitor.GPU, rx, tx monitor.ReadingID) {
	l.text(s.pal.dim, "→ ").number(s.pal.plain, g.Readings[rx], 1e-9, 2, 0)
	l.text(s.pal.dim, "  ← ").number(s.pal.plain, g.Readings[tx], 1e-9, 2, 0).text(s.pal.dim, " GB/s")
}

func (s *Screen) writeErrors(p *panel, g *monitor.GPU) {
	l := s.line.reset()
	s.measure(l, g, monitor.ECCEnabled)
	s.measure(l.text(s.pal.dim, "   uncorrected "), g, monitor.ECCUncorrectedVolatile)
	s.measure(l.text(s.pal.dim, " / "), g, monitor.ECCUncorrectedAggregate)
	s.measure(l.text(s.pal.dim, "   corrected "), g, monitor.ECCCorrectedVolatile)
	s.measure(l.text(s.pal.dim, " / "), g, monitor.ECCCorrectedAggregate)
	s.put(p, "ECC", l.text(s.pal.dim, " (now / ever)"))
	s.putReadings(p, "repairs", g,
		"remapped rows", monitor.RowsRemapped, "pending", monitor.RowsRemapPending, "failed", monitor.RowsRemapFailed,
		"retired pages", monitor.RetiredPages, "pending", monitor.RetiredPagesPending, "recovery", monitor.RecoveryAction)
}

func (s *Screen) writeInstances(p *panel, g *monitor.GPU) {
	label := "instances"
	for i := range g.MIG {
		m := &g.MIG[i]
		l := s.line.reset()
		number(l, s.pal.bold, g, m, 0)
		l.pad(2).text(s.pal.plain, m.Profile).text(s.pal.dim, "   SM ")
		s.measure(l, m, monitor.SMActivePercent)
		s.measure(l.text(s.pal.dim, "   "), m, monitor.MemoryUsedBytes)
		s.measure(l.text(s.pal.dim, " of "), m, monitor.MemoryTotalBytes)
		s.put(p, label, l)
		label = ""
	}
	if len(g.MIG) > 0 {
		s.put(p, "", s.line.reset().text(s.pal.dim, "NVML gives no utilization under MIG; SM is GPM activity, where the chip has it"))
	}
}

func (s *Screen) writeXIDs(p *panel, g *monitor.GPU) {
	label := "Xid"
	if len(g.XIDs) == 0 && g.XIDsStatus.Reason == monitor.Known {
		s.put(p, label, s.line.reset().text(s.pal.plain, "none seen"))
	}
	for i := len(g.XIDs) - 1; i >= 0; i-- {
		x := &g.XIDs[i]
		l := s.line.reset().int(s.pal.plain, int64(x.Code), 3).pad(2)
		s.clock(l, s.pal.plain, x.Time)
		if l.pad(2); x.Source == "kernel_log" {
			l.text(s.pal.dim, "kernel log")
		} else {
			l.text(s.pal.dim, x.Source)
		}
		if x.GPUInstanceID != monitor.None {
			l.text(s.pal.dim, "   GPU instance ").int(s.pal.plain, int64(x.GPUInstanceID), 0)
		}
		s.put(p, label, l)
		label = ""
	}
}

// clock appends a time of day, with its date where that is not the day shown.
func (s *Screen) clock(l *line, st ansi.Style, ns int64) {
	t := time.Unix(0, ns).In(s.v.Now.Location())
	format := "15:04:05"
	if y, d := t.Year(), t.YearDay(); y != s.v.Now.Year() || d != s.v.Now.YearDay() {
		format = "2006-01-02 15:04:05"
	}
	start := len(l.b)
	l.b = t.AppendFormat(l.b, format)
	l.done(st, len(l.b)-start)
}

func (s *Screen) writeProcessCount(p *panel, g *monitor.GPU) {
	l := s.line.reset()
	if why := unread(g); why != monitor.Known {
		l.text(s.pal.plain, "- ").text(s.pal.dim, reason(why)).pad(1)
		s.blame(l, g.ProcStatus.Err)
	} else {
		l.int(s.pal.plain, int64(len(g.Processes)), 0)
		if len(g.MIG) > 0 {
			l.text(s.pal.dim, " outside of the instances")
		}
	}
	s.put(p, "processes", l)
}

// writeUnknown says of everything that is not known why.
func (s *Screen) writeUnknown(p *panel, g *monitor.GPU) {
	begun := false
	row := func(name string, why monitor.Reason, err monitor.CallError) {
		if !begun {
			p.blank()
			s.put(p, "", s.line.reset().text(s.pal.dim, "What is unknown, and why:"))
			begun = true
		}
		l := s.line.reset().text(s.pal.plain, name).text(s.pal.dim, ": ").text(s.pal.dim, reason(why)).pad(1)
		s.blame(l, err)
		s.put(p, "", l)
	}
	for id := range monitor.NumReadings {
		if r := g.Readings[id]; !r.Known() && !(g.Integrated && id >= monitor.PCIeGeneration && id <= monitor.PCIeReplays) {
			row(id.Info().Label, r.Reason, r.Err)
		}
	}
	pl := &s.snap.Platform
	for i := range pl.Parts {
		r := &pl.Parts[i]
		if known, _ := told(r); !known && g.Integrated {
			row(r.Name, r.Readings[0].Reason, r.Readings[0].Err)
		}
	}
	if g.Integrated && len(pl.Parts) > 0 && !pl.EMCMHz.Known() {
		row("EMC", pl.EMCMHz.Reason, pl.EMCMHz.Err)
	}
	for _, t := range []struct {
		name string
		text *monitor.Text
	}{{"name", &g.Name}, {"UUID", &g.UUID}, {"bus id", &g.PCIBusID}, {"serial", &g.Serial}, {"architecture", &g.Architecture}} {
		if !t.text.Known() {
			row(t.name, t.text.Reason, t.text.Err)
		}
	}
	for _, l := range []struct {
		name string
		st   *monitor.Status
	}{{"each fan", &g.FansStatus}, {"MIG instances", &g.MIGStatus}, {"Xid", &g.XIDsStatus}} {
		if l.st.Reason != monitor.Known {
			row(l.name, l.st.Reason, l.st.Err)
		}
	}
}

// blame appends "(nvmlDeviceGetFanSpeed_v2: NVML_ERROR_NOT_SUPPORTED, 3)".
func (s *Screen) blame(l *line, err monitor.CallError) {
	if err.Function() == "" {
		return
	}
	l.text(s.pal.dim, "(").text(s.pal.dim, err.Function())
	if err.Name() != "" {
		l.text(s.pal.dim, ": ").text(s.pal.dim, err.Name()).text(s.pal.dim, ", ").int(s.pal.dim, int64(err.Code()), 0)
	}
	l.text(s.pal.dim, ")")
}

// putReadings adds a row of readings, each behind its label.
func (s *Screen) putReadings(p *panel, label string, g *monitor.GPU, pairs ...any) {
	l := s.line.reset()
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			l.pad(3)
		}
		if name := pairs[i].(string); name != "" {
			l.text(s.pal.dim, name).pad(1)
		}
		s.measure(l, g, pairs[i+1].(monitor.ReadingID))
	}
	s.put(p, label, l)
}

// measure appends a reading with its unit, or "-".
func (s *Screen) measure(l *line, g *monitor.GPU, id monitor.ReadingID) {
	r := g.Readings[id]
	v, ok := r.Float()
	if !ok {
		l.text(s.pal.plain, "-")
		return
	}
	st := s.pal.plain
	if s.old(g) {
		st = s.pal.dim
	}
	info := id.Info()
	switch info.Kind {
	case monitor.Flag:
		words := [2]string{"off", "on"}
		switch id {
		case monitor.RetiredPagesPending, monitor.RowsRemapPending, monitor.RowsRemapFailed:
			words = [2]string{"no", "yes"}
		}
		if v != 0 {
			v = 1
		}
		l.text(st, words[int(v)])
	case monitor.Word:
		l.text(st, id.Word(r))
	case monitor.Mask:
		s.words = id.Words(s.words[:0], r)
		for i, w := range s.words {
			if i > 0 {
				l.text(st, ", ")
			}
			l.text(st, w)
		}
		if len(s.words) == 0 {
			l.text(st, "nothing")
		}
	default:
		s.quantity(l, st, v, info.Unit)
	}
	if r.Provenance != monitor.Measured {
		l.text(s.pal.dim, " (").text(s.pal.dim, r.Provenance.String()).text(s.pal.dim, ")")
	}
}

// quantity appends a number in the unit that people use for it.
func (s *Screen) quantity(l *line, st ansi.Style, v float64, unit string) {
	switch unit {
	case "%":
		l.float(st, v, 0, 0).text(s.pal.dim, "%")
	case "bytes":
		l.float(st, v/gib, 1, 0).text(s.pal.dim, " GiB")
	case "bytes/s":
		l.float(st, v*1e-9, 2, 0).text(s.pal.dim, " GB/s")
	case "mW":
		decimals := 0
		if v < 100e3 {
			decimals = 1
		}
		l.float(st, v*1e-3, decimals, 0).text(s.pal.dim, " W")
	case "J":
		l.float(st, v/3.6e6, 2, 0).text(s.pal.dim, " kWh")
	case "°C":
		l.float(st, v, 0, 0).text(s.pal.dim, s.celsius())
	case "MHz":
		l.float(st, v, 0, 0).text(s.pal.dim, " MHz")
	default:
		l.float(st, v, 0, 0)
	}
}
