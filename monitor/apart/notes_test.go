package apart_test

import (
	"testing"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
)

// TestNotesCross: those made before the driver process crashes, too.
func TestNotesCross(t *testing.T) {
	c := start(t, apart.Setup{Complete: true, Count: 1, Notes: true})
	var notes []string
	until(t, c, "it is done", func(e apart.Event) bool {
		if e.Note != nil {
			notes = append(notes, string(e.Note))
		}
		return e.Done
	})
	if len(notes) != 2 || notes[0] != "built" || notes[1] != "opened" {
		t.Errorf("notes %q", notes)
	}
}

// noted is a source that says when it is opened.
type noted struct {
	monitor.Source
	note func([]byte)
}

func (s noted) Open() error {
	s.note([]byte("opened"))
	return s.Source.Open()
}
