package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"nvtop-lite/monitor"
)

// How much is read of the files that grow with the machine.
const (
	maxStat    = 1 << 20 // /proc/stat has a line a CPU and a count an interrupt
	maxMeminfo = 64 << 10
	maxLine    = 4096
)

// Root is the directory under which /proc, /sys, /etc, /dev and /var are read.
// Links in it are followed as the system follows them.
type Root string

func rootOf(root string) Root {
	if root == "" {
		return "/"
	}
	return Root(root)
}

// Here reports whether it is this machine's own root, and not a tree that may
// have come from another.
func (r Root) Here() bool { return r == "/" || r == "" }

// Files reports whether facts come from files under this root: always on Linux,
// elsewhere only under a root that was given.
func (r Root) Files() bool { return runtime.GOOS == "linux" || !r.Here() }

// Path returns where the absolute path lies under the root.
func (r Root) Path(path string) string {
	if r.Here() {
		return path
	}
	return filepath.Join(string(r), path)
}

// Read reads the file at the absolute path into buf and returns what it read,
// the beginning where the file is longer than buf. A file that is no regular
// one never blocks it.
func (r Root) Read(path string, buf []byte) ([]byte, error) {
	n, err := readInto(r.Path(path), buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// ReadOnce is Read for files of one line or so under /proc, which come whole with
// the first read: those that are read often.
func (r Root) ReadOnce(path string, buf []byte) ([]byte, error) {
	n, err := readOnce(r.Path(path), buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// ReadFile reads the file at the absolute path, the first most bytes where it
// is longer.
func (r Root) ReadFile(path string, most int) ([]byte, error) {
	buf := make([]byte, min(most, 4096))
	for {
		data, err := r.Read(path, buf)
		if err != nil || len(data) < len(buf) || len(buf) >= most {
			return data, err
		}
		// It did not fit: start over, since a /proc file that is read in
		// pieces may change between them.
		buf = make([]byte, min(most, 8*len(buf)))
	}
}

// ReadLink returns what the link at the absolute path says.
func (r Root) ReadLink(path string) (string, error) { return os.Readlink(r.Path(path)) }

// Exists reports whether there is something at the absolute path. A folder that
// may not be searched counts as empty.
func (r Root) Exists(path string) bool {
	_, err := os.Stat(r.Path(path))
	return err == nil
}

// Names returns the names of what is in the folder at the absolute path, sorted.
func (r Root) Names(path string) ([]string, error) {
	entries, err := os.ReadDir(r.Path(path))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Line returns the content of a file of one line, without blanks and NULs
// around it. A file that is missing is not_supported.
func (r Root) Line(path string) monitor.Text {
	var buf [maxLine]byte
	data, err := r.ReadOnce(path, buf[:])
	if err != nil {
		return monitor.Text{Reason: reasonHere(err), Err: callError(path, err)}
	}
	s := cleanLine(data)
	if s == "" {
		return monitor.UnknownText(monitor.NotFound)
	}
	return monitor.OfText(s)
}

func cleanLine(data []byte) string {
	s := strings.ToValidUTF8(string(data), "\uFFFD")
	return strings.Trim(s, " \t\r\n\x00")
}

// Reason returns why a file or an object of the system gives no value: known
// for a nil error, not_found for what does not exist (any more), no_permission,
// not_supported where the system lacks it, implausible for a file of another
// form, asleep for a sensor that cannot be read now (EAGAIN), else driver_error.
func Reason(err error) monitor.Reason {
	switch {
	case err == nil:
		return monitor.Known
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH), errors.Is(err, syscall.ENOTDIR):
		return monitor.NotFound
	case errors.Is(err, fs.ErrPermission):
		return monitor.NoPermission
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return monitor.NotSupported
	case errors.Is(err, ErrMalformed):
		return monitor.Implausible
	case errors.Is(err, syscall.EAGAIN): // a sensor whose part has no power
		return monitor.Asleep
	}
	return monitor.DriverError
}

// reasonHere is Reason for what every machine of a kind has: where it is
// missing, this machine cannot give it.
func reasonHere(err error) monitor.Reason {
	if why := Reason(err); why != monitor.NotFound {
		return why
	}
	return monitor.NotSupported
}

// Number returns the number that a file of one line begins with, an integer. A
// file that is missing is not_supported.
func (r Root) Number(path string) monitor.Reading {
	t := r.Line(path)
	if !t.Known() {
		return monitor.Failed(t.Reason, t.Err)
	}
	word, _, _ := strings.Cut(t.Value, " ") // a unit may follow
	v, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return monitor.Failed(monitor.Implausible, monitor.NewCallError(path, "", 0))
	}
	return monitor.OfInt(v)
}

// Failed is a reading without a value because of the file at path: what the machine
// lacks is not_supported.
func Failed(path string, err error) monitor.Reading {
	return monitor.Failed(reasonHere(err), callError(path, err))
}

// callError names the file and the system's error. An error that is none of
// the system's has no number: it is told by its reason alone.
func callError(path string, err error) monitor.CallError {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return monitor.CallError{}
	}
	return monitor.NewCallError(path, errnoName(errno), int32(errno))
}
