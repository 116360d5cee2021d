package session

// departureState is whether the session ends, and after what.
type departureState int

const (
	staying    departureState = iota
	choosing                  // the operator wants to leave and has not answered how
	undoing                   // it ends when no node is cordoned or drained, and no machine off
	bringing                  // undoing, and lightsout powers on the machines first
	afterGuest                // it ends as soon as the guest has ended
	gone                      // it ends now
)

// departure is how the session ends. Only to changes its state.
type departure struct {
	state departureState
	// named are the machines of the question that bringing has yet to power on, each once: another program
	// that shares the journal may switch off others meanwhile.
	named []string
}

// to changes the state. An end that does not depend on the operator is not taken back.
func (d *departure) to(s departureState) {
	if d.state < afterGuest || s > d.state {
		*d = departure{state: s}
	}
}

// undoes reports whether the operator leaves as soon as lightsout has undone what it did.
func (d *departure) undoes() bool { return d.state == undoing || d.state == bringing }

// stay cancels undoing, and reports whether the operator was leaving so.
func (d *departure) stay() (wasLeaving bool) {
	if wasLeaving = d.undoes(); wasLeaving {
		d.to(staying)
	}
	return wasLeaving
}
