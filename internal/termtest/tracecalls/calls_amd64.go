//go:build linux

package main

import "golang.org/x/sys/unix"

// Newer processors do not have these.
func init() {
	for number, c := range map[uint64]call{
		unix.SYS_OPEN:    {name: "open", wanted: writes(1), about: list(path(none, 0))},
		unix.SYS_CREAT:   {name: "open", about: list(path(none, 0))},
		unix.SYS_UNLINK:  {name: "unlink", about: list(path(none, 0))},
		unix.SYS_RMDIR:   {name: "unlink", about: list(path(none, 0))},
		unix.SYS_RENAME:  {name: "rename", about: list(path(none, 0), path(none, 1))},
		unix.SYS_LINK:    {name: "link", about: list(path(none, 0), path(none, 1))},
		unix.SYS_SYMLINK: {name: "symlink", about: list(path(none, 1))},
		unix.SYS_MKDIR:   {name: "mkdir", about: list(path(none, 0))},
		unix.SYS_MKNOD:   {name: "mknod", about: list(path(none, 0))},
		unix.SYS_CHMOD:   {name: "chmod", about: list(path(none, 0))},
		unix.SYS_CHOWN:   {name: "chown", about: list(path(none, 0))},
		unix.SYS_LCHOWN:  {name: "chown", about: list(path(none, 0))},
		unix.SYS_UTIME:   {name: "utime", about: list(path(none, 0))},
		unix.SYS_UTIMES:  {name: "utime", about: list(path(none, 0))},
	} {
		calls[number] = c
	}
}
