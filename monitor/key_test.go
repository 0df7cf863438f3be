package monitor

import "testing"

func TestKey(t *testing.T) {
	gpu := func(set func(*GPU)) *GPU {
		g := &GPU{Identity: Identity{Index: 3, GPUInstanceID: None, ComputeInstanceID: None}}
		set(g)
		return g
	}
	tests := []struct {
		name string
		gpu  *GPU
		want string
	}{
		{"uuid", gpu(func(g *GPU) { g.UUID = OfText("GPU-1"); g.PCIBusID = OfText("00000000:01:00.0") }), "GPU-1"},
		{"bus id", gpu(func(g *GPU) { g.PCIBusID = OfText("00000000:01:00.0") }), "pci:00000000:01:00.0"},
		{"bus id, empty uuid", gpu(func(g *GPU) { g.UUID = OfText(""); g.PCIBusID = OfText("0:1") }), "pci:0:1"},
		{"index", gpu(func(g *GPU) { g.UUID = UnknownText(GPULost) }), "index:3"},
		{"no index", gpu(func(g *GPU) { g.Index = None }), "index:-1"},
		{"instance", gpu(func(g *GPU) { g.ParentUUID = "GPU-1"; g.GPUInstanceID = 7; g.ComputeInstanceID = 0 }), "GPU-1/gi:7/ci:0"},
		{"instance with uuid", gpu(func(g *GPU) { g.ParentUUID = "GPU-1"; g.UUID = OfText("MIG-2") }), "MIG-2"},
		{"zero ids are no instance", &GPU{}, "index:0"},
	}
	for _, tt := range tests {
		if got := Key(tt.gpu); got != tt.want {
			t.Errorf("%s: Key = %q, want %q", tt.name, got, tt.want)
		}
	}
}
