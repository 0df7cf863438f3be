package live

import "golang.org/x/sys/unix"

func dup(from, to int) error { return unix.Dup3(from, to, 0) }
