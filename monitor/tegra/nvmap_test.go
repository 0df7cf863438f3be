package tegra

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

const header = "CLIENT                        PROCESS      PID        SIZE\n"

type user struct {
	pid  uint32
	name string
	kb   int64 // -1: unknown
}

func TestParseNVMap(t *testing.T) {
	tests := []struct {
		name  string
		table string
		users []user
		total int64 // kB; -1: unknown
	}{
		{"as the kernel prints it", header +
			"user                          python3     8123    3984588K\n" +
			"user                      gnome-shell     2341      45632K\n" +
			"total                                                4030220K\n",
			[]user{{8123, "python3", 3984588}, {2341, "gnome-shell", 45632}}, 4030220},
		{"nobody", header + "total                                                      0K\n", nil, 0},
		{"a name with blanks", header + "user                  Isolated Web Co     4411       9216K\ntotal 9216K\n",
			[]user{{4411, "Isolated Web Co", 9216}}, 9216},
		{"a name of digits and sizes", header + "user                       12 34 100K       77          4K\ntotal 4K\n",
			[]user{{77, "12 34 100K", 4}}, 4},
		{"several clients of one process", header +
			"user                          python3     8123       1000K\n" +
			"user                              cat        9          1K\n" +
			"gpu                           python3     8123         24K\n" +
			"total                                                   1025K\n",
			[]user{{8123, "python3", 1024}, {9, "cat", 1}}, 1025},
		{"the kernel's own", header +
			"kernel                         kernel        0        512K\n" +
			"user                              vlc       10         12K\n" +
			"total                                                    524K\n",
			[]user{{10, "vlc", 12}}, 524},
		{"the table of mappings", header +
			"user                              vlc       10         12K\n" +
			"              BASE      SIZE     FLAGS   REFS    DUPES  PINS KMAPS UMAPS SHARE UID\n" +
			"          b3f00000       12K        21      1        1     1     0     1     1 7\n" +
			"\n" +
			"total                                                     12K\n",
			[]user{{10, "vlc", 12}}, 12},
		{"other units", header + "user a 1 2M\nuser b 2 3G\ntotal 4G\n", []user{{1, "a", 2 << 10}, {2, "b", 3 << 20}}, 4 << 20},
		{"a name that looks like a total", header +
			"user                            x\ntotal 9K\ny       12          4K\n" +
			"total                                                      4K\n",
			[]user{{12, "", 4}}, 4},
		{"a name that ends with a line break", header +
			"user                                x\n       12          4K\n" +
			"total                                                      4K\n",
			[]user{{12, "", 4}}, 4},
		{"no total", header + "user a 1 2K\n", []user{{1, "a", 2}}, -1},
		{"a size that is none", header + "user a 1 -2K\nuser a 1 3K\nuser b 2 2X\nuser c 3 K\ntotal 5\n", []user{{1, "a", -1}, {2, "b", -1}, {3, "c", -1}}, -1},
		{"sizes beyond all bounds", header + "user a 1 99999999999999999999K\nuser b 2 4398046511103G\ntotal 1K\n", []user{{1, "a", -1}, {2, "b", -1}}, 1},
		{"PIDs that are none", header + "user a 4294967296 1K\nuser b -1 1K\nuser c x 1K\ntotal 3K\n", nil, 3},
		{"names that are no text", header + "user \xff\x1b[2J 5 1K\ntotal 1K\n", []user{{5, "\uFFFD\x1b[2J", 1}}, 1},
	}
	kb := func(r monitor.Reading) int64 {
		if v, ok := r.Int(); ok {
			return v >> 10
		}
		return -1
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, total, ok := parseNVMap(tt.table, strings.Contains(tt.table, "BASE"))
			if !ok {
				t.Fatal("no table")
			}
			var users []user
			for _, p := range list {
				users = append(users, user{p.PID, p.Name.Value, kb(p.GPUMemoryBytes)})
			}
			if !slices.Equal(users, tt.users) {
				t.Errorf("users %v, want %v", users, tt.users)
			}
			if kb(total) != tt.total {
				t.Errorf("total %v kB, want %v", kb(total), tt.total)
			}
		})
	}
	for _, table := range []string{"", "\n", "Permission denied\n", "total 1K\n"} {
		if _, _, ok := parseNVMap(table, false); ok {
			t.Errorf("%q is a table", table)
		}
	}
}

// FuzzParseNVMap looks for tables that give numbers nobody can have, or a
// process twice.
func FuzzParseNVMap(f *testing.F) {
	f.Add(header+"user python3 8123 3984588K\nkernel kernel 0 512K\ntotal 4030220K\n", false)
	f.Add(header+"user Isolated Web Co 4411 9216K\nuser Isolated Web Co 4411 1G\ntotal 1M\n", false)
	f.Add(header+" \n\t\n\ntotal\nK\n", true)
	f.Fuzz(func(t *testing.T, table string, nested bool) {
		list, total, _ := parseNVMap(table, nested)
		seen := map[uint32]bool{}
		check := func(r monitor.Reading) {
			if v, ok := r.Float(); ok && (v < 0 || v > monitor.MemoryRange.High || v != math.Trunc(v)) {
				t.Errorf("%v bytes", v)
			}
		}
		check(total)
		for _, p := range list {
			if p.PID == 0 || seen[p.PID] {
				t.Errorf("PID %d twice, or none", p.PID)
			}
			seen[p.PID] = true
			check(p.GPUMemoryBytes)
			if strings.ToValidUTF8(p.Name.Value, "") != p.Name.Value {
				t.Errorf("name %q", p.Name.Value)
			}
		}
	})
}
