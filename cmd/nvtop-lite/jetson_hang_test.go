//go:build linux

package main_test

import (
	"strings"
	"testing"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/internal/fixture"
)

// TestNVMLHangsOnAJetson: whichever function of NVML does not come back, the row of
// the integrated GPU is there and complete, and the program ends.
func TestNVMLHangsOnAJetson(t *testing.T) {
	const machine = "orin-agx-jetpack6"
	for _, function := range []string{"nvmlInit_v2", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2", "nvmlDeviceGetName", "nvmlDeviceGetUUID", "*"} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			fake := fakenvml.New(t, "580", fixture.Scenario(t, machine)+"fault "+function+" hang\n")
			r := run(t, nil, program(t, "linux", "amd64"), "--root", fixture.Machine(t, machine), "--nvml", fake.Path(), "--json", "-n", "2", "-i", "0.2")
			says(t, r, 0, "")
			lines := 0
			for line := range strings.Lines(r.out) {
				lines++
				s := parse(t, line)
				checkSnapshot(t, s)
				g := s.objects("gpus")
				if len(g) != 1 || g[0].text("state") != "ok" || g[0].text("name") != "Orin (nvgpu)" || g[0].number("utilization_percent") != "34.5" || len(g[0].objects("processes")) != 3 {
					t.Errorf("%s", line)
				}
				if len(railsOf(s)) != 4 {
					t.Errorf("rails %v", railsOf(s))
				}
			}
			if lines != 2 {
				t.Errorf("%d snapshots", lines)
			}
		})
	}
}
