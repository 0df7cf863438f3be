package wddm

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// itemSize is that of PDH_FMT_COUNTERVALUE_ITEM_W in 64-bit programs: where the name
// is, the status, 4 bytes of nothing and the value.
const itemSize = 24

const maxBuffer = 64 << 20 // bytes

// growing keeps the buffer of a list whose length nobody knows before.
type growing struct{ words []uint64 } // so that it is aligned

// fill has ask fill the buffer. How many bytes it needs is told only to one that is
// empty, and more instances may have come when it is asked again, but not each time.
func (g *growing) fill(ask func(buffer []uint64) (bytes uint32, s status)) status {
	for range 6 {
		bytes, s := ask(g.words)
		if s != moreData {
			return s
		}
		empty := len(g.words) == 0
		g.words = nil
		if empty {
			if bytes > maxBuffer {
				break
			}
			g.words = make([]uint64, (int(bytes)/8+1)*5/4)
		}
	}
	return moreData
}

// items parses n items of a buffer that lies at an address, and has their names in it.
// One whose name is elsewhere is left out.
func items(buffer []byte, address uint64, n uint32) []value {
	n = min(n, uint32(len(buffer)/itemSize))
	list := make([]value, 0, n)
	for i := range int(n) {
		item := buffer[i*itemSize:][:itemSize]
		at := binary.LittleEndian.Uint64(item) - address
		if at >= uint64(len(buffer)) {
			continue
		}
		list = append(list, value{
			name:   text(buffer[at:]),
			status: status(binary.LittleEndian.Uint32(item[8:])),
			number: math.Float64frombits(binary.LittleEndian.Uint64(item[16:])),
		})
	}
	return list
}

// text returns the UTF-16 text at the begin of a buffer, up to its zero.
func text(buffer []byte) string {
	var units []uint16
	for ; len(buffer) >= 2; buffer = buffer[2:] {
		u := binary.LittleEndian.Uint16(buffer)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}
