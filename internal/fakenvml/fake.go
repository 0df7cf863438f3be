// Package fakenvml is a driver without a GPU, for tests: it builds, from the C
// sources beside it, an NVML library that speaks the ABI of one of ten driver
// generations and answers what a scenario file says. README.md describes the
// scenario language.
//
// The library finds scenario.txt beside itself, so that a test can load it
// into its own process as well as run programs on it; it reads the file again
// when it changes. It counts calls and notes what callers do wrong.
package fakenvml

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Fake is one library with its scenario, in a folder of its own.
type Fake struct {
	t    testing.TB
	dir  string
	path string
}

var built sync.Map // generation → func() (string, error)

// Build returns the path of the library of a driver generation for the system
// the test runs on. It comes from the folder $FAKENVML_DIR where that is set,
// else it is compiled once and kept in the user's cache. Where there is no
// compiler the test is skipped, under CI=true it fails.
func Build(t testing.TB, generation string) string {
	t.Helper()
	once, _ := built.LoadOrStore(generation, sync.OnceValues(func() (string, error) {
		return build(generation)
	}))
	path, err := once.(func() (string, error))()
	switch {
	case errors.Is(err, errNoCompiler) && os.Getenv("CI") != "true":
		t.Skipf("fake driver: %v", err)
	case err != nil:
		t.Fatalf("fake driver: %v", err)
	}
	return path
}

func build(name string) (string, error) {
	g, err := findGeneration(name)
	if err != nil {
		return "", err
	}
	if dir := os.Getenv("FAKENVML_DIR"); dir != "" {
		path := filepath.Join(dir, name, LibraryName(runtime.GOOS))
		_, err := os.Stat(path)
		return path, err
	}
	s, err := readSources()
	if err != nil {
		return "", err
	}
	symbols, err := Symbols(name)
	if err != nil {
		return "", err
	}
	generated, err := generatedC(g, symbols, s.implemented())
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "nvtop-lite-fakenvml")
	key := s.key(runtime.GOOS, runtime.GOARCH, generated, exportFile(runtime.GOOS, symbols))
	dir := filepath.Join(cache, name+"-"+key)
	path := filepath.Join(dir, LibraryName(runtime.GOOS))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return Compile(name, runtime.GOOS, runtime.GOARCH, dir, cache)
}

// New returns a library of a driver generation that answers by the scenario.
// Each one is a file of its own, so that a process can load several. A line of
// the scenario that the library does not understand fails the test.
func New(t testing.TB, generation, scenario string) *Fake {
	t.Helper()
	library := Build(t, generation)
	dir, err := os.MkdirTemp("", "fakenvml-")
	if err != nil {
		t.Fatal(err)
	}
	f := &Fake{t: t, dir: dir, path: filepath.Join(dir, LibraryName(runtime.GOOS))}
	t.Cleanup(func() {
		for _, v := range f.Violations() {
			if strings.HasPrefix(v, "scenario: ") {
				t.Errorf("fake driver: %s", v)
			}
		}
		removeDir(dir)
	})
	text, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, text, 0o777); err != nil {
		t.Fatal(err)
	}
	symbols, err := Symbols(generation)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.callsPath(), make([]byte, len(symbols)*recordSize), 0o666); err != nil {
		t.Fatal(err)
	}
	f.write(scenario)
	return f
}

// removeDir removes the folder as far as possible: a library that is loaded
// stays on Windows, and Wine cannot do all that os.RemoveAll asks of it.
func removeDir(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
	_ = os.Remove(dir)
}

// Path is the library's file.
func (f *Fake) Path() string { return f.path }

// Dir is the folder of the library, its scenario, its counts and its notes.
func (f *Fake) Dir() string { return f.dir }

// ScenarioPath is the scenario's file.
func (f *Fake) ScenarioPath() string { return filepath.Join(f.dir, "scenario.txt") }

// ViolationsPath is the file of what Violations returns. A test of scenarios
// that are wrong removes it, so as not to fail for them.
func (f *Fake) ViolationsPath() string { return filepath.Join(f.dir, "violations.log") }

