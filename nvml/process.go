package nvml

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"nvtop-lite/nvml/gen"
)

// NotAvailable is what the driver says in place of a number of bytes that it
// does not know, as it does for every process under the Windows display driver
// model. It is not a size: it must not enter a sum.
const NotAvailable = ^uint64(0)

// NoInstance is the id of a MIG instance where there is none.
const NoInstance = ^uint32(0)

// Process is an entry of a list of processes.
type Process struct {
	// PID is a number of the driver's PID namespace.
	PID uint32
	// UsedGPUMemory is in bytes, or [NotAvailable].
	UsedGPUMemory uint64
	// GPUInstanceID and ComputeInstanceID are [NoInstance] outside MIG, and
	// from drivers that do not tell.
	GPUInstanceID, ComputeInstanceID uint32
}

// Memory returns UsedGPUMemory, and whether it is known.
func (p Process) Memory() (uint64, bool) { return p.UsedGPUMemory, p.UsedGPUMemory != NotAvailable }

// ListKind names a list of processes.
type ListKind int

// The lists. A process may be in several: the memory of its entries is then the
// same memory.
const (
	Compute  ListKind = iota // with a compute context
	Graphics                 // with a graphics context
	MPS                      // clients of the multi-process service
)

const numListKinds = 3

// The functions that fill lists of processes, by kind, newest first.
var listFunctions = [numListKinds][3]gen.Function{
	{gen.FnDeviceGetComputeRunningProcesses_v3, gen.FnDeviceGetComputeRunningProcesses_v2, gen.FnDeviceGetComputeRunningProcesses},
	{gen.FnDeviceGetGraphicsRunningProcesses_v3, gen.FnDeviceGetGraphicsRunningProcesses_v2, gen.FnDeviceGetGraphicsRunningProcesses},
	{gen.FnDeviceGetMPSComputeRunningProcesses_v3, gen.FnDeviceGetMPSComputeRunningProcesses_v2, gen.FnDeviceGetMPSComputeRunningProcesses},
}

const numListFunctions = numListKinds * 3

// ComputeRunningProcesses lists the processes with a compute context. See
// [Device.AppendRunningProcesses].
//
// Calls nvmlDeviceGetComputeRunningProcesses_v3, then _v2, then
// nvmlDeviceGetComputeRunningProcesses.
func (d Device) ComputeRunningProcesses() ([]Process, error) {
	return d.AppendRunningProcesses(nil, Compute)
}

// GraphicsRunningProcesses lists the processes with a graphics context. See
// [Device.AppendRunningProcesses].
//
// Calls nvmlDeviceGetGraphicsRunningProcesses_v3, then _v2, then
// nvmlDeviceGetGraphicsRunningProcesses.
func (d Device) GraphicsRunningProcesses() ([]Process, error) {
	return d.AppendRunningProcesses(nil, Graphics)
}

// MPSComputeRunningProcesses lists the clients of the multi-process service. See
// [Device.AppendRunningProcesses].
//
// Calls nvmlDeviceGetMPSComputeRunningProcesses_v3, then _v2, then
// nvmlDeviceGetMPSComputeRunningProcesses.
func (d Device) MPSComputeRunningProcesses() ([]Process, error) {
	return d.AppendRunningProcesses(nil, MPS)
}

// AppendRunningProcesses appends a list of processes to dst. With an error the
// list is unknown, and dst is returned as it came; an empty list without an
// error means that there are no processes.
//
// Drivers disagree about the length of an entry behind one and the same function
// name, so the length is measured: the buffer is filled with a pattern before
// the call, and what was written over it tells. An answer that fits no length
// is not used, and the next older function is tried; where there is none the
// error is [ErrImplausible].
//
// Calls the functions that [Device.ComputeRunningProcesses],
// [Device.GraphicsRunningProcesses] and [Device.MPSComputeRunningProcesses] name.
func (d Device) AppendRunningProcesses(dst []Process, kind ListKind) ([]Process, error) {
	if kind < 0 || kind >= numListKinds {
		return dst, &Error{Function: listFunctions[Compute][0].String(), Device: d.Index(), Return: ErrInvalidArgument}
	}
	fns := &listFunctions[kind]
	f, err := d.enter(fns[0])
	if err != nil {
		return dst, err
	}
	defer f.leave()
	var a listAnswer
	at, r := climb(&d.s.works[chainCompute+chainID(kind)], 0, len(fns), func(place int) (r Return) {
		a, r = f.processes(kind, place, place)
		return r
	})
	if r != Success {
		err := f.fail(fns[at], r)
		var e *Error
		if r == ErrImplausible && errors.As(err, &e) {
			e.Detail = "the length of an entry cannot be told"
		}
		return dst, err
	}
	b := f.bytes()
	for i := range a.count {
		dst = append(dst, entry(b, i, a.stride))
	}
	return dst, nil
}

