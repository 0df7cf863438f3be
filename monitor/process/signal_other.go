//go:build !linux && !windows

package process

import (
	"errors"

	"nvtop-lite/monitor/host"
)

var signals []Signal

var errNoSignals = errors.New("signals are not supported on this system")

// system stands for systems in which no process is looked up.
type system struct{}

func newSystem(*host.Reader) system { return system{} }

func (system) identify(*Target) error           { return errNoSignals }
func (system) send(Target, Signal) error        { return errNoSignals }
func (system) alive(Target) (alive, stuck bool) { return false, false }
