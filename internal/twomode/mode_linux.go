//go:build !cgo && (amd64 || arm64)

package twomode

// static is set by entry, before the runtime starts.
var static bool

// Static reports whether this program runs without a dynamic loader: it can load
// no library, and must not call purego.
func Static() bool { return static }
