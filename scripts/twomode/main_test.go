package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	fakePath = "/opt/fake"
	fakeFile = fakePath + "/libnvidia-ml.so.1"
)

// once asks for one snapshot of the fake driver.
var once = []string{"/nvtop-lite", "--json", "-n", "1", "--nvml", fakeFile}

// TestWithGlibc: the loader is in one of the usual places.
func TestWithGlibc(t *testing.T) {
	tr := newTree(t, "amd64")
	tr.addGlibc("amd64", "/lib64", "/lib/x86_64-linux-gnu")
	tr.addFake(fakePath, "amd64", oneGPU)
	reads(t, tr.run(run{}, once...))
	t.Run("no /proc", func(t *testing.T) { reads(t, tr.run(run{noProc: true}, once...)) })
	t.Run("all at once", func(t *testing.T) { reads(t, tr.run(run{env: []string{"LD_BIND_NOW=1"}}, once...)) })
	t.Run("not to be read", func(t *testing.T) {
		tr.write("/unreadable", nil, 0o111)
		tr.add("/unreadable", program(t, "amd64"))
		if err := os.Chmod(filepath.Join(tr.dir, "unreadable"), 0o111); err != nil {
			t.Fatal(err)
		}
		says(t, tr.run(run{user: true}, "/unreadable", "--once", "--nvml", fakeFile), 1, "may not read its own file", "chmod a+r /unreadable")
	})
	t.Run("from a file without a path", func(t *testing.T) {
		tr.compile("/byhandle", tool(t, "gcc", "gcc"), byHandle, "-static")
		handle := append([]string{"/byhandle"}, once...)
		reads(t, tr.run(run{}, handle...))
		says(t, tr.run(run{noProc: true}, handle...), 1, "does not find its own file", "/dev/fd/", "mount /proc")
	})
	t.Run("by hand", func(t *testing.T) { reads(t, tr.run(run{}, append([]string{loaders["amd64"]}, once...)...)) })
	t.Run("no library", func(t *testing.T) {
		says(t, tr.run(run{}, "/nvtop-lite", "--once"), 1, "no NVIDIA driver library found", "libnvidia-ml.so.1")
	})
}

// TestLoaderElsewhere: what is at the usual place decides, not what its folder is
// called.
func TestLoaderElsewhere(t *testing.T) {
	tr := newTree(t, "amd64")
	tr.addGlibc("amd64", "/opt/musl-free", "/lib/x86_64-linux-gnu")
	tr.addFake(fakePath, "amd64", oneGPU)
	lib64 := filepath.Join(tr.dir, "lib64")
	if err := errors.Join(os.Mkdir(lib64, 0o755), os.Symlink("/opt/musl-free/ld-linux-x86-64.so.2", filepath.Join(lib64, "ld-linux-x86-64.so.2"))); err != nil {
		t.Fatal(err)
	}
	reads(t, tr.run(run{}, once...))
	loader := filepath.Join(lib64, "ld-linux-x86-64.so.2")
	if err := errors.Join(os.Remove(loader), syscall.Mkfifo(loader, 0o644)); err != nil {
		t.Fatal(err)
	}
	says(t, tr.run(run{}, once...), 1, "has no glibc")
}

