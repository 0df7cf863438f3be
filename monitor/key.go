package monitor

import "strconv"

// Instance reports whether g is a MIG instance.
func (g *GPU) Instance() bool {
	return g.ParentUUID != "" || g.Profile != "" || g.GPUInstanceID > 0
}

// Key names a GPU or MIG instance for as long as it exists, across snapshots
// and restarts of the driver: its UUID; where that is unknown, "pci:" and the
// bus id, or "index:" and the index; for an instance the parent's UUID and the
// two instance ids.
func Key(g *GPU) string {
	if g.UUID.Known() && g.UUID.Value != "" {
		return g.UUID.Value
	}
	var room [64]byte
	key := appendKey(room[:0], g)
	if string(key) == firstKey { // an integrated GPU has no UUID, and its key is asked for in each frame
		return firstKey
	}
	return string(key)
}

const firstKey = "index:0"

// appendKey appends Key(g), without an allocation where dst has room.
func appendKey(dst []byte, g *GPU) []byte {
	switch {
	case g.UUID.Known() && g.UUID.Value != "":
		return append(dst, g.UUID.Value...)
	case g.Instance():
		dst = append(dst, g.ParentUUID...)
		dst = append(dst, "/gi:"...)
		dst = strconv.AppendInt(dst, int64(g.GPUInstanceID), 10)
		dst = append(dst, "/ci:"...)
		return strconv.AppendInt(dst, int64(g.ComputeInstanceID), 10)
	case g.PCIBusID.Known() && g.PCIBusID.Value != "":
		dst = append(dst, "pci:"...)
		return append(dst, g.PCIBusID.Value...)
	}
	dst = append(dst, "index:"...)
	return strconv.AppendInt(dst, int64(g.Index), 10)
}
