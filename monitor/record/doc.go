// Package record writes, reads and plays recordings: files of one snapshot a
// line, as package report writes them, plain or compressed with gzip.
package record
