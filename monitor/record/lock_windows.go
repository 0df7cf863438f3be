package record

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// A file opened for appending alone could not be cut back to its last line. The
// lock keeps others from writing where this one writes.
const appendFlag = 0

// lock keeps other writers off the file until it is closed. It is on a byte far
// beyond the end, since locks here keep readers off as well.
func lock(file *os.File) error {
	far := windows.Overlapped{OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &far)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return nil
}
