package apart

import "os"

// DropPipe makes the driver process see the end of its input, as it does when
// the program that draws is killed.
func DropPipe(c *Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to.out.(patient).File.Close()
}

// KeepRows is keepRows.
var KeepRows = keepRows

// ChildPID is the PID of the driver process, 0 before there is one.
func ChildPID(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.child == nil {
		return 0
	}
	return c.child.Pid
}

// RunOne runs one driver process to its end.
func RunOne(setup Setup, build Build, start func(*string, *os.ProcAttr)) {
	c := &Client{opts: Options{Setup: setup, Build: build, Start: start}, stop: make(chan struct{})}
	c.runOne(setup, func(Event) bool { return true })
}
