package monitor

import (
	"math"
	"testing"
)

func proc(pid uint32, memory Reading) Process {
	return Process{PID: pid, GPUInstanceID: None, ComputeInstanceID: None, GPUMemoryBytes: memory}
}

func TestMergeProcesses(t *testing.T) {
	inInstance := proc(1, OfInt(5))
	inInstance.GPUInstanceID = 2
	named := proc(3, Unknown(NotSupported))
	named.Name, named.Namespace = OfText("game"), NamespaceSame
	got := MergeProcesses(
		[]Process{proc(1, OfInt(10)), proc(2, Unknown(NoPermission)), inInstance},
		[]Process{named, proc(1, OfInt(30)), proc(2, Unknown(Timeout))},
		[]Process{proc(1, OfInt(20)), proc(3, OfInt(7)), proc(4, OfInt(0))},
	)
	want := []struct {
		pid    uint32
		gi     int
		types  ProcessTypes
		memory Reading
	}{
		{1, None, Compute | Graphics | MPS, OfInt(30)},
		{2, None, Compute | Graphics, Unknown(NoPermission)},
		{1, 2, Compute, OfInt(5)},
		{3, None, Graphics | MPS, OfInt(7)},
		{4, None, MPS, OfInt(0)},
	}
	if len(got) != len(want) {
		t.Fatalf("%d processes, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		p := got[i]
		if p.PID != w.pid || p.GPUInstanceID != w.gi || p.Types != w.types || p.GPUMemoryBytes != w.memory {
			t.Errorf("%d: got %d/%d %b %+v, want %+v", i, p.PID, p.GPUInstanceID, p.Types, p.GPUMemoryBytes, w)
		}
	}
	if got[3].Name != OfText("game") || got[3].Namespace != NamespaceSame {
		t.Errorf("the name is lost: %+v", got[3])
	}
	if got := MergeProcesses(nil, nil, nil); got == nil || len(got) != 0 {
		t.Errorf("three empty lists give %v, want an empty one", got)
	}
}

func TestMergeManyProcesses(t *testing.T) {
	const n = 10_000
	compute, graphics := make([]Process, n), make([]Process, n)
	for i := range n {
		compute[i] = proc(uint32(i), OfInt(int64(i)))
		graphics[i] = proc(uint32(n-i), OfInt(1))
	}
	got := MergeProcesses(compute, graphics, nil)
	if len(got) != n+1 {
		t.Fatalf("%d processes", len(got))
	}
	for i := range n {
		if got[i].PID != uint32(i) {
			t.Fatalf("process %d has PID %d", i, got[i].PID)
		}
	}
	if got[5].Types != Compute|Graphics || got[0].Types != Compute || got[n].Types != Graphics {
		t.Error("types are wrong")
	}
	if compute[5].Types != 0 {
		t.Error("the lists given were altered")
	}
}

func BenchmarkMerge10000(b *testing.B) {
	list := make([]Process, 10_000)
	for i := range list {
		list[i] = proc(uint32(i), OfInt(1))
	}
	b.ReportAllocs()
	for b.Loop() {
		MergeProcesses(list, list, nil)
	}
}

func TestTotal(t *testing.T) {
	estimated := OfFloat(3)
	estimated.Provenance = Estimated
	tests := []struct {
		name  string
		parts []Reading
		want  Reading
	}{
		{"nothing", nil, OfInt(0)},
		{"integers", []Reading{OfInt(1), OfInt(1 << 60), OfInt(-3)}, OfInt(1<<60 - 2)},
		{"numbers", []Reading{OfInt(1), OfFloat(0.5)}, OfFloat(1.5)},
		{"one unknown", []Reading{OfInt(1), Unknown(GPULost), Unknown(Timeout)}, Unknown(GPULost)},
		{"not measured", []Reading{OfInt(1), estimated}, Unknown(NotSupported)},
		{"too large", []Reading{OfInt(math.MaxInt64), OfInt(math.MaxInt64)}, OfFloat(2 * float64(math.MaxInt64))},
	}
	for _, tt := range tests {
		var total Total
		for _, r := range tt.parts {
			total.Add(r)
		}
		if got := total.Reading(); got != tt.want || total.Parts() != len(tt.parts) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
