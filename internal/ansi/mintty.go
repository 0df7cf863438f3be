package ansi

import "strings"

// isMinttyPipe reports whether name is that of a pipe by which programs that are
// not of MSYS2 or Cygwin write to a terminal of theirs, such as mintty, the window
// of Git Bash: \msys-1888ae32e00d56aa-pty0-to-master, \cygwin-…-pty1-from-master,
// with -nat at the end or without. \msys-…-pipe-0x16 is a pipe like any other.
func isMinttyPipe(name string) bool {
	parts := strings.Split(strings.TrimSuffix(name, "-nat"), "-")
	if len(parts) != 5 || parts[0] != `\msys` && parts[0] != `\cygwin` || parts[1] == "" {
		return false
	}
	number, pty := strings.CutPrefix(parts[2], "pty")
	return pty && number != "" && strings.Trim(number, "0123456789") == "" &&
		(parts[3] == "to" || parts[3] == "from") && parts[4] == "master"
}
