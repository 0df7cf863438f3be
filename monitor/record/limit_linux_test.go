package record

import (
	"io"
	"math/rand/v2"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// limitFiles makes writing beyond the size an error, as on a full disk.
func limitFiles(size int64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: uint64(size)})
}

// TestFullDisk: a line that did not get there as a whole is taken back, and the
// file is valid.
func TestFullDisk(t *testing.T) {
	for _, name := range []string{"a", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		random := rand.New(rand.NewPCG(3, 3))
		var want []int
		for k := range 10 {
			cmd, out, said := run(t, path, k*perRun, 1+random.IntN(300_000))
			written, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if !strings.HasSuffix(said.String(), ": file too large\n") || !strings.Contains(said.String(), path) {
				t.Fatalf("it says %q", said)
			}
			for i := range written {
				want = append(want, k*perRun+i)
			}
			if len(want) == 0 {
				continue
			}
			r := open(t, path)
			if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: read %v, want %v, error %v", name, got, want, err)
			}
			if n, numbers := r.Broken(); n != 0 {
				t.Errorf("%s: broken lines %v", name, numbers)
			}
		}
	}
}

// TestFullDevice: what is no regular file is written to all the same.
func TestFullDevice(t *testing.T) {
	w := create(t, "/dev/full")
	defer w.Close()
	if err := w.Write([]byte("x\n")); err == nil || err.Error() != "write /dev/full: no space left on device" {
		t.Error(err)
	}
	null := create(t, "/dev/null")
	defer null.Close()
	if err := null.Write([]byte("x\n")); err != nil || null.Size() != 2 {
		t.Error(err)
	}
}
