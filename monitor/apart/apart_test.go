package apart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/sample"
)

// TestMain makes the test program its own driver process, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == apart.Argument {
		switch os.Getenv("APART_TEST") {
		case "mute":
			os.Exit(3)
		case "deaf":
			time.Sleep(time.Hour)
		case "words":
			fmt.Fprint(os.Stderr, os.Getenv("APART_WORDS"))
			code, _ := strconv.Atoi(os.Getenv("APART_EXIT"))
			os.Exit(code)
		}
		os.Exit(apart.Serve(build, func(modes, trace []byte) {
			_ = os.WriteFile(string(modes), append([]byte("restored "), trace...), 0o600)
		}))
	}
	if file := os.Getenv("APART_PARENT"); file != "" {
		parent(file)
	}
	os.Exit(m.Run())
}

// parent is a program that draws, until it is killed.
func parent(file string) {
	if file == "deaf" { // then it is a stream whose driver process never reads
		c := apart.Start(apart.Options{Setup: apart.Setup{Request: request(), Complete: true}, Build: build})
		for apart.ChildPID(c) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Println(apart.ChildPID(c))
		select {}
	}
	c := apart.Start(apart.Options{Setup: apart.Setup{Request: request()}, Build: build})
	c.Modes([]byte(file))
	for e := range c.Events() {
		if wellAndThere(e) {
			break
		}
	}
	fmt.Println(apart.ChildPID(c))
	select {}
}

// source has two GPUs, and behaves as the environment says.
type source struct{ n int }

func (*source) Name() string           { return "test" }
func (*source) Driver() monitor.Driver { return monitor.Driver{Version: monitor.OfText("580.1")} }
func (*source) Devices() ([]monitor.Device, error) {
	return []monitor.Device{{Key: "0"}, {Key: "1", Index: 1}}, nil
}
func (*source) LocalPIDs() bool { return false }
func (*source) Close()          {}

func (*source) Open() error {
	switch os.Getenv("APART_TEST") {
	case "nolibrary":
		return &monitor.OpenError{Cause: monitor.CauseNoLibrary, What: "no library", Hint: "install one"}
	case "print":
		fmt.Println("a banner of the driver's library")
	}
	return nil
}

func (s *source) Read(d monitor.Device, _ monitor.Want, sink monitor.Sink) {
	sink.Identity(monitor.Identity{Index: d.Index, UUID: monitor.OfText(fmt.Sprintf("GPU-%d", d.Index)), GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None})
	sink.State(monitor.OK, monitor.Known, "", monitor.CallError{})
	sink.Reading(monitor.UtilizationPercent, monitor.OfFloat(42))
	if marker := os.Getenv("APART_CRASH"); marker != "" && d.Index == 0 {
		if s.n++; s.n == 3 {
			if f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				crash()
			}
		}
	}
}

func build(setup apart.Setup, warnings []monitor.Warning) (*sample.Sampler, error) {
	var src monitor.Source = &source{}
	if setup.Notes {
		setup.Note([]byte("built"))
		src = noted{src, setup.Note}
	}
	return sample.New(sample.Config{
		Sources: []monitor.Source{src}, Label: "live", Warnings: warnings,
		Complete: setup.Complete, Count: setup.Count, Timeout: setup.Timeout,
	}, setup.Request)
}

func request() monitor.Request {
	return monitor.Request{Interval: 100 * time.Millisecond, Want: monitor.Everything}
}

// start starts a client whose driver process has more in its environment.
func start(t *testing.T, setup apart.Setup, env ...string) *apart.Client {
	t.Helper()
	setup.Request = request()
	c := apart.Start(apart.Options{Setup: setup, Build: build, Start: func(_ *string, attr *os.ProcAttr) { attr.Env = append(os.Environ(), env...) }})
	t.Cleanup(c.Close)
	return c
}

func until(t *testing.T, c *apart.Client, what string, ok func(apart.Event) bool) apart.Event {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case e, open := <-c.Events():
			if !open {
				t.Fatalf("the events ended before %s", what)
			}
			if ok(e) {
				return e
			}
		case <-late:
			t.Fatalf("30 s without an event in which %s", what)
		}
	}
}

