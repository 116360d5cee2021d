package powertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"lightsout/power"
)

func (s *subject) abilities() {
	if can := s.w.Driver.Abilities(); can != s.w.Can {
		s.Errorf("it says %+v, expected is %+v", can, s.w.Can)
	}
}

func (s *subject) find() {
	m := s.machine()
	if m.ID == "" {
		s.Errorf("found %+v", m)
	}
	s.text(m.Title())
	if again := s.machine(); again.ID != m.ID {
		s.Errorf("found %s, and then %s", m.ID, again.ID)
	}
	if l := s.w.None; l != nil {
		if got, err := s.w.Driver.Find(s.Context(), l.Node, l.Hint); !errors.Is(s.hear(err), power.ErrNoMachine) {
			s.Errorf("where there is none, it finds %+v, %v", got, err)
		}
	}
	if l := s.w.Twins; l != nil {
		got, err := s.w.Driver.Find(s.Context(), l.Node, l.Hint)
		if e, ok := errors.AsType[*power.AmbiguousError](s.hear(err)); !ok || len(e.Matches) < 2 {
			s.Errorf("where there are several, it finds %+v, %v", got, err)
		}
	}
}

// kept is the machine as a later lightsout finds it in the journal, ready to be powered on.
func (s *subject) kept() power.Machine {
	m := s.machine()
	data, err := json.Marshal(m)
	if err != nil {
		s.Fatal(err)
	}
	s.noSecrets(string(data))
	var kept power.Machine
	if err := json.Unmarshal(data, &kept); err != nil {
		s.Fatal(err)
	}
	ready, err := s.w.Driver.Ready(s.w.Machine.Node.Name, kept)
	if s.hear(err) != nil || ready.ID != m.ID {
		s.Errorf("it could not be powered on: %+v, %v", ready, err)
	}
	return ready
}

func (s *subject) states() {
	m := s.machine()
	if s.w.Polls > 1 && s.w.Can.ProvesOff {
		s.Errorf("it proves off, and takes %d polls to do so", s.w.Polls)
	}
	for _, want := range append([]power.State{power.On, power.Off, power.On}, s.w.States...) {
		s.w.Set(want)
		for poll := 1; want == power.Off && poll < s.w.Polls; poll++ {
			r, err := s.state(s.Context(), m)
			if err != nil || r.State != power.Unknown {
				s.Errorf("poll %d of %d of a machine that is off returns %+v, %v", poll, s.w.Polls, r, err)
			}
		}
		r, err := s.state(s.Context(), m)
		if err != nil || r.State != want {
			s.Errorf("%s is told as %+v, %v", want, r, err)
			continue
		}
		s.proof(r)
	}
}

func (s *subject) actions() {
	m := s.kept()
	for _, a := range s.able() {
		after, before := wanted(a)
		s.w.Set(before)
		times := 1
		if s.w.Can.ProvesOff || !s.w.Can.State { // else what is off can't be asked
			times = 2
		}
		for range times {
			if err := s.do(s.Context(), a, m); err != nil {
				s.Fatalf("%s: %v", a, err)
			}
			s.await(m, after)
		}
	}
}

func (s *subject) unreachable() {
	m := s.machine()
	s.w.Unreachable()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for range s.w.Polls + 1 { // and stays so
		r, err := s.state(ctx, m)
		if err != nil || r.State != power.Unknown {
			s.Errorf("it is %+v, %v", r, err)
			return
		}
		if !r.NoAnswer {
			s.Errorf("%+v: it does not say that nobody answered", r)
		}
		s.proof(r)
	}
}

func (s *subject) gone() {
	m := s.machine()
	s.w.Gone()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.nothing(ctx, m)
}

// nothing is known of the machine, and nobody accepts a request for it.
func (s *subject) nothing(ctx context.Context, m power.Machine) {
	if s.w.Can.State {
		if r, err := s.state(ctx, m); r.State != power.Unknown {
			s.Errorf("the state is %+v, %v", r, err)
		}
	}
	for _, a := range s.able() {
		if err := s.do(ctx, a, m); err == nil {
			s.Errorf("%s was accepted", a)
		}
	}
}

func (s *subject) endedContext() {
	m := s.machine()
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for _, a := range s.able() {
		if err := s.unmoved(ctx, a, m); err == nil {
			s.Errorf("%s was accepted", a)
		}
	}
	if s.w.Can.State {
		if r, err := s.state(ctx, m); r.State == power.Off || err == nil && r.State != power.Unknown {
			s.Errorf("the state is %+v, %v", r, err)
		}
	}
}

// vetoed: a driver that does not ask would send what the last judgement forbids.
func (s *subject) vetoed() {
	m, veto := s.machine(), errors.New("the last worker")
	ctx := power.Permit(s.Context(), func(context.Context) error { return veto })
	for _, a := range s.able() {
		if err := s.unmoved(ctx, a, m); !errors.Is(err, veto) {
			s.Errorf("%s: %v, want the error of power.BeforeSend", a, err)
		}
	}
}

func (s *subject) stalled() {
	m := s.machine()
	calls := map[string]func(context.Context) error{}
	for _, a := range s.able() {
		calls[string(a)] = func(ctx context.Context) error { return s.do(ctx, a, m) }
	}
	if s.w.Can.State {
		calls["state"] = func(ctx context.Context) error {
			r, err := s.state(ctx, m)
			if r.State != power.Unknown {
				s.Errorf("without an answer, the state is %+v", r)
			}
			return cmp.Or(err, errors.New("unknown"))
		}
	}
	end := s.w.Stall()
	defer end()
	for name, call := range calls {
		ctx, cancel := context.WithCancel(s.Context())
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		select {
		case err := <-done:
			s.Errorf("%s did not wait for an answer: %v", name, err)
		case <-time.After(100 * time.Millisecond): // it waits
			cancel()
			select {
			case err := <-done:
				if err == nil {
					s.Errorf("%s was accepted without an answer", name)
				}
			case <-time.After(patience):
				s.Errorf("%s goes on after its context has ended", name)
			}
		}
		cancel()
	}
}

func (s *subject) lost() {
	for _, a := range s.able() {
		m := s.machine()
		_, before := wanted(a)
		s.w.Set(before)
		s.w.Lose()
		if err := s.do(s.Context(), a, m); !errors.As(err, new(*power.UnconfirmedError)) {
			s.Errorf("%s: %v, want an *UnconfirmedError", a, err)
		}
	}
}

func (s *subject) refused() {
	m := s.machine()
	s.w.Refuse()
	s.nothing(s.Context(), m)
	_, err := s.w.Driver.Find(s.Context(), s.w.Machine.Node, s.w.Machine.Hint)
	_ = s.hear(err)
}

func (s *subject) concurrent() {
	m := s.machine()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := s.w.Driver.Find(s.Context(), s.w.Machine.Node, s.w.Machine.Hint); s.hear(err) != nil {
				s.Errorf("find: %v", err)
			}
		})
		if s.w.Can.State {
			wg.Go(func() {
				if r, err := s.state(s.Context(), m); err != nil || r.State == power.Unknown {
					s.Errorf("state: %+v, %v", r, err)
				}
			})
		}
		if s.w.Can.On { // it is on: nothing changes
			wg.Go(func() {
				if err := s.do(s.Context(), power.ActionOn, m); err != nil {
					s.Errorf("on: %v", err)
				}
			})
		}
	}
	wg.Wait()
	if s.w.Is() == power.Off {
		s.Error("the machine is off")
	}
}
