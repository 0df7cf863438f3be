// Package twomode lets one Linux file be two things: a static program that runs
// anywhere, and, where the host has a dynamic loader, one that can load
// libraries.
//
// A program of this module that imports purego is dynamically linked: the kernel
// starts it through a loader, and where the host has none it ends with a bare
// "not found". The release's file (scripts/twomode) names no loader any more, and
// its entry is the one in this package. It looks whether a loader was at work all
// the same. If not, it takes away the hooks by which the Go runtime would call
// the C library, and Go starts as in a static program. Such a program can load no
// library; it can start itself again through a loader, which Command prepares.
//
// In a file that is built in the usual way nothing here is used: Static is false.
package twomode
