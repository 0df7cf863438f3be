package wddm

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor"
)

// TestWindows asks the system that the test runs on, whatever it has: each list is
// there, or says why not, also where the stack grows and memory is moved in between.
func TestWindows(t *testing.T) {
	q := newQuery()
	for range 3 {
		memory, engines := q.read()
		for path, of := range map[string]list{memoryCounter: memory, engineCounter: engines} {
			if !of.failed.Known() {
				if of.failed.Err.Function() == "" && of.failed.Reason != monitor.NotSampled {
					t.Errorf("%s: no call to blame: %+v", path, of.failed)
				}
				t.Logf("%s: %s, %s answered %s", path, of.failed.Reason, of.failed.Err.Function(), of.failed.Err.Name())
			}
			for _, v := range of.values {
				if _, ok := parse(v.name); !ok {
					t.Logf("%s: %q is no process", path, v.name)
				}
			}
		}
		list, why := system{}.list()
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
	q := &query{memory: counter{path: `\Processor(*)\% Idle Time`}, engines: counter{path: `\No Such Object(*)\Local Usage`}}
	q.read()
	windows.SleepEx(300, false)
	got, none := q.read()
	if q.memory.added != valid {
		t.Skipf("this system has no counter of processors: %#x", q.memory.added)
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
