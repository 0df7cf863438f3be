package driver

import (
	"errors"
	"strings"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/nvml"
)

// failure says why an error of NVML left a reading without a value.
func failure(err error) (monitor.Reason, monitor.CallError) {
	if errors.Is(err, errTurn) {
		return monitor.Timeout, monitor.NewCallError("nvmlGpmSampleGet", "", 0)
	}
	var e *nvml.Error
	if !errors.As(err, &e) {
		return monitor.DriverError, monitor.CallError{}
	}
	name, code := "", int32(0)
	if e.Return > nvml.Success { // the binding's own codes are no answers of the driver
		name, code = e.Return.String(), int32(e.Return)
	}
	return reason(e.Return), monitor.NewCallError(e.Function, name, code)
}

// reason sorts NVML's codes; unknown numbers are errors of the driver.
func reason(r nvml.Return) monitor.Reason {
	switch r {
	case nvml.ErrNotSupported, nvml.ErrFunctionNotFound, nvml.ErrVgpuEccNotSupported,
		nvml.ErrFreqNotSupported, nvml.ErrArgumentVersion, nvml.ErrDeprecated:
		return monitor.NotSupported
	case nvml.ErrNoPermission, nvml.ErrOperatingSystem:
		return monitor.NoPermission
	case nvml.ErrNotFound, nvml.ErrNoData:
		return monitor.NotFound
	case nvml.ErrTimeout:
		return monitor.Timeout
	case nvml.ErrGPUIsLost, nvml.ErrResetRequired:
		return monitor.GPULost
	case nvml.ErrImplausible:
		return monitor.Implausible
	}
	return monitor.DriverError
}

// code returns NVML's code of an error, Success for nil.
//
// Inlined, it would make the program 4 kB larger.
//
//go:noinline
func code(err error) nvml.Return {
	if err == nil {
		return nvml.Success
	}
	var r nvml.Return
	if errors.As(err, &r) {
		return r
	}
	return nvml.ErrUnknown
}

// name is NVML's name of a code, "" where it has none: its text has the number
// then.
func name(r nvml.Return) string {
	if !r.Known() {
		return ""
	}
	return r.String()
}

// isLost says that the GPU is off the bus or needs a reset.
func isLost(err error) bool { return err != nil && reason(code(err)) == monitor.GPULost }

// isWhole says that the library cannot go on: it is not initialised any more, or
// the driver behind it is gone or another.
func isWhole(err error) bool {
	switch code(err) {
	case nvml.ErrUninitialized, nvml.ErrDriverNotLoaded, nvml.ErrLibRMVersionMismatch:
		return true
	}
	return false
}

// isGone says that the GPU does not answer, and may answer a new handle or a new
// initialisation: unlike one that may not be opened.
func isGone(err error) bool {
	switch code(err) {
	case nvml.ErrUnknown, nvml.ErrTimeout, nvml.ErrNotFound, nvml.ErrInvalidArgument, nvml.ErrGPUNotFound:
		return true
	}
	return isLost(err) || isWhole(err)
}

// isRefused says that the call was refused for good.
func isRefused(err error) bool { return err != nil && reason(code(err)) == monitor.NotSupported }

// text makes a text of a result. Nothing is no text.
func text(v string, err error) monitor.Text {
	if err != nil {
		why, call := failure(err)
		return monitor.Text{Reason: why, Err: call}
	}
	if strings.TrimSpace(v) == "" {
		return monitor.UnknownText(monitor.Implausible)
	}
	return monitor.OfText(strings.ToValidUTF8(v, "\uFFFD"))
}

// reading is the value of a call, or the reason why there is none.
func reading(v monitor.Reading, err error) monitor.Reading {
	if err != nil {
		why, call := failure(err)
		return monitor.Failed(why, call)
	}
	return v
}

// status says whether a list was read.
func status(err error) monitor.Status {
	if err != nil {
		why, call := failure(err)
		return monitor.Status{Reason: why, Err: call}
	}
	return monitor.Status{Reason: monitor.Known}
}

// gate keeps a call that was refused for good from being made again too soon,
// where a query makes several. Its zero value is open.
type gate struct {
	until time.Time
	err   error
}

// shut returns the refusal that is still good, nil where there is none.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (g *gate) shut(now time.Time) error {
	if g.err != nil && now.Before(g.until) {
		return g.err
	}
	return nil
}

// note remembers the answer of the call.
func (g *gate) note(err error, now time.Time) {
	g.err = nil
	if isRefused(err) {
		g.err, g.until = err, now.Add(reprobe-slack)
	}
}
