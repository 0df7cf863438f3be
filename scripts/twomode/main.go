// Command twomode builds the Linux file that runs on every host: see
// internal/twomode.
//
//	go -C scripts/twomode run . [-arch amd64|arm64] -o FILE
//
// It links the program with the entry of that package, and takes away the name
// of the loader, so that the kernel starts the file by itself.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// root is the module's folder, as seen from here.
var root = "../.."

// loaders are where glibc's lies. The linker would take the one of the machine
// that builds.
var loaders = map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}

// machines are what the files say they are for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// advice goes with every failure: it is most likely due to what is not ours.
const advice = `The file of two modes rests on how Go starts a program and on how purego stands
in for cgo: internal/twomode says how. If one of them was changed, see what became
of the names in internal/twomode/entry_linux_*.s. The plain file builds as ever:
CGO_ENABLED=0 go build ./cmd/nvtop-lite`

func main() {
	arch := flag.String("arch", hostArch(runtime.GOARCH), "amd64 or arm64")
	name := flag.String("o", "", "the `file` to write, as seen from where you are (PWD)")
	flag.Parse()
	if *name == "" || flag.NArg() > 0 || loaders[*arch] == "" {
		flag.Usage()
		os.Exit(2)
	}
	out, err := target(*name, os.Getenv("PWD"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "twomode:", err)
		os.Exit(2)
	}
	if err := build(*arch, out); err != nil {
		fmt.Fprintf(os.Stderr, "twomode: %v\n%s\n", err, advice)
		os.Exit(1)
	}
}

// hostArch is the architecture to build for where none is named: that of this machine,
// if there is such a file.
func hostArch(here string) string {
	if loaders[here] == "" {
		return "amd64"
	}
	return here
}

// target is the path of the file that was named. "go -C" starts this in another folder
// than the caller's, which stands in PWD yet.
func target(name, pwd string) (string, error) {
	switch {
	case name == "-":
		return "", errors.New("-o -: it writes a file that can be started, and not to standard output; ./- is a file of that name")
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case filepath.IsAbs(pwd):
		return filepath.Join(pwd, name), nil
	}
	return filepath.Abs(name)
}

// build writes the file of two modes for an architecture.
func build(arch, out string) error {
	module, err := goTool(arch, "list", "-m")
	if err != nil {
		return err
	}
	temporary := out + ".linked"
	defer os.Remove(temporary)
	flags := fmt.Sprintf("-s -w -I %s -E %s/internal/twomode.entry", loaders[arch], strings.TrimSpace(module))
	if _, err := goTool(arch, "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", temporary, "./cmd/nvtop-lite"); err != nil {
		return err
	}
	image, err := os.ReadFile(temporary)
	if err != nil {
		return err
	}
	if err := withoutLoader(image, arch); err != nil {
		return fmt.Errorf("what was linked is not as expected: %w", err)
	}
	if err := os.WriteFile(temporary, image, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, out)
}

// goTool runs the go command in the module for an architecture.
func goTool(arch string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return string(text), nil
}

// withoutLoader takes the loader's name out of the program headers. It refuses a
// file in which the entry would not find its way.
func withoutLoader(image []byte, arch string) error {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB || f.Machine != machines[arch] {
		return fmt.Errorf("it is a %v %v file for %v", f.Class, f.Data, f.Machine)
	}
	if f.Type != elf.ET_EXEC {
		return fmt.Errorf("it is of type %v: the entry reads the headers where they were linked to", f.Type)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	slices.Sort(needed)
	if want := []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}; !slices.Equal(needed, want) {
		return fmt.Errorf("it needs the libraries %q, want %q", needed, want)
	}
	if debug, err := f.DynValue(elf.DT_DEBUG); err != nil || len(debug) != 1 || debug[0] != 0 {
		return errors.New("its dynamic section has no DT_DEBUG, by which the entry sees whether a loader was at work")
	}
	for i, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		const typeSize, headerSize = 4, 56
		at := int(binary.LittleEndian.Uint64(image[32:])) + i*headerSize
		copy(image[at:at+typeSize], make([]byte, typeSize)) // PT_NULL
		return nil
	}
	return errors.New("it names no loader")
}
