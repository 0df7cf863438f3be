package twomode

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoLoader says that the host has no loader of glibc where one was looked for.
// Any other error of Command is that of a system without means to look.
var ErrNoLoader = errors.New("no loader of glibc found")

// known is where glibc's loader lies on most systems, and machine is what an ELF
// file of this architecture says it is for.
func known() (paths []string, machine uint16) {
	if runtime.GOARCH == "arm64" {
		const name = "/ld-linux-aarch64.so.1"
		return []string{"/lib" + name, "/lib64" + name, "/usr/lib" + name, "/lib/aarch64-linux-gnu" + name}, 183
	}
	const name = "/ld-linux-x86-64.so.2"
	return []string{"/lib64" + name, "/lib" + name, "/usr/lib64" + name, "/lib/x86_64-linux-gnu" + name}, 62
}

// Command returns the loader of this host, and the arguments by which it starts
// the program in file as name with args. It looks in the usual places, then at
// what programs ask for that run or are there everywhere: so it finds that of
// NixOS. A program with more rights than its caller looks in the usual places
// alone, since the caller chose the other programs.
func Command(file, name string, args ...string) (loader string, argv []string, err error) {
	root, err := os.Open("/")
	if err != nil {
		return "", nil, err // all else would look as if it were not there
	}
	root.Close()
	paths, machine := known()
	for _, path := range paths {
		if usable(path, machine) {
			return path, append([]string{name, file}, args...), nil
		}
	}
	if Secure() {
		return "", nil, ErrNoLoader
	}
	for _, program := range []string{"/proc/" + strconv.Itoa(os.Getppid()) + "/exe", "/proc/1/exe", "/run/current-system/sw/bin/sh", "/bin/sh", "/usr/bin/env"} {
		if path := interpreter(program, machine); usable(path, machine) {
			// Its C library lies beside it, and may lie nowhere else. The option
			// replaces what the variable says.
			libraries := filepath.Dir(path)
			if more := strings.Trim(os.Getenv("LD_LIBRARY_PATH"), ":"); more != "" {
				libraries = more + ":" + libraries
			}
			return path, append([]string{name, "--library-path", libraries, file}, args...), nil
		}
	}
	return "", nil, ErrNoLoader
}

// usable reports whether path is a loader of glibc. That of musl is none: NVML
// crashes with it. Nor is the one by which NixOS explains that it has none.
func usable(path string, machine uint16) bool {
	for file, links := path, 0; links < maxLinks; links++ {
		if !filepath.IsAbs(file) || strings.Contains(file, "stub-ld") || strings.Contains(filepath.Base(file), "musl") {
			return false
		}
		to, err := os.Readlink(file)
		if err != nil { // it is no link
			f, err := open(file)
			if err != nil {
				return false
			}
			_, ok := isFor(f, machine)
			f.Close()
			return ok
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return false
}

// Musl reports whether the host has the C library musl, for this machine.
func Musl() bool {
	machine := "x86_64"
	if runtime.GOARCH == "arm64" {
		machine = "aarch64"
	}
	_, err := os.Stat("/lib/ld-musl-" + machine + ".so.1")
	return err == nil
}

// open opens a file, whatever it is: a pipe that nobody writes to must not hold up
// anybody.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

const (
	headerSize  = 64
	segmentSize = 56
	maxPath     = 4096
	maxLinks    = 10 // from one name to the next
)

// isFor reports whether an ELF file holds code for this machine.
func isFor(f *os.File, machine uint16) (header [headerSize]byte, ok bool) {
	_, err := f.ReadAt(header[:], 0)
	le := binary.LittleEndian
	return header, err == nil && string(header[:6]) == "\x7fELF\x02\x01" && le.Uint16(header[18:]) == machine
}

// interpreter is the loader that a program asks for, "" for none.
func interpreter(program string, machine uint16) string {
	f, err := open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	h, ok := isFor(f, machine)
	if !ok {
		return ""
	}
	le := binary.LittleEndian
	var segment [segmentSize]byte
	for i := range int64(le.Uint16(h[56:])) {
		if _, err := f.ReadAt(segment[:], int64(le.Uint64(h[32:]))+i*segmentSize); err != nil {
			return ""
		}
		if le.Uint32(segment[:]) != 3 { // PT_INTERP
			continue
		}
		path := make([]byte, min(le.Uint64(segment[32:]), maxPath))
		if _, err := f.ReadAt(path, int64(le.Uint64(segment[8:]))); err != nil {
			return ""
		}
		name, _, _ := strings.Cut(string(path), "\x00")
		return name
	}
	return ""
}
