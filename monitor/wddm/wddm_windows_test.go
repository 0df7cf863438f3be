package wddm

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor"
)

// TestWindows asks the system that the test runs on, whatever it has: each list is
// there, or says why not, also where the stack grows and memory is moved in between.
func TestWindows(t *testing.T) {
	q := newQuery()
	dxgi := &system{}
	called := ""
	calls := func(function string) { called = function }
	for range 3 {
		for i, of := range q.read(calls) {
			path := path(i)
			if !of.failed.Known() {
				if of.failed.Err.Function() == "" && of.failed.Reason != monitor.NotSampled {
					t.Errorf("%s: no call to blame: %+v", path, of.failed)
				}
				t.Logf("%s: %s, %s answered %s", path, of.failed.Reason, of.failed.Err.Function(), of.failed.Err.Name())
			}
			for _, v := range of.values {
				_, process := parse(v.name)
				if _, adapter := parseAdapter(v.name); !process && !adapter {
					t.Logf("%s: %q is neither a process nor an adapter", path, v.name)
				}
			}
		}
		if !strings.HasPrefix(called, "Pdh") {
			t.Errorf("the last call was %s", called)
		}
		list, why := dxgi.list(calls)
		if strings.HasPrefix(called, "Pdh") {
			t.Errorf("the last call was %s", called)
		}
		if !dxgi.current(calls) {
			t.Error("what was listed just now is of yesterday")
		}
		if !why.Known() && why.Err.Function() == "" {
			t.Errorf("no adapters, and no call to blame: %+v", why)
		}
		if !why.Known() {
			t.Logf("adapters: %s, %s answered %s", why.Reason, why.Err.Function(), why.Err.Name())
		}
		for _, a := range list {
			t.Logf("%+v", a)
		}
		runtime.GC()
	}
}

// TestCounter reads a counter that every Windows has, as those of GPUs are read.
func TestCounter(t *testing.T) {
	q := newQuery()
	q.each[0].path, q.each[1].path = `\Processor(*)\% Idle Time`, `\No Such Object(*)\Local Usage`
	calls := func(string) {}
	q.read(calls)
	windows.SleepEx(300, false)
	all := q.read(calls)
	got, none := all[0], all[1]
	if q.each[0].added != valid {
		t.Skipf("this system has no counter of processors: %#x", q.each[0].added)
	}
	if none.failed.Known() || none.failed.Err.Function() != "PdhAddEnglishCounterW" {
		t.Errorf("a counter that does not exist: %+v", none)
	}
	if !got.failed.Known() {
		t.Skipf("this system's PDH has no lists: %s answered %s", got.failed.Err.Function(), got.failed.Err.Name())
	}
	for _, v := range got.values {
		if v.name == "_Total" && v.number >= 0 {
			return
		}
	}
	t.Errorf("%+v", got.values)
}

// TestSizes: structs are as large as in the C headers.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(desc1{}); n != 312 || unsafe.Offsetof(desc1{}.id) != 296 || unsafe.Offsetof(desc1{}.flags) != 304 {
		t.Errorf("DXGI_ADAPTER_DESC1 has %d bytes", n)
	}
}

// TestAdapters lists the adapters of a stand-in for DXGI: its methods are called by
// their numbers, until there are no more adapters, and each is released.
func TestAdapters(t *testing.T) {
	other := windows.NewCallback(func(of uintptr) uintptr {
		t.Error("another method was called")
		return 0x80004001 // E_NOTIMPL
	})
	table := func(number int, f any) (methods [14]uintptr) {
		for i := range methods {
			methods[i] = other
		}
		methods[number] = windows.NewCallback(f)
		return methods
	}
	names := []string{"NVIDIA GeForce RTX 4090", "gone", "Microsoft Basic Render Driver"}
	released := 0
	methods := table(getDesc1, func(of *numbered, d *desc1) uintptr {
		if names[of.number] == "gone" {
			return 0x887A0005 // DXGI_ERROR_DEVICE_REMOVED
		}
		name, _ := windows.UTF16FromString(names[of.number])
		copy(d.description[:], name)
		d.vendor, d.device, d.flags = []uint32{nvidia, 0, 0x1414}[of.number], 0x2684, []uint32{0, 0, 3}[of.number]
		d.video, d.shared = 24<<30, 32<<30
		d.id = windows.LUID{LowPart: 0xFFFF0000 + uint32(of.number), HighPart: -1}
		return 0
	})
	methods[release] = windows.NewCallback(func(*numbered) uintptr { released++; return 0 })
	all := make([]numbered, len(names))
	for i := range all {
		all[i] = numbered{object{&methods}, i}
	}
	last := dxgiNotFound
	factory := table(enumAdapters, func(_ *object, i uintptr, out **numbered) uintptr {
		if int(i) >= len(all) {
			return uintptr(last)
		}
		*out = &all[i]
		return 0
	})
	o := &object{&factory}
	calls := func(string) {}
	got, why := o.adapters(calls)
	want := []adapter{
		{id: luid(-1<<32 + 0xFFFF0000), name: names[0], vendor: nvidia, device: 0x2684, dedicated: 24 << 30, shared: 32 << 30},
		{id: luid(-1<<32 + 0xFFFF0002), name: names[2], vendor: 0x1414, device: 0x2684, dedicated: 24 << 30, shared: 32 << 30, software: true},
	}
	if !why.Known() || !slices.Equal(got, want) || released != len(all) {
		t.Errorf("%+v, %+v, %d released, want %+v", got, why, released, want)
	}
	last = 0x887A0005
	if got, why = o.adapters(calls); got != nil || why.Reason != monitor.DriverError || why.Err.Function() != "IDXGIFactory1::EnumAdapters1" {
		t.Errorf("%+v, %+v of a list that breaks off", got, why)
	}
	// The factory that is kept tells when its list is of yesterday.
	now := uintptr(1)
	factory[isCurrent] = windows.NewCallback(func(*object) uintptr { return now })
	kept := &system{factory: o}
	if !kept.current(calls) {
		t.Error("the list is of yesterday")
	}
	if now = 0; kept.current(calls) {
		t.Error("the list is still good")
	}
	runtime.KeepAlive(all)
}

// numbered is an adapter of the stand-in.
type numbered struct {
	object
	number int
}