func wellAndThere(e apart.Event) bool {
	return e.Snapshot != nil && len(e.Snapshot.GPUs) == 2 && e.Snapshot.GPUs[0].State == monitor.OK
}

func TestSnapshotsCross(t *testing.T) {
	e := until(t, start(t, apart.Setup{}), "both GPUs are well", wellAndThere)
	if v, ok := e.Snapshot.GPUs[1].Readings[monitor.UtilizationPercent].Float(); !ok || v != 42 {
		t.Errorf("utilization %v, %v", v, ok)
	}
	if len(e.Snapshot.Warnings) != 0 {
		t.Errorf("warnings: %v", e.Snapshot.Warnings)
	}
}

func TestAStreamLosesNothingAndEnds(t *testing.T) {
	c := start(t, apart.Setup{Complete: true, Count: 5})
	n := 0
	until(t, c, "it is done", func(e apart.Event) bool {
		if e.Snapshot != nil {
			n++
			time.Sleep(150 * time.Millisecond) // slower than the interval
		}
		return e.Done
	})
	if n != 5 {
		t.Errorf("%d snapshots, want 5", n)
	}
}

func TestABannerOfTheLibraryDoesNotDisturb(t *testing.T) {
	until(t, start(t, apart.Setup{}, "APART_TEST=print"), "both GPUs are well", wellAndThere)
}

func TestFailureCrosses(t *testing.T) {
	for _, complete := range []bool{false, true} {
		e := until(t, start(t, apart.Setup{Complete: complete, Count: 1}, "APART_TEST=nolibrary"), "it failed", func(e apart.Event) bool { return e.Failed != nil })
		if e.Failed.Cause != monitor.CauseNoLibrary || e.Failed.What != "no library" || e.Failed.Hint != "install one" {
			t.Errorf("failed with %+v", e.Failed)
		}
	}
}

func TestACrashMakesRowsStaleAndTheDriverProcessComesBack(t *testing.T) {
	c := start(t, apart.Setup{}, "APART_CRASH="+filepath.Join(fixture.TempDir(t), "crashed"))
	until(t, c, "both GPUs are well", wellAndThere)
	e := until(t, c, "the rows are stale", func(e apart.Event) bool {
		return e.Snapshot != nil && len(e.Snapshot.GPUs) == 2 && e.Snapshot.GPUs[0].State == monitor.Stale
	})
	if !strings.Contains(e.Snapshot.Waiting, crashWord) {
		t.Errorf("it says %q, want %q in it", e.Snapshot.Waiting, crashWord)
	}
	if v, ok := e.Snapshot.GPUs[0].Readings[monitor.UtilizationPercent].Float(); !ok || v != 42 || e.Snapshot.GPUs[0].UUID.Value != "GPU-0" {
		t.Error("a stale row lost its identity or its last value")
	}
	until(t, c, "both GPUs are well again", wellAndThere)
}

func TestAStreamWhoseDriverKeepsCrashingFails(t *testing.T) {
	c := start(t, apart.Setup{Complete: true, Count: 1, Timeout: 20 * time.Second}, "APART_TEST=mute")
	e := until(t, c, "something came", func(apart.Event) bool { return true })
	if e.Failed == nil {
		t.Fatalf("got %+v", e)
	}
	if !strings.Contains(e.Failed.What, "driver process ended") {
		t.Errorf("it says %q", e.Failed.What)
	}
}

