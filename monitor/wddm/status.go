package wddm

import (
	"strconv"
	"strings"

	"nvtop-lite/monitor"
)

// status is an answer of PDH, or of DXGI or the kernel, whose numbers do not overlap.
type status uint32

// Those that mean something here (pdhmsg.h, winerror.h).
const (
	valid         status = 0
	newData       status = 1          // valid, and another than before
	noInstance    status = 0x800007D1 // nobody uses a GPU
	moreData      status = 0x800007D2 // the buffer is too small
	noData        status = 0x800007D5 // nothing was collected yet
	negativeValue status = 0x800007D8
	noObject      status = 0xC0000BB8 // no GPU with WDDM 2.0
	noCounter     status = 0xC0000BB9
	invalidData   status = 0xC0000BBA // as long as an instance was seen only once
	noValidData   status = 0xC0000BC6 // the same of all instances
	pdhDenied     status = 0xC0000BDB
	dxgiNotFound  status = 0x887A0002 // the end of a list
	dxgiNoSupport status = 0x887A0004 // no adapter can be listed, as in a service without a session
	noFunction    status = 0x8007007F // ERROR_PROC_NOT_FOUND
)

var statusWords = map[status]struct {
	name string
	why  monitor.Reason
}{
	noInstance:    {"PDH_CSTATUS_NO_INSTANCE", monitor.NotFound},
	noData:        {"PDH_NO_DATA", monitor.NotSampled},
	negativeValue: {"PDH_CALC_NEGATIVE_VALUE", monitor.Implausible},
	noObject:      {"PDH_CSTATUS_NO_OBJECT", monitor.NotSupported},
	noCounter:     {"PDH_CSTATUS_NO_COUNTER", monitor.NotSupported},
	invalidData:   {"PDH_CSTATUS_INVALID_DATA", monitor.NotSampled},
	noValidData:   {"PDH_INVALID_DATA", monitor.NotSampled},
	pdhDenied:     {"PDH_ACCESS_DENIED", monitor.NoPermission},
	dxgiNoSupport: {"DXGI_ERROR_UNSUPPORTED", monitor.NotSupported},
	noFunction:    {"ERROR_PROC_NOT_FOUND", monitor.NotSupported},
}

// good says that there is a list, which may be empty.
func (s status) good() bool { return s == valid || s == newData || s == noInstance }

// failed is the reading of what could not be had because a call answered s.
func (s status) failed(call string) monitor.Reading {
	w, known := statusWords[s]
	if !known {
		w.name, w.why = "0x"+strings.ToUpper(strconv.FormatUint(uint64(s), 16)), monitor.DriverError
	}
	if w.why == monitor.NotSampled { // nothing failed: it takes two looks
		return monitor.Unknown(w.why)
	}
	return monitor.Failed(w.why, monitor.NewCallError(call, w.name, int32(s)))
}
