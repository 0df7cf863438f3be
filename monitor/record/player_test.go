package record

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nvtop-lite/monitor"
)

// show takes the next frame that is not only a state.
func show(t *testing.T, p *Player) Frame {
	t.Helper()
	for f := range p.Frames() {
		if !f.State.Seeking {
			if f.Err != nil {
				t.Fatal(f.Err)
			}
			return f
		}
	}
	t.Fatal("no more frames")
	return Frame{}
}

func numbers(all []*monitor.Snapshot) (n []int) {
	for _, s := range all {
		n = append(n, number(s))
	}
	return n
}

// files are the same recording in every kind of file.
func files(t *testing.T, l []string) map[string]string {
	dir := t.TempDir()
	ours := filepath.Join(dir, "ours.gz")
	record(t, ours, l)
	var members string
	for i := 0; i < len(l); i += 3 {
		members += flushedLines(l[i:min(i+3, len(l))])
	}
	return map[string]string{
		"plain":        write(t, "plain", join(l)),
		"ours":         ours,
		"gzip":         write(t, "x", zipped(join(l))),
		"many members": write(t, "x", members),
	}
}

// TestPlayEverywhere: wherever the player goes, it shows that snapshot, with the
// ones before it.
func TestPlayEverywhere(t *testing.T) {
	const n, history = 300, 7
	l := recording(n)
	l[150] = "broken\n"
	all := append(upTo(150), upTo(n)[151:]...)
	for name, path := range files(t, l) {
		t.Run(name, func(t *testing.T) {
			p := Play(open(t, path), PlayOptions{At: snapshot(20, 0).Time, History: history})
			defer p.Close()
			p.Pause(true)
			index := 20
			check := func(what string, f Frame, sought bool) {
				t.Helper()
				if f.Again || number(f.Snapshot) != all[index] {
					t.Fatalf("%s: %d, want %d", what, number(f.Snapshot), all[index])
				}
				if before := all[max(0, index-history):index]; sought && fmt.Sprint(numbers(f.Before)) != fmt.Sprint(before) {
					t.Fatalf("%s: %v before %d, want %v", what, numbers(f.Before), all[index], before)
				}
				if f.Sought != sought || f.State.AtStart != (index == 0) || f.State.AtEnd != (index == len(all)-1) || !f.State.Paused {
					t.Fatalf("%s: %+v", what, f.State)
				}
				if !f.State.First.Equal(start) || !f.State.Last.Equal(snapshot(n-1, 0).Time) {
					t.Fatalf("%s: of %v to %v", what, f.State.First, f.State.Last)
				}
			}
			f := show(t, p)
			for !f.State.Paused {
				f = show(t, p)
			}
			p.SeekTo(snapshot(20, 0).Time.Add(999 * time.Millisecond))
			check("start", show(t, p), true)
			random := rand.New(rand.NewPCG(1, 1))
			for range 70 {
				switch random.IntN(7) {
				case 0:
					index = random.IntN(len(all))
					p.SeekTo(snapshot(all[index], 0).Time)
					check("seek", show(t, p), true)
				case 1:
					index = 0
					p.Home()
					check("home", show(t, p), true)
				case 2:
					index = len(all) - 1
					p.End()
					check("end", show(t, p), true)
				case 3:
					if index == 0 {
						continue
					}
					d := 1 + random.IntN(20)
					index = max(0, index-d)
					p.Step(-d)
					check("back", show(t, p), true)
				case 4:
					if index == len(all)-1 {
						continue
					}
					d, old := 1+random.IntN(20), index
					index = min(len(all)-1, index+d)
					p.Step(d)
					f := show(t, p)
					check("on", f, false)
					if want := all[max(index-history, old+1):index]; fmt.Sprint(numbers(f.Skipped)) != fmt.Sprint(want) {
						t.Fatalf("on: skipped %v, want %v", numbers(f.Skipped), want)
					}
				case 5:
					d := random.IntN(40) - 20
					to := snapshot(all[index]+d, 0).Time
					moved := index
					for moved < len(all)-1 && !snapshot(all[moved+1], 0).Time.After(to) {
						moved++
					}
					for moved > 0 && snapshot(all[moved], 0).Time.After(to) {
						moved--
					}
					if moved == index {
						continue
					}
					index = moved
					p.SeekBy(time.Duration(d) * time.Second)
					check("by", show(t, p), true)
				case 6:
					index = 0
					p.SeekTo(time.Time{})
					check("long before", show(t, p), true)
				}
			}
			index = len(all) - 1
			p.SeekTo(start.Add(time.Hour))
			f = show(t, p)
			check("long after", f, true)
			p.Home()
			show(t, p)
			p.Step(n)
			f = show(t, p)
			check("all", f, false)
			if f.State.Broken != 1 {
				t.Errorf("%d broken lines", f.State.Broken)
			}
		})
	}
}

