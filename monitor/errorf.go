package monitor

import "fmt"

// Errorf is fmt.Errorf. That one is inlined since Go 1.26, which makes the program
// 5 kB larger.
//
//go:noinline
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
