package nvml_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"nvtop-lite/internal/fakenvml"
	"nvtop-lite/nvml"
)

func TestEventsOnEveryGeneration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("drivers for Windows have no events")
	}
	for _, g := range fakenvml.Generations() {
		fake, lib := open(t, g, "gpus 2\nevent gpu 1 at 30 xid 79\n", nvml.Options{})
		set, err := lib.NewEventSet()
		if err != nil {
			t.Fatal(err)
		}
		var second nvml.Device
		for d, err := range lib.Devices() {
			if err != nil {
				t.Fatal(err)
			}
			types, err := set.Register(d, nvml.DefaultEvents)
			if err != nil || types&nvml.EventXid == 0 {
				t.Errorf("%s: %v, %v", g, types, err)
			}
			second = d
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		e, err := set.Wait(ctx)
		if err != nil || e.Type != nvml.EventXid || e.Data != 79 || e.Device != second || e.GPUInstanceID != nvml.NoInstance {
			t.Errorf("%s: %+v, %v", g, e, err)
		}
		if branch(g) >= 615 && e.Time.IsZero() {
			t.Errorf("%s: no time", g)
		}
		cancel()
		if _, err := set.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", g, err)
		}
		// Nothing more comes.
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		if e, err := set.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %+v, %v", g, e, err)
		}
		cancel()
		if err := set.Close(); err != nil {
			t.Error(err)
		}
		if _, err := set.Wait(t.Context()); !errors.Is(err, nvml.ErrUninitialized) {
			t.Errorf("%s: after Close: %v", g, err)
		}
		if n := fake.Calls("nvmlEventSetFree"); n != 1 {
			t.Errorf("%s: %d sets were freed", g, n)
		}
	}
}

// TestCloseOfAWaitingSet closes the set while somebody waits.
func TestCloseOfAWaitingSet(t *testing.T) {
	fake, lib := open(t, "580", "gpus 1\n", nvml.Options{})
	set, err := lib.NewEventSet()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := set.Wait(context.Background())
		done <- err
	}()
	fake.WaitCalls("nvmlEventSetWait_v2", 1)
	within(t, 10*time.Second, func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := <-done; !errors.Is(err, nvml.ErrUninitialized) {
		t.Errorf("%v", err)
	}
	if n := fake.Calls("nvmlEventSetFree"); n != 1 {
		t.Errorf("%d sets were freed", n)
	}
}

func TestEventTypeText(t *testing.T) {
	if s := (nvml.EventXid | nvml.EventType(1)<<40).String(); s != "Xid, 0x10000000000" {
		t.Error(s)
	}
	if s := nvml.EventType(0).String(); s != "none" {
		t.Error(s)
	}
}
