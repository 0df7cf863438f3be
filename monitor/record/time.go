package record

import (
	"strings"
	"time"

	"nvtop-lite/monitor"
)

// ParseTime reads a moment of a recording that has its first and last snapshot at
// the times given, as people type it:
//
//	2006-01-02T15:04:05Z   RFC 3339
//	2006-01-02 15:04[:05]  in loc; also with a T between
//	15:04[:05]             the first such moment of the recording, in loc
//	+1h30m                 after the first snapshot
//	-5m                    before the last one
//
// A time of day that does not come in the recording is an error; the other forms
// may lie outside of it.
func ParseTime(text string, first, last time.Time, loc *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		if d, err := time.ParseDuration(text); err == nil {
			if text[0] == '+' {
				return first.Add(d), nil
			}
			return last.Add(d), nil
		}
		return time.Time{}, unknownTime(text)
	}
	for _, where := range []*time.Location{nil, loc} {
		if t, ok := monitor.ParseMoment(text, where); ok {
			return t, nil
		}
	}
	if clock, ok := monitor.ParseMoment("0000-01-01T"+text, time.UTC); ok {
		exact := time.Minute
		if strings.Count(text, ":") > 1 {
			exact = time.Second
		}
		return timeOfDay(text, clock, exact, first.In(loc), last.In(loc))
	}
	return time.Time{}, unknownTime(text)
}

// timeOfDay returns the first moment at or after first at which clocks show what
// clock does; first itself where they do so then.
func timeOfDay(text string, clock time.Time, exact time.Duration, first, last time.Time) (time.Time, error) {
	year, month, day := first.Date()
	for ; ; day++ {
		t := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), first.Location())
		switch {
		case t.After(last):
			return t, monitor.Errorf("%s does not come in the recording, which goes from %s to %s", text,
				first.Format("2006-01-02 15:04:05"), last.Format("2006-01-02 15:04:05"))
		case !t.Before(first):
			return t, nil
		case t.Add(exact).After(first):
			return first, nil
		}
	}
}

func unknownTime(text string) error {
	return monitor.Errorf("%q is no time: use 15:04, 15:04:05, 2006-01-02 15:04, 2006-01-02T15:04:05Z, +1h30m (after the first snapshot) or -5m (before the last)", text)
}
