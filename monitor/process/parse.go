package process

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/host"
)

// stat is what is used of /proc/PID/stat.
type stat struct {
	comm    string
	state   byte
	parent  uint32
	cpu     uint64 // user and system time, clock ticks
	threads uint64
	start   uint64 // clock ticks after boot
	rss     uint64 // resident pages, not exactly: see tree.memory
}

// The separators of what the kernel writes. It is cut with them by hand: loops
// over the iterators of strings and bytes make the program 13 kB larger.
var blank, newline, nul = []byte(" "), []byte("\n"), []byte{0}

var errStat = monitor.Errorf("stat: %w", host.ErrMalformed)

// parseStat reads /proc/PID/stat. The name may hold blanks and parentheses, so
// the fields are counted from the last one.
func parseStat(data []byte) (stat, error) {
	from, to := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if from < 0 || to < from {
		return stat{}, errStat
	}
	// The numbers are those of proc(5), which counts the PID as 1.
	const stateField, parent, utime, stime, threads, start, rss = 3, 4, 14, 15, 20, 22, 24
	var s stat
	field := stateField
	for word, rest, more := []byte(nil), bytes.TrimSuffix(data[to+1:], newline), true; more; {
		if word, rest, more = bytes.Cut(rest, blank); len(word) == 0 {
			continue
		}
		var err error
		switch field {
		case stateField:
			s.state = word[0]
		case parent:
			var v uint64
			v, err = strconv.ParseUint(string(word), 10, 32)
			s.parent = uint32(v)
		case utime, stime:
			var v uint64
			v, err = strconv.ParseUint(string(word), 10, 62)
			s.cpu += v
		case threads:
			s.threads, err = strconv.ParseUint(string(word), 10, 62)
		case start:
			s.start, err = strconv.ParseUint(string(word), 10, 63)
		case rss:
			s.rss, err = strconv.ParseUint(string(word), 10, 64)
		}
		if err != nil {
			return stat{}, errStat
		}
		if field == rss {
			s.comm = strings.ToValidUTF8(string(data[from+1:to]), "\uFFFD")
			return s, nil
		}
		field++
	}
	return stat{}, errStat
}

// parseStatm returns the resident pages from /proc/PID/statm, its second number.
func parseStatm(data []byte) (uint64, error) {
	_, rest, _ := bytes.Cut(data, blank)
	resident, _, _ := bytes.Cut(rest, blank)
	pages, err := strconv.ParseUint(string(resident), 10, 45) // times 64 KiB it still fits
	if err != nil {
		return 0, monitor.Errorf("statm: %w", host.ErrMalformed)
	}
	return pages, nil
}

// parseUID returns the real user id from /proc/PID/status.
func parseUID(data []byte) (uint32, bool) {
	for line := []byte(nil); len(data) > 0; {
		line, data, _ = bytes.Cut(data, newline)
		rest, ok := bytes.CutPrefix(line, []byte("Uid:"))
		if !ok {
			continue
		}
		if words := bytes.Fields(rest); len(words) > 0 {
			uid, err := strconv.ParseUint(string(words[0]), 10, 32)
			return uint32(uid), err == nil
		}
	}
	return 0, false
}

// parseHides reports whether a list of mounts has a /proc that hides the
// processes of other users. Where it only closes their files, they are not
// hidden.
func parseHides(data []byte) bool {
	for line := []byte(nil); len(data) > 0; {
		line, data, _ = bytes.Cut(data, newline)
		f := strings.Fields(string(line))
		if len(f) < 4 || f[1] != "/proc" || f[2] != "proc" {
			continue
		}
		for _, option := range strings.Split(f[3], ",") {
			switch option {
			case "hidepid=2", "hidepid=invisible", "hidepid=4", "hidepid=ptraceable":
				return true
			}
		}
	}
	return false
}

// splitCmdline splits /proc/PID/cmdline at its NULs and drops empty parts.
func splitCmdline(data []byte) []string {
	var args []string
	for part := []byte(nil); len(data) > 0; {
		part, data, _ = bytes.Cut(data, nul)
		s := strings.ToValidUTF8(string(part), "\uFFFD")
		if s = strings.TrimRight(s, " \n"); s != "" {
			args = append(args, s)
		}
	}
	return args
}

// limit cuts s to n bytes without splitting a character.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func limit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
