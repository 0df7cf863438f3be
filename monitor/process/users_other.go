//go:build !linux

package process

import "errors"

// libcAccount is never asked: only on Linux are owners numbers here.
func libcAccount(uint32) (string, error) { return "", errors.ErrUnsupported }
