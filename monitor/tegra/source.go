package tegra

import (
	"errors"
	"sync"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

const (
	filesKey   = "files"         // of the GPU that files tell of
	firstWait  = 2 * time.Second // for what NVML tells, once
	maxBackOff = 30 * time.Second
	fellPause  = 2 * time.Minute // see New
)

// Source is the monitor.Source of a Jetson.
type Source struct {
	root host.Root
	soc  string
	nvml monitor.Source // the GPUs of NVML

	mu   sync.Mutex
	chip *chip               // where files alone tell of the integrated GPU
	gpus map[string]*missing // by key: what fills in what NVML does not tell

	// Where files tell of the integrated GPU, NVML is asked in a goroutine of
	// its own: it may hang.
	asking  bool
	asked   bool // for the first time
	open    bool // NVML was initialised
	due     time.Time
	backOff time.Duration
	listed  []monitor.Device  // of NVML
	probes  map[string]*probe // by key: what each of those is
	driver  monitor.Driver
}

// New returns a Source of the machine under root, whose SoC is soc, that has the
// GPUs of nvml besides. Fell says that the driver process before this one ended by
// itself: if NVML did it, it would take along the row of the GPU that files tell
// of, so that NVML is first asked after two minutes there.
func New(root host.Root, soc string, nvml monitor.Source, fell bool) *Source {
	s := &Source{root: root, soc: soc, nvml: nvml, gpus: map[string]*missing{}, probes: map[string]*probe{}, driver: driverWithout(monitor.NotFound)}
	if fell {
		s.asked, s.due, s.driver = true, time.Now().Add(fellPause), driverWithout(monitor.DriverError)
	}
	return s
}

// driverWithout is a driver of which nothing is known, and why.
func driverWithout(why monitor.Reason) monitor.Driver {
	none := monitor.UnknownText(why)
	return monitor.Driver{Version: none, CUDAVersion: none, NVMLVersion: none, Library: none}
}

// Name is tegra.
func (s *Source) Name() string { return "tegra" }

// LocalPIDs says that PIDs are those of this machine, unless another root is
// read.
func (s *Source) LocalPIDs() bool { return s.root.Here() && s.nvml.LocalPIDs() }

// Open makes NVML ready where it tells of the integrated GPU.
func (s *Source) Open() error {
	if s.onFiles() {
		return nil
	}
	return s.nvml.Open()
}

// onFiles finds out, each time anew, whether files alone tell of the integrated
// GPU.
func (s *Source) onFiles() bool {
	c := onNVGPU(s.root, s.soc)
	s.mu.Lock()
	s.chip = c
	s.mu.Unlock()
	return c != nil
}

// Driver describes the driver, as far as there is an NVML to ask.
func (s *Source) Driver() monitor.Driver {
	if !s.onFiles() {
		return s.nvml.Driver()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.driver
}

// Close releases what Open took.
func (s *Source) Close() { s.nvml.Close() }

// Devices lists the integrated GPU and other cards.
func (s *Source) Devices() ([]monitor.Device, error) {
	if !s.onFiles() {
		return s.nvml.Devices()
	}
	s.ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []monitor.Device{{Key: filesKey}}
	integrated := s.integrated()
	if integrated != nil {
		list[0].Index = integrated.Index
	}
	for _, d := range s.listed {
		p := s.probes[d.Key]
		if integrated != nil && !p.busy {
			p.known = true // no other is: one that is lost has no name
		}
		if p.known && !p.id.Integrated {
			list = append(list, d)
		}
	}
	return list, nil
}

// integrated is what NVML says of the integrated GPU, nil for nothing.
func (s *Source) integrated() *monitor.Identity {
	for _, d := range s.listed {
		if p := s.probes[d.Key]; p.known && p.id.Integrated {
			return &p.id
		}
	}
	return nil
}

// tell tells a sink what the GPU is that files tell of.
func (s *Source) tell(sink monitor.Sink) {
	none := monitor.UnknownText(monitor.NotSupported)
	id := monitor.Identity{
		UUID: none, PCIBusID: none, Serial: none, Architecture: none,
		Integrated: true, MemoryUnified: true,
		GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None,
	}
	s.mu.Lock()
	if s.chip != nil {
		id.Name = monitor.OfText(s.chip.gpu)
		if s.chip.architecture != "" {
			id.Architecture = monitor.OfText(s.chip.architecture)
		}
	}
	if of := s.integrated(); of != nil {
		id.Index, id.Name = of.Index, of.Name
	}
	s.mu.Unlock()
	sink.Identity(id)
	sink.Sources("tegra")
}

// ask asks NVML what it has, unless that was done a moment ago. The first time
// it waits for a while.
func (s *Source) ask() {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking || now.Before(s.due) {
		return
	}
	s.asking = true
	done := make(chan struct{})
	go func() {
		s.lookAtNVML().Wait()
		close(done)
	}()
	if s.asked {
		return
	}
	s.asked = true
	s.mu.Unlock()
	wait(done, firstWait)
	s.mu.Lock()
}

// lookAtNVML asks NVML which GPUs it has, and begins to ask each that is new what
// it is: one of them may hang.
func (s *Source) lookAtNVML() (probes *sync.WaitGroup) {
	probes = &sync.WaitGroup{}
	var err error
	if !s.open {
		err = s.nvml.Open()
	}
	var list []monitor.Device
	if err == nil {
		list, err = s.nvml.Devices()
	}
	driver := driverWithout(monitor.NotFound)
	if s.open = err == nil; s.open {
		driver = s.nvml.Driver()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	var o *monitor.OpenError
	switch {
	case err == nil:
		s.due, s.backOff = time.Now().Add(lookEvery), 0
	case errors.As(err, &o) && o.Cause == monitor.CauseChanged:
		s.due = time.Now()
		return probes
	default:
		s.backOff = min(max(2*s.backOff, time.Second), maxBackOff)
		s.due = time.Now().Add(s.backOff)
	}
	s.driver = driver
	if err == nil { // else they are still there, and cannot be read
		s.listed = list
		for _, d := range list {
			s.probe(d, probes)
		}
	}
	return probes
}

// probe asks NVML what a GPU is, as long as that is not known.
func (s *Source) probe(d monitor.Device, probes *sync.WaitGroup) {
	p := s.probes[d.Key]
	if p == nil {
		p = &probe{id: monitor.Identity{Index: d.Index, GPUInstanceID: monitor.None, ComputeInstanceID: monitor.None}}
		s.probes[d.Key] = p
	}
	if p.busy || p.known {
		return
	}
	p.busy = true
	probes.Go(func() {
		s.nvml.Read(d, monitor.Want{}, p)
		s.mu.Lock()
		p.busy, p.known = false, p.id.Name.Known()
		s.mu.Unlock()
	})
}

// Read reads the integrated GPU, or a card.
func (s *Source) Read(d monitor.Device, want monitor.Want, sink monitor.Sink) {
	s.mu.Lock()
	g := s.gpus[d.Key]
	if g == nil {
		g = &missing{gpu: gpu{root: s.root}}
		s.gpus[d.Key] = g
	}
	files := s.chip != nil
	var heard probe
	if p := s.probes[d.Key]; files && p != nil && p.known && !p.told {
		heard, p.told = *p, true
	}
	s.mu.Unlock()
	switch {
	case d.Key == filesKey:
		s.tell(sink)
		g.gpu.readAll(want, sink, time.Now())
	case files:
		sink.Sources("nvml")
		if heard.known { // which NVML tells once
			sink.Identity(heard.id)
			if heard.state != nil {
				heard.state(sink)
			}
		}
		s.nvml.Read(d, want, sink)
	default:
		f := &filling{sink, g, want, time.Now()}
		f.begin()
		s.nvml.Read(d, want, f)
	}
}
