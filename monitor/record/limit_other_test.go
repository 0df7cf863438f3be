//go:build !linux

package record

import "errors"

func limitFiles(int64) error { return errors.ErrUnsupported }
