// Package monitor is the model of what GPUs do: snapshots of readings, each a
// value or the reason why there is none. It does no I/O. Sources fill it,
// the sampler assembles it, screens and reports show it.
//
// Three rules hold everywhere:
//
//   - Unknown is never zero: the zero Reading is unknown, with reason
//     not_sampled, and a Reading without a value says why.
//   - A Snapshot never changes once it is published.
//   - Everything here is plain data, since it crosses a pipe and a file.
package monitor
