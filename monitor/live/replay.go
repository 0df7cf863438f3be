package live

import (
	"runtime"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor/record"
	"nvtop-lite/monitor/screen"
)

const (
	shortSeek = 10 * time.Second
	longSeek  = 10 * time.Minute
)

// speeds are the steps of < and >.
var speeds = []float64{0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// player is what the keys ask of a record.Player.
type player interface {
	Pause(on bool)
	Step(n int)
	SetSpeed(speed float64)
	SeekTo(t time.Time)
	SeekBy(d time.Duration)
	Home()
	End()
}

// replay shows a recording. The driver process reads nothing; it is there for the
// terminal of a screen that is killed.
func replay(o Options) error {
	runtime.GOMAXPROCS(2) // one draws, one reads
	defer o.Player.Close()
	crash := newCrash()
	defer crash.close()
	u := newUI(o)
	u.crash = crash
	u.client = o.Client(crash.reader())
	defer u.client.Close()
	u.player, u.frames = o.Player, o.Player.Frames()
	u.view.Replay = &screen.Replay{Speed: 1}

	// What cannot be read at all is said on the user's own screen.
	select {
	case f := <-u.frames:
		if err := u.takeFrame(f); err != nil {
			return err
		}
	case <-time.After(firstWait):
	}
	return u.run(crash.redirect)
}

// takeFrame takes what the player yields. Its error is that of a recording of
// which nothing was shown.
func (u *ui) takeFrame(f record.Frame) error {
	r := u.view.Replay
	if f.Err != nil {
		if u.snap == nil && f.Snapshot == nil {
			return f.Err
		}
		r.Failed, r.Jumping = f.Err.Error(), false
	}
	if f.Snapshot == nil {
		return nil
	}
	if r.Broken == 0 && f.State.Broken > 0 {
		u.notice("broken lines are passed over")
	}
	st := &f.State
	if u.snap == nil {
		// Afterwards the keys alone decide; a frame may be older than the last of them.
		r.Paused, r.Speed = st.Paused, st.Speed
	}
	r.BrokenMore = st.Broken >= record.MaxBroken
	r.AtEnd, r.Seeking, r.Broken, r.First, r.Last = st.AtEnd, st.Seeking, st.Broken, st.First, st.Last
	if f.Again {
		return nil
	}
	if st.Missing > 0 {
		r.Missing, r.Resumed, u.missed = st.Missing, f.Snapshot.Time, time.Now()
		u.view.Notice = "" // it stands in the same line
	} else if f.Sought {
		r.Missing = 0
	}
	if f.Sought {
		u.hist.Reset()
		for _, s := range f.Before {
			u.hist.Add(s)
		}
	}
	for _, s := range f.Skipped {
		u.hist.Add(s)
	}
	u.snap = f.Snapshot
	u.hist.Add(u.snap)
	return nil
}

// recorded makes the time of the snapshot that of the screen, and forgets a gap
// that was shown for a while.
func (u *ui) recorded(now time.Time) {
	r := u.view.Replay
	if u.snap == nil {
		return
	}
	u.view.Now = u.snap.Time.In(now.Location())
	if !r.Resumed.Equal(u.snap.Time) && now.Sub(u.missed) > noticeFor {
		r.Missing = 0
	}
}

// pressInReplay does what a key says to the player; it reports whether it says
// anything.
func (u *ui) pressInReplay(e ansi.Event) bool {
	switch e.Key {
	case ansi.KeyLeft:
		u.player.SeekBy(-shortSeek)
	case ansi.KeyRight:
		u.player.SeekBy(shortSeek)
	case ansi.KeyPgUp:
		u.player.SeekBy(-longSeek)
	case ansi.KeyPgDn:
		u.player.SeekBy(longSeek)
	case ansi.KeyHome:
		u.player.Home()
	case ansi.KeyEnd:
		u.player.End()
	case ansi.KeyRune:
		return u.typedInReplay(e.Rune)
	default:
		return false
	}
	return true
}

func (u *ui) typedInReplay(c rune) bool {
	r := u.view.Replay
	switch c {
	case ' ':
		r.Paused = !r.Paused
		u.player.Pause(r.Paused)
	case '.', ',':
		r.Paused = true
		if c == '.' {
			u.player.Step(1)
		} else {
			u.player.Step(-1)
		}
	case '<':
		for i := len(speeds) - 1; i >= 0; i-- {
			if speeds[i] < r.Speed {
				u.setSpeed(speeds[i])
				break
			}
		}
	case '>':
		for _, s := range speeds {
			if s > r.Speed {
				u.setSpeed(s)
				break
			}
		}
	case 't':
		if u.view.Details == screen.NoDetails && r.Failed == "" {
			r.Jumping, r.Jump, r.JumpError = true, "", ""
		}
	case '+', '=', '-', '_':
		u.notice("the interval is the recording's")
	default:
		return false
	}
	return true
}

func (u *ui) setSpeed(speed float64) {
	u.view.Replay.Speed = speed
	u.player.SetSpeed(speed)
}

// jumping reports whether a time to jump to is being typed.
func (u *ui) jumping() bool { return u.view.Replay != nil && u.view.Replay.Jumping }

// typeJump takes a key while a time is typed; it reports whether it was meant
// for that, as those are that would move in the recording.
func (u *ui) typeJump(e ansi.Event) bool {
	r := u.view.Replay
	switch e.Key {
	case ansi.KeyEnter:
		u.jump()
	case ansi.KeyLeft, ansi.KeyRight, ansi.KeyPgUp, ansi.KeyPgDn, ansi.KeyHome, ansi.KeyEnd:
	default:
		if !edit(&r.Jump, e) {
			return false
		}
		r.JumpError = ""
	}
	return true
}

// jump goes to the time that was typed, or says what is wrong with it. No time at
// all leads nowhere.
func (u *ui) jump() {
	r := u.view.Replay
	if r.Jump == "" {
		r.Jumping = false
		return
	}
	to, err := record.ParseTime(r.Jump, r.First, r.Last, time.Local)
	if err != nil {
		r.JumpError = err.Error()
		return
	}
	u.view.Notice = ""
	switch {
	case to.Before(r.First):
		u.notice("the recording begins here")
	case to.After(r.Last):
		u.notice("the recording ends here")
	}
	r.Jumping = false
	u.player.SeekTo(to)
}
