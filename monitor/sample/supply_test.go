package sample_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/sample"
)

// moving is a scripted source whose devices come and go.
type moving struct {
	scripted
	lock    sync.Mutex
	list    []monitor.Device
	index   map[string]int // the numbers of the devices by now
	state   map[string]monitor.State
	trouble error // of Devices
	opens   int
}

func (m *moving) set(change func()) { m.lock.Lock(); defer m.lock.Unlock(); change() }

func (m *moving) Open() error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.opens++
	return nil
}

func (m *moving) Devices() ([]monitor.Device, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.list, m.trouble
}

func (m *moving) Read(d monitor.Device, _ monitor.Want, sink monitor.Sink) {
	m.lock.Lock()
	state, index := m.state[d.Key], m.index[d.Key]
	m.lock.Unlock()
	sink.Identity(monitor.Identity{Index: index, UUID: monitor.OfText("GPU-" + d.Key), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None})
	sink.State(state, monitor.Known, "", monitor.CallError{})
}

// newMoving is a source with such devices, all well and in their order.
func newMoving(keys ...string) *moving {
	m := &moving{index: map[string]int{}, state: map[string]monitor.State{}}
	for i, k := range keys {
		m.list = append(m.list, monitor.Device{Key: k, Index: i})
		m.index[k], m.state[k] = i, monitor.OK
	}
	return m
}

// rows are the GPUs as "index UUID state".
func rows(s *monitor.Snapshot) string {
	var list []string
	for i := range s.GPUs {
		list = append(list, fmt.Sprint(s.GPUs[i].Index, " ", strings.TrimPrefix(s.GPUs[i].UUID.Value, "GPU-"), " ", s.GPUs[i].State))
	}
	return strings.Join(list, ", ")
}

func shows(want string) func(*monitor.Snapshot) bool {
	return func(s *monitor.Snapshot) bool { return rows(s) == want }
}

var quick = monitor.Request{Interval: 100 * time.Millisecond}

func TestDevicesThatComeAndGo(t *testing.T) {
	t.Parallel()
	m := newMoving("a", "b")
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}}, quick)
	until(t, snaps, "both are there", shows("0 a ok, 1 b ok"))
	m.set(func() {
		m.list = append(m.list, monitor.Device{Key: "c", Index: 0})
		m.index["a"], m.index["b"], m.index["c"], m.state["c"] = 2, 1, 0, monitor.OK
	})
	until(t, snaps, "there are three, in the driver's order", shows("0 c ok, 1 b ok, 2 a ok"))
	m.set(func() { m.state["c"], m.index["b"] = monitor.Lost, 0 })
	until(t, snaps, "the one whose number was taken has none", shows("0 b ok, 2 a ok, -1 c lost"))
	m.set(func() { m.list = m.list[:2] }) // it turned out to be no device of its own
	until(t, snaps, "it is gone", shows("0 b ok, 2 a ok"))
}

// TestTheChoiceIsThatOfTheStart: what comes later was not chosen by its number.
func TestTheChoiceIsThatOfTheStart(t *testing.T) {
	t.Parallel()
	for _, gpus := range []string{"1", "GPU-b"} {
		m := newMoving("a", "bbbb")
		req := quick
		req.GPUs = []string{strings.Replace(gpus, "GPU-b", "GPU-bbbb", 1)}
		snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}}, req)
		until(t, snaps, "the one is there", shows("1 bbbb ok"))
		m.set(func() {
			m.list = append(m.list, monitor.Device{Key: "c", Index: 1})
			m.index["bbbb"], m.index["c"], m.state["c"] = 2, 1, monitor.OK
			m.state["bbbb"] = monitor.Lost // so that it is looked soon
		})
		until(t, snaps, "it has another number", shows("2 bbbb lost"))
		m.set(func() { m.state["bbbb"] = monitor.OK })
		for range 5 {
			until(t, snaps, "it alone is there", shows("2 bbbb ok"))
		}
	}
}

// TestASourceInTrouble is opened anew, after a while; its rows stay.
func TestASourceInTrouble(t *testing.T) {
	t.Parallel()
	m := newMoving("a", "b")
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}}, quick)
	until(t, snaps, "both are there", shows("0 a ok, 1 b ok"))
	m.set(func() {
		m.state["a"], m.state["b"] = monitor.Lost, monitor.Lost
		m.trouble = &monitor.OpenError{Cause: monitor.CauseVersionMismatch, What: "no GPU answers", Hint: "wait"}
	})
	until(t, snaps, "it is said", func(s *monitor.Snapshot) bool {
		return s.Waiting == "no GPU answers" && s.WaitingHint == "wait" && rows(s) == "0 a lost, 1 b lost"
	})
	opened := func(n int) func(*monitor.Snapshot) bool {
		return func(*monitor.Snapshot) bool { m.lock.Lock(); defer m.lock.Unlock(); return m.opens >= n }
	}
	until(t, snaps, "it was opened again", opened(2))
	until(t, snaps, "it was opened once more", opened(3))
	m.set(func() { m.trouble = nil })
	until(t, snaps, "it was opened in vain", opened(3))
	until(t, snaps, "what is wrong is said until a GPU answers", func(s *monitor.Snapshot) bool { return s.Waiting == "no GPU answers" })
	m.set(func() { m.state["a"] = monitor.OK })
	until(t, snaps, "all is well", func(s *monitor.Snapshot) bool { return s.Waiting == "" && rows(s) == "0 a ok, 1 b lost" })
}