// listAnswer is a list of processes that lies in the frame's list memory.
type listAnswer struct{ count, stride int }

// The longest entry that is known, and what lies behind the entries so that a
// library which writes further is noticed and does no harm.
const (
	maxStride = 32
	guardSize = 4096
	sentinel  = 0xA5
)

const sentinelWord = 0x0101010101010101 * sentinel

// roomFor returns a number of entries, n or more, that is odd and no multiple
// of 3: so a library that clears the whole array, in entries of its own length,
// cannot be mistaken for one that filled it in another length.
func roomFor(n int) int {
	for n%2 == 0 || n%3 == 0 {
		n++
	}
	return n
}

// bytes returns the list memory.
func (f *frame) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&f.list[0])), len(f.list)*8)
}

// processes calls function number i of a kind of list.
func (f *frame) processes(kind ListKind, i, place int) (listAnswer, Return) {
	fn := listFunctions[kind][i]
	room := roomFor(max(67, int(f.dev.entries[kind].Load())))
	for range 8 {
		if !f.begin(fn, place) {
			return listAnswer{}, ErrFunctionNotFound
		}
		words := room*maxStride/8 + guardSize/8
		if len(f.list) < words {
			f.list = make([]uint64, words)
		}
		for k := range f.list[:words] {
			f.list[k] = sentinelWord
		}
		f.words()
		f.w[0] = uint32(room)
		at := f.begun()
		f.c.SetAddress(at, unsafe.Pointer(&f.w[0]))
		f.c.SetAddress(at+1, unsafe.Pointer(&f.list[0]))
		r := f.end(f.raw().Call(f.c, fn, at+2))
		for _, w := range f.list[room*maxStride/8 : words] {
			if w != sentinelWord {
				return listAnswer{}, ErrImplausible // it wrote behind the end
			}
		}
		n := int(f.w[0])
		switch {
		case r == ErrInsufficientSize:
			if n > maxList {
				return listAnswer{}, r
			}
			// More may have come by the time of the next call.
			room = roomFor(min(max(n+n/8+16, room*2), maxList))
			continue
		case r != Success:
			return listAnswer{}, r
		case n > room:
			return listAnswer{}, ErrImplausible
		case n == 0:
			return listAnswer{}, Success
		}
		// The room of the next call: what was enough now, not what it grew to.
		f.dev.entries[kind].Store(uint32(n + n/8 + 16))
		stride := f.measure(fn, &f.lib.eng.strides[int(kind)*3+i], room, n)
		if stride == 0 {
			return listAnswer{}, ErrImplausible
		}
		return listAnswer{n, stride}, Success
	}
	return listAnswer{}, ErrInsufficientSize
}

// guess is the length of an entry that is expected of a function when nothing
// was measured. It decides only between lengths that fit equally well.
func (f *frame) guess(fn gen.Function) int {
	switch fn {
	case gen.FnDeviceGetComputeRunningProcesses, gen.FnDeviceGetGraphicsRunningProcesses, gen.FnDeviceGetMPSComputeRunningProcesses:
		return 16
	case gen.FnDeviceGetComputeRunningProcesses_v3, gen.FnDeviceGetGraphicsRunningProcesses_v3, gen.FnDeviceGetMPSComputeRunningProcesses_v3:
		// The first drivers of branch 535 have longer entries.
		if f.raw().Has(gen.FnDeviceGetConfComputeMemSizeInfo) && !f.raw().Has(gen.FnDeviceGetRunningProcessDetailList) {
			return 32
		}
	}
	return 24
}

// measure finds the length of an entry from what was written to the list memory
// by a call that had that room and gave n entries. It returns 0 where no length
// fits.
func (f *frame) measure(fn gen.Function, known *atomic.Uint32, room, n int) int {
	b := f.bytes()[:room*maxStride]
	if s := int(known.Load()); s != 0 && plausible(b, n, s) {
		return s
	}
	s := stride(b, room, n, f.guess(fn))
	if s != 0 && n > 1 {
		known.Store(uint32(s)) // one entry alone says little about the next
	}
	return s
}

