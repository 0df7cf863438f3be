package nvml

import (
	"time"

	"nvtop-lite/nvml/gen"
)

// Utilization is the load of a GPU.
type Utilization struct {
	GPU    uint32 // percent of the last sample period with a kernel at work
	Memory uint32 // percent of it with memory being read or written
}

// UtilizationRates returns the load. With MIG there is none: see [GPM].
//
// Calls nvmlDeviceGetUtilizationRates.
func (d Device) UtilizationRates() (Utilization, error) {
	u, err := get(d, gen.FnDeviceGetUtilizationRates, (*gen.Library).DeviceGetUtilizationRates)
	return Utilization{u.Gpu, u.Memory}, err
}

// engine calls one of the four functions for engines, which take the same.
func (d Device) engine(fn gen.Function) (percent uint32, period time.Duration, err error) {
	percent, us, err := getPair(d, fn, (*gen.Library).DeviceGetEncoderUtilization)
	return percent, time.Duration(us) * time.Microsecond, err
}

// EncoderUtilization returns the load of the video encoders in percent, and the
// period it was sampled over.
//
// Calls nvmlDeviceGetEncoderUtilization.
func (d Device) EncoderUtilization() (percent uint32, period time.Duration, err error) {
	return d.engine(gen.FnDeviceGetEncoderUtilization)
}

// DecoderUtilization returns the load of the video decoders in percent, and the
// period it was sampled over.
//
// Calls nvmlDeviceGetDecoderUtilization.
func (d Device) DecoderUtilization() (percent uint32, period time.Duration, err error) {
	return d.engine(gen.FnDeviceGetDecoderUtilization)
}

// JpgUtilization returns the load of the JPEG engines in percent, and the period
// it was sampled over.
//
// Calls nvmlDeviceGetJpgUtilization (driver 535, Turing and later).
func (d Device) JpgUtilization() (percent uint32, period time.Duration, err error) {
	return d.engine(gen.FnDeviceGetJpgUtilization)
}

// OfaUtilization returns the load of the optical flow accelerator in percent,
// and the period it was sampled over.
//
// Calls nvmlDeviceGetOfaUtilization (driver 535, Turing and later).
func (d Device) OfaUtilization() (percent uint32, period time.Duration, err error) {
	return d.engine(gen.FnDeviceGetOfaUtilization)
}

// EncoderType is a kind of video.
type EncoderType uint32

// The kinds.
const (
	EncoderH264 = EncoderType(gen.NVML_ENCODER_QUERY_H264)
	EncoderHEVC = EncoderType(gen.NVML_ENCODER_QUERY_HEVC)
	EncoderAV1  = EncoderType(gen.NVML_ENCODER_QUERY_AV1)
)

// EncoderCapacity returns how much of the encoders is left, in percent.
//
// Calls nvmlDeviceGetEncoderCapacity.
func (d Device) EncoderCapacity(t EncoderType) (uint32, error) {
	return getAt(d, gen.FnDeviceGetEncoderCapacity, (*gen.Library).DeviceGetEncoderCapacity, gen.EncoderType_t(t))
}

// SessionStats sums up the sessions of the encoder or of screen capture.
type SessionStats struct {
	Sessions       uint32
	AverageFPS     uint32
	AverageLatency time.Duration
}

// EncoderStats sums up the encoder sessions.
//
// Calls nvmlDeviceGetEncoderStats.
func (d Device) EncoderStats() (SessionStats, error) {
	const fn = gen.FnDeviceGetEncoderStats
	f, err := d.enter(fn)
	if err != nil {
		return SessionStats{}, err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return SessionStats{}, f.fail(fn, ErrFunctionNotFound)
	}
	f.words()
	if r := f.end(f.raw().DeviceGetEncoderStats(f.c, f.h, &f.w[0], &f.w[1], &f.w[2])); r != Success {
		return SessionStats{}, f.fail(fn, r)
	}
	return SessionStats{f.w[0], f.w[1], time.Duration(f.w[2]) * time.Microsecond}, nil
}

// FBCStats sums up the sessions of screen capture.
//
// Calls nvmlDeviceGetFBCStats (driver 410).
func (d Device) FBCStats() (SessionStats, error) {
	s, err := get(d, gen.FnDeviceGetFBCStats, (*gen.Library).DeviceGetFBCStats)
	return SessionStats{s.SessionsCount, s.AverageFPS, time.Duration(s.AverageLatency) * time.Microsecond}, err
}

// EncoderSession is a session of the encoder.
type EncoderSession struct {
	ID, PID        uint32
	VgpuInstance   uint32 // 0 where there is none
	Codec          EncoderType
	Width, Height  uint32
	AverageFPS     uint32
	AverageLatency time.Duration
}

