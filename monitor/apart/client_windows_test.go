package apart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"nvtop-lite/monitor/apart"
)

// TestADeafDriverProcessEndsWithTheProgram: it does not read its pipe, and the
// program is killed, also one that runs in a job itself, as under ssh.
func TestADeafDriverProcessEndsWithTheProgram(t *testing.T) {
	for _, in := range []string{"no job", "a job"} { // in this order: nobody leaves a job
		t.Run(in, func(t *testing.T) {
			var job windows.Handle
			if in == "a job" {
				job = enterJob(t)
			}
			program, pid := startParent(t, os.Args[0], "APART_PARENT=deaf", "APART_TEST=deaf")
			child, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_INFORMATION, false, uint32(pid))
			if err != nil {
				t.Fatal(err)
			}
			defer windows.CloseHandle(child)
			if e, err := windows.WaitForSingleObject(child, 0); e != uint32(windows.WAIT_TIMEOUT) {
				t.Fatalf("it ended before: %#x, %v", e, err)
			}
			if job != 0 && !inJob(t, child, job) {
				t.Error("it is not in the program's job")
			}
			if err := program.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if e, err := windows.WaitForSingleObject(child, 30_000); e != windows.WAIT_OBJECT_0 {
				t.Errorf("30 s later it is there: %#x, %v", e, err)
			}
		})
	}
}

// enterJob puts this process into a job that its children cannot leave.
func enterJob(t *testing.T) windows.Handle {
	t.Helper()
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		t.Fatal(err)
	}
	return job // closed with the process
}

func inJob(t *testing.T, process, job windows.Handle) bool {
	t.Helper()
	var in int32
	if ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob").Call(uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&in))); ok == 0 {
		t.Fatal(err)
	}
	return in != 0
}

// TestNoHandleIsLeft of driver processes that ended.
func TestNoHandleIsLeft(t *testing.T) {
	again := func(n int, env ...string) {
		for range n {
			apart.RunOne(apart.Setup{Request: request(), Complete: true}, build, func(_ *string, attr *os.ProcAttr) { attr.Env = append(os.Environ(), env...) })
		}
	}
	words := []string{"APART_TEST=words", "APART_WORDS=once", "APART_EXIT=7"}
	again(2, words...)
	before := handles(t)
	const times = 6
	again(times, words...)
	marker := filepath.Join(os.TempDir(), fmt.Sprint("apart-", os.Getpid()))
	defer os.Remove(marker)
	again(1, "APART_CRASH="+marker)
	if after := handles(t); after > before+times/2 {
		t.Errorf("%d handles, %d before", after, before)
	}
}

// handles counts those of this process.
func handles(t *testing.T) (n int) {
	t.Helper()
	const systemExtendedHandleInformation = 64
	type entry struct {
		object, pid, handle uintptr
		rest                [4]uint32
	}
	b := make([]uintptr, 1<<19)
	if err := windows.NtQuerySystemInformation(systemExtendedHandleInformation, unsafe.Pointer(&b[0]), uint32(len(b))*uint32(unsafe.Sizeof(b[0])), nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range unsafe.Slice((*entry)(unsafe.Pointer(&b[2])), b[0]) {
		if e.pid == uintptr(os.Getpid()) {
			n++
		}
	}
	if n == 0 {
		t.Fatal("the system does not tell this process's handles")
	}
	return n
}
