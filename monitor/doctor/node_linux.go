package doctor

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// node looks at a device node without opening it. What a control group of a
// container forbids shows in Access, too.
func node(path string) (Node, bool) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return Node{}, false
	}
	n := Node{Path: path, Mode: info.Mode().String(), UID: -1, GID: -1, Access: "ok"}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		n.UID, n.GID = int(st.Uid), int(st.Gid)
		if info.Mode()&fs.ModeDevice != 0 {
			n.Device = Word(strconv.FormatUint(uint64(unix.Major(st.Rdev)), 10) + ":" + strconv.FormatUint(uint64(unix.Minor(st.Rdev)), 10))
		}
	}
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil {
		n.Access = err.Error()
	}
	return n, true
}
