package host

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestPipeInTheTree(t *testing.T) {
	root := Root(t.TempDir())
	if err := unix.Mkfifo(root.Path("/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Nobody writes: a reader that waits would never come back.
	if data, err := root.ReadFile("/pipe", 10); len(data) != 0 {
		t.Errorf("%q, %v", data, err)
	}
}