// stride finds the length of the n entries in b, which has room for that many
// and was full of the sentinel before the call. guess decides where several fit.
func stride(b []byte, room, n, guess int) int {
	written := len(b)
	for written > 0 && b[written-1] == sentinel {
		written--
	}
	lengths := [...]int{guess, 16, 24, 32}
	for _, s := range lengths[1:] {
		if (n*s == written || room*s == written) && plausible(b, n, s) {
			return s
		}
	}
	// The tail of an entry may have been left alone.
	for _, s := range lengths {
		if (n-1)*s < written && written <= n*s && plausible(b, n, s) {
			return s
		}
	}
	return 0
}

// entry reads entry i.
func entry(b []byte, i, stride int) Process {
	e := b[i*stride:][:stride]
	p := Process{
		PID:               *(*uint32)(unsafe.Pointer(&e[0])),
		UsedGPUMemory:     *(*uint64)(unsafe.Pointer(&e[8])),
		GPUInstanceID:     NoInstance,
		ComputeInstanceID: NoInstance,
	}
	if stride >= 24 {
		p.GPUInstanceID = *(*uint32)(unsafe.Pointer(&e[16]))
		p.ComputeInstanceID = *(*uint32)(unsafe.Pointer(&e[20]))
	}
	return p
}

// maxPID is the largest number that a process can have: Linux has no larger ones
// at all, Windows numbers processes like handles, by fours, of which there are at
// most 2^24.
var maxPID = func() uint32 {
	if onWindows {
		return 1 << 26
	}
	return 1 << 22
}()

// plausible says whether n entries of that length make sense.
func plausible(b []byte, n, stride int) bool {
	if n*stride > len(b) {
		return false
	}
	for i := range n {
		p := entry(b, i, stride)
		switch {
		case p.PID == 0 || p.PID > maxPID,
			p.UsedGPUMemory != NotAvailable && p.UsedGPUMemory > 1<<50,
			p.GPUInstanceID != NoInstance && p.GPUInstanceID > 1<<12,
			p.ComputeInstanceID != NoInstance && p.ComputeInstanceID > 1<<12:
			return false
		}
	}
	return true
}

// ProcessDetail is an entry of [Device.RunningProcessDetailList].
type ProcessDetail struct {
	Process
	// ProtectedMemory is the memory used under confidential computing, in
	// bytes, or [NotAvailable].
	ProtectedMemory uint64
}

// RunningProcessDetailList returns a list of processes with their protected
// memory (Hopper and later).
//
// Calls nvmlDeviceGetRunningProcessDetailList (driver 535.104).
func (d Device) RunningProcessDetailList(kind ListKind) ([]ProcessDetail, error) {
	const fn = gen.FnDeviceGetRunningProcessDetailList
	f, err := d.enter(fn)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	list, r := callList(f, fn, 0, loadHint, func(f *frame, n *uint32, list *gen.ProcessDetail_v1_t) gen.Return_t {
		f.pin.Pin(list)
		defer f.pin.Unpin()
		q := scratch[gen.ProcessDetailList_v1_t](f)
		*q = gen.ProcessDetailList_v1_t{Version: gen.VersionProcessDetailList_v1, Mode: uint32(kind), NumProcArrayEntries: *n, ProcArray: address(list)}
		r := f.raw().DeviceGetRunningProcessDetailList(f.c, f.h, q)
		*n = q.NumProcArrayEntries
		return r
	})
	if r != Success {
		return nil, f.fail(fn, r)
	}
	out := make([]ProcessDetail, len(list))
	for i := range list {
		p := &list[i]
		out[i] = ProcessDetail{Process{p.Pid, p.UsedGpuMemory, p.GpuInstanceId, p.ComputeInstanceId}, p.UsedGpuCcProtectedMemory}
	}
	return out, nil
}

// ProcessLoad is the load that a process put on a GPU, in percent of a sample
// period of its own: the sum over processes is not the load of the GPU.
type ProcessLoad struct {
	PID                          uint32
	Time                         uint64 // microseconds since 1970
	SM, Memory, Encoder, Decoder uint32
	// JPEG and OFA are known with JPEGKnown only.
	JPEG, OFA uint32
	JPEGKnown bool
}