func (f *Fake) callsPath() string { return filepath.Join(f.dir, "calls.bin") }

// Env is what a program's environment needs, besides its own, to find the
// library by its name on Linux.
func (f *Fake) Env() []string {
	return []string{"LD_LIBRARY_PATH=" + f.dir, "FAKENVML_SCENARIO=" + f.ScenarioPath()}
}

// SetScenario replaces the scenario. Every call that begins after it returns
// is answered by the new one; calls that hang are released, unless the new one
// holds them too.
func (f *Fake) SetScenario(text string) {
	f.t.Helper()
	f.write(text)
	// The library looks at the file at most every 20 ms.
	time.Sleep(40 * time.Millisecond)
}

func (f *Fake) write(text string) {
	f.t.Helper()
	next := f.ScenarioPath() + ".new"
	if err := os.WriteFile(next, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
	// On Windows a file that is being read cannot be replaced.
	var err error
	for range 100 {
		if err = os.Rename(next, f.ScenarioPath()); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Fatal(err)
}

// The records of calls.bin, one a function: see call.c.
const (
	nameSize   = 88
	maxGPUs    = 256
	recordSize = nameSize + 3*8 + maxGPUs*8
)

// record returns the numbers of a function's record: calls, active, most
// active, then calls per GPU; all 0 for a function that was never called.
func (f *Fake) record(name string) []uint64 {
	f.t.Helper()
	numbers := make([]uint64, 3+maxGPUs)
	text, err := os.ReadFile(f.callsPath())
	if err != nil {
		f.t.Fatal(err)
	}
	for ; len(text) >= recordSize; text = text[recordSize:] {
		if function, _, _ := bytes.Cut(text[:nameSize], []byte{0}); string(function) != name {
			continue
		}
		for i := range numbers {
			numbers[i] = binary.NativeEndian.Uint64(text[nameSize+8*i:])
		}
		break
	}
	return numbers
}

// Calls is how often a function was called, in all processes together.
func (f *Fake) Calls(name string) int { return int(f.record(name)[0]) }

// CallsOn is how often a function was called for one GPU and its MIG devices.
func (f *Fake) CallsOn(name string, gpu int) int { return int(f.record(name)[3+gpu]) }

// Active is how many calls of a function have not returned. Calls of a process
// that was killed count for ever.
func (f *Fake) Active(name string) int { return int(f.record(name)[1]) }

// MostActive is how many calls of a function were in progress at most at once.
func (f *Fake) MostActive(name string) int { return int(f.record(name)[2]) }

// AllCalls are the counts of all functions that were called.
func (f *Fake) AllCalls() map[string]int {
	f.t.Helper()
	counts := map[string]int{}
	text, err := os.ReadFile(f.callsPath())
	if err != nil {
		f.t.Fatal(err)
	}
	for ; len(text) >= recordSize; text = text[recordSize:] {
		name, _, _ := bytes.Cut(text[:nameSize], []byte{0})
		if n := binary.NativeEndian.Uint64(text[nameSize:]); n > 0 {
			counts[string(name)] = int(n)
		}
	}
	return counts
}

// WaitCalls waits until a function has been called n times.
func (f *Fake) WaitCalls(name string, n int) {
	f.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for f.Calls(name) < n {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s was called %d times in a minute, not %d times", name, f.Calls(name), n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Violations are the rules of NVML that callers broke, "function: what", and
// lines of the scenario that the library did not understand.
func (f *Fake) Violations() []string {
	f.t.Helper()
	text, err := os.ReadFile(f.ViolationsPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// A Scenario collects lines of a scenario file.
type Scenario struct {
	lines []string
}

// Add appends a line and returns the scenario.
func (s *Scenario) Add(format string, args ...any) *Scenario {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	return s
}

// String is the text of the file.
func (s *Scenario) String() string { return strings.Join(s.lines, "\n") + "\n" }
