module nvtop-lite/scripts/twomode

go 1.25.0
