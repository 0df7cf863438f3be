// Package emutest compares what ansi.Writer sends with what a terminal emulator
// shows. It is a module of its own, so that the emulator is no dependency of the
// program.
package emutest
