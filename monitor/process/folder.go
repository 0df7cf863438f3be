package process

import (
	"strings"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// asked holds a place for each question after a folder that waits.
var asked = make(chan struct{}, maxPending)

// Folder returns the working directory of a process, by the name it has for
// that process: a container's own names differ from the host's. Linux only.
func Folder(h *host.Reader, p *monitor.Process) monitor.Text {
	start, ok := p.StartTicks.Int()
	switch {
	case !h.Root().Files():
		return monitor.UnknownText(monitor.NotSupported)
	case !ok:
		return monitor.UnknownText(p.StartTicks.Reason)
	}
	pid := p.PID
	return within(patience, func() monitor.Text { return newTree(h).folder(pid, uint64(start)) })
}

// within waits for an answer no longer than that. The kernel knows a folder's
// name without asking the file system, but letting go of the folder may block
// where that was unmounted meanwhile.
func within(limit time.Duration, question func() monitor.Text) monitor.Text {
	select {
	case asked <- struct{}{}:
	default:
		return monitor.UnknownText(monitor.Timeout)
	}
	answer := make(chan monitor.Text, 1)
	go func() {
		answer <- question()
		<-asked
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case text := <-answer:
		return text
	case <-timer.C:
		return monitor.UnknownText(monitor.Timeout)
	}
}

func (t *tree) folder(pid uint32, start uint64) monitor.Text {
	path, err := t.root.ReadLink(procPath(pid, "cwd"))
	// It had its PID before and has it now: the link was its own.
	var buf [1024]byte
	st, statErr := t.stat(pid, buf[:])
	switch {
	case statErr != nil:
		return monitor.UnknownText(host.Reason(statErr))
	case st.start != start:
		return monitor.UnknownText(monitor.NotFound)
	case err != nil:
		return monitor.UnknownText(host.Reason(err))
	}
	return monitor.OfText(limit(strings.ToValidUTF8(path, "\uFFFD"), maxCommand))
}
