package monitor

import "testing"

func TestUnread(t *testing.T) {
	lost := GPU{State: Lost, StateReason: "GPU is lost", StateErr: NewCallError("", "NVML_ERROR_GPU_IS_LOST", 15)}
	refused := GPU{State: Unavailable, Blocked: NoPermission, StateReason: "cannot be opened: no permission", StateErr: NewCallError("", "NVML_ERROR_NO_PERMISSION", 4)}
	mute := GPU{State: OK}
	for i := range mute.Readings {
		mute.Readings[i] = Unknown(DriverError)
	}
	well := mute
	well.Readings[PowerMW] = OfFloat(1000)
	sliced := mute
	sliced.MIG = []GPU{mute, well}
	listed := mute
	listed.ProcStatus.Reason = Known
	asleep := GPU{State: Sleeping}
	for _, tt := range []struct {
		gpus []GPU
		says string // "" for read
	}{
		{[]GPU{lost, lost}, "no GPU could be read: GPU is lost: NVML_ERROR_GPU_IS_LOST"},
		{[]GPU{refused}, "no GPU could be read: cannot be opened: no permission: NVML_ERROR_NO_PERMISSION"},
		{[]GPU{refused, lost}, "no GPU could be read, for more than one reason; the first: cannot be opened: no permission: NVML_ERROR_NO_PERMISSION"},
		{[]GPU{{State: Initialising}}, "no GPU could be read: no answer in time"},
		{[]GPU{mute}, "no GPU could be read: no reading has a value"},
		{[]GPU{lost, well}, ""}, {[]GPU{refused, sliced}, ""}, {[]GPU{listed}, ""}, {[]GPU{lost, asleep}, ""}, {nil, ""},
	} {
		e := (&Snapshot{GPUs: tt.gpus}).Unread()
		switch {
		case e == nil && tt.says == "":
		case e == nil || e.Error() != tt.says || e.Hint == "":
			t.Errorf("%+v, want %q", e, tt.says)
		}
	}
}

// TestUnreadAsTheSourceSaysIt: an error that says nothing is told as the source
// understands it.
func TestUnreadAsTheSourceSaysIt(t *testing.T) {
	failed := GPU{State: Unavailable, Blocked: DriverError, StateReason: "cannot be opened: unknown error", StateErr: NewCallError("", "NVML_ERROR_UNKNOWN", 999)}
	e := (&Snapshot{GPUs: []GPU{failed}, Waiting: "this container has lost its GPUs: NVML_ERROR_UNKNOWN", WaitingHint: "restart the container"}).Unread()
	if e == nil || e.Error() != "this container has lost its GPUs: NVML_ERROR_UNKNOWN" || e.Hint != "restart the container" {
		t.Errorf("%+v", e)
	}
}
