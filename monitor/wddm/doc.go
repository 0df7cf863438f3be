// Package wddm tells what processes do with a GPU that Windows itself manages:
// their memory and the load of its engines. Under WDDM, the driver model of a GPU
// with a display, NVML does not know it; the performance counters that Task Manager
// shows do.
//
// The counters name an adapter by a LUID, which lasts until the next boot at most.
// DXGI lists adapters with their LUIDs, and the kernel tells on which PCI bus each
// is: that is what NVML knows too. A GPU that Windows does not manage (TCC, MCDM) is
// none of DXGI's, and keeps what NVML tells.
package wddm