// TestItSaysWhyTheDriverProcessEnded: in one line, whatever that wrote.
func TestItSaysWhyTheDriverProcessEnded(t *testing.T) {
	const dump = "PC=0x7f m=0 sigcode=18446744073709551610\n\ngoroutine 0 gp=0x81 m=0 mp=0x81 [idle]:\nruntime: g 0 gp=0x81: unknown pc 0x7f\n"
	cases := []struct{ words, exit, want, hint string }{
		{"", "0", "the driver's library ended it (exit status 0)", "nvidia-smi"},
		{"", "3", "exit status 3", "nvidia-smi"},
		{"\n\x1b[31mno\tmemory\x1b]0;x\x07\xff\nmore\n", "3", "[31mno memory]0;x; exit status 3", "nvidia-smi"},
		{"fakecgo: pthread_create failed: 11\nSIGABRT: abort\n" + dump, "2", "pthread_create failed: 11", monitor.HintProcesses},
		{"runtime: failed to create new OS thread (have 5 already; errno=11)\nfatal error: newosproc\n", "2", "failed to create new OS thread (have 5 already; errno=11)", monitor.HintProcesses},
		{"a banner\nSIGSEGV: segmentation violation\n" + dump, "2", "SIGSEGV in the driver's library", "nvidia-smi"},
		{"free(): invalid pointer\nSIGABRT: abort\n" + dump, "2", "free(): invalid pointer; SIGABRT in the driver's library", "nvidia-smi"},
		{strings.Repeat("long ", 1000), "4", strings.Repeat("long ", 1000)[:199] + "…; exit status 4", "nvidia-smi"},
	}
	var all []*apart.Client // at once, since each begins several times
	for _, c := range cases {
		all = append(all, start(t, apart.Setup{Complete: true, Count: 1, Timeout: time.Minute}, "APART_TEST=words", "APART_WORDS="+c.words, "APART_EXIT="+c.exit))
	}
	for i, c := range cases {
		e := until(t, all[i], "something came", func(apart.Event) bool { return true })
		if e.Failed == nil {
			t.Fatalf("got %+v", e)
		}
		if e.Failed.What != "the driver process ended: "+c.want || !strings.Contains(e.Failed.Hint, c.hint) {
			t.Errorf("after %.40q: %q, %q; want %q", c.words, e.Failed.What, e.Failed.Hint, c.want)
		}
	}
}

// TestWithoutThreadsTheProgramDoesNotSampleItself: it would end with a dump.
func TestWithoutThreadsTheProgramDoesNotSampleItself(t *testing.T) {
	c := start(t, apart.Setup{}, "APART_TEST=words", "APART_WORDS=fakecgo: pthread_create failed: 11", "APART_EXIT=2")
	until(t, c, "it begins once more", func(e apart.Event) bool {
		if e.Snapshot != nil && len(e.Snapshot.GPUs) > 0 {
			t.Fatalf("it samples itself: %v", e.Snapshot.Warnings)
		}
		return e.Snapshot != nil && strings.Contains(e.Snapshot.Waiting, "the driver process ended: pthread_create failed: 11; starting it again in 4 s")
	})
}

func TestWithoutADriverProcessTheProgramSamplesItself(t *testing.T) {
	c := apart.Start(apart.Options{Setup: apart.Setup{Request: request()}, Build: build, Start: func(program *string, _ *os.ProcAttr) { *program = filepath.Join(fixture.TempDir(t), "absent") }})
	t.Cleanup(c.Close)
	e := until(t, c, "both GPUs are well", wellAndThere)
	if len(e.Snapshot.Warnings) != 1 || e.Snapshot.Warnings[0].Code != "in_process" {
		t.Errorf("warnings: %v", e.Snapshot.Warnings)
	}
	c.Request(monitor.Request{Interval: 200 * time.Millisecond, Want: monitor.Everything})
	until(t, c, "the new interval is in use", func(e apart.Event) bool {
		return e.Snapshot != nil && e.Snapshot.Interval == 200*time.Millisecond
	})
}

// TestNotesAfterTheEnd: where the program samples itself, a call of the library may
// end after all else.
func TestNotesAfterTheEnd(t *testing.T) {
	var telling sync.WaitGroup
	end := make(chan struct{})
	build := func(setup apart.Setup, warnings []monitor.Warning) (*sample.Sampler, error) {
		for range 4 {
			telling.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
						setup.Note([]byte("a call ended"))
					}
				}
			})
		}
		return build(setup, warnings)
	}
	c := apart.Start(apart.Options{
		Setup: apart.Setup{Request: request(), Complete: true, Count: 1, Notes: true}, Build: build,
		Start: func(program *string, _ *os.ProcAttr) { *program = filepath.Join(fixture.TempDir(t), "absent") },
	})
	t.Cleanup(c.Close)
	snapshots := 0
	for e := range c.Events() { // until it is closed
		if e.Snapshot != nil {
			snapshots++
		}
	}
	close(end) // only now: they told on
	telling.Wait()
	if snapshots != 1 {
		t.Errorf("%d snapshots", snapshots)
	}
}

