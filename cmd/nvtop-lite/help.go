package main

import (
	"fmt"
	"runtime"
)

const usage = `nvtop-lite shows what the NVIDIA GPUs of this machine do.

usage: nvtop-lite [flags]

  -i, --interval SEC   time between refreshes: 0.1 to 3600 seconds, such as 0.5,
                       500ms or 2s; default 1
  -g, --gpus LIST      which GPUs: indices and ranges (0,2,4-7), UUIDs or their
                       beginnings (GPU-4d1f, MIG-...), PCI bus ids, or visible
                       for CUDA_VISIBLE_DEVICES; default all
  -1, --once           print one text snapshot
  -j, --json           print JSON, one object a line
  -n, --count N        snapshots to print, 0 until stopped; default 1, and until
                       stopped when -i is given with -1 or -j
      --demo           a simulated machine
      --timeout SEC    limit for one snapshot, opening the driver included
      --color WHEN     auto, always, never, 16, 256 or truecolor
      --ascii          plain characters only
      --nvml PATH      this NVML library and no other (also NVTOP_LITE_NVML)
      --root DIR       where /proc, /sys, /etc, /var and /dev are read (also
                       NVTOP_LITE_ROOT)
  -V, --version        print the version
  -h, --help           print this

Without a terminal on standard output one text snapshot is printed.
NO_COLOR switches colours off. Keys on the live screen: h shows them.

exit status: 0 done; 1 nothing could be read, or the output failed; 2 wrong
usage; 128+n ended by signal n.
`

func versionText() string {
	return fmt.Sprintf("nvtop-lite %s (%s/%s, %s)\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
