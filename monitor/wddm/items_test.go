package wddm

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"unicode/utf16"
)

// packed makes a buffer as PDH fills it: the items, and behind them their names.
func packed(address uint64, list []value) []byte {
	b := make([]byte, itemSize*len(list))
	for i, v := range list {
		item := b[i*itemSize:]
		binary.LittleEndian.PutUint64(item, address+uint64(len(b)))
		binary.LittleEndian.PutUint32(item[8:], uint32(v.status))
		binary.LittleEndian.PutUint64(item[16:], math.Float64bits(v.number))
		for _, u := range append(utf16.Encode([]rune(v.name)), 0) {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
	}
	return b
}

func TestItems(t *testing.T) {
	list := []value{
		{"pid_4242" + on, 1 << 30, valid},
		{"pid_4242" + on + "#1", 0, invalidData},
		{"Gesamtgröße 😀", -1.5, newData}, // of a system in another language
		{"", 0, valid},
	}
	const address = 0xC000123400
	b := packed(address, list)
	if got := items(b, address, uint32(len(list))); !slices.Equal(got, list) {
		t.Errorf("%v, want %v", got, list)
	}
	if got := items(b, address, 1); !slices.Equal(got, list[:1]) {
		t.Errorf("one is %v", got)
	}
	// A name that lies elsewhere is not followed.
	if got := items(b, address+uint64(len(b)), 2); len(got) != 0 {
		t.Errorf("%v", got)
	}
	// What ends within a name, and a number of items that do not fit.
	if got := items(b[:itemSize*4+9], address, 1<<31); len(got) != 1 || got[0].name != "pid_" {
		t.Errorf("%v", got)
	}
}

func FuzzItems(f *testing.F) {
	f.Add(packed(0x1000, []value{{"pid_1" + on, 1, valid}}), uint64(0x1000), uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, address uint64, n uint32) {
		if got := items(b, address, n); len(got) > int(n) || len(got)*itemSize > len(b) {
			t.Errorf("%d items of %d bytes, %d announced", len(got), len(b), n)
		}
	})
}

// TestGrowing: instances come while the buffer is made larger.
func TestGrowing(t *testing.T) {
	var g growing
	for _, tt := range []struct {
		name    string
		need    []uint32 // bytes, one a call
		answer  status
		want    status
		asked   int
		atLeast int
	}{
		{"empty", []uint32{0}, valid, valid, 1, 0},
		{"nobody", []uint32{0}, noInstance, noInstance, 1, 0},
		{"asked for its size", []uint32{4800, 4800}, valid, valid, 2, 4800},
		{"large enough from the last time", []uint32{4000}, valid, valid, 1, 4000},
		{"too small from the last time", []uint32{48000, 48000, 48000}, newData, newData, 3, 48000},
		{"grows in between", []uint32{90000, 90000, 180000, 180000, 180000}, newData, newData, 5, 180000},
		{"fails", []uint32{0}, noCounter, noCounter, 1, 0},
		{"more than can be", []uint32{math.MaxUint32}, valid, moreData, 2, 0},
		{"good again", []uint32{4800}, valid, valid, 2, 4800},
	} {
		asked := 0
		got := g.fill(func(buffer []uint64) (uint32, status) {
			need := tt.need[min(asked, len(tt.need)-1)]
			asked++
			switch {
			case int(need) > len(buffer)*8 && len(buffer) > 0:
				return 12345, moreData // what Windows says then means nothing
			case int(need) > len(buffer)*8:
				return need, moreData
			}
			return need, tt.answer
		})
		if got != tt.want || asked != tt.asked || len(g.words)*8 < tt.atLeast {
			t.Errorf("%s: %#x after %d calls with %d bytes", tt.name, got, asked, len(g.words)*8)
		}
	}
	asked := 0
	if got := g.fill(func(buffer []uint64) (uint32, status) {
		asked++
		return uint32(len(buffer)*8 + 1), moreData
	}); got != moreData || asked > 10 {
		t.Errorf("%#x of one that is never content, after %d calls", got, asked)
	}
}
