package monitor

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseColumn(t *testing.T) {
	for _, word := range strings.Fields("gpu pid user type sm mem enc dec cpu host time command") {
		if c := ParseColumn(word); c.String() != word || c == ByDefault {
			t.Errorf("%s: %v", word, c)
		}
	}
	for _, word := range []string{"", "-cpu", "CPU", "memory"} {
		if c := ParseColumn(word); c != ByDefault {
			t.Errorf("%q: %v", word, c)
		}
	}
	if ByDefault.String() != "mem" || Column(99).String() != "mem" {
		t.Error("the default is not the memory")
	}
}

func TestNextColumnGoesRound(t *testing.T) {
	seen := map[Column]bool{}
	for c := ByDefault.Next(); !seen[c]; c = c.Next() {
		seen[c] = true
	}
	if len(seen) != int(NumColumns)-1 || seen[ByDefault] || Column(99).Next() != ByGPU {
		t.Errorf("%d columns in the round", len(seen))
	}
}

// threeGPUs are GPU 1, GPU 12, and an instance 3 of GPU 12.
func threeGPUs() (one, twelve, instance *GPU) {
	one = &GPU{Identity: Identity{Index: 1, GPUInstanceID: None}}
	twelve = &GPU{Identity: Identity{Index: 12, GPUInstanceID: None}}
	instance = &GPU{Identity: Identity{Index: None, GPUInstanceID: 3, Profile: "1g.10gb"}}
	return one, twelve, instance
}

func TestMatch(t *testing.T) {
	one, twelve, instance := threeGPUs()
	train := &Process{PID: 4044, Name: OfText("train.py"), Command: OfText("python train.py --résumé Straße"), User: OfText("Kim")}
	bare := &Process{PID: 77, Name: Text{Value: "train.py", Reason: NoPermission}, User: UnknownText(NoPermission)}
	for _, tt := range []struct {
		choice    Choice
		parent, g *GPU
		p         *Process
		want      bool
	}{
		{Choice{}, one, one, train, true},
		{Choice{}, one, one, bare, true},
		{Choice{None: true}, one, one, train, false},

		{Choice{Text: "TRAIN"}, one, one, train, true},
		{Choice{Text: "kim"}, one, one, train, true},
		{Choice{Text: "404"}, one, one, train, true},
		{Choice{Text: "4044 "}, one, one, train, false},
		{Choice{Text: "python train"}, one, one, train, true},
		{Choice{Text: "pyton"}, one, one, train, false},
		{Choice{Text: "RÉSUMÉ"}, one, one, train, true},
		{Choice{Text: "ſtraße"}, one, one, train, true},   // the long s is an s
		{Choice{Text: "\u212Aim"}, one, one, train, true}, // and the Kelvin sign a k
		{Choice{Text: "STRASSE"}, one, one, train, false}, // one character for one
		{Choice{Text: "train.py"}, one, one, bare, false}, // what is unknown matches nothing
		{Choice{Text: "no_permission"}, one, one, bare, false},

		{Choice{Text: "1"}, one, one, train, true},
		{Choice{Text: "GPU1"}, one, one, train, true},
		{Choice{Text: "gpu 1"}, one, one, train, true},
		{Choice{Text: "gpu"}, one, one, train, false},
		{Choice{Text: "1"}, twelve, twelve, train, false}, // a part of the number is no match
		{Choice{Text: "12"}, twelve, instance, train, true},
		{Choice{Text: "12:3"}, twelve, instance, train, true},
		{Choice{Text: "gpu12:3"}, twelve, instance, train, true},
		{Choice{Text: "12:3"}, twelve, twelve, train, false},
		{Choice{Text: "12:4"}, twelve, instance, train, false},
		{Choice{Text: "-1"}, instance, instance, train, false}, // a GPU without a number

		{Choice{User: "Kim"}, one, one, train, true},
		{Choice{User: "kim"}, one, one, train, false},
		{Choice{User: "Ki"}, one, one, train, false},
		{Choice{User: "Kim"}, one, one, bare, false},
		{Choice{User: "Kim", Text: "eval"}, one, one, train, false},
		{Choice{User: "Kim", Text: "train"}, one, one, train, true},
	} {
		if got := tt.choice.Match(tt.parent, tt.g, tt.p); got != tt.want {
			t.Errorf("%+v of PID %d on GPU %d:%d: %v", tt.choice, tt.p.PID, tt.parent.Index, tt.g.GPUInstanceID, got)
		}
	}
}

// FuzzMatch looks for texts in themselves and in longer ones.
func FuzzMatch(f *testing.F) {
	f.Add("train.py", "ain")
	f.Add("\u212A", "k")
	f.Add("İstanbul", "i")
	f.Fuzz(func(t *testing.T, text, part string) {
		if !utf8.ValidString(text) || !utf8.ValidString(part) {
			t.Skip() // halves of characters may join
		}
		one, _, _ := threeGPUs()
		matches := func(part, text string) bool {
			c := Choice{Text: part, Sort: ByPID}
			return c.Match(one, one, &Process{Name: OfText(text)})
		}
		if !matches(text, text) || !matches(part, text+part) || !matches(part, part+text) {
			t.Errorf("%q is not found beside %q", part, text)
		}
		if strings.Contains(text, part) && !matches(part, text) {
			t.Errorf("%q is not found in %q", part, text)
		}
	})
}

