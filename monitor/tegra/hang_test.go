package tegra

import (
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// TestASensorHangs: a call for the module never takes much longer than half a
// second; what cannot be read within two is unknown, and is known again once the
// sensor answers.
func TestASensorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewModule(host.Open(fixture.Machine(t, "orin-agx-jetpack6")))
		// measured counts what is known of what can be, after a call that takes at most a
		// while.
		measured := func(longest time.Duration) (known, late int) {
			t.Helper()
			begin := time.Now()
			p := m.Platform()
			if took := time.Since(begin); took > longest {
				t.Errorf("a call took %v", took)
			}
			all := []monitor.Reading{p.EMCMHz, p.EMCPercent}
			each(&p, func(r *monitor.Reading) { all = append(all, *r) })
			for _, r := range all {
				if r.Known() {
					known++
				}
				if r.Reason == monitor.Timeout {
					late++
				}
			}
			if p.Kind != host.Jetson || p.PowerMode.Value != "MODE_30W" || p.Governor.Value != "nvhost_podgov" {
				t.Errorf("what is not measured is lost: %+v", p)
			}
			return known, late
		}
		before, late := measured(0)
		if before < 30 || late > 0 {
			t.Fatalf("%d are known, %d late", before, late)
		}

		// A file whose reading does not end: reading begins, and goes on when it is told to.
		hang := func() (goOn chan struct{}) {
			goOn = make(chan struct{})
			m.mu.Lock()
			done := make(chan struct{})
			m.busy, m.began, m.vainly = done, time.Now(), false
			m.mu.Unlock()
			go func() {
				<-goOn
				m.read(done)
			}()
			return goOn
		}
		time.Sleep(time.Second)
		goOn := hang()
		for i := range 3 { // of which the first waits half a second
			longest := time.Duration(0)
			if i == 0 {
				longest = waitFor
			}
			if known, late := measured(longest); known != before || late > 0 {
				t.Errorf("call %d: %d are known, %d late", i, known, late)
			}
			time.Sleep(400 * time.Millisecond)
		}
		kept := m.Platform()
		for range 5 {
			time.Sleep(time.Second)
			if known, late := measured(0); known > 0 || late < before {
				t.Errorf("%d are known, %d late", known, late)
			}
		}
		each(&kept, func(r *monitor.Reading) {
			if r.Reason == monitor.Timeout {
				t.Error("a snapshot changed that somebody has")
			}
		})
		close(goOn)
		synctest.Wait()
		if known, late := measured(waitFor); known != before || late > 0 {
			t.Errorf("afterwards %d are known, %d late", known, late)
		}

		// One that answers while it is waited for comes with the same call.
		time.Sleep(time.Second)
		goOn = hang()
		go func() {
			time.Sleep(waitFor / 2)
			close(goOn)
		}()
		if known, _ := measured(waitFor / 2); known != before {
			t.Errorf("%d are known", known)
		}
		if age := time.Since(m.start) - time.Duration(at(m)-m.start.UnixNano()); age != 0 {
			t.Errorf("read %v ago", age)
		}
	})
}

// at is when the readings that a module has were read.
func at(m *Module) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last.EMCMHz.At
}