// EncoderSessions lists the sessions of the encoder.
//
// Calls nvmlDeviceGetEncoderSessions.
func (d Device) EncoderSessions() ([]EncoderSession, error) {
	list, err := getList(d, gen.FnDeviceGetEncoderSessions, 64, func(f *frame, n *uint32, list *gen.EncoderSessionInfo_t) gen.Return_t {
		return f.raw().DeviceGetEncoderSessions(f.c, f.h, n, list)
	})
	if err != nil {
		return nil, err
	}
	out := make([]EncoderSession, len(list))
	for i, s := range list {
		out[i] = EncoderSession{s.SessionId, s.Pid, uint32(s.VgpuInstance), EncoderType(s.CodecType), s.HResolution, s.VResolution,
			s.AverageFps, time.Duration(s.AverageLatency) * time.Microsecond}
	}
	return out, nil
}

// FBCSession is a session of screen capture.
type FBCSession struct {
	ID, PID             uint32
	VgpuInstance        uint32 // 0 where there is none
	Display             uint32
	Type                uint32 // a number of nvmlFBCSessionType_t
	Flags               uint32
	MaxWidth, MaxHeight uint32
	Width, Height       uint32
	AverageFPS          uint32
	AverageLatency      time.Duration
}

// FBCSessions lists the sessions of screen capture.
//
// Calls nvmlDeviceGetFBCSessions (driver 410).
func (d Device) FBCSessions() ([]FBCSession, error) {
	list, err := getList(d, gen.FnDeviceGetFBCSessions, 64, func(f *frame, n *uint32, list *gen.FBCSessionInfo_t) gen.Return_t {
		return f.raw().DeviceGetFBCSessions(f.c, f.h, n, list)
	})
	if err != nil {
		return nil, err
	}
	out := make([]FBCSession, len(list))
	for i, s := range list {
		out[i] = FBCSession{s.SessionId, s.Pid, uint32(s.VgpuInstance), s.DisplayOrdinal, uint32(s.SessionType), s.SessionFlags,
			s.HMaxResolution, s.VMaxResolution, s.HResolution, s.VResolution,
			s.AverageFPS, time.Duration(s.AverageLatency) * time.Microsecond}
	}
	return out, nil
}

// SamplingType names a kind of buffered samples.
type SamplingType uint32

// The kinds.
const (
	SamplesPower       = SamplingType(gen.NVML_TOTAL_POWER_SAMPLES)        // mW
	SamplesGPU         = SamplingType(gen.NVML_GPU_UTILIZATION_SAMPLES)    // percent
	SamplesMemory      = SamplingType(gen.NVML_MEMORY_UTILIZATION_SAMPLES) // percent
	SamplesEncoder     = SamplingType(gen.NVML_ENC_UTILIZATION_SAMPLES)    // percent
	SamplesDecoder     = SamplingType(gen.NVML_DEC_UTILIZATION_SAMPLES)    // percent
	SamplesClock       = SamplingType(gen.NVML_PROCESSOR_CLK_SAMPLES)      // MHz
	SamplesMemoryClock = SamplingType(gen.NVML_MEMORY_CLK_SAMPLES)         // MHz
	SamplesModulePower = SamplingType(gen.NVML_MODULE_POWER_SAMPLES)       // mW
	SamplesJPEG        = SamplingType(gen.NVML_JPG_UTILIZATION_SAMPLES)    // percent
	SamplesOFA         = SamplingType(gen.NVML_OFA_UTILIZATION_SAMPLES)    // percent
)

// Sample is a buffered sample.
type Sample struct {
	Time  uint64 // microseconds since 1970
	Value Value
}

// Samples returns the samples that the driver has buffered since lastSeen (the
// newest Time of the answer before, or 0 for all). Where there are none the
// list is empty.
//
// Calls nvmlDeviceGetSamples.
func (d Device) Samples(t SamplingType, lastSeen uint64) ([]Sample, error) {
	const fn = gen.FnDeviceGetSamples
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	var list []gen.Sample_t
	for room := 512; ; room *= 4 {
		var r Return
		list, r = callList(f, fn, 0, room, func(f *frame, n *uint32, list *gen.Sample_t) gen.Return_t {
			return f.raw().DeviceGetSamples(f.c, f.h, gen.SamplingType_t(t), lastSeen, (*gen.ValueType_t)(&f.w[1]), n, list)
		})
		if r == ErrNotFound {
			return nil, nil
		}
		if r != Success {
			return nil, f.fail(fn, r)
		}
		// A full list may be all that there was room for.
		if len(list) < room || room >= maxList {
			break
		}
	}
	out := make([]Sample, len(list))
	for i, s := range list {
		out[i] = Sample{s.TimeStamp, Value{ValueType(f.w[1]), s.SampleValue.Bits}}
	}
	return out, nil
}