// TestPlayPaces: snapshots come as they were recorded, by the steady clock; over
// gaps no longer than an interval.
func TestPlayPaces(t *testing.T) {
	type moment struct {
		steady, wall time.Duration
		after        time.Duration // when it is shown, after the one before, at speed 1
		missing      time.Duration
	}
	second := time.Second
	moments := []moment{
		{0, 0, 0, 0},
		{second, second, second, 0},
		{2500 * time.Millisecond, -time.Hour, 1500 * time.Millisecond, 0}, // the wall clock was set back
		{3 * second, -time.Hour, second / 2, 0},
		{100 * second, 97 * second, second, 97 * second},
		{101 * second, 98 * second, second, 0},
		{10 * second, 200 * second, second, 102 * second}, // another run
		{11 * second, 201 * second, second, 0},
	}
	var text string
	for i, m := range moments {
		s := snapshot(i, 1)
		s.Time, s.Steady = start.Add(m.wall), start.Add(m.steady).UnixNano()
		s.GPUs[0].Index = i
		text += lineOf(s)
	}
	path := write(t, "x", text)
	for _, speed := range []float64{0.5, 1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			p := Play(open(t, path), PlayOptions{Speed: speed})
			last := time.Now()
			for i, m := range moments {
				f := <-p.Frames()
				if f.Err != nil || f.Snapshot.GPUs[0].Index != i {
					t.Fatalf("%d: %+v", i, f)
				}
				if got, want := time.Since(last), time.Duration(float64(m.after)/speed); got < want-time.Microsecond || got > want+time.Microsecond {
					t.Errorf("speed %v: %d comes after %v, want %v", speed, i, got, want)
				}
				if f.State.Missing != m.missing || f.State.Speed != speed || f.State.AtEnd != (i == len(moments)-1) {
					t.Errorf("%d: %+v", i, f.State)
				}
				last = time.Now()
			}
			p.Close()
			if f, ok := <-p.Frames(); ok {
				t.Errorf("after the end: %+v", f)
			}
		})
	}
}

// TestPauseAndSpeed: what has passed of a gap counts when the speed changes, and
// no time passes in a pause.
func TestPauseAndSpeed(t *testing.T) {
	path := write(t, "x", join(recording(10)))
	synctest.Test(t, func(t *testing.T) {
		p := Play(open(t, path), PlayOptions{Speed: 0.1})
		began := time.Now()
		take := func(want int, after time.Duration) {
			t.Helper()
			for f := range p.Frames() {
				if f.Again {
					continue
				}
				if got := time.Since(began); number(f.Snapshot) != want || got < after-time.Millisecond || got > after+time.Millisecond {
					t.Fatalf("%d after %v, want %d after %v", number(f.Snapshot), got, want, after)
				}
				return
			}
		}
		take(0, 0)
		time.Sleep(5 * time.Second) // half of the ten it takes
		p.SetSpeed(1)
		take(1, 5500*time.Millisecond)
		time.Sleep(400 * time.Millisecond)
		p.Pause(true)
		time.Sleep(time.Hour)
		p.Pause(false)
		began = began.Add(time.Hour)
		take(2, 6500*time.Millisecond)
		p.SetSpeed(1e9)
		if f := <-p.Frames(); f.State.Speed != maxSpeed {
			t.Errorf("speed %v", f.State.Speed)
		}
		p.Close()
		for range p.Frames() {
		}
	})
}

// TestPlayFast: at high speed there are at most 20 frames a second, and nothing
// is missing from them.
func TestPlayFast(t *testing.T) {
	const n = 2000
	l := recording(n)
	for name, path := range files(t, l) {
		synctest.Test(t, func(t *testing.T) {
			p := Play(open(t, path), PlayOptions{Speed: 100, History: 30})
			began := time.Now()
			var got []int
			frames := 0
			for f := range p.Frames() {
				if f.Err != nil {
					t.Fatal(f.Err)
				}
				frames++
				got = append(append(got, numbers(f.Skipped)...), number(f.Snapshot))
				if f.State.AtEnd {
					break
				}
			}
			if !reflect.DeepEqual(got, upTo(n)) {
				t.Errorf("%s: %v", name, got)
			}
			if took := time.Since(began); frames > int(took/framePause)+2 || took < 19*time.Second || took > 21*time.Second {
				t.Errorf("%s: %d frames in %v", name, frames, took)
			}
			p.Close()
			for range p.Frames() {
			}
		})
	}
	// What is not taken is merged, and bounded.
	synctest.Test(t, func(t *testing.T) {
		p := Play(open(t, write(t, "x", join(l))), PlayOptions{Speed: 1000, History: 30})
		time.Sleep(time.Second)
		f := <-p.Frames()
		last := number(f.Snapshot)
		if !f.Sought || len(f.Before) != 0 || !reflect.DeepEqual(numbers(f.Skipped), upTo(last)[last-30:]) || last < 900 {
			t.Errorf("%d, skipped %v", last, numbers(f.Skipped))
		}
		p.Close()
		for range p.Frames() {
		}
	})
}

