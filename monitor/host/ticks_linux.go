package host

import (
	"sync"

	"golang.org/x/sys/unix"
)

const atClockTicks = 17 // AT_CLKTCK

// clockTicks asks the kernel through the auxiliary vector; 100 is what every
// architecture has that Go runs on.
var clockTicks = sync.OnceValue(func() int64 {
	vector, err := unix.Auxv()
	if err == nil {
		for _, kv := range vector {
			if kv[0] == atClockTicks && kv[1] > 0 {
				return int64(kv[1])
			}
		}
	}
	return 100
})
