package nvml_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
)

const health = `gpus 3
gpu 0 retired 1
gpu 0 page single 0x1000 111
gpu 0 page single 0x2000 222
gpu 0 page double 0x3000 333
gpu 0 retired.pending 1
gpu 0 remap 1
gpu 0 remap.corrected 3
gpu 0 remap.uncorrected 4
gpu 0 remap.pending 1
gpu 0 remap.failed 0
gpu 0 nvlink 2
gpu 0 nvlink.0.tx 100
gpu 0 nvlink.0.rx 200
gpu 0 nvlink.1.state 0
gpu 0 nvlink.1.replay 9
gpu 0 nvlink.0.peertype 0
gpu 0 topology.1 10
gpu 0 topology.2 50
gpu 0 p2p.0 5
gpu 0 cpus 0-3,64,70
gpu 0 nodes 1
gpu 0 accounting 1
gpu 0 account 4711 12 34 5000000 2500 1700000000000000 0
gpu 0 account 4712 none none none 0 1700000000000000 1
gpu 0 fabric 3
gpu 0 fabric.clique 7
gpu 0 fabric.status 0
gpu 0 fabric.health 5
gpu 0 platform.slot 4
gpu 0 platform.tray 5
gpu 0 repair.tpc 1
gpu 0 computemode 3
gpu 0 persistence 1
gpu 0 memory.total 8GiB
gpu 0 bar1.total 1GiB
gpu 0 bar1.used 1MiB
gpu 0 encoder.sessions 2
gpu 0 encoder.fps 30
gpu 0 encoder.latency 700
gpu 0 encoder.pid.1 999
gpu 0 samples.0 5000
gpu 0 samples.count 300
`

func TestHealthOnEveryGeneration(t *testing.T) {
	for _, g := range fakenvml.Generations() {
		t.Run(g, func(t *testing.T) {
			_, d := device(t, g, health, nvml.Options{})
			check := func(name string, got, want any, err error) {
				t.Helper()
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %v, %v; want %v", name, got, err, want)
				}
			}
			pages, err := d.RetiredPages(nvml.RetiredSingleBit)
			want := []nvml.RetiredPage{{Address: 0x1000, Timestamp: 111}, {Address: 0x2000, Timestamp: 222}}
			if branch(g) < 410 {
				want[0].Timestamp, want[1].Timestamp = 0, 0
			}
			check("pages", pages, want, err)
			pending, err := d.RetiredPagesPendingStatus()
			check("pages pending", pending, true, err)

			rows, err := d.RemappedRows()
			if branch(g) < 450 {
				if !errors.Is(err, nvml.ErrNotSupported) {
					t.Errorf("rows: %v, %v", rows, err)
				}
			} else {
				check("rows", []any{rows.Corrected, rows.Uncorrected, rows.Pending, rows.Failed, rows.InactiveKnown}, []any{3, 4, true, false, branch(g) >= 595}, err)
			}

			for link, want := range []bool{true, false} {
				state, err := d.NvLinkState(uint32(link))
				check("link", state, want, err)
			}
			for link := uint32(0); ; link++ {
				_, err := d.NvLinkState(link)
				if err != nil {
					if link != 2 || !errors.Is(err, nvml.ErrInvalidArgument) && !errors.Is(err, nvml.ErrNotSupported) {
						t.Errorf("link %d: %v", link, err)
					}
					break
				}
			}
			if branch(g) >= 450 {
				tx, rx, err := d.NvLinkTraffic(0)
				check("traffic", []uint64{tx, rx}, []uint64{100 << 10, 200 << 10}, err)
			}
			replays, err := d.NvLinkErrorCounter(1, nvml.NvLinkReplay)
			check("link errors", replays, 9, err)
			peer, err := d.NvLinkRemotePciInfo(0)
			check("peer", peer.SubsystemSet, false, err)
			if branch(g) >= 470 {
				kind, err := d.NvLinkRemoteDeviceType(0)
				check("peer type", kind, nvml.PeerGPU, err)
			}

			var others []nvml.Device
			for o, err := range d.Library().Devices() {
				if err != nil {
					t.Fatal(err)
				}
				others = append(others, o)
			}
			for i, want := range []nvml.TopologyLevel{1: nvml.TopologySingle, 2: nvml.TopologySystem} {
				if i > 0 {
					level, err := d.TopologyCommonAncestor(others[i])
					check("topology", level, want, err)
				}
			}
			near, err := d.TopologyNearestGpus(nvml.TopologySingle)
			if err != nil || !slices.Equal(near, []nvml.Device{others[1]}) {
				t.Errorf("nearest: %v, %v", near, err)
			}
			p2p, err := d.P2PStatus(others[1], nvml.P2PRead)
			check("P2P", p2p, nvml.P2PNotSupported, err)
			cpus, err := d.CpuAffinity()
			check("CPUs", cpus, []int{0, 1, 2, 3, 64, 70}, err)
			if branch(g) >= 450 {
				nodes, err := d.MemoryAffinity(nvml.AffinityNode)
				check("nodes", nodes, []int{1}, err)
				cpus, err := d.CpuAffinityWithinScope(nvml.AffinitySocket)
				check("CPUs of the socket", cpus, []int{0, 1, 2, 3, 64, 70}, err)
			}

			pids, err := d.AccountingPids()
			check("accounting", pids, []uint32{4711, 4712}, err)
			stats, err := d.AccountingStats(4711)
			check("account", stats, nvml.AccountingStats{GPUUtilization: 12, MemoryUtilization: 34, GPUUtilizationKnown: true, MemoryUtilizationKnown: true,
				MaxMemory: 5000000, Time: 2500 * time.Millisecond, Start: time.UnixMicro(1700000000000000)}, err)
			stats, err = d.AccountingStats(4712)
			check("account of the other", stats, nvml.AccountingStats{MaxMemory: nvml.NotAvailable, Start: time.UnixMicro(1700000000000000), Running: true}, err)
			if _, err := d.AccountingStats(1); !errors.Is(err, nvml.ErrNotFound) {
				t.Errorf("account of nobody: %v", err)
			}

			fabric, err := d.GpuFabricInfo()
			version := 0
			switch b := branch(g); {
			case b >= 615:
				version = 4
			case b >= 580:
				version = 3
			case b >= 550:
				version = 2
			case b >= 525:
				version = 1
			}
			if version == 0 {
				if !errors.Is(err, nvml.ErrFunctionNotFound) {
					t.Errorf("fabric: %+v, %v", fabric, err)
				}
			} else {
				check("fabric", []any{fabric.Version, fabric.State, fabric.Status}, []any{version, nvml.FabricCompleted, nvml.Success}, err)
				check("clique", fabric.Clique, 7, nil)
				if version > 1 {
					check("fabric health", fabric.HealthMask, 5, nil)
				}
			}
			if branch(g) >= 580 {
				p, err := d.PlatformInfo()
				check("platform", []any{p.Version, p.Slot, p.Tray}, []any{2, 4, 5}, err)
				_, tpc, err := d.RepairStatus()
				check("repair", tpc, true, err)
			}
			mode, err := d.ComputeMode()
			check("compute mode", mode, nvml.ComputeExclusiveProcess, err)
			bar, err := d.BAR1MemoryInfo()
			check("BAR1", bar, nvml.BAR1Memory{Total: 1 << 30, Used: 1 << 20, Free: 1<<30 - 1<<20}, err)
			sum, err := d.EncoderStats()
			check("encoder", sum, nvml.SessionStats{Sessions: 2, AverageFPS: 30, AverageLatency: 700 * time.Microsecond}, err)
			sessions, err := d.EncoderSessions()
			if err != nil || len(sessions) != 2 || sessions[1].PID != 999 {
				t.Errorf("encoder sessions: %+v, %v", sessions, err)
			}
			samples, err := d.Samples(nvml.SamplesPower, 0)
			if err != nil || len(samples) != 300 {
				t.Fatalf("samples: %d, %v", len(samples), err)
			}
			if v, ok := samples[0].Value.Uint64(); !ok || v != 5000 {
				t.Errorf("sample: %+v", samples[0])
			}
		})
	}
}

