package ansi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const deadline = 60 * time.Second

// Other processes are this test program again, with a role.
const roleVariable = "ANSI_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "live":
		live()
	case "suspend":
		suspend()
	case "shell":
		shell()
	case "restore":
		var m Modes
		check(json.NewDecoder(os.Stdin).Decode(&m))
		check(RestoreFrom(m))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report tells the test something, through descriptor 3.
func report(v any) { check(json.NewEncoder(os.NewFile(3, "report")).Encode(v)) }

// live enters the screen, reports its modes, and waits to be killed.
func live() {
	t, err := Open(os.Stdin, os.Stdout)
	check(err)
	check(t.Enter(true))
	report(t.Modes())
	select {}
}

// suspend enters the screen, suspends itself, and leaves after it was continued.
func suspend() {
	t, err := Open(nil, os.Stdout)
	check(err)
	tstp := make(chan os.Signal, 1)
	signal.Notify(tstp, unix.SIGTSTP)
	check(t.Enter(false))
	check(t.SetMouse(true))
	report("entered")
	<-tstp // as from Ctrl+Z
	check(t.Suspend())
	report("entered again")
	<-tstp
	check(t.Close())
}

// shell starts another role as the foreground job of this session and tells
// when it stops and ends.
func shell() {
	cmd := role("suspend")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "report")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: 0}
	check(cmd.Start())
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		check(err)
		if !status.Stopped() {
			report(fmt.Sprint("ended ", status.ExitStatus()))
			return
		}
		report("stopped")
		if _, err := os.NewFile(4, "go on").Read(make([]byte, 1)); err != nil {
			return
		}
		check(syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT))
	}
}

func role(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+name)
	return cmd
}

// pty is a pseudo-terminal whose output is collected.
type pty struct {
	master, slave *os.File
	done          chan struct{}
	mu            sync.Mutex
	out           bytes.Buffer
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no pseudo-terminals here:", err)
		}
		t.Skip("no pseudo-terminals here:", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(err)
	must(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}))
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(err)
	p := &pty{master: os.NewFile(uintptr(fd), "ptmx"), slave: slave, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		b := make([]byte, 4096)
		for {
			n, err := p.master.Read(b)
			p.mu.Lock()
			p.out.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { slave.Close(); p.master.Close(); <-p.done })
	return p
}

// modes are the slave's.
func (p *pty) modes(t *testing.T) *unix.Termios {
	t.Helper()
	tio, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return tio
}

// raw checks whether the modes are those of a live screen.
func (p *pty) raw(t *testing.T) bool {
	t.Helper()
	tio := p.modes(t)
	if tio.Lflag&unix.ISIG == 0 {
		t.Error("the signal keys are dead")
	}
	isRaw := tio.Lflag&(unix.ICANON|unix.ECHO) == 0
	if isRaw && tio.Cc[unix.VSUSP] != noCharacter {
		t.Error("Ctrl+Z is a signal, not a key")
	}
	return isRaw
}

// written waits for the output to end in suffix and returns it.
func (p *pty) written(t *testing.T, suffix string) string {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		s := p.out.String()
		p.mu.Unlock()
		if strings.HasSuffix(s, suffix) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal got %q, want it to end in %q", s, suffix)
		}
	}
}

