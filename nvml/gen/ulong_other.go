//go:build !windows

package gen

// Ulong is the C type unsigned long: 64 bits on 64-bit systems other than Windows.
type Ulong = uint64
