//go:build !linux || cgo || !(amd64 || arm64)

package twomode

// Static is false: the file of two modes is built for Linux on amd64 and arm64.
func Static() bool { return false }
