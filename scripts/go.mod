module nvtop-lite/scripts

go 1.25.0

// Do not tidy: the parser's own tests would pull in a corpus of 134 MB, and the
// sums of the older headers that the tests read would be dropped.
require modernc.org/cc/v4 v4.34.0

// The source of nvml.h; none of its code is used. This is the version that
// nvml/gen is generated from.
require github.com/NVIDIA/go-nvml v0.13.4-1

require (
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/opt v0.2.0 // indirect
	modernc.org/sortutil v1.2.1 // indirect
	modernc.org/strutil v1.2.1 // indirect
	modernc.org/token v1.1.0 // indirect
)