// TestNixOS: the loader is in the store alone, and known to those who started the
// program.
func TestNixOS(t *testing.T) {
	const store = "/nix/store/0abc-glibc-2.36/lib"
	tr := newTree(t, "amd64")
	tr.addGlibc("amd64", store, store)
	tr.addFake(fakePath, "amd64", oneGPU)
	tr.compile("/nix/store/1def-shell/bin/sh", tool(t, "gcc", "gcc"), starter, "-Wl,--dynamic-linker="+store+"/ld-linux-x86-64.so.2", "-Wl,-rpath,"+store)
	shell := append([]string{"/nix/store/1def-shell/bin/sh"}, once...)
	reads(t, tr.run(run{}, shell...))
	t.Run("a stub in the usual place", func(t *testing.T) {
		tr.add("/nix/store/2ghi-stub-ld/libexec/stub-ld", filepath.Join(tr.dir, store, "ld-linux-x86-64.so.2"))
		if err := os.Mkdir(filepath.Join(tr.dir, "lib64"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/nix/store/2ghi-stub-ld/libexec/stub-ld", filepath.Join(tr.dir, "lib64/ld-linux-x86-64.so.2")); err != nil {
			t.Fatal(err)
		}
		reads(t, tr.run(run{}, shell...))
	})
	t.Run("a variable with more libraries", func(t *testing.T) {
		// The loader's own option must not hide what the variable says.
		tr.write("/root/proc/driver/nvidia/version", []byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14\n"), 0o644)
		args := []string{shell[0], "/nvtop-lite", "--json", "-n", "1", "--root", "/root"}
		reads(t, tr.run(run{env: []string{"LD_LIBRARY_PATH=" + fakePath}}, args...))
	})
	t.Run("set-uid", func(t *testing.T) {
		// Whoever calls a program with more rights must not choose its loader.
		if err := os.Chmod(filepath.Join(tr.dir, "nvtop-lite"), 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		says(t, tr.run(run{user: true}, shell...), 1, "has no glibc")
	})
}

// musl is where the C library of the same name has its loader.
const musl = "/lib/ld-musl-x86_64.so.1"

// TestMusl: what needs no driver works, and what does says what to do.
func TestMusl(t *testing.T) {
	compiler := tool(t, "musl-gcc", "musl-tools")
	tr := newTree(t, "amd64")
	tr.add(musl, musl)
	tr.addFake(fakePath, "amd64", oneGPU)
	tr.compile("/bin/sh", compiler, starter)
	says(t, tr.run(run{}, append([]string{"/bin/sh"}, once...)...), 1, "musl", "apk add gcompat")
	works(t, tr)
	if err := os.Mkdir(filepath.Join(tr.dir, "lib64"), 0o755); err != nil {
		t.Fatal(err)
	}
	// As libc6-compat of Alpine has it.
	if err := os.Symlink("/lib/ld-musl-x86_64.so.1", filepath.Join(tr.dir, "lib64/ld-linux-x86-64.so.2")); err != nil {
		t.Fatal(err)
	}
	says(t, tr.run(run{}, once...), 1, "musl", "apk add gcompat")
}

// TestEmpty: there is nothing but the program.
func TestEmpty(t *testing.T) {
	tr := newTree(t, "amd64")
	for name, r := range map[string]run{"with /proc": {}, "without": {noProc: true}} {
		t.Run(name, func(t *testing.T) {
			says(t, tr.run(r, "/nvtop-lite", "--once"), 1, "has no glibc")
			says(t, tr.run(r, "/nvtop-lite", "doctor"), 1, "has no glibc", "no library was looked for", "in an image that has glibc")
			says(t, tr.onTerminal(r, "/nvtop-lite"), 1, "has no glibc", "in an image that has glibc")
		})
	}
	works(t, tr)
}

// works: everything that loads no library does.
func works(t *testing.T, tr tree) {
	t.Helper()
	says(t, tr.run(run{}, "/nvtop-lite", "--help"), 0, "--demo")
	says(t, tr.run(run{}, "/nvtop-lite", "--demo", "--once"), 0, "H100")
	says(t, tr.run(run{noProc: true}, "/nvtop-lite", "--demo", "--once"), 0, "H100")
	says(t, tr.run(run{}, "/nvtop-lite", "record", "--demo", "-i", "0.1", "-n", "3", "/tmp/r"), 0)
	says(t, tr.run(run{}, "/nvtop-lite", "summary", "/tmp/r"), 0, "3 snapshots")
	says(t, tr.run(run{}, "/nvtop-lite", "diff", "/tmp/r", "/tmp/r"), 0)
}

// TestForbidden: the loader is there, and may not be started or does not load the
// program. Nothing else is tried.
func TestForbidden(t *testing.T) {
	tr := newTree(t, "amd64")
	tr.addGlibc("amd64", "/lib64", "/lib/x86_64-linux-gnu")
	tr.addFake(fakePath, "amd64", oneGPU)
	loader := filepath.Join(tr.dir, loaders["amd64"])
	if err := os.Chmod(loader, 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, tr.run(run{}, once...), 1, "forbidden", loaders["amd64"], "nvtop-lite-linux-ARCH-glibc")
	if err := os.Chmod(loader, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(tr.dir, "lib/x86_64-linux-gnu/libc.so.6")); err != nil {
		t.Fatal(err)
	}
	r := tr.run(run{}, once...)
	says(t, r, 1, "libc.so.6", "loader does not load nvtop-lite", "glibc) is not whole")
	if strings.Contains(r.err, "-glibc") { // which would not start either
		t.Errorf("it names the plain file: %s", r.err)
	}
	if n := strings.Count(r.out+r.err, "libc.so.6"); n != 1 {
		t.Errorf("it says so %d times:\n%s%s", n, r.out, r.err)
	}
}

// TestChangedUnderneath: where Go or purego no longer have what the entry rests
// on, the build says so, and the plain file builds.
func TestChangedUnderneath(t *testing.T) {
	copied := t.TempDir()
	for _, name := range []string{"cmd", "internal", "monitor", "nvml"} {
		if err := os.CopyFS(filepath.Join(copied, name), sources{os.DirFS(filepath.Join(root, name))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(copied, name), text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	entry := filepath.Join(copied, "internal/twomode/entry_linux_amd64.s")
	text, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.ReplaceAll(text, []byte("runtime·iscgo("), []byte("runtime·isForeign("))
	if err := os.WriteFile(entry, changed, 0o644); err != nil || bytes.Equal(text, changed) {
		t.Fatal("the entry has no iscgo", err)
	}
	before := root
	root = copied
	defer func() { root = before }()
	out := filepath.Join(t.TempDir(), "nvtop-lite")
	if err := build("amd64", out); err == nil || !strings.Contains(err.Error(), "runtime.isForeign") {
		t.Errorf("%v", err)
	}
	if list, _ := os.ReadDir(filepath.Dir(out)); len(list) != 0 {
		t.Errorf("left is %v", list)
	}
	if _, err := goTool("amd64", "build", "-buildvcs=false", "-o", out, "./cmd/nvtop-lite"); err != nil {
		t.Errorf("the plain file: %v", err)
	}
}

// sources is a folder of sources without what tests read.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	kept := list[:0]
	for _, e := range list {
		if e.Name() != "testdata" && !strings.HasSuffix(e.Name(), "_test.go") {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// TestWithoutLoader: a file in which the entry would lose its way is refused.
func TestWithoutLoader(t *testing.T) {
	dir := t.TempDir()
	link := func(flags ...string) []byte {
		t.Helper()
		file := filepath.Join(dir, "nvtop-lite")
		if _, err := goTool("amd64", append(append([]string{"build", "-buildvcs=false", "-o", file}, flags...), "./cmd/nvtop-lite")...); err != nil {
			t.Fatal(err)
		}
		image, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	plain := link()
	for name, c := range map[string]struct {
		image []byte
		arch  string
		want  string
	}{
		"another machine":      {plain, "arm64", "EM_X86_64"},
		"position-independent": {link("-buildmode=pie"), "amd64", "ET_DYN"},
		"static":               {static(t, dir), "amd64", "libraries"},
		"no DT_DEBUG":          {withoutDebug(t, plain), "amd64", "DT_DEBUG"},
		"no program":           {[]byte(strings.Repeat("#!/bin/sh\n", 100)), "amd64", "magic"},
	} {
		if err := withoutLoader(c.image, c.arch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := withoutLoader(plain, "amd64"); err != nil {
		t.Error(err)
	}
	if err := withoutLoader(plain, "amd64"); err == nil || !strings.Contains(err.Error(), "names no loader") {
		t.Errorf("twice: %v", err)
	}
}

// static is a program of Go alone.
func static(t *testing.T, dir string) []byte {
	t.Helper()
	source, file := filepath.Join(dir, "x.go"), filepath.Join(dir, "x")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := goTool("amd64", "build", "-o", file, source); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// withoutDebug takes DT_DEBUG out of a file's dynamic section.
func withoutDebug(t *testing.T, plain []byte) []byte {
	t.Helper()
	image := bytes.Clone(plain)
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	dynamic := f.Section(".dynamic")
	for at := dynamic.Offset; at < dynamic.Offset+dynamic.Size; at += 16 {
		if elf.DynTag(binary.LittleEndian.Uint64(image[at:])) == elf.DT_DEBUG {
			binary.LittleEndian.PutUint64(image[at:], uint64(elf.DT_PLTGOT))
			return image
		}
	}
	t.Fatal("no DT_DEBUG")
	return nil
}
