package monitor_test

import (
	"fmt"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

func machine() []monitor.GPU {
	mk := func(i int, uuid, bus string) monitor.GPU {
		return monitor.GPU{Identity: monitor.Identity{Index: i, UUID: monitor.OfText(uuid), PCIBusID: monitor.OfText(bus)}}
	}
	gpus := []monitor.GPU{
		mk(0, "GPU-4d1f0000-aaaa", "00000000:01:00.0"),
		mk(1, "GPU-4d1f1111-bbbb", "00000000:4E:00.0"),
		mk(2, "GPU-99990000-cccc", "00000001:4E:00.0"),
	}
	gpus[2].MIG = []monitor.GPU{mk(monitor.None, "MIG-12345678-1", ""), mk(monitor.None, "MIG-87654321-2", "")}
	return gpus
}

func TestVisibleDevices(t *testing.T) {
	for value, want := range map[string]string{
		"0,2": "0 2", " 1 , 0 ": "1 0", "GPU-4d1f0,MIG-1234": "GPU-4d1f0 MIG-1234", "": "", "-1": "", "0,-1,1": "0", "1,,2": "1",
		"2,none": "2", "NoDevFiles": "", "0-2": "", "0,4e:00.0": "0", "3,99999": "3",
	} {
		if got := strings.Join(monitor.VisibleDevices(value), " "); got != want {
			t.Errorf("%q shows %q, want %q", value, got, want)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct{ list, picked, wrong string }{
		{"0", "0", ""},
		{"0,2", "0 2", ""},
		{" 1 , 0-1 ", "0 1", ""},
		{"0-2", "0 1 2", ""},
		{"GPU-4d1f0", "0", ""},
		{"gpu-4D1F", "0 1", "more than one GPU has a UUID that begins with gpu-4D1F"},
		{"4e:00.0", "1", ""},
		{"0000:4E:00.0", "1", ""},
		{"00000001:4e:00.0", "2", ""},
		{"0001:4e:00.0", "2", ""},
		{"3", "", "no such GPU: 3"},
		{"1-4", "1 2", "no such GPU: 3, 4"},
		{"0,GPU-ffff", "0", "no such GPU: GPU-ffff"},
		{"MIG-1234", "2", ""},
		{"10-99", "", "no such GPU: 10, 11, 12, 13, 14, 15, 16, 17 and 82 more"},
	} {
		s, err := monitor.ParseSelection(c.list)
		if err != nil {
			t.Errorf("%q: %v", c.list, err)
			continue
		}
		gpus := machine()
		var picked []string
		for i := range gpus {
			if ok, _ := s.Picks(&gpus[i]); ok {
				picked = append(picked, string(rune('0'+i)))
			}
		}
		if got := strings.Join(picked, " "); got != c.picked {
			t.Errorf("%q picks %q, want %q", c.list, got, c.picked)
		}
		if got := s.Check(gpus); got != c.wrong {
			t.Errorf("%q: Check says %q, want %q", c.list, got, c.wrong)
		}
	}
}

func TestSelectionOfOneInstance(t *testing.T) {
	s, err := monitor.ParseSelection("MIG-8765")
	if err != nil {
		t.Fatal(err)
	}
	gpus := machine()
	ok, instances := s.Picks(&gpus[2])
	if !ok || len(instances) != 1 || instances[0].UUID.Value != "MIG-87654321-2" {
		t.Errorf("picked %v with %d instances", ok, len(instances))
	}
	if !s.ByInstance() || s.ByIndex() {
		t.Error("a MIG UUID cannot be decided by indices")
	}
}

func TestSelectionErrorsNameThePart(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", "empty part"}, {"0,,1", "empty part"}, {"2-", `"2-"`}, {"-1", `"-1"`}, {"1--3", `"1--3"`},
		{"3-1", "reversed"}, {"a", `"a"`}, {"1_0", `"1_0"`}, {"+3", `"+3"`}, {"٣", `"٣"`},
		{"0-1000000000", `"0-1000000000"`}, {"99999", "above 9999"}, {"GPU-1", "at least 4"}, {"zz:00.0", "PCI bus id"},
	} {
		_, err := monitor.ParseSelection(c.list)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.list, err, c.want)
		}
	}
}

func FuzzParseSelection(f *testing.F) {
	for _, s := range []string{"0,2,4-7", "GPU-4d1f", "0000:4e:00.0", "3-1", "1--2", ":", "::.", "mig-abcd"} {
		f.Add(s)
	}
	gpus := machine()
	f.Fuzz(func(t *testing.T, list string) {
		s, err := monitor.ParseSelection(list)
		if err != nil {
			return
		}
		s.Check(gpus)
		for i := range gpus {
			s.Picks(&gpus[i])
		}
	})
}

// TestSelectionStaysWithTheGPU: a choice by number is fixed to the GPUs that had
// the numbers.
func TestSelectionStaysWithTheGPU(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"0-1", "0 1"}, {"MIG-8765", "2:1"}, {"2", "2:2"}, {"0,MIG-8765", "0 2:1"},
	} {
		s, err := monitor.ParseSelection(c.list)
		if err != nil {
			t.Fatal(err)
		}
		before := machine()
		s = s.Fixed(before)
		after := machine()
		place := map[string]string{}
		for i := range after {
			place[monitor.Key(&after[i])] = fmt.Sprint(i)
			after[i].Index = len(after) - 1 - i // they change their numbers
		}
		var got []string
		snap := &monitor.Snapshot{GPUs: after}
		for _, g := range s.Of(snap).GPUs {
			name := place[monitor.Key(&g)]
			if len(g.MIG) > 0 {
				name += fmt.Sprint(":", len(g.MIG))
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.list, got, c.want)
		}
		if len(snap.GPUs) != len(before) {
			t.Error("the snapshot was changed")
		}
	}
	var all monitor.Selection
	if snap := (&monitor.Snapshot{GPUs: machine()}); all.Fixed(machine()).Of(snap) != snap {
		t.Error("a choice of all is not all")
	}
}
