//go:build linux

package termtest

import "testing"

// TestADriverUpgradedUnderTheScreen: the screen stays, says what to do, and
// goes on when the driver is whole again.
func TestADriverUpgradedUnderTheScreen(t *testing.T) {
	s, fake := onFake(t, 120, 30, "gpus 1\ngpu 0 util 42\n", "-i", "0.3")
	s.see("42%")
	fake.SetScenario("init 18\nfault nvmlDevice* return 18\n")
	s.see("different versions")
	s.see("lost", "unavailable")
	fake.SetScenario("gpus 1\ngpu 0 util 77\n")
	s.see("77%")
	s.without("different versions")
	s.quit()
}

// TestAGPUThatIsPulled: its row stays and says so, another takes its number,
// and it comes back as what it was.
func TestAGPUThatIsPulled(t *testing.T) {
	const first = "gpu 0 uuid GPU-aaaaaaaa-0000-0000-0000-000000000000\ngpu 0 busid 00000000:AA:00.0\ngpu 0 util 42\n"
	const second = " uuid GPU-bbbbbbbb-0000-0000-0000-000000000000\n"
	both := "gpus 2\n" + first + "gpu 1" + second + "gpu 1 busid 00000000:BB:00.0\ngpu 1 util 57\n"
	s, fake := onFake(t, 120, 40, both, "-i", "0.3")
	s.see("42%")
	s.see("57%")
	fake.SetScenario("gpus 1\ngpu 0" + second + "gpu 0 busid 00000000:BB:00.0\ngpu 0 util 57\n")
	s.see("lost")
	s.without("42%")
	s.see("57%")
	fake.SetScenario(both)
	s.see("42%")
	s.without("lost")
	s.quit()
}