// ProcessUtilization returns the load of the processes that did something since
// lastSeen, the newest Time of the answer before; 0 asks for all that the driver
// remembers, which are averages over a long time. A process may be there more
// than once. Where no process did anything the list is empty. It costs about
// 2 ms; with MIG there is no answer.
//
// Calls nvmlDeviceGetProcessesUtilizationInfo (driver 550), then
// nvmlDeviceGetProcessUtilization.
func (d Device) ProcessUtilization(lastSeen uint64) ([]ProcessLoad, error) {
	return d.AppendProcessUtilization(nil, lastSeen)
}

// AppendProcessUtilization is [Device.ProcessUtilization] that appends to dst.
func (d Device) AppendProcessUtilization(dst []ProcessLoad, lastSeen uint64) ([]ProcessLoad, error) {
	const fn, older = gen.FnDeviceGetProcessesUtilizationInfo, gen.FnDeviceGetProcessUtilization
	f, err := d.enter(fn)
	if err != nil {
		return dst, err
	}
	defer f.leave()
	steps := [...]step[int]{
		{fn, func(f *frame, place int) (int, Return) {
			list, r := callList(f, fn, place, loadHint, func(f *frame, n *uint32, list *gen.ProcessUtilizationInfo_v1_t) gen.Return_t {
				f.pin.Pin(list)
				defer f.pin.Unpin()
				info := scratch[gen.ProcessesUtilizationInfo_v1_t](f)
				*info = gen.ProcessesUtilizationInfo_v1_t{Version: gen.VersionProcessesUtilizationInfo_v1,
					ProcessSamplesCount: *n, LastSeenTimeStamp: lastSeen, ProcUtilArray: address(list)}
				r := f.raw().DeviceGetProcessesUtilizationInfo(f.c, f.h, info)
				*n = info.ProcessSamplesCount
				return r
			})
			for i := range list {
				p := &list[i]
				if p.Pid == 0 && p.TimeStamp == 0 {
					continue // counted, but not filled
				}
				dst = append(dst, ProcessLoad{PID: p.Pid, Time: p.TimeStamp, SM: p.SmUtil, Memory: p.MemUtil,
					Encoder: p.EncUtil, Decoder: p.DecUtil, JPEG: p.JpgUtil, OFA: p.OfaUtil, JPEGKnown: true})
			}
			return len(list), idle(r)
		}},
		{older, func(f *frame, place int) (int, Return) {
			list, r := callList(f, older, place, loadHint, func(f *frame, n *uint32, list *gen.ProcessUtilizationSample_t) gen.Return_t {
				return f.raw().DeviceGetProcessUtilization(f.c, f.h, list, n, lastSeen)
			})
			for i := range list {
				p := &list[i]
				if p.Pid == 0 && p.TimeStamp == 0 {
					continue // counted, but not filled
				}
				dst = append(dst, ProcessLoad{PID: p.Pid, Time: p.TimeStamp, SM: p.SmUtil, Memory: p.MemUtil,
					Encoder: p.EncUtil, Decoder: p.DecUtil})
			}
			return len(list), idle(r)
		}},
	}
	at, r := climb(&d.s.works[chainProcessLoad], 0, len(steps), func(place int) Return {
		_, r := steps[place].call(f, place)
		return r
	})
	return dst, f.fail(steps[at].fn, r)
}

// loadHint is the room for process loads: drivers ask for 100 entries whatever
// runs, and more are rare.
const loadHint = 128

// idle takes "not found" for what it means here: nothing ran.
func idle(r Return) Return {
	if r == ErrNotFound {
		return Success
	}
	return r
}

// ProcessName returns the name of a process as the driver knows it: the path of
// the program, perhaps with arguments. Processes of other users are answered
// with [ErrNoPermission], dead ones with [ErrNotFound].
//
// Calls nvmlSystemGetProcessName.
func (l *Library) ProcessName(pid uint32) (string, error) {
	const fn, size = gen.FnSystemGetProcessName, 1024
	f, err := l.enter(nil, nil, fn)
	if err != nil {
		return "", err
	}
	defer f.leave()
	if !f.begin(fn, 0) {
		return "", f.fail(fn, ErrFunctionNotFound)
	}
	b := f.text(size)
	if r := f.end(f.raw().SystemGetProcessName(f.c, pid, &b[0], size)); r != Success {
		return "", f.fail(fn, r)
	}
	return gostring(b), nil
}
