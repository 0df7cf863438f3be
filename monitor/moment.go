package monitor

import (
	"strings"
	"time"
)

// ParseMoment reads a date and a time of day: with loc nil that of RFC 3339, such
// as 2006-01-02T15:04:05.5+01:00. Otherwise it is without a zone, in loc, a blank
// may stand for the T, and the seconds may be left out. It takes what time.Parse
// would for these forms, which makes the program 20 kB larger.
func ParseMoment(text string, loc *time.Location) (t time.Time, ok bool) {
	d := digits{rest: text, ok: true}
	year := d.number(4)
	d.expect('-')
	month := d.number(2)
	d.expect('-')
	day := d.number(2)
	if loc != nil && strings.HasPrefix(d.rest, " ") {
		d.rest = strings.TrimLeft(d.rest, " ")
	} else {
		d.expect('T')
	}
	hour := d.number(1)
	if d.next() {
		hour = 10*hour + d.number(1)
	}
	d.expect(':')
	minute := d.number(2)
	second, ns := 0, 0
	if loc == nil || d.rest != "" {
		d.expect(':')
		second = d.number(2)
		ns = d.fraction()
	}
	if loc == nil {
		loc = d.zone()
	}
	if !d.ok || d.rest != "" || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 ||
		time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, ns, loc), true
}

// digits is a text that is read from the front.
type digits struct {
	rest string
	ok   bool
}

// next reports whether a digit comes.
func (d *digits) next() bool { return d.rest != "" && d.rest[0] >= '0' && d.rest[0] <= '9' }

// number takes n digits.
//
// Inlined, it would make the program 1 kB larger.
//
//go:noinline
func (d *digits) number(n int) (v int) {
	for range n {
		if !d.next() {
			d.ok = false
			return 0
		}
		v = 10*v + int(d.rest[0]-'0')
		d.rest = d.rest[1:]
	}
	return v
}

// expect takes c.
func (d *digits) expect(c byte) {
	if d.rest == "" || d.rest[0] != c {
		d.ok = false
		return
	}
	d.rest = d.rest[1:]
}

// fraction takes the fraction of a second, if there is one, as ns. Digits that
// are smaller are left out.
func (d *digits) fraction() (ns int) {
	if len(d.rest) < 2 || d.rest[0] != '.' && d.rest[0] != ',' || d.rest[1] < '0' || d.rest[1] > '9' {
		return 0
	}
	d.rest = d.rest[1:]
	for unit := 100_000_000; d.next(); unit /= 10 {
		ns += unit * d.number(1)
	}
	return ns
}

// zone takes Z or the distance from UTC.
func (d *digits) zone() *time.Location {
	if d.rest == "Z" {
		d.rest = ""
		return time.UTC
	}
	sign := 1
	if strings.HasPrefix(d.rest, "-") {
		sign = -1
		d.expect('-')
	} else {
		d.expect('+')
	}
	hours := d.number(2)
	d.expect(':')
	minutes := d.number(2)
	if hours > 24 || minutes > 60 {
		d.ok = false
	}
	return time.FixedZone("", sign*60*(60*hours+minutes))
}
