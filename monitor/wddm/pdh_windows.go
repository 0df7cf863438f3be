package wddm

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	pdhDLL                 = windows.NewLazySystemDLL("pdh.dll")
	pdhOpenQuery           = pdhDLL.NewProc("PdhOpenQueryW")
	pdhAddEnglishCounter   = pdhDLL.NewProc("PdhAddEnglishCounterW")
	pdhCollectQueryData    = pdhDLL.NewProc("PdhCollectQueryData")
	pdhGetFormattedCounter = pdhDLL.NewProc("PdhGetFormattedCounterArrayW")
)

// call calls a function that answers with a status, which one that is not there does
// too. What its arguments point to stays where it is, as in LazyProc.Call.
//
//go:uintptrescapes
func call(calls calling, p *windows.LazyProc, args ...uintptr) status {
	calls(p.Name)
	if p.Find() != nil {
		return noFunction
	}
	r, _, _ := p.Call(args...)
	return status(r)
}

// query is the query of the whole run: a load is what came since the time before.
type query struct {
	handle uintptr
	each   [numCounters]counter
}

// counter is one with all its instances.
type counter struct {
	path   string
	handle uintptr
	added  status
	tried  time.Time
	buffer growing
}

func newQuery() *query {
	q := &query{}
	for i := range q.each {
		q.each[i].path = path(i)
	}
	return q
}

func (q *query) read(calls calling) (all [numCounters]list) {
	if q.handle == 0 {
		if s := call(calls, pdhOpenQuery, 0, 0, uintptr(unsafe.Pointer(&q.handle))); s != valid {
			q.handle = 0
			for i := range all {
				all[i].failed = s.failed("PdhOpenQueryW")
			}
			return all
		}
	}
	for i := range q.each {
		q.each[i].add(calls, q.handle)
	}
	collected := call(calls, pdhCollectQueryData, q.handle)
	for i := range q.each {
		all[i] = q.each[i].list(calls, collected)
	}
	return all
}

// add adds the counter to the query, by its English name whatever the language of the
// system. One that is not there may come with a driver.
func (c *counter) add(calls calling, query uintptr) {
	if c.handle != 0 || !c.tried.IsZero() && time.Since(c.tried) < renew {
		return
	}
	c.tried = time.Now()
	path, _ := windows.UTF16PtrFromString(c.path)
	if c.added = call(calls, pdhAddEnglishCounter, query, uintptr(unsafe.Pointer(path)), 0, uintptr(unsafe.Pointer(&c.handle))); c.added != valid {
		c.handle = 0
	}
}

// list returns the instances, where the query was answered.
func (c *counter) list(calls calling, collected status) list {
	if c.added != valid {
		return list{failed: c.added.failed("PdhAddEnglishCounterW")}
	}
	if !collected.good() {
		return list{failed: collected.failed("PdhCollectQueryData")}
	}
	const double, above100 = 0x200, 0x8000
	var n uint32
	s := c.buffer.fill(func(buffer []uint64) (uint32, status) {
		size := uint32(len(buffer) * 8)
		s := call(calls, pdhGetFormattedCounter, c.handle, double|above100,
			uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))))
		return size, s
	})
	if !s.good() {
		return list{failed: s.failed("PdhGetFormattedCounterArrayW")}
	}
	of := list{failed: fine}
	if data := unsafe.Pointer(unsafe.SliceData(c.buffer.words)); data != nil && s != noInstance {
		of.values = items(unsafe.Slice((*byte)(data), len(c.buffer.words)*8), uint64(uintptr(data)), n)
	}
	return of
}
