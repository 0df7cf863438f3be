package apart

import "testing"

// TestAFaultOnWindows is told as on other systems: there it ends a process without
// a word.
func TestAFaultOnWindows(t *testing.T) {
	for how, want := range map[string]string{
		"exit status 0xc0000005": "exception 0xc0000005 in the driver's library",
		"exit status 0xc0000374": "exception 0xc0000374 in the driver's library", // a heap that was spoilt
		"exit status 3":          "exit status 3",
	} {
		if got, scarce := describe(how, nil); got != want || scarce {
			t.Errorf("%s: %q, %v", how, got, scarce)
		}
	}
}
