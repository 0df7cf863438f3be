package fakenvml

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A target is a system that libraries can be built for.
type target struct {
	command string // the cross compiler
	machine string // what a compiler for it calls its machine
	pkg     string // the Debian package that has the compiler
}

var targets = map[string]target{
	"linux/amd64":   {"x86_64-linux-gnu-gcc", "x86_64-", "gcc"},
	"linux/arm64":   {"aarch64-linux-gnu-gcc", "aarch64-", "gcc-aarch64-linux-gnu"},
	"windows/amd64": {"x86_64-w64-mingw32-gcc", "x86_64-w64-", "gcc-mingw-w64-x86-64"},
}

// errNoCompiler is wrapped by what Compile returns where no compiler is installed.
var errNoCompiler = errors.New("no C compiler")

// LibraryName is what the library's file is called on a system.
func LibraryName(goos string) string {
	if goos == "windows" {
		return "nvml.dll"
	}
	return "libnvidia-ml.so.1"
}

func findCompiler(goos, goarch string) (string, error) {
	t, ok := targets[goos+"/"+goarch]
	if !ok {
		return "", fmt.Errorf("no fake driver for %s/%s", goos, goarch)
	}
	if path, err := exec.LookPath(t.command); err == nil {
		return path, nil
	}
	// Outside Debian the native compiler has no long name.
	if goos == runtime.GOOS && goarch == runtime.GOARCH {
		if path, err := exec.LookPath("gcc"); err == nil {
			machine, err := exec.Command(path, "-dumpmachine").Output()
			if err == nil && strings.HasPrefix(string(machine), t.machine) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w %s: apt-get install %s", errNoCompiler, t.command, t.pkg)
}

// moduleRoot finds the folder of the module nvtop-lite, from where the test
// runs upwards: also from a nested module's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			line, _, _ := strings.Cut(string(text), "\n")
			if strings.TrimSpace(line) == "module nvtop-lite" {
				return dir, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the sources of nvtop-lite are not above the working folder")
		}
		dir = parent
	}
}

// sources are the C files and what they include, by path.
type sources struct {
	files []string // the .c files, sorted
	text  map[string]string
}

func readSources() (*sources, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "internal", "fakenvml", "c")
	paths := []string{filepath.Join(root, "internal", "abi", "nvml_abi.h")}
	for _, pattern := range []string{"*.c", "*.h"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	s := &sources{text: map[string]string{}}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s.text[path] = string(text)
		if strings.HasSuffix(path, ".c") {
			s.files = append(s.files, path)
		}
	}
	slices.Sort(s.files)
	return s, nil
}

// key names the content of the sources together with what else decides.
func (s *sources) key(more ...string) string {
	hash := sha256.New()
	paths := make([]string, 0, len(s.text))
	for path := range s.text {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintln(hash, filepath.Base(path), s.text[path])
	}
	fmt.Fprintln(hash, more)
	return hex.EncodeToString(hash.Sum(nil))[:20]
}

// flags are common to all files and targets.
var flags = []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC"}

// objects compiles what all generations share, once, and returns the files.
func (s *sources) objects(cc, goos, goarch, cache string) ([]string, error) {
	dir := filepath.Join(cache, "objects-"+s.key(goos, goarch))
	objects := make([]string, len(s.files))
	missing := false
	for i, file := range s.files {
		objects[i] = filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".c")+".o")
		if _, err := os.Stat(objects[i]); err != nil {
			missing = true
		}
	}
	if !missing {
		return objects, nil
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(cache, "work-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	args := append(slices.Clone(flags), "-c")
	if err := compile(cc, work, append(args, s.files...)); err != nil {
		return nil, err
	}
	// Another test may have been faster: its files are as good.
	if err := os.Rename(work, dir); err != nil {
		for _, object := range objects {
			if _, statErr := os.Stat(object); statErr != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

func compile(cc, dir string, args []string) error {
	cmd := exec.Command(cc, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cc), err, text)
	}
	return nil
}

// Compile builds the library of a generation into the folder dir and returns
// its path. The target is linux/amd64, linux/arm64 or windows/amd64. Parts
// that generations share are kept in the folder cache.
func Compile(name, goos, goarch, dir, cache string) (string, error) {
	g, err := findGeneration(name)
	if err != nil {
		return "", err
	}
	cc, err := findCompiler(goos, goarch)
	if err != nil {
		return "", err
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
	objects, err := s.objects(cc, goos, goarch, cache)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "generation.c"), []byte(generated), 0o666); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(work, "exports.def"), []byte(exportFile(goos, symbols)), 0o666); err != nil {
		return "", err
	}
	library := LibraryName(goos)
	args := append(slices.Clone(flags), "-shared", "-o", library, "generation.c")
	args = append(args, objects...)
	if goos == "windows" {
		args = append(args, "exports.def", "-static-libgcc")
	} else {
		args = append(args, "-pthread", "-Wl,-soname,"+library, "-Wl,--version-script=exports.def", "-Wl,-z,defs", "-ldl", "-lm")
	}
	if err := compile(cc, work, args); err != nil {
		return "", err
	}
	final := filepath.Join(dir, library)
	return final, os.Rename(filepath.Join(work, library), final)
}
