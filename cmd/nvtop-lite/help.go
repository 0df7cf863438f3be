package main

import (
	"fmt"
	"runtime"
)

const usage = `nvtop-lite shows what the NVIDIA GPUs of this machine do.

usage: nvtop-lite [flags]               the live screen
       nvtop-lite record [flags] FILE   write snapshots to FILE until stopped: JSON,
                                        one a line, behind what is there; gzip if it
                                        ends in .gz; - is standard output
       nvtop-lite replay [flags] FILE   the live screen of a recording
       nvtop-lite summary [flags] FILE  what a recording says in all
       nvtop-lite diff [flags] OLD NEW  what differs between two recordings: their
                                        last snapshots
       nvtop-lite doctor [flags]        whether driver and GPUs are well: what is
                                        there, what is wrong, and what to do; one
                                        page for a bug report
       nvtop-lite completion SHELL      a script that completes words: SHELL is
                                        bash, zsh, fish or powershell; a comment in
                                        it says where it goes

  -i, --interval SEC   time between refreshes: 0.1 to 3600 seconds, such as 0.5,
                       500ms or 2s; default 1
  -g, --gpus LIST      which GPUs: indices and ranges (0,2,4-7), UUIDs or their
                       beginnings (GPU-4d1f, MIG-...), PCI bus ids, or visible
                       for CUDA_VISIBLE_DEVICES, whose numbers are CUDA's own
                       unless CUDA_DEVICE_ORDER is PCI_BUS_ID; default all
  -1, --once           print one text snapshot
  -j, --json           print JSON, one object a line
      --csv            print CSV with a header: a row a GPU or MIG instance
      --csv-processes  a row a process; a GPU whose processes could not be read
                       has one with the reason
      --prometheus     print metrics for Prometheus, once
  -n, --count N        snapshots to print or record, 0 until stopped; default 1,
                       and until stopped in record and when -i is given with an
                       output of the above
  -o, --output FILE    write one snapshot there: a file is replaced in one step,
                       a pipe or a device written to; - is standard output
      --filter TEXT    processes with TEXT in their name, user, PID or command,
                       or on that GPU (3, gpu3, 0:3 for an instance)
      --user NAME      processes of this account
      --sort COLUMN    order of the processes: gpu, pid, user, type, sm, mem,
                       enc, dec, cpu, host, time or command; -COLUMN for the
                       other way round
      --no-processes   no processes, only GPUs
      --no-commands    outputs without command lines: of processes only names
      --view VIEW      what is shown: boxes, list, numbers or processes
      --for DURATION   stop recording after that time: 90s, 15m or 1h30m
      --speed X        replay X times as fast as it was, 0.1 to 1000
      --at TIME        a time in the recording: where replay begins, and whose
                       snapshots diff takes, or OLD,NEW for two. 15:04,
                       "2026-01-02 15:04:05", 2026-01-02T15:04:05Z, +90s after
                       the first snapshot, -5m before the last
  -q, --quiet          only what is wrong, one problem a line (doctor)
      --demo           a simulated machine
      --wake           do not spare sleeping GPUs
      --timeout SEC    limit for one snapshot, opening the driver included;
                       without it opening may take 30 s, and reading 3 s; for
                       doctor the whole of it, 60 s without
      --color WHEN     colours: auto, always, never, 16, 256 or truecolor
      --ascii          plain characters only
      --no-mouse       leave the mouse to the terminal
      --read-only      send no signals to processes
      --nvml PATH      this NVML library and no other (also NVTOP_LITE_NVML)
      --root DIR       where /proc, /sys, /etc, /var and /dev are read (also
                       NVTOP_LITE_ROOT)
  -V, --version        print the version
  -h, --help           print this

Flags of the commands, besides --help and --version:
  record    -i -n --for -g --nvml --root --demo --wake --timeout --no-commands
            --no-processes
  replay    --speed --at -g --view --filter --user --sort --color --ascii
            --no-mouse
  summary   --json -g --color --ascii
  diff      --json -g --at --color --ascii
  doctor    --json -q -g --nvml --root --demo --wake --timeout --color --ascii

Without a terminal on standard output one text snapshot is printed.
NVTOP_LITE_OPTS has default flags for the live screen, split at blanks;
NVTOP_LITE_READ_ONLY=1 is --read-only, whatever the flags say.
NO_COLOR switches colours off. Keys on the live screen: h shows them.

exit status: 0 done; 1 nothing could be read, or the output failed; 2 wrong
usage; 3 diff: the two cannot be compared; 128+n ended by signal n. doctor: 0
nothing critical was found; 1 it was.
`

func versionText() string {
	return fmt.Sprintf("nvtop-lite %s (%s/%s, %s)\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
