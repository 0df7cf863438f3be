package live

import (
	"time"
	"unicode/utf8"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/screen"
)

// intervals are the steps of + and -.
var intervals = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour,
}

const (
	wheelRows  = 3
	shiftCells = 8  // of a command line, a key
	maxTyped   = 64 // characters of a filter or a time
	toTheEnd   = 1 << 20
)

// press does what a key or the mouse says.
func (u *ui) press(e ansi.Event) (quit bool, err error) {
	v := &u.view
	switch e.Key {
	case ansi.KeyCtrlC:
		return true, nil
	case ansi.KeyCtrlL:
		u.writer.Invalidate()
		return false, nil
	case ansi.KeyCtrlZ:
		return false, u.suspend()
	case ansi.KeyMouse:
		return u.click(e)
	case ansi.KeyPaste:
		switch {
		case v.Typing:
			u.typeFilter(e)
		case u.jumping():
			u.typeJump(e)
		}
		return false, nil
	case ansi.KeyEsc:
		return u.escape(), nil
	}
	switch {
	case v.Signal != nil || v.Help || v.Details != screen.NoDetails:
	case v.Typing:
		if u.typeFilter(e) {
			return false, nil
		}
	case u.jumping():
		if u.typeJump(e) {
			return false, nil
		}
	}
	if e.Key == ansi.KeyRune && (e.Rune == 'q' || e.Rune == 'Q') {
		return true, nil
	}
	switch {
	case v.Signal != nil:
		u.pressInSignal(e)
	case v.Help:
		u.pressInHelp(e)
	case v.Details != screen.NoDetails:
		u.pressInDetails(e)
	default:
		return false, u.pressInView(e)
	}
	return false, nil
}

// escape closes what lies on top; it reports whether there was nothing.
func (u *ui) escape() (quit bool) {
	switch v := &u.view; {
	case v.Signal != nil:
		u.closeSignal()
	case v.Help:
		v.Help = false
	case v.Details != screen.NoDetails:
		v.Details = screen.NoDetails
	case v.Typing:
		v.Typing, v.Choice.Text = false, v.KeptText
	case u.jumping():
		v.Replay.Jumping = false
	case v.Choice.Text != "":
		v.Choice.Text = ""
	case v.Frozen:
		v.Frozen = false
	case v.Cursor != 0:
		v.Cursor = 0
	default:
		return true
	}
	return false
}

// pressInSignal chooses a signal, then asks whether to send it really. No letter
// sends anything.
func (u *ui) pressInSignal(e ansi.Event) {
	d := u.view.Signal
	if d.Outcome != "" {
		if e.Key == ansi.KeyEnter {
			u.view.Signal = nil
		}
		return
	}
	if !d.Confirm {
		if rows, ok := u.rowsOf(e); ok {
			d.Choose(rows)
		} else if e.Key == ansi.KeyEnter {
			d.Confirm, d.Yes = true, false
		}
		return
	}
	switch e.Key {
	case ansi.KeyLeft, ansi.KeyUp:
		d.Yes = false
	case ansi.KeyRight, ansi.KeyDown:
		d.Yes = true
	case ansi.KeyTab, ansi.KeyBacktab:
		d.Yes = !d.Yes
	case ansi.KeyEnter:
		if d.Yes {
			u.send()
		} else {
			u.closeSignal()
		}
	}
}

// rowsOf is by how many rows a key moves.
func (u *ui) rowsOf(e ansi.Event) (rows int, ok bool) {
	switch e.Key {
	case ansi.KeyUp:
		return -1, true
	case ansi.KeyDown:
		return 1, true
	case ansi.KeyPgUp:
		return -u.screen.Page(&u.view), true
	case ansi.KeyPgDn:
		return u.screen.Page(&u.view), true
	case ansi.KeyHome:
		return -toTheEnd, true
	case ansi.KeyEnd:
		return toTheEnd, true
	case ansi.KeyRune:
		switch e.Rune {
		case 'j':
			return 1, true
		case 'k':
			return -1, true
		}
	}
	return 0, false
}

