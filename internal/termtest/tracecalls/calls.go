//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// call is a system call that is written down.
type call struct {
	name   string
	wanted func(pid int, args *[6]uint64) bool // nil: always
	about  []func(pid int, args *[6]uint64) string
}

// calls are the ways to a socket, and to be reached by one; to change what is on a
// disk, or a device; and to start a program. Rings of calls (io_uring) hide them.
var calls = map[uint64]call{
	unix.SYS_SOCKET:         {name: "socket", about: list(familyAt0)},
	unix.SYS_SOCKETPAIR:     {name: "socketpair", about: list(familyAt0)},
	unix.SYS_CONNECT:        {name: "connect", about: list(addressAt1)},
	unix.SYS_BIND:           {name: "bind", about: list(addressAt1)},
	unix.SYS_LISTEN:         {name: "listen"},
	unix.SYS_ACCEPT:         {name: "accept"},
	unix.SYS_ACCEPT4:        {name: "accept4"},
	unix.SYS_IO_URING_SETUP: {name: "io_uring_setup"},

	unix.SYS_OPENAT:     {name: "open", wanted: writes(2), about: list(path(0, 1))},
	unix.SYS_OPENAT2:    {name: "open", wanted: writesHow, about: list(path(0, 1))},
	unix.SYS_TRUNCATE:   {name: "truncate", about: list(path(none, 0))},
	unix.SYS_FTRUNCATE:  {name: "truncate", about: list(file)},
	unix.SYS_FALLOCATE:  {name: "fallocate", about: list(file)},
	unix.SYS_UNLINKAT:   {name: "unlink", about: list(path(0, 1))},
	unix.SYS_RENAMEAT:   {name: "rename", about: list(path(0, 1), path(2, 3))},
	unix.SYS_RENAMEAT2:  {name: "rename", about: list(path(0, 1), path(2, 3))},
	unix.SYS_LINKAT:     {name: "link", about: list(path(0, 1), path(2, 3))},
	unix.SYS_SYMLINKAT:  {name: "symlink", about: list(path(1, 2))},
	unix.SYS_MKDIRAT:    {name: "mkdir", about: list(path(0, 1))},
	unix.SYS_MKNODAT:    {name: "mknod", about: list(path(0, 1))},
	unix.SYS_FCHMODAT:   {name: "chmod", about: list(path(0, 1))},
	unix.SYS_FCHMODAT2:  {name: "chmod", about: list(path(0, 1))},
	unix.SYS_FCHMOD:     {name: "chmod", about: list(file)},
	unix.SYS_FCHOWNAT:   {name: "chown", about: list(path(0, 1))},
	unix.SYS_FCHOWN:     {name: "chown", about: list(file)},
	unix.SYS_UTIMENSAT:  {name: "utime", about: list(path(0, 1))},
	unix.SYS_SETXATTR:   {name: "setxattr", about: list(path(none, 0))},
	unix.SYS_FSETXATTR:  {name: "setxattr", about: list(file)},
	unix.SYS_MOUNT:      {name: "mount", about: list(path(none, 1))},
	unix.SYS_UMOUNT2:    {name: "umount", about: list(path(none, 0))},
	unix.SYS_MOVE_MOUNT: {name: "mount", about: list(path(2, 3))},
	unix.SYS_IOCTL:      {name: "ioctl", about: list(file)},

	unix.SYS_EXECVE:   {name: "execve", about: list(path(none, 0))},
	unix.SYS_EXECVEAT: {name: "execve", about: list(path(0, 1))},
}

func list(all ...func(int, *[6]uint64) string) []func(int, *[6]uint64) string { return all }

func familyAt0(_ int, args *[6]uint64) string    { return family(uint16(args[0])) }
func addressAt1(pid int, args *[6]uint64) string { return address(pid, args[1], args[2]) }

// writes reports whether the flags at an argument open a file so that it can be
// changed, or make one.
func writes(at int) func(int, *[6]uint64) bool {
	return func(_ int, args *[6]uint64) bool { return writing(args[at]) }
}

func writing(flags uint64) bool {
	return flags&unix.O_PATH == 0 && (flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0)
}

// writesHow is writes for the flags of a struct open_how.
func writesHow(pid int, args *[6]uint64) bool {
	var flags [8]byte
	n, err := unix.PtracePeekData(pid, uintptr(args[2]), flags[:])
	return err != nil || n < len(flags) || writing(binary.NativeEndian.Uint64(flags[:]))
}

// none is no argument: a path is relative to the working folder.
const none = -1

// path is the file whose name is at an argument; another is the folder that it may
// be relative to. Links are not followed.
func path(dir, at int) func(int, *[6]uint64) string {
	return func(pid int, args *[6]uint64) string {
		name := textAt(pid, args[at])
		if filepath.IsAbs(name) {
			return filepath.Clean(name)
		}
		base := "cwd"
		if dir != none && int32(args[dir]) != unix.AT_FDCWD {
			base = fmt.Sprintf("fd/%d", int32(args[dir]))
		}
		return filepath.Join(link(pid, base), name)
	}
}

// file is the file behind the descriptor that is the first argument.
func file(pid int, args *[6]uint64) string { return link(pid, fmt.Sprintf("fd/%d", int32(args[0]))) }

func link(pid int, name string) string {
	text, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return "nothing"
	}
	return text
}

// textAt reads a text that ends in NUL from the memory of the one who uses it.
func textAt(pid int, at uint64) string {
	var text strings.Builder
	// To the end of a page, since the next may not be there.
	for chunk := 256 - at%256; text.Len() < unix.PathMax; at, chunk = at+chunk, 256 {
		b := make([]byte, chunk)
		n, err := unix.PtracePeekData(pid, uintptr(at), b)
		part, _, ends := strings.Cut(string(b[:n]), "\x00")
		text.WriteString(part)
		if ends {
			break
		}
		if err != nil {
			return fmt.Sprintf("unreadable: %v", err)
		}
	}
	return text.String()
}
