package live

import (
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
)

// intervals are the steps of + and -.
var intervals = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour,
}

// press does what a key says.
func (u *ui) press(e ansi.Event) (quit bool, err error) {
	v := &u.view
	switch e.Key {
	case ansi.KeyCtrlC:
		return true, nil
	case ansi.KeyEsc:
		if !v.Help {
			return true, nil
		}
		v.Help = false
	case ansi.KeyCtrlL:
		u.writer.Invalidate()
	case ansi.KeyCtrlZ:
		return false, u.suspend()
	case ansi.KeyF1:
		v.Help = !v.Help
	case ansi.KeyF6:
		u.sortNext()
	case ansi.KeyUp:
		u.scroll(-1)
	case ansi.KeyDown:
		u.scroll(1)
	case ansi.KeyPgUp:
		u.scroll(-u.screen.Page())
	case ansi.KeyPgDn:
		u.scroll(u.screen.Page())
	case ansi.KeyHome:
		u.scroll(-1 << 20)
	case ansi.KeyEnd:
		u.scroll(1 << 20)
	case ansi.KeyRune:
		return u.typed(e.Rune), nil
	}
	return false, nil
}

// typed does what a letter says.
func (u *ui) typed(r rune) (quit bool) {
	v := &u.view
	switch r {
	case 'q', 'Q':
		return true
	case 'h', '?':
		v.Help = !v.Help
	case 'j':
		u.scroll(1)
	case 'k':
		u.scroll(-1)
	case 'v':
		v.Mode, v.Scroll = v.Mode.Next(), 0
		u.want()
	case 'p':
		v.ShowProcesses = !v.ShowProcesses
		u.want()
	case 's':
		u.sortNext()
	case 'r':
		v.Reverse = !v.Reverse
	case ' ':
		v.Paused = !v.Paused
		u.request.Paused = v.Paused
		u.client.Request(u.request)
	case '+', '=':
		u.step(1)
	case '-', '_':
		u.step(-1)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		u.toggle(int(r - '0'))
	}
	return false
}

// want tells the driver process what the view needs now.
func (u *ui) want() {
	u.request.Want = u.screen.Want(&u.view)
	u.client.Request(u.request)
}

func (u *ui) sortNext() {
	u.view.Sort = u.view.Sort.Next()
	u.view.ProcScroll = 0
}

// step makes the interval the next longer or shorter one.
func (u *ui) step(by int) {
	now := u.request.Interval
	next := now
	if by > 0 {
		for _, d := range intervals {
			if d > now {
				next = d
				break
			}
		}
	} else {
		for _, d := range intervals {
			if d < now {
				next = d
			}
		}
	}
	if next == now {
		u.notice("the interval goes from 0.1 s to 1 h")
		return
	}
	u.request.Interval = next
	u.client.Request(u.request)
	u.notice("interval " + next.String())
}

// toggle switches the GPU with an index off or on. One always stays.
func (u *ui) toggle(index int) {
	if u.snap == nil {
		return
	}
	shown, key := 0, ""
	for i := range u.snap.GPUs {
		g := &u.snap.GPUs[i]
		k := monitor.Key(g)
		if !u.view.Hidden[k] {
			shown++
		}
		if g.Index == index {
			key = k
		}
	}
	switch {
	case key == "":
		u.notice("no GPU has that number")
	case u.view.Hidden[key]:
		delete(u.view.Hidden, key)
	case shown == 1:
		u.notice("one GPU always stays")
	default:
		u.view.Hidden[key] = true
	}
}

// scroll moves what does not fit on the screen.
func (u *ui) scroll(by int) {
	if !u.view.Help {
		u.screen.Move(&u.view, by)
	}
}