func asksHelp(e ansi.Event) bool {
	return e.Key == ansi.KeyF1 || e.Key == ansi.KeyRune && (e.Rune == 'h' || e.Rune == '?')
}

func (u *ui) pressInHelp(e ansi.Event) {
	if rows, ok := u.rowsOf(e); ok {
		u.view.HelpScroll += rows
		return
	}
	if asksHelp(e) {
		u.view.Help = false
	}
}

func (u *ui) pressInDetails(e ansi.Event) {
	v := &u.view
	if rows, ok := u.rowsOf(e); ok {
		v.DetailScroll += rows
		return
	}
	switch {
	case e.Key == ansi.KeyEnter:
		v.Details = screen.NoDetails
	case asksHelp(e):
		v.Help = true
	case v.Details == screen.OfProcess && (e.Key == ansi.KeyF9 || e.Key == ansi.KeyRune && e.Rune == 'x'):
		u.askSignal()
	case u.player != nil:
		u.pressInReplay(e)
	}
}

// pressInView does what a key says while nothing lies over the screen.
func (u *ui) pressInView(e ansi.Event) error {
	v := &u.view
	if u.player != nil && u.pressInReplay(e) {
		return nil
	}
	if rows, ok := u.rowsOf(e); ok {
		v.Moved += rows
		return nil
	}
	if asksHelp(e) {
		v.Help = true
		return nil
	}
	switch e.Key {
	case ansi.KeyF6:
		u.sortBy(v.Choice.SortedBy().Next())
	case ansi.KeyF9:
		u.askSignal()
	case ansi.KeyTab, ansi.KeyBacktab:
		v.Focus = u.screen.OtherFocus(v)
	case ansi.KeyEnter:
		u.open()
	case ansi.KeyLeft:
		u.aside(1)
	case ansi.KeyRight:
		u.aside(-1)
	case ansi.KeyRune:
		return u.typed(e.Rune)
	}
	return nil
}

