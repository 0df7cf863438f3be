package sample

import "time"

// clock gives the time of Reading.At: nanoseconds since 1970 that never jump,
// whatever happens to the wall clock.
type clock struct{ start time.Time }

func newClock() clock { return clock{start: time.Now()} }

func (c clock) now() int64 { return c.at(time.Now()) }

func (c clock) at(t time.Time) int64 { return c.start.UnixNano() + int64(t.Sub(c.start)) }
