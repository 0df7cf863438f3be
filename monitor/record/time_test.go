package record

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	loc := time.FixedZone("", 2*3600)
	first := time.Date(2026, 1, 2, 23, 50, 30, 7e8, loc)
	last := time.Date(2026, 1, 3, 1, 10, 0, 0, loc)
	at := func(day, hour, minute, second int) time.Time {
		return time.Date(2026, 1, day, hour, minute, second, 0, loc)
	}
	for text, want := range map[string]time.Time{
		"2026-01-03T00:00:00Z":      at(3, 2, 0, 0),
		"2026-01-03T00:00:00+02:00": at(3, 0, 0, 0),
		"2026-01-03T00:00:00.5Z":    at(3, 2, 0, 0).Add(5e8),
		"2026-01-03 00:15":          at(3, 0, 15, 0),
		"2026-01-03 00:15:16":       at(3, 0, 15, 16),
		"2026-01-03T00:15":          at(3, 0, 15, 0),
		"2026-01-03T00:15:16":       at(3, 0, 15, 16),
		" 23:55 ":                   at(2, 23, 55, 0),
		"00:15":                     at(3, 0, 15, 0),
		"0:15:20":                   at(3, 0, 15, 20),
		"01:10":                     at(3, 1, 10, 0),
		"23:50":                     first,
		"23:50:30":                  first,
		"23:50:31":                  at(2, 23, 50, 31),
		"+90s":                      first.Add(90 * time.Second),
		"+1h30m":                    first.Add(90 * time.Minute),
		"-5m":                       last.Add(-5 * time.Minute),
		"+0s":                       first,
		"-0s":                       last,
	} {
		if got, err := ParseTime(text, first, last, loc); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, error %v, want %v", text, got, err, want)
		}
	}
	forms := "use 15:04, 15:04:05, 2006-01-02 15:04, 2006-01-02T15:04:05Z, +1h30m (after the first snapshot) or -5m (before the last)"
	for _, text := range []string{"", "now", "5", "+", "-", "+5", "+1x", "--5m", "24:00", "12:60", "2026-02-30 10:00", "12:00:00 PM", "\x1b[31m"} {
		if got, err := ParseTime(text, first, last, loc); err == nil || !strings.HasSuffix(err.Error(), " is no time: "+forms) {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"23:49", "12:00", "01:10:01", "23:50:29"} {
		want := text + " does not come in the recording, which goes from 2026-01-02 23:50:30 to 2026-01-03 01:10:00"
		if got, err := ParseTime(text, first, last, loc); err == nil || err.Error() != want {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"15:04", "15:04:05", "2026-01-02 15:04", "2026-01-02T15:04:05Z", "+1h30m", "-5m", "24:00", "+-1s", "-9223372036854775808ns"} {
		f.Add(text, int64(0), int64(3600e9))
	}
	f.Add("12:00", int64(3600e9), int64(-5))
	f.Fuzz(func(t *testing.T, text string, first, last int64) {
		a, b := time.Unix(0, first), time.Unix(0, last)
		got, err := ParseTime(text, a, b, time.UTC)
		if err == nil && strings.Count(text, ":") == 1 && len(text) == 5 && (got.Before(a) || got.After(b)) {
			t.Errorf("%q of %v to %v: %v", text, a, b, got)
		}
	})
}
