// Package termtest tests the program as its user sees it: on a real
// pseudo-terminal, with a terminal emulator that reads what it draws, on the
// fake driver. It is a module of its own, so that nobody who builds the program
// needs an emulator.
package termtest
