package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// These tests run the file of two modes in folders that hold no more of a system
// than they say, which need a mount namespace and chroot.

// patience is how long a run may take: long enough for a busy machine.
const patience = 2 * time.Minute

// oneGPU is a driver with something to show.
const oneGPU = "gpus 1\ngpu all util 44\ngpu all temperature 45\n"

var built sync.Map // architecture → func() (string, error)

// program is the file of two modes.
func program(t *testing.T, arch string) string {
	t.Helper()
	once, _ := built.LoadOrStore(arch, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "twomode-")
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, "nvtop-lite")
		return file, build(arch, file)
	}))
	file, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMain(m *testing.M) {
	code := m.Run()
	built.Range(func(_, once any) bool {
		file, _ := once.(func() (string, error))()
		_ = os.RemoveAll(filepath.Dir(file))
		return true
	})
	os.Exit(code)
}

// tool finds a program that the tests need.
func tool(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		unable(t, name+" is missing: apt-get install "+debian)
	}
	return path
}

// unable leaves a test out for what this machine lacks, which no run for a change
// may do.
func unable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A tree is a folder that a program takes for the whole system.
type tree struct {
	t   *testing.T
	dir string
}

// newTree is a tree that holds the file of two modes and an empty /proc and /tmp.
func newTree(t *testing.T, arch string) tree {
	t.Helper()
	tr := tree{t, t.TempDir()}
	for _, dir := range []string{"proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(tr.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(tr.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tr.add("/nvtop-lite", program(t, arch))
	return tr
}

// add copies a file into the tree.
func (tr tree) add(path, from string) {
	tr.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.write(path, text, 0o755)
}

func (tr tree) write(path string, text []byte, mode os.FileMode) {
	tr.t.Helper()
	to := filepath.Join(tr.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, mode), os.Chmod(to, mode)); err != nil {
		tr.t.Fatal(err)
	}
}

// libraries are what the program, and NVML, ask glibc for.
var libraries = []string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "librt.so.1"}

// addGlibc puts the loader and the libraries of a system into the tree, each in
// the folder given.
func (tr tree) addGlibc(arch, loaderAt, librariesAt string) {
	tr.t.Helper()
	loader, from := loaders[arch], "/lib/x86_64-linux-gnu"
	if arch == "arm64" {
		loader, from = "/usr/aarch64-linux-gnu"+loader, "/usr/aarch64-linux-gnu/lib"
	}
	tr.add(filepath.Join(loaderAt, filepath.Base(loader)), loader)
	for _, name := range libraries {
		tr.add(filepath.Join(librariesAt, name), filepath.Join(from, name))
	}
}

// addFake puts a fake driver into the tree.
func (tr tree) addFake(at, arch, scenario string) {
	tr.t.Helper()
	dir := tr.t.TempDir()
	library, err := fakenvml.Compile("550", "linux", arch, dir, dir)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.add(filepath.Join(at, filepath.Base(library)), library)
	tr.write(filepath.Join(at, "scenario.txt"), []byte(scenario), 0o644)
}

// compile builds a C program for the tree.
func (tr tree) compile(path, compiler, source string, flags ...string) {
	tr.t.Helper()
	file := filepath.Join(tr.t.TempDir(), "x.c")
	to := filepath.Join(tr.dir, path)
	if err := errors.Join(os.WriteFile(file, []byte(source), 0o644), os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
		tr.t.Fatal(err)
	}
	if out, err := exec.Command(compiler, append(flags, "-O1", "-o", to, file)...).CombinedOutput(); err != nil {
		tr.t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
}

// starter is the source of a program that starts another one, as a shell does.
const starter = `#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status = 0;
	if (fork() == 0) { execv(argv[1], argv + 1); _exit(126); }
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
`

// byHandle starts the program of its first argument by an open file, as fexecve
// does.
const byHandle = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
	execveat(open(argv[1], O_RDONLY), "", argv + 1, environ, AT_EMPTY_PATH);
	return 126;
}
`

// run is how something is run in a tree.
type run struct {
	noProc bool // without /proc
	env    []string
	user   bool // as somebody who is not root
}

// result is how a run ended.
type result struct {
	out, err string
	code     int
}

// command is a command in the tree, not started yet.
func (tr tree) command(r run, args ...string) *exec.Cmd {
	tr.t.Helper()
	tool(tr.t, "chroot", "coreutils")
	mount := `mount --rbind /proc "$0/proc" && `
	if r.noProc {
		mount = ""
	}
	enter := `exec chroot "$0" "$@"`
	if r.user {
		enter = `exec chroot --userspec=65534:65534 "$0" "$@"`
	}
	flags := []string{"-m"}
	if os.Getuid() != 0 {
		if r.user {
			unable(tr.t, "needs root")
		}
		flags = []string{"-r", "-m"}
	}
	cmd := exec.Command(tool(tr.t, "unshare", "util-linux"), append(append(flags, "/bin/sh", "-c", mount+enter, tr.dir), args...)...)
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, r.env...)
	return cmd
}

// run runs a command in the tree to its end.
func (tr tree) run(r run, args ...string) result {
	tr.t.Helper()
	return tr.end(tr.command(r, args...))
}

// end runs a command to its end.
func (tr tree) end(cmd *exec.Cmd) result {
	tr.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		tr.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !late.Stop() {
		tr.t.Fatalf("%q did not end; it said %s%s", cmd.Args, out.String(), errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tr.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// onTerminal runs a command in the tree on a terminal.
func (tr tree) onTerminal(r run, args ...string) result {
	tr.t.Helper()
	r.env = append(r.env, "TERM=xterm")
	inside := tr.command(r, args...)
	for i, word := range inside.Args {
		inside.Args[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	cmd := exec.Command(tool(tr.t, "script", "bsdutils"), "-qec", "exec "+strings.Join(inside.Args, " "), "/dev/null")
	cmd.Env = inside.Env
	return tr.end(cmd)
}

// says checks how a run ended.
func says(t *testing.T, r result, code int, want ...string) {
	t.Helper()
	all := r.out + r.err
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("it does not say %q", w)
			code = -1
		}
	}
	if r.code != code {
		t.Errorf("exit code %d\n%.1000s", r.code, all)
	}
}

// reads checks that the driver of oneGPU was read.
func reads(t *testing.T, r result) {
	t.Helper()
	says(t, r, 0, `"utilization_percent":44`, `"temperature_c":45`, `"warnings":[]`) // one would say that there is no driver process
}
