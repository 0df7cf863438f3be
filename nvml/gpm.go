package nvml

import (
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// GPMMetricID numbers a metric of GPM. Every NVML_GPM_METRIC_ constant of
// nvml/gen can be converted to one; the numbers are the same in all drivers.
type GPMMetricID uint32

// Metrics that a monitor reads.
const (
	GPMGraphics    = GPMMetricID(gen.NVML_GPM_METRIC_GRAPHICS_UTIL)           // percent
	GPMSM          = GPMMetricID(gen.NVML_GPM_METRIC_SM_UTIL)                 // percent of the SMs with work
	GPMSMOccupancy = GPMMetricID(gen.NVML_GPM_METRIC_SM_OCCUPANCY)            // percent of the warps they can hold
	GPMInteger     = GPMMetricID(gen.NVML_GPM_METRIC_INTEGER_UTIL)            // percent
	GPMTensor      = GPMMetricID(gen.NVML_GPM_METRIC_ANY_TENSOR_UTIL)         // percent
	GPMDRAM        = GPMMetricID(gen.NVML_GPM_METRIC_DRAM_BW_UTIL)            // percent of the bandwidth
	GPMFP64        = GPMMetricID(gen.NVML_GPM_METRIC_FP64_UTIL)               // percent
	GPMFP32        = GPMMetricID(gen.NVML_GPM_METRIC_FP32_UTIL)               // percent
	GPMFP16        = GPMMetricID(gen.NVML_GPM_METRIC_FP16_UTIL)               // percent
	GPMPcieTx      = GPMMetricID(gen.NVML_GPM_METRIC_PCIE_TX_PER_SEC)         // MiB/s, GPU to host
	GPMPcieRx      = GPMMetricID(gen.NVML_GPM_METRIC_PCIE_RX_PER_SEC)         // MiB/s, host to GPU
	GPMNvLinkRx    = GPMMetricID(gen.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC) // MiB/s
	GPMNvLinkTx    = GPMMetricID(gen.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC) // MiB/s
)

// GPMMetric is one metric: what is asked, and the answer.
type GPMMetric struct {
	ID GPMMetricID
	// Return is the answer for this metric; Value is good with Success only.
	Return Return
	Value  float64
}

// GPMMinWindow is the shortest time between two samples from which the driver
// computes metrics.
const GPMMinWindow = 100 * time.Millisecond

// clockSlack is how much the driver's clock may differ over such a time.
const clockSlack = 2 * time.Millisecond

// maxGPMMetrics bounds the list of [GPM.Metrics].
const maxGPMMetrics = 512

// GPM reads performance metrics of a GPU (Hopper and later) or of a MIG device,
// from two samples: the metrics are averages over the time between them. Create
// one for each device, Update it at each refresh, read Metrics after that, and
// Close it. It is safe for concurrent use, but a call that hangs holds the next.
type GPM struct {
	dev  Device
	gpu  gen.Device_t // the GPU, also for a MIG device
	mig  bool
	inst uint32 // GPU instance of a MIG device

	mu      sync.Mutex
	samples [2]gen.GpmSample_t
	newest  int // the newer sample
	taken   int // samples that are good: 0, 1 or 2
	at      [2]time.Time
	closed  bool

	buf    []uint64      // a nvmlGpmMetricsGet_t, with room for what newer drivers add
	proven []GPMMetricID // the list that can be read in one call; nil: none yet
	refuse bool          // a list read in one call gave something else than one by one
	single [maxGPMMetrics]gen.GpmMetric_t
}

// gpmGuard orders the first samples: taken at the same time they have crashed
// drivers.
type gpmGuard struct {
	first sync.Mutex // held during the first sample of a device
	mu    sync.Mutex
	done  map[gpmKey]bool
}

type gpmKey struct {
	gpu  gen.Device_t
	mig  bool
	inst uint32
}

// NewGPM prepares GPM for d. A device without it answers [ErrNotSupported].
//
// Calls nvmlGpmQueryDeviceSupport (of the GPU, for a MIG device) and
// nvmlGpmSampleAlloc (driver 520).
func (d Device) NewGPM() (*GPM, error) {
	g := &GPM{dev: Device{s: d.s}}
	if d.s != nil && d.s.isMIG {
		if d.s.parent == nil {
			return nil, &Error{Function: gen.FnGpmMigSampleGet.String(), Device: d.Index(), Return: ErrNotFound, Detail: "the GPU of the MIG device is not known"}
		}
		id, err := d.GpuInstanceId()
		if err != nil {
			return nil, err
		}
		g.mig, g.inst, g.gpu = true, id, d.s.parent.handle
	} else {
		g.gpu = d.Handle()
	}
	f, err := d.enter(gen.FnGpmQueryDeviceSupport)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	if !f.begin(gen.FnGpmQueryDeviceSupport, 0) {
		return nil, f.fail(gen.FnGpmQueryDeviceSupport, ErrFunctionNotFound)
	}
	s := scratch[gen.GpmSupport_t](f)
	s.Version = gen.NVML_GPM_SUPPORT_VERSION
	if r := f.end(f.raw().GpmQueryDeviceSupport(f.c, g.gpu, s)); r != Success {
		return nil, f.fail(gen.FnGpmQueryDeviceSupport, r)
	}
	if s.IsSupportedDevice == 0 {
		return nil, f.fail(gen.FnGpmQueryDeviceSupport, ErrNotSupported)
	}
	for i := range g.samples {
		if !f.begin(gen.FnGpmSampleAlloc, 0) {
			return nil, f.fail(gen.FnGpmSampleAlloc, ErrFunctionNotFound)
		}
		p := scratch[gen.GpmSample_t](f)
		r := f.end(f.raw().GpmSampleAlloc(f.c, p))
		if r == Success && *p == 0 {
			r = ErrImplausible
		}
		if r != Success {
			g.free(f)
			return nil, f.fail(gen.FnGpmSampleAlloc, r)
		}
		g.samples[i] = *p
	}
	g.buf = make([]uint64, (int(unsafe.Sizeof(gen.GpmMetricsGet_t{}))+maxGPMMetrics*40)/8)
	return g, nil
}

// orZero makes nil the zero value, which has the zero Device.
func (g *GPM) orZero() *GPM {
	if g == nil {
		return new(GPM)
	}
	return g
}

// free gives the samples back.
func (g *GPM) free(f *frame) {
	for i, s := range g.samples {
		if s != 0 && f.begin(gen.FnGpmSampleFree, 0) {
			f.end(f.raw().GpmSampleFree(f.c, s))
		}
		g.samples[i] = 0
	}
}

// Close gives the samples back to the driver. It does not wait: while a call of
// g is in flight they are left to the end of the program.
//
// Calls nvmlGpmSampleFree.
func (g *GPM) Close() error {
	g = g.orZero()
	if !g.mu.TryLock() {
		return &Error{Function: gen.FnGpmSampleFree.String(), Device: g.dev.Index(), Return: ErrInUse}
	}
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed, g.taken = true, 0
	f, err := g.dev.enter(gen.FnGpmSampleFree)
	if err != nil {
		return err
	}
	defer f.leave()
	g.free(f)
	return nil
}

// Reset forgets the samples taken, so that the next Update begins anew: after a
// pause, or when a MIG device was created again under the same id.
func (g *GPM) Reset() {
	g = g.orZero()
	g.mu.Lock()
	g.taken = 0
	g.mu.Unlock()
}

// Update takes a sample, which becomes the newer of the two, and returns the
// time between them. After the first sample it is 0, and there are no metrics
// yet. An Update less than [GPMMinWindow] after the one before keeps what is
// there.
//
// The very first sample of a device is taken while no other device takes its
// first; if one does, Update does not wait for it, but returns [ErrNotReady].
//
// Calls nvmlGpmSampleGet (driver 520), for a MIG device nvmlGpmMigSampleGet
// (driver 525).
func (g *GPM) Update() (window time.Duration, err error) {
	g = g.orZero()
	g.mu.Lock()
	defer g.mu.Unlock()
	fn := gen.FnGpmSampleGet
	if g.mig {
		fn = gen.FnGpmMigSampleGet
	}
	f, err := g.dev.enter(fn)
	if err != nil {
		return 0, err
	}
	defer f.leave()
	if g.closed {
		return 0, f.fail(fn, ErrUninitialized)
	}
	now := time.Now()
	if g.taken > 0 && now.Sub(g.at[g.newest]) < GPMMinWindow+clockSlack {
		return g.window(), nil
	}
	guard := &f.lib.eng.gpm
	key := gpmKey{g.gpu, g.mig, g.inst}
	guard.mu.Lock()
	seeded := guard.done[key]
	guard.mu.Unlock()
	if !seeded {
		if !guard.first.TryLock() {
			return 0, &Error{Function: fn.String(), Device: g.dev.Index(), Return: ErrNotReady, Detail: "another device takes its first sample"}
		}
		defer guard.first.Unlock()
	}
	if !f.begin(fn, 0) {
		return 0, f.fail(fn, ErrFunctionNotFound)
	}
	next := 1 - g.newest
	var r Return
	if g.mig {
		r = f.end(f.raw().GpmMigSampleGet(f.c, g.gpu, g.inst, g.samples[next]))
	} else {
		r = f.end(f.raw().GpmSampleGet(f.c, g.gpu, g.samples[next]))
	}
	if r != Success {
		g.taken = min(g.taken, 1) // the older sample may be half overwritten
		return 0, f.fail(fn, r)
	}
	if !seeded {
		guard.mu.Lock()
		if guard.done == nil {
			guard.done = map[gpmKey]bool{}
		}
		guard.done[key] = true
		guard.mu.Unlock()
	}
	// The moment after the call: what is left till the next one is then never
	// shorter than it seems.
	g.newest, g.at[next], g.taken = next, time.Now(), min(g.taken+1, 2)
	return g.window(), nil
}

func (g *GPM) window() time.Duration {
	if g.taken < 2 {
		return 0
	}
	return g.at[g.newest].Sub(g.at[1-g.newest])
}

// Metrics computes the metrics of the list from the two samples: the IDs are
// what is asked, the rest is filled in. Before two samples are there it returns
// [ErrNotReady]. An error is about the whole list; otherwise each metric has its
// own answer.
//
// Some drivers give wrong values when they are asked for several metrics in one
// call. So they are asked one by one, until one call for all has been seen to
// give the same for this very list.
//
// Calls nvmlGpmMetricsGet (driver 520).
func (g *GPM) Metrics(list []GPMMetric) error {
	const fn = gen.FnGpmMetricsGet
	g = g.orZero()
	for i := range list {
		list[i].Return, list[i].Value = ErrNotReady, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f, err := g.dev.enter(fn)
	if err != nil {
		return err
	}
	defer f.leave()
	switch {
	case g.closed:
		return f.fail(fn, ErrUninitialized)
	case len(list) > maxGPMMetrics:
		return f.fail(fn, ErrInvalidArgument)
	case g.taken < 2:
		return &Error{Function: fn.String(), Device: g.dev.Index(), Return: ErrNotReady, Detail: "two samples are needed"}
	case !f.raw().Has(fn):
		return f.fail(fn, ErrFunctionNotFound)
	case len(list) == 0:
		return nil
	}
	if g.provenFor(list) {
		r := g.compute(f, list)
		if r == Success && g.written(len(list)) {
			for i, m := range g.answers(len(list)) {
				list[i].set(m)
			}
			return nil
		}
		g.proven = nil
		if r != Success && !curable(r) {
			return f.fail(fn, r)
		}
	}
	var failed Return
	for i := range list {
		r := g.compute(f, list[i:i+1])
		if r == Success && !g.written(1) {
			r = ErrImplausible
		}
		if r != Success {
			list[i].Return, failed = r, r
			if !curable(r) {
				return f.fail(fn, r) // about the library or the GPU, not this metric
			}
			continue
		}
		g.single[i] = g.answers(1)[0]
		list[i].set(g.single[i])
	}
	if failed == Success && len(list) > 1 && !g.refuse {
		g.prove(f, list)
	}
	return nil
}

// set takes over an answer.
func (m *GPMMetric) set(a gen.GpmMetric_t) {
	m.Return, m.Value = Return(a.NvmlReturn), 0
	if m.Return == Success {
		if math.IsNaN(a.Value) || math.IsInf(a.Value, 0) {
			m.Return = ErrImplausible
			return
		}
		m.Value = a.Value
	}
}

// unwritten marks entries that the driver has not answered.
const unwritten = gen.Return_t(0x5A5A5A5A)

// compute asks for the metrics of the list. The answers are in g.buf.
func (g *GPM) compute(f *frame, list []GPMMetric) Return {
	q := (*gen.GpmMetricsGet_t)(unsafe.Pointer(&g.buf[0]))
	clear(g.buf[:3+5*len(list)])
	q.Version, q.NumMetrics = gen.NVML_GPM_METRICS_GET_VERSION, uint32(len(list))
	q.Sample1, q.Sample2 = g.samples[1-g.newest], g.samples[g.newest]
	entries := g.answers(len(list))
	for i := range entries {
		entries[i] = gen.GpmMetric_t{MetricId: uint32(list[i].ID), NvmlReturn: unwritten, Value: math.NaN()}
	}
	f.begin(gen.FnGpmMetricsGet, 0)
	return f.end(f.raw().GpmMetricsGet(f.c, q))
}

// answers are the first n entries of g.buf.
func (g *GPM) answers(n int) []gen.GpmMetric_t {
	return unsafe.Slice((*gen.GpmMetric_t)(unsafe.Pointer(&g.buf[3])), n)
}

// written says whether all of the first n entries were answered.
func (g *GPM) written(n int) bool {
	for _, a := range g.answers(n) {
		if a.NvmlReturn == unwritten || a.NvmlReturn == gen.NVML_SUCCESS && math.IsNaN(a.Value) {
			return false
		}
	}
	return true
}

func (g *GPM) provenFor(list []GPMMetric) bool {
	return g.proven != nil && slices.EqualFunc(list, g.proven, func(m GPMMetric, id GPMMetricID) bool { return m.ID == id })
}

// prove asks for the list in one call and compares with g.single. Idle devices
// prove nothing: two different values are needed, so that a driver which gives
// one value for all, or mixes them up, is found out.
func (g *GPM) prove(f *frame, list []GPMMetric) {
	values := map[float64]bool{}
	for _, s := range g.single[:len(list)] {
		if s.NvmlReturn == gen.NVML_SUCCESS && s.Value != 0 {
			values[s.Value] = true
		}
	}
	if len(values) < 2 {
		return
	}
	if g.compute(f, list) != Success || !g.written(len(list)) {
		g.refuse = true
		return
	}
	for i, a := range g.answers(len(list)) {
		s := g.single[i]
		if a.MetricId != s.MetricId || a.NvmlReturn != s.NvmlReturn || a.NvmlReturn == gen.NVML_SUCCESS && a.Value != s.Value {
			g.refuse = true
			return
		}
	}
	g.proven = make([]GPMMetricID, len(list))
	for i := range list {
		g.proven[i] = list[i].ID
	}
}

// Proven reports whether the last list of [GPM.Metrics] is read in one call by
// now.
func (g *GPM) Proven() bool {
	g = g.orZero()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proven != nil
}
