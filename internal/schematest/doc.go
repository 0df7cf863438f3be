// Package schematest holds the program's JSON against the schemas in docs, with
// a library for them. It is a module of its own, so that the library is no
// dependency of the program.
package schematest
