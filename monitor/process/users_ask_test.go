package process

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"nvtop-lite/monitor/host"
)

// desk is a name service that answers when it is told to.
type desk struct {
	asked  chan uint32
	answer chan string // "" no such account, "!" out of order
}

func (d *desk) ask(uid uint32) (string, error) {
	d.asked <- uid
	switch name := <-d.answer; name {
	case "":
		return "", errNoAccount
	case "!":
		return "", errors.New("out of order")
	default:
		return name, nil
	}
}

// atDesk is a table of processes whose names come from a desk. The process N
// belongs to the account N, which is kim by /etc/passwd.
func atDesk(n Names) (*Table, *desk) {
	d := &desk{asked: make(chan uint32, 100), answer: make(chan string, 100)}
	w := newTown()
	for pid := range uint32(100) {
		w.set(pid, person("x", 1, 0))
	}
	tab := newTable(w)
	tab.service = newService(d.ask, n)
	return tab, d
}

// owner is the user that a Fill tells of a process.
func owner(tab *Table, pid uint32) string { return fillOne(tab, pid, second).User.Value }

// settle waits until all questions are answered.
func settle(tab *Table) {
	tab.service.mu.Lock()
	idle := tab.service.idle
	tab.service.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

// expire lets the time of all answers run out.
func expire(tab *Table) {
	tab.service.mu.Lock()
	defer tab.service.mu.Unlock()
	for _, a := range tab.service.accounts {
		a.until = time.Time{}
	}
}

func TestNamesOfTheService(t *testing.T) {
	tab, d := atDesk(Names{})
	tab.patience = time.Minute
	d.answer <- "ada"
	d.answer <- ""
	d.answer <- "!"
	if a, b, c := owner(tab, 1), owner(tab, 2), owner(tab, 3); a != "ada" || b != "kim" || c != "kim" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	for range 5 {
		if a := owner(tab, 1); a != "ada" {
			t.Errorf("then %q", a)
		}
		owner(tab, 2)
		owner(tab, 3)
	}
	if n := len(d.asked); n != 3 {
		t.Errorf("%d questions for three accounts", n)
	}
}

func TestNamesHoldForATime(t *testing.T) {
	tab, d := atDesk(Names{})
	tab.patience = time.Minute
	d.answer <- "ada"
	owner(tab, 1)
	for _, c := range []struct{ answer, want string }{
		{"ada2", "ada2"}, // renamed
		{"!", "ada2"},    // out of order, which says nothing against it
		{"", "kim"},      // removed
		{"!", "kim"},
		{"ada3", "ada3"}, // made again
	} {
		before := owner(tab, 1)
		expire(tab)
		// The former name holds until the answer is there: nobody waits for that.
		if got := owner(tab, 1); got != before {
			t.Errorf("%q while it is asked for again, %q before", got, before)
		}
		d.answer <- c.answer
		settle(tab)
		if got := owner(tab, 1); got != c.want {
			t.Errorf("%q answered: %q, want %q", c.answer, got, c.want)
		}
	}
}

func TestAServiceThatHangs(t *testing.T) {
	tab, d := atDesk(Names{})
	tab.patience = time.Millisecond
	// On a busy machine the other facts of the process take longer than that.
	got := ""
	for deadline := time.Now().Add(time.Minute); got == "" && time.Now().Before(deadline); {
		got = owner(tab, 1)
	}
	if got != "kim" {
		t.Fatalf("%q without an answer", got)
	}
	if uid := <-d.asked; uid != 1 {
		t.Errorf("asked for %d", uid)
	}
	// Neither this question nor another is waited for: the test would not end.
	tab.patience = 24 * time.Hour
	tab.service.deadline = 0
	for range 10 {
		for pid := range uint32(10) {
			if got := owner(tab, pid); got != "kim" {
				t.Errorf("process %d: %q without an answer", pid, got)
			}
		}
	}
	if n := len(d.asked); n != 0 {
		t.Errorf("%d more questions while one hangs", n)
	}
	for range 10 {
		d.answer <- "late"
	}
	settle(tab)
	for pid := range uint32(10) {
		if got := owner(tab, pid); got != "late" {
			t.Errorf("process %d: %q after the answer", pid, got)
		}
	}
}

func TestNoQuestionSoonAfterAFall(t *testing.T) {
	tab, d := atDesk(Names{Fell: true})
	tab.patience = 24 * time.Hour
	if got := owner(tab, 1); got != "kim" || len(d.asked) != 0 {
		t.Errorf("%q, %d questions", got, len(d.asked))
	}
	tab.service.from = time.Now()
	d.answer <- "ada"
	if got := owner(tab, 1); got != "ada" {
		t.Errorf("%q after the pause", got)
	}
}

func TestAccountsAreForgotten(t *testing.T) {
	tab, d := atDesk(Names{})
	tab.patience = time.Minute
	now := time.Now()
	for uid := range uint32(50) {
		d.answer <- strconv.Itoa(int(uid))
		tab.service.want(uid, now)
	}
	settle(tab)
	for i, uid := range []uint32{50, 51, 52} {
		d.answer <- "new"
		tab.service.want(uid, now.Add(time.Duration(i+1)*2*nameHolds))
		settle(tab)
	}
	if n := len(tab.service.accounts); n > 3 {
		t.Errorf("%d accounts are remembered, 3 of them lately", n)
	}
}

// TestOnlyTheMachineItself: the accounts of another tree are not those of this
// machine's name service.
func TestOnlyTheMachineItself(t *testing.T) {
	if tab := NewTable(host.Open(t.TempDir()), Names{Libc: true}, false); tab.service != nil {
		t.Error("the name service is asked for the accounts of a tree")
	}
	if tab := NewTable(host.Open(""), Names{}, false); tab.service != nil {
		t.Error("the name service is asked without having been asked for")
	}
}
