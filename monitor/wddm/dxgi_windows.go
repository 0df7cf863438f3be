package wddm

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor"
)

var (
	dxgiDLL                   = windows.NewLazySystemDLL("dxgi.dll")
	createDXGIFactory1        = dxgiDLL.NewProc("CreateDXGIFactory1")
	gdi32DLL                  = windows.NewLazySystemDLL("gdi32.dll")
	d3dkmtOpenAdapterFromLUID = gdi32DLL.NewProc("D3DKMTOpenAdapterFromLuid")
	d3dkmtQueryAdapterInfo    = gdi32DLL.NewProc("D3DKMTQueryAdapterInfo")
	d3dkmtCloseAdapter        = gdi32DLL.NewProc("D3DKMTCloseAdapter")
	iidFactory1               = windows.GUID{Data1: 0x770aae78, Data2: 0xf26f, Data3: 0x4dba, Data4: [8]byte{0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}}
)

// system is DXGI. It keeps the factory of the last list, which knows when that is of
// yesterday.
type system struct{ factory *object }

// object is a COM object, of which methods is the table of its functions (dxgi.h).
type object struct{ methods *[14]uintptr }

const (
	release      = 2  // of any
	getDesc1     = 10 // of IDXGIAdapter1
	enumAdapters = 12 // EnumAdapters1 of IDXGIFactory1
	isCurrent    = 13 // likewise
)

//go:uintptrescapes
func (o *object) call(method int, args ...uintptr) status {
	r, _, _ := syscall.SyscallN(o.methods[method], append([]uintptr{uintptr(unsafe.Pointer(o))}, args...)...)
	return status(r)
}

// desc1 is DXGI_ADAPTER_DESC1.
type desc1 struct {
	description                      [128]uint16
	vendor, device, subsys, revision uint32
	video, system, shared            uintptr // memory in bytes
	id                               windows.LUID
	flags                            uint32
}

const software = 2 // DXGI_ADAPTER_FLAG_SOFTWARE, a bit

// list makes another factory: one does not hear of new adapters.
func (y *system) list(calls calling) ([]adapter, monitor.Reading) {
	if y.factory != nil {
		y.factory.call(release)
		y.factory = nil
	}
	var factory *object
	if s := call(calls, createDXGIFactory1, uintptr(unsafe.Pointer(&iidFactory1)), uintptr(unsafe.Pointer(&factory))); s != valid || factory == nil {
		return nil, s.failed("CreateDXGIFactory1")
	}
	y.factory = factory
	return factory.adapters(calls)
}

// current asks the factory. Where there is none the list is looked for again for
// other reasons.
func (y *system) current(calls calling) bool {
	if y.factory == nil {
		return true
	}
	calls("IDXGIFactory1::IsCurrent")
	return y.factory.call(isCurrent) != 0
}

const enumAdaptersName = "IDXGIFactory1::EnumAdapters1"

// adapters lists those of a factory.
func (o *object) adapters(calls calling) ([]adapter, monitor.Reading) {
	var all []adapter
	for i := uintptr(0); ; i++ {
		var of *object
		calls(enumAdaptersName)
		s := o.call(enumAdapters, i, uintptr(unsafe.Pointer(&of)))
		if s == dxgiNotFound {
			return all, fine
		}
		if s != valid || of == nil {
			return nil, s.failed(enumAdaptersName)
		}
		var d desc1
		s = of.call(getDesc1, uintptr(unsafe.Pointer(&d)))
		of.call(release)
		if s != valid {
			continue // it went just now
		}
		a := adapter{
			id: luid(int64(d.id.HighPart)<<32 | int64(d.id.LowPart)), name: windows.UTF16ToString(d.description[:]),
			vendor: d.vendor, device: d.device, software: d.flags&software != 0, dedicated: uint64(d.video), shared: uint64(d.shared),
		}
		a.bus, a.slot, a.located = located(calls, d.id)
		all = append(all, a)
	}
}

// located asks the kernel where on the PCI bus an adapter is (d3dkmthk.h).
func located(calls calling, id windows.LUID) (bus, slot uint32, ok bool) {
	var at struct{ bus, device, function uint32 } // D3DKMT_ADAPTERADDRESS
	open := struct {                              // D3DKMT_OPENADAPTERFROMLUID
		id     windows.LUID
		handle uint32
	}{id: id}
	if call(calls, d3dkmtOpenAdapterFromLUID, uintptr(unsafe.Pointer(&open))) != valid {
		return 0, 0, false
	}
	ask := struct { // D3DKMT_QUERYADAPTERINFO
		handle, kind uint32
		data         unsafe.Pointer
		size         uint32
	}{open.handle, 6, unsafe.Pointer(&at), uint32(unsafe.Sizeof(at))} // KMTQAITYPE_ADAPTERADDRESS
	s := call(calls, d3dkmtQueryAdapterInfo, uintptr(unsafe.Pointer(&ask)))
	call(calls, d3dkmtCloseAdapter, uintptr(unsafe.Pointer(&open.handle)))
	// One that is on no bus has all ones.
	return at.bus, at.device, s == valid && at.bus < 256 && at.device < 32
}