func TestMatchDoesNotAllocate(t *testing.T) {
	_, twelve, instance := threeGPUs()
	p := &Process{PID: 4_000_000_000, Name: OfText("train.py"), Command: OfText(strings.Repeat("python Ärger ", 20)), User: OfText("kim")}
	c := Choice{Text: "nowhere ÄK"}
	if n := testing.AllocsPerRun(100, func() { c.Match(twelve, instance, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestApply looks at the copy and at what it was made of.
func TestApply(t *testing.T) {
	listed := Status{Reason: Known, At: 5}
	p := func(pid uint32, user string, bytes Reading) Process {
		return Process{PID: pid, User: OfText(user), GPUMemoryBytes: bytes}
	}
	used := OfInt(900)
	build := func() *Snapshot {
		one, twelve, instance := threeGPUs()
		one.Readings[MemoryUsedBytes] = used
		one.ProcStatus, one.Processes = listed, []Process{p(5, "kim", OfInt(10)), p(4, "lee", OfInt(99)), p(3, "kim", Unknown(NotSupported)), p(2, "kim", OfInt(10))}
		twelve.ProcStatus = Status{Reason: NoPermission}
		instance.ProcStatus, instance.Processes = listed, []Process{p(8, "lee", OfInt(1))}
		twelve.MIG = []GPU{*instance}
		return &Snapshot{GPUs: []GPU{*one, *twelve}}
	}
	pids := func(g *GPU) (list []uint32) {
		for i := range g.Processes {
			list = append(list, g.Processes[i].PID)
		}
		return list
	}
	s := build()
	for _, tt := range []struct {
		choice    Choice
		one, inst []uint32
	}{
		{Choice{}, []uint32{4, 2, 5, 3}, []uint32{8}}, // what is unknown stands last
		{Choice{Sort: ByMemory, Reverse: true}, []uint32{2, 5, 4, 3}, []uint32{8}},
		{Choice{Sort: ByPID, Reverse: true}, []uint32{5, 4, 3, 2}, []uint32{8}},
		{Choice{User: "kim"}, []uint32{2, 5, 3}, nil},
		{Choice{Text: "12:3"}, nil, []uint32{8}},
		{Choice{None: true}, nil, nil},
	} {
		got := tt.choice.Apply(s)
		one, twelve := &got.GPUs[0], &got.GPUs[1]
		if !slices.Equal(pids(one), tt.one) || !slices.Equal(pids(&twelve.MIG[0]), tt.inst) {
			t.Errorf("%+v: %v and %v", tt.choice, pids(one), pids(&twelve.MIG[0]))
		}
		wantListed, wantUnread := listed, Status{Reason: NoPermission}
		if tt.choice.None {
			wantListed, wantUnread = Status{}, Status{}
		}
		if one.ProcStatus != wantListed || twelve.ProcStatus != wantUnread || twelve.MIG[0].ProcStatus != wantListed {
			t.Errorf("%+v: states %v, %v, %v", tt.choice, one.ProcStatus, twelve.ProcStatus, twelve.MIG[0].ProcStatus)
		}
		if one.Readings[MemoryUsedBytes] != used {
			t.Errorf("%+v: the GPU's own memory changed", tt.choice)
		}
		if !reflect.DeepEqual(s, build()) {
			t.Fatalf("%+v: the snapshot changed", tt.choice)
		}
	}
}

// TestCompareIsAnOrder takes any processes in any column.
func TestCompareIsAnOrder(t *testing.T) {
	m := newMaker(7)
	var list []Placed
	for len(list) < 40 {
		g := &GPU{Identity: Identity{GPUInstanceID: m.IntN(3) - 1}}
		p := &Process{PID: uint32(m.IntN(5)), Types: ProcessTypes(m.IntN(8)), User: Text{Value: m.str(), Reason: m.reason()}}
		for _, r := range []*Reading{&p.GPUMemoryBytes, &p.SMPercent, &p.CPUPercent, &p.StartTime} {
			if m.often() {
				*r = OfInt(m.Int64N(3))
			}
		}
		list = append(list, Placed{Process: p, GPU: g, Parent: g, Place: m.IntN(3)})
	}
	sign := func(n int) int { return min(max(n, -1), 1) }
	for by := ByDefault; by <= NumColumns; by++ {
		c := Choice{Sort: by, Reverse: by%2 == 0}
		for i := range list {
			for j := range list {
				ij := sign(c.Compare(&list[i], &list[j]))
				if ij != -sign(c.Compare(&list[j], &list[i])) {
					t.Fatalf("%s: %d and %d are in no order", by, i, j)
				}
				for k := range list {
					if ij <= 0 && c.Compare(&list[j], &list[k]) <= 0 && c.Compare(&list[i], &list[k]) > 0 {
						t.Fatalf("%s: %d, %d and %d go round", by, i, j, k)
					}
				}
			}
		}
	}
}
