module nvtop-lite

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/mattn/go-runewidth v0.0.31
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
)

require github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