func TestEnterAndLeave(t *testing.T) {
	p := newPTY(t)
	before := p.modes(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if !term.HasKeys() {
		t.Error("the terminal has no keys")
	}
	if w, h, err := term.Size(); w != 100 || h != 30 || err != nil {
		t.Errorf("size %dx%d, %v", w, h, err)
	}
	if m := term.Modes(); len(m.Saved) > 0 || RestoreFrom(m) != nil {
		t.Error("there is something to restore before Enter")
	}
	if n, err := term.Write([]byte("too early")); n != 9 || err != nil {
		t.Error(n, err)
	}
	if err := term.Enter(true); err != nil {
		t.Fatal(err)
	}
	if !p.raw(t) {
		t.Error("echo or line editing is still on")
	}
	if m := term.Modes(); m.Path != p.slave.Name() || len(m.Saved) == 0 || bytes.Equal(m.Saved, m.Set) {
		t.Errorf("modes %+v", m)
	}
	if _, err := term.Write([]byte("frame")); err != nil {
		t.Error(err)
	}
	if err := term.SetMouse(false); err != nil {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := term.Leave(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := term.Write([]byte("too late")); err != nil {
		t.Error(err)
	}
	if now := p.modes(t); *now != *before {
		t.Errorf("modes %+v, want %+v", now, before)
	}
	want := "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[?1000h\x1b[?1006h" + "frame" + "\x1b[?1006l\x1b[?1000l" +
		"\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l"
	if got := p.written(t, "\x1b[?1049l"); got != want {
		t.Errorf("the terminal got\n%q, want\n%q", got, want)
	}
	// It can be entered again, until it is closed.
	if err := term.Enter(false); err != nil || !p.raw(t) {
		t.Error("entering again:", err)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if now := p.modes(t); *now != *before {
		t.Errorf("modes %+v, want %+v", now, before)
	}
	if err := term.Enter(false); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Enter after Close: %v", err)
	}
}

func TestOpenNeedsATerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(f, f); !errors.Is(err, ErrNotTerminal) {
		t.Errorf("a file was taken: %v", err)
	}
	if IsTerminal(nil) || IsTerminal(f) {
		t.Error("a file counts as a terminal")
	}
}

// A terminal whose other side reads nothing does not keep the program.
func TestLeaveWithAStuckTerminal(t *testing.T) {
	p := newPTY(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Enter(false); err != nil {
		t.Fatal(err)
	}
	p.written(t, "\x1b[?2004h")
	p.flow(t, unix.TCOOFF)
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		term.Write(bytes.Repeat([]byte("x"), 1<<20))
	}()
	done := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // let the write begin; either order must do
		done <- term.Leave()
	}()
	select {
	case <-done: // with or without an error: the modes count
	case <-time.After(deadline):
		t.Fatal("Leave waits for the terminal")
	}
	if p.raw(t) {
		t.Error("the modes were not restored")
	}
	p.flow(t, unix.TCOON)
	<-stuck
}

// flow stops the output of the terminal, as a slow line does, or lets it go on.
func (p *pty) flow(t *testing.T, action int) {
	t.Helper()
	if err := unix.IoctlSetInt(int(p.slave.Fd()), unix.TCXONC, action); err != nil {
		t.Fatal(err)
	}
}

// A terminal that takes nothing for a while holds up neither the program nor its
// keys; what was begun is completed before anything else is sent.
func TestASlowTerminal(t *testing.T) {
	p := newPTY(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	if term.own == nil {
		t.Fatal("the terminal could not be opened anew")
	}
	if err := term.Enter(false); err != nil {
		t.Fatal(err)
	}
	p.written(t, enterSequence)
	if term.Busy() != nil {
		t.Error("a terminal that has taken everything is busy")
	}
	p.flow(t, unix.TCOOFF)
	frame := bytes.Repeat([]byte("0123456789abcde\n"), 1<<12)
	if n, err := term.Write(frame); n != len(frame) || err != nil {
		t.Fatal(n, err)
	}
	busy := term.Busy()
	if busy == nil {
		t.Fatal("a terminal that takes nothing is not busy")
	}
	keys := term.Keys(t.Context())
	io.WriteString(p.master, "q")
	if e := <-keys; e.Rune != 'q' {
		t.Errorf("got %+v, want q", e)
	}
	if err := term.SetMouse(true); err != nil {
		t.Error(err)
	}
	p.flow(t, unix.TCOON)
	<-busy
	if _, err := term.Write([]byte("the next frame")); err != nil {
		t.Error(err)
	}
	if got := p.written(t, "the next frame"); got != enterSequence+string(frame)+mouseOn+"the next frame" {
		t.Errorf("the terminal got %d bytes in another order", len(got))
	}
}

// A frame on its way does not delay the end, and nothing of it comes after. The
// terminal reads nothing until the screen was left.
func TestLeaveInTheMiddleOfAFrame(t *testing.T) {
	p := newPTY(t)
	p.mu.Lock()
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Enter(false); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write(bytes.Repeat([]byte("x"), 1<<24)); err != nil {
		t.Fatal(err)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if term.Busy() != nil {
		t.Error("something is still on its way")
	}
	p.mu.Unlock()
	if got := p.written(t, leaveSequence); strings.Count(got, leaveSequence) != 1 {
		t.Error("the screen was left more than once")
	}
}

// A write that fails is told by a later call at the latest.
func TestWritingToATerminalThatWentAway(t *testing.T) {
	p := newPTY(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Enter(false); err != nil {
		t.Fatal(err)
	}
	p.written(t, enterSequence)
	p.flow(t, unix.TCOOFF)
	if _, err := term.Write([]byte("frame")); err != nil {
		t.Fatal(err)
	}
	p.master.Close()
	if busy := term.Busy(); busy != nil {
		<-busy
	}
	if _, err := term.Write([]byte("frame")); !errors.Is(err, unix.EIO) {
		t.Errorf("got %v, want an input/output error", err)
	}
}

// A shell that took the terminal while the program was stopped by force has left
// its own modes.
func TestResume(t *testing.T) {
	p := newPTY(t)
	before := p.modes(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Resume(); err != nil {
		t.Error(err)
	}
	if err := term.Enter(true); err != nil {
		t.Fatal(err)
	}
	modes := term.Modes()
	if err := unix.IoctlSetTermios(int(p.slave.Fd()), unix.TCSETS, before); err != nil {
		t.Fatal(err)
	}
	if err := term.Resume(); err != nil {
		t.Error(err)
	}
	if !p.raw(t) {
		t.Error("not raw after Resume")
	}
	if now := term.Modes(); !reflect.DeepEqual(now, modes) {
		t.Errorf("the modes to restore became %+v, from %+v", now, modes)
	}
	if err := term.Leave(); err != nil {
		t.Error(err)
	}
	if err := term.Resume(); err != nil {
		t.Error(err)
	}
	if now := p.modes(t); *now != *before {
		t.Errorf("modes %+v, want %+v", now, before)
	}
	if got, want := p.written(t, leaveSequence), enterSequence+mouseOn+enterSequence+mouseOn+leaveSequence; got != want {
		t.Errorf("the terminal got\n%q, want\n%q", got, want)
	}
}

func TestKeysOfATerminal(t *testing.T) {
	p := newPTY(t)
	term, err := Open(p.slave, p.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Enter(false); err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	next := func(keys <-chan Event) (Event, bool) {
		t.Helper()
		select {
		case e, ok := <-keys:
			return e, ok
		case <-time.After(deadline):
			t.Fatal("no key came")
		}
		panic("unreachable")
	}
	ctx, cancel := context.WithCancel(context.Background())
	keys := term.Keys(ctx)
	for _, test := range []struct {
		typed string
		want  Event
	}{
		{"q", Event{Key: KeyRune, Rune: 'q'}},
		{"\x1b", Event{Key: KeyEsc}},
		{"\x1b[5~", Event{Key: KeyPgUp}},
		{"漢", Event{Key: KeyRune, Rune: '漢'}},
		{"\x13", Event{Key: KeyCtrl, Rune: 's'}}, // and the screen is not frozen
		{"\r", Event{Key: KeyEnter}},
		{"\x1b[<0;3;4M", Event{Key: KeyMouse, Button: ButtonLeft, X: 2, Y: 3}},
	} {
		if _, err := io.WriteString(p.master, test.typed); err != nil {
			t.Fatal(err)
		}
		if e, _ := next(keys); e != test.want {
			t.Errorf("%q gives %+v, want %+v", test.typed, e, test.want)
		}
	}
	cancel()
	if e, ok := next(keys); ok {
		t.Errorf("a key after the end: %+v", e)
	}
	if err := term.Err(); err != nil {
		t.Errorf("ended by its context, yet %v", err)
	}
	// Typed while nobody read it.
	io.WriteString(p.master, "x")
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	keys = term.Keys(ctx)
	if e, _ := next(keys); e.Rune != 'x' {
		t.Errorf("the second reader got %+v", e)
	}
	// The line is cut.
	p.master.Close()
	if e, ok := next(keys); ok {
		t.Errorf("a key from a dead terminal: %+v", e)
	}
	if err := term.Err(); err == nil {
		t.Error("the terminal went away without an error")
	}
}

// start runs a role in a session of its own on the pseudo-terminal and returns
// what it reports.
func (p *pty) start(t *testing.T, name string) (*exec.Cmd, *bufio.Reader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	goOn, goOnW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := role(name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, &stderr
	cmd.ExtraFiles = []*os.File{w, goOn}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	goOn.Close()
	r.SetReadDeadline(time.Now().Add(deadline))
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		r.Close()
		goOnW.Close()
		if t.Failed() && stderr.Len() > 0 {
			t.Log(stderr.String())
		}
	})
	return cmd, bufio.NewReader(r), goOnW
}

// suspend stops the group in the foreground, as somebody else's kill does; the
// key itself is no signal while a screen is up.
func (p *pty) suspend(t *testing.T) {
	t.Helper()
	group, err := unix.IoctlGetInt(int(p.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(-group, unix.SIGTSTP); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreAfterSIGKILL(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken bool // by a shell, before the terminal is restored
	}{{"nobody else", false}, {"a shell was faster", true}} {
		t.Run(test.name, func(t *testing.T) {
			p := newPTY(t)
			before := p.modes(t)
			cmd, reports, _ := p.start(t, "live")
			var m Modes
			line, err := reports.ReadBytes('\n')
			if err != nil || json.Unmarshal(line, &m) != nil {
				t.Fatal(string(line), err)
			}
			if !p.raw(t) {
				t.Fatal("not raw while live")
			}
			cmd.Process.Kill()
			cmd.Wait()
			if !p.raw(t) {
				t.Fatal("SIGKILL restores by itself: this test shows nothing")
			}
			if test.taken {
				own := *before
				own.Lflag &^= unix.ICANON
				own.Cc[unix.VMIN] = 3
				if err := unix.IoctlSetTermios(int(p.slave.Fd()), unix.TCSETS, &own); err != nil {
					t.Fatal(err)
				}
				before = &own
			}
			restore := role("restore")
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			restore.Stdin = bytes.NewReader(data)
			if out, err := restore.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if now := p.modes(t); *now != *before {
				t.Errorf("modes %+v, want %+v", now, before)
			}
			p.written(t, leaveSequence)
		})
	}
}

func TestRestoreWithoutATerminal(t *testing.T) {
	err := RestoreFrom(Modes{Path: t.TempDir() + "/gone", Saved: []byte{1}, Set: []byte{2}})
	if tty, open := openTTY(controlling); open == nil {
		tty.Close() // run by hand: it went to the terminal
		return
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestSuspend(t *testing.T) {
	p := newPTY(t)
	before := p.modes(t)
	cmd, reports, goOn := p.start(t, "shell")
	expect := func(want string) {
		t.Helper()
		line, err := reports.ReadString('\n')
		if err != nil || strings.TrimSpace(line) != strconv.Quote(want) {
			t.Fatalf("got %s (%v), want %q", line, err, want)
		}
	}
	expect("entered")
	if !p.raw(t) {
		t.Error("not raw while live")
	}
	p.suspend(t)
	expect("stopped")
	if now := p.modes(t); *now != *before {
		t.Errorf("while stopped: modes %+v, want %+v", now, before)
	}
	p.written(t, leaveSequence)
	goOn.Write([]byte{1})
	expect("entered again")
	if !p.raw(t) {
		t.Error("not raw after it was continued")
	}
	p.written(t, enterSequence+mouseOn)
	p.suspend(t) // the signal is the program's again
	expect("ended 0")
	if now := p.modes(t); *now != *before {
		t.Errorf("at the end: modes %+v, want %+v", now, before)
	}
	p.written(t, leaveSequence)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Where no shell could continue it, the program does not stop, and its screen
// comes back.
func TestSuspendWithoutAShell(t *testing.T) {
	p := newPTY(t)
	before := p.modes(t)
	cmd, reports, _ := p.start(t, "suspend")
	for _, want := range []string{"entered", "entered again"} {
		line, err := reports.ReadString('\n')
		if err != nil || strings.TrimSpace(line) != strconv.Quote(want) {
			t.Fatalf("got %s (%v), want %q", line, err, want)
		}
		if !p.raw(t) {
			t.Errorf("not raw after %q", want)
		}
		p.suspend(t)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if now := p.modes(t); *now != *before {
		t.Errorf("at the end: modes %+v, want %+v", now, before)
	}
}
