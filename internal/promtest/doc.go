// Package promtest reads the program's metrics with the parser of Prometheus's
// own libraries. It is a module of its own, so that the parser is no dependency
// of the program.
package promtest
