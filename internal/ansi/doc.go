// Package ansi draws text on terminals: a grid of cells (Frame), a writer that
// sends only what changed (Writer), the cleaning and measuring of text, colours
// and what a terminal can show of them, key and mouse input (Parser), and the
// terminal's modes with their restoration (Terminal). It knows nothing of what
// is drawn.
//
// Foreign text never reaches the terminal as control sequences: a Frame turns
// strings into cells and drops everything that is not a visible character, and
// Clean does the same for text that is printed without a Frame.
//
// A Frame and a Writer belong to one goroutine at a time. Terminal is safe for
// concurrent use.
package ansi
