module nvtop-lite/scripts/twomode

go 1.25.0

require nvtop-lite v0.0.0

replace nvtop-lite => ../..
