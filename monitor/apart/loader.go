package apart

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"nvtop-lite/internal/twomode"
	"nvtop-lite/monitor"
)

// startChild starts the driver process, through the host's loader where this
// program runs without one and it has something to load. It says in setup why a
// process that runs without one too will load nothing.
func (c *Client) startChild(setup *Setup, attr *os.ProcAttr) (child *os.Process, loaded bool, err error) {
	if twomode.Static() && !setup.Demo && !setup.Idle && c.unloadable == nil {
		child, err := startLoaded(attr)
		if c.loads || !errors.As(err, &c.unloadable) {
			return child, true, err
		}
	}
	setup.Unloadable = c.unloadable
	program, argv := again()
	if c.opts.Start != nil {
		c.opts.Start(&program, attr)
	}
	child, err = os.StartProcess(program, append(argv, Argument), attr)
	return child, false, err
}

// unloadableHere is why this process can load no library, nil where it can. No
// driver process could be started, and why.
func (c *Client) unloadableHere(why string) *monitor.OpenError {
	if twomode.Static() && c.unloadable == nil {
		return &monitor.OpenError{
			Cause: monitor.CauseNoLoader,
			What:  "without a driver process (" + why + ") the driver's library cannot be loaded",
			Hint:  plainFile,
		}
	}
	return c.unloadable
}

// plainFile is what to do where the host's loader is there and does not serve.
const plainFile = "use the plain file of the same release, nvtop-lite-linux-ARCH-glibc, which the system itself starts through its loader"

// notThrough says that a loader did not get as far as this program. Where a
// library of the C library is lacking, the plain file would lack it, too.
func notThrough(why string) *monitor.OpenError {
	e := &monitor.OpenError{
		Cause: monitor.CauseNoLoader,
		What:  "the system's loader does not load nvtop-lite: " + why,
		Hint:  plainFile,
	}
	if strings.Contains(why, "libraries: lib") {
		e.Hint = "the C library of this system (glibc) is not whole: install it anew, or run nvtop-lite on the host, or in an image that has glibc"
	}
	return e
}

// noStart is that no driver process could be started. What has gone before may go
// again, and what is scarce may be there again; a program that runs without a
// loader cannot do without.
func (c *Client) noStart(err error) fall {
	scarce := errors.Is(err, syscall.EAGAIN) || twomode.Static() && isScarce(err)
	return fall{nostart: err, scarce: c.loads || scarce}
}

// isScarce reports whether something was lacking that may be there again.
func isScarce(err error) bool {
	for _, lack := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}