// TestPlayGrows: at the end the player waits for more.
func TestPlayGrows(t *testing.T) {
	l := recording(6)
	for _, name := range []string{"a", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w := create(t, path)
		for _, line := range l[:3] {
			w.Write([]byte(line))
		}
		synctest.Test(t, func(t *testing.T) {
			p := Play(open(t, path), PlayOptions{History: 10})
			p.End()
			f := show(t, p)
			for number(f.Snapshot) != 2 {
				f = show(t, p)
			}
			for i := 3; i < 6; i++ {
				if !f.State.AtEnd || !f.State.Last.Equal(snapshot(i-1, 0).Time) {
					t.Errorf("%+v", f.State)
				}
				time.Sleep(time.Minute)
				if err := w.Write([]byte(l[i])); err != nil {
					t.Fatal(err)
				}
				if f = show(t, p); number(f.Snapshot) != i || f.Sought {
					t.Errorf("%d, want %d", number(f.Snapshot), i)
				}
			}
			p.Close()
			for range p.Frames() {
			}
		})
		w.Close()
	}
}

// TestSeekOverAGap: going on by less than a gap goes over it, and back again.
func TestSeekOverAGap(t *testing.T) {
	l := []string{lineOf(snapshot(0, 1)), lineOf(snapshot(1, 1)), lineOf(snapshot(1000, 1)), lineOf(snapshot(1001, 1))}
	p := Play(open(t, write(t, "x", join(l))), PlayOptions{History: 1})
	defer p.Close()
	p.Step(0)
	f := show(t, p)
	for !f.State.Paused {
		f = show(t, p)
	}
	p.SeekTo(snapshot(1, 0).Time)
	for number(f.Snapshot) != 1 {
		f = show(t, p)
	}
	p.SeekBy(10 * time.Second)
	if f := show(t, p); number(f.Snapshot) != 1000 || f.State.Missing != 999*time.Second {
		t.Errorf("%d, missing %v", number(f.Snapshot), f.State.Missing)
	}
	p.SeekBy(-10 * time.Second)
	if f := show(t, p); number(f.Snapshot) != 1 || f.State.Missing != 0 {
		t.Errorf("%d, missing %v", number(f.Snapshot), f.State.Missing)
	}
}

// slow calls visit before each read.
type slow struct {
	io.ReaderAt
	visit atomic.Pointer[func()]
}

func (s *slow) ReadAt(p []byte, at int64) (int, error) {
	if visit := s.visit.Load(); visit != nil {
		(*visit)()
	}
	return s.ReaderAt.ReadAt(p, at)
}

