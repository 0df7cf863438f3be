package apart

import (
	"context"
	"sync"

	"nvtop-lite/monitor"
)

// runInside samples in the program itself, where no driver process can be had:
// a driver that hangs or faults then takes the program with it.
func (c *Client) runInside(setup Setup, why string, deliver func(Event) bool) {
	warning := monitor.Warning{Code: "in_process", Text: "no driver process (" + why + "): a driver that hangs or crashes takes this program with it"}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests := make(chan monitor.Request, 1)
	c.mu.Lock()
	setup.Request = c.request
	setup.Unloadable = c.unloadableHere(why)
	c.inside = requests
	c.mu.Unlock()
	go func() {
		<-c.stop
		cancel()
	}()
	// Those who watch the library's calls may have something to tell to the last,
	// when nobody listens any more.
	var notes sync.Mutex
	over := false
	setup.Note = func(b []byte) {
		notes.Lock()
		defer notes.Unlock()
		if !over {
			deliver(Event{Note: b})
		}
	}
	defer func() {
		notes.Lock()
		over = true
		notes.Unlock()
	}()
	s, err := c.opts.Build(setup, []monitor.Warning{warning})
	if err == nil {
		err = s.Run(ctx, requests, func(s *monitor.Snapshot) { deliver(Event{Snapshot: s}) })
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		deliver(Event{Done: true})
	default:
		deliver(Event{Failed: openError(err)})
	}
}
