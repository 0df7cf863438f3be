package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// followed is what FollowXIDs tells.
type followed struct {
	list []KernelXID
	st   monitor.Status
}

// follow follows the log under root until the test ends.
func follow(t *testing.T, root string) <-chan followed {
	ctx, stop := context.WithCancel(t.Context())
	told, ended := make(chan followed, 100), make(chan struct{})
	go func() {
		defer close(ended)
		FollowXIDs(ctx, root, func(list []KernelXID, st monitor.Status) { told <- followed{list, st} })
	}()
	t.Cleanup(func() { stop(); <-ended })
	return told
}

func TestKernelLog(t *testing.T) {
	const whole = monitor.None
	log := strings.Join([]string{
		"6,1,1000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05",
		"4,2,2000000,-;NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
		" SUBSYSTEM=pci", " DEVICE=+pci:0000:01:00.0",
		"4,3,2000001,c;NVRM: Xid (PCI:000f:01:00): 31, pid=79749, name=exe, Ch 0000000a, intr 00000000.",
		"4,4,3000000,-,caller=T99;NVRM: Xid (PCI:0000:07:00 GPU-I:05): 94, pid=7, name=a, Contained: SM (0x1). RST: No",
		"4,5,3000000,-;NVRM: Xid (PCI:0000:07:00 GPU-I:05 GPU-CI:01): 13, Graphics Exception",
		"4,6,3500000,-;NVRM: Xid (0000:03:00): 8, Channel 00000001", // old drivers
		"4,7,4000000,-;NVRM: Xid (PCI:0000:41:00): 45",
		// Not of the driver, or not of a GPU:
		"12,8,4000000,-;NVRM: Xid (PCI:0000:01:00): 48, written by a program",
		"4,9,4000000,-;nvidia-nvswitch3: SXid (PCI:0000:8b:00.0): 12028, Non-fatal",
		"4,10,4000000,-;NVRM: GPU at PCI:0000:00:08: GPU-c24840ec-8de1-83d5-b126-08000173ae32",
		"4,11,4000000,-;NVRM: Xid (PCI:0000:01:00): , nothing",
		"4,12,4000000,-;NVRM: Xid (PCI:0000:01:00): 0, nothing",
		"4,13,4000000,-;NVRM: Xid (PCI:0000:01): 13, nowhere",
		"4,14,4000000;NVRM: Xid (PCI:0000:01:00): 13, no flags",
		"4,15,99999999999999999999,-;NVRM: Xid (PCI:0000:01:00): 13, no time",
		"4,16,9000000000000000000,-;NVRM: Xid (PCI:0000:01:00): 13, after the end of time",
		"NVRM: Xid (PCI:0000:01:00): 13, no record",
		"4,17,5000000,-;" + strings.Repeat("x", 3*maxRecord),
		"4,18,5000000,-;NVRM: Xid (PCI:0000:01:00): 62, the last", "",
	}, "\n")
	root := fixture.Tree(t, map[string]string{"dev/kmsg": log, "proc/stat": "cpu  1 2 3 4\nbtime 1000\n"})
	told := follow(t, root)
	got := <-told
	want := []KernelXID{
		{2, 1002e9, "00000000:01:00.0", 79, whole, whole},
		{3, 1002e9 + 1000, "0000000F:01:00.0", 31, whole, whole},
		{4, 1003e9, "00000000:07:00.0", 94, 5, whole},
		{5, 1003e9, "00000000:07:00.0", 13, 5, 1},
		{6, 1003.5e9, "00000000:03:00.0", 8, whole, whole},
		{7, 1004e9, "00000000:41:00.0", 45, whole, whole},
		{18, 1005e9, "00000000:01:00.0", 62, whole, whole},
	}
	if got.st.Reason != monitor.Known || !slices.Equal(got.list, want) {
		t.Errorf("got %+v\n%+v\nwant %+v", got.st, got.list, want)
	}
	// What is written later is told too, when its line is complete.
	f, err := os.OpenFile(filepath.Join(root, "dev", "kmsg"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, piece := range []string{"4,19,6000000,-;NVRM: Xid (PCI:00", "00:01:00): 7", "4, more\n"} {
		if _, err := f.WriteString(piece); err != nil {
			t.Fatal(err)
		}
	}
	got = <-told
	if len(got.list) != 1 || got.list[0] != (KernelXID{19, 1006e9, "00000000:01:00.0", 74, whole, whole}) {
		t.Errorf("later: %+v", got)
	}
}

func TestKernelLogThatSaysNothing(t *testing.T) {
	root := fixture.Tree(t, map[string]string{"dev/kmsg": "", "proc/stat": "cpu  1 2 3 4\nbtime 1000\n"})
	if got := <-follow(t, root); got.st.Reason != monitor.Known || len(got.list) != 0 {
		t.Errorf("an empty log: %+v", got)
	}
	if got := <-follow(t, fixture.Tree(t, nil)); got.st.Reason != monitor.NotSupported {
		t.Errorf("no log: %+v", got)
	}
	// Without the time of the boot nothing can be said of when it was.
	root = fixture.Tree(t, map[string]string{"dev/kmsg": ""})
	if got := <-follow(t, root); got.st.Reason != monitor.NotSupported {
		t.Errorf("no time: %+v", got)
	}
	root = fixture.Tree(t, map[string]string{"dev/kmsg": "", "proc/stat": "cpu  1 2 3 4\nbtime x\n"})
	if got := <-follow(t, root); got.st.Reason != monitor.Implausible {
		t.Errorf("a boot at no time: %+v", got)
	}
}

func FuzzKernelLog(f *testing.F) {
	f.Add([]byte("4,2,2000000,-;NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n SUBSYSTEM=pci\n"))
	f.Add([]byte("4,4,3000000,-,caller=T99;NVRM: Xid (PCI:0000:07:00 GPU-I:05 GPU-CI:99999999999): 94\n"))
	f.Add([]byte("4,6,1,-;NVRM: Xid (ffffffff:ff:1f.7): 65535\n4,6,1,-;NVRM: Xid (-1:0:0): 65536\n"))
	f.Add([]byte(";\n,,,;\n4,,,-;NVRM: Xid ("))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(piece int) (list []KernelXID) {
			lines := lineReader{each: func(line []byte) {
				x, us, ok := parseRecord(line)
				if !ok {
					return
				}
				if us < 0 || x.Code <= 0 || x.Code > 65535 || busID(x.BusID) != x.BusID || x.GPUInstanceID < monitor.None || x.ComputeInstanceID > 255 {
					t.Errorf("%q: %+v at %d", line, x, us)
				}
				list = append(list, x)
			}}
			for rest := data; len(rest) > 0; {
				n := min(piece, len(rest))
				lines.add(rest[:n])
				rest = rest[n:]
			}
			return list
		}
		if a, b := read(len(data)), read(3); !slices.Equal(a, b) {
			t.Errorf("whole %+v, in pieces %+v", a, b)
		}
	})
}

func TestKernelLogStops(t *testing.T) {
	root := fixture.Tree(t, map[string]string{"dev/kmsg": "", "proc/stat": "cpu  1 2 3 4\nbtime 1000\n"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		FollowXIDs(ctx, root, func([]KernelXID, monitor.Status) { stop() })
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it reads on")
	}
}