func TestADriverProcessThatNeverSpeaksIsDoneWithout(t *testing.T) {
	e := until(t, start(t, apart.Setup{}, "APART_TEST=mute"), "both GPUs are well", wellAndThere)
	if len(e.Snapshot.Warnings) != 1 || e.Snapshot.Warnings[0].Code != "in_process" {
		t.Errorf("warnings: %v", e.Snapshot.Warnings)
	}
}

// TestTheTimeoutHoldsForADriverProcessThatStandsStill, before its first word.
func TestTheTimeoutHoldsForADriverProcessThatStandsStill(t *testing.T) {
	c := start(t, apart.Setup{Complete: true, Count: 1, Timeout: 200 * time.Millisecond}, "APART_TEST=deaf")
	e := until(t, c, "it is given up", func(e apart.Event) bool { return e.Failed != nil })
	if e.Failed.What != "the driver process did not answer within 200ms" || e.Failed.Hint != monitor.HintHangs || e.Failed.Cause != monitor.CauseTimeout {
		t.Errorf("%+v", e.Failed)
	}
}

// TestTheTerminalIsRestoredUnlessGoodbyeWasSaid plays the program that draws.
func TestTheTerminalIsRestoredUnlessGoodbyeWasSaid(t *testing.T) {
	for _, bye := range []bool{false, true} {
		file := filepath.Join(fixture.TempDir(t), "terminal")
		c := apart.Start(apart.Options{Setup: apart.Setup{Request: request()}, Build: build})
		c.Modes([]byte(file))
		until(t, c, "both GPUs are well", wellAndThere)
		if bye {
			c.Close()
			time.Sleep(500 * time.Millisecond)
		} else {
			apart.DropPipe(c)
		}
		var got []byte
		for range 100 {
			if got, _ = os.ReadFile(file); len(got) > 0 || bye {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if restored := len(got) > 0; restored == bye {
			t.Errorf("goodbye %v, restored %v", bye, restored)
		}
		c.Close()
	}
}

func TestRowsStayWhenTheDriverForgetsAGPU(t *testing.T) {
	mk := func(steady int64, uuids ...string) *monitor.Snapshot {
		s := &monitor.Snapshot{Steady: steady, Driver: monitor.Driver{Version: monitor.OfText("580.95.05")}}
		for i, u := range uuids {
			s.GPUs = append(s.GPUs, monitor.GPU{Identity: monitor.Identity{Index: i, UUID: monitor.OfText(u)}, State: monitor.OK, Refreshed: steady})
		}
		return s
	}
	last := mk(100, "GPU-a", "GPU-b")
	next := apart.KeepRows(last, mk(200, "GPU-b"))
	if len(next.GPUs) != 2 {
		t.Fatalf("%d rows, want 2", len(next.GPUs))
	}
	g := &next.GPUs[1]
	if g.UUID.Value != "GPU-a" || g.State != monitor.Lost || g.Index != monitor.None || g.Readings[monitor.PowerMW].Reason != monitor.GPULost {
		t.Errorf("the GPU that is gone is %v %v, index %d", g.UUID.Value, g.State, g.Index)
	}
	again := apart.KeepRows(next, mk(300, "GPU-b"))
	if len(again.GPUs) != 2 || again.GPUs[1].StateSince != 200 {
		t.Errorf("it does not stay lost since then: %+v", again.GPUs[1].StateSince)
	}
	back := apart.KeepRows(again, mk(400, "GPU-a", "GPU-b"))
	if len(back.GPUs) != 2 || back.GPUs[0].State != monitor.OK {
		t.Errorf("it does not come back: %d rows", len(back.GPUs))
	}
	// The files of a Jetson list its GPU before the driver was asked again.
	early := mk(500, "GPU-b")
	early.Driver.Version = monitor.UnknownText(monitor.NotFound)
	early = apart.KeepRows(back, early)
	if g := &early.GPUs[1]; len(early.GPUs) != 2 || g.UUID.Value != "GPU-a" || g.State != monitor.Stale || g.Refreshed != 400 {
		t.Errorf("nobody asked, and the GPU is %v %v of %d", g.UUID.Value, g.State, g.Refreshed)
	}
}
