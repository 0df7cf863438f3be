// Package rules holds no code: its test checks which package imports which,
// and a few promises about the tree as a whole.
package rules
