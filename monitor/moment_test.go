package monitor

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestParseMomentIsTimeParse: whatever time.Parse makes of a text in one of the
// forms, ParseMoment makes the same of it.
func TestParseMomentIsTimeParse(t *testing.T) {
	loc := time.FixedZone("there", 5400)
	check := func(text string) (taken bool) {
		t.Helper()
		want, err := time.Parse(time.RFC3339, text)
		nano, err2 := time.Parse(time.RFC3339Nano, text)
		got, ok := ParseMoment(text, nil)
		if ok != (err == nil) || (err == nil) != (err2 == nil) || ok && (!got.Equal(want) || !got.Equal(nano) || got.Format(time.RFC3339) != want.Format(time.RFC3339)) {
			t.Errorf("%q: %v, %v; want %v (%v), %v (%v)", text, got, ok, want, err, nano, err2)
		}
		taken = ok
		for _, form := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
			if want, err = time.ParseInLocation(form, text, loc); err == nil {
				break
			}
		}
		got, ok = ParseMoment(text, loc)
		if ok != (err == nil) || ok && (!got.Equal(want) || got.Location() != loc) {
			t.Errorf("%q there: %v, %v; want %v (%v)", text, got, ok, want, err)
		}
		return taken || ok
	}
	taken := 0
	for _, text := range []string{
		"2026-11-30T14:02:03Z", "2026-11-30T14:02:03.123456789Z", "2026-11-30T14:02:03.1234567891Z", "2026-11-30T14:02:03,5+01:00",
		"2026-11-30T4:02:03Z", "2026-11-30T4:02:03-00:00", "2024-02-29T00:00:00+24:60", "0000-01-01T23:59:59-12:34",
		"2026-11-30 14:02", "2026-11-30   14:02:03.25", "2026-11-30T14:02", "2026-11-30T4:02", "2026-11-30 4:02:03",
	} {
		if !check(text) {
			t.Errorf("%q is not taken", text)
		}
	}
	for _, text := range []string{
		"", "Z", "2026-11-30", "2026-11-30T", "2026-11-30 ", "2026-11-30T14:02:03", "2026-11-30T14:02Z", "2026-11-30T14:02:03.Z",
		"2026-02-29T00:00:00Z", "2026-00-10T00:00:00Z", "2026-13-10T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-31T00:00:00Z",
		"2026-11-30T24:00:00Z", "2026-11-30T14:60:00Z", "2026-11-30T14:02:60Z", "2026-11-30T14:02:03z", "2026-11-30t14:02:03Z",
		"2026-11-30T14:02:03+25:00", "2026-11-30T14:02:03+01:61", "2026-11-30T14:02:03+1:00", "2026-11-30T14:02:03+0100",
		"2026-11-30T14:02:03ZZ", "2026-11-30T14:02:3Z", "2026-11-30T14:2:03Z", "26-11-30T14:02:03Z", "+026-11-30T14:02:03Z", " 2026-11-30T14:02:03Z",
	} {
		check(text)
	}
	for range 200_000 {
		b := []byte("2026-11-30T14:02:03.5+01:00")
		if rand.N(2) == 0 {
			b[10] = ' '
		}
		b = append(b[:rand.N(len(b)-11)+12:len(b)], b[rand.N(len(b)-11)+12:]...)
		if rand.N(3) > 0 {
			b = append(b, 'Z')
		}
		for range rand.N(3) {
			b[rand.N(len(b))] = "0123456789:-+.,TZ "[rand.N(18)]
		}
		if check(string(b)) {
			taken++
		}
	}
	if taken < 1000 {
		t.Errorf("%d of the texts made up are times", taken)
	}
}
