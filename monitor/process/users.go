package process

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"nvtop-lite/monitor/host"
)

const (
	maxPasswd   = 8 << 20
	passwdAgain = 30 * time.Second
)

// users names user ids by /etc/passwd under a root.
type users struct {
	root host.Root

	mu     sync.Mutex
	names  map[uint32]string
	readAt time.Time
}

// Account returns the account of uid as /etc/passwd has it, "" where it has none.
func Account(uid uint32) string {
	data, err := host.Root("/").ReadFile("/etc/passwd", maxPasswd)
	if err != nil {
		return ""
	}
	return parsePasswd(data)[uid]
}

// name returns the account of uid, its number where there is none. The file is
// read again from time to time, sooner for a number it lacked.
func (u *users) name(uid uint32) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	name, ok := u.names[uid]
	holds := passwdAgain
	if ok {
		holds = nameHolds
	}
	if u.readAt.IsZero() || time.Since(u.readAt) > holds {
		u.readAt = time.Now()
		if data, err := u.root.ReadFile("/etc/passwd", maxPasswd); err == nil {
			u.names = parsePasswd(data)
			name, ok = u.names[uid]
		}
	}
	if !ok {
		return strconv.FormatUint(uint64(uid), 10)
	}
	return name
}

// parsePasswd reads /etc/passwd. The first account of a number counts, as it
// does for the C library.
func parsePasswd(data []byte) map[uint32]string {
	names := make(map[uint32]string)
	for line := []byte(nil); len(data) > 0; {
		line, data, _ = bytes.Cut(data, newline)
		name, rest, _ := bytes.Cut(line, []byte(":"))
		_, rest, _ = bytes.Cut(rest, []byte(":"))
		number, _, ok := bytes.Cut(rest, []byte(":"))
		// Lines of + and - belong to NIS.
		if !ok || len(name) == 0 || name[0] == '+' || name[0] == '-' || name[0] == '#' {
			continue
		}
		uid, err := strconv.ParseUint(string(number), 10, 32)
		if err != nil {
			continue
		}
		if _, ok := names[uint32(uid)]; !ok {
			names[uint32(uid)] = limit(strings.ToValidUTF8(string(name), "\uFFFD"), maxName)
		}
	}
	return names
}
