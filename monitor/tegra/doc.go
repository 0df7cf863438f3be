// Package tegra reads the files of a Jetson: what its integrated GPU does, and
// what is measured of the module as a whole, such as its power rails.
//
// On Orin, Xavier, Nano and their kin (the nvgpu stack) NVML gives a name at
// most, or garbage: there files are all that is read, and NVML only tells of
// other cards. From Thor on (nvidia.ko) NVML is read, and files fill in what it
// does not tell. Nothing is written, and no process is started.
package tegra
