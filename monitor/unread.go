package monitor

// Unread returns why nothing could be read of any GPU, nil when something was.
// A GPU that is left asleep is no failure, nor is a machine without any, unless it
// waits for its driver.
func (s *Snapshot) Unread() *OpenError {
	var first *GPU
	why, differ := "", false
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if g.State == Sleeping || g.measured() {
			return nil
		}
		if first == nil {
			first, why = g, g.unread()
		}
		differ = differ || g.unread() != why
	}
	if first == nil && s.Waiting != "" {
		return &OpenError{What: s.Waiting, Hint: s.WaitingHint}
	}
	if first == nil {
		return nil
	}
	e := &OpenError{What: "no GPU could be read: " + why, Code: first.StateErr.Name()}
	if differ {
		e.What = "no GPU could be read, for more than one reason; the first: " + why
	}
	switch reason := first.Unmeasured(); {
	case reason == GPULost:
		e.Hint = HintLost
	case reason == NoPermission:
		e.Hint = HintNoPermission
	case first.State == Initialising:
		e.Hint = HintSlow
	case s.Waiting != "": // the source knows more
		e.What, e.Code, e.Hint = s.Waiting, "", s.WaitingHint
	default:
		e.Hint = HintDriver
	}
	return e
}

// measured reports whether anything is known of the GPU or of an instance of
// it beyond what it is.
func (g *GPU) measured() bool {
	if g.ProcStatus.Reason == Known {
		return true
	}
	for i := range g.Readings {
		if g.Readings[i].Known() {
			return true
		}
	}
	for i := range g.MIG {
		if g.MIG[i].measured() {
			return true
		}
	}
	return false
}

// unread says why nothing is known of the GPU.
func (g *GPU) unread() string {
	switch {
	case g.StateReason != "":
		return g.StateReason
	case g.State == Initialising:
		return "no answer in time"
	case g.State == Unavailable || g.State == Lost:
		return g.State.String()
	}
	return "no reading has a value"
}
