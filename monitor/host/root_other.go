//go:build !linux

package host

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

func readInto(path string, buf []byte) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "read", Path: path, Err: errors.ErrUnsupported}
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

func readOnce(path string, buf []byte) (int, error) { return readInto(path, buf) }
