package record

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// perRun is how many lines a run may write; their numbers begin at a multiple.
const perRun = 1000

func TestMain(m *testing.M) {
	if path := os.Getenv("RECORD_TEST_FILE"); path != "" {
		first, _ := strconv.Atoi(os.Getenv("RECORD_TEST_FIRST"))
		limit, _ := strconv.Atoi(os.Getenv("RECORD_TEST_LIMIT"))
		if err := child(path, first, limit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child records as fast as it can, and says so after each line. With a limit,
// files may grow by no more than that.
func child(path string, first, limit int) error {
	w, err := Create(path)
	if err != nil {
		return err
	}
	if limit > 0 {
		if err := limitFiles(w.Size() + int64(limit)); err != nil {
			return err
		}
	}
	l := recordingOf(5, 8)
	for i := range perRun {
		if err := w.Write([]byte(at(first+i, l[i%5]))); err != nil {
			w.Close()
			return err
		}
		os.Stdout.Write([]byte{'.'})
	}
	return w.Close()
}

// run starts a child that records to the file.
func run(t *testing.T, path string, first, limit int) (*exec.Cmd, *bufio.Reader, *strings.Builder) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECORD_TEST_FILE="+path, "RECORD_TEST_FIRST="+strconv.Itoa(first), "RECORD_TEST_LIMIT="+strconv.Itoa(limit))
	said := new(strings.Builder)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out), said
}

// TestKilled: runs are killed at any moment, and others go on with the same
// file. What was written is there, and no more than a line is lost each time.
func TestKilled(t *testing.T) {
	runs := 100 // with each kind of file
	if testing.Short() || underRace {
		runs = 10
	}
	for _, name := range []string{"a", "a.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			least := make([]int, runs) // lines of each run that were written for sure
			var follow *Reader
			var followed []int
			for k := range runs {
				cmd, out, _ := run(t, path, k*perRun, 0)
				if n := random.IntN(40); n > 0 {
					for range n {
						if _, err := out.ReadByte(); err != nil {
							t.Fatal(err)
						}
						least[k]++
					}
				} else {
					// While it starts, or finds out how the file ends.
					time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				}
				cmd.Process.Kill()
				more, _ := io.ReadAll(out)
				least[k] += len(more)
				cmd.Wait()
				if follow == nil && least[k] > 0 {
					follow = open(t, path)
				}
				if follow != nil {
					got, err := readAll(follow)
					if err != nil {
						t.Fatalf("after run %d: %v", k, err)
					}
					followed = append(followed, got...)
				}
			}
			r := open(t, path)
			got, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			for name, all := range map[string][]int{"at the end": got, "while it grew": followed} {
				count := make([]int, runs)
				last := -1
				for _, n := range all {
					k := n / perRun
					if n <= last || n%perRun != count[k] {
						t.Fatalf("read %s: %d after %d", name, n, last)
					}
					count[k]++
					last = n
				}
				for k := range runs {
					if count[k] < least[k] || count[k] > least[k]+1 {
						t.Errorf("read %s: %d lines of run %d, which wrote %d", name, count[k], k, least[k])
					}
				}
			}
			if n, _ := r.Broken(); n > runs {
				t.Errorf("%d broken lines", n)
			}
			t.Logf("%d lines", len(got))
		})
	}
}