// TestFansAreCounted counts up where the driver has no number of fans.
func TestFansAreCounted(t *testing.T) {
	for _, g := range []string{"450", "580"} {
		_, d := device(t, g, "gpus 1\ngpu 0 fans 2\ngpu 0 fan.0 30\ngpu 0 fan.1 150\n", nvml.Options{})
		for i, want := range []uint32{30, 150} {
			if v, err := d.FanSpeed(i); err != nil || v != want {
				t.Errorf("%s: fan %d: %d, %v", g, i, v, err)
			}
		}
		if _, err := d.FanSpeed(2); !errors.Is(err, nvml.ErrInvalidArgument) {
			t.Errorf("%s: fan 2: %v", g, err)
		}
	}
	_, d := device(t, "390", "gpus 1\ngpu 0 fans 1\ngpu 0 fan.0 30\n", nvml.Options{})
	if v, err := d.FanSpeed(0); err != nil || v != 30 {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := d.FanSpeed(1); !errors.Is(err, nvml.ErrInvalidArgument) {
		t.Errorf("%v", err)
	}
}

func TestGrowingLists(t *testing.T) {
	s := "gpus 1\ngpu 0 accounting 1\n"
	for i := range 6000 {
		s += fmt.Sprintf("gpu 0 account %d 1 1 1 1 1 1\n", i+1)
	}
	_, d := device(t, "580", s, nvml.Options{})
	list, err := d.AccountingPids()
	if err != nil || len(list) != 6000 || list[5999] != 6000 {
		t.Errorf("%d, %v", len(list), err)
	}
}

func TestWordsOfNumbers(t *testing.T) {
	for v, want := range map[fmt.Stringer]string{
		nvml.Hopper: "Hopper", nvml.Architecture(14): "unknown (14)", nvml.ArchitectureUnknown: "unknown",
		nvml.Brand(5): "GeForce", nvml.Brand(77): "unknown (77)", nvml.NvLinkVersion(6): "4.0", nvml.NvLinkVersion(60): "unknown",
		nvml.ReasonSwPowerCap | 1<<20: "power cap, 0x100000", nvml.ClocksEventReasons(0): "none",
	} {
		if v.String() != want {
			t.Errorf("%q, want %q", v.String(), want)
		}
	}
}
