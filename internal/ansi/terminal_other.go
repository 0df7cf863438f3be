//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package ansi

import (
	"context"
	"errors"
	"os"
	"time"
)

func openKeys() *os.File { return nil }

func openOwn(*os.File) nonblocking { return nil }

func (t *Terminal) getModes() ([]byte, error) { return nil, errors.ErrUnsupported }

func (t *Terminal) putModes([]byte) error { return errors.ErrUnsupported }

func (t *Terminal) rawModes([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }

func (t *Terminal) dropInput() {}

func (t *Terminal) path() string { return "" }

func (t *Terminal) read(context.Context, chan<- []byte) error { return errors.ErrUnsupported }

func restore(Modes) error { return errors.ErrUnsupported }

func writeSoon(f *os.File, b []byte, _ time.Duration) error {
	_, err := f.Write(b)
	return err
}

// Suspend is not supported here.
func (t *Terminal) Suspend() error { return errors.ErrUnsupported }

// EnableVT makes a Windows console take escape sequences; elsewhere there is
// none, and on is false.
func EnableVT(f *os.File) (on bool, restore func()) { return false, func() {} }
