package record

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"nvtop-lite/monitor"
	"nvtop-lite/monitor/report"
)

// head is what seeking and pacing need of a line. It stands in the line's first
// keys, so that most lines need not be decoded.
type head struct {
	time     time.Time
	steady   int64         // as Snapshot.Steady, 0 where the first keys do not tell
	interval time.Duration // likewise
}

// headOf reads the first keys of a line as AppendJSON writes them. It is false
// where they are not the schema and the time, or of another schema.
func headOf(line []byte) (h head, ok bool) {
	rest, ok := after(line, '{')
	if !ok {
		return h, false
	}
	for i := 0; ; i++ {
		var key, word []byte
		if key, rest, ok = quoted(rest); !ok {
			return h, i >= 2
		}
		if rest, ok = after(rest, ':'); !ok {
			return h, i >= 2
		}
		switch {
		case i == 0:
			if word, rest, ok = quoted(rest); !ok || string(key) != "schema" || string(word) != report.Schema {
				return h, false
			}
		case i == 1:
			if word, rest, ok = quoted(rest); !ok || string(key) != "time" {
				return h, false
			}
			if h.time, ok = monitor.ParseMoment(string(word), nil); !ok {
				return h, false
			}
		case string(key) == "steady_time":
			if word, rest, ok = quoted(rest); !ok {
				return h, true
			}
			steady, ok := monitor.ParseMoment(string(word), nil)
			if !ok {
				return h, true
			}
			h.steady = steady.UnixNano()
		case string(key) == "interval_seconds":
			end := bytes.IndexAny(rest, ", }")
			if end < 0 {
				return h, true
			}
			seconds, err := strconv.ParseFloat(string(rest[:end]), 64)
			if err != nil || !(seconds > 0 && seconds < 1e6) {
				return h, true
			}
			h.interval = time.Duration(seconds * 1e9)
			rest = rest[end:]
		default:
			return h, true
		}
		if rest, ok = after(rest, ','); !ok {
			return h, i >= 1
		}
	}
}

// after returns what follows a mark and the blanks around it.
func after(b []byte, mark byte) ([]byte, bool) {
	b = bytes.TrimLeft(b, " \t\r")
	if len(b) == 0 || b[0] != mark {
		return b, false
	}
	return bytes.TrimLeft(b[1:], " \t\r"), true
}

// quoted takes a string without escapes off the beginning.
func quoted(b []byte) (word, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, b, false
	}
	end := bytes.IndexAny(b[1:], `"\`)
	if end < 0 || b[1+end] != '"' {
		return nil, b, false
	}
	return b[1 : 1+end], b[2+end:], true
}

// inspect returns the head of a line, decoding it only where its first keys do
// not tell. It is false for a line that is no snapshot. The error is a
// *report.SchemaError.
func inspect(text []byte) (head, bool, error) {
	if h, ok := headOf(text); ok {
		return h, true, nil
	}
	s, err := report.ParseJSON(text)
	if err != nil {
		return head{}, false, schemaError(err)
	}
	return headOfSnapshot(s), true, nil
}

func headOfSnapshot(s *monitor.Snapshot) head {
	return head{time: s.Time, steady: s.Steady, interval: s.Interval}
}

// schemaError returns what ParseJSON says of an object of another schema, nil for
// any other error. A schema that is none of this program's is a line of damaged data.
func schemaError(err error) error {
	var other *report.SchemaError
	if errors.As(err, &other) && strings.HasPrefix(other.Schema, "nvtop-lite") {
		return other
	}
	return nil
}