// typed does what a letter says.
func (u *ui) typed(r rune) error {
	v := &u.view
	switch r {
	case 'v':
		v.Mode, v.Scroll, v.Cursor = u.screen.NextMode(v), 0, 0
		u.notice("view: " + v.Mode.String())
	case 'g':
		if graphs, _ := u.screen.HasGraphs(); !graphs {
			u.notice("no graphs in this view")
			break
		}
		v.Graph = v.Graph.Next()
		u.notice("graphs: " + v.Graph.String())
	case 'p':
		v.ShowProcesses = !v.ShowProcesses
		u.noticeTable()
	case 'o':
		v.Joined, v.Process = !v.Joined, screen.ProcessID{}
		u.noticeTable()
	case 's':
		u.sortBy(v.Choice.SortedBy().Next())
	case 'r':
		v.Choice.Reverse = !v.Choice.Reverse
		u.thaw()
		u.noticeTable()
	case 'f':
		v.Frozen = !v.Frozen
		u.noticeTable()
	case '/':
		v.Typing, v.KeptText = true, v.Choice.Text
		u.noticeTable()
	case 'x':
		u.askSignal()
	case 'm':
		u.mouse = !u.mouse
		if u.mouse {
			u.notice("mouse on: hold Shift to select text")
		} else {
			u.notice("mouse off")
		}
		return u.term.SetMouse(u.mouse)
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
	return nil
}

// noticeTable says why a key about processes changes nothing to be seen.
func (u *ui) noticeTable() {
	switch v := &u.view; {
	case u.screen.HasTable():
	case !v.ShowProcesses:
	case u.snap != nil && len(u.snap.GPUs) > 0:
		u.notice("no room for the process table: v for another view")
	}
}

// typeFilter takes a key while the filter is typed; it reports whether it was
// meant for that.
func (u *ui) typeFilter(e ansi.Event) bool {
	v := &u.view
	switch e.Key {
	case ansi.KeyEnter:
		v.Typing = false
	default:
		return edit(&v.Choice.Text, e)
	}
	return true
}

// edit changes a line that is typed by a key; it reports whether the key was
// meant for that.
func edit(text *string, e ansi.Event) bool {
	switch e.Key {
	case ansi.KeyBackspace:
		_, n := utf8.DecodeLastRuneInString(*text)
		*text = (*text)[:len(*text)-n]
	case ansi.KeyCtrlU:
		*text = ""
	case ansi.KeyCtrlW:
		*text = withoutLastWord(*text)
	case ansi.KeyRune:
		add(text, string(e.Rune))
	case ansi.KeyPaste:
		add(text, e.Text)
	default:
		return false
	}
	return true
}

// add adds to a line that is typed, as far as there is room.
func add(text *string, s string) {
	for _, r := range ansi.Clean(s) {
		if utf8.RuneCountInString(*text) < maxTyped {
			*text += string(r)
		}
	}
}

func withoutLastWord(s string) string {
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	for s != "" && s[len(s)-1] != ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// open shows the details of what is selected.
func (u *ui) open() {
	v := &u.view
	v.DetailScroll = 0
	if u.screen.Focused(v) == screen.FocusGPUs {
		v.Details = screen.OfGPU
	} else {
		v.Details = screen.OfProcess
	}
}

// aside moves the cursor in the graphs, or shows another part of the command
// lines.
func (u *ui) aside(by int) {
	v := &u.view
	if u.screen.Focused(v) == screen.FocusProcesses {
		v.ProcShift = max(v.ProcShift-by*shiftCells, 0)
		return
	}
	if _, cursor := u.screen.HasGraphs(); cursor {
		v.Cursor = max(v.Cursor+by, 0)
	}
}

// sortBy sorts by a column; by the same one again, the other way round.
func (u *ui) sortBy(c monitor.Column) {
	if choice := &u.view.Choice; choice.SortedBy() == c {
		choice.Reverse = !choice.Reverse
	} else {
		choice.Sort, choice.Reverse = c, false
	}
	u.view.ProcScroll, u.view.Follow = 0, false
	u.thaw()
	u.noticeTable()
}

// thaw lets the order of the processes move again.
func (u *ui) thaw() {
	if u.view.Frozen {
		u.view.Frozen = false
		u.notice("the order moves again")
	}
}

// click does what the mouse says.
func (u *ui) click(e ansi.Event) (quit bool, err error) {
	v := &u.view
	switch e.Button {
	case ansi.WheelUp:
		u.screen.Wheel(v, e.X, e.Y, -wheelRows)
		return false, nil
	case ansi.WheelDown:
		u.screen.Wheel(v, e.X, e.Y, wheelRows)
		return false, nil
	case ansi.ButtonLeft:
	default:
		return false, nil
	}
	t := u.screen.Hit(e.X, e.Y)
	switch {
	case t.Kind == screen.OnHint:
		return u.press(t.Press)
	case t.Kind == screen.OnSignal && v.Signal != nil:
		u.clickSignal(t.Item)
		return false, nil
	}
	if v.Signal != nil || v.Help || v.Details != screen.NoDetails {
		return false, nil
	}
	switch t.Kind {
	case screen.OnColumn:
		u.sortBy(t.Column)
	case screen.OnProcess:
		if t.Process == v.Process {
			u.view.Details, v.DetailScroll = screen.OfProcess, 0
		}
		v.Process, v.Focus = t.Process, screen.FocusProcesses
	case screen.OnGPU:
		_, cursor := u.screen.HasGraphs()
		switch {
		case t.Age > 0 && t.Age != v.Cursor && cursor:
			v.Cursor = t.Age
		case t.Age > 0 && cursor:
			v.Cursor = 0
		case t.GPU == v.GPU:
			v.Details, v.DetailScroll = screen.OfGPU, 0
		}
		v.GPU, v.Focus = t.GPU, screen.FocusGPUs
	}
	return false, nil
}

// clickSignal chooses in the dialog, as the arrows do; Enter alone goes on from
// the second question.
func (u *ui) clickSignal(item int) {
	d := u.view.Signal
	switch {
	case d.Outcome != "":
	case d.Confirm:
		d.Yes = item == 1
	case d.Chosen == item:
		d.Confirm, d.Yes = true, false
	default:
		d.Chosen = item
	}
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
