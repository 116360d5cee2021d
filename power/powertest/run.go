package powertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"lightsout/power"
)

// patience is how long anything is waited for; nothing takes that long.
const patience = 60 * time.Second

// Run puts a driver to the test, each promise in a world of its own. newWorld makes one with the
// machine on; what it starts ends with t.
func Run(t *testing.T, newWorld func(t *testing.T) *World) {
	first := newWorld(t)
	for _, c := range []struct {
		name string
		test func(*subject)
		// applies: it can happen to this driver.
		applies bool
	}{
		{"it says what it can do", (*subject).abilities, true},
		{"exactly one machine is found, or none", (*subject).find, true},
		{"the state is the true one", (*subject).states, first.Can.State},
		{"what is asked for comes about, also by what the journal kept, and asking twice is fine", (*subject).actions, true},
		{"a machine that can't be reached is unknown", (*subject).unreachable, first.Unreachable != nil && first.Can.State},
		{"what speaks for nothing is never off", (*subject).gone, first.Gone != nil},
		{"an ended context sends nothing", (*subject).endedContext, true},
		{"without permission nothing is sent", (*subject).vetoed, true},
		{"the end of the context ends everything", (*subject).stalled, first.Stall != nil},
		{"a request that may have arrived is unconfirmed", (*subject).lost, first.Lose != nil},
		{"a refusal is told harmlessly and without secrets", (*subject).refused, first.Refuse != nil},
		{"many may use it at once", (*subject).concurrent, true},
	} {
		if !c.applies {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(&subject{T: t, w: newWorld(t)})
		})
	}
}

// subject is a driver under test.
type subject struct {
	*testing.T
	w *World
}

func (s *subject) machine() power.Machine {
	s.Helper()
	m, err := s.w.Driver.Find(s.Context(), s.w.Machine.Node, s.w.Machine.Hint)
	if err != nil {
		s.Fatalf("the machine is not found: %v", err)
	}
	return m
}

// hear checks every text of the driver, and returns the error.
func (s *subject) hear(err error) error {
	if err != nil {
		s.text(err.Error())
	}
	return err
}

func (s *subject) noSecrets(said string) {
	for _, secret := range s.w.Secrets {
		if strings.Contains(said, secret) {
			s.Errorf("a secret is in %q", said)
		}
	}
}

func (s *subject) text(said string) {
	s.noSecrets(said)
	if strings.ContainsFunc(said, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
		s.Errorf("%q is not harmless", said)
	}
}

func (s *subject) state(ctx context.Context, m power.Machine) (power.Reading, error) {
	r, err := s.w.Driver.State(ctx, m)
	s.text(r.Detail)
	return r, s.hear(err)
}

// do asks for an action. It returns nil for the error by which a driver that gets no
// acknowledgement reports that it has sent the request.
func (s *subject) do(ctx context.Context, a power.Action, m power.Machine) error {
	err := s.hear(s.w.Driver.Switch(ctx, a, m))
	switch {
	case !s.w.Unacknowledged:
		return err
	case err == nil:
		s.Errorf("%s was confirmed, by nobody", a)
	case errors.As(err, new(*power.UnconfirmedError)):
		return nil
	}
	return err
}

// wanted is the state that an action is for, and the one before.
func wanted(a power.Action) (after, before power.State) {
	if a == power.ActionOn {
		return power.On, power.Off
	}
	return power.Off, power.On
}

// unmoved tries an action that must leave the machine as it is, and gives its error.
func (s *subject) unmoved(ctx context.Context, a power.Action, m power.Machine) error {
	_, before := wanted(a)
	s.w.Set(before)
	err := s.do(ctx, a, m)
	if s.w.Is() != before {
		s.Errorf("%s, which must leave it alone, made the machine %s", a, s.w.Is())
	}
	return err
}

// able are the actions that the driver can do.
func (s *subject) able() []power.Action {
	return slices.DeleteFunc([]power.Action{power.ActionOn, power.ActionShutdown, power.ActionOff}, func(a power.Action) bool { return !s.w.Can.Can(a) })
}

// await waits until the machine is in a state, in truth and by the driver's word.
func (s *subject) await(m power.Machine, want power.State) {
	s.Helper()
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is := s.w.Is(); is != want {
			last = "it is " + is.String()
			continue
		}
		if !s.w.Can.State {
			return
		}
		r, err := s.state(s.Context(), m)
		if err == nil && r.State == want {
			s.proof(r)
			return
		}
		last = fmt.Sprintf("the driver says %+v, %v", r, err)
	}
	s.Fatalf("the machine did not become %s; %s", want, last)
}

// proof: off is proven only by who can prove it.
func (s *subject) proof(r power.Reading) {
	s.Helper()
	switch {
	case r.State == power.Off && r.Proof == power.Proven && !s.w.Can.ProvesOff:
		s.Errorf("%+v: this driver can't prove off", r)
	case r.State == power.Off && r.Proof != power.Proven && s.w.Can.ProvesOff:
		s.Errorf("%+v: off is not proven", r)
	case r.State == power.On && r.Proof != power.Proven:
		s.Errorf("%+v: on is not proven", r)
	case r.State == power.Unknown && r.Proof != power.ProofNone:
		s.Errorf("%+v: what is not known can't be proven", r)
	case r.NoAnswer && r.State != power.Unknown:
		s.Errorf("%+v: it is known, and nobody answered", r)
	case r.Detail == "":
		s.Errorf("%+v: it does not say when, or what was seen", r)
	}
}
