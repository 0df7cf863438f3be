//go:build !windows

package live

import (
	"os"

	"golang.org/x/sys/unix"
)

// crash takes the standard error of this process away from the terminal while
// the live screen is up: what a crash prints goes to the driver process, which
// writes it to a file.
type crash struct {
	r, w  *os.File
	saved int // the standard error as it was; -1 while it is in its place
}

func newCrash() *crash {
	c := &crash{saved: -1}
	var err error
	if c.r, c.w, err = os.Pipe(); err != nil {
		c.r, c.w = nil, nil // done without
	}
	return c
}

// reader is the end for the driver process, nil when there is none.
func (c *crash) reader() *os.File { return c.r }

// redirect begins; where it cannot, it is done without.
func (c *crash) redirect() {
	if c.w == nil {
		return
	}
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 10)
	if err != nil {
		return
	}
	if err := dup(int(c.w.Fd()), 2); err != nil {
		unix.Close(saved)
		return
	}
	c.saved = saved
}

func (c *crash) restore() {
	if c.saved >= 0 {
		_ = dup(c.saved, 2)
		unix.Close(c.saved)
		c.saved = -1
	}
}

func (c *crash) close() {
	c.restore()
	if c.w != nil {
		c.r.Close()
		c.w.Close()
	}
}