// TestInterrupt: a new wish ends the search for the one before, in a file in
// which searching takes long.
func TestInterrupt(t *testing.T) {
	l := recording(3000)
	// Twice as much of what is no snapshot, so that the middle lies far in it.
	rest, nonsense := join(l[10:]), strings.Repeat("x", 1000)+"\n"
	text := join(l[:10]) + strings.Repeat(nonsense, 2*len(rest)/len(nonsense)) + rest
	file, err := os.Open(write(t, "x", text))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		at := &slow{ReaderAt: file}
		r := newReader("x", file, at, nil, func() (int64, error) { return int64(len(text)), nil })
		p := Play(r, PlayOptions{History: 5})
		p.Pause(true)
		f := show(t, p)
		for !f.State.Paused {
			f = show(t, p)
		}
		reads := 0
		visit := func() {
			time.Sleep(100 * time.Millisecond)
			if reads++; reads == 20 {
				p.Home()
			}
		}
		at.visit.Store(&visit)
		began := time.Now()
		p.SeekTo(snapshot(2000, 0).Time)
		f = <-p.Frames()
		if !f.State.Seeking || !f.Again || time.Since(began) > time.Second {
			t.Errorf("%+v after %v", f.State, time.Since(began))
		}
		f = <-p.Frames()
		if f.State.Seeking || !f.Sought || number(f.Snapshot) != 0 {
			t.Errorf("%d %+v", number(f.Snapshot), f.State)
		}
		// Wishes that add up are not lost when one interrupts the other.
		visit = func() {
			time.Sleep(100 * time.Millisecond)
			if reads++; reads == 60 || reads == 70 || reads == 80 {
				p.SeekBy(10 * time.Second)
			}
		}
		at.visit.Store(&visit)
		reads = 50
		p.SeekBy(1970 * time.Second)
		for f = range p.Frames() {
			if !f.State.Seeking {
				break
			}
		}
		if number(f.Snapshot) != 2000 {
			t.Errorf("%d", number(f.Snapshot))
		}
		// Closing does not wait for a search.
		began = time.Now()
		reads = 100
		p.Home()
		time.Sleep(200 * time.Millisecond)
		p.Close()
		for range p.Frames() {
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}

// TestPlayErrors: what cannot be played on ends with a frame that says why.
func TestPlayErrors(t *testing.T) {
	l := recording(3)
	newer := strings.Replace(l[1], "nvtop-lite/1", "nvtop-lite/9", 1)
	for content, want := range map[string]string{
		"":                   "FILE is empty",
		"x\n":                "FILE is no recording",
		l[0] + newer:         `FILE, line 2: schema "nvtop-lite/9"`,
		newer + l[0]:         `FILE, line 1: schema "nvtop-lite/9"`,
		l[0] + newer + l[2]:  `FILE, `,
		zipped(newer + l[0]): `FILE, line 1: schema "nvtop-lite/9"`,
	} {
		path := write(t, "x", content)
		p := Play(open(t, path), PlayOptions{})
		var last Frame
		for f := range p.Frames() {
			last = f
		}
		if last.Err == nil || !strings.HasPrefix(last.Err.Error(), strings.ReplaceAll(want, "FILE", path)) || last.Snapshot != nil {
			t.Errorf("%.40q: %v, want %s", content, last.Err, want)
		}
		p.Pause(false)
		p.Close()
	}
}

// TestChoose: what is shown of each snapshot can be chosen.
func TestChoose(t *testing.T) {
	l := recording(10)
	p := Play(open(t, write(t, "x", join(l))), PlayOptions{At: start.Add(5 * time.Second), History: 3, Choose: func(s *monitor.Snapshot) *monitor.Snapshot {
		chosen := *s
		chosen.GPUs = nil
		return &chosen
	}})
	defer p.Close()
	f := show(t, p)
	for _, s := range append(f.Before, f.Snapshot) {
		if s.GPUs != nil {
			t.Errorf("%d was not chosen", number(s))
		}
	}
	if len(f.Before) != 3 {
		t.Errorf("%d before", len(f.Before))
	}
}

// TestClockSetBack: in a recording whose clock went anywhere, seeking ends at
// some moment before the one sought.
func TestClockSetBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l []string
	for i := range 1500 {
		s := snapshot(i, 1)
		s.Time = start.Add(time.Duration(random.IntN(1000)) * time.Second)
		l = append(l, lineOf(s))
	}
	for name, path := range files(t, l) {
		r := open(t, path)
		first, _, err := r.Span()
		if err != nil {
			t.Fatal(err)
		}
		p := Play(open(t, path), PlayOptions{History: 2})
		p.Step(0)
		for f := show(t, p); !f.State.Paused; f = show(t, p) {
		}
		for range 20 {
			at := start.Add(time.Duration(random.IntN(1000)) * time.Second)
			s, err := r.At(at)
			if first.After(at) {
				if err == nil || !strings.Contains(err.Error(), "begins only at") {
					t.Errorf("%s: at %v: %v", name, at, err)
				}
			} else if err != nil || s.Time.After(at) {
				t.Errorf("%s: at %v: %v, error %v", name, at, s, err)
			}
			p.SeekTo(at)
			if f := show(t, p); !f.Sought || f.Snapshot.Time.After(at) && !f.State.AtStart {
				t.Errorf("%s: sought %v, shown %v", name, at, f.Snapshot.Time)
			}
		}
		p.Close()
	}
}

// TestPlayDamaged: a damage is counted once, however often it is passed.
func TestPlayDamaged(t *testing.T) {
	l := recording(6)
	p := Play(open(t, write(t, "x", zipped(join(l[:3]))+strings.Repeat("garbage", 100)+zipped(join(l[3:])))), PlayOptions{})
	defer p.Close()
	p.Step(0)
	for !show(t, p).State.Paused {
	}
	for range 3 {
		p.Home()
		show(t, p)
		p.Step(5)
		if f := show(t, p); number(f.Snapshot) != 5 || f.State.Broken != 1 {
			t.Errorf("at %d, %d broken", number(f.Snapshot), f.State.Broken)
		}
	}
}
