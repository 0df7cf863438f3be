package process

import (
	"errors"
	"os"
	"slices"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// Signal is one that a user can send.
type Signal struct {
	Name   string
	Number int
	Does   string // what comes of it, in a few words
	Ends   bool   // a process without a handler of its own ends by it
}

// Signals returns what can be sent on this system, the one to offer first at
// the front; nothing where no signal is ever sent.
func Signals() []Signal { return slices.Clone(signals) }

// Target is one process: its number may pass to another one, but not together
// with its start. Only Pin makes one.
type Target struct {
	PID        uint32
	StartTicks uint64

	//lint:ignore U1000 Linux only: elsewhere users have no numbers
	uid  uint32
	user string // for a person to read
}

// Signaller sends signals to processes of this machine that use a GPU. It is
// safe for concurrent use, best not by the goroutine that serves the keys: a
// process that ends while it is looked at may hold up the onlooker.
//
// It believes the PIDs it is given: those of a recording or a simulation are
// not for it.
type Signaller struct {
	root host.Root
	system
}

// NewSignaller returns a signaller for the machine that h reads. It signals
// nobody where that is a tree under another root than "/".
func NewSignaller(h *host.Reader) *Signaller {
	return &Signaller{h.Root(), newSystem(h)}
}

var errElsewhere = errors.New("these processes are not of this machine: only files of them are here")

// Pin returns what Send needs to signal p, or why p is not to be signalled.
func (s *Signaller) Pin(p *monitor.Process) (Target, error) {
	if err := s.never(p.PID); err != nil {
		return Target{}, err
	}
	start, ok := p.StartTicks.Int()
	switch {
	case p.Namespace == monitor.NamespaceOutside:
		return Target{}, errOutside(p.PID)
	case !ok:
		return Target{}, monitor.Errorf("when process %d started is unknown: another one may have its number by now", p.PID)
	}
	t := Target{PID: p.PID, StartTicks: uint64(start), user: p.User.Value}
	if err := s.identify(&t); err != nil {
		return Target{}, err
	}
	return t, nil
}

// Send sends a signal to the process that was pinned, and to no other: all that
// Pin found is looked at again.
func (s *Signaller) Send(t Target, sig Signal) error {
	if err := s.never(t.PID); err != nil {
		return err
	}
	if !slices.Contains(signals, sig) {
		return monitor.Errorf("%s cannot be sent here", sig.Name)
	}
	return s.send(t, sig)
}

// Alive reports whether that very process is still there; one that ended and
// waits for its parent to notice is not. Stuck says that whatever is left of it
// waits in the kernel and takes no signal, SIGKILL included, until the driver
// lets go.
func (s *Signaller) Alive(t Target) (alive, stuck bool) { return s.alive(t) }

// never says why a PID is out of the question, whoever has it.
func (s *Signaller) never(pid uint32) error {
	switch {
	case !s.root.Here():
		return errElsewhere
	case pid == 0:
		return errors.New("PID 0 is no process")
	case int(pid) == os.Getpid():
		return monitor.Errorf("process %d is this program", pid)
	case int(pid) == os.Getppid():
		return monitor.Errorf("process %d started this program", pid)
	case pid == 1:
		return errors.New("process 1 is never signalled: all others depend on it")
	}
	return nil
}

func errOutside(pid uint32) error {
	return monitor.Errorf("PID %d cannot be matched with a process here: it may count in another PID namespace", pid)
}
