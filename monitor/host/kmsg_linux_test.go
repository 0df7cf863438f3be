package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// TestThisKernelLog reads the log of the machine that the test runs on, where that
// is allowed.
func TestThisKernelLog(t *testing.T) {
	got := <-follow(t, "")
	now := time.Now()
	switch got.st.Reason {
	case monitor.Known:
	case monitor.NoPermission, monitor.NotSupported:
		if got.st.Err.Function() != "/dev/kmsg" || got.st.Err.Name() == "" {
			t.Errorf("the reason says nothing: %+v", got.st)
		}
	default:
		t.Errorf("%+v", got.st)
	}
	for _, x := range got.list {
		if at := time.Unix(0, x.Time); at.After(now.Add(time.Minute)) {
			t.Errorf("an error of the future: %+v", x)
		}
	}
}

// TestKernelLogIsWaitedFor uses a pipe, which is no file and, like the kernel's
// log, has an end only for now.
func TestKernelLogIsWaitedFor(t *testing.T) {
	root := fixture.Tree(t, map[string]string{"proc/stat": "cpu  1 2 3 4\nbtime 1000\n", "dev/": ""})
	path := filepath.Join(root, "dev", "kmsg")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan followed, 10), make(chan struct{})
	go func() {
		defer close(ended)
		FollowXIDs(ctx, root, func(list []KernelXID, st monitor.Status) { told <- followed{list, st} })
	}()
	if got := <-told; got.st.Reason != monitor.Known || len(got.list) != 0 {
		t.Errorf("at first %+v", got)
	}
	if _, err := f.WriteString("4,2,2000000,-;NVRM: Xid (PCI:0000:01:00): 79, x\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-told; len(got.list) != 1 || got.list[0].Code != 79 {
		t.Errorf("then %+v", got)
	}
	stop()
	<-ended
}

func TestKernelLogWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	root := fixture.Tree(t, map[string]string{"dev/kmsg": "", "proc/stat": "cpu  1 2 3 4\nbtime 1000\n"})
	if err := os.Chmod(filepath.Join(root, "dev", "kmsg"), 0); err != nil {
		t.Fatal(err)
	}
	if got := <-follow(t, root); got.st.Reason != monitor.NoPermission {
		t.Errorf("%+v", got)
	}
}
