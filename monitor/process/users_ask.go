package process

import (
	"errors"
	"sync"
	"time"

	"nvtop-lite/monitor"
)

const (
	nameHolds   = 5 * time.Minute  // an account can be renamed
	noNameHolds = time.Minute      // one can be made, and a service comes back
	askDeadline = 2 * time.Second  // a question without an answer keeps nobody waiting after that
	fellPause   = 10 * time.Minute // see Names.Fell
)

// Names says how the owners of processes are named. By itself, or where what it
// asks for gives no name, that is by /etc/passwd, and by the number where that
// has none.
type Names struct {
	// Libc asks the system first: getpwuid_r of the loaded C library, so that
	// the accounts of LDAP, SSSD and Active Directory have names. It loads the
	// modules of the name service, which may hang or crash: it is for the driver
	// process alone. Under a root other than / it does nothing.
	Libc bool
	// Fell says that the driver process before this one ended by itself. Nobody
	// can tell whether a module of the name service did it, nor at which
	// account, but this one would ask for the same again: it waits ten minutes
	// with its first question.
	Fell bool
}

// errNoAccount is the answer of a name service that does not know the number.
var errNoAccount = errors.New("no account of that number")

// service asks the system's name service, one question at a time and off the
// path of a Fill. A question that hangs keeps all others back.
type service struct {
	ask      func(uid uint32) (string, error)
	from     time.Time // it is not asked before
	deadline time.Duration

	mu       sync.Mutex
	accounts map[uint32]*account
	queue    []uint32
	began    time.Time     // when the question in progress was asked, zero while there is none
	idle     chan struct{} // closed when all questions are answered, nil from then on
	awaited  bool          // nobody has waited for one of the questions yet
	swept    time.Time
}

// account is what the name service said of a number.
type account struct {
	name  string    // "" where it gave none
	until time.Time // holds so long
	asked bool      // a question waits or is in progress
	seen  time.Time
}

func newService(ask func(uint32) (string, error), n Names) *service {
	s := &service{ask: ask, deadline: askDeadline, accounts: make(map[uint32]*account)}
	if n.Fell {
		s.from = time.Now().Add(fellPause)
	}
	return s
}

// want asks for the name of a number, unless it is known or was just asked for.
// It does not wait.
func (s *service) want(uid uint32, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.from) {
		return
	}
	a := s.accounts[uid]
	if a == nil {
		s.sweep(now)
		a = new(account)
		s.accounts[uid] = a
		s.awaited = true
	}
	a.seen = now
	if a.asked || now.Before(a.until) {
		return
	}
	a.asked = true
	s.queue = append(s.queue, uid)
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.work()
	}
}

// wait gives numbers that were never asked for before the time that w has left.
// The others have their former names meanwhile.
func (s *service) wait(w *waiter) {
	s.mu.Lock()
	idle, awaited := s.idle, s.awaited
	s.awaited = false
	hangs := !s.began.IsZero() && time.Since(s.began) >= s.deadline
	s.mu.Unlock()
	if awaited && idle != nil && !hangs {
		w.wait(idle, true)
	}
}

// name is the account's name as far as it was answered, else "".
func (s *service) name(uid uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accounts[uid]; a != nil {
		return a.name
	}
	return ""
}

// work asks what is in the queue.
func (s *service) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		uid := s.queue[0]
		s.queue = s.queue[1:]
		s.began = time.Now()
		s.mu.Unlock()
		name, err := s.ask(uid)
		s.mu.Lock()
		s.began = time.Time{}
		a := s.accounts[uid]
		a.asked = false
		a.until = time.Now().Add(noNameHolds)
		switch {
		case err == nil:
			a.name = name
			a.until = time.Now().Add(nameHolds)
		case errors.Is(err, errNoAccount):
			a.name = ""
		}
		// A service that fails says nothing against the name it gave before.
	}
	close(s.idle)
	s.idle = nil
}

// sweep forgets accounts without processes. A question that hangs stays.
func (s *service) sweep(now time.Time) {
	if now.Sub(s.swept) < nameHolds {
		return
	}
	for uid, a := range s.accounts {
		if !a.asked && a.seen.Before(s.swept) {
			delete(s.accounts, uid)
		}
	}
	s.swept = now
}

// nameOwners names the owners as the name service does. All are asked for
// before one is waited for.
func (t *Table) nameOwners(list []monitor.Process, w *waiter) {
	owned := func(do func(p *monitor.Process, uid uint32)) {
		for i := range list {
			p := &list[i]
			if e := t.entries[p.PID]; e != nil && p.User.Known() {
				do(p, e.facts.uid)
			}
		}
	}
	now := time.Now()
	owned(func(_ *monitor.Process, uid uint32) { t.service.want(uid, now) })
	t.service.wait(w)
	owned(func(p *monitor.Process, uid uint32) {
		if name := t.service.name(uid); name != "" {
			p.User = monitor.OfText(name)
		}
	})
}
