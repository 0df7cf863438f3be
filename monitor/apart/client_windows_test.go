package apart_test

import (
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// TestADeafDriverProcessEndsWithTheProgram: it does not read its pipe, and the
// program is killed.
func TestADeafDriverProcessEndsWithTheProgram(t *testing.T) {
	program, pid := startParent(t, os.Args[0], "APART_PARENT=deaf", "APART_TEST=deaf")
	child, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(child)
	if e, err := windows.WaitForSingleObject(child, 0); e != uint32(windows.WAIT_TIMEOUT) {
		t.Fatalf("it ended before: %#x, %v", e, err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e, err := windows.WaitForSingleObject(child, 30_000); e != windows.WAIT_OBJECT_0 {
		t.Errorf("30 s later it is there: %#x, %v", e, err)
	}
}
