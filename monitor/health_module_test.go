package monitor

import "testing"

// TestModuleHealth: what is wrong with a module is told of its integrated GPU alone,
// over-currents only while they go on.
func TestModuleHealth(t *testing.T) {
	module := func(gpu, cpu, oc Reading) *Platform {
		part := func(kind PartKind, name string, r Reading) Part {
			return Part{Kind: kind, Name: name, Readings: [maxPartReadings]Reading{r}}
		}
		return &Platform{Parts: []Part{
			part(Rail, "VIN", OfFloat(1)), part(ThrottleAlert, "gpu-throttle-alert", gpu), part(ThrottleAlert, "cpu-throttle-alert", cpu),
			part(OverCurrent, "oc1", OfInt(0)), part(OverCurrent, "oc3", oc),
		}}
	}
	none := Unknown(NoPermission)
	integrated, card := GPU{State: OK}, GPU{State: OK}
	integrated.Index, integrated.Integrated, card.Index = 0, true, 1
	var tracker HealthTracker
	now := int64(0)
	for i, step := range []struct {
		platform *Platform
		after    int64 // s
		want     string
	}{
		{module(OfInt(0), OfInt(0), OfInt(7)), 1, ""}, // from before the start
		{module(OfInt(1), OfInt(0), OfInt(7)), 1, "SLOWED: too hot: gpu"},
		{module(OfInt(1), OfInt(2), none), 1, "SLOWED: too hot: gpu cpu"},
		{module(none, none, OfInt(9)), 1, "SLOWED: over-current, events rising: oc3 9"},
		{module(OfInt(0), OfInt(0), OfInt(9)), 58, "SLOWED: over-current, events rising: oc3 9"},
		{module(OfInt(0), OfInt(0), OfInt(9)), 3, ""},
		{module(OfInt(0), OfInt(0), OfInt(2)), 1, ""}, // booted anew
		{&Platform{}, 1, ""},
	} {
		now += step.after * 1e9
		tracker.Module(step.platform, now)
		got := ""
		for _, h := range tracker.Assess(&integrated, now) {
			got += h.Text
			if h.Level != Warn {
				t.Errorf("step %d: %+v", i, h)
			}
		}
		if got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if h := tracker.Assess(&card, now); len(h) > 0 {
			t.Errorf("step %d: of a card: %+v", i, h)
		}
	}
}
