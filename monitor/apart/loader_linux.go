package apart

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"nvtop-lite/internal/twomode"
	"nvtop-lite/monitor"
)

// startLoaded starts a program that runs without a loader through that of the
// host, so that the driver process can load a library. Where the host has none,
// or it may not be started, it says so.
func startLoaded(attr *os.ProcAttr) (*os.Process, error) {
	with := *attr
	file := programFile()
	own, err := os.Open(thisProgram)
	switch {
	case err == nil:
		defer own.Close()
		file = fdFolder + strconv.Itoa(len(attr.Files))
		with.Files = append(attr.Files[:len(attr.Files):len(attr.Files)], own)
	case errors.Is(err, os.ErrPermission):
		return nil, &monitor.OpenError{
			Cause: monitor.CauseNoLoader,
			What:  "nvtop-lite may not read its own file, which the system's loader must",
			Hint:  "chmod a+r " + startedAs + ", or " + plainFile,
		}
	case !errors.Is(err, os.ErrNotExist): // as it is without /proc
		return nil, err
	default:
		if _, err := os.Stat(file); err != nil {
			return nil, &monitor.OpenError{
				Cause: monitor.CauseNoLoader,
				What:  "nvtop-lite does not find its own file, which the system's loader must read: " + err.Error(),
				Hint:  "mount /proc (mount -t proc proc /proc), or start nvtop-lite by the path of its file",
			}
		}
	}
	loader, argv, err := twomode.Command(file, name, Argument)
	switch {
	case errors.Is(err, twomode.ErrNoLoader):
		return nil, noLoader()
	case err != nil:
		return nil, err
	}
	child, err := os.StartProcess(loader, argv, &with)
	if err != nil && !isScarce(err) {
		return nil, refused(loader, err)
	}
	return child, err
}

// fdFolder is where a process finds its open files.
const fdFolder = "/proc/self/fd/"

// arrive closes the open file of this program that a loader got to start it.
func arrive() {
	fd, found := strings.CutPrefix(os.Args[0], fdFolder)
	if n, err := strconv.Atoi(fd); found && err == nil {
		_ = unix.Close(n)
	}
}

// A driver process that was started through a loader, or by a link, has the name of
// that. A process has the name of its first thread, and there init runs.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		text := append([]byte(name), 0)
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text[0])), 0, 0, 0)
	}
}

// noLoader says what the host lacks.
func noLoader() *monitor.OpenError {
	e := &monitor.OpenError{
		Cause: monitor.CauseNoLoader,
		What:  "this system has no glibc, which the driver's library needs",
		Hint:  "run nvtop-lite on the host, or in an image that has glibc; --demo, replay, summary, diff and doctor work here too",
	}
	if twomode.Musl() {
		e.What = "this system has the C library musl, and the driver's library needs glibc"
		e.Hint = "on Alpine: apk add gcompat; or run nvtop-lite on the host, or in an image that has glibc"
	}
	return e
}

// refused says that the loader may not be started, as where rules forbid to start
// programs through it.
func refused(loader string, err error) *monitor.OpenError {
	e := &monitor.OpenError{Cause: monitor.CauseNoLoader, What: loader + " cannot be started: " + err.Error(), Hint: plainFile}
	if errors.Is(err, os.ErrPermission) {
		e.What = "starting a program through " + loader + " is forbidden here (by its mode, fapolicyd or another guard): " + err.Error()
	}
	return e
}
