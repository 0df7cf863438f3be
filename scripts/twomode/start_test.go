package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
)

// TestStarts: it starts every time, two hundred times.
func TestStarts(t *testing.T) {
	fake := fakenvml.New(t, "550", oneGPU)
	file := program(t, "amd64")
	const atOnce, each = 8, 25 // most of the time is waiting
	failed := make(chan error, atOnce)
	for range atOnce {
		go func() {
			for range each {
				out, err := exec.Command(file, "--json", "-n", "1", "--nvml", fake.Path()).CombinedOutput()
				if err != nil || !bytes.Contains(out, []byte(`"utilization_percent":44`)) {
					failed <- fmt.Errorf("%w\n%.1000s", err, out)
					return
				}
			}
			failed <- nil
		}()
	}
	for range atOnce {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestDriverProcess looks at the driver process of a stream: it is called as the
// program is, has no file open that the plain file's has not, and is started anew
// from a file that is no longer there.
func TestDriverProcess(t *testing.T) {
	fake := fakenvml.New(t, "550", oneGPU)
	plain := filepath.Join(t.TempDir(), "nvtop-lite")
	if _, err := goTool("amd64", "build", "-buildvcs=false", "-o", plain, "./cmd/nvtop-lite"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "nvtop-lite")
	text, err := os.ReadFile(program(t, "amd64"))
	if err := errors.Join(err, os.WriteFile(copied, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	stream := func(file string) (cmd *exec.Cmd, rows *bufio.Reader) {
		t.Helper()
		cmd = exec.Command(file, "--json", "-i", "0.1", "--nvml", fake.Path())
		return cmd, streaming(t, cmd)
	}
	plainly, _ := stream(plain)
	cmd, rows := stream(copied)
	child, want := childOf(t, cmd.Process.Pid), childOf(t, plainly.Process.Pid)
	for _, pid := range []int{child, want} {
		if got := read(t, pid, "comm"); got != "nvtop-lite\n" {
			t.Errorf("it is called %q", got)
		}
	}
	if got := read(t, child, "cmdline"); !strings.HasPrefix(got, "nvtop-lite\x00") {
		t.Errorf("its command line is %q", got)
	}
	if !strings.Contains(read(t, child, "maps"), loaderName) || strings.Contains(read(t, cmd.Process.Pid, "maps"), loaderName) {
		t.Error("the loader is not in the driver process alone")
	}
	if got, want := openFiles(t, child), openFiles(t, want); got != want {
		t.Errorf("it has %d open files, that of the plain file %d", got, want)
	}
	if got, want := openFiles(t, cmd.Process.Pid), openFiles(t, plainly.Process.Pid); got != want {
		t.Errorf("the program has %d open files, the plain one %d", got, want)
	}
	if err := errors.Join(os.Remove(copied), syscall.Kill(child, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(patience); ; {
		row(t, rows)
		if next := childOf(t, cmd.Process.Pid); next != 0 && next != child {
			break
		}
		if time.Now().After(late) {
			t.Fatal("no other driver process is started")
		}
	}
	row(t, rows)
	row(t, rows) // what was on its way is gone: this is of the new one
}

// streaming starts a stream, which has sent its first row, and ends it with the test.
func streaming(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	rows := bufio.NewReader(out)
	row(t, rows)
	return rows
}

// TestLoaderComesBack: during an upgrade of the system the loader may be away for a
// moment, which ends nothing that was running.
func TestLoaderComesBack(t *testing.T) {
	tr := newTree(t, "amd64")
	tr.addGlibc("amd64", "/lib64", "/lib/x86_64-linux-gnu")
	tr.addFake(fakePath, "amd64", oneGPU)
	cmd := tr.command(run{}, "/nvtop-lite", "--json", "-i", "0.1", "--nvml", fakeFile)
	rows := streaming(t, cmd)
	loader := filepath.Join(tr.dir, loaders["amd64"])
	child := childOf(t, cmd.Process.Pid)
	if err := errors.Join(os.Rename(loader, loader+".away"), syscall.Kill(child, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	time.AfterFunc(2*time.Second, func() { back <- os.Rename(loader+".away", loader) })
	for range 40 { // more than the old one can have left in its pipe
		row(t, rows)
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
}

// loaderName is how the kernel's lists show glibc's loader on amd64.
const loaderName = "/ld-linux-x86-64"

func row(t *testing.T, rows *bufio.Reader) {
	t.Helper()
	line, err := rows.ReadString('\n')
	if err != nil || !strings.Contains(line, `"utilization_percent":44`) {
		t.Fatalf("%v in place of a snapshot: %.1000s", err, line)
	}
}

// childOf is the PID of the only child of a process, 0 where it has none just now.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	id := strconv.Itoa(pid)
	lists, err := filepath.Glob("/proc/" + id + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		if f := strings.Fields(string(text)); len(f) > 0 {
			child, err := strconv.Atoi(f[0])
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	return 0
}

func read(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestOldGlibc runs it with the C library of Debian 11.
func TestOldGlibc(t *testing.T) {
	tr := newTree(t, "amd64")
	unpackGlibc(t, tr.dir, "bullseye")
	// A library that asks for nothing stands for a driver of those days.
	tr.compile(fakeFile, tool(t, "gcc", "gcc"), "int nvmlInit_v2(void) { return 9; }\nint nvmlShutdown(void) { return 0; }\n", "-shared", "-fPIC", "-nostdlib")
	says(t, tr.run(run{}, once...), 1, "the NVIDIA kernel driver is not loaded", "NVML_ERROR_DRIVER_NOT_LOADED")
}

// unpackGlibc unpacks the C library of a release of Debian. Where there is none to
// be had, the test is skipped: the release may have gone from the mirrors.
func unpackGlibc(t *testing.T, dir, release string) {
	t.Helper()
	apt, dpkg := tool(t, "apt-get", "apt"), tool(t, "dpkg-deb", "dpkg")
	sites, err := exec.Command(apt, "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").Output()
	site, _, _ := strings.Cut(string(sites), "\n")
	if err != nil || site == "" {
		t.Skipf("no packages of Debian are to be had here: %v", err)
	}
	own := t.TempDir()
	sources := filepath.Join(own, "sources.list")
	lists, archives := filepath.Join(own, "lists/partial"), filepath.Join(own, "cache/archives/partial")
	if err := errors.Join(os.WriteFile(sources, []byte("deb "+site+" "+release+" main\n"), 0o644), os.MkdirAll(lists, 0o755), os.MkdirAll(archives, 0o755), os.Chmod(own, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"update"}, {"download", "libc6"}} {
		options := []string{"-q", "-o", "Dir::Etc::SourceList=" + sources, "-o", "Dir::Etc::SourceParts=/dev/null",
			"-o", "Dir::State::Lists=" + filepath.Dir(lists), "-o", "Dir::Cache=" + filepath.Join(own, "cache"), "-o", "Dir::State::Status=/dev/null", "-o", "APT::Sandbox::User=root"}
		cmd := exec.Command(apt, append(options, args...)...)
		cmd.Dir = own
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s of Debian is not to be had: %v\n%s", release, err, out)
		}
	}
	packed, err := filepath.Glob(filepath.Join(own, "libc6_*.deb"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("%q, %v", packed, err)
	}
	if out, err := exec.Command(dpkg, "-x", packed[0], dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestARM64 runs it on an emulated processor, which the kernel starts by itself,
// so that the loader is started too.
func TestARM64(t *testing.T) {
	emulator := tool(t, "qemu-aarch64-static", "qemu-user-static")
	tool(t, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
	registerARM64(t, emulator)
	empty := newTree(t, "arm64")
	says(t, empty.run(run{}, "/nvtop-lite", "--demo", "--once"), 0, "H100")
	says(t, empty.run(run{}, "/nvtop-lite", "--once"), 1, "has no glibc")
	tr := newTree(t, "arm64")
	tr.addGlibc("arm64", "/lib", "/lib/aarch64-linux-gnu")
	tr.addFake(fakePath, "arm64", oneGPU)
	reads(t, tr.run(run{}, once...))
}

// registerARM64 has the kernel start arm64 programs by an emulator, for the time
// of the test.
func registerARM64(t *testing.T, emulator string) {
	t.Helper()
	if runtime.GOARCH == "arm64" {
		return
	}
	const folder, entry = "/proc/sys/fs/binfmt_misc", "nvtop-lite-arm64"
	if _, err := os.Stat(folder + "/register"); err != nil {
		if err := syscall.Mount("binfmt_misc", folder, "binfmt_misc", 0, ""); err != nil {
			unable(t, err.Error())
		}
		t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
	}
	const (
		magic = `\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`
		mask  = `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfc\xff\xff\xff` // programs and loaders
	)
	f, err := os.OpenFile(folder+"/register", os.O_WRONLY, 0)
	if err != nil {
		unable(t, err.Error())
	}
	defer f.Close()
	if _, err := io.WriteString(f, ":"+entry+":M::"+magic+":"+mask+":"+emulator+":F"); err != nil {
		unable(t, err.Error())
	}
	t.Cleanup(func() { _ = os.WriteFile(folder+"/"+entry, []byte("-1"), 0) })
}
