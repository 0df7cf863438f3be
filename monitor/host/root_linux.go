package host

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// readInto reads with bare system calls: what the os package does besides, such
// as offering each file to the poller, costs more than the reading of a file in
// /proc. O_NONBLOCK keeps a pipe in the tree from holding us up; regular files
// do not know it.
func readInto(path string, buf []byte) (int, error) {
	fd, err := openRetry(path)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, &fs.PathError{Op: "read", Path: path, Err: err}
		case m <= 0:
			return n, nil
		}
		n += m
	}
	return n, nil
}

// readOnce reads what one read gives: all of a small file that the kernel makes as
// a whole.
func readOnce(path string, buf []byte) (int, error) {
	fd, err := openRetry(path)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	for {
		switch n, err := unix.Read(fd, buf); {
		case err == unix.EINTR:
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			return max(n, 0), nil
		}
	}
}

func openRetry(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