// TestOtherDevices: the source is opened anew at once, and nothing is said.
func TestOtherDevices(t *testing.T) {
	t.Parallel()
	m := newMoving("a")
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}}, quick)
	until(t, snaps, "it is there", shows("0 a ok"))
	m.set(func() { m.trouble = &monitor.OpenError{Cause: monitor.CauseChanged, What: "changed"} })
	until(t, snaps, "it was opened again", func(s *monitor.Snapshot) bool {
		if s.Waiting != "" {
			t.Errorf("waiting: %s", s.Waiting)
		}
		m.lock.Lock()
		defer m.lock.Unlock()
		if m.opens < 2 {
			return false
		}
		m.trouble = nil
		return true
	})
	until(t, snaps, "it is there", shows("0 a ok"))
}

// TestAStreamRecovers without ending.
func TestAStreamRecovers(t *testing.T) {
	t.Parallel()
	m := newMoving("a")
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}, Complete: true}, quick)
	until(t, snaps, "it is there", shows("0 a ok"))
	m.set(func() {
		m.state["a"] = monitor.Lost
		m.trouble = &monitor.OpenError{What: "no GPU answers"}
	})
	until(t, snaps, "it was opened again", func(s *monitor.Snapshot) bool {
		m.lock.Lock()
		defer m.lock.Unlock()
		if s.Waiting == "" || m.opens < 2 {
			return false
		}
		m.state["a"], m.trouble = monitor.OK, nil
		m.list = append(m.list, monitor.Device{Key: "b", Index: 1})
		m.index["b"], m.state["b"] = 1, monitor.OK
		return true
	})
	until(t, snaps, "all is well", func(s *monitor.Snapshot) bool { return s.Waiting == "" && rows(s) == "0 a ok, 1 b ok" })
}

// TestAOneShotSaysWhyNoGPUAnswers has the words of the source.
func TestAOneShotSaysWhyNoGPUAnswers(t *testing.T) {
	m := newMoving("a")
	m.state["a"] = monitor.Lost
	const words = "this container has lost its GPUs"
	first := true
	src := &explaining{m, func() error {
		if first {
			first = false
			return nil
		}
		return &monitor.OpenError{What: words}
	}}
	snaps, ended, _ := run(t, sample.Config{Sources: []monitor.Source{src}, Complete: true, Count: 1}, quick)
	if s := until(t, snaps, "there is one", func(*monitor.Snapshot) bool { return true }); s.Waiting != words || len(s.GPUs) != 1 {
		t.Errorf("%q, %s", s.Waiting, rows(s))
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

type explaining struct {
	*moving
	devices func() error
}

func (e *explaining) Devices() ([]monitor.Device, error) { return e.list, e.devices() }

// TestASleeperIsShown with its reason in place of every measurement.
func TestASleeperIsShown(t *testing.T) {
	m := newMoving("a", "b")
	m.state["a"] = monitor.Sleeping
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{m}, Complete: true, Count: 1}, quick)
	s := until(t, snaps, "there is one", shows("0 a asleep, 1 b ok"))
	for id := range monitor.NumReadings {
		if why := s.GPUs[0].Readings[id].Reason; why != monitor.Asleep {
			t.Errorf("%v is %v", id, why)
		}
	}
	if s.Unread() != nil || s.Waiting != "" {
		t.Errorf("%v, %q", s.Unread(), s.Waiting)
	}
}

// TestWhatIsNotReadGrowsOld: a source that leaves a device alone for a while does
// not make it fresh.
func TestWhatIsNotReadGrowsOld(t *testing.T) {
	var mu sync.Mutex
	quiet := false
	src := &scripted{devices: 1, read: func(i int, want monitor.Want, sink monitor.Sink) {
		mu.Lock()
		defer mu.Unlock()
		if !quiet {
			wellBehaved(i, want, sink)
		}
	}}
	snaps, _, _ := run(t, sample.Config{Sources: []monitor.Source{src}}, quick)
	until(t, snaps, "it is well", func(s *monitor.Snapshot) bool { return len(s.GPUs) == 1 && s.GPUs[0].State == monitor.OK })
	mu.Lock()
	quiet = true
	mu.Unlock()
	until(t, snaps, "it is old", func(s *monitor.Snapshot) bool {
		return s.GPUs[0].State == monitor.OK && s.Age(s.GPUs[0].Refreshed) > time.Second
	})
}
