// Package apart keeps the driver out of the process that draws. It starts the
// program a second time as the driver process, which reads the GPUs and sends
// snapshots over a pipe, and starts it again when it dies. The two share pipes
// only: a call that never returns, or a fault inside the driver's library,
// costs fresh numbers and nothing else. The driver process is also the one that
// puts the terminal right when the program that draws is killed.
package apart

import (
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/sample"
)

// name is what a driver process is called in lists of processes.
const name = "nvtop-lite"

// Argument is the command by which the program is started as the driver
// process.
const Argument = "__driver"

// Setup tells the driver process what to read. It crosses the pipe as JSON.
type Setup struct {
	Demo     bool            // a simulated machine
	NVML     string          // this library and no other; "" searches
	Root     string          // where /proc and /sys are read; "" is /
	Wake     bool            // do not spare sleeping GPUs
	Complete bool            // as sample.Config.Complete
	Count    int             // as sample.Config.Count
	Timeout  time.Duration   // as sample.Config.Timeout
	Request  monitor.Request // the first one
	Fell     bool            // the driver process before this one ended by itself
	Idle     bool            // read nothing: the process is there to put the terminal right alone

	// Unloadable is why the process that reads this can load no library; nil where
	// it can.
	Unloadable *monitor.OpenError

	// Notes asks for an account of every call into the driver's library. Note is
	// what passes it on; Build finds it set.
	Notes bool
	Note  func([]byte) `json:"-"`
}

// Build makes the sampler of a setup; the program's rooms are wired there.
type Build func(Setup, []monitor.Warning) (*sample.Sampler, error)

// Event is what a Client hears.
type Event struct {
	Snapshot *monitor.Snapshot  // nil with the others
	Note     []byte             // a part of the account that Setup.Notes asked for
	Failed   *monitor.OpenError // nothing can be read; the last event
	Done     bool               // all that was asked for was delivered; the last event
}
