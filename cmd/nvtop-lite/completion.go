package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strings"
)

// completions are the scripts in the folder completion with a zero byte between
// them, packed. Their tables are made from those of the parser and from --help, by
// a test that also fails where they are not fresh.
//
//go:generate go test -run Fresh -update .
//go:embed completion.gz
var completions []byte

// completion is the script that completes command lines in a shell.
func completion(shell string) string {
	all := make([]byte, 32<<10) // they are half as long
	z, err := gzip.NewReader(bytes.NewReader(completions))
	if err != nil {
		panic(err)
	}
	n, _ := io.ReadFull(z, all)
	c := commandOf(commandCompletion)
	return strings.Split(string(all[:n]), "\x00")[slices.Index(c.shells(), shell)]
}

// shells are those that a script can be had for.
func (c *command) shells() []string { return strings.Split(c.operands[0], "|") }
